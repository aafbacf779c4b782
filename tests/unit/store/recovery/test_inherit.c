// SPDX-License-Identifier: BSD-2-Clause
/*
 * An instance is killed, another one stops cleanly, the power fails: whatever
 * of the first one's clients is gone then shows as a new power epoch.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/store/offline/check.h"
#include "brickd/store/store_impl.h"
#include "tests/unit/store/crash/crash_medium.h"
#include "tests/unit/store/crash/crash_states.h"

#define SLOTS  4
#define BLOCKS 3
#define VALUE  UINT64_C(0x1122334455667788)

struct scene {
	struct crash_medium *cm;
	struct brick_store *s;
	uint64_t epoch; /* of the killed instance */
	uint64_t off[BLOCKS]; /* where its clients wrote */
	unsigned int n_lost; /* crash states without what they wrote */
	unsigned int n_told; /* those with a new epoch */
	bool is_silent; /* a loss without a new epoch */
};

static struct brick_store *open_as(struct crash_medium *cm, uint8_t boot)
{
	struct brick_store_open o = { .instance_id = 1, .boot_id = { boot } };
	struct brick_store *s = NULL;
	char err[256];

	assert_int_equal(brick_store_open(&cm->m, &o, &s, err, sizeof(err)), 0);
	return s;
}

static void close_now(struct scene *sc, bool clean)
{
	brick_store_close(sc->s, clean);
	sc->s = NULL;
}

/* As SIGKILL does it: nothing more is written, the process is gone. */
static void kill_it(struct scene *sc)
{
	struct brick_store *s = sc->s;

	s->inst.start_time++;
	for (unsigned int copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		s->inst.seq++;
		brick_instance_put(s->m, &s->sb, copy, &s->inst);
		assert_int_equal(s->m->ops->drain(s->m), 0);
	}
	s->failed = true;
	close_now(sc, false);
}

/* It is killed when it has stored a page, and before that is written back. */
static void kill_at_its_page(struct scene *sc)
{
	struct brick_store *s = sc->s;

	s->inst.start_time++;
	s->inst.seq++;
	brick_instance_put(s->m, &s->sb, !s->inst_copy, &s->inst);
	s->failed = true;
	close_now(sc, false);
}

static uint64_t epoch_of(struct brick_store *s)
{
	struct brick_store_stats stats;

	brick_store_stats(s, &stats);
	return stats.power_epoch;
}

static void finish_flush(struct scene *sc)
{
	while (brick_store_flush_inherited(sc->s, 1) > 0)
		;
}

/* Clients write to each block, complete it, and do not flush. */
static int begin(void **state)
{
	static struct scene sc;
	struct brick_store_format f = { .uuid = { 1 } };
	struct brick_store_op op = { .kind = BRICK_STORE_ALLOC,
				     .n_blocks = BLOCKS };
	struct brick_run run;
	char err[256];

	memset(&sc, 0, sizeof(sc));
	sc.cm = crash_medium_new(SLOTS, 0, 2);
	*state = &sc;
	if (brick_store_format(&sc.cm->m, &f, err, sizeof(err)))
		return -1;
	sc.s = open_as(sc.cm, 1);
	finish_flush(&sc);
	sc.epoch = epoch_of(sc.s);
	brick_store_commit(sc.s, &op);
	for (uint64_t i = 0; i < BLOCKS; i++) {
		if (op.error ||
		    brick_store_lookup(sc.s, i << KFB_BLOCK_SHIFT, 1, &run))
			return -1;
		sc.off[i] = run.offset;
		sc.cm->m.ops->st64(&sc.cm->m, run.offset, VALUE + i);
	}
	kill_it(&sc);
	return 0;
}

static int end(void **state)
{
	struct scene *sc = *state;

	if (sc->s)
		close_now(sc, false);
	crash_medium_free(sc->cm);
	return 0;
}

static bool look(struct crash_medium *cm, void *arg)
{
	struct brick_store *s = open_as(cm, 9);
	struct scene *sc = arg;
	bool told = epoch_of(s) != sc->epoch, lost = false;

	for (uint64_t i = 0; i < BLOCKS; i++)
		lost |= crash_medium_load(cm, sc->off[i]) != VALUE + i;
	sc->n_lost += lost;
	sc->n_told += told;
	sc->is_silent |= lost && !told;
	brick_store_close(s, false);
	return true;
}

/* The power fails, the host comes up again: in every state that it leaves. */
static void power_fails(struct scene *sc)
{
	uint64_t seed = 1;
	struct crash_states states = {
		.exhaustive = 1U << 16,
		.seed = &seed,
		.fn = look,
		.arg = sc,
	};

	crash_states(sc->cm, &states);
	assert_true(states.n_states > 0);
}

static void a_clean_stop_does_not_cover_up_a_killed_instance(void **state)
{
	struct scene *sc = *state;

	sc->s = open_as(sc->cm, 1);
	assert_int_equal(epoch_of(sc->s), sc->epoch);
	assert_true(brick_store_has_inherited(sc->s));
	close_now(sc, true);
	power_fails(sc);
	assert_true(sc->n_lost > 0);
	assert_false(sc->is_silent);
}

static void what_is_written_back_survives_and_the_stop_is_clean(void **state)
{
	struct scene *sc = *state;

	sc->s = open_as(sc->cm, 1);
	finish_flush(sc);
	assert_false(brick_store_has_inherited(sc->s));
	close_now(sc, true);
	power_fails(sc);
	assert_int_equal(sc->n_lost, 0);
	assert_int_equal(sc->n_told, 0);
}

static void half_of_it_is_not_all(void **state)
{
	struct scene *sc = *state;

	sc->s = open_as(sc->cm, 1);
	assert_int_equal(brick_store_flush_inherited(sc->s, BLOCKS - 1), 1);
	assert_true(brick_store_has_inherited(sc->s));
	close_now(sc, true);
	power_fails(sc);
	assert_true(sc->n_lost > 0);
	assert_false(sc->is_silent);
	/* The next one begins anew: it cannot know how far that one came. */
	sc->s = open_as(sc->cm, 1);
	assert_true(brick_store_has_inherited(sc->s));
	for (int i = 0; i < BLOCKS; i++)
		assert_int_equal(brick_store_flush_inherited(sc->s, 1), 1);
	finish_flush(sc);
	assert_false(brick_store_has_inherited(sc->s));
}

static void a_flush_that_fails_finishes_nothing(void **state)
{
	struct scene *sc = *state;

	sc->s = open_as(sc->cm, 1);
	sc->s->failed = true;
	assert_int_equal(brick_store_flush_inherited(sc->s, SLOTS), -EIO);
	assert_true(brick_store_has_inherited(sc->s));
}

static void after_a_clean_stop_nothing_is_inherited(void **state)
{
	struct scene *sc = *state;

	sc->s = open_as(sc->cm, 1);
	finish_flush(sc);
	close_now(sc, true);
	sc->s = open_as(sc->cm, 1);
	assert_false(brick_store_has_inherited(sc->s));
	assert_int_equal(brick_store_flush_inherited(sc->s, SLOTS), 0);
}

/* What was in the caches is gone and told so. */
static void after_a_new_epoch_nothing_is_inherited(void **state)
{
	struct scene *sc = *state;

	sc->s = open_as(sc->cm, 2);
	assert_int_equal(epoch_of(sc->s), sc->epoch + 1);
	assert_false(brick_store_has_inherited(sc->s));
}

static void where_lines_need_no_write_back_nothing_is_inherited(void **state)
{
	static const enum brick_granularity others[] = {
		BRICK_GRANULARITY_BYTE, BRICK_GRANULARITY_PAGE
	};
	struct scene *sc = *state;

	for (size_t i = 0; i < 2; i++) {
		sc->cm->m.granularity = others[i];
		sc->s = open_as(sc->cm, 1);
		assert_false(brick_store_has_inherited(sc->s));
		kill_it(sc);
	}
}

static void power_may_fail_meanwhile(struct crash_medium *cm, void *arg)
{
	struct scene *sc = arg;
	uint64_t seed = 1;
	struct crash_states states = {
		.random = 2000,
		.seed = &seed,
		.fn = look,
		.arg = sc,
	};

	if (cm == sc->cm)
		crash_states(cm, &states);
}

/* The next one runs on another CPU, and relies on what it reads. */
static void a_page_that_only_a_cache_has_is_written_back_first(void **state)
{
	struct scene *sc = *state;

	sc->s = open_as(sc->cm, 1);
	kill_at_its_page(sc);
	crash_thread = 1;
	sc->cm->on_point = power_may_fail_meanwhile;
	sc->cm->arg = sc;
	sc->s = open_as(sc->cm, 1);
	sc->cm->on_point = NULL;
	crash_thread = 0;
}

/* Killed between the last stores of its batch and their write-back. */
static void leave_seals_in_the_cache(struct scene *sc)
{
	struct brick_store *s = open_as(sc->cm, 1);
	struct brick_word sealed = { .state = BRICK_ALLOC };
	struct brick_word batch = { .state = BRICK_ALLOC_B, .tx = s->tx };
	uint64_t slot;

	for (uint64_t i = 0; i < BLOCKS; i++) {
		slot = (sc->off[i] - s->sb.data_off) >> KFB_BLOCK_SHIFT;
		brick_record_put_word(s->m, &s->sb, BRICK_COPY_BOTH, slot,
				      batch);
		brick_record_flush(s->m, &s->sb, BRICK_COPY_BOTH, slot, 1);
		assert_int_equal(s->m->ops->drain(s->m), 0);
		brick_record_put_word(s->m, &s->sb, BRICK_COPY_BOTH, slot,
				      sealed);
	}
	sc->s = s;
	kill_it(sc);
}

static bool look_for_blocks(struct crash_medium *cm, void *arg)
{
	struct brick_store *s = open_as(cm, 9);
	struct scene *sc = arg;
	struct brick_run run;

	sc->n_lost += brick_store_recovery(s)->records_bad != 0;
	for (uint64_t i = 0; i < BLOCKS; i++)
		sc->n_lost += brick_store_lookup(s, i << KFB_BLOCK_SHIFT, 1,
						 &run) != 0;
	brick_store_close(s, false);
	return true;
}

/* What it reads as done is done, before its own batches rely on that. */
static void tables_of_a_killed_instance_are_written_back(void **state)
{
	struct scene *sc = *state;
	struct brick_store_op op = { .kind = BRICK_STORE_ALLOC,
				     .va = BLOCKS << KFB_BLOCK_SHIFT,
				     .n_blocks = 1 };
	uint64_t seed = 1;
	struct crash_states states = {
		.exhaustive = 1U << 16,
		.seed = &seed,
		.fn = look_for_blocks,
		.arg = sc,
	};

	leave_seals_in_the_cache(sc);
	sc->s = open_as(sc->cm, 1);
	brick_store_commit(sc->s, &op);
	assert_int_equal(op.error, 0);
	kill_it(sc);
	crash_states(sc->cm, &states);
	assert_true(states.n_states > 0);
	assert_int_equal(sc->n_lost, 0);
}

static void flush_nothing(struct brick_media *m, uint64_t off, size_t len)
{
	(void)m;
	(void)off;
	(void)len;
}

/* Killed while it stops: that it has is in the cache only. */
static void leave_clean_stop_in_the_cache(struct scene *sc)
{
	struct brick_store *s = open_as(sc->cm, 1);
	const struct brick_media_ops *real = s->m->ops;
	struct brick_media_ops ops = *real;

	ops.flush = flush_nothing;
	s->m->ops = &ops;
	s->inst.seq++;
	s->inst.pid = 0;
	s->inst.start_time = 0;
	s->inst.clean = true;
	brick_instance_put(s->m, &s->sb, !s->inst_copy, &s->inst);
	s->m->ops = real;
	s->failed = true;
	brick_store_close(s, false);
}

static bool look_whether_it_opens(struct crash_medium *cm, void *arg)
{
	struct scene *sc = arg;

	brick_store_close(open_as(cm, 9), false);
	sc->n_told++;
	return true;
}

static void power_may_fail(struct crash_medium *cm, void *arg)
{
	struct scene *sc = arg;
	uint64_t seed = 1;
	struct crash_states states = {
		.exhaustive = 1U << 12,
		.random = 1U << 8,
		.seed = &seed,
		.fn = look_whether_it_opens,
		.arg = sc,
	};

	crash_states(cm, &states);
}

static void the_page_of_a_killed_instance_is_written_back(void **state)
{
	struct scene *sc = *state;

	leave_clean_stop_in_the_cache(sc);
	sc->cm->arg = sc;
	sc->cm->on_point = power_may_fail;
	sc->s = open_as(sc->cm, 1);
	sc->cm->on_point = NULL;
	assert_true(sc->n_told > 0);
}

static int drain_as_one_that_is_killed(struct brick_media *m)
{
	(void)m;
	return -EIO;
}

/* It grows, and is killed when it has stored the first superblock. */
static void leave_superblock_in_the_cache(struct scene *sc)
{
	struct brick_media *m = &sc->cm->m;
	const struct brick_media_ops *real = m->ops;
	struct brick_media_ops ops = *real;
	struct brick_super sb;
	char err[256];
	bool damaged;

	assert_int_equal(brick_super_read(m, &sb, &damaged, err, sizeof(err)),
			 0);
	assert_false(damaged);
	ops.flush = flush_nothing;
	ops.drain = drain_as_one_that_is_killed;
	m->ops = &ops;
	sb.seq++;
	assert_int_equal(brick_super_flip(m, &sb), -EIO);
	m->ops = real;
}

static bool look_for_superblock(struct crash_medium *cm, void *arg)
{
	struct scene *sc = arg;
	struct brick_super sb;
	char err[256];
	bool damaged;

	sc->n_lost +=
		brick_super_read(&cm->m, &sb, &damaged, err, sizeof(err)) != 0;
	sc->n_told++;
	return true;
}

static void power_may_fail_at_a_superblock(struct crash_medium *cm, void *arg)
{
	struct scene *sc = arg;
	uint64_t seed = 1;
	struct crash_states states = {
		.exhaustive = 1U << 12,
		.random = 1U << 12,
		.seed = &seed,
		.fn = look_for_superblock,
		.arg = sc,
	};

	if (cm == sc->cm)
		crash_states(cm, &states);
}

/* By a check, or by the next brickd: the other superblock is made like it. */
static void repair_superblock_of_a_killed_grow(struct scene *sc, bool by_check)
{
	struct brick_check c = { .boot_id = { 1 }, .repair = true };
	char err[256];

	sc->s = open_as(sc->cm, 1);
	finish_flush(sc);
	close_now(sc, true);
	leave_superblock_in_the_cache(sc);
	crash_thread = 1;
	sc->cm->on_point = power_may_fail_at_a_superblock;
	sc->cm->arg = sc;
	if (by_check)
		assert_int_equal(
			brick_store_check(&sc->cm->m, &c, err, sizeof(err)), 0);
	else
		sc->s = open_as(sc->cm, 1);
	sc->cm->on_point = NULL;
	crash_thread = 0;
	assert_true(sc->n_told > 0);
	assert_int_equal(sc->n_lost, 0);
}

static void a_check_writes_back_what_a_killed_grow_left(void **state)
{
	repair_superblock_of_a_killed_grow(*state, true);
}

static void a_start_writes_back_what_a_killed_grow_left(void **state)
{
	repair_superblock_of_a_killed_grow(*state, false);
}

/* On a file behind the page cache, too. */
static void a_file_is_written_back_as_well(void **state)
{
	struct scene *sc = *state;

	sc->cm->m.granularity = BRICK_GRANULARITY_PAGE;
	repair_superblock_of_a_killed_grow(sc, true);
	repair_superblock_of_a_killed_grow(sc, false);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_clean_stop_does_not_cover_up_a_killed_instance),
		CASE(what_is_written_back_survives_and_the_stop_is_clean),
		CASE(half_of_it_is_not_all),
		CASE(a_flush_that_fails_finishes_nothing),
		CASE(after_a_clean_stop_nothing_is_inherited),
		CASE(after_a_new_epoch_nothing_is_inherited),
		CASE(where_lines_need_no_write_back_nothing_is_inherited),
		CASE(tables_of_a_killed_instance_are_written_back),
		CASE(the_page_of_a_killed_instance_is_written_back),
		CASE(a_page_that_only_a_cache_has_is_written_back_first),
		CASE(a_check_writes_back_what_a_killed_grow_left),
		CASE(a_start_writes_back_what_a_killed_grow_left),
		CASE(a_file_is_written_back_as_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
