// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Replies and EVENTs: how the body of each op is checked and copied.
 *
 * The brick is a peer like any other: ranges and counts in its replies are
 * checked here, so that a client may index with them.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_codec.h"
#include "kfb_codec_priv.h"
#include "../kfb_endian.h"
#include "../kfb_err.h"
#include "kfb_ops.h"

static __u32 kfb_reply_auth_count(const struct kfb_reply *reply)
{
	return reply->u.auth.n_grants;
}

static _Bool kfb_reply_auth_ok(const struct kfb_reply *reply)
{
	const struct kfb_auth_reply *auth = &reply->u.auth;
	__u32 i;

	if (auth->n_grants > KFB_GRANTS_MAX)
		return 0;
	for (i = 0; i < auth->n_grants; i++) {
		const struct kfb_grant *grant = &auth->grants[i];

		if (grant->access != KFB_GRANT_RO &&
		    grant->access != KFB_GRANT_RW)
			return 0;
		if (kfb_range_check(grant->va, grant->n_blocks))
			return 0;
	}
	return 1;
}

static int kfb_reply_auth_get(const __u8 *body, __u32 len,
			      struct kfb_reply *reply)
{
	struct kfb_auth_reply *auth = &reply->u.auth;
	struct kfb_wire_auth_reply w;
	struct kfb_wire_grant grant;
	__u32 n, i;

	memcpy(&w, body, sizeof(w));
	n = kfb_get_le32(&w.n_grants);
	if (n > KFB_GRANTS_MAX || len != sizeof(w) + n * sizeof(grant) ||
	    kfb_get_le32(&w.reserved))
		return -EBADMSG;
	memcpy(auth->proof, w.proof, KFB_MAC_BYTES);
	memcpy(auth->brick_uuid, w.brick_uuid, KFB_UUID_BYTES);
	auth->power_epoch = kfb_get_le64(&w.power_epoch);
	auth->n_grants = n;
	body += sizeof(w);
	for (i = 0; i < n; i++, body += sizeof(grant)) {
		memcpy(&grant, body, sizeof(grant));
		if (kfb_get_le32(&grant.reserved))
			return -EBADMSG;
		auth->grants[i].va = kfb_get_le64(&grant.va);
		auth->grants[i].n_blocks = kfb_get_le64(&grant.n_blocks);
		auth->grants[i].access = kfb_get_le32(&grant.access);
	}
	return 0;
}

static void kfb_reply_auth_put(const struct kfb_reply *reply, __u8 *body)
{
	const struct kfb_auth_reply *auth = &reply->u.auth;
	struct kfb_wire_auth_reply w;
	struct kfb_wire_grant grant;
	__u32 i;

	memset(&w, 0, sizeof(w));
	memcpy(w.proof, auth->proof, KFB_MAC_BYTES);
	memcpy(w.brick_uuid, auth->brick_uuid, KFB_UUID_BYTES);
	kfb_put_le64(&w.power_epoch, auth->power_epoch);
	kfb_put_le32(&w.n_grants, auth->n_grants);
	memcpy(body, &w, sizeof(w));
	body += sizeof(w);
	memset(&grant, 0, sizeof(grant));
	for (i = 0; i < auth->n_grants; i++, body += sizeof(grant)) {
		kfb_put_le64(&grant.va, auth->grants[i].va);
		kfb_put_le64(&grant.n_blocks, auth->grants[i].n_blocks);
		kfb_put_le32(&grant.access, auth->grants[i].access);
		memcpy(body, &grant, sizeof(grant));
	}
}

static __u32 kfb_reply_info_count(const struct kfb_reply *reply)
{
	return reply->u.info.flags & KFB_INFO_RATE ? 1 : 0;
}

static _Bool kfb_reply_info_ok(const struct kfb_reply *reply)
{
	const struct kfb_info *info = &reply->u.info;

	if (info->block_shift != KFB_BLOCK_SHIFT ||
	    info->flags & ~KFB_INFO_FLAGS ||
	    info->flush_modes & ~KFB_FLUSH_MODES)
		return 0;
	/* Exactly one mode, of those the brick has. */
	if (info->flush_mode == 0 ||
	    info->flush_mode & (info->flush_mode - 1) ||
	    !(info->flush_mode & info->flush_modes))
		return 0;
	if (info->flush_why == 0 || info->flush_why > KFB_WHY_LAST)
		return 0;
	if (!(info->flags & KFB_INFO_QUOTA) &&
	    (info->quota_blocks || info->owned_blocks))
		return 0;
	if (!(info->flags & KFB_INFO_RATE) != !kfb_rate_is_set(&info->rate) ||
	    !kfb_rate_ok(&info->rate))
		return 0;
	return info->medium != 0 && info->medium <= KFB_MEDIUM_LAST;
}

static int kfb_reply_info_get(const __u8 *body, __u32 len,
			      struct kfb_reply *reply)
{
	struct kfb_info *info = &reply->u.info;
	struct kfb_wire_info_reply w;
	struct kfb_wire_rate rate;

	memcpy(&w, body, sizeof(w));
	memcpy(info->brick_uuid, w.brick_uuid, KFB_UUID_BYTES);
	info->instance_id = kfb_get_le64(&w.instance_id);
	info->power_epoch = kfb_get_le64(&w.power_epoch);
	info->block_shift = kfb_get_le32(&w.block_shift);
	info->flags = kfb_get_le32(&w.flags);
	info->flush_modes = kfb_get_le32(&w.flush_modes);
	info->flush_mode = kfb_get_le32(&w.flush_mode);
	info->flush_why = kfb_get_le32(&w.flush_why);
	info->medium = kfb_get_le32(&w.medium);
	info->slots_total = kfb_get_le64(&w.slots_total);
	info->slots_free = kfb_get_le64(&w.slots_free);
	info->slots_clean = kfb_get_le64(&w.slots_clean);
	info->slots_bad = kfb_get_le64(&w.slots_bad);
	info->slow_total = kfb_get_le64(&w.slow_total);
	info->slow_free = kfb_get_le64(&w.slow_free);
	info->lease_ms = kfb_get_le32(&w.lease_ms);
	info->mappings_max = kfb_get_le32(&w.mappings_max);
	info->map_extent_max_bytes = kfb_get_le64(&w.map_extent_max_bytes);
	info->alloc_max_blocks = kfb_get_le64(&w.alloc_max_blocks);
	info->quota_blocks = kfb_get_le32(&w.quota_blocks);
	info->owned_blocks = kfb_get_le32(&w.owned_blocks);
	if (len != sizeof(w) + kfb_reply_info_count(reply) * sizeof(rate))
		return -EBADMSG;
	info->rate = (struct kfb_rate){ 0 };
	if (!kfb_reply_info_count(reply))
		return 0;
	memcpy(&rate, body + sizeof(w), sizeof(rate));
	if (kfb_get_le32(&rate.reserved))
		return -EBADMSG;
	info->rate.bytes_per_s = kfb_get_le64(&rate.bytes_per_s);
	info->rate.ops_per_s = kfb_get_le32(&rate.ops_per_s);
	return 0;
}

static void kfb_reply_info_put(const struct kfb_reply *reply, __u8 *body)
{
	const struct kfb_info *info = &reply->u.info;
	struct kfb_wire_info_reply w;
	struct kfb_wire_rate rate;

	memset(&w, 0, sizeof(w));
	memcpy(w.brick_uuid, info->brick_uuid, KFB_UUID_BYTES);
	kfb_put_le64(&w.instance_id, info->instance_id);
	kfb_put_le64(&w.power_epoch, info->power_epoch);
	kfb_put_le32(&w.block_shift, info->block_shift);
	kfb_put_le32(&w.flags, info->flags);
	kfb_put_le32(&w.flush_modes, info->flush_modes);
	kfb_put_le32(&w.flush_mode, info->flush_mode);
	kfb_put_le32(&w.flush_why, info->flush_why);
	kfb_put_le32(&w.medium, info->medium);
	kfb_put_le64(&w.slots_total, info->slots_total);
	kfb_put_le64(&w.slots_free, info->slots_free);
	kfb_put_le64(&w.slots_clean, info->slots_clean);
	kfb_put_le64(&w.slots_bad, info->slots_bad);
	kfb_put_le64(&w.slow_total, info->slow_total);
	kfb_put_le64(&w.slow_free, info->slow_free);
	kfb_put_le32(&w.lease_ms, info->lease_ms);
	kfb_put_le32(&w.mappings_max, info->mappings_max);
	kfb_put_le64(&w.map_extent_max_bytes, info->map_extent_max_bytes);
	kfb_put_le64(&w.alloc_max_blocks, info->alloc_max_blocks);
	kfb_put_le32(&w.quota_blocks, info->quota_blocks);
	kfb_put_le32(&w.owned_blocks, info->owned_blocks);
	memcpy(body, &w, sizeof(w));
	if (!kfb_reply_info_count(reply))
		return;
	memset(&rate, 0, sizeof(rate));
	kfb_put_le64(&rate.bytes_per_s, info->rate.bytes_per_s);
	kfb_put_le32(&rate.ops_per_s, info->rate.ops_per_s);
	memcpy(body + sizeof(w), &rate, sizeof(rate));
}

static __u32 kfb_reply_map_count(const struct kfb_reply *reply)
{
	return reply->u.map.n_handles;
}

static _Bool kfb_reply_map_ok(const struct kfb_reply *reply)
{
	const struct kfb_map_reply *map = &reply->u.map;
	__u32 i;

	if (map->n_handles > KFB_HANDLES_MAX)
		return 0;
	for (i = 0; i < map->n_handles; i++) {
		const struct kfb_handle *handle = &map->handles[i];

		if (kfb_range_check(handle->va, handle->n_blocks))
			return 0;
		if (handle->n_blocks > KFB_MAP_EXTENT_MAX_BYTES >>
		    KFB_BLOCK_SHIFT)
			return 0;
	}
	return 1;
}

static int kfb_reply_map_get(const __u8 *body, __u32 len,
			     struct kfb_reply *reply)
{
	struct kfb_map_reply *map = &reply->u.map;
	struct kfb_wire_map_reply w;
	struct kfb_wire_handle handle;
	__u32 n, i;

	memcpy(&w, body, sizeof(w));
	n = kfb_get_le32(&w.n_handles);
	if (n > KFB_HANDLES_MAX || len != sizeof(w) + n * sizeof(handle) ||
	    kfb_get_le32(&w.reserved))
		return -EBADMSG;
	map->mapping_id = kfb_get_le64(&w.mapping_id);
	map->cursor = kfb_get_le64(&w.cursor);
	map->n_handles = n;
	body += sizeof(w);
	for (i = 0; i < n; i++, body += sizeof(handle)) {
		memcpy(&handle, body, sizeof(handle));
		if (kfb_get_le32(&handle.reserved))
			return -EBADMSG;
		map->handles[i].va = kfb_get_le64(&handle.va);
		map->handles[i].n_blocks = kfb_get_le64(&handle.n_blocks);
		map->handles[i].key = kfb_get_le64(&handle.key);
		map->handles[i].raddr = kfb_get_le64(&handle.raddr);
		map->handles[i].birth = kfb_get_le32(&handle.birth);
	}
	return 0;
}

static void kfb_reply_map_put(const struct kfb_reply *reply, __u8 *body)
{
	const struct kfb_map_reply *map = &reply->u.map;
	struct kfb_wire_map_reply w;
	struct kfb_wire_handle handle;
	__u32 i;

	memset(&w, 0, sizeof(w));
	kfb_put_le64(&w.mapping_id, map->mapping_id);
	kfb_put_le64(&w.cursor, map->cursor);
	kfb_put_le32(&w.n_handles, map->n_handles);
	memcpy(body, &w, sizeof(w));
	body += sizeof(w);
	memset(&handle, 0, sizeof(handle));
	for (i = 0; i < map->n_handles; i++, body += sizeof(handle)) {
		kfb_put_le64(&handle.va, map->handles[i].va);
		kfb_put_le64(&handle.n_blocks, map->handles[i].n_blocks);
		kfb_put_le64(&handle.key, map->handles[i].key);
		kfb_put_le64(&handle.raddr, map->handles[i].raddr);
		kfb_put_le32(&handle.birth, map->handles[i].birth);
		memcpy(body, &handle, sizeof(handle));
	}
}

static __u32 kfb_reply_list_count(const struct kfb_reply *reply)
{
	return reply->u.list.n_extents;
}

static _Bool kfb_reply_list_ok(const struct kfb_reply *reply)
{
	const struct kfb_list_reply *list = &reply->u.list;
	__u32 i;

	if (list->n_extents > KFB_LIST_EXTENTS_MAX)
		return 0;
	for (i = 0; i < list->n_extents; i++) {
		const struct kfb_list_extent *extent = &list->extents[i];

		if (extent->flags & ~KFB_EXTENT_FLAGS ||
		    kfb_range_check(extent->va, extent->n_blocks))
			return 0;
	}
	return 1;
}

static int kfb_reply_list_get(const __u8 *body, __u32 len,
			      struct kfb_reply *reply)
{
	struct kfb_list_reply *list = &reply->u.list;
	struct kfb_wire_list_reply w;
	struct kfb_wire_extent extent;
	__u32 n, i;

	memcpy(&w, body, sizeof(w));
	n = kfb_get_le32(&w.n_extents);
	if (n > KFB_LIST_EXTENTS_MAX || len != sizeof(w) + n * sizeof(extent) ||
	    kfb_get_le32(&w.reserved))
		return -EBADMSG;
	list->cursor = kfb_get_le64(&w.cursor);
	list->change_counter = kfb_get_le64(&w.change_counter);
	list->n_extents = n;
	body += sizeof(w);
	for (i = 0; i < n; i++, body += sizeof(extent)) {
		memcpy(&extent, body, sizeof(extent));
		if (kfb_get_le32(&extent.reserved))
			return -EBADMSG;
		list->extents[i].va = kfb_get_le64(&extent.va);
		list->extents[i].n_blocks = kfb_get_le64(&extent.n_blocks);
		list->extents[i].mapping_id = kfb_get_le64(&extent.mapping_id);
		list->extents[i].flags = kfb_get_le32(&extent.flags);
	}
	return 0;
}

static void kfb_reply_list_put(const struct kfb_reply *reply, __u8 *body)
{
	const struct kfb_list_reply *list = &reply->u.list;
	struct kfb_wire_list_reply w;
	struct kfb_wire_extent extent;
	__u32 i;

	memset(&w, 0, sizeof(w));
	kfb_put_le64(&w.cursor, list->cursor);
	kfb_put_le64(&w.change_counter, list->change_counter);
	kfb_put_le32(&w.n_extents, list->n_extents);
	memcpy(body, &w, sizeof(w));
	body += sizeof(w);
	memset(&extent, 0, sizeof(extent));
	for (i = 0; i < list->n_extents; i++, body += sizeof(extent)) {
		kfb_put_le64(&extent.va, list->extents[i].va);
		kfb_put_le64(&extent.n_blocks, list->extents[i].n_blocks);
		kfb_put_le64(&extent.mapping_id, list->extents[i].mapping_id);
		kfb_put_le32(&extent.flags, list->extents[i].flags);
		memcpy(body, &extent, sizeof(extent));
	}
}

static _Bool kfb_reply_client_ok(const struct kfb_reply *reply)
{
	const struct kfb_client_reply *client = &reply->u.client;

	return client->name_len &&
	       kfb_name_ok(client->name, client->name_len) &&
	       !(client->flags & ~KFB_CLIENT_FLAGS);
}

static int kfb_reply_client_get(const __u8 *body, __u32 len,
				struct kfb_reply *reply)
{
	struct kfb_client_reply *client = &reply->u.client;
	struct kfb_wire_client_reply w;

	memcpy(&w, body, sizeof(w));
	if (!kfb_codec_is_zero(w.reserved, sizeof(w.reserved)))
		return -EBADMSG;
	client->name_len = w.name_len;
	client->flags = kfb_get_le32(&w.flags);
	client->n_sessions = kfb_get_le32(&w.n_sessions);
	return kfb_codec_get_name(w.name, w.name_len, client->name);
}

static void kfb_reply_client_put(const struct kfb_reply *reply, __u8 *body)
{
	const struct kfb_client_reply *client = &reply->u.client;
	struct kfb_wire_client_reply w;

	memset(&w, 0, sizeof(w));
	w.name_len = client->name_len;
	memcpy(w.name, client->name, client->name_len);
	kfb_put_le32(&w.flags, client->flags);
	kfb_put_le32(&w.n_sessions, client->n_sessions);
	memcpy(body, &w, sizeof(w));
}

static __u32 kfb_reply_reservation_count(const struct kfb_reply *reply)
{
	return reply->u.reservation.n_registrants;
}

/* How many registrants hold a reservation of this type? */
static __u32 kfb_reply_holders(__u8 type, __u32 n_registrants)
{
	switch (type) {
	case KFB_RESERVED_NONE:
		return 0;
	case KFB_RESERVED_WRITE_EXCLUSIVE_ALL_REGS:
	case KFB_RESERVED_EXCLUSIVE_ACCESS_ALL_REGS:
		return n_registrants;
	default:
		return 1;
	}
}

static _Bool kfb_reply_reservation_ok(const struct kfb_reply *reply)
{
	const struct kfb_reservation *r = &reply->u.reservation;
	__u32 n_holders = 0, i;

	if (r->n_registrants > KFB_REGISTRANTS_MAX ||
	    r->type > KFB_RESERVED_LAST || (r->type && !r->n_registrants) ||
	    !r->n_blocks != !r->n_registrants)
		return 0;
	for (i = 0; i < r->n_registrants; i++) {
		const struct kfb_registrant *one = &r->registrants[i];

		if (!one->key || !one->name_len ||
		    !kfb_name_ok(one->name, one->name_len) ||
		    one->flags & ~KFB_REGISTRANT_FLAGS)
			return 0;
		n_holders += !!(one->flags & KFB_REGISTRANT_HOLDER);
	}
	return n_holders == kfb_reply_holders(r->type, r->n_registrants);
}

static int kfb_reply_registrant_get(const __u8 *raw, struct kfb_registrant *one)
{
	struct kfb_wire_registrant w;

	memcpy(&w, raw, sizeof(w));
	if (!kfb_codec_is_zero(w.reserved, sizeof(w.reserved)))
		return -EBADMSG;
	one->key = kfb_get_le64(&w.key);
	one->flags = w.flags;
	one->name_len = w.name_len;
	return kfb_codec_get_name(w.name, w.name_len, one->name);
}

static int kfb_reply_reservation_get(const __u8 *body, __u32 len,
				     struct kfb_reply *reply)
{
	struct kfb_reservation *r = &reply->u.reservation;
	struct kfb_wire_reservation w;
	__u32 n, i;
	int rc;

	memcpy(&w, body, sizeof(w));
	n = kfb_get_le32(&w.n_registrants);
	if (n > KFB_REGISTRANTS_MAX ||
	    len != sizeof(w) + n * sizeof(struct kfb_wire_registrant) ||
	    !kfb_codec_is_zero(w.reserved0, sizeof(w.reserved0)) ||
	    kfb_get_le32(&w.reserved1))
		return -EBADMSG;
	r->generation = kfb_get_le32(&w.generation);
	r->type = w.type;
	r->n_blocks = kfb_get_le64(&w.n_blocks);
	r->n_registrants = n;
	body += sizeof(w);
	for (i = 0; i < n; i++, body += sizeof(struct kfb_wire_registrant)) {
		rc = kfb_reply_registrant_get(body, &r->registrants[i]);
		if (rc)
			return rc;
	}
	return 0;
}

static void kfb_reply_reservation_put(const struct kfb_reply *reply, __u8 *body)
{
	const struct kfb_reservation *r = &reply->u.reservation;
	struct kfb_wire_reservation w;
	__u32 i;

	memset(&w, 0, sizeof(w));
	kfb_put_le32(&w.generation, r->generation);
	w.type = r->type;
	kfb_put_le32(&w.n_registrants, r->n_registrants);
	kfb_put_le64(&w.n_blocks, r->n_blocks);
	memcpy(body, &w, sizeof(w));
	body += sizeof(w);
	for (i = 0; i < r->n_registrants; i++) {
		const struct kfb_registrant *one = &r->registrants[i];
		struct kfb_wire_registrant raw;

		memset(&raw, 0, sizeof(raw));
		kfb_put_le64(&raw.key, one->key);
		raw.flags = one->flags;
		raw.name_len = one->name_len;
		memcpy(raw.name, one->name, one->name_len);
		memcpy(body, &raw, sizeof(raw));
		body += sizeof(raw);
	}
}

static _Bool kfb_reply_event_ok(const struct kfb_reply *reply)
{
	const struct kfb_event *event = &reply->u.event;

	if (event->kind == 0 || event->kind > KFB_EVENT_LAST ||
	    event->event_seq == 0)
		return 0;
	if (event->kind == KFB_EVENT_EVICTED)
		return event->cause && !event->va && !event->n_blocks &&
		       !event->mapping_id && !kfb_rate_is_set(&event->rate) &&
		       (event->cause == KFB_EVICTED_ORDER || !event->uid);
	if (event->cause || event->uid)
		return 0;
	if (event->kind == KFB_EVENT_RATE)
		return !event->va && !event->n_blocks && !event->mapping_id &&
		       !event->deadline_ms && kfb_rate_ok(&event->rate);
	if (kfb_rate_is_set(&event->rate))
		return 0;
	/* An EVENT about no blocks has no address either. */
	if (event->n_blocks == 0)
		return event->va == 0;
	return kfb_range_check(event->va, event->n_blocks) == 0;
}

static int kfb_reply_event_get(const __u8 *body, __u32 len,
			       struct kfb_reply *reply)
{
	struct kfb_event *event = &reply->u.event;
	struct kfb_wire_event w;

	memcpy(&w, body, sizeof(w));
	event->kind = kfb_get_le32(&w.kind);
	event->event_seq = kfb_get_le32(&w.event_seq);
	event->va = kfb_get_le64(&w.va);
	event->n_blocks = kfb_get_le64(&w.n_blocks);
	event->mapping_id = kfb_get_le64(&w.mapping_id);
	event->deadline_ms = kfb_get_le32(&w.deadline_ms);
	event->cause = kfb_get_le32(&w.cause);
	event->uid = 0;
	if (event->kind == KFB_EVENT_EVICTED) {
		event->uid = (__u32)event->mapping_id;
		event->mapping_id -= event->uid;
	}
	event->rate = (struct kfb_rate){ 0 };
	if (event->kind == KFB_EVENT_RATE) {
		event->rate.bytes_per_s = event->va;
		event->rate.ops_per_s = (__u32)event->n_blocks;
		event->va = 0;
		event->n_blocks -= event->rate.ops_per_s;
	}
	return 0;
}

static void kfb_reply_event_put(const struct kfb_reply *reply, __u8 *body)
{
	const struct kfb_event *event = &reply->u.event;
	_Bool is_rate = event->kind == KFB_EVENT_RATE;
	struct kfb_wire_event w;

	memset(&w, 0, sizeof(w));
	kfb_put_le32(&w.kind, event->kind);
	kfb_put_le32(&w.event_seq, event->event_seq);
	kfb_put_le64(&w.va, is_rate ? event->rate.bytes_per_s : event->va);
	kfb_put_le64(&w.n_blocks,
		     is_rate ? event->rate.ops_per_s : event->n_blocks);
	kfb_put_le64(&w.mapping_id, event->kind == KFB_EVENT_EVICTED
					    ? event->uid
					    : event->mapping_id);
	kfb_put_le32(&w.deadline_ms, event->deadline_ms);
	kfb_put_le32(&w.cause, event->cause);
	memcpy(body, &w, sizeof(w));
}

const struct kfb_reply_form kfb_auth_reply_form = {
	sizeof(struct kfb_wire_auth_reply),
	sizeof(struct kfb_wire_grant),
	kfb_reply_auth_count,
	kfb_reply_auth_ok,
	kfb_reply_auth_get,
	kfb_reply_auth_put
};

const struct kfb_reply_form kfb_info_reply_form = {
	sizeof(struct kfb_wire_info_reply),
	sizeof(struct kfb_wire_rate),
	kfb_reply_info_count,
	kfb_reply_info_ok,
	kfb_reply_info_get,
	kfb_reply_info_put
};

const struct kfb_reply_form kfb_map_reply_form = {
	sizeof(struct kfb_wire_map_reply),
	sizeof(struct kfb_wire_handle),
	kfb_reply_map_count,
	kfb_reply_map_ok,
	kfb_reply_map_get,
	kfb_reply_map_put
};

const struct kfb_reply_form kfb_list_reply_form = {
	sizeof(struct kfb_wire_list_reply),
	sizeof(struct kfb_wire_extent),
	kfb_reply_list_count,
	kfb_reply_list_ok,
	kfb_reply_list_get,
	kfb_reply_list_put
};

const struct kfb_reply_form kfb_client_reply_form = {
	sizeof(struct kfb_wire_client_reply),
	0,
	NULL,
	kfb_reply_client_ok,
	kfb_reply_client_get,
	kfb_reply_client_put
};

const struct kfb_reply_form kfb_reservation_reply_form = {
	sizeof(struct kfb_wire_reservation), sizeof(struct kfb_wire_registrant),
	kfb_reply_reservation_count,	     kfb_reply_reservation_ok,
	kfb_reply_reservation_get,	     kfb_reply_reservation_put
};

const struct kfb_reply_form kfb_event_form = { sizeof(struct kfb_wire_event),
					       0,
					       NULL,
					       kfb_reply_event_ok,
					       kfb_reply_event_get,
					       kfb_reply_event_put };

const struct kfb_reply_form kfb_empty_reply_form;

/*
 * Which body follows this op and status? NULL: the two make no reply. An op
 * that this version does not know is refused by name, so that an older brick
 * can answer a newer client.
 */
static const struct kfb_reply_form *kfb_reply_form_of(__u16 op, __u16 status)
{
	const struct kfb_op *known = kfb_op(op);

	if (op == 0 || op & KFB_OP_REPLY)
		return NULL;
	if (!known)
		return status == KFB_ST_NOT_SUPPORTED ? &kfb_empty_reply_form
						      : NULL;
	if (status == KFB_ST_OK)
		return known->reply;
	return known->request ? &kfb_empty_reply_form : NULL;
}

int kfb_encode_reply(const struct kfb_reply *reply, void *buf, __u32 cap)
{
	const struct kfb_reply_form *form =
		kfb_reply_form_of(reply->op, reply->status);
	struct kfb_codec_header header;

	if (!form || (form->ok && !form->ok(reply)))
		return -EINVAL;
	if (reply->op == KFB_OP_EVENT &&
	    (reply->cookie.slot || reply->cookie.seq))
		return -EINVAL;
	memset(&header, 0, sizeof(header));
	header.op = reply->op;
	if (reply->op != KFB_OP_EVENT)
		header.op |= KFB_OP_REPLY;
	header.status = reply->status;
	header.length_bytes = KFB_HEADER_BYTES + form->fixed_bytes;
	if (form->count)
		header.length_bytes += form->count(reply) * form->element_bytes;
	header.slot = reply->cookie.slot;
	header.seq = reply->cookie.seq;
	header.credits = reply->credits;
	if (cap < header.length_bytes)
		return -ENOSPC;
	kfb_codec_put_header(&header, buf);
	if (form->put)
		form->put(reply, (__u8 *)buf + KFB_HEADER_BYTES);
	return (int)header.length_bytes;
}

int kfb_decode_reply(const void *buf, __u32 len, struct kfb_reply *out)
{
	struct kfb_codec_header header;
	const struct kfb_reply_form *form;
	_Bool is_event;
	__u32 body_len;
	int error;

	if (len > KFB_REPLY_MAX_BYTES)
		return -EMSGSIZE;
	error = kfb_codec_get_header(buf, len, &header);
	if (error)
		return error;
	is_event = header.op == KFB_OP_EVENT;
	if (is_event ? header.slot || header.seq : !(header.op & KFB_OP_REPLY))
		return -EBADMSG;
	if (!is_event)
		header.op -= KFB_OP_REPLY;
	if ((header.op == KFB_OP_EVENT) != is_event)
		return -EBADMSG;
	form = kfb_reply_form_of(header.op, header.status);
	if (!form || header.op > KFB_OP_LAST)
		return -EBADMSG;
	body_len = len - KFB_HEADER_BYTES;
	if (body_len < form->fixed_bytes ||
	    (body_len > form->fixed_bytes && !form->element_bytes))
		return -EBADMSG;
	out->op = header.op;
	out->status = header.status;
	out->credits = header.credits;
	out->cookie.slot = header.slot;
	out->cookie.seq = header.seq;
	if (form->get)
		error = form->get((const __u8 *)buf + KFB_HEADER_BYTES,
				  body_len, out);
	if (error || (form->ok && !form->ok(out)))
		return -EBADMSG;
	return 0;
}
