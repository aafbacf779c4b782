/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bytes to checked host structs and back.
 *
 * Decoding copies a message once and checks everything about its form: sizes,
 * counts against the length, reserved fields, enumerations, flag bits and the
 * zero padding of names. What only the brick can validate (alignment, overflow,
 * grants, existence) stays a matter of the op and is answered with a status:
 * kfb_range_check() is the first of those checks.
 *
 * All functions are pure: any context, no locks, no allocation. A decoder
 * leaves *out untouched unless its description says otherwise. Encoders fill
 * every byte they report, reserved fields with zero, and refuse what a decoder
 * would refuse.
 */
#ifndef KFB_CODEC_H
#define KFB_CODEC_H

#include <linux/types.h>
#include "../kfb_rate.h"
#include "../kfb_wire.h"

struct kfb_hello {
	__u8 version_min;
	__u8 version_max;
	__u16 queue;
	__u32 features;
	__u64 session_id;
	__u32 join_counter;
	__u16 credits;
	__u8 proof[KFB_JOIN_PROOF_BYTES];
};

struct kfb_accept {
	__u8 version;
	__u16 credits;
	__u32 features;
	__u16 req_max_bytes;
	__u16 reply_max_bytes;
	__u64 session_id;
	__u64 instance_id;
	__u8 proof[KFB_JOIN_PROOF_BYTES]; /* new session: the brick's nonce */
};

struct kfb_reject {
	__u16 status; /* enum kfb_status */
	__u8 version_min;
	__u8 version_max;
	__u32 retry_after_ms;
};

struct kfb_cookie {
	__u16 slot;
	__u32 seq;
};

struct kfb_auth {
	__u8 name_len;
	char name[KFB_NAME_MAX + 1]; /* NUL terminated after decoding */
	__u8 brick_uuid[KFB_UUID_BYTES];
	__u64 last_instance_id;
	__u64 last_power_epoch;
	__u64 former_session_id;
	__u8 proof[KFB_MAC_BYTES];
};

struct kfb_grant {
	__u64 va;
	__u64 n_blocks;
	__u32 access; /* KFB_GRANT_* */
};

struct kfb_auth_reply {
	__u8 proof[KFB_MAC_BYTES];
	__u8 brick_uuid[KFB_UUID_BYTES];
	__u64 power_epoch;
	__u32 n_grants;
	struct kfb_grant grants[KFB_GRANTS_MAX];
};

struct kfb_info {
	__u8 brick_uuid[KFB_UUID_BYTES];
	__u64 instance_id;
	__u64 power_epoch;
	__u32 block_shift;
	__u32 flags;
	__u32 flush_modes;
	__u32 flush_mode;
	__u32 flush_why;
	__u32 medium;
	__u64 slots_total;
	__u64 slots_free;
	__u64 slots_clean;
	__u64 slots_bad;
	__u64 slow_total;
	__u64 slow_free;
	__u32 lease_ms;
	__u32 mappings_max;
	__u64 map_extent_max_bytes;
	__u64 alloc_max_blocks;
	__u32 quota_blocks; /* 0 without KFB_INFO_QUOTA, as owned_blocks */
	__u32 owned_blocks;
	struct kfb_rate rate; /* 0 without KFB_INFO_RATE */
};

struct kfb_range {
	__u64 va;
	__u64 n_blocks;
};

struct kfb_map {
	struct kfb_range range;
	__u64 mapping_id;
	__u64 cursor;
	__u32 flags; /* KFB_MAP_* */
};

struct kfb_handle {
	__u64 va;
	__u64 n_blocks;
	__u64 key;
	__u64 raddr;
	__u32 birth;
};

struct kfb_map_reply {
	__u64 mapping_id;
	__u64 cursor;
	__u32 n_handles;
	struct kfb_handle handles[KFB_HANDLES_MAX];
};

struct kfb_unmap {
	__u64 mapping_id;
	struct kfb_range range; /* va 0, n 0: the whole mapping */
	__u32 event_seq;
};

struct kfb_list {
	__u32 what; /* KFB_LIST_* */
	__u32 max_extents;
	__u64 cursor;
};

struct kfb_list_extent {
	__u64 va;
	__u64 n_blocks;
	__u64 mapping_id;
	__u32 flags; /* KFB_EXTENT_* */
};

struct kfb_list_reply {
	__u64 cursor;
	__u64 change_counter;
	__u32 n_extents;
	struct kfb_list_extent extents[KFB_LIST_EXTENTS_MAX];
};

struct kfb_flush_range {
	__u64 va;
	__u64 len; /* bytes */
};

struct kfb_flush {
	__u32 flags; /* KFB_FLUSH_ALL */
	__u32 n_ranges;
	struct kfb_flush_range ranges[KFB_FLUSH_RANGES_MAX];
};

struct kfb_ping {
	__u32 event_seq;
	__u32 flags; /* KFB_PING_* */
};

struct kfb_fence {
	__u8 name_len;
	char name[KFB_NAME_MAX + 1]; /* with a NUL at name_len */
	__u8 what; /* KFB_FENCE_* */
};

struct kfb_client_query {
	__u8 name_len;
	char name[KFB_NAME_MAX + 1]; /* with a NUL at name_len */
	__u8 which; /* KFB_CLIENT_NAMED or KFB_CLIENT_AFTER */
};

struct kfb_client_reply {
	__u8 name_len;
	char name[KFB_NAME_MAX + 1]; /* with a NUL at name_len */
	__u32 flags; /* KFB_CLIENT_FENCED, KFB_CLIENT_FENCER */
	__u32 n_sessions;
};

struct kfb_reserve {
	struct kfb_range range;
	__u64 key;
	__u64 new_key;
	__u8 action; /* KFB_RESERVE_* */
	__u8 type; /* KFB_RESERVED_* */
	__u8 flags; /* KFB_RESERVE_IGNORE_KEY */
};

struct kfb_registrant {
	__u64 key;
	__u8 flags; /* KFB_REGISTRANT_* */
	__u8 name_len;
	char name[KFB_NAME_MAX + 1]; /* with a NUL at name_len */
};

struct kfb_reservation {
	__u32 generation;
	__u8 type; /* KFB_RESERVED_* */
	__u64 n_blocks; /* from the address that was asked for */
	__u32 n_registrants;
	struct kfb_registrant registrants[KFB_REGISTRANTS_MAX];
};

struct kfb_event {
	__u32 kind; /* KFB_EVENT_* */
	__u32 event_seq;
	__u64 va;
	__u64 n_blocks;
	__u64 mapping_id; /* 0 in EVICTED */
	__u32 deadline_ms;
	__u32 cause; /* KFB_EVICTED_*; 0 in other kinds */
	__u32 uid; /* of who ordered it; 0 with other causes than ORDER */
	struct kfb_rate rate; /* of RATE; not set: there is none any more */
};

/**
 * struct kfb_request - one request, client to brick
 * @op: KFB_OP_*, without KFB_OP_REPLY
 * @credits: receive credits returned to the brick (for its EVENTs)
 * @cookie: slot and sequence number
 * @u: the body; INFO has none
 */
struct kfb_request {
	__u16 op;
	__u16 credits;
	struct kfb_cookie cookie;
	union {
		struct kfb_auth auth;
		struct kfb_range range; /* ALLOC, FREE, RESERVATION */
		struct kfb_map map;
		struct kfb_unmap unmap;
		struct kfb_list list;
		struct kfb_flush flush;
		struct kfb_ping ping;
		struct kfb_fence fence;
		struct kfb_client_query client;
		struct kfb_reserve reserve;
	} u;
};

/**
 * struct kfb_reply - one reply or EVENT, brick to client
 * @op: the request's op, without KFB_OP_REPLY; KFB_OP_EVENT for an EVENT
 * @status: enum kfb_status; a reply that is not KFB_ST_OK has no body
 * @credits: request credits returned to the client
 * @cookie: the request's; zero in an EVENT
 * @u: the body; ALLOC, FREE, UNMAP, FLUSH, PING, FENCE and RESERVE have none
 */
struct kfb_reply {
	__u16 op;
	__u16 status;
	__u16 credits;
	struct kfb_cookie cookie;
	union {
		struct kfb_auth_reply auth;
		struct kfb_info info;
		struct kfb_map_reply map;
		struct kfb_list_reply list;
		struct kfb_client_reply client;
		struct kfb_reservation reservation;
		struct kfb_event event;
	} u;
};

/*
 * Encoders: return the number of bytes written, -EINVAL when a field is not
 * encodable (a count or name above its maximum, an unknown op), -ENOSPC when
 * cap is too small; nothing is written on failure. A reply may carry an op
 * that this version does not know when its status is KFB_ST_NOT_SUPPORTED.
 */
int kfb_encode_hello(const struct kfb_hello *hello, void *buf, __u32 cap);
int kfb_encode_accept(const struct kfb_accept *accept, void *buf, __u32 cap);
int kfb_encode_reject(const struct kfb_reject *reject, void *buf, __u32 cap);
int kfb_encode_request(const struct kfb_request *req, void *buf, __u32 cap);
int kfb_encode_reply(const struct kfb_reply *reply, void *buf, __u32 cap);

/*
 * Decoders of private data: 0, or -EBADMSG when the bytes are not a message
 * of that kind. len may exceed the message (RDMA CM pads): bytes behind it
 * are ignored.
 */
int kfb_decode_hello(const void *buf, __u32 len, struct kfb_hello *out);
int kfb_decode_accept(const void *buf, __u32 len, struct kfb_accept *out);
int kfb_decode_reject(const void *buf, __u32 len, struct kfb_reject *out);

/**
 * kfb_decode_request - check and copy a request
 * @buf: the message as received, any alignment
 * @len: length of the message, bytes
 * @out: filled on success; on -EOPNOTSUPP op, credits and cookie are filled
 *
 * Context: any.
 * Return: 0; -EBADMSG: malformed, end the connection; -EMSGSIZE: longer than
 * KFB_REQ_MAX_BYTES, end the connection; -EOPNOTSUPP: a well-formed header with
 * an op this version does not know: answer with KFB_ST_NOT_SUPPORTED.
 */
int kfb_decode_request(const void *buf, __u32 len, struct kfb_request *out);

/**
 * kfb_decode_reply - check and copy a reply or an EVENT
 * @buf: the message as received, any alignment
 * @len: length of the message, bytes
 * @out: filled on success, undefined otherwise; large (about 5 KiB): not for
 *	a kernel stack
 *
 * Context: any.
 * Return: 0, -EBADMSG (malformed or an unknown op) or -EMSGSIZE (longer than
 * KFB_REPLY_MAX_BYTES): end the connection.
 */
int kfb_decode_reply(const void *buf, __u32 len, struct kfb_reply *out);

/**
 * kfb_range_check - is this a range of whole blocks inside the address space?
 * @va: first address, bytes
 * @n_blocks: blocks
 *
 * The block that ends at 2^64 is inside.
 *
 * Context: any.
 * Return: 0, or -EINVAL for a misaligned address, no blocks, or an end above
 * 2^64.
 */
int kfb_range_check(__u64 va, __u64 n_blocks);

/**
 * kfb_name_ok - may a client be called so?
 * @name: not necessarily ended by a NUL
 * @len: bytes
 *
 * Names are logged and compared, so that they consist of printable ASCII without
 * blanks. One of no bytes is in order here: who needs one asks for that, too.
 *
 * Context: any.
 * Return: whether it is no longer than KFB_NAME_MAX and of such characters.
 */
_Bool kfb_name_ok(const char *name, __u64 len);

/**
 * kfb_request_event_seq - the EVENT that a request acknowledges
 * @req: the request
 *
 * Context: any.
 * Return: its number, 0 for none: only PING and UNMAP acknowledge.
 */
__u32 kfb_request_event_seq(const struct kfb_request *req);

/**
 * kfb_request_acknowledge - let a request acknowledge an EVENT, if it can
 * @req: the request; one that acknowledges an EVENT already keeps its number
 * @event_seq: the EVENT's number
 *
 * Context: any.
 */
void kfb_request_acknowledge(struct kfb_request *req, __u32 event_seq);

#endif
