/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of pages. */
#ifndef SIM_LINUX_HIGHMEM_H
#define SIM_LINUX_HIGHMEM_H

#include <linux/mm.h>

static inline void *kmap_local_page(struct page *page)
{
	return page_address(page);
}

static inline void kunmap_local(const void *at)
{
}

#endif
