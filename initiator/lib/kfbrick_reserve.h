/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libkfbrick: persistent reservations, as SCSI (SPC-4) and the block layer of Linux
 * have them. A part of kfbrick.h, which includes it.
 *
 * A client registers a key with the brick for a range of blocks; who has registered may
 * reserve the range, so that others do not write to it, or have none of it, until the
 * reservation is released, cleared or preempted. A range is named by its first block: all
 * clients of one disk use the same one. Keys and reservation outlive connections, and the
 * brick's restarts; they are the client's, with all of its connections.
 */
#ifndef KFBRICK_RESERVE_H
#define KFBRICK_RESERVE_H

#include <stddef.h>
#include <stdint.h>

#include "kfbrick_fence.h"

#ifdef __cplusplus
extern "C" {
#endif

struct kfbrick;

#define KFBRICK_RESERVE_REGISTER      1
#define KFBRICK_RESERVE_RESERVE	      2
#define KFBRICK_RESERVE_RELEASE	      3
#define KFBRICK_RESERVE_PREEMPT	      4
#define KFBRICK_RESERVE_PREEMPT_ABORT 5
#define KFBRICK_RESERVE_CLEAR	      6

#define KFBRICK_RESERVE_IGNORE_KEY (1U << 0)

/* Numbered as in Linux' linux/pr.h. */
#define KFBRICK_RESERVED_NONE			   0
#define KFBRICK_RESERVED_WRITE_EXCLUSIVE	   1
#define KFBRICK_RESERVED_EXCLUSIVE_ACCESS	   2
#define KFBRICK_RESERVED_WRITE_EXCLUSIVE_REG_ONLY  3
#define KFBRICK_RESERVED_EXCLUSIVE_ACCESS_REG_ONLY 4
#define KFBRICK_RESERVED_WRITE_EXCLUSIVE_ALL_REGS  5
#define KFBRICK_RESERVED_EXCLUSIVE_ACCESS_ALL_REGS 6

#define KFBRICK_REGISTRANTS_MAX 64

/**
 * struct kfbrick_reserve - what is to be done with a reservation
 * @size: sizeof(struct kfbrick_reserve), set by the caller
 * @va: address of the first block
 * @n_blocks: how many blocks
 * @key: this client's key; 0: the client has none, or its key is ignored
 * @new_key: of REGISTER the key to have from now on, 0: none; of PREEMPT and
 *	PREEMPT_ABORT the key of those who lose theirs; else 0
 * @action: KFBRICK_RESERVE_*
 * @type: KFBRICK_RESERVED_*; NONE of REGISTER and CLEAR
 * @flags: KFBRICK_RESERVE_IGNORE_KEY, of REGISTER: whatever key it has
 */
struct kfbrick_reserve {
	size_t size;
	uint64_t va;
	uint64_t n_blocks;
	uint64_t key;
	uint64_t new_key;
	uint32_t action;
	uint32_t type;
	uint32_t flags;
};

/**
 * struct kfbrick_registrant - a client that has registered
 * @key: the client's key
 * @name: the client's name
 * @is_holder: the client holds the reservation, alone or with all that have registered
 */
struct kfbrick_registrant {
	uint64_t key;
	char name[KFBRICK_CLIENT_BYTES];
	uint8_t is_holder;
};

/**
 * struct kfbrick_reservation - keys and reservation of a range
 * @size: sizeof(struct kfbrick_reservation), set by the caller
 * @n_blocks: blocks that the reservation covers; 0: nobody has registered
 * @generation: a number that is another one when keys have changed
 * @type: KFBRICK_RESERVED_*
 * @n_registrants: how many registrants there are
 * @registrants: in the order in which they registered
 */
struct kfbrick_reservation {
	size_t size;
	uint64_t n_blocks;
	uint32_t generation;
	uint32_t type;
	uint32_t n_registrants;
	struct kfbrick_registrant registrants[KFBRICK_REGISTRANTS_MAX];
};

/**
 * kfbrick_reserve - register, reserve, release, preempt or clear
 * @k: connection
 * @want: what is to be done
 *
 * When this returns 0 the brick has written it down, the sessions of clients that had
 * mapped what they may not any more have ended, and no byte that they have sent lands
 * there any more. If this client is one of them, its own session ends behind the answer.
 *
 * Context: control call; blocks up to the timeout.
 * Return: 0, -EBADE (this client has not that key, the reservation is another's, or
 * nobody has the key that is to be preempted), -EINVAL (what does not go together, a
 * release of another type, or no size), -E2BIG (@want asks for what this library does
 * not know), -EACCES (outside the grants, or a client
 * without a name), -EEXIST (blocks of a range that begins elsewhere), -EDQUOT (too
 * many registrants or ranges), -EOPNOTSUPP (the brick is older, or keeps no
 * reservations), -EIO (the brick cannot write it down for sure: look, and ask again).
 */
int kfbrick_reserve(struct kfbrick *k, const struct kfbrick_reserve *want);

/**
 * kfbrick_get_reservation - who has registered, and what is reserved?
 * @k: connection
 * @va: address of the first block
 * @n_blocks: how many blocks
 * @reservation: the caller has set its size; filled on success
 *
 * Context: control call; blocks up to the timeout.
 * Return: 0, also when nobody has; -EINVAL (no range, or no size), -EACCES, -EEXIST
 * and -EOPNOTSUPP as above.
 */
int kfbrick_get_reservation(struct kfbrick *k, uint64_t va, uint64_t n_blocks,
			    struct kfbrick_reservation *reservation);

#ifdef __cplusplus
}
#endif

#endif
