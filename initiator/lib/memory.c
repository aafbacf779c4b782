// SPDX-License-Identifier: BSD-2-Clause
/*
 * Memory of the caller that one-sided operations may use: a sorted table of
 * disjoint registrations.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The first registration that ends behind an address. */
static uint32_t lower_bound(const struct kfbrick *k, const uint8_t *addr)
{
	uint32_t low = 0;
	uint32_t high = k->n_memories;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (k->memories[mid]->addr + k->memories[mid]->len <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool memory_holds(const struct kfbrick_memory *memory,
			 const uint8_t *buf, size_t len)
{
	return buf >= memory->addr &&
	       (size_t)(buf - memory->addr) <= memory->len &&
	       len <= memory->len - (size_t)(buf - memory->addr);
}

struct kfbrick_memory *kfbl_memory_find(struct kfbrick *k, const void *buf,
					size_t len)
{
	uint32_t i = k->last_memory;

	if (i < k->n_memories && memory_holds(k->memories[i], buf, len))
		return k->memories[i];
	i = lower_bound(k, buf);
	if (i == k->n_memories || !memory_holds(k->memories[i], buf, len))
		return NULL;
	k->last_memory = i;
	return k->memories[i];
}

int kfbrick_memory_register(struct kfbrick *k, void *addr, size_t len,
			    struct kfbrick_memory **out)
{
	uint8_t *start = addr;
	struct kfbrick_memory *memory;
	uint32_t at;
	int rc;

	if (!addr || !len || (uintptr_t)addr + len < len)
		return kfbl_fail(k, -EINVAL, "memory %p+%zu is no range", addr,
				 len);
	if (kfbl_is_over(k))
		return kfbl_not_connected(k);
	if (k->n_memories == KFBL_MEMORIES_MAX)
		return kfbl_fail(k, -ENOSPC,
				 "%d ranges of memory are registered: release "
				 "some, or register larger ones",
				 KFBL_MEMORIES_MAX);
	at = lower_bound(k, start);
	if (at < k->n_memories && k->memories[at]->addr < start + len)
		return kfbl_fail(k, -EEXIST,
				 "memory %p+%zu overlaps %p+%zu, which is "
				 "registered",
				 addr, len, (void *)k->memories[at]->addr,
				 k->memories[at]->len);
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return kfbl_fail(k, -ENOMEM, "no memory for a registration");
	memory->addr = start;
	memory->len = len;
	if (k->fabric.mr_local) {
		rc = kfbl_fabric_register(&k->fabric, addr, len, &memory->mr);
		if (rc) {
			free(memory);
			return kfbl_fail(k, rc,
					 "cannot register %p+%zu: %s; is "
					 "LimitMEMLOCK (ulimit -l) large "
					 "enough?",
					 addr, len, strerror(-rc));
		}
	}
	memmove(&k->memories[at + 1], &k->memories[at],
		(k->n_memories - at) * sizeof(k->memories[0]));
	k->memories[at] = memory;
	k->n_memories++;
	*out = memory;
	return 0;
}

int kfbrick_memory_release(struct kfbrick *k, struct kfbrick_memory *memory)
{
	uint32_t at;

	if (!memory)
		return 0;
	if (kfbl_io_uses_memory(k, memory->addr, memory->len))
		return kfbl_fail(k, -EBUSY,
				 "memory %p+%zu is in use: collect the "
				 "completions first",
				 (void *)memory->addr, memory->len);
	at = lower_bound(k, memory->addr);
	if (at == k->n_memories || k->memories[at] != memory)
		return kfbl_fail(k, -ENOENT,
				 "this memory is not registered here");
	k->n_memories--;
	memmove(&k->memories[at], &k->memories[at + 1],
		(k->n_memories - at) * sizeof(k->memories[0]));
	if (memory->mr)
		fi_close(&memory->mr->fid);
	free(memory);
	return 0;
}

void kfbl_memory_fini(struct kfbrick *k)
{
	while (k->n_memories) {
		struct kfbrick_memory *memory = k->memories[--k->n_memories];

		if (memory->mr)
			fi_close(&memory->mr->fid);
		free(memory);
	}
}
