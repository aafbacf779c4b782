// SPDX-License-Identifier: BSD-2-Clause
/* Requests for remote memory and their answers: format, order, and how many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rdmw_rma.h"

#define PIECE 300
#define ROOM  (PIECE - RDMW_HEADER_BYTES)

static const struct rdmw_offer offers[2] = {
	{ .instance = 1,
	  .serial = 1,
	  .features = RDMW_FEATURES,
	  .window = 200,
	  .piece_bytes = PIECE },
	{ .instance = 2,
	  .serial = 1,
	  .features = RDMW_FEATURES,
	  .window = 200,
	  .piece_bytes = PIECE },
};

static const struct rdmw_head sample = {
	.count = 2,
	.ranges = { { .addr = 0x1122334455667788, .len = 5, .key = 7 },
		    { .addr = 9, .len = 0x0102, .key = 0x8877665544332211 } },
};

/* docs/kfabric-rdm.md has these bytes. */
static const uint8_t sample_bytes[RDMW_HEAD_BYTES(2)] = {
	2,    0,    0,	  0,	0,    0,    0,	  0, /* ranges, 0 */
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* address */
	5,    0,    0,	  0,	0,    0,    0,	  0, /* bytes */
	7,    0,    0,	  0,	0,    0,    0,	  0, /* key */
	9,    0,    0,	  0,	0,    0,    0,	  0, /* address */
	2,    1,    0,	  0,	0,    0,    0,	  0, /* bytes */
	0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, /* key */
};

static void pair(struct rdmw_flow *a, struct rdmw_flow *b)
{
	rdmw_flow_init(a, &offers[0], &offers[1]);
	rdmw_flow_init(b, &offers[1], &offers[0]);
}

static enum rdmw_violation pass(struct rdmw_flow *from, struct rdmw_flow *to,
				const struct rdmw_message *message, uint64_t at,
				uint16_t n)
{
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_piece piece;

	rdmw_flow_data(from, message, at, n, wire);
	return rdmw_flow_arrived(to, wire, RDMW_HEADER_BYTES + n, &piece);
}

static const struct rdmw_message read_it = { .kind = RDMW_READ, .total = 32 };
static const struct rdmw_message done = { .kind = RDMW_ANSWER };

static void test_a_head_has_the_documented_bytes(void **state)
{
	struct rdmw_piece first = { .kind = RDMW_READ };
	uint8_t out[RDMW_HEAD_MAX];
	struct rdmw_head back;
	__u64 len = 0;

	(void)state;
	assert_int_equal(rdmw_head_pack(&sample, out), sizeof(sample_bytes));
	assert_memory_equal(out, sample_bytes, sizeof(sample_bytes));
	first.bytes = sizeof(sample_bytes);
	first.at = first.bytes;
	assert_int_equal(rdmw_head_parse(&first, out, &back, &len), RDMW_OK);
	assert_int_equal(len, 5 + 0x0102);
	assert_int_equal(back.count, 2);
	assert_true(back.ranges[0].addr == sample.ranges[0].addr);
	assert_true(back.ranges[1].key == sample.ranges[1].key);
	/* A write has the bytes behind it, not all in its first piece. */
	first.kind = RDMW_WRITE;
	assert_int_equal(rdmw_head_parse(&first, out, &back, &len),
			 RDMW_BAD_LENGTH);
	first.at += len;
	assert_int_equal(rdmw_head_parse(&first, out, &back, &len), RDMW_OK);
	first.at++;
	assert_int_equal(rdmw_head_parse(&first, out, &back, &len),
			 RDMW_BAD_LENGTH);
}

struct wrong {
	const char *what;
	int at;
	uint8_t value;
	enum rdmw_violation want;
};

static const struct wrong wrongs[] = {
	{ "no range", 0, 0, RDMW_BAD_FIELD },
	{ "too many ranges", 0, 5, RDMW_BAD_FIELD },
	{ "more ranges than came", 0, 3, RDMW_BAD_LENGTH },
	{ "something in the room", 1, 1, RDMW_BAD_RESERVED },
	{ "something at the room's end", 7, 1, RDMW_BAD_RESERVED },
	{ "a range too long", 20, 0x41, RDMW_BAD_FIELD },
	{ "a range that wraps around", 23, 0xff, RDMW_BAD_FIELD },
	{ "another range too long", 43, 0x40, RDMW_BAD_FIELD },
};

static void test_each_wrong_head_is_told(void **state)
{
	struct rdmw_piece first = { .kind = RDMW_READ,
				    .bytes = sizeof(sample_bytes),
				    .at = sizeof(sample_bytes) };
	const struct wrong *w = wrongs;
	uint8_t bytes[RDMW_HEAD_MAX] = { 0 };
	struct rdmw_head head;
	__u64 len;
	uint16_t n;

	(void)state;
	for (; w < wrongs + sizeof(wrongs) / sizeof(*wrongs); w++) {
		memcpy(bytes, sample_bytes, sizeof(sample_bytes));
		bytes[w->at] = w->value;
		if (rdmw_head_parse(&first, bytes, &head, &len) != w->want)
			fail_msg("%s", w->what);
	}
	memcpy(bytes, sample_bytes, sizeof(sample_bytes));
	/* An address so high that the range goes round. */
	memset(bytes + 8, 0xff, 8);
	assert_int_equal(rdmw_head_parse(&first, bytes, &head, &len),
			 RDMW_BAD_FIELD);
	/* Ranges that are too long together, and some whose sum goes round. */
	memcpy(bytes, sample_bytes, sizeof(sample_bytes));
	bytes[16] = 0;
	bytes[19] = 0x40;
	assert_int_equal(rdmw_head_parse(&first, bytes, &head, &len),
			 RDMW_BAD_FIELD);
	memcpy(bytes, sample_bytes, sizeof(sample_bytes));
	bytes[23] = 0x80;
	bytes[47] = 0x80;
	assert_int_equal(rdmw_head_parse(&first, bytes, &head, &len),
			 RDMW_BAD_FIELD);
	memcpy(bytes, sample_bytes, sizeof(sample_bytes));
	for (n = 0; n < sizeof(sample_bytes); n++) {
		first.bytes = n;
		assert_int_equal(rdmw_head_parse(&first, bytes, &head, &len),
				 RDMW_BAD_LENGTH);
	}
}

static void test_a_piece_is_for_the_range_that_it_is_in(void **state)
{
	struct rdmw_range r;
	__u64 len = 100;

	(void)state;
	assert_true(rdmw_head_at(&sample, 0, &len, &r));
	assert_true(len == 5 && r.len == 5 && r.key == 7 &&
		    r.addr == sample.ranges[0].addr);
	len = 100;
	assert_true(rdmw_head_at(&sample, 4, &len, &r));
	assert_true(len == 1 && r.addr == sample.ranges[0].addr + 4);
	len = 100;
	assert_true(rdmw_head_at(&sample, 5, &len, &r));
	assert_true(len == 100 && r.addr == 9 && r.key == sample.ranges[1].key);
	len = 100;
	assert_true(rdmw_head_at(&sample, 5 + 0x0102 - 1, &len, &r));
	assert_int_equal(len, 1);
	assert_false(rdmw_head_at(&sample, 5 + 0x0102, &len, &r));
}

static void test_requests_are_answered_as_often_as_they_came(void **state)
{
	struct rdmw_flow a, b;
	int i;

	(void)state;
	pair(&a, &b);
	assert_int_equal(pass(&b, &a, &done, 0, 0), RDMW_BAD_ASK);
	pair(&a, &b);
	for (i = 0; i < RDMW_ASKED_MAX; i++) {
		assert_true(rdmw_flow_may_send(&a, RDMW_READ) > 0);
		assert_int_equal(pass(&a, &b, &read_it, 0, 32), RDMW_OK);
	}
	assert_int_equal(a.asked, RDMW_ASKED_MAX);
	assert_int_equal(b.due, RDMW_ASKED_MAX);
	assert_int_equal(rdmw_flow_may_send(&a, RDMW_READ), 0);
	assert_int_equal(rdmw_flow_may_send(&a, RDMW_WRITE), 0);
	assert_true(rdmw_flow_may_send(&a, RDMW_DATA) > 0);
	for (i = 0; i < RDMW_ASKED_MAX; i++)
		assert_int_equal(pass(&b, &a, &done, 0, 0), RDMW_OK);
	assert_int_equal(a.asked, 0);
	assert_int_equal(b.due, 0);
	b.due = RDMW_ASKED_MAX;
	assert_int_equal(pass(&a, &b, &read_it, 0, 32), RDMW_BAD_ASK);
}

static void test_what_a_request_or_answer_cannot_be(void **state)
{
	struct rdmw_message m = { .kind = RDMW_READ, .total = 400 };
	struct rdmw_flow a, b;

	(void)state;
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, &m, 0, 100), RDMW_BAD_ORDER);
	m = (struct rdmw_message){ .kind = RDMW_READ,
				   .total = 32,
				   .flags = RDMW_WORD };
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, &m, 0, 32), RDMW_BAD_RESERVED);
	m = (struct rdmw_message){ .kind = RDMW_WRITE,
				   .total = 32,
				   .flags = RDMW_TAGGED };
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, &m, 0, 32), RDMW_BAD_RESERVED);
	m = (struct rdmw_message){ .kind = RDMW_ANSWER, .word = RDMW_STATUSES };
	pair(&a, &b);
	b.asked = 1;
	assert_int_equal(pass(&a, &b, &m, 0, 0), RDMW_BAD_FIELD);
	/* A failure has no bytes. */
	m = (struct rdmw_message){ .kind = RDMW_ANSWER,
				   .word = RDMW_NO_KEY,
				   .total = 1 };
	pair(&a, &b);
	b.asked = 1;
	assert_int_equal(pass(&a, &b, &m, 0, 1), RDMW_BAD_FIELD);
	/* Nor is there a way to go on with something else. */
	m = (struct rdmw_message){ .kind = RDMW_WRITE, .total = 300 };
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, &m, 0, 100), RDMW_OK);
	m.kind = RDMW_DATA;
	assert_int_equal(pass(&a, &b, &m, 100, 100), RDMW_BAD_ORDER);
}

static void test_the_feature_is_needed(void **state)
{
	struct rdmw_offer old = offers[0];
	struct rdmw_flow a, b;

	(void)state;
	old.features = RDMW_FEATURE_TAGS;
	pair(&a, &b);
	rdmw_flow_init(&b, &offers[1], &old);
	assert_int_equal(pass(&a, &b, &read_it, 0, 32), RDMW_BAD_KIND);
}

static void test_one_answer_is_to_several_writes(void **state)
{
	struct rdmw_message m = { .kind = RDMW_WRITE, .total = 33 };
	struct rdmw_offer old = offers[0];
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	int i;

	(void)state;
	pair(&a, &b);
	for (i = 0; i < 4; i++)
		assert_int_equal(pass(&a, &b, &m, 0, 33), RDMW_OK);
	m = (struct rdmw_message){ .kind = RDMW_ANSWER, .tag = 2 };
	rdmw_flow_data(&b, &m, 0, 0, wire);
	assert_int_equal(wire[24], 2);
	assert_int_equal(rdmw_flow_arrived(&a, wire, RDMW_HEADER_BYTES, &piece),
			 RDMW_OK);
	assert_int_equal(piece.tag, 2);
	assert_int_equal(a.asked, 1);
	assert_int_equal(b.due, 1);
	/* There is one, and two more are said to be. */
	assert_int_equal(rdmw_flow_arrived(&a, wire, RDMW_HEADER_BYTES, &piece),
			 RDMW_BAD_ASK);
	/* One that has bytes, or tells of a failure, is to one request. */
	a.asked = 3;
	b.due = 3;
	m.word = RDMW_NO_KEY;
	assert_int_equal(pass(&b, &a, &m, 0, 0), RDMW_BAD_FIELD);
	m = (struct rdmw_message){ .kind = RDMW_ANSWER, .total = 1, .tag = 1 };
	a.asked = 3;
	b.due = 3;
	assert_int_equal(pass(&b, &a, &m, 0, 1), RDMW_BAD_FIELD);
	/* Nor is it said in the middle. */
	m = (struct rdmw_message){ .kind = RDMW_ANSWER, .total = 2 };
	a.asked = 3;
	assert_int_equal(pass(&b, &a, &m, 0, 1), RDMW_OK);
	rdmw_flow_data(&b, &m, 1, 1, wire);
	wire[24] = 1;
	assert_int_equal(rdmw_flow_arrived(&a, wire, RDMW_HEADER_BYTES + 1,
					   &piece),
			 RDMW_BAD_ORDER);
	/* It needs the feature. */
	old.features &= ~(uint32_t)RDMW_FEATURE_JOINT;
	rdmw_flow_init(&a, &old, &offers[1]);
	a.asked = 3;
	m = (struct rdmw_message){ .kind = RDMW_ANSWER, .tag = 1 };
	assert_int_equal(pass(&b, &a, &m, 0, 0), RDMW_BAD_RESERVED);
}

static void test_answers_come_after_a_farewell(void **state)
{
	uint8_t wire[RDMW_HEADER_BYTES];
	struct rdmw_piece piece;
	struct rdmw_flow a, b;

	(void)state;
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, &read_it, 0, 32), RDMW_OK);
	assert_true(rdmw_flow_bye(&b, wire));
	assert_int_equal(rdmw_flow_arrived(&a, wire, sizeof(wire), &piece),
			 RDMW_OK);
	assert_true(rdmw_flow_bye(&a, wire));
	assert_int_equal(rdmw_flow_arrived(&b, wire, sizeof(wire), &piece),
			 RDMW_OK);
	assert_false(rdmw_flow_is_over(&a));
	assert_false(rdmw_flow_is_over(&b));
	assert_int_equal(rdmw_flow_may_send(&b, RDMW_DATA), 0);
	assert_true(rdmw_flow_may_send(&b, RDMW_ANSWER) > 0);
	assert_int_equal(pass(&b, &a, &done, 0, 0), RDMW_OK);
	assert_true(rdmw_flow_is_over(&a));
	assert_true(rdmw_flow_is_over(&b));
	/* Nothing else does. */
	assert_int_equal(pass(&a, &b, &read_it, 0, 32), RDMW_BAD_ORDER);
}

static void test_a_write_may_be_as_long_as_a_message(void **state)
{
	struct rdmw_message m = { .kind = RDMW_WRITE,
				  .total = (__u64)RDMW_MESSAGE_MAX +
					   RDMW_HEAD_MAX };
	struct rdmw_flow a, b;

	(void)state;
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, &m, 0, ROOM), RDMW_OK);
	m.total++;
	pair(&a, &b);
	assert_int_equal(pass(&a, &b, &m, 0, ROOM), RDMW_BAD_FIELD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_head_has_the_documented_bytes),
		cmocka_unit_test(test_each_wrong_head_is_told),
		cmocka_unit_test(test_a_piece_is_for_the_range_that_it_is_in),
		cmocka_unit_test(
			test_requests_are_answered_as_often_as_they_came),
		cmocka_unit_test(test_what_a_request_or_answer_cannot_be),
		cmocka_unit_test(test_the_feature_is_needed),
		cmocka_unit_test(test_one_answer_is_to_several_writes),
		cmocka_unit_test(test_answers_come_after_a_farewell),
		cmocka_unit_test(test_a_write_may_be_as_long_as_a_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
