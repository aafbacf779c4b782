// SPDX-License-Identifier: BSD-2-Clause
/* Hello, welcome and refusal of reliable datagrams, right ones and wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rdmw_cm.h"

static const struct rdmw_hello sample = {
	.offer = { .instance = 0x1122334455667788,
		   .serial = 7,
		   .features = 0x800001 | RDMW_FEATURE_CTX,
		   .window = 8,
		   .piece_bytes = 4128,
		   .last_ctx = 3 },
	.port = 4711,
	.addr = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3 },
};

/* docs/kfabric-rdm.md has these bytes. */
static const uint8_t sample_bytes[RDMW_HELLO_BYTES] = {
	1,    1,    52,	  0, /* ..., length */
	5,    0,    0x80, 3, /* features, last receive context */
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* instance */
	7,    0,    0,	  0,	0,    0,    0,	  0, /* serial */
	8,    0,    0x20, 0x10, 0,    0,    0,	  0, /* window, piece, room */
	0,    0,    0,	  0,	0,    0,    0,	  0, /* address */
	0,    0,    0xff, 0xff, 10,   1,    2,	  3,
	0x67, 0x12, 0,	  0, /* port, room */
};

/* Structs have holes: what is the same packs to the same. */
static void assert_same(const struct rdmw_hello *a, const struct rdmw_hello *b)
{
	uint8_t bytes[2][RDMW_HELLO_BYTES];

	rdmw_hello_pack(a, bytes[0]);
	rdmw_hello_pack(b, bytes[1]);
	assert_memory_equal(bytes[0], bytes[1], RDMW_HELLO_BYTES);
}

static void test_hello_has_the_documented_bytes(void **state)
{
	uint8_t out[RDMW_HELLO_BYTES];
	struct rdmw_hello back;

	(void)state;
	rdmw_hello_pack(&sample, out);
	assert_memory_equal(out, sample_bytes, sizeof(out));
	assert_int_equal(rdmw_hello_parse(out, sizeof(out), &back), RDMW_OK);
	assert_same(&back, &sample);
	assert_int_equal(back.offer.features, sample.offer.features);
	assert_int_equal(back.offer.last_ctx, 3);
}

static void test_short_ones_are_refused_and_long_ones_cut(void **state)
{
	uint8_t out[RDMW_HELLO_BYTES + 20] = { 0 };
	struct rdmw_hello back;
	struct rdmw_offer offer;
	enum rdmw_reason reason;
	uint32_t n;

	(void)state;
	rdmw_hello_pack(&sample, out);
	for (n = 0; n < RDMW_HELLO_BYTES; n++)
		assert_int_equal(rdmw_hello_parse(out, n, &back),
				 RDMW_BAD_LENGTH);
	/* Some fabrics deliver their whole room, whatever was sent. */
	memset(out + RDMW_HELLO_BYTES, 0xee, 20);
	assert_int_equal(rdmw_hello_parse(out, sizeof(out), &back), RDMW_OK);
	rdmw_welcome_pack(&sample.offer, out);
	for (n = 0; n < RDMW_WELCOME_BYTES; n++)
		assert_int_equal(rdmw_welcome_parse(out, n, &sample.offer,
						    &offer),
				 RDMW_BAD_LENGTH);
	assert_int_equal(rdmw_welcome_parse(out, n, &sample.offer, &offer),
			 RDMW_OK);
	back = sample;
	back.offer = offer;
	assert_same(&back, &sample);
	rdmw_refuse_pack(RDMW_CROSSED, out);
	for (n = 0; n < RDMW_REFUSE_BYTES; n++)
		assert_int_equal(rdmw_refuse_parse(out, n, &reason),
				 RDMW_BAD_LENGTH);
	assert_int_equal(rdmw_refuse_parse(out, n, &reason), RDMW_OK);
	assert_int_equal(reason, RDMW_CROSSED);
}

static enum rdmw_violation with(uint32_t at, uint8_t value)
{
	uint8_t out[RDMW_HELLO_BYTES];
	struct rdmw_hello back;

	rdmw_hello_pack(&sample, out);
	out[at] = value;
	return rdmw_hello_parse(out, sizeof(out), &back);
}

static void test_each_wrong_field_is_told(void **state)
{
	uint32_t at;

	(void)state;
	assert_int_equal(with(0, 2), RDMW_BAD_VERSION);
	assert_int_equal(with(1, RDMW_WELCOME), RDMW_BAD_KIND);
	assert_int_equal(with(2, 51), RDMW_BAD_LENGTH);
	assert_int_equal(with(3, 1), RDMW_BAD_LENGTH);
	/* What a later version offers is no fault. */
	assert_int_equal(with(4, 0x85), RDMW_OK);
	/* Contexts without the feature are. */
	assert_int_equal(with(4, 1), RDMW_BAD_RESERVED);
	assert_int_equal(with(16, 0), RDMW_BAD_FIELD);
	assert_int_equal(with(24, 0), RDMW_BAD_FIELD);
	assert_int_equal(with(25, 0xff), RDMW_BAD_FIELD);
	assert_int_equal(with(27, 0), RDMW_BAD_FIELD);
	for (at = 28; at < 32; at++)
		assert_int_equal(with(at, 1), RDMW_BAD_RESERVED);
	for (at = 50; at < 52; at++)
		assert_int_equal(with(at, 1), RDMW_BAD_RESERVED);
}

static void test_a_failure_leaves_the_answer_alone(void **state)
{
	uint8_t out[RDMW_HELLO_BYTES];
	struct rdmw_hello back = sample;

	(void)state;
	rdmw_hello_pack(&sample, out);
	out[8]++;
	out[51] = 1;
	assert_int_not_equal(rdmw_hello_parse(out, sizeof(out), &back),
			     RDMW_OK);
	assert_same(&back, &sample);
}

static void test_a_welcome_takes_up_nothing_that_was_not_offered(void **state)
{
	uint8_t out[RDMW_WELCOME_BYTES];
	struct rdmw_offer offer, ours = sample.offer;
	int i;

	(void)state;
	for (i = 0; i < RDMW_FEATURE_BITS; i++) {
		offer = sample.offer;
		offer.features = 1U << i;
		rdmw_welcome_pack(&offer, out);
		ours.features = ~offer.features;
		assert_int_equal(rdmw_welcome_parse(out, sizeof(out), &ours,
						    &offer),
				 RDMW_BAD_RESERVED);
		ours.features = ~0U;
		assert_int_equal(rdmw_welcome_parse(out, sizeof(out), &ours,
						    &offer),
				 RDMW_OK);
		assert_int_equal(offer.features, 1U << i);
	}
}

static void test_a_welcome_says_how_many_contexts_there_are(void **state)
{
	uint8_t out[RDMW_WELCOME_BYTES];
	struct rdmw_offer offer = sample.offer;
	uint32_t at;

	(void)state;
	rdmw_welcome_pack(&sample.offer, out);
	assert_int_equal(out[7], 0);
	assert_int_equal(out[28], 3);
	offer.last_ctx = 0;
	assert_int_equal(rdmw_welcome_parse(out, sizeof(out), &sample.offer,
					    &offer),
			 RDMW_OK);
	assert_int_equal(offer.last_ctx, 3);
	for (at = 29; at < 32; at++) {
		rdmw_welcome_pack(&sample.offer, out);
		out[at] = 1;
		assert_int_equal(rdmw_welcome_parse(out, sizeof(out),
						    &sample.offer, &offer),
				 RDMW_BAD_RESERVED);
	}
	/* Who has not the feature has nothing to say of them. */
	offer.features = 1;
	rdmw_welcome_pack(&offer, out);
	assert_int_equal(out[28], 0);
	out[28] = 1;
	assert_int_equal(rdmw_welcome_parse(out, sizeof(out), &sample.offer,
					    &offer),
			 RDMW_BAD_RESERVED);
}

static void test_reasons_are_known_ones(void **state)
{
	uint8_t out[RDMW_REFUSE_BYTES];
	enum rdmw_reason reason;
	unsigned int i;

	(void)state;
	for (i = 0; i < 256; i++) {
		rdmw_refuse_pack((enum rdmw_reason)i, out);
		assert_int_equal(rdmw_refuse_parse(out, sizeof(out), &reason),
				 i && i < RDMW_REASONS ? RDMW_OK
						       : RDMW_BAD_FIELD);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello_has_the_documented_bytes),
		cmocka_unit_test(test_short_ones_are_refused_and_long_ones_cut),
		cmocka_unit_test(test_each_wrong_field_is_told),
		cmocka_unit_test(test_a_failure_leaves_the_answer_alone),
		cmocka_unit_test(
			test_a_welcome_takes_up_nothing_that_was_not_offered),
		cmocka_unit_test(
			test_a_welcome_says_how_many_contexts_there_are),
		cmocka_unit_test(test_reasons_are_known_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
