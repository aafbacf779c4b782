/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Credits, and the slots that make a request happen once.
 *
 * A queue has as many slots as credits. The client puts a request into a free
 * slot and gives it the slot's next sequence number; the brick keeps the last
 * reply of each slot. After a reconnect within one instance the client sends
 * again what is unanswered, with the same cookies, and the brick tells new
 * from known by the number. Sequence numbers begin at 1 and skip 0 when they
 * wrap. The last KFB_CREDITS_RESERVED credits and slots are for PING and
 * UNMAP, so that requests that wait cannot keep those from the brick.
 *
 * AUTH belongs to a connection, not to a session: it takes a credit and no
 * slot, its cookie is zero, and it is never recorded.
 *
 * Context: any; each struct is guarded by whoever owns the queue.
 */
#ifndef KFB_SLOT_H
#define KFB_SLOT_H

#include <linux/types.h>
#include "codec/kfb_codec.h"

/**
 * struct kfb_credits - requests that one side may still send on a queue
 * @limit: credits that ACCEPT has granted
 * @available: credits that are not in use
 */
struct kfb_credits {
	__u16 limit;
	__u16 available;
};

/**
 * kfb_credits_init - start with all credits
 * @credits: filled on success
 * @granted: from ACCEPT
 *
 * Context: any.
 * Return: 0, or -EINVAL outside KFB_CREDITS_MIN to KFB_CREDITS_MAX.
 */
int kfb_credits_init(struct kfb_credits *credits, __u16 granted);

/**
 * kfb_credits_take - use a credit for a request
 * @credits: the client's, or the brick's count of them
 * @op: KFB_OP_*; all but PING and UNMAP leave the reserve
 *
 * Context: any.
 * Return: 0, or -EAGAIN when there is none for this op. To the brick that
 * means: the client sent more than it may; end the connection.
 */
int kfb_credits_take(struct kfb_credits *credits, __u16 op);

/**
 * kfb_credits_give - credits come back
 * @credits: the client's, or the brick's count of them
 * @returned: the header's credits
 *
 * Context: any.
 * Return: 0, or -EPROTO for more than are in use, with nothing changed.
 */
int kfb_credits_give(struct kfb_credits *credits, __u16 returned);

struct kfb_slot {
	__u32 seq; /* of the last request, 0: none yet */
	__u8 busy; /* client: unanswered; brick: being executed */
};

/**
 * struct kfb_slots - the slots of one queue, on either side
 * @n: how many slots there are
 * @n_busy: how many slots are busy
 * @slot: the slots
 */
struct kfb_slots {
	__u16 n;
	__u16 n_busy;
	struct kfb_slot slot[KFB_CREDITS_MAX];
};

/**
 * kfb_slots_init - start with all slots free and unused
 * @slots: filled on success
 * @n: as many as credits were granted
 *
 * Context: any.
 * Return: 0, or -EINVAL outside KFB_CREDITS_MIN to KFB_CREDITS_MAX.
 */
int kfb_slots_init(struct kfb_slots *slots, __u16 n);

/**
 * kfb_slots_assign - client: a slot and a sequence number for a new request
 * @slots: the queue's
 * @op: KFB_OP_*; all but PING and UNMAP leave the reserve; AUTH gets the zero
 *	cookie and no slot
 * @cookie: for the request
 *
 * Context: any.
 * Return: 0, or -EAGAIN when no slot is free for this op.
 */
int kfb_slots_assign(struct kfb_slots *slots, __u16 op,
		     struct kfb_cookie *cookie);

/**
 * kfb_slots_answered - client: a reply has come, free the slot
 * @slots: the queue's
 * @op: of the reply
 * @cookie: of the reply
 *
 * Context: any.
 * Return: 0, or -EPROTO when nothing unanswered has this cookie: end the
 * connection.
 */
int kfb_slots_answered(struct kfb_slots *slots, __u16 op,
		       const struct kfb_cookie *cookie);

/**
 * enum kfb_cookie_class - brick: what a request's cookie says
 * @KFB_COOKIE_NEW: execute it
 * @KFB_COOKIE_RESEND: answered before: send the recorded reply, or compute it
 *	again where it is KFB_OP_RECOMPUTED
 * @KFB_COOKIE_RUNNING: still executing: one reply, on the newest connection
 * @KFB_COOKIE_STALE: older than the recorded one: answer KFB_ST_STALE
 * @KFB_COOKIE_MALFORMED: no client that keeps the rules sends it: end the
 *	connection
 */
enum kfb_cookie_class {
	KFB_COOKIE_NEW,
	KFB_COOKIE_RESEND,
	KFB_COOKIE_RUNNING,
	KFB_COOKIE_STALE,
	KFB_COOKIE_MALFORMED,
};

/**
 * kfb_slots_classify - brick: what is to be done with a request?
 * @slots: the queue's; unchanged
 * @op: KFB_OP_*; AUTH is always new
 * @cookie: of the request
 *
 * Context: any.
 * Return: the class.
 */
enum kfb_cookie_class kfb_slots_classify(const struct kfb_slots *slots,
					 __u16 op,
					 const struct kfb_cookie *cookie);

/**
 * kfb_slots_begin - brick: a new request begins to execute
 * @slots: the queue's
 * @op: KFB_OP_*; nothing is kept of AUTH
 * @cookie: of the request
 *
 * Context: any.
 * Return: 0, or -EINVAL when kfb_slots_classify() would not call it new.
 */
int kfb_slots_begin(struct kfb_slots *slots, __u16 op,
		    const struct kfb_cookie *cookie);

/**
 * kfb_slots_end - brick: a request has been executed, its reply is recorded
 * @slots: the queue's
 * @op: KFB_OP_*
 * @cookie: of the request
 *
 * Context: any.
 * Return: 0, or -EINVAL when that request is not executing.
 */
int kfb_slots_end(struct kfb_slots *slots, __u16 op,
		  const struct kfb_cookie *cookie);

#endif
