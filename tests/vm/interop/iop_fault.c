// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_interop: what goes wrong, with the right error and in time.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/string.h>

#include "iop.h"

#define STREAM_BYTES 65536

enum stream_kind {
	STREAM_WRITES,
	STREAM_READS,
	STREAM_MESSAGES
};

/* Eight bytes, written or read: the peer's memory must refuse them. */
static void refused(struct iop *t, bool write, u64 addr, u64 key,
		    const char *what)
{
	struct fi_cq_err_entry entry = {};
	ktime_t begin = ktime_get();
	int ret;

	iop_buf_split(&t->src, 8, 0, 1);
	iop_buf_split(&t->dst, 8, 0, 1);
	ret = write ? iop_write(t, &t->src, IOP_KVEC, 8, addr, key)
		    : iop_read(t, &t->dst, IOP_KVEC, 8, addr, key);
	/* Offsets begin at 0: one before it wraps. */
	if (iop_is_tcp(t) && addr > addr + 8) {
		iop_check(ret == -EINVAL, "%s is not posted (%d)", what, ret);
		return;
	}
	iop_check(ret == iop_refusal(t), "%s is refused (%d)", what, ret);
	iop_check(iop_wait_shutdown(t), "%s ends the connection", what);
	iop_check(ktime_ms_delta(ktime_get(), begin) < IOP_ERROR_MS,
		  "%s: all that takes %lld ms", what,
		  ktime_ms_delta(ktime_get(), begin));
	ret = iop_write(t, &t->src, IOP_KVEC, 8, t->peer.rw_addr,
			t->peer.rw_key);
	iop_check(ret == -ENOTCONN, "posting after it is ENOTCONN (%d)", ret);
	ret = iop_wait(t->txcq, &entry, 0);
	iop_check(ret == -FI_EAGAIN, "there is no second completion (%d)", ret);
}

#define WRONG_KEY 0x5a00

void iop_t_write_wrong_key(struct iop *t)
{
	refused(t, true, t->peer.rw_addr, t->peer.rw_key ^ WRONG_KEY,
		"a write with a wrong key");
}

void iop_t_read_wrong_key(struct iop *t)
{
	refused(t, false, t->peer.rw_addr, t->peer.rw_key ^ WRONG_KEY,
		"a read with a wrong key");
}

void iop_t_write_over(struct iop *t)
{
	refused(t, true, t->peer.rw_addr + IOP_RW_BYTES - 7, t->peer.rw_key,
		"a write across the end");
}

void iop_t_read_over(struct iop *t)
{
	refused(t, false, t->peer.rw_addr + IOP_RW_BYTES - 7, t->peer.rw_key,
		"a read across the end");
}

void iop_t_write_before(struct iop *t)
{
	refused(t, true, t->peer.rw_addr - 1, t->peer.rw_key,
		"a write from before the beginning");
}

void iop_t_read_far(struct iop *t)
{
	refused(t, false, t->peer.rw_addr + (1ull << 40), t->peer.rw_key,
		"a read from far away");
}

/* The peer's answer is longer than our receive. */
void iop_t_too_long(struct iop *t)
{
	int ret;

	memset(t->cmd, 1, 256);
	t->cmd[0] = IOP_ECHO;
	ret = iop_post_recv(t, t->cmd + 512, 16);
	ret = ret
		      ?: fi_send(t->ep, t->cmd, 256, NULL, FI_ADDR_UNSPEC,
				 t->tx_ctx[0]);
	ret = ret ?: iop_tx_done(t);
	/* The end may overtake the acknowledgement. */
	iop_check(!ret || ret == FI_ECANCELED,
		  "a message asks for a long one (%d)", ret);
	ret = iop_wait(t->rxcq, NULL, IOP_ERROR_MS);
	iop_check(ret == FI_ETRUNC, "a message that is too long is ETRUNC (%d)",
		  ret);
	iop_check(iop_wait_shutdown(t), "it ends the connection");
}

static int tell(struct iop *t, u8 op)
{
	int ret;

	t->cmd[0] = op;
	ret = fi_send(t->ep, t->cmd, 1, NULL, FI_ADDR_UNSPEC, t->tx_ctx[0]);
	return ret ?: iop_tx_done(t);
}

void iop_t_quit(struct iop *t)
{
	int ret = iop_post_recv(t, t->cmd + 512, 16);

	ret = ret ?: tell(t, IOP_QUIT);
	/* The end may overtake the acknowledgement. */
	iop_check(!ret || ret == FI_ECANCELED,
		  "the peer is told to shut down (%d)", ret);
	iop_check(iop_wait_shutdown(t), "its shutdown is seen");
	ret = iop_wait(t->rxcq, NULL, IOP_ERROR_MS);
	iop_check(ret == FI_ECANCELED, "the posted receive is canceled (%d)",
		  ret);
}

/* Nobody receives: our own timeout must end it. */
void iop_t_hang(struct iop *t)
{
	ktime_t begin = 0;
	int i, ret;
	s64 ms;

	ret = tell(t, IOP_HANG);
	iop_check(!ret, "the peer is told to receive no more (%d)", ret);
	for (i = 0; i <= IOP_PEER_RECVS && !ret; i++) {
		begin = ktime_get();
		ret = tell(t, IOP_NOTHING);
	}
	ms = ktime_ms_delta(ktime_get(), begin);
	iop_check(ret == FI_ETIMEDOUT || ret == FI_ENOBUFS,
		  "a message that nobody receives times out (%d)", ret);
	iop_check(ms < 2 * IOP_OP_TIMEOUT_MS, "it does after %lld ms of %u", ms,
		  IOP_OP_TIMEOUT_MS);
	iop_check(iop_wait_shutdown(t), "it ends the connection");
}

/* ---- killed in the middle --------------------------------------------- */

static int post_stream(struct iop *t, enum stream_kind kind, int i)
{
	struct fi_rma_iov rma = { .addr = t->peer.rw_addr,
				  .len = STREAM_BYTES,
				  .key = t->peer.rw_key };
	struct iop_buf *b = kind == STREAM_READS ? &t->dst : &t->src;
	struct fi_msg_rma op = { .buf = iop_buf_fi(b, IOP_BVEC, STREAM_BYTES),
				 .rma_iov = &rma,
				 .rma_iov_count = 1,
				 .context = t->tx_ctx[i] };
	struct fi_msg msg = { .buf = op.buf, .context = op.context };

	switch (kind) {
	case STREAM_WRITES:
		return fi_writemsg(t->ep, &op, 0);
	case STREAM_READS:
		return fi_readmsg(t->ep, &op, 0);
	default:
		return fi_sendmsg(t->ep, &msg, 0);
	}
}

static int context_index(const struct iop *t, const void *context)
{
	int i;

	for (i = 0; i < IOP_TX_OPS; i++)
		if (t->tx_ctx[i] == context)
			return i;
	return -EPROTO;
}

/* Keep the queue full until an operation fails; then count what is left. */
static int stream(struct iop *t, enum stream_kind kind, int *out)
{
	struct fi_cq_err_entry entry = {};
	int ret = 0;

	while (!ret) {
		ret = iop_wait(t->txcq, &entry, IOP_ERROR_MS);
		if (ret < 0)
			return ret;
		(*out)--;
		if (!ret)
			ret = post_stream(t, kind,
					  context_index(t, entry.op_context));
		if (!ret)
			(*out)++;
	}
	while (*out > 0) {
		int err = iop_wait(t->txcq, &entry, IOP_ERROR_MS);

		if (err < 0)
			return -ETIME;
		/* What the operations say, not only the refused post. */
		ret = ret > 0 ? ret : err ?: ret;
		(*out)--;
	}
	return ret;
}

/*
 * What killing the peer may bring: its region or its queue pair goes first, and
 * the word that it is gone may overtake both or be lost.
 */
static bool death_error(int ret)
{
	return ret == FI_EACCES || ret == FI_ETIMEDOUT || ret == FI_ECANCELED;
}

static void kill_peer(struct iop *t, enum stream_kind kind)
{
	ktime_t begin = ktime_get();
	int i, ret = 0, out = 0;

	iop_buf_split(&t->src, STREAM_BYTES, 0, 4);
	iop_buf_split(&t->dst, STREAM_BYTES, 0, 4);
	t->src.chunk[0][0] = IOP_NOTHING;
	for (i = 1; i < IOP_TX_OPS && !ret; i++) {
		ret = post_stream(t, kind, i);
		out += !ret;
	}
	t->cmd[0] = IOP_KILL;
	ret = ret
		      ?: fi_send(t->ep, t->cmd, 1, NULL, FI_ADDR_UNSPEC,
				 t->tx_ctx[0]);
	out += !ret;
	iop_check(!ret, "the peer is told to die in the middle (%d)", ret);
	ret = stream(t, kind, &out);
	iop_check(death_error(ret),
		  "operations fail when the peer is killed (%d)", ret);
	iop_check(!out, "every operation has completed (%d left)", out);
	iop_check(iop_wait_shutdown(t), "the end is seen");
	iop_check(ktime_ms_delta(ktime_get(), begin) < IOP_ERROR_MS,
		  "all that takes %lld ms", ktime_ms_delta(ktime_get(), begin));
}

void iop_t_kill_writes(struct iop *t)
{
	kill_peer(t, STREAM_WRITES);
}

void iop_t_kill_reads(struct iop *t)
{
	kill_peer(t, STREAM_READS);
}

void iop_t_kill_messages(struct iop *t)
{
	kill_peer(t, STREAM_MESSAGES);
}
