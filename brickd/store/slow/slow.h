/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slow tier: a file or block device that holds blocks at rest.
 *
 * It is read and written in whole blocks, never mapped and never registered.
 * What was written is durable after sync(); until then any sector of it may be
 * lost, in any order. Which block lies where is recorded in the store's own
 * tables; the tier itself has only a header that names the store.
 *
 * Context: read, write, zero and sync block; they may run on several threads at
 * once, on disjoint slots. sync() covers all that was written before.
 */
#ifndef BRICKD_STORE_SLOW_H
#define BRICKD_STORE_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/media/made.h"
#include "kfb_wire.h"

struct brick_media;
struct brick_slow;
struct brick_super;

/**
 * struct brick_slow_ops - how a slow tier is read and written
 * @read: read @len bytes; 0 or -errno
 * @write: write @len bytes; 0 or -errno
 * @zero: make @len bytes zero; 0 or -errno
 * @sync: wait until all that was written is durable; 0 or -errno
 * @close: let go and free
 *
 * Offsets and lengths are multiples of 4 KiB, and so are buffers' addresses.
 */
struct brick_slow_ops {
	int (*read)(struct brick_slow *slow, uint64_t off, void *to,
		    size_t len);
	int (*write)(struct brick_slow *slow, uint64_t off, const void *from,
		     size_t len);
	int (*zero)(struct brick_slow *slow, uint64_t off, size_t len);
	int (*sync)(struct brick_slow *slow);
	void (*close)(struct brick_slow *slow);
};

/**
 * struct brick_slow - an open slow tier; embedded in what implements it
 * @ops: how to use it
 * @size: bytes
 * @path: as the administrator gave it
 * @made: what opening it for format has made
 * @fresh_is_zero: nothing was ever written here
 * @is_volatile: it is gone with the power
 * @sync_error: -errno, when what an earlier process wrote could not be made
 *	durable: nothing that was acknowledged, since that was synced
 */
struct brick_slow {
	const struct brick_slow_ops *ops;
	uint64_t size;
	char *path;
	enum brick_made made;
	bool fresh_is_zero;
	bool is_volatile;
	int sync_error;
};

/**
 * struct brick_slow_create - what format wants of a new file
 * @size: bytes; 0 for a block device, which has its own
 * @sparse: do not allocate the file
 */
struct brick_slow_create {
	uint64_t size;
	bool sparse;
};

/**
 * brick_slow_open - open the file or block device at a path
 * @path: of it
 * @create: NULL to open what is there; else make the file if there is none
 * @out: the tier
 * @err: a message for the administrator on failure
 * @err_len: its size, bytes
 *
 * Takes an exclusive flock; a block device that is in use is refused. What an
 * earlier process left in the page cache is written and dropped, so that reads
 * show what is there.
 *
 * Context: may block.
 * Return: 0, -EWOULDBLOCK (another process holds the lock), or -errno.
 */
int brick_slow_open(const char *path, const struct brick_slow_create *create,
		    struct brick_slow **out, char *err, size_t err_len);

static inline void brick_slow_close(struct brick_slow *slow)
{
	slow->ops->close(slow);
}

/* Closes what format has refused; a file that was made for it goes again. */
void brick_slow_discard(struct brick_slow *slow);

/* How many slots fit behind the header. */
uint64_t brick_slow_room(const struct brick_slow *slow);

/**
 * brick_slow_is_empty - has it no header and no other data at its start?
 * @slow: open
 * @empty: the answer
 *
 * Context: may block.
 * Return: 0, -ENOMEM or -EIO.
 */
int brick_slow_is_empty(struct brick_slow *slow, bool *empty);

/**
 * brick_slow_write_header - make it the slow tier of a store, durably
 * @slow: open; either header may be the one that counts
 * @sb: the store's superblock
 *
 * One header after the other: at each moment one of the two is whole.
 *
 * Context: may block.
 * Return: 0 or -errno.
 */
int brick_slow_write_header(struct brick_slow *slow,
			    const struct brick_super *sb);

/* What a look at a slow tier finds. */
enum brick_slow_sense {
	BRICK_SLOW_WHOLE,
	BRICK_SLOW_HALF, /* one header is damaged; the other one counts */
	BRICK_SLOW_NONE, /* there is no header */
	BRICK_SLOW_LOST, /* both headers are damaged */
	BRICK_SLOW_UNKNOWN, /* of a format of the future */
	BRICK_SLOW_FOREIGN, /* another store's, or of an earlier format */
	BRICK_SLOW_SHORT, /* it ends before its last slot */
};

/**
 * brick_slow_look - what is it, to a store?
 * @slow: open
 * @sb: the store's superblock, with a slow tier
 * @sense: the answer
 *
 * Writes nothing.
 *
 * Context: may block.
 * Return: 0, -ENOMEM or -EIO.
 */
int brick_slow_look(struct brick_slow *slow, const struct brick_super *sb,
		    enum brick_slow_sense *sense);

/**
 * brick_slow_check - is it the slow tier of a store?
 * @slow: open
 * @sb: the store's superblock, with a slow tier
 * @damaged: on success: one header is, and the other one counts
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Writes nothing.
 *
 * Context: may block.
 * Return: 0, -ENOENT (no slow tier), -EUCLEAN (both headers damaged), -EINVAL
 * (another store's, or truncated), -EPROTONOSUPPORT, -ENOMEM, -EIO.
 */
int brick_slow_check(struct brick_slow *slow, const struct brick_super *sb,
		     bool *damaged, char *err, size_t err_len);

/**
 * brick_slow_keeps - does it keep what it is given as long as the store does?
 * @slow: open
 * @m: the store's medium
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * FLUSH promises for blocks what the medium can keep, and they are moved.
 *
 * Context: any.
 * Return: 0 or -ENOTSUP: it is in memory, and the medium is not.
 */
int brick_slow_keeps(const struct brick_slow *slow, const struct brick_media *m,
		     char *err, size_t err_len);
/* Would brick_slow_keeps() refuse it? */
bool brick_slow_keeps_less(const struct brick_slow *slow,
			   const struct brick_media *m);

/**
 * brick_slow_repair - write the header that is damaged, durably
 * @slow: checked
 * @sb: the store's superblock
 *
 * Context: may block.
 * Return: 0, -ENOMEM, -EIO or another errno of the device.
 */
int brick_slow_repair(struct brick_slow *slow, const struct brick_super *sb);

/**
 * brick_slow_extend - make the file of a slow tier larger, durably
 * @slow: from brick_slow_open()
 * @size: bytes
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * What is new is zero.
 *
 * Context: may block for long.
 * Return: 0, -ENOTSUP (a device has a size of its own), -EINVAL (it is not
 * more), or -errno.
 */
int brick_slow_extend(struct brick_slow *slow, uint64_t size, char *err,
		      size_t err_len);

/* Where a slot's data are in the tier; the slot's number may have its bit. */
uint64_t brick_slow_data(uint64_t slot);

#endif
