// SPDX-License-Identifier: BSD-2-Clause
/* Connection messages: libfabric's, ours, cut anywhere, and wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tcpw_cm.h"
#include "tests/lib/vector.h"

struct sample {
	const char *name;
	enum tcpw_cm_type type;
	enum tcpw_order order;
	const char *data;
};

static const struct sample samples[] = {
	{ "request", TCPW_CM_REQUEST, TCPW_LITTLE, "request-data" },
	{ "request-no-data", TCPW_CM_REQUEST, TCPW_LITTLE, "" },
	{ "accept", TCPW_CM_ACCEPT, TCPW_LITTLE, "accept-data" },
	{ "reject", TCPW_CM_REJECT, TCPW_LITTLE, "sorry, no" },
	{ "reject-no-data", TCPW_CM_REJECT, TCPW_LITTLE, "" },
	{ "request-big", TCPW_CM_REQUEST, TCPW_BIG, "request-data" },
	{ "request-no-data-big", TCPW_CM_REQUEST, TCPW_BIG, "" },
	{ "accept-big", TCPW_CM_ACCEPT, TCPW_BIG, "accept-data" },
};

#define N_SAMPLES (sizeof(samples) / sizeof(samples[0]))

/* Feeds in pieces; returns how many bytes were taken. */
static size_t feed(struct tcpw_cm_rx *rx, const uint8_t *bytes, size_t len,
		   size_t chunk)
{
	size_t at = 0;
	uint8_t *to;

	while (at < len) {
		size_t n = tcpw_cm_rx_want(rx, &to);

		if (!n)
			break;
		n = n < chunk ? n : chunk;
		n = n < len - at ? n : len - at;
		memcpy(to, bytes + at, n);
		tcpw_cm_rx_fed(rx, (uint32_t)n);
		at += n;
	}
	return at;
}

static int is_whole(struct tcpw_cm_rx *rx)
{
	uint8_t *to;

	return !rx->violation && !tcpw_cm_rx_want(rx, &to);
}

static void check_sample(const struct sample *s)
{
	uint8_t bytes[TCPW_CM_MAX + 1] = { 0 };
	size_t len = vector_read("cm", s->name, bytes, TCPW_CM_MAX);
	struct tcpw_cm_rx rx;
	size_t chunk;
	uint32_t n;

	for (chunk = 1; chunk <= len; chunk++) {
		tcpw_cm_rx_init(&rx, s->type != TCPW_CM_REQUEST);
		/* One byte less is not enough, one more is left alone. */
		assert_int_equal(feed(&rx, bytes, len - 1, chunk), len - 1);
		assert_false(is_whole(&rx));
		assert_int_equal(feed(&rx, bytes + len - 1, 2, chunk), 1);
		assert_true(is_whole(&rx));
		assert_int_equal(tcpw_cm_rx_type(&rx), s->type);
		if (s->type != TCPW_CM_REJECT)
			assert_int_equal(tcpw_cm_rx_order(&rx), s->order);
		assert_memory_equal(tcpw_cm_rx_data(&rx, &n), s->data,
				    strlen(s->data));
		assert_int_equal(n, strlen(s->data));
	}
}

static void libfabrics_messages_are_understood_in_any_split(void **state)
{
	size_t i;

	for (i = 0; i < N_SAMPLES; i++)
		check_sample(&samples[i]);
}

static void we_send_what_libfabric_sends(void **state)
{
	uint8_t bytes[TCPW_CM_MAX], ours[TCPW_CM_MAX];
	size_t i;

	for (i = 0; i < N_SAMPLES; i++) {
		const struct sample *s = &samples[i];
		size_t len = vector_read("cm", s->name, bytes, sizeof(bytes));

		assert_int_equal(tcpw_cm_encode(s->type, s->order, s->data,
						(uint32_t)strlen(s->data),
						ours),
				 len);
		assert_memory_equal(ours, bytes, len);
	}
}

static void the_most_data_fits_and_one_byte_more_does_not(void **state)
{
	uint8_t data[TCPW_CM_DATA_MAX + 1], bytes[TCPW_CM_MAX];
	struct tcpw_cm_rx rx;
	uint32_t n;

	memset(data, 0x7e, sizeof(data));
	assert_int_equal(tcpw_cm_encode(TCPW_CM_ACCEPT, TCPW_LITTLE, data,
					TCPW_CM_DATA_MAX + 1, bytes),
			 -EMSGSIZE);
	assert_int_equal(tcpw_cm_encode(TCPW_CM_ACCEPT, TCPW_LITTLE, data,
					TCPW_CM_DATA_MAX, bytes),
			 TCPW_CM_MAX);
	tcpw_cm_rx_init(&rx, 1);
	assert_int_equal(feed(&rx, bytes, sizeof(bytes), 1), sizeof(bytes));
	assert_true(is_whole(&rx));
	assert_memory_equal(tcpw_cm_rx_data(&rx, &n), data, TCPW_CM_DATA_MAX);
	assert_int_equal(n, TCPW_CM_DATA_MAX);

	bytes[3]++;
	tcpw_cm_rx_init(&rx, 1);
	feed(&rx, bytes, sizeof(bytes), sizeof(bytes));
	assert_int_equal(rx.violation, TCPW_CM_DATA);
}

static void expect(const uint8_t *bytes, int active, enum tcpw_violation why)
{
	struct tcpw_cm_rx rx;

	tcpw_cm_rx_init(&rx, active != 0);
	feed(&rx, bytes, TCPW_CM_HEADER_BYTES, TCPW_CM_HEADER_BYTES);
	assert_int_equal(rx.violation, why);
}

static void every_byte_of_a_header_is_looked_at(void **state)
{
	uint8_t good[TCPW_CM_MAX];
	unsigned int i, bit;

	tcpw_cm_encode(TCPW_CM_REQUEST, TCPW_LITTLE, NULL, 0, good);
	for (i = 0; i < TCPW_CM_HEADER_BYTES; i++) {
		enum tcpw_violation why = TCPW_CM_RESERVED;

		if (i == 3)
			continue; /* a length below 256 */
		if (i == 0)
			why = TCPW_CM_VERSION;
		else if (i == 1)
			why = TCPW_CM_TYPE;
		else if (i >= 24)
			why = TCPW_CM_ORDER;
		for (bit = 0; bit < 8; bit++) {
			good[i] ^= (uint8_t)(1U << bit);
			/* 256 itself is a length that may be. */
			if (i == 2)
				expect(good, 0, bit ? TCPW_CM_DATA : TCPW_OK);
			else
				expect(good, 0, why);
			good[i] ^= (uint8_t)(1U << bit);
		}
	}
	expect(good, 0, TCPW_OK);
}

static void only_the_message_that_is_due_may_come(void **state)
{
	uint8_t bytes[TCPW_CM_MAX];
	unsigned int type;

	for (type = 0; type < 256; type++) {
		int answer = type == TCPW_CM_ACCEPT || type == TCPW_CM_REJECT;

		tcpw_cm_encode(TCPW_CM_REQUEST, TCPW_BIG, NULL, 0, bytes);
		bytes[1] = (uint8_t)type;
		expect(bytes, 0,
		       type == TCPW_CM_REQUEST ? TCPW_OK : TCPW_CM_TYPE);
		expect(bytes, 1, answer ? TCPW_OK : TCPW_CM_TYPE);
	}
	/* Without a probe it can only be a reject. */
	tcpw_cm_encode(TCPW_CM_REJECT, TCPW_BIG, NULL, 0, bytes);
	bytes[1] = TCPW_CM_ACCEPT;
	expect(bytes, 1, TCPW_CM_ORDER);
}

static void nothing_is_wanted_after_a_violation(void **state)
{
	uint8_t bytes[TCPW_CM_MAX];
	struct tcpw_cm_rx rx;
	uint8_t *to;

	tcpw_cm_encode(TCPW_CM_REQUEST, TCPW_LITTLE, "abc", 3, bytes);
	bytes[0] = 4;
	tcpw_cm_rx_init(&rx, 0);
	assert_int_equal(feed(&rx, bytes, 35, 35), TCPW_CM_HEADER_BYTES);
	assert_int_equal(tcpw_cm_rx_want(&rx, &to), 0);
	assert_int_equal(rx.violation, TCPW_CM_VERSION);
}

static void a_mixed_pair_speaks_big_endian(void **state)
{
	assert_int_equal(tcpw_order_of_pair(TCPW_LITTLE, TCPW_LITTLE),
			 TCPW_LITTLE);
	assert_int_equal(tcpw_order_of_pair(TCPW_LITTLE, TCPW_BIG), TCPW_BIG);
	assert_int_equal(tcpw_order_of_pair(TCPW_BIG, TCPW_LITTLE), TCPW_BIG);
	assert_int_equal(tcpw_order_of_pair(TCPW_BIG, TCPW_BIG), TCPW_BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			libfabrics_messages_are_understood_in_any_split),
		cmocka_unit_test(we_send_what_libfabric_sends),
		cmocka_unit_test(the_most_data_fits_and_one_byte_more_does_not),
		cmocka_unit_test(every_byte_of_a_header_is_looked_at),
		cmocka_unit_test(only_the_message_that_is_due_may_come),
		cmocka_unit_test(nothing_is_wanted_after_a_violation),
		cmocka_unit_test(a_mixed_pair_speaks_big_endian),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
