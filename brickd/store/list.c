// SPDX-License-Identifier: BSD-2-Clause
/*
 * The readers: lookup, list, flush of client data, order of rest, numbers.
 *
 * Context: any thread. Locking: each holds the store's lock for a bounded
 * number of index steps; flushes run without it.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "brickd/store/store_impl.h"

#define LIST_STEPS_MAX	 16384U /* index entries of one call */
#define FIND_STEPS_MAX	 2048U /* the same in the loop, where others wait */
#define FLUSH_PIECES_MAX 64U
#define SKIP_BYTES	 4096U
#define YIELDS_MAX	 1000U

/*
 * A mutex is had again by who gives it up before those who sleep are awake: it waits
 * until one of them has had it.
 */
void brick_store_give_way(struct brick_store *s, unsigned int *n_steps)
{
	unsigned int n_locked, n_tries = YIELDS_MAX;

	if (++*n_steps < BRICK_STORE_SLICE)
		return;
	*n_steps = 0;
	if (!__atomic_load_n(&s->n_waiting, __ATOMIC_RELAXED))
		return;
	n_locked = __atomic_load_n(&s->n_locked, __ATOMIC_RELAXED);
	brick_store_unlock(s);
	while (n_tries-- &&
	       __atomic_load_n(&s->n_locked, __ATOMIC_RELAXED) == n_locked)
		sched_yield();
	brick_store_lock(s);
}

/* With BRICK_INDEX_LOST. */
static bool get_visible(const struct brick_store *s, uint64_t key,
			uint64_t *slot)
{
	return brick_index_get(&s->index, key, slot) &&
	       !(*slot & BRICK_INDEX_PENDING);
}

/* The next entry that readers may see, with BRICK_INDEX_LOST. */
static bool next_visible(const struct brick_store *s, uint64_t *key,
			 uint64_t *slot)
{
	while (brick_index_next(&s->index, key, slot)) {
		if (!(*slot & BRICK_INDEX_PENDING))
			return true;
		++*key;
	}
	return false;
}

int brick_store_lookup(struct brick_store *s, uint64_t va, uint64_t max_blocks,
		       struct brick_run *run)
{
	uint64_t key = brick_key(va), slot, next, n = 1;
	struct brick_payload p, other;

	brick_store_lock(s);
	if (!get_visible(s, key, &slot)) {
		brick_store_unlock(s);
		return -ENOENT;
	}
	(void)brick_record_get_payload(s->m, &s->sb, 0, slot & BRICK_INDEX_SLOT,
				       &p);
	for (; n < max_blocks; n++) {
		if (!get_visible(s, key + n, &next) || next != slot + n)
			break;
		(void)brick_record_get_payload(s->m, &s->sb, 0,
					       next & BRICK_INDEX_SLOT, &other);
		if (other.birth != p.birth || other.owner != p.owner)
			break;
	}
	brick_store_unlock(s);
	/* What the slow tier could not read may be readable next time. */
	run->bad = (slot & BRICK_INDEX_LOST) && !brick_slot_is_slow(slot);
	slot &= BRICK_INDEX_SLOT;
	run->va = va;
	run->n_blocks = n;
	run->slot = slot;
	run->slow = brick_slot_is_slow(slot);
	run->offset = run->slow ? 0 : brick_super_data(&s->sb, slot);
	run->birth = p.birth;
	run->owner = p.owner;
	return 0;
}

uint64_t brick_store_owned(struct brick_store *s, uint32_t owner)
{
	uint64_t n;

	brick_store_lock(s);
	n = brick_owners_count(&s->owners, owner);
	brick_store_unlock(s);
	return n;
}

unsigned int brick_store_list(struct brick_store *s, uint64_t *cursor,
			      struct brick_store_extent *ext, unsigned int max,
			      uint64_t *change_counter)
{
	uint64_t key = brick_key(*cursor), slot, steps = 0;
	unsigned int n = 0, n_held = 0;
	bool more;

	brick_store_lock(s);
	*change_counter = s->change_counter;
	while ((more = next_visible(s, &key, &slot))) {
		struct brick_store_extent *last = n ? &ext[n - 1] : NULL;
		uint64_t va = brick_va(key);
		bool bad = slot & BRICK_INDEX_LOST;
		bool slow = brick_slot_is_slow(slot);

		if (steps++ == LIST_STEPS_MAX)
			break;
		if (last && va == last->va + brick_va(last->n_blocks) &&
		    last->bad == bad && last->slow == slow) {
			last->n_blocks++;
		} else {
			if (n == max)
				break;
			ext[n].va = va;
			ext[n].n_blocks = 1;
			ext[n].slow = slow;
			ext[n++].bad = bad;
		}
		key++;
		brick_store_give_way(s, &n_held);
	}
	brick_store_unlock(s);
	*cursor = more ? brick_va(key) : 0;
	return n;
}

struct piece {
	uint64_t off;
	uint64_t len;
};

/*
 * What is allocated of [*va, last], at most FLUSH_PIECES_MAX pieces of it and
 * *left bytes, which are counted down. True: there is more from *va on.
 */
static bool find_pieces(struct brick_store *s, uint64_t *va, uint64_t last,
			uint64_t *left, struct piece *pieces, unsigned int *n)
{
	uint64_t key = brick_key(*va), slot, steps = 0;
	unsigned int n_held = 0;
	bool more;

	*n = 0;
	brick_store_lock(s);
	while ((more = next_visible(s, &key, &slot) &&
		       key <= brick_key(last)) &&
	       *left && *n < FLUSH_PIECES_MAX && steps++ < LIST_STEPS_MAX) {
		uint64_t begin = brick_va(key) > *va ? brick_va(key) : *va;
		uint64_t end = brick_va(key) + (KFB_BLOCK_BYTES - 1);
		uint64_t len;

		if (end > last)
			end = last;
		len = end - begin + 1;
		/* Blocks in the slow tier are durable there; looking counts. */
		if (brick_slot_is_slow(slot)) {
			*left -= *left < SKIP_BYTES ? *left : SKIP_BYTES;
		} else {
			if (len > *left)
				len = *left;
			*left -= len;
			pieces[*n].off = brick_super_data(&s->sb, slot) +
					 (begin & (KFB_BLOCK_BYTES - 1));
			pieces[(*n)++].len = len;
		}
		if (begin + (len - 1) == last) {
			more = false;
			break;
		}
		*va = begin + len;
		key = brick_key(*va);
		/* What it has found stays where it is: it is being flushed. */
		brick_store_give_way(s, &n_held);
	}
	if (more && brick_va(key) > *va)
		*va = brick_va(key);
	brick_store_unlock(s);
	return more;
}

bool brick_store_flush_some(struct brick_store *s, uint64_t *va, uint64_t last,
			    uint64_t *left)
{
	struct piece pieces[FLUSH_PIECES_MAX];
	unsigned int n;
	bool more = true;

	/* There drain() covers everything. */
	if (s->m->granularity == BRICK_GRANULARITY_PAGE)
		return false;
	while (more && *left) {
		more = find_pieces(s, va, last, left, pieces, &n);
		for (unsigned int i = 0; i < n; i++)
			s->m->ops->flush(s->m, pieces[i].off, pieces[i].len);
	}
	return more;
}

void brick_store_flush(struct brick_store *s, uint64_t va, uint64_t len)
{
	uint64_t last = va + len - 1, left = UINT64_MAX;

	if (!len)
		return;
	if (last < va)
		last = UINT64_MAX;
	(void)brick_store_flush_some(s, &va, last, &left);
}

/* A short range lies in two blocks at most: two steps under the lock. */
bool brick_store_try_flush(struct brick_store *s, uint64_t va, uint64_t len)
{
	uint64_t last = va + (len - 1), slot;
	struct piece pieces[2];
	unsigned int i, n = 0;

	if (!len || len > BRICK_TRY_FLUSH_MAX ||
	    s->m->granularity == BRICK_GRANULARITY_PAGE ||
	    pthread_mutex_trylock(&s->lock))
		return false;
	for (uint64_t key = brick_key(va); key <= brick_key(last); key++) {
		uint64_t begin = brick_va(key) > va ? brick_va(key) : va;
		uint64_t end = brick_va(key) + (KFB_BLOCK_BYTES - 1);

		/* Blocks in the slow tier are durable there. */
		if (!get_visible(s, key, &slot) || brick_slot_is_slow(slot))
			continue;
		if (end > last)
			end = last;
		pieces[n].off = brick_super_data(&s->sb, slot) +
				(begin & (KFB_BLOCK_BYTES - 1));
		pieces[n++].len = end - begin + 1;
	}
	brick_store_unlock(s);
	for (i = 0; i < n; i++)
		s->m->ops->flush(s->m, pieces[i].off, pieces[i].len);
	return true;
}

unsigned int brick_store_find(struct brick_store *s, uint64_t *block,
			      uint64_t end, bool slow, uint64_t *va,
			      unsigned int max)
{
	uint64_t key = *block, slot, steps = 0;
	unsigned int n = 0, n_held = 0;
	bool more = true;

	brick_store_lock(s);
	while (n < max && steps++ < FIND_STEPS_MAX) {
		more = next_visible(s, &key, &slot) && key < end;
		if (!more)
			break;
		if (brick_slot_is_slow(slot) == slow)
			va[n++] = brick_va(key);
		key++;
		brick_store_give_way(s, &n_held);
	}
	brick_store_unlock(s);
	*block = more ? key : end;
	return n;
}

void brick_store_rest(struct brick_store *s, uint64_t va, uint64_t n_blocks)
{
	uint64_t key = brick_key(va), end = key + n_blocks, slot;
	unsigned int n_held = 0;

	if (!s->slow)
		return;
	brick_store_lock(s);
	while (brick_index_next(&s->index, &key, &slot) && key < end) {
		/* A lost block does not count as used: nobody could copy it. */
		if (!(slot & ~(BRICK_SLOT_SLOW - 1)))
			brick_lru_touch(&s->at_rest, slot);
		key++;
		brick_store_give_way(s, &n_held);
	}
	brick_store_unlock(s);
}

unsigned int brick_store_coldest(struct brick_store *s, uint64_t *va,
				 unsigned int max)
{
	struct brick_payload p;
	unsigned int n = 0;
	uint64_t slot;

	brick_store_lock(s);
	while (n < max && brick_lru_take(&s->at_rest, &slot)) {
		(void)brick_record_get_payload(s->m, &s->sb, 0, slot, &p);
		va[n++] = p.id;
	}
	brick_store_unlock(s);
	return n;
}

void brick_store_release(struct brick_store *s, uint64_t quarantine)
{
	brick_store_lock(s);
	brick_slots_release(&s->slots, quarantine);
	brick_slots_release(&s->slow_slots, quarantine);
	brick_store_count(s);
	brick_store_unlock(s);
}

/* For as long as it takes to copy some words. */
static void begin_counting(struct brick_store *s)
{
	while (__atomic_exchange_n(&s->is_counting, true, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void end_counting(struct brick_store *s)
{
	__atomic_store_n(&s->is_counting, false, __ATOMIC_RELEASE);
}

void brick_store_count(struct brick_store *s)
{
	struct brick_store_stats n = { 0 };

	n.slots_total = s->slots.n;
	n.slots_clean = s->slots.clean.n_set;
	n.slots_alloc = s->n_alloc - s->n_alloc_slow;
	n.slots_bad = s->slots.n_bad;
	/* With the cleaner, in quarantine, in a batch or a move: to be zeroed. */
	n.slots_dirty =
		n.slots_total - n.slots_clean - n.slots_alloc - n.slots_bad;
	n.slots_ready = s->slots.clean.n_set + s->slots.dirty.n_set;
	n.slots_cleaning = s->slots.n_cleaning;
	n.slow_ready = s->slow_slots.clean.n_set + s->slow_slots.dirty.n_set;
	n.slow_cleaning = s->slow_slots.n_cleaning;
	n.slow_total = s->slow_slots.n;
	n.slow_clean = s->slow_slots.clean.n_set;
	n.slow_alloc = s->n_alloc_slow;
	n.slow_bad = s->slow_slots.n_bad;
	n.slow_dirty = n.slow_total - n.slow_clean - n.slow_alloc - n.slow_bad;
	n.slow_spare = s->spare;
	n.change_counter = s->change_counter;
	begin_counting(s);
	s->counted = n;
	end_counting(s);
}

void brick_store_stats(struct brick_store *s, struct brick_store_stats *out)
{
	begin_counting(s);
	*out = s->counted;
	end_counting(s);
	out->slow_has_failed = brick_store_slow_has_failed(s);
	if (out->slow_has_failed) {
		out->slow_ready = 0;
		out->slow_cleaning = 0;
	}
	out->instance_id = s->inst.instance_id;
	out->power_epoch = s->inst.power_epoch;
	memcpy(out->uuid, s->sb.uuid, sizeof(out->uuid));
}

bool brick_store_slot_of(const struct brick_store *s, const void *addr,
			 uint64_t *slot)
{
	uint64_t off, at;

	if (!brick_media_offset_of(s->m, addr, &off))
		return false;
	*slot = UINT64_MAX;
	if (off >= s->sb.data_off) {
		at = (off - s->sb.data_off) >> KFB_BLOCK_SHIFT;
		if (at < s->sb.n)
			*slot = at;
	}
	return true;
}

/* By what is in memory: the record may lie where the medium cannot be read, too. */
bool brick_store_block_of(struct brick_store *s, uint64_t slot, uint64_t *va)
{
	uint64_t key = 0, value;
	unsigned int n_held = 0;
	bool holds = false;

	brick_store_lock(s);
	while (!holds && next_visible(s, &key, &value)) {
		holds = (value & BRICK_INDEX_SLOT) == slot;
		*va = brick_va(key);
		key++;
		brick_store_give_way(s, &n_held);
	}
	brick_store_unlock(s);
	return holds;
}
