// SPDX-License-Identifier: BSD-2-Clause
/*
 * A brick for tests: what it answers.
 */
#include <sodium.h>
#include <string.h>

#include "fake_impl.h"
#include "kfb_auth.h"

#define INSTANCE_ID 77
#define POWER_EPOCH 3

static int hmac(void *ctx, const __u8 key[KFB_KEY_BYTES],
		const struct kfb_iov *parts, unsigned int n,
		__u8 mac[KFB_MAC_BYTES])
{
	crypto_auth_hmacsha256_state state;
	unsigned int i;

	crypto_auth_hmacsha256_init(&state, key, KFB_KEY_BYTES);
	for (i = 0; i < n; i++)
		crypto_auth_hmacsha256_update(&state, parts[i].base,
					      parts[i].len);
	crypto_auth_hmacsha256_final(&state, mac);
	return 0;
}

static const struct kfb_hmac with = { .compute = hmac };

void fake_make_accept(struct fake_brick *b, const struct kfb_hello *hello)
{
	uint32_t unknown = (b->rules.quota_blocks && !b->rules.quota_untold
				    ? 0
				    : KFB_FEATURE_QUOTA) |
			   (b->rules.rate_untold ? KFB_FEATURE_RATE : 0);
	struct kfb_accept accept = {
		.version = KFB_VERSION,
		.credits = FAKE_CREDITS,
		.features = hello->features & KFB_FEATURES_V1 & ~unknown,
		.req_max_bytes = KFB_REQ_MAX_BYTES,
		.reply_max_bytes = KFB_REPLY_MAX_BYTES,
		.session_id =
			hello->session_id ? hello->session_id : b->session_id,
		.instance_id = INSTANCE_ID + b->rules.instance_id,
	};

	memset(accept.proof, 9, sizeof(accept.proof));
	kfb_encode_accept(&accept, b->accept, sizeof(b->accept));
	if (!hello->session_id)
		return;
	kfb_auth_accept_proof(&with, b->session_key, b->hello, b->accept,
			      accept.proof);
	accept.proof[0] ^= b->rules.bad_join;
	kfb_encode_accept(&accept, b->accept, sizeof(b->accept));
}

static void answer_auth(struct fake_brick *b, const struct kfb_auth *auth,
			struct kfb_reply *reply)
{
	uint64_t power_epoch = POWER_EPOCH + b->rules.power_epoch;
	struct kfb_transcript transcript = {
		.hello = b->hello,
		.accept = b->accept,
		.name = auth->name,
		.name_len = auth->name_len,
	};
	uint8_t proof[KFB_MAC_BYTES];

	kfb_auth_client_proof(&with, b->key, &transcript, auth->brick_uuid,
			      auth->former_session_id, proof);
	if (memcmp(proof, auth->proof, sizeof(proof))) {
		reply->status = KFB_ST_KEY_REJECTED;
		return;
	}
	memcpy(reply->u.auth.brick_uuid, b->uuid, KFB_UUID_BYTES);
	reply->u.auth.power_epoch = power_epoch;
	reply->u.auth.n_grants = 2;
	reply->u.auth.grants[0] = (struct kfb_grant){
		.va = FAKE_VA,
		.n_blocks = FAKE_BLOCKS,
		.access = KFB_GRANT_RW,
	};
	reply->u.auth.grants[1] = (struct kfb_grant){
		.n_blocks = 1,
		.access = KFB_GRANT_RO,
	};
	kfb_auth_brick_proof(&with, b->key, &transcript, b->uuid, power_epoch,
			     reply->u.auth.proof);
	if (b->rules.bad_proof)
		reply->u.auth.proof[0] ^= 1;
	else
		kfb_auth_session_key(&with, b->key, &transcript, b->uuid,
				     power_epoch, b->session_key);
}

static void answer_info(struct fake_brick *b, struct kfb_info *info)
{
	memcpy(info->brick_uuid, b->uuid, KFB_UUID_BYTES);
	info->instance_id = INSTANCE_ID + b->rules.instance_id;
	info->power_epoch = POWER_EPOCH + b->rules.power_epoch;
	info->block_shift = KFB_BLOCK_SHIFT;
	info->flush_mode = b->rules.flush_mode;
	info->flush_modes = b->rules.flush_mode;
	info->flush_why = KFB_WHY_FILE;
	info->medium = KFB_MEDIUM_FILE;
	info->slots_total = FAKE_BLOCKS;
	info->lease_ms = b->rules.lease_ms;
	info->mappings_max = 64;
	info->map_extent_max_bytes = KFB_MAP_EXTENT_MAX_BYTES;
	info->alloc_max_blocks = FAKE_BLOCKS;
	info->rate.bytes_per_s = b->rules.rate_bytes;
	info->rate.ops_per_s = b->rules.rate_ops;
	if (kfb_rate_is_set(&info->rate))
		info->flags |= KFB_INFO_RATE;
	if (!b->rules.quota_blocks)
		return;
	info->flags |= KFB_INFO_QUOTA;
	info->quota_blocks = b->rules.quota_blocks;
	info->owned_blocks = b->rules.owned_blocks;
}

/* One handle per block; the cursor is the next block's index + 1. */
static void answer_map(struct fake_brick *b, const struct kfb_map *map,
		       struct kfb_reply *reply)
{
	uint64_t first = (map->range.va - FAKE_VA) / KFB_BLOCK_BYTES;
	uint64_t block = map->cursor ? map->cursor - 1 : first;
	uint32_t max = b->rules.handles_per_page;
	uint32_t n = 0;

	if (b->rules.map_again) {
		b->rules.map_again--;
		reply->status = KFB_ST_AGAIN;
		return;
	}
	if (b->rules.nowait_again && map->flags & KFB_MAP_NOWAIT) {
		reply->status = KFB_ST_AGAIN;
		return;
	}
	if (map->range.va < FAKE_VA ||
	    first + map->range.n_blocks > FAKE_BLOCKS) {
		reply->status = KFB_ST_NOT_FOUND;
		return;
	}
	if (b->rules.no_handles) {
		reply->u.map.mapping_id =
			map->mapping_id ? map->mapping_id : ++b->next_mapping;
		reply->u.map.cursor = 1;
		return;
	}
	while (block < first + map->range.n_blocks && (!max || n < max)) {
		struct kfb_handle *handle = &reply->u.map.handles[n++];

		handle->va = FAKE_VA + block * KFB_BLOCK_BYTES;
		if (b->rules.wrong_handles)
			handle->va += KFB_BLOCK_BYTES;
		handle->n_blocks = 1;
		handle->key = FAKE_KEY + b->rules.key_offset;
		handle->raddr = block * KFB_BLOCK_BYTES;
		handle->birth = 1;
		block++;
	}
	reply->u.map.n_handles = n;
	reply->u.map.mapping_id =
		map->mapping_id ? map->mapping_id : ++b->next_mapping;
	reply->u.map.cursor =
		block < first + map->range.n_blocks ? block + 1 : 0;
}

static void answer_list(struct fake_brick *b, const struct kfb_list *list,
			struct kfb_reply *reply)
{
	struct kfb_list_reply *out = &reply->u.list;
	uint64_t va = list->cursor ? list->cursor : FAKE_VA;
	uint32_t i;

	out->change_counter = 5;
	if (b->rules.shown_lists) {
		b->rules.shown_lists--;
	} else if (b->rules.hidden_lists) {
		b->rules.hidden_lists--;
		return;
	}
	if (b->rules.list_step) {
		out->cursor = va + b->rules.list_step;
		return;
	}
	/* A full page, then one more extent. */
	out->n_extents = list->cursor ? 1 : list->max_extents;
	for (i = 0; i < out->n_extents; i++) {
		out->extents[i].va = va + i * KFB_BLOCK_BYTES;
		out->extents[i].n_blocks = 1;
	}
	if (!list->cursor)
		out->cursor = va + i * KFB_BLOCK_BYTES;
}

static void send_event(struct fake_brick *b, uint32_t kind)
{
	struct kfb_reply event = { .op = KFB_OP_EVENT };
	uint8_t data[KFB_REPLY_MAX_BYTES];
	int len;

	event.u.event.kind = kind;
	event.u.event.event_seq = ++b->event_seq;
	if (kind == KFB_EVENT_EVICTED) {
		event.u.event.cause = KFB_EVICTED_ORDER;
		event.u.event.uid = FAKE_UID;
	} else if (kind == KFB_EVENT_RATE) {
		event.u.event.rate.bytes_per_s = b->rules.rate_bytes;
		event.u.event.rate.ops_per_s = b->rules.rate_ops;
	} else {
		event.u.event.va = FAKE_VA;
		event.u.event.n_blocks = 1;
		event.u.event.deadline_ms = 1000;
	}
	len = kfb_encode_reply(&event, data, sizeof(data));
	if (len > 0)
		fake_send(b, data, (size_t)len);
}

static void answer_body(struct fake_brick *b, const struct kfb_request *req,
			struct kfb_reply *reply)
{
	switch (req->op) {
	case KFB_OP_AUTH:
		answer_auth(b, &req->u.auth, reply);
		break;
	case KFB_OP_INFO:
		answer_info(b, &reply->u.info);
		break;
	case KFB_OP_MAP:
		answer_map(b, &req->u.map, reply);
		break;
	case KFB_OP_LIST:
		answer_list(b, &req->u.list, reply);
		break;
	case KFB_OP_CLIENT:
		/* The only one, whoever is asked for. */
		reply->u.client = (struct kfb_client_reply){
			.name_len = 4,
			.name = "db-7",
			.flags = KFB_CLIENT_FENCED,
			.n_sessions = 2,
		};
		break;
	case KFB_OP_RESERVATION:
		/* The same everywhere. */
		reply->u.reservation = (struct kfb_reservation){
			.generation = 3,
			.type = KFB_RESERVED_EXCLUSIVE_ACCESS,
			.n_blocks = 5,
			.n_registrants = 2,
			.registrants = {
				{ 0x2a, 0, 4, "db-7" },
				{ 0x2b, KFB_REGISTRANT_HOLDER, 4, "db-8" },
			},
		};
		break;
	case KFB_OP_PING:
		if (req->u.ping.event_seq)
			b->last_ack = req->u.ping.event_seq;
		break;
	default:
		break;
	}
}

static bool is_refused(struct fake_brick *b, uint16_t op)
{
	if (op != b->rules.refuse_op)
		return false;
	if (b->rules.refuse_skip) {
		b->rules.refuse_skip--;
		return false;
	}
	if (b->rules.refuse_max && !--b->rules.refuse_max)
		b->rules.refuse_op = 0;
	return true;
}

static void note_flush(struct fake_brick *b, const struct kfb_flush *flush)
{
	pthread_mutex_lock(&b->lock);
	b->last_flush = *flush;
	pthread_mutex_unlock(&b->lock);
}

static void reply_to(struct fake_brick *b, const struct kfb_request *req)
{
	struct kfb_reply reply = {
		.op = req->op,
		.credits = 1,
		.cookie = req->cookie,
	};
	uint8_t data[KFB_REPLY_MAX_BYTES];
	uint32_t event = 0;
	int len;

	if (req->op == KFB_OP_FLUSH)
		note_flush(b, &req->u.flush);
	if (is_refused(b, req->op)) {
		reply.status = b->rules.refuse_status;
	} else if (req->op == b->rules.no_memory_op) {
		b->rules.no_memory_op = 0;
		reply.status = KFB_ST_NO_MEMORY;
	} else {
		answer_body(b, req, &reply);
	}
	b->seen[req->op]++;
	len = kfb_encode_reply(&reply, data, sizeof(data));
	if (len < 0)
		return;
	if (req->op == b->rules.garbage_op)
		memset(data, 0xff, (size_t)len);
	fake_send(b, data, (size_t)len);
	if (req->op == KFB_OP_PING)
		event = atomic_exchange(&b->rules.event_after_ping, 0);
	if (event)
		send_event(b, event);
}

static bool is_held(struct fake_brick *b, const struct kfb_request *req)
{
	if (req->op == KFB_OP_MAP && req->u.map.mapping_id &&
	    atomic_exchange(&b->rules.hold_page, false))
		return true;
	return req->op == b->rules.hold_op;
}

void fake_answer(struct fake_brick *b, const void *data, uint32_t len)
{
	struct kfb_request req;

	if (kfb_decode_request(data, len, &req)) {
		fake_close_connection(b);
		return;
	}
	if (req.op == b->rules.drop_op || req.op == b->rules.drop_once) {
		b->rules.drop_once = 0;
		b->seen[req.op]++;
		fake_close_connection(b);
	} else if (is_held(b, &req)) {
		b->seen[req.op]++;
		b->held[b->n_held++] = req;
	} else if (req.op == b->rules.silent_op) {
		b->seen[req.op]++;
	} else {
		reply_to(b, &req);
	}
}

void fake_answer_held(struct fake_brick *b)
{
	unsigned int i;

	if (!b->n_held || b->rules.hold_op)
		return;
	for (i = 0; i < b->n_held; i++)
		reply_to(b, &b->held[i]);
	b->n_held = 0;
}
