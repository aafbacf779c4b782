// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: atomic operations: what they do to an element, from several endpoints at
 * once, and what a peer must not do.
 */
#include <linux/kthread.h>
#include <linux/bitmap.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define REGION	   ST_ATOMIC_REGION
#define AT	   ST_ATOMIC_AT
#define WORKERS	   3
#define PER_WORKER 200
#define MOST	   (1 << 20) /* that the owner adds as well */
#define ALL_ACCESS (FI_REMOTE_READ | FI_REMOTE_WRITE | FI_ATOMIC)

static int st_atomic_open(struct st_atomic *a, struct st *st, u64 access)
{
	struct fi_buf buf;
	int ret;

	a->st = st;
	a->op = st_op_new(st);
	a->memory = kzalloc(AT + 2 * REGION, GFP_KERNEL);
	ret = st_pair_open(&a->p, st, NULL);
	a->ep = a->p.a;
	a->cq = a->p.acq;
	a->to = FI_ADDR_UNSPEC;
	if (!CHECK(st, a->op && a->memory, "there is memory") ||
	    !CHECK_EQ(st, ret, 0, "a pair connects for atomic operations"))
		return -ENOMEM;
	buf = fi_buf_linear(a->memory + AT, REGION);
	ret = st_mr_open(&a->p, &buf, access, &a->mr);
	if (!ret)
		a->key = fi_mr_key(a->mr);
	return ret;
}

static void st_atomic_close(struct st_atomic *a)
{
	if (a->mr)
		fi_close(&a->mr->fid);
	st_pair_close(&a->p);
	kfree(a->op);
	kfree(a->memory);
}

static void *st_atomic_at(struct st_atomic *a, u64 offset)
{
	return a->memory + AT + offset;
}

/* Without a result, with one, or with something to compare as well. */
int st_atomic_do(struct st_atomic *a, enum fi_datatype type, enum fi_op op,
		 u64 kind, size_t count, u64 offset)
{
	u64 addr = a->mr ? st_mr_addr(a->mr, offset) : offset;
	struct fid_ep *ep = a->ep;
	ssize_t ret;

	st_op_reset(a->op);
	if (kind == FI_COMPARE_ATOMIC)
		ret = fi_compare_atomic(ep, a->operand, count, NULL, a->compare,
					NULL, a->result, NULL, a->to, addr,
					a->key, type, op, &a->op->ctx);
	else if (kind == FI_FETCH_ATOMIC)
		ret = fi_fetch_atomic(ep, a->operand, count, NULL, a->result,
				      NULL, a->to, addr, a->key, type, op,
				      &a->op->ctx);
	else
		ret = fi_atomic(ep, a->operand, count, NULL, a->to, addr,
				a->key, type, op, &a->op->ctx);
	return st_op_result(a->cq, a->op, ret);
}

/* ---- what they do --------------------------------------------------------------- */

static const char *const st_atomic_names[FI_ATOMIC_OP_LAST] = {
	[FI_MIN] = "FI_MIN",
	[FI_MAX] = "FI_MAX",
	[FI_SUM] = "FI_SUM",
	[FI_PROD] = "FI_PROD",
	[FI_LOR] = "FI_LOR",
	[FI_LAND] = "FI_LAND",
	[FI_BOR] = "FI_BOR",
	[FI_BAND] = "FI_BAND",
	[FI_LXOR] = "FI_LXOR",
	[FI_BXOR] = "FI_BXOR",
	[FI_ATOMIC_READ] = "FI_ATOMIC_READ",
	[FI_ATOMIC_WRITE] = "FI_ATOMIC_WRITE",
	[FI_CSWAP] = "FI_CSWAP",
	[FI_CSWAP_NE] = "FI_CSWAP_NE",
	[FI_CSWAP_LE] = "FI_CSWAP_LE",
	[FI_CSWAP_LT] = "FI_CSWAP_LT",
	[FI_CSWAP_GE] = "FI_CSWAP_GE",
	[FI_CSWAP_GT] = "FI_CSWAP_GT",
	[FI_MSWAP] = "FI_MSWAP",
};

/* An element, an operand, what is compared, and what is to come of FI_MIN ... FI_MSWAP. */
struct st_atomic_row {
	enum fi_datatype type;
	s64 t, b, c;
	s64 want[FI_ATOMIC_OP_LAST];
};

static const struct st_atomic_row st_atomic_rows[] = {
	{ FI_INT32,
	  -5,
	  3,
	  -5,
	  { -5, 3, -2, -15, 1, 1, -5, 3, 0, -8, -5, 3, 3, -5, 3, -5, 3, -5,
	    3 } },
	{ FI_UINT32,
	  0xfffffffb,
	  3,
	  7,
	  { 3, 0xfffffffb, 0xfffffffe, 0xfffffff1, 1, 1, 0xfffffffb, 3, 0,
	    0xfffffff8, 0xfffffffb, 3, 0xfffffffb, 3, 3, 3, 0xfffffffb,
	    0xfffffffb, 0xfffffffb } },
	{ FI_INT64,
	  S64_MIN,
	  1,
	  0,
	  { S64_MIN, 1, S64_MIN + 1, S64_MIN, 1, 1, S64_MIN + 1, 0, 0,
	    S64_MIN + 1, S64_MIN, 1, S64_MIN, 1, S64_MIN, S64_MIN, 1, 1,
	    S64_MIN } },
	{ FI_UINT64,
	  S64_MIN,
	  1,
	  0,
	  { 1, S64_MIN, S64_MIN + 1, S64_MIN, 1, 1, S64_MIN + 1, 0, 0,
	    S64_MIN + 1, S64_MIN, 1, S64_MIN, 1, 1, 1, S64_MIN, S64_MIN,
	    S64_MIN } },
	{ FI_INT64,
	  0,
	  0,
	  0,
	  { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ FI_UINT64,
	  0x1234567890abcdef,
	  0x0f0f0f0f0f0f0f0f,
	  0x00000000ffffffff,
	  { 0x0f0f0f0f0f0f0f0f, 0x1234567890abcdef, 0x214365879fbadcfe,
	    0xe0cfbead9d231201, 1, 1, 0x1f3f5f7f9fafcfef, 0x02040608000b0d0f, 0,
	    0x1d3b59779fa4c2e0, 0x1234567890abcdef, 0x0f0f0f0f0f0f0f0f,
	    0x1234567890abcdef, 0x0f0f0f0f0f0f0f0f, 0x0f0f0f0f0f0f0f0f,
	    0x0f0f0f0f0f0f0f0f, 0x1234567890abcdef, 0x1234567890abcdef,
	    0x123456780f0f0f0f } },
};

static void st_atomic_put(void *array, size_t i, size_t size, s64 value)
{
	if (size == sizeof(u32))
		((u32 *)array)[i] = value;
	else
		((u64 *)array)[i] = value;
}

static bool st_atomic_is(const void *array, size_t i, size_t size, s64 value)
{
	return size == sizeof(u32) ? ((const u32 *)array)[i] == (u32)value
				   : ((const u64 *)array)[i] == (u64)value;
}

/* All elements that go in one operation, between two that it leaves alone. */
static bool st_atomic_row_ok(struct st_atomic *a,
			     const struct st_atomic_row *row, enum fi_op op,
			     u64 kind, const struct fi_atomic_attr *can)
{
	u64 flags = FI_ATOMIC | (kind ? FI_READ : FI_WRITE);
	const size_t size = can->size, n = can->count;
	u8 *to = st_atomic_at(a, 0);
	size_t i;
	bool ok;

	memset(a->memory, 0xee, AT + 2 * REGION);
	memset(a->result, 0xee, sizeof(a->result));
	for (i = 0; i < n; i++) {
		st_atomic_put(to, i + 1, size, row->t);
		st_atomic_put(a->operand, i, size, row->b);
		st_atomic_put(a->compare, i, size, row->c);
	}
	ok = !st_atomic_do(a, row->type, op, kind, n, size) &&
	     a->op->entry.flags == flags && a->op->entry.len == n * size;
	for (i = 0; i < n; i++)
		ok &= st_atomic_is(to, i + 1, size, row->want[op]) &&
		      (!kind || st_atomic_is(a->result, i, size, row->t));
	return ok && st_clean(a->memory, AT + size) &&
	       st_clean(to + size * (n + 1), 2 * REGION - size * (n + 1)) &&
	       (!kind || st_clean((u8 *)a->result + n * size,
				  sizeof(a->result) - n * size));
}

static noinline_for_stack void st_atomic_all(struct st_atomic *a)
{
	static const u64 kinds[] = { 0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC };
	struct fi_atomic_attr can;
	struct st *st = a->st;
	unsigned int op, i, k, tried, ok;

	for (op = 0; op < FI_ATOMIC_OP_LAST; op++) {
		tried = 0;
		ok = 0;
		for (i = 0; i < ARRAY_SIZE(st_atomic_rows); i++)
			for (k = 0; k < ARRAY_SIZE(kinds); k++) {
				const struct st_atomic_row *row =
					&st_atomic_rows[i];

				if (fi_query_atomic(st->domain, row->type, op,
						    &can, kinds[k]))
					continue;
				tried++;
				ok += st_atomic_row_ok(a, row, op, kinds[k],
						       &can);
			}
		if (tried)
			CHECKF(st, ok == tried,
			       "%s does what it should, in %u ways",
			       st_atomic_names[op], tried);
	}
}

/* What is said to be there is, and all else is refused. */
static noinline_for_stack void st_atomic_valid(struct st_atomic *a)
{
	struct st *st = a->st;
	u32 proto = st->info->ep_attr->protocol;
	bool in_software = proto == FI_PROTO_LOOP || proto == FI_PROTO_KFI_RDM;
	struct fid_ep *ep = a->ep;
	struct fi_atomic_attr can;
	size_t n = 0;

	CHECK(st, !fi_fetch_atomicvalid(ep, FI_UINT64, FI_SUM, &n) && n >= 1,
	      "64 bits are added to");
	CHECK(st, !fi_compare_atomicvalid(ep, FI_UINT64, FI_CSWAP, &n) && n,
	      "they are compared and swapped");
	CHECK_EQ(st, fi_atomicvalid(ep, FI_UINT64, FI_CSWAP, &n), -EOPNOTSUPP,
		 "not without something to compare");
	CHECK_EQ(st, fi_atomicvalid(ep, FI_UINT64, FI_ATOMIC_READ, &n),
		 -EOPNOTSUPP, "nothing is read without a result");
	CHECK_EQ(st, fi_compare_atomicvalid(ep, FI_INT64, FI_SUM, &n),
		 -EOPNOTSUPP, "nothing is compared to be added to");
	CHECK_EQ(st, fi_atomicvalid(ep, FI_DATATYPE_LAST, FI_SUM, &n), -EINVAL,
		 "an unknown type is refused");
	CHECK_EQ(st, fi_atomicvalid(ep, -1, FI_SUM, &n), -EINVAL,
		 "so is a negative one");
	CHECK_EQ(st, fi_fetch_atomicvalid(ep, FI_INT64, FI_ATOMIC_OP_LAST, &n),
		 -EINVAL, "an unknown operation is refused");
	CHECK_EQ(st,
		 fi_query_atomic(st->domain, FI_INT64, FI_SUM, &can,
				 FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC),
		 -FI_EBADFLAGS, "two kinds at a time are refused");
	CHECK_EQ(st,
		 fi_query_atomic(st->domain, FI_INT64, FI_SUM, &can, FI_MORE),
		 -FI_EBADFLAGS, "an unknown flag is refused");
	CHECK_EQ(st, fi_atomicvalid(ep, FI_INT32, FI_MAX, &n),
		 in_software ? 0 : -EOPNOTSUPP,
		 "software does what devices do not");
}

static noinline_for_stack void st_atomic_swap(struct st_atomic *a)
{
	u64 *word = st_atomic_at(a, 8);
	struct st *st = a->st;

	*word = 41;
	a->compare[0] = 40;
	a->operand[0] = 99;
	CHECK_EQ(st,
		 st_atomic_do(a, FI_UINT64, FI_CSWAP, FI_COMPARE_ATOMIC, 1, 8),
		 0, "a swap that does not fit is done");
	CHECK_EQ(st, a->result[0], 41, "it tells what is there");
	CHECK_EQ(st, *word, 41, "and leaves it");
	a->compare[0] = 41;
	CHECK_EQ(st,
		 st_atomic_do(a, FI_UINT64, FI_CSWAP, FI_COMPARE_ATOMIC, 1, 8),
		 0, "one that fits is done");
	CHECK_EQ(st, a->result[0], 41, "it tells what was there");
	CHECK_EQ(st, *word, 99, "and puts the new one there");
}

/* Operands are the caller's again at once; a later operation comes behind. */
static noinline_for_stack void st_atomic_inject(struct st_atomic *a)
{
	u64 *word = st_atomic_at(a, 0);
	struct st *st = a->st;
	int i, ret = 0;

	*word = 7;
	for (i = 0; i < 5; i++) {
		a->operand[0] = 10;
		ret = ret
			      ?: fi_inject_atomic(a->ep, a->operand, 1, a->to,
						  st_mr_addr(a->mr, 0), a->key,
						  FI_UINT64, FI_SUM);
		a->operand[0] = 0xbad;
	}
	CHECK_EQ(st, ret, 0, "operations are injected");
	a->operand[0] = 0;
	CHECK_EQ(st, st_atomic_do(a, FI_UINT64, FI_SUM, FI_FETCH_ATOMIC, 1, 0),
		 0, "one behind them is done");
	CHECK_EQ(st, a->result[0], 57, "it sees what they did");
	CHECK_EQ(st, st_cq_drain(a->cq, ST_QUIET_MS), 0,
		 "and they are not told");
}

/* ---- several at once ------------------------------------------------------------ */

struct st_atomic_worker {
	struct st_pair p;
	struct st_op *op;
	struct fid_mr *mr;
	struct completion done;
	unsigned long *seen; /* of all workers; bits */
	int failed;
	u64 result;
};

static int st_atomic_work(void *arg)
{
	struct st_atomic_worker *w = arg;
	const u64 one = 1;
	ssize_t ret;
	int i;

	for (i = 0; i < PER_WORKER; i++) {
		st_op_reset(w->op);
		w->result = U64_MAX;
		ret = fi_fetch_atomic(w->p.a, &one, 1, NULL, &w->result, NULL,
				      FI_ADDR_UNSPEC, st_mr_addr(w->mr, 0),
				      fi_mr_key(w->mr), FI_UINT64, FI_SUM,
				      &w->op->ctx);
		if (st_op_result(w->p.acq, w->op, ret) || w->result >= MOST ||
		    test_and_set_bit(w->result, w->seen))
			w->failed++;
	}
	complete(&w->done);
	return 0;
}

static bool st_atomic_worker_open(struct st_atomic_worker *w, struct st *st,
				  u64 *word)
{
	struct fi_buf buf = fi_buf_linear(word, sizeof(*word));

	init_completion(&w->done);
	w->op = st_op_new(st);
	return !st_pair_open(&w->p, st, NULL) && w->op &&
	       !st_mr_open(&w->p, &buf, FI_ATOMIC, &w->mr);
}

/* The owner's CPU is one of those who add, where it may be: what it has added. */
static u64 st_atomic_own(const struct st *st, u64 *word)
{
	if (st->info->ep_attr->protocol != FI_PROTO_LOOP)
		return 0;
	atomic64_inc((atomic64_t *)word);
	return 1;
}

/* Regions of the same memory, each of an endpoint of its own. */
static noinline_for_stack void st_atomic_together(struct st *st)
{
	struct st_atomic_worker *w = kcalloc(WORKERS, sizeof(*w), GFP_KERNEL);
	unsigned long *seen = bitmap_zalloc(MOST, GFP_KERNEL);
	u64 *word = kzalloc(sizeof(*word), GFP_KERNEL);
	int i, opened = 0, failed = 0, started = 0;
	u64 own = 0;

	if (!CHECK(st, w && word && seen, "there is memory for workers"))
		goto free;
	for (i = 0; i < WORKERS; i++) {
		w[i].seen = seen;
		opened += st_atomic_worker_open(&w[i], st, word);
	}
	CHECK_EQ(st, opened, WORKERS, "workers connect");
	for (i = 0; i < WORKERS && opened == WORKERS; i++)
		started += !IS_ERR(
			kthread_run(st_atomic_work, &w[i], "kfabric-atomic"));
	for (i = 0; i < started; i++) {
		while (!wait_for_completion_timeout(&w[i].done, 1))
			own += st_atomic_own(st, word);
		failed += w[i].failed;
	}
	CHECK_EQ(st, started, WORKERS, "workers run");
	CHECK_EQ(st, failed, 0, "each addition sees a sum of its own");
	CHECK_EQ(st, *word, WORKERS * PER_WORKER + own,
		 "nothing that was added is lost");
	for (i = 0; i < WORKERS; i++) {
		if (w[i].mr)
			fi_close(&w[i].mr->fid);
		st_pair_close(&w[i].p);
		kfree(w[i].op);
	}
free:
	bitmap_free(seen);
	kfree(word);
	kfree(w);
}

/* ---- what is refused ------------------------------------------------------------ */

static ssize_t st_atomic_post(struct st_atomic *a, struct fi_msg_atomic *m,
			      u64 flags)
{
	struct fi_buf to = fi_buf_linear(a->result, sizeof(u64));

	return fi_fetch_atomicmsg(a->ep, m, &to, flags);
}

static noinline_for_stack void st_atomic_refused(struct st_atomic *a)
{
	struct fi_rma_ioc ioc = { .addr = st_mr_addr(a->mr, 0),
				  .count = 1,
				  .key = a->key };
	const struct fi_msg_atomic good = {
		.buf = fi_buf_linear(a->operand, sizeof(u64)),
		.rma_iov = &ioc,
		.rma_iov_count = 1,
		.addr = a->to,
		.datatype = FI_UINT64,
		.op = FI_SUM,
		.context = &a->op->ctx,
	};
	struct fi_buf none = {}, small = fi_buf_linear(a->result, 4);
	struct fi_msg_atomic m = good;
	struct st *st = a->st;

	CHECK_EQ(st, st_atomic_post(a, &m, FI_INJECT), -FI_EBADFLAGS,
		 "what has a result is not injected");
	CHECK_EQ(st, st_atomic_post(a, &m, FI_REMOTE_CQ_DATA), -FI_EBADFLAGS,
		 "there is no word for the peer");
	CHECK_EQ(st,
		 st_atomic_post(a, &m,
				FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE),
		 -FI_EBADFLAGS, "two levels are refused");
	CHECK_EQ(st, st_atomic_post(a, &m, FI_COMMIT_COMPLETE), -EOPNOTSUPP,
		 "nothing is promised to persist");
	CHECK_EQ(st, fi_fetch_atomicmsg(a->ep, &m, &small, 0), -EINVAL,
		 "a result without room is refused");
	CHECK_EQ(st, fi_fetch_atomicmsg(a->ep, &m, NULL, 0), -EINVAL,
		 "so is none");
	CHECK_EQ(st, fi_compare_atomicmsg(a->ep, &m, &none, &small, 0),
		 -EOPNOTSUPP, "a sum compares nothing");
	m.op = FI_CSWAP;
	CHECK_EQ(st, fi_compare_atomicmsg(a->ep, &m, &none, &small, 0), -EINVAL,
		 "a swap without something to compare is refused");
	m.op = FI_MSWAP + 1;
	CHECK_EQ(st, st_atomic_post(a, &m, 0), -EINVAL,
		 "an unknown operation is refused");
	m = good;
	m.datatype = 77;
	CHECK_EQ(st, st_atomic_post(a, &m, 0), -EINVAL,
		 "an unknown type is refused");
	m = good;
	m.buf.len = 4;
	CHECK_EQ(st, st_atomic_post(a, &m, 0), -EINVAL,
		 "half an operand is refused");
	m.buf = none;
	CHECK_EQ(st, st_atomic_post(a, &m, 0), -EINVAL,
		 "so is none where there must be one");
	m = good;
	m.context = NULL;
	CHECK_EQ(st, st_atomic_post(a, &m, 0), -EINVAL,
		 "an operation without context is refused");
	CHECK_EQ(st, fi_atomicmsg(a->ep, &m, FI_INJECT), -EINVAL,
		 "so is an injected message");
	m = good;
	m.rma_iov_count = 0;
	CHECK_EQ(st, st_atomic_post(a, &m, 0), -EINVAL, "no range is refused");
	m.rma_iov_count = 2;
	CHECK_EQ(st, st_atomic_post(a, &m, 0), -E2BIG, "so are two");
	m = good;
	ioc.count = 0;
	CHECK_EQ(st, st_atomic_post(a, &m, 0), -EINVAL,
		 "no element is refused");
	ioc.count = SIZE_MAX / 4;
	CHECK_EQ(st, st_atomic_post(a, &m, 0), -EMSGSIZE,
		 "more elements than there may be are refused");
	ioc.count = 1;
	ioc.addr = st_mr_addr(a->mr, 4);
	CHECK_EQ(st, st_atomic_post(a, &m, 0), -EINVAL,
		 "an address between two elements is refused");
	ioc.addr = U64_MAX - 7;
	CHECK_EQ(st, st_atomic_post(a, &m, 0), -EINVAL,
		 "one at the end of all is");
	CHECK_EQ(st, st_cq_drain(a->cq, ST_QUIET_MS), 0,
		 "what was refused has no completion");
}

/* What an endpoint does and refuses, whoever connects it. */
void st_atomic_suite(struct st_atomic *a)
{
	st_atomic_valid(a);
	st_atomic_all(a);
	st_atomic_swap(a);
	st_atomic_inject(a);
	st_atomic_refused(a);
}

/* ---- what the peer refuses -------------------------------------------------------- */

struct st_atomic_attempt {
	const char *what;
	u64 access;
	s64 offset;
	u64 key_change;
	bool closed;
	int why; /* that a provider in software tells */
};

static const struct st_atomic_attempt st_atomic_attempts[] = {
	{ .what = "on a region without the right",
	  .access = FI_REMOTE_READ | FI_REMOTE_WRITE,
	  .why = EPERM },
	{ .what = "with a wrong key",
	  .access = ALL_ACCESS,
	  .key_change = 0x5a00,
	  .why = ENOENT },
	{ .what = "behind the end",
	  .access = ALL_ACCESS,
	  .offset = REGION,
	  .why = ERANGE },
	{ .what = "far behind the end",
	  .access = ALL_ACCESS,
	  .offset = 1LL << 40,
	  .why = ERANGE },
	{ .what = "on a region that was closed",
	  .access = ALL_ACCESS,
	  .closed = true,
	  .why = ENOENT },
};

/* Each ends its connection. */
static noinline_for_stack void
st_atomic_attempt(struct st *st, const struct st_atomic_attempt *try)
{
	bool is_loop = st->info->ep_attr->protocol == FI_PROTO_LOOP;
	struct st_atomic a = {};
	u64 addr;
	int ret = st_atomic_open(&a, st, try->access);

	if (!CHECKF(st, !ret, "a region opens for one %s", try->what))
		goto close;
	a.key ^= try->key_change;
	a.operand[0] = 5;
	a.result[0] = 0xabcd;
	addr = st_mr_addr(a.mr, try->offset);
	if (try->closed) {
		fi_close(&a.mr->fid);
		a.mr = NULL;
	}
	ret = st_atomic_do(&a, FI_UINT64, FI_SUM, FI_FETCH_ATOMIC, 1,
			   a.mr ? try->offset : addr);
	CHECKF(st, ret == EACCES, "an operation %s is refused (got %d)",
	       try->what, ret);
	if (is_loop && !strcmp(st->provider, "loop"))
		CHECK_EQ(st, a.op->entry.prov_errno, try->why,
			 "it is told why");
	CHECKF(st,
	       !memchr_inv(a.memory, 0, AT + 2 * REGION) &&
		       a.result[0] == 0xabcd,
	       "one %s changes nothing", try->what);
	CHECK_EQ(st, st_cq_drain(a.p.acq, ST_QUIET_MS), 0, "it is told once");
close:
	st_atomic_close(&a);
}

/* Memory whose elements are between two words, which the address need not tell. */
static noinline_for_stack void st_atomic_misaligned(struct st *st)
{
	struct st_atomic a = {};
	struct fi_buf buf;
	int ret;

	if (st->domain->mr_mode & FI_MR_VIRT_ADDR)
		return;
	if (!CHECK_EQ(st, st_atomic_open(&a, st, ALL_ACCESS), 0,
		      "a region opens"))
		goto close;
	fi_close(&a.mr->fid);
	buf = fi_buf_linear(a.memory + AT + 4, REGION);
	ret = st_mr_open(&a.p, &buf, ALL_ACCESS, &a.mr);
	if (!CHECK_EQ(st, ret, 0, "one opens between two words"))
		goto close;
	a.key = fi_mr_key(a.mr);
	a.operand[0] = 5;
	ret = st_atomic_do(&a, FI_UINT32, FI_SUM, 0, 16, 0);
	CHECK_EQ(st, ret, 0, "short elements lie well there");
	memset(a.memory, 0, AT + 2 * REGION);
	ret = st_atomic_do(&a, FI_UINT64, FI_SUM, 0, 1, 0);
	CHECK_EQ(st, ret, EACCES, "long ones do not, and are refused");
	CHECK(st, !memchr_inv(a.memory, 0, AT + 2 * REGION),
	      "nothing is changed");
close:
	st_atomic_close(&a);
}

/* Nothing of it is there, and nothing pretends to be. */
static void st_atomic_absent(struct st *st)
{
	struct fi_atomic_attr can;
	struct st_atomic a = {};

	CHECK_EQ(st, st_atomic_open(&a, st, ALL_ACCESS), -EOPNOTSUPP,
		 "without atomic operations there is no right to them");
	if (a.p.a)
		CHECKF(st,
		       st_atomic_do(&a, FI_UINT64, FI_SUM, 0, 1, 0) < 0 &&
			       fi_query_atomic(st->domain, FI_UINT64, FI_SUM,
					       &can, 0) < 0,
		       "they are refused");
	st_atomic_close(&a);
}

void st_test_atomic(struct st *st)
{
	struct st_atomic a = {};
	size_t i;

	if (!(st->info->caps & FI_ATOMIC)) {
		st_atomic_absent(st);
		return;
	}
	if (CHECK_EQ(st, st_atomic_open(&a, st, ALL_ACCESS), 0,
		     "a region opens for atomic operations")) {
		st_atomic_suite(&a);
	}
	st_atomic_close(&a);
	st_atomic_together(st);
	for (i = 0; i < ARRAY_SIZE(st_atomic_attempts); i++)
		st_atomic_attempt(st, &st_atomic_attempts[i]);
	st_atomic_misaligned(st);
}
