// SPDX-License-Identifier: BSD-2-Clause
/* Operation headers whose fields contradict each other, in both orders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tcpw_hdr.h"

#define MAX64 0xffffffffffffffffULL

static const enum tcpw_order orders[] = { TCPW_LITTLE, TCPW_BIG };

static struct tcpw_hdr a_write(void)
{
	struct tcpw_hdr hdr = {
		.op = TCPW_WRITE,
		.flags = TCPW_F_CQ_DATA | TCPW_F_COMMIT,
		.cq_data = 0x1234,
		.n_segs = 2,
		.payload_bytes = 30,
		.segs = { { 0x1000, 10, 7 }, { 0x2000, 20, 8 } },
	};

	return hdr;
}

static struct tcpw_hdr simple(enum tcpw_op op)
{
	struct tcpw_hdr hdr = { .op = op };

	if (op == TCPW_WRITE || op == TCPW_READ_REQUEST) {
		hdr.n_segs = 1;
		hdr.segs[0].bytes = 5;
	}
	if (op == TCPW_WRITE)
		hdr.payload_bytes = 5;
	return hdr;
}

/* Decoded from exactly as many bytes as it may read. */
static enum tcpw_violation decode(const uint8_t *bytes, enum tcpw_order order,
				  struct tcpw_hdr *out)
{
	enum tcpw_violation why;
	uint32_t size = 0;
	uint8_t *copy;

	copy = malloc(TCPW_HDR_MIN);
	memcpy(copy, bytes, TCPW_HDR_MIN);
	why = tcpw_hdr_begin(copy, order, &size);
	free(copy);
	if (why)
		return why;
	assert_in_range(size, TCPW_HDR_MIN, TCPW_HDR_MAX);
	copy = malloc(size);
	memcpy(copy, bytes, size);
	why = tcpw_hdr_decode(copy, order, out);
	free(copy);
	return why;
}

static void what_is_written_is_read(void **state)
{
	uint8_t bytes[TCPW_HDR_MAX] = { 0 };
	unsigned int i, op;

	for (i = 0; i < 2; i++) {
		for (op = TCPW_MSG; op <= TCPW_WRITE; op++) {
			struct tcpw_hdr hdr = simple(op), out = { 0 };

			assert_true(tcpw_hdr_encode(&hdr, orders[i], bytes) >=
				    TCPW_HDR_MIN);
			assert_int_equal(decode(bytes, orders[i], &out),
					 TCPW_OK);
			assert_int_equal(out.op, op);
			assert_int_equal(out.payload_bytes, hdr.payload_bytes);
			assert_int_equal(out.n_segs, hdr.n_segs);
			assert_int_equal(out.rma_bytes, hdr.segs[0].bytes);
		}
	}
}

/* A change of one byte of a write, and what it must be called. */
struct change {
	unsigned int at;
	uint8_t value;
	enum tcpw_violation why;
};

static void a_header_that_contradicts_itself_is_refused(void **state)
{
	static const struct change changes[] = {
		{ 0, 2, TCPW_HDR_VERSION },   { 0, 4, TCPW_HDR_VERSION },
		{ 1, 1, TCPW_HDR_OP }, /* tagged */
		{ 1, 5, TCPW_HDR_OP },	      { 1, 255, TCPW_HDR_OP },
		{ 1, 0, TCPW_HDR_FLAGS }, /* a message is not committed */
		{ 1, 2, TCPW_HDR_FLAGS },     { 1, 3, TCPW_HDR_FLAGS },
		{ 2, 2 | 9, TCPW_HDR_FLAGS }, { 2, 0x80 | 9, TCPW_HDR_FLAGS },
		{ 3, 1, TCPW_HDR_FLAGS },     { 4, 1, TCPW_HDR_OP_DATA },
		{ 4, 2, TCPW_HDR_OP_DATA }, /* an ACK is a message */
		{ 4, 255, TCPW_HDR_OP_DATA }, { 5, 0, TCPW_HDR_SEGMENTS },
		{ 5, 5, TCPW_HDR_SEGMENTS },  { 5, 255, TCPW_HDR_SEGMENTS },
		{ 5, 1, TCPW_HDR_BYTES },     { 5, 3, TCPW_HDR_BYTES },
		{ 2, 8, TCPW_HDR_BYTES }, /* no data, but room for it */
		{ 6, 0, TCPW_HDR_BYTES },     { 6, 71, TCPW_HDR_BYTES },
		{ 6, 73, TCPW_HDR_BYTES },    { 6, 255, TCPW_HDR_BYTES },
		{ 8, 0, TCPW_HDR_TOTAL },     { 8, 71, TCPW_HDR_TOTAL },
		{ 8, 72, TCPW_HDR_SUM },      { 8, 103, TCPW_HDR_SUM },
		{ 15, 255, TCPW_HDR_SUM },    { 32, 11, TCPW_HDR_SUM },
		{ 56, 0, TCPW_HDR_SUM },      { 7, 99, TCPW_OK },
	};
	uint8_t bytes[TCPW_HDR_MAX] = { 0 };
	struct tcpw_hdr hdr = a_write(), out = { 0 };
	unsigned int i;

	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const struct change *c = &changes[i];

		assert_int_equal(tcpw_hdr_encode(&hdr, TCPW_LITTLE, bytes), 72);
		bytes[c->at] = c->value;
		if (decode(bytes, TCPW_LITTLE, &out) != c->why)
			fail_msg("byte %u = %u: \"%s\", not \"%s\"", c->at,
				 c->value,
				 tcpw_violation_text(
					 decode(bytes, TCPW_LITTLE, &out)),
				 tcpw_violation_text(c->why));
	}
}

static void
a_number_of_segments_in_a_message_means_nothing_up_to_four(void **state)
{
	static const enum tcpw_op ops[] = { TCPW_MSG, TCPW_ACK,
					    TCPW_READ_RESPONSE };
	uint8_t bytes[TCPW_HDR_MAX] = { 0 };
	unsigned int i, n;

	for (i = 0; i < 3; i++) {
		struct tcpw_hdr hdr = simple(ops[i]), out = { 0 };

		tcpw_hdr_encode(&hdr, TCPW_LITTLE, bytes);
		for (n = 0; n < 256; n++) {
			bytes[5] = (uint8_t)n;
			assert_int_equal(decode(bytes, TCPW_LITTLE, &out),
					 n <= 4 ? TCPW_OK : TCPW_HDR_SEGMENTS);
			assert_int_equal(out.n_segs, 0);
		}
	}
}

static void what_has_no_payload_may_not_bring_any(void **state)
{
	static const enum tcpw_op ops[] = { TCPW_ACK, TCPW_READ_REQUEST };
	uint8_t bytes[TCPW_HDR_MAX] = { 0 };
	struct tcpw_hdr out = { 0 };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct tcpw_hdr hdr = simple(ops[i]);

		tcpw_hdr_encode(&hdr, TCPW_LITTLE, bytes);
		bytes[8]++;
		assert_int_equal(decode(bytes, TCPW_LITTLE, &out),
				 TCPW_HDR_TOTAL);
	}
}

/* Encodes a sound write, then puts these numbers into its wire form. */
static enum tcpw_violation with(enum tcpw_order order, uint64_t payload,
				uint64_t addr0, uint64_t bytes0,
				uint64_t bytes1)
{
	uint8_t bytes[TCPW_HDR_MAX] = { 0 };
	struct tcpw_hdr hdr = a_write(), out = { 0 };

	tcpw_hdr_encode(&hdr, order, bytes);
	tcpw_put(bytes + 8, 8, order, 72 + payload);
	tcpw_put(bytes + 24, 8, order, addr0);
	tcpw_put(bytes + 32, 8, order, bytes0);
	tcpw_put(bytes + 56, 8, order, bytes1);
	return decode(bytes, order, &out);
}

static void no_sum_may_overflow(void **state)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		enum tcpw_order order = orders[i];

		assert_int_equal(with(order, 30, 0x1000, 10, 20), TCPW_OK);
		/* The end of a segment. */
		assert_int_equal(with(order, 30, MAX64 - 10, 10, 20), TCPW_OK);
		assert_int_equal(with(order, 30, MAX64 - 9, 10, 20),
				 TCPW_HDR_WRAP);
		assert_int_equal(with(order, 30, MAX64, 10, 20), TCPW_HDR_WRAP);
		assert_int_equal(with(order, 9, 0x1000, MAX64, 10),
				 TCPW_HDR_WRAP);
		/* Two lengths that add up to the payload, modulo 2^64. */
		assert_int_equal(with(order, 9, 0, MAX64, 10), TCPW_HDR_SUM);
		assert_int_equal(with(order, MAX64 - 72, 0, MAX64 - 92, 20),
				 TCPW_OK);
	}
}

static void what_would_be_refused_is_not_written(void **state)
{
	uint8_t bytes[TCPW_HDR_MAX] = { 0 };
	struct tcpw_hdr hdr = a_write();

	hdr.payload_bytes++;
	assert_int_equal(tcpw_hdr_encode(&hdr, TCPW_BIG, bytes), -EINVAL);
	hdr = a_write();
	hdr.n_segs = 5;
	assert_int_equal(tcpw_hdr_encode(&hdr, TCPW_BIG, bytes), -EINVAL);
	hdr = a_write();
	hdr.flags = 2;
	assert_int_equal(tcpw_hdr_encode(&hdr, TCPW_BIG, bytes), -EINVAL);
	hdr = a_write();
	hdr.op = TCPW_WRITE + 1;
	assert_int_equal(tcpw_hdr_encode(&hdr, TCPW_BIG, bytes), -EINVAL);
	hdr = simple(TCPW_MSG);
	hdr.n_segs = 1;
	assert_int_equal(tcpw_hdr_encode(&hdr, TCPW_BIG, bytes), -EINVAL);
	hdr = simple(TCPW_MSG);
	hdr.payload_bytes = MAX64 - 15;
	assert_int_equal(tcpw_hdr_encode(&hdr, TCPW_BIG, bytes), -EINVAL);
	hdr.payload_bytes--;
	assert_int_equal(tcpw_hdr_encode(&hdr, TCPW_BIG, bytes), 16);
	hdr = simple(TCPW_ACK);
	hdr.payload_bytes = 1;
	assert_int_equal(tcpw_hdr_encode(&hdr, TCPW_BIG, bytes), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_header_that_contradicts_itself_is_refused),
		cmocka_unit_test(
			a_number_of_segments_in_a_message_means_nothing_up_to_four),
		cmocka_unit_test(what_has_no_payload_may_not_bring_any),
		cmocka_unit_test(no_sum_may_overflow),
		cmocka_unit_test(what_would_be_refused_is_not_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
