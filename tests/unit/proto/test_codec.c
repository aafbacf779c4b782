// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the codec refuses: every truncation, length, reserved byte, count and
 * value that is not of the form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kfb_err.h"
#include "samples.h"

#define LENGTH_AT offsetof(struct kfb_wire_header, length_bytes)
#define BODY_AT	  sizeof(struct kfb_wire_header)

static union sample_message decoded;
static __u8 bytes[2 * KFB_REPLY_MAX_BYTES];
static __u8 encoded[KFB_REPLY_MAX_BYTES];

/* Little endian at an offset; the codec's own accessors are not trusted. */
static void poke(__u32 at, unsigned int n, __u64 value)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		bytes[at + i] = (__u8)(value >> 8 * i);
}

static _Bool is_private(const struct sample *sample)
{
	return sample->kind == SAMPLE_HELLO || sample->kind == SAMPLE_ACCEPT ||
	       sample->kind == SAMPLE_REJECT;
}

static int decode(const struct sample *sample, __u32 len)
{
	return sample_decode(sample->kind, bytes, len, &decoded);
}

/* From memory that ends with the message: sanitizers see a read beyond it. */
static int decode_exactly(const struct sample *sample, __u32 len)
{
	void *copy = malloc(len ? len : 1);
	int error;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	error = sample_decode(sample->kind, copy, len, &decoded);
	free(copy);
	return error;
}

static void every_truncation_is_refused(void **state)
{
	unsigned int i;
	__u32 cut;

	for (i = 0; i < n_samples; i++) {
		__u32 len = sample_read(&samples[i], bytes);

		for (cut = 0; cut < len; cut++) {
			if (decode_exactly(&samples[i], cut) != -EBADMSG)
				fail_msg("%s cut to %u", samples[i].file, cut);
			if (is_private(&samples[i]) || cut < BODY_AT)
				continue;
			/* Also when the header knows of it. */
			poke(LENGTH_AT, 4, cut);
			if (decode_exactly(&samples[i], cut) != -EBADMSG)
				fail_msg("%s made %u long", samples[i].file,
					 cut);
			poke(LENGTH_AT, 4, len);
		}
	}
}

static void every_excess_is_refused(void **state)
{
	unsigned int i;
	__u32 more;

	for (i = 0; i < n_samples; i++) {
		__u32 len = sample_read(&samples[i], bytes);

		if (is_private(&samples[i]))
			continue;
		for (more = 1; more <= 48; more++) {
			memset(bytes + len, 0, more);
			assert_int_equal(decode(&samples[i], len + more),
					 -EBADMSG);
			poke(LENGTH_AT, 4, len + more);
			if (decode(&samples[i], len + more) != -EBADMSG)
				fail_msg("%s with %u more", samples[i].file,
					 more);
			poke(LENGTH_AT, 4, len);
		}
	}
}

static void padding_behind_private_data_is_ignored(void **state)
{
	unsigned int i;

	for (i = 0; i < n_samples; i++) {
		__u32 len;

		if (!is_private(&samples[i]))
			continue;
		memset(bytes, 0xff, sizeof(bytes));
		len = sample_read(&samples[i], bytes);
		assert_int_equal(decode(&samples[i], len + 100), 0);
		assert_memory_equal(&decoded, &samples[i].message,
				    sizeof(decoded));
	}
}

static void messages_above_the_maximum_are_refused(void **state)
{
	__u32 len = sample_read(sample_find("flush-request"), bytes);

	assert_int_equal(decode(sample_find("flush-request"), len), 0);
	poke(0, 2, KFB_OP_LAST + 1);
	poke(LENGTH_AT, 4, KFB_REQ_MAX_BYTES);
	assert_int_equal(kfb_decode_request(bytes, KFB_REQ_MAX_BYTES,
					    &decoded.request),
			 -EOPNOTSUPP);
	assert_int_equal(kfb_decode_request(bytes, KFB_REQ_MAX_BYTES + 1,
					    &decoded.request),
			 -EMSGSIZE);
	assert_int_equal(kfb_decode_reply(bytes, KFB_REPLY_MAX_BYTES + 1,
					  &decoded.reply),
			 -EMSGSIZE);
}

/*
 * Whatever byte is changed, to whatever value: either the message is refused,
 * or all of it was understood, so that it encodes to the same bytes.
 */
static void no_byte_is_ignored(void **state)
{
	unsigned int i, value;
	__u32 at;

	for (i = 0; i < n_samples; i++) {
		const struct sample *sample = &samples[i];
		__u32 len = sample_read(sample, bytes);

		for (at = 0; at < len; at++) {
			__u8 was = bytes[at];

			for (value = 0; value < 256; value++) {
				bytes[at] = (__u8)value;
				if (decode(sample, len))
					continue;
				assert_int_equal(
					sample_encode(sample->kind, &decoded,
						      encoded, sizeof(encoded)),
					len);
				if (memcmp(encoded, bytes, len))
					fail_msg("%s: byte %u = %u is ignored",
						 sample->file, at, value);
			}
			bytes[at] = was;
		}
	}
}

struct reserved {
	const char *file;
	__u16 from;
	__u16 len;
};

static void every_reserved_byte_must_be_zero(void **state)
{
	static const struct reserved reserved[] = {
		{ "hello", 26, 2 },	    { "accept", 5, 1 },
		{ "info-request", 2, 2 },   { "info-request", 10, 2 },
		{ "info-request", 18, 14 }, { "info-reply", 10, 2 },
		{ "info-reply", 18, 14 },   { "event", 2, 2 },
		{ "event", 8, 8 },	    { "event", 18, 14 },
		{ "auth-request", 33, 7 },  { "auth-request", 44, 36 },
		{ "auth-reply", 92, 4 },    { "auth-reply", 116, 4 },
		{ "auth-reply", 140, 4 },   { "info-reply", 160, 8 },
		{ "map-request", 68, 4 },   { "map-reply", 52, 4 },
		{ "map-reply", 92, 4 },	    { "map-reply", 132, 4 },
		{ "unmap-request", 60, 4 }, { "list-reply", 52, 4 },
		{ "list-reply", 84, 4 },    { "list-reply", 116, 4 },
		{ "list-reply", 148, 4 },   { "event", 68, 4 },
	};
	unsigned int i, at, value;

	for (i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
		const struct sample *sample = sample_find(reserved[i].file);
		__u32 len = sample_read(sample, bytes);

		for (at = 0; at < reserved[i].len; at++) {
			__u8 *byte = &bytes[reserved[i].from + at];

			assert_int_equal(*byte, 0);
			for (value = 1; value < 256; value++) {
				*byte = (__u8)value;
				if (decode(sample, len) != -EBADMSG)
					fail_msg("%s: byte %u = %u",
						 sample->file,
						 reserved[i].from + at, value);
			}
			*byte = 0;
		}
	}
}

struct value {
	const char *file;
	__u16 at;
	__u16 bytes;
	__u64 value;
};

static const struct value values[] = {
	/* HELLO: magic, versions, a join without a session */
	{ "hello", 0, 4, KFB_MAGIC_ACCEPT },
	{ "hello", 4, 1, 0 },
	{ "hello", 4, 1, KFB_VERSION + 1 },
	{ "hello", 6, 2, 1 },
	/* ACCEPT */
	{ "accept", 0, 4, KFB_MAGIC_HELLO },
	{ "accept", 4, 1, 0 },
	{ "accept", 6, 2, KFB_CREDITS_MIN - 1 },
	{ "accept", 6, 2, KFB_CREDITS_MAX + 1 },
	{ "accept", 8, 4, KFB_FEATURES_V1 + 1 },
	{ "accept", 12, 2, 511 },
	{ "accept", 14, 2, 4097 },
	{ "accept", 16, 8, 0 },
	{ "accept", 24, 8, 0 },
	/* REJECT */
	{ "reject", 0, 4, KFB_MAGIC_HELLO },
	{ "reject", 4, 2, KFB_ST_OK },
	{ "reject", 6, 1, 0 },
	{ "reject", 6, 1, KFB_VERSION + 1 },
	/* the header: an op of the other direction, a status */
	{ "info-request", 0, 2, 0 },
	{ "info-request", 0, 2, KFB_OP_EVENT },
	{ "info-request", 0, 2, KFB_OP_INFO | KFB_OP_REPLY },
	{ "info-request", 2, 2, KFB_ST_IO },
	{ "alloc-reply", 0, 2, KFB_OP_ALLOC },
	{ "alloc-reply", 0, 2, KFB_OP_REPLY },
	{ "alloc-reply", 0, 2, (KFB_OP_LAST + 1) | KFB_OP_REPLY },
	{ "event", 0, 2, KFB_OP_EVENT | KFB_OP_REPLY },
	{ "event", 2, 2, KFB_ST_IO },
	{ "event", 8, 2, 1 },
	{ "event", 12, 4, 1 },
	/* a body where an error has none, and the other way round */
	{ "info-reply", 2, 2, KFB_ST_IO },
	{ "error-reply", 0, 2, KFB_OP_EVENT },
	/* AUTH: names */
	{ "auth-request", 32, 1, KFB_NAME_MAX + 1 },
	{ "auth-request", 32, 1, 3 },
	{ "auth-request", 32, 1, 5 },
	{ "auth-request", 40, 1, ' ' },
	{ "auth-request", 40, 1, 0x7f },
	{ "auth-request", 40, 1, 0xc3 },
	{ "auth-request", 40, 1, '\n' },
	/* AUTH reply: access, a range behind the end, no blocks */
	{ "auth-reply", 112, 4, 0 },
	{ "auth-reply", 112, 4, 3 },
	{ "auth-reply", 96, 8, 4096 },
	{ "auth-reply", 104, 8, 0 },
	{ "auth-reply", 128, 8, 2 },
	/* INFO reply */
	{ "info-reply", 64, 4, 20 },
	{ "info-reply", 68, 4, KFB_INFO_FLAGS + 1 },
	{ "info-reply", 72, 4, 0x26 },
	{ "info-reply", 76, 4, 0 },
	{ "info-reply", 76, 4, KFB_FLUSH_COMMIT },
	{ "info-reply", 76, 4, 0x6 },
	{ "info-reply", 80, 4, 0 },
	{ "info-reply", 80, 4, KFB_WHY_LAST + 1 },
	{ "info-reply", 84, 4, 0 },
	{ "info-reply", 84, 4, KFB_MEDIUM_LAST + 1 },
	{ "info-reply", 160, 4, 1 },
	{ "info-reply", 164, 4, 1 },
	{ "info-quota-reply", 68, 4, 0 },
	{ "info-rate-reply", 68, 4, 0 },
	{ "info-rate-reply", 68, 4, KFB_INFO_QUOTA },
	{ "info-rate-reply", 160, 4, 1 },
	{ "info-rate-reply", 168, 8, KFB_RATE_BYTES_MIN - 1 },
	{ "info-rate-reply", 168, 8, KFB_RATE_BYTES_MAX + 1 },
	{ "info-rate-reply", 168, 8, ~0ULL },
	{ "info-rate-reply", 176, 4, KFB_RATE_OPS_MIN - 1 },
	/* MAP: flags; handles: alignment, no blocks, above 1 GiB */
	{ "map-request", 64, 4, KFB_MAP_FLAGS + 1 },
	{ "map-reply", 56, 8, 1 },
	{ "map-reply", 64, 8, 0 },
	{ "map-reply", 64, 8, 513 },
	{ "map-reply", 56, 8, 0ULL - KFB_BLOCK_BYTES },
	/* LIST */
	{ "list-request", 32, 4, 0 },
	{ "list-request", 32, 4, KFB_LIST_MINE + 1 },
	{ "list-reply", 80, 4, KFB_EXTENT_FLAGS + 1 },
	{ "list-reply", 64, 8, 0 },
	{ "list-reply", 56, 8, 1 << 20 },
	{ "list-reply", 64, 8, KFB_BLOCKS_MAX + 1 },
	/* FLUSH: flags; everything and ranges */
	{ "flush-request", 32, 4, KFB_FLUSH_ALL },
	{ "flush-request", 32, 4, 2 },
	/* PING: flags */
	{ "ping-request", 36, 4, KFB_PING_FLAGS + 1 },
	{ "ping-end-request", 36, 4, 0x80000000 },
	/* FENCE and CLIENT: names, what is to be done, flags */
	{ "fence-request", 32, 1, 0 },
	{ "fence-request", 32, 1, KFB_NAME_MAX + 1 },
	{ "fence-request", 32, 1, 3 },
	{ "fence-request", 32, 1, 5 },
	{ "fence-request", 33, 1, 0 },
	{ "fence-request", 33, 1, KFB_FENCE_ADMIT + 1 },
	{ "fence-request", 40, 1, ' ' },
	{ "fence-admit-request", 40, 1, 0x7f },
	{ "client-request", 32, 1, KFB_NAME_MAX + 1 },
	{ "client-request", 32, 1, 1 },
	{ "client-request", 33, 1, 0 },
	{ "client-request", 33, 1, KFB_CLIENT_AFTER + 1 },
	{ "client-request", 40, 1, 'a' },
	{ "client-reply", 32, 1, 0 },
	{ "client-reply", 32, 1, 3 },
	{ "client-reply", 32, 1, KFB_NAME_MAX + 1 },
	{ "client-reply", 40, 1, ' ' },
	{ "client-reply", 80, 4, KFB_CLIENT_FLAGS + 1 },
	/* RESERVE: actions, types, flags, and what goes together */
	{ "reserve-request", 64, 1, 0 },
	{ "reserve-request", 64, 1, KFB_RESERVE_CLEAR + 1 },
	{ "reserve-request", 64, 1, KFB_RESERVE_REGISTER },
	{ "reserve-request", 64, 1, KFB_RESERVE_RESERVE },
	{ "reserve-request", 64, 1, KFB_RESERVE_RELEASE },
	{ "reserve-request", 64, 1, KFB_RESERVE_CLEAR },
	{ "reserve-request", 65, 1, KFB_RESERVED_NONE },
	{ "reserve-request", 65, 1, KFB_RESERVED_LAST + 1 },
	{ "reserve-request", 66, 1, KFB_RESERVE_IGNORE_KEY },
	{ "reserve-register-request", 48, 8, 1 },
	{ "reserve-register-request", 64, 1, KFB_RESERVE_CLEAR },
	{ "reserve-register-request", 65, 1, KFB_RESERVED_WRITE_EXCLUSIVE },
	{ "reserve-register-request", 66, 1, KFB_RESERVE_IGNORE_KEY + 1 },
	/* RESERVATION: its type, its registrants, and who holds it */
	{ "reservation-reply", 36, 1, KFB_RESERVED_NONE },
	{ "reservation-reply", 36, 1, KFB_RESERVED_WRITE_EXCLUSIVE_ALL_REGS },
	{ "reservation-reply", 36, 1, KFB_RESERVED_LAST + 1 },
	{ "reservation-reply", 40, 4, KFB_REGISTRANTS_MAX + 1 },
	{ "reservation-reply", 48, 8, 0 },
	{ "reservation-reply", 56, 8, 0 },
	{ "reservation-reply", 64, 1, 0 },
	{ "reservation-reply", 64, 1, KFB_REGISTRANT_FLAGS + 1 },
	{ "reservation-reply", 65, 1, 0 },
	{ "reservation-reply", 65, 1, 3 },
	{ "reservation-reply", 65, 1, KFB_NAME_MAX + 1 },
	{ "reservation-reply", 72, 1, ' ' },
	{ "reservation-reply", 120, 1, KFB_REGISTRANT_HOLDER },
	/* EVENT */
	{ "event", 32, 4, 0 },
	{ "event", 32, 4, KFB_EVENT_LAST + 1 },
	{ "event", 36, 4, 0 },
	{ "event", 40, 8, 4096 },
	{ "event", 48, 8, 0 },
	{ "event", 48, 8, KFB_BLOCKS_MAX },
	/* EVICTED: a cause, no blocks, a user who ordered it or none */
	{ "event", 32, 4, KFB_EVENT_EVICTED },
	{ "event-evicted", 32, 4, KFB_EVENT_SHUTDOWN },
	{ "event-evicted", 40, 8, KFB_BLOCK_BYTES },
	{ "event-evicted", 48, 8, 1 },
	{ "event-evicted", 56, 8, 1ULL << 32 },
	{ "event-evicted", 68, 4, 0 },
	{ "event-evicted", 68, 4, KFB_EVICTED_CLIENT },
	{ "event-evicted", 68, 4, KFB_EVICTED_FENCED },
	{ "event-evicted", 68, 4, KFB_EVICTED_RESERVED },
	{ "event-evicted", 68, 4, KFB_EVICTED_LAST + 1 },
	{ "event-rate", 32, 4, KFB_EVENT_EVICTED },
	{ "event-rate", 40, 8, KFB_RATE_BYTES_MIN - 1 },
	{ "event-rate", 40, 8, KFB_RATE_BYTES_MAX + 1 },
	{ "event-rate", 48, 8, KFB_RATE_OPS_MIN - 1 },
	{ "event-rate", 48, 8, 1ULL << 32 },
	{ "event-rate", 56, 8, 1 },
	{ "event-rate", 64, 4, 1 },
	{ "event-rate", 68, 4, 1 },
};

static void values_outside_their_field_are_refused(void **state)
{
	unsigned int i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const struct value *v = &values[i];
		const struct sample *sample = sample_find(v->file);
		__u32 len = sample_read(sample, bytes);

		assert_int_equal(decode(sample, len), 0);
		poke(v->at, v->bytes, v->value);
		if (decode(sample, len) != -EBADMSG)
			fail_msg("%s: %llu at %u", v->file, v->value, v->at);
	}
}

static const struct value bounds[] = {
	{ "hello", 5, 1, 255 },
	{ "hello", 8, 4, 0xffffffff },
	{ "accept", 6, 2, KFB_CREDITS_MIN },
	{ "accept", 6, 2, KFB_CREDITS_MAX },
	{ "accept", 8, 4, KFB_FEATURES_V1 },
	{ "reject", 4, 2, 0xffff },
	{ "auth-request", 40, 1, '!' },
	{ "auth-request", 40, 1, '~' },
	{ "auth-request", 80, 1, 0xff },
	{ "auth-reply", 96, 8, 0ULL - 512 * KFB_BLOCK_BYTES },
	{ "info-reply", 68, 4, KFB_INFO_FLAGS & ~KFB_INFO_RATE },
	{ "info-reply", 72, 4, KFB_FLUSH_MODES },
	{ "info-reply", 80, 4, 1 },
	{ "info-reply", 80, 4, KFB_WHY_LAST },
	{ "info-reply", 84, 4, 1 },
	{ "info-reply", 84, 4, KFB_MEDIUM_LAST },
	{ "info-quota-reply", 160, 4, 0 },
	{ "info-quota-reply", 160, 4, KFB_QUOTA_MAX },
	{ "info-quota-reply", 164, 4, 0 },
	{ "info-quota-reply", 164, 4, KFB_QUOTA_MAX },
	{ "info-rate-reply", 168, 8, 0 },
	{ "info-rate-reply", 168, 8, KFB_RATE_BYTES_MIN },
	{ "info-rate-reply", 168, 8, KFB_RATE_BYTES_MAX },
	{ "info-rate-reply", 176, 4, 0 },
	{ "info-rate-reply", 176, 4, KFB_RATE_OPS_MIN },
	{ "info-rate-reply", 176, 4, 0xffffffff },
	{ "map-request", 64, 4, KFB_MAP_FLAGS },
	{ "map-reply", 64, 8, 1 },
	{ "map-reply", 64, 8, 512 },
	{ "list-request", 32, 4, KFB_LIST_MINE },
	{ "list-reply", 80, 4, KFB_EXTENT_FLAGS },
	{ "ping-request", 36, 4, KFB_PING_FLAGS },
	{ "error-reply", 2, 2, 1 },
	{ "error-reply", 2, 2, 0xffff },
	{ "event", 32, 4, 1 },
	{ "event", 32, 4, KFB_EVENT_MEDIA_ERROR },
	{ "event", 36, 4, 0xffffffff },
	{ "event-evicted", 56, 8, 0 },
	{ "event-evicted", 56, 8, 0xffffffff },
	{ "event-rate", 40, 8, 0 },
	{ "event-rate", 40, 8, KFB_RATE_BYTES_MAX },
	{ "event-rate", 48, 8, 0 },
	{ "event-rate", 48, 8, 0xffffffff },
};

static void values_at_the_bounds_of_their_field_are_taken(void **state)
{
	unsigned int i;

	for (i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		const struct value *v = &bounds[i];
		const struct sample *sample = sample_find(v->file);
		__u32 len = sample_read(sample, bytes);

		poke(v->at, v->bytes, v->value);
		if (decode(sample, len))
			fail_msg("%s: %llu at %u", v->file, v->value, v->at);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_truncation_is_refused),
		cmocka_unit_test(every_excess_is_refused),
		cmocka_unit_test(padding_behind_private_data_is_ignored),
		cmocka_unit_test(messages_above_the_maximum_are_refused),
		cmocka_unit_test(no_byte_is_ignored),
		cmocka_unit_test(every_reserved_byte_must_be_zero),
		cmocka_unit_test(values_outside_their_field_are_refused),
		cmocka_unit_test(values_at_the_bounds_of_their_field_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
