// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_interop: the peer writes and reads the kernel's memory.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "iop.h"

/* The longest write begins behind a page's last byte but one. */
#define LONGEST (1u << 20)
#define REGION	(LONGEST + PAGE_SIZE)
#define SEED	31
#define ALIGNS	64

static const u32 sizes[] = { 1, 2, 3, 8, 511, 4096, 4097, 65536, LONGEST };

static int open_mr(struct iop *t, u64 access, u64 iova, struct fid_mr **mr)
{
	struct fi_mr_attr attr = { .buf = fi_buf_linear(t->dst.chunk[0],
							REGION),
				   .access = access,
				   .iova = iova };
	int ret = fi_mr_regattr(t->domain, &attr, 0, mr);

	if (ret)
		return ret;
	ret = fi_mr_bind(*mr, &t->ep->fid, 0);
	ret = ret ?: fi_mr_enable(*mr);
	if (ret)
		fi_close(&(*mr)->fid);
	return ret;
}

static struct iop_cmd command(u8 op, const struct fid_mr *mr, u32 at, u32 len)
{
	return (struct iop_cmd){ .op = op,
				 .addr = mr->iova + at,
				 .key = mr->key,
				 .len = len,
				 .seed = SEED };
}

static bool holds(struct iop *t, u32 at, u32 len)
{
	const u8 *p = t->dst.chunk[0] + at;
	u32 i;

	for (i = 0; i < len; i++)
		if (p[i] != iop_byte(SEED, i))
			return false;
	return true;
}

static int write_and_read(struct iop *t, struct fid_mr *mr, u32 at, u32 len,
			  u64 want)
{
	struct iop_cmd cmd = command(IOP_WRITE, mr, at, len);
	const u8 *p = t->dst.chunk[0];
	u64 sum = 0;
	int ret;

	cmd.pieces = 1 + (at + at / IOP_CHUNKS) % IOP_CHUNKS;
	memset(t->dst.chunk[0], 0, REGION);
	ret = iop_command(t, &cmd, NULL);
	if (ret)
		return ret;
	if (!holds(t, at, len) || (at && p[at - 1]) ||
	    (at + len < REGION && p[at + len]))
		return -EILSEQ;
	cmd.op = IOP_READ;
	cmd.pieces = IOP_CHUNKS + 1 - cmd.pieces;
	ret = iop_command(t, &cmd, &sum);
	return ret ?: (sum == want ? 0 : -EILSEQ);
}

/* The peer's write comes with data for a receive of ours. */
static void with_data(struct iop *t, struct fid_mr *mr)
{
	struct iop_cmd cmd = command(IOP_WRITEDATA, mr, 0, 64);
	struct fi_cq_err_entry entry = {};
	int ret;

	ret = fi_recv(t->ep, t->cmd + 512, 64, NULL, FI_ADDR_UNSPEC, t->rx_ctx);
	memcpy(t->cmd, &cmd, sizeof(cmd));
	ret = ret
		      ?: fi_send(t->ep, t->cmd, sizeof(cmd), NULL,
				 FI_ADDR_UNSPEC, t->tx_ctx[0]);
	ret = ret ?: iop_tx_done(t);
	ret = ret ?: iop_wait(t->rxcq, &entry, IOP_MS);
	iop_check(!ret && (entry.flags & FI_REMOTE_CQ_DATA) &&
			  (entry.flags & FI_RMA) && entry.data == SEED,
		  "a write with data tells the data (%d, %llu)", ret,
		  entry.data);
	/* The reply's receive: the peer may be ahead of us, it waits. */
	ret = iop_post_recv(t, t->cmd, sizeof(struct iop_reply));
	ret = ret ?: iop_wait(t->rxcq, NULL, IOP_MS);
	iop_check(!ret, "the peer goes on after it (%d)", ret);
}

void iop_t_peer_rma(struct iop *t)
{
	struct fid_mr *mr = NULL;
	u32 i, align;
	int ret;

	ret = open_mr(t, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, &mr);
	if (!iop_check(!ret, "kernel memory is registered (%d)", ret))
		return;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		u64 sum = iop_pattern_sum(SEED, sizes[i]);

		for (align = 0; align < ALIGNS && !ret; align += t->step)
			ret = write_and_read(t, mr, align, sizes[i], sum);
		ret = ret
			      ?: write_and_read(t, mr, PAGE_SIZE - 1, sizes[i],
						sum);
		if (!iop_check(
			    !ret,
			    "the peer writes and reads %u bytes, 1 to 16 pieces, every %u. alignment (%d)",
			    sizes[i], t->step, ret))
			break;
	}
	if (!ret)
		with_data(t, mr);
	ret = fi_close(&mr->fid);
	iop_check(!ret, "the region closes (%d)", ret);
}

/* Send a command that ends the connection. */
static void must_end(struct iop *t, const struct iop_cmd *cmd, const char *what)
{
	ktime_t begin = ktime_get();
	int ret;

	ret = iop_post_recv(t, t->cmd + 512, sizeof(struct iop_reply));
	memcpy(t->cmd, cmd, sizeof(*cmd));
	ret = ret
		      ?: fi_send(t->ep, t->cmd, sizeof(*cmd), NULL,
				 FI_ADDR_UNSPEC, t->tx_ctx[0]);
	/* The end may overtake the acknowledgement. */
	if (!ret)
		iop_tx_done(t);
	ret = ret ?: iop_wait(t->rxcq, NULL, IOP_ERROR_MS);
	iop_check(ret == FI_ECANCELED, "%s: our receive is canceled (%d)", what,
		  ret);
	iop_check(iop_wait_shutdown(t), "%s: the connection ends", what);
	iop_check(ktime_ms_delta(ktime_get(), begin) < IOP_ERROR_MS,
		  "%s: all that takes %lld ms", what,
		  ktime_ms_delta(ktime_get(), begin));
}

/* The same; the peer sees to it that its operation is refused. */
static void must_refuse(struct iop *t, struct iop_cmd *cmd, const char *what)
{
	memset(t->dst.chunk[0], 0, REGION);
	cmd->refused = true;
	must_end(t, cmd, what);
	iop_check(!memchr_inv(t->dst.chunk[0], 0, REGION),
		  "%s: our memory is as it was", what);
}

void iop_t_peer_read_only(struct iop *t)
{
	struct fid_mr *mr = NULL;
	struct iop_cmd cmd;
	int ret;

	ret = open_mr(t, FI_REMOTE_READ, 0x7000000000ull, &mr);
	if (!iop_check(!ret && (iop_is_tcp(t) || mr->iova == 0x7000000000ull),
		       "read-only memory has the address we chose (%d)", ret))
		return;
	cmd = command(IOP_READ, mr, 0, 4096);
	ret = iop_command(t, &cmd, NULL);
	iop_check(!ret, "the peer reads read-only memory (%d)", ret);
	cmd = command(IOP_WRITE, mr, 0, 4096);
	must_refuse(t, &cmd, "the peer writes to read-only memory");
	fi_close(&mr->fid);
}

/* One operation of the peer that our region refuses. */
static void refused_op(struct iop *t, u64 access, struct iop_cmd cmd,
		       u64 wrong_key, const char *what)
{
	struct fid_mr *mr = NULL;
	int ret = open_mr(t, access, 0, &mr);

	if (!iop_check(!ret, "kernel memory is registered (%d)", ret))
		return;
	cmd.addr += mr->iova;
	cmd.key = mr->key ^ wrong_key;
	must_refuse(t, &cmd, what);
	fi_close(&mr->fid);
}

#define BOTH_WAYS (FI_REMOTE_READ | FI_REMOTE_WRITE)

void iop_t_peer_write_only(struct iop *t)
{
	refused_op(t, FI_REMOTE_WRITE,
		   (struct iop_cmd){ .op = IOP_READ, .len = 4096 }, 0,
		   "the peer reads write-only memory");
}

void iop_t_peer_wrong_key(struct iop *t)
{
	refused_op(t, BOTH_WAYS,
		   (struct iop_cmd){ .op = IOP_WRITE, .len = 4096 }, 0x5a00,
		   "the peer writes with a wrong key");
}

void iop_t_peer_read_wrong_key(struct iop *t)
{
	refused_op(t, BOTH_WAYS,
		   (struct iop_cmd){ .op = IOP_READ, .len = 4096 }, 0x5a00,
		   "the peer reads with a wrong key");
}

void iop_t_peer_write_over(struct iop *t)
{
	refused_op(t, BOTH_WAYS,
		   (struct iop_cmd){ .op = IOP_WRITE,
				     .addr = REGION - LONGEST + 1,
				     .len = LONGEST },
		   0, "the peer writes across the end");
}

void iop_t_peer_read_before(struct iop *t)
{
	refused_op(t, BOTH_WAYS,
		   (struct iop_cmd){ .op = IOP_READ, .addr = -1, .len = 8 }, 0,
		   "the peer reads from before the beginning");
}

void iop_t_peer_stale_key(struct iop *t)
{
	struct fid_mr *mr = NULL;
	struct iop_cmd cmd;
	int ret;

	ret = open_mr(t, FI_REMOTE_WRITE, 0, &mr);
	if (!iop_check(!ret, "kernel memory is registered (%d)", ret))
		return;
	cmd = command(IOP_WRITE, mr, 0, 4096);
	ret = iop_command(t, &cmd, NULL);
	iop_check(!ret, "the key works (%d)", ret);
	fi_close(&mr->fid);
	must_refuse(t, &cmd, "the peer uses the key of a closed region");
}

/* The peer dies with a write of its own under way. */
void iop_t_kill_writing(struct iop *t)
{
	struct fid_mr *mr = NULL;
	struct iop_cmd cmd;
	int ret;

	ret = open_mr(t, FI_REMOTE_WRITE, 0, &mr);
	if (!iop_check(!ret, "kernel memory is registered (%d)", ret))
		return;
	cmd = command(IOP_KILL_WRITING, mr, 0, LONGEST);
	must_end(t, &cmd, "the peer dies while it writes");
	ret = fi_close(&mr->fid);
	iop_check(!ret, "the region closes (%d)", ret);
}
