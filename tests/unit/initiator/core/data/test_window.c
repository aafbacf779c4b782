// SPDX-License-Identifier: BSD-2-Clause
/*
 * How much may be in flight: on links of any rate, as they are modelled here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/kfb_window.h"

#define LEASE_MS  10000
#define TARGET_MS (LEASE_MS / KFB_WINDOW_LEASE_DIV)
#define OPS_MAX	  4096

/* A link that moves so much a millisecond, all of it so far away. */
struct link {
	uint64_t bytes_per_ms;
	uint64_t away_ms;
	uint64_t now_ms;
	uint64_t free_ms; /* it has sent all */
	struct {
		uint64_t len;
		uint64_t over_ms;
		struct kfb_window_mark mark;
	} ops[OPS_MAX];
	unsigned int first, n;
	uint64_t longest_ms;
};

static struct kfb_window w;
static struct link at;

static int begin(void **state)
{
	at = (struct link){ .now_ms = 1000 };
	kfb_window_init(&w, LEASE_MS);
	return 0;
}

static void post(uint64_t len)
{
	unsigned int i = (at.first + at.n++) % OPS_MAX;

	assert_true(at.n <= OPS_MAX);
	if (at.free_ms < at.now_ms)
		at.free_ms = at.now_ms;
	at.free_ms += len / at.bytes_per_ms;
	at.ops[i].len = len;
	at.ops[i].over_ms = at.free_ms + at.away_ms;
	kfb_window_posted(&w, len, at.now_ms, &at.ops[i].mark);
}

/* The oldest is over. */
static void finish(void)
{
	unsigned int i = at.first;

	assert_true(at.n > 0);
	if (at.now_ms < at.ops[i].over_ms)
		at.now_ms = at.ops[i].over_ms;
	if (at.now_ms - at.ops[i].mark.posted_ms > at.longest_ms)
		at.longest_ms = at.now_ms - at.ops[i].mark.posted_ms;
	at.first = (at.first + 1) % OPS_MAX;
	at.n--;
	kfb_window_moved(&w, at.ops[i].len, at.now_ms, &at.ops[i].mark);
}

/* As much as the window lets, of operations of @len bytes; how much has moved. */
static void move(uint64_t bytes, uint64_t len)
{
	uint64_t end = w.moved_bytes + bytes;

	while (w.moved_bytes < end) {
		uint64_t piece;

		while (at.n < OPS_MAX && (piece = kfb_window_piece(&w, len)))
			post(piece);
		finish();
	}
}

static void what_is_in_flight_is_soon_over_on_a_slow_link(void **state)
{
	/* 125 bytes a millisecond are 1 Mbit/s. */
	static const uint64_t rates[] = { 60, 125, 1000, 6250 };

	for (unsigned int i = 0; i < 4; i++) {
		begin(state);
		at.bytes_per_ms = rates[i];
		move(1 << 20, 2 << 20);
		at.longest_ms = 0;
		move(4 << 20, 2 << 20);
		/* Or as long as the least that is let: 16 KiB. */
		assert_in_range(at.longest_ms, 1,
				2 * TARGET_MS +
					KFB_WINDOW_MIN_BYTES / rates[i]);
	}
}

static void a_slow_link_is_kept_busy(void **state)
{
	uint64_t began_ms;

	at.bytes_per_ms = 1000;
	at.away_ms = 300;
	move(1 << 20, 2 << 20);
	began_ms = at.now_ms;
	move(8 << 20, 2 << 20);
	/* The wire's time, and a tenth. */
	assert_in_range(at.now_ms - began_ms, 1, (8 << 20) / 1000 * 11 / 10);
}

static void a_fast_link_has_no_window(void **state)
{
	/* 1 GB/s: 16 MiB are posted before anything is waited for. */
	at.bytes_per_ms = 1000000;
	move(64 << 20, 2 << 20);
	while (at.n)
		finish();
	for (int i = 0; i < 8; i++) {
		assert_int_equal(kfb_window_piece(&w, 2 << 20), 2 << 20);
		post(2 << 20);
	}
}

static void a_link_that_gets_slow_has_a_small_window_soon(void **state)
{
	at.bytes_per_ms = 1000000;
	move(64 << 20, 2 << 20);
	at.bytes_per_ms = 1000;
	/* First what the window of the fast link lets go. */
	move(3 * w.limit_bytes, 2 << 20);
	assert_in_range(w.limit_bytes, KFB_WINDOW_MIN_BYTES,
			2 * TARGET_MS * 1000);
	at.bytes_per_ms = 1000000;
	move(128 << 20, 2 << 20);
	assert_in_range(w.limit_bytes, 16 << 20, KFB_WINDOW_MAX_BYTES);
}

/* Whoever waits for each operation gets larger ones, too. */
static void one_at_a_time_grows(void **state)
{
	at.bytes_per_ms = 1000000;
	for (int i = 0; i < 1000; i++) {
		uint64_t piece = kfb_window_piece(&w, 64 << 10);

		assert_true(piece % KFB_WINDOW_PIECE_MIN_BYTES == 0);
		post(piece);
		finish();
	}
	assert_int_equal(kfb_window_piece(&w, 64 << 10), 64 << 10);
}

/* As when a route changes: what is late at first is not late for ever. */
static void a_way_that_gets_longer_is_learned(void **state)
{
	at.bytes_per_ms = 1000000;
	move(64 << 20, 2 << 20);
	at.away_ms = 4 * TARGET_MS;
	move(256 << 20, 2 << 20);
	assert_in_range(w.limit_bytes, 16 << 20, KFB_WINDOW_MAX_BYTES);
}

static void what_is_not_used_does_not_grow(void **state)
{
	at.bytes_per_ms = 1000;
	for (int i = 0; i < 10000; i++) {
		post(4096);
		finish();
	}
	assert_in_range(w.limit_bytes, KFB_WINDOW_MIN_BYTES,
			KFB_WINDOW_FIRST_BYTES);
	/* A large operation that comes alone is one piece in the end. */
	at.bytes_per_ms = 1000000;
	for (int i = 0; i < 100; i++) {
		uint64_t left = 2 << 20;

		while (left) {
			uint64_t piece = kfb_window_piece(&w, left);

			left -= piece;
			if (piece)
				post(piece);
			else
				finish();
		}
		while (at.n)
			finish();
	}
	assert_int_equal(kfb_window_piece(&w, 2 << 20), 2 << 20);
}

static void there_is_always_room_for_the_first(void **state)
{
	struct kfb_window_mark mark;

	assert_true(kfb_window_is_open(&w));
	kfb_window_posted(&w, 8 << 20, 0, &mark);
	assert_false(kfb_window_is_open(&w));
	assert_int_equal(kfb_window_piece(&w, 1), 0);
	kfb_window_unposted(&w, 8 << 20);
	assert_true(kfb_window_is_open(&w));
	assert_int_equal(kfb_window_piece(&w, 8 << 20),
			 KFB_WINDOW_FIRST_BYTES / KFB_WINDOW_PIECES);
	assert_int_equal(kfb_window_piece(&w, 1), 1);
}

static void numbers_that_no_link_has_do_no_harm(void **state)
{
	struct kfb_window_mark mark;

	for (int i = 0; i < 64; i++) {
		kfb_window_posted(&w, (uint64_t)1 << 31, 0, &mark);
		kfb_window_moved(&w, (uint64_t)1 << 31, 0, &mark);
	}
	assert_int_equal(w.limit_bytes, KFB_WINDOW_MAX_BYTES);
	kfb_window_posted(&w, 1, 0, &mark);
	kfb_window_moved(&w, 1, UINT64_MAX, &mark);
	assert_int_equal(w.limit_bytes, KFB_WINDOW_MIN_BYTES);
	kfb_window_init(&w, 0);
	assert_int_equal(w.target_ms, KFB_WINDOW_MS_DEFAULT);
	kfb_window_lease(&w, 1000);
	assert_int_equal(w.target_ms, KFB_WINDOW_MS_MIN);
	kfb_window_lease(&w, 128000);
	assert_int_equal(w.target_ms, 1000);
}

#define CASE(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_is_in_flight_is_soon_over_on_a_slow_link),
		CASE(a_slow_link_is_kept_busy),
		CASE(a_fast_link_has_no_window),
		CASE(a_link_that_gets_slow_has_a_small_window_soon),
		CASE(one_at_a_time_grows),
		CASE(a_way_that_gets_longer_is_learned),
		CASE(what_is_not_used_does_not_grow),
		CASE(there_is_always_room_for_the_first),
		CASE(numbers_that_no_link_has_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
