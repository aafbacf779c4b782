/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which clients are kept out, and the file that remembers it over restarts.
 *
 * The file has a client in each line: "NAME", or "NAME N" for one in a group that
 * was fenced N times; "NAME N admitted" is not kept out any more. It is replaced as
 * a whole: the new one is durable before it takes the old one's name, and the name
 * before anybody is told. Then the table says the same.
 *
 * Births tell who has been away from a block whether others wrote to it; those of a
 * group share their births. So each is told births of its own from each of its fences
 * on: what it knows from before one never fits.
 *
 * Context: the loop thread, but for brick_fences_write().
 */
#ifndef BRICKD_SESSION_FENCES_H
#define BRICKD_SESSION_FENCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/base/work.h"
#include "brickd/config/config.h"

/* Also names that the settings have no more. */
#define BRICK_FENCES_MAX (2 * BRICK_CLIENTS_MAX)

/*
 * struct brick_fence - a client that is, or was, kept out
 * @name: its name
 * @n_times: that it was, in a group; 0: in none
 * @is_kept_out: still
 * @may_be_in: the file may let it in: an admission may have got there
 */
struct brick_fence {
	char name[KFB_NAME_MAX + 1];
	uint32_t n_times;
	bool is_kept_out;
	bool may_be_in;
};

/*
 * struct brick_fences - the table
 * @path: of the file; NULL: nobody can be kept out
 * @lock_fd: of PATH.lock, locked while the file is this brickd's; -1
 * @writer: the thread that writes it
 * @is_unsure: the last change could not be written: who may come in is not known
 * @n: clients
 * @list: sorted by their names
 */
struct brick_fences {
	const char *path;
	int lock_fd;
	struct brick_worker writer;
	bool is_unsure;
	uint32_t n;
	struct brick_fence list[BRICK_FENCES_MAX];
};

/**
 * brick_fences_open - lock and read the file, and see that it can be written
 * @fences: zeroed
 * @path: of the file, which need not be there yet; NULL: none is wanted
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0 or -errno, -EWOULDBLOCK: another brickd has it. What cannot be read
 * lets nobody in by mistake: brickd does not start.
 */
int brick_fences_open(struct brick_fences *fences, const char *path, char *err,
		      size_t err_len);

/* Let another brickd have the file. Nobody writes it any more. */
void brick_fences_close(struct brick_fences *fences);

/* Is a client of this name kept out? */
bool brick_fences_has(const struct brick_fences *fences, const char *name);

/* Is it, and does the file surely say so? */
bool brick_fences_has_surely(const struct brick_fences *fences,
			     const char *name);

/**
 * brick_fences_birth - what a client is told for a block's birth
 * @fences: the table
 * @client: in a group or in none
 * @birth: the block's
 */
uint32_t brick_fences_birth(const struct brick_fences *fences,
			    const struct brick_client *client, uint32_t birth);

/* The first name of who is kept out that is greater, or NULL. */
const char *brick_fences_after(const struct brick_fences *fences,
			       const char *name);

/**
 * brick_fences_text - what the file is to hold after a change
 * @fences: the table as it is
 * @name: whom the change is about
 * @is_kept_out: what it shall be
 * @in_group: its fences are counted
 * @text: to be freed
 *
 * Return: 0, -ENOMEM, or -EDQUOT: there are too many.
 */
int brick_fences_text(const struct brick_fences *fences, const char *name,
		      bool is_kept_out, bool in_group, char **text);

/**
 * brick_fences_write - replace the file, durably
 * @path: of the file
 * @text: what it is to hold
 *
 * Context: any thread, one at a time.
 * Return: 0 or -errno; the file is the old one or the new one then.
 */
int brick_fences_write(const char *path, const char *text);

/**
 * brick_fences_set - make the table say what the file says, which was written
 * @fences: the table
 * @name: whom the change is about; there is room for it
 * @is_kept_out: what is durable
 * @in_group: its fences are counted
 */
void brick_fences_set(struct brick_fences *fences, const char *name,
		      bool is_kept_out, bool in_group);

/**
 * brick_fences_failed - a change could not be written, or not for good
 * @fences: the table, which stays as it is
 * @name: whom the change is about
 * @is_kept_out: what it was to be
 *
 * The file is the old one or the new one: what both say of others holds.
 */
void brick_fences_failed(struct brick_fences *fences, const char *name,
			 bool is_kept_out);

#endif
