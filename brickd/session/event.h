/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * EVENTs: what a brick has to tell a client that has not asked.
 *
 * Level-triggered: what holds is sent until it is acknowledged or holds no
 * more (what is to be given back holds until it is), at most KFB_EVENTS_UNACKED_MAX at a time, on queue 0, and again when
 * that queue has a new connection.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_SESSION_EVENT_H
#define BRICKD_SESSION_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/session/state.h"

/**
 * brick_event_raise - something is to be told
 * @session: whom
 * @kind: KFB_EVENT_*; what it is about has been set
 *
 * Return: true when it has been sent.
 */
bool brick_event_raise(struct brick_session *session, uint32_t kind);

/* The same, but not before the client's next request. */
void brick_event_hold(struct brick_session *session, uint32_t kind);

/**
 * brick_event_evicted - the last that a client is told
 * @session: whose first connection ends when it is out
 * @cause: KFB_EVICTED_*
 * @uid: of who ordered it, or 0
 *
 * Nothing happens without %KFB_FEATURE_EVICTED.
 */
void brick_event_evicted(struct brick_session *session, uint32_t cause,
			 uint32_t uid);

/* Its rate is another one; without %KFB_FEATURE_RATE nobody is told. */
void brick_event_rate(struct brick_session *session);

/* It holds no more. */
void brick_event_drop(struct brick_session *session, uint32_t kind);

/**
 * brick_events_noted - a request came
 * @session: whose
 * @req: its credits are counted; PING and UNMAP acknowledge
 */
void brick_events_noted(struct brick_session *session,
			const struct kfb_request *req);

/* Queue 0 has a new connection: what holds is sent again. */
void brick_events_again(struct brick_session *session);

#endif
