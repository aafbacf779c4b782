// SPDX-License-Identifier: BSD-2-Clause
/* Pieces without a header: which are, what they say, what a wrong one may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rdmw_flow.h"

#define PIECE 300
#define ROOM  (PIECE - RDMW_HEADER_BYTES)

static const struct rdmw_offer offers[2] = {
	{ .instance = 1,
	  .serial = 1,
	  .features = RDMW_FEATURES,
	  .window = 4,
	  .piece_bytes = PIECE },
	{ .instance = 2,
	  .serial = 1,
	  .features = RDMW_FEATURES,
	  .window = 5,
	  .piece_bytes = PIECE },
};

static void pair(struct rdmw_flow *a, struct rdmw_flow *b)
{
	rdmw_flow_init(a, &offers[0], &offers[1]);
	rdmw_flow_init(b, &offers[1], &offers[0]);
}

/* Send the next piece, with a header if it needs one, and show it to the other. */
static enum rdmw_violation pass(struct rdmw_flow *from, struct rdmw_flow *to,
				const struct rdmw_message *message, uint64_t at,
				uint16_t n, struct rdmw_piece *piece)
{
	uint8_t wire[PIECE] = { 0 };
	uint32_t data;

	if (rdmw_flow_bare(from, message, at, n, &data))
		return rdmw_flow_bare_arrived(to, data, n, piece);
	rdmw_flow_data(from, message, at, n, wire);
	return rdmw_flow_arrived(to, wire, RDMW_HEADER_BYTES + n, piece);
}

static void test_a_message_of_one_piece_is_bare(void **state)
{
	const struct rdmw_message message = { .kind = RDMW_DATA, .total = 10 };
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	uint32_t data;

	(void)state;
	pair(&a, &b);
	assert_true(rdmw_flow_bare(&a, &message, 0, 10, &data));
	assert_int_equal(data, RDMW_BARE_FIRST);
	assert_int_equal(a.credits, 4);
	assert_int_equal(rdmw_flow_bare_arrived(&b, data, 10, &piece), RDMW_OK);
	assert_int_equal(piece.kind, RDMW_DATA);
	assert_int_equal(piece.flags, RDMW_FIRST | RDMW_LAST);
	assert_int_equal(piece.bytes, 10);
	assert_int_equal(piece.at, 10);
	assert_int_equal(b.held, 1);
	assert_false(b.in_message);
}

static void test_what_has_more_to_say_has_a_header(void **state)
{
	const struct rdmw_message messages[] = {
		{ .kind = RDMW_DATA, .total = 10, .flags = RDMW_WORD },
		{ .kind = RDMW_DATA, .total = 10, .flags = RDMW_TAGGED },
		{ .kind = RDMW_DATA, .total = 10, .ctx = 1 },
		{ .kind = RDMW_DATA, .total = 11 },
		{ .kind = RDMW_WRITE, .total = 10 },
		{ .kind = RDMW_READ, .total = 10 },
		{ .kind = RDMW_ANSWER, .total = 10 },
	};
	struct rdmw_flow a, b;
	uint32_t data;
	size_t i;

	(void)state;
	pair(&a, &b);
	for (i = 0; i < sizeof(messages) / sizeof(*messages); i++)
		assert_false(rdmw_flow_bare(&a, &messages[i], 0, 10, &data));
	/* Nor can one be told from nothing that has no bytes. */
	assert_false(rdmw_flow_bare(
		&a, &(struct rdmw_message){ .kind = RDMW_DATA }, 0, 0, &data));
	assert_int_equal(a.credits, 5);
}

static void test_a_context_is_named_once(void **state)
{
	const struct rdmw_message message = { .kind = RDMW_DATA,
					      .total = ROOM + 7,
					      .ctx = 3 };
	struct rdmw_offer scalable = offers[1];
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	uint32_t data;

	(void)state;
	scalable.last_ctx = 3;
	rdmw_flow_init(&a, &offers[0], &scalable);
	rdmw_flow_init(&b, &scalable, &offers[0]);
	assert_int_equal(pass(&a, &b, &message, 0, ROOM, &piece), RDMW_OK);
	assert_int_equal(piece.ctx, 3);
	assert_int_equal(piece.flags, RDMW_FIRST);
	assert_true(rdmw_flow_bare(&a, &message, ROOM, 7, &data));
	assert_int_equal(rdmw_flow_bare_arrived(&b, data, 7, &piece), RDMW_OK);
	assert_int_equal(piece.ctx, 0);
	assert_int_equal(piece.flags, RDMW_LAST);
}

static void test_the_rest_of_anything_is_bare(void **state)
{
	const struct rdmw_message write = { .kind = RDMW_WRITE,
					    .total = 3 * ROOM + 1 };
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	uint64_t at;
	uint16_t n;

	(void)state;
	pair(&a, &b);
	for (at = 0; at < write.total; at += n) {
		n = (uint16_t)(write.total - at < ROOM ? write.total - at
						       : ROOM);
		assert_int_equal(pass(&a, &b, &write, at, n, &piece), RDMW_OK);
		assert_int_equal(piece.kind, RDMW_WRITE);
		assert_int_equal(piece.bytes, n);
		assert_true(at ? piece.at == at : piece.at == write.total);
		assert_int_equal(!!(piece.flags & RDMW_LAST),
				 at + n == write.total);
	}
	assert_int_equal(a.asked, 1);
	assert_int_equal(b.due, 1);
}

static void test_credits_go_back_with_it(void **state)
{
	const struct rdmw_message message = { .kind = RDMW_DATA, .total = 1 };
	struct rdmw_piece piece;
	struct rdmw_flow a, b;

	(void)state;
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, &message, 0, 1, &piece), RDMW_OK);
	assert_int_equal(pass(&a, &b, &message, 0, 1, &piece), RDMW_OK);
	rdmw_flow_freed(&b);
	rdmw_flow_freed(&b);
	assert_int_equal(pass(&b, &a, &message, 0, 1, &piece), RDMW_OK);
	assert_int_equal(piece.credits, 2);
	assert_int_equal(a.credits, 5);
	assert_int_equal(b.owed, 0);
}

static void test_it_needs_its_feature_at_both_ends(void **state)
{
	const struct rdmw_message message = { .kind = RDMW_DATA, .total = 1 };
	struct rdmw_offer old = offers[0];
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	uint32_t data;

	(void)state;
	old.features &= ~(uint32_t)RDMW_FEATURE_BARE;
	rdmw_flow_init(&a, &old, &offers[1]);
	rdmw_flow_init(&b, &offers[1], &old);
	assert_false(rdmw_flow_bare(&a, &message, 0, 1, &data));
	assert_int_equal(rdmw_flow_bare_arrived(&b, RDMW_BARE_FIRST, 1, &piece),
			 RDMW_BAD_RESERVED);
}

static void test_each_violation_is_told(void **state)
{
	static const struct {
		const char *what;
		uint64_t data;
		uint32_t bytes;
		enum rdmw_violation want;
	} wrong[] = {
		{ "an unknown bit", RDMW_BARE_FIRST << 1 | RDMW_BARE_FIRST, 1,
		  RDMW_BAD_RESERVED },
		{ "a bit beyond those of all providers",
		  1ULL << 32 | RDMW_BARE_FIRST, 1, RDMW_BAD_RESERVED },
		{ "nothing", RDMW_BARE_FIRST, 0, RDMW_BAD_LENGTH },
		{ "too much", RDMW_BARE_FIRST, ROOM + 1, RDMW_BAD_LENGTH },
		{ "the rest of nothing", 0, 1, RDMW_BAD_ORDER },
		{ "credits that were not sent", RDMW_BARE_FIRST | 1, 1,
		  RDMW_BAD_CREDIT },
	};
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		pair(&a, &b);
		if (rdmw_flow_bare_arrived(&b, wrong[i].data, wrong[i].bytes,
					   &piece) != wrong[i].want)
			fail_msg("%s", wrong[i].what);
	}
	pair(&a, &b);
	assert_int_equal(rdmw_flow_bare_arrived(&b, RDMW_BARE_FIRST, ROOM,
						&piece),
			 RDMW_OK);
}

static void test_the_middle_of_a_message_is_its_own(void **state)
{
	const struct rdmw_message message = { .kind = RDMW_DATA,
					      .total = ROOM + 5 };
	struct rdmw_piece piece;
	struct rdmw_flow a, b;

	(void)state;
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, &message, 0, ROOM, &piece), RDMW_OK);
	assert_int_equal(rdmw_flow_bare_arrived(&b, RDMW_BARE_FIRST, 5, &piece),
			 RDMW_BAD_ORDER);
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, &message, 0, ROOM, &piece), RDMW_OK);
	assert_int_equal(rdmw_flow_bare_arrived(&b, 0, 6, &piece),
			 RDMW_BAD_ORDER);
}

static void test_no_more_come_than_there_are_credits(void **state)
{
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	int i;

	(void)state;
	pair(&a, &b);
	for (i = 0; i < 5; i++)
		assert_int_equal(rdmw_flow_bare_arrived(&b, RDMW_BARE_FIRST, 1,
							&piece),
				 RDMW_OK);
	assert_int_equal(rdmw_flow_bare_arrived(&b, RDMW_BARE_FIRST, 1, &piece),
			 RDMW_BAD_CREDIT);
	pair(&a, &b);
	b.bye_in = 1;
	assert_int_equal(rdmw_flow_bare_arrived(&b, RDMW_BARE_FIRST, 1, &piece),
			 RDMW_BAD_ORDER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_message_of_one_piece_is_bare),
		cmocka_unit_test(test_what_has_more_to_say_has_a_header),
		cmocka_unit_test(test_a_context_is_named_once),
		cmocka_unit_test(test_the_rest_of_anything_is_bare),
		cmocka_unit_test(test_credits_go_back_with_it),
		cmocka_unit_test(test_it_needs_its_feature_at_both_ends),
		cmocka_unit_test(test_each_violation_is_told),
		cmocka_unit_test(test_the_middle_of_a_message_is_its_own),
		cmocka_unit_test(test_no_more_come_than_there_are_credits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
