/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rules of persistent reservations, as SPC-4 has them: who may read and write
 * under which reservation, and what each action makes of one disk's keys.
 *
 * Nothing here knows of sessions, blocks or files. A registrant is a client, with
 * all its sessions: it is what an I_T nexus is to SCSI.
 *
 * Context: any; one thread at a time for each disk.
 */
#ifndef BRICKD_RESERVE_RULES_H
#define BRICKD_RESERVE_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/codec/kfb_codec.h"
#include "proto/kfb_err.h"

/**
 * enum brick_standing - what a client is to a reservation
 * @BRICK_STANDING_HOLDER: it holds it, alone or with all registrants
 * @BRICK_STANDING_REGISTRANT: it has registered a key
 * @BRICK_STANDING_STRANGER: it has not
 * @BRICK_STANDINGS: how many there are
 */
enum brick_standing {
	BRICK_STANDING_HOLDER,
	BRICK_STANDING_REGISTRANT,
	BRICK_STANDING_STRANGER,
	BRICK_STANDINGS,
};

/*
 * struct brick_registrant - a client that has registered
 * @key: its key, never 0
 * @name: the client's
 * @is_holder: it holds a reservation that one holds; false of the other types
 */
struct brick_registrant {
	uint64_t key;
	char name[KFB_NAME_MAX + 1];
	bool is_holder;
};

/*
 * struct brick_keys - keys and reservation of one disk; zeroed: none
 * @type: KFB_RESERVED_*
 * @n: registrants
 * @list: in the order in which they registered
 */
struct brick_keys {
	uint8_t type;
	uint32_t n;
	struct brick_registrant list[KFB_REGISTRANTS_MAX];
};

/* Do all registrants hold a reservation of this type? */
bool brick_reserve_is_of_all(uint8_t type);

/**
 * brick_reserve_may - what a type allows to whom
 * @type: KFB_RESERVED_*
 * @standing: who asks
 * @write: for writing; else for reading
 */
bool brick_reserve_may(uint8_t type, enum brick_standing standing, bool write);

/* A client's place in the list; @keys->n: it has not registered. */
uint32_t brick_keys_find(const struct brick_keys *keys, const char *name);

/* What a client is to the disk's reservation; STRANGER of "", too. */
enum brick_standing brick_keys_standing(const struct brick_keys *keys,
					const char *name);

/**
 * brick_keys_change - carry an action out
 * @keys: of the disk; untouched on failure
 * @name: of the client that asks, not ""
 * @want: what it asks for, well-formed
 *
 * Return: KFB_ST_OK, also where nothing is to be changed; KFB_ST_CONFLICT: the
 * client has not that key, the reservation is another's, or nobody has the key that
 * is to be preempted; KFB_ST_INVALID: a release of another type than is reserved, or
 * nobody is named to be preempted; KFB_ST_LIMIT: too many registrants.
 */
enum kfb_status brick_keys_change(struct brick_keys *keys, const char *name,
				  const struct kfb_reserve *want);

#endif
