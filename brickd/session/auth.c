// SPDX-License-Identifier: BSD-2-Clause
/*
 * AUTH: the client proves its key over what both sides saw of the connection,
 * the brick proves that it has the same key.
 *
 * An unknown client is checked against a random key, so that it costs the same
 * and ends the same as a wrong key; only the log tells them apart.
 */
#include <errno.h>
#include <sodium.h>
#include <stddef.h>
#include <string.h>

#include "brickd/session/auth.h"
#include "brickd/op/op.h"
#include "brickd/server.h"
#include "brickd/session/sessions.h"
#include "proto/kfb_auth.h"

static int hmac_sha256(void *ctx, const __u8 key[KFB_KEY_BYTES],
		       const struct kfb_iov *parts, unsigned int n,
		       __u8 mac[KFB_MAC_BYTES])
{
	crypto_auth_hmacsha256_state state;

	(void)ctx;
	crypto_auth_hmacsha256_init(&state, key, KFB_KEY_BYTES);
	for (unsigned int i = 0; i < n; i++)
		crypto_auth_hmacsha256_update(&state, parts[i].base,
					      parts[i].len);
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_memzero(&state, sizeof(state));
	return 0;
}

static const struct kfb_hmac hmac = { .compute = hmac_sha256 };

_Static_assert(crypto_auth_hmacsha256_BYTES == KFB_MAC_BYTES, "MAC size");

static void reject(struct brick_op *op, const char *why)
{
	struct brick_conn *c = op->queue->conn;

	brick_count(&c->session->server->counters.auth_failures);
	brick_log_limited(&c->net->peer_lines, LOG_NOTICE, c->who,
			  "authentication of \"%s\" failed: %s",
			  op->req.u.auth.name, why);
	brick_conn_goodbye(c);
	brick_op_finish(op, KFB_ST_KEY_REJECTED);
}

static bool proof_is_right(const struct brick_op *op,
			   const struct kfb_transcript *transcript,
			   const uint8_t key[KFB_KEY_BYTES])
{
	const struct kfb_auth *auth = &op->req.u.auth;
	uint8_t proof[KFB_MAC_BYTES];
	bool right;

	right = !kfb_auth_client_proof(&hmac, key, transcript, auth->brick_uuid,
				       auth->former_session_id, proof) &&
		kfb_auth_equal(proof, auth->proof, sizeof(proof));
	sodium_memzero(proof, sizeof(proof));
	return right;
}

static void fill_reply(struct brick_op *op, const struct brick_client *client,
		       const struct kfb_transcript *transcript)
{
	const struct brick_server *server = op->session->server;
	struct kfb_auth_reply *r = &op->reply.u.auth;

	memcpy(r->brick_uuid, server->storage.uuid, sizeof(r->brick_uuid));
	r->power_epoch = server->storage.power_epoch;
	r->n_grants = client->grants.n;
	memcpy(r->grants, client->grants.list,
	       client->grants.n * sizeof(r->grants[0]));
	(void)kfb_auth_brick_proof(&hmac, client->key, transcript,
				   r->brick_uuid, r->power_epoch, r->proof);
}

static bool is_other_brick(const struct brick_op *op)
{
	const uint8_t *expected = op->req.u.auth.brick_uuid;

	return !sodium_is_zero(expected, KFB_UUID_BYTES) &&
	       memcmp(expected, op->session->server->storage.uuid,
		      KFB_UUID_BYTES) != 0;
}

static void admit(struct brick_conn *c, const struct brick_client *client,
		  const uint8_t *client_key,
		  const struct kfb_transcript *transcript, const uint8_t *uuid,
		  uint64_t power_epoch)
{
	uint8_t key[KFB_KEY_BYTES];

	(void)kfb_auth_session_key(&hmac, client_key, transcript, uuid,
				   power_epoch, key);
	brick_session_admit(c->session, client, key);
	sodium_memzero(key, sizeof(key));
}

void brick_auth_none(struct brick_conn *c)
{
	static const uint8_t zero[KFB_KEY_BYTES];
	const struct kfb_transcript transcript = {
		.hello = c->hello,
		.accept = c->accept,
		.name = "",
	};

	_Static_assert(KFB_UUID_BYTES <= KFB_KEY_BYTES, "zero is a uuid too");
	admit(c, &c->session->server->anonymous, zero, &transcript, zero, 0);
}

bool brick_auth_join_is_proven(const struct brick_session *s,
			       const void *raw_hello)
{
	const uint8_t *proof = (const uint8_t *)raw_hello +
			       offsetof(struct kfb_wire_hello, proof);
	uint8_t right[KFB_JOIN_PROOF_BYTES];

	return !kfb_auth_join_proof(&hmac, s->key, raw_hello, right) &&
	       kfb_auth_equal(right, proof, sizeof(right));
}

int brick_auth_prove_join(const struct brick_session *s, const void *raw_hello,
			  void *raw_accept)
{
	uint8_t *proof =
		(uint8_t *)raw_accept + offsetof(struct kfb_wire_accept, proof);

	return kfb_auth_accept_proof(&hmac, s->key, raw_hello, raw_accept,
				     proof);
}

/* The client has left it, whatever it was told of it: nothing lands any more. */
static void end_former(const struct brick_op *op,
		       const struct brick_client *client)
{
	uint64_t id = op->req.u.auth.former_session_id;
	struct brick_session *former =
		id ? brick_sessions_find(op->session->server, id) : NULL;

	if (former && former != op->session && former->client == client)
		brick_session_replace(former);
}

void brick_op_auth(struct brick_op *op)
{
	struct brick_session *s = op->session;
	struct brick_conn *c = op->queue->conn;
	const struct kfb_auth *auth = &op->req.u.auth;
	const struct kfb_transcript transcript = {
		.hello = c->hello,
		.accept = c->accept,
		.name = auth->name,
		.name_len = auth->name_len,
	};
	const struct brick_client *client =
		brick_config_client(s->server->config, auth->name);
	uint8_t nobodys_key[KFB_KEY_BYTES];
	bool right;

	randombytes_buf(nobodys_key, sizeof(nobodys_key));
	right = proof_is_right(op, &transcript,
			       client ? client->key : nobodys_key);
	if (!client) {
		reject(op, "there is no such client");
		return;
	}
	if (!right) {
		reject(op, "wrong key or a replay");
		return;
	}
	/* Known only to those who have the key: it may be told apart. */
	if (is_other_brick(op)) {
		brick_log(LOG_NOTICE, c->who, "client %s expects another brick",
			  client->name);
		brick_conn_goodbye(c);
		brick_op_finish(op, KFB_ST_STALE);
		return;
	}
	end_former(op, client);
	if (brick_sessions_of(s->server, client) >=
	    s->server->config->limits.sessions_per_client) {
		brick_log_limited(&s->server->net.peer_lines, LOG_NOTICE,
				  c->who, "client %s has too many sessions",
				  client->name);
		brick_conn_goodbye(c);
		brick_op_finish(op, KFB_ST_LIMIT);
		return;
	}
	fill_reply(op, client, &transcript);
	admit(c, client, client->key, &transcript, s->server->storage.uuid,
	      s->server->storage.power_epoch);
	brick_op_finish(op, KFB_ST_OK);
}
