// SPDX-License-Identifier: BSD-2-Clause
/* Cases of flags: which completions there are, and what they say. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"

/* The client's next sends complete, and no other. */
static void hears_of(unsigned int context)
{
	EXPECT(pair_done(end.tx_cq).op_context == pair_context(context));
}

static void injects(void)
{
	for (size_t len = 1; len <= 64; len *= 2) {
		if (end.serves) {
			pair_recv(end.in, len, 1);
			EXPECT(pair_done(end.rx_cq).len == len);
			pair_check(end.in, len, (unsigned int)len);
			continue;
		}
		pair_fill(end.out, len, (unsigned int)len);
		while (fi_inject(end.ep, end.out, len, end.peer) == -FI_EAGAIN)
			pair_none(end.tx_cq, 1);
		/* It is the caller's again. */
		memset(end.out, 0, len);
	}
	if (!end.serves)
		pair_none(end.tx_cq, 20);
}

static void send_flags(uint64_t flags, unsigned int context)
{
	struct iovec iov = { end.out, 32 };
	void *desc = pair_desc();
	struct fi_msg msg = { .msg_iov = &iov,
			      .desc = &desc,
			      .iov_count = 1,
			      .addr = end.peer,
			      .context = pair_context(context) };

	MUST(fi_sendmsg(end.ep, &msg, flags));
}

static void gets_32(unsigned int seed)
{
	pair_recv(end.in, 32, 1);
	EXPECT(pair_done(end.rx_cq).len == 32);
	pair_check(end.in, 32, seed);
}

static void injects_by_flag(void)
{
	for (unsigned int i = 0; i < 10; i++) {
		if (end.serves) {
			gets_32(i);
			continue;
		}
		pair_fill(end.out, 32, i);
		send_flags(FI_INJECT | FI_COMPLETION, i);
		memset(end.out, 0, 32);
		hears_of(i);
	}
}

static void sends_10(void)
{
	for (unsigned int i = 0; i < 10; i++) {
		if (end.serves) {
			gets_32(i);
			continue;
		}
		pair_fill(end.out, 32, i);
		pair_send(end.out, 32, i);
		hears_of(i);
	}
}

/* Nothing is over before the server posts a receive, which waits for a file. */
static void delivers(void)
{
	const char *go = getenv("PAIR_GO");
	uint64_t until_ms = pair_now_ms() + PAIR_DEADLINE_MS;
	FILE *file;

	EXPECT(go);
	if (end.serves) {
		while (access(go, F_OK) && pair_now_ms() < until_ms)
			pair_none(end.rx_cq, 5);
		gets_32(1);
		return;
	}
	pair_fill(end.out, 32, 1);
	pair_send(end.out, 32, 1);
	pair_none(end.tx_cq, 50);
	file = fopen(go, "w");
	EXPECT(file && !fclose(file));
	hears_of(1);
}

/* Only what asks for a completion has one. */
static void selects(void)
{
	struct iovec iov = { end.in, 32 };
	void *desc = pair_desc();
	struct fi_msg msg = { .msg_iov = &iov,
			      .desc = &desc,
			      .iov_count = 1,
			      .context = pair_context(7) };

	if (end.serves) {
		pair_recv(end.in + 64, 32, 1);
		MUST(fi_recvmsg(end.ep, &msg, FI_COMPLETION));
		EXPECT(pair_done(end.rx_cq).op_context == pair_context(7));
		pair_check(end.in, 32, 1);
		pair_check(end.in + 64, 32, 1);
		send_flags(FI_COMPLETION, 4);
		hears_of(4);
		return;
	}
	pair_fill(end.out, 32, 1);
	MUST(fi_recvmsg(end.ep, &msg, FI_COMPLETION));
	pair_send(end.out, 32, 1);
	send_flags(FI_COMPLETION, 2);
	hears_of(2);
	EXPECT(pair_done(end.rx_cq).op_context == pair_context(7));
}

static void selects_and_leaves(void)
{
	selects();
	MUST(fi_close(&end.ep->fid));
	end.ep = NULL;
}

static void *signals(void *arg)
{
	bool *done = arg;

	while (!__atomic_load_n(done, __ATOMIC_ACQUIRE)) {
		MUST(fi_cq_signal(end.rx_cq));
		pthread_testcancel();
	}
	return NULL;
}

static void signalled(void)
{
	struct fi_cq_tagged_entry entry;
	bool done = false;
	pthread_t thread;

	EXPECT(!pthread_create(&thread, NULL, signals, &done));
	EXPECT(fi_cq_sread(end.rx_cq, &entry, 1, NULL, -1) == -FI_EAGAIN);
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	EXPECT(!pthread_join(thread, NULL));
	/* What was said last is heard, once at most. */
	(void)fi_cq_sread(end.rx_cq, &entry, 1, NULL, 1);
	EXPECT(fi_cq_sread(end.rx_cq, &entry, 1, NULL, 1) == -FI_EAGAIN);
}

static void want_inject(struct fi_info *hints)
{
	hints->tx_attr->op_flags = FI_INJECT;
}

static void want_inject_complete(struct fi_info *hints)
{
	hints->tx_attr->op_flags = FI_INJECT_COMPLETE;
}

static void want_transmit_complete(struct fi_info *hints)
{
	hints->tx_attr->op_flags = FI_TRANSMIT_COMPLETE;
}

static void want_delivery_complete(struct fi_info *hints)
{
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
}

static void want_completion(struct fi_info *hints)
{
	hints->tx_attr->op_flags = FI_COMPLETION;
	hints->rx_attr->op_flags = FI_COMPLETION;
}

const struct pair_case pair_flag_cases[] = {
	{ "msg-inject", FI_EP_MSG, FI_MSG, .run = injects },
	{ "msg-inject-flag", FI_EP_MSG, FI_MSG, .run = injects_by_flag },
	{ "msg-inject-always", FI_EP_MSG, FI_MSG, want_inject, sends_10 },
	{ "msg-inject-complete", FI_EP_MSG, FI_MSG, want_inject_complete,
	  sends_10 },
	{ "msg-transmit-complete", FI_EP_MSG, FI_MSG, want_transmit_complete,
	  delivers },
	{ "msg-delivery-complete", FI_EP_MSG, FI_MSG, want_delivery_complete,
	  delivers },
	{ "msg-selective", FI_EP_MSG, FI_MSG, .run = selects_and_leaves,
	  .bind_flags = FI_SELECTIVE_COMPLETION },
	{ "msg-selective-all", FI_EP_MSG, FI_MSG, want_completion, sends_10,
	  .bind_flags = FI_SELECTIVE_COMPLETION },
	{ "msg-signal", FI_EP_MSG, FI_MSG, .run = signalled,
	  .wait_obj = FI_WAIT_UNSPEC },
	{ "rdm-inject", FI_EP_RDM, FI_MSG, .run = injects },
	{ "rdm-inject-flag", FI_EP_RDM, FI_MSG, .run = injects_by_flag },
	{ "rdm-inject-complete", FI_EP_RDM, FI_MSG, want_inject_complete,
	  sends_10 },
	{ "rdm-delivery-complete", FI_EP_RDM, FI_MSG, want_delivery_complete,
	  sends_10 },
	{ NULL },
};
