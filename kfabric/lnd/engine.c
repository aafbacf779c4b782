// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_lnd: the engine: takes what the fabric has done, gives it to the core, and sends
 * what the core wants to be sent.
 *
 * Context: process, but where a function says otherwise; klnd_net.lock is held. What is
 * called for a struct klnd_rx lets it go for the upper layer.
 */
#include <linux/kernel.h>
#include <linux/sched/mm.h>
#include <linux/string.h>
#include <kfabric/kfi_buf.h>

#include "lnd.h"

/* Context: any. */
void klnd_engine_kick(struct klnd_net *net)
{
	mod_delayed_work(klnd_wq, &net->engine, 0);
}

/* Context: upcall. */
void klnd_completed(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
		    void *context)
{
	struct klnd_op *op =
		container_of(entry->op_context, struct klnd_op, fi);
	struct klnd_net *net = context;
	unsigned long flags;

	op->err = entry->err;
	op->len = entry->len;
	op->src = entry->src_addr;
	op->tag = entry->tag;
	spin_lock_irqsave(&net->done_lock, flags);
	list_add_tail(&op->node, &net->done);
	spin_unlock_irqrestore(&net->done_lock, flags);
	klnd_engine_kick(net);
}

/**
 * klnd_post_recv() - wait for a message
 * @op: KLND_RECV or KLND_ANSWER
 *
 * Return: 0; -errno of the post.
 */
int klnd_post_recv(struct klnd_op *op)
{
	struct fid_ep *ep = op->net->ep;

	/* The tag names a transaction; whichever it is the core finds. */
	if (op->kind == KLND_ANSWER)
		return fi_trecv(ep, op->buf, KLND_ANSWER_BYTES, NULL,
				FI_ADDR_UNSPEC, 0, ~0ULL, &op->fi);
	return fi_recv(ep, op->buf, LNDW_MESSAGE_MAX, NULL, FI_ADDR_UNSPEC,
		       &op->fi);
}

/* The device is gone. */
static void klnd_net_died(struct klnd_net *net)
{
	if (net->is_dead)
		return;
	net->is_dead = true;
	klnd_requests_end(net);
}

/**
 * klnd_peer_is_dirty() - there may be something to send
 * @peer: whom it is for
 */
void klnd_peer_is_dirty(struct klnd_peer *peer)
{
	if (list_empty(&peer->dirty))
		list_add_tail(&peer->dirty, &peer->net->dirty);
}

static void klnd_send(struct klnd_peer *peer, struct klnd_op *op,
		      const struct lndw_msg *msg)
{
	struct klnd_net *net = peer->net;
	u32 bytes = lndw_head_bytes(msg->kind);
	struct klnd_request *req;
	ssize_t ret;

	lndw_encode(msg, op->buf);
	if (msg->kind == LNDW_IMMEDIATE) {
		/* A copy: the request may be over before this message is sent. */
		req = (struct klnd_request *)(uintptr_t)msg->cookie;
		kfi_buf_get(op->buf + bytes, &req->buf, 0, req->buf.len);
		bytes += msg->bytes;
	}
	op->peer = peer;
	op->msg = msg->kind;
	op->seq = msg->seq;
	net->counts.sent++;
	if (lndw_is_answer(msg->kind))
		ret = fi_tsend(net->ep, op->buf, bytes, NULL, peer->addr,
			       msg->seq, &op->fi);
	else
		ret = fi_send(net->ep, op->buf, bytes, NULL, peer->addr,
			      &op->fi);
	if (!ret)
		return;
	net->counts.unsent++;
	list_add(&op->node, &net->free);
	lndw_sent(&peer->core, msg->kind, msg->seq, 0, klnd_now_ms());
	if (ret == -ENODEV)
		klnd_net_died(net);
}

/**
 * klnd_pump() - send a peer what it is to be sent, as far as there are sends
 * @peer: peer
 */
void klnd_pump(struct klnd_peer *peer)
{
	struct klnd_net *net = peer->net;
	u64 now_ms = klnd_now_ms();
	struct lndw_msg msg;
	struct klnd_op *op;

	if (net->is_closing || net->is_dead)
		return;
	klnd_requests_begin(peer);
	while (!list_empty(&net->free)) {
		if (!lndw_next(&peer->core, now_ms, &msg)) {
			list_del_init(&peer->dirty);
			return;
		}
		op = list_first_entry(&net->free, struct klnd_op, node);
		list_del(&op->node);
		klnd_send(peer, op, &msg);
	}
	klnd_peer_is_dirty(peer);
}

/* What came is a peer's, from where it is, and by the way that its kind takes. */
static struct klnd_peer *klnd_sender(const struct klnd_op *op,
				     struct lndw_msg *msg)
{
	struct klnd_peer *peer;
	bool is_answer = op->kind == KLND_ANSWER;

	if (lndw_decode(op->buf, op->len, msg) ||
	    lndw_is_answer(msg->kind) != is_answer ||
	    (is_answer && op->tag != msg->seq))
		return NULL;
	peer = klnd_peer_find(op->net, msg->src_nid);
	return peer && peer->addr == op->src ? peer : NULL;
}

static void klnd_take_message(struct klnd_op *op)
{
	struct klnd_net *net = op->net;
	struct klnd_counts *c = &net->counts;
	enum lndw_verdict verdict;
	struct klnd_peer *peer;
	struct klnd_rx *rx;
	struct lndw_msg msg;
	const u8 *bytes;

	peer = klnd_sender(op, &msg);
	if (!peer) {
		c->strange++;
		return;
	}
	bytes = op->buf + lndw_head_bytes(msg.kind);
	verdict = lndw_arrived(&peer->core, &msg, klnd_now_ms());
	c->repeated += verdict == LNDW_REPEATED;
	c->over += verdict == LNDW_OVER;
	c->busy += verdict == LNDW_BUSY;
	c->old += verdict == LNDW_OLD;
	c->other += verdict == LNDW_OTHER;
	c->wrong += verdict == LNDW_WRONG;
	rx = net->begun;
	net->begun = NULL;
	if (rx)
		klnd_rx_start(rx, bytes);
	klnd_peer_is_dirty(peer);
}

static void klnd_take(struct klnd_op *op)
{
	struct klnd_net *net = op->net;

	if (op->err == FI_ENODEV)
		klnd_net_died(net);
	switch (op->kind) {
	case KLND_SEND:
		net->counts.unsent += !!op->err;
		lndw_sent(&op->peer->core, op->msg, op->seq, !op->err,
			  klnd_now_ms());
		klnd_peer_is_dirty(op->peer);
		list_add(&op->node, &net->free);
		break;
	case KLND_MOVE:
		klnd_rx_moved(op->rx, op->err);
		break;
	default:
		if (net->is_closing || net->is_dead)
			break;
		if (!op->err)
			klnd_take_message(op);
		else
			net->counts.strange++;
		if (!net->is_closing && klnd_post_recv(op) == -ENODEV)
			klnd_net_died(net);
		break;
	}
}

/*
 * Take what is done: not on and on, since receives that are posted anew may be done at
 * once, and not for longer than until time is looked at again. A net that closes posts
 * nothing, so that this has an end, and nobody comes back for the rest.
 *
 * Return: there may be more.
 */
static bool klnd_take_done(struct klnd_net *net)
{
	u64 until_ms = klnd_now_ms() + KLND_TICK_MS;
	struct klnd_op *op;
	unsigned int n;

	for (n = 0;
	     net->is_closing || (n < KLND_TAKES && klnd_now_ms() < until_ms);
	     n++) {
		spin_lock_irq(&net->done_lock);
		op = list_first_entry_or_null(&net->done, struct klnd_op, node);
		if (op)
			list_del(&op->node);
		spin_unlock_irq(&net->done_lock);
		if (!op)
			return false;
		klnd_take(op);
	}
	return true;
}

/* Return: there is something that time changes. */
static bool klnd_tick(struct klnd_net *net)
{
	u64 now_ms = klnd_now_ms();
	struct klnd_peer *peer;
	bool is_busy = false;
	unsigned int i;

	if (now_ms >= net->tick_ms) {
		net->tick_ms = now_ms + KLND_TICK_MS;
		klnd_rx_tick(net, now_ms);
		for_each_klnd_peer(net, peer, i)
		{
			lndw_tick(&peer->core, now_ms);
			klnd_requests_drop(peer, now_ms, LNDW_UNREACHED);
			if (peer->core.outstanding)
				klnd_peer_is_dirty(peer);
		}
	}
	for_each_klnd_peer(net, peer, i) is_busy |=
		peer->core.outstanding || !list_empty(&peer->waiting);
	return is_busy || !list_empty(&net->retries);
}

/**
 * klnd_engine() - do what there is to do
 * @work: of the net
 */
void klnd_engine(struct work_struct *work)
{
	struct klnd_net *net =
		container_of(to_delayed_work(work), struct klnd_net, engine);
	unsigned int noio = memalloc_noio_save();
	struct klnd_peer *peer, *next;
	bool is_busy, has_more;
	LIST_HEAD(dirty);

	mutex_lock(&net->lock);
	has_more = klnd_take_done(net);
	is_busy = klnd_tick(net);
	list_splice_init(&net->dirty, &dirty);
	list_for_each_entry_safe(peer, next, &dirty, dirty) {
		list_del_init(&peer->dirty);
		klnd_pump(peer);
	}
	if (!list_empty(&net->ended))
		queue_work(klnd_wq, &net->reaper);
	is_busy |= !list_empty(&net->dirty);
	if (has_more && !net->is_closing)
		klnd_engine_kick(net);
	else if (is_busy && !net->is_closing)
		queue_delayed_work(klnd_wq, &net->engine,
				   msecs_to_jiffies(KLND_TICK_MS));
	mutex_unlock(&net->lock);
	memalloc_noio_restore(noio);
}
