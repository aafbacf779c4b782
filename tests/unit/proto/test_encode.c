// SPDX-License-Identifier: BSD-2-Clause
/*
 * What encoders write and refuse, and how much fits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "kfb_err.h"
#include "samples.h"

#define POISON_A 0xa5
#define POISON_B 0x5a
#define BUF_LEN	 (2 * KFB_REPLY_MAX_BYTES)

static union sample_message message, decoded;
static __u8 buf_a[BUF_LEN], buf_b[BUF_LEN];

static void encoders_write_every_byte_they_report_and_no_other(void **state)
{
	unsigned int i, at;

	for (i = 0; i < n_samples; i++) {
		const struct sample *sample = &samples[i];
		int len;

		memset(buf_a, POISON_A, BUF_LEN);
		memset(buf_b, POISON_B, BUF_LEN);
		len = sample_encode(sample->kind, &sample->message, buf_a,
				    BUF_LEN);
		assert_true(len > 0);
		assert_int_equal(sample_encode(sample->kind, &sample->message,
					       buf_b, BUF_LEN),
				 len);
		assert_memory_equal(buf_a, buf_b, len);
		for (at = (unsigned int)len; at < BUF_LEN; at++)
			assert_int_equal(buf_a[at], POISON_A);
	}
}

static void a_buffer_that_is_too_small_stays_untouched(void **state)
{
	unsigned int i;
	int len, cap;

	for (i = 0; i < n_samples; i++) {
		const struct sample *sample = &samples[i];

		len = sample_encode(sample->kind, &sample->message, buf_a,
				    BUF_LEN);
		for (cap = 0; cap < len; cap++) {
			memset(buf_b, POISON_B, BUF_LEN);
			assert_int_equal(sample_encode(sample->kind,
						       &sample->message, buf_b,
						       (__u32)cap),
					 -ENOSPC);
			assert_int_equal(buf_b[0], POISON_B);
			assert_memory_equal(buf_b, buf_b + 1, BUF_LEN - 1);
		}
		assert_int_equal(sample_encode(sample->kind, &sample->message,
					       buf_b, (__u32)len),
				 len);
	}
}

static void refuse(enum sample_kind kind)
{
	memset(buf_a, POISON_A, BUF_LEN);
	assert_int_equal(sample_encode(kind, &message, buf_a, BUF_LEN),
			 -EINVAL);
	assert_int_equal(buf_a[0], POISON_A);
	assert_memory_equal(buf_a, buf_a + 1, BUF_LEN - 1);
}

static void load(const char *file)
{
	message = sample_find(file)->message;
}

static void encoders_refuse_what_decoders_refuse(void **state)
{
	load("hello");
	message.hello.version_min = KFB_VERSION + 1;
	refuse(SAMPLE_HELLO);
	load("accept");
	message.accept.session_id = 0;
	refuse(SAMPLE_ACCEPT);
	load("reject");
	message.reject.status = KFB_ST_OK;
	refuse(SAMPLE_REJECT);
	load("info-request");
	message.request.op = KFB_OP_LAST + 1;
	refuse(SAMPLE_REQUEST);
	message.request.op = KFB_OP_EVENT;
	refuse(SAMPLE_REQUEST);
	message.request.op = 0;
	refuse(SAMPLE_REQUEST);
	load("auth-request");
	message.request.u.auth.name_len = KFB_NAME_MAX + 1;
	refuse(SAMPLE_REQUEST);
	load("flush-request");
	message.request.u.flush.n_ranges = KFB_FLUSH_RANGES_MAX + 1;
	refuse(SAMPLE_REQUEST);
	load("auth-reply");
	message.reply.u.auth.n_grants = KFB_GRANTS_MAX + 1;
	refuse(SAMPLE_REPLY);
	load("map-reply");
	message.reply.u.map.n_handles = KFB_HANDLES_MAX + 1;
	refuse(SAMPLE_REPLY);
	load("list-reply");
	message.reply.u.list.n_extents = KFB_LIST_EXTENTS_MAX + 1;
	refuse(SAMPLE_REPLY);
	load("event");
	message.reply.cookie.seq = 1;
	refuse(SAMPLE_REPLY);
	message.reply.cookie.seq = 0;
	message.reply.status = KFB_ST_IO;
	refuse(SAMPLE_REPLY);
}

/* A reply with room behind its array, for one element too many. */
static union {
	struct kfb_reply reply;
	__u8 room[2 * sizeof(struct kfb_reply)];
} roomy;

/* Repeats an array's first element and expects max of them to be the most. */
static void refuse_one_more(const char *file, void *array, __u32 *count,
			    __u32 max, size_t element)
{
	__u8 *at = array;
	__u32 i;

	roomy.reply = sample_find(file)->message.reply;
	for (i = 1; i <= max; i++)
		memcpy(at + i * element, at, element);
	*count = max;
	assert_true(kfb_encode_reply(&roomy.reply, buf_a, BUF_LEN) > 0);
	*count = max + 1;
	assert_int_equal(kfb_encode_reply(&roomy.reply, buf_a, BUF_LEN),
			 -EINVAL);
}

static void one_element_too_many_is_not_encoded(void **state)
{
	struct kfb_auth_reply *auth = &roomy.reply.u.auth;
	struct kfb_map_reply *map = &roomy.reply.u.map;
	struct kfb_list_reply *list = &roomy.reply.u.list;

	refuse_one_more("auth-reply", auth->grants, &auth->n_grants,
			KFB_GRANTS_MAX, sizeof(auth->grants[0]));
	refuse_one_more("map-reply", map->handles, &map->n_handles,
			KFB_HANDLES_MAX, sizeof(map->handles[0]));
	refuse_one_more("list-reply", list->extents, &list->n_extents,
			KFB_LIST_EXTENTS_MAX, sizeof(list->extents[0]));
}

/* Encodes message, decodes it and expects the same; returns the length. */
static __u32 round_trip(enum sample_kind kind)
{
	int len = sample_encode(kind, &message, buf_a, BUF_LEN);

	assert_true(len > 0);
	assert_int_equal(sample_decode(kind, buf_a, (__u32)len, &decoded), 0);
	assert_memory_equal(&decoded, &message, sizeof(message));
	return (__u32)len;
}

/* Writes a count over the encoded message and expects it to be refused. */
static void refuse_count(enum sample_kind kind, __u32 at, __u32 count,
			 __u32 len)
{
	unsigned int i;

	for (i = 0; i < 4; i++)
		buf_a[at + i] = (__u8)(count >> 8 * i);
	assert_int_equal(sample_decode(kind, buf_a, len, &decoded), -EBADMSG);
}

/* The count itself, off by one, and such that count * element wraps. */
static void refuse_counts(enum sample_kind kind, __u32 at, __u32 count,
			  __u32 element, __u32 len)
{
	refuse_count(kind, at, count + 1, len);
	refuse_count(kind, at, count - 1, len);
	refuse_count(kind, at, ~0U, len);
	refuse_count(kind, at, (__u32)((1ULL << 32) / element) + count, len);
}

static void the_most_flush_ranges_fit_and_one_more_is_refused(void **state)
{
	struct kfb_flush *flush = &message.request.u.flush;
	__u32 i, len;

	load("flush-request");
	flush->n_ranges = KFB_FLUSH_RANGES_MAX;
	for (i = 0; i < KFB_FLUSH_RANGES_MAX; i++) {
		flush->ranges[i].va = i;
		flush->ranges[i].len = ~0ULL - i;
	}
	len = round_trip(SAMPLE_REQUEST);
	assert_in_range(len, KFB_REQ_MAX_BYTES - 15, KFB_REQ_MAX_BYTES);
	refuse_counts(SAMPLE_REQUEST, 36, KFB_FLUSH_RANGES_MAX, 16, len);
}

static void the_most_grants_fit_and_one_more_is_refused(void **state)
{
	struct kfb_auth_reply *auth = &message.reply.u.auth;
	__u32 i, len;

	load("auth-reply");
	auth->n_grants = KFB_GRANTS_MAX;
	for (i = 0; i < KFB_GRANTS_MAX; i++) {
		auth->grants[i].va = i * KFB_BLOCK_BYTES;
		auth->grants[i].n_blocks = KFB_BLOCKS_MAX - i;
		auth->grants[i].access = KFB_GRANT_RO;
	}
	len = round_trip(SAMPLE_REPLY);
	assert_in_range(len, KFB_REPLY_MAX_BYTES - 23, KFB_REPLY_MAX_BYTES);
	refuse_counts(SAMPLE_REPLY, 88, KFB_GRANTS_MAX, 24, len);
}

static void the_most_handles_fit_and_one_more_is_refused(void **state)
{
	struct kfb_map_reply *map = &message.reply.u.map;
	__u32 i, len;

	load("map-reply");
	map->n_handles = KFB_HANDLES_MAX;
	for (i = 0; i < KFB_HANDLES_MAX; i++) {
		map->handles[i].va = i * KFB_MAP_EXTENT_MAX_BYTES;
		map->handles[i].n_blocks = 512;
		map->handles[i].key = ~0ULL - i;
		map->handles[i].raddr = i;
		map->handles[i].birth = ~i;
	}
	len = round_trip(SAMPLE_REPLY);
	assert_in_range(len, KFB_REPLY_MAX_BYTES - 39, KFB_REPLY_MAX_BYTES);
	refuse_counts(SAMPLE_REPLY, 48, KFB_HANDLES_MAX, 40, len);
}

static void the_most_extents_fit_and_one_more_is_refused(void **state)
{
	struct kfb_list_reply *list = &message.reply.u.list;
	__u32 i, len;

	load("list-reply");
	list->n_extents = KFB_LIST_EXTENTS_MAX;
	for (i = 0; i < KFB_LIST_EXTENTS_MAX; i++) {
		list->extents[i].va = i * 2 * KFB_BLOCK_BYTES;
		list->extents[i].n_blocks = 1;
		list->extents[i].mapping_id = ~0ULL - i;
		list->extents[i].flags = i & KFB_EXTENT_FLAGS;
	}
	len = round_trip(SAMPLE_REPLY);
	assert_in_range(len, KFB_REPLY_MAX_BYTES - 31, KFB_REPLY_MAX_BYTES);
	refuse_counts(SAMPLE_REPLY, 48, KFB_LIST_EXTENTS_MAX, 32, len);
}

static void a_name_may_be_as_long_as_its_field(void **state)
{
	load("auth-request");
	message.request.u.auth.name_len = KFB_NAME_MAX;
	memset(message.request.u.auth.name, '~', KFB_NAME_MAX);
	round_trip(SAMPLE_REQUEST);
	message.request.u.auth.name_len = 0;
	memset(message.request.u.auth.name, 0, KFB_NAME_MAX);
	round_trip(SAMPLE_REQUEST);
}

static void an_event_may_be_about_no_blocks(void **state)
{
	load("event");
	message.reply.u.event.kind = KFB_EVENT_SHUTDOWN;
	message.reply.u.event.va = 0;
	message.reply.u.event.n_blocks = 0;
	round_trip(SAMPLE_REPLY);
	message.reply.u.event.va = KFB_BLOCK_BYTES;
	refuse(SAMPLE_REPLY);
}

static void an_eviction_may_have_a_cause_that_is_newer(void **state)
{
	load("event-evicted");
	message.reply.u.event.uid = 0;
	message.reply.u.event.cause = KFB_EVICTED_LAST;
	round_trip(SAMPLE_REPLY);
	message.reply.u.event.cause = 0xffffffff;
	round_trip(SAMPLE_REPLY);
	message.reply.u.event.mapping_id = 1;
	refuse(SAMPLE_REPLY);
	message.reply.u.event.mapping_id = 0;
	message.reply.u.event.kind = KFB_EVENT_SHUTDOWN;
	refuse(SAMPLE_REPLY);
}

static void a_request_with_a_newer_op_can_be_refused_by_name(void **state)
{
	struct kfb_reply reply = { .op = KFB_OP_LAST + 1,
				   .status = KFB_ST_NOT_SUPPORTED,
				   .cookie = { 3, 4 } };
	__u32 len = sample_read(sample_find("alloc-request"), buf_a);

	buf_a[0] = KFB_OP_LAST + 1;
	memset(&decoded, 0, sizeof(decoded));
	assert_int_equal(kfb_decode_request(buf_a, len, &decoded.request),
			 -EOPNOTSUPP);
	assert_int_equal(decoded.request.op, KFB_OP_LAST + 1);
	assert_int_equal(decoded.request.cookie.slot, 1);
	assert_int_equal(decoded.request.cookie.seq, 1);
	/* The header must be well-formed all the same. */
	buf_a[10] = 1;
	assert_int_equal(kfb_decode_request(buf_a, len, &decoded.request),
			 -EBADMSG);

	assert_int_equal(kfb_encode_reply(&reply, buf_a, BUF_LEN), 32);
	assert_int_equal(buf_a[0], KFB_OP_LAST + 1);
	assert_int_equal(buf_a[1], KFB_OP_REPLY >> 8);
	reply.status = KFB_ST_IO;
	assert_int_equal(kfb_encode_reply(&reply, buf_a, BUF_LEN), -EINVAL);
	/* That is no way around the ops that are none. */
	reply.status = KFB_ST_NOT_SUPPORTED;
	reply.op = KFB_OP_INFO | KFB_OP_REPLY;
	assert_int_equal(kfb_encode_reply(&reply, buf_a, BUF_LEN), -EINVAL);
	reply.op = 0;
	assert_int_equal(kfb_encode_reply(&reply, buf_a, BUF_LEN), -EINVAL);
}

static void a_failed_decode_leaves_the_output_alone(void **state)
{
	__u8 *out = (__u8 *)&decoded;

	memset(&decoded, POISON_A, sizeof(decoded));
	sample_read(sample_find("hello"), buf_a);
	assert_int_equal(kfb_decode_hello(buf_a, 43, &decoded.hello), -EBADMSG);
	sample_read(sample_find("accept"), buf_a);
	assert_int_equal(kfb_decode_accept(buf_a, 47, &decoded.accept),
			 -EBADMSG);
	sample_read(sample_find("reject"), buf_a);
	assert_int_equal(kfb_decode_reject(buf_a, 11, &decoded.reject),
			 -EBADMSG);
	sample_read(sample_find("flush-request"), buf_a);
	buf_a[32] = 2;
	assert_int_equal(kfb_decode_request(buf_a, 72, &decoded.request),
			 -EBADMSG);
	assert_int_equal(out[0], POISON_A);
	assert_memory_equal(out, out + 1, sizeof(decoded) - 1);
}

static void an_unknown_status_becomes_eproto(void **state)
{
	__u32 len = sample_read(sample_find("error-reply"), buf_a);

	buf_a[2] = KFB_ST_LAST + 1;
	assert_int_equal(kfb_decode_reply(buf_a, len, &decoded.reply), 0);
	assert_int_equal(kfb_status_to_errno(decoded.reply.status), -EPROTO);
	assert_int_equal(kfb_status_to_errno(0xffff), -EPROTO);
	assert_non_null(kfb_status_text(decoded.reply.status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			encoders_write_every_byte_they_report_and_no_other),
		cmocka_unit_test(a_buffer_that_is_too_small_stays_untouched),
		cmocka_unit_test(encoders_refuse_what_decoders_refuse),
		cmocka_unit_test(one_element_too_many_is_not_encoded),
		cmocka_unit_test(
			the_most_flush_ranges_fit_and_one_more_is_refused),
		cmocka_unit_test(the_most_grants_fit_and_one_more_is_refused),
		cmocka_unit_test(the_most_handles_fit_and_one_more_is_refused),
		cmocka_unit_test(the_most_extents_fit_and_one_more_is_refused),
		cmocka_unit_test(a_name_may_be_as_long_as_its_field),
		cmocka_unit_test(an_event_may_be_about_no_blocks),
		cmocka_unit_test(an_eviction_may_have_a_cause_that_is_newer),
		cmocka_unit_test(
			a_request_with_a_newer_op_can_be_refused_by_name),
		cmocka_unit_test(a_failed_decode_leaves_the_output_alone),
		cmocka_unit_test(an_unknown_status_becomes_eproto),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
