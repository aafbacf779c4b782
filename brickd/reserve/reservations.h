/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Persistent reservations: which disks have any, and the file that remembers them over
 * restarts.
 *
 * A disk is a range of blocks that is named by its first one: there its clients register.
 * It covers as many blocks as the longest range that one of them has named, so that it
 * grows as a disk does, on one host after another. Disks do not overlap.
 *
 * The file has, behind a line "generation N", for each disk "disk VA+N TYPE" and for each
 * of its registrants "key KEY NAME", with " holder" behind it for who holds alone. It
 * is replaced as a whole, and is durable before the table says the same.
 *
 * Context: the loop thread, but for brick_reservations_write().
 */
#ifndef BRICKD_RESERVE_RESERVATIONS_H
#define BRICKD_RESERVE_RESERVATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/base/work.h"
#include "brickd/config/grants.h"
#include "brickd/reserve/rules.h"

/* Disks with registrants; and of these, those on which one client alone has registered. */
#define BRICK_RESERVATIONS_MAX	 256
#define BRICK_RESERVATIONS_SHARE (BRICK_RESERVATIONS_MAX / 4)

/*
 * struct brick_reserved - one disk
 * @span: its blocks
 * @keys: in the table at least one
 */
struct brick_reserved {
	struct brick_span span;
	struct brick_keys keys;
};

/*
 * struct brick_reservations - the table
 * @path: of the file; NULL: nothing can be reserved
 * @lock_fd: of PATH.lock, locked while the file is this brickd's; -1
 * @writer: the thread that writes it
 * @generation: counts changes of keys, of any disk
 * @n: disks
 * @list: sorted by their first blocks, each allocated
 */
struct brick_reservations {
	const char *path;
	int lock_fd;
	struct brick_worker writer;
	uint32_t generation;
	uint32_t n;
	struct brick_reserved *list[BRICK_RESERVATIONS_MAX];
};

/* ---- reservations.c ---- */

/**
 * brick_reservations_find - the disk that begins at a block
 * @all: the table
 * @span: that begins there, and overlaps no other disk
 * @out: the disk, or NULL: it has no registrants
 *
 * Return: 0, or -EEXIST: another disk has some of the blocks.
 */
int brick_reservations_find(const struct brick_reservations *all,
			    struct brick_span span,
			    const struct brick_reserved **out);

/**
 * brick_reservations_allow - do the reservations let a client have blocks?
 * @all: the table
 * @span: blocks, of one disk, of several or of none
 * @name: of the client; "": it has none, and is no registrant
 * @write: for writing; else for reading
 */
bool brick_reservations_allow(const struct brick_reservations *all,
			      struct brick_span span, const char *name,
			      bool write);

/**
 * brick_reservations_change - what a disk will be after an action
 * @all: the table, which is as it was
 * @name: of the client that asks, not ""
 * @want: what it asks for; well-formed, with a checked range
 * @then: gets the disk, to be freed, or for brick_reservations_set()
 *
 * Return: KFB_ST_OK; KFB_ST_EXISTS: another disk has some of the blocks; KFB_ST_LIMIT:
 * too many disks, in all or of this client alone, or registrants; KFB_ST_NO_MEMORY; else
 * as brick_keys_change().
 */
enum kfb_status brick_reservations_change(const struct brick_reservations *all,
					  const char *name,
					  const struct kfb_reserve *want,
					  struct brick_reserved **then);

/**
 * brick_reservations_set - make the table say what the file says
 * @all: the table
 * @then: of brick_reservations_change(), and nothing has changed since; the table's now
 * @has_new_keys: keys came or went
 */
void brick_reservations_set(struct brick_reservations *all,
			    struct brick_reserved *then, bool has_new_keys);

/* Does an action change which keys there are? Not as long as it is refused. */
bool brick_reserve_changes_keys(const struct kfb_reserve *want);

/* ---- reservations_file.c ---- */

/**
 * brick_reservations_open - lock and read the file, and see that it can be written
 * @all: zeroed
 * @path: of the file, which need not be there yet; NULL: none is wanted
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0 or -errno, -EWOULDBLOCK: another brickd has it. What cannot be read gives
 * nobody access by mistake: brickd does not start.
 */
int brick_reservations_open(struct brick_reservations *all, const char *path,
			    char *err, size_t err_len);

/* Let another brickd have the file. Nobody writes it any more. */
void brick_reservations_close(struct brick_reservations *all);

/**
 * brick_reservations_text - what the file is to hold after a change
 * @all: the table as it is
 * @then: what takes its disk's place; NULL: nothing changes
 * @has_new_keys: as for brick_reservations_set()
 * @text: to be freed
 *
 * Return: 0 or -ENOMEM.
 */
int brick_reservations_text(const struct brick_reservations *all,
			    const struct brick_reserved *then,
			    bool has_new_keys, char **text);

/**
 * brick_reservations_write - replace the file, durably
 * @path: of the file
 * @text: what it is to hold
 *
 * Context: any thread, one at a time.
 * Return: 0 or -errno; the file is the old one or the new one then.
 */
int brick_reservations_write(const char *path, const char *text);

#endif
