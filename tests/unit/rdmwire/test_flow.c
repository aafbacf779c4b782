// SPDX-License-Identifier: BSD-2-Clause
/* Pieces, credits and farewells: what two ends say, and what a wrong one may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
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
	  .features = RDMW_FEATURES | 1U << 23,
	  .window = 5,
	  .piece_bytes = PIECE,
	  .last_ctx = 2 },
};

static const struct rdmw_message ten = { .kind = RDMW_DATA, .total = 10 };

static void pair(struct rdmw_flow *a, struct rdmw_flow *b)
{
	rdmw_flow_init(a, &offers[0], &offers[1]);
	rdmw_flow_init(b, &offers[1], &offers[0]);
}

/* Pack the next piece of a message and show it to the other end. */
static enum rdmw_violation pass(struct rdmw_flow *from, struct rdmw_flow *to,
				uint64_t total, uint64_t at, uint16_t n)
{
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_piece piece;

	rdmw_flow_data(from,
		       &(struct rdmw_message){ .kind = RDMW_DATA,
					       .total = total },
		       at, n, wire);
	return rdmw_flow_arrived(to, wire, RDMW_HEADER_BYTES + n, &piece);
}

static void test_a_message_comes_in_pieces(void **state)
{
	struct rdmw_flow a, b;
	uint64_t at = 0, total = ROOM * 3 + 1;

	(void)state;
	pair(&a, &b);
	while (at < total) {
		uint16_t n = (uint16_t)(total - at < ROOM ? total - at : ROOM);

		assert_int_equal(rdmw_flow_may_send(&a, RDMW_DATA), ROOM);
		assert_int_equal(pass(&a, &b, total, at, n), RDMW_OK);
		at += n;
		assert_int_equal(b.in_message, at < total);
	}
	assert_int_equal(b.held, 4);
	assert_int_equal(a.credits, 1);
}

static void test_a_word_comes_with_the_first_piece(void **state)
{
	struct rdmw_flow a, b;
	const struct rdmw_message message = { .kind = RDMW_DATA,
					      .flags = RDMW_WORD,
					      .word = 0x123456789abcdef0,
					      .tag = 5 };
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_piece piece;

	(void)state;
	pair(&a, &b);
	rdmw_flow_data(&a, &message, 0, 0, wire);
	assert_int_equal(rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES, &piece),
			 RDMW_OK);
	assert_int_equal(piece.flags, RDMW_FIRST | RDMW_LAST | RDMW_WORD);
	assert_true(piece.word == message.word);
	assert_int_equal(piece.at, 0);
	assert_int_equal(piece.tag, 0);
}

static void test_a_tag_comes_with_the_first_piece(void **state)
{
	const struct rdmw_message message = { .kind = RDMW_DATA,
					      .total = 20,
					      .flags = RDMW_TAGGED,
					      .word = 5,
					      .tag = 0xfedcba9876543210 };
	struct rdmw_flow a, b;
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_piece piece;

	(void)state;
	pair(&a, &b);
	assert_int_equal(a.features, RDMW_FEATURES);
	rdmw_flow_data(&a, &message, 0, 15, wire);
	assert_int_equal(rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES + 15,
					   &piece),
			 RDMW_OK);
	assert_int_equal(piece.flags, RDMW_FIRST | RDMW_TAGGED);
	assert_true(piece.tag == message.tag);
	assert_int_equal(piece.word, 0);
	rdmw_flow_data(&a, &message, 15, 5, wire);
	assert_int_equal(rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES + 5,
					   &piece),
			 RDMW_OK);
	assert_int_equal(piece.flags, RDMW_LAST);
	assert_int_equal(piece.tag, 0);
	/* Not with a later one. */
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, 10, 0, 5), RDMW_OK);
	rdmw_flow_data(&a, &message, 15, 5, wire);
	wire[2] |= RDMW_TAGGED;
	wire[8] = 5;
	assert_int_equal(rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES + 5,
					   &piece),
			 RDMW_BAD_ORDER);
}

static void test_a_tag_needs_its_feature_at_both_ends(void **state)
{
	const struct rdmw_message message = { .kind = RDMW_DATA,
					      .flags = RDMW_TAGGED,
					      .tag = 7 };
	struct rdmw_offer old = offers[0];
	struct rdmw_flow a, b;
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_piece piece;

	(void)state;
	old.features = 0;
	rdmw_flow_init(&a, &offers[0], &offers[1]);
	rdmw_flow_init(&b, &offers[1], &old);
	assert_int_equal(b.features, 0);
	rdmw_flow_data(&a, &message, 0, 0, wire);
	assert_int_equal(rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES, &piece),
			 RDMW_BAD_RESERVED);
}

/* What an end with three contexts says of such a message. */
static enum rdmw_violation names(const struct rdmw_message *message,
				 uint16_t bytes, struct rdmw_piece *piece)
{
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_flow a, b;

	pair(&a, &b);
	rdmw_flow_data(&a, message, 0, bytes, wire);
	return rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES + bytes, piece);
}

static void test_a_message_names_a_context_that_there_is(void **state)
{
	struct rdmw_message message = { .kind = RDMW_DATA, .total = 20 };
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	int i;

	(void)state;
	pair(&a, &b);
	assert_int_equal(a.ctx_out, 2);
	assert_int_equal(a.ctx_in, 0);
	assert_int_equal(b.ctx_in, 2);
	for (i = 0; i < 256; i++) {
		message.ctx = (uint8_t)i;
		assert_int_equal(names(&message, 20, &piece),
				 i > 2 ? RDMW_BAD_FIELD : RDMW_OK);
		assert_int_equal(piece.ctx, i);
	}
	message.ctx = 2;
	message.flags = RDMW_WORD | RDMW_TAGGED;
	assert_int_equal(names(&message, 20, &piece), RDMW_OK);
	assert_int_equal(piece.flags,
			 RDMW_FIRST | RDMW_LAST | RDMW_WORD | RDMW_TAGGED);
	/* A write needs a receive if it has data for it. */
	message.kind = RDMW_WRITE;
	message.flags = RDMW_WORD;
	assert_int_equal(names(&message, 20, &piece), RDMW_OK);
	assert_int_equal(piece.ctx, 2);
}

static void test_what_is_not_received_names_no_context(void **state)
{
	static const enum rdmw_kind kinds[] = { RDMW_WRITE, RDMW_READ,
						RDMW_ANSWER };
	struct rdmw_message message = { .total = 20, .ctx = 1 };
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		message.kind = kinds[i];
		assert_int_equal(names(&message, 20, &piece),
				 RDMW_BAD_RESERVED);
	}
	message.kind = RDMW_DATA;
	pair(&a, &b);
	rdmw_flow_data(&a, &message, 0, 15, wire);
	assert_int_equal(rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES + 15,
					   &piece),
			 RDMW_OK);
	rdmw_flow_data(&a, &message, 15, 5, wire);
	assert_int_equal(wire[3], 0);
	wire[3] = 1;
	assert_int_equal(rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES + 5,
					   &piece),
			 RDMW_BAD_RESERVED);
	pair(&a, &b);
	memset(wire, 0, sizeof(wire));
	assert_true(rdmw_flow_bye(&a, wire));
	wire[3] = 1;
	assert_int_equal(rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES, &piece),
			 RDMW_BAD_RESERVED);
}

static void test_contexts_need_their_feature_at_both_ends(void **state)
{
	const struct rdmw_message message = { .kind = RDMW_DATA, .ctx = 1 };
	struct rdmw_offer old = offers[0];
	struct rdmw_flow a, b;
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_piece piece;

	(void)state;
	old.features = RDMW_FEATURE_TAGS | RDMW_FEATURE_RMA;
	rdmw_flow_init(&a, &old, &offers[1]);
	rdmw_flow_init(&b, &offers[1], &old);
	assert_int_equal(a.ctx_out, 0);
	assert_int_equal(b.ctx_in, 0);
	rdmw_flow_data(&a, &message, 0, 0, wire);
	assert_int_equal(rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES, &piece),
			 RDMW_BAD_FIELD);
}

static void test_credits_stop_the_sender_and_come_back(void **state)
{
	struct rdmw_flow a, b;
	uint8_t wire[RDMW_HEADER_BYTES];
	struct rdmw_piece piece;
	int i;

	(void)state;
	pair(&a, &b);
	for (i = 0; i < 5; i++)
		assert_int_equal(pass(&a, &b, 1, 0, 1), RDMW_OK);
	assert_int_equal(rdmw_flow_may_send(&a, RDMW_DATA), 0);
	rdmw_flow_freed(&b);
	rdmw_flow_freed(&b);
	assert_false(rdmw_flow_credit(&b, wire));
	rdmw_flow_freed(&b);
	assert_true(rdmw_flow_credit(&b, wire));
	assert_int_equal(rdmw_flow_arrived(&a, wire, sizeof(wire), &piece),
			 RDMW_OK);
	assert_int_equal(a.credits, 3);
	/* Or with data the other way. */
	rdmw_flow_freed(&b);
	assert_int_equal(pass(&b, &a, 1, 0, 1), RDMW_OK);
	assert_int_equal(a.credits, 4);
}

static void test_a_farewell_ends_data_and_not_credits(void **state)
{
	struct rdmw_flow a, b;
	uint8_t wire[RDMW_HEADER_BYTES];
	struct rdmw_piece piece;

	(void)state;
	pair(&a, &b);
	assert_true(rdmw_flow_bye(&a, wire));
	assert_false(rdmw_flow_bye(&a, wire));
	assert_int_equal(rdmw_flow_may_send(&a, RDMW_DATA), 0);
	assert_int_equal(rdmw_flow_arrived(&b, wire, sizeof(wire), &piece),
			 RDMW_OK);
	assert_int_equal(rdmw_flow_arrived(&b, wire, sizeof(wire), &piece),
			 RDMW_BAD_ORDER);
	pair(&a, &b);
	b.bye_in = 1;
	assert_int_equal(pass(&a, &b, 1, 0, 1), RDMW_BAD_ORDER);
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, ROOM + 1, 0, ROOM), RDMW_OK);
	rdmw_flow_bye(&a, wire);
	assert_int_equal(rdmw_flow_arrived(&b, wire, sizeof(wire), &piece),
			 RDMW_BAD_ORDER);
}

/* What a sender that keeps the rules cannot make. */
struct hostile {
	const char *what;
	int at;
	uint8_t value;
	enum rdmw_violation want;
};

static const struct hostile hostiles[] = {
	{ "another version", 0, 2, RDMW_BAD_VERSION },
	{ "an unknown kind", 1, 14, RDMW_BAD_KIND },
	{ "a kind that is past", 1, RDMW_HELLO, RDMW_BAD_KIND },
	{ "an unknown flag", 2, RDMW_FIRST | RDMW_LAST | 16,
	  RDMW_BAD_RESERVED },
	{ "no first piece", 2, RDMW_LAST, RDMW_BAD_ORDER },
	{ "no last piece", 2, RDMW_FIRST, RDMW_BAD_ORDER },
	{ "more bytes than came", 4, 11, RDMW_BAD_LENGTH },
	{ "credits that were not sent", 6, 1, RDMW_BAD_CREDIT },
	{ "a message shorter than its piece", 8, 9, RDMW_BAD_ORDER },
	{ "a message without its rest", 8, 11, RDMW_BAD_ORDER },
	{ "a message without end", 15, 0x80, RDMW_BAD_FIELD },
	{ "a word without its flag", 16, 1, RDMW_BAD_RESERVED },
	{ "a tag without its flag", 24, 1, RDMW_BAD_RESERVED },
	{ "the end of a tag without its flag", 31, 1, RDMW_BAD_RESERVED },
	{ "credits with bytes", 1, RDMW_CREDIT, RDMW_BAD_RESERVED },
	{ "a farewell with bytes", 1, RDMW_BYE, RDMW_BAD_RESERVED },
};

static void test_each_violation_is_told(void **state)
{
	const struct hostile *h = hostiles;
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	uint8_t wire[PIECE];

	(void)state;
	for (; h < hostiles + sizeof(hostiles) / sizeof(*hostiles); h++) {
		memset(wire, 0, sizeof(wire));
		pair(&a, &b);
		rdmw_flow_data(&a, &ten, 0, 10, wire);
		wire[h->at] = h->value;
		if (rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES + 10,
				      &piece) != h->want)
			fail_msg("%s", h->what);
	}
}

static void test_lengths_are_exact(void **state)
{
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	uint8_t wire[PIECE + 1] = { 0 };
	uint32_t n;

	(void)state;
	for (n = 0; n <= PIECE; n++) {
		pair(&a, &b);
		rdmw_flow_data(&a, &ten, 0, 10, wire);
		assert_int_equal(rdmw_flow_arrived(&b, wire, n, &piece),
				 n == RDMW_HEADER_BYTES + 10 ? RDMW_OK
							     : RDMW_BAD_LENGTH);
	}
	/* Longer than what was offered, though it says so truly. */
	pair(&a, &b);
	rdmw_flow_data(&a,
		       &(struct rdmw_message){ .kind = RDMW_DATA,
					       .total = ROOM + 1 },
		       0, ROOM + 1, wire);
	assert_int_equal(rdmw_flow_arrived(&b, wire, PIECE + 1, &piece),
			 RDMW_BAD_LENGTH);
}

static void test_more_pieces_than_credits_are_told(void **state)
{
	struct rdmw_flow a, b;
	int i;

	(void)state;
	pair(&a, &b);
	for (i = 0; i < 5; i++)
		assert_int_equal(pass(&a, &b, 1, 0, 1), RDMW_OK);
	a.credits = 1;
	assert_int_equal(pass(&a, &b, 1, 0, 1), RDMW_BAD_CREDIT);
}

static void test_few_credits_need_no_message(void **state)
{
	struct rdmw_flow a, b;
	uint8_t wire[RDMW_HEADER_BYTES];
	struct rdmw_piece piece;
	int i;

	(void)state;
	pair(&a, &b);
	for (i = 0; i < 5; i++)
		assert_int_equal(pass(&a, &b, 1, 0, 1), RDMW_OK);
	for (i = 0; i < 3; i++)
		rdmw_flow_freed(&b);
	assert_true(rdmw_flow_credit(&b, wire));
	wire[6] = 2;
	assert_int_equal(rdmw_flow_arrived(&a, wire, sizeof(wire), &piece),
			 RDMW_BAD_CREDIT);
}

static void test_no_message_of_empty_pieces(void **state)
{
	struct rdmw_flow a, b;

	(void)state;
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, 10, 0, 0), RDMW_BAD_ORDER);
	pair(&a, &b);
}

static void test_a_piece_continues_where_the_last_one_ended(void **state)
{
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	uint8_t wire[PIECE] = { 0 };

	(void)state;
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, 10, 0, 5), RDMW_OK);
	rdmw_flow_data(&a, &ten, 5, 5, wire);
	wire[8] = 4;
	assert_int_equal(rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES + 5,
					   &piece),
			 RDMW_BAD_ORDER);
}

static void test_a_farewell_gives_no_credits(void **state)
{
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	uint8_t wire[RDMW_HEADER_BYTES];

	(void)state;
	pair(&a, &b);
	assert_int_equal(pass(&b, &a, 1, 0, 1), RDMW_OK);
	assert_true(rdmw_flow_bye(&a, wire));
	wire[6] = 1;
	assert_int_equal(rdmw_flow_arrived(&b, wire, sizeof(wire), &piece),
			 RDMW_BAD_RESERVED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_message_comes_in_pieces),
		cmocka_unit_test(test_a_word_comes_with_the_first_piece),
		cmocka_unit_test(test_a_tag_comes_with_the_first_piece),
		cmocka_unit_test(test_a_tag_needs_its_feature_at_both_ends),
		cmocka_unit_test(test_a_message_names_a_context_that_there_is),
		cmocka_unit_test(test_what_is_not_received_names_no_context),
		cmocka_unit_test(test_contexts_need_their_feature_at_both_ends),
		cmocka_unit_test(test_credits_stop_the_sender_and_come_back),
		cmocka_unit_test(test_a_farewell_ends_data_and_not_credits),
		cmocka_unit_test(test_each_violation_is_told),
		cmocka_unit_test(test_lengths_are_exact),
		cmocka_unit_test(test_more_pieces_than_credits_are_told),
		cmocka_unit_test(test_few_credits_need_no_message),
		cmocka_unit_test(test_no_message_of_empty_pieces),
		cmocka_unit_test(
			test_a_piece_continues_where_the_last_one_ended),
		cmocka_unit_test(test_a_farewell_gives_no_credits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
