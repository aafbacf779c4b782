// SPDX-License-Identifier: BSD-2-Clause
/*
 * A doubly linked list through an array. A link that names its own slot as its
 * neighbour says that the slot is not in the list.
 */
#include <errno.h>
#include <stdlib.h>

#include "brickd/store/dram/lru.h"

int brick_lru_init(struct brick_lru *lru, uint64_t slots)
{
	uint32_t i;

	lru->links = NULL;
	lru->first = BRICK_LRU_NONE;
	lru->last = BRICK_LRU_NONE;
	lru->n = 0;
	if (!slots)
		return 0;
	if (slots > BRICK_LRU_NONE)
		return -ENOMEM;
	lru->links = malloc(slots * sizeof(*lru->links));
	if (!lru->links)
		return -ENOMEM;
	for (i = 0; i < slots; i++)
		lru->links[i] = (struct brick_lru_link){ i, i };
	return 0;
}

void brick_lru_fini(struct brick_lru *lru)
{
	free(lru->links);
	lru->links = NULL;
}

void brick_lru_del(struct brick_lru *lru, uint64_t slot)
{
	uint32_t at = (uint32_t)slot;
	struct brick_lru_link *link;

	if (!lru->links || lru->links[at].before == at)
		return;
	link = &lru->links[at];
	if (link->before == BRICK_LRU_NONE)
		lru->first = link->after;
	else
		lru->links[link->before].after = link->after;
	if (link->after == BRICK_LRU_NONE)
		lru->last = link->before;
	else
		lru->links[link->after].before = link->before;
	*link = (struct brick_lru_link){ at, at };
	lru->n--;
}

void brick_lru_touch(struct brick_lru *lru, uint64_t slot)
{
	uint32_t at = (uint32_t)slot;

	if (!lru->links)
		return;
	brick_lru_del(lru, slot);
	lru->links[at].before = lru->last;
	lru->links[at].after = BRICK_LRU_NONE;
	if (lru->last == BRICK_LRU_NONE)
		lru->first = at;
	else
		lru->links[lru->last].after = at;
	lru->last = at;
	lru->n++;
}

bool brick_lru_take(struct brick_lru *lru, uint64_t *slot)
{
	if (!lru->links || lru->first == BRICK_LRU_NONE)
		return false;
	*slot = lru->first;
	brick_lru_del(lru, lru->first);
	return true;
}
