// SPDX-License-Identifier: BSD-2-Clause
/* The rules of persistent reservations: see rules.h. */
#include "brickd/reserve/rules.h"

#include <stdio.h>
#include <string.h>

#define MAY_READ  1U
#define MAY_WRITE 2U
#define MAY_BOTH  (MAY_READ | MAY_WRITE)

/* SPC-4, table "Persistent reservation type codes", for commands that move data. */
static const uint8_t may[KFB_RESERVED_LAST + 1][BRICK_STANDINGS] = {
	/* holder, registrant, stranger */
	[KFB_RESERVED_NONE] = { MAY_BOTH, MAY_BOTH, MAY_BOTH },
	[KFB_RESERVED_WRITE_EXCLUSIVE] = { MAY_BOTH, MAY_READ, MAY_READ },
	[KFB_RESERVED_EXCLUSIVE_ACCESS] = { MAY_BOTH, 0, 0 },
	[KFB_RESERVED_WRITE_EXCLUSIVE_REG_ONLY] = { MAY_BOTH, MAY_BOTH,
						    MAY_READ },
	[KFB_RESERVED_EXCLUSIVE_ACCESS_REG_ONLY] = { MAY_BOTH, MAY_BOTH, 0 },
	[KFB_RESERVED_WRITE_EXCLUSIVE_ALL_REGS] = { MAY_BOTH, MAY_BOTH,
						    MAY_READ },
	[KFB_RESERVED_EXCLUSIVE_ACCESS_ALL_REGS] = { MAY_BOTH, MAY_BOTH, 0 },
};

bool brick_reserve_is_of_all(uint8_t type)
{
	return type == KFB_RESERVED_WRITE_EXCLUSIVE_ALL_REGS ||
	       type == KFB_RESERVED_EXCLUSIVE_ACCESS_ALL_REGS;
}

bool brick_reserve_may(uint8_t type, enum brick_standing standing, bool write)
{
	return may[type][standing] & (write ? MAY_WRITE : MAY_READ);
}

uint32_t brick_keys_find(const struct brick_keys *keys, const char *name)
{
	uint32_t at = 0;

	while (at < keys->n && strcmp(keys->list[at].name, name) != 0)
		at++;
	return at;
}

enum brick_standing brick_keys_standing(const struct brick_keys *keys,
					const char *name)
{
	uint32_t at = brick_keys_find(keys, name);

	if (at == keys->n)
		return BRICK_STANDING_STRANGER;
	if (keys->list[at].is_holder || brick_reserve_is_of_all(keys->type))
		return BRICK_STANDING_HOLDER;
	return BRICK_STANDING_REGISTRANT;
}

static void release_reservation(struct brick_keys *keys)
{
	keys->type = KFB_RESERVED_NONE;
	for (uint32_t i = 0; i < keys->n; i++)
		keys->list[i].is_holder = false;
}

static void take_reservation(struct brick_keys *keys, uint32_t at, uint8_t type)
{
	release_reservation(keys);
	keys->type = type;
	keys->list[at].is_holder = !brick_reserve_is_of_all(type);
}

/* A reservation goes with its holder, and with the last one of all who hold it. */
static void remove_registrant(struct brick_keys *keys, uint32_t at)
{
	if (keys->list[at].is_holder || keys->n == 1)
		release_reservation(keys);
	keys->n--;
	memmove(&keys->list[at], &keys->list[at + 1],
		(keys->n - at) * sizeof(keys->list[0]));
	memset(&keys->list[keys->n], 0, sizeof(keys->list[0]));
}

/* Those with @key, or with any if it is 0, but for @but; returns how many. */
static uint32_t remove_registrants(struct brick_keys *keys, uint64_t key,
				   const char *but)
{
	uint32_t n = 0, at = 0;

	while (at < keys->n) {
		const struct brick_registrant *one = &keys->list[at];

		if ((but && !strcmp(one->name, but)) ||
		    (key && one->key != key)) {
			at++;
			continue;
		}
		remove_registrant(keys, at);
		n++;
	}
	return n;
}

static enum kfb_status change_key(struct brick_keys *keys, const char *name,
				  const struct kfb_reserve *want)
{
	uint32_t at = brick_keys_find(keys, name);
	struct brick_registrant *one = &keys->list[at];
	bool is_new = at == keys->n;

	if (!(want->flags & KFB_RESERVE_IGNORE_KEY) &&
	    want->key != (is_new ? 0 : one->key))
		return KFB_ST_CONFLICT;
	if (is_new && want->new_key) {
		if (keys->n == KFB_REGISTRANTS_MAX)
			return KFB_ST_LIMIT;
		*one = (struct brick_registrant){ .key = want->new_key };
		snprintf(one->name, sizeof(one->name), "%s", name);
		keys->n++;
	} else if (want->new_key) {
		one->key = want->new_key;
	} else if (!is_new) {
		remove_registrant(keys, at);
	}
	return KFB_ST_OK;
}

/* The key of who holds the reservation alone; 0: nobody does. */
static uint64_t key_of_holder(const struct brick_keys *keys)
{
	for (uint32_t i = 0; i < keys->n; i++)
		if (keys->list[i].is_holder)
			return keys->list[i].key;
	return 0;
}

static enum kfb_status preempt_key(struct brick_keys *keys, const char *name,
				   const struct kfb_reserve *want)
{
	uint64_t key = want->new_key;

	if (!key && !brick_reserve_is_of_all(keys->type))
		return KFB_ST_INVALID;
	if (key && key != key_of_holder(keys))
		return remove_registrants(keys, key, NULL) ? KFB_ST_OK
							   : KFB_ST_CONFLICT;
	/* The reservation is another's, or that of all: it becomes the client's. */
	remove_registrants(keys, key, name);
	take_reservation(keys, brick_keys_find(keys, name), want->type);
	return KFB_ST_OK;
}

enum kfb_status brick_keys_change(struct brick_keys *keys, const char *name,
				  const struct kfb_reserve *want)
{
	bool holds = brick_keys_standing(keys, name) == BRICK_STANDING_HOLDER;
	uint32_t at = brick_keys_find(keys, name);

	if (want->action == KFB_RESERVE_REGISTER)
		return change_key(keys, name, want);
	if (at == keys->n || keys->list[at].key != want->key)
		return KFB_ST_CONFLICT;
	switch (want->action) {
	case KFB_RESERVE_RESERVE:
		if (!keys->type)
			take_reservation(keys, at, want->type);
		else if (!holds || keys->type != want->type)
			return KFB_ST_CONFLICT;
		return KFB_ST_OK;
	case KFB_RESERVE_RELEASE:
		if (!keys->type || !holds)
			return KFB_ST_OK;
		if (keys->type != want->type)
			return KFB_ST_INVALID;
		release_reservation(keys);
		return KFB_ST_OK;
	case KFB_RESERVE_PREEMPT:
	case KFB_RESERVE_PREEMPT_ABORT:
		return preempt_key(keys, name, want);
	default:
		memset(keys, 0, sizeof(*keys));
		return KFB_ST_OK;
	}
}
