/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the engine's files share.
 */
#ifndef KFB_ENGINE_PRIV_H
#define KFB_ENGINE_PRIV_H

#include "engine/kfb_engine.h"

/* A call begins to wait for its answer, or does so no more. */
static inline void kfb_call_set_waiting(struct kfb_engine *e,
					struct kfb_call *call, _Bool waiting)
{
	e->n_waiting += waiting - call->waiting;
	call->waiting = waiting;
}

/*
 * The first call that waits, from @i on, or -1 when @left, which begins with
 * n_waiting, says that there is none. Slots are given out lowest first, so that
 * few steps see all.
 */
static inline int kfb_next_waiting(const struct kfb_engine *e, int i,
				   __u32 *left)
{
	if (!*left)
		return -1;
	(*left)--;
	for (; i < KFB_ENGINE_CALLS; i++) {
		if (e->calls[i].waiting)
			return i;
	}
	return -1;
}

/* A bad message or a bad proof: the connection is of no use any more. */
int kfb_engine_fail(struct kfb_engine *e, int error);

/*
 * Take a credit, a slot and a buffer and encode @req, filling its cookie and
 * credits. -EAGAIN when one of them is missing; nothing is taken on failure.
 */
int kfb_engine_send(struct kfb_engine *e, struct kfb_request *req, __u64 now_ms,
		    __u32 timeout_ms, void *owner, struct kfb_message *out);

/* What every HELLO of this engine says. */
void kfb_engine_fill_hello(const struct kfb_engine *e, struct kfb_hello *hello);

/* Is a join's ACCEPT from who has the session's key? 0, -EKEYREJECTED, ... */
int kfb_engine_joined(struct kfb_engine *e, const void *raw,
		      const struct kfb_accept *accept);

/* Start with what ACCEPT grants, less what unanswered calls hold; -EPROTO. */
int kfb_engine_take_credits(struct kfb_engine *e, __u16 granted);

/* AUTH's reply: check the brick's proof, become READY. */
int kfb_engine_proven(struct kfb_engine *e, const struct kfb_reply *reply);

#endif
