// SPDX-License-Identifier: BSD-2-Clause
/*
 * Sending: one operation after the other, as far as the socket takes them, and for no
 * longer than a turn, as a peer may take bytes as fast as they are copied; the rest when
 * the socket has room again, which it may have at once. Answers and operations take turns,
 * too: a peer that always wants one more answer on a slow link must not keep operations
 * back.
 *
 * Context: any thread. Locking: the endpoint's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "impl.h"

/*
 * Bytes of one system call, and of all before others get their turn; a system call counts
 * as some.
 */
#define CALL_MAX  (256 * 1024)
#define TURN_MAX  (8 * CALL_MAX)
#define CALL_COST 4096

struct stcp_op *stcp_op_alloc(enum stcp_kind kind, size_t copy_bytes)
{
	size_t bytes = kind == STCP_RECV ? offsetof(struct stcp_op, mrs)
					 : sizeof(struct stcp_op) + copy_bytes;
	struct stcp_op *op = malloc(bytes);

	if (!op)
		return NULL;
	memset(op, 0, offsetof(struct stcp_op, mrs));
	if (kind != STCP_RECV)
		memset(op->mrs, 0, sizeof(op->mrs));
	op->kind = kind;
	return op;
}

/* Hands an operation to its completion queue, or frees it. */
void stcp_op_complete(struct stcp_ep *ep, struct stcp_op *op)
{
	struct stcp_cq *cq = op->kind == STCP_RECV ? ep->rx_cq : ep->tx_cq;

	if (op->kind == STCP_RECV)
		ep->n_rx--;
	else
		ep->n_tx--;
	if (op->completes || (op->err && !op->silent))
		stcp_cq_add(cq, op);
	else
		free(op);
}

/* Gathers bytes that are left to send, as many as one system call takes. */
static size_t gather_vectors(const struct stcp_op *op, struct iovec *out)
{
	size_t n = 0, room = CALL_MAX;

	if (op->hdr_sent < op->hdr_bytes) {
		out[n].iov_base = (void *)(op->hdr + op->hdr_sent);
		out[n++].iov_len = (size_t)(op->hdr_bytes - op->hdr_sent);
	}
	/* What a read fills comes back; it does not go out. */
	for (int i = 0; op->kind != STCP_READ && room && i < op->n_iov; i++) {
		if (!op->iov[i].iov_len)
			continue;
		out[n] = op->iov[i];
		if (out[n].iov_len > room)
			out[n].iov_len = room;
		room -= out[n++].iov_len;
	}
	return n;
}

static bool advance_op(struct stcp_op *op, size_t sent)
{
	size_t hdr = (size_t)(op->hdr_bytes - op->hdr_sent);

	if (sent < hdr) {
		op->hdr_sent = (uint8_t)(op->hdr_sent + sent);
		return false;
	}
	sent -= hdr;
	op->hdr_sent = op->hdr_bytes;
	for (int i = 0; op->kind != STCP_READ && i < op->n_iov; i++) {
		size_t n =
			sent < op->iov[i].iov_len ? sent : op->iov[i].iov_len;

		op->iov[i].iov_base = (uint8_t *)op->iov[i].iov_base + n;
		op->iov[i].iov_len -= n;
		sent -= n;
		if (op->iov[i].iov_len)
			return false;
	}
	return true;
}

/*
 * Its last byte is with the socket: now the peer may answer, and no earlier.
 * The tracker has room for all that may be posted.
 */
static void op_sent(struct stcp_ep *ep, struct stcp_op *op)
{
	switch (op->kind) {
	case STCP_ACK:
	case STCP_RESPONSE:
		free(op);
		ep->n_answers--;
		stcp_rx_resume(ep, STCP_NO_ROOM);
		break;
	case STCP_READ:
		(void)tcpw_tracker_add_read(&ep->tracker, &op->due, op->total);
		break;
	default:
		if (op->acked)
			(void)tcpw_tracker_add_ack(&ep->tracker, &op->due);
		else
			stcp_op_complete(ep, op);
		break;
	}
}

static struct stcp_op *next_op(struct stcp_ep *ep)
{
	bool is_answer = !TAILQ_EMPTY(&ep->answers) &&
			 (!ep->was_answer || TAILQ_EMPTY(&ep->queue));
	struct stcp_op_list *list = is_answer ? &ep->answers : &ep->queue;
	struct stcp_op *op = TAILQ_FIRST(list);

	ep->was_answer = is_answer;
	if (op)
		TAILQ_REMOVE(list, op, link);
	return op;
}

/* The header is our own. */
static void payload_missing(struct stcp_ep *ep, const struct iovec *iov,
			    size_t n)
{
	size_t first = ep->sending->hdr_sent < ep->sending->hdr_bytes;

	stcp_ep_fault(ep, iov + first, n - first, false);
}

static void spend_turn(struct stcp_ep *ep, size_t bytes)
{
	size_t cost = bytes > CALL_COST ? bytes : CALL_COST;

	ep->tx_turn -= cost < ep->tx_turn ? cost : ep->tx_turn;
}

void stcp_tx_begin_turn(struct stcp_ep *ep)
{
	ep->tx_turn = TURN_MAX;
}

void stcp_tx_progress(struct stcp_ep *ep)
{
	struct iovec iov[1 + STCP_IOV_MAX];
	struct msghdr msg = { .msg_iov = iov };

	while (ep->state == TCPW_UP || ep->state == TCPW_CLOSING) {
		ssize_t n;

		if (!ep->sending)
			ep->sending = next_op(ep);
		if (!ep->sending) {
			/* Who resumed the receiver is waiting for it, too. */
			if (!ep->resumed)
				stcp_ep_watch(ep,
					      ep->events & ~(uint32_t)EPOLLOUT);
			/* What was posted before a shutdown is out. */
			if (ep->state == TCPW_CLOSING)
				stcp_ep_end(ep, ESHUTDOWN, TCPW_OK);
			return;
		}
		if (!ep->tx_turn) {
			stcp_ep_watch(ep, ep->events | EPOLLOUT);
			return;
		}
		msg.msg_iovlen = gather_vectors(ep->sending, iov);
		n = sendmsg(ep->source.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			stcp_ep_watch(ep, ep->events | EPOLLOUT);
			return;
		}
		if (n < 0 && errno == EFAULT) {
			payload_missing(ep, iov, msg.msg_iovlen);
			return;
		}
		if (n < 0) {
			stcp_ep_end(ep, errno == EPIPE ? ECONNRESET : errno,
				    TCPW_OK);
			return;
		}
		spend_turn(ep, (size_t)n);
		if (advance_op(ep->sending, (size_t)n)) {
			struct stcp_op *op = ep->sending;

			ep->sending = NULL;
			op_sent(ep, op);
		}
	}
}

static void fail_op(struct stcp_ep *ep, struct stcp_op *op, int err,
		    int prov_errno)
{
	if (op->kind == STCP_ACK || op->kind == STCP_RESPONSE) {
		free(op);
		return;
	}
	op->err = err;
	op->prov_errno = prov_errno;
	stcp_op_complete(ep, op);
}

/* In the order in which they were posted, as near as can be. */
void stcp_tx_flush(struct stcp_ep *ep, int err, int prov_errno)
{
	struct tcpw_due *due;
	struct stcp_op *op;

	while ((due = tcpw_tracker_take_ack(&ep->tracker)) ||
	       (due = tcpw_tracker_take_read(&ep->tracker)))
		fail_op(ep, stcp_container_of(due, struct stcp_op, due), err,
			prov_errno);
	if (ep->sending)
		fail_op(ep, ep->sending, err, prov_errno);
	ep->sending = NULL;
	while ((op = next_op(ep)))
		fail_op(ep, op, err, prov_errno);
	ep->n_answers = 0;
}
