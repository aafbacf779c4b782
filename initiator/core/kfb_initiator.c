// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Does what the client says is to be done, and tells it what has happened.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_err.h"
#include "kfb_evicted.h"
#include "kfb_initiator_priv.h"

static __u64 kfb_initiator_now(const struct kfb_initiator *i)
{
	return i->ops->now_ms(i);
}

static void kfb_initiator_why(struct kfb_initiator *i, const char *what,
			      const char *detail, int error)
{
	i->ops->say(i, KFB_SAY_WHY, what, detail, error);
}

int kfb_initiator_init(struct kfb_initiator *i,
		       const struct kfb_initiator_ops *ops,
		       const struct kfb_initiator_config *config, __u8 *tx)
{
	i->ops = ops;
	i->timeout_ms = config->client.timeout_ms;
	i->volatile_error = config->volatile_error;
	i->over_error = config->over_error;
	i->gives_flushes_up = config->gives_flushes_up;
	kfb_ring_init(&i->calls);
	kfb_ring_init(&i->flushes);
	return kfb_client_init(&i->client, &config->client, tx);
}

void kfb_initiator_add_queue(struct kfb_initiator *i,
			     struct kfb_initiator_queue *q, __u32 index)
{
	q->initiator = i;
	q->index = index;
	kfb_flush_init(&q->flush, KFB_FLUSH_POSTED_MAX);
	i->queues[index] = q;
}

/* ---- news of connections ---------------------------------------------- */

static int kfb_initiator_post_receives(struct kfb_initiator_queue *q, __u32 n)
{
	int rc;

	while (q->n_rx < n && q->n_rx < KFB_INITIATOR_RX_MAX) {
		rc = q->initiator->ops->receive(q, (__u16)q->n_rx);
		if (rc)
			return rc;
		q->n_rx++;
	}
	return 0;
}

int kfb_initiator_opened(struct kfb_initiator_queue *q)
{
	q->n_rx = 0;
	q->n_early = 0;
	q->n_unsent = 0;
	q->is_connecting = 1;
	kfb_initiator_lock(q);
	kfb_window_init(&q->window, q->initiator->client.info.lease_ms);
	kfb_initiator_unlock(q);
	return kfb_initiator_post_receives(q, KFB_INITIATOR_RX_FIRST);
}

_Bool kfb_initiator_is_lost(const struct kfb_initiator_queue *q)
{
	const struct kfb_client *c = &q->initiator->client;

	return !c->queues[q->index].is_open ||
	       kfb_engine_state(kfb_initiator_engine(q)) == KFB_CONN_CLOSING;
}

void kfb_initiator_lost(struct kfb_initiator_queue *q, int error,
			const char *what, const char *detail)
{
	struct kfb_initiator *i = q->initiator;

	/* The first reason is the reason. */
	if (kfb_initiator_is_lost(q))
		return;
	kfb_initiator_why(i, what, detail, error);
	kfb_client_lost(&i->client, q->index, kfb_initiator_now(i), error);
}

/*
 * Who waits for a connection and who waits for messages may be different threads:
 * what a brick says right behind its answer is kept until that has been looked at.
 */
static _Bool kfb_initiator_keep_early(struct kfb_initiator_queue *q,
				      __u16 index, const void *data, __u32 len)
{
	if (!q->is_connecting || q->n_early == KFB_INITIATOR_RX_FIRST)
		return 0;
	q->early[q->n_early].data = data;
	q->early[q->n_early].len = len;
	q->early[q->n_early++].index = index;
	return 1;
}

static void kfb_initiator_take_early(struct kfb_initiator_queue *q)
{
	__u32 n;

	for (n = 0; n < q->n_early; n++)
		kfb_initiator_received(q, q->early[n].index, q->early[n].data,
				       q->early[n].len);
	q->n_early = 0;
}

void kfb_initiator_accepted(struct kfb_initiator_queue *q, const void *data,
			    __u32 len)
{
	struct kfb_initiator *i = q->initiator;
	int rc;

	q->is_connecting = 0;
	/* It was given up, and is to be closed. */
	if (kfb_initiator_is_lost(q))
		return;
	rc = kfb_client_accepted(&i->client, q->index, data, len,
				 kfb_initiator_now(i));
	/* Whoever has the brick's port instead of it is worth a line. */
	if (rc == -EKEYREJECTED) {
		i->ops->say(i, KFB_SAY_LOG,
			    "who accepts the connection cannot prove to be the "
			    "brick that has this session: is something else on "
			    "its port?",
			    NULL, 0);
		return;
	}
	if (rc) {
		kfb_initiator_why(i, "no brick of this protocol is there", NULL,
				  0);
		return;
	}
	rc = kfb_initiator_post_receives(
		q, kfb_initiator_engine(q)->accept.credits +
			   KFB_EVENTS_UNACKED_MAX);
	if (rc)
		kfb_initiator_lost(q, rc, "cannot post a receive", NULL);
	kfb_initiator_take_early(q);
}

void kfb_initiator_rejected(struct kfb_initiator_queue *q, int error,
			    const void *data, __u32 len)
{
	struct kfb_initiator *i = q->initiator;
	struct kfb_reject reject;
	int rc = -error;

	/* A client's caller sees one error of a host that is not reached. */
	if (error == ENETUNREACH || error == EHOSTDOWN)
		rc = -EHOSTUNREACH;
	memset(&reject, 0, sizeof(reject));
	q->is_connecting = 0;
	if (kfb_initiator_is_lost(q))
		return;
	/* Only a refusal has words; the rest is the fabric's. */
	if (error == ECONNREFUSED || len) {
		if (!kfb_client_rejected(&i->client, q->index, data, len,
					 kfb_initiator_now(i), &reject))
			return;
	} else {
		kfb_client_lost(&i->client, q->index, kfb_initiator_now(i), rc);
	}
	if (reject.status)
		kfb_initiator_why(i, "the brick refuses the connection",
				  kfb_status_text(reject.status), 0);
	else if (error == ECONNREFUSED)
		kfb_initiator_why(
			i,
			"the connection is refused: is brickd running "
			"there, on this port and this fabric?",
			NULL, 0);
	else
		kfb_initiator_why(i, "cannot connect", NULL, -error);
}

/* ---- messages ---------------------------------------------------------- */

void kfb_initiator_send(struct kfb_initiator_queue *q,
			const struct kfb_message *message)
{
	/* There is room for every buffer. */
	if (q->n_unsent || q->initiator->ops->send(q, message) == -EAGAIN)
		q->unsent[q->n_unsent++] = *message;
}

void kfb_initiator_send_unsent(struct kfb_initiator_queue *q)
{
	__u32 n = 0;

	while (n < q->n_unsent && !q->initiator->ops->send(q, &q->unsent[n]))
		n++;
	q->n_unsent -= n;
	memmove(&q->unsent[0], &q->unsent[n],
		q->n_unsent * sizeof(q->unsent[0]));
}

void kfb_initiator_sent(struct kfb_initiator_queue *q, __u16 tx)
{
	kfb_engine_sent(kfb_initiator_engine(q), tx);
}

static void kfb_initiator_bad_message(struct kfb_initiator *i,
				      const struct kfb_outcome *outcome,
				      int error)
{
	const char *what = "the brick sent what it may not send";
	const char *detail = NULL;

	if (error == -EKEYREJECTED) {
		what = "authentication failed: the key is not the one "
		       "that the brick has for this client, or it "
		       "knows no such client";
		detail = i->client.config.engine.client_name;
	} else if (outcome->status) {
		/* The client's own requests; a caller's have their outcome. */
		what = outcome->op == KFB_OP_AUTH ? "the brick refused AUTH"
						  : "the brick refused INFO";
		detail = kfb_status_text(outcome->status);
	} else if (error == -ESTALE) {
		what = "this is another brick than expected";
	}
	kfb_initiator_why(i, what, detail, 0);
}

/* How many ranges of lost blocks are remembered. */
static __u32 kfb_initiator_n_bad(const struct kfb_initiator *i)
{
	return i->n_bad < KFB_INITIATOR_BAD_MAX ? i->n_bad
						: KFB_INITIATOR_BAD_MAX;
}

/* Where a range begins, and its last byte: it may end where addresses do. */
static _Bool kfb_initiator_is_bad(const struct kfb_initiator *i, __u64 va,
				  __u64 len)
{
	__u32 n = kfb_initiator_n_bad(i);

	if (!len || i->bad_id != i->client.session_id)
		return 0;
	while (n--) {
		const struct kfb_range *bad = &i->bad[n].range;
		__u64 size = bad->n_blocks << KFB_BLOCK_SHIFT;

		if (va <= bad->va + (size - 1) && bad->va <= va + (len - 1) &&
		    i->n_closed - i->bad[n].n_closed < KFB_INITIATOR_BAD_ENDS)
			return 1;
	}
	return 0;
}

/* The first EVENT may come before the session has begun. */
static void kfb_initiator_note_bad(struct kfb_initiator *i,
				   const struct kfb_event *event)
{
	__u32 n = 0, end;

	/* It may be about any. */
	if (!event->n_blocks)
		return;
	if (i->bad_id != i->client.session_id)
		i->n_bad = 0;
	i->bad_id = i->client.session_id;
	end = kfb_initiator_n_bad(i);
	while (n < end && (i->bad[n].range.va != event->va ||
			   i->bad[n].range.n_blocks != event->n_blocks))
		n++;
	if (n == end)
		n = i->n_bad++ % KFB_INITIATOR_BAD_MAX;
	i->bad[n].range.va = event->va;
	i->bad[n].range.n_blocks = event->n_blocks;
	i->bad[n].n_closed = i->n_closed;
}

/* The brick closes the connections itself: who asks later is told why. */
static void kfb_initiator_evicted(struct kfb_initiator *i)
{
	__u32 n;

	i->evicted = i->reply.u.event;
	for (n = 0; n < i->client.config.n_queues; n++)
		kfb_initiator_lost(i->queues[n], -ECONNRESET,
				   "the brick has evicted this client",
				   kfb_evicted_text(i->evicted.cause));
}

static void kfb_initiator_set_rate(struct kfb_initiator *i,
				   const struct kfb_rate *rate)
{
	if (i->ops->set_rate)
		i->ops->set_rate(i, rate);
}

_Bool kfb_initiator_take_event(struct kfb_initiator *i, struct kfb_event *out)
{
	if (i->evicted.kind) {
		*out = i->evicted;
		i->evicted.kind = 0;
		return 1;
	}
	/* EVENTs travel on queue 0. */
	return kfb_engine_take_event(&i->client.queues[0].engine, out);
}

_Bool kfb_initiator_received(struct kfb_initiator_queue *q, __u16 index,
			     const void *data, __u32 len)
{
	struct kfb_initiator *i = q->initiator;
	struct kfb_outcome outcome;
	int news;
	int rc;

	/* What comes after the end of a connection is nobody's. */
	if (kfb_initiator_is_lost(q) ||
	    kfb_initiator_keep_early(q, index, data, len))
		return 0;
	memset(&outcome, 0, sizeof(outcome));
	news = kfb_client_receive(&i->client, q->index, data, len,
				  kfb_initiator_now(i), &i->reply, &outcome);
	if (news < 0) {
		kfb_initiator_bad_message(i, &outcome, news);
		return 1;
	}
	/* The last message: the connection may have ended already. */
	if (outcome.kind == KFB_OUTCOME_EVENT &&
	    i->reply.u.event.kind == KFB_EVENT_EVICTED) {
		kfb_initiator_evicted(i);
		return 1;
	}
	if (outcome.kind == KFB_OUTCOME_EVENT &&
	    i->reply.u.event.kind == KFB_EVENT_RATE) {
		/* Newer than what INFO has said, which may not be in use yet. */
		i->client.info.rate = i->reply.u.event.rate;
		kfb_initiator_set_rate(i, &i->client.info.rate);
	}
	if (outcome.kind == KFB_OUTCOME_EVENT &&
	    i->reply.u.event.kind == KFB_EVENT_MEDIA_ERROR)
		kfb_initiator_note_bad(i, &i->reply.u.event);
	/* A receive is posted before the reply frees its request's credit. */
	rc = i->ops->receive(q, index);
	if (rc)
		kfb_initiator_lost(q, rc, "cannot post a receive", NULL);
	if (news && outcome.kind != KFB_OUTCOME_EVENT)
		kfb_initiator_answered(q, &outcome);
	/* The answer may have made room for another request. */
	kfb_initiator_pump_calls(i);
	return rc || !news || outcome.kind != KFB_OUTCOME_REPLY ||
	       outcome.op != KFB_OP_FLUSH;
}

/* ---- what the client wants ---------------------------------------------- */

static void kfb_initiator_connect(struct kfb_initiator_queue *q,
				  const struct kfb_client_action *action)
{
	struct kfb_initiator *i = q->initiator;
	__u8 hello[KFB_PRIVATE_DATA_MAX_BYTES];
	__u32 len = action->hello_len;
	int rc;

	/* The client's copy may change while the lock is dropped. */
	if (len > sizeof(hello))
		len = sizeof(hello);
	memcpy(hello, action->hello, len);
	q->address = action->address;
	q->why = NULL;
	rc = i->ops->connect(q, hello, len);
	if (!rc)
		return;
	q->is_connecting = 0;
	kfb_initiator_why(i, "cannot connect", q->why, rc);
	kfb_client_lost(&i->client, q->index, kfb_initiator_now(i), rc);
}

/* A new session begins: it is seen to be of use before anything is mapped. */
static void kfb_initiator_begin_session(struct kfb_initiator *i)
{
	struct kfb_initiator_queue *first = i->queues[0];
	__u32 n;
	int rc = kfb_initiator_choose_flush(i);

	if (!rc && i->client.info.block_shift != KFB_BLOCK_SHIFT) {
		rc = -EPROTONOSUPPORT;
		kfb_initiator_why(i, "the brick's blocks are not of 2 MiB",
				  NULL, 0);
	}
	if (rc) {
		for (n = 0; n < i->client.config.n_queues; n++)
			kfb_client_lost(&i->client, n, kfb_initiator_now(i),
					rc);
		return;
	}
	kfb_initiator_lock(first);
	kfb_window_lease(&first->window, i->client.info.lease_ms);
	kfb_initiator_unlock(first);
	kfb_initiator_set_rate(i, &i->client.info.rate);
	i->session_id = i->client.session_id;
	i->ops->make_mappings(i);
}

static void kfb_initiator_do(struct kfb_initiator *i,
			     const struct kfb_client_action *action)
{
	struct kfb_initiator_queue *q = i->queues[action->queue];

	switch (action->what) {
	case KFB_DO_CONNECT:
		kfb_initiator_connect(q, action);
		break;
	case KFB_DO_CLOSE:
		if (action->is_silent)
			kfb_initiator_why(i, "the brick did not answer in time",
					  NULL, 0);
		i->ops->close(q);
		q->is_connecting = 0;
		q->n_unsent = 0;
		kfb_initiator_flush_lost(q);
		kfb_client_closed(&i->client, q->index);
		break;
	case KFB_DO_SEND:
		kfb_initiator_send(q, &action->message);
		break;
	case KFB_DO_OUTCOME:
		kfb_initiator_answered(q, &action->outcome);
		break;
	case KFB_DO_FATE:
		kfb_initiator_validate(q, action->fate);
		break;
	case KFB_DO_MAP:
		kfb_initiator_begin_session(i);
		break;
	}
}

/* While a PING has no answer: do bytes move all the same? */
static void kfb_initiator_listen(struct kfb_initiator *i)
{
	__u64 now_ms = kfb_initiator_now(i);
	__u64 heard_ms;
	__u32 n;

	for (n = 0; n < i->client.config.n_queues; n++) {
		struct kfb_initiator_queue *q = i->queues[n];

		if (kfb_initiator_is_lost(q) ||
		    !kfb_client_listens(&i->client, n))
			continue;
		kfb_initiator_lock(q);
		heard_ms = q->heard_ms;
		kfb_initiator_unlock(q);
		kfb_client_heard(&i->client, n, heard_ms);
		kfb_client_moved(&i->client, n, i->ops->moved_bytes(q), now_ms);
	}
}

/* Once nothing is left that could answer, whoever waits is told. */
static void kfb_initiator_end(struct kfb_initiator *i)
{
	enum kfb_client_state state = kfb_client_state(&i->client);
	__u32 n;

	if (i->is_over ||
	    (state != KFB_CLIENT_FAILED && state != KFB_CLIENT_CLOSED))
		return;
	for (n = 0; n < i->client.config.n_queues; n++) {
		if (i->client.queues[n].is_open)
			return;
	}
	i->is_over = 1;
	i->ops->over(i);
	kfb_initiator_pump_calls(i);
	kfb_initiator_end_flushes(i);
}

int kfb_initiator_retake(struct kfb_initiator *i)
{
	int rc;

	if (!i->is_over)
		return -EINVAL;
	if (kfb_losses_error(&i->losses))
		return -EIO;
	rc = kfb_client_retake(&i->client, kfb_initiator_now(i));
	if (rc)
		return rc;
	i->is_over = 0;
	/* Flushes that ended with the session say nothing of the next one. */
	i->retain.error = 0;
	i->retain.strikes = 0;
	return 0;
}

static void kfb_initiator_take_news(struct kfb_initiator *i)
{
	if (i->ops->take_news)
		i->ops->take_news(i);
}

_Bool kfb_initiator_run(struct kfb_initiator *i)
{
	enum kfb_client_state was = kfb_client_state(&i->client);
	struct kfb_client_action action;
	_Bool any = 0;

	kfb_initiator_take_news(i);
	kfb_initiator_listen(i);
	kfb_initiator_flushes_due(i);
	while (kfb_client_next(&i->client, kfb_initiator_now(i), &action)) {
		kfb_initiator_do(i, &action);
		kfb_initiator_take_news(i);
		any = 1;
	}
	/* A PING may have gone out: what has moved before it is no answer. */
	if (any)
		kfb_initiator_listen(i);
	kfb_initiator_pump_calls(i);
	kfb_initiator_end(i);
	return any || was != kfb_client_state(&i->client);
}

_Bool kfb_initiator_is_usable(const struct kfb_initiator *i)
{
	__u64 now_ms = kfb_initiator_now(i);
	__u32 n;

	if (kfb_client_state(&i->client) != KFB_CLIENT_LIVE)
		return 0;
	for (n = 0; n < i->client.n_used; n++) {
		if (!kfb_client_usable(&i->client, n, now_ms))
			return 0;
	}
	return 1;
}

_Bool kfb_initiator_is_at_fault(const struct kfb_initiator *i, int error,
				__u64 va, __u64 len)
{
	switch (error) {
	case -ECANCELED:
	case -ECONNABORTED:
	case -ECONNRESET:
	case -ENOTCONN:
	case -EPIPE:
	case -ESHUTDOWN:
		return kfb_initiator_is_bad(i, va, len);
	default:
		return kfb_is_at_fault(error);
	}
}

_Bool kfb_is_at_fault(int error)
{
	switch (error) {
	case 0:
	case -EAGAIN:
	case -ECANCELED:
	case -ECONNABORTED:
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -EHOSTDOWN:
	case -EHOSTUNREACH:
	case -ENETDOWN:
	case -ENETUNREACH:
	case -ENOBUFS:
	case -ENOMEM:
	case -ENOTCONN:
	case -EPIPE:
	case -ESHUTDOWN:
	case -ETIMEDOUT:
		return 0;
	default:
		return 1;
	}
}
