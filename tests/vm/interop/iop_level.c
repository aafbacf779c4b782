// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_interop: writes and reads of several remote segments, and what their
 * completions say: placed, or durable.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "iop.h"

#define PART	  4096u
#define WHOLE	  (PART * IOP_SEGS)
#define SEED	  57
#define PEER_SEED 91

static const u64 level_flags[IOP_LEVELS] = { 0, FI_DELIVERY_COMPLETE,
					     FI_COMMIT_COMPLETE };
static const char *const level_names[IOP_LEVELS] = { "plain", "delivered",
						     "committed" };

/* Segments of the peer's memory, the last one first. */
static void set_segs(const struct iop *t, struct fi_rma_iov *rma)
{
	int i;

	for (i = 0; i < IOP_SEGS; i++)
		rma[i] = (struct fi_rma_iov){ .addr = t->peer.rw_addr +
						      (IOP_SEGS - 1 - i) * PART,
					      .len = PART,
					      .key = t->peer.rw_key };
}

static int write_segs(struct iop *t, u64 flags)
{
	struct fi_rma_iov rma[IOP_SEGS];
	struct fi_msg_rma msg = { .rma_iov = rma,
				  .rma_iov_count = IOP_SEGS,
				  .context = t->tx_ctx[0] };
	int ret;

	set_segs(t, rma);
	iop_buf_split(&t->src, WHOLE, 7, 3);
	iop_buf_fill(&t->src, SEED);
	msg.buf = iop_buf_fi(&t->src, IOP_BVEC, WHOLE);
	ret = fi_writemsg(t->ep, &msg, flags);
	return ret ?: iop_tx_done(t);
}

static int read_segs(struct iop *t)
{
	struct fi_rma_iov rma[IOP_SEGS];
	struct fi_msg_rma msg = { .rma_iov = rma,
				  .rma_iov_count = IOP_SEGS,
				  .context = t->tx_ctx[0] };
	int ret;

	set_segs(t, rma);
	iop_buf_split(&t->dst, WHOLE, 0, 5);
	iop_buf_clear(&t->dst);
	msg.buf = iop_buf_fi(&t->dst, IOP_KVEC, WHOLE);
	ret = fi_readmsg(t->ep, &msg, 0);
	ret = ret ?: iop_tx_done(t);
	return ret ?: (iop_buf_is(&t->dst, SEED) ? 0 : -EILSEQ);
}

/* The peer has a part with that sum at @at. */
static int peer_has_part(struct iop *t, u32 at, u64 sum)
{
	struct iop_cmd cmd = { .op = IOP_SUM,
			       .addr = t->peer.rw_addr + at,
			       .len = PART };
	u64 theirs = 0;
	int ret = iop_command(t, &cmd, &theirs);

	return ret ?: (sum == theirs ? 0 : -EILSEQ);
}

static u64 part_sum(u32 part)
{
	u64 sum = IOP_SUM_INIT;
	u32 i;
	u8 byte;

	for (i = part * PART; i < (part + 1) * PART; i++) {
		byte = iop_byte(SEED, i);
		sum = iop_sum(sum, &byte, 1);
	}
	return sum;
}

void iop_t_levels(struct iop *t)
{
	u32 level, part;
	int ret;

	for (level = 0; level < IOP_LEVELS; level++) {
		ret = write_segs(t, level_flags[level]);
		for (part = 0; part < IOP_SEGS && !ret; part++)
			ret = peer_has_part(t, (IOP_SEGS - 1 - part) * PART,
					    part_sum(part));
		iop_check(!ret, "a %s write of %u segments arrives (%d)",
			  level_names[level], IOP_SEGS, ret);
		ret = ret ?: read_segs(t);
		iop_check(!ret, "they are read in one (%d)", ret);
	}
}

/* ---- the peer writes ---------------------------------------------------- */

static unsigned int commits;
static bool commit_bad;

static int count_commit(struct fid_mr *mr, u64 offset, size_t len)
{
	commit_bad =
		commit_bad || len != PART || offset % PART || offset >= WHOLE;
	commits++;
	return 0;
}

static bool holds_segs(const struct iop *t)
{
	const u8 *p = t->dst.chunk[0];
	u32 i, part;

	for (i = 0; i < WHOLE; i++) {
		part = IOP_SEGS - 1 - i / PART;
		if (p[i] != iop_byte(PEER_SEED, part * PART + i % PART))
			return false;
	}
	return true;
}

static void peer_writes(struct iop *t, const struct fid_mr *mr, u32 level)
{
	struct iop_cmd cmd = { .op = IOP_WRITE_SEGS,
			       .level = level,
			       .addr = mr->iova,
			       .key = mr->key,
			       .len = WHOLE,
			       .seed = PEER_SEED };
	int ret;

	commits = 0;
	memset(t->dst.chunk[0], 0, WHOLE);
	ret = iop_command(t, &cmd, NULL);
	iop_check(!ret && holds_segs(t),
		  "the peer's %s write of %u segments arrives (%d)",
		  level_names[level], IOP_SEGS, ret);
	iop_check(commits == (level == IOP_COMMITTED ? IOP_SEGS : 0) &&
			  !commit_bad,
		  "%u segments were made durable", commits);
}

void iop_t_peer_levels(struct iop *t)
{
	struct fi_mr_attr attr = { .buf = fi_buf_linear(t->dst.chunk[0], WHOLE),
				   .access = FI_REMOTE_READ | FI_REMOTE_WRITE,
				   .commit = count_commit };
	struct fid_mr *mr = NULL;
	u32 level;
	int ret = fi_mr_regattr(t->domain, &attr, 0, &mr);

	if (!iop_check(!ret, "memory that can be made durable (%d)", ret))
		return;
	for (level = 0; level < IOP_LEVELS; level++)
		peer_writes(t, mr, level);
	ret = fi_close(&mr->fid);
	iop_check(!ret, "the region closes (%d)", ret);
}
