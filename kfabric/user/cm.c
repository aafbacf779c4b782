// SPDX-License-Identifier: BSD-2-Clause
/*
 * The life of a connection: asking, accepting, and the one way in which it
 * ends, whoever ends it.
 *
 * Context: calls of the user in any thread; ready() and late() in the shard's.
 * Locking: the endpoint's lock.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "impl.h"

/* The socket wakes whoever sleeps on a queue of its user's. */
static int tell_queues(struct stcp_ep *ep, int op, uint32_t events)
{
	struct stcp_wait *waits[] = { &ep->eq->wait, &ep->rx_cq->wait,
				      &ep->tx_cq->wait };
	int n = ep->tx_cq == ep->rx_cq ? 2 : 3;
	int rc = 0;

	/* Each of them, so that what one lacks is not left in another. */
	for (int i = 0; i < n; i++) {
		int one = stcp_wait_socket(waits[i], op, ep->source.fd, events);

		if (!rc)
			rc = one;
	}
	return rc;
}

void stcp_ep_watch(struct stcp_ep *ep, uint32_t events)
{
	if (!ep->watched || ep->events == events)
		return;
	ep->events = events;
	if (ep->by_caller)
		(void)tell_queues(ep, EPOLL_CTL_MOD, events);
	else
		stcp_shard_change(&ep->source, events);
}

static int start_watching(struct stcp_ep *ep, uint32_t events)
{
	int rc;

	/* For ever: what is under way about it is there. */
	if (!ep->source.shard)
		stcp_shard_assign(&ep->source);
	rc = stcp_shard_watch(&ep->source, events);
	ep->events = events;
	ep->watched = !rc;
	return rc;
}

/* Its shard hears of the peer's end, once: its user may read no queue. */
static int hear_of_end(struct stcp_ep *ep)
{
	if (ep->source.shard) {
		stcp_shard_change(&ep->source, EPOLLRDHUP | EPOLLONESHOT);
		return 0;
	}
	stcp_shard_assign(&ep->source);
	return stcp_shard_watch(&ep->source, EPOLLRDHUP | EPOLLONESHOT);
}

/* From here on who reads a queue moves its data. */
static int give_to_caller(struct stcp_ep *ep)
{
	int rc = tell_queues(ep, EPOLL_CTL_ADD, EPOLLIN);

	if (!rc)
		rc = hear_of_end(ep);
	if (rc) {
		(void)tell_queues(ep, EPOLL_CTL_DEL, 0);
		return rc;
	}
	ep->by_caller = true;
	ep->watched = true;
	ep->events = EPOLLIN;
	return 0;
}

static void take_from_caller(struct stcp_ep *ep)
{
	(void)tell_queues(ep, EPOLL_CTL_DEL, 0);
	ep->by_caller = false;
}

/* Tells the user of the end, once. */
static void tell_end(struct stcp_ep *ep, enum tcpw_state was, int err,
		     enum tcpw_violation why)
{
	struct stcp_event *event = ep->end_event;

	if (ep->told || !ep->eq)
		return;
	ep->told = true;
	ep->end_event = NULL;
	if (was != TCPW_REJECTED)
		event->data_bytes = 0;
	if (why || (was != TCPW_UP && was != TCPW_CLOSING)) {
		event->kind = 0;
		event->err = why ? EPROTO : err;
		event->prov_errno = (int)why;
	}
	stcp_eq_add(ep->eq, event);
}

static void drop_cm(struct stcp_ep *ep)
{
	free(ep->cm);
	free(ep->cm_out);
	ep->cm = NULL;
	ep->cm_out = NULL;
}

void stcp_ep_end(struct stcp_ep *ep, int err, enum tcpw_violation why)
{
	enum tcpw_state was = ep->state;

	if (was == TCPW_DEAD)
		return;
	(void)tcpw_state_move(&ep->state, TCPW_DEAD);
	if (ep->by_caller)
		take_from_caller(ep);
	/*
	 * Its shard hears of nothing any more, as what is hung up would be
	 * reported for ever. It stays that shard's until it is closed.
	 */
	if (ep->watched) {
		stcp_shard_mute(&ep->source);
		ep->watched = false;
		ep->muted = true;
	}
	if (ep->source.fd >= 0)
		(void)shutdown(ep->source.fd, SHUT_RDWR);
	drop_cm(ep);
	memset(ep->place_mr, 0, sizeof(ep->place_mr));
	stcp_tx_flush(ep, FI_ECANCELED, (int)why);
	stcp_rx_flush(ep, FI_ECANCELED, (int)why);
	tell_end(ep, was, err, why);
}

/* Tells its user before anybody else can know. */
static int tell_connected(struct stcp_ep *ep, const void *data, uint32_t n,
			  enum tcpw_order theirs)
{
	struct stcp_event *event =
		stcp_event_alloc(FI_CONNECTED, &ep->fid.fid, data, n);
	int rc = event ? 0 : -FI_ENOMEM;

	if (!rc && ep->domain->manual)
		rc = give_to_caller(ep);
	if (rc) {
		free(event);
		stcp_ep_end(ep, -rc, TCPW_OK);
		return rc;
	}
	ep->order = tcpw_order_of_pair(stcp_our_order(), theirs);
	tcpw_rx_init(&ep->rx, ep->order, &ep->tracker);
	(void)tcpw_state_move(&ep->state, TCPW_UP);
	stcp_eq_add(ep->eq, event);
	return 0;
}

static void receive_answer(struct stcp_ep *ep)
{
	const uint8_t *data;
	uint8_t *to;
	uint32_t want, n_data;

	while ((want = tcpw_cm_rx_want(ep->cm, &to))) {
		ssize_t n = recv(ep->source.fd, to, want, MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			stcp_ep_end(ep, n ? errno : ECONNRESET, TCPW_OK);
			return;
		}
		if (tcpw_cm_rx_fed(ep->cm, (uint32_t)n)) {
			stcp_ep_end(ep, EPROTO, ep->cm->violation);
			return;
		}
	}
	/* The answer to our request is whole. */
	stcp_shard_deadline(&ep->source, 0);
	data = tcpw_cm_rx_data(ep->cm, &n_data);
	if (tcpw_cm_rx_type(ep->cm) == TCPW_CM_ACCEPT) {
		(void)tell_connected(ep, data, n_data,
				     tcpw_cm_rx_order(ep->cm));
		drop_cm(ep);
		return;
	}
	(void)tcpw_state_move(&ep->state, TCPW_REJECTED);
	if (ep->end_event) {
		memcpy(ep->end_event->data, data, n_data);
		ep->end_event->data_bytes = n_data;
	}
	stcp_ep_end(ep, ECONNREFUSED, TCPW_OK);
}

/* The socket is connected, or cannot be: send the request. */
static void send_request(struct stcp_ep *ep)
{
	int err = 0;
	socklen_t len = sizeof(err);
	ssize_t n;

	(void)getsockopt(ep->source.fd, SOL_SOCKET, SO_ERROR, &err, &len);
	if (!err) {
		/* A new socket has room for all of it. */
		n = send(ep->source.fd, ep->cm_out, ep->cm_out_bytes,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n != (ssize_t)ep->cm_out_bytes)
			err = n < 0 ? errno : EIO;
	}
	if (err) {
		stcp_ep_end(ep, err, TCPW_OK);
		return;
	}
	free(ep->cm_out);
	ep->cm_out = NULL;
	stcp_ep_watch(ep, EPOLLIN);
}

static void move_data(struct stcp_ep *ep, uint32_t events, uint8_t *stage)
{
	/* Answers to what is received belong to it. */
	stcp_tx_begin_turn(ep);
	if (events & EPOLLOUT)
		stcp_tx_progress(ep);
	if (ep->state == TCPW_UP)
		stcp_rx_progress(ep, stage);
	/* Nobody receives, so that nothing else would notice. */
	if (events & (EPOLLERR | EPOLLHUP) &&
	    (ep->pause || ep->state == TCPW_CLOSING))
		stcp_ep_end(ep, ECONNRESET, TCPW_OK);
	if (!(events & EPOLLRDHUP) || !ep->pause || ep->state != TCPW_UP ||
	    ep->peer_gone)
		return;
	/* What the peer said last waits for a receive or room, for some time. */
	ep->peer_gone = true;
	stcp_ep_watch(ep, ep->events & ~(uint32_t)EPOLLRDHUP);
	stcp_shard_deadline(&ep->source, STCP_CLOSING_DEADLINE_MS);
}

void stcp_ep_ready(struct stcp_source *source, uint32_t events)
{
	struct stcp_ep *ep = stcp_container_of(source, struct stcp_ep, source);

	pthread_mutex_lock(&ep->lock);
	if (ep->state == TCPW_REQUESTED) {
		if (ep->cm_out)
			send_request(ep);
		else
			receive_answer(ep);
	}
	if (ep->state == TCPW_UP || ep->state == TCPW_CLOSING)
		move_data(ep, events, stcp_shard_stage(source));
	/* There was more to receive before the end. */
	if (ep->by_caller && !ep->pause)
		(void)hear_of_end(ep);
	pthread_mutex_unlock(&ep->lock);
}

/* One that waits for its user hears of nothing but this. */
static uint32_t hung_up(const struct stcp_ep *ep)
{
	struct pollfd fd = { .fd = ep->source.fd, .events = POLLRDHUP };

	if (poll(&fd, 1, 0) <= 0)
		return 0;
	return fd.revents & (POLLHUP | POLLERR) ? EPOLLHUP : EPOLLRDHUP;
}

void stcp_ep_look(struct stcp_ep *ep)
{
	uint8_t stage[STCP_STAGE_BYTES];
	uint32_t events = 0;

	/* Whoever holds the lock is about to do the same. */
	if (pthread_mutex_trylock(&ep->lock))
		return;
	if (ep->state == TCPW_UP && ep->by_caller) {
		events = ep->events & EPOLLOUT;
		if (ep->pause)
			events |= hung_up(ep);
		move_data(ep, events, stage);
	}
	pthread_mutex_unlock(&ep->lock);
}

void stcp_ep_late(struct stcp_source *source)
{
	struct stcp_ep *ep = stcp_container_of(source, struct stcp_ep, source);

	pthread_mutex_lock(&ep->lock);
	stcp_ep_end(ep, ETIMEDOUT, TCPW_OK);
	pthread_mutex_unlock(&ep->lock);
}

/* Ask over a socket that connects from where its user said. */
static int begin_connect(struct stcp_ep *ep, const struct sockaddr *addr,
			 const void *param, size_t paramlen)
{
	const int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
	int n;

	ep->cm = malloc(sizeof(*ep->cm));
	ep->cm_out = malloc(TCPW_CM_MAX);
	if (!ep->cm || !ep->cm_out)
		return -FI_ENOMEM;
	tcpw_cm_rx_init(ep->cm, true);
	n = tcpw_cm_encode(TCPW_CM_REQUEST, stcp_our_order(), param,
			   (__u32)paramlen, ep->cm_out);
	ep->cm_out_bytes = n > 0 ? (size_t)n : 0;
	if (n < 0)
		return n;
	if (!ep->named) {
		ep->source.fd = socket(addr->sa_family, type, 0);
		if (ep->source.fd < 0)
			return -errno;
		n = ep->keep_to
			    ? stcp_socket_keep_to(ep->source.fd, ep->keep_to)
			    : 0;
		if (n)
			return n;
		if (ep->from)
			stcp_socket_share_ports(ep->source.fd);
		if (ep->from && bind(ep->source.fd, (struct sockaddr *)ep->from,
				     (socklen_t)stcp_sockaddr_len(ep->from)))
			return -errno;
	}
	ep->named = false;
	stcp_socket_tune(ep->source.fd);
	if (connect(ep->source.fd, addr, (socklen_t)stcp_sockaddr_len(addr)) &&
	    errno != EINPROGRESS)
		return -errno;
	return 0;
}

static int ep_connect(struct fid_ep *fid, const void *addr, const void *param,
		      size_t paramlen)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	int rc = stcp_ep_lacks(ep);

	if (!addr || paramlen > TCPW_CM_DATA_MAX)
		return -FI_EINVAL;
	if (rc)
		return rc;
	rc = -FI_EOPBADSTATE;
	if (stcp_is_inherited(ep->domain->fabric))
		return rc;
	pthread_mutex_lock(&ep->lock);
	if (ep->state == TCPW_IDLE && (ep->source.fd < 0 || ep->named)) {
		rc = begin_connect(ep, addr, param, paramlen);
		if (!rc)
			rc = start_watching(ep, EPOLLOUT);
		if (!rc) {
			(void)tcpw_state_move(&ep->state, TCPW_REQUESTED);
			stcp_shard_deadline(&ep->source, STCP_CM_DEADLINE_MS);
		} else {
			drop_cm(ep);
		}
	}
	pthread_mutex_unlock(&ep->lock);
	return rc;
}

static int ep_accept(struct fid_ep *fid, const void *param, size_t paramlen)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	uint8_t out[TCPW_CM_MAX];
	int rc = stcp_ep_lacks(ep);
	ssize_t sent;
	int n;

	if (paramlen > TCPW_CM_DATA_MAX)
		return -FI_EINVAL;
	if (rc)
		return rc;
	rc = -FI_EOPBADSTATE;
	n = tcpw_cm_encode(TCPW_CM_ACCEPT, stcp_our_order(), param,
			   (__u32)paramlen, out);
	if (n < 0)
		return n;
	if (stcp_is_inherited(ep->domain->fabric))
		return rc;
	pthread_mutex_lock(&ep->lock);
	if (ep->state == TCPW_ASKED) {
		enum tcpw_order theirs = tcpw_cm_rx_order(&ep->request->cm);

		ep->request->source.fd = -1;
		stcp_request_free(ep->request);
		ep->request = NULL;
		(void)tcpw_state_move(&ep->state, TCPW_ACCEPTED);
		rc = tell_connected(ep, NULL, 0, theirs);
		/* What the peer does then is told after CONNECTED. */
		sent = rc ? n
			  : send(ep->source.fd, out, (size_t)n,
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		/* A new socket has room for all of it. */
		if (sent != n)
			stcp_ep_end(ep, sent < 0 ? errno : EIO, TCPW_OK);
		if (ep->state == TCPW_UP && !ep->by_caller)
			rc = start_watching(ep, EPOLLIN);
		if (rc)
			stcp_ep_end(ep, -rc, TCPW_OK);
	}
	pthread_mutex_unlock(&ep->lock);
	return rc;
}

static int ep_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	int rc = 0;

	if (stcp_is_inherited(ep->domain->fabric))
		return -FI_EOPBADSTATE;
	pthread_mutex_lock(&ep->lock);
	if (ep->state != TCPW_UP) {
		rc = ep->state == TCPW_CLOSING ? 0 : -FI_EOPBADSTATE;
	} else {
		(void)tcpw_state_move(&ep->state, TCPW_CLOSING);
		/* What was posted goes out, whether completions are read or not. */
		if (ep->by_caller)
			take_from_caller(ep);
		ep->events = 0;
		stcp_shard_change(&ep->source, 0);
		stcp_shard_deadline(&ep->source, STCP_CLOSING_DEADLINE_MS);
		stcp_tx_begin_turn(ep);
		stcp_tx_progress(ep);
	}
	pthread_mutex_unlock(&ep->lock);
	return rc;
}

static int ep_getname(fid_t fid, void *addr, size_t *addrlen)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid.fid);

	return stcp_socket_name(ep->source.fd, false, addr, addrlen);
}

static int ep_getpeer(struct fid_ep *fid, void *addr, size_t *addrlen)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);

	return stcp_socket_name(ep->source.fd, true, addr, addrlen);
}

struct fi_ops_cm stcp_ep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.setname = stcp_no_setname,
	.getname = ep_getname,
	.getpeer = ep_getpeer,
	.connect = ep_connect,
	.listen = stcp_no_listen,
	.accept = ep_accept,
	.reject = stcp_no_reject,
	.shutdown = ep_shutdown,
	.join = stcp_no_join,
};
