// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine's calls: slots, credits, deadlines, replies and EVENTs.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "engine/kfb_engine_priv.h"
#include "kfb_err.h"
#include "kfb_feature.h"
#include "codec/kfb_ops.h"

static __u16 kfb_engine_call_index(__u16 op, const struct kfb_cookie *cookie)
{
	return kfb_op_is(op, KFB_OP_OPENS) ? KFB_ENGINE_AUTH : cookie->slot;
}

static _Bool kfb_engine_waits_for(const struct kfb_engine *e, __u16 op)
{
	__u32 left = e->n_waiting;
	int i = -1;

	while ((i = kfb_next_waiting(e, i + 1, &left)) >= 0) {
		if (e->calls[i].op == op)
			return 1;
	}
	return 0;
}

/*
 * What a request leaves to others. The last credit is a PING's, since UNMAPs without an
 * answer would keep the silence from being noticed. One more than a brick asks for is a
 * FLUSH's, until there is one: what was written must become durable while requests that
 * need something of the brick wait for it. A slot stays its request's on the next
 * connection, too.
 */
static __u16 kfb_engine_reserve_of(const struct kfb_engine *e, __u16 op)
{
	if (op == KFB_OP_PING || kfb_op_is(op, KFB_OP_OPENS))
		return 0;
	if (kfb_op_is(op, KFB_OP_URGENT))
		return 1;
	if (op == KFB_OP_FLUSH || kfb_engine_waits_for(e, KFB_OP_FLUSH))
		return KFB_CREDITS_RESERVED;
	return KFB_CREDITS_RESERVED + 1;
}

/* A request gets its credit and its slot together, or neither. */
static int kfb_engine_take_slot(struct kfb_engine *e, __u16 op,
				struct kfb_cookie *cookie)
{
	int rc;

	if (e->credits.available <= kfb_engine_reserve_of(e, op))
		return -EAGAIN;
	rc = kfb_credits_take(&e->credits, op);
	if (rc)
		return rc;
	rc = kfb_slots_assign(&e->slots, op, cookie);
	if (rc)
		kfb_credits_give(&e->credits, 1);
	return rc;
}

int kfb_engine_send(struct kfb_engine *e, struct kfb_request *req, __u64 now_ms,
		    __u32 timeout_ms, void *owner, struct kfb_message *out)
{
	struct kfb_call *call;
	__u16 tx = 0;
	__u8 *data;
	int rc;

	while (tx < KFB_ENGINE_TX_MAX && e->tx_busy[tx])
		tx++;
	if (tx == KFB_ENGINE_TX_MAX)
		return -EAGAIN;
	data = e->tx + (__u32)tx * KFB_REQ_MAX_BYTES;
	/* Encoding with any cookie first shows that the body can be encoded. */
	memset(&req->cookie, 0, sizeof(req->cookie));
	req->credits = (__u16)e->event_credits;
	rc = kfb_encode_request(req, data, KFB_REQ_MAX_BYTES);
	if (rc < 0)
		return rc;
	rc = kfb_engine_take_slot(e, req->op, &req->cookie);
	if (rc)
		return rc;
	rc = kfb_encode_request(req, data, KFB_REQ_MAX_BYTES);
	if (rc < 0)
		return rc;

	e->event_credits = 0;
	e->tx_busy[tx] = KFB_TX_SENDING | KFB_TX_CALL;
	out->tx = tx;
	out->slot = kfb_engine_call_index(req->op, &req->cookie);
	out->len = (__u32)rc;
	out->data = data;
	call = &e->calls[out->slot];
	call->owner = owner;
	call->op = req->op;
	call->tx = tx;
	call->len = (__u32)rc;
	call->sent_ms = now_ms;
	call->deadline_ms = timeout_ms == KFB_ENGINE_NO_TIMEOUT
				    ? KFB_TIME_NEVER
				    : now_ms + timeout_ms;
	kfb_call_set_waiting(e, call, 1);
	call->abandoned = 0;
	call->resend = 0;
	return 0;
}

static _Bool kfb_engine_resends(const struct kfb_engine *e)
{
	__u32 left = e->n_waiting;
	int i = -1;

	while ((i = kfb_next_waiting(e, i + 1, &left)) >= 0) {
		if (e->calls[i].resend)
			return 1;
	}
	return 0;
}

int kfb_engine_start(struct kfb_engine *e, const struct kfb_request *req,
		     __u64 now_ms, __u32 timeout_ms, void *owner,
		     struct kfb_message *out)
{
	struct kfb_request copy = *req;
	__u32 acknowledged;
	int rc;

	if (e->state != KFB_CONN_READY)
		return -ENOTCONN;
	if (kfb_op_is(req->op, KFB_OP_OPENS))
		return -EINVAL;
	/* What is to be sent again has its credits, and goes before. */
	if (kfb_engine_resends(e))
		return -EAGAIN;
	if (e->event_seen != e->event_acked)
		kfb_request_acknowledge(&copy, e->event_seen);
	rc = kfb_engine_send(e, &copy, now_ms, timeout_ms, owner, out);
	if (rc)
		return rc;
	acknowledged = kfb_request_event_seq(&copy);
	if (acknowledged && acknowledged == e->event_seen) {
		e->event_acked = acknowledged;
		e->events_unacked = 0;
	}
	return 0;
}

_Bool kfb_engine_is_given_up(const struct kfb_engine *e, __u16 slot)
{
	return e->calls[slot].waiting && e->calls[slot].abandoned;
}

void kfb_engine_wait_again(struct kfb_engine *e, __u16 slot, __u64 until_ms,
			   void *owner)
{
	e->calls[slot].abandoned = 0;
	e->calls[slot].deadline_ms = until_ms;
	e->calls[slot].owner = owner;
}

void kfb_engine_sent(struct kfb_engine *e, __u16 tx)
{
	if (tx < KFB_ENGINE_TX_MAX)
		e->tx_busy[tx] &= (__u8)~KFB_TX_SENDING;
}

/* Where the next EVENT is kept; level-triggered: the oldest one comes again. */
static struct kfb_event *kfb_engine_event_place(struct kfb_engine *e,
						__u32 kind)
{
	__u32 i;

	/* Of rates the newest one is all there is to know. */
	for (i = 0; kind == KFB_EVENT_RATE && i < e->n_events; i++)
		if (e->events[i].kind == kind)
			return &e->events[i];
	if (e->n_events == KFB_ENGINE_EVENTS_MAX) {
		memmove(&e->events[0], &e->events[1],
			(KFB_ENGINE_EVENTS_MAX - 1) * sizeof(e->events[0]));
		e->n_events--;
	}
	return &e->events[e->n_events++];
}

static int kfb_engine_receive_event(struct kfb_engine *e,
				    const struct kfb_reply *reply,
				    struct kfb_outcome *out)
{
	const struct kfb_event *event = &reply->u.event;
	_Bool is_evicted = event->kind == KFB_EVENT_EVICTED;

	if (e->state != KFB_CONN_READY ||
	    kfb_event_needs(event->kind) & ~e->accept.features)
		return kfb_engine_fail(e, -EPROTO);
	/* Numbers rise; more than this unacknowledged is a brick gone wild. */
	if ((__s32)(event->event_seq - e->event_seen) <= 0 ||
	    e->events_unacked == KFB_EVENTS_UNACKED_MAX)
		return kfb_engine_fail(e, -EPROTO);
	if (!is_evicted)
		*kfb_engine_event_place(e, event->kind) = *event;
	e->event_seen = event->event_seq;
	e->events_unacked++;
	e->event_credits++;
	out->kind = KFB_OUTCOME_EVENT;
	return 0;
}

static int kfb_engine_receive_reply(struct kfb_engine *e,
				    const struct kfb_reply *reply,
				    struct kfb_outcome *out)
{
	struct kfb_call *call;
	int rc;

	/* Nobody has asked for it. */
	if (reply->op == KFB_OP_INFO && !reply->status &&
	    kfb_info_needs(reply->u.info.flags) & ~e->accept.features)
		return kfb_engine_fail(e, -EPROTO);
	if (kfb_slots_answered(&e->slots, reply->op, &reply->cookie))
		return kfb_engine_fail(e, -EPROTO);
	out->slot = kfb_engine_call_index(reply->op, &reply->cookie);
	call = &e->calls[out->slot];
	if (!call->waiting || call->op != reply->op ||
	    kfb_credits_give(&e->credits, reply->credits))
		return kfb_engine_fail(e, -EPROTO);
	kfb_call_set_waiting(e, call, 0);
	e->tx_busy[call->tx] &= (__u8)~KFB_TX_CALL;
	out->kind = call->abandoned ? KFB_OUTCOME_LATE : KFB_OUTCOME_REPLY;
	out->op = reply->op;
	out->status = reply->status;
	out->error = kfb_status_to_errno(reply->status);
	out->owner = call->owner;
	if (reply->op == KFB_OP_AUTH) {
		rc = out->error ? out->error : kfb_engine_proven(e, reply);
		if (rc)
			return kfb_engine_fail(e, rc);
		out->kind = KFB_OUTCOME_READY;
	}
	/* What is answered has renewed the lease when it was sent. */
	if (reply->op == KFB_OP_INFO && !reply->status)
		e->lease_ms = reply->u.info.lease_ms;
	if (call->sent_ms > e->renewed_ms)
		e->renewed_ms = call->sent_ms;
	/* Before INFO nothing is known; a lease without end never ends. */
	if (e->lease_ms)
		kfb_lease_renewed(&e->lease, e->renewed_ms, e->lease_ms,
				  e->lease_ms / KFB_ENGINE_LEASE_MARGIN_DIV);
	return 0;
}

int kfb_engine_receive(struct kfb_engine *e, const void *data, __u32 len,
		       struct kfb_reply *reply, struct kfb_outcome *out)
{
	memset(out, 0, sizeof(*out));
	if (e->state != KFB_CONN_AUTH && e->state != KFB_CONN_READY)
		return kfb_engine_fail(e, -EPROTO);
	if (kfb_decode_reply(data, len, reply))
		return kfb_engine_fail(e, -EPROTO);
	if (reply->op == KFB_OP_EVENT)
		return kfb_engine_receive_event(e, reply, out);
	return kfb_engine_receive_reply(e, reply, out);
}

_Bool kfb_engine_take_event(struct kfb_engine *e, struct kfb_event *out)
{
	if (!e->n_events)
		return 0;
	*out = e->events[0];
	e->n_events--;
	memmove(&e->events[0], &e->events[1],
		e->n_events * sizeof(e->events[0]));
	return 1;
}

/*
 * A PING is due when half of the lease has passed since the newest request that was
 * answered was sent, or the newest PING: what else has no answer yet may have to wait
 * at the brick for long, and shows neither that the brick lives nor that it does not.
 */
static __u64 kfb_engine_renewal_ms(const struct kfb_engine *e)
{
	__u64 newest_ms = e->renewed_ms;
	__u32 left = e->n_waiting;
	int i = -1;

	while ((i = kfb_next_waiting(e, i + 1, &left)) >= 0) {
		if (e->calls[i].op == KFB_OP_PING &&
		    e->calls[i].sent_ms > newest_ms)
			newest_ms = e->calls[i].sent_ms;
	}
	return newest_ms + e->lease_ms / KFB_ENGINE_LEASE_RENEW_DIV;
}

_Bool kfb_engine_wants_ping(const struct kfb_engine *e, __u64 now_ms)
{
	if (e->state != KFB_CONN_READY || !e->credits.available)
		return 0;
	if (e->event_acked != e->event_seen)
		return 1;
	return e->lease_ms && now_ms >= kfb_engine_renewal_ms(e);
}

__u64 kfb_engine_next_ms(const struct kfb_engine *e)
{
	__u64 next_ms = KFB_TIME_NEVER;
	__u32 left = e->n_waiting;
	int i = -1;

	if (e->state != KFB_CONN_READY && e->state != KFB_CONN_AUTH)
		return next_ms;
	if (e->lease_ms && e->credits.available)
		next_ms = kfb_engine_renewal_ms(e);
	while ((i = kfb_next_waiting(e, i + 1, &left)) >= 0) {
		const struct kfb_call *call = &e->calls[i];

		if (!call->abandoned && !call->resend &&
		    call->deadline_ms < next_ms)
			next_ms = call->deadline_ms;
	}
	return next_ms;
}

_Bool kfb_engine_expire(struct kfb_engine *e, __u64 now_ms,
			struct kfb_outcome *out)
{
	__u32 left = e->n_waiting;
	int i = -1;

	/* While there is no connection a call keeps its time. */
	if (e->state != KFB_CONN_READY && e->state != KFB_CONN_AUTH)
		return 0;
	while ((i = kfb_next_waiting(e, i + 1, &left)) >= 0) {
		struct kfb_call *call = &e->calls[i];

		/* The time does not run before the call is sent again. */
		if (call->abandoned || call->resend ||
		    now_ms < call->deadline_ms)
			continue;
		call->abandoned = 1;
		out->kind = KFB_OUTCOME_TIMEOUT;
		out->slot = (__u16)i;
		out->op = call->op;
		out->error = -ETIMEDOUT;
		out->status = 0;
		out->owner = call->owner;
		return 1;
	}
	return 0;
}
