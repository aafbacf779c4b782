// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the messages of proto/vectors mean.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kfb_err.h"
#include "samples.h"
#include "tests/lib/vector.h"

#define MIB	    (1ULL << 20)
#define LAST_BLOCK  (0ULL - KFB_BLOCK_BYTES)
#define SESSION	    0x1122334455667788
#define INSTANCE    0x99aabbccddeeff01
#define POWER_EPOCH 7

/* clang-format off */
#define UUID { 0x6b, 0x66, 0x62, 0x72, 0x69, 0x63, 0x6b, 0x00, \
	       0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x8f }
#define FROM_10 { 0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, \
		  0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f }
#define FROM_A0 { 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, \
		  0xa8, 0xa9, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf }
#define JOIN_PROOF { 0x80, 0xe7, 0x17, 0xd8, 0xe8, 0xad, 0xf9, 0xf6, \
		     0x2c, 0xbb, 0x41, 0xf9, 0x04, 0x36, 0xb5, 0x0d }
#define ACCEPT_PROOF { 0xe7, 0x4c, 0x95, 0xb8, 0x9e, 0xc5, 0x99, 0x2a, \
		       0x8b, 0x72, 0x9d, 0xe2, 0xa1, 0xe3, 0xca, 0x6e }
#define CLIENT_PROOF { 0x35, 0x03, 0x55, 0x8f, 0x2c, 0x2e, 0x33, 0x2a, \
		       0xb3, 0x50, 0x5d, 0x77, 0xdc, 0xa2, 0xeb, 0xc4, \
		       0x14, 0xba, 0xd8, 0xdb, 0x9a, 0x40, 0x66, 0xfe, \
		       0x45, 0xc4, 0xbd, 0x2d, 0xa6, 0x06, 0x30, 0xac }
#define BRICK_PROOF { 0xf6, 0xbe, 0x25, 0xfe, 0x21, 0x15, 0x3e, 0x5d, \
		      0x20, 0x82, 0xfe, 0xda, 0xdf, 0xd4, 0x90, 0x54, \
		      0x13, 0x05, 0xb2, 0x09, 0x40, 0xc9, 0xea, 0x71, \
		      0x9f, 0x7e, 0xb4, 0xf2, 0x22, 0xa6, 0x8d, 0xe1 }
#define REQUEST(file, ...) \
	{ file, SAMPLE_REQUEST, { .request = { __VA_ARGS__ } } }
#define REPLY(file, ...) \
	{ file, SAMPLE_REPLY, { .reply = { __VA_ARGS__ } } }

const struct sample samples[] = {
	{ "hello", SAMPLE_HELLO, { .hello = {
		.version_min = 2, .version_max = 2,
		.features = KFB_FEATURE_EVENT, .credits = 4,
		.proof = FROM_10,
	} } },
	{ "hello-join", SAMPLE_HELLO, { .hello = {
		.version_min = 2, .version_max = 2, .queue = 1,
		.features = KFB_FEATURE_EVENT, .session_id = SESSION,
		.join_counter = 1, .credits = 4, .proof = JOIN_PROOF,
	} } },
	{ "accept", SAMPLE_ACCEPT, { .accept = {
		.version = 2, .credits = 32, .features = KFB_FEATURE_EVENT,
		.req_max_bytes = 512, .reply_max_bytes = 4096,
		.session_id = SESSION, .instance_id = INSTANCE,
		.proof = FROM_A0,
	} } },
	{ "accept-join", SAMPLE_ACCEPT, { .accept = {
		.version = 2, .credits = 32, .features = KFB_FEATURE_EVENT,
		.req_max_bytes = 512, .reply_max_bytes = 4096,
		.session_id = SESSION, .instance_id = INSTANCE,
		.proof = ACCEPT_PROOF,
	} } },
	{ "reject", SAMPLE_REJECT, { .reject = {
		.status = KFB_ST_LIMIT, .version_min = 2, .version_max = 2,
		.retry_after_ms = 1500,
	} } },
	REQUEST("auth-request", .op = KFB_OP_AUTH, .u.auth = {
		.name_len = 4, .name = "db-7",
		.last_instance_id = 0x0123456789abcdef,
		.last_power_epoch = 6,
		.former_session_id = 0x2233445566778708,
		.proof = CLIENT_PROOF,
	}),
	REPLY("auth-reply", .op = KFB_OP_AUTH, .credits = 1, .u.auth = {
		.proof = BRICK_PROOF, .brick_uuid = UUID,
		.power_epoch = POWER_EPOCH, .n_grants = 2, .grants = {
			{ 0, 512, KFB_GRANT_RW },
			{ LAST_BLOCK, 1, KFB_GRANT_RO },
		},
	}),
	REQUEST("info-request", .op = KFB_OP_INFO, .cookie = { 0, 1 }),
	REPLY("info-reply", .op = KFB_OP_INFO, .credits = 1,
	      .cookie = { 0, 1 }, .u.info = {
		.brick_uuid = UUID, .instance_id = INSTANCE,
		.power_epoch = POWER_EPOCH, .block_shift = 21,
		.flags = KFB_INFO_ACK_IS_PLACED,
		.flush_modes = KFB_FLUSH_MESSAGE | KFB_FLUSH_READBACK,
		.flush_mode = KFB_FLUSH_READBACK,
		.flush_why = KFB_WHY_EADR, .medium = KFB_MEDIUM_DEVDAX,
		.slots_total = 1024, .slots_free = 1000, .slots_clean = 900,
		.slots_bad = 1, .slow_total = 4096, .slow_free = 4000,
		.lease_ms = 30000, .mappings_max = 128,
		.map_extent_max_bytes = 1024 * MIB,
		.alloc_max_blocks = 65536,
	}),
	REPLY("info-quota-reply", .op = KFB_OP_INFO, .credits = 1,
	      .cookie = { 0, 1 }, .u.info = {
		.brick_uuid = UUID, .instance_id = INSTANCE,
		.power_epoch = POWER_EPOCH, .block_shift = 21,
		.flags = KFB_INFO_QUOTA, .flush_modes = KFB_FLUSH_MESSAGE,
		.flush_mode = KFB_FLUSH_MESSAGE,
		.flush_why = KFB_WHY_FILE, .medium = KFB_MEDIUM_FILE,
		.slots_total = 1024, .slots_free = 1000, .slots_clean = 900,
		.lease_ms = 30000, .mappings_max = 128,
		.map_extent_max_bytes = 1024 * MIB,
		.alloc_max_blocks = 65536,
		.quota_blocks = 50, .owned_blocks = 48,
	}),
	REPLY("info-rate-reply", .op = KFB_OP_INFO, .credits = 1,
	      .cookie = { 0, 1 }, .u.info = {
		.brick_uuid = UUID, .instance_id = INSTANCE,
		.power_epoch = POWER_EPOCH, .block_shift = 21,
		.flags = KFB_INFO_RATE, .flush_modes = KFB_FLUSH_MESSAGE,
		.flush_mode = KFB_FLUSH_MESSAGE,
		.flush_why = KFB_WHY_FILE, .medium = KFB_MEDIUM_FILE,
		.slots_total = 1024, .slots_free = 1000, .slots_clean = 900,
		.lease_ms = 30000, .mappings_max = 128,
		.map_extent_max_bytes = 1024 * MIB,
		.alloc_max_blocks = 65536,
		.rate = { .bytes_per_s = 100 * MIB, .ops_per_s = 5000 },
	}),
	REQUEST("alloc-request", .op = KFB_OP_ALLOC, .cookie = { 1, 1 },
		.u.range = { 4 * MIB, 3 }),
	REPLY("alloc-reply", .op = KFB_OP_ALLOC, .credits = 1,
	      .cookie = { 1, 1 }),
	REPLY("error-reply", .op = KFB_OP_ALLOC, .credits = 1,
	      .status = KFB_ST_NO_SPACE, .cookie = { 1, 1 }),
	REQUEST("free-request", .op = KFB_OP_FREE, .credits = 1,
		.cookie = { 2, 9 }, .u.range = { LAST_BLOCK, 1 }),
	REPLY("free-reply", .op = KFB_OP_FREE, .credits = 1,
	      .cookie = { 2, 9 }),
	REQUEST("map-request", .op = KFB_OP_MAP, .cookie = { 3, 2 },
		.u.map = { .range = { 4 * MIB, 3 },
			   .flags = KFB_MAP_RW | KFB_MAP_EXCLUSIVE }),
	REQUEST("map-continue-request", .op = KFB_OP_MAP, .cookie = { 3, 3 },
		.u.map = { .range = { 4 * MIB, 0x2000 }, .mapping_id = 0x52,
			   .cursor = 0x65,
			   .flags = KFB_MAP_RO | KFB_MAP_SHARED }),
	REPLY("map-reply", .op = KFB_OP_MAP, .credits = 1,
	      .cookie = { 3, 2 }, .u.map = {
		.mapping_id = 0x51, .n_handles = 2, .handles = {
			{ 4 * MIB, 2, 0xdeadbeef01020304, 0x7f1200000000, 5 },
			{ 8 * MIB, 1, 0xa1b2c3d4, 0x7f1200a00000, 1 },
		},
	}),
	REQUEST("unmap-request", .op = KFB_OP_UNMAP, .credits = 1,
		.cookie = { 4, 0xffffffff },
		.u.unmap = { 0x51, { 8 * MIB, 1 }, 0x21 }),
	REPLY("unmap-reply", .op = KFB_OP_UNMAP, .credits = 1,
	      .cookie = { 4, 0xffffffff }),
	REQUEST("list-request", .op = KFB_OP_LIST, .cookie = { 5, 3 },
		.u.list = { KFB_LIST_ALLOCATED, 16, 0 }),
	REPLY("list-reply", .op = KFB_OP_LIST, .credits = 1,
	      .cookie = { 5, 3 }, .u.list = {
		.cursor = 64 * MIB, .change_counter = 77, .n_extents = 3,
		.extents = {
			{ 0, 2, 0, 0 },
			{ 4 * MIB, 3, 0x51, KFB_EXTENT_RW | KFB_EXTENT_MAPPED |
						KFB_EXTENT_EXCLUSIVE },
			{ 32 * MIB, 1, 0, KFB_EXTENT_SLOW | KFB_EXTENT_BAD },
		},
	}),
	REQUEST("flush-request", .op = KFB_OP_FLUSH, .cookie = { 6, 4 },
		.u.flush = { .n_ranges = 2, .ranges = {
			{ 4 * MIB + 4096, 12288 }, { 8 * MIB, 1 },
		} }),
	REQUEST("flush-all-request", .op = KFB_OP_FLUSH, .cookie = { 6, 5 },
		.u.flush = { .flags = KFB_FLUSH_ALL }),
	REPLY("flush-reply", .op = KFB_OP_FLUSH, .credits = 1,
	      .cookie = { 6, 4 }),
	REQUEST("ping-request", .op = KFB_OP_PING, .credits = 1,
		.cookie = { 7, 6 }, .u.ping = { 0x20 }),
	REQUEST("ping-end-request", .op = KFB_OP_PING,
		.cookie = { 7, 7 }, .u.ping = { 0, KFB_PING_END }),
	REPLY("ping-reply", .op = KFB_OP_PING, .credits = 1,
	      .cookie = { 7, 6 }),
	REQUEST("fence-request", .op = KFB_OP_FENCE, .cookie = { 1, 8 },
		.u.fence = { 4, "db-7", KFB_FENCE_EVICT }),
	REQUEST("fence-admit-request", .op = KFB_OP_FENCE, .cookie = { 1, 9 },
		.u.fence = { 4, "db-7", KFB_FENCE_ADMIT }),
	REPLY("fence-reply", .op = KFB_OP_FENCE, .credits = 1,
	      .cookie = { 1, 8 }),
	REQUEST("client-request", .op = KFB_OP_CLIENT, .cookie = { 2, 10 },
		.u.client = { 0, "", KFB_CLIENT_AFTER }),
	REPLY("client-reply", .op = KFB_OP_CLIENT, .credits = 1,
	      .cookie = { 2, 10 }, .u.client = {
		.name_len = 4, .name = "db-7",
		.flags = KFB_CLIENT_FENCED, .n_sessions = 1,
	}),
	REQUEST("reserve-request", .op = KFB_OP_RESERVE, .cookie = { 1, 10 },
		.u.reserve = { { 8 * MIB, 2 }, 0x2a, 0x2b,
			       KFB_RESERVE_PREEMPT,
			       KFB_RESERVED_WRITE_EXCLUSIVE_REG_ONLY, 0 }),
	REQUEST("reserve-register-request", .op = KFB_OP_RESERVE,
		.cookie = { 1, 11 },
		.u.reserve = { { 8 * MIB, 2 }, 0, 0x2a, KFB_RESERVE_REGISTER,
			       KFB_RESERVED_NONE, KFB_RESERVE_IGNORE_KEY }),
	REPLY("reserve-reply", .op = KFB_OP_RESERVE, .credits = 1,
	      .cookie = { 1, 10 }),
	REQUEST("reservation-request", .op = KFB_OP_RESERVATION,
		.cookie = { 2, 11 }, .u.range = { 8 * MIB, 2 }),
	REPLY("reservation-reply", .op = KFB_OP_RESERVATION, .credits = 1,
	      .cookie = { 2, 11 }, .u.reservation = {
		.generation = 5,
		.type = KFB_RESERVED_WRITE_EXCLUSIVE_REG_ONLY,
		.n_blocks = 2,
		.n_registrants = 2,
		.registrants = {
			{ 0x2a, KFB_REGISTRANT_HOLDER, 4, "db-7" },
			{ 0x2b, 0, 4, "db-8" },
		},
	}),
	REPLY("event", .op = KFB_OP_EVENT, .u.event = {
		.kind = KFB_EVENT_RECALL, .event_seq = 0x21,
		.va = 8 * MIB, .n_blocks = 1, .mapping_id = 0x51,
		.deadline_ms = 5000,
	}),
	REPLY("event-evicted", .op = KFB_OP_EVENT, .u.event = {
		.kind = KFB_EVENT_EVICTED, .event_seq = 0x22,
		.cause = KFB_EVICTED_ORDER, .uid = 1000,
	}),
	REPLY("event-rate", .op = KFB_OP_EVENT, .u.event = {
		.kind = KFB_EVENT_RATE, .event_seq = 0x23,
		.rate = { .bytes_per_s = 50 * MIB, .ops_per_s = 400 },
	}),
};
/* clang-format on */

const unsigned int n_samples = sizeof(samples) / sizeof(samples[0]);

int sample_decode(enum sample_kind kind, const void *buf, __u32 len,
		  union sample_message *out)
{
	memset(out, 0, sizeof(*out));
	switch (kind) {
	case SAMPLE_HELLO:
		return kfb_decode_hello(buf, len, &out->hello);
	case SAMPLE_ACCEPT:
		return kfb_decode_accept(buf, len, &out->accept);
	case SAMPLE_REJECT:
		return kfb_decode_reject(buf, len, &out->reject);
	case SAMPLE_REQUEST:
		return kfb_decode_request(buf, len, &out->request);
	case SAMPLE_REPLY:
		return kfb_decode_reply(buf, len, &out->reply);
	}
	return -EDOM;
}

int sample_encode(enum sample_kind kind, const union sample_message *message,
		  void *buf, __u32 cap)
{
	switch (kind) {
	case SAMPLE_HELLO:
		return kfb_encode_hello(&message->hello, buf, cap);
	case SAMPLE_ACCEPT:
		return kfb_encode_accept(&message->accept, buf, cap);
	case SAMPLE_REJECT:
		return kfb_encode_reject(&message->reject, buf, cap);
	case SAMPLE_REQUEST:
		return kfb_encode_request(&message->request, buf, cap);
	case SAMPLE_REPLY:
		return kfb_encode_reply(&message->reply, buf, cap);
	}
	return -EDOM;
}

static const char *const kind_names[] = {
	[SAMPLE_HELLO] = "hello",   [SAMPLE_ACCEPT] = "accept",
	[SAMPLE_REJECT] = "reject", [SAMPLE_REQUEST] = "request",
	[SAMPLE_REPLY] = "reply",
};

__u32 sample_read(const struct sample *sample, void *buf)
{
	return (__u32)vector_read(sample->file, kind_names[sample->kind], buf,
				  KFB_REPLY_MAX_BYTES);
}

const struct sample *sample_find(const char *file)
{
	unsigned int i;

	for (i = 0; i < n_samples; i++)
		if (strcmp(samples[i].file, file) == 0)
			return &samples[i];
	fail_msg("no sample %s", file);
	return NULL;
}
