// SPDX-License-Identifier: BSD-2-Clause
/* Leases, in the order in which they end. */
#include "brickd/session/lease.h"

#include <stddef.h>

void brick_leases_init(struct brick_leases *l, uint64_t length_ms)
{
	l->length_ms = length_ms;
	TAILQ_INIT(&l->fresh);
	TAILQ_INIT(&l->old);
}

static uint64_t old_ms(const struct brick_leases *l,
		       const struct brick_lease *lease)
{
	return lease->renewed_ms + l->length_ms - l->length_ms / 3;
}

static uint64_t over_ms(const struct brick_leases *l,
			const struct brick_lease *lease)
{
	return lease->renewed_ms + l->length_ms;
}

void brick_lease_renew(struct brick_leases *l, struct brick_lease *lease,
		       uint64_t now_ms)
{
	if (!l->length_ms)
		return;
	brick_lease_stop(l, lease);
	lease->renewed_ms = now_ms;
	lease->is_running = true;
	TAILQ_INSERT_TAIL(&l->fresh, lease, link);
}

/* Behind all that were renewed before; most belong near the end. */
static void insert_lease(struct brick_lease_list *list,
			 struct brick_lease *lease)
{
	struct brick_lease *at = TAILQ_LAST(list, brick_lease_list);

	while (at && at->renewed_ms > lease->renewed_ms)
		at = TAILQ_PREV(at, brick_lease_list, link);
	if (at)
		TAILQ_INSERT_AFTER(list, at, lease, link);
	else
		TAILQ_INSERT_HEAD(list, lease, link);
}

/*
 * Its place is close to where it was, when its last bytes were its last message,
 * or close to the end, when they have just come. Thousands of sessions may be
 * lost at a time: it is looked for from both.
 */
static void insert_between(struct brick_lease_list *list,
			   struct brick_lease *lease, struct brick_lease *next)
{
	struct brick_lease *last = TAILQ_LAST(list, brick_lease_list);

	while (next && last && next->renewed_ms <= lease->renewed_ms &&
	       last->renewed_ms > lease->renewed_ms) {
		next = TAILQ_NEXT(next, link);
		last = TAILQ_PREV(last, brick_lease_list, link);
	}
	if (next && next->renewed_ms > lease->renewed_ms)
		TAILQ_INSERT_BEFORE(next, lease, link);
	else if (next && last)
		TAILQ_INSERT_AFTER(list, last, lease, link);
	else
		TAILQ_INSERT_TAIL(list, lease, link);
}

bool brick_lease_renew_at(struct brick_leases *l, struct brick_lease *lease,
			  uint64_t at_ms)
{
	struct brick_lease *next;

	if (!lease->is_running || at_ms <= lease->renewed_ms)
		return false;
	next = lease->is_old ? TAILQ_FIRST(&l->fresh) : TAILQ_NEXT(lease, link);
	brick_lease_stop(l, lease);
	lease->renewed_ms = at_ms;
	lease->is_running = true;
	insert_between(&l->fresh, lease, next);
	return true;
}

void brick_lease_stop(struct brick_leases *l, struct brick_lease *lease)
{
	if (!lease->is_running)
		return;
	TAILQ_REMOVE(lease->is_old ? &l->old : &l->fresh, lease, link);
	lease->is_running = false;
	lease->is_old = false;
}

enum brick_lease_due brick_leases_due(struct brick_leases *l, uint64_t now_ms,
				      struct brick_lease **out)
{
	struct brick_lease *first = TAILQ_FIRST(&l->old);

	if (first && now_ms >= over_ms(l, first)) {
		*out = first;
		return BRICK_LEASE_OVER;
	}
	first = TAILQ_FIRST(&l->fresh);
	if (!first || now_ms < old_ms(l, first))
		return BRICK_LEASE_NONE_DUE;
	TAILQ_REMOVE(&l->fresh, first, link);
	insert_lease(&l->old, first);
	first->is_old = true;
	*out = first;
	return BRICK_LEASE_OLD;
}

uint64_t brick_leases_next_ms(const struct brick_leases *l)
{
	const struct brick_lease *old = TAILQ_FIRST(&l->old);
	const struct brick_lease *fresh = TAILQ_FIRST(&l->fresh);
	uint64_t next_ms = KFB_TIME_NEVER;

	if (old)
		next_ms = over_ms(l, old);
	if (fresh && old_ms(l, fresh) < next_ms)
		next_ms = old_ms(l, fresh);
	return next_ms;
}

uint64_t brick_lease_left_ms(const struct brick_leases *l,
			     const struct brick_lease *lease, uint64_t now_ms)
{
	if (!lease->is_running)
		return KFB_TIME_NEVER;
	return now_ms < over_ms(l, lease) ? over_ms(l, lease) - now_ms : 0;
}
