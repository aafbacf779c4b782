/* SPDX-License-Identifier: BSD-2-Clause */
/* How memory is asked for. */
#ifndef SIM_LINUX_GFP_H
#define SIM_LINUX_GFP_H

#include <linux/types.h>

#define GFP_KERNEL 0U
#define GFP_ATOMIC 1U
#define __GFP_ZERO 2U
#define __GFP_COMP 4U
#define GFP_NOIO   8U

struct page *alloc_pages(gfp_t flags, unsigned int order);
void __free_pages(struct page *page, unsigned int order);

#endif
