// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: writes, reads and flushes of remote memory in all shapes.
 */
#include <linux/slab.h>

#include "../st.h"

struct bench {
	struct st_pair p;
	struct st_op *op;
	struct st_seg *local;
	struct st_seg *remote;
	struct fid_mr *mr;
};

/* Where the region begins in the remote arena, and its bytes at most. */
#define REGION_AT  64
#define REGION_LEN (ST_ARENA_LEN - 128)

/* A provider may have shorter regions; one may touch a page more. */
static size_t st_rma_region_len(const struct st *st)
{
	return min_t(size_t, REGION_LEN,
		     st->info->domain_attr->mr_max_size - PAGE_SIZE);
}

static bool st_rma_bench_open(struct bench *b, struct st *st)
{
	struct fi_buf buf;

	b->op = st_op_new(st);
	b->local = st_seg_new();
	b->remote = st_seg_new();
	if (!CHECK_EQ(st, st_pair_open(&b->p, st, NULL), 0,
		      "a pair connects for remote memory") ||
	    !CHECK(st, b->op && b->local && b->remote,
		   "there is memory for remote memory"))
		return false;
	buf = fi_buf_linear(b->remote->arena + REGION_AT,
			    st_rma_region_len(st));
	return CHECK_EQ(st,
			st_mr_open(&b->p, &buf,
				   FI_REMOTE_READ | FI_REMOTE_WRITE, &b->mr),
			0, "a region is open to its peer");
}

static void st_rma_bench_close(struct bench *b)
{
	if (b->mr)
		fi_close(&b->mr->fid);
	st_pair_close(&b->p);
	kfree(b->op);
	st_seg_free(b->local);
	st_seg_free(b->remote);
}

/* Move between the local buffer and the region at offset. */
static int st_rma_move_data(struct bench *b, bool write, size_t offset,
			    u64 flags)
{
	struct fi_rma_iov iov = { .addr = st_mr_addr(b->mr, offset),
				  .len = b->local->buf.len,
				  .key = fi_mr_key(b->mr) };
	struct fi_msg_rma m = { .buf = b->local->buf,
				.rma_iov = &iov,
				.rma_iov_count = 1,
				.context = &b->op->ctx };

	st_op_reset(b->op);
	return st_op_result(b->p.acq, b->op,
			    write ? fi_writemsg(b->p.a, &m, flags)
				  : fi_readmsg(b->p.a, &m, flags));
}

static u8 *st_rma_region_at(struct bench *b, size_t offset)
{
	return b->remote->arena + REGION_AT + offset;
}

/* Everything but the range is as nobody touched it. */
static bool st_rma_only_range(struct bench *b, size_t offset, size_t len)
{
	u8 *end = b->remote->arena + ST_ARENA_LEN;
	u8 *after = st_rma_region_at(b, offset) + len;

	return st_clean(b->remote->arena, REGION_AT + offset) &&
	       st_clean(after, end - after);
}

static void st_rma_renew_region(struct bench *b)
{
	st_seg_shape(b->remote, FI_BUF_LINEAR, 1, 0, ST_MAX_LEN);
}

static bool st_rma_write_ok(struct bench *b, enum fi_buf_type type,
			    unsigned int n, size_t align, size_t offset,
			    size_t len)
{
	st_rma_renew_region(b);
	st_seg_shape(b->local, type, n, align, len);
	st_seg_fill(b->local, len);
	return !st_rma_move_data(b, true, offset, 0) &&
	       st_holds(st_rma_region_at(b, offset), len, len) &&
	       st_rma_only_range(b, offset, len);
}

static bool st_rma_read_ok(struct bench *b, enum fi_buf_type type,
			   unsigned int n, size_t align, size_t offset,
			   size_t len)
{
	st_rma_renew_region(b);
	st_fill(st_rma_region_at(b, offset), len, len + 1);
	st_seg_shape(b->local, type, n, align, len);
	return !st_rma_move_data(b, false, offset, 0) &&
	       st_seg_holds(b->local, len + 1);
}

static const char *const st_rma_type_names[] = { "", "linear", "kvec", "bvec",
						 "sg" };

static noinline_for_stack void st_rma_sizes(struct st *st, struct bench *b)
{
	static const size_t sizes[] = {
		1,	   3,	  8,	 63,	64,	65,
		511,	   512,	  513,	 4095,	4096,	4097,
		16384,	   65535, 65536, 65537, 262144, ST_MAX_LEN - 1,
		ST_MAX_LEN
	};
	size_t i, align, offset, len;
	enum fi_buf_type type;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		type = FI_BUF_LINEAR + i % 4;
		align = (i * 5) % 17;
		offset = (i * 7) % 13;
		len = min(sizes[i], st_rma_region_len(st) - offset);
		CHECKF(st, st_rma_write_ok(b, type, 4, align, offset, len),
		       "%zu bytes are written from %s at %zu to %zu", len,
		       st_rma_type_names[type], align, offset);
		type = FI_BUF_LINEAR + (i + 1) % 4;
		CHECKF(st, st_rma_read_ok(b, type, 4, align, offset, len),
		       "%zu bytes are read into %s at %zu from %zu", len,
		       st_rma_type_names[type], align, offset);
	}
}

static noinline_for_stack void st_rma_segments(struct st *st, struct bench *b)
{
	size_t limit = min_t(size_t, st->info->tx_attr->iov_limit, ST_MAX_SEGS);
	enum fi_buf_type type;
	unsigned int n;

	for (n = 1; n <= limit; n++) {
		type = FI_BUF_KVEC + n % 3;
		CHECKF(st, st_rma_write_ok(b, type, n, n, 1, 9001),
		       "%u segments of %s are written", n,
		       st_rma_type_names[type]);
		type = FI_BUF_KVEC + (n + 1) % 3;
		CHECKF(st, st_rma_read_ok(b, type, n, n, 1, 9001),
		       "%u segments of %s are read", n,
		       st_rma_type_names[type]);
	}
}

/* A bio that begins in the middle of its first segment. */
static noinline_for_stack void st_rma_offset(struct st *st, struct bench *b)
{
	struct fi_buf *buf = &b->local->buf;
	size_t skip;

	st_rma_renew_region(b);
	st_seg_shape(b->local, FI_BUF_BVEC, 3, 0, 6000);
	skip = b->local->bvec[0].bv_len + 5;
	st_seg_fill(b->local, 0);
	*buf = fi_buf_bvec(b->local->bvec, 3, skip, 6000 - skip);
	CHECK_EQ(st, st_rma_move_data(b, true, 0, 0), 0,
		 "a buffer that begins inside its segments is written");
	CHECK(st,
	      st_rma_region_at(b, 0)[0] ==
			      *((u8 *)b->local->kvec[1].iov_base + 5) &&
		      st_rma_only_range(b, 0, 6000 - skip),
	      "it begins where it should");
}

/* Several remote ranges in one operation. */
static noinline_for_stack void st_rma_ranges(struct st *st, struct bench *b)
{
	size_t i, n = min_t(size_t, st->info->tx_attr->rma_iov_limit, 4);
	struct fi_rma_iov iov[4];
	struct fi_msg_rma m = { .rma_iov = iov,
				.rma_iov_count = n,
				.context = &b->op->ctx };
	bool ok = true;

	if (n < 2)
		return;
	st_rma_renew_region(b);
	st_seg_shape(b->local, FI_BUF_LINEAR, 1, 0, n * 100);
	st_seg_fill(b->local, 5);
	m.buf = b->local->buf;
	for (i = 0; i < n; i++)
		iov[i] = (struct fi_rma_iov){
			.addr = st_mr_addr(b->mr, (n - i) * 1000),
			.len = 100,
			.key = fi_mr_key(b->mr),
		};
	st_op_reset(b->op);
	CHECK_EQ(st, st_op_result(b->p.acq, b->op, fi_writemsg(b->p.a, &m, 0)),
		 0, "several ranges are written at once");
	for (i = 0; i < n; i++)
		ok &= !memcmp(st_rma_region_at(b, (n - i) * 1000),
			      b->local->arena + i * 100, 100);
	CHECK(st, ok, "each range has its part, in order");
}

static noinline_for_stack void st_rma_refused(struct st *st, struct bench *b)
{
	struct fi_rma_iov iov = { .addr = st_mr_addr(b->mr, 0),
				  .len = 8,
				  .key = fi_mr_key(b->mr) };
	struct fi_msg_rma m = { .buf = fi_buf_linear(b->local->arena, 8),
				.rma_iov = &iov,
				.rma_iov_count = 1,
				.context = &b->op->ctx };

	CHECK_EQ(st, fi_writemsg(b->p.a, &m, BIT_ULL(63)), -FI_EBADFLAGS,
		 "an unknown flag is refused by write");
	CHECK_EQ(st, fi_readmsg(b->p.a, &m, FI_INJECT), -FI_EBADFLAGS,
		 "a read is not injected");
	iov.len = 9;
	CHECK_EQ(st, fi_writemsg(b->p.a, &m, 0), -EINVAL,
		 "ranges longer than the buffer are refused");
	iov.len = 7;
	CHECK_EQ(st, fi_readmsg(b->p.a, &m, 0), -EINVAL,
		 "ranges shorter than the buffer are refused");
	iov.len = 8;
	iov.addr = U64_MAX - 3;
	CHECK_EQ(st, fi_writemsg(b->p.a, &m, 0), -EINVAL,
		 "a range that wraps around is refused");
	m.rma_iov_count = 0;
	CHECK_EQ(st, fi_writemsg(b->p.a, &m, 0), -EINVAL,
		 "a write to no range is refused");
	m.rma_iov_count = st->info->tx_attr->rma_iov_limit + 1;
	CHECK_EQ(st, fi_writemsg(b->p.a, &m, 0), -E2BIG,
		 "too many ranges are refused");
	m.rma_iov_count = 1;
	m.context = NULL;
	CHECK_EQ(st, fi_writemsg(b->p.a, &m, 0), -EINVAL,
		 "a write without context is refused");
}

static noinline_for_stack void st_rma_inject(struct st *st, struct bench *b)
{
	size_t len = min_t(size_t, st->info->tx_attr->inject_size, 32);

	if (!len)
		return;
	CHECK_EQ(st,
		 fi_inject_write(b->p.a, b->local->arena, len, 0, U64_MAX - 3,
				 fi_mr_key(b->mr)),
		 -EINVAL, "an injected write that wraps around is refused");
	CHECK_EQ(st,
		 fi_inject_write(b->p.a, b->local->arena,
				 st->info->tx_attr->inject_size + 1, 0,
				 st_mr_addr(b->mr, 0), fi_mr_key(b->mr)),
		 -EMSGSIZE, "a write too long to be injected is refused");
	st_rma_renew_region(b);
	st_fill(b->local->arena, len, 77);
	CHECK_EQ(st,
		 fi_inject_write(b->p.a, b->local->arena, len, 0,
				 st_mr_addr(b->mr, 3), fi_mr_key(b->mr)),
		 0, "a small write is injected");
	memset(b->local->arena, 0, len);
	/* A read on the same endpoint comes after it. */
	st_seg_shape(b->local, FI_BUF_LINEAR, 1, 64, len);
	CHECK_EQ(st, st_rma_move_data(b, false, 3, FI_FENCE), 0,
		 "a read comes after it");
	CHECK(st, st_seg_holds(b->local, 77) && st_rma_only_range(b, 3, len),
	      "it was placed as it was when it was posted");
}

static int st_rma_flush_range(struct bench *b, u32 mode, size_t offset,
			      size_t len)
{
	struct fi_rma_iov iov = { .addr = st_mr_addr(b->mr, offset),
				  .len = len,
				  .key = fi_mr_key(b->mr) };
	struct fi_msg_flush m = { .mode = mode,
				  .rma_iov = &iov,
				  .rma_iov_count = 1,
				  .context = &b->op->ctx };

	st_op_reset(b->op);
	return st_op_result(b->p.acq, b->op, fi_flush(b->p.a, &m, 0));
}

static noinline_for_stack void st_rma_flush(struct st *st, struct bench *b)
{
	u32 modes = fi_flush_modes(b->p.a), got = 0;
	struct fi_rma_iov iov = { .addr = st_mr_addr(b->mr, 10),
				  .len = 5000,
				  .key = fi_mr_key(b->mr) };
	struct st_op *w = st_op_new(st);
	struct fi_msg_rma m = { .rma_iov = &iov,
				.rma_iov_count = 1,
				.context = &w->ctx };
	size_t len = sizeof(got);

	CHECK_EQ(st,
		 fi_getopt(&b->p.a->fid, FI_OPT_ENDPOINT, FI_OPT_FLUSH_MODES,
			   &got, &len),
		 0, "the flush modes can be asked for");
	CHECK_EQ(st, got, modes, "both answers agree");
	CHECK_EQ(st,
		 st_rma_flush_range(b, ~modes & FI_FLUSH_NATIVE ?: BIT(31), 0,
				    8),
		 -EOPNOTSUPP, "a flush mode that is not there is refused");
	if (!(modes & FI_FLUSH_READBACK))
		goto free;
	st_rma_renew_region(b);
	st_seg_shape(b->local, FI_BUF_BVEC, 3, 5, 5000);
	st_seg_fill(b->local, 8);
	m.buf = b->local->buf;
	CHECK_EQ(st, fi_writemsg(b->p.a, &m, FI_MORE), 0,
		 "a write is posted with FI_MORE");
	CHECK_EQ(st, st_rma_flush_range(b, FI_FLUSH_READBACK, 10, 5000), 0,
		 "a flush chained behind it completes");
	CHECK(st, b->op->entry.flags & FI_FLUSH, "it is told as a flush");
	CHECK(st, st_holds(st_rma_region_at(b, 10), 5000, 8),
	      "the write was placed before the flush completed");
	CHECK_EQ(st, st_op_result(b->p.acq, w, 0), 0, "the write completes");
	CHECK_EQ(st, st_rma_flush_range(b, FI_FLUSH_READBACK, 0, 1), 0,
		 "one byte can be read back");
	w->count = 0;
	CHECK_EQ(st, fi_writemsg(b->p.a, &m, FI_MORE), 0,
		 "a write is posted with FI_MORE, and nothing behind it");
	fi_submit(b->p.a);
	CHECK_EQ(st, st_op_result(b->p.acq, w, 0), 0,
		 "it completes when it is submitted");
free:
	kfree(w);
}

/* One thing wrong at a time. */
static noinline_for_stack void st_rma_flush_refused(struct st *st,
						    struct bench *b)
{
	u32 modes = fi_flush_modes(b->p.a);
	struct fi_rma_iov iov = { .addr = st_mr_addr(b->mr, 0),
				  .len = 8,
				  .key = fi_mr_key(b->mr) };
	struct fi_msg_flush m = { .mode = modes & -modes,
				  .rma_iov = &iov,
				  .rma_iov_count = 1,
				  .context = &b->op->ctx };

	if (!modes)
		return;
	CHECK_EQ(st, fi_flush(b->p.a, &m, FI_FENCE), -FI_EBADFLAGS,
		 "a flush takes no fence");
	m.mode = modes | FI_FLUSH_NATIVE | FI_FLUSH_READBACK;
	CHECK_EQ(st, fi_flush(b->p.a, &m, 0), -EOPNOTSUPP,
		 "a flush of two modes is refused");
	m.mode = 0;
	CHECK_EQ(st, fi_flush(b->p.a, &m, 0), -EOPNOTSUPP,
		 "a flush of no mode is refused");
	m.mode = modes & -modes;
	m.rma_iov_count = 0;
	CHECK_EQ(st, fi_flush(b->p.a, &m, 0), -EINVAL,
		 "a flush of no range is refused");
	m.rma_iov_count = st->info->tx_attr->rma_iov_limit + 1;
	CHECK_EQ(st, fi_flush(b->p.a, &m, 0), -E2BIG,
		 "a flush of too many ranges is refused");
	m.rma_iov_count = 1;
	iov.len = 0;
	CHECK_EQ(st, fi_flush(b->p.a, &m, 0), -EINVAL,
		 "a flush of an empty range is refused");
	iov.len = 8;
	iov.addr = U64_MAX - 3;
	CHECK_EQ(st, fi_flush(b->p.a, &m, 0), -EINVAL,
		 "a flush of a range that wraps around is refused");
	m.context = NULL;
	CHECK_EQ(st, fi_flush(b->p.a, &m, 0), -EINVAL,
		 "a flush without context is refused");
}

/* A write that tells the peer. */
static noinline_for_stack void st_rma_data(struct st *st, struct bench *b)
{
	struct fi_rma_iov iov = { .addr = st_mr_addr(b->mr, 0),
				  .len = 100,
				  .key = fi_mr_key(b->mr) };
	struct fi_msg_rma m = { .rma_iov = &iov,
				.rma_iov_count = 1,
				.context = &b->op->ctx,
				.data = 0xabcdef01 };
	struct st_op *rx = st_op_new(st);

	if (!rx || !st->info->domain_attr->cq_data_size)
		goto free;
	st_seg_shape(b->local, FI_BUF_LINEAR, 1, 0, 100);
	st_seg_fill(b->local, 60);
	m.buf = b->local->buf;
	st_op_reset(b->op);
	CHECK_EQ(st, fi_recv(b->p.b, NULL, 0, NULL, 0, &rx->ctx), 0,
		 "a receive without memory is posted");
	CHECK_EQ(st,
		 st_op_result(b->p.acq, b->op,
			      fi_writemsg(b->p.a, &m, FI_REMOTE_CQ_DATA)),
		 0, "a write with data completes");
	CHECK_EQ(st, st_op_result(b->p.bcq, rx, 0), 0, "the peer is told");
	CHECK_EQ(st, rx->entry.data, 0xabcdef01, "the data is right");
	CHECK(st, st_holds(st_rma_region_at(b, 0), 100, 60),
	      "the bytes are there");
free:
	kfree(rx);
}

/* Regions of every type of buffer. */
static noinline_for_stack void st_rma_region_types(struct st *st,
						   struct bench *b)
{
	enum fi_buf_type type;
	struct st_seg *seg = st_seg_new();
	struct fid_mr *old = b->mr;

	if (!seg)
		return;
	for (type = FI_BUF_KVEC; type <= FI_BUF_SG; type++) {
		/* Whole pages, as registered memory may have to be. */
		st_seg_shape(seg, FI_BUF_LINEAR, 1, 0, 4 * PAGE_SIZE);
		seg->kvec[0].iov_len = PAGE_SIZE;
		seg->kvec[1] =
			(struct kvec){ seg->arena + 2 * PAGE_SIZE, PAGE_SIZE };
		sg_init_table(seg->sg, 2);
		sg_set_buf(&seg->sg[0], seg->arena, PAGE_SIZE);
		sg_set_buf(&seg->sg[1], seg->arena + 2 * PAGE_SIZE, PAGE_SIZE);
		seg->bvec[0].bv_len = PAGE_SIZE;
		seg->bvec[1] = (struct bio_vec){
			.bv_page = virt_to_page(seg->arena + 2 * PAGE_SIZE),
			.bv_len = PAGE_SIZE,
		};
		seg->buf = fi_buf_kvec(seg->kvec, 2, 2 * PAGE_SIZE);
		if (type == FI_BUF_BVEC)
			seg->buf = fi_buf_bvec(seg->bvec, 2, 0, 2 * PAGE_SIZE);
		if (type == FI_BUF_SG)
			seg->buf = fi_buf_sg(seg->sg, 2, 2 * PAGE_SIZE);
		if (!CHECKF(st,
			    !st_mr_open(&b->p, &seg->buf,
					FI_REMOTE_READ | FI_REMOTE_WRITE,
					&b->mr),
			    "a region of %s opens", st_rma_type_names[type]))
			continue;
		st_seg_shape(b->local, FI_BUF_LINEAR, 1, 1, 200);
		st_seg_fill(b->local, type);
		CHECKF(st,
		       !st_rma_move_data(b, true, PAGE_SIZE - 100, 0) &&
			       !memcmp(seg->arena + PAGE_SIZE - 100,
				       b->local->arena + 1, 100) &&
			       !memcmp(seg->arena + 2 * PAGE_SIZE,
				       b->local->arena + 101, 100),
		       "a write across segments of a region of %s is placed",
		       st_rma_type_names[type]);
		CHECK_EQ(st, fi_close(&b->mr->fid), 0, "the region closes");
	}
	b->mr = old;
	st_seg_free(seg);
}

void st_test_rma(struct st *st)
{
	struct bench b = {};

	if (st_rma_bench_open(&b, st)) {
		st_rma_sizes(st, &b);
		st_rma_segments(st, &b);
		st_rma_offset(st, &b);
		st_rma_ranges(st, &b);
		st_rma_refused(st, &b);
		st_rma_inject(st, &b);
		st_rma_flush(st, &b);
		st_rma_flush_refused(st, &b);
		st_rma_data(st, &b);
		st_rma_region_types(st, &b);
	}
	st_rma_bench_close(&b);
}
