/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers: walking through the buffers of operations, whatever describes
 * them.
 */
#ifndef KFABRIC_KFI_BUF_H
#define KFABRIC_KFI_BUF_H

#include <kfabric/fi_domain.h>

/**
 * struct kfi_seg - a piece of a buffer
 * @page: first page
 * @offset: bytes into @page, less than PAGE_SIZE
 * @len: bytes; the piece may run on into the pages that follow physically
 */
struct kfi_seg {
	struct page *page;
	unsigned int offset;
	size_t len;
};

/**
 * struct kfi_buf_iter - position in a buffer
 * @buf: the buffer
 * @sg: current entry (FI_BUF_SG)
 * @index: current segment
 * @skip: bytes of the current segment that are done
 * @left: bytes left in the buffer
 */
struct kfi_buf_iter {
	const struct fi_buf *buf;
	struct scatterlist *sg;
	u32 index;
	size_t skip;
	size_t left;
};

/**
 * kfi_buf_start() - set a position to the start of a buffer
 * @it: position
 * @buf: buffer, must outlive @it
 *
 * Context: any.
 */
void kfi_buf_start(struct kfi_buf_iter *it, const struct fi_buf *buf);

/**
 * kfi_buf_next() - take the next physically contiguous piece
 * @it: position; moved on
 * @max: bytes to take at most
 * @seg: out
 *
 * Context: any.
 * Return: bytes taken; 0 at the end of the buffer, or if the segments are
 * shorter than buf->len.
 */
size_t kfi_buf_next(struct kfi_buf_iter *it, size_t max, struct kfi_seg *seg);

/**
 * kfi_buf_advance() - skip bytes
 * @it: position
 * @len: bytes
 *
 * Context: any.
 * Return: bytes skipped; less than @len only at the end.
 */
size_t kfi_buf_advance(struct kfi_buf_iter *it, size_t len);

/**
 * kfi_buf_copy() - copy from one buffer to another
 * @dst: position; moved on
 * @src: position; moved on
 * @len: bytes
 *
 * Context: any but hardirq.
 * Return: bytes copied; less than @len if a buffer ends.
 */
size_t kfi_buf_copy(struct kfi_buf_iter *dst, struct kfi_buf_iter *src,
		    size_t len);

/**
 * kfi_buf_get() - copy bytes of a buffer to one place
 * @to: where to
 * @buf: buffer
 * @at: offset in @buf of the first byte
 * @len: how many bytes
 *
 * Context: any but hardirq.
 * Return: bytes copied; less than @len if the buffer ends.
 */
size_t kfi_buf_get(void *to, const struct fi_buf *buf, size_t at, size_t len);

/**
 * kfi_buf_put() - copy bytes from one place into a buffer
 * @buf: buffer
 * @at: offset in @buf where the first byte goes
 * @from: where the bytes are
 * @len: how many bytes
 *
 * Context: any but hardirq.
 * Return: bytes copied; less than @len if the buffer ends.
 */
size_t kfi_buf_put(const struct fi_buf *buf, size_t at, const void *from,
		   size_t len);

/**
 * kfi_buf_check() - is a description sound?
 * @buf: buffer
 * @iov_limit: segments allowed
 * @max_len: bytes allowed
 *
 * Context: any.
 * Return: 0; -EINVAL unknown type, missing pointer, or segments too short;
 * -E2BIG; -EMSGSIZE.
 */
int kfi_buf_check(const struct fi_buf *buf, size_t iov_limit, size_t max_len);

#endif /* KFABRIC_KFI_BUF_H */
