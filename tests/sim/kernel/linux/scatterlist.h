/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of pieces of pages. */
#ifndef SIM_LINUX_SCATTERLIST_H
#define SIM_LINUX_SCATTERLIST_H

#include <linux/mm.h>

struct scatterlist {
	struct page *page;
	unsigned int offset;
	unsigned int length;
	bool is_last;
};

static inline void sg_init_table(struct scatterlist *sg, unsigned int n)
{
	memset(sg, 0, n * sizeof(*sg));
	sg[n - 1].is_last = true;
}

static inline struct page *sg_page(const struct scatterlist *sg)
{
	return sg->page;
}

static inline struct scatterlist *sg_next(struct scatterlist *sg)
{
	return sg->is_last ? NULL : sg + 1;
}

#endif
