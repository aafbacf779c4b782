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
#include "requests.h"

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

static void kfbk_received(struct kfbk_queue *q, u16 index, u32 len)
{
	struct kfbk_device *dev = q->dev;
	bool is_news;

	kfbk_lock(dev);
	is_news = kfb_initiator_received(&q->core, index,
					 kfbk_rx_buffer(q, index), len);
	kfbk_note_lease(dev);
	if (is_news || dev->is_quiesced)
		kfbk_kick(dev);
	kfbk_unlock(dev);
}

static void kfbk_sent(struct kfbk_queue *q, u16 index)
{
	struct kfbk_device *dev = q->dev;

	kfbk_lock(dev);
	if (q->ep)
		kfb_initiator_sent(&q->core, index);
	kfbk_unlock(dev);
}

static void kfbk_read_back(struct kfbk_queue *q, u64 id)
{
	kfbk_lock(q->dev);
	kfb_initiator_flushed(&q->core, id, 0);
	kfbk_unlock(q->dev);
}

static void kfbk_replayed(struct kfbk_queue *q, u16 slot,
			  const struct fi_cq_err_entry *entry)
{
	kfbk_lock(q->dev);
	kfb_initiator_replayed(&q->core, slot, -entry->err,
			       entry->err && kfbk_is_at_fault(entry));
	kfbk_unlock(q->dev);
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
	/* A brick that writes to us: nothing in the protocol does. */
	if (entry->flags & FI_REMOTE_CQ_DATA) {
		kfbk_queue_failed(q, -EPROTO);
		return;
	}
	switch (ctx->kind) {
	case KFBK_CTX_RECV:
		if (!entry->err)
			kfbk_received(q, ctx->index, entry->len);
		break;
	case KFBK_CTX_SEND:
		if (!entry->err)
			kfbk_sent(q, ctx->index);
		break;
	case KFBK_CTX_DATA:
	case KFBK_CTX_FUA:
		kfbk_data_done(q, ctx, entry);
		break;
	case KFBK_CTX_READBACK:
		if (!entry->err)
			kfbk_read_back(q, ctx->id);
		break;
	case KFBK_CTX_REPLAY:
		kfbk_replayed(q, ctx->index, entry);
		break;
	}
}
