// SPDX-License-Identifier: BSD-2-Clause
/* EVENTs: sent while they hold, within the client's credits. */
#include "brickd/session/event.h"

#include <string.h>

#include "brickd/base/clock.h"
#include "brickd/base/stop.h"
#include "brickd/net/conn.h"
#include "brickd/session/recall.h"
#include "brickd/session/losses.h"
#include "brickd/session/usage.h"
#include "proto/kfb_feature.h"

static uint32_t deadline_ms(const struct brick_session *s, uint32_t kind)
{
	uint64_t now_ms = brick_now_ms(), left_ms;

	if (kind == KFB_EVENT_LEASE)
		left_ms =
			brick_lease_left_ms(&s->all->leases, &s->lease, now_ms);
	else if (kind == KFB_EVENT_SHUTDOWN &&
		 s->all->stop->deadline_ms > now_ms)
		left_ms = s->all->stop->deadline_ms - now_ms;
	else
		left_ms = 0;
	return left_ms < UINT32_MAX ? (uint32_t)left_ms : UINT32_MAX;
}

/* What it is about; false: it does not hold any more. */
static bool fill_event(const struct brick_session *s, uint32_t kind,
		       struct kfb_event *event)
{
	const struct brick_span *lost = &s->events.losses.now;

	event->deadline_ms = deadline_ms(s, kind);
	if (kind == KFB_EVENT_RECALL)
		return brick_recall_describe(s, event);
	if (kind == KFB_EVENT_MEDIA_ERROR) {
		event->va = lost->first << KFB_BLOCK_SHIFT;
		event->n_blocks = lost->end - lost->first;
	}
	if (kind == KFB_EVENT_RATE)
		event->rate = s->rate;
	if (kind == KFB_EVENT_EVICTED) {
		event->cause = s->events.eviction.cause;
		event->uid = s->events.eviction.uid;
	}
	return true;
}

static bool send_one(struct brick_session *s, uint32_t kind)
{
	struct kfb_reply event = { .op = KFB_OP_EVENT };
	struct brick_events *e = &s->events;
	struct brick_conn *c = s->queues[0]->conn;

	if (!c || c->state != KFB_CONN_READY || c->is_disconnecting ||
	    kfb_event_needs(kind) & ~c->features)
		return false;
	if (!c->event_credits || e->seq - e->acked >= KFB_EVENTS_UNACKED_MAX)
		return false;
	if (!fill_event(s, kind, &event.u.event)) {
		brick_event_drop(s, kind);
		return false;
	}
	c->event_credits--;
	e->seq = e->seq + 1 ? e->seq + 1 : 1;
	e->sent[kind] = e->seq;
	event.u.event.kind = kind;
	event.u.event.event_seq = e->seq;
	if (kind == KFB_EVENT_RATE) {
		e->is_rate_old = false;
		brick_usage_told(s);
	}
	if (kind == KFB_EVENT_EVICTED)
		brick_conn_disconnect(c);
	brick_conn_send(c, &event);
	return true;
}

static void send_all(struct brick_session *s)
{
	struct brick_events *e = &s->events;

	for (uint32_t kind = 1; kind <= KFB_EVENT_LAST; kind++)
		if (e->holds[kind] && !e->sent[kind])
			send_one(s, kind);
}

bool brick_event_raise(struct brick_session *s, uint32_t kind)
{
	struct brick_events *e = &s->events;

	e->holds[kind] = true;
	if (!e->sent[kind])
		send_one(s, kind);
	return e->sent[kind];
}

void brick_event_hold(struct brick_session *s, uint32_t kind)
{
	s->events.holds[kind] = true;
}

void brick_event_evicted(struct brick_session *s, uint32_t cause, uint32_t uid)
{
	s->events.eviction.cause = cause;
	s->events.eviction.uid = uid;
	brick_event_raise(s, KFB_EVENT_EVICTED);
}

void brick_event_rate(struct brick_session *s)
{
	struct brick_events *e = &s->events;

	/* One with other numbers is out: it is acknowledged first, as places are few. */
	e->is_rate_old = e->sent[KFB_EVENT_RATE];
	brick_event_raise(s, KFB_EVENT_RATE);
}

void brick_event_drop(struct brick_session *s, uint32_t kind)
{
	s->events.holds[kind] = false;
	s->events.sent[kind] = 0;
}

/* An acknowledgement is for all up to its number; others are of the past. */
static void drop_acknowledged(struct brick_session *s, uint32_t seq)
{
	struct brick_events *e = &s->events;

	if (!seq || seq - e->acked > e->seq - e->acked)
		return;
	e->acked = seq;
	for (uint32_t kind = 1; kind <= KFB_EVENT_LAST; kind++) {
		if (!e->sent[kind] || (int32_t)(e->sent[kind] - seq) > 0)
			continue;
		if (kind == KFB_EVENT_RECALL)
			continue; /* it is to do it */
		/* The client knows: it holds no more, or there is more of it. */
		if ((kind == KFB_EVENT_MEDIA_ERROR && brick_losses_next(s)) ||
		    (kind == KFB_EVENT_RATE && e->is_rate_old))
			e->sent[kind] = 0;
		else
			brick_event_drop(s, kind);
	}
}

void brick_events_noted(struct brick_session *s, const struct kfb_request *req)
{
	drop_acknowledged(s, kfb_request_event_seq(req));
	send_all(s);
}

void brick_events_again(struct brick_session *s)
{
	memset(s->events.sent, 0, sizeof(s->events.sent));
	s->events.acked = s->events.seq;
	send_all(s);
}
