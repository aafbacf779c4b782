// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: many reads at once, and what is told behind a read.
 */
#include <linux/slab.h>

#include "../st.h"

#define READS	  64
#define READ_LEN  8000
#define PLACE_LEN (ST_MAX_LEN / READS) /* of the local arena, for each */
#define STEP	  1000 /* between what two reads take */
#define LONG_LEN  (512 * 1024)
#define ROUNDS	  20

struct room {
	struct completion come;
};

/* A region to read from, and what reads it. */
struct bench {
	struct st_pair p;
	struct st_seg *local;
	struct st_seg *remote;
	struct fid_mr *mr;
	struct st_op *op[READS];
	struct kvec iov[READS][2];
	struct room room;
};

static void st_read_on_space(struct fid_ep *ep, u64 dir, void *context)
{
	struct room *room = context;

	complete(&room->come);
}

static bool st_read_bench_open(struct bench *b, struct st *st,
			       const struct st_opts *opts)
{
	unsigned int i, made = 0;
	struct fi_buf buf;

	b->local = st_seg_new();
	b->remote = st_seg_new();
	for (i = 0; i < READS; i++)
		made += !!(b->op[i] = st_op_new(st));
	if (!CHECK_EQ(st, st_pair_open(&b->p, st, opts), 0,
		      "a pair connects for reads") ||
	    !CHECK(st, b->local && b->remote && made == READS,
		   "there is memory for reads"))
		return false;
	st_fill(b->remote->arena, LONG_LEN, 21);
	buf = fi_buf_linear(b->remote->arena, ST_MAX_LEN - PAGE_SIZE);
	return CHECK_EQ(st,
			st_mr_open(&b->p, &buf,
				   FI_REMOTE_READ | FI_REMOTE_WRITE, &b->mr),
			0, "a region is open for reads");
}

static void st_read_bench_close(struct bench *b)
{
	unsigned int i;

	if (b->mr)
		fi_close(&b->mr->fid);
	st_pair_close(&b->p);
	for (i = 0; i < READS; i++)
		kfree(b->op[i]);
	st_seg_free(b->local);
	st_seg_free(b->remote);
}

/* One read into two segments with a hole between them. */
static ssize_t st_read_post_read(struct bench *b, unsigned int i)
{
	u8 *place = b->local->arena + i * PLACE_LEN;
	struct fi_rma_iov from = { .addr = st_mr_addr(b->mr, i * STEP),
				   .len = READ_LEN,
				   .key = fi_mr_key(b->mr) };
	struct fi_msg_rma m = { .rma_iov = &from,
				.rma_iov_count = 1,
				.context = &b->op[i]->ctx };

	b->iov[i][0] = (struct kvec){ place + 1, READ_LEN / 3 };
	b->iov[i][1] =
		(struct kvec){ place + READ_LEN / 2, READ_LEN - READ_LEN / 3 };
	m.buf = fi_buf_kvec(b->iov[i], 2, READ_LEN);
	return fi_readmsg(b->p.a, &m, 0);
}

/* The bytes that a read took, and none around them. */
static bool st_read_is_placed(const struct bench *b, unsigned int i)
{
	const u8 *from = b->remote->arena + i * STEP;
	const struct kvec *iov = b->iov[i];
	const u8 *place = b->local->arena + i * PLACE_LEN;
	const u8 *end = iov[1].iov_base + iov[1].iov_len;

	return !memcmp(iov[0].iov_base, from, iov[0].iov_len) &&
	       !memcmp(iov[1].iov_base, from + iov[0].iov_len,
		       iov[1].iov_len) &&
	       st_clean(place, 1) &&
	       st_clean(place + 1 + iov[0].iov_len,
			READ_LEN / 2 - 1 - iov[0].iov_len) &&
	       st_clean(end, place + PLACE_LEN - end);
}

/* More than a fabric has under way: those that find no room are tried again. */
static noinline_for_stack void st_read_many(struct st *st, struct bench *b)
{
	unsigned int i = 0, once = 0, ok = 0, in_order = 0;
	ssize_t ret = 0;
	void *context;

	while (i < READS) {
		ret = st_read_post_read(b, i);
		if (ret == -FI_EAGAIN &&
		    wait_for_completion_timeout(&b->room.come,
						msecs_to_jiffies(ST_WAIT_MS)))
			continue;
		if (ret)
			break;
		i++;
	}
	CHECKF(st, !ret && i == READS, "%u of %u reads are posted (%zd)", i,
	       READS, ret);
	for (i = 0; i < READS; i++) {
		if (st_cq_take(b->p.acq, ST_WAIT_MS, &context) != 1)
			break;
		in_order += context == &b->op[i]->ctx;
	}
	for (i = 0; i < READS; i++) {
		once += b->op[i]->count == 1 && !b->op[i]->entry.err;
		ok += b->op[i]->count && st_read_is_placed(b, i);
		st_op_reset(b->op[i]);
	}
	CHECK_EQ(st, once, READS, "each of them completes once");
	CHECK_EQ(st, in_order, READS, "in the order of posting");
	CHECK_EQ(st, ok, READS, "each has its bytes in its segments");
	CHECK_EQ(st, st_cq_drain(b->p.acq, ST_QUIET_MS), 0,
		 "no read completes twice");
}

static noinline_for_stack void st_read_nothing(struct st *st, struct bench *b)
{
	struct fi_rma_iov from = { .addr = st_mr_addr(b->mr, 0),
				   .key = fi_mr_key(b->mr) };
	struct fi_msg_rma m = { .buf = fi_buf_linear(b->local->arena, 0),
				.rma_iov = &from,
				.rma_iov_count = 1,
				.context = &b->op[0]->ctx };

	CHECK_EQ(st,
		 st_op_result(b->p.acq, b->op[0], fi_readmsg(b->p.a, &m, 0)), 0,
		 "a read of nothing completes");
	st_op_reset(b->op[0]);
}

/* A fence waits for reads, or asks to be tried again. */
static noinline_for_stack void st_read_fence(struct st *st, struct bench *b)
{
	struct fi_rma_iov to = { .addr = st_mr_addr(b->mr, 0),
				 .len = 8,
				 .key = fi_mr_key(b->mr) };
	struct fi_msg_rma m = { .buf = fi_buf_linear(b->local->arena, 8),
				.rma_iov = &to,
				.rma_iov_count = 1,
				.context = &b->op[1]->ctx };
	ssize_t ret;

	memset(b->local->arena, 0x77, 8);
	ret = fi_read(b->p.a, b->local->arena + PAGE_SIZE, LONG_LEN, NULL, 0,
		      st_mr_addr(b->mr, 0), fi_mr_key(b->mr), &b->op[0]->ctx);
	CHECK_EQ(st, ret, 0, "a long read is posted");
	while ((ret = fi_writemsg(b->p.a, &m, FI_FENCE)) == -FI_EAGAIN)
		if (!wait_for_completion_timeout(&b->room.come,
						 msecs_to_jiffies(ST_WAIT_MS)))
			break;
	CHECK_EQ(st, st_op_result(b->p.acq, b->op[1], ret), 0,
		 "a write behind a fence completes");
	CHECK_EQ(st, st_op_result(b->p.acq, b->op[0], 0), 0,
		 "so does the read before it");
	CHECK(st, st_holds(b->local->arena + PAGE_SIZE, LONG_LEN, 21),
	      "which has not seen the write");
	st_op_reset(b->op[0]);
	st_op_reset(b->op[1]);
}

/* When a later operation is told, an earlier quiet one is over. */
static noinline_for_stack void st_read_behind(struct st *st, struct bench *b)
{
	struct fi_rma_iov far = { .addr = st_mr_addr(b->mr, 0),
				  .len = LONG_LEN,
				  .key = fi_mr_key(b->mr) };
	struct fi_rma_iov near = { .addr = st_mr_addr(b->mr, LONG_LEN),
				   .len = 8,
				   .key = fi_mr_key(b->mr) };
	struct fi_msg_rma read = { .rma_iov = &far,
				   .rma_iov_count = 1,
				   .context = &b->op[0]->ctx };
	struct fi_msg_rma write = { .rma_iov = &near,
				    .rma_iov_count = 1,
				    .context = &b->op[1]->ctx };
	unsigned int i, ok = 0;
	int ret;

	read.buf = fi_buf_linear(b->local->arena, LONG_LEN);
	write.buf = fi_buf_linear(b->remote->arena, 8);
	for (i = 0; i < ROUNDS; i++) {
		memset(b->local->arena, 0, LONG_LEN);
		ret = fi_readmsg(b->p.a, &read, 0);
		ret = ret ?: fi_writemsg(b->p.a, &write, FI_COMPLETION);
		ret = st_op_result(b->p.acq, b->op[1], ret);
		if (ret)
			break;
		ok += st_holds(b->local->arena, LONG_LEN, 21);
		st_op_reset(b->op[1]);
	}
	CHECKF(st, ok == ROUNDS,
	       "when a write is told the quiet read before it is over (%u, %d)",
	       ok, ret);
	CHECK_EQ(st, b->op[0]->count, 0, "of which nothing is told");
}

void st_test_read(struct st *st)
{
	struct bench *b = kvzalloc(sizeof(*b), GFP_KERNEL);
	struct fi_space_handler space = { .fn = st_read_on_space };
	struct st_opts loud = { .space = &space };
	struct st_opts quiet = { .tx_bind = FI_SELECTIVE_COMPLETION };

	if (!b)
		return;
	space.context = &b->room;
	init_completion(&b->room.come);
	if (st_read_bench_open(b, st, &loud)) {
		st_read_many(st, b);
		st_read_nothing(st, b);
		st_read_fence(st, b);
	}
	st_read_bench_close(b);
	memset(b, 0, sizeof(*b));
	if (st_read_bench_open(b, st, &quiet))
		st_read_behind(st, b);
	st_read_bench_close(b);
	kvfree(b);
}
