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
#include <cmocka.h>

#include "kfb_retain.h"

#define PAGE	KFB_RETAIN_PAGE_BYTES
#define BLOCK	(2ULL << 20)
#define N_PAGES 16
#define CAP	8

static struct kfb_copy copies[KFB_RETAIN_FLIGHT_MAX * 2];
static struct kfb_retain r;

static int setup(void **state)
{
	kfb_retain_init(&r, copies, CAP, N_PAGES);
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

static unsigned int n_kept(void)
{
	unsigned int n = 0;
	__u64 id = 0;

	for (; kfb_retain_next(&r, &id); id++)
		n++;
	return n;
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
	assert_int_equal(n_kept(), 1);
	kfb_retain_done(&r, old);
	assert_int_equal(n_kept(), 2);
	flush();
	assert_int_equal(n_kept(), 0);
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

	kfb_retain_init(&r, copies, KFB_RETAIN_FLIGHT_MAX * 2, N_PAGES);
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
	__u64 a = add(0, PAGE);
	__u64 b = add(PAGE, PAGE);
	__u64 id = 0;

	kfb_retain_done(&r, b);
	kfb_retain_done(&r, a);
	assert_int_equal(kfb_retain_next(&r, &id)->va, 0);
	id++;
	assert_int_equal(kfb_retain_next(&r, &id)->va, PAGE);
	id++;
	assert_null(kfb_retain_next(&r, &id));
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
	__u64 old = add(0, PAGE);

	keep(PAGE, PAGE);
	flush();
	kfb_retain_void(&r, old);
	assert_int_equal(n_kept(), 0);

	old = add(0, PAGE);
	keep(PAGE, PAGE);
	flush();
	kfb_retain_rewind(&r);
	kfb_retain_void(&r, old);
	assert_int_equal(n_kept(), 1);
	flush();
	assert_int_equal(n_kept(), 0);
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
