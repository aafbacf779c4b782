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
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "internal.h"

/* Completions taken from the queue at one time. */
#define CQ_BATCH 16

/* poll(2) counts in int; wake now and then, whatever the descriptors say. */
#define WAIT_MAX_MS 1000

/* How often a busy connection looks after deadlines and its lease. */
#define TICK_MS 20

/* IBV_WC_REM_ACCESS_ERR: the brick's NIC refused key or range. */
#define VERBS_REMOTE_ACCESS_ERROR 10

void kfbl_lost(struct kfbrick *k, int error, const char *fmt, ...)
{
	struct kfb_outcome outcome;
	va_list ap;

	if (k->lost)
		return;
	k->lost = true;
	k->lost_error = error;
	va_start(ap, fmt);
	vsnprintf(k->lost_why, sizeof(k->lost_why), fmt, ap);
	va_end(ap);

	kfbl_fabric_disconnect(&k->fabric);
	kfb_engine_lost(&k->engine);
	k->n_unsent = 0;
	while (kfb_engine_next_lost(&k->engine, &outcome)) {
		if (k->calls[outcome.slot].kind != KFBL_CALL_SYNC)
			continue;
		k->call_outcome = outcome;
		k->call_done = true;
	}
	kfbl_io_lost(k, -ECONNRESET);
}

static void completed(struct kfbrick *k, const struct fi_cq_msg_entry *entry)
{
	struct kfbl_ctx *ctx = entry->op_context;

	switch (ctx->kind) {
	case KFBL_CTX_RECV:
		kfbl_received(k, ctx, entry->len);
		break;
	case KFBL_CTX_SEND:
		kfb_engine_sent(&k->engine, ctx->index);
		break;
	case KFBL_CTX_PIECE:
		kfbl_piece_done(k, ctx, 0);
		break;
	case KFBL_CTX_READBACK:
		kfbl_flush_done(k, ctx->flush_id, 0);
		break;
	}
}

static bool is_access_error(const struct kfbrick *k,
			    const struct fi_cq_err_entry *entry)
{
	if (entry->err == FI_EACCES || entry->err == FI_ENOKEY)
		return true;
	return !strcmp(k->url.provider, "verbs") &&
	       entry->prov_errno == VERBS_REMOTE_ACCESS_ERROR;
}

/* The first error of the queue: nothing after it is worth reading. */
static void completion_failed(struct kfbrick *k)
{
	struct fi_cq_err_entry entry = { 0 };
	struct kfbl_ctx *ctx;
	char text[128] = "";

	if (fi_cq_readerr(k->fabric.cq, &entry, 0) < 0) {
		kfbl_lost(k, -ECONNRESET, "the completion queue failed");
		return;
	}
	fi_cq_strerror(k->fabric.cq, entry.prov_errno, entry.err_data, text,
		       sizeof(text));
	ctx = entry.op_context;
	if (ctx && ctx->kind == KFBL_CTX_PIECE && is_access_error(k, &entry)) {
		/* The brick took the handle back, or never gave it. */
		kfbl_piece_done(k, ctx, -EACCES);
		kfbl_lost(k, -EACCES, "the brick refused the key of a mapping");
		return;
	}
	if (entry.err == FI_ECANCELED || entry.err == FI_ENOTCONN ||
	    entry.err == FI_ECONNRESET || entry.err == FI_ESHUTDOWN)
		kfbl_lost(k, -ECONNRESET, "the brick closed the connection");
	else
		kfbl_lost(k, -ECONNRESET, "an operation failed: %s (%s)",
			  fi_strerror(entry.err), text);
}

/* True when something was taken. */
static bool drain_cq(struct kfbrick *k)
{
	struct fi_cq_msg_entry entries[CQ_BATCH];
	bool any = false;
	ssize_t n;
	ssize_t i;

	do {
		n = fi_cq_read(k->fabric.cq, entries, CQ_BATCH);
		for (i = 0; i < n; i++) {
			/* A message among them may have ended it all. */
			if (k->lost)
				return true;
			completed(k, &entries[i]);
		}
		any |= n > 0;
	} while (n == CQ_BATCH && !k->lost);

	if (n == -FI_EAVAIL && !k->lost)
		completion_failed(k);
	else if (n < 0 && n != -FI_EAGAIN && n != -FI_EAVAIL && !k->lost)
		kfbl_lost(k, -ECONNRESET, "the completion queue failed: %s",
			  fi_strerror((int)-n));
	return any || k->lost;
}

static void drain_eq(struct kfbrick *k)
{
	struct fid *fids[] = { &k->fabric.eq->fid };
	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_cm_entry entry;
	uint32_t event;
	ssize_t n;

	n = fi_eq_read(k->fabric.eq, &event, &entry, sizeof(entry), 0);
	if (n == -FI_EAGAIN) {
		/* Events taken by fi_eq_sread() leave their signal behind. */
		fi_trywait(k->fabric.fabric, fids, 1);
		return;
	}
	if (n == -FI_EAVAIL) {
		fi_eq_readerr(k->fabric.eq, &error, 0);
		kfbl_lost(k, -ECONNRESET, "the connection failed: %s",
			  fi_strerror(error.err));
	} else if (n >= 0 && event == FI_SHUTDOWN) {
		/* What came before it is still in the completion queue. */
		drain_cq(k);
		kfbl_lost(k, -ECONNRESET, "the brick closed the connection");
	}
}

/* A program that always finds completions must keep its lease, too. */
static void tick(struct kfbrick *k)
{
	struct timespec ts;
	uint64_t now_ms;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	now_ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
	if (now_ms - k->tick_ms < TICK_MS)
		return;
	k->tick_ms = now_ms;
	kfbl_housekeeping(k);
}

bool kfbl_progress(struct kfbrick *k)
{
	bool any;

	if (k->lost)
		return false;
	tick(k);
	any = drain_cq(k);
	if (!k->lost && k->n_unsent)
		kfbl_send_unsent(k);
	if (!k->lost)
		any |= kfbl_io_pump(k);
	if (!k->lost)
		any |= kfbl_flush_pump(k);
	return any;
}

bool kfbl_arm(struct kfbrick *k)
{
	struct fid *fids[] = { &k->fabric.cq->fid };

	return fi_trywait(k->fabric.fabric, fids, 1) != -FI_EAGAIN;
}

void kfbl_wait(struct kfbrick *k, uint64_t until_ms)
{
	struct pollfd fds[] = {
		{ .fd = k->fabric.cq_fd, .events = POLLIN },
		{ .fd = k->fabric.eq_fd, .events = POLLIN },
	};
	uint64_t next_ms = kfb_engine_next_ms(&k->engine);
	uint64_t now_ms = kfbl_now_ms();
	uint64_t wait_ms = WAIT_MAX_MS;

	if (k->lost || !kfbl_arm(k))
		return;
	if (until_ms < next_ms)
		next_ms = until_ms;
	if (next_ms <= now_ms)
		wait_ms = 0;
	else if (next_ms - now_ms < wait_ms)
		wait_ms = next_ms - now_ms;
	if (poll(fds, 2, (int)wait_ms) > 0 && fds[1].revents)
		drain_eq(k);
}
