// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tcp provider: beginning and end: of the socket's callbacks, of
 * operations, of connections.
 *
 *   broken (any context) --> break_work: the socket is aborted, sender and
 *   receiver are out, the end is told, every operation fails
 *
 * Recovery: none: a connection that has failed is over; the upper layer opens
 *	another endpoint.
 */
#include <linux/jiffies.h>
#include <net/tcp.h>

#include "tcp.h"

/* How often in the time of an operation it is looked whether bytes move. */
#define WATCH_DIV 4

/* ---- the socket's callbacks ---------------------------------------------- */

static void ktcp_write_space(struct sock *sk)
{
	struct ktcp_ep *ep;

	read_lock_bh(&sk->sk_callback_lock);
	ep = sk->sk_user_data;
	if (ep && sk_stream_is_writeable(sk)) {
		clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		if (!READ_ONCE(ep->stopped))
			queue_work(ktcp_wq, &ep->send_work);
	}
	read_unlock_bh(&sk->sk_callback_lock);
}

/* What came before the end is read first. */
static void ktcp_state_change(struct sock *sk)
{
	struct ktcp_ep *ep;

	read_lock_bh(&sk->sk_callback_lock);
	ep = sk->sk_user_data;
	if (ep)
		ktcp_receive_kick(ep);
	read_unlock_bh(&sk->sk_callback_lock);
}

/* Operations go both ways from here on. */
void ktcp_start(struct ktcp_ep *ep)
{
	struct sock *sk = ep->sock->sk;
	unsigned long irq;

	ep->in_work = kfi_ep_wants_work(&ep->post.ep);
	sk->sk_rcvtimeo = MAX_SCHEDULE_TIMEOUT;
	sk->sk_sndtimeo = MAX_SCHEDULE_TIMEOUT;
	tcpw_tracker_init(&ep->tracker, KTCP_QUEUE_SIZE);
	tcpw_rx_init(&ep->r.rx, ep->order, &ep->tracker);
	spin_lock_irqsave(&ep->post.lock, irq);
	ep->post.up = !ep->stopped;
	spin_unlock_irqrestore(&ep->post.lock, irq);
	write_lock_bh(&sk->sk_callback_lock);
	ep->data_ready = sk->sk_data_ready;
	ep->write_space = sk->sk_write_space;
	ep->state_change = sk->sk_state_change;
	sk->sk_user_data = ep;
	sk->sk_data_ready = ktcp_data_ready;
	sk->sk_write_space = ktcp_write_space;
	sk->sk_state_change = ktcp_state_change;
	write_unlock_bh(&sk->sk_callback_lock);
}

/* ---- operations ---------------------------------------------------------- */

/*
 * Tell, in the order of posting, what is over. A fenced operation waits for all
 * before it. Under the socket's lock.
 */
void ktcp_complete_ready(struct ktcp_ep *ep)
{
	unsigned long irq;
	struct kfi_op *op;

	for (;;) {
		spin_lock_irqsave(&ep->post.lock, irq);
		op = list_first_entry_or_null(&ep->sent, struct kfi_op, node);
		if (op && !(to_ktcp_op(op)->handed && to_ktcp_op(op)->answered))
			op = NULL;
		else if (!op && !list_empty(&ep->tx))
			ktcp_send_kick(ep);
		spin_unlock_irqrestore(&ep->post.lock, irq);
		if (!op)
			return;
		/*
		 * Who has answered to an operation has received all of it: with the answer
		 * came an acknowledgement of TCP, or before. Else it says that it has
		 * what it cannot have.
		 */
		if (before(tcp_sk(ep->sock->sk)->snd_una,
			   to_ktcp_op(op)->end)) {
			ktcp_report_violation(ep, TCPW_EARLY_ANSWER);
			return;
		}
		kfi_post_done(&ep->post, op);
	}
}

/* ---- time ---------------------------------------------------------------- */

u64 ktcp_moved_bytes(const struct ktcp_ep *ep)
{
	const struct tcp_sock *tp;

	if (!ep->sock)
		return 0;
	tp = tcp_sk(ep->sock->sk);
	return READ_ONCE(tp->bytes_acked) + READ_ONCE(tp->bytes_received);
}

static unsigned long ktcp_timeout(const struct ktcp_ep *ep)
{
	return msecs_to_jiffies(READ_ONCE(ep->post.ep.op_timeout_ms));
}

/*
 * An operation's time does not run while bytes move, for a link may be slow; but
 * not for ever, for they may be those of others, and few may be anybody's.
 */
static unsigned long ktcp_due_locked(struct ktcp_ep *ep,
				     const struct ktcp_op *t)
{
	unsigned long timeout = ktcp_timeout(ep);
	unsigned long last = t->deadline + (KTCP_SLOW_FACTOR - 1) * timeout;
	u64 moved = ktcp_moved_bytes(ep);
	unsigned long due;

	if (moved - ep->watched_bytes >= KTCP_MOVED_MIN_BYTES) {
		ep->watched_bytes = moved;
		ep->moved_at = jiffies;
	}
	due = ep->moved_at + timeout;
	if (time_after(due, last))
		due = last;
	return time_after(due, t->deadline) ? due : t->deadline;
}

static void ktcp_fed_locked(struct ktcp_ep *ep, u64 received)
{
	lockdep_assert_held(&ep->post.lock);
	ep->fed_bytes = received;
	ep->fed_at = jiffies;
}

/*
 * When the peer must have gone on with a message that has a receive which others could
 * have. The time begins anew with each so many bytes: how long it may take depends on its
 * length, which the receive limits. Nor does it run while this end is behind, which has
 * not read all yet, or commits a write.
 */
static unsigned long ktcp_shared_due_locked(struct ktcp_ep *ep)
{
	const struct tcp_sock *tp = tcp_sk(ep->sock->sk);
	u64 received = READ_ONCE(tp->bytes_received);

	if (received - ep->fed_bytes >= KTCP_MOVED_MIN_BYTES ||
	    READ_ONCE(ep->r.commits) ||
	    READ_ONCE(tp->rcv_nxt) != READ_ONCE(tp->copied_seq))
		ktcp_fed_locked(ep, received);
	return ep->fed_at + ktcp_timeout(ep);
}

/* When the connection is to end; false: it waits for nothing. */
static bool ktcp_next_due_locked(struct ktcp_ep *ep, unsigned long *due)
{
	unsigned long shared;
	struct kfi_op *op;

	lockdep_assert_held(&ep->post.lock);
	/* The one that has waited longest. */
	op = list_first_entry_or_null(&ep->sent, struct kfi_op, node);
	op = op ?: list_first_entry_or_null(&ep->tx, struct kfi_op, node);
	if (op)
		*due = ktcp_due_locked(ep, to_ktcp_op(op));
	if (!ep->post.ep.srx || list_empty(&ep->rx))
		return op;
	shared = ktcp_shared_due_locked(ep);
	if (!op || time_before(shared, *due))
		*due = shared;
	return true;
}

static void ktcp_watch_until(struct ktcp_ep *ep, unsigned long due)
{
	u32 look_ms = READ_ONCE(ep->post.ep.op_timeout_ms) / WATCH_DIV;
	long left = due - jiffies;

	left = min_t(long, left, msecs_to_jiffies(look_ms));
	ep->watched = true;
	queue_delayed_work(ktcp_wq, &ep->watch_work, max(left, 1L));
}

/* The caller holds post.lock and has queued an operation. */
void ktcp_watch_locked(struct ktcp_ep *ep)
{
	unsigned long due;

	if (!ep->watched && !ep->stopped && ktcp_next_due_locked(ep, &due))
		ktcp_watch_until(ep, due);
}

/* The caller holds the socket's lock and post.lock and has taken a shared receive. */
void ktcp_watch_shared_locked(struct ktcp_ep *ep)
{
	ktcp_fed_locked(ep, tcp_sk(ep->sock->sk)->bytes_received);
	ktcp_watch_locked(ep);
}

void ktcp_watch_work(struct work_struct *work)
{
	struct ktcp_ep *ep =
		container_of(work, struct ktcp_ep, watch_work.work);
	unsigned long due, irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	ep->watched = false;
	if (ktcp_next_due_locked(ep, &due)) {
		if (time_after_eq(jiffies, due))
			ktcp_break_locked(ep, ETIMEDOUT);
		else if (!ep->stopped)
			ktcp_watch_until(ep, due);
	}
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

/* ---- the end ------------------------------------------------------------- */

/* End the connection; the first reason counts. */
void ktcp_break_locked(struct ktcp_ep *ep, int why)
{
	lockdep_assert_held(&ep->post.lock);
	if (ep->post.broken)
		return;
	ep->post.broken = true;
	ep->why = why;
	if (!ep->stopped)
		queue_work(ktcp_wq, &ep->break_work);
}

void ktcp_break(struct ktcp_ep *ep, int why)
{
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	ktcp_break_locked(ep, why);
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

/*
 * Nothing of this connection is sent or placed any more: what the socket still
 * held is dropped, lest it lands after the connection that comes next.
 */
static void ktcp_silence_socket(struct ktcp_ep *ep)
{
	struct sock *sk = ep->sock->sk;

	lock_sock(sk);
	ep->r.dead = true;
	release_sock(sk);
	/* After this no callback of the socket runs any more. */
	write_lock_bh(&sk->sk_callback_lock);
	if (sk->sk_user_data == ep) {
		sk->sk_user_data = NULL;
		sk->sk_data_ready = ep->data_ready;
		sk->sk_write_space = ep->write_space;
		sk->sk_state_change = ep->state_change;
	}
	write_unlock_bh(&sk->sk_callback_lock);
	cancel_work_sync(&ep->send_work);
	/* Whoever sends inline sees that the connection is broken. */
	mutex_lock(&ep->send_lock);
	mutex_unlock(&ep->send_lock);
	cancel_work_sync(&ep->receive_work);
	tcp_abort(sk, ECONNABORTED);
}

/* No post comes any more: the endpoint is broken. */
static void ktcp_fail_all(struct ktcp_ep *ep, struct list_head *list, int *why)
{
	unsigned long irq;
	struct kfi_op *op;

	for (;;) {
		spin_lock_irqsave(&ep->post.lock, irq);
		op = list_first_entry_or_null(list, struct kfi_op, node);
		spin_unlock_irqrestore(&ep->post.lock, irq);
		if (!op)
			return;
		op->comp->entry.err = *why ?: ECANCELED;
		*why = 0;
		kfi_post_done(&ep->post, op);
	}
}

static void ktcp_flush_all(struct ktcp_ep *ep)
{
	int why = ep->why, none = 0;

	kfi_srx_leave(&ep->post);
	ktcp_fail_all(ep, &ep->sent, &why);
	ktcp_fail_all(ep, &ep->tx, &why);
	ktcp_fail_all(ep, &ep->rx, &none);
}

void ktcp_break_work(struct work_struct *work)
{
	struct ktcp_ep *ep = container_of(work, struct ktcp_ep, break_work);

	ktcp_silence_socket(ep);
	kfi_ep_down(&ep->post.ep, ep->why ?: ECONNABORTED, 0, NULL, 0);
	ktcp_flush_all(ep);
}

/* When it returns, nobody touches the endpoint's operations any more. */
void ktcp_stop(struct ktcp_ep *ep)
{
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	ep->post.broken = true;
	ep->stopped = true;
	spin_unlock_irqrestore(&ep->post.lock, irq);
	cancel_delayed_work_sync(&ep->watch_work);
	flush_work(&ep->break_work);
	if (ep->sock)
		ktcp_silence_socket(ep);
	ktcp_flush_all(ep);
}
