/* SPDX-License-Identifier: BSD-2-Clause */
/* The superblock: where everything lies in a store. */
#ifndef BRICKD_STORE_SUPER_H
#define BRICKD_STORE_SUPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "brickd/media/media.h"
#include "brickd/store/format/format.h"

/**
 * struct brick_super - a checked superblock
 * @uuid: of the store
 * @seq: rises with every write of the superblock
 * @salt: goes into all other checksums
 * @compat: features that need not be known: kept as they are
 * @n: slots
 * @capacity: records the tables have room for
 * @n_slow: slots of the slow tier, 0: there is none
 * @cap_slow: records its tables have room for
 * @slow_uuid: of the slow tier
 * @rec_off: both copies of the record table, bytes
 * @slow_off: both copies of the slow tier's
 * @data_off: the first slot, bytes
 * @total_size: of the store, bytes
 */
struct brick_super {
	uint8_t uuid[KFB_UUID_BYTES];
	uint64_t seq;
	uint32_t salt;
	uint64_t compat;
	uint64_t n;
	uint64_t capacity;
	uint64_t n_slow;
	uint64_t cap_slow;
	uint8_t slow_uuid[KFB_UUID_BYTES];
	uint64_t rec_off[BRICK_FMT_COPIES];
	uint64_t slow_off[BRICK_FMT_COPIES];
	uint64_t data_off;
	uint64_t total_size;
};

/* Whether a reserved field, of at least one byte, is as it must be. */
static inline bool brick_all_zero(const void *field, size_t len)
{
	const uint8_t *bytes = field;

	return !bytes[0] && !memcmp(bytes, bytes + 1, len - 1);
}

/*
 * Slots of the slow tier have this bit in their number, in DRAM and in what
 * their records' checksums are computed over.
 */
#define BRICK_SLOT_SLOW (1ULL << 32)
/* So many a tier at most: 8 PiB. */
#define BRICK_SLOTS_MAX BRICK_SLOT_SLOW

static inline bool brick_slot_is_slow(uint64_t slot)
{
	return slot & BRICK_SLOT_SLOW;
}

/* A slot's number within its tier. */
static inline uint64_t brick_slot_number(uint64_t slot)
{
	return slot & (BRICK_SLOT_SLOW - 1);
}

/* Where slot's record copy is. */
static inline uint64_t brick_super_rec(const struct brick_super *sb,
				       unsigned int copy, uint64_t slot)
{
	const uint64_t *tables =
		brick_slot_is_slow(slot) ? sb->slow_off : sb->rec_off;

	return tables[copy] +
	       brick_slot_number(slot) * sizeof(struct brick_fmt_record);
}

/* Where a slot's data are on the medium; not for the slow tier's. */
static inline uint64_t brick_super_data(const struct brick_super *sb,
					uint64_t slot)
{
	return sb->data_off + (slot << KFB_BLOCK_SHIFT);
}

/**
 * brick_super_plan - lay out as many slots as fit
 * @size: of the medium, bytes
 * @n_slow: slots of the slow tier, whose records are there too
 * @sb: n, capacities, offsets and total_size are set
 *
 * Context: any.
 * Return: 0, or -ENOSPC when not even one slot fits.
 */
int brick_super_plan(uint64_t size, uint64_t n_slow, struct brick_super *sb);

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
 * brick_super_write_back - make durable what is read of the tables
 * @m: the medium, of cache lines or pages that may be in a cache alone
 * @sb: as read
 *
 * A process that was killed may have stored what it did not write back any more: a
 * superblock, that it had stopped cleanly, records. Whoever comes next reads that as
 * done, and must not change anything that counts on it, such as the other copy, before
 * this and a drain.
 *
 * Context: any thread; drains nothing.
 */
void brick_super_write_back(struct brick_media *m,
			    const struct brick_super *sb);

/**
 * brick_super_repair - make both copies equal to the winner, durably
 * @m: the medium
 * @sb: from brick_super_read()
 *
 * Context: may block.
 * Return: 0 or -errno.
 */
int brick_super_repair(struct brick_media *m, const struct brick_super *sb);

/**
 * brick_super_flip - replace a superblock by one with a higher seq, durably
 * @m: the medium
 * @sb: what to write; all it points to is durable
 *
 * One copy after the other: at each moment one of the two is whole, and the
 * one with the higher seq counts.
 *
 * Context: may block.
 * Return: 0 or -errno.
 */
int brick_super_flip(struct brick_media *m, const struct brick_super *sb);

/* What a table of n records takes of the medium. */
uint64_t brick_super_table_bytes(uint64_t n);

#endif
