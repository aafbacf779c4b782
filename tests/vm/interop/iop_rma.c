// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_interop: the kernel writes and reads the peer's memory.
 */
#include <linux/kernel.h>

#include "iop.h"

/* Bytes around a write that it must leave alone. */
#define GUARD	   16
#define GUARD_SEED 200
#define ALIGNS	   64

static const u32 sizes[] = { 1,	   2,	 3,	7,     8,      9,
			     64,   511,	 512,	513,   4095,   4096,
			     4097, 8192, 65535, 65536, 1 << 20 };
/* Up to this size every alignment is tried with half of all piece counts. */
#define SHORT 8192

/* Write, read back in another cut; guards included. */
static int there_and_back(struct iop *t, u32 len, u32 align, u32 n, u64 seed,
			  enum iop_kind kind)
{
	u64 addr = t->peer.rw_addr + GUARD + align;
	int ret;

	iop_buf_split(&t->src, len, (align * 3) % ALIGNS, n);
	iop_buf_fill(&t->src, seed);
	ret = iop_write(t, &t->src, kind, len, addr, t->peer.rw_key);
	if (ret)
		return ret;
	iop_buf_split(&t->dst, len, (align * 5) % ALIGNS, IOP_CHUNKS + 1 - n);
	iop_buf_clear(&t->dst);
	ret = iop_read(t, &t->dst, (kind + 1) % IOP_KINDS, len, addr,
		       t->peer.rw_key);
	if (ret)
		return ret;
	return iop_buf_is(&t->dst, seed) ? 0 : -EILSEQ;
}

/* Guards around the last write, as the kernel sees them. */
static int guards_whole(struct iop *t, u32 len, u32 align)
{
	u64 before = t->peer.rw_addr + align;
	int ret;

	iop_buf_split(&t->dst, GUARD, 0, 1);
	ret = iop_read(t, &t->dst, IOP_KVEC, GUARD, before, t->peer.rw_key);
	if (ret || !iop_buf_is(&t->dst, GUARD_SEED))
		return ret ?: -EILSEQ;
	ret = iop_read(t, &t->dst, IOP_KVEC, GUARD, before + GUARD + len,
		       t->peer.rw_key);
	return ret ?: (iop_buf_is(&t->dst, GUARD_SEED) ? 0 : -EILSEQ);
}

static int set_guards(struct iop *t, u32 len, u32 align)
{
	u64 before = t->peer.rw_addr + align;
	int ret;

	iop_buf_split(&t->src, GUARD, 0, 1);
	iop_buf_fill(&t->src, GUARD_SEED);
	ret = iop_write(t, &t->src, IOP_KVEC, GUARD, before, t->peer.rw_key);
	return ret
		       ?: iop_write(t, &t->src, IOP_KVEC, GUARD,
				    before + GUARD + len, t->peer.rw_key);
}

/* The peer says itself what it has. */
static int peer_has(struct iop *t, u32 len, u32 align, u64 seed)
{
	struct iop_cmd cmd = { .op = IOP_SUM,
			       .addr = t->peer.rw_addr + GUARD + align,
			       .len = len };
	u64 sum = 0;
	int ret = iop_command(t, &cmd, &sum);

	return ret ?: (sum == iop_pattern_sum(seed, len) ? 0 : -EILSEQ);
}

/*
 * One size at one alignment: in 1, 3, 5, ... pieces or in 2, 4, 6, ... as the
 * alignment is even or odd; the longer ones in one count, another each time.
 */
static int try_pieces(struct iop *t, u32 len, u32 align)
{
	u32 i, n, seed = 0, rounds = len > SHORT ? 1 : IOP_CHUNKS / 2;
	int ret = set_guards(t, len, align);

	for (i = 0; i < rounds && !ret; i++) {
		n = 1 + (align + align / IOP_CHUNKS + 2 * i) % IOP_CHUNKS;
		seed = len + align + i;
		ret = there_and_back(t, len, align, n, seed,
				     (align + i) % IOP_KINDS);
	}
	/* Long sums take their time here. */
	if (!ret && (len <= SHORT || align % 8 == 0))
		ret = peer_has(t, len, align, seed);
	return ret ?: guards_whole(t, len, align);
}

void iop_t_rma(struct iop *t)
{
	u32 i, align;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (align = 0; align < ALIGNS && !ret; align += t->step)
			ret = try_pieces(t, sizes[i], align);
		if (!iop_check(
			    !ret,
			    "writes and reads of %u bytes, 1 to 16 pieces, every %u. alignment (%d)",
			    sizes[i], t->step, ret))
			return;
	}
}

/* ---- flush ------------------------------------------------------------ */

static int write_and_flush(struct iop *t, u32 len)
{
	struct fi_rma_iov rma = { .addr = t->peer.rw_addr,
				  .len = len,
				  .key = t->peer.rw_key };
	struct fi_msg_rma write = { .buf = iop_buf_fi(&t->src, IOP_BVEC, len),
				    .rma_iov = &rma,
				    .rma_iov_count = 1,
				    .context = t->tx_ctx[0] };
	struct fi_msg_flush flush = { .mode = FI_FLUSH_READBACK,
				      .rma_iov = &rma,
				      .rma_iov_count = 1,
				      .context = t->tx_ctx[1] };
	struct fi_cq_err_entry entry = {};
	int ret;

	ret = fi_writemsg(t->ep, &write, FI_MORE);
	ret = ret ?: fi_flush(t->ep, &flush, 0);
	ret = ret ?: iop_wait(t->txcq, &entry, IOP_MS);
	if (!ret && entry.op_context != t->tx_ctx[0])
		return -EPROTO;
	ret = ret ?: iop_wait(t->txcq, &entry, IOP_MS);
	if (!ret &&
	    (entry.op_context != t->tx_ctx[1] || !(entry.flags & FI_FLUSH)))
		return -EPROTO;
	return ret;
}

void iop_t_flush(struct iop *t)
{
	int ret;

	iop_check(fi_flush_modes(t->ep) & FI_FLUSH_READBACK,
		  "the endpoint can flush by reading back");
	iop_buf_split(&t->src, 4096, 0, 1);
	iop_buf_fill(&t->src, 9);
	ret = write_and_flush(t, 4096);
	iop_check(!ret, "a flush completes behind a chained write (%d)", ret);
	iop_buf_split(&t->src, 1, 0, 1);
	ret = write_and_flush(t, 1);
	iop_check(!ret, "one byte can be flushed (%d)", ret);
}

/* ---- access ----------------------------------------------------------- */

void iop_t_read_only(struct iop *t)
{
	struct fi_cq_err_entry entry;
	int ret;

	iop_buf_split(&t->dst, IOP_RO_BYTES, 3, 5);
	iop_buf_clear(&t->dst);
	ret = iop_read(t, &t->dst, IOP_SG, IOP_RO_BYTES, t->peer.ro_addr,
		       t->peer.ro_key);
	iop_check(!ret && iop_buf_is(&t->dst, IOP_RO_SEED),
		  "read-only memory can be read (%d)", ret);
	ret = iop_post_recv(t, t->cmd, sizeof(struct iop_reply));
	iop_buf_split(&t->src, 8, 0, 1);
	ret = ret
		      ?: iop_write(t, &t->src, IOP_KVEC, 8, t->peer.ro_addr,
				   t->peer.ro_key);
	iop_check(ret == iop_refusal(t), "writing to it is refused (%d)", ret);
	iop_check(iop_wait_shutdown(t), "it ends the connection");
	ret = iop_wait(t->rxcq, &entry, IOP_MS);
	iop_check(ret == FI_ECANCELED, "the posted receive is canceled (%d)",
		  ret);
}
