// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine's way back into its session: join, and send again what has no
 * answer.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "engine/kfb_engine_priv.h"

int kfb_engine_keep(struct kfb_engine *e)
{
	__u32 i;

	if (e->state != KFB_CONN_CLOSING)
		return -EBUSY;
	for (i = 0; i < KFB_ENGINE_CALLS; i++) {
		struct kfb_call *call = &e->calls[i];

		/* AUTH belongs to the connection: it has no slot to be in. */
		if (i == KFB_ENGINE_AUTH && call->waiting) {
			kfb_call_set_waiting(e, call, 0);
			e->tx_busy[call->tx] = 0;
		}
		call->lost = 0;
		call->resend = call->waiting;
	}
	return kfb_conn_move(&e->state, KFB_ROLE_CLIENT, KFB_CONN_BACKOFF);
}

void kfb_engine_drop(struct kfb_engine *e)
{
	__u32 i;

	if (e->state != KFB_CONN_BACKOFF)
		return;
	for (i = 0; i < KFB_ENGINE_CALLS; i++)
		e->calls[i].lost =
			e->calls[i].waiting && !e->calls[i].abandoned;
}

int kfb_engine_join(struct kfb_engine *e, const struct kfb_join *join,
		    const __u8 **out, __u32 *len)
{
	struct kfb_hello *hello = &e->hello;
	__u8 *raw = e->join_raw;
	int rc;

	if (e->state != KFB_CONN_IDLE && e->state != KFB_CONN_BACKOFF)
		return -EISCONN;
	if (!join->session_id || !e->config.hmac.compute)
		return -EINVAL;
	kfb_engine_fill_hello(e, hello);
	hello->queue = join->queue;
	hello->session_id = join->session_id;
	hello->join_counter = join->counter;
	rc = kfb_encode_hello(hello, raw, KFB_HELLO_BYTES);
	if (rc < 0)
		return rc;
	rc = kfb_auth_join_proof(&e->config.hmac, join->key, raw, hello->proof);
	if (rc)
		return rc;
	rc = kfb_encode_hello(hello, raw, KFB_HELLO_BYTES);
	if (rc < 0)
		return rc;
	e->joined_session_id = join->session_id;
	e->joined_instance_id = join->instance_id;
	e->joined_key = join->key;
	*out = raw;
	*len = (__u32)rc;
	return kfb_conn_move(&e->state, KFB_ROLE_CLIENT, KFB_CONN_CONNECTING);
}

int kfb_engine_joined(struct kfb_engine *e, const void *raw,
		      const struct kfb_accept *accept)
{
	__u8 proof[KFB_JOIN_PROOF_BYTES];
	int rc;

	rc = kfb_auth_accept_proof(&e->config.hmac, e->joined_key, e->join_raw,
				   raw, proof);
	e->joined_key = NULL;
	if (rc)
		return rc;
	if (!kfb_auth_equal(proof, accept->proof, sizeof(proof)))
		return -EKEYREJECTED;
	if (accept->session_id != e->joined_session_id ||
	    accept->instance_id != e->joined_instance_id)
		return -EPROTO;
	return 0;
}

int kfb_engine_take_credits(struct kfb_engine *e, __u16 granted)
{
	__u32 i;

	if (kfb_credits_init(&e->credits, granted))
		return -EPROTO;
	if (!e->joined_session_id || !e->slots.n)
		return kfb_slots_init(&e->slots, granted) ? -EPROTO : 0;
	/* The slots are the queue's for as long as the session lives. */
	if (granted != e->slots.n)
		return -EPROTO;
	for (i = 0; i < KFB_ENGINE_AUTH; i++) {
		if (e->calls[i].waiting &&
		    kfb_credits_take(&e->credits, KFB_OP_PING))
			return -EPROTO;
	}
	return 0;
}

_Bool kfb_engine_resend(struct kfb_engine *e, __u64 now_ms, __u32 timeout_ms,
			struct kfb_message *out)
{
	__u32 left = e->n_waiting;
	struct kfb_request req;
	struct kfb_call *call;
	int i = -1;
	__u8 *data;
	int len;

	if (e->state != KFB_CONN_READY)
		return 0;
	/*
	 * A call that leaves the reserve alone was given one of the lower
	 * slots, so that it finds a credit in the order of slots.
	 */
	do {
		i = kfb_next_waiting(e, i + 1, &left);
		if (i < 0)
			return 0;
		call = &e->calls[i];
	} while (!call->resend);
	call->resend = 0;
	/* This connection's credits are all there: none is given back. */
	data = e->tx + (__u32)call->tx * KFB_REQ_MAX_BYTES;
	if (kfb_decode_request(data, call->len, &req))
		return 0; /* we encoded it: cannot be */
	req.credits = 0;
	len = kfb_encode_request(&req, data, KFB_REQ_MAX_BYTES);
	if (len < 0)
		return 0;
	e->tx_busy[call->tx] = KFB_TX_CALL | KFB_TX_SENDING;
	call->sent_ms = now_ms;
	if (call->deadline_ms != KFB_TIME_NEVER)
		call->deadline_ms = now_ms + timeout_ms;
	out->tx = call->tx;
	out->slot = (__u16)i;
	out->len = (__u32)len;
	out->data = data;
	return 1;
}
