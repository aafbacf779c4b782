// SPDX-License-Identifier: BSD-2-Clause
/*
 * What libfabric 1.17 sent, in both byte orders: it must be understood in any
 * split, and be what we send.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "owner.h"
#include "tcpw_hdr.h"
#include "tests/lib/vector.h"

#define KEY   "@1122334455667788"
#define WORDS "6162636465666768696a6b6c6d6e6f70"

struct seen {
	const char *name;
	const char *log;
};

static const struct seen operations[] = {
	{ "message-5", "message:6162636465\n" },
	{ "message-0", "message:\n" },
	{ "inject-7", "message:61626364656667\n" },
	{ "message-cq-data", "message flags 1 data 102030405060708:616263\n" },
	{ "message-4", "message:61626364\n" },
	{ "message-delivery", "message flags 4:" WORDS "\n" },
	{ "ack", "ack 0:\n" },
	{ "write-6", "write 1234+6" KEY ":616263646566\n" },
	{ "write-0", "write 1234+0" KEY ":\n" },
	{ "write-cq-data",
	  "write flags 1 data cafe 1234+6" KEY ":616263646566\n" },
	{ "write-2-segments", "write 1000+a" KEY " 1100+6" KEY ":" WORDS "\n" },
	{ "write-delivery",
	  "write flags 4 1000+a" KEY " 1100+6" KEY ":" WORDS "\n" },
	{ "write-commit",
	  "write flags 8 1000+a" KEY " 1100+6" KEY ":" WORDS "\n" },
	{ "write-delivery-cq-data",
	  "write flags 5 data 77 1000+a" KEY " 1100+6" KEY ":" WORDS "\n" },
	{ "read-8", "read 1000+8" KEY ":\n" },
	{ "response-8", "response:6162636465666768\n" },
	{ "read-0", "read 1000+0" KEY ":\n" },
	{ "response-0", "response:\n" },
	{ "read-2-segments", "read 1000+a" KEY " 1100+6" KEY ":\n" },
	{ "response-16", "response:" WORDS "\n" },
};

#define N_OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static const char *file_of(enum tcpw_order order)
{
	return order == TCPW_BIG ? "big" : "little";
}

/* All operations as one stream, and what it must come to. */
static size_t conversation(enum tcpw_order order, uint8_t *bytes, size_t cap,
			   char *log)
{
	size_t i, len = 0;
	for (i = 0; i < N_OPERATIONS; i++) {
		len += vector_read(file_of(order), operations[i].name,
				   bytes + len, cap - len);
		log = stpcpy(log, operations[i].log);
	}
	return len;
}

static void begin(struct owner *o, enum tcpw_order order)
{
	static const uint64_t reads[] = { 8, 0, 16 };

	owner_init(o, order, 1, reads, 3);
}

static void understands(enum tcpw_order order)
{
	static struct owner o;
	static uint8_t bytes[4096];
	static char log[4096];
	size_t len = conversation(order, bytes, sizeof(bytes), log);
	size_t cut;

	for (cut = 1; cut <= len; cut++) {
		begin(&o, order);
		owner_feed(&o, bytes, len, cut);
		assert_string_equal(o.log, log);
		/* Two pieces: every place where a stream can be cut. */
		begin(&o, order);
		owner_feed(&o, bytes, cut, cut);
		owner_feed(&o, bytes + cut, len - cut, len);
		assert_string_equal(o.log, log);
		assert_int_equal(o.tracker.acks.n, 0);
		assert_int_equal(o.tracker.reads.n, 0);
	}
}

static void little_endian_operations_are_understood_in_any_split(void **state)
{
	understands(TCPW_LITTLE);
}

static void big_endian_operations_are_understood_in_any_split(void **state)
{
	understands(TCPW_BIG);
}

static void sends_the_same(enum tcpw_order order)
{
	uint8_t bytes[256], ours[TCPW_HDR_MAX];
	struct tcpw_hdr hdr;
	size_t i;

	for (i = 0; i < N_OPERATIONS; i++) {
		vector_read(file_of(order), operations[i].name, bytes,
			    sizeof(bytes));
		assert_int_equal(tcpw_hdr_decode(bytes, order, &hdr), TCPW_OK);
		assert_int_equal(tcpw_hdr_encode(&hdr, order, ours),
				 hdr.header_bytes);
		/* What a response has there means nothing. */
		if (!hdr.n_segs)
			bytes[5] = 0;
		assert_memory_equal(ours, bytes, hdr.header_bytes);
	}
}

static void we_send_what_libfabric_sends(void **state)
{
	sends_the_same(TCPW_LITTLE);
	sends_the_same(TCPW_BIG);
}

static void the_order_of_the_other_kind_of_host_is_not_understood(void **state)
{
	static struct owner o;
	uint8_t bytes[256];
	size_t len = vector_read("big", "write-6", bytes, sizeof(bytes));

	begin(&o, TCPW_LITTLE);
	owner_feed(&o, bytes, len, len);
	assert_int_not_equal(o.rx.violation, TCPW_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			little_endian_operations_are_understood_in_any_split),
		cmocka_unit_test(
			big_endian_operations_are_understood_in_any_split),
		cmocka_unit_test(we_send_what_libfabric_sends),
		cmocka_unit_test(
			the_order_of_the_other_kind_of_host_is_not_understood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
