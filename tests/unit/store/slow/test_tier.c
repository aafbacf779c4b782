// SPDX-License-Identifier: BSD-2-Clause
/* Two tiers: where blocks go, what moves keep, what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/store/move.h"
#include "slow_fake.h"
#include "tests/unit/store/fixture.h"

#define FAST 4U
#define SLOW 40U
#define ALL  (FAST + SLOW - 2U) /* without the spare ones */

struct tiers {
	struct fixture fx;
	struct slow_fake *slow;
	uint8_t boot; /* each open follows a reboot */
};

static int try_open(struct tiers *t, struct brick_slow *slow)
{
	struct brick_store_open o = {
		.boot_id = { ++t->boot },
		.instance_id = 1,
		.slow = slow,
	};

	return brick_store_open(t->fx.m, &o, &t->fx.s, t->fx.err,
				sizeof(t->fx.err));
}

static void open_tiers(struct tiers *t)
{
	int ret = try_open(t, &t->slow->slow);

	if (ret)
		fail_msg("open: %d: %s", ret, t->fx.err);
}

static int setup(void **state)
{
	struct brick_store_format f = { .uuid = { 1, 2, 3 } };
	struct tiers *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	fixture_format(&t->fx, FAST);
	t->slow = slow_fake_new(SLOW);
	f.slow = &t->slow->slow;
	f.force = true;
	t->fx.m->fresh_is_zero = true;
	assert_int_equal(brick_store_format(t->fx.m, &f, t->fx.err,
					    sizeof(t->fx.err)),
			 0);
	open_tiers(t);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct tiers *t = *state;

	fixture_free(&t->fx);
	slow_fake_free(t->slow);
	free(t);
	return 0;
}

static void again(struct tiers *t)
{
	fixture_kill(&t->fx);
	open_tiers(t);
}

static uint8_t *data_of(struct tiers *t, uint64_t va)
{
	struct brick_run run;

	assert_int_equal(brick_store_lookup(t->fx.s, va, 1, &run), 0);
	return run.slow ? slow_fake_slot(t->slow, brick_slot_number(run.slot))
			: t->fx.m->base + run.offset;
}

static bool is_slow(struct tiers *t, uint64_t va)
{
	struct brick_run run;

	assert_int_equal(brick_store_lookup(t->fx.s, va, 1, &run), 0);
	return run.slow;
}

static struct brick_store_stats stats_of(struct tiers *t)
{
	struct brick_store_stats st;

	brick_store_stats(t->fx.s, &st);
	assert_int_equal(st.slots_clean + st.slots_dirty + st.slots_alloc +
				 st.slots_bad,
			 st.slots_total);
	assert_int_equal(st.slow_clean + st.slow_dirty + st.slow_alloc +
				 st.slow_bad,
			 st.slow_total);
	return st;
}

static void a_block_keeps_its_data_birth_and_owner_when_it_moves(void **state)
{
	struct tiers *t = *state;
	struct brick_run before, after;

	assert_int_equal(fixture_alloc(&t->fx, BLOCK, 1), 0);
	assert_int_equal(fixture_birth(&t->fx, BLOCK, 1, 77), 0);
	memset(data_of(t, BLOCK), 0x5a, BLOCK);
	assert_int_equal(brick_store_lookup(t->fx.s, BLOCK, 1, &before), 0);
	assert_int_equal(fixture_move(&t->fx, BLOCK, true), 0);
	assert_true(is_slow(t, BLOCK));
	again(t);
	assert_true(is_slow(t, BLOCK));
	assert_int_equal(data_of(t, BLOCK)[BLOCK - 1], 0x5a);
	assert_int_equal(fixture_move(&t->fx, BLOCK, true), -EALREADY);
	assert_int_equal(fixture_move(&t->fx, BLOCK, false), 0);
	again(t);
	assert_int_equal(brick_store_lookup(t->fx.s, BLOCK, 1, &after), 0);
	assert_false(after.slow);
	assert_int_equal(after.birth, before.birth);
	assert_int_equal(after.owner, 77);
	assert_int_equal(data_of(t, BLOCK)[0], 0x5a);
	assert_int_equal(data_of(t, BLOCK)[BLOCK - 1], 0x5a);
	assert_int_equal(brick_store_owned(t->fx.s, 77), 1);
	assert_int_equal(fixture_move(&t->fx, BLOCK, true), 0);
	assert_int_equal(brick_store_owned(t->fx.s, 77), 1);
	assert_int_equal(fixture_release(&t->fx, BLOCK, 1), 0);
	assert_int_equal(brick_store_owned(t->fx.s, 77), 0);
	assert_int_equal(fixture_alloc(&t->fx, BLOCK, 1), 0);
	again(t);
	assert_int_equal(brick_store_owned(t->fx.s, 77), 0);
}

static void
an_alloc_has_slow_slots_zeroed_before_it_is_carried_out(void **state)
{
	struct brick_store_op op = {
		.kind = BRICK_STORE_ALLOC,
		.va = 100 * BLOCK,
		.n_blocks = 12,
	};
	struct tiers *t = *state;
	struct brick_zeroing left = { .fast = 9 };
	unsigned int n = 0;

	assert_int_equal(fixture_alloc(&t->fx, 0, ALL), 0);
	assert_int_equal(fixture_release(&t->fx, FAST * BLOCK, ALL - FAST), 0);
	assert_int_equal(stats_of(t).slow_clean, SLOW - (ALL - FAST));
	assert_int_equal(brick_store_prepare(t->fx.s, &op, &left), -EAGAIN);
	do {
		left.slow = 4;
		n++;
	} while (brick_store_prepare(t->fx.s, &op, &left) == -EAGAIN);
	assert_int_equal(n, 3);
	assert_int_equal(left.slow, 2);
	assert_int_equal(left.fast, 9);
	assert_int_equal(stats_of(t).slow_clean, op.n_blocks);
	assert_int_equal(t->fx.s->slow_slots.n_kept, op.n_blocks);
	brick_store_commit(t->fx.s, &op);
	assert_int_equal(op.error, 0);
	assert_int_equal(t->fx.s->slow_slots.n_kept, 0);
	assert_true(is_slow(t, op.va));
	/* One that is not carried out keeps none. */
	op.va = 200 * BLOCK;
	left.slow = 1;
	assert_int_equal(brick_store_prepare(t->fx.s, &op, &left), -EAGAIN);
	assert_int_equal(t->fx.s->slow_slots.n_kept, 1);
	brick_store_unprepare(t->fx.s, &op);
	assert_int_equal(t->fx.s->slow_slots.n_kept, 0);
}

static void a_flush_leaves_the_slow_tier_alone(void **state)
{
	struct tiers *t = *state;

	assert_int_equal(fixture_alloc(&t->fx, 0, 2), 0);
	assert_int_equal(fixture_move(&t->fx, 0, true), 0);
	t->fx.m->granularity = BRICK_GRANULARITY_CACHE_LINE;
	fixture_seen.flushed_bytes = 0;
	assert_true(brick_store_try_flush(t->fx.s, BLOCK - 10, 30));
	assert_int_equal(fixture_seen.flushed_bytes, 20);
	brick_store_flush(t->fx.s, BLOCK - 10, 30);
	assert_int_equal(fixture_seen.flushed_bytes, 40);
}

static void moves_are_counted_in_the_record(void **state)
{
	struct tiers *t = *state;
	struct brick_payload p;
	struct brick_run run;

	assert_int_equal(fixture_alloc(&t->fx, 0, 1), 0);
	assert_int_equal(fixture_move(&t->fx, 0, true), 0);
	assert_int_equal(fixture_move(&t->fx, 0, false), 0);
	assert_int_equal(fixture_move(&t->fx, 0, true), 0);
	assert_int_equal(brick_store_lookup(t->fx.s, 0, 1, &run), 0);
	assert_true(brick_record_get_payload(t->fx.m, &t->fx.s->sb, 0, run.slot,
					     &p));
	assert_int_equal(p.move, 3);
}

static void alloc_fails_only_when_both_tiers_are_full(void **state)
{
	struct tiers *t = *state;
	struct brick_store_stats st;
	uint64_t n;

	assert_int_equal(fixture_alloc(&t->fx, 0, ALL + 1), -ENOSPC);
	for (n = 0; !fixture_alloc(&t->fx, n * 2 * BLOCK, 1); n++)
		assert_true(n < FAST + SLOW);
	assert_int_equal(n, ALL);
	st = stats_of(t);
	assert_int_equal(st.slots_alloc, FAST);
	assert_int_equal(st.slow_alloc, ALL - FAST);
	assert_int_equal(fixture_release(&t->fx, 0, 1), 0);
	assert_int_equal(fixture_alloc(&t->fx, BLOCK, 1), 0);
	again(t);
	st = stats_of(t);
	assert_int_equal(st.slots_alloc + st.slow_alloc, ALL);
}

static void a_full_store_can_still_move(void **state)
{
	struct tiers *t = *state;
	uint64_t n;

	assert_int_equal(fixture_alloc(&t->fx, 0, ALL), 0);
	assert_int_equal(fixture_move(&t->fx, (ALL - 1) * BLOCK, false),
			 -ENOSPC);
	for (n = 0; n < FAST; n++) {
		memset(data_of(t, n * BLOCK), (int)n + 1, BLOCK);
		assert_int_equal(fixture_move(&t->fx, n * BLOCK, true), 0);
		assert_int_equal(
			fixture_move(&t->fx, (ALL - 1 - n) * BLOCK, false), 0);
	}
	for (n = 0; n < FAST; n++)
		assert_int_equal(data_of(t, n * BLOCK)[9], n + 1);
	assert_int_equal(fixture_alloc(&t->fx, ALL * BLOCK, 1), -ENOSPC);
	(void)stats_of(t);
}

/* While a move holds a slot an ALLOC neither waits nor fails for it. */
static void alloc_is_not_in_the_way_of_a_move(void **state)
{
	struct tiers *t = *state;
	struct brick_move m[2] = {
		{ .va = 0, .to_slow = true },
		{ .va = BLOCK, .to_slow = true },
	};

	assert_int_equal(brick_move_max(t->fx.s), 2);
	assert_int_equal(fixture_alloc(&t->fx, 0, 2), 0);
	brick_move_begin(t->fx.s, m, 2);
	assert_int_equal(m[0].error | m[1].error, 0);
	assert_int_equal(fixture_alloc(&t->fx, 2 * BLOCK, ALL - 2 + 1),
			 -ENOSPC);
	assert_int_equal(fixture_alloc(&t->fx, 2 * BLOCK, ALL - 2), 0);
	brick_move_end(t->fx.s, m, 2);
	(void)stats_of(t);
}

static void new_blocks_are_zero_in_both_tiers(void **state)
{
	struct tiers *t = *state;
	uint64_t n, i;

	assert_int_equal(fixture_alloc(&t->fx, 0, ALL), 0);
	for (n = 0; n < ALL; n++)
		memset(data_of(t, n * BLOCK), 0xff, BLOCK);
	assert_int_equal(fixture_release(&t->fx, 0, ALL), 0);
	assert_int_equal(fixture_alloc(&t->fx, 0, ALL), 0);
	for (n = 0; n < ALL; n++)
		for (i = 0; i < BLOCK; i += BLOCK / 8)
			assert_int_equal(data_of(t, n * BLOCK)[i], 0);
}

static void clean_slots_of_the_slow_tier_are_durably_zero(void **state)
{
	struct tiers *t = *state;
	uint64_t seed = 5, n;

	assert_int_equal(fixture_alloc(&t->fx, 0, ALL), 0);
	for (n = FAST; n < ALL; n++)
		memset(data_of(t, n * BLOCK), 0xff, BLOCK);
	assert_int_equal(t->slow->slow.ops->sync(&t->slow->slow), 0);
	assert_int_equal(fixture_release(&t->fx, 0, ALL), 0);
	while (brick_store_clean_slow(t->fx.s, 7) > 0)
		;
	slow_fake_lose_power(t->slow, 0, &seed);
	again(t);
	assert_int_equal(stats_of(t).slow_clean, SLOW);
	assert_int_equal(fixture_alloc(&t->fx, 0, ALL), 0);
	for (n = FAST; n < ALL; n++)
		assert_int_equal(data_of(t, n * BLOCK)[77], 0);
}

/* Power fails with a copy half made, into a slot that had been CLEAN. */
static void an_interrupted_move_leaves_no_bytes_in_clean_slots(void **state)
{
	struct tiers *t = *state;
	bool to_slow;
	uint64_t n;

	for (to_slow = true;; to_slow = false) {
		struct brick_move m = { .va = 0, .to_slow = to_slow };

		if (to_slow) {
			assert_int_equal(fixture_alloc(&t->fx, 0, 1), 0);
			memset(data_of(t, 0), 0xa5, BLOCK);
		} else {
			assert_int_equal(fixture_move(&t->fx, 0, true), 0);
			while (brick_store_clean_one(t->fx.s, 1) > 0)
				;
		}
		brick_move_begin(t->fx.s, &m, 1);
		brick_move_copy(t->fx.s, &m, 1);
		assert_int_equal(m.error, 0);
		again(t);
		assert_int_equal(fixture_alloc(&t->fx, BLOCK, ALL - 1), 0);
		for (n = 1; n < ALL; n++)
			assert_int_equal(data_of(t, n * BLOCK)[77], 0);
		assert_int_equal(data_of(t, 0)[77], 0xa5);
		assert_int_equal(fixture_release(&t->fx, BLOCK, ALL - 1), 0);
		if (!to_slow)
			break;
	}
}

static void power_loss_after_a_demotion_loses_nothing(void **state)
{
	struct tiers *t = *state;
	uint64_t seed = 4, i;

	assert_int_equal(fixture_alloc(&t->fx, 0, 1), 0);
	memset(data_of(t, 0), 0x77, BLOCK);
	assert_int_equal(fixture_move(&t->fx, 0, true), 0);
	slow_fake_lose_power(t->slow, 0, &seed);
	again(t);
	assert_true(is_slow(t, 0));
	for (i = 0; i < BLOCK; i++)
		assert_int_equal(data_of(t, 0)[i], 0x77);
}

/* What a power failure at one drain of a move would leave. */
static struct {
	struct tiers *t;
	unsigned int at;
	bool taken;
	uint8_t *fast;
	uint8_t *cache;
	uint8_t *disk;
} left;

/* The slots that the moves of these tests use, and the header. */
#define LEFT_SLOW (4 * BLOCK)

static void keep_what_is_left(struct fixture *fx, unsigned int n)
{
	if (n != left.at || left.taken)
		return;
	memcpy(left.fast, fx->m->base, fx->m->size);
	memcpy(left.cache, left.t->slow->cache, LEFT_SLOW);
	memcpy(left.disk, left.t->slow->disk, LEFT_SLOW);
	left.taken = true;
}

/* The block is in one place, whole, and no other slot shows its bytes. */
static void check_left(struct tiers *t, unsigned int keep, uint64_t *seed)
{
	uint64_t n, i;

	fixture_kill(&t->fx);
	memcpy(t->fx.m->base, left.fast, t->fx.m->size);
	memcpy(t->slow->cache, left.cache, LEFT_SLOW);
	memcpy(t->slow->disk, left.disk, LEFT_SLOW);
	slow_fake_lose_power(t->slow, keep, seed);
	open_tiers(t);
	assert_int_equal(brick_store_recovery(t->fx.s)->records_repaired, 0);
	assert_int_equal(stats_of(t).slots_alloc + stats_of(t).slow_alloc, 1);
	for (i = 0; i < BLOCK; i += 64)
		assert_int_equal(data_of(t, 0)[i], 0xa5);
	assert_int_equal(fixture_alloc(&t->fx, BLOCK, ALL - 1), 0);
	for (n = 1; n < ALL; n++)
		for (i = 0; i < BLOCK; i += 512)
			assert_int_equal(data_of(t, n * BLOCK)[i], 0);
}

/* Return: false when the move has fewer drains. */
static bool fail_at(unsigned int at, bool to_slow, uint64_t *seed)
{
	static const unsigned int keeps[] = { 0, 50, 100 };
	struct tiers *t;
	size_t i;

	(void)setup((void **)&t);
	left.t = t;
	left.at = at;
	left.taken = false;
	left.fast = malloc(t->fx.m->size);
	left.cache = malloc(LEFT_SLOW);
	left.disk = malloc(LEFT_SLOW);
	assert_int_equal(fixture_alloc(&t->fx, 0, 1), 0);
	memset(data_of(t, 0), 0xa5, BLOCK);
	if (!to_slow)
		assert_int_equal(fixture_move(&t->fx, 0, true), 0);
	fixture_seen.n_drains = 0;
	fixture_seen.on_drain = keep_what_is_left;
	assert_int_equal(fixture_move(&t->fx, 0, to_slow), 0);
	fixture_seen.on_drain = NULL;
	for (i = 0; left.taken && i < 3; i++)
		check_left(t, keeps[i], seed);
	free(left.fast);
	free(left.cache);
	free(left.disk);
	(void)teardown((void **)&t);
	return left.taken;
}

static void power_failures_in_a_move_leave_the_block_in_one_place(void **state)
{
	uint64_t seed = 11;
	unsigned int at;

	(void)state;
	for (at = 1; fail_at(at, true, &seed); at++)
		;
	assert_true(at > 3);
	for (at = 1; fail_at(at, false, &seed); at++)
		;
	assert_true(at > 3);
}

static void a_block_that_cannot_be_read_stays_and_is_shown(void **state)
{
	struct tiers *t = *state;
	struct brick_store_extent ext[4];
	uint64_t cursor = 0, changes;
	struct brick_run run;

	assert_int_equal(fixture_alloc(&t->fx, 0, 3), 0);
	assert_int_equal(fixture_move(&t->fx, BLOCK, true), 0);
	assert_int_equal(brick_store_lookup(t->fx.s, BLOCK, 1, &run), 0);
	t->slow->bad_read = brick_slot_number(run.slot) + 1;
	assert_int_equal(fixture_move(&t->fx, BLOCK, false), -EIO);
	assert_int_equal(brick_store_list(t->fx.s, &cursor, ext, 4, &changes),
			 3);
	assert_true(ext[1].slow && ext[1].bad);
	assert_false(ext[0].slow || ext[0].bad || ext[2].slow || ext[2].bad);
	t->slow->bad_read = 0;
	assert_int_equal(fixture_move(&t->fx, BLOCK, false), 0);
	cursor = 0;
	assert_int_equal(brick_store_list(t->fx.s, &cursor, ext, 4, &changes),
			 1);
	(void)stats_of(t);
}

static void a_slot_that_cannot_be_written_is_not_used_again(void **state)
{
	struct tiers *t = *state;

	assert_int_equal(fixture_alloc(&t->fx, 0, 1), 0);
	memset(data_of(t, 0), 3, BLOCK);
	t->slow->bad_write = 1;
	assert_int_equal(fixture_move(&t->fx, 0, true), -EIO);
	assert_false(is_slow(t, 0));
	assert_int_equal(data_of(t, 0)[5], 3);
	assert_int_equal(stats_of(t).slow_bad, 1);
	assert_int_equal(fixture_move(&t->fx, 0, true), 0);
	assert_int_equal(stats_of(t).slow_bad, 1);
}

/*
 * The last fence of its commit fails, but the commit word is there. Then another
 * one is to go where there is one dirty slot.
 */
static void check_in_doubt(struct tiers *t, uint64_t first, uint64_t second,
			   bool to_slow)
{
	uint64_t i;

	/* Copy (of the medium), records, commit word. */
	fixture_seen.fail_at = fixture_seen.n_drains + 2 + !to_slow;
	assert_int_equal(fixture_move(&t->fx, first * BLOCK, to_slow), -EIO);
	assert_int_equal(fixture_move(&t->fx, second * BLOCK, to_slow), -EIO);
	fixture_seen.fail_at = 0;
	again(t);
	assert_int_equal(is_slow(t, first * BLOCK), to_slow);
	for (i = 0; i < FAST + 1; i++)
		assert_int_equal(data_of(t, i * BLOCK)[77], i + 1);
}

static void nothing_is_copied_over_a_move_in_doubt(void **state)
{
	struct tiers *t = *state;
	uint64_t i;

	/* The last one lies in the slow tier. */
	assert_int_equal(fixture_alloc(&t->fx, 0, FAST + 1), 0);
	for (i = 0; i < FAST + 1; i++)
		memset(data_of(t, i * BLOCK), (int)i + 1, BLOCK);
	assert_int_equal(t->slow->slow.ops->sync(&t->slow->slow), 0);
	assert_int_equal(fixture_move(&t->fx, 0, true), 0);
	check_in_doubt(t, 0, FAST, false);
	/* The slot that it came from is the dirty one now. */
	check_in_doubt(t, 1, 2, true);
}

static void a_block_that_memory_cannot_give_costs_no_slot(void **state)
{
	struct tiers *t = *state;

	assert_int_equal(fixture_alloc(&t->fx, 0, 1), 0);
	t->slow->bad_source = 1;
	assert_int_equal(fixture_move(&t->fx, 0, true), -EIO);
	assert_false(is_slow(t, 0));
	assert_int_equal(stats_of(t).slow_bad, 0);
	t->slow->bad_source = 0;
	assert_int_equal(fixture_move(&t->fx, 0, true), 0);
}

static void a_freed_slot_that_cannot_be_zeroed_is_given_up(void **state)
{
	struct tiers *t = *state;
	uint64_t i;

	assert_int_equal(fixture_alloc(&t->fx, 0, ALL), 0);
	for (i = 0; i < ALL; i++)
		memset(data_of(t, i * BLOCK), 7, BLOCK);
	assert_int_equal(fixture_release(&t->fx, 0, ALL), 0);
	t->slow->bad_write = 2;
	while (brick_store_clean_slow(t->fx.s, SLOW) > 0)
		;
	assert_int_equal(brick_store_unzeroed(t->fx.s), 1);
	assert_int_equal(stats_of(t).slow_bad, 1);
	assert_int_equal(stats_of(t).slow_dirty, 0);
	/* It is room that is not there; the others are. */
	assert_int_equal(fixture_alloc(&t->fx, 0, ALL), -ENOSPC);
	assert_int_equal(fixture_alloc(&t->fx, 0, ALL - 1), 0);
	for (i = 0; i < ALL - 1; i++)
		assert_int_equal(data_of(t, i * BLOCK)[1], 0);
	t->slow->bad_write = 0;
	again(t);
	assert_int_equal(stats_of(t).slow_bad, 0);
}

static void a_sync_that_fails_moves_nothing(void **state)
{
	struct tiers *t = *state;

	assert_int_equal(fixture_alloc(&t->fx, 0, 1), 0);
	t->slow->fail_sync = true;
	assert_int_equal(fixture_move(&t->fx, 0, true), -EIO);
	t->slow->fail_sync = false;
	assert_false(is_slow(t, 0));
	assert_int_equal(stats_of(t).slow_bad, 0);
	assert_int_equal(fixture_move(&t->fx, 0, true), -EIO);
	again(t);
	assert_int_equal(fixture_move(&t->fx, 0, true), 0);
}

static void what_rests_for_longest_is_the_coldest(void **state)
{
	struct tiers *t = *state;
	uint64_t va[FAST];

	assert_int_equal(fixture_alloc(&t->fx, 0, FAST), 0);
	brick_store_rest(t->fx.s, 0, 2);
	assert_int_equal(brick_store_coldest(t->fx.s, va, 2), 2);
	assert_int_equal(va[0], 2 * BLOCK);
	assert_int_equal(va[1], 3 * BLOCK);
	assert_int_equal(brick_store_coldest(t->fx.s, va, FAST), 2);
	assert_int_equal(va[1], BLOCK);
	assert_int_equal(brick_store_coldest(t->fx.s, va, FAST), 0);
	brick_store_rest(t->fx.s, 3 * BLOCK, 7);
	assert_int_equal(brick_store_coldest(t->fx.s, va, FAST), 1);
	brick_store_rest(t->fx.s, 3 * BLOCK, 1);
	assert_int_equal(fixture_release(&t->fx, 3 * BLOCK, 1), 0);
	assert_int_equal(brick_store_coldest(t->fx.s, va, FAST), 0);
}

static void a_slow_tier_that_does_not_belong_is_refused(void **state)
{
	struct tiers *t = *state;
	struct slow_fake *other = slow_fake_new(SLOW);
	uint8_t *header = t->slow->cache;

	fixture_kill(&t->fx);
	assert_int_equal(try_open(t, NULL), -EINVAL);
	assert_non_null(strstr(t->fx.err, "slow = PATH"));
	assert_int_equal(try_open(t, &other->slow), -ENOENT);
	t->slow->slow.size -= BLOCK;
	assert_int_equal(try_open(t, &t->slow->slow), -EINVAL);
	assert_non_null(strstr(t->fx.err, "truncated"));
	t->slow->slow.size += BLOCK;
	header[20] ^= 1;
	open_tiers(t);
	assert_true(brick_store_recovery(t->fx.s)->slow_repaired);
	again(t);
	assert_false(brick_store_recovery(t->fx.s)->slow_repaired);
	fixture_kill(&t->fx);
	header[20] ^= 1;
	header[4096 + 20] ^= 1;
	assert_int_equal(try_open(t, &t->slow->slow), -EUCLEAN);
	header[4096 + 20] ^= 1;
	memcpy(header, header + 4096, 4096);
	open_tiers(t);
	slow_fake_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_block_keeps_its_data_birth_and_owner_when_it_moves,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_alloc_has_slow_slots_zeroed_before_it_is_carried_out,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_flush_leaves_the_slow_tier_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(moves_are_counted_in_the_record,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			alloc_fails_only_when_both_tiers_are_full, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_full_store_can_still_move,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			alloc_is_not_in_the_way_of_a_move, setup, teardown),
		cmocka_unit_test_setup_teardown(
			new_blocks_are_zero_in_both_tiers, setup, teardown),
		cmocka_unit_test_setup_teardown(
			clean_slots_of_the_slow_tier_are_durably_zero, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			an_interrupted_move_leaves_no_bytes_in_clean_slots,
			setup, teardown),
		cmocka_unit_test_setup_teardown(
			power_loss_after_a_demotion_loses_nothing, setup,
			teardown),
		cmocka_unit_test(
			power_failures_in_a_move_leave_the_block_in_one_place),
		cmocka_unit_test_setup_teardown(
			a_block_that_cannot_be_read_stays_and_is_shown, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_slot_that_cannot_be_written_is_not_used_again, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			nothing_is_copied_over_a_move_in_doubt, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_block_that_memory_cannot_give_costs_no_slot, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_freed_slot_that_cannot_be_zeroed_is_given_up, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_sync_that_fails_moves_nothing,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_rests_for_longest_is_the_coldest, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_slow_tier_that_does_not_belong_is_refused, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
