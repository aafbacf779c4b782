/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session over a raw client: HELLO and AUTH as the protocol has them, with
 * every byte within the test's reach.
 */
#ifndef TESTS_FUNC_RAW_SESSION_H
#define TESTS_FUNC_RAW_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/codec/kfb_codec.h"
#include "raw_client.h"

/* Who the tests are; filled from the command line. */
struct raw_identity {
	const char *url;
	const char *client;
	uint8_t key[KFB_KEY_BYTES];
	uint32_t features; /* of new sessions */
};

struct raw_session {
	struct raw_client *c;
	uint8_t hello[sizeof(struct kfb_wire_hello)];
	uint32_t seq; /* of slot 0 */
	uint8_t accept[sizeof(struct kfb_wire_accept)];
	struct kfb_accept accepted;
	uint8_t key[KFB_KEY_BYTES]; /* of the session: proves joins */
	struct kfb_reply reply; /* the last one */
};

/* A HELLO for a new session with a random nonce. */
void raw_hello(struct kfb_hello *hello);

/**
 * raw_session_connect - HELLO and ACCEPT
 * @s: filled
 * @id: where
 * @hello: what to say
 * @status: the status of a REJECT
 *
 * Return: how it went.
 */
enum raw_outcome raw_session_connect(struct raw_session *s,
				     const struct raw_identity *id,
				     const struct kfb_hello *hello,
				     uint16_t *status);

/* The AUTH request that proves @key for @client; false when HMAC failed. */
bool raw_auth_request(const struct raw_session *s, const char *client,
		      const uint8_t *key, struct kfb_request *req);
/* The same, of a session that takes the place of a former one. */
bool raw_auth_request_after(const struct raw_session *s,
			    const struct raw_identity *id, uint64_t former,
			    struct kfb_request *req);

/* The same, to the brick that has this UUID. */
bool raw_auth_request_to(const struct raw_session *s,
			 const struct raw_identity *id,
			 const uint8_t brick[KFB_UUID_BYTES],
			 struct kfb_request *req);

/**
 * raw_join_hello - a HELLO that joins, with its proof
 * @s: open
 * @queue: which
 * @counter: join counter
 * @raw: KFB_HELLO_BYTES
 *
 * Return: true when it worked.
 */
bool raw_join_hello(const struct raw_session *s, uint16_t queue,
		    uint32_t counter, uint8_t *raw);

/**
 * raw_hello_connect - send a HELLO as it is
 * @s: filled
 * @id: where
 * @raw: KFB_HELLO_BYTES
 * @status: the status of a REJECT
 *
 * Return: how it went.
 */
enum raw_outcome raw_hello_connect(struct raw_session *s,
				   const struct raw_identity *id,
				   const uint8_t *raw, uint16_t *status);

/**
 * raw_session_join - join a session with a further queue, or queue 0 again
 * @q: filled; its sequence numbers go on where those of @s are, when @queue
 *	is 0
 * @s: the session's first queue, perhaps closed
 * @id: where
 * @queue: which
 * @counter: join counter
 *
 * Return: true when it was accepted.
 */
bool raw_session_join(struct raw_session *q, const struct raw_session *s,
		      const struct raw_identity *id, uint16_t queue,
		      uint32_t counter);

/* Connect and authenticate; false with a message when it did not work. */
bool raw_session_open(struct raw_session *s, const struct raw_identity *id);
void raw_session_close(struct raw_session *s);

/**
 * raw_call - send a request in slot 0 and wait for its reply
 * @s: session; the reply is in s->reply
 * @req: cookie and credits are filled in
 *
 * Return: RAW_ACCEPTED with a well-formed reply, else how it ended.
 */
enum raw_outcome raw_call(struct raw_session *s, struct kfb_request *req);

/* Send bytes; does the connection end without a reply? */
bool raw_bytes_end_connection(struct raw_session *s, const void *buf,
			      size_t len);

/* The next request as bytes, to be spoilt by the test; the length. */
int raw_encode(struct raw_session *s, struct kfb_request *req, uint8_t *buf,
	       size_t cap);

#endif
