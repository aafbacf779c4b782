// SPDX-License-Identifier: BSD-2-Clause
/*
 * Persistent reservations: RESERVE and RESERVATION.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "internal.h"

_Static_assert(KFBRICK_REGISTRANTS_MAX == KFB_REGISTRANTS_MAX, "one bound");
_Static_assert(KFBRICK_RESERVE_CLEAR == KFB_RESERVE_CLEAR, "one numbering");
_Static_assert(KFBRICK_RESERVED_EXCLUSIVE_ACCESS_ALL_REGS == KFB_RESERVED_LAST,
	       "one numbering");

static bool is_sound(const struct kfbrick_reserve *want)
{
	bool is_preempt = want->action == KFBRICK_RESERVE_PREEMPT ||
			  want->action == KFBRICK_RESERVE_PREEMPT_ABORT;
	bool is_register = want->action == KFBRICK_RESERVE_REGISTER;
	bool has_type = !is_register && want->action != KFBRICK_RESERVE_CLEAR;

	if (!want->action || want->action > KFBRICK_RESERVE_CLEAR ||
	    want->type > KFB_RESERVED_LAST || !want->type == has_type)
		return false;
	if (want->new_key && !is_register && !is_preempt)
		return false;
	if (!want->flags)
		return true;
	return want->flags == KFBRICK_RESERVE_IGNORE_KEY && is_register &&
	       !want->key;
}

int kfbrick_reserve(struct kfbrick *k, const struct kfbrick_reserve *want)
{
	struct kfb_request req = { .op = KFB_OP_RESERVE };
	struct kfbrick_reserve known; /* the caller's, of whatever version */

	if (want->size < sizeof(known))
		return kfbl_fail(k, -EINVAL,
				 "reserve: size must be "
				 "sizeof(struct kfbrick_reserve)");
	if (kfbl_take_sized(&known, sizeof(known), want, want->size))
		return kfbl_fail(k, -E2BIG,
				 "reserve: it asks for what this libkfbrick, "
				 "%u.%u.%u, does not know; use a newer one",
				 KFBRICK_VERSION_MAJOR, KFBRICK_VERSION_MINOR,
				 KFBRICK_VERSION_PATCH);
	if (!is_sound(&known))
		return kfbl_fail(k, -EINVAL,
				 "reserve: action, type, keys and flags do not "
				 "go together");
	req.u.reserve = (struct kfb_reserve){
		.range = { known.va, known.n_blocks },
		.key = known.key,
		.new_key = known.new_key,
		.action = (__u8)known.action,
		.type = (__u8)known.type,
		/* There is no other one. */
		.flags = known.flags ? KFB_RESERVE_IGNORE_KEY : 0,
	};
	return kfbl_request(k, &req, "reserve");
}

int kfbrick_get_reservation(struct kfbrick *k, uint64_t va, uint64_t n_blocks,
			    struct kfbrick_reservation *reservation)
{
	const struct kfb_reservation *reply = &k->call_reply.u.reservation;
	struct kfb_request req = { .op = KFB_OP_RESERVATION,
				   .u.range = { va, n_blocks } };
	struct kfbrick_reservation full = { .size = reservation->size };
	int rc;

	if (reservation->size < sizeof(full))
		return kfbl_fail(k, -EINVAL,
				 "reservation: size must be "
				 "sizeof(struct kfbrick_reservation)");
	rc = kfbl_request(k, &req, "reservation of " KFBL_BLOCKS, va, n_blocks);
	if (rc)
		return rc;
	full.n_blocks = reply->n_blocks;
	full.generation = reply->generation;
	full.type = reply->type;
	full.n_registrants = reply->n_registrants;
	for (uint32_t i = 0; i < reply->n_registrants; i++) {
		const struct kfb_registrant *from = &reply->registrants[i];
		struct kfbrick_registrant *to = &full.registrants[i];

		to->key = from->key;
		to->is_holder = !!(from->flags & KFB_REGISTRANT_HOLDER);
		memcpy(to->name, from->name, sizeof(to->name));
	}
	kfbl_give_sized(reservation, reservation->size, &full, sizeof(full));
	return 0;
}
