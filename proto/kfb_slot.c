// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts credits, hands out slots and classifies cookies.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "codec/kfb_ops.h"
#include "kfb_slot.h"

/* Half of all sequence numbers lie behind the last one. */
#define SEQ_BEHIND 0x80000000U

static _Bool kfb_slots_granted_ok(__u16 n)
{
	return n >= KFB_CREDITS_MIN && n <= KFB_CREDITS_MAX;
}

static __u16 kfb_credits_reserve_of(__u16 op)
{
	return kfb_op_is(op, KFB_OP_URGENT) ? 0 : KFB_CREDITS_RESERVED;
}

static __u32 kfb_slot_next_seq(__u32 seq)
{
	return seq + 1 ? seq + 1 : 1;
}

int kfb_credits_init(struct kfb_credits *credits, __u16 granted)
{
	if (!kfb_slots_granted_ok(granted))
		return -EINVAL;
	credits->limit = granted;
	credits->available = granted;
	return 0;
}

int kfb_credits_take(struct kfb_credits *credits, __u16 op)
{
	if (credits->available <= kfb_credits_reserve_of(op))
		return -EAGAIN;
	credits->available--;
	return 0;
}

int kfb_credits_give(struct kfb_credits *credits, __u16 returned)
{
	if (returned > credits->limit - credits->available)
		return -EPROTO;
	credits->available = (__u16)(credits->available + returned);
	return 0;
}

int kfb_slots_init(struct kfb_slots *slots, __u16 n)
{
	if (!kfb_slots_granted_ok(n))
		return -EINVAL;
	memset(slots, 0, sizeof(*slots));
	slots->n = n;
	return 0;
}

int kfb_slots_assign(struct kfb_slots *slots, __u16 op,
		     struct kfb_cookie *cookie)
{
	__u16 i;

	if (kfb_op_is(op, KFB_OP_OPENS)) {
		cookie->slot = 0;
		cookie->seq = 0;
		return 0;
	}
	if (slots->n - slots->n_busy <= kfb_credits_reserve_of(op))
		return -EAGAIN;
	for (i = 0; slots->slot[i].busy; i++)
		;
	slots->slot[i].busy = 1;
	slots->slot[i].seq = kfb_slot_next_seq(slots->slot[i].seq);
	slots->n_busy++;
	cookie->slot = i;
	cookie->seq = slots->slot[i].seq;
	return 0;
}

/* Frees a busy slot; returns 0, or -ENOENT when it is not busy with this. */
static int kfb_slot_release(struct kfb_slots *slots,
			    const struct kfb_cookie *cookie)
{
	struct kfb_slot *slot;

	if (cookie->slot >= slots->n)
		return -ENOENT;
	slot = &slots->slot[cookie->slot];
	if (!slot->busy || slot->seq != cookie->seq)
		return -ENOENT;
	slot->busy = 0;
	slots->n_busy--;
	return 0;
}

int kfb_slots_answered(struct kfb_slots *slots, __u16 op,
		       const struct kfb_cookie *cookie)
{
	if (kfb_op_is(op, KFB_OP_OPENS))
		return cookie->slot || cookie->seq ? -EPROTO : 0;
	return kfb_slot_release(slots, cookie) ? -EPROTO : 0;
}

enum kfb_cookie_class kfb_slots_classify(const struct kfb_slots *slots,
					 __u16 op,
					 const struct kfb_cookie *cookie)
{
	const struct kfb_slot *slot;

	if (kfb_op_is(op, KFB_OP_OPENS))
		return KFB_COOKIE_NEW;
	if (cookie->slot >= slots->n || cookie->seq == 0)
		return KFB_COOKIE_MALFORMED;
	slot = &slots->slot[cookie->slot];
	if (cookie->seq == slot->seq)
		return slot->busy ? KFB_COOKIE_RUNNING : KFB_COOKIE_RESEND;
	if (cookie->seq == kfb_slot_next_seq(slot->seq))
		return slot->busy ? KFB_COOKIE_MALFORMED : KFB_COOKIE_NEW;
	if (slot->seq != 0 && slot->seq - cookie->seq < SEQ_BEHIND)
		return KFB_COOKIE_STALE;
	return KFB_COOKIE_MALFORMED;
}

int kfb_slots_begin(struct kfb_slots *slots, __u16 op,
		    const struct kfb_cookie *cookie)
{
	if (kfb_slots_classify(slots, op, cookie) != KFB_COOKIE_NEW)
		return -EINVAL;
	if (kfb_op_is(op, KFB_OP_OPENS))
		return 0;
	slots->slot[cookie->slot].seq = cookie->seq;
	slots->slot[cookie->slot].busy = 1;
	slots->n_busy++;
	return 0;
}

int kfb_slots_end(struct kfb_slots *slots, __u16 op,
		  const struct kfb_cookie *cookie)
{
	if (kfb_op_is(op, KFB_OP_OPENS))
		return 0;
	return kfb_slot_release(slots, cookie) ? -EINVAL : 0;
}
