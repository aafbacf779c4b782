// SPDX-License-Identifier: BSD-2-Clause
/*
 * Mappings: MAP with its pages of handles, UNMAP, and the block map they fill.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define MAP_ENTRIES_MIN 64

int kfbl_map_room(struct kfbrick *k, uint32_t n)
{
	uint32_t want = k->map.n + n;
	struct kfb_blockmap_entry *entries;
	struct kfb_blockmap_entry *old = k->map.entries;
	uint32_t cap = k->map.cap ? k->map.cap : MAP_ENTRIES_MIN;

	if (want <= k->map.cap)
		return 0;
	while (cap < want)
		cap *= 2;
	entries = malloc((size_t)cap * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	kfb_blockmap_grow(&k->map, entries, cap);
	free(old);
	return 0;
}

int kfbl_keep_handles(struct kfbrick_mapping *mapping,
		      const struct kfb_handle *from, uint32_t n)
{
	size_t want = mapping->n_handles + n;
	struct kfbrick_handle *handles = mapping->handles;
	uint32_t i;

	if (want > mapping->cap_handles) {
		size_t cap = mapping->cap_handles * 2;

		if (cap < want)
			cap = want;
		handles = realloc(handles, cap * sizeof(*handles));
		if (!handles)
			return -ENOMEM;
		mapping->handles = handles;
		mapping->cap_handles = cap;
	}
	for (i = 0; i < n; i++) {
		struct kfbrick_handle *to = &handles[mapping->n_handles++];

		to->va = from[i].va;
		to->n_blocks = from[i].n_blocks;
		to->key = from[i].key;
		to->raddr = from[i].raddr;
		to->birth = from[i].birth;
	}
	return 0;
}

/* One page of handles is checked and kept. */
static int take_page(struct kfbrick *k, struct kfbrick_mapping *mapping,
		     struct kfb_map_try *map_try)
{
	const struct kfb_map_reply *reply = &k->call_reply.u.map;
	int rc = kfb_map_try_took(map_try, reply);

	mapping->id = map_try->mapping_id;
	if (rc)
		return kfbl_fail(k, -EPROTO,
				 "map " KFBL_BLOCKS
				 " at %s: the brick returned "
				 "handles for something else",
				 KFBL_RANGE(mapping->range), k->url.text);
	rc = kfbl_map_room(k, reply->n_handles);
	if (!rc)
		rc = kfbl_keep_handles(mapping, reply->handles,
				       reply->n_handles);
	if (!rc)
		rc = kfb_blockmap_add(&k->map, reply->handles, reply->n_handles,
				      mapping->id,
				      mapping->flags & KFBRICK_MAP_RW);
	if (rc)
		return kfbl_fail(k, rc, "map: no memory for handles");
	return 0;
}

/* A MAP is sent again while it is refused for now and time is left. */
static int ask_page(struct kfbrick *k, struct kfb_map_try *map_try,
		    struct kfb_outcome *outcome)
{
	struct kfb_request req = { 0 };
	uint64_t now_ms, again_ms;
	uint32_t pause_ms;
	int rc;

	for (;;) {
		kfb_map_try_ask(map_try, &req);
		rc = kfbl_call(k, &req, outcome);
		if (rc || !outcome->error)
			return rc;
		now_ms = kfbl_now_ms();
		pause_ms = kfb_map_try_refused(map_try, outcome->error, now_ms);
		if (!pause_ms)
			return 0;
		again_ms = now_ms + pause_ms;
		while (!kfbl_is_over(k) && kfbl_now_ms() < again_ms) {
			if (!kfbl_progress(k))
				kfbl_wait(k, again_ms);
		}
	}
}

static void drop_mapping(struct kfbrick *k, struct kfbrick_mapping *mapping)
{
	if (mapping->id)
		kfb_blockmap_del(&k->map, mapping->id);
	free(mapping->handles);
	free(mapping);
}

static int call_unmap(struct kfbrick *k, uint64_t id)
{
	struct kfb_request req = { .op = KFB_OP_UNMAP };

	req.u.unmap.mapping_id = id;
	return kfbl_request(k, &req, "unmap of mapping %016" PRIx64, id);
}

/* Has any mapping of this connection, also a dead one, blocks of a range? */
static bool is_mapped_here(const struct kfbrick *k,
			   const struct kfb_range *range)
{
	uint64_t last = range->va + ((range->n_blocks << KFB_BLOCK_SHIFT) - 1);
	const struct kfbrick_mapping *m;

	LIST_FOREACH(m, &k->mappings, link)
	{
		uint64_t len = m->range.n_blocks << KFB_BLOCK_SHIFT;

		if (m->range.va <= last && m->range.va + (len - 1) >= range->va)
			return true;
	}
	return false;
}

/* @session_id: of the session that has answered; 0: none has. */
static int map_pages(struct kfbrick *k, struct kfbrick_mapping *mapping,
		     uint64_t *session_id)
{
	struct kfb_map_try map_try;
	struct kfb_outcome outcome;
	int rc;

	kfb_map_try_begin(&map_try, &mapping->range, mapping->flags, false,
			  mapping->flags & KFB_MAP_NOWAIT
				  ? 0
				  : kfbl_now_ms() + k->timeout_ms);
	*session_id = 0;
	do {
		rc = ask_page(k, &map_try, &outcome);
		if (!rc && outcome.error)
			rc = kfbl_refused(k, &outcome, "map " KFBL_BLOCKS,
					  KFBL_RANGE(mapping->range));
		if (!rc && !*session_id)
			*session_id = k->core.client.session_id;
		if (!rc)
			rc = take_page(k, mapping, &map_try);
		if (rc)
			return rc;
	} while (map_try.rest.n_blocks);
	return 0;
}

/* The pages of one MAP, all in one session, or from the start in the next. */
static int map_all(struct kfbrick *k, struct kfbrick_mapping *mapping)
{
	uint64_t session_id;
	int rc;

	for (;;) {
		rc = map_pages(k, mapping, &session_id);
		if (!session_id || kfbl_is_over(k))
			return rc;
		if (session_id == k->core.client.session_id)
			break;
		/* The mapping has ended with its session. */
		kfb_blockmap_del(&k->map, mapping->id);
		mapping->id = 0;
		mapping->n_handles = 0;
	}
	if (rc && mapping->id)
		kfb_initiator_unmap_late(&k->core, mapping->id);
	return rc;
}

int kfbrick_map(struct kfbrick *k, uint64_t va, uint64_t n_blocks,
		unsigned int flags, struct kfbrick_mapping **out)
{
	struct kfb_range range = { .va = va, .n_blocks = n_blocks };
	bool ro = flags & KFBRICK_MAP_RO;
	bool rw = flags & KFBRICK_MAP_RW;
	bool shared = flags & KFBRICK_MAP_SHARED;
	bool exclusive = flags & KFBRICK_MAP_EXCLUSIVE;
	struct kfbrick_mapping *mapping;
	int rc;

	if (ro == rw || shared == exclusive || flags & ~KFB_MAP_FLAGS)
		return kfbl_fail(k, -EINVAL,
				 "map: flags 0x%x: give one of RO and RW, and "
				 "one of SHARED and EXCLUSIVE",
				 flags);
	/* Not even for one that is flushed at once: a loss can come before. */
	if (rw && shared && k->retain.n_pages)
		return kfbl_fail(
			k, -EINVAL,
			"map: retain_bytes exclude writing to what others "
			"write, too: a copy could be older than what another "
			"client has written: map EXCLUSIVE, or connect "
			"without retain_bytes");
	rc = kfbl_wait_live(k);
	if (rc)
		return rc;
	/* An illegal range is the brick's to refuse; it overlaps nothing. */
	if (!kfb_range_check(va, n_blocks) && is_mapped_here(k, &range))
		return kfbl_fail(k, -EBUSY,
				 "map " KFBL_BLOCKS
				 " at %s: this connection has "
				 "mapped some of it already: unmap that first",
				 va, n_blocks, k->url.text);
	mapping = calloc(1, sizeof(*mapping));
	if (!mapping)
		return kfbl_fail(k, -ENOMEM, "map: no memory");
	mapping->range = range;
	mapping->flags = flags;
	rc = map_all(k, mapping);
	if (rc) {
		drop_mapping(k, mapping);
		return rc;
	}
	LIST_INSERT_HEAD(&k->mappings, mapping, link);
	*out = mapping;
	return 0;
}

/* Errors that tell a caller that the mapping is still there. */
static bool unmap_leaves(int error)
{
	return error == -EAGAIN || error == -EBUSY || error == -ENOMEM;
}

/* The brick's side of an unmapping, in whatever session there is. */
static int end_mapping(struct kfbrick *k, struct kfbrick_mapping *mapping)
{
	uint64_t session_id;
	int rc;

	rc = kfbl_wait_live(k);
	if (rc)
		return rc;
	if (mapping->error)
		return kfbl_fail(
			k,
			unmap_leaves(mapping->error) ? -ESTALE : mapping->error,
			"unmap " KFBL_BLOCKS ": the mapping did not "
			"outlive a loss of the connection: %s",
			KFBL_RANGE(mapping->range), strerror(-mapping->error));
	/* A new session must not make it again. */
	LIST_REMOVE(mapping, link);
	session_id = k->core.client.session_id;
	rc = call_unmap(k, mapping->id);
	LIST_INSERT_HEAD(&k->mappings, mapping, link);
	/* With the session the keys are dead, and that is what was wanted. */
	if ((rc == -ECONNRESET || kfb_map_is_stale(rc)) && !kfbl_is_over(k) &&
	    session_id != k->core.client.session_id)
		rc = 0;
	return rc;
}

/*
 * A flush has failed, and whoever unmaps does not hear of it: whoever flushes next
 * does. What has no copies any more cannot be written again. Losses are told as
 * such, and no flush succeeds before that: none has to say so again afterwards.
 */
static void owe_flush(struct kfbrick *k, const struct kfb_range *range,
		      int error)
{
	struct kfb_dirty writes;

	if (!k->core.retain.is_on) {
		if (!kfb_losses_error(&k->core.losses))
			k->core.untold_error = error;
		return;
	}
	kfb_dirty_clear(&writes);
	kfb_dirty_add(&writes, range->va, range->n_blocks << KFB_BLOCK_SHIFT);
	kfb_initiator_lose(&k->core, &writes, KFB_LOSS_SUSPECT);
}

int kfbrick_unmap(struct kfbrick *k, struct kfbrick_mapping *mapping)
{
	uint64_t len = mapping->range.n_blocks << KFB_BLOCK_SHIFT;
	char words[KFBL_ERROR_BYTES];
	int flushed = 0;
	bool is_there;
	int rc;

	if (kfbl_io_uses_range(k, &mapping->range))
		return kfbl_fail(k, -EBUSY,
				 "unmap " KFBL_BLOCKS ": operations are in "
				 "flight: collect their completions first",
				 KFBL_RANGE(mapping->range));
	/* Afterwards there is nothing left to flush through. */
	if (!kfbl_is_over(k) && k->core.flush_mode != KFB_FLUSH_NONE &&
	    kfbl_flush_is_dirty_in(k, mapping->range.va, len))
		flushed = kfbrick_flush(k);
	/* Whoever tries again loses nothing. */
	if (unmap_leaves(flushed))
		return flushed;
	memcpy(words, k->error, sizeof(words));
	/* Copies go while a new session would still make the mapping again. */
	kfb_initiator_retain_drop(&k->core, mapping->range.va, len);
	rc = end_mapping(k, mapping);
	/* One that did not outlive a loss is not at the brick any more. */
	is_there = !mapping->error && (unmap_leaves(rc) || rc == -ETIMEDOUT);
	/* That is told now, and the flush by the next one. */
	if (flushed && is_there) {
		owe_flush(k, &mapping->range, flushed);
		flushed = 0;
	}
	/* The brick has it still, and its keys are alive. */
	if (is_there && rc != -ETIMEDOUT)
		return rc;
	if (is_there)
		kfb_initiator_unmap_late(&k->core, mapping->id);
	LIST_REMOVE(mapping, link);
	drop_mapping(k, mapping);
	if (flushed)
		return kfbl_fail(k, flushed, "unmapped, but: %s", words);
	return rc;
}

int kfbrick_unmap_id(struct kfbrick *k, uint64_t mapping_id)
{
	const struct kfbrick_mapping *mapping;

	LIST_FOREACH(mapping, &k->mappings, link)
	{
		if (mapping->id == mapping_id)
			return kfbl_fail(
				k, -EBUSY,
				"mapping %016" PRIx64 " is this "
				"connection's own: unmap it by its mapping",
				mapping_id);
	}
	return call_unmap(k, mapping_id);
}

struct kfbrick_mapping *kfbl_mapping_find(struct kfbrick *k, uint64_t va)
{
	struct kfbrick_mapping *mapping;

	LIST_FOREACH(mapping, &k->mappings, link)
	{
		if (va >= mapping->range.va &&
		    va - mapping->range.va < mapping->range.n_blocks
						     << KFB_BLOCK_SHIFT)
			return mapping;
	}
	return NULL;
}

int kfbl_mapping_covers(struct kfbrick *k, uint64_t va, size_t len, bool write,
			const struct kfbrick_mapping **dead)
{
	const struct kfbrick_mapping *mapping;
	uint64_t last = va + (len - 1);
	uint64_t end;

	do {
		mapping = kfbl_mapping_find(k, va);
		if (!mapping)
			return -ENXIO;
		if (mapping->error) {
			*dead = mapping;
			return -ENXIO;
		}
		if (write && !(mapping->flags & KFBRICK_MAP_RW))
			return -EACCES;
		end = mapping->range.va +
		      ((mapping->range.n_blocks << KFB_BLOCK_SHIFT) - 1);
		va = end + 1;
	} while (last > end);
	return 0;
}

uint64_t kfbrick_mapping_id(const struct kfbrick_mapping *mapping)
{
	return mapping->id;
}

size_t kfbrick_mapping_handles(const struct kfbrick_mapping *mapping,
			       const struct kfbrick_handle **handles)
{
	*handles = mapping->handles;
	return mapping->n_handles;
}

void kfbl_map_fini(struct kfbrick *k)
{
	struct kfbrick_mapping *mapping;

	while ((mapping = LIST_FIRST(&k->mappings))) {
		LIST_REMOVE(mapping, link);
		free(mapping->handles);
		free(mapping);
	}
	free(k->map.entries);
}
