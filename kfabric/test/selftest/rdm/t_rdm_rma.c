// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: remote memory by unconnected endpoints.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define BASE	  ST_ROOM_BASE
#define REGION	  (16 * BASE) /* bytes of a region, and of the buffer beside it */
#define KEY	  0x5eed0000fffffff1ULL
#define READ_ONLY 77
#define DATA	  0x0123456789abcdefULL
#define MANY	  24 /* operations at one time: more than may be without answer */
#define READ_LEN  8
#define ROUNDS	  50

/* a reads and writes memory of b. */
struct st_remote {
	struct st_duo d;
	u8 *memory; /* of the region */
	u8 *bytes; /* of operations */
	struct fid_mr *mr;
};

static bool st_remote_open(struct st_remote *m, struct st *st)
{
	m->memory = kvzalloc(REGION, GFP_KERNEL);
	m->bytes = kvzalloc(REGION, GFP_KERNEL);
	if (!CHECK(st, m->memory && m->bytes, "there is memory for regions") ||
	    !st_duo_open(&m->d, st))
		return false;
	return CHECK_EQ(st,
			fi_mr_reg(st->domain, m->memory, REGION,
				  FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0,
				  &m->mr, NULL),
			0, "a region is registered");
}

static void st_remote_close(struct st_remote *m)
{
	if (m->mr)
		fi_close(&m->mr->fid);
	st_duo_close(&m->d);
	kvfree(m->memory);
	kvfree(m->bytes);
}

/* How a write or read of one range ends. */
static int st_remote_do(struct st_remote *m, bool write, size_t len, u64 addr,
			u64 key)
{
	struct st_op *op = m->d.r.tx[0];
	int ret;

	st_op_reset(op);
	if (write)
		ret = fi_write(m->d.a.ep, m->bytes, len, NULL, m->d.to_b, addr,
			       key, &op->ctx);
	else
		ret = fi_read(m->d.a.ep, m->bytes, len, NULL, m->d.to_b, addr,
			      key, &op->ctx);
	return st_op_result(m->d.a.cq, op, ret);
}

static noinline_for_stack void st_remote_keys(struct st *st,
					      struct st_remote *m)
{
	struct fid_mr *mr = NULL;

	CHECK(st, st->info->caps & FI_RMA, "there is remote memory");
	CHECK_EQ(st, st->info->domain_attr->mr_mode, 0,
		 "of keys that are asked for, and addresses from 0");
	CHECK(st, fi_mr_key(m->mr) == KEY, "a region has the key it asked for");
	CHECK_EQ(st,
		 fi_mr_reg(st->domain, m->bytes, 8, FI_REMOTE_READ, 0, KEY, 0,
			   &mr, NULL),
		 -EEXIST, "another one does not get it");
	CHECK_EQ(st, fi_flush_modes(m->d.a.ep), 0, "there is no flush");
}

static noinline_for_stack void st_remote_sizes(struct st *st,
					       struct st_remote *m)
{
	static const size_t sizes[] = { 1, 0, 4064, 4096, 4097, 9000, REGION };
	struct st_op *op = m->d.r.tx[0];
	size_t i, n, at;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		n = sizes[i];
		at = min_t(size_t, 7, REGION - n);
		memset(m->memory, 0, REGION);
		st_fill(m->bytes, n, i + 1);
		CHECKF(st,
		       !st_remote_do(m, true, n, at, KEY) &&
			       op->entry.flags == (FI_WRITE | FI_RMA) &&
			       st_holds(m->memory + at, n, i + 1) &&
			       !memchr_inv(m->memory, 0, at) &&
			       !memchr_inv(m->memory + at + n, 0,
					   REGION - at - n),
		       "%zu bytes are written, and no others", n);
		memset(m->bytes, 0, REGION);
		CHECKF(st,
		       !st_remote_do(m, false, n, at, KEY) &&
			       op->entry.flags == (FI_READ | FI_RMA) &&
			       st_holds(m->bytes, n, i + 1),
		       "%zu bytes are read", n);
	}
}

static noinline_for_stack void st_remote_ranges(struct st *st,
						struct st_remote *m)
{
	const struct fi_rma_iov rma[] = {
		{ .addr = 100, .len = 10, .key = KEY },
		{ .addr = 9000, .len = 0, .key = KEY },
		{ .addr = 5000, .len = 6000, .key = KEY },
		{ .addr = 50, .len = 40, .key = KEY },
	};
	struct kvec out[2] = { { m->bytes, 3000 }, { m->bytes + 8000, 3050 } };
	struct st_op *op = m->d.r.tx[0];
	struct fi_msg_rma msg = { .buf = fi_buf_kvec(out, 2, 6050),
				  .rma_iov = rma,
				  .rma_iov_count = ARRAY_SIZE(rma),
				  .addr = m->d.to_b,
				  .context = &op->ctx };

	memset(m->memory, 0, REGION);
	st_fill(m->bytes, 12000, 5);
	st_op_reset(op);
	CHECK_EQ(st,
		 st_op_result(m->d.a.cq, op,
			      fi_writemsg(m->d.a.ep, &msg,
					  FI_DELIVERY_COMPLETE)),
		 0, "ranges are written to ranges");
	CHECK(st,
	      !memcmp(m->memory + 100, m->bytes, 10) &&
		      !memcmp(m->memory + 5000, m->bytes + 10, 2990) &&
		      !memcmp(m->memory + 7990, m->bytes + 8000, 3010) &&
		      !memcmp(m->memory + 50, m->bytes + 11010, 40),
	      "each has its bytes");
	memset(m->bytes, 0, 12000);
	st_op_reset(op);
	CHECK_EQ(st,
		 st_op_result(m->d.a.cq, op, fi_readmsg(m->d.a.ep, &msg, 0)), 0,
		 "they are read");
	CHECK(st,
	      !memcmp(m->memory + 100, m->bytes, 10) &&
		      !memcmp(m->memory + 5000, m->bytes + 10, 2990) &&
		      !memcmp(m->memory + 7990, m->bytes + 8000, 3010) &&
		      !memcmp(m->memory + 50, m->bytes + 11010, 40),
	      "into ranges");
	CHECK_EQ(st, fi_writemsg(m->d.a.ep, &msg, FI_COMMIT_COMPLETE),
		 -EOPNOTSUPP, "nothing is promised to persist");
}

/* A refusal ends its operation, and nothing else. */
static noinline_for_stack void st_remote_refused(struct st *st,
						 struct st_remote *m)
{
	struct st_op *op = m->d.r.tx[0];
	struct fid_mr *mr = NULL;

	memset(m->memory, 0, REGION);
	st_fill(m->bytes, REGION, 3);
	CHECK_EQ(st, st_remote_do(m, true, 8, 0, KEY + 1), FI_EACCES,
		 "a write with a key of nothing is refused");
	CHECK_EQ(st, op->entry.prov_errno, ENOENT, "it is told why");
	CHECK_EQ(st, op->entry.flags, FI_WRITE | FI_RMA, "its flags are exact");
	CHECK_EQ(st, st_remote_do(m, true, 9000, REGION - 8999, KEY), FI_EACCES,
		 "one beyond the region is");
	CHECK_EQ(st, op->entry.prov_errno, ERANGE, "it is told why");
	CHECK_EQ(st, st_remote_do(m, false, 8, REGION, KEY), FI_EACCES,
		 "a read beyond it is");
	CHECK_EQ(st,
		 fi_mr_reg(st->domain, m->memory, REGION, FI_REMOTE_READ, 0,
			   READ_ONLY, 0, &mr, NULL),
		 0, "a region to be read is registered");
	CHECK_EQ(st, st_remote_do(m, true, 8, 0, READ_ONLY), FI_EACCES,
		 "a write to it is refused");
	CHECK_EQ(st, op->entry.prov_errno, EPERM, "it is told why");
	CHECK(st, !memchr_inv(m->memory, 0, REGION),
	      "no byte of all that was placed");
	CHECK_EQ(st, st_remote_do(m, false, 8, 0, READ_ONLY), 0,
		 "a read of it is not");
	if (mr)
		fi_close(&mr->fid);
	CHECK_EQ(st, st_remote_do(m, false, 8, 0, READ_ONLY), FI_EACCES,
		 "when it is closed it is");
	CHECK_EQ(st, st_pass(&m->d.r, &m->d.a, &m->d.b, m->d.to_b, 10), 0,
		 "messages arrive as ever");
	CHECK_EQ(st, fi_inject_write(m->d.a.ep, m->bytes, 8, m->d.to_b, 0, 99),
		 0, "a write is injected that will be refused");
	CHECK_EQ(st, st_cq_take(m->d.a.cq, ST_WAIT_MS, NULL), 1, "it is told");
}

static noinline_for_stack void st_remote_data(struct st *st,
					      struct st_remote *m)
{
	const struct fi_rma_iov rma = { .addr = 10, .len = 5000, .key = KEY };
	struct st_op *op = m->d.r.tx[0], *rx = m->d.r.rx[0];
	struct fi_msg_rma msg = { .buf = fi_buf_linear(m->bytes, 5000),
				  .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .addr = m->d.to_b,
				  .context = &op->ctx,
				  .data = DATA };
	int ret;

	st_fill(m->bytes, 5000, 9);
	st_op_reset(op);
	ret = fi_writemsg(m->d.a.ep, &msg, FI_REMOTE_CQ_DATA);
	CHECK_EQ(st, st_op_result(m->d.a.cq, op, ret), 0,
		 "a write with data completes before there is a receive");
	CHECK_EQ(st, op->entry.flags, FI_WRITE | FI_RMA, "its flags are exact");
	CHECK(st, st_holds(m->memory + 10, 5000, 9), "the bytes are there");
	ret = st_node_recv(&m->d.b, rx, NULL, 0);
	CHECK_EQ(st, st_op_result(m->d.b.cq, rx, ret), 0,
		 "a receive without memory is told");
	CHECK(st,
	      rx->entry.flags == (FI_RECV | FI_RMA | FI_REMOTE_CQ_DATA) &&
		      rx->entry.data == DATA && rx->entry.len == 5000,
	      "of the data, and how much was written");
	ret = st_node_recv(&m->d.b, rx, m->d.r.dst, BASE);
	ret = ret ?: st_node_send(&m->d.a, op, m->d.r.src, 20, m->d.to_b);
	ret = st_op_result(m->d.a.cq, op, ret);
	CHECK(st, !st_op_result(m->d.b.cq, rx, ret) && rx->entry.len == 20,
	      "the next receive has the next message");
	CHECK_EQ(st,
		 fi_inject_write(m->d.a.ep, "injected", 8, m->d.to_b, 0, KEY),
		 0, "a write is injected");
	CHECK_EQ(st, st_remote_do(m, false, 8, 0, KEY), 0, "a read follows it");
	CHECK(st, !memcmp(m->bytes, "injected", 8), "and sees it");
}

/* More requests than may be under way, with messages between them. */
static noinline_for_stack void st_remote_many(struct st *st,
					      struct st_remote *m)
{
	struct fi_rma_iov rma = { .len = 2000, .key = KEY };
	struct fi_msg_rma msg = { .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .addr = m->d.to_b };
	struct st_room *r = &m->d.r;
	int i, ok = 0, ret = 0;

	memset(m->memory, 0, REGION);
	st_fill(m->bytes, REGION, 44);
	for (i = 0; i < MANY; i++) {
		st_op_reset(r->tx[i]);
		rma.addr = i / 2 * 2000;
		msg.context = &r->tx[i]->ctx;
		/* A write; then a read of it into another place, behind a fence. */
		msg.buf = fi_buf_linear(
			m->bytes + (i % 2 ? 30000 : 0) + rma.addr, 2000);
		if (i % 2)
			ret = ret ?: fi_readmsg(m->d.a.ep, &msg, FI_FENCE);
		else
			ret = ret ?: fi_writemsg(m->d.a.ep, &msg, 0);
	}
	for (i = 0; i < MANY; i++)
		ok += !st_op_result(m->d.a.cq, r->tx[i], ret);
	CHECK_EQ(st, ok, MANY, "many writes and reads complete");
	CHECK(st,
	      !memcmp(m->memory, m->bytes, MANY / 2 * 2000) &&
		      !memcmp(m->memory, m->bytes + 30000, MANY / 2 * 2000),
	      "each read has what was written before it");
}

/* Messages that nobody receives are in nobody's way. */
static noinline_for_stack void st_remote_behind(struct st *st,
						struct st_remote *m)
{
	struct st_room *r = &m->d.r;
	int i, ok = 0, ret = 0;

	for (i = 1; i < MANY; i++)
		ret = ret
			      ?: st_node_send(&m->d.a, r->tx[i], r->src,
					      100 + i, m->d.to_b);
	st_fill(m->bytes, 100, 4);
	CHECK_EQ(st, ret ?: st_remote_do(m, true, 100, 0, KEY), 0,
		 "a write passes messages that nobody receives");
	CHECK_EQ(st, st_remote_do(m, false, 100, 0, KEY), 0,
		 "a read does, too");
	for (i = 1; i < MANY; i++)
		ret = ret
			      ?: st_node_recv(&m->d.b, r->rx[i],
					      r->dst + i * BASE, BASE);
	for (i = 1; i < MANY; i++)
		ok += !st_op_result(m->d.b.cq, r->rx[i], ret) &&
		      !st_op_result(m->d.a.cq, r->tx[i], 0) &&
		      r->rx[i]->entry.len == 100 + i;
	CHECK_EQ(st, ok, MANY - 1, "they arrive in their order");
}

/*
 * Answers are behind messages that were taken out of their way: they are counted when
 * they come and looked at later, and meanwhile no request takes their place.
 */
static noinline_for_stack void st_remote_kept(struct st *st,
					      struct st_remote *m)
{
	struct st_room *r = &m->d.r;
	int i, round, ok = 0, ret = 0;

	for (i = 0; i < MANY; i++) {
		ret = ret
			      ?: st_node_send(&m->d.b, r->tx[i], r->src,
					      100 + i, m->d.to_a);
		ret = st_op_result(m->d.b.cq, r->tx[i], ret);
	}
	CHECK_EQ(st, ret, 0, "messages are sent that nobody receives");
	st_fill(m->memory, REGION, 8);
	for (round = 0; round < ROUNDS && !ret; round++) {
		memset(m->bytes, 0, MANY * READ_LEN);
		for (i = 0; i < MANY; i++) {
			st_op_reset(r->tx[i]);
			ret = ret
				      ?: fi_read(m->d.a.ep,
						 m->bytes + i * READ_LEN,
						 READ_LEN, NULL, m->d.to_b,
						 i * READ_LEN, KEY,
						 &r->tx[i]->ctx);
		}
		for (i = 0; i < MANY; i++)
			ret = st_op_result(m->d.a.cq, r->tx[i], ret);
		ok += !ret && !memcmp(m->bytes, m->memory, MANY * READ_LEN);
	}
	CHECK_EQ(st, ok, ROUNDS, "each of many reads has its own bytes");
	for (i = 0; i < MANY; i++) {
		ret = ret
			      ?: st_node_recv(&m->d.a, r->rx[i],
					      r->dst + i * BASE, BASE);
		ret = st_op_result(m->d.a.cq, r->rx[i], ret);
	}
	CHECK_EQ(st, ret, 0, "the messages are received at last");
}

static noinline_for_stack void st_remote_rules(struct st *st,
					       struct st_remote *m)
{
	struct st_op *op = m->d.r.tx[0];
	struct fi_msg msg = { .buf = fi_buf_linear(m->d.r.src, 10),
			      .addr = m->d.to_b,
			      .context = &op->ctx };
	int ret;

	CHECK_EQ(st, fi_sendmsg(m->d.a.ep, &msg, FI_DELIVERY_COMPLETE),
		 -EOPNOTSUPP, "a message has no such level");
	CHECK_EQ(st,
		 fi_write(m->d.a.ep, m->bytes, 8, NULL, FI_ADDR_UNSPEC, 0, KEY,
			  &op->ctx),
		 -EINVAL, "a write to nobody is refused");
	CHECK_EQ(st,
		 fi_read(m->d.a.ep, m->bytes, 8, NULL, m->d.to_b, ~0ULL, KEY,
			 &op->ctx),
		 -EINVAL, "a range that wraps around is refused");
	st_op_reset(op);
	ret = fi_write(m->d.a.ep, m->bytes, REGION, NULL, m->d.to_b, 0, KEY,
		       &op->ctx);
	CHECK_EQ(st, ret, 0, "a write is posted");
	st_node_close(&m->d.b);
	ret = st_op_result(m->d.a.cq, op, ret);
	CHECK(st, !ret || ret == FI_ECONNRESET || ret == EHOSTUNREACH,
	      "it ends when its peer closes");
}

void st_test_rdm_rma(struct st *st)
{
	struct st_remote *m = kzalloc(sizeof(*m), GFP_KERNEL);

	if (m && st_remote_open(m, st)) {
		st_remote_keys(st, m);
		st_remote_sizes(st, m);
		st_remote_ranges(st, m);
		st_remote_refused(st, m);
		st_remote_data(st, m);
		st_remote_many(st, m);
		st_remote_behind(st, m);
		st_remote_kept(st, m);
		st_remote_rules(st, m);
	}
	if (m)
		st_remote_close(m);
	kfree(m);
}
