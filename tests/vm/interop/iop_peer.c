// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_interop: the peer writes and reads the kernel's memory.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "iop.h"

#define REGION (1u << 20)
#define SEED   31

static const u32 sizes[] = { 1, 2, 3, 8, 511, 4096, 4097, 65536, REGION };

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

static int write_and_read(struct iop *t, struct fid_mr *mr, u32 at, u32 len)
{
	struct iop_cmd cmd = command(IOP_WRITE, mr, at, len);
	u64 sum = 0;
	int ret;

	memset(t->dst.chunk[0], 0, REGION);
	ret = iop_command(t, &cmd, NULL);
	if (ret)
		return ret;
	if (!holds(t, at, len) || (at && t->dst.chunk[0][at - 1]))
		return -EILSEQ;
	cmd.op = IOP_READ;
	ret = iop_command(t, &cmd, &sum);
	return ret ?: (sum == iop_pattern_sum(SEED, len) ? 0 : -EILSEQ);
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
	int ret, i;

	ret = open_mr(t, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, &mr);
	if (!iop_check(!ret, "kernel memory is registered (%d)", ret))
		return;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ret = write_and_read(t, mr, 0, sizes[i]);
		if (!ret && sizes[i] < REGION)
			ret = write_and_read(t, mr, 4095, sizes[i]);
		if (!iop_check(!ret, "the peer writes and reads %u bytes (%d)",
			       sizes[i], ret))
			break;
	}
	if (!ret)
		with_data(t, mr);
	ret = fi_close(&mr->fid);
	iop_check(!ret, "the region closes (%d)", ret);
}

/* Send a command whose operation must fail: the connection ends. */
static void must_end(struct iop *t, const struct iop_cmd *cmd, const char *what)
{
	int ret;

	memset(t->dst.chunk[0], 0, REGION);
	ret = iop_post_recv(t, t->cmd + 512, sizeof(struct iop_reply));
	memcpy(t->cmd, cmd, sizeof(*cmd));
	ret = ret
		      ?: fi_send(t->ep, t->cmd, sizeof(*cmd), NULL,
				 FI_ADDR_UNSPEC, t->tx_ctx[0]);
	/* The end may overtake the acknowledgement. */
	if (!ret)
		iop_tx_done(t);
	ret = ret ?: iop_wait(t->rxcq, NULL, IOP_ERROR_MS);
	iop_check(ret > 0, "%s: our receive fails (%d)", what, ret);
	iop_check(iop_wait_shutdown(t), "%s: the connection ends", what);
	iop_check(!memchr_inv(t->dst.chunk[0], 0, REGION),
		  "%s: our memory is as it was", what);
}

void iop_t_peer_read_only(struct iop *t)
{
	struct fid_mr *mr = NULL;
	struct iop_cmd cmd;
	int ret;

	ret = open_mr(t, FI_REMOTE_READ, 0x7000000000ull, &mr);
	if (!iop_check(!ret && mr->iova == 0x7000000000ull,
		       "read-only memory has the address we chose (%d)", ret))
		return;
	cmd = command(IOP_READ, mr, 0, 4096);
	ret = iop_command(t, &cmd, NULL);
	iop_check(!ret, "the peer reads read-only memory (%d)", ret);
	cmd = command(IOP_WRITE, mr, 0, 4096);
	must_end(t, &cmd, "the peer writes to read-only memory");
	fi_close(&mr->fid);
}

void iop_t_peer_wrong_key(struct iop *t)
{
	struct fid_mr *mr = NULL;
	struct iop_cmd cmd;
	int ret;

	ret = open_mr(t, FI_REMOTE_WRITE, 0, &mr);
	if (!iop_check(!ret, "kernel memory is registered (%d)", ret))
		return;
	cmd = command(IOP_WRITE, mr, 0, 4096);
	cmd.key ^= 0x5a00;
	must_end(t, &cmd, "the peer uses a wrong key");
	fi_close(&mr->fid);
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
	must_end(t, &cmd, "the peer uses the key of a closed region");
}
