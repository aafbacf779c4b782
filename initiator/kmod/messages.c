// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: messages of the control protocol on their way, and the upcall that
 * all completions of a queue come through.
 *
 * Replies are handled where they arrive: a FLUSH request's is on the way of
 * somebody's fsync. Only what is more than an answer wakes the session work.
 */
#include "kfbrick.h"
#include "kfb_err.h"
#include "kfb_ops.h"

/* 0, -EAGAIN (no room), or the connection is lost. */
static int send_now(struct kfbk_queue *q, const struct kfb_message *message)
{
	struct kfbk_ctx *ctx = kfbk_ctx_at(q->dev, q->tx_ctx, message->tx);
	struct fi_msg msg = {
		.buf = fi_buf_linear(message->data, message->len),
		.addr = FI_ADDR_UNSPEC,
		.context = &ctx->fi,
	};
	ssize_t ret;

	if (!q->ep)
		return -ENOTCONN;
	ret = fi_sendmsg(q->ep, &msg, FI_COMPLETION);
	if (ret && ret != -FI_EAGAIN)
		kfbk_queue_failed(q, ret);
	return ret;
}

void kfbk_send(struct kfbk_queue *q, const struct kfb_message *message)
{
	lockdep_assert_held(&q->dev->lock);
	/* There is room for every buffer. */
	if (q->n_unsent || send_now(q, message) == -FI_EAGAIN)
		q->unsent[q->n_unsent++] = *message;
}

void kfbk_send_unsent(struct kfbk_queue *q)
{
	u32 n = 0;

	lockdep_assert_held(&q->dev->lock);
	while (n < q->n_unsent && !send_now(q, &q->unsent[n]))
		n++;
	q->n_unsent -= n;
	memmove(&q->unsent[0], &q->unsent[n],
		q->n_unsent * sizeof(q->unsent[0]));
}

static u8 *rx_buffer(const struct kfbk_queue *q, u16 index)
{
	return q->rx + index * PAGE_ALIGN(KFB_REPLY_MAX_BYTES);
}

static int post_receive(struct kfbk_queue *q, u16 index)
{
	struct kfbk_ctx *ctx = kfbk_ctx_at(q->dev, q->rx_ctx, index);
	struct fi_msg msg = {
		.buf = fi_buf_linear(rx_buffer(q, index), KFB_REPLY_MAX_BYTES),
		.addr = FI_ADDR_UNSPEC,
		.context = &ctx->fi,
	};

	return fi_recvmsg(q->ep, &msg, FI_COMPLETION);
}

int kfbk_post_receives(struct kfbk_queue *q, u32 n)
{
	int ret;

	lockdep_assert_held(&q->dev->lock);
	while (q->n_rx < n && q->n_rx < KFBK_RX_MAX) {
		ret = post_receive(q, q->n_rx);
		if (ret)
			return ret;
		q->n_rx++;
	}
	return 0;
}

static void bad_message(struct kfbk_device *dev,
			const struct kfb_outcome *outcome, int error)
{
	if (error == -EKEYREJECTED)
		kfbk_say(dev, "authentication failed: the key is not the one "
			      "the brick has for this client, or it knows no "
			      "such client");
	else if (error == -ESTALE)
		kfbk_say(dev, "this is another brick than expected");
	else if (outcome->status)
		kfbk_say(dev, "the brick refused %s: %s",
			 kfb_op_name(outcome->op),
			 kfb_status_text(outcome->status));
	else
		kfbk_say(dev, "the brick sent what it may not send");
}

/* How long handles are good, for those who do not hold the lock. */
static void note_lease(struct kfbk_device *dev)
{
	const struct kfb_client *c = &dev->client;
	u64 until_ms = 0;
	u32 i;

	for (i = 0; i < c->config.n_queues; i++) {
		if (c->queues[i].was_ready)
			until_ms = max(until_ms,
				       c->queues[i].engine.lease.until_ms);
	}
	if (!c->info.lease_ms)
		until_ms = KFB_TIME_NEVER;
	atomic64_set(&dev->lease_until_ms, until_ms);
}

/* Is there more to do than to tell who waits for it? */
static bool is_news(const struct kfbk_device *dev, int news,
		    const struct kfb_outcome *outcome)
{
	return news != 1 || outcome->kind != KFB_OUTCOME_REPLY ||
	       outcome->op != KFB_OP_FLUSH || !list_empty(&dev->calls) ||
	       dev->is_quiesced;
}

static void received(struct kfbk_queue *q, u16 index, u32 len)
{
	struct kfbk_device *dev = q->dev;
	struct kfb_engine *engine = &dev->client.queues[q->index].engine;
	struct kfb_outcome outcome = {};
	int news;

	kfbk_lock(dev);
	/* What comes after the end of a connection is nobody's. */
	if (!q->ep || kfb_engine_state(engine) == KFB_CONN_CLOSING)
		goto unlock;
	news = kfb_client_receive(&dev->client, q->index, rx_buffer(q, index),
				  len, kfbk_now_ms(), &dev->rx_reply, &outcome);
	if (news < 0) {
		bad_message(dev, &outcome, news);
		kfbk_kick(dev);
		goto unlock;
	}
	note_lease(dev);
	if (post_receive(q, index))
		kfbk_queue_failed(q, -ECONNRESET);
	if (news && outcome.kind == KFB_OUTCOME_REPLY)
		kfbk_answered(q, &outcome);
	if (news && outcome.kind == KFB_OUTCOME_LATE)
		kfbk_answered_late(q, &outcome);
	if (is_news(dev, news, &outcome))
		kfbk_kick(dev);
unlock:
	kfbk_unlock(dev);
}

static void sent(struct kfbk_queue *q, u16 index)
{
	struct kfbk_device *dev = q->dev;

	kfbk_lock(dev);
	if (q->ep)
		kfb_engine_sent(&dev->client.queues[q->index].engine, index);
	kfbk_unlock(dev);
}

static void read_back(struct kfbk_queue *q, u64 id)
{
	kfbk_lock(q->dev);
	kfbk_flush_done(q, id, 0);
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
			received(q, ctx->index, entry->len);
		break;
	case KFBK_CTX_SEND:
		if (!entry->err)
			sent(q, ctx->index);
		break;
	case KFBK_CTX_DATA:
	case KFBK_CTX_FUA:
		kfbk_data_done(q, ctx, entry);
		break;
	case KFBK_CTX_READBACK:
		if (!entry->err)
			read_back(q, ctx->id);
		break;
	case KFBK_CTX_REPLAY:
		kfbk_replay_done(q, ctx->index, entry->err,
				 entry->err && kfbk_is_at_fault(entry));
		break;
	}
}
