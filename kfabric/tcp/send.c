// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: the sender: answers that are due and operations take turns,
 * one after the other, until the socket takes no more: a peer that reads all the
 * time over a slow link must not keep operations back.
 *
 * The socket gets a copy of what is sent. Pages that it had as they are would be read
 * after the connection has ended: behind an aborted socket by a queueing discipline or
 * a network card, whose drivers do not all keep the socket's account of it, and on the
 * same machine by the peer, of which nobody is told. Whoever has the memory back would
 * change what the peer gets.
 *
 * Context: send_work, or whoever submits and may sleep; allocates only in the
 *	socket.
 * Locking: ktcp_ep.send_lock for struct ktcp_sender; the socket's lock to send;
 *	post.lock for the queues.
 */
#include <linux/net.h>
#include <linux/sched/mm.h>
#include <net/tcp.h>

#include <compat.h>

#include "tcp.h"

/* The caller holds post.lock. */
void ktcp_send_kick(struct ktcp_ep *ep)
{
	if (!ep->stopped)
		queue_work(ktcp_wq, &ep->send_work);
}

/* ---- what comes next ---------------------------------------------------- */

static void ktcp_set_head(struct ktcp_sender *s, const struct tcpw_hdr *hdr,
			  enum tcpw_order order)
{
	int n = tcpw_hdr_encode(hdr, order, s->head);

	/* Posts are checked, so that there is nothing to refuse. */
	WARN_ON_ONCE(n < 0);
	s->head_len = max(n, 0);
	s->head_done = 0;
	s->left = hdr->payload_bytes;
	s->busy = true;
}

static void ktcp_load_answer(struct ktcp_ep *ep)
{
	struct ktcp_sender *s = &ep->s;
	struct tcpw_hdr hdr = {};

	s->op = NULL;
	s->answer = ep->answers[ep->answers_head];
	ep->answers_head = (ep->answers_head + 1) % KTCP_ANSWERS;
	ep->answers_count--;
	if (READ_ONCE(ep->r.waits))
		ktcp_receive_kick(ep);
	s->seg = 0;
	s->offset = 0;
	s->bounce_len = 0;
	s->bounce_done = 0;
	hdr.op = s->answer.kind == KTCP_ANSWER_ACK ? TCPW_ACK
						   : TCPW_READ_RESPONSE;
	hdr.payload_bytes = s->answer.len;
	ktcp_set_head(s, &hdr, ep->order);
}

static void ktcp_describe_op(const struct kfi_op *op, struct tcpw_hdr *hdr)
{
	u32 i;

	*hdr = (struct tcpw_hdr){ .flags = TCPW_F_DELIVERY,
				  .payload_bytes = op->buf.len,
				  .n_segs = op->rma_count };
	for (i = 0; i < op->rma_count; i++)
		hdr->segs[i] = (struct tcpw_seg){ .addr = op->rma[i].addr,
						  .bytes = op->rma[i].len,
						  .key = op->rma[i].key };
	switch (op->type) {
	case KFI_OP_SEND:
		hdr->op = TCPW_MSG;
		break;
	case KFI_OP_WRITE:
		hdr->op = TCPW_WRITE;
		if (op->flags & FI_COMMIT_COMPLETE)
			hdr->flags = TCPW_F_COMMIT;
		break;
	default:
		hdr->op = TCPW_READ_REQUEST;
		hdr->flags = 0;
		hdr->payload_bytes = 0;
		break;
	}
	if (op->flags & FI_REMOTE_CQ_DATA) {
		hdr->flags |= TCPW_F_CQ_DATA;
		hdr->cq_data = op->data;
	}
}

static void ktcp_load_op(struct ktcp_ep *ep, struct kfi_op *op)
{
	struct ktcp_sender *s = &ep->s;
	struct tcpw_hdr hdr;

	lockdep_assert_held(&ep->post.lock);
	ktcp_describe_op(op, &hdr);
	s->op = to_ktcp_op(op);
	kfi_buf_start(&s->it, &op->buf);
	ktcp_set_head(s, &hdr, ep->order);
	list_move_tail(&op->node, &ep->sent);
	/* The tracker has room for whatever can be posted. */
	if (hdr.op == TCPW_READ_REQUEST)
		tcpw_tracker_add_read(&ep->tracker, &s->op->due, op->buf.len);
	else
		tcpw_tracker_add_ack(&ep->tracker, &s->op->due);
}

static bool ktcp_load_next(struct ktcp_ep *ep)
{
	struct kfi_op *op;
	unsigned long irq;
	bool answers;

	spin_lock_irqsave(&ep->post.lock, irq);
	if (ep->post.broken || !ep->post.up)
		goto unlock;
	op = list_first_entry_or_null(&ep->tx, struct kfi_op, node);
	if (op && op->flags & FI_FENCE && !list_empty(&ep->sent))
		op = NULL;
	answers = ep->answers_count && (!op || !ep->s.was_answer);
	ep->s.was_answer = answers;
	if (answers)
		ktcp_load_answer(ep);
	else if (op)
		ktcp_load_op(ep, op);
unlock:
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return ep->s.busy;
}

/* ---- giving it to the socket --------------------------------------------- */

static int ktcp_send_bytes(struct ktcp_ep *ep, const void *bytes, size_t len,
			   int flags)
{
	struct kvec vec = { .iov_base = (void *)bytes, .iov_len = len };
	struct msghdr msg = { .msg_flags =
				      MSG_DONTWAIT | MSG_NOSIGNAL | flags };

	return kernel_sendmsg_locked(ep->sock->sk, &msg, &vec, 1, len);
}

/* Send a piece of the operation's buffer. */
static int ktcp_send_piece(struct ktcp_ep *ep)
{
	struct ktcp_sender *s = &ep->s;
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kfi_buf_iter at = s->it;
	struct bio_vec piece;
	struct kfi_seg seg;
	int n;

	if (!kfi_buf_next(&at, s->left, &seg))
		return -EFAULT;
	if (seg.len < s->left)
		msg.msg_flags |= MSG_MORE;
	piece = (struct bio_vec){ .bv_page = seg.page,
				  .bv_len = seg.len,
				  .bv_offset = seg.offset };
	iov_iter_bvec(&msg.msg_iter, KFI_ITER_SOURCE, &piece, 1, seg.len);
	n = ep->sock->ops->sendmsg_locked(ep->sock->sk, &msg, seg.len);
	if (n > 0) {
		kfi_buf_advance(&s->it, n);
		s->left -= n;
	}
	return n;
}

/* Fetch the next bytes of the regions that a peer reads. */
static int ktcp_refill_bounce(struct ktcp_ep *ep)
{
	struct ktcp_sender *s = &ep->s;
	const struct tcpw_seg *seg = &s->answer.segs[s->seg];

	while (s->offset == seg->bytes) {
		if (++s->seg >= s->answer.count)
			return -EFAULT;
		seg++;
		s->offset = 0;
	}
	s->bounce_done = 0;
	s->bounce_len = min_t(u64, seg->bytes - s->offset, KTCP_BOUNCE_SIZE);
	s->offset += s->bounce_len;
	return ktcp_fetch(ep, seg, s->offset - s->bounce_len, s->bounce,
			  s->bounce_len);
}

static int ktcp_send_bounce(struct ktcp_ep *ep)
{
	struct ktcp_sender *s = &ep->s;
	u32 len;
	int n;

	if (s->bounce_done == s->bounce_len) {
		n = ktcp_refill_bounce(ep);
		if (n)
			return n;
	}
	len = s->bounce_len - s->bounce_done;
	n = ktcp_send_bytes(ep, s->bounce + s->bounce_done, len,
			    len < s->left ? MSG_MORE : 0);
	if (n > 0) {
		s->bounce_done += n;
		s->left -= n;
	}
	return n;
}

/* The socket has all of it; the peer's answer may be here already. */
static void ktcp_handed_over(struct ktcp_ep *ep)
{
	struct ktcp_op *t = ep->s.op;
	unsigned long irq;
	bool answered;

	ep->s.busy = false;
	if (!t)
		return;
	spin_lock_irqsave(&ep->post.lock, irq);
	t->handed = true;
	answered = t->answered;
	spin_unlock_irqrestore(&ep->post.lock, irq);
	if (!answered)
		return;
	lock_sock(ep->sock->sk);
	if (!ep->r.dead)
		ktcp_complete_ready(ep);
	release_sock(ep->sock->sk);
}

static bool ktcp_is_head_sent(const struct ktcp_sender *s)
{
	return s->head_done == s->head_len;
}

/*
 * Send the header and a piece, or another piece, and not more, as what comes
 * meanwhile has to wait for the socket.
 */
static int ktcp_send_some(struct ktcp_ep *ep)
{
	struct ktcp_sender *s = &ep->s;
	int n = 0;

	lock_sock(ep->sock->sk);
	if (!ktcp_is_head_sent(s)) {
		n = ktcp_send_bytes(ep, s->head + s->head_done,
				    s->head_len - s->head_done,
				    s->left ? MSG_MORE : 0);
		s->head_done += max(n, 0);
	}
	if (n >= 0 && ktcp_is_head_sent(s) && s->left)
		n = s->op ? ktcp_send_piece(ep) : ktcp_send_bounce(ep);
	if (s->op && ktcp_is_head_sent(s) && !s->left)
		s->op->end = tcp_sk(ep->sock->sk)->write_seq;
	release_sock(ep->sock->sk);
	return n;
}

/* Send as much of what is loaded as the socket takes. */
static int ktcp_push_loaded(struct ktcp_ep *ep)
{
	struct ktcp_sender *s = &ep->s;
	int n;

	for (;;) {
		if (READ_ONCE(ep->post.broken))
			return -ECANCELED;
		n = ktcp_send_some(ep);
		if (n < 0)
			return n;
		if (ktcp_is_head_sent(s) && !s->left)
			break;
		cond_resched();
	}
	ktcp_handed_over(ep);
	return 0;
}

/* The caller holds send_lock. */
static void ktcp_send_all(struct ktcp_ep *ep)
{
	unsigned int noio = memalloc_noio_save();
	int ret = 0;

	lockdep_assert_held(&ep->send_lock);
	while (!ret && (ep->s.busy || ktcp_load_next(ep)))
		ret = ktcp_push_loaded(ep);
	memalloc_noio_restore(noio);
	/* A full socket calls when it has room. */
	if (ret && ret != -EAGAIN && ret != -ECANCELED)
		ktcp_break(ep, 0);
}

void ktcp_send_work(struct work_struct *work)
{
	struct ktcp_ep *ep = container_of(work, struct ktcp_ep, send_work);

	mutex_lock(&ep->send_lock);
	ktcp_send_all(ep);
	mutex_unlock(&ep->send_lock);
}

/* Whoever is at it may just have found nothing: false. */
bool ktcp_send_inline(struct ktcp_ep *ep)
{
	if (!mutex_trylock(&ep->send_lock))
		return false;
	ktcp_send_all(ep);
	mutex_unlock(&ep->send_lock);
	return true;
}
