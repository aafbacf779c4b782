// SPDX-License-Identifier: BSD-2-Clause
/* Bad blocks: see poison.h. */
#include "brickd/store/recovery/poison.h"

#include <errno.h>
#include <stdlib.h>

#include "brickd/store/format/evlog.h"
#include "brickd/store/store_impl.h"

/* What lies at fixed places: superblocks, commit words, instances, log. */
#define FIXED_BYTES 0x10000U

static uint64_t end_of(struct brick_bytes b)
{
	return b.off + b.len;
}

bool brick_poison_in_tables(const struct brick_super *sb,
			    struct brick_bytes bytes, struct brick_bytes *part)
{
	/* The data slots, or without a superblock all that is not fixed. */
	struct brick_bytes data = { FIXED_BYTES, UINT64_MAX - FIXED_BYTES };
	uint64_t end = end_of(bytes);

	if (sb) {
		data.off = sb->data_off;
		data.len = sb->n << KFB_BLOCK_SHIFT;
	}
	*part = bytes;
	if (bytes.off >= data.off && bytes.off < end_of(data))
		part->off = end_of(data);
	else if (bytes.off < data.off && end > data.off)
		end = data.off;
	if (part->off >= end)
		return false;
	part->len = end - part->off;
	return true;
}

static int note_poisoned(struct brick_store *s, uint64_t key)
{
	uint64_t *more;

	/* Room for twice as many whenever a power of two is full. */
	if (!(s->n_lost & (s->n_lost - 1))) {
		more = reallocarray(s->lost, s->n_lost ? 2 * s->n_lost : 1,
				    sizeof(*more));
		if (!more)
			return -ENOMEM;
		s->lost = more;
	}
	s->lost[s->n_lost++] = key;
	s->recovery.blocks_lost++;
	return 0;
}

/* The block keeps its slot, and nobody gets to its bytes. */
static int mark_lost(struct brick_store *s, uint64_t slot)
{
	struct brick_payload p;
	uint64_t key, value;

	(void)brick_record_get_payload(s->m, &s->sb, 0, slot, &p);
	key = brick_key(p.id);
	if (!brick_index_get(&s->index, key, &value) || value != slot)
		return 0; /* given up before, or named twice */
	(void)brick_index_put(&s->index, key, value | BRICK_INDEX_LOST);
	brick_lru_del(&s->at_rest, slot);
	if (note_poisoned(s, key))
		return -ENOMEM;
	return brick_slots_withhold(&s->slots, slot);
}

static int poison_piece(struct brick_store *s, struct brick_bytes bytes)
{
	uint64_t begin = s->sb.data_off, end = end_of(bytes);
	struct brick_word bad = { .state = BRICK_BAD };
	uint64_t slot;
	int ret = 0;

	if (!bytes.len || end <= begin)
		return 0;
	slot = bytes.off > begin ? (bytes.off - begin) >> KFB_BLOCK_SHIFT : 0;
	for (; !ret && slot < s->sb.n && brick_super_data(&s->sb, slot) < end;
	     slot++) {
		if (!brick_slot_map_take_one(&s->slots.clean, slot) &&
		    !brick_slot_map_take_one(&s->slots.dirty, slot)) {
			ret = mark_lost(s, slot);
			continue;
		}
		brick_record_put_word(s->m, &s->sb, BRICK_COPY_BOTH, slot, bad);
		brick_record_flush(s->m, &s->sb, BRICK_COPY_BOTH, slot, 1);
		brick_store_note(s, BRICK_EVENT_BAD_SLOT, 0, slot, 0);
		s->recovery.slots_given_up++;
		s->slots.n_bad++;
	}
	return ret;
}

static int by_key(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int brick_store_poison(struct brick_store *s, const struct brick_bytes *bytes,
		       uint32_t n)
{
	uint64_t before = s->slots.n_bad;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < n; i++)
		ret = poison_piece(s, bytes[i]);
	if (s->n_lost)
		qsort(s->lost, s->n_lost, sizeof(*s->lost), by_key);
	brick_store_count(s);
	if (ret || s->slots.n_bad == before)
		return ret;
	return brick_store_fence(s);
}

/* Index of the first lost key at or behind one. */
static uint64_t find_poisoned(const struct brick_store *s, uint64_t key)
{
	uint64_t low = 0, high = s->n_lost;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (s->lost[mid] < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* It may have been freed since. */
static bool is_lost(const struct brick_store *s, uint64_t key)
{
	uint64_t slot;

	return brick_index_get(&s->index, key, &slot) &&
	       slot & BRICK_INDEX_LOST && !brick_slot_is_slow(slot);
}

uint64_t brick_store_lost(struct brick_store *s, uint64_t va, uint64_t *first)
{
	uint64_t i = find_poisoned(s, brick_key(va)), n = 0;

	/* Each new session asks. */
	if (i == s->n_lost)
		return 0;
	brick_store_lock(s);
	while (i < s->n_lost && !is_lost(s, s->lost[i]))
		i++;
	while (i + n < s->n_lost && s->lost[i + n] == s->lost[i] + n &&
	       is_lost(s, s->lost[i + n]))
		n++;
	brick_store_unlock(s);
	if (n)
		*first = brick_va(s->lost[i]);
	return n;
}
