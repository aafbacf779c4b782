/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a client knows of its blocks: the model that tests/func/chaos-load
 * holds against a brick that is killed under it.
 *
 * Each block has some cells of 4 KiB; everything else in it stays zero. Every
 * word of a cell names the client, the block, the block's life (how often it
 * was allocated) and the write's generation, so that stale, foreign and lost
 * bytes are all told apart.
 */
#ifndef TESTS_FUNC_CHAOS_MODEL_H
#define TESTS_FUNC_CHAOS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "initiator/lib/kfbrick.h"

#define MODEL_BLOCKS	  32
#define MODEL_CELLS	  8
#define MODEL_CELL_BYTES  4096
#define MODEL_CELL_STRIDE (KFBRICK_BLOCK_BYTES / MODEL_CELLS)

struct model_cell {
	uint32_t durable; /* generation that a flush has covered, 0: zeros */
	uint32_t completed; /* newest generation whose write has completed */
	uint32_t newest; /* newest generation that was posted */
};

struct model_block {
	bool allocated;
	uint32_t life;
	struct model_cell cells[MODEL_CELLS];
};

/* The one operation whose outcome a lost connection left open. */
struct model_open_op {
	bool open;
	bool is_alloc;
	unsigned int first;
	unsigned int n;
};

struct model {
	uint64_t base; /* address of block 0 */
	unsigned int n; /* how many blocks, at most MODEL_BLOCKS */
	uint8_t client; /* a number, not zero */
	struct model_block blocks[MODEL_BLOCKS];
	struct model_open_op open_op;
};

/* Note that blocks became allocated (their cells are zeros) or free. */
void model_set(struct model *m, unsigned int first, unsigned int n,
	       bool allocated);

/* Fill a cell's bytes for its next generation and note that it was posted. */
void model_next(struct model *m, unsigned int block, unsigned int cell,
		uint64_t *words);

/* The newest write of a cell has completed: the next flush covers it. */
void model_completed(struct model *m, unsigned int block, unsigned int cell);

/* Everything that has completed for these blocks is durable now. */
void model_flushed(struct model *m, unsigned int first, unsigned int n);

/**
 * model_resolve - settle what is allocated after a restart
 * @m: the model
 * @present: which blocks the brick lists
 *
 * Return: NULL, or what is wrong.
 */
const char *model_resolve(struct model *m, const bool *present);

/**
 * model_check - hold a whole block's bytes against the model
 * @m: the model
 * @block: its number
 * @bytes: KFBRICK_BLOCK_BYTES
 *
 * What was completed and is not there is forgotten: no flush covers it.
 *
 * Return: NULL, or what is wrong (a static buffer).
 */
const char *model_check(struct model *m, unsigned int block,
			const uint8_t *bytes);

#endif
