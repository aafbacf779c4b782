// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_lnd: puts, gets and pings of this node.
 *
 * Context: process.
 */
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <kfabric/kfi_buf.h>

#include "lnd.h"

static const int klnd_errnos[LNDW_STATUSES] = {
	[LNDW_DONE] = 0,
	[LNDW_NO_MATCH] = -ENOENT,
	[LNDW_TOO_LONG] = -EMSGSIZE,
	[LNDW_FAILED] = -EIO,
	[LNDW_TIMED_OUT] = -ETIMEDOUT,
	[LNDW_UNREACHED] = -EHOSTUNREACH,
	[LNDW_RESTARTED] = -ECONNRESET,
	[LNDW_OUTDATED] = -ESTALE,
	[LNDW_CLOSED] = -ESHUTDOWN,
};

static void klnd_request_end(struct klnd_request *req, enum lndw_status status,
			     u32 bytes)
{
	struct klnd_net *net = req->peer->net;

	lockdep_assert_held(&net->lock);
	req->status = klnd_errnos[status];
	req->bytes = bytes;
	list_add_tail(&req->node, &net->ended);
}

/* The core's: a transaction is over. */
void klnd_request_ended(struct lndw_peer *core, __u64 cookie,
			enum lndw_status status, __u32 bytes)
{
	struct klnd_peer *peer = container_of(core, struct klnd_peer, core);

	klnd_request_end((struct klnd_request *)(uintptr_t)cookie, status,
			 bytes);
	/* Another one may have its place. */
	klnd_peer_is_dirty(peer);
}

/**
 * klnd_requests_begin() - hand what waits to the core, as far as there is room
 * @peer: with whom
 */
void klnd_requests_begin(struct klnd_peer *peer)
{
	struct klnd_request *req, *next;
	u64 now_ms = klnd_now_ms();

	list_for_each_entry_safe(req, next, &peer->waiting, node) {
		struct lndw_want want = {
			.kind = (enum lndw_kind)req->kind,
			.match = req->match,
			.word = req->word,
			.key = req->key,
			.bytes = req->kind == LNDW_PING ? 0 : req->buf.len,
			.deadline_ms = req->deadline_ms,
			.cookie = (uintptr_t)req,
		};
		int ret = lndw_tx_begin(&peer->core, &want, now_ms);

		if (ret == -EAGAIN)
			return;
		list_del(&req->node);
		if (ret)
			klnd_request_end(req, LNDW_OUTDATED, 0);
	}
}

/**
 * klnd_requests_drop() - end what has waited for too long
 * @peer: with whom
 * @now_ms: the time; U64_MAX: end all
 * @status: what they end with
 */
void klnd_requests_drop(struct klnd_peer *peer, u64 now_ms,
			enum lndw_status status)
{
	struct klnd_request *req, *next;

	list_for_each_entry_safe(req, next, &peer->waiting, node) {
		if (now_ms < req->deadline_ms)
			continue;
		list_del(&req->node);
		klnd_request_end(req, status, 0);
	}
}

/**
 * klnd_requests_end() - end all: the net is closed, or the device is gone
 * @net: net
 */
void klnd_requests_end(struct klnd_net *net)
{
	struct klnd_peer *peer;
	unsigned int i;

	for_each_klnd_peer(net, peer, i)
	{
		lndw_tx_end_all(&peer->core, LNDW_CLOSED);
		klnd_requests_drop(peer, U64_MAX, LNDW_CLOSED);
	}
}

/**
 * klnd_reap() - give back requests that are over
 * @work: of the net
 */
void klnd_reap(struct work_struct *work)
{
	struct klnd_net *net = container_of(work, struct klnd_net, reaper);
	struct klnd_request *req, *next;
	LIST_HEAD(ended);

	mutex_lock(&net->lock);
	list_splice_init(&net->ended, &ended);
	mutex_unlock(&net->lock);
	list_for_each_entry_safe(req, next, &ended, node) {
		/* When it returns no byte of a late peer's lands any more. */
		fi_close_opened(req->mr);
		req->mr = NULL;
		req->done(req);
	}
}

static int klnd_request_queue(struct klnd_net *net, struct klnd_request *req)
{
	int ret = 0;

	mutex_lock(&net->lock);
	req->peer = klnd_peer_find(net, req->nid);
	if (net->is_closing || net->is_dead) {
		ret = -ESHUTDOWN;
	} else if (!req->peer) {
		ret = -EHOSTUNREACH;
	} else {
		req->deadline_ms = klnd_now_ms() + req->timeout_ms;
		list_add_tail(&req->node, &req->peer->waiting);
		klnd_pump(req->peer);
		/* Time counts from now on. */
		queue_delayed_work(klnd_wq, &net->engine,
				   msecs_to_jiffies(KLND_TICK_MS));
	}
	mutex_unlock(&net->lock);
	return ret;
}

static int klnd_request_start(struct klnd_net *net, struct klnd_request *req,
			      enum lndw_kind kind)
{
	struct fi_mr_attr attr = {
		.buf = req->buf,
		.access = kind == LNDW_PUT ? FI_REMOTE_READ : FI_REMOTE_WRITE,
	};
	int ret = 0;

	if (!req->timeout_ms || !req->done)
		return -EINVAL;
	req->kind = kind;
	req->mr = NULL;
	req->key = 0;
	if (kind == LNDW_PUT || kind == LNDW_GET) {
		/*
		 * Each region has a key that none had before it, so that nothing late
		 * finds another one, and that a peer which was not told it would have
		 * to guess.
		 */
		do {
			attr.requested_key = get_random_u64();
			ret = fi_mr_regattr(net->domain, &attr, 0, &req->mr);
		} while (ret == -EEXIST);
		req->key = attr.requested_key;
	}
	ret = ret ?: klnd_request_queue(net, req);
	if (ret && req->mr) {
		fi_close(&req->mr->fid);
		req->mr = NULL;
	}
	return ret;
}

int klnd_put(struct klnd_net *net, struct klnd_request *req)
{
	if (req->buf.len > KLND_BYTES_MAX)
		return -EINVAL;
	return klnd_request_start(
		net, req,
		req->buf.len > LNDW_IMMEDIATE_MAX ? LNDW_PUT : LNDW_IMMEDIATE);
}
EXPORT_SYMBOL_GPL(klnd_put);

int klnd_get(struct klnd_net *net, struct klnd_request *req)
{
	if (!req->buf.len || req->buf.len > KLND_BYTES_MAX)
		return -EINVAL;
	return klnd_request_start(net, req, LNDW_GET);
}
EXPORT_SYMBOL_GPL(klnd_get);

int klnd_ping(struct klnd_net *net, struct klnd_request *req)
{
	return klnd_request_start(net, req, LNDW_PING);
}
EXPORT_SYMBOL_GPL(klnd_ping);
