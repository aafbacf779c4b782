/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Claims: which blocks an op in flight works on.
 *
 * ALLOC, FREE, MAP and UNMAP pass through several threads. Each holds a claim
 * on its blocks from its first look at them until its reply, so that two that
 * overlap go one after the other. An op holds one claim at most: no deadlock.
 *
 * Context: the loop thread. Bounded by the requests in flight.
 */
#ifndef BRICKD_MAPPING_BLOCK_CLAIMS_H
#define BRICKD_MAPPING_BLOCK_CLAIMS_H

#include <stdbool.h>
#include <sys/queue.h>

#include "brickd/config/grants.h"

/*
 * struct brick_claim - one op's blocks; embedded in the op
 * @span: the blocks
 * @granted: called when a waiting claim is held at last
 */
struct brick_claim {
	TAILQ_ENTRY(brick_claim) link;
	struct brick_span span;
	bool held;
	void (*granted)(struct brick_claim *claim);
};

TAILQ_HEAD(brick_claim_list, brick_claim);

/* Held and waiting claims, in the order they came. */
struct brick_claims {
	struct brick_claim_list list;
};

void brick_claims_init(struct brick_claims *claims);

/**
 * brick_claims_take - claim blocks
 * @claims: all claims
 * @claim: span and granted are set
 *
 * Return: true when the claim is held now; false: granted() will be called,
 * unless the claim is dropped before.
 */
bool brick_claims_take(struct brick_claims *claims, struct brick_claim *claim);

/**
 * brick_claims_would_wait - would a claim have to wait?
 * @claims: all claims
 * @span: blocks
 */
bool brick_claims_would_wait(const struct brick_claims *claims,
			     struct brick_span span);

/**
 * brick_claims_drop - give a claim back, held or waiting
 * @claims: all claims
 * @claim: one that was taken
 *
 * Calls granted() of those it made way for.
 */
void brick_claims_drop(struct brick_claims *claims, struct brick_claim *claim);

#endif
