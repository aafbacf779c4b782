/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking at a store that nobody serves: all that recovery looks at, and what
 * it does not, without a byte written; and putting right what can be.
 *
 * docs/man/brickctl-check.8.scd says what each finding means.
 *
 * Context: one thread; the store is not open.
 */
#ifndef BRICKD_STORE_CHECK_H
#define BRICKD_STORE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/media/media.h"
#include "brickd/store/slow/slow.h"

enum brick_finding_grade {
	BRICK_FINDING_NOTE, /* normal, or settled long ago */
	BRICK_FINDING_DAMAGE, /* nothing is lost: repair puts it right */
	BRICK_FINDING_LOSS, /* something is lost; repair limits it */
	BRICK_FINDING_FATAL, /* brickd refuses the store; no repair is safe */
};

#define BRICK_FINDING_NO_SLOT UINT64_MAX

/**
 * struct brick_finding - one thing that is not as it should be
 * @name: its name in the manual page
 * @what: in words
 * @grade: how bad it is
 * @slot: which one, with BRICK_SLOT_SLOW, or BRICK_FINDING_NO_SLOT
 * @copy: 0 or 1; -1: not about one of two copies
 * @va: the block's address, where has_va
 * @has_va: it is known
 */
struct brick_finding {
	const char *name;
	const char *what;
	enum brick_finding_grade grade;
	uint64_t slot;
	int copy;
	uint64_t va;
	bool has_va;
};

/**
 * struct brick_check - how to look, and what came of it
 * @boot_id: of this host, 16 bytes: a page of a living process is respected
 * @read_clean: read CLEAN slots too, and demand zeros
 * @slow: the slow tier, open; NULL: do not look at it
 * @repair: put right what can be
 * @found: called for each finding
 * @arg: for found
 * @n: findings by grade
 * @n_slots: looked at, both tiers
 * @n_alloc: blocks
 * @is_repaired: whatever is not fatal was put right
 */
struct brick_check {
	uint8_t boot_id[16];
	bool read_clean;
	struct brick_slow *slow;
	bool repair;
	void (*found)(const struct brick_finding *finding, void *arg);
	void *arg;
	uint64_t n[BRICK_FINDING_FATAL + 1];
	uint64_t n_slots;
	uint64_t n_alloc;
	bool is_repaired;
};

/**
 * brick_store_check - look at everything, and repair if told to
 * @m: the medium, open and locked
 * @c: what to do; the results
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Without c->repair nothing is written.
 *
 * Context: may block for long.
 * Return: 0 when it could look, whatever it found; -ENOENT (no store),
 * -EUCLEAN (both superblocks damaged), -EPROTONOSUPPORT (newer), -EINVAL
 * (truncated), -EBUSY (held by a living process), -ENOMEM, -EIO.
 */
int brick_store_check(struct brick_media *m, struct brick_check *c, char *err,
		      size_t err_len);

#endif
