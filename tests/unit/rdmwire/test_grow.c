// SPDX-License-Identifier: BSD-2-Clause
/* Windows that grow: who is told of more buffers, of how many, and who may not be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rdmw_flow.h"

#define WINDOW	8
#define MORE_AT 8 /* where a message of credits tells of more buffers */

static const struct rdmw_offer offer = { .instance = 1,
					 .serial = 1,
					 .features = RDMW_FEATURES,
					 .window = WINDOW,
					 .piece_bytes = 300 };

static void pair(struct rdmw_flow *a, struct rdmw_flow *b)
{
	rdmw_flow_init(a, &offer, &offer);
	rdmw_flow_init(b, &offer, &offer);
}

/* A message of one byte goes and is received. */
static void send_one(struct rdmw_flow *from, struct rdmw_flow *to)
{
	const struct rdmw_message message = { .kind = RDMW_DATA, .total = 1 };
	uint8_t wire[RDMW_HEADER_BYTES + 1] = { 0 };
	struct rdmw_piece piece;

	assert_true(rdmw_flow_may_send(from, RDMW_DATA));
	rdmw_flow_data(from, &message, 0, 1, wire);
	assert_int_equal(rdmw_flow_arrived(to, wire, sizeof(wire), &piece),
			 RDMW_OK);
}

static void send_many(struct rdmw_flow *from, struct rdmw_flow *to, int n)
{
	while (n--) {
		send_one(from, to);
		rdmw_flow_freed(to);
	}
}

/* The message of credits that is due. */
static void credit(struct rdmw_flow *flow, uint8_t *wire)
{
	memset(wire, 0, RDMW_HEADER_BYTES);
	assert_true(rdmw_flow_credit(flow, wire));
}

static enum rdmw_violation show(struct rdmw_flow *flow, const uint8_t *wire)
{
	struct rdmw_piece piece;

	return rdmw_flow_arrived(flow, wire, RDMW_HEADER_BYTES, &piece);
}

static void grow(struct rdmw_flow *from, struct rdmw_flow *to)
{
	uint8_t wire[RDMW_HEADER_BYTES];

	send_many(from, to, WINDOW / 2);
	rdmw_flow_grow(to, rdmw_flow_may_grow(to));
	credit(to, wire);
	assert_int_equal(show(from, wire), RDMW_OK);
}

static void test_a_window_grows_with_credits(void **state)
{
	struct rdmw_flow a, b;
	int i;

	(void)state;
	pair(&a, &b);
	assert_int_equal(rdmw_flow_may_grow(&b), RDMW_WINDOW_GROWN - WINDOW);
	grow(&a, &b);
	assert_int_equal(a.credits, RDMW_WINDOW_GROWN);
	assert_int_equal(b.window_in, RDMW_WINDOW_GROWN);
	assert_int_equal(rdmw_flow_may_grow(&b), 0);
	for (i = 0; i < RDMW_WINDOW_GROWN; i++)
		send_one(&a, &b);
	assert_false(rdmw_flow_may_send(&a, RDMW_DATA));
}

static void test_credits_go_back_when_half_of_it_is_free(void **state)
{
	uint8_t wire[RDMW_HEADER_BYTES];
	struct rdmw_flow a, b;

	(void)state;
	pair(&a, &b);
	grow(&a, &b);
	send_many(&a, &b, RDMW_WINDOW_GROWN / 2 - 1);
	assert_false(rdmw_flow_owes(&b));
	send_many(&a, &b, 1);
	credit(&b, wire);
	/* Fewer are a violation, as ever. */
	wire[6]--;
	assert_int_equal(show(&a, wire), RDMW_BAD_CREDIT);
}

/* What is not told yet is not used. */
static void test_buffers_count_when_the_peer_is_told(void **state)
{
	struct rdmw_flow a, b;
	int i;

	(void)state;
	pair(&a, &b);
	rdmw_flow_grow(&b, 4);
	assert_int_equal(rdmw_flow_may_grow(&b),
			 RDMW_WINDOW_GROWN - WINDOW - 4);
	for (i = 0; i < WINDOW; i++)
		send_one(&a, &b);
	assert_false(rdmw_flow_may_send(&a, RDMW_DATA));
	assert_int_equal(b.held, b.window_in);
}

static void test_growth_needs_its_feature_at_both_ends(void **state)
{
	struct rdmw_offer old = offer;
	uint8_t wire[RDMW_HEADER_BYTES];
	struct rdmw_flow a, b;

	(void)state;
	old.features &= ~(uint32_t)RDMW_FEATURE_GROW;
	rdmw_flow_init(&a, &old, &offer);
	rdmw_flow_init(&b, &offer, &old);
	assert_int_equal(rdmw_flow_may_grow(&b), 0);
	send_many(&a, &b, WINDOW / 2);
	credit(&b, wire);
	wire[MORE_AT] = 1;
	assert_int_equal(show(&a, wire), RDMW_BAD_RESERVED);
}

static void test_a_large_window_does_not_grow(void **state)
{
	struct rdmw_offer large = offer;
	struct rdmw_flow b;

	(void)state;
	large.window = RDMW_WINDOW_GROWN + 1;
	rdmw_flow_init(&b, &large, &offer);
	assert_int_equal(rdmw_flow_may_grow(&b), 0);
}

/* By one more than may be, and by so many that the sum is small again. */
static void test_no_window_grows_beyond_its_bound(void **state)
{
	const uint64_t wrong[] = { RDMW_WINDOW_GROWN - WINDOW + 1, UINT64_MAX,
				   UINT64_MAX - WINDOW + 2 };
	uint8_t wire[RDMW_HEADER_BYTES];
	struct rdmw_flow a, b;
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		pair(&a, &b);
		send_many(&a, &b, WINDOW / 2);
		credit(&b, wire);
		for (k = 0; k < 8; k++)
			wire[MORE_AT + k] = (uint8_t)(wrong[i] >> (8 * k));
		assert_int_equal(show(&a, wire), RDMW_BAD_CREDIT);
	}
}

static void test_credits_alone_tell_of_buffers(void **state)
{
	uint8_t wire[RDMW_HEADER_BYTES];
	struct rdmw_flow a, b;

	(void)state;
	pair(&a, &b);
	assert_true(rdmw_flow_bye(&a, wire));
	wire[MORE_AT] = 1;
	assert_int_equal(show(&b, wire), RDMW_BAD_RESERVED);
}

/* There are buffers for two messages of credits besides the window. */
static void test_no_more_than_two_are_under_way(void **state)
{
	uint8_t wire[RDMW_HEADER_BYTES];
	struct rdmw_flow a, b;
	uint16_t by, under_way;
	int left;

	(void)state;
	for (by = 0; by <= RDMW_WINDOW_GROWN - WINDOW; by++) {
		pair(&a, &b);
		under_way = 0;
		rdmw_flow_grow(&b, by);
		/* Nothing of it arrives. */
		for (left = a.credits; left; left--) {
			send_one(&a, &b);
			rdmw_flow_freed(&b);
			if (!rdmw_flow_credit(&b, wire))
				continue;
			under_way++;
		}
		assert_in_range(under_way, 1, 2);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_window_grows_with_credits),
		cmocka_unit_test(test_credits_go_back_when_half_of_it_is_free),
		cmocka_unit_test(test_buffers_count_when_the_peer_is_told),
		cmocka_unit_test(test_growth_needs_its_feature_at_both_ends),
		cmocka_unit_test(test_a_large_window_does_not_grow),
		cmocka_unit_test(test_no_window_grows_beyond_its_bound),
		cmocka_unit_test(test_credits_alone_tell_of_buffers),
		cmocka_unit_test(test_no_more_than_two_are_under_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
