/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sessions read and write, held against their rates.
 *
 * A brick is passive: it is told of no read or write, and can slow none down. Each
 * session keeps to its rate by itself; here is seen whether it does, where what comes
 * can be counted, which is over brickd's own tcp. Nobody is disturbed for it: the
 * counters of the connections are looked at when there is something else to do.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_SESSION_USAGE_H
#define BRICKD_SESSION_USAGE_H

#include <stdbool.h>

#include "brickd/session/state.h"

/* A session has its client: it has moved nothing, and has that client's rate. */
void brick_usage_begin(struct brick_session *session);

/* It is about to be freed. */
void brick_usage_end(struct brick_session *session);

/**
 * brick_usage_take_rate - a session has the rate that its client has now
 * @session: with a client
 *
 * What it has moved until now is held against the rate it had. From now on, or from when
 * it is told by brick_usage_told(), it has some time to hear of the new one.
 *
 * Return: is it another one?
 */
bool brick_usage_take_rate(struct brick_session *session);

/**
 * brick_usage_look - count what a session has moved since the last look
 * @session: any
 *
 * Who has moved more than the rate gives is counted, once for each time that it has moved
 * so much too much, and named in the log, once in some minutes. What lands between the
 * last look at a connection and its end is counted nowhere.
 */
void brick_usage_look(struct brick_session *session);

/* The same, unless it was looked at just now: a request of it has come. */
void brick_usage_noted(struct brick_session *session);

/* An EVENT with its rate is on its way: from now on it has some time to hear of it. */
void brick_usage_told(struct brick_session *session);

/* Look at some of those that have a rate: without a lease one may say nothing for hours. */
void brick_usage_tick(struct brick_sessions *all);

#endif
