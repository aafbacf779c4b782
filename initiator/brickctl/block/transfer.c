// SPDX-License-Identifier: BSD-2-Clause
/*
 * One-sided transfers with several chunks in flight.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "initiator/brickctl/block/transfer.h"

#define PAGE_BYTES 4096

/* How long nothing may move: the library may look for the brick meanwhile. */
static int timeout_ms(const struct ctl *ctl)
{
	return (int)(ctl_timeout_ms(ctl) + ctl->settings.reconnect_ms);
}

int ctl_transfer_open(struct ctl_transfer *t, struct ctl *ctl)
{
	const size_t len = CTL_CHUNK_BYTES * CTL_CHUNKS_DEPTH;
	unsigned int i;
	int err;

	*t = (struct ctl_transfer){ .ctl = ctl };
	t->buffer = aligned_alloc(PAGE_BYTES, len);
	if (!t->buffer)
		return ctl_no_memory(ctl);
	err = kfbrick_memory_register(ctl->k, t->buffer, len, &t->memory);
	if (err) {
		free(t->buffer);
		t->buffer = NULL;
		return ctl_fail_call(ctl, err, "registering %zu bytes", len);
	}
	for (i = 0; i < CTL_CHUNKS_DEPTH; i++)
		t->chunks[i].data = t->buffer + i * CTL_CHUNK_BYTES;
	return CTL_DONE;
}

void ctl_transfer_close(struct ctl_transfer *t)
{
	bool is_busy = t->flush.in_flight;
	unsigned int i;

	if (!t->buffer)
		return;
	for (i = 0; i < CTL_CHUNKS_DEPTH; i++)
		is_busy |= t->chunks[i].in_flight;
	if (is_busy) {
		/* After a failure operations may still use the memory. */
		kfbrick_close(t->ctl->k);
		t->ctl->k = NULL;
	} else {
		kfbrick_memory_release(t->ctl->k, t->memory);
	}
	free(t->buffer);
	t->buffer = NULL;
}

/* Takes in what has completed, waiting for at least one. */
static int collect_chunks(struct ctl_transfer *t,
			  const struct ctl_chunk *waiting)
{
	struct kfbrick_completion done[CTL_CHUNKS_DEPTH + 1];
	struct kfbrick *k = t->ctl->k;
	struct ctl_chunk *chunk;
	uint64_t moved;
	int n;
	int i;

	/* While bytes move: on a slow link it takes long until a chunk is whole. */
	do {
		moved = kfbrick_moved_bytes(k);
		n = kfbrick_poll(k, done, CTL_CHUNKS_DEPTH + 1,
				 timeout_ms(t->ctl));
	} while (!n && moved != kfbrick_moved_bytes(k));
	if (!n)
		return ctl_fail_silence(t->ctl, timeout_ms(t->ctl),
					"%zu bytes at 0x%" PRIx64, waiting->len,
					waiting->va);
	if (n < 0)
		return ctl_fail_call(t->ctl, n, "%zu bytes at 0x%" PRIx64,
				     waiting->len, waiting->va);
	for (i = 0; i < n; i++) {
		chunk = done[i].context;
		chunk->in_flight = false;
		chunk->error = done[i].error;
	}
	return CTL_DONE;
}

static int wait_for_chunk(struct ctl_transfer *t, struct ctl_chunk *chunk)
{
	int status;

	while (chunk->in_flight) {
		status = collect_chunks(t, chunk);
		if (status)
			return status;
	}
	if (!chunk->error)
		return CTL_DONE;
	return ctl_fail_completion(t->ctl, chunk->error,
				   "%zu bytes at 0x%" PRIx64, chunk->len,
				   chunk->va);
}

int ctl_transfer_next(struct ctl_transfer *t, struct ctl_chunk **chunk)
{
	struct ctl_chunk *oldest = &t->chunks[t->oldest];
	int status;

	status = wait_for_chunk(t, oldest);
	if (status)
		return status;
	t->oldest = (t->oldest + 1) % CTL_CHUNKS_DEPTH;
	*chunk = oldest;
	return CTL_DONE;
}

int ctl_transfer_post(struct ctl_transfer *t, struct ctl_chunk *chunk,
		      uint64_t va, size_t len, bool is_write)
{
	struct kfbrick *k = t->ctl->k;
	int status;
	int err;

	chunk->va = va;
	chunk->len = len;
	chunk->filled = !is_write;
	for (;;) {
		err = is_write ? kfbrick_post_write(k, va, chunk->data, len,
						    chunk)
			       : kfbrick_post_read(k, va, chunk->data, len,
						   chunk);
		if (err != -EAGAIN)
			break;
		status = collect_chunks(t, chunk);
		if (status)
			return status;
	}
	if (err)
		return ctl_fail_call(t->ctl, err, "%zu bytes at 0x%" PRIx64,
				     len, va);
	chunk->in_flight = true;
	return CTL_DONE;
}

int ctl_transfer_drain(struct ctl_transfer *t)
{
	unsigned int i;
	int status;

	for (i = 0; i < CTL_CHUNKS_DEPTH; i++) {
		status = wait_for_chunk(t, &t->chunks[i]);
		if (status)
			return status;
	}
	return CTL_DONE;
}

int ctl_transfer_flush(struct ctl_transfer *t)
{
	int status;
	int err;

	status = ctl_transfer_drain(t);
	if (status)
		return status;
	err = kfbrick_post_flush(t->ctl->k, &t->flush);
	if (err)
		return ctl_fail_call(t->ctl, err, "flushing");
	t->flush.in_flight = true;
	while (t->flush.in_flight) {
		status = collect_chunks(t, &t->flush);
		if (status)
			return status;
	}
	if (t->flush.error)
		return ctl_fail_completion(t->ctl, t->flush.error, "flushing");
	return CTL_DONE;
}

size_t ctl_block_rest(uint64_t va)
{
	return KFBRICK_BLOCK_BYTES - va % KFBRICK_BLOCK_BYTES;
}

uint64_t ctl_byte_range_blocks(uint64_t va, uint64_t len, uint64_t *first_va)
{
	uint64_t first = va / KFBRICK_BLOCK_BYTES;
	uint64_t last = (va + (len - 1)) / KFBRICK_BLOCK_BYTES;

	*first_va = first * KFBRICK_BLOCK_BYTES;
	return last - first + 1;
}

ssize_t ctl_read_full(int fd, void *to, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = read(fd, (char *)to + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}
