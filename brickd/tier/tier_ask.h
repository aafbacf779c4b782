/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RECALL: clients are asked for mappings when these hold all of the memory
 * that a MAP waits for.
 *
 * Only a client knows which of its mappings it can do without. It is asked for
 * the one that it was not asked for longest, and may give others back instead.
 * Nothing is taken by force: who keeps what it has makes others wait, and then
 * fail, as without this.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_TIER_TIER_ASK_H
#define BRICKD_TIER_TIER_ASK_H

#include <stdbool.h>
#include <stdint.h>

struct brick_tier;
struct brick_session;

/**
 * brick_recall_ask - have clients asked for mappings
 * @tier: the tier
 * @n_blocks: that are wanted
 * @waits: the session whose MAP waits; asked only when there is nobody else
 *
 * Asks as many as are needed besides those that have been asked already.
 *
 * Return: true when another session may give something back, or is ending.
 */
bool brick_recall_ask(struct brick_tier *tier, uint64_t n_blocks,
		      struct brick_session *waits);

#endif
