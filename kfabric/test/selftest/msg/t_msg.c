// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: messages: sizes, shapes, order, data, limits.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "../st.h"

/* The usual set-up: a pair, two operations, two buffers. */
struct bench {
	struct st_pair p;
	struct st_op *tx;
	struct st_op *rx;
	struct st_seg *src;
	struct st_seg *dst;
};

static bool st_msg_bench_open(struct bench *b, struct st *st)
{
	b->tx = st_op_new(st);
	b->rx = st_op_new(st);
	b->src = st_seg_new();
	b->dst = st_seg_new();
	return CHECK_EQ(st, st_pair_open(&b->p, st, NULL), 0,
			"a pair connects for messages") &&
	       CHECK(st, b->tx && b->rx && b->src && b->dst,
		     "there is memory for messages");
}

static void st_msg_bench_close(struct bench *b)
{
	st_pair_close(&b->p);
	kfree(b->tx);
	kfree(b->rx);
	st_seg_free(b->src);
	st_seg_free(b->dst);
}

/* Send what src holds into dst; 0 if both completions say so. */
static int st_msg_send_once(struct bench *b, u64 flags, u64 data)
{
	struct fi_msg rx = { .buf = b->dst->buf, .context = &b->rx->ctx };
	struct fi_msg tx = { .buf = b->src->buf,
			     .context = &b->tx->ctx,
			     .data = data };
	int ret;

	st_op_reset(b->rx);
	st_op_reset(b->tx);
	ret = fi_recvmsg(b->p.b, &rx, 0);
	ret = ret ?: fi_sendmsg(b->p.a, &tx, flags);
	ret = st_op_result(b->p.acq, b->tx, ret);
	return st_op_result(b->p.bcq, b->rx, ret);
}

static noinline_for_stack void st_msg_sizes(struct st *st, struct bench *b)
{
	static const size_t sizes[] = { 0,    1,     2,	    63,
					64,   511,   4095,  4096,
					4097, 65535, 65537, ST_MAX_LEN };
	size_t i;
	u8 seed;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		seed = i + 1;
		st_seg_shape(b->src, FI_BUF_LINEAR, 1, i, sizes[i]);
		st_seg_shape(b->dst, FI_BUF_LINEAR, 1, i / 2, sizes[i]);
		st_seg_fill(b->src, seed);
		CHECKF(st,
		       !st_msg_send_once(b, 0, 0) &&
			       b->rx->entry.len == sizes[i] &&
			       st_seg_holds(b->dst, seed),
		       "a message of %zu bytes arrives", sizes[i]);
	}
}

static noinline_for_stack void st_msg_shapes(struct st *st, struct bench *b)
{
	static const char *const names[] = { "", "linear", "kvec", "bvec",
					     "scatterlist" };
	size_t limit = min3(st->info->tx_attr->iov_limit,
			    st->info->rx_attr->iov_limit, (size_t)ST_MAX_SEGS);
	enum fi_buf_type type;
	unsigned int n;

	for (type = FI_BUF_KVEC; type <= FI_BUF_SG; type++)
		for (n = 1; n <= limit; n *= 2) {
			st_seg_shape(b->src, type, n, 1, 10007);
			st_seg_shape(b->dst, type, limit / n, 2, 10007);
			st_seg_fill(b->src, n);
			CHECKF(st,
			       !st_msg_send_once(b, 0, 0) &&
				       st_seg_holds(b->dst, n),
			       "%u to %zu segments of %s arrive", n, limit / n,
			       names[type]);
		}
}

static noinline_for_stack void st_msg_entry(struct st *st, struct bench *b)
{
	st_seg_shape(b->src, FI_BUF_LINEAR, 1, 0, 100);
	st_seg_shape(b->dst, FI_BUF_LINEAR, 1, 0, 200);
	st_seg_fill(b->src, 9);
	CHECK_EQ(st, st_msg_send_once(b, 0, 0), 0,
		 "a message shorter than its receive arrives");
	CHECK_EQ(st, b->rx->entry.len, 100, "its length is told");
	CHECK(st, b->rx->entry.flags & FI_RECV, "it is told as a receive");
	CHECK(st, !(b->rx->entry.flags & FI_REMOTE_CQ_DATA),
	      "no data is told where none came");
	CHECK(st, b->tx->entry.flags & FI_SEND, "it is told as a send");
	if (!st->info->domain_attr->cq_data_size)
		return;
	CHECK_EQ(st, st_msg_send_once(b, FI_REMOTE_CQ_DATA, 0x12345678), 0,
		 "a message with data arrives");
	CHECK(st, b->rx->entry.flags & FI_REMOTE_CQ_DATA, "data is told");
	CHECK_EQ(st, b->rx->entry.data, 0x12345678, "it is the right data");
}

static noinline_for_stack void st_msg_inject(struct st *st, struct bench *b)
{
	size_t len = min_t(size_t, st->info->tx_attr->inject_size, 64);
	u8 *small = b->src->arena;
	struct fi_msg rx;

	if (!len)
		return;
	st_seg_shape(b->dst, FI_BUF_LINEAR, 1, 0, len);
	rx = (struct fi_msg){ .buf = b->dst->buf, .context = &b->rx->ctx };
	st_op_reset(b->rx);
	st_fill(small, len, 33);
	CHECK_EQ(st, fi_recvmsg(b->p.b, &rx, 0), 0, "a receive is posted");
	CHECK_EQ(st, fi_inject(b->p.a, small, len, 0), 0,
		 "a small message is injected");
	memset(small, 0, len);
	CHECK_EQ(st, st_op_result(b->p.bcq, b->rx, 0), 0, "it arrives");
	CHECK(st, st_seg_holds(b->dst, 33), "as it was when it was posted");
	CHECK_EQ(st, st_cq_drain(b->p.acq, ST_QUIET_MS), 0,
		 "an injected message has no completion");
	CHECK_EQ(st,
		 fi_inject(b->p.a, b->src->arena,
			   st->info->tx_attr->inject_size + 1, 0),
		 -EMSGSIZE, "a message that is too long is not injected");
	st_seg_shape(b->src, FI_BUF_LINEAR, 1, 3, len);
	st_seg_fill(b->src, 34);
	CHECK_EQ(st, st_msg_send_once(b, FI_INJECT, 0), 0,
		 "a send with FI_INJECT completes");
}

static noinline_for_stack void st_msg_order(struct st *st, struct bench *b)
{
	struct st_op *rx[8] = {}, *tx[8] = {};
	unsigned int i, ok = 0;
	u32 *in = (u32 *)b->dst->arena, *out = (u32 *)b->src->arena;
	int ret = 0;

	for (i = 0; i < 8; i++) {
		rx[i] = st_op_new(st);
		tx[i] = st_op_new(st);
		out[i] = i * 3;
		ret = ret ?: fi_recv(b->p.b, &in[i], 4, NULL, 0, &rx[i]->ctx);
	}
	for (i = 0; i < 8; i++) {
		struct fi_msg m = { .buf = fi_buf_linear(&out[i], 4),
				    .context = &tx[i]->ctx };

		ret = ret ?: fi_sendmsg(b->p.a, &m, i < 7 ? FI_MORE : 0);
	}
	CHECK_EQ(st, ret, 0, "a chain with FI_MORE is posted");
	for (i = 0; i < 8; i++)
		ok += !st_op_result(b->p.acq, tx[i], ret) &&
		      !st_op_result(b->p.bcq, rx[i], ret) && in[i] == i * 3;
	CHECK_EQ(st, ok, 8, "messages arrive in the order of posting");
	for (i = 0; i < 8; i++) {
		kfree(rx[i]);
		kfree(tx[i]);
	}
}

static noinline_for_stack void st_msg_refused(struct st *st, struct bench *b)
{
	struct fi_msg m = { .buf = fi_buf_linear(b->src->arena, 8),
			    .context = &b->tx->ctx };

	CHECK_EQ(st, fi_sendmsg(b->p.a, &m, BIT_ULL(63)), -FI_EBADFLAGS,
		 "an unknown flag is refused by send");
	CHECK_EQ(st, fi_recvmsg(b->p.a, &m, BIT_ULL(63)), -FI_EBADFLAGS,
		 "an unknown flag is refused by receive");
	CHECK_EQ(st,
		 fi_sendmsg(b->p.a, &m,
			    FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE),
		 -FI_EBADFLAGS, "two completion levels are refused");
	m.context = NULL;
	CHECK_EQ(st, fi_sendmsg(b->p.a, &m, 0), -EINVAL,
		 "a send without context is refused");
	CHECK_EQ(st, fi_recvmsg(b->p.a, &m, 0), -EINVAL,
		 "a receive without context is refused");
	m.context = &b->tx->ctx;
	m.buf.len = SIZE_MAX / 2;
	CHECK_EQ(st, fi_sendmsg(b->p.a, &m, 0), -EMSGSIZE,
		 "a message beyond max_msg_size is refused");
	m.buf = (struct fi_buf){ .type = 99, .len = 8 };
	CHECK_EQ(st, fi_sendmsg(b->p.a, &m, 0), -EINVAL,
		 "a buffer of unknown type is refused");
	m.buf = fi_buf_linear(NULL, 8);
	CHECK_EQ(st, fi_sendmsg(b->p.a, &m, 0), -EINVAL,
		 "a buffer at NULL is refused");
	st_seg_shape(b->src, FI_BUF_KVEC, 2, 0, 16);
	m.buf = b->src->buf;
	m.buf.len = 17;
	CHECK_EQ(st, fi_sendmsg(b->p.a, &m, 0), -EINVAL,
		 "segments shorter than the buffer are refused");
	m.buf.len = 16;
	m.buf.count = st->info->tx_attr->iov_limit + 1;
	CHECK_EQ(st, fi_sendmsg(b->p.a, &m, 0), -E2BIG,
		 "too many segments are refused");
	CHECK_EQ(st, fi_tinject(b->p.a, b->src->arena, 8, 0, 1), -ENOSYS,
		 "a connected endpoint has no tags");
	CHECK_EQ(st, st_cq_drain(b->p.acq, ST_QUIET_MS), 0,
		 "what was refused has no completion");
}

static noinline_for_stack void st_msg_level(struct st *st, struct bench *b)
{
	u64 missing = FI_COMPLETION_LEVELS & ~b->p.a->comp_levels;
	struct fi_msg m = { .buf = fi_buf_linear(b->src->arena, 8),
			    .context = &b->tx->ctx };

	if (missing)
		CHECK_EQ(st,
			 fi_sendmsg(b->p.a, &m, rounddown_pow_of_two(missing)),
			 -EOPNOTSUPP, "a level that is not there is refused");
}

void st_test_msg(struct st *st)
{
	struct bench b = {};

	if (st_msg_bench_open(&b, st)) {
		st_msg_level(st, &b);
		st_msg_sizes(st, &b);
		st_msg_shapes(st, &b);
		st_msg_entry(st, &b);
		st_msg_inject(st, &b);
		st_msg_order(st, &b);
		st_msg_refused(st, &b);
	}
	st_msg_bench_close(&b);
}
