// SPDX-License-Identifier: BSD-2-Clause
/* Memory, and text in it. */
#include <linux/bitops.h>
#include <linux/idr.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <stdlib.h>

#define AREAS_MAX 32

/* What vmalloc() has given: where, and of which memory it is a part. */
struct area {
	u8 *at;
	size_t len;
	void *memory;
};

static struct area sim_areas[AREAS_MAX];

uint32_t sim_short_permille;

static bool is_short(gfp_t flags)
{
	if (!(flags & GFP_ATOMIC))
		might_sleep();
	return km_chance(sim_short_permille);
}

void *km_zalloc(size_t len)
{
	void *at = calloc(1, len);

	if (!at)
		km_broken("the kernel has no memory");
	return at;
}

void *kmalloc(size_t len, gfp_t flags)
{
	if (is_short(flags))
		return NULL;
	return flags & __GFP_ZERO ? calloc(1, len) : malloc(len);
}

void *kzalloc(size_t len, gfp_t flags)
{
	return kmalloc(len, flags | __GFP_ZERO);
}

void *kcalloc(size_t n, size_t len, gfp_t flags)
{
	size_t bytes;

	if (check_mul_overflow(n, len, &bytes))
		return NULL;
	return kzalloc(bytes, flags);
}

void kfree(const void *at)
{
	if (at)
		km_works_freed(at, km_memory_room(at));
	free((void *)(uintptr_t)at);
}

void kvfree_sensitive(const void *at, size_t len)
{
	if (at)
		km_works_freed(at, len);
	if (at)
		memzero_explicit((void *)(uintptr_t)at, len);
	kfree(at);
}

/* ---- pages --------------------------------------------------------------- */

static struct area *area_of(const void *at)
{
	for (u32 i = 0; i < AREAS_MAX; i++)
		if (sim_areas[i].memory &&
		    (u64)((const u8 *)at - sim_areas[i].at) < sim_areas[i].len)
			return &sim_areas[i];
	return NULL;
}

static struct area *free_area(void)
{
	for (u32 i = 0; i < AREAS_MAX; i++)
		if (!sim_areas[i].memory)
			return &sim_areas[i];
	return NULL;
}

static void *map_area(unsigned long len, bool zero)
{
	struct area *area = free_area();

	if (!area || is_short(GFP_KERNEL))
		return NULL;
	area->memory =
		zero ? calloc(1, len + PAGE_SIZE) : malloc(len + PAGE_SIZE);
	if (!area->memory)
		return NULL;
	area->at = (u8 *)PAGE_ALIGN((uintptr_t)area->memory);
	area->len = len;
	return area->at;
}

void *vmalloc(unsigned long len)
{
	return map_area(len, false);
}

void *vzalloc(unsigned long len)
{
	return map_area(len, true);
}

void vfree(const void *at)
{
	struct area *area = area_of(at);

	if (!at)
		return;
	free(area->memory);
	area->memory = NULL;
}

bool is_vmalloc_addr(const void *at)
{
	return area_of(at);
}

/* They are never given back: a machine has few of them. */
struct page *alloc_pages(gfp_t flags, unsigned int order)
{
	size_t len = PAGE_SIZE << order;
	u8 *memory = kmalloc(len + PAGE_SIZE, flags);

	return memory ? (struct page *)PAGE_ALIGN((uintptr_t)memory) : NULL;
}

void __free_pages(struct page *page, unsigned int order)
{
}

/* ---- numbers ---------------------------------------------------------------- */

int ida_alloc(struct ida *ida, gfp_t flags)
{
	for (u32 i = 0; i < 64; i++) {
		if (ida->taken >> i & 1)
			continue;
		ida->taken |= BIT_ULL(i);
		return (int)i;
	}
	return -ENOSPC;
}

void ida_free(struct ida *ida, unsigned int number)
{
	ida->taken &= ~BIT_ULL(number);
}

void ida_destroy(struct ida *ida)
{
}
