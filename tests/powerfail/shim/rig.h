/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A brickd and a client of libkfbrick on the fabric inside this process, with
 * some mapped blocks.
 */
#ifndef TESTS_POWERFAIL_RIG_H
#define TESTS_POWERFAIL_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kfbrick.h"
#include "medium.h"

#define PF_BLOCKS 8
#define PF_AREA	  4096 /* bytes of each block that are used */

/* Who says that something is durable, and has not seen to it. */
enum pf_lie {
	PF_HONEST,
	PF_CLIENT_SKIPS, /* it flushes no queue */
	PF_CLIENT_FIRST_QUEUE, /* it flushes the first queue only */
	PF_CLIENT_MISTAKES, /* it takes an old FLUSH's answer for the newest one's */
	PF_CLIENT_TRUSTS, /* it takes what a dead connection wrote for placed */
	PF_BRICK_ANSWERS, /* FLUSH is answered and nothing done */
	PF_BRICK_HALF, /* the first of the ranges only */
};

/**
 * struct pf_rig - both ends
 * @k: the client
 * @at: each block's used bytes, in the medium's cached view
 * @server: brickd
 * @config: its settings
 * @mapping: of the blocks
 */
struct pf_rig {
	struct kfbrick *k;
	uint8_t *at[PF_BLOCKS];
	struct brick_server *server;
	struct brick_config *config;
	struct kfbrick_mapping *mapping;
};

/* Ends the program with words when anything fails. @retains: with copies. */
void pf_rig_start(struct pf_rig *rig, const struct pf_platform *platform,
		  uint32_t queues, bool retains, uint64_t seed,
		  uint32_t drain_permille);
void pf_rig_stop(struct pf_rig *rig);

/* So much time passes at once. */
void pf_rig_wait(uint32_t ms);

/* From now on somebody lies. */
void pf_rig_lie(enum pf_lie lie);

void pf_die(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

#endif
