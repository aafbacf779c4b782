/* SPDX-License-Identifier: BSD-2-Clause */
/* The superblock: where everything lies in a store. */
#ifndef BRICKD_STORE_SUPER_H
#define BRICKD_STORE_SUPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "brickd/media.h"
#include "brickd/store/format.h"

/**
 * struct brick_super - a checked superblock
 * @uuid: of the store
 * @seq: rises with every write of the superblock
 * @salt: goes into all other checksums
 * @n: slots
 * @capacity: records the tables have room for
 * @rec_off: both copies of the record table, bytes
 * @data_off: the first slot, bytes
 * @total_size: of the store, bytes
 */
struct brick_super {
	uint8_t uuid[KFB_UUID_BYTES];
	uint64_t seq;
	uint32_t salt;
	uint64_t n;
	uint64_t capacity;
	uint64_t rec_off[BRICK_FMT_COPIES];
	uint64_t data_off;
	uint64_t total_size;
};

/* Whether a reserved field, of at least one byte, is as it must be. */
static inline bool brick_all_zero(const void *field, size_t len)
{
	const uint8_t *bytes = field;

	return !bytes[0] && !memcmp(bytes, bytes + 1, len - 1);
}

/* Where slot's record copy is. */
static inline uint64_t brick_super_rec(const struct brick_super *sb,
				       unsigned int copy, uint64_t slot)
{
	return sb->rec_off[copy] + slot * sizeof(struct brick_fmt_record);
}

/* Where slot's data are. */
static inline uint64_t brick_super_data(const struct brick_super *sb,
					uint64_t slot)
{
	return sb->data_off + (slot << KFB_BLOCK_SHIFT);
}

/**
 * brick_super_plan - lay out as many slots as fit
 * @size: of the medium, bytes
 * @sb: n, capacity, offsets and total_size are set
 *
 * Context: any.
 * Return: 0, or -ENOSPC when not even one slot fits.
 */
int brick_super_plan(uint64_t size, struct brick_super *sb);

/**
 * brick_super_erase - make the medium unformatted, durably
 * @m: the medium
 *
 * Context: may block.
 * Return: 0 or -errno.
 */
int brick_super_erase(struct brick_media *m);

/**
 * brick_super_write - write both copies, their magic after all else is durable
 * @m: the medium
 * @sb: what to write
 *
 * Context: may block.
 * Return: 0 or -errno.
 */
int brick_super_write(struct brick_media *m, const struct brick_super *sb);

/**
 * brick_super_read - find and check the superblock
 * @m: the medium
 * @sb: filled on success
 * @damaged: set when one copy is not what the winner says
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Writes nothing.
 *
 * Context: any.
 * Return: 0, -ENOENT (no magic), -EUCLEAN (both copies damaged, or fields that
 * make no sense), -EPROTONOSUPPORT, -EINVAL (truncated).
 */
int brick_super_read(const struct brick_media *m, struct brick_super *sb,
		     bool *damaged, char *err, size_t err_len);

/**
 * brick_super_repair - make both copies equal to the winner, durably
 * @m: the medium
 * @sb: from brick_super_read()
 *
 * Context: may block.
 * Return: 0 or -errno.
 */
int brick_super_repair(struct brick_media *m, const struct brick_super *sb);

#endif
