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

static int post_message(struct kfbrick *k, const struct kfb_flush_op *flush)
{
	struct kfb_request req = { .op = KFB_OP_FLUSH };

	if (flush->dirty.all) {
		req.u.flush.flags = KFB_FLUSH_ALL;
	} else {
		req.u.flush.n_ranges = flush->dirty.n;
		memcpy(req.u.flush.ranges, flush->dirty.ranges,
		       flush->dirty.n * sizeof(flush->dirty.ranges[0]));
	}
	return kfbl_call_async(k, &req, KFBL_CALL_FLUSH, flush->id);
}

static int post_readback(struct kfbrick *k, const struct kfb_flush_op *flush)
{
	uint32_t i = (uint32_t)(flush - k->flush.posted);
	struct kfbl_ctx *ctx = &k->readback_ctx[i];
	struct kfb_piece piece;
	ssize_t rc;

	rc = kfb_blockmap_split(&k->map, flush->tail.va, flush->tail.len, false,
				&piece);
	if (rc)
		return (int)rc;
	ctx->kind = KFBL_CTX_READBACK;
	ctx->flush_id = flush->id;
	rc = fi_read(k->fabric.ep, k->readback + i * KFB_READBACK_BYTES,
		     flush->tail.len, k->fabric.control_desc, 0, piece.raddr,
		     piece.key, &ctx->fi);
	return rc == -FI_EAGAIN ? -EAGAIN : kfbl_errno(rc);
}

bool kfbl_flush_pump(struct kfbrick *k)
{
	struct kfb_flush_op *flush;
	bool any = false;
	uint64_t id;
	int rc;

	while (!k->lost && (flush = kfb_flush_post(&k->flush))) {
		id = flush->id;
		rc = k->flush_mode == KFB_FLUSH_READBACK
			     ? post_readback(k, flush)
			     : post_message(k, flush);
		if (rc == -EAGAIN) {
			kfb_flush_unpost(&k->flush, flush);
			break;
		}
		if (rc)
			kfbl_flush_done(k, id, rc);
		any = true;
	}
	return any;
}

void kfbl_flush_done(struct kfbrick *k, uint64_t flush_id, int error)
{
	struct kfbl_op *op;
	struct kfbl_op *next;

	kfb_flush_done(&k->flush, flush_id, error);
	for (op = STAILQ_FIRST(&k->flushing); op; op = next) {
		next = STAILQ_NEXT(op, link);
		if (op->flush_id != flush_id)
			continue;
		STAILQ_REMOVE(&k->flushing, op, kfbl_op, link);
		kfbl_op_done(k, op, error);
	}
}

void kfbl_flush_start(struct kfbrick *k, struct kfbl_op *op)
{
	op->kind = KFBL_OP_FLUSH;
	op->state = KFBL_OP_ACTIVE;
	op->error = 0;
	op->len = 0;
	if (k->flush_mode == KFB_FLUSH_NONE) {
		kfbl_op_done(k, op, -EOPNOTSUPP);
		return;
	}
	op->flush_id = kfb_flush_join(&k->flush);
	if (!op->flush_id) {
		kfbl_op_done(k, op, 0);
		return;
	}
	STAILQ_INSERT_TAIL(&k->flushing, op, link);
	kfbl_flush_pump(k);
}

int kfbrick_post_flush(struct kfbrick *k, void *context)
{
	struct kfbl_op *op;

	if (k->lost)
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
