// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: buffers of all types and shapes, filled with a pattern.
 *
 * Segments lie in one physically contiguous arena, with gaps of odd size
 * between them, so that a byte that goes astray is seen.
 */
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "st.h"

#define GAP    3 /* bytes between segments */
#define UNUSED 0xee /* what bytes hold that nobody may write */

static u8 st_seg_pattern(size_t i, u8 seed)
{
	return i * 131 + (i >> 8) * 17 + seed;
}

void st_fill(u8 *p, size_t len, u8 seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = st_seg_pattern(i, seed);
}

bool st_holds(const u8 *p, size_t len, u8 seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != st_seg_pattern(i, seed))
			return false;
	return true;
}

bool st_clean(const u8 *p, size_t len)
{
	return !len || !memchr_inv(p, UNUSED, len);
}

struct st_seg *st_seg_new(void)
{
	struct st_seg *seg = kzalloc(sizeof(*seg), GFP_KERNEL);

	if (!seg)
		return NULL;
	seg->arena = alloc_pages_exact(ST_ARENA_LEN, GFP_KERNEL);
	if (!seg->arena) {
		kfree(seg);
		return NULL;
	}
	memset(seg->arena, UNUSED, ST_ARENA_LEN);
	return seg;
}

void st_seg_free(struct st_seg *seg)
{
	if (!seg)
		return;
	free_pages_exact(seg->arena, ST_ARENA_LEN);
	kfree(seg);
}

static void st_seg_set(struct st_seg *seg, unsigned int i, u8 *p, size_t len)
{
	struct page *page = virt_to_page(p);

	seg->kvec[i] = (struct kvec){ .iov_base = p, .iov_len = len };
	seg->bvec[i] = (struct bio_vec){ .bv_page = page,
					 .bv_len = len,
					 .bv_offset = offset_in_page(p) };
	sg_set_page(&seg->sg[i], page, len, offset_in_page(p));
}

/* Lay out len bytes in segments of different sizes, none empty. */
void st_seg_shape(struct st_seg *seg, enum fi_buf_type type,
		  unsigned int segments, size_t align, size_t len)
{
	unsigned int i, n = type == FI_BUF_LINEAR ? 1 : segments;
	u8 *p = seg->arena + align;
	size_t part, left = len;

	n = max_t(size_t, min_t(size_t, n, len), 1);
	memset(seg->arena, UNUSED, ST_ARENA_LEN);
	sg_init_table(seg->sg, n);
	for (i = 0; i < n; i++) {
		part = i == n - 1 ? left : left / (n - i) - (i & 1);
		part = clamp_t(size_t, part, !!len, left - (n - 1 - i));
		st_seg_set(seg, i, p, part);
		p += part + GAP;
		left -= part;
	}
	seg->count = n;
	if (type == FI_BUF_LINEAR)
		seg->buf = fi_buf_linear(seg->kvec[0].iov_base, len);
	else if (type == FI_BUF_KVEC)
		seg->buf = fi_buf_kvec(seg->kvec, n, len);
	else if (type == FI_BUF_BVEC)
		seg->buf = fi_buf_bvec(seg->bvec, n, 0, len);
	else
		seg->buf = fi_buf_sg(seg->sg, n, len);
}

void st_seg_fill(struct st_seg *seg, u8 seed)
{
	size_t j, at = 0;
	unsigned int i;

	for (i = 0; i < seg->count; i++)
		for (j = 0; j < seg->kvec[i].iov_len; j++)
			((u8 *)seg->kvec[i].iov_base)[j] =
				st_seg_pattern(at++, seed);
}

/* The segments hold the pattern, and the gaps what they held. */
bool st_seg_holds(const struct st_seg *seg, u8 seed)
{
	const u8 *p, *end = seg->arena;
	size_t j, at = 0;
	unsigned int i;

	for (i = 0; i < seg->count; i++) {
		p = seg->kvec[i].iov_base;
		if (!st_clean(end, p - end))
			return false;
		for (j = 0; j < seg->kvec[i].iov_len; j++)
			if (p[j] != st_seg_pattern(at++, seed))
				return false;
		end = p + seg->kvec[i].iov_len;
	}
	return st_clean(end, seg->arena + ST_ARENA_LEN - end);
}
