// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: messages of the control protocol on their way, those who wait for an
 * answer, and the upcall that all completions of a queue come through.
 *
 * Replies are handled where they arrive: a FLUSH request's is on the way of
 * somebody's fsync. Only what is more than an answer wakes the session work.
 */
#include "kfb_initiator_retain.h"
#include "link.h"
#include "../io/requests.h"

int kfbk_send(struct kfb_initiator_queue *core,
	      const struct kfb_message *message)
{
	struct kfbk_queue *q = kfbk_queue_of(core);
	struct kfbk_ctx *ctx = kfbk_ctx_at(q->dev, q->tx_ctx, message->tx);
	struct fi_msg msg = {
		.buf = fi_buf_linear(message->data, message->len),
		.addr = FI_ADDR_UNSPEC,
		.context = &ctx->fi,
	};
	ssize_t ret;

	lockdep_assert_held(&q->dev->lock);
	if (!q->ep)
		return -ENOTCONN;
	ret = fi_sendmsg(q->ep, &msg, FI_COMPLETION);
	if (ret && ret != -FI_EAGAIN)
		kfbk_queue_failed(q, ret);
	return ret;
}

static u8 *kfbk_rx_buffer(const struct kfbk_queue *q, u16 index)
{
	return q->rx + index * PAGE_ALIGN(KFB_REPLY_MAX_BYTES);
}

int kfbk_post_receive(struct kfb_initiator_queue *core, u16 index)
{
	struct kfbk_queue *q = kfbk_queue_of(core);
	struct kfbk_ctx *ctx = kfbk_ctx_at(q->dev, q->rx_ctx, index);
	struct fi_msg msg = {
		.buf = fi_buf_linear(kfbk_rx_buffer(q, index),
				     KFB_REPLY_MAX_BYTES),
		.addr = FI_ADDR_UNSPEC,
		.context = &ctx->fi,
	};

	lockdep_assert_held(&q->dev->lock);
	return fi_recvmsg(q->ep, &msg, FI_COMPLETION);
}

/* ---- completions ------------------------------------------------------ */

/* What no request of blk-mq waits for is the core's. dev->lock is held. */
static void kfbk_core_completed(struct kfbk_queue *q,
				const struct kfbk_ctx *ctx,
				const struct fi_cq_err_entry *entry)
{
	bool is_news;

	if (ctx->kind == KFBK_CTX_REPLAY) {
		if (!entry->err)
			kfbk_retain_written(q, ctx->index);
		kfb_initiator_replayed(&q->core, ctx->index, -entry->err);
	} else if (entry->err) {
		return;
	} else if (ctx->kind == KFBK_CTX_RECV) {
		is_news = kfb_initiator_received(&q->core, ctx->index,
						 kfbk_rx_buffer(q, ctx->index),
						 entry->len);
		kfbk_note_lease(q->dev);
		if (is_news || q->dev->is_quiesced)
			kfbk_kick(q->dev);
	} else if (ctx->kind == KFBK_CTX_READBACK) {
		kfb_initiator_flushed(&q->core, ctx->id, 0);
	} else if (q->ep) {
		kfb_initiator_sent(&q->core, ctx->index);
	}
}

/*
 * Context: upcall. A failure ends the connection; what it means for a request
 * of blk-mq is data.c's affair, the rest is lost with the connection.
 */
void kfbk_completed(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
		    void *context)
{
	struct kfbk_ctx *ctx =
		container_of(entry->op_context, struct kfbk_ctx, fi);
	struct kfbk_queue *q = context;

	if (entry->err) {
		atomic_long_inc(&q->n_ops[KFBK_OP_ERROR]);
		kfbk_queue_failed(q, -entry->err);
	}
	/* Nothing in the protocol lets a brick write to us. */
	if (entry->flags & FI_REMOTE_CQ_DATA) {
		kfbk_queue_failed(q, -EPROTO);
		return;
	}
	if (ctx->kind == KFBK_CTX_DATA || ctx->kind == KFBK_CTX_FUA) {
		kfbk_data_done(q, ctx, entry);
		return;
	}
	kfbk_lock(q->dev);
	kfbk_core_completed(q, ctx, entry);
	kfbk_unlock(q->dev);
}
