// SPDX-License-Identifier: BSD-2-Clause
/*
 * Does what the core's client says is to be done: makes endpoints, closes
 * them, sends, and tells what happened.
 */
#include <errno.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "kfb_err.h"

/* Room for a CM event and the private data that comes with it. */
union cm_event {
	struct fi_eq_cm_entry entry;
	uint8_t bytes[sizeof(struct fi_eq_cm_entry) + 256];
};

bool kfbl_is_over(const struct kfbrick *k)
{
	switch (kfb_client_state(&k->client)) {
	case KFB_CLIENT_IDLE:
	case KFB_CLIENT_FAILED:
	case KFB_CLIENT_CLOSED:
		return true;
	default:
		return false;
	}
}

bool kfbl_is_live(const struct kfbrick *k)
{
	return kfb_client_state(&k->client) == KFB_CLIENT_LIVE &&
	       kfb_client_can_call(&k->client, 0);
}

void kfbl_lost(struct kfbrick *k, struct kfbl_queue *q, int error,
	       const char *fmt, ...)
{
	va_list ap;

	/* The first reason is the reason. */
	if (!q->link.ep)
		return;
	if (kfb_engine_state(&k->client.queues[q->index].engine) !=
	    KFB_CONN_CLOSING) {
		va_start(ap, fmt);
		kfbl_vsay_why(k, fmt, ap);
		va_end(ap);
	}
	kfb_client_lost(&k->client, q->index, kfbl_now_ms(), error);
}

void kfbl_lost_all(struct kfbrick *k, int error, const char *why)
{
	uint32_t i;

	for (i = 0; i < k->n_queues; i++)
		kfbl_lost(k, &k->queues[i], error, "%s", why);
}

static void connect_queue(struct kfbrick *k, struct kfbl_queue *q,
			  const struct kfb_client_action *action)
{
	const char *what = "open an endpoint";
	int rc;

	q->n_rx = 0;
	q->n_unsent = 0;
	kfb_window_init(&q->window, k->client.info.lease_ms);
	rc = kfbl_link_open(&q->link, &k->fabric);
	if (!rc) {
		/* For what may come right after the accept. */
		what = "post a receive";
		rc = kfbl_post_receives(
			k, q, KFB_CREDITS_MIN + KFB_EVENTS_UNACKED_MAX);
	}
	if (!rc) {
		what = "connect";
		rc = kfbl_errno(fi_connect(q->link.ep,
					   k->fabric.info->dest_addr,
					   action->hello, action->hello_len));
	}
	if (rc) {
		kfbl_say_why(k, "cannot %s to %s: %s", what, k->url.text,
			     strerror(-rc));
		kfb_client_lost(&k->client, q->index, kfbl_now_ms(), rc);
		return;
	}
	q->link.connecting = true;
	kfbl_watch(k, q);
}

/* Nothing of this endpoint moves after this. */
static void close_queue(struct kfbrick *k, struct kfbl_queue *q)
{
	kfbl_link_close(&q->link);
	q->n_unsent = 0;
	kfbl_io_lost(k, q);
	kfbl_flush_lost(k, q->index);
	kfb_client_closed(&k->client, q->index);
}

static void do_action(struct kfbrick *k, const struct kfb_client_action *action)
{
	struct kfbl_queue *q = &k->queues[action->queue];

	switch (action->what) {
	case KFB_DO_CONNECT:
		connect_queue(k, q, action);
		break;
	case KFB_DO_CLOSE:
		if (action->is_silent)
			kfbl_say_why(k, "the brick did not answer in time");
		close_queue(k, q);
		break;
	case KFB_DO_SEND:
		kfbl_send(k, q, &action->message);
		break;
	case KFB_DO_OUTCOME:
		kfbl_answered(k, q, &action->outcome);
		break;
	case KFB_DO_FATE:
		kfbl_flush_fate(k, action->queue, action->fate);
		break;
	case KFB_DO_MAP:
		kfb_window_lease(&q->window, k->client.info.lease_ms);
		kfbl_restore_start(k);
		break;
	}
}

/* After the end nothing is left open. */
static void finish(struct kfbrick *k)
{
	uint32_t i;

	if (kfb_client_state(&k->client) != KFB_CLIENT_FAILED)
		return;
	for (i = 0; i < k->n_queues; i++) {
		if (k->queues[i].link.ep)
			return;
	}
	kfbl_io_end(k, -ECONNRESET);
}

/* While a PING has no answer: do bytes move all the same? */
static void tell_what_moves(struct kfbrick *k, uint64_t now_ms)
{
	uint32_t i;

	for (i = 0; i < k->n_queues; i++) {
		const struct kfbl_queue *q = &k->queues[i];

		if (q->link.ep && kfb_client_listens(&k->client, i))
			kfb_client_moved(&k->client, i,
					 kfbl_link_moved_bytes(&q->link),
					 now_ms);
	}
}

bool kfbl_session_run(struct kfbrick *k)
{
	struct kfb_client_action action;
	uint64_t now_ms = kfbl_now_ms();
	bool any = false;

	k->has_changed = false;
	tell_what_moves(k, now_ms);
	while (kfb_client_next(&k->client, now_ms, &action)) {
		do_action(k, &action);
		any = true;
	}
	/* A PING may have gone out: what has moved before it is no answer. */
	if (any)
		tell_what_moves(k, now_ms);
	any |= kfbl_restore_run(k);
	if (kfb_client_state(&k->client) == KFB_CLIENT_LIVE)
		k->is_connected = true;
	finish(k);
	return any;
}

static void accepted(struct kfbrick *k, struct kfbl_queue *q, const void *data,
		     uint32_t len)
{
	int rc;

	q->link.connecting = false;
	rc = kfb_client_accepted(&k->client, q->index, data, len,
				 kfbl_now_ms());
	if (rc) {
		kfbl_say_why(k,
			     rc == -EKEYREJECTED
				     ? "%s cannot prove that it is the brick "
				       "that has this session: is something "
				       "else on its port?"
				     : "%s is no brick of this protocol",
			     k->url.text);
		return;
	}
	rc = kfbl_post_receives(
		k, q,
		k->client.queues[q->index].engine.accept.credits +
			KFB_EVENTS_UNACKED_MAX);
	if (rc)
		kfbl_lost(k, q, rc, "cannot post a receive: %s", strerror(-rc));
}

/* Why a connection could not be made, in words. */
static void say_refused(struct kfbrick *k, const struct kfb_reject *reject,
			int error)
{
	if (reject->status)
		kfbl_say_why(k, "%s refuses the connection: %s", k->url.text,
			     kfb_status_text(reject->status));
	else if (error == FI_ECONNREFUSED)
		kfbl_say_why(
			k,
			"%s refuses the connection: is brickd running there, "
			"on this port and this fabric?",
			k->url.text);
	else
		kfbl_say_why(k, "cannot connect to %s: %s", k->url.text,
			     fi_strerror(error));
}

static int refused_errno(int error)
{
	int rc = kfbl_errno(-error);

	if (rc == -ENETUNREACH || rc == -EHOSTDOWN)
		return -EHOSTUNREACH;
	return rc;
}

static void connect_failed(struct kfbrick *k, struct kfbl_queue *q,
			   const struct fi_eq_err_entry *error)
{
	struct kfb_reject reject = { 0 };

	q->link.connecting = false;
	/* Only a refusal has words; the rest is the fabric's. */
	if (error->err == FI_ECONNREFUSED || error->err_data_size)
		kfb_client_rejected(&k->client, q->index, error->err_data,
				    (uint32_t)error->err_data_size,
				    kfbl_now_ms(), &reject);
	else
		kfb_client_lost(&k->client, q->index, kfbl_now_ms(),
				refused_errno(error->err));
	say_refused(k, &reject, error->err);
}

void kfbl_read_events(struct kfbrick *k, struct kfbl_queue *q)
{
	struct fi_eq_err_entry error = { 0 };
	uint8_t words[256];
	union cm_event cm;
	uint32_t event;
	ssize_t n;

	if (!q->link.eq)
		return;
	n = fi_eq_read(q->link.eq, &event, &cm, sizeof(cm), 0);
	if (n != -FI_EAGAIN)
		k->has_changed = true;
	if (n == -FI_EAVAIL) {
		error.err_data = words;
		error.err_data_size = sizeof(words);
		if (fi_eq_readerr(q->link.eq, &error, 0) < 0)
			error.err = FI_ECONNREFUSED;
		if (q->link.connecting)
			connect_failed(k, q, &error);
		else
			kfbl_lost(k, q, -ECONNRESET,
				  "the connection failed: %s",
				  fi_strerror(error.err));
	} else if (n >= (ssize_t)sizeof(cm.entry) && event == FI_CONNECTED) {
		accepted(k, q, cm.entry.data,
			 (uint32_t)(n - (ssize_t)sizeof(cm.entry)));
	} else if (n >= 0) {
		kfbl_lost(k, q, -ECONNRESET,
			  q->link.connecting
				  ? "the brick closed the connection before "
				    "accepting it"
				  : "the brick closed the connection");
	}
}

void kfbl_session_end(struct kfbrick *k)
{
	uint32_t i;

	for (i = 0; k->queues && i < k->n_queues; i++)
		kfbl_link_close(&k->queues[i].link);
	kfb_client_close(&k->client);
}
