/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which block lies in which tier: promotion for MAP, demotion in the
 * background, and what an administrator orders. docs/tiering.md says why.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_TIER_TIER_H
#define BRICKD_TIER_TIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/tier/tier_state.h"

struct brick_handle;

/* Before the threads start; the store is open. */
void brick_tier_init(struct brick_tier *tier);

/* Free slots were taken or came back, range locks were dropped: look what to do. */
void brick_tier_run(struct brick_tier *tier);

/* When brick_tier_run() wants to be called at the latest. */
uint64_t brick_tier_next_ms(const struct brick_tier *tier);

/* Is nothing under way? When the server stops no more is begun. */
bool brick_tier_is_idle(const struct brick_tier *tier);

/**
 * brick_tier_promote - have blocks moved to where they can be mapped
 * @tier: the tier
 * @job: span, session, whose and done are set, all else is zero; the blocks
 *	are locked
 *
 * is_unwanted may be set too. done() may be called before this returns. Its
 * error is -EIO (a block cannot be read), -ENOSPC (all slots are mapped or
 * pinned, and nobody has given any back, or there are not so many), -EAGAIN (it
 * takes longer than promote-wait-ms; what has been moved stays), -ESHUTDOWN or
 * -ENOENT.
 */
void brick_tier_promote(struct brick_tier *tier, struct brick_tier_job *job);

/**
 * brick_tier_order - what an administrator wants, or a client without waiting
 * @tier: the tier
 * @whose: the client, compared only; NULL: the administrator
 * @span: blocks
 * @to_slow: demote, or else promote
 * @may_ask: ask clients to give back what is in its way, without waiting
 * @id: of the job, to ask for it
 *
 * Blocks that are mapped, pinned (when they are to be demoted), in quarantine
 * or busy are skipped.
 *
 * Return: 0, -EOPNOTSUPP (no slow tier), -EUSERS (too many jobs), -ENOMEM.
 */
int brick_tier_order(struct brick_tier *tier, const void *whose,
		     struct brick_span span, bool to_slow, bool may_ask,
		     uint64_t *id);

/**
 * brick_tier_find_order - an order, or how an administrator's has ended
 * @tier: the tier
 * @id: from brick_tier_order()
 * @has_ended: it is only remembered
 *
 * Return: NULL: it is forgotten, or never was.
 */
const struct brick_tier_job *
brick_tier_find_order(const struct brick_tier *tier, uint64_t id,
		      bool *has_ended);

/* Ends an order after the step that is under way. 0 or -ENOENT. */
int brick_tier_cancel(struct brick_tier *tier, uint64_t id);

/* Handles were closed: their blocks are at rest, if nobody else has them. */
void brick_tier_rest(struct brick_tier *tier,
		     const struct brick_handle *handles, size_t n);

/* Blocks are pinned no more: they may be demoted again. */
void brick_tier_rest_span(struct brick_tier *tier, struct brick_span span);

#endif
