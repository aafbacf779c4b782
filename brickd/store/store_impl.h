/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a store, shared by its files.
 *
 * Locking: `lock` guards index, slots, owners and change_counter, and the
 * payloads of records that readers may see. It is never held over a drain, and
 * whoever goes through many entries gives it to others every so often.
 * `syncs` has a lock of its own and lets nobody sync a file while another thread
 * does. Media words of a slot belong to whoever holds the slot: the store thread
 * for allocated ones and those of its batch, the cleaner for those it has taken.
 */
#ifndef BRICKD_STORE_IMPL_H
#define BRICKD_STORE_IMPL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "brickd/store/dram/index.h"
#include "brickd/store/dram/lru.h"
#include "brickd/store/dram/owners.h"
#include "brickd/store/dram/slots.h"
#include "brickd/store/format/instance.h"
#include "brickd/store/format/record.h"
#include "brickd/store/format/super.h"
#include "brickd/store/store.h"
#include "brickd/store/syncs.h"

/* The index keeps a slot in 32 bits, the tier's bit, and flags above them. */
#define BRICK_INDEX_SLOT    (BRICK_SLOT_SLOW | (BRICK_SLOT_SLOW - 1))
#define BRICK_INDEX_LOST    (1ULL << 62) /* could not be read */
#define BRICK_INDEX_PENDING (1ULL << 63) /* its batch is not committed yet */

/*
 * Free slots that no ALLOC gets, for one in BRICK_SPARE_PART slots of the slow
 * tier: without one a full store could not move anything any more. Each move
 * under way takes one.
 */
#define BRICK_SPARE_PART 32U
#define BRICK_SPARE_MAX	 16U

#define BRICK_TX_NEXT(tx) (((tx) + 1) & BRICK_FMT_TX_MASK)

struct brick_store {
	struct brick_media *m;
	struct brick_slow *slow; /* NULL: there is no slow tier */
	struct brick_super sb;
	struct brick_store_recovery recovery;
	struct brick_instance inst;
	unsigned int inst_copy; /* the page inst was last written to */
	unsigned int inst_safe; /* the one that was last durable */
	bool is_open; /* clients may have written */
	uint32_t tx; /* of the last batch; the store thread's */
	struct brick_syncs syncs; /* of the medium, where drain() is one */
	bool failed; /* atomic: the medium lost something, nothing is certain */
	struct brick_store_failure failure; /* written before failed is set */
	struct brick_syncs slow_syncs;
	bool slow_failed; /* atomic: nothing is moved to or from the slow tier any more */
	struct brick_store_failure slow_failure;
	pthread_mutex_t lock;
	unsigned int n_waiting; /* atomic: for the lock */
	unsigned int n_locked; /* atomic: how often it was taken */
	pthread_cond_t cleaned; /* n_cleaning fell */
	struct brick_index index;
	struct brick_slots slots;
	struct brick_slots slow_slots; /* by number, without the bit */
	struct brick_lru at_rest; /* pmem slots */
	struct brick_owners owners; /* as copy 0 of the records has them */
	uint64_t n_moving; /* targets that moves under way have taken */
	uint64_t spare; /* moves at a time; constant */
	uint64_t n_alloc; /* both tiers */
	uint64_t n_alloc_slow;
	uint64_t n_unzeroed; /* atomic: slow slots that could not be zeroed */
	uint64_t n_notes;
	uint64_t last_event;
	uint64_t change_counter;
	bool is_counting; /* atomic: counted is being copied */
	struct brick_store_stats counted; /* for whoever must not wait for lock */
	bool inherited; /* atomic: lines of an earlier instance, inherit.c */
	uint64_t inherited_at; /* slots below are written back */
	uint64_t *lost; /* keys of blocks_lost, sorted; constant */
	uint64_t n_lost;
};

static inline void brick_store_lock(struct brick_store *s)
{
	__atomic_fetch_add(&s->n_waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&s->lock);
	__atomic_fetch_sub(&s->n_waiting, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->n_locked, 1, __ATOMIC_RELAXED);
}

/*
 * list.c: has brick_store_stats() tell what there is now; with the lock, by whoever
 * has changed it.
 */
void brick_store_count(struct brick_store *s);

static inline void brick_store_unlock(struct brick_store *s)
{
	pthread_mutex_unlock(&s->lock);
}

/* Changes of the index, or looks at it, under one hold of the lock. */
#define BRICK_STORE_SLICE 256U

/*
 * list.c: lets others have the lock after each slice; @n_steps are counted. They may
 * change what it guards meanwhile.
 */
void brick_store_give_way(struct brick_store *s, unsigned int *n_steps);

static inline uint64_t brick_key(uint64_t va)
{
	return va >> KFB_BLOCK_SHIFT;
}

static inline uint64_t brick_va(uint64_t key)
{
	return key << KFB_BLOCK_SHIFT;
}

/* The free slots of the tier that a slot is in. */
static inline struct brick_slots *brick_slots_of(struct brick_store *s,
						 uint64_t slot)
{
	return brick_slot_is_slow(slot) ? &s->slow_slots : &s->slots;
}

/* A run as the maps of its tier know it. */
static inline struct brick_slot_run brick_run_in_tier(struct brick_slot_run run)
{
	run.slot = brick_slot_number(run.slot);
	return run;
}

static inline bool brick_store_has_failed(const struct brick_store *s)
{
	return __atomic_load_n(&s->failed, __ATOMIC_ACQUIRE);
}

static inline bool brick_store_slow_has_failed(const struct brick_store *s)
{
	return __atomic_load_n(&s->slow_failed, __ATOMIC_ACQUIRE);
}

/*
 * failure.c: drain. Everything that makes an open store's medium durable comes
 * through here: a medium that fails once is never trusted again. 0 or -EIO.
 */
int brick_store_fence(struct brick_store *s);

/* The same for the slow tier, whose failure is not the medium's. */
int brick_store_sync_slow(struct brick_store *s);

/*
 * In failure.c: the instance page that is not known to be durable becomes one of
 * no boot. 0 or -EIO.
 */
int brick_store_mark_medium(struct brick_store *s);

/* Before the first fence, and after the last. */
void brick_store_fences_init(struct brick_store *s);
void brick_store_fences_fini(struct brick_store *s);

/* store.c: note damage in the report and the event log. */
void brick_store_note(struct brick_store *s, uint32_t kind, uint32_t copy,
		      uint64_t slot, uint64_t detail);

#endif
