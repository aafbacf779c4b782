/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work that may block: worker threads with a queue each, and the way back to
 * the loop.
 *
 * Context: brick_worker_submit() from any thread; run() in the worker; done()
 * in the loop thread.
 * Locking: worker.lock guards its queue, mailbox.lock the finished work; both
 * are leaves and are never held over a callback.
 * Lifetime: a work item belongs to the worker from submit until done().
 */
#ifndef BRICKD_BASE_WORK_H
#define BRICKD_BASE_WORK_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "brickd/base/flow.h"
#include "brickd/base/loop.h"

struct brick_work;
STAILQ_HEAD(brick_work_list, brick_work);

/*
 * struct brick_work - one piece of work; embedded in its owner
 * @whose: where there are turns, those with the same one share them; compared only
 * @flow: in whose turn of the loop it is done; NULL: at once
 * @task: its place there
 * @behind: there: later ones of the same, if it is the first of them
 * @run: what brick_worker_run_each() does with it
 * @done: called in the loop thread when the worker has finished with it
 */
struct brick_work {
	STAILQ_ENTRY(brick_work) link;
	const void *whose;
	struct brick_flow *flow;
	struct brick_task task;
	struct brick_work_list behind;
	void (*run)(struct brick_work *work);
	void (*done)(struct brick_work *work);
};

/*
 * struct brick_mailbox - finished work on its way to the loop
 * @flows: the loop's; NULL: all is done at once
 * @is_rung: the loop was woken and has not looked at the descriptor since
 */
struct brick_mailbox {
	struct brick_source source;
	struct brick_flows *flows;
	pthread_mutex_t lock;
	struct brick_work_list finished; /* guarded by lock */
	bool is_rung; /* guarded by lock */
};

int brick_mailbox_init(struct brick_mailbox *box);
void brick_mailbox_fini(struct brick_mailbox *box);
void brick_mailbox_post(struct brick_mailbox *box, struct brick_work *work);

/* Calls done() in the turn of its flow; without one, or any, at once. Context: the
 * loop thread.
 */
void brick_work_go_on(struct brick_flows *flows, struct brick_work *work);

/* The same behind all that the flow has to do now: for one piece of many. */
void brick_work_go_on_behind(struct brick_flows *flows,
			     struct brick_work *work);

/**
 * brick_mailbox_look - take what has finished
 * @box: the mailbox
 *
 * done() of what has a flow is called in its turn, of the rest at once.
 *
 * Context: the loop thread.
 */
void brick_mailbox_look(struct brick_mailbox *box);

/**
 * brick_mailbox_deliver - call done() of all that has finished
 * @box: the mailbox
 *
 * Context: the loop thread; also after the loop, to drain.
 */
void brick_mailbox_deliver(struct brick_mailbox *box);

struct brick_worker;

/**
 * typedef brick_worker_fn - do a batch
 * @worker: the worker
 * @batch: all that was queued, in order; each item must be taken out and given
 *	to brick_worker_finish()
 */
typedef void (*brick_worker_fn)(struct brick_worker *worker,
				struct brick_work_list *batch);

/*
 * struct brick_worker - one thread
 * @name: of the thread, at most 15 characters
 * @run: does a batch
 * @ctx: run's
 * @box: where finished work goes
 */
struct brick_worker {
	const char *name;
	brick_worker_fn run;
	void *ctx;
	struct brick_mailbox *box;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct brick_work_list queue; /* guarded by lock */
	bool stopping; /* guarded by lock */
	bool started;
};

/**
 * brick_worker_start - start the thread
 * @worker: name, run, ctx and box are set
 *
 * Signals are blocked in it.
 *
 * Return: 0 or -errno.
 */
int brick_worker_start(struct brick_worker *worker);

/**
 * brick_worker_stop - finish what is queued and end the thread
 * @worker: also one that never started
 *
 * Finished work stays in the mailbox: deliver it afterwards.
 */
void brick_worker_stop(struct brick_worker *worker);

/**
 * brick_worker_is_stopping - should a long batch end early?
 * @worker: the worker
 *
 * Context: any thread.
 */
bool brick_worker_is_stopping(struct brick_worker *worker);

/**
 * brick_worker_take - take what was queued while a batch is done
 * @worker: the worker
 * @batch: it is added at the end
 *
 * Context: the worker's thread.
 */
void brick_worker_take(struct brick_worker *worker,
		       struct brick_work_list *batch);

void brick_worker_submit(struct brick_worker *worker, struct brick_work *work);
void brick_worker_finish(struct brick_worker *worker, struct brick_work *work);

/**
 * brick_work_take - take the first item of a batch
 * @batch: the batch
 *
 * Return: the item, NULL at the end.
 */
struct brick_work *brick_work_take(struct brick_work_list *batch);

/**
 * brick_turns_add - have work done when it is its owner's turn
 * @turns: the first work of each that has some; initialised by STAILQ_INIT()
 * @work: comes behind what there is with the same whose
 *
 * Context: one thread at a time.
 */
void brick_turns_add(struct brick_work_list *turns, struct brick_work *work);

/**
 * brick_turns_take - what is to be done next
 * @turns: the next one of the same whose comes last
 *
 * Return: NULL: nothing.
 */
struct brick_work *brick_turns_take(struct brick_work_list *turns);

/*
 * A brick_worker_fn for work that knows itself how to run, one at a time: of each
 * whose in turn, so that nobody waits for more than one of each of the others.
 */
void brick_worker_run_by_turns(struct brick_worker *worker,
			       struct brick_work_list *batch);

/* A brick_worker_fn for work that knows itself how to run, one at a time. */
void brick_worker_run_each(struct brick_worker *worker,
			   struct brick_work_list *batch);

#endif
