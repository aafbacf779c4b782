// SPDX-License-Identifier: BSD-2-Clause
/*
 * Retained copies: the rules one by one, and the edges of the two rings.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "data/kfb_retain.h"

#define PAGE	KFB_RETAIN_PAGE_BYTES
#define BLOCK	(2ULL << 20)
#define N_PAGES 16
#define CAP	8
#define STEPS	1000

static struct kfb_copy copies[KFB_RETAIN_FLIGHT_MAX * 2];
static __u64 newest[KFB_RETAIN_FLIGHT_MAX * 2];
static struct kfb_retain r;
static struct kfb_retain_piece piece;

static int setup(void **state)
{
	kfb_retain_init(&r, copies, newest, CAP, N_PAGES);
	return 0;
}

static __u64 add(__u64 va, uint32_t len)
{
	__u64 id = KFB_RETAIN_NONE;

	assert_int_equal(kfb_retain_add(&r, va, len, false, &id), 0);
	return id;
}

static __u64 keep(__u64 va, uint32_t len)
{
	__u64 id = add(va, len);

	kfb_retain_done(&r, id);
	return id;
}

static int refused(__u64 va, uint32_t len)
{
	__u64 id = KFB_RETAIN_NONE;
	int rc = kfb_retain_add(&r, va, len, false, &id);

	assert_true(rc != 0);
	assert_true(id == KFB_RETAIN_NONE);
	return rc;
}

/* Pieces that would be written again now. */
static unsigned int n_kept(void)
{
	struct kfb_retain_cursor at = { 0 };
	unsigned int n = 0;

	for (; kfb_retain_next(&r, &at, STEPS, &piece) == 1; n++)
		kfb_retain_took(&at, piece.len);
	return n;
}

static void assert_next(struct kfb_retain_cursor *at, __u64 id, uint32_t offset,
			uint32_t len)
{
	assert_int_equal(kfb_retain_next(&r, at, STEPS, &piece), 1);
	assert_true(piece.id == id);
	assert_int_equal(piece.offset, offset);
	assert_int_equal(piece.len, len);
	kfb_retain_took(at, len);
}

static void assert_no_more(struct kfb_retain_cursor *at)
{
	assert_int_equal(kfb_retain_next(&r, at, STEPS, &piece), 0);
}

static void flush(void)
{
	kfb_retain_flushed(&r, kfb_retain_mark(&r));
}

static void a_copy_is_kept_until_a_flush_that_began_later(void **state)
{
	__u64 mark;
	__u64 id = add(0, PAGE);

	mark = kfb_retain_mark(&r);
	kfb_retain_done(&r, id);
	assert_int_equal(n_kept(), 1);
	kfb_retain_flushed(&r, mark);
	assert_int_equal(n_kept(), 1);
	flush();
	assert_int_equal(n_kept(), 0);
	assert_int_equal(r.bytes, 0);
}

static void a_write_that_is_under_way_is_not_written_once_more(void **state)
{
	add(0, PAGE);
	assert_int_equal(n_kept(), 0);
}

static void a_write_that_failed_leaves_nothing(void **state)
{
	__u64 id = add(0, PAGE);

	kfb_retain_void(&r, id);
	assert_int_equal(n_kept(), 0);
	assert_int_equal(r.n_used, 0);
	assert_int_equal(r.n_flight, 0);
	kfb_retain_void(&r, id);
	assert_int_equal(r.n_flight, 0);
}

static void a_newer_copy_does_not_go_before_an_older(void **state)
{
	__u64 old = add(0, PAGE);

	keep(PAGE, PAGE);
	flush();
	/* It is durable, but what came before it may still be kept. */
	assert_int_equal(r.head - r.tail, 2);
	kfb_retain_done(&r, old);
	assert_int_equal(n_kept(), 1);
	assert_int_equal(r.bytes, 2 * PAGE);
	flush();
	assert_int_equal(r.head - r.tail, 0);
	assert_int_equal(r.bytes, 0);
}

static void two_writes_to_the_same_bytes_are_not_under_way_at_once(void **state)
{
	__u64 id = add(PAGE, 2 * PAGE);

	assert_int_equal(refused(2 * PAGE, PAGE), -EBUSY);
	assert_int_equal(refused(0, PAGE + 1), -EBUSY);
	assert_int_equal(refused(3 * PAGE - 1, 1), -EBUSY);
	keep(0, PAGE);
	keep(3 * PAGE, PAGE);
	kfb_retain_done(&r, id);
	keep(2 * PAGE, PAGE);
	assert_int_equal(n_kept(), 4);
}

static void the_last_bytes_of_the_address_space_are_compared(void **state)
{
	__u64 last = 0 - (__u64)PAGE;

	add(last, PAGE);
	assert_int_equal(refused(last, PAGE), -EBUSY);
	keep(0, PAGE);
}

static void what_does_not_fit_waits_for_a_flush(void **state)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		keep(i * 4 * PAGE, 4 * PAGE);
	assert_int_equal(refused(BLOCK, 1), -EAGAIN);
	assert_true(kfb_retain_is_filling(&r));
	flush();
	keep(BLOCK, 1);
}

static void what_never_fits_is_refused_for_good(void **state)
{
	assert_int_equal(refused(0, N_PAGES * PAGE + 1), -EMSGSIZE);
	keep(0, N_PAGES * PAGE);
}

static void copies_are_bounded_as_well_as_pages(void **state)
{
	__u64 id;
	unsigned int i;

	for (i = 0; i < CAP; i++)
		assert_int_equal(kfb_retain_add(&r, i * PAGE, PAGE, true, &id),
				 0);
	assert_int_equal(refused(BLOCK, 1), -EAGAIN);
	assert_int_equal(r.n_used, 0);
}

static void writes_under_way_are_bounded(void **state)
{
	__u64 id;
	unsigned int i;

	kfb_retain_init(&r, copies, newest, KFB_RETAIN_FLIGHT_MAX * 2, N_PAGES);
	for (i = 0; i < KFB_RETAIN_FLIGHT_MAX; i++)
		assert_int_equal(kfb_retain_add(&r, i * PAGE, PAGE, true, &id),
				 0);
	assert_int_equal(refused(BLOCK, 1), -EBUSY);
	kfb_retain_done(&r, id);
	keep(BLOCK, 1);
}

static void a_copy_lies_in_consecutive_pages(void **state)
{
	__u64 id;

	keep(0, 6 * PAGE);
	keep(BLOCK, 6 * PAGE);
	flush();
	id = keep(0, 6 * PAGE);
	assert_int_equal(kfb_retain_page(&r, id), 0);
	keep(BLOCK, 5 * PAGE);
	kfb_retain_flushed(&r, 3);
	/* Five are left at the end, and six at the start. */
	id = keep(0, 6 * PAGE);
	assert_int_equal(kfb_retain_page(&r, id), 0);
	assert_int_equal(r.n_used, 16);
	assert_int_equal(refused(2 * BLOCK, 1), -EAGAIN);
}

static void pages_that_end_with_the_ring_are_followed_by_the_first(void **state)
{
	__u64 id;

	keep(0, 12 * PAGE);
	keep(BLOCK, 4 * PAGE);
	kfb_retain_flushed(&r, 1);
	id = keep(0, PAGE);
	assert_int_equal(kfb_retain_page(&r, id), 0);
}

static void a_flush_is_asked_for_at_half(void **state)
{
	__u64 id = add(0, 7 * PAGE);

	kfb_retain_done(&r, id);
	assert_false(kfb_retain_is_filling(&r));
	id = add(BLOCK, PAGE);
	assert_true(kfb_retain_is_filling(&r));
	flush();
	/* What is under way cannot be let go by a flush. */
	assert_false(kfb_retain_is_filling(&r));
	kfb_retain_done(&r, id);
	assert_false(kfb_retain_is_filling(&r));
}

static void a_flush_is_asked_for_by_what_found_no_room(void **state)
{
	__u64 id;

	keep(0, 7 * PAGE);
	assert_int_equal(refused(0, 10 * PAGE), -EAGAIN);
	assert_true(kfb_retain_is_filling(&r));
	flush();
	assert_false(kfb_retain_is_filling(&r));
	id = keep(0, 10 * PAGE);
	assert_int_equal(kfb_retain_page(&r, id), 0);
}

static void freed_blocks_have_no_copies(void **state)
{
	keep(BLOCK - PAGE, PAGE);
	keep(BLOCK, PAGE);
	keep(2 * BLOCK - PAGE, PAGE);
	keep(2 * BLOCK, PAGE);
	kfb_retain_drop(&r, BLOCK, BLOCK);
	assert_int_equal(n_kept(), 2);
	assert_int_equal(r.bytes, 2 * PAGE);
	kfb_retain_drop(&r, 0, BLOCK);
	assert_int_equal(n_kept(), 1);
	/* Those in front of it went with the first of them. */
	assert_int_equal(r.n_used, 1);
}

static void copies_come_in_the_order_of_posting(void **state)
{
	struct kfb_retain_cursor at = { 0 };
	__u64 a = add(0, PAGE);
	__u64 b = add(PAGE, PAGE);

	kfb_retain_done(&r, b);
	kfb_retain_done(&r, a);
	assert_next(&at, a, 0, PAGE);
	assert_true(piece.va == 0);
	assert_next(&at, b, 0, PAGE);
	assert_true(piece.va == PAGE);
	assert_no_more(&at);
}

static void a_copy_of_some_bytes_is_found(void **state)
{
	__u64 a = add(3 * PAGE, 2 * PAGE);

	assert_true(kfb_retain_has(&r, 4 * PAGE, PAGE));
	assert_true(kfb_retain_has(&r, 0, 3 * PAGE + 1));
	assert_true(kfb_retain_has(&r, 5 * PAGE - 1, 1));
	assert_false(kfb_retain_has(&r, 0, 3 * PAGE));
	assert_false(kfb_retain_has(&r, 5 * PAGE, PAGE));
	kfb_retain_done(&r, a);
	assert_true(kfb_retain_has(&r, 3 * PAGE, 1));
	flush();
	assert_false(kfb_retain_has(&r, 3 * PAGE, PAGE));
	/* One that is of no use stays behind one that is. */
	keep(PAGE, PAGE);
	a = add(0, PAGE);
	kfb_retain_void(&r, a);
	assert_false(kfb_retain_has(&r, 0, PAGE));
	assert_true(kfb_retain_has(&r, 0, 2 * PAGE));
}

static void what_was_written_again_waits_for_another_flush(void **state)
{
	__u64 mark;

	keep(PAGE, PAGE);
	mark = kfb_retain_mark(&r);
	assert_int_equal(kfb_retain_rewind(&r), 0);
	kfb_retain_flushed(&r, mark);
	assert_int_equal(n_kept(), 1);
	flush();
	assert_int_equal(n_kept(), 0);
}

static void nothing_is_written_again_while_a_write_is_under_way(void **state)
{
	struct kfb_retain_cursor at = { 0 };
	__u64 newer;

	keep(0, PAGE);
	newer = add(0, PAGE);
	/* It may land before, behind or never: who knows which copy is newest? */
	assert_int_equal(kfb_retain_rewind(&r), -EBUSY);
	kfb_retain_done(&r, newer);
	assert_int_equal(kfb_retain_rewind(&r), 0);
	assert_next(&at, newer, 0, PAGE);
	assert_no_more(&at);
}

static void a_write_that_failed_hides_no_older_copy(void **state)
{
	struct kfb_retain_cursor at = { 0 };
	__u64 old = keep(0, PAGE);
	__u64 newer = add(0, PAGE);

	assert_int_equal(kfb_retain_rewind(&r), -EBUSY);
	kfb_retain_void(&r, newer);
	assert_int_equal(kfb_retain_rewind(&r), 0);
	assert_next(&at, old, 0, PAGE);
	assert_no_more(&at);
}

static void of_the_same_bytes_only_the_newest_copy_is_written(void **state)
{
	struct kfb_retain_cursor at = { 0 };
	__u64 newest_one;

	keep(0, PAGE);
	keep(0, PAGE);
	keep(PAGE / 2, PAGE / 4);
	newest_one = keep(0, PAGE);
	assert_int_equal(kfb_retain_rewind(&r), 0);
	assert_next(&at, newest_one, 0, PAGE);
	assert_no_more(&at);
}

/*
 * The second hole is newer than the third, and the fourth covers what lies
 * between the first two:
 *
 *   0   2   4   6   8   10  12
 *   aaaaaaaaaaaaaaaaaaaaaaaaaa
 *     bb      cc        dd
 *       eeeeeeee
 */
static void what_newer_copies_have_is_cut_out_of_an_older(void **state)
{
	struct kfb_retain_cursor at = { 0 };
	__u64 a = keep(BLOCK, 12 * 512);
	__u64 b = keep(BLOCK + 512, 512);
	__u64 d = keep(BLOCK + 10 * 512, 512);
	__u64 e;

	keep(BLOCK + 4 * 512, 512);
	e = keep(BLOCK + 2 * 512, 4 * 512);
	keep(2 * BLOCK, 12 * 512);
	kfb_retain_drop(&r, 2 * BLOCK, BLOCK);
	assert_int_equal(kfb_retain_rewind(&r), 0);
	assert_next(&at, a, 0, 512);
	assert_next(&at, a, 6 * 512, 4 * 512);
	assert_true(piece.va == BLOCK + 6 * 512);
	assert_next(&at, a, 11 * 512, 512);
	assert_next(&at, b, 0, 512);
	assert_next(&at, d, 0, 512);
	assert_next(&at, e, 0, 4 * 512);
	assert_no_more(&at);
	/* From the middle of a piece on. */
	at = (struct kfb_retain_cursor){ .id = a, .offset = 7 * 512 };
	assert_next(&at, a, 7 * 512, 3 * 512);
}

static void blocks_that_share_a_list_hide_nothing_of_each_other(void **state)
{
	struct kfb_retain_cursor at = { 0 };
	__u64 a = keep(0, PAGE);
	__u64 b = keep(CAP * BLOCK, PAGE);

	assert_next(&at, a, 0, PAGE);
	assert_next(&at, b, 0, PAGE);
	assert_no_more(&at);
}

static void copies_that_are_gone_hide_nothing(void **state)
{
	struct kfb_retain_cursor at;
	unsigned int i;
	__u64 id;

	/* The ring goes round, and the lists lead into what was there before. */
	for (i = 0; i < 5 * CAP; i++) {
		id = keep(i % 3 * BLOCK, PAGE);
		memset(&at, 0, sizeof(at));
		assert_next(&at, id, 0, PAGE);
		assert_no_more(&at);
		flush();
	}
}

static void what_a_flush_has_covered_is_not_written_again(void **state)
{
	struct kfb_retain_cursor at = { 0 };
	__u64 before = add(BLOCK, PAGE);
	__u64 again;

	keep(0, 2 * PAGE);
	flush();
	/* Durable, and there only because of what came before. */
	again = keep(0, PAGE);
	kfb_retain_done(&r, before);
	assert_int_equal(kfb_retain_rewind(&r), 0);
	assert_next(&at, before, 0, PAGE);
	assert_next(&at, again, 0, PAGE);
	assert_no_more(&at);
}

static void what_is_durable_by_itself_is_not_written_again(void **state)
{
	struct kfb_retain_cursor at = { 0 };
	__u64 old = keep(0, 2 * PAGE);
	__u64 fua = keep(0, PAGE);

	kfb_retain_durable(&r, fua);
	assert_int_equal(kfb_retain_rewind(&r), 0);
	/* Nor is what it has replaced. */
	assert_next(&at, old, PAGE, PAGE);
	assert_no_more(&at);
	/* The older one needs it for as long as it is there itself. */
	assert_int_equal(r.head - r.tail, 2);
	flush();
	assert_int_equal(r.head - r.tail, 0);
	assert_int_equal(r.bytes, 0);
}

static void what_is_durable_by_itself_gives_back_its_room(void **state)
{
	__u64 fua = keep(0, PAGE);

	kfb_retain_durable(&r, fua);
	assert_int_equal(r.n_used, 0);
	assert_int_equal(r.bytes, 0);
	/* Its number is nobody's any more. */
	keep(CAP * BLOCK, PAGE);
	kfb_retain_durable(&r, fua);
	kfb_retain_durable(&r, fua + CAP + 1);
	kfb_retain_durable(&r, KFB_RETAIN_NONE);
	assert_int_equal(n_kept(), 1);
}

static void only_what_has_completed_is_durable_by_itself(void **state)
{
	__u64 posted = add(0, PAGE);
	__u64 failed = add(PAGE, PAGE);

	kfb_retain_void(&r, failed);
	kfb_retain_durable(&r, posted);
	kfb_retain_durable(&r, failed);
	assert_int_equal(r.n_flight, 1);
	kfb_retain_done(&r, posted);
	assert_int_equal(n_kept(), 1);
}

/* CAP later another copy has its place in the ring. */
static void a_number_that_is_gone_is_nobody_elses(void **state)
{
	__u64 gone = keep(0, PAGE);
	__u64 id;
	unsigned int i;

	flush();
	for (i = 1; i < CAP; i++) {
		keep(0, PAGE);
		flush();
	}
	id = add(0, PAGE);
	assert_true(id == gone + CAP);
	kfb_retain_void(&r, gone);
	kfb_retain_done(&r, gone);
	kfb_retain_void(&r, id + CAP);
	kfb_retain_done(&r, id + CAP);
	assert_int_equal(n_kept(), 0);
	assert_int_equal(r.n_flight, 1);
	assert_int_equal(refused(0, PAGE), -EBUSY);
	kfb_retain_done(&r, id);
	assert_int_equal(n_kept(), 1);
	assert_int_equal(r.n_flight, 0);
}

/* Steps of calls that take @steps at most until there is a piece, or none. */
static void assert_steps(struct kfb_retain_cursor *at, unsigned int steps,
			 unsigned int n, int found)
{
	unsigned int i;

	for (i = 0; i < (n - 1) / steps; i++)
		assert_int_equal(kfb_retain_next(&r, at, steps, &piece),
				 -EAGAIN);
	assert_int_equal(kfb_retain_next(&r, at, steps, &piece), found);
}

static void a_call_takes_no_more_steps_than_it_may(void **state)
{
	struct kfb_retain_cursor at;
	unsigned int i, steps;
	__u64 id = keep(0, PAGE);

	/* One for each that does not hide it, and one to find it. */
	for (i = 1; i < CAP; i++)
		keep(PAGE, PAGE);
	assert_int_equal(kfb_retain_rewind(&r), 0);
	for (steps = 1; steps <= CAP + 1; steps++) {
		memset(&at, 0, sizeof(at));
		assert_steps(&at, steps, CAP, 1);
		assert_true(piece.id == id);
		assert_int_equal(piece.len, PAGE);
		/* It stays until it is taken, and its rest is known. */
		assert_steps(&at, 1, 1, 1);
		kfb_retain_took(&at, 512);
		assert_steps(&at, 1, 1, 1);
		assert_int_equal(piece.offset, 512);
		assert_int_equal(piece.len, PAGE - 512);
		kfb_retain_took(&at, PAGE - 512);
		/*
		 * Its end, two for each that the newest hides, and one to find
		 * that.
		 */
		assert_steps(&at, steps, 1 + 2 * (CAP - 2) + 1, 1);
		assert_true(piece.id == id + CAP - 1);
	}
}

static void copies_that_are_passed_are_steps(void **state)
{
	struct kfb_retain_cursor at;
	unsigned int i, steps;

	/* None is to be written; the first keeps the others from going. */
	add(BLOCK, PAGE);
	for (i = 1; i < CAP; i++)
		kfb_retain_durable(&r, keep(i * PAGE, PAGE));
	for (steps = 1; steps < CAP; steps++) {
		memset(&at, 0, sizeof(at));
		for (i = 0; i < (CAP - 1) / steps; i++)
			assert_int_equal(kfb_retain_next(&r, &at, steps,
							 &piece),
					 -EAGAIN);
		assert_int_equal(kfb_retain_next(&r, &at, steps, &piece), 0);
	}
}

static void what_comes_between_two_steps_hides_older_copies(void **state)
{
	struct kfb_retain_cursor at = { 0 };
	__u64 newer;

	keep(0, PAGE);
	keep(PAGE, PAGE);
	assert_int_equal(kfb_retain_next(&r, &at, 1, &piece), -EAGAIN);
	newer = keep(0, 2 * PAGE);
	assert_next(&at, newer, 0, 2 * PAGE);
	assert_no_more(&at);
}

static void what_goes_between_two_steps_is_not_written(void **state)
{
	struct kfb_retain_cursor at = { 0 };
	__u64 other;

	keep(0, PAGE);
	keep(PAGE, PAGE);
	other = keep(BLOCK, PAGE);
	assert_int_equal(kfb_retain_next(&r, &at, 1, &piece), -EAGAIN);
	kfb_retain_drop(&r, 0, BLOCK);
	assert_next(&at, other, 0, PAGE);
	assert_no_more(&at);
}

static void a_copy_lies_in_one_block(void **state)
{
	assert_int_equal(refused(BLOCK - PAGE, PAGE + 1), -EINVAL);
	assert_int_equal(r.n_flight, 0);
	keep(BLOCK - PAGE, PAGE);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		TEST(a_copy_is_kept_until_a_flush_that_began_later),
		TEST(a_write_that_is_under_way_is_not_written_once_more),
		TEST(a_write_that_failed_leaves_nothing),
		TEST(a_newer_copy_does_not_go_before_an_older),
		TEST(two_writes_to_the_same_bytes_are_not_under_way_at_once),
		TEST(the_last_bytes_of_the_address_space_are_compared),
		TEST(what_does_not_fit_waits_for_a_flush),
		TEST(what_never_fits_is_refused_for_good),
		TEST(copies_are_bounded_as_well_as_pages),
		TEST(writes_under_way_are_bounded),
		TEST(a_copy_lies_in_consecutive_pages),
		TEST(pages_that_end_with_the_ring_are_followed_by_the_first),
		TEST(a_flush_is_asked_for_at_half),
		TEST(a_flush_is_asked_for_by_what_found_no_room),
		TEST(freed_blocks_have_no_copies),
		TEST(a_copy_of_some_bytes_is_found),
		TEST(what_was_written_again_waits_for_another_flush),
		TEST(copies_come_in_the_order_of_posting),
		TEST(nothing_is_written_again_while_a_write_is_under_way),
		TEST(a_write_that_failed_hides_no_older_copy),
		TEST(of_the_same_bytes_only_the_newest_copy_is_written),
		TEST(what_newer_copies_have_is_cut_out_of_an_older),
		TEST(blocks_that_share_a_list_hide_nothing_of_each_other),
		TEST(copies_that_are_gone_hide_nothing),
		TEST(what_a_flush_has_covered_is_not_written_again),
		TEST(what_is_durable_by_itself_is_not_written_again),
		TEST(what_is_durable_by_itself_gives_back_its_room),
		TEST(only_what_has_completed_is_durable_by_itself),
		TEST(a_number_that_is_gone_is_nobody_elses),
		TEST(a_call_takes_no_more_steps_than_it_may),
		TEST(copies_that_are_passed_are_steps),
		TEST(what_comes_between_two_steps_hides_older_copies),
		TEST(what_goes_between_two_steps_is_not_written),
		TEST(a_copy_lies_in_one_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
