// SPDX-License-Identifier: BSD-2-Clause
/* Cases of connected endpoints: connecting, messages, queues, waiting. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "pair.h"

#define WINDOW 64

static void once(void)
{
	pair_ping(64, 1);
}

static void many_sizes(void)
{
	for (size_t len = 1; len <= PAIR_HALF; len *= 4)
		for (unsigned int i = 0; i < 5; i++)
			pair_ping(len, i);
}

/* A window of receives is there first; the client fills it. */
static void windows(void)
{
	const size_t len = 4096;

	for (unsigned int round = 0; round < 8; round++) {
		if (end.serves)
			for (unsigned int i = 0; i < WINDOW; i++)
				pair_recv(end.in + i * len, len, i);
		pair_fill(end.out, WINDOW * len, round);
		if (!end.serves)
			for (unsigned int i = 0; i < WINDOW; i++)
				pair_send(end.out + i * len, len, i);
		for (unsigned int i = 0; i < WINDOW; i++) {
			struct fi_cq_err_entry e =
				pair_done(end.serves ? end.rx_cq : end.tx_cq);

			EXPECT(e.op_context == pair_context(i));
			EXPECT(!end.serves || e.len == len);
		}
		if (end.serves)
			pair_check(end.in, WINDOW * len, round);
		pair_meet();
	}
}

/* Messages that nobody has posted a receive for, yet. */
static void unexpected(void)
{
	for (unsigned int round = 0; round < 10; round++) {
		if (!end.serves) {
			pair_fill(end.out, 8 * 1024, round);
			for (unsigned int i = 0; i < 8; i++)
				pair_send(end.out + i * 1024, 1024, i);
			pair_recv(end.in, 1, 100);
			for (unsigned int i = 0; i < 8; i++)
				(void)pair_done(end.tx_cq);
			(void)pair_done(end.rx_cq);
			continue;
		}
		pair_none(end.rx_cq, 5);
		for (unsigned int i = 0; i < 8; i++)
			pair_recv(end.in + i * 1024, 1024, i);
		for (unsigned int i = 0; i < 8; i++)
			EXPECT(pair_done(end.rx_cq).op_context ==
			       pair_context(i));
		pair_check(end.in, 8 * 1024, round);
		pair_send(end.out, 1, 100);
		(void)pair_done(end.tx_cq);
	}
}

static void with_data(void)
{
	const uint64_t data = 0x0123456789abcdefULL;

	if (end.serves) {
		struct fi_cq_err_entry e;

		pair_recv(end.in, 64, 1);
		e = pair_done(end.rx_cq);
		EXPECT(e.flags & FI_REMOTE_CQ_DATA);
		EXPECT(e.data == data);
		EXPECT(e.len == 64);
		pair_check(end.in, 64, 3);
		return;
	}
	EXPECT(end.info->domain_attr->cq_data_size >= 4);
	pair_fill(end.out, 64, 3);
	MUST(fi_senddata(end.ep, end.out, 64, pair_desc(), data, end.peer,
			 pair_context(1)));
	(void)pair_done(end.tx_cq);
}

static void by_sread(void)
{
	struct fi_cq_tagged_entry entry;

	for (unsigned int i = 0; i < 20; i++) {
		pair_recv(end.in, 64, 1);
		if (!end.serves)
			pair_send(end.out, 64, 2);
		EXPECT(fi_cq_sread(end.rx_cq, &entry, 1, NULL,
				   PAIR_DEADLINE_MS) == 1);
		if (end.serves)
			pair_send(end.out, 64, 2);
		EXPECT(fi_cq_sread(end.tx_cq, &entry, 1, NULL,
				   PAIR_DEADLINE_MS) == 1);
	}
	/* Nothing comes: the time is over. */
	EXPECT(fi_cq_sread(end.tx_cq, &entry, 1, NULL, 10) == -FI_EAGAIN);
}

/* Until there is one, asleep whenever fi_trywait() allows it. */
static void by_epoll(struct fid_cq *cq, int epoll)
{
	struct fi_cq_tagged_entry entry;
	struct epoll_event event;
	struct fid *fids[] = { &cq->fid };
	ssize_t n;

	while ((n = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
		if (!fi_trywait(end.fabric, fids, 1))
			EXPECT(epoll_wait(epoll, &event, 1, PAIR_DEADLINE_MS) ==
			       1);
	MUST(n);
}

static int epoll_of(struct fid_cq *cq)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0), fd;

	MUST(fi_control(&cq->fid, FI_GETWAIT, &fd));
	MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
	return epoll;
}

static void epolls(void)
{
	int tx = epoll_of(end.tx_cq), rx = epoll_of(end.rx_cq);

	for (unsigned int i = 0; i < 20; i++) {
		pair_recv(end.in, 4096, 1);
		if (!end.serves)
			pair_send(end.out, 4096, 2);
		by_epoll(end.rx_cq, rx);
		if (end.serves)
			pair_send(end.out, 4096, 2);
		by_epoll(end.tx_cq, tx);
	}
}

/* Several connections that share queues and a domain; one ends early. */
static void several(void)
{
	struct fid_ep *eps[PAIR_EPS_MAX];
	struct fi_eq_cm_entry entry;

	eps[0] = end.ep;
	for (unsigned int i = 1; i < PAIR_EPS_MAX; i++) {
		struct fi_info *info = end.info;

		if (end.serves) {
			pair_event(FI_CONNREQ, &entry, sizeof(entry));
			info = entry.info;
		}
		pair_open_endpoint(info, &eps[i]);
		if (end.serves) {
			MUST(fi_accept(eps[i], NULL, 0));
			fi_freeinfo(info);
		} else {
			MUST(fi_connect(eps[i], info->dest_addr, NULL, 0));
		}
		pair_event(FI_CONNECTED, &entry, sizeof(entry));
		EXPECT(entry.fid == &eps[i]->fid);
	}
	for (unsigned int i = PAIR_EPS_MAX; i-- > 0;) {
		end.ep = eps[i];
		pair_ping(1000, i);
		if (!i)
			break;
		if (end.serves)
			pair_event(FI_SHUTDOWN, &entry, sizeof(entry));
		else
			MUST(fi_shutdown(end.ep, 0));
		MUST(fi_close(&end.ep->fid));
	}
}

static void cancels(void)
{
	struct fi_cq_err_entry e;

	pair_recv(end.in, 64, 1);
	pair_recv(end.in + 64, 64, 2);
	MUST(fi_cancel(&end.ep->fid, pair_context(1)));
	e = pair_completion(end.rx_cq);
	EXPECT(e.err == FI_ECANCELED);
	EXPECT(e.op_context == pair_context(1));
	pair_send(end.out, 64, 3);
	EXPECT(pair_done(end.rx_cq).op_context == pair_context(2));
	(void)pair_done(end.tx_cq);
}

union cm_event {
	struct fi_eq_cm_entry entry;
	uint8_t bytes[sizeof(struct fi_eq_cm_entry) + 1024];
};

static void open_for_cm(void)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };

	end.info = pair_getinfo();
	MUST(fi_fabric(end.info->fabric_attr, &end.fabric, NULL));
	MUST(fi_eq_open(end.fabric, &attr, &end.eq, NULL));
}

static void cm_data_server(size_t size)
{
	union cm_event u;
	struct fi_info *info;

	pair_event(FI_CONNREQ, &u.entry, sizeof(u));
	pair_check(u.entry.data, size, 1);
	pair_fill(end.out, size, 2);
	MUST(fi_reject(end.pep, u.entry.info->handle, end.out, size));
	fi_freeinfo(u.entry.info);

	pair_event(FI_CONNREQ, &u.entry, sizeof(u));
	pair_check(u.entry.data, size, 3);
	info = u.entry.info;
	pair_open_domain();
	pair_open_endpoint(info, &end.ep);
	pair_fill(end.out, size, 4);
	MUST(fi_accept(end.ep, end.out, size));
	pair_event(FI_CONNECTED, &u.entry, sizeof(u));
	fi_freeinfo(info);
}

static void cm_data_client(size_t size)
{
	struct fi_eq_err_entry err = { 0 };
	union cm_event u;
	uint32_t kind;

	pair_open_domain();
	pair_open_endpoint(end.info, &end.ep);
	pair_fill(end.out, size, 1);
	MUST(fi_connect(end.ep, end.info->dest_addr, end.out, size));
	EXPECT(fi_eq_sread(end.eq, &kind, &u, sizeof(u), PAIR_DEADLINE_MS, 0) ==
	       -FI_EAVAIL);
	err.err_data = end.in;
	err.err_data_size = size;
	MUST(fi_eq_readerr(end.eq, &err, 0));
	EXPECT(err.err == FI_ECONNREFUSED);
	EXPECT(err.err_data_size == size);
	pair_check(err.err_data, size, 2);
	MUST(fi_close(&end.ep->fid));

	pair_open_endpoint(end.info, &end.ep);
	pair_fill(end.out, size, 3);
	MUST(fi_connect(end.ep, end.info->dest_addr, end.out, size));
	pair_event(FI_CONNECTED, &u.entry, sizeof(u));
	pair_check(u.entry.data, size, 4);
}

static void cm_data(void)
{
	size_t size = 0, room = sizeof(size);

	open_for_cm();
	if (end.serves) {
		pair_listen();
		MUST(fi_getopt(&end.pep->fid, FI_OPT_ENDPOINT,
			       FI_OPT_CM_DATA_SIZE, &size, &room));
		EXPECT(size > 0 && size <= 1024);
		cm_data_server(size);
	} else {
		struct fid_pep *pep;

		MUST(fi_passive_ep(end.fabric, end.info, &pep, NULL));
		MUST(fi_getopt(&pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE,
			       &size, &room));
		MUST(fi_close(&pep->fid));
		cm_data_client(size);
	}
	pair_meet();
	pair_finish();
}

/* A passive endpoint's name becomes an active one's. */
static void named(void)
{
	struct sockaddr_in name = { .sin_family = AF_INET }, seen;
	struct fi_eq_cm_entry entry;
	size_t len = sizeof(name);

	open_for_cm();
	name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!end.serves) {
		MUST(fi_passive_ep(end.fabric, end.info, &end.pep, NULL));
		MUST(fi_setname(&end.pep->fid, &name, sizeof(name)));
		MUST(fi_getname(&end.pep->fid, &name, &len));
		EXPECT(name.sin_port != 0);
		end.info->handle = &end.pep->fid;
		pair_open_domain();
		pair_open_endpoint(end.info, &end.ep);
		MUST(fi_close(&end.pep->fid));
		end.pep = NULL;
		MUST(fi_connect(end.ep, end.info->dest_addr, NULL, 0));
	} else {
		pair_listen();
		pair_event(FI_CONNREQ, &entry, sizeof(entry));
		fi_freeinfo(end.info);
		end.info = entry.info;
		pair_open_domain();
		pair_open_endpoint(end.info, &end.ep);
		MUST(fi_accept(end.ep, NULL, 0));
	}
	pair_event(FI_CONNECTED, &entry, sizeof(entry));
	if (!end.serves) {
		MUST(fi_getname(&end.ep->fid, &seen, &len));
		EXPECT(seen.sin_port == name.sin_port);
	}
	end.info->handle = NULL;
	pair_meet();
	pair_finish();
}

static void want_prefix(struct fi_info *hints)
{
	hints->mode |= FI_MSG_PREFIX;
}

static void want_shared_tx(struct fi_info *hints)
{
	hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
}

static void want_shared_rx(struct fi_info *hints)
{
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
}

static void want_shared(struct fi_info *hints)
{
	want_shared_tx(hints);
	want_shared_rx(hints);
}

static void want_multi_recv(struct fi_info *hints)
{
	hints->rx_attr->op_flags = FI_MULTI_RECV;
}

/* One receive for the connections of a domain; granted, it has to work. */
static void shared_receives(void)
{
	struct fi_rx_attr attr = { .op_flags = 0 };
	struct fid_ep *srx;

	open_for_cm();
	pair_open_domain();
	MUST(fi_srx_context(end.domain, &attr, &srx, NULL));
	MUST(fi_close(&srx->fid));
	pair_finish();
}

const struct pair_case pair_msg_cases[] = {
	{ "msg-once", FI_EP_MSG, FI_MSG, .run = once },
	{ "msg-pingpong", FI_EP_MSG, FI_MSG, .run = many_sizes },
	{ "msg-pingpong-prefix", FI_EP_MSG, FI_MSG, want_prefix, many_sizes },
	{ "msg-early-receives", FI_EP_MSG, FI_MSG, .run = windows },
	{ "msg-unexpected", FI_EP_MSG, FI_MSG, .run = unexpected },
	{ "msg-cq-data", FI_EP_MSG, FI_MSG, .run = with_data },
	{ "msg-sread", FI_EP_MSG, FI_MSG, .run = by_sread,
	  .wait_obj = FI_WAIT_UNSPEC },
	{ "msg-epoll", FI_EP_MSG, FI_MSG, .run = epolls,
	  .wait_obj = FI_WAIT_FD },
	{ "msg-multi-ep", FI_EP_MSG, FI_MSG, .run = several },
	{ "msg-cancel", FI_EP_MSG, FI_MSG, .run = cancels },
	{ "msg-cm-data", FI_EP_MSG, FI_MSG, .whole = cm_data },
	{ "msg-sockets", FI_EP_MSG, FI_MSG, .whole = named },
	{ "msg-shared-rx", FI_EP_MSG, FI_MSG, want_shared_rx,
	  .whole = shared_receives },
	{ "msg-shared-tx", FI_EP_MSG, FI_MSG, want_shared_tx, .run = once },
	{ "msg-shared-both", FI_EP_MSG, FI_MSG, want_shared, .run = once },
	{ "msg-multi-recv", FI_EP_MSG, FI_MSG | FI_MULTI_RECV, want_multi_recv,
	  once },
	{ "msg-tagged", FI_EP_MSG, FI_TAGGED, .whole = shared_receives },
	{ NULL },
};
