// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_interop: buffers in pieces of all lengths and alignments.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "iop.h"

int iop_buf_alloc(struct iop_buf *b)
{
	int i;

	for (i = 0; i < IOP_CHUNKS; i++) {
		b->chunk[i] = (u8 *)__get_free_pages(GFP_KERNEL | __GFP_ZERO,
						     get_order(IOP_CHUNK_SIZE));
		if (!b->chunk[i])
			return -ENOMEM;
	}
	return 0;
}

void iop_buf_free(struct iop_buf *b)
{
	int i;

	for (i = 0; i < IOP_CHUNKS; i++)
		free_pages((unsigned long)b->chunk[i],
			   get_order(IOP_CHUNK_SIZE));
}

/* Cut len bytes into n pieces; each begins a little differently. */
void iop_buf_split(struct iop_buf *b, u32 len, u32 align, u32 n)
{
	u32 i, left = len;

	n = clamp_t(u32, n, 1, min_t(u32, len, IOP_CHUNKS));
	b->n = n;
	sg_init_table(b->sg, n);
	for (i = 0; i < n; i++) {
		u32 part = i == n - 1 ? left : len / n;
		u8 *p;

		b->off[i] = align + 5 * i;
		b->len[i] = part;
		left -= part;
		p = b->chunk[i] + b->off[i];
		b->kvec[i] = (struct kvec){ .iov_base = p, .iov_len = part };
		b->bvec[i] =
			(struct bio_vec){ .bv_page = virt_to_page(b->chunk[i]),
					  .bv_offset = b->off[i],
					  .bv_len = part };
		sg_set_buf(&b->sg[i], p, part);
	}
}

struct fi_buf iop_buf_fi(struct iop_buf *b, enum iop_kind kind, u32 len)
{
	switch (kind) {
	case IOP_KVEC:
		return fi_buf_kvec(b->kvec, b->n, len);
	case IOP_BVEC:
		return fi_buf_bvec(b->bvec, b->n, 0, len);
	default:
		return fi_buf_sg(b->sg, b->n, len);
	}
}

void iop_buf_fill(struct iop_buf *b, u64 seed)
{
	u64 at = 0;
	u32 i, j;

	for (i = 0; i < b->n; i++)
		for (j = 0; j < b->len[i]; j++)
			b->chunk[i][b->off[i] + j] = iop_byte(seed, at++);
}

void iop_buf_clear(struct iop_buf *b)
{
	u32 i;

	for (i = 0; i < b->n; i++)
		memset(b->chunk[i] + b->off[i], 0, b->len[i]);
}

bool iop_buf_is(const struct iop_buf *b, u64 seed)
{
	u64 at = 0;
	u32 i, j;

	for (i = 0; i < b->n; i++)
		for (j = 0; j < b->len[i]; j++)
			if (b->chunk[i][b->off[i] + j] != iop_byte(seed, at++))
				return false;
	return true;
}

u64 iop_pattern_sum(u64 seed, u32 len)
{
	u64 sum = IOP_SUM_INIT;
	u32 i;
	u8 byte;

	for (i = 0; i < len; i++) {
		byte = iop_byte(seed, i);
		sum = iop_sum(sum, &byte, 1);
	}
	return sum;
}
