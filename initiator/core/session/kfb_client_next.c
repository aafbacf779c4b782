// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is to be done next: closing comes before all else, then what is owed to
 * the caller, then what leads on.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "engine/kfb_engine_priv.h"
#include "session/kfb_client_priv.h"

/* A PING's answer is due after this part of a lease. */
#define SILENCE_DIV 4
/* Bytes that were moving may stand still for three of these parts: that long
 * TCP may wait until it sends a packet for the fourth time.
 */
#define STALL_DIV 8

/* The caller of kfb_client_next() is to do this with a queue. */
static _Bool kfb_next_do(struct kfb_client_action *out, enum kfb_client_do what,
			 __u32 queue)
{
	out->what = what;
	out->queue = queue;
	return 1;
}

static _Bool kfb_next_close_one(struct kfb_client *c,
				struct kfb_client_action *out)
{
	__u32 i;

	for (i = 0; i < c->config.n_queues; i++) {
		struct kfb_client_queue *q = &c->queues[i];

		if (!q->is_open || q->engine.state != KFB_CONN_CLOSING)
			continue;
		out->is_silent = q->is_silent;
		return kfb_next_do(out, KFB_DO_CLOSE, i);
	}
	return 0;
}

static _Bool kfb_next_tell_lost_of(struct kfb_client *c, __u32 queue,
				   struct kfb_engine *e,
				   struct kfb_client_action *out)
{
	while (kfb_engine_next_lost(e, &out->outcome)) {
		if (out->outcome.owner != c)
			return kfb_next_do(out, KFB_DO_OUTCOME, queue);
	}
	return 0;
}

/* A call of the caller's whose outcome nobody will ever tell. */
static _Bool kfb_next_tell_lost(struct kfb_client *c,
				struct kfb_client_action *out)
{
	__u32 i;

	if (kfb_next_tell_lost_of(c, 0, &c->kept, out))
		return 1;
	for (i = 0; i < c->config.n_queues; i++) {
		if (kfb_next_tell_lost_of(c, i, &c->queues[i].engine, out))
			return 1;
	}
	return 0;
}

static _Bool kfb_next_tell_fate(struct kfb_client *c,
				struct kfb_client_action *out)
{
	__u32 i;

	for (i = 0; i < c->config.n_queues; i++) {
		struct kfb_client_queue *q = &c->queues[i];

		if (!q->fate_due)
			continue;
		q->fate_due = 0;
		out->fate = q->fate;
		return kfb_next_do(out, KFB_DO_FATE, i);
	}
	return 0;
}

static _Bool kfb_next_connect_with(struct kfb_client *c, __u32 queue,
				   __u64 now_ms, int rc,
				   struct kfb_client_action *out)
{
	struct kfb_client_queue *q = &c->queues[queue];

	if (rc) {
		kfb_client_fail(c, rc);
		return 0;
	}
	q->is_open = 1;
	q->connect_until_ms = now_ms + c->config.timeout_ms;
	out->address = c->address;
	return kfb_next_do(out, KFB_DO_CONNECT, queue);
}

int kfb_client_own_call(const struct kfb_client_queue *q, const void *own,
			__u16 op)
{
	__u32 left = q->engine.n_waiting;
	int i = -1;

	while ((i = kfb_next_waiting(&q->engine, i + 1, &left)) >= 0) {
		const struct kfb_call *call = &q->engine.calls[i];

		if (call->owner == own && call->op == op)
			return i;
	}
	return -1;
}

static _Bool kfb_next_start_call(struct kfb_client *c, __u32 queue, __u16 op,
				 __u64 now_ms, struct kfb_client_action *out)
{
	struct kfb_request req;
	/* A PING has no deadline: kfb_next_silent_ms() ends the silence. */
	__u32 timeout_ms = op == KFB_OP_PING ? KFB_ENGINE_NO_TIMEOUT
					     : c->config.timeout_ms;
	struct kfb_client_queue *q = &c->queues[queue];

	memset(&req, 0, sizeof(req));
	req.op = op;
	if (kfb_engine_start(&q->engine, &req, now_ms, timeout_ms, c,
			     &out->message))
		return 0;
	q->is_marked = 0;
	return kfb_next_do(out, KFB_DO_SEND, queue);
}

/* Every engine forgets the old session, whose lost calls are told by now. */
static void kfb_next_forget_all(struct kfb_client *c)
{
	__u8 nonce[KFB_NONCE_BYTES];
	__u32 i;

	for (i = 0; i < c->config.n_queues; i++) {
		struct kfb_engine *e = &c->queues[i].engine;

		if (e->state != KFB_CONN_CLOSING &&
		    !(e->state == KFB_CONN_BACKOFF && e->slots.n))
			continue;
		c->config.random(c->config.random_ctx, nonce, sizeof(nonce));
		kfb_engine_again(e, nonce);
	}
}

/* Queue 0 takes its next step to a new session. */
static _Bool kfb_next_hello(struct kfb_client *c, __u64 now_ms,
			    struct kfb_client_action *out)
{
	struct kfb_client_queue *q = &c->queues[0];
	int rc;

	switch (q->engine.state) {
	case KFB_CONN_IDLE:
	case KFB_CONN_BACKOFF:
		if (now_ms < q->retry_at_ms)
			return 0;
		rc = kfb_engine_hello(&q->engine, &out->hello, &out->hello_len);
		return kfb_next_connect_with(c, 0, now_ms, rc, out);
	case KFB_CONN_AUTH:
		rc = kfb_engine_auth(&q->engine, now_ms, c->config.timeout_ms,
				     c, &out->message);
		if (rc == -EALREADY)
			return 0;
		if (!rc)
			return kfb_next_do(out, KFB_DO_SEND, 0);
		kfb_client_fail(c, rc);
		return 0;
	case KFB_CONN_READY:
		if (kfb_client_own_call(q, c, KFB_OP_INFO) >= 0)
			return 0;
		return kfb_next_start_call(c, 0, KFB_OP_INFO, now_ms, out);
	default:
		return 0;
	}
}

/*
 * Requests to connect may overtake each other, and a brick refuses a join whose
 * counter is not above those it has seen: one is under way at a time.
 */
static _Bool kfb_next_join(struct kfb_client *c, __u32 queue, __u64 now_ms,
			   struct kfb_client_action *out)
{
	struct kfb_join join = {
		.queue = (__u16)queue,
		.session_id = c->session_id,
		.instance_id = c->instance_id,
		.counter = c->join_counter + 1,
		.key = c->session_key,
	};
	int rc = -EOVERFLOW;

	if (now_ms < c->queues[queue].retry_at_ms ||
	    kfb_client_has_queue(c, KFB_CONN_CONNECTING))
		return 0;
	if (join.counter) {
		c->join_counter = join.counter;
		rc = kfb_engine_join(&c->queues[queue].engine, &join,
				     &out->hello, &out->hello_len);
	}
	return kfb_next_connect_with(c, queue, now_ms, rc, out);
}

static _Bool kfb_next_queue(struct kfb_client *c, __u32 queue, __u64 now_ms,
			    struct kfb_client_action *out)
{
	struct kfb_client_queue *q = &c->queues[queue];
	struct kfb_engine *e = &q->engine;

	switch (e->state) {
	case KFB_CONN_CLOSING:
		kfb_engine_keep(e);
		return kfb_next_join(c, queue, now_ms, out);
	case KFB_CONN_IDLE:
	case KFB_CONN_BACKOFF:
		return kfb_next_join(c, queue, now_ms, out);
	case KFB_CONN_READY:
		if (kfb_engine_resend(e, now_ms, c->config.timeout_ms,
				      &out->message))
			return kfb_next_do(out, KFB_DO_SEND, queue);
		if (kfb_engine_wants_ping(e, now_ms))
			return kfb_next_start_call(c, queue, KFB_OP_PING,
						   now_ms, out);
		return 0;
	default:
		return 0;
	}
}

/* A part of a lease as a time, which is never longer than what is configured. */
static __u32 kfb_next_timeout_ms(const struct kfb_client *c, __u32 ms)
{
	return ms && ms < c->config.timeout_ms ? ms : c->config.timeout_ms;
}

/*
 * When a queue that has not answered a PING counts as lost: not while bytes move,
 * for the answer may be behind much that is on its way.
 */
static __u64 kfb_next_silent_ms(const struct kfb_client *c,
				const struct kfb_client_queue *q)
{
	int i = kfb_client_own_call(q, c, KFB_OP_PING);
	__u32 lease_ms = q->engine.lease_ms;
	__u64 asked_ms, heard_ms;

	if (i < 0 || q->engine.state != KFB_CONN_READY ||
	    q->engine.calls[i].resend)
		return KFB_TIME_NEVER;
	asked_ms = q->engine.calls[i].sent_ms +
		   kfb_next_timeout_ms(c, lease_ms / SILENCE_DIV);
	heard_ms =
		q->heard_ms + kfb_next_timeout_ms(c, lease_ms / STALL_DIV * 3);
	return heard_ms > asked_ms ? heard_ms : asked_ms;
}

/* Nobody else knows of the silence: the CLOSE that follows says why. */
static void kfb_next_give_up(struct kfb_client *c, __u32 queue, __u64 now_ms)
{
	c->queues[queue].is_silent = 1;
	kfb_client_lost(c, queue, now_ms, -ETIMEDOUT);
}

/*
 * A queue is given up that connects, is silent, or owes the client an answer for
 * too long. True: a request of the caller's has had no answer in time.
 */
static _Bool kfb_next_expire(struct kfb_client *c, __u32 queue, __u64 now_ms,
			     struct kfb_client_action *out)
{
	struct kfb_client_queue *q = &c->queues[queue];

	if (q->engine.state == KFB_CONN_CONNECTING &&
	    now_ms >= q->connect_until_ms)
		kfb_next_give_up(c, queue, now_ms);
	if (now_ms >= kfb_next_silent_ms(c, q))
		kfb_next_give_up(c, queue, now_ms);
	while (kfb_engine_expire(&q->engine, now_ms, &out->outcome)) {
		if (out->outcome.owner != c)
			return kfb_next_do(out, KFB_DO_OUTCOME, queue);
		kfb_next_give_up(c, queue, now_ms);
	}
	return 0;
}

/* LIVE is complete: every queue that the brick has for us is there. */
static void kfb_next_settle_live(struct kfb_client *c)
{
	__u32 i;

	if (c->state == KFB_CLIENT_MAPPING && c->is_mapped) {
		for (i = 0; i < c->n_offered; i++) {
			if (c->queues[i].engine.state != KFB_CONN_READY)
				return;
		}
		c->n_used = c->n_offered;
		c->is_first = 0;
		c->is_replaced = 0;
		kfb_client_move(c, KFB_CLIENT_LIVE);
	}
	for (i = 0; c->state == KFB_CLIENT_LIVE && i < c->n_used; i++) {
		if (c->queues[i].engine.state != KFB_CONN_READY)
			continue;
		c->queues[i].is_connecting = 0;
		kfb_retry_succeeded(&c->queues[i].retry);
	}
}

static _Bool kfb_next_session(struct kfb_client *c, __u64 now_ms,
			      struct kfb_client_action *out)
{
	__u32 i;
	int rc;

	if (kfb_next_tell_fate(c, out))
		return 1;
	if (c->state == KFB_CLIENT_MAPPING && c->map_due) {
		c->map_due = 0;
		return kfb_next_do(out, KFB_DO_MAP, 0);
	}
	/* Is the session gone? What it has waits for the answer. */
	if (c->is_doubted || c->is_asking) {
		rc = c->is_doubted ? kfb_client_begin_asking(c) : 0;
		if (!rc)
			return kfb_next_hello(c, now_ms, out);
		kfb_client_fail(c, rc);
		return 0;
	}
	for (i = 0; i < c->n_offered; i++) {
		if (kfb_next_queue(c, i, now_ms, out))
			return 1;
	}
	kfb_next_settle_live(c);
	return 0;
}

_Bool kfb_client_next(struct kfb_client *c, __u64 now_ms,
		      struct kfb_client_action *out)
{
	__u32 i;

	memset(out, 0, sizeof(*out));
	if (c->state == KFB_CLIENT_IDLE)
		return 0;
	for (i = 0; i < c->config.n_queues; i++) {
		if (kfb_next_expire(c, i, now_ms, out))
			return 1;
	}
	for (i = 0; i < c->n_offered; i++) {
		if (c->queues[i].is_connecting &&
		    now_ms >= c->queues[i].give_up_ms)
			kfb_client_fail(c, c->error ? c->error : -ETIMEDOUT);
	}
	if (kfb_next_close_one(c, out))
		return 1;
	switch (c->state) {
	case KFB_CLIENT_FAILED:
	case KFB_CLIENT_CLOSED:
		return kfb_next_tell_lost(c, out);
	case KFB_CLIENT_OPENING:
		if (kfb_next_tell_lost(c, out))
			return 1;
		kfb_next_forget_all(c);
		return kfb_next_hello(c, now_ms, out);
	default:
		return kfb_next_session(c, now_ms, out);
	}
}

__u64 kfb_client_next_ms(const struct kfb_client *c)
{
	__u64 next_ms = KFB_TIME_NEVER;
	_Bool joining = kfb_client_has_queue(c, KFB_CONN_CONNECTING);
	__u32 i;

	if (c->state == KFB_CLIENT_FAILED || c->state == KFB_CLIENT_CLOSED)
		return next_ms;
	for (i = 0; i < c->n_offered; i++) {
		const struct kfb_client_queue *q = &c->queues[i];
		__u64 at_ms = kfb_engine_next_ms(&q->engine);

		if (kfb_next_silent_ms(c, q) < at_ms)
			at_ms = kfb_next_silent_ms(c, q);
		if (q->engine.state == KFB_CONN_CONNECTING &&
		    q->connect_until_ms < at_ms)
			at_ms = q->connect_until_ms;
		if (q->engine.state == KFB_CONN_BACKOFF && !joining &&
		    (!i || (c->state != KFB_CLIENT_OPENING && !c->is_asking)) &&
		    q->retry_at_ms < at_ms)
			at_ms = q->retry_at_ms;
		if (q->is_connecting && q->give_up_ms < at_ms)
			at_ms = q->give_up_ms;
		if (at_ms < next_ms)
			next_ms = at_ms;
	}
	return next_ms;
}
