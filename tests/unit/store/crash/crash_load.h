/* SPDX-License-Identifier: BSD-2-Clause */
/* The inside of a crash run, shared by its files. */
#ifndef TESTS_STORE_CRASH_LOAD_H
#define TESTS_STORE_CRASH_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/store/move.h"
#include "crash_model.h"
#include "crash_run.h"

#define CRASH_LEVELS	3U /* the load, recovery, recovery of recovery */
#define CRASH_MOVES_MAX 2U /* blocks under way between the tiers */

struct crash_load {
	struct crash_run *run;
	struct crash_medium *cm;
	struct brick_store *s;
	struct model now; /* acknowledged */
	struct model after; /* if the batch under way counts */
	bool in_flight; /* both are right */
	bool in_batch[MODEL_KEYS]; /* no client writes there */
	bool written[MODEL_KEYS]; /* by a client: not to be freed */
	bool moving[MODEL_KEYS]; /* to the other tier: neither of the two */
	struct brick_move moves[CRASH_MOVES_MAX];
	unsigned int n_moves;
	bool moves_copied; /* and wait for a batch */
	bool stop;
	uint64_t seed;
	uint64_t n_opened;
	bool nested;
	uint32_t next_owner;
	uint64_t next_data;
	uint64_t token; /* the last quarantine asked for */
	uint64_t quarantined; /* the last acknowledged */
	uint64_t released;
};

/* A number below n. */
unsigned int crash_roll(struct crash_load *l, unsigned int n);

/* Note the first violation; it ends the run. */
void crash_blame(struct crash_load *l, const char *wrong);

/* crash_check.c */

struct brick_store *crash_open(struct crash_load *l, struct crash_medium *cm);

/* Power fails under the load: look at each state that may be left. */
void crash_on_point(struct crash_medium *cm, void *load);

/* Power fails again, inside recovery. */
void crash_on_nested_point(struct crash_medium *cm, void *load);

/* crash_poison.c */

/* What one lost line of the metadata must cost. */
struct crash_loss {
	bool happened; /* and changed something */
	bool needs_open; /* not only records are concerned */
	bool super;
	bool commit;
	bool instance;
	unsigned int n_records; /* a copy of each is damaged */
	unsigned int n_bad; /* both copies are */
	uint64_t first_bad;
};

/* Lose a line; returns whether that changed anything. */
bool crash_lose_line(struct crash_load *l, struct crash_medium *cm,
		     uint64_t off);

/* Lose a random line of the state in cm. */
void crash_poison(struct crash_load *l, struct crash_medium *cm,
		  struct crash_loss *loss);

/* Compare what recovery says and kept with what was lost. */
void crash_check_loss(struct crash_load *l, struct brick_store *s,
		      struct crash_medium *cm, const struct crash_loss *loss);

/* crash_step.c: what the threads of a brick do to a store. */

void crash_step_commit(struct crash_load *l);
void crash_step_clean(struct crash_load *l);
void crash_step_write(struct crash_load *l);
void crash_step_read(struct crash_load *l);
void crash_step_release(struct crash_load *l);

/* crash_move.c: blocks change the tier */

/* Copies some, for a later batch, unless others wait for theirs. */
void crash_step_move(struct crash_load *l);

/* Add what was copied to a batch of n operations. Return: how many now. */
unsigned int crash_moves_plan(struct crash_load *l, struct brick_store_op *ops,
			      unsigned int n);

/* The batch is acknowledged: the blocks are there, whole. */
void crash_moves_acknowledge(struct crash_load *l);

/* That has been looked at: others may move. */
void crash_moves_end(struct crash_load *l);

#endif
