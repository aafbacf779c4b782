/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of pages. */
#ifndef SIM_LINUX_HIGHMEM_H
#define SIM_LINUX_HIGHMEM_H

#include <linux/mm.h>

/* All memory is mapped. */
#define CONFIG_HIGHMEM	   0
#define IS_ENABLED(option) (option)

static inline void copy_page(void *to, void *from)
{
	__builtin_memcpy(to, from, PAGE_SIZE);
}

static inline void *kmap_local_page(struct page *page)
{
	return page_address(page);
}

static inline void kunmap_local(const void *at)
{
}

#endif
