// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the operations of a peer may do: keys, ranges, access, a receive that
 * is long enough, room for the answer. All of it is looked at when the header
 * is whole and before the first byte of payload; what is missing for the
 * moment pauses the connection, what is not allowed ends it.
 *
 * Context: as rx.c. Locking: the endpoint's lock.
 */
#include <string.h>

#include "impl.h"

static bool has_room(struct stcp_ep *ep)
{
	if (ep->n_answers < STCP_ANSWERS_MAX)
		return true;
	ep->pause = STCP_NO_ROOM;
	return false;
}

static bool wants_ack(const struct stcp_ep *ep)
{
	return ep->rx.hdr.flags & TCPW_F_ACKED;
}

static enum tcpw_violation target_message(struct stcp_ep *ep)
{
	struct stcp_op *op = TAILQ_FIRST(&ep->receives);

	if (wants_ack(ep) && !has_room(ep))
		return TCPW_OK;
	if (!op && ep->srx && (op = stcp_srx_take(ep))) {
		TAILQ_INSERT_TAIL(&ep->receives, op, link);
		ep->n_rx++;
	}
	if (!op) {
		ep->pause = STCP_NO_RECEIVE;
		return TCPW_OK;
	}
	if (ep->rx.hdr.payload_bytes > op->total) {
		op->err = FI_ETRUNC;
		op->prov_errno = TCPW_TOO_LONG;
		return TCPW_TOO_LONG;
	}
	return TCPW_OK;
}

static enum tcpw_violation find_segments(struct stcp_ep *ep, uint64_t access)
{
	enum tcpw_violation why = TCPW_OK;

	for (int i = 0; !why && i < ep->rx.hdr.n_segs; i++)
		why = stcp_mr_find(ep->domain, &ep->rx.hdr.segs[i], access,
				   &ep->place_mr[i], &ep->place[i]);
	return why;
}

static void forget_segments(struct stcp_ep *ep)
{
	memset(ep->place_mr, 0, sizeof(ep->place_mr));
}

/* The completion that a write makes here: no receive bounds how many. */
static enum tcpw_violation prepare_news(struct stcp_ep *ep)
{
	if (!ep->domain->write_data)
		return TCPW_NO_CQ_DATA;
	if (!stcp_cq_reserve(ep->rx_cq)) {
		ep->pause = STCP_NO_READER;
		return TCPW_OK;
	}
	ep->news = stcp_op_alloc(STCP_RECV, 0);
	if (!ep->news) {
		stcp_cq_release(ep->rx_cq);
		return TCPW_NO_MEMORY;
	}
	ep->news->unbidden = true;
	ep->news->flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
	ep->news->data = ep->rx.hdr.cq_data;
	ep->news->len = ep->rx.hdr.payload_bytes;
	return TCPW_OK;
}

enum tcpw_violation stcp_target(struct stcp_ep *ep)
{
	enum tcpw_violation why = TCPW_OK;

	switch (ep->rx.hdr.op) {
	case TCPW_MSG:
		return target_message(ep);
	case TCPW_WRITE:
		if (wants_ack(ep) && !has_room(ep))
			return TCPW_OK;
		if (ep->rx.hdr.flags & TCPW_F_COMMIT && !ep->domain->persist)
			return TCPW_NO_COMMIT;
		if (ep->rx.hdr.flags & TCPW_F_CQ_DATA)
			why = prepare_news(ep);
		if (why || ep->pause)
			return why;
		return find_segments(ep, FI_REMOTE_WRITE);
	case TCPW_READ_REQUEST:
		return has_room(ep) ? find_segments(ep, FI_REMOTE_READ)
				    : TCPW_OK;
	default:
		return TCPW_OK;
	}
}

/* What only the holder of the endpoint's lock adds to takes no locked addition. */
static void count_moved(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t old = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, old + n, memory_order_relaxed);
}

void stcp_landed(struct stcp_ep *ep, uint64_t bytes)
{
	tcpw_rx_payload(&ep->rx, bytes);
	/* As they come: of a write that does not end, too. */
	if (ep->rx.hdr.op == TCPW_WRITE)
		count_moved(&ep->written_bytes, bytes);
}

/* There is room for the answer: that was seen when the header came. */
static void queue_answer(struct stcp_ep *ep, struct stcp_op *op,
			 const struct tcpw_hdr *hdr)
{
	int n = tcpw_hdr_encode(hdr, ep->order, op->hdr);

	op->hdr_bytes = (uint8_t)n;
	ep->n_answers++;
	TAILQ_INSERT_TAIL(&ep->answers, op, link);
	stcp_tx_progress(ep);
}

static enum tcpw_violation queue_response(struct stcp_ep *ep)
{
	struct tcpw_hdr hdr = { .op = TCPW_READ_RESPONSE,
				.payload_bytes = ep->rx.hdr.rma_bytes };
	struct stcp_op *op = stcp_op_alloc(STCP_RESPONSE, 0);

	if (!op)
		return TCPW_NO_MEMORY;
	op->n_iov = ep->rx.hdr.n_segs;
	for (int i = 0; i < op->n_iov; i++) {
		op->iov[i].iov_base = ep->place[i];
		op->iov[i].iov_len = ep->rx.hdr.segs[i].bytes;
		op->mrs[i] = ep->place_mr[i];
	}
	forget_segments(ep);
	count_moved(&ep->read_bytes, ep->rx.hdr.rma_bytes);
	count_moved(&ep->n_moves, 1);
	tcpw_rx_finish(&ep->rx);
	queue_answer(ep, op, &hdr);
	return TCPW_OK;
}

/* What cannot be made durable here is no fault of the peer's. */
static void target_written(struct stcp_ep *ep)
{
	const struct stcp_domain *domain = ep->domain;
	bool commit = ep->rx.hdr.flags & TCPW_F_COMMIT;
	int rc = 0;

	for (int i = 0; commit && !rc && i < ep->rx.hdr.n_segs; i++)
		rc = domain->persist(domain->persist_arg, ep->place[i],
				     ep->rx.hdr.segs[i].bytes);
	if (rc)
		stcp_ep_end(ep, -rc, TCPW_OK);
	forget_segments(ep);
	if (!ep->news)
		return;
	stcp_cq_add(ep->rx_cq, ep->news);
	ep->news = NULL;
}

enum tcpw_violation stcp_finish(struct stcp_ep *ep)
{
	const struct tcpw_hdr *hdr = &ep->rx.hdr;
	struct tcpw_hdr answer = { .op = TCPW_ACK };
	struct tcpw_due *due = ep->rx.due;
	bool ack = wants_ack(ep);
	struct stcp_op *op;

	switch (hdr->op) {
	case TCPW_READ_REQUEST:
		return queue_response(ep);
	case TCPW_MSG:
		op = TAILQ_FIRST(&ep->receives);
		TAILQ_REMOVE(&ep->receives, op, link);
		op->len = hdr->payload_bytes;
		if (hdr->flags & TCPW_F_CQ_DATA) {
			op->flags |= FI_REMOTE_CQ_DATA;
			op->data = hdr->cq_data;
		}
		stcp_op_complete(ep, op);
		break;
	case TCPW_WRITE:
		count_moved(&ep->n_moves, 1);
		target_written(ep);
		if (ep->state != TCPW_UP)
			return TCPW_OK;
		break;
	default:
		break;
	}
	tcpw_rx_finish(&ep->rx);
	if (due)
		stcp_op_complete(ep,
				 stcp_container_of(due, struct stcp_op, due));
	if (!ack)
		return TCPW_OK;
	op = stcp_op_alloc(STCP_ACK, 0);
	if (!op)
		return TCPW_NO_MEMORY;
	queue_answer(ep, op, &answer);
	return TCPW_OK;
}
