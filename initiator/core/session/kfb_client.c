// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The client's session: its states, and what news of a connection means.
 *
 * kfb_client_next.c has what follows from it.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_err.h"
#include "session/kfb_client_priv.h"

#define TO(state) (1U << KFB_CLIENT_##state)

static const __u32 kfb_client_moves[KFB_CLIENT_STATES] = {
	[KFB_CLIENT_IDLE] = TO(OPENING) | TO(CLOSED),
	[KFB_CLIENT_OPENING] = TO(MAPPING) | TO(FAILED) | TO(CLOSED),
	[KFB_CLIENT_MAPPING] =
		TO(LIVE) | TO(DETACHED) | TO(FAILED) | TO(CLOSED),
	[KFB_CLIENT_LIVE] = TO(DETACHED) | TO(FAILED) | TO(CLOSED),
	[KFB_CLIENT_DETACHED] =
		TO(LIVE) | TO(MAPPING) | TO(OPENING) | TO(FAILED) | TO(CLOSED),
	[KFB_CLIENT_FAILED] = TO(DETACHED) | TO(CLOSED),
};

int kfb_client_move(struct kfb_client *c, enum kfb_client_state to)
{
	if (!(kfb_client_moves[c->state] & 1U << to))
		return -EINVAL;
	c->state = to;
	return 0;
}

const char *kfb_client_state_name(enum kfb_client_state state)
{
	static const char *const names[KFB_CLIENT_STATES] = {
		[KFB_CLIENT_IDLE] = "IDLE",
		[KFB_CLIENT_OPENING] = "OPENING",
		[KFB_CLIENT_MAPPING] = "MAPPING",
		[KFB_CLIENT_LIVE] = "LIVE",
		[KFB_CLIENT_DETACHED] = "DETACHED",
		[KFB_CLIENT_FAILED] = "FAILED",
		[KFB_CLIENT_CLOSED] = "CLOSED",
	};

	return (__u32)state < KFB_CLIENT_STATES ? names[state] : "?";
}

int kfb_client_error(const struct kfb_client *c)
{
	return c->state == KFB_CLIENT_FAILED ? c->error : 0;
}

int kfb_client_init(struct kfb_client *c,
		    const struct kfb_client_config *config, __u8 *tx)
{
	__u32 i;
	int rc;

	if (!config->random || !config->engine.hmac.compute ||
	    !config->n_queues || config->n_queues > KFB_CLIENT_QUEUES_MAX ||
	    config->n_addresses > KFB_CLIENT_ADDRESSES_MAX ||
	    !config->timeout_ms || !tx)
		return -EINVAL;
	memset(c, 0, sizeof(*c));
	c->config = *config;
	c->spare_tx = tx + config->n_queues * KFB_ENGINE_TX_BYTES;
	c->n_offered = config->n_queues;
	c->is_first = 1;
	for (i = 0; i < config->n_queues; i++) {
		struct kfb_client_queue *q = &c->queues[i];

		rc = kfb_retry_init(&q->retry, KFB_CLIENT_RETRY_MIN_MS,
				    KFB_CLIENT_RETRY_MAX_MS, 0);
		if (rc)
			return rc;
		config->random(config->random_ctx, c->config.engine.nonce,
			       KFB_NONCE_BYTES);
		rc = kfb_engine_init(&q->engine, &c->config.engine,
				     tx + i * KFB_ENGINE_TX_BYTES);
		if (rc)
			return rc;
	}
	return 0;
}

int kfb_client_start(struct kfb_client *c)
{
	if (c->state != KFB_CLIENT_IDLE)
		return -EISCONN;
	return kfb_client_move(c, KFB_CLIENT_OPENING);
}

/* The engine has no connection any more, nor any hope for its calls. */
static void kfb_client_end_queue(struct kfb_client_queue *q)
{
	if (q->engine.state == KFB_CONN_READY)
		q->needs_validation = 1;
	kfb_engine_lost(&q->engine);
	kfb_engine_drop(&q->engine);
}

/* @to is a state that nothing leads out of, or only to another such. */
static void kfb_client_end(struct kfb_client *c, enum kfb_client_state to,
			   int error)
{
	__u32 i;

	if (kfb_client_move(c, to))
		return;
	c->error = error;
	kfb_client_stop_asking(c);
	for (i = 0; i < c->config.n_queues; i++)
		kfb_client_end_queue(&c->queues[i]);
}

void kfb_client_close(struct kfb_client *c)
{
	kfb_client_end(c, KFB_CLIENT_CLOSED, 0);
}

void kfb_client_fail(struct kfb_client *c, int error)
{
	kfb_client_end(c, KFB_CLIENT_FAILED, error);
}

int kfb_client_retake(struct kfb_client *c, __u64 now_ms)
{
	__u32 i;

	if (c->state != KFB_CLIENT_FAILED || c->is_first)
		return -EINVAL;
	for (i = 0; i < c->config.n_queues; i++) {
		if (c->queues[i].is_open)
			return -EBUSY;
	}
	for (i = 0; i < c->config.n_queues; i++) {
		struct kfb_client_queue *q = &c->queues[i];

		q->is_connecting = 0;
		kfb_client_connecting(c, q, now_ms);
		/* Losses are its end: it has one try, and each step of that ends. */
		if (!c->config.reconnect_ms)
			q->give_up_ms = KFB_TIME_NEVER;
		kfb_retry_succeeded(&q->retry);
		q->retry_at_ms = 0;
	}
	if (!c->config.reconnect_ms)
		c->address = 0;
	c->is_retaken = 1;
	c->is_doubted = 1;
	return kfb_client_move(c, KFB_CLIENT_DETACHED);
}

void kfb_client_connecting(const struct kfb_client *c,
			   struct kfb_client_queue *q, __u64 now_ms)
{
	if (q->is_connecting)
		return;
	q->is_connecting = 1;
	q->give_up_ms = KFB_TIME_NEVER;
	if (c->config.reconnect_ms != KFB_CLIENT_FOREVER)
		q->give_up_ms = now_ms + c->config.reconnect_ms;
}

_Bool kfb_client_has_queue(const struct kfb_client *c,
			   enum kfb_conn_state state)
{
	__u32 i;

	for (i = 0; i < c->config.n_queues; i++) {
		if (c->queues[i].engine.state == state)
			return 1;
	}
	return 0;
}

void kfb_client_try_again(struct kfb_client *c, struct kfb_client_queue *q,
			  __u64 now_ms, __u32 asked_ms)
{
	__u32 random = 0;

	c->config.random(c->config.random_ctx, &random, sizeof(random));
	kfb_retry_next(&q->retry, now_ms, random, asked_ms, &q->retry_at_ms);
}

/*
 * No queue of the session lives. Whoever is still looking for it at the address before
 * begins again at the next one.
 */
static void kfb_client_next_address(struct kfb_client *c, __u64 now_ms)
{
	__u32 i;

	if (c->config.n_addresses < 2 ||
	    kfb_client_has_queue(c, KFB_CONN_READY))
		return;
	c->address = (c->address + 1) % c->config.n_addresses;
	for (i = 0; i < c->n_offered; i++) {
		struct kfb_client_queue *q = &c->queues[i];

		if (q->engine.state != KFB_CONN_CONNECTING)
			continue;
		kfb_engine_lost(&q->engine);
		kfb_client_try_again(c, q, now_ms, 0);
	}
}

/*
 * Nothing is heard at an address, and there is one that was not tried yet. Where a failure
 * is the end, each is tried: at first, or when taken up again.
 */
static _Bool kfb_client_tries_another(struct kfb_client *c,
				      struct kfb_client_queue *q)
{
	_Bool has_one_try = c->is_first ? c->state == KFB_CLIENT_OPENING
					: !c->config.reconnect_ms &&
						  c->is_retaken && c->is_asking;

	if (!has_one_try || q->engine.state != KFB_CONN_CONNECTING ||
	    c->address + 1 >= c->config.n_addresses)
		return 0;
	kfb_engine_lost(&q->engine);
	c->address++;
	return 1;
}

/*
 * A queue is of no use any more. @was: its state before that; its engine is,
 * or becomes, CLOSING. @asked_ms: how long a brick wants to be left alone; 0: it
 * has not said.
 */
static void kfb_client_lose_queue(struct kfb_client *c,
				  struct kfb_client_queue *q,
				  enum kfb_conn_state was, __u64 now_ms,
				  int error, __u32 asked_ms)
{
	if (was == KFB_CONN_READY)
		q->needs_validation = 1;
	kfb_engine_lost(&q->engine);
	c->error = error;
	if (c->is_first || !c->config.reconnect_ms) {
		kfb_client_fail(c, error);
		return;
	}
	kfb_client_connecting(c, q, now_ms);
	kfb_client_try_again(c, q, now_ms, asked_ms);
	kfb_client_next_address(c, now_ms);
	if (c->state == KFB_CLIENT_OPENING)
		c->session_id = 0;
	else if (!kfb_client_has_queue(c, KFB_CONN_READY))
		kfb_client_move(c, KFB_CLIENT_DETACHED);
}

/*
 * The brick, which is proven, has the old session no more: what it had ends,
 * and queue 0's new one is the session.
 */
static void kfb_client_replace_session(struct kfb_client *c, __u64 now_ms)
{
	__u32 i;

	kfb_client_stop_asking(c);
	c->is_replaced = 1;
	c->is_retaken = 0;
	kfb_client_move(c, KFB_CLIENT_OPENING);
	c->is_mapped = 0;
	c->map_due = 0;
	c->n_offered = c->config.n_queues;
	for (i = 1; i < c->config.n_queues; i++) {
		struct kfb_client_queue *q = &c->queues[i];

		kfb_client_end_queue(q);
		kfb_client_connecting(c, q, now_ms);
		q->was_ready = 0;
	}
}

/* Queue 0 is READY. */
static void kfb_client_session_made(struct kfb_client *c, __u64 now_ms)
{
	struct kfb_client_queue *q = &c->queues[0];
	int rc;

	rc = kfb_engine_session_key(&q->engine, c->session_key);
	if (rc) {
		kfb_client_lose_queue(c, q, KFB_CONN_AUTH, now_ms, rc, 0);
		return;
	}
	if (c->is_asking)
		kfb_client_replace_session(c, now_ms);
	c->session_id = q->engine.accept.session_id;
	c->instance_id = q->engine.accept.instance_id;
	c->join_counter = 0;
	q->was_ready = 1;
}

/*
 * A queue is READY again, of a brick that has changed or has not: that decides
 * what has become of the writes it has left. A fate that is not told yet is not
 * forgotten: the worst counts.
 */
static void kfb_client_validate_queue(const struct kfb_client *c,
				      struct kfb_client_queue *q,
				      _Bool same_instance, _Bool same_epoch)
{
	struct kfb_fate_facts facts = {
		.ack_is_placed = c->info.flags & KFB_INFO_ACK_IS_PLACED,
		.same_instance = same_instance,
		.same_epoch = same_epoch,
	};
	enum kfb_fate fate = kfb_fate_of(&facts);

	if (!q->needs_validation)
		return;
	q->needs_validation = 0;
	if (!q->fate_due || fate > q->fate)
		q->fate = fate;
	q->fate_due = 1;
}

/*
 * It is another brick than was expected. Where that is proven it will not get better,
 * but at another address; without a key it is anybody's word.
 */
static void kfb_client_met_another(struct kfb_client *c,
				   struct kfb_client_queue *q, __u64 now_ms)
{
	if (c->config.engine.client_name && c->config.n_addresses < 2)
		kfb_client_fail(c, -ESTALE);
	else
		kfb_client_lose_queue(c, q, KFB_CONN_AUTH, now_ms, -ESTALE, 0);
}

/* INFO has come, in a new session. */
static void kfb_client_informed(struct kfb_client *c,
				const struct kfb_info *info, __u64 now_ms)
{
	static const __u8 any[KFB_UUID_BYTES];
	struct kfb_client_queue *q = &c->queues[0];
	__u8 *expect = c->config.engine.expect_uuid;
	__u32 i;

	if (info->instance_id != c->instance_id) {
		kfb_client_lose_queue(c, q, KFB_CONN_AUTH, now_ms, -EPROTO, 0);
		return;
	}
	if (memcmp(expect, any, sizeof(any)) &&
	    memcmp(expect, info->brick_uuid, sizeof(any))) {
		kfb_client_met_another(c, q, now_ms);
		return;
	}
	for (i = 0; c->has_info && i < c->config.n_queues; i++)
		kfb_client_validate_queue(
			c, &c->queues[i],
			c->info.instance_id == info->instance_id,
			c->info.power_epoch == info->power_epoch);
	/* It is this brick from now on, or none. */
	memcpy(expect, info->brick_uuid, sizeof(any));
	c->info = *info;
	c->info.flags |= c->config.info_flags;
	c->has_info = 1;
	for (i = 0; i < c->config.n_queues; i++) {
		memcpy(c->queues[i].engine.config.expect_uuid, expect,
		       sizeof(any));
		c->queues[i].engine.lease_ms = info->lease_ms;
	}
	c->map_due = 1;
	kfb_client_move(c, KFB_CLIENT_MAPPING);
}

int kfb_client_accepted(struct kfb_client *c, __u32 queue, const void *data,
			__u32 len, __u64 now_ms)
{
	struct kfb_client_queue *q = &c->queues[queue];
	_Bool is_join = q->engine.joined_session_id;
	int rc;

	rc = kfb_engine_accepted(&q->engine, data, len);
	if (rc) {
		kfb_client_lose_queue(c, q, KFB_CONN_CONNECTING, now_ms, rc, 0);
	} else if (is_join) {
		q->engine.lease_ms = c->info.lease_ms;
		q->was_ready = 1;
		kfb_client_validate_queue(c, q, 1, 1);
		/*
		 * A session that was lost before it was LIVE has queues that were never
		 * asked for.
		 */
		if (c->state == KFB_CLIENT_DETACHED)
			kfb_client_move(c, c->is_mapped && !c->is_replaced
						   ? KFB_CLIENT_LIVE
						   : KFB_CLIENT_MAPPING);
	} else if (q->engine.state == KFB_CONN_READY) {
		kfb_client_session_made(c, now_ms);
	}
	return rc;
}

int kfb_client_rejected(struct kfb_client *c, __u32 queue, const void *data,
			__u32 len, __u64 now_ms, struct kfb_reject *out)
{
	struct kfb_client_queue *q = &c->queues[queue];
	_Bool is_join = q->engine.joined_session_id;
	__u32 i;
	int rc;

	if (!len && kfb_client_tries_another(c, q))
		return -ECONNREFUSED;
	rc = kfb_engine_rejected(&q->engine, data, len, out);
	if (is_join && out->status == KFB_ST_STALE && !c->is_first &&
	    c->config.reconnect_ms) {
		kfb_client_doubt(c, now_ms);
	} else if (is_join && queue && !q->was_ready &&
		   c->state == KFB_CLIENT_MAPPING &&
		   (out->status == KFB_ST_LIMIT ||
		    out->status == KFB_ST_NOT_SUPPORTED ||
		    out->status == KFB_ST_INVALID)) {
		/* The brick has fewer queues for a session than are wanted. */
		for (i = queue; i < c->config.n_queues; i++)
			kfb_client_end_queue(&c->queues[i]);
		c->n_offered = queue;
		rc = 0;
	} else {
		kfb_client_lose_queue(c, q, KFB_CONN_CONNECTING, now_ms, rc,
				      out->retry_after_ms);
	}
	return rc;
}

void kfb_client_lost(struct kfb_client *c, __u32 queue, __u64 now_ms, int error)
{
	struct kfb_client_queue *q = &c->queues[queue];

	if (q->is_open && q->engine.state != KFB_CONN_CLOSING &&
	    !kfb_client_tries_another(c, q))
		kfb_client_lose_queue(c, q, q->engine.state, now_ms, error, 0);
}

void kfb_client_closed(struct kfb_client *c, __u32 queue)
{
	c->queues[queue].is_open = 0;
	c->queues[queue].is_silent = 0;
	if (!queue && c->is_asking)
		kfb_client_asked_in_vain(c);
}

int kfb_client_receive(struct kfb_client *c, __u32 queue, const void *data,
		       __u32 len, __u64 now_ms, struct kfb_reply *reply,
		       struct kfb_outcome *out)
{
	struct kfb_client_queue *q = &c->queues[queue];
	enum kfb_conn_state was = q->engine.state;
	int rc;

	kfb_client_heard(c, queue, now_ms);
	rc = kfb_engine_receive(&q->engine, data, len, reply, out);
	if (rc) {
		if (was == KFB_CONN_AUTH && rc == -ESTALE && !out->status)
			kfb_client_met_another(c, q, now_ms);
		else
			kfb_client_lose_queue(c, q, was, now_ms, rc, 0);
		return rc;
	}
	if (out->kind == KFB_OUTCOME_READY) {
		kfb_client_session_made(c, now_ms);
		return 0;
	}
	if (out->kind == KFB_OUTCOME_EVENT || out->owner != c)
		return 1;
	if (out->kind != KFB_OUTCOME_REPLY || out->op != KFB_OP_INFO)
		return 0;
	if (out->error)
		kfb_client_lose_queue(c, q, KFB_CONN_AUTH, now_ms, out->error,
				      0);
	else
		kfb_client_informed(c, &reply->u.info, now_ms);
	return 0;
}

void kfb_client_heard(struct kfb_client *c, __u32 queue, __u64 at_ms)
{
	if (at_ms > c->queues[queue].heard_ms)
		c->queues[queue].heard_ms = at_ms;
}

void kfb_client_moved(struct kfb_client *c, __u32 queue, __u64 bytes,
		      __u64 now_ms)
{
	struct kfb_client_queue *q = &c->queues[queue];

	if (q->is_marked && bytes >= q->moved_bytes) {
		/* Few bytes may be the PING's own, which a host acknowledges. */
		if (bytes - q->moved_bytes < KFB_CLIENT_MOVED_MIN_BYTES)
			return;
		kfb_client_heard(c, queue, now_ms);
	}
	q->moved_bytes = bytes;
	q->is_marked = 1;
}

_Bool kfb_client_listens(const struct kfb_client *c, __u32 queue)
{
	return kfb_client_own_call(&c->queues[queue], c, KFB_OP_PING) >= 0;
}

int kfb_client_mapped(struct kfb_client *c)
{
	/* A session that is DETACHED meanwhile has its mappings all the same. */
	if ((c->state != KFB_CLIENT_MAPPING &&
	     c->state != KFB_CLIENT_DETACHED) ||
	    c->is_mapped || c->map_due)
		return -EINVAL;
	c->is_mapped = 1;
	return 0;
}

__u64 kfb_client_lease_until_ms(const struct kfb_client *c)
{
	__u64 until_ms = 0;
	__u32 i;

	if (!c->info.lease_ms)
		return KFB_TIME_NEVER;
	for (i = 0; i < c->config.n_queues; i++) {
		const struct kfb_client_queue *q = &c->queues[i];

		if (q->was_ready && q->engine.lease.until_ms > until_ms)
			until_ms = q->engine.lease.until_ms;
	}
	return until_ms;
}

_Bool kfb_client_lease_ok(const struct kfb_client *c, __u64 now_ms)
{
	return now_ms < kfb_client_lease_until_ms(c);
}

_Bool kfb_client_usable(const struct kfb_client *c, __u32 queue, __u64 now_ms)
{
	const struct kfb_client_queue *q = &c->queues[queue];

	return c->state == KFB_CLIENT_LIVE && queue < c->n_used &&
	       q->engine.state == KFB_CONN_READY && !q->needs_validation &&
	       !q->fate_due && kfb_client_lease_ok(c, now_ms);
}

_Bool kfb_client_can_call(const struct kfb_client *c, __u32 queue)
{
	return (c->state == KFB_CLIENT_LIVE ||
		c->state == KFB_CLIENT_MAPPING) &&
	       c->queues[queue].engine.state == KFB_CONN_READY;
}

_Bool kfb_info_overpromises(const struct kfb_info *info)
{
	return info->flush_why == KFB_WHY_ASSUMED ||
	       info->flush_why == KFB_WHY_UNPROVEN;
}

__u32 kfb_queue_of(__u64 va, __u32 n_queues)
{
	__u64 block = va >> KFB_BLOCK_SHIFT;

	/* Neighbours spread, and so do multiples of any power of two. */
	block *= 0x9e3779b97f4a7c15ULL;
	return (__u32)(((block >> 32) * n_queues) >> 32);
}
