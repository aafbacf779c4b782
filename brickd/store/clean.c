// SPDX-License-Identifier: BSD-2-Clause
/*
 * Zeroing freed slots in the background.
 *
 * The zeros are durable before CLEAN is stored. CLEAN itself needs no fence of
 * its own: if it is lost, the slot is DIRTY and zeroed again; if the slot is
 * allocated meanwhile, the batch's fence covers the same word.
 *
 * Context: the cleaner thread. Locking: the slots it works on are in no map,
 * so that no one else touches their records or data.
 */
#include <errno.h>

#include "brickd/store/store_impl.h"

#define CLEAN_RUNS_MAX 64U

struct haul {
	struct brick_slots *slots; /* of which tier */
	uint64_t tier; /* its bit */
	struct brick_slot_run runs[CLEAN_RUNS_MAX];
	unsigned int n_runs;
	uint64_t n_slots;
};

static void take(struct brick_store *s, uint64_t max_slots, struct haul *h)
{
	pthread_mutex_lock(&s->lock);
	while (h->n_runs < CLEAN_RUNS_MAX && h->n_slots < max_slots &&
	       brick_slot_map_take(&h->slots->dirty, max_slots - h->n_slots,
				   false, &h->runs[h->n_runs]))
		h->n_slots += h->runs[h->n_runs++].n;
	h->slots->n_cleaning += h->n_slots;
	pthread_mutex_unlock(&s->lock);
}

static void give_back(struct brick_store *s, const struct haul *h,
		      struct brick_slot_map *map)
{
	unsigned int i;

	pthread_mutex_lock(&s->lock);
	for (i = 0; i < h->n_runs; i++)
		brick_slot_map_give(map, h->runs[i]);
	h->slots->n_cleaning -= h->n_slots;
	pthread_cond_broadcast(&s->cleaned);
	pthread_mutex_unlock(&s->lock);
}

static void mark_clean(struct brick_store *s, uint64_t tier,
		       struct brick_slot_run run)
{
	struct brick_word clean = { .state = BRICK_CLEAN };
	uint64_t i;

	run.slot |= tier;
	for (i = 0; i < run.n; i++)
		brick_record_put_word(s->m, &s->sb, BRICK_COPY_BOTH,
				      run.slot + i, clean);
	brick_record_flush(s->m, &s->sb, BRICK_COPY_BOTH, run.slot, run.n);
}

static int zero_fast(struct brick_store *s, const struct haul *h)
{
	unsigned int i;

	for (i = 0; i < h->n_runs; i++) {
		uint64_t off = brick_super_data(&s->sb, h->runs[i].slot);
		size_t len = h->runs[i].n << KFB_BLOCK_SHIFT;

		s->m->ops->zero(s->m, off, len);
		s->m->ops->flush(s->m, off, len);
	}
	return brick_store_fence(s);
}

static int zero_slow(struct brick_store *s, const struct haul *h)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < h->n_runs; i++)
		ret = s->slow->ops->zero(s->slow,
					 brick_slow_data(h->runs[i].slot),
					 h->runs[i].n << KFB_BLOCK_SHIFT);
	return ret ? ret : s->slow->ops->sync(s->slow);
}

static int clean(struct brick_store *s, struct haul *h, uint64_t max_slots,
		 int (*zero)(struct brick_store *s, const struct haul *h))
{
	unsigned int i;
	int ret;

	if (brick_store_has_failed(s))
		return -EIO;
	take(s, max_slots, h);
	if (!h->n_slots)
		return 0;
	ret = zero(s, h);
	if (ret) {
		give_back(s, h, &h->slots->dirty);
		return -EIO;
	}
	for (i = 0; i < h->n_runs; i++)
		mark_clean(s, h->tier, h->runs[i]);
	give_back(s, h, &h->slots->clean);
	return (int)h->n_slots;
}

int brick_store_clean_slow(struct brick_store *s, unsigned int max_slots)
{
	struct haul h = { .slots = &s->slow_slots, .tier = BRICK_SLOT_SLOW };

	return s->slow ? clean(s, &h, max_slots, zero_slow) : 0;
}

int brick_store_clean_one(struct brick_store *s, unsigned int max_slots)
{
	struct haul h = { .slots = &s->slots };

	return clean(s, &h, max_slots, zero_fast);
}
