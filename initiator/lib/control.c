// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests and replies: what the engine says, moved over the fabric.
 *
 * A receive buffer is posted again before its reply is looked at, so there is
 * one for every request that may go out.
 */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "kfb_err.h"
#include "kfb_ops.h"

/* 0, -EAGAIN, or another error after which the connection is lost. */
static int send_now(struct kfbrick *k, struct kfbl_queue *q,
		    const struct kfb_message *message)
{
	struct kfb_engine *engine = &k->client.queues[q->index].engine;
	bool is_short = message->len <= k->fabric.inject_max;
	struct kfbl_ctx *ctx = &q->tx_ctx[message->tx];
	ssize_t rc;

	ctx->kind = KFBL_CTX_SEND;
	ctx->index = message->tx;
	/* A short one is copied: no completion needs to be read. */
	if (is_short)
		rc = fi_inject(q->link.ep, message->data, message->len, 0);
	else
		rc = fi_send(q->link.ep, message->data, message->len,
			     k->fabric.control_desc, 0, &ctx->fi);
	if (!rc && is_short)
		kfb_engine_sent(engine, message->tx);
	if (rc && rc != -FI_EAGAIN)
		kfbl_lost(k, q, -ECONNRESET, "cannot send: %s",
			  fi_strerror((int)-rc));
	return kfbl_errno(rc);
}

void kfbl_send(struct kfbrick *k, struct kfbl_queue *q,
	       const struct kfb_message *message)
{
	/* There is room for every buffer. */
	if (q->n_unsent || send_now(k, q, message) == -EAGAIN)
		q->unsent[q->n_unsent++] = *message;
}

void kfbl_send_unsent(struct kfbrick *k, struct kfbl_queue *q)
{
	uint32_t n = 0;

	while (n < q->n_unsent && !send_now(k, q, &q->unsent[n]))
		n++;
	q->n_unsent -= n;
	memmove(&q->unsent[0], &q->unsent[n],
		q->n_unsent * sizeof(q->unsent[0]));
}

static int post_receive(struct kfbrick *k, struct kfbl_queue *q, uint16_t index)
{
	struct kfbl_ctx *ctx = &q->rx_ctx[index];
	ssize_t rc;

	ctx->kind = KFBL_CTX_RECV;
	ctx->index = index;
	rc = fi_recv(q->link.ep, q->rx + (size_t)index * KFB_REPLY_MAX_BYTES,
		     KFB_REPLY_MAX_BYTES, k->fabric.control_desc, 0, &ctx->fi);
	return kfbl_errno(rc);
}

int kfbl_post_receives(struct kfbrick *k, struct kfbl_queue *q, uint32_t n)
{
	int rc;

	while (q->n_rx < n && q->n_rx < KFBL_RX_MAX) {
		rc = post_receive(k, q, (uint16_t)q->n_rx);
		if (rc)
			return rc;
		q->n_rx++;
	}
	return 0;
}

/*
 * A MAP that was given up has succeeded after all: give it back. A further page
 * of one says nothing new: whoever asked for it has the mapping, or has given it
 * back.
 */
static void undo_late(struct kfbrick *k, const struct kfbl_queue *q,
		      const struct kfb_outcome *outcome)
{
	struct kfb_request req = { .op = KFB_OP_UNMAP };

	if (!q->calls[outcome->slot].makes_mapping || outcome->error)
		return;
	req.u.unmap.mapping_id = k->rx_reply.u.map.mapping_id;
	kfbl_call_async(k, &k->queues[0], &req, KFBL_CALL_UNMAP, 0);
}

static void answered_late(struct kfbrick *k, const struct kfbl_queue *q,
			  const struct kfb_outcome *outcome)
{
	if (outcome->op == KFB_OP_FLUSH)
		kfbl_flush_answered(k, q->index,
				    q->calls[outcome->slot].flush_id, outcome);
	else
		undo_late(k, q, outcome);
}

void kfbl_answered(struct kfbrick *k, struct kfbl_queue *q,
		   const struct kfb_outcome *outcome)
{
	struct kfbl_call *call = &q->calls[outcome->slot];
	enum kfbl_call_kind kind = call->kind;

	call->kind = KFBL_CALL_NONE;
	switch (kind) {
	case KFBL_CALL_SYNC:
		k->call_outcome = *outcome;
		if (outcome->kind == KFB_OUTCOME_REPLY)
			k->call_reply = k->rx_reply;
		k->call_done = true;
		break;
	case KFBL_CALL_FLUSH:
		kfbl_flush_answered(k, q->index, call->flush_id, outcome);
		break;
	case KFBL_CALL_REMAP:
		if (outcome->kind != KFB_OUTCOME_LOST)
			kfbl_restore_answer(k, outcome);
		break;
	case KFBL_CALL_UNMAP:
	case KFBL_CALL_NONE:
		break;
	}
}

static void bad_message(struct kfbrick *k, const struct kfb_outcome *outcome,
			int error)
{
	const char *why = "the brick sent what it may not send";

	if (error == -EKEYREJECTED) {
		kfbl_say_why(
			k,
			"authentication failed: the key is not the one the "
			"brick has for client \"%s\", or it knows no such "
			"client",
			k->client_name ? k->client_name : "");
		return;
	}
	if (outcome->status) {
		kfbl_say_why(k, "the brick refused %s: %s",
			     kfb_op_name(outcome->op),
			     kfb_status_text(outcome->status));
		return;
	}
	if (error == -ESTALE)
		why = "this is another brick than expected";
	kfbl_say_why(k, "%s", why);
}

void kfbl_received(struct kfbrick *k, struct kfbl_queue *q,
		   struct kfbl_ctx *ctx, size_t len)
{
	const uint8_t *data = q->rx + (size_t)ctx->index * KFB_REPLY_MAX_BYTES;
	struct kfb_outcome outcome;
	int rc;
	int news;

	news = kfb_client_receive(&k->client, q->index, data, (uint32_t)len,
				  kfbl_now_ms(), &k->rx_reply, &outcome);
	if (news < 0) {
		bad_message(k, &outcome, news);
		return;
	}
	rc = post_receive(k, q, ctx->index);
	if (rc)
		kfbl_lost(k, q, -ECONNRESET, "cannot post a receive: %s",
			  strerror(-rc));
	if (!news)
		return;
	if (outcome.kind == KFB_OUTCOME_REPLY)
		kfbl_answered(k, q, &outcome);
	else if (outcome.kind == KFB_OUTCOME_LATE)
		answered_late(k, q, &outcome);
}

int kfbl_call_async(struct kfbrick *k, struct kfbl_queue *q,
		    const struct kfb_request *req, enum kfbl_call_kind kind,
		    uint64_t flush_id)
{
	struct kfb_message message;
	struct kfbl_call *call;
	int rc;

	rc = kfb_engine_start(&k->client.queues[q->index].engine, req,
			      kfbl_now_ms(), k->timeout_ms, NULL, &message);
	if (rc)
		return rc;
	call = &q->calls[message.slot];
	call->kind = kind;
	call->flush_id = flush_id;
	call->makes_mapping = req->op == KFB_OP_MAP && !req->u.map.mapping_id;
	kfbl_send(k, q, &message);
	return 0;
}

int kfbl_wait_live(struct kfbrick *k)
{
	while (!kfbl_is_live(k)) {
		if (kfbl_is_over(k))
			return kfbl_not_connected(k);
		if (!kfbl_progress(k))
			kfbl_wait(k, KFB_TIME_NEVER);
	}
	return 0;
}

/* Until the call somebody waits for is done; its deadline is the engine's. */
static void wait_call(struct kfbrick *k)
{
	while (!k->call_done && !kfbl_is_over(k)) {
		bool any = kfbl_progress(k);

		if (!k->call_done && (!any || k->is_settled))
			kfbl_wait(k, KFB_TIME_NEVER);
	}
}

/* What a finished call means for its caller. */
static int call_result(struct kfbrick *k, uint16_t op,
		       struct kfb_outcome *outcome)
{
	const char *name = kfb_op_name(op);

	if (!k->call_done) {
		memset(&k->call_outcome, 0, sizeof(k->call_outcome));
		k->call_outcome.kind = KFB_OUTCOME_LOST;
	}
	*outcome = k->call_outcome;
	switch (outcome->kind) {
	case KFB_OUTCOME_TIMEOUT:
		return kfbl_fail(k, -ETIMEDOUT,
				 "%s: no answer to %s within %u ms: its "
				 "outcome is unknown, look with list",
				 k->url.text, name, k->timeout_ms);
	case KFB_OUTCOME_LOST:
		return kfbl_fail(
			k, -ECONNRESET,
			"%s: the connection was lost after %s was "
			"sent: %s; its outcome is unknown: %slook with "
			"list",
			k->url.text, name, kfbl_why(k),
			kfbl_is_over(k) ? "connect again and " : "");
	default:
		return 0;
	}
}

/* Room for a request, or the time is over. */
static int start_call(struct kfbrick *k, const struct kfb_request *req)
{
	uint64_t until_ms = kfbl_now_ms() + k->timeout_ms;
	int rc;

	for (;;) {
		rc = kfbl_wait_live(k);
		if (rc)
			return rc;
		k->call_done = false;
		rc = kfbl_call_async(k, &k->queues[0], req, KFBL_CALL_SYNC, 0);
		if (rc != -EAGAIN && rc != -ENOTCONN)
			break;
		if (kfbl_now_ms() >= until_ms)
			return kfbl_fail(k, -ETIMEDOUT,
					 "%s: %s was not sent: the brick has "
					 "not answered earlier requests within "
					 "%u ms",
					 k->url.text, kfb_op_name(req->op),
					 k->timeout_ms);
		if (!kfbl_progress(k))
			kfbl_wait(k, until_ms);
	}
	if (rc)
		return kfbl_fail(k, rc, "%s: %s cannot be sent: %s",
				 k->url.text, kfb_op_name(req->op),
				 strerror(-rc));
	return 0;
}

/* Asking twice does no harm, but a MAP that was answered is its session's. */
static bool may_repeat(const struct kfb_request *req)
{
	return kfb_op_is(req->op, KFB_OP_RECOMPUTED) &&
	       !(req->op == KFB_OP_MAP && req->u.map.mapping_id);
}

int kfbl_call(struct kfbrick *k, const struct kfb_request *req,
	      struct kfb_outcome *outcome)
{
	int rc;

	do {
		rc = start_call(k, req);
		if (rc)
			return rc;
		wait_call(k);
		rc = call_result(k, req->op, outcome);
	} while (rc == -ECONNRESET && may_repeat(req) && !kfbl_is_over(k));
	return rc;
}
