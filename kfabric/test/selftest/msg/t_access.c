// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: what a peer must not do: wrong key, wrong access, out of range,
 * a region that was closed, a region of another domain.
 *
 * Each violation ends the connection, so each has a pair of its own.
 */
#include <linux/slab.h>

#include "../st.h"

#define REGION_LEN 4096
#define MARK	   0xee /* what an untouched arena holds */

struct attempt {
	const char *what;
	u64 access; /* of the region */
	bool write;
	s64 offset;
	size_t len;
	u64 key_change;
	bool closed; /* the region was closed before */
};

static const struct attempt st_access_attempts[] = {
	{ .what = "a write with a wrong key",
	  .access = FI_REMOTE_READ | FI_REMOTE_WRITE,
	  .write = true,
	  .len = 64,
	  .key_change = 0x5a00 },
	{ .what = "a read with a wrong key",
	  .access = FI_REMOTE_READ | FI_REMOTE_WRITE,
	  .len = 64,
	  .key_change = 0x5a00 },
	{ .what = "a write to a read-only region",
	  .access = FI_REMOTE_READ,
	  .write = true,
	  .len = 64 },
	{ .what = "a read from a write-only region",
	  .access = FI_REMOTE_WRITE,
	  .len = 64 },
	{ .what = "a write over the end",
	  .access = FI_REMOTE_READ | FI_REMOTE_WRITE,
	  .write = true,
	  .offset = REGION_LEN - 63,
	  .len = 64 },
	{ .what = "a read over the end",
	  .access = FI_REMOTE_READ | FI_REMOTE_WRITE,
	  .offset = REGION_LEN - 63,
	  .len = 64 },
	{ .what = "a write far behind the end",
	  .access = FI_REMOTE_READ | FI_REMOTE_WRITE,
	  .write = true,
	  .offset = 1LL << 40,
	  .len = 1 },
	{ .what = "a write of more than the region",
	  .access = FI_REMOTE_READ | FI_REMOTE_WRITE,
	  .write = true,
	  .len = REGION_LEN + 1 },
	{ .what = "a write to a region that was closed",
	  .access = FI_REMOTE_READ | FI_REMOTE_WRITE,
	  .write = true,
	  .len = 64,
	  .closed = true },
};

static int st_access_move_data(struct st_pair *p, const struct attempt *a,
			       struct st_op *op, struct st_seg *local, u64 addr,
			       u64 key)
{
	struct fi_rma_iov iov = { .addr = addr, .len = a->len, .key = key };
	struct fi_msg_rma m = { .buf = fi_buf_linear(local->arena, a->len),
				.rma_iov = &iov,
				.rma_iov_count = 1,
				.context = &op->ctx };

	return st_op_result(p->acq, op,
			    a->write ? fi_writemsg(p->a, &m, 0)
				     : fi_readmsg(p->a, &m, 0));
}

/*
 * Where completions tell of the peer the operation is refused. Elsewhere a
 * write may be told as done; nothing that comes from the peer is.
 */
static bool st_access_is_refused(const struct st *st, const struct attempt *a,
				 int err)
{
	if (!st_tells_why(st))
		return err == ECANCELED;
	if (err == EACCES)
		return true;
	return !st_tells_of_peer(st) &&
	       (err == ECANCELED || (a->write && !err));
}

/* Both sides must learn of the end, once each. */
static void st_access_expect_end(struct st *st, struct st_pair *p,
				 const char *what)
{
	unsigned int seen = 0;
	struct st_event ev;

	while (seen < 2 && st_event_wait(p->eq, &ev, ST_WAIT_MS) >= 0 &&
	       ev.event == FI_SHUTDOWN)
		seen++;
	CHECKF(st, seen == 2, "%s ends the connection for both", what);
}

static void st_access_attempt(struct st *st, const struct attempt *a)
{
	struct st_seg *remote = st_seg_new(), *local = st_seg_new();
	struct st_op *op = st_op_new(st);
	struct fid_mr *mr = NULL;
	struct st_pair p;
	struct fi_buf buf;
	u64 addr, key;
	int ret;

	ret = st_pair_open(&p, st, NULL);
	if (ret || !remote || !local || !op) {
		CHECKF(st, false, "%s can be tried (%d)", a->what, ret);
		goto free;
	}
	buf = fi_buf_linear(remote->arena + REGION_LEN, REGION_LEN);
	ret = st_mr_open(&p, &buf, a->access, &mr);
	if (ret == -EOPNOTSUPP && a->access == FI_REMOTE_WRITE) {
		st_tap_line("    # a region that is only written is refused");
		goto free;
	}
	if (!CHECKF(st, !ret, "a region opens for %s", a->what))
		goto free;
	addr = st_mr_addr(mr, a->offset);
	key = fi_mr_key(mr) ^ a->key_change;
	if (a->closed) {
		fi_close(&mr->fid);
		mr = NULL;
	}
	memset(local->arena, MARK ^ 0xff, a->len);
	ret = st_access_move_data(&p, a, op, local, addr, key);
	CHECKF(st, st_access_is_refused(st, a, ret), "%s is refused (got %d)",
	       a->what, ret);
	st_access_expect_end(st, &p, a->what);
	CHECKF(st,
	       a->write ? !memchr_inv(remote->arena, MARK, ST_ARENA_LEN)
			: local->arena[0] == (MARK ^ 0xff),
	       "%s moves nothing", a->what);
free:
	if (mr)
		fi_close(&mr->fid);
	st_pair_close(&p);
	st_seg_free(remote);
	st_seg_free(local);
	kfree(op);
}

/* Keys of one domain open nothing in another. */
static void st_access_foreign(struct st *st)
{
	static const struct attempt a = { .write = true, .len = 64 };
	struct st_seg *seg = st_seg_new(), *local = st_seg_new();
	struct st_op *op = st_op_new(st);
	struct fid_mr *mr = NULL;
	struct st_pair p;
	int ret;

	ret = st_pair_open(&p, st, NULL);
	if (ret || !seg || !local || !op ||
	    (st->domain->mr_mode & FI_MR_ENDPOINT))
		goto free;
	/* The active side's own domain, which its peer is not in. */
	ret = fi_mr_reg(st->domain, seg->arena, REGION_LEN,
			FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0xf0f0, 0, &mr,
			NULL);
	if (!CHECK_EQ(st, ret, 0, "a region of another domain opens"))
		goto free;
	ret = st_access_move_data(&p, &a, op, local, st_mr_addr(mr, 0),
				  fi_mr_key(mr));
	CHECK_EQ(st, ret, st_tells_why(st) ? EACCES : ECANCELED,
		 "the key of another domain is refused");
	CHECK_EQ(st, fi_close(&mr->fid), 0, "its region closes");
free:
	st_pair_close(&p);
	st_seg_free(seg);
	st_seg_free(local);
	kfree(op);
}

void st_test_access(struct st *st)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(st_access_attempts); i++)
		st_access_attempt(st, &st_access_attempts[i]);
	st_access_foreign(st);
}
