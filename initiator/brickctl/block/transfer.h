/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves bytes one-sidedly through a ring of registered chunks, several of them
 * in flight.
 *
 * Chunks are used in order: ctl_transfer_next() gives the oldest, waiting
 * until its operation is complete. A chunk never crosses a block's boundary.
 */
#ifndef BRICKCTL_TRANSFER_H
#define BRICKCTL_TRANSFER_H

#include <sys/types.h>

#include "initiator/brickctl/base/brickctl.h"

#define CTL_CHUNK_BYTES	 KFBRICK_BLOCK_BYTES
#define CTL_CHUNKS_DEPTH 8

struct ctl_chunk {
	uint8_t *data; /* CTL_CHUNK_BYTES */
	uint64_t va;
	size_t len;
	int error;
	bool in_flight;
	bool filled; /* by a read; whoever takes the bytes clears it */
};

struct ctl_transfer {
	struct ctl *ctl;
	uint8_t *buffer;
	struct kfbrick_memory *memory;
	struct ctl_chunk chunks[CTL_CHUNKS_DEPTH];
	unsigned int oldest;
	struct ctl_chunk flush; /* without data */
};

/* All return the status to exit with; errors have been reported. */
int ctl_transfer_open(struct ctl_transfer *t, struct ctl *ctl);
int ctl_transfer_next(struct ctl_transfer *t, struct ctl_chunk **chunk);
/* A read fills the chunk, a write sends what is in it. */
int ctl_transfer_post(struct ctl_transfer *t, struct ctl_chunk *chunk,
		      uint64_t va, size_t len, bool is_write);
/* Waits until nothing is in flight. */
int ctl_transfer_drain(struct ctl_transfer *t);
/* Drains, then makes what was written durable. */
int ctl_transfer_flush(struct ctl_transfer *t);
void ctl_transfer_close(struct ctl_transfer *t);

/* Bytes from an address to the end of its block. */
size_t ctl_block_rest(uint64_t va);

/**
 * ctl_byte_range_blocks - the blocks that bytes touch
 * @va: of the first byte
 * @len: at least 1; must not pass the end of the address space
 * @first_va: of the first block
 *
 * Return: the number of blocks.
 */
uint64_t ctl_byte_range_blocks(uint64_t va, uint64_t len, uint64_t *first_va);

/* Reads until the buffer is full or the input ends: bytes or -errno. */
ssize_t ctl_read_full(int fd, void *to, size_t len);

#endif
