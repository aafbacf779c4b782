// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rds provider: receiving: datagrams go into receives, answers to their hosts.
 *
 * A message without a receive stays in the socket, where it counts for congestion;
 * but when answers are waited for, which come behind it, it is taken out into
 * memory, as far as there may be such.
 *
 * Context: the engine.
 */
#include <linux/mm.h>
#include <linux/string.h>

#include "rds.h"

static const struct fi_buf krds_nothing;

/* One datagram less is there. */
static void krds_seen(struct krds_ep *ep)
{
	WRITE_ONCE(ep->seen, ep->seen + 1);
}

/* ---- receives ------------------------------------------------------------ */

static struct krds_op *krds_receive_get(struct krds_ep *ep)
{
	struct krds_op *op;
	unsigned long irq;

	/* Who posts one meanwhile has the engine run again. */
	if (list_empty(&ep->receives))
		return NULL;
	spin_lock_irqsave(&ep->base.post.lock, irq);
	op = list_first_entry_or_null(&ep->receives, struct krds_op, base.node);
	if (op)
		list_move_tail(&op->base.node, &ep->filling);
	spin_unlock_irqrestore(&ep->base.post.lock, irq);
	return op;
}

static void krds_received(struct krds_ep *ep, struct krds_op *op, size_t len,
			  const struct sockaddr_in6 *from)
{
	struct fi_cq_err_entry *entry = &op->base.comp->entry;

	entry->len = min(len, op->base.buf.len);
	entry->olen = len - entry->len;
	entry->src_addr =
		kfi_av_find_again(ep->base.post.ep.av, from, ep->last_from);
	ep->last_from = entry->src_addr;
	krds_finish(ep, op, entry->olen ? FI_ETRUNC : 0, 0);
}

/* ---- messages that came too early ----------------------------------------- */

static size_t krds_stash_size(size_t len)
{
	return sizeof(struct krds_stash) + len;
}

static void krds_stash_drop(struct krds_ep *ep, struct krds_stash *stash)
{
	list_del(&stash->node);
	ep->stash_bytes -= krds_stash_size(stash->len);
	kvfree(stash);
}

void krds_drop_stash(struct krds_ep *ep)
{
	struct krds_stash *stash, *next;

	list_for_each_entry_safe(stash, next, &ep->stash, node)
		krds_stash_drop(ep, stash);
}

static bool krds_stash(struct krds_ep *ep, size_t len)
{
	struct krds_stash *stash;
	struct fi_buf buf;
	ssize_t ret;

	/* The length is the sender's word for what the socket holds. */
	if (list_empty(&ep->busy) || len > KRDS_MAX_MSG ||
	    (!list_empty(&ep->stash) &&
	     ep->stash_bytes + krds_stash_size(len) > KRDS_STASH_BYTES))
		return false;
	stash = kvmalloc(krds_stash_size(len), GFP_KERNEL);
	if (!stash)
		return false;
	buf = fi_buf_linear(stash->bytes, len);
	ret = krds_socket_receive(ep, &buf, 0, &stash->from);
	/* News of congestion may have come before it, which have no bytes either. */
	if (ret != len || !stash->from.sin6_family) {
		kvfree(stash);
		return false;
	}
	krds_seen(ep);
	stash->len = len;
	ep->stash_bytes += krds_stash_size(len);
	list_add_tail(&stash->node, &ep->stash);
	return true;
}

static void krds_unstash_all(struct krds_ep *ep)
{
	struct krds_stash *stash, *next;
	struct krds_op *op;

	list_for_each_entry_safe(stash, next, &ep->stash, node) {
		op = krds_receive_get(ep);
		if (!op)
			break;
		kfi_buf_put(&op->base.buf, 0, stash->bytes,
			    min(stash->len, op->base.buf.len));
		krds_received(ep, op, stash->len, &stash->from);
		krds_stash_drop(ep, stash);
	}
}

/* ---- datagrams ------------------------------------------------------------ */

/* What a look into the socket has brought. */
enum krds_got {
	KRDS_NOTHING,
	KRDS_MESSAGE,
	KRDS_NEWS, /* that sends may have waited for */
	KRDS_CLOG, /* a message that has to wait */
};

/* It was woken for what is over, or for room to send. */
static enum krds_got krds_saw_nothing(struct krds_ep *ep, ssize_t ret)
{
	if (ret == -EAGAIN)
		WRITE_ONCE(ep->seen, ep->looked);
	return KRDS_NOTHING;
}

static bool krds_is_answer(ssize_t len, const struct sockaddr_in6 *from)
{
	return !len && !from->sin6_port;
}

/* Without asking first what is there: answers and news have no bytes. */
static enum krds_got krds_receive_into(struct krds_ep *ep, struct krds_op *op)
{
	struct sockaddr_in6 from;
	ssize_t ret = krds_socket_receive(ep, &op->base.buf, 0, &from);
	unsigned long irq;

	if (ret >= 0 && from.sin6_family && !krds_is_answer(ret, &from)) {
		krds_seen(ep);
		krds_received(ep, op, ret, &from);
		return KRDS_MESSAGE;
	}
	/* Nothing has been received into it, and it may have been canceled meanwhile. */
	spin_lock_irqsave(&ep->base.post.lock, irq);
	list_move(&op->base.node, op->canceled ? &ep->canceled : &ep->receives);
	ep->again |= op->canceled;
	spin_unlock_irqrestore(&ep->base.post.lock, irq);
	if (ret < 0)
		return krds_saw_nothing(ep, ret);
	if (from.sin6_family) {
		krds_seen(ep);
		krds_answered(ep, &from);
	}
	return KRDS_NEWS;
}

/* There is no receive. */
static enum krds_got krds_receive_apart(struct krds_ep *ep)
{
	struct sockaddr_in6 from;
	ssize_t len = krds_socket_receive(ep, &krds_nothing, MSG_PEEK, &from);

	if (len < 0)
		return krds_saw_nothing(ep, len);
	if (!krds_is_wanted(ep))
		return KRDS_NOTHING;
	if (!from.sin6_family)
		return KRDS_NEWS;
	if (!krds_is_answer(len, &from))
		return krds_stash(ep, len) ? KRDS_MESSAGE : KRDS_CLOG;
	/* An answer is next, unless news of congestion has come meanwhile. */
	if (krds_socket_receive(ep, &krds_nothing, 0, &from) >= 0 &&
	    from.sin6_family) {
		krds_seen(ep);
		krds_answered(ep, &from);
	}
	return KRDS_NEWS;
}

/* True: something came that sends may have waited for, or there is more. */
bool krds_receive_all(struct krds_ep *ep)
{
	struct krds_op *op;
	enum krds_got got;
	bool news = false;
	int n;

	if (!list_empty(&ep->stash))
		krds_unstash_all(ep);
	ep->clogged = false;
	for (n = 0; n < KRDS_BATCH; n++) {
		/*
		 * RDS has woken the endpoint for each datagram that is there, under
		 * the lock that it takes to receive it. This is loaded before the
		 * socket is asked, also where loads are not in order.
		 */
		ep->looked = smp_load_acquire(&ep->wakes);
		if (ep->looked == ep->seen)
			return news;
		/* A receive that was posted meanwhile is for what came before. */
		if (!list_empty(&ep->stash))
			krds_unstash_all(ep);
		op = list_empty(&ep->stash) ? krds_receive_get(ep) : NULL;
		got = op ? krds_receive_into(ep, op) : krds_receive_apart(ep);
		news |= got == KRDS_NEWS;
		ep->clogged = got == KRDS_CLOG;
		if (got == KRDS_NOTHING || got == KRDS_CLOG)
			return news;
	}
	return true;
}
