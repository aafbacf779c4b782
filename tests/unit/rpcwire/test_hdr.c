// SPDX-License-Identifier: BSD-2-Clause
/* Headers of RPC-over-RDMA: what calls look like, and which replies are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rpcw_hdr.h"

#define XID	  0x01020304U
#define ROUNDS	  200000
#define WORDS_MAX 64

/* A message in words, as RFC 8166 draws it. */
struct words {
	uint32_t n;
	uint8_t bytes[WORDS_MAX * 4];
};

static void put(struct words *w, uint32_t word)
{
	uint8_t *at = w->bytes + w->n++ * 4;

	at[0] = (uint8_t)(word >> 24);
	at[1] = (uint8_t)(word >> 16);
	at[2] = (uint8_t)(word >> 8);
	at[3] = (uint8_t)word;
}

#define WORDS(w, ...)                                                   \
	do {                                                            \
		const uint32_t all[] = { __VA_ARGS__ };                 \
		for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) \
			put(w, all[k]);                                 \
	} while (0)

static enum rpcw_violation parse(const struct words *w,
				 struct rpcw_reply *reply)
{
	return rpcw_reply_parse(w->bytes, w->n * 4, reply);
}

/* A call with pages to read, and 4096 and 100 bytes for the reply. */
static const struct rpcw_call sample = {
	.xid = XID,
	.credits = 64,
	.kind = RPCW_MSG,
	.position = 128,
	.read = { .count = 1,
		  .segments = { { .handle = 7,
				  .length = 8192,
				  .offset = 0x1122334455667788 } } },
	.write = { .count = 2,
		   .segments = { { .handle = 8, .length = 4096, .offset = 1 },
				 { .handle = 9, .length = 100, .offset = 2 } } },
};

static void test_a_call_has_the_words_of_the_rfc(void **state)
{
	uint8_t out[RPCW_HEADER_MAX];
	struct words want = { 0 };

	(void)state;
	WORDS(&want, XID, 1, 64, 0);
	WORDS(&want, 1, 128, 7, 8192, 0x11223344, 0x55667788, 0);
	WORDS(&want, 1, 2, 8, 4096, 0, 1, 9, 100, 0, 2, 0);
	WORDS(&want, 0);
	assert_int_equal(rpcw_call_bytes(&sample), want.n * 4);
	rpcw_call_pack(&sample, out);
	assert_memory_equal(out, want.bytes, want.n * 4);
}

static void test_a_long_call_has_all_of_it_in_its_read_chunk(void **state)
{
	struct rpcw_call call = { .xid = XID,
				  .credits = 1,
				  .kind = RPCW_NOMSG };
	uint8_t out[RPCW_HEADER_MAX];
	struct words want = { 0 };
	uint32_t i;

	(void)state;
	WORDS(&want, XID, 1, 1, 1);
	for (i = 0; i < RPCW_SEGMENTS; i++) {
		call.read.segments[i] = (struct rpcw_segment){ i, 10 + i, i };
		call.reply.segments[i] = (struct rpcw_segment){ i, 20 + i, i };
		WORDS(&want, 1, 0, i, 10 + i, 0, i);
	}
	call.read.count = call.reply.count = RPCW_SEGMENTS;
	WORDS(&want, 0, 0, 1, RPCW_SEGMENTS);
	for (i = 0; i < RPCW_SEGMENTS; i++)
		WORDS(&want, i, 20 + i, 0, i);
	assert_int_equal(rpcw_call_bytes(&call), want.n * 4);
	assert_true(rpcw_call_bytes(&call) <= RPCW_HEADER_MAX);
	rpcw_call_pack(&call, out);
	assert_memory_equal(out, want.bytes, want.n * 4);
}

static void test_a_call_without_chunks_is_the_shortest(void **state)
{
	struct rpcw_call call = { .xid = XID, .credits = 5 };
	uint8_t out[RPCW_HEADER_MIN];
	struct words want = { 0 };

	(void)state;
	WORDS(&want, XID, 1, 5, 0, 0, 0, 0);
	assert_int_equal(rpcw_call_bytes(&call), RPCW_HEADER_MIN);
	rpcw_call_pack(&call, out);
	assert_memory_equal(out, want.bytes, sizeof(out));
	assert_int_equal(rpcw_reply_room(0), 996);
	assert_int_equal(rpcw_reply_room(1), 972);
}

static void test_a_reply_is_taken_apart(void **state)
{
	struct rpcw_reply reply;
	struct words w = { 0 };

	(void)state;
	WORDS(&w, XID, 1, 32, 0, 0);
	WORDS(&w, 1, 2, 8, 4096, 0, 1, 9, 10, 0, 2, 0);
	WORDS(&w, 0);
	WORDS(&w, XID, 1, 42);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	assert_int_equal(reply.xid, XID);
	assert_int_equal(reply.credits, 32);
	assert_int_equal(reply.kind, RPCW_MSG);
	assert_int_equal(reply.write_bytes, 4106);
	assert_int_equal(reply.reply_bytes, 0);
	assert_int_equal(reply.header_bytes, (w.n - 3) * 4);
	assert_false(reply.is_call);
	assert_int_equal(rpcw_reply_check(&sample, &reply), RPCW_OK);
}

static void test_no_credits_are_one(void **state)
{
	struct rpcw_reply reply;
	struct words w = { 0 };

	(void)state;
	WORDS(&w, XID, 1, 0, 0, 0, 0, 0, XID, 1);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	assert_int_equal(reply.credits, 1);
}

static void test_a_call_of_the_servers_is_told_from_a_reply(void **state)
{
	struct rpcw_reply reply;
	struct words w = { 0 };

	(void)state;
	WORDS(&w, XID, 1, 1, 0, 0, 0, 0, XID, 0);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	assert_true(reply.is_call);
	w.n = 0;
	WORDS(&w, XID, 1, 1, 0, 0, 1, 0, 0, 0, XID, 0);
	assert_int_equal(parse(&w, &reply), RPCW_UNASKED);
}

static void test_an_error_is_told_as_the_words_of_a_reply(void **state)
{
	uint8_t out[RPCW_FAILURE_BYTES];
	struct words want = { 0 };

	(void)state;
	WORDS(&want, XID, 1, 0, 0, 0, 5);
	rpcw_failure_pack(XID, out);
	assert_int_equal(sizeof(out), want.n * 4);
	assert_memory_equal(out, want.bytes, sizeof(out));
}

static void test_errors_need_their_number_alone(void **state)
{
	struct rpcw_reply reply;
	struct words w = { 0 };

	(void)state;
	WORDS(&w, XID, 1, 1, 4, RPCW_ERR_VERS, 1, 1);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	assert_int_equal(reply.kind, RPCW_ERROR);
	assert_int_equal(reply.error, RPCW_ERR_VERS);
	assert_int_equal(rpcw_reply_check(&sample, &reply), RPCW_OK);
	w.n = 4;
	assert_int_equal(parse(&w, &reply), RPCW_SHORT);
}

/* Each is a message, and what is wrong with it. */
static const struct {
	enum rpcw_violation is;
	uint32_t n;
	uint32_t words[12];
} wrong[] = {
	{ RPCW_SHORT, 0, { 0 } },
	{ RPCW_SHORT, 3, { XID, 1, 1 } },
	{ RPCW_VERSION, 9, { XID, 2, 1, 0, 0, 0, 0, XID, 1 } },
	{ RPCW_KIND, 9, { XID, 1, 1, 2, 0, 0, 0, XID, 1 } },
	{ RPCW_KIND, 9, { XID, 1, 1, 3, 0, 0, 0, XID, 1 } },
	{ RPCW_KIND, 9, { XID, 1, 1, 5, 0, 0, 0, XID, 1 } },
	{ RPCW_READS, 9, { XID, 1, 1, 0, 1, 0, 0, XID, 1 } },
	{ RPCW_LIST, 9, { XID, 1, 1, 0, 2, 0, 0, XID, 1 } },
	{ RPCW_LIST, 9, { XID, 1, 1, 0, 0, 2, 0, XID, 1 } },
	{ RPCW_LIST, 9, { XID, 1, 1, 0, 0, 0, 2, XID, 1 } },
	/* Two write chunks. */
	{ RPCW_LIST, 12, { XID, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0, XID } },
	{ RPCW_COUNT, 8, { XID, 1, 1, 0, 0, 1, RPCW_SEGMENTS + 1, 0 } },
	{ RPCW_COUNT, 8, { XID, 1, 1, 0, 0, 1, 0xffffffff, 0 } },
	{ RPCW_COUNT, 8, { XID, 1, 1, 1, 0, 0, 1, 0xffffffff } },
	{ RPCW_SHORT, 7, { XID, 1, 1, 0, 0, 1, 1 } },
	{ RPCW_SHORT, 10, { XID, 1, 1, 0, 0, 1, 1, 8, 100, 0 } },
	{ RPCW_LONG, 12, { XID, 1, 1, 0, 0, 1, 1, 8, 0x40000001, 0, 1, 0 } },
	{ RPCW_SHORT, 7, { XID, 1, 1, 0, 0, 0, 0 } },
	{ RPCW_SHORT, 8, { XID, 1, 1, 0, 0, 0, 0, XID } },
	{ RPCW_XID, 9, { XID, 1, 1, 0, 0, 0, 0, XID + 1, 1 } },
	{ RPCW_DIRECTION, 9, { XID, 1, 1, 0, 0, 0, 0, XID, 2 } },
	/* Bytes behind a header that has everything. */
	{ RPCW_LONG, 8, { XID, 1, 1, 1, 0, 0, 0, XID } },
};

static void test_what_is_malformed_is_no_reply(void **state)
{
	struct rpcw_reply reply;
	struct words w;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		memset(&w, 0, sizeof(w));
		memset(&reply, 0x5a, sizeof(reply));
		while (w.n < wrong[i].n)
			put(&w, wrong[i].words[w.n]);
		if (parse(&w, &reply) != wrong[i].is)
			fail_msg("message %zu is %d, not %d", i,
				 parse(&w, &reply), wrong[i].is);
		/* Nothing was given out. */
		assert_int_equal(reply.xid, 0x5a5a5a5a);
	}
}

/* Of the sample's write chunk: what the server says it has written. */
static enum rpcw_violation written(uint32_t first, uint32_t second)
{
	struct rpcw_reply reply;
	struct words w = { 0 };

	WORDS(&w, XID, 1, 1, 0, 0, 1, 2, 8, first, 0, 1, 9, second, 0, 2, 0, 0);
	WORDS(&w, XID, 1);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	return rpcw_reply_check(&sample, &reply);
}

static void test_no_more_is_written_than_was_offered(void **state)
{
	(void)state;
	assert_int_equal(written(0, 0), RPCW_OK);
	assert_int_equal(written(4095, 0), RPCW_OK);
	assert_int_equal(written(4096, 100), RPCW_OK);
	assert_int_equal(written(4097, 0), RPCW_SEGMENT);
	assert_int_equal(written(4096, 101), RPCW_SEGMENT);
	/* A gap. */
	assert_int_equal(written(4095, 1), RPCW_SEGMENT);
}

static void test_chunks_that_were_not_offered_are_refused(void **state)
{
	struct rpcw_call plain = { .xid = XID };
	struct rpcw_reply reply;
	struct words w = { 0 };

	(void)state;
	/* One segment more than the chunk had. */
	WORDS(&w, XID, 1, 1, 0, 0, 1, 3, 8, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0, 0);
	WORDS(&w, 0, 0, XID, 1);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	assert_int_equal(rpcw_reply_check(&sample, &reply), RPCW_UNASKED);
	/* A chunk, be it empty, where there was none. */
	w.n = 0;
	WORDS(&w, XID, 1, 1, 0, 0, 1, 0, 0, 0, XID, 1);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	assert_int_equal(rpcw_reply_check(&sample, &reply), RPCW_OK);
	assert_int_equal(rpcw_reply_check(&plain, &reply), RPCW_UNASKED);
	w.n = 0;
	WORDS(&w, XID, 1, 1, 0, 0, 0, 1, 0, XID, 1);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	assert_int_equal(rpcw_reply_check(&plain, &reply), RPCW_UNASKED);
}

static void test_a_message_is_in_one_place(void **state)
{
	const struct rpcw_call call = {
		.xid = XID,
		.reply = { .count = 1, .segments = { { .length = 100 } } },
	};
	struct rpcw_reply reply;
	struct words w = { 0 };

	(void)state;
	WORDS(&w, XID, 1, 1, 1, 0, 0, 1, 1, 8, 100, 0, 1);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	assert_int_equal(reply.reply_bytes, 100);
	assert_int_equal(rpcw_reply_check(&call, &reply), RPCW_OK);
	/* More of it than there is room for. */
	w.n = 0;
	WORDS(&w, XID, 1, 1, 1, 0, 0, 1, 1, 8, 101, 0, 1);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	assert_int_equal(rpcw_reply_check(&call, &reply), RPCW_SEGMENT);
	/* Nowhere. */
	w.n = 0;
	WORDS(&w, XID, 1, 1, 1, 0, 0, 1, 1, 8, 0, 0, 1);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	assert_int_equal(rpcw_reply_check(&call, &reply), RPCW_EMPTY);
	/* In both. */
	w.n = 0;
	WORDS(&w, XID, 1, 1, 0, 0, 0, 1, 1, 8, 4, 0, 1, XID, 1);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	assert_int_equal(rpcw_reply_check(&call, &reply), RPCW_LONG);
	/* The chunk was not needed. */
	w.n = 0;
	WORDS(&w, XID, 1, 1, 0, 0, 0, 1, 1, 8, 0, 0, 1, XID, 1);
	assert_int_equal(parse(&w, &reply), RPCW_OK);
	assert_int_equal(rpcw_reply_check(&call, &reply), RPCW_OK);
}

/* A reply, of which some words are others. What is taken is within what was offered. */
static void test_anything_is_refused_or_within_the_offer(void **state)
{
	uint32_t round, i, taken = 0, of_words;
	struct rpcw_reply reply;
	struct words w, good = { 0 };
	uint8_t *exact;

	(void)state;
	srand(1);
	WORDS(&good, XID, 1, 1, 0, 0, 1, 2, 8, 4096, 0, 1, 9, 50, 0, 2, 0, 0);
	WORDS(&good, XID, 1, 2, 3);
	for (round = 0; round < ROUNDS; round++) {
		w = good;
		for (i = rand() % 4; i; i--)
			w.bytes[rand() % (w.n * 4)] =
				rand() % 3 ? rand() % 5 : rand();
		of_words = rand() % 2 ? w.n : (uint32_t)rand() % (w.n + 1);
		/* Whoever reads beyond it is caught (AddressSanitizer). */
		exact = malloc(of_words * 4 + 1);
		assert_non_null(exact);
		memcpy(exact, w.bytes, of_words * 4);
		if (!rpcw_reply_parse(exact, of_words * 4, &reply) &&
		    !rpcw_reply_check(&sample, &reply)) {
			taken++;
			assert_true(reply.credits > 0);
			assert_true(reply.header_bytes <= of_words * 4);
			assert_true(reply.write_bytes <= 4096 + 100);
			assert_int_equal(reply.reply_bytes, 0);
		}
		free(exact);
	}
	assert_true(taken > ROUNDS / 100 && taken < ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_call_has_the_words_of_the_rfc),
		cmocka_unit_test(
			test_a_long_call_has_all_of_it_in_its_read_chunk),
		cmocka_unit_test(test_a_call_without_chunks_is_the_shortest),
		cmocka_unit_test(test_a_reply_is_taken_apart),
		cmocka_unit_test(test_no_credits_are_one),
		cmocka_unit_test(
			test_a_call_of_the_servers_is_told_from_a_reply),
		cmocka_unit_test(test_an_error_is_told_as_the_words_of_a_reply),
		cmocka_unit_test(test_errors_need_their_number_alone),
		cmocka_unit_test(test_what_is_malformed_is_no_reply),
		cmocka_unit_test(test_no_more_is_written_than_was_offered),
		cmocka_unit_test(test_chunks_that_were_not_offered_are_refused),
		cmocka_unit_test(test_a_message_is_in_one_place),
		cmocka_unit_test(test_anything_is_refused_or_within_the_offer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
