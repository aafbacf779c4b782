// SPDX-License-Identifier: BSD-2-Clause
/* Cases of unconnected endpoints, which libfabric's rxm makes of connected ones. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define WINDOW 64
#define TAG    0x900dULL

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

static void windows(void)
{
	const size_t len = 4096;

	for (unsigned int round = 0; round < 8; round++) {
		struct fid_cq *cq = end.serves ? end.rx_cq : end.tx_cq;

		pair_fill(end.out, WINDOW * len, round);
		for (unsigned int i = 0; i < WINDOW; i++) {
			if (end.serves)
				pair_recv(end.in + i * len, len, i);
			else
				pair_send(end.out + i * len, len, i);
		}
		for (unsigned int i = 0; i < WINDOW; i++)
			(void)pair_done(cq);
		if (end.serves)
			pair_check(end.in, WINDOW * len, round);
		pair_meet();
	}
}

static void with_data(void)
{
	struct fi_cq_err_entry e;

	if (end.serves) {
		pair_recv(end.in, 64, 1);
		e = pair_done(end.rx_cq);
		EXPECT(e.flags & FI_REMOTE_CQ_DATA);
		EXPECT(e.data == 0xabcd);
		return;
	}
	MUST(fi_senddata(end.ep, end.out, 64, pair_desc(), 0xabcd, end.peer,
			 pair_context(1)));
	(void)pair_done(end.tx_cq);
}

/* A peer that is forgotten and known again. */
static void forgets(void)
{
	uint8_t name[128];
	size_t len = sizeof(name);

	pair_ping(100, 1);
	pair_meet();
	MUST(fi_av_lookup(end.av, end.peer, name, &len));
	MUST(fi_av_remove(end.av, &end.peer, 1, 0));
	EXPECT(fi_av_insert(end.av, name, 1, &end.peer, 0, NULL) == 1);
	pair_ping(100, 2);
}

static void tsend(uint64_t tag, const void *from, size_t len,
		  unsigned int context)
{
	while (fi_tsend(end.ep, from, len, pair_desc(), end.peer, tag,
			pair_context(context)) == -FI_EAGAIN)
		(void)fi_cq_read(end.tx_cq, NULL, 0);
}

static void trecv(uint64_t tag, void *to, size_t len, unsigned int context)
{
	MUST(fi_trecv(end.ep, to, len, pair_desc(), FI_ADDR_UNSPEC, tag, 0,
		      pair_context(context)));
}

static void tagged(void)
{
	for (size_t len = 1; len <= PAIR_HALF; len *= 8) {
		pair_fill(end.out, len, (unsigned int)len + end.serves);
		trecv(len, end.in, len, 1);
		if (!end.serves)
			tsend(len, end.out, len, 2);
		EXPECT(pair_done(end.rx_cq).tag == len);
		pair_check(end.in, len, (unsigned int)len + !end.serves);
		if (end.serves)
			tsend(len, end.out, len, 2);
		(void)pair_done(end.tx_cq);
	}
}

/* Received in another order than they were sent. */
static void tags_choose(void)
{
	for (unsigned int round = 0; round < 4; round++) {
		for (unsigned int i = 0; i < 16; i++) {
			pair_fill(end.out + i * 512, 512, i);
			if (!end.serves)
				tsend(i, end.out + i * 512, 512, i);
		}
		for (unsigned int i = 16; end.serves && i-- > 0;) {
			trecv(i, end.in, 512, i);
			EXPECT(pair_done(end.rx_cq).tag == i);
			pair_check(end.in, 512, i);
		}
		for (unsigned int i = 0; !end.serves && i < 16; i++)
			(void)pair_done(end.tx_cq);
		pair_meet();
	}
}

static struct fi_cq_err_entry peek(uint64_t tag, uint64_t flags)
{
	struct iovec iov = { end.in, 64 };
	void *desc = pair_desc();
	struct fi_msg_tagged msg = { .msg_iov = &iov,
				     .desc = &desc,
				     .iov_count = 1,
				     .addr = FI_ADDR_UNSPEC,
				     .tag = tag,
				     .context = pair_context(9) };

	MUST(fi_trecvmsg(end.ep, &msg, flags));
	return pair_completion(end.rx_cq);
}

static void peeks(void)
{
	if (!end.serves) {
		pair_fill(end.out, 64, 1);
		tsend(TAG, end.out, 64, 1);
		tsend(TAG + 1, end.out, 64, 2);
		(void)pair_done(end.tx_cq);
		(void)pair_done(end.tx_cq);
		return;
	}
	trecv(TAG + 1, end.in, 64, 1);
	(void)pair_done(end.rx_cq);
	EXPECT(peek(0xbad, FI_PEEK).err == FI_ENOMSG);
	EXPECT(!peek(TAG, FI_PEEK).err);
	EXPECT(!peek(TAG, FI_PEEK | FI_CLAIM).err);
	EXPECT(!peek(TAG, FI_CLAIM).err);
	pair_check(end.in, 64, 1);
	EXPECT(peek(TAG, FI_PEEK).err == FI_ENOMSG);
}

static void cancels(void)
{
	struct fi_cq_err_entry e;

	if (!end.serves) {
		tsend(TAG, end.out, 64, 1);
		(void)pair_done(end.tx_cq);
		return;
	}
	trecv(TAG - 1, end.in, 64, 1);
	MUST(fi_cancel(&end.ep->fid, pair_context(1)));
	e = pair_completion(end.rx_cq);
	EXPECT(e.err == FI_ECANCELED && e.op_context == pair_context(1));
	trecv(TAG, end.in, 64, 2);
	EXPECT(pair_done(end.rx_cq).op_context == pair_context(2));
}

/* A second endpoint beside the first, both known to the server. */
static void several(void)
{
	struct fid_ep *first = end.ep, *second;
	fi_addr_t first_peer = end.peer;
	size_t len = 128;

	if (end.serves) {
		pair_recv(end.in, len, 1);
		(void)pair_done(end.rx_cq);
		EXPECT(fi_av_insert(end.av, end.in, 1, &end.peer, 0, NULL) ==
		       1);
		pair_ping(500, 1);
		end.peer = first_peer;
		pair_ping(500, 2);
		return;
	}
	pair_open_endpoint(end.info, &second);
	end.ep = second;
	MUST(fi_getname(&second->fid, end.out, &len));
	pair_send(end.out, len, 1);
	(void)pair_done(end.tx_cq);
	pair_ping(500, 1);
	end.ep = first;
	pair_ping(500, 2);
	MUST(fi_close(&second->fid));
}

/* One client after the other, each with an endpoint of its own. */
static void clients(void)
{
	for (unsigned int i = 0; i < 5; i++) {
		struct fid_ep *first = end.ep;
		size_t len = 128;

		if (end.serves) {
			pair_recv(end.in, len, 1);
			(void)pair_done(end.rx_cq);
			EXPECT(fi_av_insert(end.av, end.in, 1, &end.peer, 0,
					    NULL) == 1);
		} else {
			pair_open_endpoint(end.info, &end.ep);
			MUST(fi_close(&first->fid));
			MUST(fi_getname(&end.ep->fid, end.out, &len));
			pair_send(end.out, len, 1);
			(void)pair_done(end.tx_cq);
		}
		pair_ping(2000, i);
		pair_meet();
	}
}

/* libfabric 2 calls poll sets deprecated; programs have them. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void poll_for(struct fid_poll *poll, void *context)
{
	uint64_t until_ms = pair_now_ms() + PAIR_DEADLINE_MS;
	void *found[2];
	int n;

	for (;;) {
		n = fi_poll(poll, found, 2);
		MUST(n);
		for (int i = 0; i < n; i++)
			if (found[i] == context)
				return;
		EXPECT(pair_now_ms() < until_ms);
	}
}

static void polls(void)
{
	struct fi_poll_attr attr = { 0 };
	struct fid_poll *poll;

	end.tx_cq->fid.context = &end.tx_cq;
	end.rx_cq->fid.context = &end.rx_cq;
	MUST(fi_poll_open(end.domain, &attr, &poll));
	MUST(fi_poll_add(poll, &end.tx_cq->fid, 0));
	MUST(fi_poll_add(poll, &end.rx_cq->fid, 0));
	for (unsigned int i = 0; i < 10; i++) {
		pair_recv(end.in, 64, 1);
		if (!end.serves)
			pair_send(end.out, 64, 2);
		poll_for(poll, &end.rx_cq);
		(void)pair_done(end.rx_cq);
		if (end.serves)
			pair_send(end.out, 64, 2);
		poll_for(poll, &end.tx_cq);
		(void)pair_done(end.tx_cq);
	}
	MUST(fi_poll_del(poll, &end.tx_cq->fid, 0));
	MUST(fi_poll_del(poll, &end.rx_cq->fid, 0));
	MUST(fi_close(&poll->fid));
}

#pragma GCC diagnostic pop

static void sleeps(void)
{
	struct fi_cq_tagged_entry entry;

	for (unsigned int i = 0; i < 10; i++) {
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
}

static void counts(void)
{
	uint64_t received = fi_cntr_read(end.rx_cntr);
	uint64_t sent = fi_cntr_read(end.tx_cntr);

	for (uint64_t i = 1; i <= 10; i++) {
		pair_recv(end.in, 64, 1);
		if (!end.serves)
			pair_send(end.out, 64, 2);
		MUST(fi_cntr_wait(end.rx_cntr, received + i, PAIR_DEADLINE_MS));
		if (end.serves)
			pair_send(end.out, 64, 2);
		MUST(fi_cntr_wait(end.tx_cntr, sent + i, PAIR_DEADLINE_MS));
		(void)pair_done(end.rx_cq);
		(void)pair_done(end.tx_cq);
	}
}

static void receives_many(void)
{
	const size_t least = 128;
	struct iovec iov = { end.in, 4096 };
	void *desc = pair_desc();
	struct fi_msg msg = { .msg_iov = &iov,
			      .desc = &desc,
			      .iov_count = 1,
			      .addr = FI_ADDR_UNSPEC,
			      .context = pair_context(3) };
	struct fi_cq_err_entry e;
	size_t got = 0;

	MUST(fi_setopt(&end.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
		       &least, sizeof(least)));
	if (end.serves)
		MUST(fi_recvmsg(end.ep, &msg, FI_MULTI_RECV));
	for (unsigned int i = 0; i < 8; i++) {
		pair_fill(end.out + i * 512, 512, i);
		if (!end.serves) {
			pair_send(end.out + i * 512, 512, i);
			(void)pair_done(end.tx_cq);
			continue;
		}
		e = pair_done(end.rx_cq);
		EXPECT(e.len == 512 || e.flags & FI_MULTI_RECV);
		if (e.len == 512)
			pair_check(end.in + got, 512, i);
		got += e.len;
	}
	if (end.serves)
		EXPECT(got == 4096);
	/* The rest of the test has receives of its own. */
	if (end.serves)
		(void)fi_cancel(&end.ep->fid, pair_context(3));
}

/* Sums in the server's memory, behind what other messages use. */
static void atomics(void)
{
	uint64_t *mine = (uint64_t *)(end.out + 4096), *back = mine + 8;
	const uint64_t at = PAIR_HALF + 4096;

	pair_exchange_memory();
	for (int i = 0; !end.serves && i < 3; i++) {
		mine[0] = 5;
		MUST(fi_fetch_atomic(end.ep, mine, 1, pair_desc(), back,
				     pair_desc(), end.peer,
				     end.remote.addr + at, end.remote.key,
				     FI_UINT64, FI_SUM, pair_context(1)));
		(void)pair_done(end.tx_cq);
		EXPECT(*back == 5 * (uint64_t)i);
	}
	pair_meet();
	if (end.serves)
		EXPECT(*(uint64_t *)(end.out + at) == 15);
}

/*
 * Any program may ask for where to listen, by a number alone: each info has an
 * address with that number, whichever providers are loaded.
 */
static void look_for_sources(const char *provider)
{
	struct fi_info *hints = fi_allocinfo(), *info, *at;

	if (provider)
		hints->fabric_attr->prov_name = strdup(provider);
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG;
	MUST(fi_getinfo(FI_VERSION(1, 17), NULL, "12345", FI_SOURCE, hints,
			&info));
	for (at = info; at; at = at->next) {
		const struct sockaddr_in *sin = at->src_addr;

		EXPECT(sin && sin->sin_port == htons(12345));
	}
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void sources(void)
{
	look_for_sources(end.provider);
	look_for_sources(NULL);
	if (end.serves)
		puts("port 1");
	free(end.out);
}

static void want_delivery(struct fi_info *hints)
{
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
}

static void want_shared(struct fi_info *hints)
{
	hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
}

static void want_contexts(struct fi_info *hints)
{
	hints->ep_attr->tx_ctx_cnt = 4;
	hints->ep_attr->rx_ctx_cnt = 4;
}

static void want_order(struct fi_info *hints)
{
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->msg_order = FI_ORDER_SAS;
}

const struct pair_case pair_rdm_cases[] = {
	{ "rdm-once", FI_EP_RDM, FI_MSG, .run = once },
	{ "rdm-once-delivered", FI_EP_RDM, FI_MSG, want_delivery, once },
	{ "rdm-pingpong", FI_EP_RDM, FI_MSG, .run = many_sizes },
	{ "rdm-pingpong-delivered", FI_EP_RDM, FI_MSG, want_delivery,
	  many_sizes },
	{ "rdm-bandwidth", FI_EP_RDM, FI_MSG, want_order, windows },
	{ "rdm-cq-data", FI_EP_RDM, FI_MSG, .run = with_data },
	{ "rdm-av-again", FI_EP_RDM, FI_MSG, .run = forgets },
	{ "rdm-tagged-pingpong", FI_EP_RDM, FI_MSG | FI_TAGGED, .run = tagged },
	{ "rdm-tagged-pingpong-delivered", FI_EP_RDM, FI_MSG | FI_TAGGED,
	  want_delivery, tagged },
	{ "rdm-tagged-order", FI_EP_RDM, FI_MSG | FI_TAGGED,
	  .run = tags_choose },
	{ "rdm-tagged-peek", FI_EP_RDM, FI_MSG | FI_TAGGED, want_order, peeks },
	{ "rdm-tagged-cancel", FI_EP_RDM, FI_MSG | FI_TAGGED, .run = cancels },
	{ "rdm-multi-ep", FI_EP_RDM, FI_MSG, .run = several },
	{ "rdm-multi-client", FI_EP_RDM, FI_MSG, .run = clients },
	{ "rdm-multi-client-delivered", FI_EP_RDM, FI_MSG, want_delivery,
	  clients },
	{ "rdm-poll", FI_EP_RDM, FI_MSG, .run = polls },
	{ "rdm-sread", FI_EP_RDM, FI_MSG, .run = sleeps,
	  .wait_obj = FI_WAIT_UNSPEC },
	{ "rdm-counters", FI_EP_RDM, FI_MSG, .run = counts, .counters = true },
	{ "rdm-multi-recv", FI_EP_RDM, FI_MSG | FI_MULTI_RECV,
	  .run = receives_many },
	{ "rdm-atomic", FI_EP_RDM, FI_MSG | FI_ATOMIC, .run = atomics },
	{ "rdm-shared-contexts", FI_EP_RDM, FI_MSG, want_shared, once },
	{ "rdm-scalable-ep", FI_EP_RDM, FI_MSG | FI_NAMED_RX_CTX, want_contexts,
	  once },
	{ "rdm-shared-av", FI_EP_RDM, FI_MSG | FI_SHARED_AV, .run = once },
	{ "rdm-trigger", FI_EP_RDM, FI_MSG | FI_RMA | FI_TRIGGER, .run = once },
	{ "rdm-multicast", FI_EP_RDM, FI_MSG | FI_MULTICAST, .run = once },
	{ "rdm-any-source", FI_EP_RDM, FI_MSG, .whole = sources },
	{ "dgram", FI_EP_DGRAM, FI_MSG, .run = once },
	{ NULL },
};
