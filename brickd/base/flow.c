// SPDX-License-Identifier: BSD-2-Clause
#include "brickd/base/flow.h"

#include <stddef.h>

/* A turn is over after so many things, or so much time. */
#define TURN_THINGS 8
#define TURN_NS	    50000ULL

void brick_turn_count(struct brick_turn *turn)
{
	uint64_t now_ns = brick_busy_end(turn->busy);

	if (turn->n_left)
		turn->n_left--;
	if (now_ns >= turn->until_ns)
		turn->n_left = 0;
}

void brick_flows_init(struct brick_flows *all, struct brick_busy *busy)
{
	all->busy = busy;
	TAILQ_INIT(&all->fresh);
	TAILQ_INIT(&all->known);
}

static void wake_flow(struct brick_flows *all, struct brick_flow *f)
{
	if (f->place != BRICK_FLOW_IDLE)
		return;
	TAILQ_INIT(&f->finished);
	TAILQ_INIT(&f->tasks);
	f->place = BRICK_FLOW_FRESH;
	TAILQ_INSERT_TAIL(&all->fresh, f, link);
}

void brick_flow_add(struct brick_flows *all, struct brick_flow *f,
		    struct brick_task *task)
{
	if (task->flow)
		return;
	wake_flow(all, f);
	task->flow = f;
	TAILQ_INSERT_TAIL(&f->tasks, task, link);
}

void brick_flow_del(struct brick_task *task)
{
	if (task->flow)
		TAILQ_REMOVE(&task->flow->tasks, task, link);
	task->flow = NULL;
}

void brick_flow_add_finished(struct brick_flows *all, struct brick_flow *f,
			     struct brick_task *task)
{
	wake_flow(all, f);
	task->flow = f;
	TAILQ_INSERT_TAIL(&f->finished, task, link);
}

static bool is_empty(const struct brick_flow *f)
{
	return TAILQ_EMPTY(&f->finished) && TAILQ_EMPTY(&f->tasks);
}

static struct brick_flow *take_flow(struct brick_flows *all)
{
	struct brick_flow *f;

	while (!(f = TAILQ_FIRST(&all->fresh)) &&
	       (f = TAILQ_FIRST(&all->known)) && is_empty(f)) {
		TAILQ_REMOVE(&all->known, f, link);
		f->place = BRICK_FLOW_IDLE;
	}
	if (f)
		TAILQ_REMOVE(f->place == BRICK_FLOW_FRESH ? &all->fresh
							  : &all->known,
			     f, link);
	return f;
}

bool brick_flows_serve(struct brick_flows *all)
{
	struct brick_flow *f = take_flow(all);
	struct brick_turn turn = { .busy = all->busy, .n_left = TURN_THINGS };

	if (!f)
		return false;
	/* What comes to it meanwhile finds it in its place. */
	f->place = BRICK_FLOW_KNOWN;
	brick_busy_begin(turn.busy);
	turn.until_ns = turn.busy->since_ns + TURN_NS;
	while (turn.n_left && !is_empty(f)) {
		struct brick_task_list *list =
			TAILQ_EMPTY(&f->finished) ? &f->tasks : &f->finished;
		struct brick_task *task = TAILQ_FIRST(list);
		unsigned int n_left = turn.n_left;

		TAILQ_REMOVE(list, task, link);
		task->flow = NULL;
		task->run(task, &turn);
		/* To look and find nothing is one, too. */
		if (turn.n_left == n_left)
			brick_turn_count(&turn);
	}
	TAILQ_INSERT_TAIL(&all->known, f, link);
	return true;
}

bool brick_flows_are_idle(const struct brick_flows *all)
{
	const struct brick_flow *f;

	TAILQ_FOREACH(f, &all->known, link)
	if (!is_empty(f))
		return false;
	return TAILQ_EMPTY(&all->fresh);
}
