// SPDX-License-Identifier: BSD-2-Clause
/* What may come, in which order, and what its owner decides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "owner.h"

static size_t put(uint8_t *to, enum tcpw_op op, uint64_t payload)
{
	struct tcpw_hdr hdr = { .op = op, .payload_bytes = payload };
	int n = tcpw_hdr_encode(&hdr, TCPW_LITTLE, to);

	assert_true(n > 0);
	memset(to + n, 0x61, payload);
	return (size_t)n + payload;
}

static void ack_or_response_that_nobody_asked_for_ends_it(void **state)
{
	static struct owner o;
	uint8_t bytes[64];

	owner_init(&o, TCPW_LITTLE, 0, NULL, 0);
	owner_feed(&o, bytes, put(bytes, TCPW_ACK, 0), 64);
	assert_int_equal(o.rx.violation, TCPW_UNASKED_ACK);
	owner_init(&o, TCPW_LITTLE, 0, NULL, 0);
	owner_feed(&o, bytes, put(bytes, TCPW_READ_RESPONSE, 4), 64);
	assert_int_equal(o.rx.violation, TCPW_UNASKED_RESPONSE);
	assert_string_equal(o.log, "a read response that nothing waits for\n");
}

static void one_ack_more_than_asked_for_ends_it(void **state)
{
	static struct owner o;
	uint8_t bytes[64];
	size_t len = put(bytes, TCPW_ACK, 0);

	owner_init(&o, TCPW_LITTLE, 2, NULL, 0);
	owner_feed(&o, bytes, len, len);
	owner_feed(&o, bytes, len, 1);
	assert_string_equal(o.log, "ack 0:\nack 1:\n");
	owner_feed(&o, bytes, len, len);
	assert_int_equal(o.rx.violation, TCPW_UNASKED_ACK);
}

static void a_response_must_be_as_long_as_the_oldest_read(void **state)
{
	static const uint64_t reads[] = { 4, 5 };
	static struct owner o;
	uint8_t bytes[64];

	owner_init(&o, TCPW_LITTLE, 0, reads, 2);
	owner_feed(&o, bytes, put(bytes, TCPW_READ_RESPONSE, 5), 64);
	assert_int_equal(o.rx.violation, TCPW_RESPONSE_BYTES);
	owner_init(&o, TCPW_LITTLE, 0, reads, 2);
	owner_feed(&o, bytes, put(bytes, TCPW_READ_RESPONSE, 4), 64);
	owner_feed(&o, bytes, put(bytes, TCPW_READ_RESPONSE, 5), 64);
	assert_string_equal(o.log, "response:61616161\nresponse:6161616161\n");
	owner_feed(&o, bytes, put(bytes, TCPW_READ_RESPONSE, 4), 64);
	assert_int_equal(o.rx.violation, TCPW_UNASKED_RESPONSE);
}

static void a_read_is_due_until_its_last_byte(void **state)
{
	static const uint64_t reads[] = { 4 };
	static struct owner o;
	uint8_t bytes[64];
	size_t len = put(bytes, TCPW_READ_RESPONSE, 4);

	owner_init(&o, TCPW_LITTLE, 0, reads, 1);
	owner_feed(&o, bytes, len - 1, 64);
	assert_ptr_equal(tcpw_tracker_first_read(&o.tracker), &o.reads[0]);
	owner_feed(&o, bytes + len - 1, 1, 1);
	assert_null(tcpw_tracker_first_read(&o.tracker));
}

/* Brings a machine to TARGET with a message of four bytes. */
static void to_target(struct tcpw_rx *rx, struct tcpw_tracker *tracker)
{
	uint8_t bytes[64];
	struct tcpw_want want;

	tcpw_tracker_init(tracker, 1);
	tcpw_rx_init(rx, TCPW_LITTLE, tracker);
	put(bytes, TCPW_MSG, 4);
	tcpw_rx_want(rx, &want);
	assert_int_equal(want.kind, TCPW_WANT_HEADER);
	assert_int_equal(want.bytes, TCPW_HDR_MIN);
	memcpy(want.buf, bytes, TCPW_HDR_MIN);
	assert_int_equal(tcpw_rx_header(rx, TCPW_HDR_MIN), TCPW_OK);
}

static void nothing_is_received_before_the_owner_decides(void **state)
{
	struct tcpw_tracker tracker;
	struct tcpw_want want;
	struct tcpw_rx rx;

	to_target(&rx, &tracker);
	tcpw_rx_want(&rx, &want);
	assert_int_equal(want.kind, TCPW_WANT_TARGET);
	assert_int_equal(want.bytes, 0);
	tcpw_rx_target(&rx, TCPW_OK);
	tcpw_rx_want(&rx, &want);
	assert_int_equal(want.kind, TCPW_WANT_PAYLOAD);
	assert_int_equal(want.bytes, 4);
}

static void a_refusal_is_the_end(void **state)
{
	struct tcpw_tracker tracker;
	struct tcpw_want want;
	struct tcpw_rx rx;

	to_target(&rx, &tracker);
	tcpw_rx_target(&rx, TCPW_TOO_LONG);
	tcpw_rx_want(&rx, &want);
	assert_int_equal(want.kind, TCPW_WANT_END);
	assert_int_equal(want.bytes, 0);
	assert_int_equal(rx.violation, TCPW_TOO_LONG);
}

static void empty_segments_take_no_bytes(void **state)
{
	static const uint64_t lengths[][4] = {
		{ 0, 0, 0, 0 }, { 0, 0, 0, 3 }, { 3, 0, 0, 0 },
		{ 0, 2, 0, 1 }, { 1, 1, 1, 0 }, { 1, 0, 0, 1 },
	};
	static struct owner o;
	unsigned int i, seg;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct tcpw_hdr hdr = { .op = TCPW_WRITE, .n_segs = 4 };
		uint8_t bytes[TCPW_HDR_MAX + 8] = { 0 };
		int n;

		for (seg = 0; seg < 4; seg++) {
			hdr.segs[seg].bytes = lengths[i][seg];
			hdr.payload_bytes += lengths[i][seg];
		}
		n = tcpw_hdr_encode(&hdr, TCPW_LITTLE, bytes);
		owner_init(&o, TCPW_LITTLE, 0, NULL, 0);
		owner_feed(&o, bytes, (size_t)n + hdr.payload_bytes, 1);
		assert_int_equal(o.rx.kind, TCPW_WANT_HEADER);
		assert_int_equal(o.targets, 1);
		assert_int_equal(o.log[o.log_len - 1], '\n');
	}
}

static void the_tracker_has_a_bound(void **state)
{
	struct tcpw_due dues[3] = { 0 };
	struct tcpw_tracker tracker;

	tcpw_tracker_init(&tracker, 2);
	assert_null(tcpw_tracker_take_ack(&tracker));
	assert_null(tcpw_tracker_take_read(&tracker));
	assert_int_equal(tcpw_tracker_add_ack(&tracker, &dues[0]), 0);
	assert_int_equal(tcpw_tracker_add_ack(&tracker, &dues[1]), 0);
	assert_int_equal(tcpw_tracker_add_ack(&tracker, &dues[2]), -ENOSPC);
	assert_ptr_equal(tcpw_tracker_take_ack(&tracker), &dues[0]);
	assert_int_equal(tcpw_tracker_add_ack(&tracker, &dues[0]), 0);
	assert_ptr_equal(tcpw_tracker_take_ack(&tracker), &dues[1]);
	assert_ptr_equal(tcpw_tracker_take_ack(&tracker), &dues[0]);
	assert_null(tcpw_tracker_take_ack(&tracker));
	/* One that was empty is as good as new. */
	assert_int_equal(tcpw_tracker_add_ack(&tracker, &dues[2]), 0);
	assert_ptr_equal(tcpw_tracker_take_ack(&tracker), &dues[2]);
	assert_int_equal(tcpw_tracker_add_read(&tracker, &dues[0], 1), 0);
	assert_int_equal(tcpw_tracker_add_read(&tracker, &dues[1], 2), 0);
	assert_int_equal(tcpw_tracker_add_read(&tracker, &dues[2], 3), -ENOSPC);
	assert_ptr_equal(tcpw_tracker_take_read(&tracker), &dues[0]);
	assert_int_equal(tcpw_tracker_first_read(&tracker)->bytes, 2);
}

static void every_violation_has_its_own_text(void **state)
{
	unsigned int a, b;

	for (a = 0; a < TCPW_VIOLATIONS; a++)
		for (b = a + 1; b <= TCPW_VIOLATIONS; b++)
			assert_string_not_equal(tcpw_violation_text(a),
						tcpw_violation_text(b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ack_or_response_that_nobody_asked_for_ends_it),
		cmocka_unit_test(one_ack_more_than_asked_for_ends_it),
		cmocka_unit_test(a_response_must_be_as_long_as_the_oldest_read),
		cmocka_unit_test(a_read_is_due_until_its_last_byte),
		cmocka_unit_test(nothing_is_received_before_the_owner_decides),
		cmocka_unit_test(a_refusal_is_the_end),
		cmocka_unit_test(empty_segments_take_no_bytes),
		cmocka_unit_test(the_tracker_has_a_bound),
		cmocka_unit_test(every_violation_has_its_own_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
