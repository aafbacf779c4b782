/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The free slots, in DRAM: clean ones, dirty ones, and those in quarantine.
 *
 * A slot is in exactly one place: clean map, dirty map, with the cleaner, in
 * quarantine, allocated, or bad.
 *
 * Locking: the caller's.
 */
#ifndef BRICKD_STORE_SLOTS_H
#define BRICKD_STORE_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

struct brick_slot_run {
	uint64_t slot;
	uint64_t n;
};

/* One bit a slot, and one for each word of these that has any. */
struct brick_slot_map {
	uint64_t *bits;
	uint64_t *words;
	uint64_t n_bits;
	uint64_t n_set;
	uint64_t hint; /* where the next search begins */
};

struct brick_slot_quarantine;

/**
 * struct brick_slots - where the free slots are
 * @n: slots in all
 * @clean: free and zero
 * @dirty: free, to be zeroed
 * @n_kept: of the clean ones, kept for ALLOCs that wait for more
 * @n_cleaning: with the cleaner
 * @n_quarantined: waiting for brick_slots_release()
 * @n_bad: never used again
 * @quarantine: list of runs
 * @withheld: allocated slots that will be bad once they are free
 * @n_withheld: how many
 */
struct brick_slots {
	uint64_t n;
	struct brick_slot_map clean;
	struct brick_slot_map dirty;
	uint64_t n_kept;
	uint64_t n_cleaning;
	uint64_t n_quarantined;
	uint64_t n_bad;
	struct brick_slot_quarantine *quarantine;
	uint64_t *withheld;
	uint64_t n_withheld;
};

/* 0 or -ENOMEM. */
int brick_slots_init(struct brick_slots *s, uint64_t n);
void brick_slots_fini(struct brick_slots *s);

/* Put a run into a map; none of it is there. */
void brick_slot_map_give(struct brick_slot_map *map, struct brick_slot_run run);

/**
 * brick_slot_map_take - take slots that lie side by side
 * @map: from where
 * @want: how many, at least 1
 * @whole: nothing rather than fewer
 * @run: what was taken, on success
 *
 * Where free slots lie here and there it looks at 4096 places for as many as are
 * wanted, and misses a run that lies elsewhere: others wait meanwhile.
 *
 * Context: bounded by one pass over the words, a bit for 4096 slots.
 * Return: whether any were taken.
 */
bool brick_slot_map_take(struct brick_slot_map *map, uint64_t want, bool whole,
			 struct brick_slot_run *run);

/* Take one slot, if the map has it. Return: whether it had. */
bool brick_slot_map_take_one(struct brick_slot_map *map, uint64_t slot);

/* This allocated slot must never be given again. 0 or -ENOMEM. */
int brick_slots_withhold(struct brick_slots *s, uint64_t slot);

/* Freed slots go to the dirty map, but for those withheld: they are bad. */
void brick_slots_give_dirty(struct brick_slots *s, struct brick_slot_run run);

/**
 * brick_slot_quarantine_new - memory for a run, before it is certain to be needed
 * @token: the name under which it will be released, not 0
 * @run: the slots
 *
 * Return: to be given to brick_slots_quarantine() or free(); NULL: no memory.
 */
struct brick_slot_quarantine *
brick_slot_quarantine_new(uint64_t token, struct brick_slot_run run);
void brick_slots_quarantine(struct brick_slots *s,
			    struct brick_slot_quarantine *q);

/* Move all of a token's slots to the dirty map. */
void brick_slots_release(struct brick_slots *s, uint64_t token);

#endif
