// SPDX-License-Identifier: BSD-2-Clause
/* What the operations of a store do, and that a refused one does nothing. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/store/format/commit_word.h"
#include "fixture.h"

#define LAST_VA (UINT64_MAX - BLOCK + 1)

static int with_eight_slots(void **state)
{
	static struct fixture fx;

	fixture_format(&fx, 8);
	fixture_open(&fx, 1);
	*state = &fx;
	return 0;
}

static int done(void **state)
{
	fixture_free(*state);
	return 0;
}

static struct brick_store_stats stats(struct fixture *fx)
{
	struct brick_store_stats st;

	brick_store_stats(fx->s, &st);
	return st;
}

static struct brick_run lookup(struct fixture *fx, uint64_t va)
{
	struct brick_run run;

	memset(&run, 0, sizeof(run));
	assert_int_equal(brick_store_lookup(fx->s, va, UINT64_MAX, &run), 0);
	return run;
}

static void an_allocated_block_is_found(void **state)
{
	struct fixture *fx = *state;
	struct brick_run run;

	assert_int_equal(fixture_alloc(fx, 4 * BLOCK, 3), 0);
	run = lookup(fx, 4 * BLOCK);
	assert_int_equal(run.n_blocks, 3);
	assert_int_equal(run.offset, fx->s->sb.data_off + run.slot * BLOCK);
	assert_int_not_equal(run.birth, 0);
	assert_int_equal(run.owner, 0);
	assert_int_equal(stats(fx).slots_alloc, 3);
	assert_int_equal(stats(fx).slots_clean, 5);
	assert_int_equal(brick_store_lookup(fx->s, 3 * BLOCK, 9, &run),
			 -ENOENT);
	assert_int_equal(brick_store_lookup(fx->s, 7 * BLOCK, 9, &run),
			 -ENOENT);
}

static void an_acknowledged_block_survives_a_kill(void **state)
{
	struct fixture *fx = *state;
	struct brick_run was, is;

	assert_int_equal(fixture_alloc(fx, 4 * BLOCK, 3), 0);
	assert_int_equal(fixture_release(fx, 5 * BLOCK, 1), 0);
	assert_int_equal(fixture_birth(fx, 6 * BLOCK, 1, 77), 0);
	was = lookup(fx, 6 * BLOCK);
	fixture_kill(fx);
	fixture_open(fx, 2);
	is = lookup(fx, 6 * BLOCK);
	assert_memory_equal(&was, &is, sizeof(is));
	assert_int_equal(is.owner, 77);
	assert_int_equal(brick_store_lookup(fx->s, 5 * BLOCK, 1, &is), -ENOENT);
	assert_int_equal(stats(fx).slots_alloc, 2);
}

/* Whatever is refused leaves memory and medium as they were. */
static void assert_refused(struct fixture *fx, struct brick_store_op op,
			   int error)
{
	struct brick_store_stats before = stats(fx), after;

	fixture_snapshot(fx);
	op.error = 1;
	brick_store_commit(fx->s, &op);
	assert_int_equal(op.error, error);
	fixture_assert_unchanged(fx);
	after = stats(fx);
	assert_memory_equal(&before, &after, sizeof(after));
}

static void a_refused_operation_changes_nothing(void **state)
{
	struct fixture *fx = *state;
	static const struct {
		enum brick_store_op_kind kind;
		int error;
		uint64_t va;
		uint64_t n;
	} cases[] = {
		{ BRICK_STORE_ALLOC, -EEXIST, 2 * BLOCK, 1 },
		{ BRICK_STORE_ALLOC, -EEXIST, 0, 3 },
		{ BRICK_STORE_ALLOC, -EEXIST, 3 * BLOCK, 2 },
		{ BRICK_STORE_ALLOC, -ENOSPC, 8 * BLOCK, 7 },
		{ BRICK_STORE_ALLOC, -ENOSPC, 8 * BLOCK, 1ULL << 40 },
		{ BRICK_STORE_ALLOC, -EINVAL, 8 * BLOCK, 0 },
		{ BRICK_STORE_ALLOC, -EINVAL, 8 * BLOCK + 1, 1 },
		{ BRICK_STORE_ALLOC, -EINVAL, LAST_VA, 2 },
		{ BRICK_STORE_ALLOC, -EINVAL, BLOCK, UINT64_MAX },
		{ BRICK_STORE_FREE, -ENOENT, 0, 1 },
		{ BRICK_STORE_FREE, -ENOENT, 3 * BLOCK, 2 },
		{ BRICK_STORE_FREE, -ENOENT, BLOCK, 2 },
		{ BRICK_STORE_FREE, -EINVAL, 2 * BLOCK, 0 },
		{ BRICK_STORE_FREE, -EINVAL, 2 * BLOCK + 4096, 1 },
		{ BRICK_STORE_FREE, -EINVAL, LAST_VA, UINT64_MAX },
		{ BRICK_STORE_BIRTH, -ENOENT, 3 * BLOCK, 2 },
		{ BRICK_STORE_BIRTH, -EINVAL, 2 * BLOCK, 0 },
	};
	size_t i;

	assert_int_equal(fixture_alloc(fx, 2 * BLOCK, 2), 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_refused(fx,
			       (struct brick_store_op){ .kind = cases[i].kind,
							.va = cases[i].va,
							.n_blocks = cases[i].n,
							.quarantine = 5 },
			       cases[i].error);
}

static void a_full_store_can_be_emptied_and_filled(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(fixture_alloc(fx, 0, 8), 0);
	assert_int_equal(fixture_alloc(fx, 8 * BLOCK, 1), -ENOSPC);
	assert_int_equal(fixture_release(fx, 0, 8), 0);
	assert_int_equal(stats(fx).slots_dirty, 8);
	assert_int_equal(fixture_alloc(fx, 8 * BLOCK, 8), 0);
	assert_int_equal(fixture_alloc(fx, 0, 1), -ENOSPC);
}

static void the_last_address_is_an_address(void **state)
{
	struct brick_store_extent ext[4];
	struct fixture *fx = *state;
	uint64_t cursor = LAST_VA, changes;

	assert_int_equal(fixture_alloc(fx, LAST_VA - BLOCK, 2), 0);
	assert_int_equal(lookup(fx, LAST_VA - BLOCK).n_blocks, 2);
	assert_int_equal(lookup(fx, LAST_VA).n_blocks, 1);
	assert_int_equal(brick_store_list(fx->s, &cursor, ext, 4, &changes), 1);
	assert_int_equal(cursor, 0);
	assert_true(ext[0].va == LAST_VA && ext[0].n_blocks == 1);
	fixture_kill(fx);
	fixture_open(fx, 2);
	assert_int_equal(lookup(fx, LAST_VA).n_blocks, 1);
	assert_int_equal(fixture_release(fx, LAST_VA, 1), 0);
}

static void independent_operations_share_two_fences(void **state)
{
	struct fixture *fx = *state;
	struct brick_store_op ops[3] = {
		{ .kind = BRICK_STORE_ALLOC, .va = 0, .n_blocks = 2 },
		{ .kind = BRICK_STORE_ALLOC, .va = 2 * BLOCK, .n_blocks = 1 },
		{ .kind = BRICK_STORE_ALLOC, .va = 9 * BLOCK, .n_blocks = 1 },
	};

	ops[0].next = &ops[1];
	ops[1].next = &ops[2];
	brick_store_commit(fx->s, ops);
	assert_int_equal(ops[0].error | ops[1].error | ops[2].error, 0);
	assert_int_equal(fixture_seen.n_drains, 2);
	assert_int_equal(stats(fx).change_counter, 3);
}

static void overlapping_operations_are_done_in_order(void **state)
{
	struct fixture *fx = *state;
	struct brick_store_op ops[] = {
		{ .kind = BRICK_STORE_ALLOC, .va = 0, .n_blocks = 2 },
		{ .kind = BRICK_STORE_FREE, .va = 0, .n_blocks = 2 },
		{ .kind = BRICK_STORE_FREE, .va = 0, .n_blocks = 1 },
		{ .kind = BRICK_STORE_ALLOC, .va = BLOCK, .n_blocks = 2 },
		{ .kind = BRICK_STORE_BIRTH,
		  .va = BLOCK,
		  .n_blocks = 1,
		  .owner = 3 },
		{ .kind = BRICK_STORE_ALLOC, .va = 0, .n_blocks = 2 },
	};
	static const int errors[] = { 0, 0, -ENOENT, 0, 0, -EEXIST };
	size_t i;

	for (i = 1; i < sizeof(ops) / sizeof(ops[0]); i++)
		ops[i - 1].next = &ops[i];
	brick_store_commit(fx->s, ops);
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		assert_int_equal(ops[i].error, errors[i]);
	assert_int_equal(lookup(fx, BLOCK).owner, 3);
	assert_int_equal(lookup(fx, BLOCK).n_blocks, 1);
	assert_int_equal(lookup(fx, 2 * BLOCK).owner, 0);
}

static void more_operations_than_a_batch_holds_all_succeed(void **state)
{
	static struct brick_store_op ops[700];
	struct fixture *fx = *state;
	size_t i;

	fixture_free(fx);
	fixture_format(fx, 700);
	fixture_open(fx, 1);
	memset(ops, 0, sizeof(ops));
	for (i = 0; i < 700; i++) {
		ops[i].va = 2 * i * BLOCK;
		ops[i].n_blocks = 1;
		ops[i].next = i < 699 ? &ops[i + 1] : NULL;
	}
	brick_store_commit(fx->s, ops);
	for (i = 0; i < 700; i++)
		assert_int_equal(ops[i].error, 0);
	assert_int_equal(fixture_seen.n_drains, 6);
	assert_int_equal(stats(fx).slots_alloc, 700);
}

static void space_freed_earlier_in_a_list_can_be_used(void **state)
{
	struct fixture *fx = *state;
	struct brick_store_op ops[2] = {
		{ .kind = BRICK_STORE_FREE, .va = 0, .n_blocks = 2 },
		{ .kind = BRICK_STORE_ALLOC, .va = 50 * BLOCK, .n_blocks = 2 },
	};
	uint64_t slot, i;
	uint8_t *data;

	assert_int_equal(fixture_alloc(fx, 0, 8), 0);
	slot = lookup(fx, 0).slot;
	data = fx->m->base + lookup(fx, 0).offset;
	memset(data, 0xee, BLOCK);
	fixture_seen.n_drains = 0;
	ops[0].next = &ops[1];
	brick_store_commit(fx->s, ops);
	assert_int_equal(ops[0].error, 0);
	assert_int_equal(ops[1].error, 0);
	/* Two batches: a slot is not used again before its commit. */
	assert_int_equal(fixture_seen.n_drains, 4);
	assert_int_equal(lookup(fx, 50 * BLOCK).slot, slot);
	for (i = 0; i < BLOCK; i++)
		assert_int_equal(data[i], 0);
}

static void a_single_free_costs_one_fence_and_no_batch(void **state)
{
	struct fixture *fx = *state;
	uint32_t tx, after;
	bool differ, invalid;

	assert_int_equal(fixture_alloc(fx, 0, 2), 0);
	assert_int_equal(brick_commit_read(fx->m, &fx->s->sb, &tx, &differ,
					   &invalid),
			 0);
	fixture_seen.n_drains = 0;
	assert_int_equal(fixture_release(fx, 0, 1), 0);
	assert_int_equal(fixture_seen.n_drains, 1);
	assert_int_equal(brick_commit_read(fx->m, &fx->s->sb, &after, &differ,
					   &invalid),
			 0);
	assert_int_equal(tx, after);
	fixture_kill(fx);
	fixture_open(fx, 2);
	assert_int_equal(stats(fx).slots_alloc, 1);
}

static void every_life_of_a_block_has_its_own_birth(void **state)
{
	struct fixture *fx = *state;
	uint32_t births[4];
	int i, k;

	for (i = 0; i < 4; i += 2) {
		assert_int_equal(fixture_alloc(fx, 0, 1), 0);
		births[i] = lookup(fx, 0).birth;
		assert_int_equal(fixture_birth(fx, 0, 1, 9), 0);
		births[i + 1] = lookup(fx, 0).birth;
		assert_int_equal(fixture_release(fx, 0, 1), 0);
	}
	for (i = 0; i < 4; i++)
		for (k = 0; k < i; k++)
			assert_int_not_equal(births[i], births[k]);
}

static void a_run_ends_where_birth_or_owner_do(void **state)
{
	struct fixture *fx = *state;
	struct brick_run run;

	assert_int_equal(fixture_alloc(fx, 0, 6), 0);
	assert_int_equal(fixture_birth(fx, 2 * BLOCK, 2, 4), 0);
	assert_int_equal(lookup(fx, 0).n_blocks, 2);
	assert_int_equal(lookup(fx, 2 * BLOCK).n_blocks, 2);
	assert_int_equal(lookup(fx, 4 * BLOCK).n_blocks, 2);
	assert_int_equal(brick_store_lookup(fx->s, 4 * BLOCK, 1, &run), 0);
	assert_int_equal(run.n_blocks, 1);
}

static void quarantined_slots_are_out_of_reach(void **state)
{
	struct fixture *fx = *state;
	struct brick_store_op op = {
		.kind = BRICK_STORE_FREE,
		.n_blocks = 3,
		.quarantine = 42,
	};
	struct brick_word w;
	uint64_t slot;

	assert_int_equal(fixture_alloc(fx, 0, 8), 0);
	slot = lookup(fx, 0).slot;
	memset(fx->m->base + lookup(fx, 0).offset, 0xee, BLOCK);
	brick_store_commit(fx->s, &op);
	assert_int_equal(op.error, 0);
	assert_true(brick_record_get_word(fx->m, &fx->s->sb, 0, slot, &w));
	assert_int_equal(w.state, BRICK_DIRTY);
	assert_int_equal(stats(fx).slots_dirty, 3);
	assert_int_equal(brick_store_clean_one(fx->s, 8), 0);
	assert_int_equal(fixture_alloc(fx, 0, 1), -ENOSPC);
	brick_store_release(fx->s, 41);
	assert_int_equal(fixture_alloc(fx, 0, 1), -ENOSPC);
	brick_store_release(fx->s, 42);
	assert_int_equal(brick_store_clean_one(fx->s, 8), 3);
	assert_int_equal(fixture_alloc(fx, 0, 3), 0);
	assert_int_equal(*(fx->m->base + lookup(fx, 0).offset), 0);
}

static void a_restart_ends_every_quarantine(void **state)
{
	struct fixture *fx = *state;
	struct brick_store_op op = {
		.kind = BRICK_STORE_FREE,
		.n_blocks = 8,
		.quarantine = 42,
	};

	assert_int_equal(fixture_alloc(fx, 0, 8), 0);
	brick_store_commit(fx->s, &op);
	fixture_kill(fx);
	fixture_open(fx, 2);
	assert_int_equal(stats(fx).slots_dirty, 8);
	assert_int_equal(fixture_alloc(fx, 0, 8), 0);
}

static void cleaned_slots_are_zero_and_not_zeroed_again(void **state)
{
	struct fixture *fx = *state;
	uint8_t *data;
	uint64_t i;

	assert_int_equal(fixture_alloc(fx, 0, 8), 0);
	assert_int_equal(fixture_seen.n_zeros, 0);
	data = fx->m->base + lookup(fx, 3 * BLOCK).offset;
	memset(data, 0xee, BLOCK);
	assert_int_equal(fixture_release(fx, 3 * BLOCK, 1), 0);
	assert_int_equal(data[BLOCK - 1], 0xee);
	assert_int_equal(brick_store_clean_one(fx->s, 4), 1);
	assert_int_equal(brick_store_clean_one(fx->s, 4), 0);
	for (i = 0; i < BLOCK; i++)
		assert_int_equal(data[i], 0);
	assert_int_equal(stats(fx).slots_clean, 1);
	fixture_seen.n_zeros = 0;
	fixture_kill(fx);
	fixture_open(fx, 2);
	assert_int_equal(stats(fx).slots_clean, 1);
	assert_int_equal(fixture_alloc(fx, 9 * BLOCK, 1), 0);
	assert_int_equal(fixture_seen.n_zeros, 0);
}

static void a_medium_that_fails_ends_all_acknowledgements(void **state)
{
	struct fixture *fx = *state;
	unsigned int fail_at;

	assert_int_equal(fixture_alloc(fx, 0, 2), 0);
	for (fail_at = 1; fail_at <= 2; fail_at++) {
		struct brick_run run;

		fixture_seen.fail_at = fixture_seen.n_drains + fail_at;
		assert_int_equal(fixture_alloc(fx, 4 * BLOCK, 1), -EIO);
		assert_int_equal(brick_store_lookup(fx->s, 4 * BLOCK, 1, &run),
				 -ENOENT);
		assert_int_equal(fixture_release(fx, 0, 1), -EIO);
		assert_int_equal(fixture_birth(fx, 0, 1, 1), -EIO);
		assert_int_equal(brick_store_clean_one(fx->s, 1), -EIO);
		assert_int_equal(brick_store_drain(fx->s), -EIO);
		assert_int_equal(lookup(fx, 0).n_blocks, 2);
		/* Even if the medium seems well again. */
		fixture_seen.fail_at = 0;
		assert_int_equal(fixture_alloc(fx, 4 * BLOCK, 1), -EIO);
		fixture_close(fx, true);
		fixture_open(fx, (uint8_t)(fail_at + 1));
		assert_false(brick_store_recovery(fx->s)->was_clean);
		if (fail_at == 2 &&
		    !brick_store_lookup(fx->s, 4 * BLOCK, 1, &run))
			assert_int_equal(fixture_release(fx, 4 * BLOCK, 1), 0);
	}
}

static void the_batch_number_wraps(void **state)
{
	struct fixture *fx = *state;
	int i;

	fx->s->tx = BRICK_FMT_TX_MASK - 3;
	brick_commit_write(fx->m, &fx->s->sb, fx->s->tx);
	for (i = 0; i < 8; i++) {
		assert_int_equal(fixture_alloc(fx, (uint64_t)i * BLOCK, 1), 0);
		assert_int_not_equal(lookup(fx, (uint64_t)i * BLOCK).birth, 0);
		fixture_kill(fx);
		fixture_open(fx, (uint8_t)(i + 2));
		assert_int_equal(stats(fx).slots_alloc, i + 1);
	}
	assert_int_equal(fx->s->tx, 4);
}

/* At fence 1 of batch c+1 no record says c any more. */
static void assert_sealed(struct fixture *fx, unsigned int n)
{
	struct brick_word w;
	bool differ, invalid;
	unsigned int copy;
	uint64_t slot;
	uint32_t tx;

	(void)n;
	if (!fx->s)
		return;
	assert_int_equal(brick_commit_read(fx->m, &fx->s->sb, &tx, &differ,
					   &invalid),
			 0);
	for (slot = 0; slot < fx->s->sb.n; slot++) {
		for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
			assert_true(brick_record_get_word(fx->m, &fx->s->sb,
							  copy, slot, &w));
			if (!brick_state_is_batch(w.state))
				continue;
			/* Before the commit word moves c+1, after it c. */
			if (tx == fx->s->tx)
				assert_int_equal(w.tx, BRICK_TX_NEXT(tx));
			else
				assert_int_equal(w.tx, tx);
		}
	}
}

static void records_are_sealed_before_the_next_batch(void **state)
{
	struct fixture *fx = *state;
	uint64_t i;

	fixture_seen.on_drain = assert_sealed;
	for (i = 0; i < 4; i++) {
		assert_int_equal(fixture_alloc(fx, i * 2 * BLOCK, 2), 0);
		assert_int_equal(stats(fx).slots_alloc, 2 * i + 2);
	}
	assert_int_equal(fixture_release(fx, 0, 2), 0);
	assert_int_equal(fixture_release(fx, 2 * BLOCK, 2), 0);
	fixture_seen.on_drain = NULL;
}

static void a_flush_covers_what_is_allocated_and_no_more(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(fixture_alloc(fx, 0, 2), 0);
	assert_int_equal(fixture_alloc(fx, 5 * BLOCK, 1), 0);
	assert_int_equal(fixture_alloc(fx, LAST_VA, 1), 0);
	fx->m->granularity = BRICK_GRANULARITY_CACHE_LINE;
	fixture_seen.flushed_bytes = 0;
	brick_store_flush(fx->s, 100, 0);
	assert_int_equal(fixture_seen.flushed_bytes, 0);
	brick_store_flush(fx->s, 100, 50);
	assert_int_equal(fixture_seen.flushed_bytes, 50);
	brick_store_flush(fx->s, BLOCK - 10, 20);
	assert_int_equal(fixture_seen.flushed_bytes, 70);
	brick_store_flush(fx->s, 2 * BLOCK - 10, 3 * BLOCK + 30);
	assert_int_equal(fixture_seen.flushed_bytes, 100);
	fixture_seen.flushed_bytes = 0;
	brick_store_flush(fx->s, 0, UINT64_MAX);
	assert_int_equal(fixture_seen.flushed_bytes, 4 * BLOCK - 1);
	fixture_seen.flushed_bytes = 0;
	brick_store_flush(fx->s, LAST_VA + 1, UINT64_MAX);
	assert_int_equal(fixture_seen.flushed_bytes, BLOCK - 1);
}

static void a_small_flush_waits_for_nothing(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(fixture_alloc(fx, 0, 2), 0);
	assert_int_equal(fixture_alloc(fx, 5 * BLOCK, 1), 0);
	assert_int_equal(fixture_alloc(fx, LAST_VA, 1), 0);
	fixture_seen.flushed_bytes = 0;
	/* A file takes a system call. */
	assert_false(brick_store_try_flush(fx->s, 100, 50));
	fx->m->granularity = BRICK_GRANULARITY_CACHE_LINE;
	assert_false(brick_store_try_flush(fx->s, 0, 0));
	assert_false(brick_store_try_flush(fx->s, 0, BRICK_TRY_FLUSH_MAX + 1));
	pthread_mutex_lock(&fx->s->lock);
	assert_false(brick_store_try_flush(fx->s, 100, 50));
	pthread_mutex_unlock(&fx->s->lock);
	assert_int_equal(fixture_seen.flushed_bytes, 0);

	assert_true(brick_store_try_flush(fx->s, 100, 50));
	assert_int_equal(fixture_seen.flushed_bytes, 50);
	assert_true(brick_store_try_flush(fx->s, 0, BRICK_TRY_FLUSH_MAX));
	assert_int_equal(fixture_seen.flushed_bytes, 50 + BRICK_TRY_FLUSH_MAX);
	fixture_seen.flushed_bytes = 0;
	/* Both blocks; the first only; the second only; none. */
	assert_true(brick_store_try_flush(fx->s, BLOCK - 10, 30));
	assert_int_equal(fixture_seen.flushed_bytes, 30);
	assert_true(brick_store_try_flush(fx->s, 2 * BLOCK - 10, 30));
	assert_int_equal(fixture_seen.flushed_bytes, 40);
	assert_true(brick_store_try_flush(fx->s, 5 * BLOCK - 10, 30));
	assert_int_equal(fixture_seen.flushed_bytes, 60);
	assert_true(brick_store_try_flush(fx->s, 3 * BLOCK, 30));
	assert_int_equal(fixture_seen.flushed_bytes, 60);
	assert_true(brick_store_try_flush(fx->s, UINT64_MAX - 9, 10));
	assert_int_equal(fixture_seen.flushed_bytes, 70);
	/* The lock is free again. */
	assert_int_equal(pthread_mutex_trylock(&fx->s->lock), 0);
	pthread_mutex_unlock(&fx->s->lock);
}

/* The loop asks, and a batch may have thousands of blocks. */
static void numbers_are_told_while_somebody_holds_the_lock(void **state)
{
	struct brick_store_stats stats;
	struct fixture *fx = *state;

	assert_int_equal(fixture_alloc(fx, 0, 2), 0);
	pthread_mutex_lock(&fx->s->lock);
	brick_store_stats(fx->s, &stats);
	pthread_mutex_unlock(&fx->s->lock);
	assert_int_equal(stats.slots_alloc, 2);
	assert_int_equal(stats.change_counter, fx->s->change_counter);
}

static void *take_the_lock(void *arg)
{
	struct fixture *fx = arg;

	brick_store_lock(fx->s);
	fx->s->change_counter++;
	brick_store_unlock(fx->s);
	return NULL;
}

/* Slice by slice, to who waits for it: not to who gives it up. */
static void who_waits_has_the_lock_after_a_slice(void **state)
{
	struct fixture *fx = *state;
	uint64_t before = fx->s->change_counter;
	unsigned int n_steps = 0;
	pthread_t thread;

	brick_store_lock(fx->s);
	assert_int_equal(pthread_create(&thread, NULL, take_the_lock, fx), 0);
	while (!__atomic_load_n(&fx->s->n_waiting, __ATOMIC_RELAXED))
		sched_yield();
	for (int i = 0; i < 255; i++)
		brick_store_give_way(fx->s, &n_steps);
	assert_int_equal(fx->s->change_counter, before);
	/* It is woken first, which may take its time. */
	for (int i = 0; i < 1000 * 256 && fx->s->change_counter == before; i++)
		brick_store_give_way(fx->s, &n_steps);
	assert_int_equal(fx->s->change_counter, before + 1);
	brick_store_unlock(fx->s);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void an_address_names_its_slot(void **state)
{
	struct fixture *fx = *state;
	uint64_t slot;

	assert_true(brick_store_slot_of(fx->s, fx->m->base, &slot));
	assert_true(slot == UINT64_MAX);
	assert_true(brick_store_slot_of(
		fx->s, fx->m->base + fx->s->sb.data_off + 3 * BLOCK + 5,
		&slot));
	assert_int_equal(slot, 3);
	assert_false(
		brick_store_slot_of(fx->s, fx->m->base + fx->m->size, &slot));
	assert_false(brick_store_slot_of(fx->s, fx->m->base - 1, &slot));
}

#define OPS_TEST(name) \
	cmocka_unit_test_setup_teardown(name, with_eight_slots, done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPS_TEST(an_allocated_block_is_found),
		OPS_TEST(an_acknowledged_block_survives_a_kill),
		OPS_TEST(a_refused_operation_changes_nothing),
		OPS_TEST(a_full_store_can_be_emptied_and_filled),
		OPS_TEST(the_last_address_is_an_address),
		OPS_TEST(independent_operations_share_two_fences),
		OPS_TEST(overlapping_operations_are_done_in_order),
		OPS_TEST(more_operations_than_a_batch_holds_all_succeed),
		OPS_TEST(space_freed_earlier_in_a_list_can_be_used),
		OPS_TEST(a_single_free_costs_one_fence_and_no_batch),
		OPS_TEST(every_life_of_a_block_has_its_own_birth),
		OPS_TEST(a_run_ends_where_birth_or_owner_do),
		OPS_TEST(quarantined_slots_are_out_of_reach),
		OPS_TEST(a_restart_ends_every_quarantine),
		OPS_TEST(cleaned_slots_are_zero_and_not_zeroed_again),
		OPS_TEST(a_medium_that_fails_ends_all_acknowledgements),
		OPS_TEST(the_batch_number_wraps),
		OPS_TEST(records_are_sealed_before_the_next_batch),
		OPS_TEST(a_flush_covers_what_is_allocated_and_no_more),
		OPS_TEST(a_small_flush_waits_for_nothing),
		OPS_TEST(numbers_are_told_while_somebody_holds_the_lock),
		OPS_TEST(who_waits_has_the_lock_after_a_slice),
		OPS_TEST(an_address_names_its_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
