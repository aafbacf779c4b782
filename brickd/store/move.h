/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moving a block from one tier to the other, so that a crash at any moment
 * leaves it in one place, whole.
 *
 *	brick_move_begin()	finds a free slot there and makes it durably DIRTY
 *	brick_move_copy()	copies; what was copied is durable on return
 *	brick_store_commit()	one batch: the block is there, the old slot free
 *	brick_move_end()	gives back the slots of moves that were not made
 *
 * Nobody may write to the block, map or free it from begin to end: the caller
 * sees to that. Readers of the index see it in its old place until the commit
 * and in the new one afterwards.
 *
 * Context: begin, copy and end: one thread at a time; they block.
 */
#ifndef BRICKD_STORE_MOVE_H
#define BRICKD_STORE_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/store/format/record.h"
#include "brickd/store/store.h"

/**
 * struct brick_move - one block's way
 * @va: the block, set by the caller
 * @to_slow: where to, set by the caller
 * @src: the slot it is in
 * @dst: the slot it goes to
 * @payload: its record
 * @error: 0: it may go on; -ENOENT (not allocated), -EALREADY (it is there),
 *	-ENOSPC (no free slot there), -EIO (it could not be read or written),
 *	-ENOMEM
 * @is_begun: dst is taken
 * @is_done: committed
 * @is_unread: with -EIO: it could not be read from memory, or, before @is_begun, is
 *	known to be lost there
 */
struct brick_move {
	uint64_t va;
	bool to_slow;
	uint64_t src;
	uint64_t dst;
	struct brick_payload payload;
	int error;
	bool is_begun;
	bool is_done;
	bool is_unread;
};

/* How many moves may be under way at a time: at least 1 with a slow tier. */
unsigned int brick_move_max(const struct brick_store *s);

/**
 * brick_move_begin - find and mark the slots
 * @s: the store, with a slow tier
 * @moves: va and to_slow are set, all else is zero
 * @n: at most brick_move_max()
 *
 * Each has its own error.
 */
void brick_move_begin(struct brick_store *s, struct brick_move *moves,
		      unsigned int n);

/**
 * brick_move_copy - copy what may go on, durably
 * @s: the store
 * @moves: begun
 * @n: how many
 *
 * Each gets its own error. A block that cannot be read is shown as bad in
 * lists until it can. A slot of the slow tier that cannot be written is not
 * used again until the store is opened anew.
 */
void brick_move_copy(struct brick_store *s, struct brick_move *moves,
		     unsigned int n);

/**
 * brick_move_end - let go of what was not moved
 * @s: the store
 * @moves: begun, some of them committed
 * @n: how many
 */
void brick_move_end(struct brick_store *s, struct brick_move *moves,
		    unsigned int n);

#endif
