// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests: how the body of each op is checked and copied.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_codec.h"
#include "kfb_codec_priv.h"
#include "../kfb_endian.h"
#include "kfb_ops.h"

static _Bool kfb_request_auth_ok(const struct kfb_request *req)
{
	return kfb_name_ok(req->u.auth.name, req->u.auth.name_len);
}

static int kfb_request_auth_get(const __u8 *body, __u32 len,
				struct kfb_request *req)
{
	struct kfb_auth *auth = &req->u.auth;
	struct kfb_wire_auth w;

	memcpy(&w, body, sizeof(w));
	if (!kfb_codec_is_zero(w.reserved, sizeof(w.reserved)))
		return -EBADMSG;
	if (kfb_codec_get_name(w.name, w.name_len, auth->name))
		return -EBADMSG;
	auth->name_len = w.name_len;
	memcpy(auth->brick_uuid, w.brick_uuid, KFB_UUID_BYTES);
	auth->last_instance_id = kfb_get_le64(&w.last_instance_id);
	auth->last_power_epoch = kfb_get_le64(&w.last_power_epoch);
	auth->former_session_id = kfb_get_le64(&w.former_session_id);
	memcpy(auth->proof, w.proof, KFB_MAC_BYTES);
	return 0;
}

static void kfb_request_auth_put(const struct kfb_request *req, __u8 *body)
{
	const struct kfb_auth *auth = &req->u.auth;
	struct kfb_wire_auth w;

	memset(&w, 0, sizeof(w));
	w.name_len = auth->name_len;
	memcpy(w.name, auth->name, auth->name_len);
	memcpy(w.brick_uuid, auth->brick_uuid, KFB_UUID_BYTES);
	kfb_put_le64(&w.last_instance_id, auth->last_instance_id);
	kfb_put_le64(&w.last_power_epoch, auth->last_power_epoch);
	kfb_put_le64(&w.former_session_id, auth->former_session_id);
	memcpy(w.proof, auth->proof, KFB_MAC_BYTES);
	memcpy(body, &w, sizeof(w));
}

static int kfb_request_range_get(const __u8 *body, __u32 len,
				 struct kfb_request *req)
{
	struct kfb_wire_range w;

	memcpy(&w, body, sizeof(w));
	req->u.range.va = kfb_get_le64(&w.va);
	req->u.range.n_blocks = kfb_get_le64(&w.n_blocks);
	return 0;
}

static void kfb_request_range_put(const struct kfb_request *req, __u8 *body)
{
	struct kfb_wire_range w;

	kfb_put_le64(&w.va, req->u.range.va);
	kfb_put_le64(&w.n_blocks, req->u.range.n_blocks);
	memcpy(body, &w, sizeof(w));
}

static _Bool kfb_request_map_ok(const struct kfb_request *req)
{
	return !(req->u.map.flags & ~KFB_MAP_FLAGS);
}

static int kfb_request_map_get(const __u8 *body, __u32 len,
			       struct kfb_request *req)
{
	struct kfb_map *map = &req->u.map;
	struct kfb_wire_map w;

	memcpy(&w, body, sizeof(w));
	if (kfb_get_le32(&w.reserved))
		return -EBADMSG;
	map->range.va = kfb_get_le64(&w.va);
	map->range.n_blocks = kfb_get_le64(&w.n_blocks);
	map->mapping_id = kfb_get_le64(&w.mapping_id);
	map->cursor = kfb_get_le64(&w.cursor);
	map->flags = kfb_get_le32(&w.flags);
	return 0;
}

static void kfb_request_map_put(const struct kfb_request *req, __u8 *body)
{
	const struct kfb_map *map = &req->u.map;
	struct kfb_wire_map w;

	memset(&w, 0, sizeof(w));
	kfb_put_le64(&w.va, map->range.va);
	kfb_put_le64(&w.n_blocks, map->range.n_blocks);
	kfb_put_le64(&w.mapping_id, map->mapping_id);
	kfb_put_le64(&w.cursor, map->cursor);
	kfb_put_le32(&w.flags, map->flags);
	memcpy(body, &w, sizeof(w));
}

static int kfb_request_unmap_get(const __u8 *body, __u32 len,
				 struct kfb_request *req)
{
	struct kfb_unmap *unmap = &req->u.unmap;
	struct kfb_wire_unmap w;

	memcpy(&w, body, sizeof(w));
	if (kfb_get_le32(&w.reserved))
		return -EBADMSG;
	unmap->mapping_id = kfb_get_le64(&w.mapping_id);
	unmap->range.va = kfb_get_le64(&w.va);
	unmap->range.n_blocks = kfb_get_le64(&w.n_blocks);
	unmap->event_seq = kfb_get_le32(&w.event_seq);
	return 0;
}

static void kfb_request_unmap_put(const struct kfb_request *req, __u8 *body)
{
	const struct kfb_unmap *unmap = &req->u.unmap;
	struct kfb_wire_unmap w;

	memset(&w, 0, sizeof(w));
	kfb_put_le64(&w.mapping_id, unmap->mapping_id);
	kfb_put_le64(&w.va, unmap->range.va);
	kfb_put_le64(&w.n_blocks, unmap->range.n_blocks);
	kfb_put_le32(&w.event_seq, unmap->event_seq);
	memcpy(body, &w, sizeof(w));
}

static _Bool kfb_request_list_ok(const struct kfb_request *req)
{
	return req->u.list.what >= KFB_LIST_ALLOCATED &&
	       req->u.list.what <= KFB_LIST_MINE;
}

static int kfb_request_list_get(const __u8 *body, __u32 len,
				struct kfb_request *req)
{
	struct kfb_wire_list w;

	memcpy(&w, body, sizeof(w));
	req->u.list.what = kfb_get_le32(&w.what);
	req->u.list.max_extents = kfb_get_le32(&w.max_extents);
	req->u.list.cursor = kfb_get_le64(&w.cursor);
	return 0;
}

static void kfb_request_list_put(const struct kfb_request *req, __u8 *body)
{
	struct kfb_wire_list w;

	kfb_put_le32(&w.what, req->u.list.what);
	kfb_put_le32(&w.max_extents, req->u.list.max_extents);
	kfb_put_le64(&w.cursor, req->u.list.cursor);
	memcpy(body, &w, sizeof(w));
}

static _Bool kfb_request_flush_ok(const struct kfb_request *req)
{
	const struct kfb_flush *flush = &req->u.flush;

	if (flush->flags & ~KFB_FLUSH_ALL)
		return 0;
	if (flush->flags & KFB_FLUSH_ALL)
		return flush->n_ranges == 0;
	return flush->n_ranges <= KFB_FLUSH_RANGES_MAX;
}

static __u32 kfb_request_flush_count(const struct kfb_request *req)
{
	return req->u.flush.n_ranges;
}

static int kfb_request_flush_get(const __u8 *body, __u32 len,
				 struct kfb_request *req)
{
	struct kfb_flush *flush = &req->u.flush;
	struct kfb_wire_flush_range range;
	struct kfb_wire_flush w;
	__u32 n, i;

	memcpy(&w, body, sizeof(w));
	n = kfb_get_le32(&w.n_ranges);
	if (n > KFB_FLUSH_RANGES_MAX || len != sizeof(w) + n * sizeof(range))
		return -EBADMSG;
	flush->flags = kfb_get_le32(&w.flags);
	flush->n_ranges = n;
	body += sizeof(w);
	for (i = 0; i < n; i++, body += sizeof(range)) {
		memcpy(&range, body, sizeof(range));
		flush->ranges[i].va = kfb_get_le64(&range.va);
		flush->ranges[i].len = kfb_get_le64(&range.len);
	}
	return 0;
}

static void kfb_request_flush_put(const struct kfb_request *req, __u8 *body)
{
	const struct kfb_flush *flush = &req->u.flush;
	struct kfb_wire_flush_range range;
	struct kfb_wire_flush w;
	__u32 i;

	kfb_put_le32(&w.flags, flush->flags);
	kfb_put_le32(&w.n_ranges, flush->n_ranges);
	memcpy(body, &w, sizeof(w));
	body += sizeof(w);
	for (i = 0; i < flush->n_ranges; i++, body += sizeof(range)) {
		kfb_put_le64(&range.va, flush->ranges[i].va);
		kfb_put_le64(&range.len, flush->ranges[i].len);
		memcpy(body, &range, sizeof(range));
	}
}

static _Bool kfb_request_ping_ok(const struct kfb_request *req)
{
	return !(req->u.ping.flags & ~KFB_PING_FLAGS);
}

static int kfb_request_ping_get(const __u8 *body, __u32 len,
				struct kfb_request *req)
{
	struct kfb_wire_ping w;

	memcpy(&w, body, sizeof(w));
	req->u.ping.event_seq = kfb_get_le32(&w.event_seq);
	req->u.ping.flags = kfb_get_le32(&w.flags);
	return 0;
}

static void kfb_request_ping_put(const struct kfb_request *req, __u8 *body)
{
	struct kfb_wire_ping w;

	kfb_put_le32(&w.event_seq, req->u.ping.event_seq);
	kfb_put_le32(&w.flags, req->u.ping.flags);
	memcpy(body, &w, sizeof(w));
}

/* The request of FENCE and that of CLIENT have one form: a byte and a name. */
static int kfb_request_named_get(const __u8 *body, __u8 *name_len, __u8 *what,
				 char name[KFB_NAME_MAX + 1])
{
	struct kfb_wire_fence w;

	memcpy(&w, body, sizeof(w));
	if (!kfb_codec_is_zero(w.reserved, sizeof(w.reserved)))
		return -EBADMSG;
	*name_len = w.name_len;
	*what = w.what;
	return kfb_codec_get_name(w.name, w.name_len, name);
}

static void kfb_request_named_put(__u8 name_len, __u8 what, const char *name,
				  __u8 *body)
{
	struct kfb_wire_fence w;

	memset(&w, 0, sizeof(w));
	w.name_len = name_len;
	w.what = what;
	memcpy(w.name, name, name_len);
	memcpy(body, &w, sizeof(w));
}

static _Bool kfb_request_fence_ok(const struct kfb_request *req)
{
	const struct kfb_fence *fence = &req->u.fence;

	return fence->name_len && kfb_name_ok(fence->name, fence->name_len) &&
	       fence->what >= KFB_FENCE_EVICT && fence->what <= KFB_FENCE_ADMIT;
}

static int kfb_request_fence_get(const __u8 *body, __u32 len,
				 struct kfb_request *req)
{
	struct kfb_fence *fence = &req->u.fence;

	return kfb_request_named_get(body, &fence->name_len, &fence->what,
				     fence->name);
}

static void kfb_request_fence_put(const struct kfb_request *req, __u8 *body)
{
	const struct kfb_fence *fence = &req->u.fence;

	kfb_request_named_put(fence->name_len, fence->what, fence->name, body);
}

static _Bool kfb_request_client_ok(const struct kfb_request *req)
{
	const struct kfb_client_query *query = &req->u.client;

	return kfb_name_ok(query->name, query->name_len) &&
	       query->which >= KFB_CLIENT_NAMED &&
	       query->which <= KFB_CLIENT_AFTER;
}

static int kfb_request_client_get(const __u8 *body, __u32 len,
				  struct kfb_request *req)
{
	struct kfb_client_query *query = &req->u.client;

	return kfb_request_named_get(body, &query->name_len, &query->which,
				     query->name);
}

static void kfb_request_client_put(const struct kfb_request *req, __u8 *body)
{
	const struct kfb_client_query *query = &req->u.client;

	kfb_request_named_put(query->name_len, query->which, query->name, body);
}

_Static_assert(sizeof(struct kfb_wire_client) == sizeof(struct kfb_wire_fence),
	       "one form");

static _Bool kfb_request_reserve_ok(const struct kfb_request *req)
{
	const struct kfb_reserve *r = &req->u.reserve;

	if (r->type > KFB_RESERVED_LAST || r->flags & ~KFB_RESERVE_IGNORE_KEY)
		return 0;
	switch (r->action) {
	case KFB_RESERVE_REGISTER:
		return !r->type && !(r->flags && r->key);
	case KFB_RESERVE_CLEAR:
		return !r->type && !r->flags && !r->new_key;
	case KFB_RESERVE_RESERVE:
	case KFB_RESERVE_RELEASE:
		return r->type && !r->flags && !r->new_key;
	case KFB_RESERVE_PREEMPT:
	case KFB_RESERVE_PREEMPT_ABORT:
		return r->type && !r->flags;
	default:
		return 0;
	}
}

static int kfb_request_reserve_get(const __u8 *body, __u32 len,
				   struct kfb_request *req)
{
	struct kfb_reserve *r = &req->u.reserve;
	struct kfb_wire_reserve w;

	memcpy(&w, body, sizeof(w));
	if (!kfb_codec_is_zero(w.reserved, sizeof(w.reserved)))
		return -EBADMSG;
	r->range.va = kfb_get_le64(&w.va);
	r->range.n_blocks = kfb_get_le64(&w.n_blocks);
	r->key = kfb_get_le64(&w.key);
	r->new_key = kfb_get_le64(&w.new_key);
	r->action = w.action;
	r->type = w.type;
	r->flags = w.flags;
	return 0;
}

static void kfb_request_reserve_put(const struct kfb_request *req, __u8 *body)
{
	const struct kfb_reserve *r = &req->u.reserve;
	struct kfb_wire_reserve w;

	memset(&w, 0, sizeof(w));
	kfb_put_le64(&w.va, r->range.va);
	kfb_put_le64(&w.n_blocks, r->range.n_blocks);
	kfb_put_le64(&w.key, r->key);
	kfb_put_le64(&w.new_key, r->new_key);
	w.action = r->action;
	w.type = r->type;
	w.flags = r->flags;
	memcpy(body, &w, sizeof(w));
}

const struct kfb_request_form kfb_auth_request_form = {
	sizeof(struct kfb_wire_auth),
	0,
	NULL,
	kfb_request_auth_ok,
	kfb_request_auth_get,
	kfb_request_auth_put
};

const struct kfb_request_form kfb_info_request_form;

const struct kfb_request_form kfb_range_request_form = {
	sizeof(struct kfb_wire_range), 0, NULL, NULL, kfb_request_range_get,
	kfb_request_range_put
};

const struct kfb_request_form kfb_map_request_form = {
	sizeof(struct kfb_wire_map),
	0,
	NULL,
	kfb_request_map_ok,
	kfb_request_map_get,
	kfb_request_map_put
};

const struct kfb_request_form kfb_unmap_request_form = {
	sizeof(struct kfb_wire_unmap), 0, NULL, NULL, kfb_request_unmap_get,
	kfb_request_unmap_put
};

const struct kfb_request_form kfb_list_request_form = {
	sizeof(struct kfb_wire_list),
	0,
	NULL,
	kfb_request_list_ok,
	kfb_request_list_get,
	kfb_request_list_put
};

const struct kfb_request_form kfb_flush_request_form = {
	sizeof(struct kfb_wire_flush), sizeof(struct kfb_wire_flush_range),
	kfb_request_flush_count,       kfb_request_flush_ok,
	kfb_request_flush_get,	       kfb_request_flush_put
};

const struct kfb_request_form kfb_ping_request_form = {
	sizeof(struct kfb_wire_ping),
	0,
	NULL,
	kfb_request_ping_ok,
	kfb_request_ping_get,
	kfb_request_ping_put
};

const struct kfb_request_form kfb_fence_request_form = {
	sizeof(struct kfb_wire_fence),
	0,
	NULL,
	kfb_request_fence_ok,
	kfb_request_fence_get,
	kfb_request_fence_put
};

const struct kfb_request_form kfb_client_request_form = {
	sizeof(struct kfb_wire_client),
	0,
	NULL,
	kfb_request_client_ok,
	kfb_request_client_get,
	kfb_request_client_put
};

const struct kfb_request_form kfb_reserve_request_form = {
	sizeof(struct kfb_wire_reserve),
	0,
	NULL,
	kfb_request_reserve_ok,
	kfb_request_reserve_get,
	kfb_request_reserve_put
};

static const struct kfb_request_form *kfb_request_form_of(__u16 op)
{
	const struct kfb_op *known = kfb_op(op);

	return known ? known->request : NULL;
}

/* NULL: such a request acknowledges nothing. */
static __u32 *kfb_request_event_seq_of(struct kfb_request *req)
{
	switch (req->op) {
	case KFB_OP_PING:
		return &req->u.ping.event_seq;
	case KFB_OP_UNMAP:
		return &req->u.unmap.event_seq;
	default:
		return NULL;
	}
}

__u32 kfb_request_event_seq(const struct kfb_request *req)
{
	const __u32 *seq = kfb_request_event_seq_of((struct kfb_request *)req);

	return seq ? *seq : 0;
}

void kfb_request_acknowledge(struct kfb_request *req, __u32 event_seq)
{
	__u32 *seq = kfb_request_event_seq_of(req);

	if (seq && !*seq)
		*seq = event_seq;
}

int kfb_encode_request(const struct kfb_request *req, void *buf, __u32 cap)
{
	const struct kfb_request_form *form = kfb_request_form_of(req->op);
	struct kfb_codec_header header;

	if (!form || (form->ok && !form->ok(req)))
		return -EINVAL;
	memset(&header, 0, sizeof(header));
	header.op = req->op;
	header.length_bytes = KFB_HEADER_BYTES + form->fixed_bytes;
	if (form->count)
		header.length_bytes += form->count(req) * form->element_bytes;
	header.slot = req->cookie.slot;
	header.seq = req->cookie.seq;
	header.credits = req->credits;
	if (cap < header.length_bytes)
		return -ENOSPC;
	kfb_codec_put_header(&header, buf);
	if (form->put)
		form->put(req, (__u8 *)buf + KFB_HEADER_BYTES);
	return (int)header.length_bytes;
}

int kfb_decode_request(const void *buf, __u32 len, struct kfb_request *out)
{
	struct kfb_codec_header header;
	const struct kfb_request_form *form;
	struct kfb_request req;
	__u32 body_len;
	int error;

	if (len > KFB_REQ_MAX_BYTES)
		return -EMSGSIZE;
	error = kfb_codec_get_header(buf, len, &header);
	if (error)
		return error;
	if (header.op == 0 || header.op == KFB_OP_EVENT || header.status ||
	    header.op & KFB_OP_REPLY)
		return -EBADMSG;
	memset(&req, 0, sizeof(req));
	req.op = header.op;
	req.credits = header.credits;
	req.cookie.slot = header.slot;
	req.cookie.seq = header.seq;
	form = kfb_request_form_of(header.op);
	if (!form) {
		out->op = req.op;
		out->credits = req.credits;
		out->cookie = req.cookie;
		return -EOPNOTSUPP;
	}
	body_len = len - KFB_HEADER_BYTES;
	if (body_len < form->fixed_bytes ||
	    (body_len > form->fixed_bytes && !form->element_bytes))
		return -EBADMSG;
	if (form->get)
		error = form->get((const __u8 *)buf + KFB_HEADER_BYTES,
				  body_len, &req);
	if (error || (form->ok && !form->ok(&req)))
		return -EBADMSG;
	*out = req;
	return 0;
}
