// SPDX-License-Identifier: BSD-2-Clause
/*
 * Mappings in a new session: each is made again, and lives on only when none
 * of its blocks has changed hands.
 *
 * One MAP is out at a time. Refusals that may pass are tried again, as
 * blocks/kfb_map_try.h has them; any other refusal, or another birth, is the end of
 * that mapping: what is posted to it fails, and what was written to it and not
 * flushed is lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

static void next_mapping(struct kfbrick *k, struct kfbrick_mapping *mapping)
{
	struct kfbl_restore *r = &k->restore;

	/* What is dead stays dead until its owner unmaps it. */
	while (mapping && mapping->error)
		mapping = LIST_NEXT(mapping, link);
	r->at = mapping;
	r->n_handles = 0;
	r->pause_until_ms = 0;
	if (mapping)
		kfb_map_try_begin(&r->map_try, &mapping->range,
				  mapping->flags | KFB_MAP_NOWAIT, true,
				  r->until_ms);
}

void kfbl_restore_start(struct kfbrick *k)
{
	struct kfbl_restore *r = &k->restore;

	kfbl_retain_open(k);
	/* Keys of another session open nothing, or something else. */
	kfb_blockmap_init(&k->map, k->map.entries, k->map.cap);
	r->active = true;
	r->call.is_done = true;
	r->until_ms = KFB_TIME_NEVER;
	if (k->reconnect_ms != KFBRICK_RECONNECT_FOREVER)
		r->until_ms = kfbl_now_ms() + k->reconnect_ms;
	next_mapping(k, LIST_FIRST(&k->mappings));
}

/* A mapping dies, and what was not flushed in it is lost. */
static void mapping_dies(struct kfbrick *k, struct kfbrick_mapping *mapping,
			 int error, uint32_t why)
{
	uint64_t len = mapping->range.n_blocks << KFB_BLOCK_SHIFT;
	struct kfb_dirty lost = { 0 };
	uint32_t i;

	mapping->error = error;
	kfb_blockmap_del(&k->map, mapping->id);
	for (i = 0; i < k->n_queues; i++)
		kfb_flush_take_in(&k->queues[i].core.flush, mapping->range.va,
				  len, &lost);
	/* What there are copies of is taken out, and due to be written. */
	if (k->core.replay_due &&
	    kfb_initiator_retain_has(&k->core, mapping->range.va, len))
		kfb_dirty_add(&lost, mapping->range.va, len);
	kfb_initiator_retain_drop(&k->core, mapping->range.va, len);
	kfb_initiator_flushes_anew(&k->core);
	kfb_initiator_lose(&k->core, &lost, why);
}

/* The mapping that is being made again dies: @error is what its MAP came to. */
static void give_up(struct kfbrick *k, int error)
{
	struct kfbrick_mapping *mapping = k->restore.at;
	bool is_stale = kfb_map_is_stale(error);

	if (k->restore.map_try.mapping_id)
		/* What was mapped anew is not wanted. */
		kfb_initiator_unmap_late(&k->core,
					 k->restore.map_try.mapping_id);
	mapping_dies(k, mapping, is_stale ? -ESTALE : error,
		     is_stale ? KFB_LOSS_BIRTH : KFB_LOSS_REFUSED);
	next_mapping(k, LIST_NEXT(mapping, link));
}

static int keep_page(struct kfbl_restore *r, const struct kfb_map_reply *reply)
{
	uint32_t want = r->n_handles + reply->n_handles;

	if (want > r->cap_handles) {
		uint32_t cap =
			r->cap_handles * 2 > want ? r->cap_handles * 2 : want;
		struct kfb_handle *handles =
			realloc(r->handles, cap * sizeof(*handles));

		if (!handles)
			return -ENOMEM;
		r->handles = handles;
		r->cap_handles = cap;
	}
	memcpy(r->handles + r->n_handles, reply->handles,
	       reply->n_handles * sizeof(r->handles[0]));
	r->n_handles = want;
	return 0;
}

/* The mapping's handles become the new ones: 0 or -ENOMEM. */
static int take_over(struct kfbrick *k, struct kfbrick_mapping *mapping)
{
	struct kfbl_restore *r = &k->restore;
	size_t n_old = mapping->n_handles;

	mapping->n_handles = 0;
	if (kfbl_map_room(k, r->n_handles) ||
	    kfbl_keep_handles(mapping, r->handles, r->n_handles)) {
		mapping->n_handles = n_old;
		return -ENOMEM;
	}
	mapping->id = r->map_try.mapping_id;
	return kfb_blockmap_add(&k->map, r->handles, r->n_handles, mapping->id,
				mapping->flags & KFBRICK_MAP_RW);
}

static void complete_restore(struct kfbrick *k)
{
	struct kfbl_restore *r = &k->restore;
	struct kfbrick_mapping *mapping = r->at;
	struct kfb_handle *old = calloc(mapping->n_handles, sizeof(*old));
	size_t i;
	int rc;

	if (!old) {
		give_up(k, -ENOMEM);
		return;
	}
	for (i = 0; i < mapping->n_handles; i++) {
		old[i].va = mapping->handles[i].va;
		old[i].n_blocks = mapping->handles[i].n_blocks;
		old[i].birth = mapping->handles[i].birth;
	}
	if (!kfb_births_same(old, (uint32_t)mapping->n_handles, r->handles,
			     r->n_handles)) {
		give_up(k, -ESTALE);
	} else {
		rc = take_over(k, mapping);
		if (rc)
			give_up(k, rc);
		else
			next_mapping(k, LIST_NEXT(mapping, link));
	}
	free(old);
}

static void took_page(struct kfbrick *k)
{
	const struct kfb_map_reply *reply = &k->core.reply.u.map;
	struct kfbl_restore *r = &k->restore;

	if (kfb_map_try_took(&r->map_try, reply)) {
		kfb_initiator_lost(
			&k->queues[0].core, -EPROTO,
			"the brick returned handles for something else", "");
		return;
	}
	if (keep_page(r, reply)) {
		give_up(k, -ENOMEM);
		return;
	}
	if (!r->map_try.rest.n_blocks)
		complete_restore(k);
}

void kfbl_restore_answer(struct kfbrick *k)
{
	const struct kfb_outcome *outcome = &k->restore.call.outcome;
	struct kfbl_restore *r = &k->restore;
	uint64_t now_ms = kfbl_now_ms();
	uint32_t pause_ms;

	/* What was lost with its session is asked for anew in the next. */
	if (!r->active || !r->at || outcome->kind == KFB_OUTCOME_LOST)
		return;
	if (!outcome->error) {
		took_page(k);
		return;
	}
	pause_ms = kfb_map_try_refused(&r->map_try, outcome->error, now_ms);
	if (pause_ms)
		r->pause_until_ms = now_ms + pause_ms;
	else
		give_up(k, outcome->error);
}

bool kfbl_restore_run(struct kfbrick *k)
{
	struct kfbl_restore *r = &k->restore;

	if (!r->active || !r->call.is_done ||
	    kfb_client_state(&k->core.client) != KFB_CLIENT_MAPPING ||
	    k->core.session_id != k->core.client.session_id)
		return false;
	if (!r->at) {
		r->active = false;
		return !kfb_client_mapped(&k->core.client);
	}
	if (kfbl_now_ms() < r->pause_until_ms)
		return false;
	memset(&r->call, 0, sizeof(r->call));
	kfb_map_try_ask(&r->map_try, &r->call.req);
	r->call.in_mapping = true;
	r->call.in_session = k->core.session_id;
	kfb_initiator_call(&k->core, &r->call);
	return true;
}

uint64_t kfbl_restore_next_ms(const struct kfbrick *k)
{
	const struct kfbl_restore *r = &k->restore;

	if (!r->active || !r->call.is_done ||
	    kfb_client_state(&k->core.client) != KFB_CLIENT_MAPPING)
		return KFB_TIME_NEVER;
	return r->pause_until_ms;
}
