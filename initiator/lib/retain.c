// SPDX-License-Identifier: BSD-2-Clause
/*
 * The bytes of retained copies; which there are, and when they are written again,
 * is the core's: kfb_initiator_retain.h.
 *
 * All memory is there when the connection is made. What is posted has its bytes
 * copied before; what finds no room is put off like what the fabric's queue has
 * no room for.
 */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int kfbl_retain_init(struct kfbrick *k)
{
	struct kfbl_retain *t = &k->retain;

	t->n_pages = (uint32_t)(t->want_bytes >> KFB_RETAIN_PAGE_SHIFT);
	if (!t->n_pages)
		return 0;
	/* Each has a page at least. */
	t->n_copies = 1;
	while (t->n_copies < t->n_pages)
		t->n_copies *= 2;
	t->copies = calloc(t->n_copies, sizeof(*t->copies));
	t->newest = calloc(t->n_copies, sizeof(*t->newest));
	t->bytes = malloc(kfbl_retain_bytes(t));
	return t->copies && t->newest && t->bytes ? 0 : -ENOMEM;
}

void kfbl_retain_fini(struct kfbrick *k)
{
	free(k->retain.copies);
	free(k->retain.newest);
	free(k->retain.bytes);
}

/* What is volatile cannot be saved. */
void kfbl_retain_open(struct kfbrick *k)
{
	struct kfbl_retain *t = &k->retain;

	if (!t->n_pages || k->core.retain.is_on ||
	    !kfb_flush_mode_has_cache(k->core.flush_mode))
		return;
	kfb_initiator_retain_open(&k->core, t->copies, t->newest, t->n_copies,
				  t->n_pages);
	/* Copies make room by flushes: a medium without is another one. */
	k->core.has_promised = true;
}

static uint8_t *bytes_at(const struct kfbrick *k, uint32_t page)
{
	return k->retain.bytes + ((size_t)page << KFB_RETAIN_PAGE_SHIFT);
}

/*
 * There is room when a flush is over. Which failed before the write began to wait is
 * nothing to it; the one that it waits for is: else it would wait for ever where a
 * brick makes nothing durable. One write has to say so, and the next waits anew.
 */
static int wait_for_room(struct kfbrick *k, struct kfbl_op *op)
{
	int error = op->waits_for_room ? k->core.retain.error : 0;

	op->waits_for_room = true;
	k->core.retain.error = 0;
	kfb_initiator_retain_pump(&k->core);
	/* A flush may have failed at once. */
	if (!error)
		error = k->core.retain.error;
	return error ? error : -EAGAIN;
}

int kfbl_retain_piece(struct kfbrick *k, struct kfbl_ctx *ctx)
{
	struct kfbl_op *op = ctx->op;
	__u64 copy;
	__u32 page;

	if (!k->core.retain.is_on)
		return 0;
	switch (kfb_initiator_copy(&k->core, op->va + ctx->offset,
				   (uint32_t)ctx->len, false, &copy, &page)) {
	case 0:
		break;
	case -EBUSY:
		return -EAGAIN;
	case -EAGAIN:
		return wait_for_room(k, op);
	default:
		return -EINVAL;
	}
	op->waits_for_room = false;
	ctx->copy = copy;
	memcpy(bytes_at(k, page), op->buf + ctx->offset, ctx->len);
	return 0;
}

void kfbl_retain_over(struct kfbrick *k, struct kfbl_ctx *ctx,
		      enum kfb_copy_end end)
{
	uint32_t bits = kfb_initiator_copy_over(&k->core, ctx->copy, end);

	ctx->copy = KFB_RETAIN_NONE;
	if (bits & KFB_COPY_FILLS)
		kfb_initiator_retain_pump(&k->core);
	if (bits & KFB_COPY_IDLE)
		k->has_changed = true;
}

int kfbl_retain_write_copy(struct kfb_initiator_queue *core, __u32 slot,
			   const struct kfb_retain_piece *piece, __u32 page,
			   const struct kfb_initiator_place *to)
{
	struct kfbrick *k = kfbl_of(core->initiator);
	struct kfbl_queue *q = kfbl_queue_of(core);
	struct kfbl_ctx *ctx = &k->retain.ctx[slot];
	void *desc =
		k->fabric.retain_mr ? fi_mr_desc(k->fabric.retain_mr) : NULL;
	struct iovec iov = { .iov_base = bytes_at(k, page) + piece->offset,
			     .iov_len = piece->len };
	struct fi_rma_iov rma = { .addr = to->raddr, .key = to->key };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = &desc,
				  .iov_count = 1,
				  .rma_iov = &rma,
				  .rma_iov_count = 1,
				  .context = &ctx->fi };
	ssize_t rc;

	if (iov.iov_len > k->fabric.piece_max)
		iov.iov_len = k->fabric.piece_max;
	iov.iov_len = kfb_window_piece(&core->window,
				       kfb_bucket_piece(&k->rate, iov.iov_len));
	if (!iov.iov_len || kfbl_is_over_rate(k))
		return -EAGAIN;
	rma.len = iov.iov_len;
	ctx->kind = KFBL_CTX_REPLAY;
	ctx->index = (uint16_t)slot;
	ctx->error = -ECONNRESET;
	if (!q->link.ep)
		return -ENOTCONN;
	rc = fi_writemsg(q->link.ep, &msg, kfbl_write_flags(k));
	if (rc && rc != -FI_EAGAIN)
		kfb_initiator_lost(core, -ECONNRESET,
				   "a copy cannot be written again",
				   fi_strerror((int)-rc));
	if (rc)
		return kfbl_errno(rc);
	ctx->q = q;
	ctx->len = iov.iov_len;
	kfb_bucket_take(&k->rate, ctx->len, 1);
	kfb_window_posted(&core->window, ctx->len, kfbl_now_ms(), &ctx->mark);
	return (int)ctx->len;
}

void kfbl_retain_written(struct kfbrick *k, struct kfbl_ctx *ctx)
{
	struct kfbl_queue *q = ctx->q;

	ctx->q = NULL;
	k->moved_bytes += ctx->len;
	kfb_initiator_moved(&q->core, ctx->len, &ctx->mark, kfbl_now_ms());
	kfb_initiator_replayed(&q->core, ctx->index, 0);
}

void kfbl_retain_lost(struct kfbrick *k, struct kfbl_queue *q)
{
	uint32_t slot;

	for (slot = 0; slot < KFB_INITIATOR_REPLAYS; slot++) {
		struct kfbl_ctx *ctx = &k->retain.ctx[slot];

		if (ctx->q != q)
			continue;
		ctx->q = NULL;
		kfb_initiator_replayed(&q->core, slot, ctx->error);
	}
}
