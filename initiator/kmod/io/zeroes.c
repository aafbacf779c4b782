// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: zeroes that are written from: one buffer, over and over.
 */
#include <linux/bug.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sizes.h>

#include "requests.h"

/* Of pages of whatever size: KFB_BLOCK_BYTES are a number of them. */
#define ZERO_BYTES SZ_256K
#define ZERO_ORDER get_order(ZERO_BYTES)
#define ZERO_BVECS (KFB_BLOCK_BYTES / ZERO_BYTES)

static_assert(ZERO_BVECS >= 1 && KFB_BLOCK_BYTES % ZERO_BYTES == 0);
static_assert(ZERO_BYTES % PAGE_SIZE == 0);

static struct page *kfbk_zero_page;
static struct bio_vec kfbk_zero_bvecs[ZERO_BVECS];

int kfbk_zeroes_init(void)
{
	int i;

	kfbk_zero_page =
		alloc_pages(GFP_KERNEL | __GFP_ZERO | __GFP_COMP, ZERO_ORDER);
	if (!kfbk_zero_page)
		return -ENOMEM;
	for (i = 0; i < ZERO_BVECS; i++)
		kfbk_zero_bvecs[i] =
			(struct bio_vec){ .bv_page = kfbk_zero_page,
					  .bv_len = ZERO_BYTES };
	return 0;
}

void kfbk_zeroes_exit(void)
{
	__free_pages(kfbk_zero_page, ZERO_ORDER);
}

struct fi_buf kfbk_zero_buf(const struct kfbk_device *dev, u32 *len)
{
	/* A part of the buffer that is one segment, or as many as there are. */
	u32 part = min_t(u32, ZERO_BYTES,
			 rounddown_pow_of_two(dev->max_segment_bytes));

	*len = kfbk_op_bytes(dev, min_t(u32, *len, dev->max_segments * part));
	return fi_buf_bvec(kfbk_zero_bvecs, DIV_ROUND_UP(*len, ZERO_BYTES), 0,
			   *len);
}
