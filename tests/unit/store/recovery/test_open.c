// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opening stores that are damaged, foreign, newer, or somebody's: each is
 * refused without a write, or repaired.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "brickd/store/format/commit_word.h"
#include "brickd/store/format/crc32c.h"
#include "brickd/store/format/evlog.h"
#include "kfb_endian.h"
#include "tests/unit/store/fixture.h"

#define SLOTS 6

static int formatted(void **state)
{
	static struct fixture fx;

	fixture_format(&fx, SLOTS);
	*state = &fx;
	return 0;
}

static int done(void **state)
{
	fixture_free(*state);
	return 0;
}

static struct brick_fmt_super *super_at(struct fixture *fx, unsigned int copy)
{
	return (void *)(fx->m->base + BRICK_FMT_SUPER + copy * BRICK_FMT_PAGE);
}

static void sum_super(struct brick_fmt_super *raw)
{
	kfb_put_le32(&raw->crc,
		     brick_crc32c(0, raw, sizeof(*raw) - sizeof(raw->crc)));
}

static uint8_t *instance_at(struct fixture *fx, unsigned int copy)
{
	return fx->m->base + BRICK_FMT_INSTANCE + copy * BRICK_FMT_PAGE;
}

static uint8_t *commit_at(struct fixture *fx, unsigned int copy)
{
	return fx->m->base + BRICK_FMT_COMMIT + copy * BRICK_FMT_PAGE;
}

static uint8_t *record_at(struct fixture *fx, unsigned int copy, uint64_t slot)
{
	struct brick_super sb = fixture_super(fx);

	return fx->m->base + brick_super_rec(&sb, copy, slot);
}

static void assert_refused(struct fixture *fx, int error)
{
	fixture_snapshot(fx);
	assert_int_equal(fixture_try_open(fx, 1), error);
	fx->s = NULL;
	assert_true(strlen(fx->err) > 10);
	fixture_assert_unchanged(fx);
}

static void an_empty_medium_is_not_a_store(void **state)
{
	struct fixture *fx = *state;

	memset(fx->m->base, 0, BLOCK);
	assert_refused(fx, -ENOENT);
}

static void foreign_data_are_not_a_store_and_not_overwritten(void **state)
{
	struct brick_store_format f = { .uuid = { 4 } };
	struct fixture *fx = *state;

	memset(fx->m->base, 0x5a, BLOCK);
	assert_refused(fx, -ENOENT);
	fixture_snapshot(fx);
	assert_int_equal(brick_store_format(fx->m, &f, fx->err,
					    sizeof(fx->err)),
			 -EEXIST);
	fixture_assert_unchanged(fx);
	f.force = true;
	assert_int_equal(
		brick_store_format(fx->m, &f, fx->err, sizeof(fx->err)), 0);
	fixture_open(fx, 1);
	assert_int_equal(fx->s->slots.dirty.n_set, SLOTS);
}

static void a_store_is_not_formatted_twice_unless_forced(void **state)
{
	struct brick_store_format f = { .uuid = { 4 } };
	struct fixture *fx = *state;

	fixture_open(fx, 1);
	assert_int_equal(fixture_alloc(fx, 0, 3), 0);
	fixture_close(fx, true);
	fixture_snapshot(fx);
	assert_int_equal(brick_store_format(fx->m, &f, fx->err,
					    sizeof(fx->err)),
			 -EEXIST);
	fixture_assert_unchanged(fx);
	f.force = true;
	assert_int_equal(
		brick_store_format(fx->m, &f, fx->err, sizeof(fx->err)), 0);
	fixture_open(fx, 1);
	/* What is in the slots is not known to be zero. */
	assert_int_equal(fx->s->slots.dirty.n_set, SLOTS);
	assert_int_equal(fx->s->n_alloc, 0);
}

static void a_medium_without_room_for_a_slot_is_refused(void **state)
{
	struct brick_store_format f = { .force = true };
	struct fixture *fx = *state;
	uint64_t size = fx->m->size;

	fx->m->size = 2 * BLOCK - 1;
	assert_int_equal(brick_store_format(fx->m, &f, fx->err,
					    sizeof(fx->err)),
			 -ENOSPC);
	fx->m->size = 2 * BLOCK;
	assert_int_equal(
		brick_store_format(fx->m, &f, fx->err, sizeof(fx->err)), 0);
	fx->m->size = size;
}

static void an_interrupted_format_is_not_a_store(void **state)
{
	struct brick_store_format f = { .force = true };
	struct fixture *fx = *state;

	unsigned int n, k;

	fixture_seen.n_drains = 0;
	assert_int_equal(
		brick_store_format(fx->m, &f, fx->err, sizeof(fx->err)), 0);
	n = fixture_seen.n_drains;
	/* Only the last fence makes it one. */
	for (k = 1; k < n; k++) {
		fixture_seen.n_drains = 0;
		fixture_seen.fail_at = k;
		assert_int_equal(brick_store_format(fx->m, &f, fx->err,
						    sizeof(fx->err)),
				 -EIO);
		fixture_seen.fail_at = 0;
		assert_refused(fx, -ENOENT);
	}
}

static void a_truncated_store_is_refused(void **state)
{
	struct fixture *fx = *state;
	uint64_t size = fx->m->size;

	fx->m->size = fixture_super(fx).total_size - 1;
	assert_refused(fx, -EINVAL);
	fx->m->size = 4096;
	assert_int_equal(fixture_try_open(fx, 1), -EINVAL);
	fx->s = NULL;
	fx->m->size = size;
}

static void another_store_is_refused(void **state)
{
	static const uint8_t uuid[16] = { 1, 2, 4 };
	struct brick_store_open o = { .expect_uuid = uuid };
	struct fixture *fx = *state;

	fixture_snapshot(fx);
	assert_int_equal(brick_store_open(fx->m, &o, &fx->s, fx->err,
					  sizeof(fx->err)),
			 -EINVAL);
	fx->s = NULL;
	fixture_assert_unchanged(fx);
}

/* Change one byte of both superblocks and make their checksums right. */
static void rewrite_super(struct fixture *fx, size_t off, uint8_t value)
{
	unsigned int copy;

	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		((uint8_t *)super_at(fx, copy))[off] = value;
		sum_super(super_at(fx, copy));
	}
}

static void a_newer_store_is_refused(void **state)
{
	struct fixture *fx = *state;

	rewrite_super(fx, offsetof(struct brick_fmt_super, version), 2);
	assert_refused(fx, -EPROTONOSUPPORT);
	rewrite_super(fx, offsetof(struct brick_fmt_super, version), 1);
	rewrite_super(fx, offsetof(struct brick_fmt_super, feat_incompat), 4);
	assert_refused(fx, -EPROTONOSUPPORT);
	rewrite_super(fx, offsetof(struct brick_fmt_super, feat_incompat), 0);
	rewrite_super(fx, offsetof(struct brick_fmt_super, feat_ro_compat), 1);
	assert_refused(fx, -EPROTONOSUPPORT);
	rewrite_super(fx, offsetof(struct brick_fmt_super, feat_ro_compat), 0);
	fixture_open(fx, 1);
}

static void fields_that_make_no_sense_are_refused(void **state)
{
	static const struct {
		size_t off;
		uint8_t value;
	} cases[] = {
		{ offsetof(struct brick_fmt_super, block_shift), 20 },
		{ offsetof(struct brick_fmt_super, reserved0), 1 },
		{ offsetof(struct brick_fmt_super, reserved) + 3923, 1 },
		{ offsetof(struct brick_fmt_super, feat_incompat), 1 },
		{ offsetof(struct brick_fmt_super, feat_incompat), 2 },
		{ offsetof(struct brick_fmt_super, n_slow), 1 },
		{ offsetof(struct brick_fmt_super, cap_slow), 1 },
		{ offsetof(struct brick_fmt_super, slow_off) + 8, 1 },
		{ offsetof(struct brick_fmt_super, slow_uuid), 1 },
		{ offsetof(struct brick_fmt_super, n_pmem), 0 },
		{ offsetof(struct brick_fmt_super, n_pmem), SLOTS + 1 },
		{ offsetof(struct brick_fmt_super, cap_pmem), SLOTS - 1 },
		{ offsetof(struct brick_fmt_super, cap_pmem) + 7, 0xff },
		{ offsetof(struct brick_fmt_super, rec_off), 8 },
		{ offsetof(struct brick_fmt_super, rec_off) + 2, 0 },
		{ offsetof(struct brick_fmt_super, rec_off) + 7, 0x7f },
		{ offsetof(struct brick_fmt_super, rec_off) + 9, 0 },
		{ offsetof(struct brick_fmt_super, data_off) + 2, 0x10 },
		{ offsetof(struct brick_fmt_super, data_off) + 2, 0x40 },
		{ offsetof(struct brick_fmt_super, data_off) + 7, 0xff },
		{ offsetof(struct brick_fmt_super, total_size) + 7, 0xff },
		{ offsetof(struct brick_fmt_super, total_size) + 2, 0x20 },
	};
	struct fixture *fx = *state;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t was = ((uint8_t *)super_at(fx, 0))[cases[i].off];

		assert_int_not_equal(was, cases[i].value);
		rewrite_super(fx, cases[i].off, cases[i].value);
		assert_refused(fx, -EUCLEAN);
		rewrite_super(fx, cases[i].off, was);
	}
	fixture_open(fx, 1);
}

static void one_damaged_superblock_is_repaired(void **state)
{
	struct fixture *fx = *state;
	unsigned int copy;

	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		memset((uint8_t *)super_at(fx, copy) + 64, 0xff, 64);
		fixture_open(fx, 1);
		assert_true(brick_store_recovery(fx->s)->super_repaired);
		assert_memory_equal(super_at(fx, 0), super_at(fx, 1),
				    BRICK_FMT_PAGE);
		fixture_close(fx, true);
		fixture_open(fx, 1);
		assert_false(brick_store_recovery(fx->s)->super_repaired);
		fixture_close(fx, true);
	}
}

static void the_newer_superblock_wins(void **state)
{
	struct fixture *fx = *state;
	struct brick_super sb;

	kfb_put_le64(&super_at(fx, 1)->seq, 2);
	super_at(fx, 1)->uuid[0] = 99;
	sum_super(super_at(fx, 1));
	sb = fixture_super(fx);
	assert_int_equal(sb.uuid[0], 99);
	fixture_open(fx, 1);
	assert_int_equal(super_at(fx, 0)->uuid[0], 99);
}

static void two_damaged_superblocks_are_refused(void **state)
{
	struct fixture *fx = *state;

	((uint8_t *)super_at(fx, 0))[70] ^= 1;
	((uint8_t *)super_at(fx, 1))[71] ^= 1;
	assert_refused(fx, -EUCLEAN);
}

static void one_damaged_commit_word_is_repaired(void **state)
{
	struct fixture *fx = *state;
	unsigned int copy;

	fixture_open(fx, 1);
	assert_int_equal(fixture_alloc(fx, 0, 2), 0);
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		fixture_kill(fx);
		*commit_at(fx, copy) ^= 0xff;
		fixture_open(fx, (uint8_t)(copy + 2));
		assert_true(brick_store_recovery(fx->s)->commit_repaired);
		assert_memory_equal(commit_at(fx, 0), commit_at(fx, 1), 8);
		assert_int_equal(fx->s->n_alloc, 2);
	}
}

static void two_damaged_commit_words_are_refused(void **state)
{
	struct fixture *fx = *state;

	*commit_at(fx, 0) ^= 1;
	*commit_at(fx, 1) ^= 1;
	assert_refused(fx, -EUCLEAN);
}

static void a_commit_word_beyond_its_range_is_damage(void **state)
{
	struct brick_super sb;
	struct fixture *fx = *state;
	bool differ, invalid;
	uint32_t tx;

	sb = fixture_super(fx);
	brick_commit_write(fx->m, &sb, BRICK_FMT_TX_MASK + 1);
	assert_int_equal(brick_commit_read(fx->m, &sb, &tx, &differ, &invalid),
			 -EUCLEAN);
}

static void one_damaged_instance_page_is_repaired(void **state)
{
	struct fixture *fx = *state;
	unsigned int copy;

	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		instance_at(fx, copy)[100] ^= 1;
		fixture_open(fx, 1);
		assert_true(brick_store_recovery(fx->s)->instance_repaired);
		assert_memory_equal(instance_at(fx, 0), instance_at(fx, 1),
				    BRICK_FMT_PAGE);
		fixture_close(fx, true);
		fixture_open(fx, 1);
		assert_false(brick_store_recovery(fx->s)->instance_repaired);
		fixture_close(fx, true);
	}
}

static void two_damaged_instance_pages_are_refused(void **state)
{
	struct fixture *fx = *state;

	instance_at(fx, 0)[0] ^= 1;
	instance_at(fx, 1)[4095] ^= 1;
	assert_refused(fx, -EUCLEAN);
}

/* Damage each byte of each copy in turn: nothing is lost. */
static void one_damaged_record_copy_is_repaired(void **state)
{
	struct fixture *fx = *state;
	struct brick_run was, is;
	unsigned int copy, byte;
	uint8_t boot = 1;

	fixture_open(fx, boot++);
	assert_int_equal(fixture_alloc(fx, 7 * BLOCK, 2), 0);
	assert_int_equal(fixture_birth(fx, 7 * BLOCK, 1, 5), 0);
	memset(&was, 0, sizeof(was));
	memset(&is, 0, sizeof(is));
	assert_int_equal(brick_store_lookup(fx->s, 7 * BLOCK, 1, &was), 0);
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		for (byte = 0; byte < sizeof(struct brick_fmt_record); byte++) {
			fixture_kill(fx);
			record_at(fx, copy, was.slot)[byte] ^= 0x81;
			fixture_open(fx, boot++);
			assert_int_equal(
				brick_store_recovery(fx->s)->records_repaired,
				1);
			assert_int_equal(brick_store_lookup(fx->s, 7 * BLOCK, 1,
							    &is),
					 0);
			assert_memory_equal(&was, &is, sizeof(is));
			assert_memory_equal(record_at(fx, 0, was.slot),
					    record_at(fx, 1, was.slot),
					    sizeof(struct brick_fmt_record));
		}
	}
}

/* What is acknowledged is in both copies: either may be lost at once. */
static void every_change_survives_the_loss_of_either_copy(void **state)
{
	struct fixture *fx = *state;
	struct brick_run run, gone;
	unsigned int copy;
	uint64_t slot;
	uint8_t boot = 1;

	fixture_open(fx, boot++);
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		assert_int_equal(fixture_alloc(fx, 0, 4), 0);
		assert_int_equal(fixture_birth(fx, 3 * BLOCK, 1, 5), 0);
		assert_int_equal(fixture_release(fx, 0, 1), 0);
		assert_int_equal(fixture_release(fx, BLOCK, 2), 0);
		fixture_kill(fx);
		for (slot = 0; slot < SLOTS; slot++)
			record_at(fx, copy, slot)[29] ^= 0x10;
		fixture_open(fx, boot++);
		assert_int_equal(brick_store_recovery(fx->s)->records_repaired,
				 SLOTS);
		assert_int_equal(brick_store_lookup(fx->s, 0, 1, &gone),
				 -ENOENT);
		assert_int_equal(brick_store_lookup(fx->s, BLOCK, 1, &gone),
				 -ENOENT);
		assert_int_equal(brick_store_lookup(fx->s, 3 * BLOCK, 1, &run),
				 0);
		assert_int_equal(run.owner, 5);
		assert_int_equal(fixture_release(fx, 3 * BLOCK, 1), 0);
	}
}

static void two_damaged_record_copies_make_a_bad_slot(void **state)
{
	struct brick_store_stats st;
	struct fixture *fx = *state;
	struct brick_event event;
	struct brick_run run;
	uint64_t last;

	fixture_open(fx, 1);
	assert_int_equal(fixture_alloc(fx, 0, 2), 0);
	assert_int_equal(brick_store_lookup(fx->s, 0, 1, &run), 0);
	fixture_kill(fx);
	record_at(fx, 0, run.slot)[3] ^= 1; /* payload */
	record_at(fx, 1, run.slot)[30] ^= 1; /* state word */
	fixture_open(fx, 2);
	assert_int_equal(brick_store_recovery(fx->s)->records_bad, 1);
	brick_store_stats(fx->s, &st);
	assert_int_equal(st.slots_bad, 1);
	assert_int_equal(st.slots_alloc, 1);
	last = brick_evlog_last(fx->m, &fx->s->sb);
	do
		assert_true(brick_evlog_get(fx->m, &fx->s->sb, last--, &event));
	while (event.kind != BRICK_EVENT_BAD_SLOT && last);
	assert_int_equal(event.kind, BRICK_EVENT_BAD_SLOT);
	assert_int_equal(event.slot, run.slot);
	/* Never used again. */
	assert_int_equal(fixture_alloc(fx, 20 * BLOCK, SLOTS - 1), -ENOSPC);
	assert_int_equal(fixture_alloc(fx, 20 * BLOCK, SLOTS - 2), 0);
	fixture_kill(fx);
	fixture_open(fx, 3);
	assert_int_equal(brick_store_recovery(fx->s)->records_bad, 0);
	brick_store_stats(fx->s, &st);
	assert_int_equal(st.slots_bad, 1);
}

static void copy_zero_wins_over_a_valid_mirror(void **state)
{
	struct brick_payload p = { .id = 9 * BLOCK, .birth = 3 };
	struct fixture *fx = *state;
	struct brick_run run;

	fixture_open(fx, 1);
	assert_int_equal(fixture_alloc(fx, 0, 1), 0);
	assert_int_equal(brick_store_lookup(fx->s, 0, 1, &run), 0);
	brick_record_put_payload(fx->m, &fx->s->sb, BRICK_COPY(1), run.slot,
				 &p);
	fixture_kill(fx);
	fixture_open(fx, 2);
	assert_int_equal(brick_store_lookup(fx->s, 0, 1, &run), 0);
	assert_int_equal(brick_store_lookup(fx->s, 9 * BLOCK, 1, &run),
			 -ENOENT);
	assert_memory_equal(record_at(fx, 0, run.slot),
			    record_at(fx, 1, run.slot),
			    sizeof(struct brick_fmt_record));
}

static void a_state_of_an_unknown_batch_is_damage(void **state)
{
	struct fixture *fx = *state;
	struct brick_word w = { .state = BRICK_ALLOC_B };

	fixture_open(fx, 1);
	assert_int_equal(fixture_alloc(fx, 0, 1), 0);
	w.tx = BRICK_TX_NEXT(BRICK_TX_NEXT(fx->s->tx));
	brick_record_put_word(fx->m, &fx->s->sb, BRICK_COPY_BOTH, 3, w);
	fixture_kill(fx);
	fixture_open(fx, 2);
	assert_int_equal(brick_store_recovery(fx->s)->records_bad, 1);
}

static void two_records_of_one_block_are_refused(void **state)
{
	struct brick_payload p = { .id = 5 * BLOCK, .birth = 3 };
	struct brick_word w = { .state = BRICK_ALLOC };
	struct fixture *fx = *state;
	struct brick_super sb = fixture_super(fx);

	brick_record_put_payload(fx->m, &sb, BRICK_COPY_BOTH, 1, &p);
	brick_record_put_payload(fx->m, &sb, BRICK_COPY_BOTH, 4, &p);
	brick_record_put_word(fx->m, &sb, BRICK_COPY_BOTH, 1, w);
	brick_record_put_word(fx->m, &sb, BRICK_COPY_BOTH, 4, w);
	assert_refused(fx, -EUCLEAN);
}

static void a_store_held_by_a_living_process_is_refused(void **state)
{
	struct brick_store_open o = { .boot_id = { 1 } };
	struct fixture *fx = *state;
	struct brick_store *second;

	fixture_open(fx, 1);
	fixture_snapshot(fx);
	assert_int_equal(brick_store_open(fx->m, &o, &second, fx->err,
					  sizeof(fx->err)),
			 -EBUSY);
	fixture_assert_unchanged(fx);
	fixture_close(fx, false);
	fixture_open(fx, 1);
}

static void a_store_held_by_a_dead_process_is_opened(void **state)
{
	struct fixture *fx = *state;
	int status;
	pid_t pid;

	/* The medium is shared memory: the child's store is ours. */
	pid = fork();
	if (!pid)
		_exit(fixture_try_open(fx, 1) || fixture_alloc(fx, 3 * BLOCK, 1)
			      ? EXIT_FAILURE
			      : EXIT_SUCCESS);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fixture_open(fx, 1);
	assert_int_equal(fx->s->n_alloc, 1);
}

static void a_reused_process_number_holds_nothing(void **state)
{
	struct fixture *fx = *state;

	fixture_open(fx, 1);
	fx->s->inst.start_time++;
	fx->s->inst.seq++;
	brick_instance_put(fx->m, &fx->s->sb, 0, &fx->s->inst);
	fixture_kill(fx);
	fixture_open(fx, 1);
}

static uint64_t epoch_after(struct fixture *fx, uint8_t boot, uint64_t dsc)
{
	struct brick_store_open o = {
		.boot_id = { boot },
		.dirty_shutdowns_known = dsc != 0,
		.dirty_shutdowns = dsc,
	};
	struct brick_store_stats st;

	assert_int_equal(brick_store_open(fx->m, &o, &fx->s, fx->err,
					  sizeof(fx->err)),
			 0);
	brick_store_stats(fx->s, &st);
	return st.power_epoch;
}

static void the_power_epoch_tells_of_lost_writes(void **state)
{
	struct fixture *fx = *state;
	uint64_t epoch = epoch_after(fx, 1, 0);

	fixture_close(fx, false);
	/* The host lives: nothing is lost. */
	assert_int_equal(epoch_after(fx, 1, 0), epoch);
	fixture_close(fx, true);
	/* Rebooted after a clean stop. */
	assert_int_equal(epoch_after(fx, 2, 0), epoch);
	assert_true(brick_store_recovery(fx->s)->was_clean);
	fixture_kill(fx);
	/* Rebooted after one that was not. */
	assert_int_equal(epoch_after(fx, 3, 0), epoch + 1);
	assert_true(brick_store_recovery(fx->s)->new_power_epoch);
	fixture_kill(fx);
	assert_int_equal(epoch_after(fx, 4, 7), epoch + 2);
	fixture_close(fx, true);
	/* The platform counted a dirty shutdown. */
	assert_int_equal(epoch_after(fx, 4, 8), epoch + 3);
	fixture_close(fx, true);
	assert_int_equal(epoch_after(fx, 4, 8), epoch + 3);
	fixture_close(fx, true);
	/* A medium that forgets. */
	fx->m->is_volatile = true;
	assert_int_equal(epoch_after(fx, 4, 8), epoch + 4);
}

static void the_event_log_goes_round(void **state)
{
	struct fixture *fx = *state;
	struct brick_super sb = fixture_super(fx);
	struct brick_event event = { .kind = 1 }, got;
	uint64_t seq;

	assert_int_equal(brick_evlog_last(fx->m, &sb), 0);
	assert_false(brick_evlog_get(fx->m, &sb, 1, &got));
	for (seq = 1; seq <= BRICK_FMT_EVENTS_MAX + 3; seq++) {
		event.seq = seq;
		event.slot = seq * 7;
		brick_evlog_put(fx->m, &sb, &event);
		assert_int_equal(brick_evlog_last(fx->m, &sb), seq);
	}
	assert_false(brick_evlog_get(fx->m, &sb, 3, &got));
	assert_true(brick_evlog_get(fx->m, &sb, 4, &got));
	assert_int_equal(got.slot, 28);
}

#define OPEN_TEST(name) cmocka_unit_test_setup_teardown(name, formatted, done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OPEN_TEST(an_empty_medium_is_not_a_store),
		OPEN_TEST(foreign_data_are_not_a_store_and_not_overwritten),
		OPEN_TEST(a_store_is_not_formatted_twice_unless_forced),
		OPEN_TEST(a_medium_without_room_for_a_slot_is_refused),
		OPEN_TEST(an_interrupted_format_is_not_a_store),
		OPEN_TEST(a_truncated_store_is_refused),
		OPEN_TEST(another_store_is_refused),
		OPEN_TEST(a_newer_store_is_refused),
		OPEN_TEST(fields_that_make_no_sense_are_refused),
		OPEN_TEST(one_damaged_superblock_is_repaired),
		OPEN_TEST(the_newer_superblock_wins),
		OPEN_TEST(two_damaged_superblocks_are_refused),
		OPEN_TEST(one_damaged_commit_word_is_repaired),
		OPEN_TEST(two_damaged_commit_words_are_refused),
		OPEN_TEST(a_commit_word_beyond_its_range_is_damage),
		OPEN_TEST(one_damaged_instance_page_is_repaired),
		OPEN_TEST(two_damaged_instance_pages_are_refused),
		OPEN_TEST(one_damaged_record_copy_is_repaired),
		OPEN_TEST(every_change_survives_the_loss_of_either_copy),
		OPEN_TEST(two_damaged_record_copies_make_a_bad_slot),
		OPEN_TEST(copy_zero_wins_over_a_valid_mirror),
		OPEN_TEST(a_state_of_an_unknown_batch_is_damage),
		OPEN_TEST(two_records_of_one_block_are_refused),
		OPEN_TEST(a_store_held_by_a_living_process_is_refused),
		OPEN_TEST(a_store_held_by_a_dead_process_is_opened),
		OPEN_TEST(a_reused_process_number_holds_nothing),
		OPEN_TEST(the_power_epoch_tells_of_lost_writes),
		OPEN_TEST(the_event_log_goes_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
