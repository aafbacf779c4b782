// SPDX-License-Identifier: BSD-2-Clause
/*
 * The policy of tiering: which step comes next.
 *
 * MAPs that wait come first, in their order: two that together want more slots
 * than there are cannot take them from each other. Then orders, then the
 * background, which keeps some slots free so that neither ALLOC nor MAP has to
 * wait for a demotion.
 */
#include "brickd/tier/tier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/base/clock.h"
#include "brickd/tier/tier_ask.h"
#include "brickd/mapping/mapping.h"
#include "brickd/server.h"
#include "brickd/base/util.h"
#include "proto/kfb_time.h"

#define PERCENT	     100
#define MS_PER_S     1000
#define LOOK_BUSY_MS 5 /* until blocks are tried again that others hold */
#define ASKED_MS     10 /* likewise, that others are asked to give back */
#define MISSES_MAX   8 /* steps in a row that move nothing */
#define TROUBLE_MS   1000 /* after one failure; doubled with each more */
#define TROUBLE_MAX  7 /* failures: 64 s */

enum outcome {
	BEGUN,
	WAITS,
	ENDED,
};

static uint64_t share(uint64_t slots, uint64_t percent)
{
	return (slots * percent + PERCENT - 1) / PERCENT;
}

void brick_tier_init(struct brick_server *server)
{
	const struct brick_limits *limits = &server->config->limits;
	struct brick_tier *t = &server->tier;
	struct brick_store_stats stats;

	TAILQ_INIT(&t->waiting);
	TAILQ_INIT(&t->orders);
	t->again_ms = KFB_TIME_NEVER;
	brick_store_stats(server->storage.store, &stats);
	t->is_on = stats.slow_total;
	t->low_slots = share(stats.slots_total, limits->tier_low_percent);
	t->high_slots = share(stats.slots_total, limits->tier_high_percent);
	if (t->high_slots <= t->low_slots)
		t->high_slots = t->low_slots + 1;
	/* Whoever wrote before a stop that was not clean may come back. */
	if (!brick_store_recovery(server->storage.store)->was_clean)
		t->trouble_ms = brick_now_ms() + limits->lease_ms;
	for (uint32_t i = 0; i < server->config->n_pins; i++)
		(void)brick_tier_pin(t, server->config->pins[i]);
}

static void remember(struct brick_tier *t, const struct brick_tier_job *job)
{
	t->ended[t->n_ended++ % BRICK_TIER_ENDED_MAX] = *job;
}

static enum outcome end(struct brick_server *server, struct brick_tier_job *job,
			int error)
{
	struct brick_tier *t = &server->tier;

	job->error = error;
	if (job->id) {
		TAILQ_REMOVE(&t->orders, job, link);
		t->n_orders--;
		remember(t, job);
		free(job);
	} else {
		TAILQ_REMOVE(&t->waiting, job, link);
		job->done(job);
	}
	return ENDED;
}

static enum outcome wait_ms(struct brick_server *server, uint64_t ms)
{
	server->tier.again_ms = brick_now_ms() + ms;
	return WAITS;
}

static unsigned int at_most(unsigned int n, uint64_t limit)
{
	return n < limit ? n : (unsigned int)limit;
}

static unsigned int step_max(const struct brick_server *server)
{
	return at_most(BRICK_TIER_STEP_MAX,
		       brick_move_max(server->storage.store));
}

/* All that could make room is mapped or pinned. */
static enum outcome ask_for_room(struct brick_server *server,
				 struct brick_tier_job *job, unsigned int n)
{
	/* What was just unmapped is not in the list of rest yet. */
	if (server->tier.n_resting)
		return wait_ms(server, LOOK_BUSY_MS);
	if (!job->may_ask || !brick_give_back_ask(server, n, job->session) ||
	    job->id)
		return end(server, job, -ENOSPC);
	job->is_short = true;
	return wait_ms(server, ASKED_MS);
}

/* Have up to n slots freed for a job that cannot go on without. */
static enum outcome make_room(struct brick_server *server,
			      struct brick_tier_job *job, unsigned int n)
{
	uint64_t va[BRICK_TIER_STEP_MAX];
	enum brick_tier_excuse excuse;
	struct brick_store_stats stats;
	unsigned int n_victims;

	job->is_short = false;
	brick_store_stats(server->storage.store, &stats);
	/* No room can be made, and what others give back would stay as well. */
	if (stats.slow_has_failed)
		return end(server, job, -ENOSPC);
	n_victims = brick_tier_victims(server, va, n, job, &excuse);
	if (n_victims) {
		job->n_looked = 0;
		brick_tier_step_begin(server, job, va, n_victims, true);
		return BEGUN;
	}
	job->n_looked += BRICK_TIER_LOOK_MAX;
	if (excuse == BRICK_TIER_LOOK_ON && job->n_looked < stats.slots_total)
		return wait_ms(server, 0);
	if (excuse == BRICK_TIER_WAIT)
		return wait_ms(server, LOOK_BUSY_MS);
	return ask_for_room(server, job, n);
}

/* Leave out what is in use; an order goes on behind all that it has seen. */
static unsigned int keep_movable(struct brick_server *server,
				 struct brick_tier_job *job, uint64_t *va,
				 unsigned int n)
{
	unsigned int i, kept = 0;

	for (i = 0; i < n; i++) {
		if (brick_tier_is_movable(server, va[i], job->to_slow))
			va[kept++] = va[i];
		else
			job->n_skipped++;
	}
	if (n)
		job->at = (va[n - 1] >> KFB_BLOCK_SHIFT) + 1;
	return kept;
}

static enum outcome move_some(struct brick_server *server,
			      struct brick_tier_job *job, uint64_t *va,
			      unsigned int n)
{
	struct brick_store_stats stats;

	brick_store_stats(server->storage.store, &stats);
	if (!job->to_slow && !stats.slots_ready)
		return make_room(server, job, n);
	if (job->to_slow && stats.slow_has_failed)
		return end(server, job, -EIO);
	n = at_most(n, job->to_slow ? stats.slow_ready : stats.slots_ready);
	if (!n)
		return end(server, job, -ENOSPC);
	if (!job->is_claimed) {
		uint64_t last = va[n - 1];

		n = keep_movable(server, job, va, n);
		job->at = (last >> KFB_BLOCK_SHIFT) + 1;
	}
	if (!n)
		return wait_ms(server, 0);
	brick_tier_step_begin(server, job, va, n, job->to_slow);
	return BEGUN;
}

static enum outcome advance(struct brick_server *server,
			    struct brick_tier_job *job)
{
	uint64_t va[BRICK_TIER_STEP_MAX], at = job->at;
	unsigned int n;

	if (job->is_claimed && job->n_failed)
		return end(server, job, -EIO);
	if (job->n_misses > MISSES_MAX)
		return end(server, job,
			   server->tier.n_troubles ? -EIO : -EAGAIN);
	n = brick_store_find(server->storage.store, &at, job->span.end,
			     !job->to_slow, va, step_max(server));
	if (!n && at >= job->span.end)
		return end(server, job, 0);
	if (brick_now_ms() >= job->until_ms ||
	    (job->is_unwanted && job->is_unwanted(job)))
		return end(server, job, job->is_short ? -ENOSPC : -EAGAIN);
	/* All before is where it is to be, and claimed. */
	if (n && job->is_claimed)
		job->at = va[0] >> KFB_BLOCK_SHIFT;
	if (n)
		return move_some(server, job, va, n);
	job->at = at;
	return wait_ms(server, 0);
}

static uint64_t cost_ms(const struct brick_server *server, unsigned int n)
{
	uint64_t rate = server->config->limits.tier_rate_bytes;

	return rate ? ((uint64_t)n << KFB_BLOCK_SHIFT) * MS_PER_S / rate : 0;
}

static void background(struct brick_server *server)
{
	struct brick_tier *t = &server->tier;
	uint64_t va[BRICK_TIER_STEP_MAX], now_ms = brick_now_ms();
	enum brick_tier_excuse excuse;
	struct brick_store_stats stats;
	unsigned int n;

	brick_store_stats(server->storage.store, &stats);
	if (stats.slots_ready < t->low_slots)
		t->is_demoting = true;
	if (stats.slots_ready >= t->high_slots)
		t->is_demoting = false;
	if (!t->is_demoting || !stats.slow_ready || now_ms < t->trouble_ms)
		return;
	if (now_ms < t->rate_ms) {
		t->again_ms = t->rate_ms;
		return;
	}
	n = at_most(step_max(server), t->high_slots - stats.slots_ready);
	n = brick_tier_victims(server, va, at_most(n, stats.slow_ready), NULL,
			       &excuse);
	if (!n)
		return; /* the next tick looks again */
	t->rate_ms = now_ms + cost_ms(server, n);
	brick_tier_step_begin(server, NULL, va, n, true);
}

static struct brick_tier_job *next_job(const struct brick_tier *t)
{
	struct brick_tier_job *job = TAILQ_FIRST(&t->waiting);

	if (!job)
		job = TAILQ_FIRST(&t->orders);
	/* end() unlinks what it frees, which the analyzer does not follow. */
	return job; /* NOLINT(clang-analyzer-unix.Malloc) */
}

void brick_tier_run(struct brick_server *server)
{
	struct brick_tier *t = &server->tier;
	struct brick_tier_job *job;

	if (!t->is_on || t->step.is_busy)
		return;
	t->again_ms = KFB_TIME_NEVER;
	while (!t->step.is_busy && (job = next_job(t))) {
		if (server->stop.is_stopping)
			(void)end(server, job, -ESHUTDOWN);
		else if (advance(server, job) == WAITS)
			return;
	}
	if (!t->step.is_busy && !server->stop.is_stopping)
		background(server);
}

void brick_tier_stepped(struct brick_server *server)
{
	struct brick_tier *t = &server->tier;
	unsigned int n = at_most(TROUBLE_MAX, t->n_troubles);

	if (n)
		t->trouble_ms = brick_now_ms() + (TROUBLE_MS << (n - 1));
	brick_tier_run(server);
}

uint64_t brick_tier_next_ms(const struct brick_server *server)
{
	return server->tier.step.is_busy ? KFB_TIME_NEVER
					 : server->tier.again_ms;
}

bool brick_tier_is_idle(const struct brick_server *server)
{
	return !server->tier.step.is_busy;
}

/* ---- jobs ---- */

void brick_tier_promote(struct brick_server *server, struct brick_tier_job *job)
{
	job->is_claimed = true;
	job->may_ask = true;
	job->at = job->span.first;
	job->until_ms = brick_now_ms() + server->config->limits.promote_wait_ms;
	TAILQ_INSERT_TAIL(&server->tier.waiting, job, link);
	brick_tier_run(server);
}

int brick_tier_order(struct brick_server *server, struct brick_span span,
		     bool to_slow, bool may_ask, uint64_t *id)
{
	struct brick_tier *t = &server->tier;
	struct brick_tier_job *job;

	if (!t->is_on)
		return -EOPNOTSUPP;
	if (t->n_orders == BRICK_TIER_ORDERS_MAX)
		return -EUSERS;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->span = span;
	job->at = span.first;
	job->to_slow = to_slow;
	job->may_ask = may_ask;
	job->until_ms = KFB_TIME_NEVER;
	job->id = ++t->last_order;
	*id = job->id;
	t->n_orders++;
	TAILQ_INSERT_TAIL(&t->orders, job, link);
	brick_tier_run(server);
	return 0;
}

const struct brick_tier_job *
brick_tier_find_order(const struct brick_server *server, uint64_t id,
		      bool *has_ended)
{
	const struct brick_tier *t = &server->tier;
	const struct brick_tier_job *job;

	*has_ended = false;
	TAILQ_FOREACH(job, &t->orders, link)
	if (job->id == id)
		return job;
	*has_ended = true;
	for (size_t i = 0; id && i < BRICK_TIER_ENDED_MAX; i++)
		if (t->ended[i].id == id)
			return &t->ended[i];
	return NULL;
}

int brick_tier_cancel(struct brick_server *server, uint64_t id)
{
	struct brick_tier_job *job;

	TAILQ_FOREACH(job, &server->tier.orders, link)
	{
		if (job->id != id)
			continue;
		job->until_ms = 0;
		brick_tier_run(server);
		return 0;
	}
	return -ENOENT;
}

/* ---- blocks that come to rest ---- */

struct rest {
	struct brick_work work;
	struct brick_server *server;
	size_t n;
	struct brick_span spans[];
};

static void run_rest(struct brick_work *work)
{
	struct rest *rest = brick_container_of(work, struct rest, work);

	for (size_t i = 0; i < rest->n; i++)
		brick_store_rest(rest->server->storage.store,
				 rest->spans[i].first << KFB_BLOCK_SHIFT,
				 rest->spans[i].end - rest->spans[i].first);
}

static void rested(struct brick_work *work)
{
	struct rest *rest = brick_container_of(work, struct rest, work);

	rest->server->tier.n_resting--;
	free(rest);
}

static struct rest *rest_new(struct brick_server *server, size_t n)
{
	struct rest *rest;

	if (!server->tier.is_on || !server->tier.thread.started)
		return NULL;
	/* Without memory it stays where it was in the order, or out of it. */
	rest = calloc(1, sizeof(*rest) + n * sizeof(rest->spans[0]));
	if (!rest)
		return NULL;
	rest->server = server;
	rest->n = n;
	rest->work.run = run_rest;
	rest->work.done = rested;
	return rest;
}

static void submit_rest(struct rest *rest)
{
	struct brick_tier *t = &rest->server->tier;

	t->n_resting++;
	brick_worker_submit(&t->thread, &rest->work);
}

void brick_tier_rest(struct brick_server *server,
		     const struct brick_handle *handles, size_t n)
{
	struct rest *rest = rest_new(server, n);

	if (!rest)
		return;
	for (size_t i = 0; i < n; i++)
		rest->spans[i] = handles[i].span;
	submit_rest(rest);
}

void brick_tier_rest_span(struct brick_server *server, struct brick_span span)
{
	struct rest *rest = rest_new(server, 1);

	if (!rest)
		return;
	rest->spans[0] = span;
	submit_rest(rest);
}
