// SPDX-License-Identifier: BSD-2-Clause
/*
 * The rules by which recovery reads a record.
 *
 * A state of batch tx is settled by the commit word c: tx == c, the batch is
 * committed; tx == c + 1, it never was; any other tx is damage, because every
 * such state is rewritten before the commit word moves a second time. The
 * payload is looked at only where the record resolves to ALLOC: elsewhere it
 * may be torn by rights.
 *
 * Copy 0 wins over a mirror that differs: every change is either acknowledged
 * after both copies are durable, or not acknowledged at all. The exception is
 * a birth change, which leaves copy 0 alone until its batch is committed, so
 * that an aborted one can fall back: until then the new payload is only in the
 * mirror, under BIRTH_B. A committed BIRTH_B therefore wins, and copy 0 may be
 * torn at that moment without being damaged.
 */
#include <string.h>

#include "brickd/store/recovery/copies.h"
#include "brickd/store/store_impl.h"

enum sense {
	USABLE,
	SILENT, /* intact but says nothing: an aborted birth change */
	DAMAGED,
};

struct view {
	enum sense sense;
	enum brick_state state; /* settled */
	bool batch; /* the word has to be rewritten */
	bool birth; /* a committed birth change */
	struct brick_payload payload;
};

/* What a state means once its batch's fate is known; false: damage. */
static bool resolve_state(struct brick_word w, uint32_t c, struct view *v)
{
	bool committed = w.tx == c;

	v->sense = USABLE;
	v->state = w.state;
	v->batch = brick_state_is_batch(w.state);
	v->birth = false;
	if (!v->batch)
		return true;
	if (!committed && w.tx != BRICK_TX_NEXT(c))
		return false;
	switch (w.state) {
	case BRICK_ALLOC_B:
		v->state = committed ? BRICK_ALLOC : BRICK_DIRTY;
		return true;
	case BRICK_DIRTY_B:
		v->state = committed ? BRICK_DIRTY : BRICK_ALLOC;
		return true;
	default:
		v->state = BRICK_ALLOC;
		v->birth = committed;
		if (!committed)
			v->sense = SILENT;
		return true;
	}
}

static void read_copy(const struct brick_media *m, const struct brick_super *sb,
		      uint32_t tx, unsigned int copy, uint64_t slot,
		      struct view *v)
{
	struct brick_word w;

	memset(v, 0, sizeof(*v));
	v->sense = DAMAGED;
	if (!brick_record_get_word(m, sb, copy, slot, &w))
		return;
	if ((w.state == BRICK_BIRTH_B && copy == 0) ||
	    !resolve_state(w, tx, v)) {
		v->sense = DAMAGED;
		return;
	}
	if (v->sense == USABLE && v->state == BRICK_ALLOC &&
	    (!brick_record_get_payload(m, sb, copy, slot, &v->payload) ||
	     v->payload.id % KFB_BLOCK_BYTES))
		v->sense = DAMAGED;
}

void brick_copies_validate(const struct brick_media *m,
			   const struct brick_super *sb, uint32_t tx,
			   uint64_t slot, struct brick_verdict *v)
{
	struct view view[BRICK_FMT_COPIES];
	const struct view *winner;

	read_copy(m, sb, tx, 0, slot, &view[0]);
	/* The usual case, and the one that a start's time depends on. */
	if (view[0].sense == USABLE && !view[0].batch &&
	    !memcmp(m->base + brick_super_rec(sb, 0, slot),
		    m->base + brick_super_rec(sb, 1, slot),
		    sizeof(struct brick_fmt_record))) {
		v->state = view[0].state;
		v->payload = view[0].payload;
		v->damaged = 0;
		v->settled = true;
		return;
	}
	read_copy(m, sb, tx, 1, slot, &view[1]);
	if (view[1].sense == USABLE && view[1].birth &&
	    (view[0].state == BRICK_ALLOC || view[0].sense == DAMAGED)) {
		winner = &view[1];
		/* Its payload is being replaced: torn, not damaged. */
		if (view[0].sense == DAMAGED && view[0].state == BRICK_ALLOC)
			view[0].sense = SILENT;
	} else {
		winner = view[0].sense == USABLE ? &view[0] : &view[1];
	}
	v->damaged = (view[0].sense == DAMAGED ? 1U : 0) |
		     (view[1].sense == DAMAGED ? 2U : 0);
	v->settled = false;
	if (winner->sense != USABLE) {
		v->state = BRICK_BAD;
		return;
	}
	v->state = winner->state;
	v->payload = winner->payload;
	v->settled = !v->damaged && !view[0].batch && !view[1].batch &&
		     view[0].state == view[1].state &&
		     (v->state != BRICK_ALLOC ||
		      brick_payload_equal(&view[0].payload, &view[1].payload));
}
