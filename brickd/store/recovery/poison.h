/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bad blocks: bytes of the medium that cannot be read any more, as the platform
 * names them before the store is opened.
 *
 * A line that is bad in the tables is no loss, both copies of everything are
 * apart: once cleared it is damage like any other, and recovery repairs it from
 * the other copy. A slot with a bad line is given up when it is free; a block
 * in such a slot keeps its place and is shown as lost by the medium, nobody
 * maps it, and once it is freed its slot is not used again.
 *
 * Context: the thread that opens the store.
 */
#ifndef BRICKD_STORE_POISON_H
#define BRICKD_STORE_POISON_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/media/media.h"
#include "brickd/store/format/super.h"

struct brick_store;

/**
 * brick_poison_in_tables - is any of these bytes outside of the data slots?
 * @sb: the superblock; NULL: not read yet, only the fixed places count
 * @bytes: of the medium
 * @part: the first such piece, on success
 *
 * Return: true when there is one; ask again from its end.
 */
bool brick_poison_in_tables(const struct brick_super *sb,
			    struct brick_bytes bytes, struct brick_bytes *part);

/**
 * brick_store_poison - take slots with bad bytes out of service
 * @s: recovered, without another thread
 * @bytes: pieces of the medium
 * @n: how many
 *
 * Return: 0, -ENOMEM or -EIO.
 */
int brick_store_poison(struct brick_store *s, const struct brick_bytes *bytes,
		       uint32_t n);

#endif
