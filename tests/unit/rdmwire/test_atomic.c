// SPDX-License-Identifier: BSD-2-Clause
/* Atomic operations on remote memory: format, bounds, and their answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rdmw_atomic.h"

#define PIECE RDMW_PIECE_MIN

static const struct rdmw_offer offers[2] = {
	{ .instance = 1,
	  .serial = 1,
	  .features = RDMW_FEATURES,
	  .window = 40,
	  .piece_bytes = PIECE },
	{ .instance = 2,
	  .serial = 1,
	  .features = RDMW_FEATURES,
	  .window = 40,
	  .piece_bytes = PIECE },
};

/* FI_INT64, FI_CSWAP, of two elements. */
static const struct rdmw_atomic sample = {
	.type = 2,
	.op = RDMW_OP_COMPARES,
	.count = 2,
	.has_result = 1,
	.addr = 0x1122334455667788,
	.key = 0x8877665544332211,
	.operand = { 0x0102030405060708, 9 },
	.compare = { 0xff, 0x0100 },
};

/* docs/kfabric-rdm.md has these bytes. */
static const uint8_t sample_bytes[56] = {
	2,    12,   2,	  1,	0,    0,    0,	  0, /* what, 0 */
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* address */
	0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, /* key */
	8,    7,    6,	  5,	4,    3,    2,	  1, /* operands */
	9,    0,    0,	  0,	0,    0,    0,	  0, /* */
	0xff, 0,    0,	  0,	0,    0,    0,	  0, /* compared */
	0,    1,    0,	  0,	0,    0,    0,	  0, /* */
};

static const struct rdmw_piece sound = { .kind = RDMW_ATOMIC,
					 .flags = RDMW_FIRST | RDMW_LAST,
					 .bytes = sizeof(sample_bytes),
					 .at = sizeof(sample_bytes) };

static void pair(struct rdmw_flow *a, struct rdmw_flow *b, uint32_t features)
{
	struct rdmw_offer ours = offers[0];

	ours.features = features;
	rdmw_flow_init(a, &ours, &offers[1]);
	rdmw_flow_init(b, &offers[1], &ours);
}

static enum rdmw_violation pass(struct rdmw_flow *from, struct rdmw_flow *to,
				const struct rdmw_message *message, uint16_t n)
{
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_piece piece;

	rdmw_flow_data(from, message, 0, n, wire);
	return rdmw_flow_arrived(to, wire, RDMW_HEADER_BYTES + n, &piece);
}

static void test_a_request_has_the_documented_bytes(void **state)
{
	uint8_t out[RDMW_ATOMIC_MAX];
	struct rdmw_atomic back;

	(void)state;
	assert_int_equal(rdmw_atomic_bytes(&sample), sizeof(sample_bytes));
	rdmw_atomic_pack(&sample, out);
	assert_memory_equal(out, sample_bytes, sizeof(sample_bytes));
	assert_int_equal(rdmw_atomic_parse(&sound, out, &back), RDMW_OK);
	assert_memory_equal(&back, &sample, sizeof(back));
}

/* Each type and operation, as few and as many elements as there may be. */
static void test_each_operation_arrives_as_it_was(void **state)
{
	struct rdmw_piece piece = sound;
	uint8_t out[RDMW_ATOMIC_MAX];
	struct rdmw_atomic a, back;
	uint32_t type, op, n, bytes;

	(void)state;
	for (type = 0; type < RDMW_TYPES; type++)
		for (op = 0; op < RDMW_OPS; op++)
			for (n = 1; n <= (type < RDMW_TYPE_WIDE ? 16 : 8);
			     n++) {
				a = (struct rdmw_atomic){ .type = (uint8_t)type,
							  .op = (uint8_t)op,
							  .count = (uint8_t)n,
							  .has_result = 1,
							  .addr = 8 * n,
							  .key = op };
				bytes = rdmw_elements_bytes(&a);
				if (op != RDMW_OP_READ)
					memset(a.operand, 0xa1, bytes);
				if (op >= RDMW_OP_COMPARES)
					memset(a.compare, 0xb2, bytes);
				piece.bytes = (uint16_t)rdmw_atomic_bytes(&a);
				assert_true(piece.bytes <= sizeof(out));
				rdmw_atomic_pack(&a, out);
				assert_int_equal(rdmw_atomic_parse(&piece, out,
								   &back),
						 RDMW_OK);
				assert_memory_equal(&back, &a, sizeof(a));
			}
}

struct wrong {
	const char *what;
	int at;
	uint8_t value;
	enum rdmw_violation want;
};

static const struct wrong wrongs[] = {
	{ "an unknown type", 0, RDMW_TYPES, RDMW_BAD_FIELD },
	{ "no type at all", 0, 0xff, RDMW_BAD_FIELD },
	{ "an unknown operation", 1, RDMW_OPS, RDMW_BAD_FIELD },
	{ "no operation at all", 1, 0xff, RDMW_BAD_FIELD },
	{ "no element", 2, 0, RDMW_BAD_FIELD },
	{ "too many elements", 2, 9, RDMW_BAD_FIELD },
	{ "very many elements", 2, 0xff, RDMW_BAD_FIELD },
	{ "fewer elements than came", 2, 1, RDMW_BAD_LENGTH },
	{ "more elements than came", 2, 3, RDMW_BAD_LENGTH },
	{ "another kind of result", 3, 2, RDMW_BAD_FIELD },
	{ "what compares without a result", 3, 0, RDMW_BAD_FIELD },
	{ "something in the room", 4, 1, RDMW_BAD_RESERVED },
	{ "something at the room's end", 7, 1, RDMW_BAD_RESERVED },
	{ "an address between two elements", 8, 0x8c, RDMW_BAD_FIELD },
	{ "what compares nothing, but came so", 1, 2, RDMW_BAD_LENGTH },
	{ "what has no operands, but came so", 1, 10, RDMW_BAD_LENGTH },
};

static void test_each_wrong_request_is_told(void **state)
{
	struct rdmw_piece piece = sound;
	const struct wrong *w = wrongs;
	struct rdmw_atomic a;
	uint8_t bytes[RDMW_ATOMIC_MAX + 1] = { 0 };
	uint16_t n;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++, w++) {
		memcpy(bytes, sample_bytes, sizeof(sample_bytes));
		bytes[w->at] = w->value;
		if (rdmw_atomic_parse(&sound, bytes, &a) != w->want)
			fail_msg("%s is not told as such", w->what);
	}
	memcpy(bytes, sample_bytes, sizeof(sample_bytes));
	for (n = 0; n <= sizeof(bytes); n++) {
		piece.bytes = n;
		assert_int_equal(rdmw_atomic_parse(&piece, bytes, &a),
				 n == sizeof(sample_bytes) ? RDMW_OK
							   : RDMW_BAD_LENGTH);
	}
	/* What has not come is not looked at. */
	piece.bytes = RDMW_ATOMIC_HEAD_BYTES - 1;
	bytes[2] = 0;
	assert_int_equal(rdmw_atomic_parse(&piece, bytes, &a), RDMW_BAD_LENGTH);
	bytes[2] = 2;
	/* Its last element ends at the end of all, or beyond. */
	memset(bytes + 8, 0xff, 8);
	bytes[8] = 0xf0;
	assert_int_equal(rdmw_atomic_parse(&sound, bytes, &a), RDMW_BAD_FIELD);
	bytes[8] = 0xe8;
	assert_int_equal(rdmw_atomic_parse(&sound, bytes, &a), RDMW_OK);
}

/* A read has nothing but its head, and must want a result. */
static void test_a_read_has_no_operands(void **state)
{
	struct rdmw_piece piece = sound;
	uint8_t out[RDMW_ATOMIC_MAX];
	struct rdmw_atomic a = { .op = RDMW_OP_READ, .count = 16 }, back;

	(void)state;
	piece.bytes = RDMW_ATOMIC_HEAD_BYTES;
	a.has_result = 1;
	assert_int_equal(rdmw_atomic_bytes(&a), RDMW_ATOMIC_HEAD_BYTES);
	rdmw_atomic_pack(&a, out);
	assert_int_equal(rdmw_atomic_parse(&piece, out, &back), RDMW_OK);
	out[3] = 0;
	assert_int_equal(rdmw_atomic_parse(&piece, out, &back), RDMW_BAD_FIELD);
	/* Short elements lie between long ones. */
	out[3] = 1;
	out[8] = 4;
	assert_int_equal(rdmw_atomic_parse(&piece, out, &back), RDMW_OK);
	out[8] = 2;
	assert_int_equal(rdmw_atomic_parse(&piece, out, &back), RDMW_BAD_FIELD);
}

static void test_results_arrive_as_they_were(void **state)
{
	const uint32_t words[3] = { 1, 0x80000000, 0x01020304 };
	const uint64_t wides[2] = { 0x0102030405060708, UINT64_MAX };
	const uint8_t last[4] = { 4, 3, 2, 1 };
	uint8_t wire[RDMW_ELEMENTS_MAX];
	uint32_t words_back[3];
	uint64_t wides_back[2];

	(void)state;
	rdmw_elements_pack(1, words, sizeof(words), wire);
	assert_memory_equal(wire + 8, last, sizeof(last));
	rdmw_elements_parse(1, wire, sizeof(words), words_back);
	assert_memory_equal(words_back, words, sizeof(words));
	rdmw_elements_pack(3, wides, sizeof(wides), wire);
	assert_int_equal(wire[0], 8);
	rdmw_elements_parse(3, wire, sizeof(wides), wides_back);
	assert_memory_equal(wides_back, wides, sizeof(wides));
}

static const struct rdmw_message ask = { .kind = RDMW_ATOMIC,
					 .total = sizeof(sample_bytes) };

static void test_it_needs_its_feature(void **state)
{
	static const uint32_t without[] = {
		RDMW_FEATURES & ~RDMW_FEATURE_ATOMIC,
		RDMW_FEATURES & ~RDMW_FEATURE_RMA,
		0,
	};
	struct rdmw_flow a, b;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
		pair(&a, &b, without[i]);
		assert_int_equal(pass(&a, &b, &ask, sizeof(sample_bytes)),
				 RDMW_BAD_KIND);
	}
	/* And nothing else does. */
	pair(&a, &b, RDMW_FEATURE_RMA | RDMW_FEATURE_ATOMIC);
	assert_int_equal(pass(&a, &b, &ask, sizeof(sample_bytes)), RDMW_OK);
}

static void test_it_is_one_piece_and_one_request(void **state)
{
	struct rdmw_message answer = { .kind = RDMW_ANSWER, .total = 16 };
	struct rdmw_flow a, b;
	int i;

	(void)state;
	pair(&a, &b, RDMW_FEATURES);
	assert_int_equal(pass(&a, &b, &ask, 30), RDMW_BAD_ORDER);
	pair(&a, &b, RDMW_FEATURES);
	for (i = 0; i < RDMW_ASKED_MAX; i++) {
		assert_true(rdmw_flow_may_send(&a, RDMW_ATOMIC));
		assert_int_equal(pass(&a, &b, &ask, sizeof(sample_bytes)),
				 RDMW_OK);
	}
	assert_int_equal(a.asked, RDMW_ASKED_MAX);
	assert_int_equal(b.due, RDMW_ASKED_MAX);
	assert_false(rdmw_flow_may_send(&a, RDMW_ATOMIC));
	assert_int_equal(pass(&b, &a, &answer, 16), RDMW_OK);
	assert_true(rdmw_flow_may_send(&a, RDMW_ATOMIC));
	/* Those without a result may have one together. */
	answer = (struct rdmw_message){ .kind = RDMW_ANSWER,
					.tag = RDMW_ASKED_MAX - 2 };
	assert_int_equal(pass(&b, &a, &answer, 0), RDMW_OK);
	assert_int_equal(a.asked, 0);
	assert_int_equal(b.due, 0);
	/* One too many is told. */
	for (i = 0; i < RDMW_ASKED_MAX; i++)
		pass(&a, &b, &ask, sizeof(sample_bytes));
	assert_int_equal(pass(&a, &b, &ask, sizeof(sample_bytes)),
			 RDMW_BAD_ASK);
}

/* A connection says what an older end does not know only if both know it. */
static void test_a_status_of_its_own_needs_the_feature(void **state)
{
	const struct rdmw_message read_it = { .kind = RDMW_READ, .total = 32 };
	struct rdmw_message answer = { .kind = RDMW_ANSWER,
				       .word = RDMW_NO_ALIGN };
	struct rdmw_flow a, b;

	(void)state;
	pair(&a, &b, RDMW_FEATURES);
	assert_int_equal(pass(&a, &b, &ask, sizeof(sample_bytes)), RDMW_OK);
	assert_int_equal(pass(&b, &a, &answer, 0), RDMW_OK);
	pair(&a, &b, RDMW_FEATURES & ~RDMW_FEATURE_ATOMIC);
	assert_int_equal(pass(&a, &b, &read_it, 32), RDMW_OK);
	assert_int_equal(pass(&b, &a, &answer, 0), RDMW_BAD_FIELD);
	pair(&a, &b, RDMW_FEATURES);
	answer.word = RDMW_STATUSES;
	assert_int_equal(pass(&a, &b, &ask, sizeof(sample_bytes)), RDMW_OK);
	assert_int_equal(pass(&b, &a, &answer, 0), RDMW_BAD_FIELD);
}

static void test_it_has_no_word_no_tag_and_no_context(void **state)
{
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		pair(&a, &b, RDMW_FEATURES);
		b.ctx_in = 3;
		rdmw_flow_data(&a, &ask, 0, sizeof(sample_bytes), wire);
		if (i == 0)
			wire[2] |= RDMW_WORD;
		else if (i == 1)
			wire[2] |= RDMW_TAGGED;
		else
			wire[3] = 1;
		assert_int_equal(rdmw_flow_arrived(&b, wire,
						   RDMW_HEADER_BYTES +
							   sizeof(sample_bytes),
						   &piece),
				 RDMW_BAD_RESERVED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_request_has_the_documented_bytes),
		cmocka_unit_test(test_each_operation_arrives_as_it_was),
		cmocka_unit_test(test_each_wrong_request_is_told),
		cmocka_unit_test(test_a_read_has_no_operands),
		cmocka_unit_test(test_results_arrive_as_they_were),
		cmocka_unit_test(test_it_needs_its_feature),
		cmocka_unit_test(test_it_is_one_piece_and_one_request),
		cmocka_unit_test(test_a_status_of_its_own_needs_the_feature),
		cmocka_unit_test(test_it_has_no_word_no_tag_and_no_context),
	};

	return cmocka_run_group_tests_name("rdmwire-atomic", tests, NULL, NULL);
}
