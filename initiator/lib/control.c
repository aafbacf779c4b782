// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests and replies: what the engine says, moved over the fabric.
 *
 * A receive buffer is posted again before its reply is looked at, so there is
 * one for every request that may go out.
 */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <string.h>

#include "internal.h"
#include "kfb_err.h"

/* 0, -EAGAIN, or another error after which the connection is lost. */
static int send_now(struct kfbrick *k, const struct kfb_message *message)
{
	struct kfbl_ctx *ctx = &k->tx_ctx[message->tx];
	ssize_t rc;

	ctx->kind = KFBL_CTX_SEND;
	ctx->index = message->tx;
	rc = fi_send(k->fabric.ep, message->data, message->len,
		     k->fabric.control_desc, 0, &ctx->fi);
	if (rc && rc != -FI_EAGAIN)
		kfbl_lost(k, -ECONNRESET, "cannot send: %s",
			  fi_strerror((int)-rc));
	return kfbl_errno(rc);
}

/* In order: what waits goes first. There is room for every buffer. */
static void send_message(struct kfbrick *k, const struct kfb_message *message)
{
	if (!k->n_unsent && send_now(k, message) != -EAGAIN)
		return;
	if (!k->lost)
		k->unsent[k->n_unsent++] = *message;
}

void kfbl_send_unsent(struct kfbrick *k)
{
	uint32_t n = 0;

	while (n < k->n_unsent && !send_now(k, &k->unsent[n]))
		n++;
	if (k->lost)
		return;
	k->n_unsent -= n;
	memmove(&k->unsent[0], &k->unsent[n],
		k->n_unsent * sizeof(k->unsent[0]));
}

static int post_receive(struct kfbrick *k, uint16_t index)
{
	struct kfbl_ctx *ctx = &k->rx_ctx[index];
	ssize_t rc;

	ctx->kind = KFBL_CTX_RECV;
	ctx->index = index;
	rc = fi_recv(k->fabric.ep, k->rx + (size_t)index * KFB_REPLY_MAX_BYTES,
		     KFB_REPLY_MAX_BYTES, k->fabric.control_desc, 0, &ctx->fi);
	return kfbl_errno(rc);
}

int kfbl_post_receives(struct kfbrick *k, uint32_t n)
{
	int rc;

	while (k->n_rx < n && k->n_rx < KFBL_RX_MAX) {
		rc = post_receive(k, (uint16_t)k->n_rx);
		if (rc)
			return rc;
		k->n_rx++;
	}
	return 0;
}

/* A MAP that was given up has succeeded after all: give it back. */
static void undo_late(struct kfbrick *k, const struct kfb_outcome *outcome)
{
	struct kfb_request req = { .op = KFB_OP_UNMAP };

	if (outcome->op != KFB_OP_MAP || outcome->error)
		return;
	req.u.unmap.mapping_id = k->rx_reply.u.map.mapping_id;
	kfbl_call_async(k, &req, KFBL_CALL_UNMAP, 0);
}

static void answered(struct kfbrick *k, const struct kfb_outcome *outcome)
{
	struct kfbl_call *call = &k->calls[outcome->slot];

	switch (call->kind) {
	case KFBL_CALL_SYNC:
		k->call_outcome = *outcome;
		k->call_reply = k->rx_reply;
		k->call_done = true;
		break;
	case KFBL_CALL_FLUSH:
		kfbl_flush_done(k, call->flush_id, outcome->error);
		break;
	case KFBL_CALL_PING:
	case KFBL_CALL_UNMAP:
	case KFBL_CALL_NONE:
		break;
	}
	call->kind = KFBL_CALL_NONE;
}

static void bad_message(struct kfbrick *k, const struct kfb_outcome *outcome,
			int error)
{
	if (outcome->status && error != -EKEYREJECTED)
		kfbl_lost(k, error, "the brick refused %s: %s",
			  kfb_op_name(outcome->op),
			  kfb_status_text(outcome->status));
	else if (error == -EKEYREJECTED)
		kfbl_lost(k, error,
			  "authentication failed: the key is not the one the "
			  "brick has for client \"%s\", or it knows no such "
			  "client",
			  k->client);
	else if (error == -ESTALE)
		kfbl_lost(k, error, "this is another brick than expected");
	else
		kfbl_lost(k, error, "the brick sent what it may not send");
}

void kfbl_received(struct kfbrick *k, struct kfbl_ctx *ctx, size_t len)
{
	const uint8_t *data = k->rx + (size_t)ctx->index * KFB_REPLY_MAX_BYTES;
	struct kfb_outcome outcome;
	int rc;

	rc = kfb_engine_receive(&k->engine, data, (uint32_t)len, &k->rx_reply,
				&outcome);
	if (rc) {
		bad_message(k, &outcome, rc);
		return;
	}
	rc = post_receive(k, ctx->index);
	if (rc) {
		kfbl_lost(k, -ECONNRESET, "cannot post a receive: %s",
			  strerror(-rc));
		return;
	}
	switch (outcome.kind) {
	case KFB_OUTCOME_REPLY:
	case KFB_OUTCOME_READY:
		answered(k, &outcome);
		break;
	case KFB_OUTCOME_LATE:
		undo_late(k, &outcome);
		break;
	default:
		break;
	}
}

int kfbl_call_async(struct kfbrick *k, const struct kfb_request *req,
		    enum kfbl_call_kind kind, uint64_t flush_id)
{
	struct kfb_message message;
	int rc;

	rc = kfb_engine_start(&k->engine, req, kfbl_now_ms(), k->timeout_ms,
			      NULL, &message);
	if (rc)
		return rc;
	k->calls[message.slot].kind = kind;
	k->calls[message.slot].flush_id = flush_id;
	send_message(k, &message);
	return 0;
}

void kfbl_housekeeping(struct kfbrick *k)
{
	struct kfb_request ping = { .op = KFB_OP_PING };
	uint64_t now_ms = kfbl_now_ms();
	struct kfb_outcome outcome;

	while (!k->lost && kfb_engine_expire(&k->engine, now_ms, &outcome))
		answered(k, &outcome);
	if (!k->lost && kfb_engine_wants_ping(&k->engine, now_ms))
		kfbl_call_async(k, &ping, KFBL_CALL_PING, 0);
}

/* Until the call somebody waits for is done; its deadline is the engine's. */
static void wait_call(struct kfbrick *k)
{
	while (!k->call_done && !k->lost) {
		if (kfbl_progress(k))
			continue;
		kfbl_housekeeping(k);
		if (!k->call_done)
			kfbl_wait(k, KFB_TIME_NEVER);
	}
}

/* What a finished call means for its caller. */
static int call_result(struct kfbrick *k, uint16_t op,
		       struct kfb_outcome *outcome)
{
	const char *name = kfb_op_name(op);

	if (!k->call_done) /* lost before it began */
		return kfbl_not_connected(k);
	*outcome = k->call_outcome;
	switch (outcome->kind) {
	case KFB_OUTCOME_TIMEOUT:
		return kfbl_fail(k, -ETIMEDOUT,
				 "%s: no answer to %s within %u ms: its "
				 "outcome is unknown, look with list",
				 k->url.text, name, k->timeout_ms);
	case KFB_OUTCOME_LOST:
		return kfbl_fail(k, -ECONNRESET,
				 "%s: the connection was lost after %s was "
				 "sent: %s; its outcome is unknown: connect "
				 "again and look with list",
				 k->url.text, name, k->lost_why);
	default:
		return 0;
	}
}

int kfbl_call(struct kfbrick *k, const struct kfb_request *req,
	      struct kfb_outcome *outcome)
{
	uint64_t until_ms = kfbl_now_ms() + k->timeout_ms;
	int rc;

	for (;;) {
		if (k->lost)
			return kfbl_not_connected(k);
		k->call_done = false;
		rc = kfbl_call_async(k, req, KFBL_CALL_SYNC, 0);
		if (rc != -EAGAIN)
			break;
		if (kfbl_now_ms() >= until_ms)
			return kfbl_fail(k, -ETIMEDOUT,
					 "%s: %s was not sent: the brick has "
					 "not answered earlier requests within "
					 "%u ms",
					 k->url.text, kfb_op_name(req->op),
					 k->timeout_ms);
		if (kfbl_progress(k))
			continue;
		kfbl_housekeeping(k);
		kfbl_wait(k, until_ms);
	}
	if (rc)
		return kfbl_fail(k, rc, "%s: %s cannot be sent: %s",
				 k->url.text, kfb_op_name(req->op),
				 strerror(-rc));
	wait_call(k);
	return call_result(k, req->op, outcome);
}

int kfbl_wait_auth(struct kfbrick *k)
{
	struct kfb_message message;
	struct kfb_outcome outcome;
	int rc;

	rc = kfb_engine_auth(&k->engine, kfbl_now_ms(), k->timeout_ms, NULL,
			     &message);
	if (rc)
		return kfbl_fail(k, rc, "%s: cannot compute the proof: %s",
				 k->url.text, strerror(-rc));
	k->call_done = false;
	k->calls[message.slot].kind = KFBL_CALL_SYNC;
	send_message(k, &message);
	wait_call(k);
	if (k->lost)
		return kfbl_fail(k, k->lost_error, "%s: %s", k->url.text,
				 k->lost_why);
	rc = call_result(k, KFB_OP_AUTH, &outcome);
	if (rc)
		return rc;
	memcpy(k->uuid, k->engine.brick_uuid, sizeof(k->uuid));
	return 0;
}
