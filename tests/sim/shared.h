/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A block that several clients use: shared all the time, or exclusively in turns.
 * What is done with its registers is checked as the history of words.
 */
#ifndef TESTS_SIM_SHARED_H
#define TESTS_SIM_SHARED_H

#include "history.h"

#define SIM_SHARED_REGS	 4
#define SIM_SHARED_BYTES 4096

struct sim_client;
struct sim_posted;

enum sim_sharing {
	SIM_SHARES_NOTHING,
	SIM_SHARES,
	SIM_TAKES_TURNS,
};

/*
 * struct sim_shared - the block's
 * @first: the first word of each register
 * @last: the last word
 */
struct sim_shared {
	struct sim_history first[SIM_SHARED_REGS];
	struct sim_history last[SIM_SHARED_REGS];
};

void sim_shared_init(struct sim_shared *shared);
/* The brick's power has failed. */
void sim_shared_power(struct sim_shared *shared);
void sim_shared_check(struct sim_shared *shared);

/* A client's part: 0 or a negative errno of libkfbrick. */
int sim_shared_get(struct sim_client *c);
/* Something more with it. Return: false: the connection is lost for good. */
bool sim_shared_step(struct sim_client *c);
void sim_shared_done(struct sim_client *c, struct sim_posted *p, int error);

#endif
