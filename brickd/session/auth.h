/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proofs: what a session's key is, and who knows it.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_SESSION_AUTH_H
#define BRICKD_SESSION_AUTH_H

#include <stdbool.h>

struct brick_session;
struct kfb_hmac;

/* With libsodium's SHA-256. */
extern const struct kfb_hmac brick_hmac;

/**
 * brick_auth_join_is_proven - does the HELLO of a join know the session's key?
 * @session: LIVE or DETACHED
 * @raw_hello: KFB_HELLO_BYTES as they came
 */
bool brick_auth_join_is_proven(const struct brick_session *session,
			       const void *raw_hello);

/**
 * brick_auth_prove_join - prove to a client that this brick has its session
 * @session: LIVE or DETACHED
 * @raw_hello: KFB_HELLO_BYTES of the join, as they came
 * @raw_accept: KFB_ACCEPT_BYTES that answer it; the proof is filled in
 *
 * Return: 0 or -errno.
 */
int brick_auth_prove_join(const struct brick_session *session,
			  const void *raw_hello, void *raw_accept);

#endif
