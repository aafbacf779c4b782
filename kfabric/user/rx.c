// SPDX-License-Identifier: BSD-2-Clause
/*
 * Receiving: headers and short payloads by way of the shard's stage, long
 * payloads straight to where they belong. What was received with others and
 * cannot be used yet, because a receive or room for an answer is missing, is
 * kept aside, and nothing more is received until it can.
 *
 * Context: the shard's thread, and one that looks for completions and finds
 * none: who waits by looking need not wait for the shard to be scheduled.
 * Locking: the endpoint's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "impl.h"

/* System calls in a row before others get their turn, and bytes of each. */
#define ROUNDS_MAX 8
#define DIRECT_MAX (256 * 1024)

enum {
	ENDED,
	NEED_MORE,
	HAVE_TO_PAUSE,
};

/* Returns where the payload that comes next belongs, or NULL. */
static uint8_t *target_of(struct stcp_ep *ep, const struct tcpw_want *want,
			  size_t *room)
{
	uint64_t offset = want->offset;
	const struct stcp_op *op;

	if (ep->rx.hdr.op == TCPW_WRITE) {
		*room = want->bytes;
		return ep->place[want->seg] + want->offset;
	}
	op = ep->rx.hdr.op == TCPW_READ_RESPONSE
		     ? stcp_container_of(ep->rx.due, struct stcp_op, due)
		     : TAILQ_FIRST(&ep->receives);
	for (int i = 0; i < op->n_iov; i++) {
		if (offset < op->iov[i].iov_len) {
			*room = op->iov[i].iov_len - offset;
			if (*room > want->bytes)
				*room = want->bytes;
			return (uint8_t *)op->iov[i].iov_base + offset;
		}
		offset -= op->iov[i].iov_len;
	}
	*room = 0;
	return NULL;
}

/* Payload that came with others to where it belongs; false: that is not there. */
static bool take_bytes(struct stcp_ep *ep, uint8_t *to, const uint8_t *from,
		       size_t n)
{
	struct iovec rest = { to, n };
	size_t placed = n;

	if (ep->rx.hdr.op == TCPW_WRITE)
		placed = stcp_place(to, from, n);
	else
		memcpy(to, from, n);
	if (placed)
		stcp_landed(ep, placed);
	if (placed == n)
		return true;
	rest.iov_base = to + placed;
	rest.iov_len = n - placed;
	stcp_ep_fault(ep, &rest, 1, true);
	return false;
}

/* Takes what can be used of the bytes; sets *at behind what was taken. */
static int consume_bytes(struct stcp_ep *ep, const uint8_t *bytes, size_t len,
			 size_t *at)
{
	struct tcpw_want want;
	enum tcpw_violation why;
	size_t n, room;
	uint8_t *to;

	for (;;) {
		why = TCPW_OK;
		tcpw_rx_want(&ep->rx, &want);
		n = len - *at;
		switch (want.kind) {
		case TCPW_WANT_HEADER:
			if (!n)
				return NEED_MORE;
			n = n < want.bytes ? n : (size_t)want.bytes;
			memcpy(want.buf, bytes + *at, n);
			*at += n;
			why = tcpw_rx_header(&ep->rx, (uint32_t)n);
			break;
		case TCPW_WANT_TARGET:
			why = stcp_target(ep);
			if (ep->pause)
				return HAVE_TO_PAUSE;
			tcpw_rx_target(&ep->rx, why);
			break;
		case TCPW_WANT_PAYLOAD:
			if (!n)
				return NEED_MORE;
			to = target_of(ep, &want, &room);
			if (!to || !room) {
				why = TCPW_TOO_LONG;
				break;
			}
			n = n < room ? n : room;
			if (!take_bytes(ep, to, bytes + *at, n))
				return ENDED;
			*at += n;
			break;
		default:
			why = stcp_finish(ep);
			break;
		}
		if (why)
			stcp_ep_end(ep, FI_EOTHER, why);
		if (ep->state != TCPW_UP)
			return ENDED;
	}
}

/*
 * What was put aside, and a decision that was; true when nothing of it is left
 * and more may be received.
 */
static bool catch_up(struct stcp_ep *ep)
{
	const uint8_t *bytes = ep->stash ? ep->stash : ep->rx.buf;
	size_t at = ep->stash_at;

	if (consume_bytes(ep, bytes, ep->stash ? ep->stash_bytes : 0, &at) ==
	    ENDED)
		return false;
	ep->stash_at = at;
	if (ep->pause)
		return false;
	free(ep->stash);
	ep->stash = NULL;
	ep->stash_at = 0;
	return true;
}

/* What one system call was asked for and brought. */
struct haul {
	size_t asked;
	size_t staged;
};

/* Receives payload to its place, and what follows it to the stage. */
static ssize_t receive_payload(struct stcp_ep *ep, uint8_t *stage,
			       struct haul *haul)
{
	struct tcpw_want want;
	struct iovec iov[2];
	struct msghdr msg = { .msg_iov = iov };
	size_t direct = 0;
	ssize_t n;

	tcpw_rx_want(&ep->rx, &want);
	if (want.kind == TCPW_WANT_PAYLOAD) {
		iov[0].iov_base = target_of(ep, &want, &direct);
		if (direct > DIRECT_MAX)
			direct = DIRECT_MAX;
		iov[0].iov_len = direct;
		msg.msg_iovlen = 1;
	}
	haul->asked = direct;
	/* Behind a piece of a payload comes what belongs elsewhere. */
	if (direct < DIRECT_MAX) {
		iov[msg.msg_iovlen].iov_base = stage;
		iov[msg.msg_iovlen++].iov_len = STCP_STAGE_BYTES;
		haul->asked += STCP_STAGE_BYTES;
	}
	n = recvmsg(ep->source.fd, &msg, MSG_DONTWAIT);
	if (n < 0 && errno == EFAULT)
		stcp_ep_fault(ep, iov, direct ? 1 : 0, true);
	if (n <= 0)
		return n;
	haul->staged = (size_t)n > direct ? (size_t)n - direct : 0;
	if (direct)
		stcp_landed(ep, (size_t)n - haul->staged);
	return n;
}

/*
 * Receives once; false when there is nothing more to do for the moment. What
 * could not be used is put aside; there is room for all of a stage.
 */
static bool haul_once(struct stcp_ep *ep, uint8_t *stage)
{
	struct haul haul = { 0 };
	size_t at = 0, rest;
	ssize_t n;

	if (!catch_up(ep))
		return false;
	n = receive_payload(ep, stage, &haul);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		stcp_ep_end(ep, n ? errno : ECONNRESET, TCPW_OK);
		return false;
	}
	if (consume_bytes(ep, stage, haul.staged, &at) == HAVE_TO_PAUSE &&
	    haul.staged > at) {
		rest = haul.staged - at;
		ep->stash = malloc(rest);
		if (ep->stash) {
			memcpy(ep->stash, stage + at, rest);
			ep->stash_at = 0;
			ep->stash_bytes = rest;
		} else {
			stcp_ep_end(ep, FI_ENOMEM, TCPW_OK);
		}
	}
	return (size_t)n == haul.asked;
}

void stcp_rx_progress(struct stcp_ep *ep, uint8_t *stage)
{
	ep->resumed = false;
	for (int i = 0; i < ROUNDS_MAX; i++)
		if (ep->state != TCPW_UP || ep->pause || !haul_once(ep, stage))
			break;
	if (ep->state == TCPW_UP && ep->pause)
		stcp_ep_watch(ep, (ep->events & ~(uint32_t)EPOLLIN) |
					  (ep->peer_gone ? 0 : EPOLLRDHUP));
}

void stcp_rx_resume(struct stcp_ep *ep, enum stcp_pause waited_for)
{
	if (ep->pause != waited_for || ep->state != TCPW_UP)
		return;
	ep->pause = STCP_RUNS;
	ep->resumed = true;
	/* The socket may have nothing new: EPOLLOUT brings its thread here. */
	stcp_ep_watch(ep, (ep->events & ~(uint32_t)EPOLLRDHUP) | EPOLLIN |
				  EPOLLOUT);
}

void stcp_rx_flush(struct stcp_ep *ep, int err, int prov_errno)
{
	struct stcp_op *op;

	free(ep->stash);
	ep->stash = NULL;
	if (ep->news)
		stcp_cq_release(ep->rx_cq);
	free(ep->news);
	ep->news = NULL;
	while ((op = TAILQ_FIRST(&ep->receives))) {
		TAILQ_REMOVE(&ep->receives, op, link);
		if (!op->err) {
			op->err = err;
			op->prov_errno = prov_errno;
		}
		stcp_op_complete(ep, op);
	}
}

ssize_t stcp_ep_cancel(fid_t fid, void *context)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid.fid);
	struct stcp_op *op;
	bool is_filled;

	pthread_mutex_lock(&ep->lock);
	TAILQ_FOREACH(op, &ep->receives, link)
	if (op->context == context)
		break;
	/* A message that is arriving has taken the first receive for good. */
	is_filled = op == TAILQ_FIRST(&ep->receives) &&
		    ep->rx.hdr.op == TCPW_MSG &&
		    (ep->rx.kind == TCPW_WANT_PAYLOAD ||
		     ep->rx.kind == TCPW_WANT_FINISH);
	if (op && !is_filled) {
		TAILQ_REMOVE(&ep->receives, op, link);
		op->err = FI_ECANCELED;
		stcp_op_complete(ep, op);
	}
	pthread_mutex_unlock(&ep->lock);
	return 0;
}
