// SPDX-License-Identifier: BSD-2-Clause
/*
 * The simple requests: INFO, PING, ALLOC, FREE, LIST.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "blocks/kfb_list.h"
#include "codec/kfb_ops.h"
#include "internal.h"
#include "session/kfb_refusal.h"
#include "kfb_err.h"

int kfbrick_ping(struct kfbrick *k)
{
	struct kfb_request req = { .op = KFB_OP_PING };

	return kfbl_request(k, &req, "ping");
}

/* How many blocks of a range are allocated; a negative errno. */
static int64_t count_allocated(struct kfbrick *k, uint64_t va,
			       uint64_t n_blocks)
{
	struct kfbrick_extent extents[16] = { 0 };
	uint64_t first = va >> KFB_BLOCK_SHIFT;
	uint64_t cursor = va;
	int64_t count = 0;
	int n;
	int i;

	do {
		n = kfbrick_list(k, KFBRICK_LIST_ALLOCATED, &cursor, extents,
				 16, NULL);
		for (i = 0; i < n; i++) {
			uint64_t from = extents[i].va >> KFB_BLOCK_SHIFT;
			uint64_t to = from + extents[i].n_blocks;

			if (from < first)
				from = first;
			if (to > first + n_blocks)
				to = first + n_blocks;
			if (from < to)
				count += (int64_t)(to - from);
		}
	} while (n > 0 && cursor &&
		 cursor >> KFB_BLOCK_SHIFT < first + n_blocks);
	return n < 0 ? n : count;
}

/* What ALLOC lacks only INFO tells; an unanswered one hides no refusal. */
static int refused_space(struct kfbrick *k, uint64_t va, uint64_t n_blocks,
			 const struct kfb_outcome *outcome)
{
	const struct kfb_info *info = &k->call_reply.u.info;
	struct kfb_request req = { .op = KFB_OP_INFO };
	struct kfb_outcome asked;
	__u64 n_free;

	if (kfbl_call(k, &req, &asked) || asked.error)
		return kfbl_refused(k, outcome, "alloc " KFBL_BLOCKS, va,
				    n_blocks);
	switch (kfb_shortage(info, n_blocks, &n_free)) {
	case KFB_SHORT_OF_QUOTA:
		return kfbl_fail(k, outcome->error,
				 "alloc " KFBL_BLOCKS
				 " at %s: quota of client %s: %" PRIu32
				 " of %" PRIu32 " blocks are in use, %" PRIu64
				 " were asked for; free some, or ask the "
				 "brick's administrator for a larger quota",
				 va, n_blocks, k->url.text,
				 k->client_name ? k->client_name : "(none)",
				 info->owned_blocks, info->quota_blocks,
				 n_blocks);
	case KFB_SHORT_OF_SPACE:
		return kfbl_fail(k, outcome->error,
				 "alloc " KFBL_BLOCKS " at %s: %s: %" PRIu64
				 " blocks were asked for, %" PRIu64
				 " are free; free some, or ask the brick's "
				 "administrator to make its store larger",
				 va, n_blocks, k->url.text,
				 kfb_refusal_why(outcome->op, outcome->error),
				 n_blocks, (uint64_t)n_free);
	default:
		return kfbl_refused(k, outcome, "alloc " KFBL_BLOCKS, va,
				    n_blocks);
	}
}

static int send_range(struct kfbrick *k, uint16_t op, uint64_t va,
		      uint64_t n_blocks)
{
	struct kfb_request req = { .op = op };
	struct kfb_outcome outcome;
	int rc;

	req.u.range.va = va;
	req.u.range.n_blocks = n_blocks;
	rc = kfbl_call(k, &req, &outcome);
	if (rc || !outcome.error)
		return rc;
	if (op == KFB_OP_ALLOC && outcome.error == -ENOSPC)
		return refused_space(k, va, n_blocks, &outcome);
	return kfbl_refused(k, &outcome, "%s " KFBL_BLOCKS, kfb_op_label(op),
			    va, n_blocks);
}

/* Both are all or nothing: the blocks tell which it was, mostly. */
static int tell_unknown(struct kfbrick *k, const char *name, uint64_t va,
			uint64_t n_blocks, const char *what)
{
	return kfbl_fail(k, -ECONNRESET,
			 "%s " KFBL_BLOCKS
			 " at %s: the brick was lost before it "
			 "answered, and now %s: look with list",
			 name, va, n_blocks, k->url.text, what);
}

/*
 * When a change may outlive its session, what there was before is looked at first:
 * without that nobody could tell afterwards whose blocks are seen. What is no range
 * is the brick's to refuse.
 */
static bool may_outlive(const struct kfbrick *k, uint64_t va, uint64_t n_blocks)
{
	return k->reconnect_ms && !kfb_range_check(va, n_blocks);
}

/*
 * Nothing is sent again that is not known to have no effect. An ALLOC of a session
 * that has ended may still be carried out, so that no refusal of one that is sent
 * again says that the blocks are not there.
 */
int kfbrick_alloc(struct kfbrick *k, uint64_t va, uint64_t n_blocks)
{
	uint64_t until_ms = kfbl_now_ms() + k->core.timeout_ms;
	char why[KFBL_ERROR_BYTES];
	bool was_sent = false;
	int64_t now;
	int rc;

	if (!may_outlive(k, va, n_blocks))
		return send_range(k, KFB_OP_ALLOC, va, n_blocks);
	now = count_allocated(k, va, n_blocks);
	if (now < 0)
		return (int)now;
	for (;;) {
		rc = send_range(k, KFB_OP_ALLOC, va, n_blocks);
		/* What was there before will be refused, if it is answered. */
		if (!rc ||
		    (rc == -ECONNRESET ? kfbl_is_over(k) || now : !was_sent))
			return rc;
		snprintf(why, sizeof(why), "%s", k->error);
		was_sent = true;
		now = count_allocated(k, va, n_blocks);
		if (now < 0)
			return tell_unknown(k, "alloc", va, n_blocks,
					    "it does not answer");
		if (now == (int64_t)n_blocks)
			return 0;
		if (now)
			return tell_unknown(k, "alloc", va, n_blocks,
					    "some blocks are allocated");
		if (rc == -ECONNRESET)
			until_ms = kfbl_now_ms() + k->core.timeout_ms;
		/* Nothing is allocated: that can be asked for again, for a while. */
		if (rc != -ECONNRESET &&
		    (rc != -EEXIST || kfbl_now_ms() >= until_ms))
			return tell_unknown(k, "alloc", va, n_blocks, why);
	}
}

/* LIST shows no blocks that were freed, nor those that are granted no more. */
static bool is_absent(struct kfbrick *k, uint64_t va, uint64_t n_blocks)
{
	struct kfb_request map = { .op = KFB_OP_MAP };
	struct kfb_outcome outcome;

	map.u.map.range.va = va;
	map.u.map.range.n_blocks = n_blocks;
	map.u.map.flags = KFB_MAP_RO | KFB_MAP_SHARED | KFB_MAP_NOWAIT;
	if (kfbl_call(k, &map, &outcome))
		return false;
	if (!outcome.error)
		kfb_initiator_unmap_late(&k->core,
					 k->call_reply.u.map.mapping_id);
	return outcome.status == KFB_ST_NOT_FOUND;
}

/* It is not sent again: by then the blocks may be another client's. */
int kfbrick_free(struct kfbrick *k, uint64_t va, uint64_t n_blocks)
{
	int64_t now;
	int rc;

	if (!may_outlive(k, va, n_blocks))
		return send_range(k, KFB_OP_FREE, va, n_blocks);
	now = count_allocated(k, va, n_blocks);
	if (now < 0)
		return (int)now;
	rc = send_range(k, KFB_OP_FREE, va, n_blocks);
	/* What was not there before will be refused, if it is answered. */
	if (rc != -ECONNRESET || kfbl_is_over(k) || now != (int64_t)n_blocks)
		return rc;
	now = count_allocated(k, va, n_blocks);
	if (now < 0)
		return tell_unknown(k, "free", va, n_blocks,
				    "it does not answer");
	if (now)
		return tell_unknown(
			k, "free", va, n_blocks,
			"blocks of it are allocated: it was not carried out, or is being so, or they are allocated again");
	if (!is_absent(k, va, n_blocks))
		return tell_unknown(k, "free", va, n_blocks,
				    "it does not show whether they are there");
	return 0;
}

static const char *why_text(uint32_t why)
{
	switch (why) {
	case KFB_WHY_VOLATILE:
		return "the medium is volatile: nothing makes it durable";
	case KFB_WHY_FILE:
		return "the medium is a file: the brick must write back its "
		       "page cache";
	case KFB_WHY_ADR_DDIO:
		return "arriving data may stop in the brick's CPU cache";
	case KFB_WHY_EADR:
		return "the brick's CPU caches survive power loss";
	case KFB_WHY_ADR_NODDIO:
		return "arriving data bypasses the CPU cache, as declared";
	case KFB_WHY_ASSUMED:
		return "assumed by configuration: unsafe";
	case KFB_WHY_CPU_PLACED:
		return "the fabric places data by the brick's CPU";
	case KFB_WHY_UNPROVEN:
		return "the brick's platform does not say what survives a loss of power: unsafe";
	default:
		return "the brick gives no reason that this version knows";
	}
}

static void info_from_wire(const struct kfb_info *from, struct kfbrick_info *to)
{
	memset(to, 0, sizeof(*to));
	memcpy(to->uuid, from->brick_uuid, sizeof(to->uuid));
	to->instance_id = from->instance_id;
	to->power_epoch = from->power_epoch;
	to->slots_total = from->slots_total;
	to->slots_free = from->slots_free;
	to->slots_clean = from->slots_clean;
	to->slots_bad = from->slots_bad;
	to->slow_total = from->slow_total;
	to->slow_free = from->slow_free;
	to->map_extent_max_bytes = from->map_extent_max_bytes;
	to->alloc_max_blocks = from->alloc_max_blocks;
	to->lease_ms = from->lease_ms;
	to->mappings_max = from->mappings_max;
	to->medium = from->medium;
	to->flush_modes = from->flush_modes;
	to->flush_mode = from->flush_mode;
	to->ack_is_placed = from->flags & KFB_INFO_ACK_IS_PLACED;
	to->unsafe =
		from->flags & KFB_INFO_UNSAFE && kfb_info_overpromises(from);
	to->exposed =
		from->flags & KFB_INFO_UNSAFE && !kfb_info_overpromises(from);
	snprintf(to->flush_why, sizeof(to->flush_why), "%s",
		 why_text(from->flush_why));
}

int kfbrick_get_info(struct kfbrick *k, struct kfbrick_info *info)
{
	struct kfb_request req = { .op = KFB_OP_INFO };
	struct kfbrick_info full;
	int rc;

	if (info->size < offsetof(struct kfbrick_info, instance_id))
		return kfbl_fail(k, -EINVAL,
				 "info: size must be "
				 "sizeof(struct kfbrick_info)");
	rc = kfbl_request(k, &req, "info");
	if (rc)
		return rc;
	info_from_wire(&k->call_reply.u.info, &full);
	full.size = info->size;
	kfbl_give_sized(info, info->size, &full, sizeof(full));
	return 0;
}

int kfbrick_get_quota(struct kfbrick *k, uint64_t *quota_blocks,
		      uint64_t *used_blocks)
{
	const struct kfb_info *info = &k->call_reply.u.info;
	struct kfb_request req = { .op = KFB_OP_INFO };
	bool has_quota;
	int rc;

	rc = kfbl_request(k, &req, "quota");
	if (rc)
		return rc;
	has_quota = info->flags & KFB_INFO_QUOTA;
	*quota_blocks = has_quota ? info->quota_blocks : KFBRICK_QUOTA_NONE;
	*used_blocks = info->owned_blocks;
	return 0;
}

void kfbrick_get_rate(const struct kfbrick *k, uint64_t *bytes_per_s,
		      uint32_t *ops_per_s)
{
	*bytes_per_s = k->rate.rate.bytes_per_s;
	*ops_per_s = k->rate.rate.ops_per_s;
}

uint32_t kfbrick_lease_ms(const struct kfbrick *k)
{
	return k->core.client.info.lease_ms;
}

int kfbrick_list(struct kfbrick *k, unsigned int what, uint64_t *cursor,
		 struct kfbrick_extent *extents, size_t max,
		 uint64_t *change_counter)
{
	struct kfb_request req = { .op = KFB_OP_LIST };
	const struct kfb_list_reply *reply = &k->call_reply.u.list;
	uint32_t i;
	int rc;

	if (!max || what < KFBRICK_LIST_ALLOCATED || what > KFBRICK_LIST_MINE)
		return kfbl_fail(k, -EINVAL,
				 "list: what is 1 to 3, and there must be room "
				 "for an extent");
	if (max > KFB_LIST_EXTENTS_MAX)
		max = KFB_LIST_EXTENTS_MAX;
	req.u.list.what = what;
	req.u.list.max_extents = (uint32_t)max;
	req.u.list.cursor = *cursor;
	rc = kfbl_request(k, &req, "list");
	if (rc)
		return rc;
	if (kfb_list_check(&req.u.list, reply))
		return kfbl_fail(k, -EPROTO,
				 "list at %s: the brick returned another page "
				 "than asked for",
				 k->url.text);
	for (i = 0; i < reply->n_extents; i++) {
		extents[i].va = reply->extents[i].va;
		extents[i].n_blocks = reply->extents[i].n_blocks;
		extents[i].mapping_id = reply->extents[i].mapping_id;
		extents[i].flags = reply->extents[i].flags;
	}
	*cursor = reply->cursor;
	if (change_counter)
		*change_counter = reply->change_counter;
	return (int)reply->n_extents;
}

int kfbrick_next_event(struct kfbrick *k, struct kfbrick_event *event)
{
	struct kfbrick_event full = { .size = event->size };
	struct kfb_event taken;

	if (event->size < offsetof(struct kfbrick_event, va))
		return kfbl_fail(k, -EINVAL,
				 "event: size must be "
				 "sizeof(struct kfbrick_event)");
	if (!k->n_queues || !kfb_initiator_take_event(&k->core, &taken))
		return 0;
	full.kind = taken.kind;
	full.va = taken.va;
	full.n_blocks = taken.n_blocks;
	full.mapping_id = taken.mapping_id;
	full.deadline_ms = taken.deadline_ms;
	full.cause = taken.cause;
	full.uid = taken.uid;
	kfbl_give_sized(event, event->size, &full, sizeof(full));
	return 1;
}
