// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests that somebody waits for, and those that nobody waits for any more.
 *
 * A request waits in its place until the session can take it, goes out on queue 0,
 * and is answered, lost with its session, or given up after a time. Who has given
 * a MAP up wants no mapping: when it is granted after all it is given back. A
 * further page of a MAP says nothing new: whoever asked for it has the mapping,
 * or gives it back.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_initiator_priv.h"
#include "session/kfb_refusal.h"

int kfb_initiator_start(struct kfb_initiator_queue *q,
			const struct kfb_request *req, void *owner, __u16 *slot)
{
	struct kfb_initiator *i = q->initiator;
	__u32 timeout_ms = i->timeout_ms;
	__u64 now_ms = i->ops->now_ms(i);
	struct kfb_message message;
	int rc;

	rc = kfb_engine_start(kfb_initiator_engine(q), req, now_ms, timeout_ms,
			      owner, &message);
	if (rc)
		return rc;
	q->makes_mapping[message.slot] =
		req->op == KFB_OP_MAP && !req->u.map.mapping_id;
	if (!q->index)
		memset(&i->unmaps[message.slot], 0,
		       sizeof(i->unmaps[message.slot]));
	if (req->op == KFB_OP_UNMAP)
		i->unmaps[message.slot] = req->u.unmap;
	*slot = message.slot;
	kfb_initiator_send(q, &message);
	if (i->ops->wake_at)
		i->ops->wake_at(i, now_ms + timeout_ms);
	return 0;
}

/* The call is in no ring and no engine. */
static void kfb_initiator_call_finish(struct kfb_initiator *i,
				      struct kfb_initiator_call *call,
				      const struct kfb_outcome *outcome)
{
	call->outcome = *outcome;
	call->is_done = 1;
	i->ops->call_done(i, call);
}

/* The call is in the ring, and will not be sent. */
static void kfb_initiator_call_end(struct kfb_initiator *i,
				   struct kfb_initiator_call *call,
				   enum kfb_outcome_kind kind, int error)
{
	struct kfb_outcome outcome;

	memset(&outcome, 0, sizeof(outcome));
	outcome.kind = kind;
	outcome.op = call->req.op;
	outcome.error = error;
	kfb_ring_del(&call->node);
	kfb_initiator_call_finish(i, call, &outcome);
}

/* ---- what comes late ---------------------------------------------------- */

void kfb_initiator_unmap_late(struct kfb_initiator *i, __u64 mapping_id)
{
	if (i->n_late == KFB_INITIATOR_LATE_MAX) {
		i->ops->say(i, KFB_SAY_LOG,
			    "a mapping stays: too many came late", NULL, 0);
		return;
	}
	i->late[i->n_late].mapping_id = mapping_id;
	i->late[i->n_late++].is_sent = 0;
	kfb_initiator_pump_calls(i);
}

/* The slot of an UNMAP that nobody waits for any more, or -1. */
static int kfb_initiator_unmap_slot(const struct kfb_initiator *i,
				    const struct kfb_unmap *unmap)
{
	const struct kfb_engine *e = kfb_initiator_engine(i->queues[0]);
	__u16 n;

	for (n = 0; n < KFB_ENGINE_AUTH; n++) {
		const struct kfb_unmap *u = &i->unmaps[n];

		if (u->mapping_id == unmap->mapping_id &&
		    u->range.va == unmap->range.va &&
		    u->range.n_blocks == unmap->range.n_blocks &&
		    kfb_engine_is_given_up(e, n))
			return n;
	}
	return -1;
}

static __u32 kfb_initiator_find_late(const struct kfb_initiator *i,
				     const struct kfb_unmap *unmap)
{
	__u32 n = 0;

	while (n < i->n_late && (i->late[n].mapping_id != unmap->mapping_id ||
				 unmap->range.n_blocks))
		n++;
	return n;
}

/* In time or late: until then the brick has the UNMAP, which needs no other. */
static void kfb_initiator_unmap_answered(struct kfb_initiator *i,
					 const struct kfb_outcome *outcome)
{
	const struct kfb_unmap *unmap = &i->unmaps[outcome->slot];
	__u32 n = kfb_initiator_find_late(i, unmap);

	if (n == i->n_late || outcome->kind == KFB_OUTCOME_TIMEOUT)
		return;
	i->late[n] = i->late[--i->n_late];
	if (!kfb_refusal_may_pass(KFB_OP_UNMAP, outcome->error,
				  KFB_PATIENCE_CALLER))
		return;
	/* The brick has it still, and may have more to do for it than for others. */
	i->late[i->n_late].mapping_id = unmap->mapping_id;
	i->late[i->n_late++].is_sent = 0;
	i->late_at_ms = i->ops->now_ms(i) + KFB_INITIATOR_LATE_MS;
}

/* Nobody waits for the answers: who maps such blocks again finds them BUSY. */
static void kfb_initiator_pump_late(struct kfb_initiator *i)
{
	struct kfb_request req;
	__u16 slot;
	__u32 n;

	/* With its session a mapping is gone. */
	if (i->is_over || i->session_id != i->client.session_id)
		i->n_late = 0;
	if (i->n_late && i->ops->now_ms(i) < i->late_at_ms)
		return;
	i->late_at_ms = 0;
	for (n = 0; n < i->n_late && kfb_client_can_call(&i->client, 0); n++) {
		if (i->late[n].is_sent)
			continue;
		memset(&req, 0, sizeof(req));
		req.op = KFB_OP_UNMAP;
		req.u.unmap.mapping_id = i->late[n].mapping_id;
		if (kfb_initiator_unmap_slot(i, &req.u.unmap) < 0 &&
		    kfb_initiator_start(i->queues[0], &req, NULL, &slot))
			return;
		i->late[n].is_sent = 1;
	}
}

void kfb_initiator_answered(struct kfb_initiator_queue *q,
			    const struct kfb_outcome *outcome)
{
	struct kfb_initiator *i = q->initiator;
	struct kfb_initiator_call *call = outcome->owner;

	if (outcome->op == KFB_OP_FLUSH) {
		kfb_initiator_flush_answered(q, outcome);
		return;
	}
	if (outcome->op == KFB_OP_UNMAP &&
	    (!call || outcome->kind == KFB_OUTCOME_LATE)) {
		kfb_initiator_unmap_answered(i, outcome);
		return;
	}
	if (outcome->kind == KFB_OUTCOME_LATE) {
		if (q->makes_mapping[outcome->slot] && !outcome->error)
			kfb_initiator_unmap_late(i, i->reply.u.map.mapping_id);
		return;
	}
	if (!call)
		return;
	if (outcome->kind == KFB_OUTCOME_REPLY && call->reply)
		*call->reply = i->reply;
	kfb_initiator_call_finish(i, call, outcome);
}

/* ---- what waits to be sent ----------------------------------------------- */

/*
 * Who asks for the same UNMAP again waits for the answer to the first: each would keep a
 * slot until it is answered, and the brick would have that many of them to do.
 */
static _Bool kfb_initiator_call_joins(struct kfb_initiator *i,
				      struct kfb_initiator_call *call)
{
	const struct kfb_unmap *unmap = &call->req.u.unmap;
	__u64 until_ms = i->ops->now_ms(i) + i->timeout_ms;
	__u32 n;
	int slot;

	if (call->req.op != KFB_OP_UNMAP)
		return 0;
	slot = kfb_initiator_unmap_slot(i, unmap);
	if (slot < 0)
		return 0;
	kfb_engine_wait_again(kfb_initiator_engine(i->queues[0]), (__u16)slot,
			      until_ms, call);
	n = kfb_initiator_find_late(i, unmap);
	if (n < i->n_late)
		i->late[n] = i->late[--i->n_late];
	if (i->ops->wake_at)
		i->ops->wake_at(i, until_ms);
	return 1;
}

/* Return 0, or -EAGAIN when no further call can be sent now. */
static int kfb_initiator_call_send(struct kfb_initiator *i,
				   struct kfb_initiator_call *call)
{
	__u16 slot;
	int rc = 0;

	if (!kfb_initiator_call_joins(i, call))
		rc = kfb_initiator_start(i->queues[0], &call->req, call, &slot);
	if (rc == -EAGAIN || rc == -ENOTCONN)
		return -EAGAIN;
	if (rc) {
		kfb_initiator_call_end(i, call, KFB_OUTCOME_LOST, -ECONNRESET);
		return 0;
	}
	kfb_ring_del(&call->node);
	call->session_id = i->client.session_id;
	return 0;
}

/* The session has no room for a call: the brick leaves requests unanswered. */
static void kfb_initiator_call_waits(struct kfb_initiator *i,
				     struct kfb_initiator_call *call)
{
	__u64 now_ms = i->ops->now_ms(i);

	if (!call->until_ms) {
		call->until_ms = now_ms + i->timeout_ms;
		if (i->ops->wake_at)
			i->ops->wake_at(i, call->until_ms);
	} else if (now_ms >= call->until_ms) {
		kfb_initiator_call_end(i, call, KFB_OUTCOME_TIMEOUT,
				       -ETIMEDOUT);
	}
}

void kfb_initiator_pump_calls(struct kfb_initiator *i)
{
	struct kfb_initiator_call *call, *after;
	_Bool is_full = 0;

	kfb_initiator_pump_late(i);
	kfb_ring_for_each(call, after, &i->calls, node) {
		if (i->is_over || (call->in_session &&
				   call->in_session != i->client.session_id)) {
			kfb_initiator_call_end(i, call, KFB_OUTCOME_LOST,
					       -ECONNRESET);
		} else if (!kfb_client_can_call(&i->client, 0) ||
			   (!call->in_mapping &&
			    kfb_client_state(&i->client) != KFB_CLIENT_LIVE)) {
			/* For as long as it takes to come back. */
			call->until_ms = 0;
		} else if (is_full || kfb_initiator_call_send(i, call)) {
			is_full = 1;
			kfb_initiator_call_waits(i, call);
		}
	}
}

__u64 kfb_initiator_next_ms(const struct kfb_initiator *i)
{
	__u64 at_ms = kfb_client_next_ms(&i->client);
	const struct kfb_initiator_call *call, *after;
	__u32 n;

	/* 0 where they wait for a credit: that comes with an answer. */
	if (i->late_at_ms && i->late_at_ms < at_ms)
		at_ms = i->late_at_ms;
	if (i->flush_again_ms && i->flush_again_ms < at_ms)
		at_ms = i->flush_again_ms;
	kfb_ring_for_each(call, after, &i->calls, node) {
		if (call->until_ms && call->until_ms < at_ms)
			at_ms = call->until_ms;
	}
	for (n = 0; n < i->client.config.n_queues; n++) {
		__u64 until_ms = i->queues[n]->flush_until_ms;

		if (until_ms && until_ms < at_ms)
			at_ms = until_ms;
	}
	return at_ms;
}

void kfb_initiator_call(struct kfb_initiator *i,
			struct kfb_initiator_call *call)
{
	call->is_done = 0;
	call->session_id = 0;
	call->until_ms = 0;
	kfb_ring_add_last(&i->calls, &call->node);
	kfb_initiator_pump_calls(i);
}

_Bool kfb_initiator_leave(struct kfb_initiator *i,
			  struct kfb_initiator_call *end)
{
	/* What comes after it is the end, and no loss to come back from. */
	i->client.config.reconnect_ms = 0;
	if (i->timeout_ms > KFB_INITIATOR_LEAVE_MS)
		i->timeout_ms = KFB_INITIATOR_LEAVE_MS;
	if (!kfb_client_can_call(&i->client, 0))
		return 0;
	memset(end, 0, sizeof(*end));
	end->req.op = KFB_OP_PING;
	end->req.u.ping.flags = KFB_PING_END;
	end->in_mapping = 1;
	/* What waits for a credit before it would wait for its own end. */
	kfb_ring_add_first(&i->calls, &end->node);
	kfb_initiator_pump_calls(i);
	return 1;
}
