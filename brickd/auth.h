/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proofs: what a session's key is, and who knows it.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_AUTH_H
#define BRICKD_AUTH_H

#include <stdbool.h>

struct brick_conn;
struct brick_session;

/* No authentication: whoever connects is served. */
void brick_auth_none(struct brick_conn *conn);

/**
 * brick_auth_join_is_proven - does the HELLO of a join know the session's key?
 * @session: LIVE or DETACHED
 * @raw_hello: KFB_HELLO_BYTES as they came
 */
bool brick_auth_join_is_proven(const struct brick_session *session,
			       const void *raw_hello);

#endif
