/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a session has been asked to give back; tier/tier_ask.c asks.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_SESSION_RECALL_H
#define BRICKD_SESSION_RECALL_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/session/state.h"

/* What a session is asked for and has not given back; NULL: nothing. */
struct brick_mapping *brick_recall_asked(const struct brick_session *session,
					 uint64_t now_ms);

/**
 * brick_recall_describe - fill the EVENT
 * @session: whose it is
 * @event: its range, mapping and deadline are set
 *
 * Return: false: the mapping is gone, or nobody waits for it any more.
 */
bool brick_recall_describe(const struct brick_session *session,
			   struct kfb_event *event);

#endif
