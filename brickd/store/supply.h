/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Free slots for an ALLOC.
 *
 * Context: the store thread, with the store's lock.
 */
#ifndef BRICKD_STORE_SUPPLY_H
#define BRICKD_STORE_SUPPLY_H

#include "brickd/store/store_impl.h"

/* How many of n slots come from the slow tier: what the other has not. */
uint64_t brick_supply_from_slow(const struct brick_store *s, uint64_t n);

/**
 * brick_supply_wait - see that there are enough free slots
 * @s: the store
 * @n: how many
 *
 * Waits for the cleaner to give back what it holds. What moves have taken comes
 * back too, or others for them, and there are never more of them than spare
 * slots: no ALLOC need wait for a move.
 *
 * Return: 0, -ENOSPC, -EIO.
 */
int brick_supply_wait(struct brick_store *s, uint64_t n);

/**
 * brick_supply_clean - clean slots that an ALLOC may take
 * @slots: of one tier
 * @kept: of these, kept for it
 * @want: at most so many
 *
 * Return: how many.
 */
uint64_t brick_supply_clean(const struct brick_slots *slots, uint64_t kept,
			    uint64_t want);

/**
 * brick_supply_is_over_quota - would an ALLOC give its owner more than it may have?
 * @s: the store
 * @op: an ALLOC
 * @planned: blocks that the batch it would be in may give its owner besides
 */
bool brick_supply_is_over_quota(const struct brick_store *s,
				const struct brick_store_op *op,
				uint64_t planned);

/* Nothing is kept for an ALLOC any more. */
void brick_supply_release(struct brick_store *s, struct brick_store_op *op);

#endif
