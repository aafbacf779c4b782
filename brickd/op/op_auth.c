// SPDX-License-Identifier: BSD-2-Clause
/*
 * AUTH: the client proves its key over what both sides saw of the connection,
 * the brick proves that it has the same key.
 *
 * An unknown client is checked against a random key, so that it costs the same
 * and ends the same as a wrong key; only the log tells them apart.
 */
#include <sodium.h>
#include <string.h>

#include "brickd/base/counters.h"
#include "brickd/net/conn.h"
#include "brickd/net/net.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/auth.h"
#include "brickd/session/session.h"
#include "brickd/session/sessions.h"
#include "brickd/storage/storage.h"
#include "proto/kfb_auth.h"

static void reject_client(struct brick_op *op, enum brick_lines kind,
			  const char *why)
{
	struct brick_conn *c = op->queue->conn;

	brick_count(&c->session->all->counters->auth_failures);
	brick_log_limited(&c->net->lines[kind], LOG_NOTICE, c->who,
			  "authentication of \"%s\" failed: %s",
			  op->req.u.auth.name, why);
	brick_conn_disconnect(c);
	brick_op_finish(op, KFB_ST_KEY_REJECTED);
}

static bool proof_is_right(const struct brick_op *op,
			   const struct kfb_transcript *transcript,
			   const uint8_t key[KFB_KEY_BYTES])
{
	const struct kfb_auth *auth = &op->req.u.auth;
	uint8_t proof[KFB_MAC_BYTES];
	bool right;

	right = !kfb_auth_client_proof(&brick_hmac, key, transcript,
				       auth->brick_uuid,
				       auth->former_session_id, proof) &&
		kfb_auth_equal(proof, auth->proof, sizeof(proof));
	sodium_memzero(proof, sizeof(proof));
	return right;
}

/*
 * The key that the proof was made with, or NULL. As many are tried whoever it is,
 * and all of them, so that the time tells nothing.
 */
static const struct brick_key *find_key(const struct brick_op *op,
					const struct brick_client *client,
					const struct kfb_transcript *transcript)
{
	const struct brick_key *found = NULL;
	uint8_t nobodys[KFB_KEY_BYTES];

	randombytes_buf(nobodys, sizeof(nobodys));
	for (uint32_t i = 0; i < BRICK_KEYS_MAX; i++) {
		bool is_there = client && i < client->n_keys;

		if (proof_is_right(op, transcript,
				   is_there ? client->keys[i].bytes : nobodys))
			found = is_there ? &client->keys[i] : found;
	}
	return found;
}

static void fill_reply(struct brick_op *op, const struct brick_client *client,
		       const struct brick_key *key,
		       const struct kfb_transcript *transcript)
{
	const struct brick_sessions *all = op->session->all;
	struct kfb_auth_reply *r = &op->reply.u.auth;

	memcpy(r->brick_uuid, all->storage->uuid, sizeof(r->brick_uuid));
	r->power_epoch = all->storage->power_epoch;
	r->n_grants = client->grants.n;
	memcpy(r->grants, client->grants.list,
	       client->grants.n * sizeof(r->grants[0]));
	(void)kfb_auth_brick_proof(&brick_hmac, key->bytes, transcript,
				   r->brick_uuid, r->power_epoch, r->proof);
}

/* The client has left it, whatever it was told of it: nothing lands any more. */
static void end_former(const struct brick_op *op,
		       const struct brick_client *client)
{
	uint64_t id = op->req.u.auth.former_session_id;
	struct brick_session *former =
		id ? brick_sessions_find(op->session->all, id) : NULL;

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
		brick_config_client(s->all->config, auth->name);
	const struct brick_key *used = find_key(op, client, &transcript);
	uint8_t key[KFB_KEY_BYTES];

	if (!client) {
		reject_client(op, BRICK_LINES_NAMES, "there is no such client");
		return;
	}
	if (!used) {
		reject_client(op, BRICK_LINES_KEYS, "wrong key or a replay");
		return;
	}
	/* Known only to those who have the key: it may be told apart. */
	if (!sodium_is_zero(auth->brick_uuid, KFB_UUID_BYTES) &&
	    memcmp(auth->brick_uuid, s->all->storage->uuid, KFB_UUID_BYTES) !=
		    0) {
		brick_log_limited(&s->all->net->lines[BRICK_LINES_ASTRAY],
				  LOG_NOTICE, c->who,
				  "client %s expects another brick",
				  client->name);
		brick_conn_disconnect(c);
		brick_op_finish(op, KFB_ST_STALE);
		return;
	}
	if (brick_fences_has(&s->all->fences, client->name)) {
		brick_log_limited(&s->all->net->lines[BRICK_LINES_SHARES],
				  LOG_NOTICE, c->who,
				  "client %s is fenced: kept out",
				  client->name);
		brick_conn_disconnect(c);
		brick_op_finish(op, KFB_ST_FENCED);
		return;
	}
	end_former(op, client);
	if (brick_sessions_is_full(s->all, client)) {
		brick_log_limited(&s->all->net->lines[BRICK_LINES_SHARES],
				  LOG_NOTICE, c->who,
				  "client %s has too many sessions, or all "
				  "clients together",
				  client->name);
		brick_conn_disconnect(c);
		brick_op_finish(op, KFB_ST_LIMIT);
		return;
	}
	fill_reply(op, client, used, &transcript);
	(void)kfb_auth_session_key(&brick_hmac, used->bytes, &transcript,
				   s->all->storage->uuid,
				   s->all->storage->power_epoch, key);
	s->key_id = used->id;
	brick_session_admit(c->session, client, key);
	sodium_memzero(key, sizeof(key));
	brick_op_finish(op, KFB_ST_OK);
}
