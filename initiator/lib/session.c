// SPDX-License-Identifier: BSD-2-Clause
/*
 * The core's port to libfabric: endpoints, messages, and what event queues say.
 */
#include <errno.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* Room for a CM event and the private data that comes with it. */
union cm_event {
	struct fi_eq_cm_entry entry;
	uint8_t bytes[sizeof(struct fi_eq_cm_entry) + 256];
};

bool kfbl_is_over(const struct kfbrick *k)
{
	switch (kfb_client_state(&k->core.client)) {
	case KFB_CLIENT_IDLE:
	case KFB_CLIENT_FAILED:
	case KFB_CLIENT_CLOSED:
		return true;
	default:
		return false;
	}
}

bool kfbl_is_live(const struct kfbrick *k)
{
	return kfb_client_state(&k->core.client) == KFB_CLIENT_LIVE &&
	       kfb_client_can_call(&k->core.client, 0);
}

void kfbl_lost_all(struct kfbrick *k, int error, const char *why)
{
	uint32_t i;

	for (i = 0; i < k->n_queues; i++)
		kfb_initiator_lost(&k->queues[i].core, error, why, "");
}

/* ---- what the core asks for -------------------------------------------- */

void kfbl_queue_failed(struct kfbl_queue *q, const char *what, ssize_t rc)
{
	if (!q->failed) {
		q->failed = what;
		q->failure = (int)-rc;
	}
	kfbl_of(q->core.initiator)->has_changed = true;
}

static int connect_queue(struct kfb_initiator_queue *core, const uint8_t *hello,
			 uint32_t len)
{
	struct kfbrick *k = kfbl_of(core->initiator);
	struct kfbl_queue *q = kfbl_queue_of(core);
	int rc;

	q->failed = NULL;
	rc = kfbl_link_open(&q->link, &k->fabric);
	if (!rc) {
		rc = kfbl_path_choose(k, &q->link);
		core->why = rc ? k->path_why : NULL;
	}
	if (!rc)
		rc = kfb_initiator_opened(core);
	if (!rc)
		rc = kfbl_errno(fi_connect(
			q->link.ep, k->fabric.info->dest_addr, hello, len));
	if (!rc)
		kfbl_watch(k, q);
	return rc;
}

static void close_queue(struct kfb_initiator_queue *core)
{
	struct kfbl_queue *q = kfbl_queue_of(core);

	kfbl_link_close(&q->link);
	kfbl_io_lost(kfbl_of(core->initiator), q);
	kfbl_retain_lost(kfbl_of(core->initiator), q);
}

static int post_receive(struct kfb_initiator_queue *core, uint16_t index)
{
	struct kfbrick *k = kfbl_of(core->initiator);
	struct kfbl_queue *q = kfbl_queue_of(core);
	struct kfbl_ctx *ctx = &q->rx_ctx[index];

	ctx->kind = KFBL_CTX_RECV;
	ctx->index = index;
	return kfbl_errno(fi_recv(
		q->link.ep, q->rx + (size_t)index * KFB_REPLY_MAX_BYTES,
		KFB_REPLY_MAX_BYTES, k->fabric.control_desc, 0, &ctx->fi));
}

static int send_message(struct kfb_initiator_queue *core,
			const struct kfb_message *message)
{
	struct kfbrick *k = kfbl_of(core->initiator);
	struct kfbl_queue *q = kfbl_queue_of(core);
	bool is_short = message->len <= k->fabric.inject_max;
	struct kfbl_ctx *ctx = &q->tx_ctx[message->tx];
	ssize_t rc;

	ctx->kind = KFBL_CTX_SEND;
	ctx->index = message->tx;
	/* A short one is copied: no completion needs to be read. */
	if (is_short)
		rc = fi_inject(q->link.ep, message->data, message->len, 0);
	else
		rc = fi_send(q->link.ep, message->data, message->len,
			     k->fabric.control_desc, 0, &ctx->fi);
	if (!rc && is_short)
		kfb_initiator_sent(core, message->tx);
	if (rc && rc != -FI_EAGAIN)
		kfbl_queue_failed(q, "cannot send", rc);
	return kfbl_errno(rc);
}

static void call_done(struct kfb_initiator *i, struct kfb_initiator_call *call)
{
	struct kfbrick *k = kfbl_of(i);

	if (call == &k->restore.call)
		kfbl_restore_answer(k);
}

static void make_mappings(struct kfb_initiator *i)
{
	kfbl_restore_start(kfbl_of(i));
}

/* In the next round of progress. */
static void port_kick(struct kfb_initiator *i)
{
	kfbl_of(i)->has_changed = true;
}

static void port_over(struct kfb_initiator *i)
{
	kfbl_io_end(kfbl_of(i), -ECONNRESET);
}

static void port_say(struct kfb_initiator *i, enum kfb_initiator_level level,
		     const char *what, const char *detail, int error)
{
	struct kfbrick *k = kfbl_of(i);

	(void)level;
	if (!detail && error)
		detail = strerror(-error);
	snprintf(k->lost_why, sizeof(k->lost_why), "%s%s%s", what,
		 detail && *detail ? ": " : "", detail ? detail : "");
}

static __u64 now_ms(const struct kfb_initiator *i)
{
	(void)i;
	return kfbl_now_ms();
}

static __u64 moved_bytes(struct kfb_initiator_queue *core)
{
	return kfbl_link_moved_bytes(&kfbl_queue_of(core)->link);
}

static void set_rate(struct kfb_initiator *i, const struct kfb_rate *rate)
{
	struct kfbrick *k = kfbl_of(i);

	if (!kfb_rate_equals(&k->rate.rate, rate))
		kfb_bucket_change(&k->rate, rate, kfbl_now_ms());
}

const struct kfb_initiator_ops kfbl_initiator_ops = {
	.connect = connect_queue,
	.close = close_queue,
	.receive = post_receive,
	.send = send_message,
	.locate = kfbl_flush_locate,
	.locate_any = kfbl_flush_locate_any,
	.read_back = kfbl_flush_read_back,
	.flush_done = kfbl_flush_done,
	.write_copy = kfbl_retain_write_copy,
	.call_done = call_done,
	.make_mappings = make_mappings,
	.set_rate = set_rate,
	.over = port_over,
	.say = port_say,
	.now_ms = now_ms,
	.kick = port_kick,
	.moved_bytes = moved_bytes,
};

bool kfbl_session_run(struct kfbrick *k)
{
	bool any;

	k->has_changed = false;
	any = kfb_initiator_run(&k->core);
	any |= kfbl_restore_run(k);
	/* Until it is over io.c posts nothing else. */
	if (k->core.replay_due && kfb_initiator_is_usable(&k->core)) {
		kfb_initiator_replay(&k->core);
		any |= !k->core.replay_due;
	}
	if (kfb_client_state(&k->core.client) == KFB_CLIENT_LIVE)
		k->is_connected = true;
	return any;
}

/* ---- what event queues say ---------------------------------------------- */

static void read_failure(struct kfbl_queue *q)
{
	struct fi_eq_err_entry error = { 0 };
	uint8_t words[256];

	error.err_data = words;
	error.err_data_size = sizeof(words);
	if (fi_eq_readerr(q->link.eq, &error, 0) < 0)
		error.err = FI_ECONNREFUSED;
	if (q->core.is_connecting)
		kfb_initiator_rejected(&q->core, -kfbl_errno(-error.err),
				       error.err_data,
				       (uint32_t)error.err_data_size);
	else
		kfb_initiator_lost(&q->core, -ECONNRESET,
				   "the connection failed",
				   fi_strerror(error.err));
}

void kfbl_read_events(struct kfbrick *k, struct kfbl_queue *q)
{
	union cm_event cm;
	uint32_t event;
	ssize_t n;

	if (!q->link.eq)
		return;
	n = fi_eq_read(q->link.eq, &event, &cm, sizeof(cm), 0);
	if (n != -FI_EAGAIN)
		k->has_changed = true;
	if (n == -FI_EAVAIL)
		read_failure(q);
	else if (n >= (ssize_t)sizeof(cm.entry) && event == FI_CONNECTED)
		kfb_initiator_accepted(
			&q->core, cm.entry.data,
			(uint32_t)(n - (ssize_t)sizeof(cm.entry)));
	else if (n >= 0)
		kfb_initiator_lost(&q->core, -ECONNRESET,
				   q->core.is_connecting
					   ? "the brick closed the connection "
					     "before accepting it"
					   : "the brick closed the connection",
				   "");
}

void kfbl_session_end(struct kfbrick *k)
{
	uint32_t i;

	for (i = 0; k->queues && i < k->n_queues; i++)
		kfbl_link_close(&k->queues[i].link);
	kfb_client_close(&k->core.client);
}
