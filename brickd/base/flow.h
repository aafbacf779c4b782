/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose turn it is in the loop.
 *
 * All that the loop does for one client is one flow, however many sessions and
 * connections it comes through: its connections that have something to be read,
 * and its requests that a worker has finished with or whose blocks have become free.
 * The flows have turns: a few things of one, then of the next. So whoever has one
 * request waits for one turn of each of the others that are busy, and not for all
 * that these want.
 *
 * A flow that had nothing to do comes before those that have had their turn, once:
 * behind its turn it stays among these until they all have had theirs, even when it has
 * nothing to do any more. So coming and going gains nothing.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_BASE_FLOW_H
#define BRICKD_BASE_FLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brickd/base/busy.h"

/*
 * struct brick_turn - what is left of a turn
 * @busy: the loop's
 * @n_left: things
 * @until_ns: then it is over, whatever is left
 */
struct brick_turn {
	struct brick_busy *busy;
	unsigned int n_left;
	uint64_t until_ns;
};

/* One thing of a turn is done, and counted as what the loop was busy with. */
void brick_turn_count(struct brick_turn *turn);

struct brick_flow;

/*
 * struct brick_task - something that is looked at in its flow's turn; embedded in
 *	its owner
 * @flow: where it waits; NULL: it does not
 * @run: does what there is to do and counts each thing; it waits no more before that,
 *	and adds itself again when there is more to do
 */
struct brick_task {
	TAILQ_ENTRY(brick_task) link;
	struct brick_flow *flow;
	void (*run)(struct brick_task *task, struct brick_turn *turn);
};

TAILQ_HEAD(brick_task_list, brick_task);

enum brick_flow_place {
	BRICK_FLOW_IDLE, /* in no list, and has nothing to do */
	BRICK_FLOW_FRESH, /* has something, and had nothing before */
	BRICK_FLOW_KNOWN, /* has had a turn since the others had theirs */
};

/*
 * struct brick_flow - what one client has for the loop to do; zeroed: nothing
 * @finished: requests that may go on; come first: others may wait for their blocks
 * @tasks: the rest
 */
struct brick_flow {
	TAILQ_ENTRY(brick_flow) link;
	enum brick_flow_place place;
	struct brick_task_list finished;
	struct brick_task_list tasks;
};

TAILQ_HEAD(brick_flow_list, brick_flow);

/* All flows that have something to do, or had just now. */
struct brick_flows {
	struct brick_busy *busy;
	struct brick_flow_list fresh;
	struct brick_flow_list known;
};

/* No flow has anything; busy is the loop's. */
void brick_flows_init(struct brick_flows *all, struct brick_busy *busy);

/**
 * brick_flow_add - have a task run in its flow's turn
 * @all: all flows
 * @flow: whose
 * @task: comes last; nothing happens when it waits already
 */
void brick_flow_add(struct brick_flows *all, struct brick_flow *flow,
		    struct brick_task *task);

/* It is not to be run any more; nothing happens when it does not wait. */
void brick_flow_del(struct brick_task *task);

/* The same before all that is no such task; it cannot be taken back. */
void brick_flow_add_finished(struct brick_flows *all, struct brick_flow *flow,
			     struct brick_task *task);

/**
 * brick_flows_serve - a turn of the flow that comes next
 * @all: all flows
 *
 * Return: false: none of them had anything to do.
 */
bool brick_flows_serve(struct brick_flows *all);

/* Has nobody anything to do? */
bool brick_flows_are_idle(const struct brick_flows *all);

#endif
