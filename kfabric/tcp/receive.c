// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: the receiver: takes bytes from the socket, lets the wire
 * format's receive machine name what they are, and acts upon it.
 *
 * Context: softirq, from the socket's data_ready; receive_work when the
 *	socket was taken then, when something that it waited for is there, to
 *	commit, and when completions must not come in softirq.
 * Locking: the socket's lock, whoever calls. See tcp.h.
 */
#include <linux/skbuff.h>
#include <net/tcp.h>

#include "tcp.h"

void ktcp_receive_kick(struct ktcp_ep *ep)
{
	if (!READ_ONCE(ep->stopped))
		queue_work(ktcp_wq, &ep->receive_work);
}

/* ---- answers ------------------------------------------------------------ */

static bool ktcp_has_room_for_answer(struct ktcp_ep *ep)
{
	unsigned long irq;
	bool ok;

	spin_lock_irqsave(&ep->post.lock, irq);
	ok = ep->answers_count < KTCP_ANSWERS;
	if (!ok)
		WRITE_ONCE(ep->r.waits, true);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return ok;
}

/* Only the receiver adds, so the room that was found is still there. */
static void ktcp_queue_answer(struct ktcp_ep *ep, enum ktcp_answer_kind kind)
{
	const struct tcpw_hdr *hdr = &ep->r.rx.hdr;
	struct ktcp_answer *a;
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	a = &ep->answers[(ep->answers_head + ep->answers_count++) %
			 KTCP_ANSWERS];
	a->kind = kind;
	a->count = 0;
	a->len = 0;
	if (kind == KTCP_ANSWER_READ) {
		a->count = hdr->n_segs;
		a->len = hdr->rma_bytes;
		memcpy(a->segs, hdr->segs, sizeof(a->segs));
	}
	ktcp_send_kick(ep);
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

/* ---- is it allowed, and where does it go? ------------------------------- */

/* What ktcp_find_target() says besides violations. */
#define WAIT (-1)

/*
 * A shared one is on the endpoint's own list until it is filled. Others wait for it
 * meanwhile, so that the peer has to go on.
 */
static int ktcp_take_shared(struct ktcp_ep *ep)
{
	struct kfi_op *op = kfi_srx_take(&ep->post);
	unsigned long irq;

	ep->r.op = op;
	if (!op)
		return WAIT;
	spin_lock_irqsave(&ep->post.lock, irq);
	list_add_tail(&op->node, &ep->rx);
	ktcp_watch_shared_locked(ep);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return 0;
}

/* The next receive stays on its list until it is filled. */
static int ktcp_take_receive(struct ktcp_ep *ep)
{
	struct kfi_op *op;
	unsigned long irq;

	if (ep->post.ep.srx)
		return ktcp_take_shared(ep);
	spin_lock_irqsave(&ep->post.lock, irq);
	op = list_first_entry_or_null(&ep->rx, struct kfi_op, node);
	if (!op)
		WRITE_ONCE(ep->r.waits, true);
	spin_unlock_irqrestore(&ep->post.lock, irq);
	ep->r.op = op;
	return op ? 0 : WAIT;
}

static void ktcp_fill_op(struct ktcp_ep *ep, struct kfi_op *op)
{
	ep->r.op = op;
	kfi_buf_start(&ep->r.it, &op->buf);
}

static int ktcp_target_message(struct ktcp_ep *ep, const struct tcpw_hdr *hdr)
{
	struct fi_cq_err_entry *entry;
	int ret;

	if ((hdr->flags & TCPW_F_ACKED) && !ktcp_has_room_for_answer(ep))
		return WAIT;
	ret = ktcp_take_receive(ep);
	if (ret)
		return ret;
	if (hdr->payload_bytes <= ep->r.op->buf.len) {
		ktcp_fill_op(ep, ep->r.op);
		return TCPW_OK;
	}
	entry = &ep->r.op->comp->entry;
	entry->err = FI_ETRUNC;
	entry->olen = hdr->payload_bytes - ep->r.op->buf.len;
	kfi_post_done(&ep->post, ep->r.op);
	return TCPW_TOO_LONG;
}

static int ktcp_find_target(struct ktcp_ep *ep)
{
	const struct tcpw_hdr *hdr = &ep->r.rx.hdr;
	struct ktcp_op *t;
	int why;

	WRITE_ONCE(ep->r.waits, false);
	switch (hdr->op) {
	case TCPW_MSG:
		return ktcp_target_message(ep, hdr);
	case TCPW_WRITE:
		if ((hdr->flags & TCPW_F_ACKED) &&
		    !ktcp_has_room_for_answer(ep))
			return WAIT;
		why = ktcp_check_segs(ep, hdr, FI_REMOTE_WRITE);
		if (why || !(hdr->flags & TCPW_F_CQ_DATA))
			return why;
		return ktcp_take_receive(ep);
	case TCPW_READ_REQUEST:
		if (!ktcp_has_room_for_answer(ep))
			return WAIT;
		return ktcp_check_segs(ep, hdr, FI_REMOTE_READ);
	case TCPW_READ_RESPONSE:
		t = container_of(ep->r.rx.due, struct ktcp_op, due);
		ktcp_fill_op(ep, &t->op);
		return TCPW_OK;
	default:
		return TCPW_HDR_OP;
	}
}

/* ---- it is here --------------------------------------------------------- */

static void ktcp_finish_message(struct ktcp_ep *ep)
{
	struct ktcp_receiver *r = &ep->r;
	const struct tcpw_hdr *hdr = &r->rx.hdr;
	struct tcpw_due *due = r->rx.due;
	struct fi_cq_err_entry *entry;
	unsigned long irq;

	switch (hdr->op) {
	case TCPW_MSG:
	case TCPW_WRITE:
		if (hdr->flags & TCPW_F_ACKED)
			ktcp_queue_answer(ep, KTCP_ANSWER_ACK);
		if (hdr->op == TCPW_WRITE && !(hdr->flags & TCPW_F_CQ_DATA))
			break;
		entry = &r->op->comp->entry;
		if (hdr->op == TCPW_WRITE)
			entry->flags ^= FI_MSG | FI_RMA;
		if (hdr->flags & TCPW_F_CQ_DATA) {
			entry->flags |= FI_REMOTE_CQ_DATA;
			entry->data = hdr->cq_data;
		}
		entry->len = hdr->payload_bytes;
		kfi_post_done(&ep->post, r->op);
		break;
	case TCPW_READ_REQUEST:
		ktcp_queue_answer(ep, KTCP_ANSWER_READ);
		break;
	default:
		break;
	}
	r->op = NULL;
	spin_lock_irqsave(&ep->post.lock, irq);
	tcpw_rx_finish(&r->rx);
	/* The peer has answered; the sender may still be at it. */
	if (due)
		container_of(due, struct ktcp_op, due)->answered = true;
	spin_unlock_irqrestore(&ep->post.lock, irq);
	if (due)
		ktcp_complete_ready(ep);
}

/* ---- the machine -------------------------------------------------------- */

void ktcp_report_violation(struct ktcp_ep *ep, enum tcpw_violation why)
{
	ep->r.dead = true;
	pr_warn_ratelimited("kfabric_tcp: connection %u ends: %s\n",
			    ep->post.ep.fid.id, tcpw_violation_text(why));
	ktcp_break(ep, 0);
}

/*
 * Whatever needs no bytes from the socket.
 * Return: false: it waits or has ended.
 */
static bool ktcp_settle_message(struct ktcp_ep *ep, struct tcpw_want *want)
{
	struct ktcp_receiver *r = &ep->r;
	int ret;

	while (!r->dead) {
		tcpw_rx_want(&r->rx, want);
		switch (want->kind) {
		case TCPW_WANT_HEADER:
		case TCPW_WANT_PAYLOAD:
			return true;
		case TCPW_WANT_TARGET:
			ret = ktcp_find_target(ep);
			if (ret == WAIT)
				return false;
			tcpw_rx_target(&r->rx, ret);
			break;
		case TCPW_WANT_FINISH:
			if (r->rx.hdr.flags & TCPW_F_COMMIT && !r->commits) {
				r->commits = true;
				ktcp_receive_kick(ep);
			}
			if (r->commits)
				return false;
			ktcp_finish_message(ep);
			break;
		case TCPW_WANT_END:
			ktcp_report_violation(ep, r->rx.violation);
			break;
		}
	}
	return false;
}

static int ktcp_take_bytes(read_descriptor_t *desc, struct sk_buff *skb,
			   unsigned int offset, size_t len)
{
	struct ktcp_ep *ep = desc->arg.data;
	struct tcpw_want want;
	unsigned long irq;
	size_t done = 0;
	u32 n;

	while (done < len && ktcp_settle_message(ep, &want)) {
		n = min_t(u64, want.bytes, len - done);
		if (want.kind == TCPW_WANT_PAYLOAD) {
			if (ktcp_place(ep, skb, offset + done, n, &want))
				ktcp_report_violation(ep, TCPW_BAD_KEY);
			else
				tcpw_rx_payload(&ep->r.rx, n);
		} else if (skb_copy_bits(skb, offset + done, want.buf, n)) {
			ep->r.dead = true;
			ktcp_break(ep, EIO);
		} else {
			spin_lock_irqsave(&ep->post.lock, irq);
			tcpw_rx_header(&ep->r.rx, n);
			spin_unlock_irqrestore(&ep->post.lock, irq);
		}
		done += n;
	}
	/* What is complete is told at once. */
	if (!ktcp_settle_message(ep, &want))
		desc->count = 0;
	return done;
}

/* The caller holds the socket's lock. */
static void ktcp_receive_all(struct ktcp_ep *ep)
{
	read_descriptor_t desc = { .arg.data = ep, .count = 1 };
	struct tcpw_want want;

	if (ktcp_settle_message(ep, &want))
		tcp_read_sock(ep->sock->sk, &desc, ktcp_take_bytes);
}

/* Make a write persistent that is placed; the machine waits meanwhile. */
static void ktcp_commit_write(struct ktcp_ep *ep)
{
	int ret = ktcp_commit(ep, &ep->r.rx.hdr);

	lock_sock(ep->sock->sk);
	if (ep->r.dead)
		goto release;
	if (ret == -EOPNOTSUPP || ret == -EACCES) {
		ktcp_report_violation(ep, TCPW_NO_COMMIT);
		goto release;
	}
	if (ret) {
		/* The peer is not at fault, and is told nothing but the end. */
		ep->r.dead = true;
		pr_warn_ratelimited(
			"kfabric_tcp: connection %u ends: a write could not be made persistent (%d)\n",
			ep->post.ep.fid.id, ret);
		ktcp_break(ep, 0);
		goto release;
	}
	ktcp_finish_message(ep);
	ep->r.commits = false;
release:
	release_sock(ep->sock->sk);
}

void ktcp_receive_work(struct work_struct *work)
{
	struct ktcp_ep *ep = container_of(work, struct ktcp_ep, receive_work);
	struct sock *sk = ep->sock->sk;
	bool ended, must_commit;

	lock_sock(sk);
	must_commit = ep->r.commits && !ep->r.dead;
	release_sock(sk);
	if (must_commit)
		ktcp_commit_write(ep);
	lock_sock(sk);
	if (!ep->r.dead)
		ktcp_receive_all(ep);
	ended = (sk->sk_shutdown & RCV_SHUTDOWN) || sk->sk_err ||
		sk->sk_state == TCP_CLOSE;
	release_sock(sk);
	if (ended)
		ktcp_break(ep, 0);
}

void ktcp_data_ready(struct sock *sk)
{
	struct ktcp_ep *ep;

	read_lock_bh(&sk->sk_callback_lock);
	ep = sk->sk_user_data;
	if (!ep)
		goto unlock;
	if (ep->in_work || sock_owned_by_user_nocheck(sk))
		ktcp_receive_kick(ep);
	else if (!ep->r.dead)
		ktcp_receive_all(ep);
unlock:
	read_unlock_bh(&sk->sk_callback_lock);
}
