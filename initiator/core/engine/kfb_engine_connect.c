// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The engine's way from IDLE to READY and to CLOSING.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "engine/kfb_engine_priv.h"
#include "kfb_err.h"

int kfb_engine_fail(struct kfb_engine *e, int error)
{
	kfb_engine_lost(e);
	return error;
}

enum kfb_conn_state kfb_engine_state(const struct kfb_engine *e)
{
	return e->state;
}

int kfb_engine_init(struct kfb_engine *e,
		    const struct kfb_engine_config *config, __u8 *tx)
{
	const char *name = config->client_name;

	if (!tx)
		return -EINVAL;
	if (name && (!config->key || !config->hmac.compute || !*name ||
		     strlen(name) > KFB_NAME_MAX))
		return -EINVAL;
	memset(e, 0, sizeof(*e));
	e->config = *config;
	e->tx = tx;
	e->state = KFB_CONN_IDLE;
	return 0;
}

int kfb_engine_again(struct kfb_engine *e, const __u8 nonce[KFB_NONCE_BYTES])
{
	struct kfb_engine_config config = e->config;
	__u32 i;
	int rc;

	if (e->state != KFB_CONN_CLOSING && e->state != KFB_CONN_BACKOFF)
		return -EBUSY;
	for (i = 0; i < KFB_ENGINE_CALLS; i++) {
		if (e->calls[i].lost)
			return -EBUSY;
	}
	if (e->accept.instance_id)
		config.last_instance_id = e->accept.instance_id;
	if (e->power_epoch)
		config.last_power_epoch = e->power_epoch;
	config.former_session_id = 0;
	memcpy(config.nonce, nonce, KFB_NONCE_BYTES);
	rc = kfb_engine_init(e, &config, e->tx);
	if (!rc)
		e->state = KFB_CONN_BACKOFF;
	return rc;
}

static int kfb_engine_move(struct kfb_engine *e, enum kfb_conn_state to)
{
	return kfb_conn_move(&e->state, KFB_ROLE_CLIENT, to);
}

void kfb_engine_fill_hello(const struct kfb_engine *e, struct kfb_hello *hello)
{
	memset(hello, 0, sizeof(*hello));
	hello->version_min = KFB_VERSION;
	hello->version_max = KFB_VERSION;
	hello->features = e->config.features;
	hello->credits = KFB_EVENTS_UNACKED_MAX;
}

int kfb_engine_hello(struct kfb_engine *e, const __u8 **out, __u32 *len)
{
	int rc;

	if (e->state != KFB_CONN_IDLE && e->state != KFB_CONN_BACKOFF)
		return -EISCONN;
	kfb_engine_fill_hello(e, &e->hello);
	memcpy(e->hello.proof, e->config.nonce, KFB_NONCE_BYTES);
	rc = kfb_encode_hello(&e->hello, e->hello_raw, sizeof(e->hello_raw));
	if (rc < 0)
		return rc;
	e->joined_session_id = 0;
	e->joined_instance_id = 0;
	*out = e->hello_raw;
	*len = (__u32)rc;
	return kfb_engine_move(e, KFB_CONN_CONNECTING);
}

int kfb_engine_accepted(struct kfb_engine *e, const void *data, __u32 len)
{
	struct kfb_accept accept;
	int rc;

	if (e->state != KFB_CONN_CONNECTING)
		return -EISCONN;
	if (kfb_decode_accept(data, len, &accept) ||
	    accept.req_max_bytes < KFB_REQ_MAX_BYTES ||
	    accept.reply_max_bytes > KFB_REPLY_MAX_BYTES)
		return kfb_engine_fail(e, -EPROTO);
	/* Nothing of it is believed before its proof is. */
	rc = e->joined_session_id ? kfb_engine_joined(e, data, &accept) : 0;
	if (rc)
		return kfb_engine_fail(e, rc);
	if (kfb_accept_check(&e->hello, &accept))
		return kfb_engine_fail(e, -EPROTO);
	rc = kfb_engine_take_credits(e, accept.credits);
	if (rc)
		return kfb_engine_fail(e, rc);
	e->accept = accept;
	e->event_seen = 0;
	e->event_acked = 0;
	e->events_unacked = 0;
	e->event_credits = 0;
	/* Both sides are proven; what made the session is kept. */
	if (e->joined_session_id)
		return kfb_engine_move(e, KFB_CONN_READY);
	memcpy(e->accept_raw, data, sizeof(e->accept_raw));
	return kfb_engine_move(e, e->config.client_name ? KFB_CONN_AUTH
							: KFB_CONN_READY);
}

int kfb_engine_rejected(struct kfb_engine *e, const void *data, __u32 len,
			struct kfb_reject *out)
{
	int error = -ECONNREFUSED;

	memset(out, 0, sizeof(*out));
	if (!kfb_decode_reject(data, len, out) && out->status)
		error = kfb_status_to_errno(out->status);
	return kfb_engine_fail(e, error);
}

static void kfb_engine_transcript(const struct kfb_engine *e,
				  struct kfb_transcript *out)
{
	const char *name = e->config.client_name ? e->config.client_name : "";

	out->hello = e->hello_raw;
	out->accept = e->accept_raw;
	out->name = name;
	out->name_len = (__u8)strlen(name);
}

int kfb_engine_session_key(const struct kfb_engine *e, __u8 key[KFB_KEY_BYTES])
{
	static const __u8 zeros[KFB_KEY_BYTES];
	const __u8 *with = e->config.client_name ? e->config.key : zeros;
	struct kfb_transcript transcript;

	if (!e->config.hmac.compute)
		return -EINVAL;
	kfb_engine_transcript(e, &transcript);
	return kfb_auth_session_key(&e->config.hmac, with, &transcript,
				    e->brick_uuid, e->power_epoch, key);
}

int kfb_engine_auth(struct kfb_engine *e, __u64 now_ms, __u32 timeout_ms,
		    void *owner, struct kfb_message *out)
{
	struct kfb_request req = { .op = KFB_OP_AUTH };
	struct kfb_transcript transcript;
	int rc;

	if (e->state != KFB_CONN_AUTH)
		return -ENOTCONN;
	if (e->calls[KFB_ENGINE_AUTH].waiting)
		return -EALREADY;
	kfb_engine_transcript(e, &transcript);
	req.u.auth.name_len = transcript.name_len;
	memcpy(req.u.auth.name, transcript.name, transcript.name_len);
	memcpy(req.u.auth.brick_uuid, e->config.expect_uuid, KFB_UUID_BYTES);
	req.u.auth.last_instance_id = e->config.last_instance_id;
	req.u.auth.last_power_epoch = e->config.last_power_epoch;
	req.u.auth.former_session_id = e->config.former_session_id;
	rc = kfb_auth_client_proof(&e->config.hmac, e->config.key, &transcript,
				   req.u.auth.brick_uuid,
				   req.u.auth.former_session_id,
				   req.u.auth.proof);
	if (rc)
		return rc;
	return kfb_engine_send(e, &req, now_ms, timeout_ms, owner, out);
}

int kfb_engine_proven(struct kfb_engine *e, const struct kfb_reply *reply)
{
	static const __u8 any[KFB_UUID_BYTES];
	const struct kfb_auth_reply *auth = &reply->u.auth;
	struct kfb_transcript transcript;
	__u8 proof[KFB_MAC_BYTES];
	int rc;

	kfb_engine_transcript(e, &transcript);
	rc = kfb_auth_brick_proof(&e->config.hmac, e->config.key, &transcript,
				  auth->brick_uuid, auth->power_epoch, proof);
	if (rc)
		return rc;
	if (!kfb_auth_equal(proof, auth->proof, sizeof(proof)))
		return -EKEYREJECTED;
	if (memcmp(e->config.expect_uuid, any, sizeof(any)) &&
	    memcmp(e->config.expect_uuid, auth->brick_uuid, sizeof(any)))
		return -ESTALE;
	memcpy(e->brick_uuid, auth->brick_uuid, KFB_UUID_BYTES);
	e->power_epoch = auth->power_epoch;
	e->n_grants = auth->n_grants;
	if (e->config.granted) {
		e->config.granted->n = auth->n_grants;
		memcpy(e->config.granted->list, auth->grants,
		       auth->n_grants * sizeof(auth->grants[0]));
	}
	return kfb_engine_move(e, KFB_CONN_READY);
}

void kfb_engine_lost(struct kfb_engine *e)
{
	__u32 i;

	if (kfb_engine_move(e, KFB_CONN_CLOSING))
		return;
	e->n_events = 0;
	memset(e->tx_busy, 0, sizeof(e->tx_busy));
	for (i = 0; i < KFB_ENGINE_CALLS; i++) {
		struct kfb_call *call = &e->calls[i];

		call->lost = call->waiting && !call->abandoned;
		if (call->waiting)
			e->tx_busy[call->tx] = KFB_TX_CALL;
	}
}

_Bool kfb_engine_next_lost(struct kfb_engine *e, struct kfb_outcome *out)
{
	__u16 i;

	for (i = 0; i < KFB_ENGINE_CALLS; i++) {
		if (!e->calls[i].lost)
			continue;
		e->calls[i].lost = 0;
		kfb_call_set_waiting(e, &e->calls[i], 0);
		out->kind = KFB_OUTCOME_LOST;
		out->slot = i;
		out->op = e->calls[i].op;
		out->error = -ECONNRESET;
		out->status = 0;
		out->owner = e->calls[i].owner;
		return 1;
	}
	return 0;
}
