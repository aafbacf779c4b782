// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_interop: what goes wrong, with the right error and in time.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/string.h>

#include "iop.h"

#define STREAM_BYTES 65536

static void expect_access_error(struct iop *t, int ret, const char *what)
{
	struct fi_cq_err_entry entry = {};
	u64 key = t->peer.rw_key;

	iop_check(ret == FI_EACCES, "%s is EACCES (%d)", what, ret);
	iop_check(iop_wait_shutdown(t), "%s ends the connection", what);
	ret = iop_write(t, &t->src, IOP_KVEC, 8, t->peer.rw_addr, key);
	iop_check(ret == -ENOTCONN, "posting after it is ENOTCONN (%d)", ret);
	ret = iop_wait(t->txcq, &entry, 0);
	iop_check(ret == -FI_EAGAIN, "there is no second completion (%d)", ret);
}

void iop_t_wrong_key(struct iop *t)
{
	int ret;

	iop_buf_split(&t->src, 8, 0, 1);
	ret = iop_write(t, &t->src, IOP_KVEC, 8, t->peer.rw_addr,
			t->peer.rw_key ^ 0x5a00);
	expect_access_error(t, ret, "a write with a wrong key");
}

void iop_t_out_of_range(struct iop *t)
{
	int ret;

	iop_buf_split(&t->src, 8, 0, 1);
	iop_buf_split(&t->dst, 8, 0, 1);
	ret = iop_read(t, &t->dst, IOP_KVEC, 8,
		       t->peer.rw_addr + IOP_RW_BYTES - 7, t->peer.rw_key);
	expect_access_error(t, ret, "a read across the end");
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
	ret = ret ?: iop_wait(t->rxcq, NULL, IOP_ERROR_MS);
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
	iop_check(ms < IOP_OP_TIMEOUT_MS + 2000, "it does after %lld ms of %u",
		  ms, IOP_OP_TIMEOUT_MS);
	iop_check(iop_wait_shutdown(t), "it ends the connection");
}

/* ---- killed in the middle --------------------------------------------- */

static int post_stream_write(struct iop *t, int i)
{
	struct fi_rma_iov rma = { .addr = t->peer.rw_addr,
				  .len = STREAM_BYTES,
				  .key = t->peer.rw_key };
	struct fi_msg_rma msg = { .buf = iop_buf_fi(&t->src, IOP_BVEC,
						    STREAM_BYTES),
				  .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .context = t->tx_ctx[i] };

	return fi_writemsg(t->ep, &msg, 0);
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
static int stream(struct iop *t, int *out)
{
	struct fi_cq_err_entry entry = {};
	int ret = 0;

	while (!ret) {
		ret = iop_wait(t->txcq, &entry, IOP_ERROR_MS);
		if (ret < 0)
			return ret;
		(*out)--;
		if (!ret)
			ret = post_stream_write(
				t, context_index(t, entry.op_context));
		if (!ret)
			(*out)++;
	}
	while (*out > 0) {
		if (iop_wait(t->txcq, &entry, IOP_ERROR_MS) < 0)
			return -ETIME;
		(*out)--;
	}
	return ret;
}

void iop_t_kill(struct iop *t)
{
	ktime_t begin = ktime_get();
	int i, ret = 0, out = 0;

	iop_buf_split(&t->src, STREAM_BYTES, 0, 4);
	for (i = 1; i < IOP_TX_OPS && !ret; i++) {
		ret = post_stream_write(t, i);
		out += !ret;
	}
	t->cmd[0] = IOP_KILL;
	ret = ret
		      ?: fi_send(t->ep, t->cmd, 1, NULL, FI_ADDR_UNSPEC,
				 t->tx_ctx[0]);
	out += !ret;
	iop_check(!ret, "the peer is told to die in the middle (%d)", ret);
	ret = stream(t, &out);
	iop_check(ret > 0 || ret == -ENOTCONN,
		  "operations fail when the peer is killed (%d)", ret);
	iop_check(!out, "every operation has completed (%d left)", out);
	iop_check(iop_wait_shutdown(t), "the end is seen");
	iop_check(ktime_ms_delta(ktime_get(), begin) < IOP_ERROR_MS,
		  "all that takes %lld ms", ktime_ms_delta(ktime_get(), begin));
}
