// SPDX-License-Identifier: BSD-2-Clause
/*
 * Messages of the LNet-like driver: what is written is read again, at the bytes that the
 * format says, and nothing else is taken.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "lndw_msg.h"

#define ROOM 4200

static struct lndw_msg sample(enum lndw_kind kind)
{
	struct lndw_msg msg = {
		.kind = kind,
		.src_nid = 0x1112131415161718,
		.dst_nid = 0x2122232425262728,
		.src_incarnation = 0x3132333435363738,
		.dst_incarnation = 0x4142434445464748,
		.floor = 0x5152535455565758,
		.credits = 3,
	};

	if (lndw_is_request(kind))
		msg.seq = msg.floor + LNDW_CREDITS_MAX - 1;
	if (lndw_is_request(kind) && kind != LNDW_PING) {
		msg.match = 0x6162636465666768;
		msg.word = 0x7172737475767778;
		msg.key = kind == LNDW_IMMEDIATE ? 0 : 0x8182838485868788;
		msg.bytes = kind == LNDW_IMMEDIATE ? 5 : LNDW_BYTES_MAX;
		msg.left_ms = 0x91929394;
	}
	if (lndw_is_answer(kind)) {
		msg.seq = 0xa1a2a3a4a5a6a7a8;
		msg.status = LNDW_FAILED;
		msg.bytes = 0xb1b2;
	}
	if (kind == LNDW_NACK)
		msg.status = LNDW_NOT_YOU;
	return msg;
}

static uint32_t written(const struct lndw_msg *msg, uint8_t *out)
{
	memset(out, 0, ROOM);
	lndw_encode(msg, out);
	return lndw_head_bytes(msg->kind) +
	       (msg->kind == LNDW_IMMEDIATE ? msg->bytes : 0);
}

static void all_kinds_are_read_as_they_were_written(void **state)
{
	uint8_t bytes[ROOM], once_more[ROOM];
	struct lndw_msg msg, again;
	uint32_t n;
	int kind;

	(void)state;
	for (kind = LNDW_HELLO; kind < LNDW_KINDS; kind++) {
		msg = sample((enum lndw_kind)kind);
		n = written(&msg, bytes);
		assert_int_equal(lndw_decode(bytes, n, &again), 0);
		assert_int_equal(again.seq, msg.seq);
		assert_int_equal(written(&again, once_more), n);
		assert_memory_equal(bytes, once_more, n);
	}
}

static void a_put_lies_on_the_wire_as_the_format_says(void **state)
{
	static const uint8_t must[] = {
		0x4b, 0x4c, 0x4e, 0x44, 1,    3,    96,	  0,	0x18, 0x17,
		0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25,
		0x24, 0x23, 0x22, 0x21, 0x38, 0x37, 0x36, 0x35, 0x34, 0x33,
		0x32, 0x31, 0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
		0x67, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51, 0x58, 0x57,
		0x56, 0x55, 0x54, 0x53, 0x52, 0x51, 3,	  0,	0,    0,
		0,    0,    0,	  0,	0x68, 0x67, 0x66, 0x65, 0x64, 0x63,
		0x62, 0x61, 0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x71,
		0x88, 0x87, 0x86, 0x85, 0x84, 0x83, 0x82, 0x81, 0,    0,
		0x10, 0,    0x94, 0x93, 0x92, 0x91,
	};
	struct lndw_msg msg = sample(LNDW_PUT);
	uint8_t bytes[ROOM];

	(void)state;
	assert_int_equal(written(&msg, bytes), sizeof(must));
	assert_memory_equal(bytes, must, sizeof(must));
}

/* The bytes end where memory does, so that no more of them can be read. */
static int decode_cut(const uint8_t *bytes, uint32_t n, struct lndw_msg *msg)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *end = at + 2 * page;
	int ret;

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(mprotect(end, page, PROT_NONE), 0);
	memcpy(end - n, bytes, n);
	ret = lndw_decode(end - n, n, msg);
	munmap(at, 3 * page);
	return ret;
}

static void a_message_of_another_length_is_none(void **state)
{
	uint8_t bytes[ROOM];
	struct lndw_msg msg, again;
	uint32_t n, cut;
	int kind;

	(void)state;
	for (kind = LNDW_HELLO; kind < LNDW_KINDS; kind++) {
		msg = sample((enum lndw_kind)kind);
		n = written(&msg, bytes);
		for (cut = 0; cut < n + 3; cut++)
			assert_int_equal(decode_cut(bytes, cut, &again),
					 cut == n ? 0 : -EBADMSG);
		bytes[6]++;
		assert_int_equal(lndw_decode(bytes, n, &again), -EBADMSG);
		assert_int_equal(lndw_decode(bytes, n + 1, &again), -EBADMSG);
	}
}

static void is_refused(struct lndw_msg msg)
{
	uint8_t bytes[ROOM];
	struct lndw_msg again = { .kind = LNDW_PING };

	assert_int_equal(lndw_decode(bytes, written(&msg, bytes), &again),
			 -EBADMSG);
	assert_int_equal(again.kind, LNDW_PING);
}

/* Changes one field of a sound message. */
#define REFUSED(of, field, value)                  \
	do {                                       \
		struct lndw_msg msg_ = sample(of); \
		msg_.field = (value);              \
		is_refused(msg_);                  \
	} while (0)

static void a_field_out_of_its_bounds_is_refused(void **state)
{
	struct lndw_msg hello = sample(LNDW_HELLO), again;
	uint8_t bytes[ROOM];

	(void)state;
	REFUSED(LNDW_PING, kind, (enum lndw_kind)0);
	REFUSED(LNDW_PING, kind, LNDW_KINDS);
	REFUSED(LNDW_PING, src_nid, 0);
	REFUSED(LNDW_PING, dst_nid, 0);
	REFUSED(LNDW_PING, src_incarnation, 0);
	REFUSED(LNDW_PING, dst_incarnation, 0);
	REFUSED(LNDW_WELCOME, dst_incarnation, 0);
	REFUSED(LNDW_PING, credits, 0);
	REFUSED(LNDW_PING, credits, LNDW_CREDITS_MAX + 1);
	REFUSED(LNDW_PING, seq, msg_.floor - 1);
	REFUSED(LNDW_PING, seq, msg_.floor + LNDW_CREDITS_MAX);
	REFUSED(LNDW_PING, status, 1);
	REFUSED(LNDW_HELLO, seq, 1);
	REFUSED(LNDW_WELCOME, seq, 1);
	REFUSED(LNDW_NACK, seq, 1);
	REFUSED(LNDW_NACK, status, LNDW_REASONS);
	REFUSED(LNDW_ACK, status, LNDW_WIRE_STATUSES);
	REFUSED(LNDW_REPLY, status, LNDW_WIRE_STATUSES);
	REFUSED(LNDW_REPLY, bytes, LNDW_BYTES_MAX + 1);
	REFUSED(LNDW_PUT, left_ms, 0);
	REFUSED(LNDW_PUT, bytes, 0);
	REFUSED(LNDW_PUT, bytes, LNDW_BYTES_MAX + 1);
	REFUSED(LNDW_GET, bytes, 0);
	REFUSED(LNDW_IMMEDIATE, key, 1);
	REFUSED(LNDW_IMMEDIATE, bytes, LNDW_IMMEDIATE_MAX + 1);
	hello.dst_incarnation = 0;
	assert_int_equal(lndw_decode(bytes, written(&hello, bytes), &again), 0);
}

static void what_means_nothing_is_zero(void **state)
{
	static const unsigned int at[] = { 59, 60, 61, 62, 63, 68 };
	struct lndw_msg msg = sample(LNDW_ACK), again;
	uint8_t bytes[ROOM];
	uint32_t n;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		n = written(&msg, bytes);
		bytes[at[i]] = 1;
		assert_int_equal(lndw_decode(bytes, n, &again), -EBADMSG);
	}
	n = written(&msg, bytes);
	bytes[0]++;
	assert_int_equal(lndw_decode(bytes, n, &again), -EBADMSG);
	bytes[0]--;
	bytes[4]++;
	assert_int_equal(lndw_decode(bytes, n, &again), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_are_read_as_they_were_written),
		cmocka_unit_test(a_put_lies_on_the_wire_as_the_format_says),
		cmocka_unit_test(a_message_of_another_length_is_none),
		cmocka_unit_test(a_field_out_of_its_bounds_is_refused),
		cmocka_unit_test(what_means_nothing_is_zero),
	};

	return cmocka_run_group_tests_name("lndwire-msg", tests, NULL, NULL);
}
