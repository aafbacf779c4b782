// SPDX-License-Identifier: BSD-2-Clause
/*
 * Moves everything: completions in, what waits out, and sleeping between.
 *
 * With the tcp provider data moves only inside fi_cq_read(), so sleeping is
 * always on the descriptors of both queues, after fi_trywait() has agreed.
 */
#include <errno.h>
#include <poll.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* Completions taken from the queue at one time. */
#define CQ_BATCH 16

/* poll(2) counts in int; wake now and then, whatever the descriptors say. */
#define WAIT_MAX_MS 1000

/* How often a busy connection looks after deadlines and its lease. */
#define TICK_MS 20

/*
 * What libfabric's verbs has as a provider's error: enum ibv_wc_status. It calls each
 * of them EIO but for those of a queue that is flushed.
 */
enum {
	VERBS_LOCAL_QP = 2, /* soft iWARP: it ended; soft RoCE: no way */
	VERBS_REMOTE_ACCESS = 10, /* the brick's NIC refused key or range */
	VERBS_RETRIES_EXCEEDED = 12, /* nothing of the brick's answers */
	VERBS_NO_RECEIVE = 13, /* no buffer there, again and again */
	VERBS_RESPONSE_TIMEOUT = 20,
};

static void take_completion(struct kfbrick *k, struct kfbl_queue *q,
			    const struct fi_cq_msg_entry *entry)
{
	struct kfbl_ctx *ctx = entry->op_context;

	/*
	 * No message of the protocol comes with data for the completion queue. A
	 * remote write with data takes a receive's place, or has no context.
	 */
	if (!ctx || entry->flags & FI_REMOTE_CQ_DATA) {
		kfb_initiator_lost(&q->core, -EPROTO,
				   "the brick sent completion data", "");
		return;
	}
	switch (ctx->kind) {
	case KFBL_CTX_RECV:
		kfb_initiator_received(&q->core, ctx->index,
				       q->rx + (size_t)ctx->index *
						       KFB_REPLY_MAX_BYTES,
				       (uint32_t)entry->len);
		break;
	case KFBL_CTX_SEND:
		kfb_initiator_sent(&q->core, ctx->index);
		break;
	case KFBL_CTX_PIECE:
		kfbl_piece_done(k, q, ctx, 0);
		break;
	case KFBL_CTX_REPLAY:
		kfbl_retain_written(k, ctx);
		break;
	case KFBL_CTX_READBACK:
		kfb_initiator_flushed(&q->core, ctx->flush_id, 0);
		break;
	}
}

/* What a one-sided operation has done holds, whatever becomes of its queue. */
static bool is_of_data(const struct kfbl_ctx *ctx)
{
	return ctx &&
	       (ctx->kind == KFBL_CTX_PIECE || ctx->kind == KFBL_CTX_REPLAY);
}

int kfbl_completion_error(const struct fi_cq_err_entry *entry, bool is_rdma)
{
	if (entry->err == FI_ENOKEY)
		return -EACCES;
	switch (is_rdma ? entry->prov_errno : 0) {
	case VERBS_LOCAL_QP:
		return -ECONNABORTED;
	case VERBS_REMOTE_ACCESS:
		return -EACCES;
	case VERBS_RETRIES_EXCEEDED:
	case VERBS_RESPONSE_TIMEOUT:
		return -ETIMEDOUT;
	case VERBS_NO_RECEIVE:
		return -ENOBUFS;
	default:
		return -entry->err;
	}
}

/* The first error of the queue: nothing after it is worth reading. */
static void completion_failed(struct kfbrick *k, struct kfbl_queue *q)
{
	struct fi_cq_err_entry entry = { 0 };
	struct kfbl_ctx *ctx;
	char text[128] = "";
	int error;

	if (fi_cq_readerr(q->link.cq, &entry, 0) < 0) {
		kfb_initiator_lost(&q->core, -ECONNRESET,
				   "the completion queue failed", "");
		return;
	}
	fi_cq_strerror(q->link.cq, entry.prov_errno, entry.err_data, text,
		       sizeof(text));
	ctx = entry.op_context;
	error = kfbl_completion_error(&entry, k->url.scheme->is_rdma);
	if (is_of_data(ctx))
		ctx->error = error;
	if (is_of_data(ctx) && error == -EACCES) {
		/* The brick took the handle back, or never gave it. */
		if (ctx->kind == KFBL_CTX_PIECE)
			kfbl_piece_done(k, q, ctx, -EACCES);
		kfb_initiator_lost(&q->core, -EACCES,
				   "the brick refused the key of a mapping",
				   "");
		return;
	}
	if (entry.err == FI_ECANCELED || entry.err == FI_ENOTCONN ||
	    entry.err == FI_ECONNRESET || entry.err == FI_ESHUTDOWN) {
		kfb_initiator_lost(&q->core, -ECONNRESET,
				   "the brick closed the connection", "");
		return;
	}
	kfb_initiator_lost(&q->core, -ECONNRESET, "an operation failed",
			   *text ? text : fi_strerror(entry.err));
}

/* Return true when something was taken. */
static bool drain_cq(struct kfbrick *k, struct kfbl_queue *q)
{
	struct fi_cq_msg_entry entries[CQ_BATCH];
	bool any = false;
	ssize_t n;
	ssize_t i;

	do {
		n = fi_cq_read(q->link.cq, entries, CQ_BATCH);
		for (i = 0; i < n; i++) {
			/* A message among them may have ended it all; what is
			 * done is done all the same.
			 */
			if (!kfb_initiator_is_lost(&q->core) ||
			    is_of_data(entries[i].op_context))
				take_completion(k, q, &entries[i]);
		}
		any |= n > 0;
	} while (n == CQ_BATCH && !kfb_initiator_is_lost(&q->core));

	if (n < 0 && n != -FI_EAGAIN && !kfb_initiator_is_lost(&q->core)) {
		if (n == -FI_EAVAIL)
			completion_failed(k, q);
		else
			kfb_initiator_lost(&q->core, -ECONNRESET,
					   "the completion queue failed",
					   fi_strerror((int)-n));
	}
	return any || kfb_initiator_is_lost(&q->core);
}

static void drain_eq(struct kfbrick *k, struct kfbl_queue *q)
{
	struct fid *fids[] = { &q->link.eq->fid };

	/* What came before the end is still in the completion queue. */
	if (!q->core.is_connecting && !kfb_initiator_is_lost(&q->core))
		drain_cq(k, q);
	kfbl_read_events(k, q);
	/* Events that were taken may leave their signal behind. */
	if (q->link.eq)
		fi_trywait(k->fabric.fabric, fids, 1);
}

static bool progress_queue(struct kfbrick *k, struct kfbl_queue *q, bool ticks)
{
	bool any;

	if (!q->link.ep)
		return false;
	if (ticks || q->core.is_connecting)
		drain_eq(k, q);
	/* A refusal empties the completion queue, too; its words come first. */
	if (q->core.is_connecting)
		return false;
	any = !kfb_initiator_is_lost(&q->core) && drain_cq(k, q);
	if (q->failed && !kfb_initiator_is_lost(&q->core))
		kfb_initiator_lost(&q->core, -ECONNRESET, q->failed,
				   fi_strerror(q->failure));
	if (q->core.n_unsent && !kfb_initiator_is_lost(&q->core))
		kfb_initiator_send_unsent(&q->core);
	if (kfb_initiator_is_lost(&q->core))
		k->is_settled = false;
	return any || kfb_initiator_is_lost(&q->core);
}

bool kfbl_progress(struct kfbrick *k)
{
	struct timespec ts;
	uint64_t now_ms;
	bool led_on = false;
	bool any = false;
	bool ticks;
	uint32_t i;

	/* A program that always finds completions must keep its lease, too. */
	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now_ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	ticks = now_ms - k->tick_ms >= TICK_MS;
	if (ticks)
		k->tick_ms = now_ms;
	k->is_settled = true;
	k->waits_for_rate = false;
	if (kfb_client_state(&k->core.client) == KFB_CLIENT_CLOSED)
		return false;
	for (i = 0; i < k->n_queues; i++)
		any |= progress_queue(k, &k->queues[i], ticks);
	if (any || ticks || k->has_changed || !kfbl_is_live(k))
		led_on |= kfbl_session_run(k);
	if (k->core.replay_due)
		kfb_initiator_replay_pump(&k->core);
	led_on |= kfbl_io_pump(k);
	kfb_initiator_pump_calls(&k->core);
	led_on |= kfb_initiator_pump_flushes(&k->core);
	/* What was posted may have ended a connection, or asks for a run. */
	led_on |= k->has_changed;
	k->is_settled &= !led_on;
	return any || led_on;
}

static uint64_t next_ms(const struct kfbrick *k, uint64_t until_ms)
{
	uint64_t at_ms = kfb_initiator_next_ms(&k->core);

	if (kfbl_restore_next_ms(k) < at_ms)
		at_ms = kfbl_restore_next_ms(k);
	if (k->waits_for_rate && kfb_bucket_next_ms(&k->rate) < at_ms)
		at_ms = kfb_bucket_next_ms(&k->rate);
	return until_ms < at_ms ? until_ms : at_ms;
}

bool kfbl_arm(struct kfbrick *k)
{
	struct itimerspec when = { 0 };
	uint64_t at_ms;
	uint32_t i;

	for (i = 0; i < k->n_queues; i++) {
		const struct kfbl_queue *q = &k->queues[i];
		const struct kfbl_link *link = &q->link;
		struct fid *fids[] = { link->cq ? &link->cq->fid : NULL };

		if (link->ep && !q->core.is_connecting &&
		    fi_trywait(k->fabric.fabric, fids, 1) == -FI_EAGAIN)
			return false;
	}
	if (k->epoll_fd < 0)
		return true;
	/* The caller sleeps on the descriptor: it must tell the time, too. */
	at_ms = next_ms(k, KFB_TIME_NEVER);
	if (at_ms != KFB_TIME_NEVER) {
		when.it_value.tv_sec = (time_t)(at_ms / 1000);
		when.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000 + 1;
	}
	timerfd_settime(k->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
	return true;
}

bool kfbl_wait(struct kfbrick *k, uint64_t until_ms)
{
	struct pollfd fds[2 * KFBL_QUEUES_MAX];
	uint64_t at_ms = next_ms(k, until_ms);
	uint64_t now_ms = kfbl_now_ms();
	uint64_t wait_ms = WAIT_MAX_MS;
	uint32_t i;

	if (kfbl_is_over(k) || !kfbl_arm(k))
		return false;
	if (at_ms <= now_ms)
		wait_ms = 0;
	else if (at_ms - now_ms < wait_ms)
		wait_ms = at_ms - now_ms;
	for (i = 0; i < k->n_queues; i++) {
		const struct kfbl_queue *q = &k->queues[i];
		const struct kfbl_link *link = &q->link;
		bool hears_eq = link->ep && (q->core.is_connecting ||
					     !k->fabric.cq_hears_the_end);

		fds[2 * i] = (struct pollfd){ .fd = link->ep ? link->cq_fd : -1,
					      .events = POLLIN };
		fds[2 * i + 1] =
			(struct pollfd){ .fd = hears_eq ? link->eq_fd : -1,
					 .events = POLLIN };
	}
	if (poll(fds, 2 * k->n_queues, (int)wait_ms) <= 0)
		return true;
	for (i = 0; i < k->n_queues; i++) {
		if (fds[2 * i + 1].revents)
			drain_eq(k, &k->queues[i]);
	}
	return true;
}

void kfbl_watch(struct kfbrick *k, struct kfbl_queue *q)
{
	struct epoll_event event = { .events = EPOLLIN };

	/* Closed descriptors leave by themselves. */
	if (k->epoll_fd < 0 || !q->link.ep)
		return;
	epoll_ctl(k->epoll_fd, EPOLL_CTL_ADD, q->link.cq_fd, &event);
	epoll_ctl(k->epoll_fd, EPOLL_CTL_ADD, q->link.eq_fd, &event);
}

void kfbl_unwatch(struct kfbrick *k)
{
	if (k->timer_fd >= 0)
		close(k->timer_fd);
	if (k->epoll_fd >= 0)
		close(k->epoll_fd);
	k->timer_fd = -1;
	k->epoll_fd = -1;
}

int kfbrick_wait_fd(struct kfbrick *k)
{
	struct epoll_event event = { .events = EPOLLIN };
	uint32_t i;

	if (kfbl_is_over(k))
		return kfbl_not_connected(k);
	if (k->epoll_fd >= 0)
		return k->epoll_fd;
	k->timer_fd =
		timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	k->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (k->epoll_fd < 0 || k->timer_fd < 0 ||
	    epoll_ctl(k->epoll_fd, EPOLL_CTL_ADD, k->timer_fd, &event)) {
		kfbl_unwatch(k);
		return kfbl_fail(k, -EOPNOTSUPP,
				 "%s: no descriptor to wait on: use "
				 "kfbrick_poll() with a timeout",
				 k->url.text);
	}
	for (i = 0; i < k->n_queues; i++)
		kfbl_watch(k, &k->queues[i]);
	return k->epoll_fd;
}
