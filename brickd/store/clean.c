// SPDX-License-Identifier: BSD-2-Clause
/*
 * Zeroing freed slots, in the background or for an ALLOC that waits.
 *
 * The zeros are durable before CLEAN is stored. CLEAN itself needs no fence of
 * its own: if it is lost, the slot is DIRTY and zeroed again; if the slot is
 * allocated meanwhile, the batch's fence covers the same word.
 *
 * Context: the cleaner or the store thread. Locking: the slots it works on are in no map,
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
	uint64_t n_given_up;
};

static void take_haul(struct brick_store *s, uint64_t max_slots, struct haul *h)
{
	brick_store_lock(s);
	while (h->n_runs < CLEAN_RUNS_MAX && h->n_slots < max_slots &&
	       brick_slot_map_take(&h->slots->dirty, max_slots - h->n_slots,
				   false, &h->runs[h->n_runs]))
		h->n_slots += h->runs[h->n_runs++].n;
	h->slots->n_cleaning += h->n_slots;
	brick_store_count(s);
	brick_store_unlock(s);
}

static void return_slots(struct brick_store *s, const struct haul *h,
			 struct brick_slot_map *map)
{
	unsigned int i;

	brick_store_lock(s);
	for (i = 0; i < h->n_runs; i++)
		if (h->runs[i].n)
			brick_slot_map_give(map, h->runs[i]);
	h->slots->n_cleaning -= h->n_slots;
	pthread_cond_broadcast(&s->cleaned);
	brick_store_count(s);
	brick_store_unlock(s);
}

static int zero_fast(struct brick_store *s, struct haul *h)
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

/*
 * A slot that cannot be written is in no map from now on: nobody gets it. Those
 * behind it go back, to be zeroed next.
 */
static void give_up_haul(struct brick_store *s, struct haul *h,
			 struct brick_slot_run *run, uint64_t n_zeroed)
{
	struct brick_slot_run rest = { .slot = run->slot + n_zeroed + 1,
				       .n = run->n - n_zeroed - 1 };

	brick_store_lock(s);
	h->slots->n_bad++;
	h->slots->n_cleaning -= 1 + rest.n;
	if (rest.n)
		brick_slot_map_give(&h->slots->dirty, rest);
	pthread_cond_broadcast(&s->cleaned);
	brick_store_count(s);
	brick_store_unlock(s);
	__atomic_fetch_add(&s->n_unzeroed, 1, __ATOMIC_RELAXED);
	h->n_given_up++;
	h->n_slots -= 1 + rest.n;
	run->n = n_zeroed;
}

uint64_t brick_store_unzeroed(const struct brick_store *s)
{
	return __atomic_load_n(&s->n_unzeroed, __ATOMIC_RELAXED);
}

static int zero_slow(struct brick_store *s, struct haul *h)
{
	unsigned int i;
	uint64_t k;

	for (i = 0; i < h->n_runs; i++) {
		struct brick_slot_run *run = &h->runs[i];

		for (k = 0; k < run->n; k++)
			if (s->slow->ops->zero(s->slow,
					       brick_slow_data(run->slot + k),
					       KFB_BLOCK_BYTES))
				give_up_haul(s, h, run, k);
	}
	return h->n_slots ? brick_store_sync_slow(s) : 0;
}

static int clean_batch(struct brick_store *s, struct haul *h,
		       uint64_t max_slots,
		       int (*zero)(struct brick_store *s, struct haul *h))
{
	struct brick_word clean = { .state = BRICK_CLEAN };
	uint64_t first, k;
	unsigned int i;
	int ret;

	if (brick_store_has_failed(s))
		return -EIO;
	take_haul(s, max_slots, h);
	if (!h->n_slots)
		return 0;
	ret = zero(s, h);
	if (ret) {
		return_slots(s, h, &h->slots->dirty);
		return -EIO;
	}
	for (i = 0; i < h->n_runs; i++) {
		first = h->runs[i].slot | h->tier;
		for (k = 0; k < h->runs[i].n; k++)
			brick_record_put_word(s->m, &s->sb, BRICK_COPY_BOTH,
					      first + k, clean);
		brick_record_flush(s->m, &s->sb, BRICK_COPY_BOTH, first,
				   h->runs[i].n);
	}
	return_slots(s, h, &h->slots->clean);
	return (int)(h->n_slots + h->n_given_up);
}

int brick_store_clean_slow(struct brick_store *s, unsigned int max_slots)
{
	struct haul h = { .slots = &s->slow_slots, .tier = BRICK_SLOT_SLOW };

	if (brick_store_slow_has_failed(s))
		return -EIO;
	return s->slow ? clean_batch(s, &h, max_slots, zero_slow) : 0;
}

int brick_store_clean_one(struct brick_store *s, unsigned int max_slots)
{
	struct haul h = { .slots = &s->slots };

	return clean_batch(s, &h, max_slots, zero_fast);
}
