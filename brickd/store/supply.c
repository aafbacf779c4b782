// SPDX-License-Identifier: BSD-2-Clause
/*
 * Free slots for an ALLOC: zeroed before its batch, kept for it, waited for.
 *
 * What is zeroed for an ALLOC goes among the clean slots, of which so many are
 * kept for it as it has to have, not these very ones: so nothing has to come
 * back from an ALLOC that is given up. Without that, whoever allocates and frees
 * all the time would take each slot that is zeroed for a larger ALLOC.
 *
 * Locking: the store's lock.
 */
#include "brickd/store/supply.h"

#include <errno.h>

#define ZERO_SLOTS 64U /* of the slow tier, for an ALLOC that waits */

static uint64_t n_free(const struct brick_slots *slots)
{
	return slots->clean.n_set + slots->dirty.n_set;
}

uint64_t brick_supply_from_slow(const struct brick_store *s, uint64_t n)
{
	uint64_t fast = n_free(&s->slots);

	return n > fast ? n - fast : 0;
}

/* Zero slots of the slow tier now, or wait for the cleaner, who does. */
static int more_clean_slow(struct brick_store *s)
{
	int n;

	/* What is not zeroed there will not be. */
	if (brick_store_slow_has_failed(s))
		return -ENOSPC;
	if (!s->slow_slots.dirty.n_set) {
		pthread_cond_wait(&s->cleaned, &s->lock);
		return brick_store_has_failed(s) ? -EIO : 0;
	}
	brick_store_unlock(s);
	n = brick_store_clean_slow(s, ZERO_SLOTS);
	brick_store_lock(s);
	if (n < 0 && brick_store_slow_has_failed(s) &&
	    !brick_store_has_failed(s))
		return -ENOSPC;
	return n < 0 ? n : 0;
}

/* Free slots that can be had; those of the cleaner may come to them. */
static uint64_t n_to_have(const struct brick_store *s, uint64_t *cleaning)
{
	uint64_t n = n_free(&s->slots);

	*cleaning = s->slots.n_cleaning;
	if (brick_store_slow_has_failed(s))
		return n + s->slow_slots.clean.n_set;
	*cleaning += s->slow_slots.n_cleaning;
	return n + n_free(&s->slow_slots);
}

int brick_supply_wait(struct brick_store *s, uint64_t n)
{
	int ret;

	for (;;) {
		uint64_t cleaning, have = n_to_have(s, &cleaning);

		if (n + s->spare > have + s->n_moving + cleaning)
			return -ENOSPC;
		if (n + s->spare > have + s->n_moving) {
			pthread_cond_wait(&s->cleaned, &s->lock);
			ret = brick_store_has_failed(s) ? -EIO : 0;
		} else if (brick_supply_from_slow(s, n) >
			   s->slow_slots.clean.n_set) {
			ret = more_clean_slow(s);
		} else {
			return 0;
		}
		if (ret)
			return ret;
	}
}

bool brick_supply_is_over_quota(const struct brick_store *s,
				const struct brick_store_op *op,
				uint64_t planned)
{
	uint64_t has;

	if (!op->has_quota)
		return false;
	has = brick_owners_count(&s->owners, op->owner) + planned;
	return has > op->quota_blocks || op->n_blocks > op->quota_blocks - has;
}

/* ---- before the batch ---------------------------------------------------- */

uint64_t brick_supply_clean(const struct brick_slots *slots, uint64_t kept,
			    uint64_t want)
{
	uint64_t others = slots->n_kept - kept, n = slots->clean.n_set;

	n = n > others ? n - others : 0;
	return n < want ? n : want;
}

/*
 * Keeps clean slots for an ALLOC; returns how many it lacks. What the cleaner is
 * about to give back is waited for, before what is kept for others is taken.
 */
static uint64_t keep_clean(struct brick_store *s, struct brick_slots *slots,
			   uint64_t *kept, uint64_t want)
{
	uint64_t n;

	for (;;) {
		n = brick_supply_clean(slots, *kept, want);
		slots->n_kept += n - *kept;
		*kept = n;
		if (n == want || slots->dirty.n_set || !slots->n_cleaning ||
		    brick_store_has_failed(s))
			return want - n;
		pthread_cond_wait(&s->cleaned, &s->lock);
	}
}

void brick_supply_release(struct brick_store *s, struct brick_store_op *op)
{
	s->slots.n_kept -= op->n_kept;
	s->slow_slots.n_kept -= op->n_kept_slow;
	op->n_kept = 0;
	op->n_kept_slow = 0;
}

/* Of an ALLOC that cannot be, or for which there is nothing to be zeroed, none. */
static uint64_t find_lacking(struct brick_store *s, struct brick_store_op *op,
			     bool *slow)
{
	uint64_t n_slow = brick_supply_from_slow(s, op->n_blocks), n;

	*slow = false;
	n = keep_clean(s, &s->slots, &op->n_kept, op->n_blocks - n_slow);
	if (n && s->slots.dirty.n_set)
		return n;
	*slow = true;
	n = keep_clean(s, &s->slow_slots, &op->n_kept_slow, n_slow);
	return s->slow_slots.dirty.n_set && !brick_store_slow_has_failed(s) ? n
									    : 0;
}

static int look_for_slots(struct brick_store *s, struct brick_store_op *op,
			  uint64_t *lacks, bool *slow)
{
	uint64_t key = brick_key(op->va), at = key, slot, cleaning, have;
	int ret = 0;

	*lacks = 0;
	brick_store_lock(s);
	have = n_to_have(s, &cleaning);
	if (brick_index_next(&s->index, &at, &slot) && at - key < op->n_blocks)
		brick_supply_release(s, op);
	else if (brick_supply_is_over_quota(s, op, 0))
		ret = -EDQUOT;
	else if (op->n_blocks + s->spare > have + s->n_moving + cleaning)
		ret = -ENOSPC;
	else
		*lacks = find_lacking(s, op, slow);
	if (ret)
		brick_supply_release(s, op);
	brick_store_unlock(s);
	return ret;
}

int brick_store_prepare(struct brick_store *s, struct brick_store_op *op,
			struct brick_zeroing *left)
{
	unsigned int *of_tier;
	uint64_t lacks;
	bool slow;
	int ret;

	if (op->kind != BRICK_STORE_ALLOC || !op->n_blocks ||
	    op->n_blocks > KFB_BLOCKS_MAX)
		return 0;
	for (;;) {
		ret = look_for_slots(s, op, &lacks, &slow);
		if (ret || !lacks)
			return ret;
		of_tier = slow ? &left->slow : &left->fast;
		if (!*of_tier)
			return -EAGAIN;
		if (lacks > *of_tier)
			lacks = *of_tier;
		ret = slow ? brick_store_clean_slow(s, (unsigned int)lacks)
			   : brick_store_clean_one(s, (unsigned int)lacks);
		/* Why not is said when it is carried out. */
		if (ret <= 0)
			return 0;
		*of_tier -= (unsigned int)ret;
	}
}

void brick_store_unprepare(struct brick_store *s, struct brick_store_op *op)
{
	brick_store_lock(s);
	brick_supply_release(s, op);
	brick_store_unlock(s);
}
