/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of pages. */
#ifndef SIM_LINUX_BVEC_H
#define SIM_LINUX_BVEC_H

#include <linux/mm.h>

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

struct bvec_iter {
	sector_t bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
	unsigned int bi_bvec_done;
};

#define __bvec_iter_bvec(bvec, iter) (&(bvec)[(iter).bi_idx])

static inline void *bvec_address(const struct bio_vec *bv)
{
	return (u8 *)page_address(bv->bv_page) + bv->bv_offset;
}

static inline void memcpy_from_bvec(void *to, const struct bio_vec *bv)
{
	memcpy(to, bvec_address(bv), bv->bv_len);
}

#endif
