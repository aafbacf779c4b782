/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A block that several clients use: shared all the time, or exclusively in turns.
 * What is done with its registers is checked as the history of words.
 */
#ifndef TESTS_SIM_SHARED_H
#define TESTS_SIM_SHARED_H

#include "../history.h"
#include "../machine/host.h"

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
 * struct sim_told - what a client was told of the block's birth
 * @birth: by the newest MAP that was granted
 * @asked_ns: when it had begun
 * @told_ns: when it was answered; 0: none was
 * @asks_ns: when the newest MAP of all has begun
 * @until_ns: until then a MAP of this client may be carried out: one that it waits for,
 *	or one of libkfbrick's, which makes a mapping again
 * @before_ns: the same before the newest MAP
 */
struct sim_told {
	uint32_t birth;
	uint64_t asked_ns;
	uint64_t told_ns;
	uint64_t asks_ns;
	uint64_t until_ns;
	uint64_t before_ns;
};

/*
 * struct sim_shared - the block's
 * @first: the first word of each register
 * @last: the last word
 * @told: by client
 */
struct sim_shared {
	struct sim_history first[SIM_SHARED_REGS];
	struct sim_history last[SIM_SHARED_REGS];
	struct sim_told told[SIM_CLIENTS_MAX];
};

void sim_shared_init(struct sim_shared *shared);
/* The brick's power has failed. */
void sim_shared_power(struct sim_shared *shared);
void sim_shared_check(struct sim_shared *shared);

/* A client's part: 0 or a negative errno of libkfbrick. */
int sim_shared_get(struct sim_client *c);
/* Something more with it. Return: false: the connection is lost for good. */
bool sim_shared_step(struct sim_client *c);
/* It can still be had, by whoever waits for it. Return: as of a step. */
bool sim_shared_end(struct sim_client *c);
void sim_shared_done(struct sim_client *c, struct sim_posted *p, int error);

/*
 * shared_births.c: a birth is another one when somebody else has had the block for
 * writing, and only then, whatever has happened to the brick. A MAP begins; it was
 * granted, or it was not: because the block is busy, or otherwise; what was mapped
 * is not any more, for sure or as far as the client knows; the block is a new one.
 */
void sim_births_ask(struct sim_client *c);
void sim_births_told(struct sim_client *c);
void sim_births_refused(struct sim_client *c, bool is_busy);
void sim_births_left(struct sim_client *c, bool is_sure);
void sim_births_begin_anew(struct sim_shared *shared);

#endif
