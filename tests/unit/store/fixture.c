// SPDX-License-Identifier: BSD-2-Clause
/* The store that most tests use. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/media/media_impl.h"
#include "brickd/store/move.h"
#include "fixture.h"

struct fixture_seen fixture_seen;
static struct fixture *current;

static void seen_zero(struct brick_media *m, uint64_t off, size_t len)
{
	(void)__atomic_add_fetch(&fixture_seen.n_zeros, 1, __ATOMIC_RELAXED);
	brick_media_zero(m, off, len);
}

static void seen_flush(struct brick_media *m, uint64_t off, size_t len)
{
	if (current->s && off >= current->s->sb.data_off)
		(void)__atomic_add_fetch(&fixture_seen.flushed_bytes, len,
					 __ATOMIC_RELAXED);
	assert_true(off + len <= m->size);
}

static int seen_drain(struct brick_media *m)
{
	unsigned int n =
		__atomic_add_fetch(&fixture_seen.n_drains, 1, __ATOMIC_RELAXED);

	(void)m;
	if (fixture_seen.on_drain)
		fixture_seen.on_drain(current, n);
	return fixture_seen.fail_at && n >= fixture_seen.fail_at ? -EIO : 0;
}

static struct brick_media_ops seen_ops = {
	.st64 = brick_media_st64,
	.copy = brick_media_copy,
	.zero = seen_zero,
	.flush = seen_flush,
	.drain = seen_drain,
};

void fixture_format(struct fixture *fx, uint64_t n_slots)
{
	struct brick_store_format f = { .uuid = { 1, 2, 3 } };
	char path[64];

	memset(fx, 0, sizeof(*fx));
	memset(&fixture_seen, 0, sizeof(fixture_seen));
	current = fx;
	(void)snprintf(path, sizeof(path), "memory:%lluM",
		       (unsigned long long)(n_slots + n_slots / 1024 + 1) * 2);
	assert_int_equal(brick_media_open(path, NULL, &fx->m, fx->err,
					  sizeof(fx->err)),
			 0);
	seen_ops.close = fx->m->ops->close;
	fx->m->ops = &seen_ops;
	fx->m->medium = &brick_medium_file;
	fx->m->is_volatile = false;
	assert_int_equal(
		brick_store_format(fx->m, &f, fx->err, sizeof(fx->err)), 0);
	assert_true(fixture_super(fx).n >= n_slots);
}

int fixture_try_open(struct fixture *fx, uint8_t boot)
{
	struct brick_store_open o = { .boot_id = { boot }, .instance_id = 1 };

	return brick_store_open(fx->m, &o, &fx->s, fx->err, sizeof(fx->err));
}

void fixture_open(struct fixture *fx, uint8_t boot)
{
	int ret = fixture_try_open(fx, boot);

	if (ret)
		fail_msg("open: %d: %s", ret, fx->err);
	fixture_seen.n_drains = 0;
	fixture_seen.n_zeros = 0;
}

void fixture_kill(struct fixture *fx)
{
	fx->s->failed = true;
	brick_store_close(fx->s, false);
	fx->s = NULL;
}

void fixture_close(struct fixture *fx, bool clean)
{
	brick_store_close(fx->s, clean);
	fx->s = NULL;
}

void fixture_free(struct fixture *fx)
{
	if (fx->s)
		fixture_close(fx, true);
	free(fx->before);
	brick_media_close(fx->m);
}

static int commit_one(struct fixture *fx, struct brick_store_op op)
{
	op.error = 1;
	brick_store_commit(fx->s, &op);
	return op.error;
}

int fixture_alloc(struct fixture *fx, uint64_t va, uint64_t n)
{
	return commit_one(fx,
			  (struct brick_store_op){ .kind = BRICK_STORE_ALLOC,
						   .va = va,
						   .n_blocks = n });
}

int fixture_release(struct fixture *fx, uint64_t va, uint64_t n)
{
	return commit_one(fx, (struct brick_store_op){ .kind = BRICK_STORE_FREE,
						       .va = va,
						       .n_blocks = n });
}

int fixture_birth(struct fixture *fx, uint64_t va, uint64_t n, uint32_t owner)
{
	return commit_one(fx,
			  (struct brick_store_op){ .kind = BRICK_STORE_BIRTH,
						   .va = va,
						   .n_blocks = n,
						   .owner = owner });
}

struct brick_super fixture_super(const struct fixture *fx)
{
	struct brick_super sb;
	bool damaged;
	char err[128];

	assert_int_equal(
		brick_super_read(fx->m, &sb, &damaged, err, sizeof(err)), 0);
	return sb;
}

void fixture_snapshot(struct fixture *fx)
{
	free(fx->before);
	/* The tables are within the first block of these small stores. */
	fx->before_len = BLOCK;
	fx->before = malloc(fx->before_len);
	assert_non_null(fx->before);
	memcpy(fx->before, fx->m->base, fx->before_len);
}

void fixture_assert_unchanged(struct fixture *fx)
{
	assert_memory_equal(fx->before, fx->m->base, fx->before_len);
}

int fixture_move(struct fixture *fx, uint64_t va, bool to_slow)
{
	struct brick_move m = { .va = va, .to_slow = to_slow };
	struct brick_store_op op = {
		.kind = BRICK_STORE_MOVE,
		.va = va,
		.n_blocks = 1,
		.move = &m,
	};

	brick_move_begin(fx->s, &m, 1);
	if (!m.error)
		brick_move_copy(fx->s, &m, 1);
	if (!m.error) {
		brick_store_commit(fx->s, &op);
		m.error = op.error;
	}
	brick_move_end(fx->s, &m, 1);
	return m.error;
}
