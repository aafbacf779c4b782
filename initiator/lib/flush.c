// SPDX-License-Identifier: BSD-2-Clause
/*
 * Flushes: the bookkeeping is the core's, here are its two kinds of op.
 *
 * message: a FLUSH request with the dirty ranges, sent after the writes on the
 * same queue. readback: a small read of the last bytes written, on the same
 * queue.
 */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <string.h>

#include "internal.h"
#include "kfb_err.h"

int kfbl_flush_check_mode(struct kfbrick *k, uint32_t mode)
{
	switch (mode) {
	case KFB_FLUSH_NONE:
	case KFB_FLUSH_MESSAGE:
	case KFB_FLUSH_READBACK:
		k->flush_mode = mode;
		return 0;
	default:
		return kfbl_fail(k, -EPROTONOSUPPORT,
				 "%s makes writes durable in a way this "
				 "library does not know (mode 0x%x): use a "
				 "newer libkfbrick",
				 k->url.text, mode);
	}
}

static int post_message(struct kfbrick *k, uint32_t queue,
			const struct kfb_flush_op *flush)
{
	struct kfb_request req;

	kfb_flush_request(flush, &req);
	return kfbl_call_async(k, &k->queues[queue], &req, KFBL_CALL_FLUSH,
			       flush->id);
}

static int post_readback(struct kfbrick *k, uint32_t queue,
			 const struct kfb_flush_op *flush)
{
	struct kfbl_queue *q = &k->queues[queue];
	uint32_t i = (uint32_t)(flush - k->flush[queue].posted);
	struct kfbl_ctx *ctx = &q->readback_ctx[i];
	struct kfb_piece piece;
	ssize_t rc;

	rc = kfb_blockmap_split(&k->map, flush->tail.va, flush->tail.len, false,
				&piece);
	if (rc)
		return (int)rc;
	ctx->kind = KFBL_CTX_READBACK;
	ctx->flush_id = flush->id;
	rc = fi_read(q->link.ep, q->readback + i * KFB_READBACK_BYTES,
		     flush->tail.len, k->fabric.control_desc, 0, piece.raddr,
		     piece.key, &ctx->fi);
	return rc == -FI_EAGAIN ? -EAGAIN : kfbl_errno(rc);
}

static bool pump_queue(struct kfbrick *k, uint32_t queue)
{
	struct kfb_flush_op *flush;
	bool any = false;
	uint64_t id;
	int rc;

	while ((flush = kfb_flush_post(&k->flush[queue]))) {
		id = flush->id;
		rc = k->flush_mode == KFB_FLUSH_READBACK
			     ? post_readback(k, queue, flush)
			     : post_message(k, queue, flush);
		if (rc == -EAGAIN || rc == -ENOTCONN) {
			kfb_flush_unpost(&k->flush[queue], flush);
			break;
		}
		if (rc)
			kfbl_flush_done(k, queue, id, rc);
		any = true;
	}
	return any;
}

int kfbl_flush_losses(struct kfbrick *k)
{
	const struct kfb_dirty *lost = &k->losses.ranges;
	const char *why = "they were not flushed when the brick lost its power "
			  "or its memory";

	if (k->losses.why & KFB_LOSS_SUSPECT)
		why = "the connection died before anything proved them placed";
	if (k->losses.why & KFB_LOSS_BIRTH)
		why = "the blocks have changed hands";
	if (lost->all)
		return kfbl_fail(k, -EIO,
				 "flush at %s: completed writes are lost, no "
				 "one knows which: %s",
				 k->url.text, why);
	return kfbl_fail(k, -EIO,
			 "flush at %s: completed writes are lost in %u ranges, "
			 "the first is 0x%llx+%llu: %s; write them again after "
			 "kfbrick_accept_losses()",
			 k->url.text, lost->n,
			 (unsigned long long)lost->ranges[0].va,
			 (unsigned long long)lost->ranges[0].len, why);
}

static void finish(struct kfbrick *k, struct kfbl_op *op, int error)
{
	/* Nothing is durable while anything is lost that nobody knows of. */
	if (kfb_losses_error(&k->losses))
		error = kfb_losses_error(&k->losses);
	/* A durable write answers for itself alone. */
	if (!op->durable)
		error = kfb_flush_tell(&k->untold_error, error);
	STAILQ_REMOVE(&k->flushing, op, kfbl_op, link);
	kfbl_op_done(k, op, error);
}

/* Join what is needed now; ops that need nothing are done. An error stays. */
static void begin(struct kfbrick *k, struct kfbl_op *op)
{
	op->flush_waits = false;
	if (!kfb_flush_ticket_start(&op->ticket, k->flush, k->n_queues))
		finish(k, op, op->ticket.error);
}

static void restart(struct kfbrick *k)
{
	struct kfbl_op *op;
	struct kfbl_op *next;

	k->flush_restart = false;
	for (op = STAILQ_FIRST(&k->flushing); op; op = next) {
		next = STAILQ_NEXT(op, link);
		if (kfb_losses_error(&k->losses))
			finish(k, op, -EIO);
		else if (op->flush_waits)
			begin(k, op);
	}
}

bool kfbl_flush_pump(struct kfbrick *k)
{
	bool any = false;
	uint32_t i;

	if (k->flush_restart &&
	    kfb_client_state(&k->client) == KFB_CLIENT_LIVE) {
		restart(k);
		any = true;
	}
	for (i = 0; i < k->n_queues; i++) {
		if (k->flush[i].wanted &&
		    kfb_client_usable(&k->client, i, kfbl_now_ms()))
			any |= pump_queue(k, i);
	}
	return any;
}

void kfbl_flush_done(struct kfbrick *k, uint32_t queue, uint64_t flush_id,
		     int error)
{
	struct kfbl_op *op;
	struct kfbl_op *next;

	/* One of a connection that is gone proves nothing. */
	if (kfb_flush_done(&k->flush[queue], flush_id, error))
		return;
	for (op = STAILQ_FIRST(&k->flushing); op; op = next) {
		next = STAILQ_NEXT(op, link);
		if (!op->flush_waits &&
		    kfb_flush_ticket_done(&op->ticket, queue, flush_id, error))
			finish(k, op, op->ticket.error);
	}
}

void kfbl_flush_answered(struct kfbrick *k, uint32_t queue, uint64_t flush_id,
			 const struct kfb_outcome *outcome)
{
	/* Whoever asked, and however long ago. */
	if (outcome->status == KFB_ST_IO)
		k->untold_error = -EIO;
	if (outcome->kind != KFB_OUTCOME_LATE)
		kfbl_flush_done(k, queue, flush_id, outcome->error);
}

void kfbl_flush_anew(struct kfbrick *k)
{
	struct kfbl_op *op;

	STAILQ_FOREACH(op, &k->flushing, link)
	op->flush_waits = true;
	k->flush_restart = true;
}

void kfbl_flush_lost(struct kfbrick *k, uint32_t queue)
{
	kfb_flush_lost(&k->flush[queue]);
	kfbl_flush_anew(k);
}

void kfbl_flush_fate(struct kfbrick *k, uint32_t queue, enum kfb_fate fate)
{
	struct kfb_dirty writes = { 0 };

	kfbl_flush_anew(k);
	switch (fate) {
	case KFB_FATE_PLACED:
	case KFB_FATE_FLUSH:
		break;
	case KFB_FATE_SUSPECT:
	case KFB_FATE_GONE:
		kfb_flush_take(&k->flush[queue], &writes);
		kfb_losses_add(&k->losses, &writes,
			       fate == KFB_FATE_GONE ? KFB_LOSS_EPOCH
						     : KFB_LOSS_SUSPECT);
		return;
	}
	/* In a new session the blocks of a queue may be another's. */
	if (queue && k->session_id != k->client.session_id) {
		kfb_flush_take(&k->flush[queue], &writes);
		kfb_flush_put(&k->flush[0], &writes);
	}
	/* Nobody waits for it, but the sooner the better. */
	if (fate == KFB_FATE_FLUSH && k->flush_mode != KFB_FLUSH_NONE)
		kfb_flush_join(&k->flush[0]);
}

bool kfbl_flush_is_dirty_in(const struct kfbrick *k, uint64_t va, uint64_t len)
{
	uint32_t i;

	for (i = 0; i < k->n_queues; i++) {
		if (kfb_flush_is_dirty_in(&k->flush[i], va, len))
			return true;
	}
	return false;
}

void kfbl_flush_follow(struct kfbrick *k, struct kfbl_op *op)
{
	op->kind = KFBL_OP_FLUSH;
	op->flush_waits = true;
	kfb_flush_ticket_init(&op->ticket);
	STAILQ_INSERT_TAIL(&k->flushing, op, link);
	if (kfb_losses_error(&k->losses))
		finish(k, op, -EIO);
	else if (k->flush_mode == KFB_FLUSH_NONE)
		finish(k, op, -EOPNOTSUPP);
	else if (kfb_client_state(&k->client) == KFB_CLIENT_LIVE)
		begin(k, op);
}

void kfbl_flush_start(struct kfbrick *k, struct kfbl_op *op)
{
	op->state = KFBL_OP_ACTIVE;
	k->n_active++;
	op->error = 0;
	op->len = 0;
	kfbl_flush_follow(k, op);
	kfbl_flush_pump(k);
}

int kfbrick_post_flush(struct kfbrick *k, void *context)
{
	struct kfbl_op *op;

	if (kfbl_is_over(k))
		return kfbl_not_connected(k);
	op = kfbl_op_get(k, false);
	if (!op)
		return kfbl_fail(k, -EAGAIN,
				 "%u operations are not collected: poll first",
				 k->queue_depth);
	op->context = context;
	kfbl_flush_start(k, op);
	return 0;
}

size_t kfbrick_losses(struct kfbrick *k, struct kfbrick_range *ranges,
		      size_t max)
{
	const struct kfb_dirty *lost = &k->losses.ranges;
	size_t i;

	if (lost->all) {
		if (max)
			ranges[0] = (struct kfbrick_range){ .len = UINT64_MAX };
		return 1;
	}
	for (i = 0; i < lost->n && i < max; i++) {
		ranges[i].va = lost->ranges[i].va;
		ranges[i].len = lost->ranges[i].len;
	}
	return lost->n;
}

/* What is under way may count on a write that is lost: it has to say so. */
static void fail_what_is_unsure(struct kfbrick *k)
{
	struct kfbl_op *op;

	while ((op = STAILQ_FIRST(&k->flushing)))
		finish(k, op, -EIO);
	for (uint32_t i = 0; i < k->queue_depth; i++) {
		op = &k->ops[i];
		if (op->state == KFBL_OP_ACTIVE && op->durable &&
		    op->uncommitted && !op->error)
			op->error = -EIO;
	}
}

void kfbrick_accept_losses(struct kfbrick *k)
{
	if (kfb_losses_error(&k->losses))
		fail_what_is_unsure(k);
	kfb_losses_reset(&k->losses);
}
