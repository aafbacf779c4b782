// SPDX-License-Identifier: BSD-2-Clause
/* Which disks have persistent reservations: see reservations.h. */
#include "brickd/reserve/reservations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where a disk that begins at a block is, or would be. */
static uint32_t disk_place(const struct brick_reservations *all, uint64_t first)
{
	uint32_t low = 0, high = all->n;

	while (low < high) {
		uint32_t at = low + (high - low) / 2;

		if (all->list[at]->span.first < first)
			low = at + 1;
		else
			high = at;
	}
	return low;
}

/* The first disk of which some blocks are at or behind one. */
static uint32_t first_behind(const struct brick_reservations *all,
			     uint64_t block)
{
	uint32_t at = disk_place(all, block);

	return at && all->list[at - 1]->span.end > block ? at - 1 : at;
}

int brick_reservations_find(const struct brick_reservations *all,
			    struct brick_span span,
			    const struct brick_reserved **out)
{
	const struct brick_reserved *found = NULL;

	for (uint32_t at = first_behind(all, span.first);
	     at < all->n && all->list[at]->span.first < span.end; at++) {
		if (all->list[at]->span.first != span.first)
			return -EEXIST;
		found = all->list[at];
	}
	*out = found;
	return 0;
}

bool brick_reservations_allow(const struct brick_reservations *all,
			      struct brick_span span, const char *name,
			      bool write)
{
	for (uint32_t at = first_behind(all, span.first);
	     at < all->n && all->list[at]->span.first < span.end; at++) {
		const struct brick_keys *keys = &all->list[at]->keys;

		if (!brick_reserve_may(keys->type,
				       brick_keys_standing(keys, name), write))
			return false;
	}
	return true;
}

/* A key on a disk that it shares is not what keeps others from having disks. */
static uint32_t count_alone(const struct brick_reservations *all,
			    const char *name)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct brick_keys *keys = &all->list[i]->keys;

		n += keys->n == 1 && !brick_keys_find(keys, name);
	}
	return n;
}

/* One more disk, of a client that is the first to register there. */
static bool is_one_too_many(const struct brick_reservations *all,
			    const char *name)
{
	return all->n == BRICK_RESERVATIONS_MAX ||
	       count_alone(all, name) >= BRICK_RESERVATIONS_SHARE;
}

enum kfb_status brick_reservations_change(const struct brick_reservations *all,
					  const char *name,
					  const struct kfb_reserve *want,
					  struct brick_reserved **then)
{
	struct brick_span span =
		brick_span_of(want->range.va, want->range.n_blocks);
	const struct brick_reserved *now;
	struct brick_reserved *made;
	enum kfb_status status;

	if (brick_reservations_find(all, span, &now))
		return KFB_ST_EXISTS;
	made = calloc(1, sizeof(*made));
	if (!made)
		return KFB_ST_NO_MEMORY;
	made->span = span;
	if (now) {
		brick_span_widen(&made->span, now->span);
		made->keys = now->keys;
	}
	status = brick_keys_change(&made->keys, name, want);
	if (!status && !now && made->keys.n && is_one_too_many(all, name))
		status = KFB_ST_LIMIT;
	if (status)
		free(made);
	else
		*then = made;
	return status;
}

bool brick_reserve_changes_keys(const struct kfb_reserve *want)
{
	return want->action != KFB_RESERVE_RESERVE &&
	       want->action != KFB_RESERVE_RELEASE;
}

void brick_reservations_set(struct brick_reservations *all,
			    struct brick_reserved *then, bool has_new_keys)
{
	uint32_t at = disk_place(all, then->span.first);

	all->generation += has_new_keys;
	if (at < all->n && all->list[at]->span.first == then->span.first) {
		free(all->list[at]);
		all->n--;
		memmove(&all->list[at], &all->list[at + 1],
			(all->n - at) * sizeof(all->list[0]));
	}
	if (!then->keys.n) {
		free(then);
		return;
	}
	memmove(&all->list[at + 1], &all->list[at],
		(all->n - at) * sizeof(all->list[0]));
	all->list[at] = then;
	all->n++;
}
