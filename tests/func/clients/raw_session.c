// SPDX-License-Identifier: BSD-2-Clause
/* Sessions over the raw client; see raw_session.h. */
#include "raw_session.h"

#include <sodium.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "proto/kfb_auth.h"
#include "proto/kfb_err.h"

#define REPLY_MS 60000
#define CREDITS	 16

static int hmac(void *ctx, const __u8 *key, const struct kfb_iov *parts,
		unsigned int n, __u8 *mac)
{
	crypto_auth_hmacsha256_state state;
	unsigned int i;

	crypto_auth_hmacsha256_init(&state, key, KFB_KEY_BYTES);
	for (i = 0; i < n; i++)
		crypto_auth_hmacsha256_update(&state, parts[i].base,
					      parts[i].len);
	crypto_auth_hmacsha256_final(&state, mac);
	return 0;
}

static const struct kfb_hmac sodium = { .compute = hmac };

void raw_hello(struct kfb_hello *hello)
{
	memset(hello, 0, sizeof(*hello));
	hello->version_min = KFB_VERSION;
	hello->version_max = KFB_VERSION;
	hello->credits = CREDITS;
	randombytes_buf(hello->proof, sizeof(hello->proof));
}

enum raw_outcome raw_hello_connect(struct raw_session *s,
				   const struct raw_identity *id,
				   const uint8_t *raw, uint16_t *status)
{
	uint8_t answer[256] = { 0 };
	size_t answer_len = sizeof(answer);
	struct kfb_reject reject;
	enum raw_outcome outcome;

	memset(s, 0, sizeof(*s));
	memcpy(s->hello, raw, sizeof(s->hello));
	outcome = raw_connect(id->url, s->hello, sizeof(s->hello), answer,
			      &answer_len, &s->c);
	if (outcome == RAW_REJECTED &&
	    !kfb_decode_reject(answer, answer_len, &reject))
		*status = reject.status;
	if (outcome != RAW_ACCEPTED)
		return outcome;
	if (kfb_decode_accept(answer, answer_len, &s->accepted)) {
		raw_session_close(s);
		return RAW_ENDED;
	}
	memcpy(s->accept, answer, sizeof(s->accept));
	return RAW_ACCEPTED;
}

enum raw_outcome raw_session_connect(struct raw_session *s,
				     const struct raw_identity *id,
				     const struct kfb_hello *hello,
				     uint16_t *status)
{
	uint8_t raw[KFB_HELLO_BYTES];

	if (kfb_encode_hello(hello, raw, sizeof(raw)) < 0)
		return RAW_ENDED;
	return raw_hello_connect(s, id, raw, status);
}

bool raw_join_hello(const struct raw_session *s, uint16_t queue,
		    uint32_t counter, uint8_t *raw)
{
	struct kfb_hello hello;

	raw_hello(&hello);
	hello.queue = queue;
	hello.session_id = s->accepted.session_id;
	hello.features = s->accepted.features;
	hello.join_counter = counter;
	return kfb_encode_hello(&hello, raw, KFB_HELLO_BYTES) > 0 &&
	       !kfb_auth_join_proof(&sodium, s->key, raw,
				    raw + offsetof(struct kfb_wire_hello,
						   proof));
}

static bool accept_is_proven(const struct raw_session *q)
{
	uint8_t proof[KFB_JOIN_PROOF_BYTES];

	return !kfb_auth_accept_proof(&sodium, q->key, q->hello, q->accept,
				      proof) &&
	       kfb_auth_equal(proof, q->accepted.proof, sizeof(proof));
}

bool raw_session_join(struct raw_session *q, const struct raw_session *s,
		      const struct raw_identity *id, uint16_t queue,
		      uint32_t counter)
{
	uint8_t raw[KFB_HELLO_BYTES];
	uint16_t status = 0;

	if (!raw_join_hello(s, queue, counter, raw) ||
	    raw_hello_connect(q, id, raw, &status) != RAW_ACCEPTED) {
		fprintf(stderr, "not joined: %s\n", kfb_status_text(status));
		return false;
	}
	memcpy(q->key, s->key, sizeof(q->key));
	if (!accept_is_proven(q)) {
		fprintf(stderr, "joined what has not the session's key\n");
		raw_session_close(q);
		return false;
	}
	if (!queue)
		q->seq = s->seq;
	return true;
}

/* What the brick and we make of what both have said. */
static bool make_session_key(struct raw_session *s,
			     const struct raw_identity *id)
{
	struct kfb_transcript transcript = { .hello = s->hello,
					     .accept = s->accept,
					     .name = id->client,
					     .name_len = strlen(id->client) };
	const struct kfb_auth_reply *auth = &s->reply.u.auth;

	return !kfb_auth_session_key(&sodium, id->key, &transcript,
				     auth->brick_uuid, auth->power_epoch,
				     s->key);
}

static bool make_auth_request(const struct raw_session *s, const char *client,
			      const uint8_t *key, const uint8_t *brick,
			      uint64_t former, struct kfb_request *req)
{
	struct kfb_auth *auth = &req->u.auth;
	struct kfb_transcript transcript = { .hello = s->hello,
					     .accept = s->accept,
					     .name = client,
					     .name_len = strlen(client) };

	memset(req, 0, sizeof(*req));
	req->op = KFB_OP_AUTH;
	auth->name_len = transcript.name_len;
	memcpy(auth->name, client, auth->name_len);
	auth->former_session_id = former;
	if (brick)
		memcpy(auth->brick_uuid, brick, KFB_UUID_BYTES);
	return !kfb_auth_client_proof(&sodium, key, &transcript,
				      auth->brick_uuid, former, auth->proof);
}

bool raw_auth_request(const struct raw_session *s, const char *client,
		      const uint8_t *key, struct kfb_request *req)
{
	return make_auth_request(s, client, key, NULL, 0, req);
}

bool raw_auth_request_after(const struct raw_session *s,
			    const struct raw_identity *id, uint64_t former,
			    struct kfb_request *req)
{
	return make_auth_request(s, id->client, id->key, NULL, former, req);
}

bool raw_auth_request_to(const struct raw_session *s,
			 const struct raw_identity *id,
			 const uint8_t brick[KFB_UUID_BYTES],
			 struct kfb_request *req)
{
	return make_auth_request(s, id->client, id->key, brick, 0, req);
}

bool raw_session_open(struct raw_session *s, const struct raw_identity *id)
{
	struct kfb_hello hello;
	struct kfb_request req;
	uint16_t status = 0;

	raw_hello(&hello);
	hello.features = id->features;
	if (raw_session_connect(s, id, &hello, &status) != RAW_ACCEPTED) {
		fprintf(stderr, "not connected, status %u\n", status);
		return false;
	}
	if (!raw_auth_request(s, id->client, id->key, &req) ||
	    raw_call(s, &req) != RAW_ACCEPTED || s->reply.status != KFB_ST_OK) {
		fprintf(stderr, "not authenticated: %s\n",
			kfb_status_text(s->reply.status));
		raw_session_close(s);
		return false;
	}
	return make_session_key(s, id);
}

void raw_session_close(struct raw_session *s)
{
	if (s->c)
		raw_close(s->c);
	s->c = NULL;
}

int raw_encode(struct raw_session *s, struct kfb_request *req, uint8_t *buf,
	       size_t cap)
{
	/* AUTH comes before the slots: its cookie is zero. */
	if (req->op != KFB_OP_AUTH)
		req->cookie.seq = ++s->seq;
	return kfb_encode_request(req, buf, cap);
}

enum raw_outcome raw_call(struct raw_session *s, struct kfb_request *req)
{
	uint8_t buf[KFB_REPLY_MAX_BYTES];
	enum raw_outcome outcome;
	size_t len = sizeof(buf);
	int n = raw_encode(s, req, buf, sizeof(buf));

	if (n < 0 || raw_send(s->c, buf, n))
		return RAW_ENDED;
	outcome = raw_receive(s->c, buf, &len, REPLY_MS);
	if (outcome == RAW_ACCEPTED && kfb_decode_reply(buf, len, &s->reply))
		return RAW_ENDED;
	return outcome;
}

bool raw_bytes_end_connection(struct raw_session *s, const void *buf,
			      size_t len)
{
	uint8_t answer[KFB_REPLY_MAX_BYTES];
	size_t answer_len = sizeof(answer);

	if (raw_send(s->c, buf, len))
		return false;
	return raw_receive(s->c, answer, &answer_len, REPLY_MS) == RAW_ENDED;
}
