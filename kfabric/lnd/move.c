// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_lnd: puts and gets of peers: which buffer is meant, and the bytes, which this
 * end reads from or writes to the peer's memory. That can be done again from the start as
 * long as the peer waits for it: nobody was told of the bytes before all of them were there.
 *
 * Context: process, but where a function says otherwise; klnd_net.lock is held, and let go
 * while the upper layer is called.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <kfabric/kfi_buf.h>

#include "lnd.h"

/* The core's: take on a transaction. The engine starts it when the core has returned. */
void klnd_begun(struct lndw_peer *core, unsigned int place,
		const struct lndw_msg *msg)
{
	struct klnd_peer *peer = container_of(core, struct klnd_peer, core);
	struct klnd_net *net = peer->net;
	struct klnd_rx *rx;

	rx = kzalloc(offsetof(struct klnd_rx, op) + net->op_bytes,
		     GFP_KERNEL | __GFP_NOWARN);
	if (!rx) {
		lndw_rx_done(core, place, LNDW_FAILED, 0);
		return;
	}
	rx->peer = peer;
	rx->place = place;
	rx->is_immediate = msg->kind == LNDW_IMMEDIATE;
	rx->key = msg->key;
	rx->deadline_ms = klnd_now_ms() + msg->left_ms;
	rx->in = (struct klnd_incoming){
		.nid = core->nid,
		.match = msg->match,
		.word = msg->word,
		.bytes = msg->bytes,
		.is_get = msg->kind == LNDW_GET,
	};
	rx->op.kind = KLND_MOVE;
	rx->op.net = net;
	rx->op.rx = rx;
	net->begun = rx;
}

static void klnd_rx_answer(struct klnd_rx *rx, enum lndw_status status,
			   u32 bytes)
{
	lndw_rx_done(&rx->peer->core, rx->place, status, bytes);
	klnd_peer_is_dirty(rx->peer);
	kfree(rx);
}

/* The upper layer has it before the peer is told. */
static void klnd_rx_finish(struct klnd_rx *rx, int error)
{
	struct klnd_net *net = rx->peer->net;
	u32 bytes = error ? 0 : rx->in.buf.len;
	enum lndw_status status = error == -EMSGSIZE ? LNDW_TOO_LONG
				  : error	     ? LNDW_FAILED
						     : LNDW_DONE;

	mutex_unlock(&net->lock);
	net->attr.ops->event(net->attr.context, &rx->in, error, bytes);
	mutex_lock(&net->lock);
	klnd_rx_answer(rx, status, bytes);
}

static bool klnd_rx_goes_on(const struct klnd_rx *rx, u64 now_ms)
{
	const struct klnd_net *net = rx->peer->net;

	return !net->is_closing && !net->is_dead && now_ms < rx->deadline_ms &&
	       lndw_rx_is_wanted(&rx->peer->core, rx->place);
}

static void klnd_rx_retry_later(struct klnd_rx *rx, u64 now_ms)
{
	rx->retry_ms = now_ms + KLND_RETRY_MS;
	list_add_tail(&rx->node, &rx->peer->net->retries);
}

static void klnd_rx_move(struct klnd_rx *rx)
{
	struct klnd_net *net = rx->peer->net;
	struct fi_rma_iov iov = { .len = rx->in.buf.len, .key = rx->key };
	struct fi_msg_rma msg = {
		.buf = rx->in.buf,
		.rma_iov = &iov,
		.rma_iov_count = 1,
		.addr = rx->peer->addr,
		.context = &rx->op.fi,
	};
	ssize_t ret;

	/* The reply says that the bytes are there. */
	if (rx->in.is_get)
		ret = fi_writemsg(net->ep, &msg,
				  FI_COMPLETION | FI_DELIVERY_COMPLETE);
	else
		ret = fi_readmsg(net->ep, &msg, FI_COMPLETION);
	if (ret)
		klnd_rx_retry_later(rx, klnd_now_ms());
}

/**
 * klnd_rx_start() - ask whom it is for, and begin
 * @rx: as klnd_begun() made it
 * @bytes: of an immediate put
 */
void klnd_rx_start(struct klnd_rx *rx, const u8 *bytes)
{
	struct klnd_net *net = rx->peer->net;
	struct klnd_incoming *in = &rx->in;
	int ret;

	mutex_unlock(&net->lock);
	ret = net->attr.ops->match(net->attr.context, in);
	mutex_lock(&net->lock);
	if (ret) {
		klnd_rx_answer(rx,
			       ret == -EMSGSIZE ? LNDW_TOO_LONG : LNDW_NO_MATCH,
			       0);
		return;
	}
	if (in->is_get ? in->buf.len > in->bytes : in->buf.len < in->bytes) {
		klnd_rx_finish(rx, -EMSGSIZE);
		return;
	}
	if (!in->is_get)
		in->buf.len = in->bytes;
	if (rx->is_immediate)
		kfi_buf_put(&in->buf, 0, bytes, in->bytes);
	if (rx->is_immediate || !in->buf.len)
		klnd_rx_finish(rx, 0);
	else if (!klnd_rx_goes_on(rx, klnd_now_ms()))
		klnd_rx_finish(rx, -EIO);
	else
		klnd_rx_move(rx);
}

/**
 * klnd_rx_moved() - a read or write is over
 * @rx: whose
 * @err: how
 */
void klnd_rx_moved(struct klnd_rx *rx, int err)
{
	u64 now_ms = klnd_now_ms();

	if (!err) {
		klnd_rx_finish(rx, 0);
	} else if (err == FI_EACCES || !klnd_rx_goes_on(rx, now_ms)) {
		klnd_rx_finish(rx, -EIO);
	} else {
		rx->peer->net->counts.again++;
		klnd_rx_retry_later(rx, now_ms);
	}
}

/**
 * klnd_rx_tick() - try again what it is time for
 * @net: net
 * @now_ms: the time
 */
void klnd_rx_tick(struct klnd_net *net, u64 now_ms)
{
	struct klnd_rx *rx;
	LIST_HEAD(retries);

	list_splice_init(&net->retries, &retries);
	while ((rx = list_first_entry_or_null(&retries, struct klnd_rx,
					      node))) {
		list_del(&rx->node);
		if (!klnd_rx_goes_on(rx, now_ms))
			klnd_rx_finish(rx, -EIO);
		else if (now_ms < rx->retry_ms)
			list_add_tail(&rx->node, &net->retries);
		else
			klnd_rx_move(rx);
	}
}
