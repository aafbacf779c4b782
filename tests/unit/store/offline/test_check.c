// SPDX-License-Identifier: BSD-2-Clause
/* Check and repair: each finding is made, found, named, and put right. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "brickd/media/progress.h"
#include "brickd/store/format/commit_word.h"
#include "brickd/store/offline/check.h"
#include "tests/unit/store/fixture.h"

#define SLOTS	  6U
#define NAMES_MAX 64U

/* What a check found, in order. */
struct found {
	const char *names[NAMES_MAX];
	uint64_t slots[NAMES_MAX];
	unsigned int n;
	struct brick_check c;
};

static struct fixture fx;

static void take(const struct brick_finding *finding, void *arg)
{
	struct found *f = arg;

	assert_true(f->n < NAMES_MAX);
	f->names[f->n] = finding->name;
	f->slots[f->n++] = finding->slot;
	assert_true(strlen(finding->what) > 10);
}

static int check(struct found *f, bool repair)
{
	*f = (struct found){ .c = { .found = take,
				    .arg = f,
				    .read_clean = true,
				    .repair = repair } };
	return brick_store_check(fx.m, &f->c, fx.err, sizeof(fx.err));
}

/* Three blocks, then free slots; stopped cleanly. */
static int set_up(void **state)
{
	(void)state;
	memset(&fx, 0, sizeof(fx));
	fixture_format(&fx, SLOTS);
	fixture_open(&fx, 1);
	assert_int_equal(fixture_alloc(&fx, 0, 3), 0);
	fixture_close(&fx, true);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fixture_free(&fx);
	return 0;
}

static void spoil(uint64_t off)
{
	fx.m->base[off] ^= 0x40;
}

/* Found once, and nothing written; repaired; gone; and the store opens. */
static void expect_repairable(const char *name, enum brick_finding_grade grade,
			      uint64_t slot)
{
	struct found f;

	fixture_snapshot(&fx);
	assert_int_equal(check(&f, false), 0);
	fixture_assert_unchanged(&fx);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.names[0], name);
	assert_int_equal(f.slots[0], slot);
	assert_int_equal(f.c.n[grade], 1);
	assert_false(f.c.is_repaired);
	assert_int_equal(check(&f, true), 0);
	assert_true(f.c.is_repaired);
	assert_int_equal(check(&f, false), 0);
	assert_int_equal(f.c.n[BRICK_FINDING_DAMAGE], 0);
	assert_int_equal(f.c.n[BRICK_FINDING_LOSS], 0);
	fixture_open(&fx, 2);
	assert_int_equal(brick_store_recovery(fx.s)->records_repaired, 0);
	assert_int_equal(brick_store_recovery(fx.s)->records_bad, 0);
	assert_false(brick_store_recovery(fx.s)->super_repaired);
	assert_false(brick_store_recovery(fx.s)->commit_repaired);
	assert_false(brick_store_recovery(fx.s)->instance_repaired);
}

/* Found, and left alone by repair; the store does not open. */
static void expect_fatal(const char *name)
{
	struct found f;

	fixture_snapshot(&fx);
	assert_int_equal(check(&f, true), 0);
	fixture_assert_unchanged(&fx);
	assert_true(f.n >= 1);
	assert_string_equal(f.names[f.n - 1], name);
	assert_int_equal(f.c.n[BRICK_FINDING_FATAL], 1);
	assert_false(f.c.is_repaired);
	assert_int_equal(fixture_try_open(&fx, 2), -EUCLEAN);
}

static void a_whole_store_has_no_findings(void **state)
{
	struct found f;

	(void)state;
	fixture_snapshot(&fx);
	assert_int_equal(check(&f, true), 0);
	fixture_assert_unchanged(&fx);
	assert_int_equal(f.n, 0);
	assert_int_equal(f.c.n_slots, fixture_super(&fx).n);
	assert_int_equal(f.c.n_alloc, 3);
}

static void super_damaged(void **state)
{
	(void)state;
	spoil(BRICK_FMT_PAGE + 16);
	expect_repairable("super-damaged", BRICK_FINDING_DAMAGE,
			  BRICK_FINDING_NO_SLOT);
}

static void commit_damaged(void **state)
{
	(void)state;
	spoil(BRICK_FMT_COMMIT);
	expect_repairable("commit-damaged", BRICK_FINDING_DAMAGE,
			  BRICK_FINDING_NO_SLOT);
}

static void instance_damaged(void **state)
{
	(void)state;
	spoil(BRICK_FMT_INSTANCE + BRICK_FMT_PAGE + 8);
	expect_repairable("instance-damaged", BRICK_FINDING_DAMAGE,
			  BRICK_FINDING_NO_SLOT);
}

static void event_damaged(void **state)
{
	(void)state;
	spoil(BRICK_FMT_EVENTS + 100 * sizeof(struct brick_fmt_event));
	expect_repairable("event-damaged", BRICK_FINDING_DAMAGE,
			  BRICK_FINDING_NO_SLOT);
}

static void record_damaged(void **state)
{
	struct brick_super sb = fixture_super(&fx);

	(void)state;
	spoil(brick_super_rec(&sb, 1, 2));
	expect_repairable("record-damaged", BRICK_FINDING_DAMAGE, 2);
	assert_int_equal(fx.s->n_alloc, 3);
}

static void record_lost(void **state)
{
	struct brick_super sb = fixture_super(&fx);
	struct found f;

	(void)state;
	spoil(brick_super_rec(&sb, 0, 1));
	spoil(brick_super_rec(&sb, 1, 1));
	expect_repairable("record-lost", BRICK_FINDING_LOSS, 1);
	assert_int_equal(fx.s->n_alloc, 2);
	fixture_close(&fx, true);
	/* From now on that is history. */
	assert_int_equal(check(&f, false), 0);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.names[0], "slot-bad");
	assert_int_equal(f.c.n[BRICK_FINDING_NOTE], 1);
}

static void clean_not_zero(void **state)
{
	struct brick_super sb = fixture_super(&fx);
	struct brick_store_stats before, after;

	(void)state;
	fixture_open(&fx, 1);
	brick_store_stats(fx.s, &before);
	fixture_close(&fx, true);
	fx.m->base[brick_super_data(&sb, 5) - 1] = 1; /* slot 4's last byte */
	expect_repairable("clean-not-zero", BRICK_FINDING_DAMAGE, 4);
	brick_store_stats(fx.s, &after);
	assert_int_equal(after.slots_clean, before.slots_clean - 1);
	assert_int_equal(after.slots_dirty, before.slots_dirty + 1);
}

/* What a crash leaves is no damage, and repair settles it. */
static void a_crash_leaves_notes_only(void **state)
{
	struct brick_super sb = fixture_super(&fx);
	struct brick_word dirty_b = { .state = BRICK_DIRTY_B };
	struct found f;
	uint64_t other;

	(void)state;
	fixture_open(&fx, 1);
	dirty_b.tx = BRICK_TX_NEXT(fx.s->tx);
	brick_record_put_word(fx.m, &sb, BRICK_COPY_BOTH, 0, dirty_b);
	brick_commit_write(fx.m, &sb, dirty_b.tx);
	memcpy(&other, fx.m->base + BRICK_FMT_COMMIT, sizeof(other));
	brick_commit_write(fx.m, &sb, fx.s->tx);
	memcpy(fx.m->base + BRICK_FMT_COMMIT + BRICK_FMT_PAGE, &other,
	       sizeof(other));
	fixture_kill(&fx);
	assert_int_equal(check(&f, false), 0);
	assert_int_equal(f.n, 3);
	assert_string_equal(f.names[0], "not-clean");
	assert_string_equal(f.names[1], "commit-behind");
	assert_string_equal(f.names[2], "record-unsettled");
	assert_int_equal(f.c.n[BRICK_FINDING_NOTE], 3);
	assert_int_equal(f.c.n_alloc, 3);
	assert_int_equal(check(&f, true), 0);
	assert_int_equal(check(&f, false), 0);
	assert_int_equal(f.n, 1);
	fixture_open(&fx, 2);
	assert_int_equal(brick_store_recovery(fx.s)->records_resolved, 0);
}

/* It stays, whatever is repaired: the next start has to tell clients. */
static void a_medium_that_failed_leaves_a_note(void **state)
{
	struct brick_instance inst;
	struct found f;

	(void)state;
	fixture_open(&fx, 1);
	inst = fx.s->inst;
	memset(inst.boot_id, 0, sizeof(inst.boot_id));
	inst.seq++;
	brick_instance_put(fx.m, &fx.s->sb, 0, &inst);
	fixture_kill(&fx);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(check(&f, i), 0);
		assert_int_equal(f.n, 2);
		assert_string_equal(f.names[0], "not-clean");
		assert_string_equal(f.names[1], "writes-lost");
	}
	fixture_open(&fx, 1);
	assert_true(brick_store_recovery(fx.s)->new_power_epoch);
}

static void commit_lost(void **state)
{
	(void)state;
	spoil(BRICK_FMT_COMMIT);
	spoil(BRICK_FMT_COMMIT + BRICK_FMT_PAGE);
	expect_fatal("commit-lost");
}

static void instance_lost(void **state)
{
	(void)state;
	spoil(BRICK_FMT_INSTANCE);
	spoil(BRICK_FMT_INSTANCE + BRICK_FMT_PAGE);
	expect_fatal("instance-lost");
}

static void address_twice(void **state)
{
	struct brick_super sb = fixture_super(&fx);
	struct brick_payload p;

	(void)state;
	assert_true(brick_record_get_payload(fx.m, &sb, 0, 0, &p));
	brick_record_put_payload(fx.m, &sb, BRICK_COPY_BOTH, 2, &p);
	expect_fatal("address-twice");
}

static void super_lost(void **state)
{
	struct found f;

	(void)state;
	spoil(BRICK_FMT_SUPER + 16);
	spoil(BRICK_FMT_SUPER + BRICK_FMT_PAGE + 16);
	fixture_snapshot(&fx);
	assert_int_equal(check(&f, true), -EUCLEAN);
	fixture_assert_unchanged(&fx);
	assert_non_null(strstr(fx.err, "both superblocks"));
}

static void a_store_in_use_is_left_alone(void **state)
{
	struct brick_check c = { .repair = true };

	(void)state;
	fixture_open(&fx, 1);
	spoil(BRICK_FMT_COMMIT);
	fixture_snapshot(&fx);
	c.boot_id[0] = 1;
	assert_int_equal(brick_store_check(fx.m, &c, fx.err, sizeof(fx.err)),
			 -EBUSY);
	fixture_assert_unchanged(&fx);
	assert_non_null(strstr(fx.err, "stop it first"));
}

static struct {
	const char *doing;
	uint64_t n;
	uint64_t last;
} told;

static void hear_progress(const char *doing, uint64_t done, uint64_t total)
{
	assert_int_equal(total, SLOTS);
	assert_true(done < total);
	/* It goes on, and not back. */
	assert_true(!told.n || done > told.last);
	told.doing = doing;
	told.last = done;
	told.n++;
}

static void each_slot_is_progress(void **state)
{
	struct found f;

	(void)state;
	memset(&told, 0, sizeof(told));
	brick_progress_watch(hear_progress);
	assert_int_equal(check(&f, false), 0);
	brick_progress_watch(NULL);
	assert_string_equal(told.doing, "checking");
	assert_int_equal(told.n, SLOTS);
	assert_int_equal(check(&f, false), 0);
	assert_int_equal(told.n, SLOTS);
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_slot_is_progress),
		CASE(a_whole_store_has_no_findings),
		CASE(super_damaged),
		CASE(commit_damaged),
		CASE(instance_damaged),
		CASE(event_damaged),
		CASE(record_damaged),
		CASE(record_lost),
		CASE(clean_not_zero),
		CASE(a_crash_leaves_notes_only),
		CASE(a_medium_that_failed_leaves_a_note),
		CASE(commit_lost),
		CASE(instance_lost),
		CASE(address_twice),
		CASE(super_lost),
		CASE(a_store_in_use_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
