// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: how buffers of all types are walked over and copied.
 */
#include <linux/export.h>
#include <linux/highmem.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>

#include <compat.h>

#include "core.h"

/* Return the bytes of the current segment. */
static size_t kfi_buf_segment_len(const struct kfi_buf_iter *it)
{
	const struct fi_buf *buf = it->buf;

	switch (buf->type) {
	case FI_BUF_LINEAR:
		return buf->offset + buf->len;
	case FI_BUF_KVEC:
		return buf->kvec[it->index].iov_len;
	case FI_BUF_BVEC:
		return buf->bvec[it->index].bv_len;
	case FI_BUF_SG:
		return it->sg ? it->sg->length : 0;
	default:
		return 0;
	}
}

/* Step over segments that are used up; false at the end. */
static bool kfi_buf_settle(struct kfi_buf_iter *it)
{
	while (it->left && it->index < it->buf->count) {
		if (it->skip < kfi_buf_segment_len(it))
			return true;
		it->skip = 0;
		it->index++;
		if (it->sg)
			it->sg = sg_next(it->sg);
	}
	return false;
}

/* Go on by bytes of the current segment. */
static void kfi_buf_step(struct kfi_buf_iter *it, size_t len)
{
	it->skip += len;
	it->left -= len;
}

void kfi_buf_start(struct kfi_buf_iter *it, const struct fi_buf *buf)
{
	it->buf = buf;
	it->sg = buf->type == FI_BUF_SG ? buf->sg : NULL;
	it->index = 0;
	it->skip = 0;
	it->left = buf->offset + buf->len;
	if (buf->offset)
		kfi_buf_advance(it, buf->offset);
}
EXPORT_SYMBOL_GPL(kfi_buf_start);

size_t kfi_buf_advance(struct kfi_buf_iter *it, size_t len)
{
	size_t done = 0;

	while (done < len && kfi_buf_settle(it)) {
		size_t n = min3(kfi_buf_segment_len(it) - it->skip, len - done,
				it->left);

		kfi_buf_step(it, n);
		done += n;
	}
	return done;
}
EXPORT_SYMBOL_GPL(kfi_buf_advance);

/* A virtual range is one piece in the linear map, else one page at a time. */
static size_t kfi_virtual_seg(const void *addr, size_t len, struct kfi_seg *seg)
{
	seg->offset = offset_in_page(addr);
	if (kfi_is_linear(addr)) {
		seg->page = virt_to_page(addr);
		return len;
	}
	seg->page = vmalloc_to_page(addr);
	return min_t(size_t, len, PAGE_SIZE - seg->offset);
}

static size_t kfi_page_seg(struct page *page, size_t offset, size_t len,
			   struct kfi_seg *seg)
{
	seg->page = nth_page(page, offset >> PAGE_SHIFT);
	seg->offset = offset_in_page(offset);
	return len;
}

size_t kfi_buf_next(struct kfi_buf_iter *it, size_t max, struct kfi_seg *seg)
{
	const struct fi_buf *buf = it->buf;
	size_t len;

	if (!max || !kfi_buf_settle(it))
		return 0;
	len = min3(kfi_buf_segment_len(it) - it->skip, it->left, max);
	switch (buf->type) {
	case FI_BUF_LINEAR:
		len = kfi_virtual_seg(buf->ptr + it->skip, len, seg);
		break;
	case FI_BUF_KVEC:
		len = kfi_virtual_seg(buf->kvec[it->index].iov_base + it->skip,
				      len, seg);
		break;
	case FI_BUF_BVEC:
		len = kfi_page_seg(buf->bvec[it->index].bv_page,
				   buf->bvec[it->index].bv_offset + it->skip,
				   len, seg);
		break;
	case FI_BUF_SG:
		len = kfi_page_seg(sg_page(it->sg), it->sg->offset + it->skip,
				   len, seg);
		break;
	default:
		return 0;
	}
	seg->len = len;
	kfi_buf_step(it, len);
	return len;
}
EXPORT_SYMBOL_GPL(kfi_buf_next);

/*
 * The bytes from here on, as far as they can be reached at one address; NULL: there
 * are none. What is mapped for it kfi_buf_unmap() gives back.
 */
static void *kfi_buf_map(struct kfi_buf_iter *it, size_t *len)
{
	const struct fi_buf *buf = it->buf;
	struct kfi_buf_iter at;
	struct kfi_seg seg;

	if (!kfi_buf_settle(it))
		return NULL;
	*len = min3(kfi_buf_segment_len(it) - it->skip, it->left, *len);
	if (buf->type == FI_BUF_LINEAR)
		return buf->ptr + it->skip;
	if (buf->type == FI_BUF_KVEC)
		return buf->kvec[it->index].iov_base + it->skip;
	at = *it;
	if (!kfi_buf_next(&at, *len, &seg))
		return NULL;
	if (IS_ENABLED(CONFIG_HIGHMEM))
		*len = min_t(size_t, *len, PAGE_SIZE - seg.offset);
	return kmap_local_page(seg.page) + seg.offset;
}

static void kfi_buf_unmap(const struct kfi_buf_iter *it, void *addr)
{
	if (it->buf->type == FI_BUF_BVEC || it->buf->type == FI_BUF_SG)
		kunmap_local(addr);
}

/* With the loop provider both may be the same memory. */
static void kfi_copy_bytes(void *to, const void *from, size_t len)
{
	if (len == PAGE_SIZE && PAGE_ALIGNED(to) && PAGE_ALIGNED(from))
		copy_page(to, (void *)from);
	else
		memmove(to, from, len);
}

size_t kfi_buf_copy(struct kfi_buf_iter *dst, struct kfi_buf_iter *src,
		    size_t len)
{
	size_t n, done = 0;
	void *from, *to;

	while (done < len) {
		n = len - done;
		from = kfi_buf_map(src, &n);
		if (!from)
			break;
		to = kfi_buf_map(dst, &n);
		if (to) {
			kfi_copy_bytes(to, from, n);
			kfi_buf_unmap(dst, to);
		}
		kfi_buf_unmap(src, from);
		if (!to)
			break;
		kfi_buf_step(src, n);
		kfi_buf_step(dst, n);
		done += n;
	}
	return done;
}
EXPORT_SYMBOL_GPL(kfi_buf_copy);

/* Where bytes of a buffer are that lie in one piece; NULL: not at one address. */
static void *kfi_buf_at(const struct fi_buf *buf, size_t at, size_t len)
{
	if (buf->type != FI_BUF_LINEAR || at > buf->len || len > buf->len - at)
		return NULL;
	return buf->ptr + buf->offset + at;
}

size_t kfi_buf_get(void *to, const struct fi_buf *buf, size_t at, size_t len)
{
	const void *from = kfi_buf_at(buf, at, len);
	struct kfi_buf_iter dst, src;
	struct fi_buf bytes;

	if (from) {
		kfi_copy_bytes(to, from, len);
		return len;
	}
	bytes = fi_buf_linear(to, len);
	kfi_buf_start(&dst, &bytes);
	kfi_buf_start(&src, buf);
	kfi_buf_advance(&src, at);
	return kfi_buf_copy(&dst, &src, len);
}
EXPORT_SYMBOL_GPL(kfi_buf_get);

size_t kfi_buf_put(const struct fi_buf *buf, size_t at, const void *from,
		   size_t len)
{
	void *to = kfi_buf_at(buf, at, len);
	struct kfi_buf_iter dst, src;
	struct fi_buf bytes;

	if (to) {
		kfi_copy_bytes(to, from, len);
		return len;
	}
	bytes = fi_buf_linear(from, len);
	kfi_buf_start(&src, &bytes);
	kfi_buf_start(&dst, buf);
	kfi_buf_advance(&dst, at);
	return kfi_buf_copy(&dst, &src, len);
}
EXPORT_SYMBOL_GPL(kfi_buf_put);

/* Are the segments long enough? */
static bool kfi_buf_holds(const struct fi_buf *buf, size_t len)
{
	struct kfi_buf_iter it = {
		.buf = buf,
		.sg = buf->type == FI_BUF_SG ? buf->sg : NULL,
	};

	for (; it.index < buf->count; it.index++) {
		size_t n = kfi_buf_segment_len(&it);

		if (n >= len)
			return true;
		len -= n;
		if (it.sg)
			it.sg = sg_next(it.sg);
	}
	return false;
}

int kfi_buf_check(const struct fi_buf *buf, size_t iov_limit, size_t max_len)
{
	if (buf->type > FI_BUF_SG || buf->len > SIZE_MAX - buf->offset)
		return -EINVAL;
	if (buf->len > max_len)
		return -EMSGSIZE;
	if (buf->type == FI_BUF_NONE)
		return buf->len ? -EINVAL : 0;
	if (buf->count > iov_limit)
		return -E2BIG;
	if (!buf->len)
		return 0;
	if (!buf->ptr)
		return -EINVAL;
	if (buf->type == FI_BUF_LINEAR)
		return buf->count == 1 ? 0 : -EINVAL;
	return kfi_buf_holds(buf, buf->offset + buf->len) ? 0 : -EINVAL;
}
EXPORT_SYMBOL_GPL(kfi_buf_check);
