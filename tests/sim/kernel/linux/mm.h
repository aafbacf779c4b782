/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages. A page's struct is the page itself: its address is its number, and the
 * next one follows.
 */
#ifndef SIM_LINUX_MM_H
#define SIM_LINUX_MM_H

#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

#ifndef PAGE_SHIFT
#define PAGE_SHIFT 12
#endif
#define PAGE_SIZE (1UL << PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_SIZE - 1))

struct page {
	u8 bytes[1 << PAGE_SHIFT];
};

#define PAGE_ALIGN(x)	   ALIGN(x, PAGE_SIZE)
#define PAGE_ALIGNED(x)	   (((unsigned long)(x) & (PAGE_SIZE - 1)) == 0)
#define offset_in_page(at) ((unsigned long)(at) & ~PAGE_MASK)
#define nth_page(page, n)  ((page) + (n))

/* Of a constant that is a power of two, a constant. */
#define get_order(bytes) \
	((bytes) <= PAGE_SIZE ? 0 : __builtin_ctzl(bytes) - PAGE_SHIFT)

static inline struct page *virt_to_page(const void *at)
{
	return (struct page *)((unsigned long)at & PAGE_MASK);
}

static inline struct page *vmalloc_to_page(const void *at)
{
	return virt_to_page(at);
}

static inline void *page_address(const struct page *page)
{
	return (void *)(uintptr_t)page->bytes;
}

static inline struct page *compound_head(struct page *page)
{
	return page;
}

static inline unsigned long page_size(struct page *page)
{
	return PAGE_SIZE;
}

static inline bool sendpage_ok(struct page *page)
{
	return true;
}

#endif
