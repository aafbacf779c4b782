// SPDX-License-Identifier: BSD-2-Clause
/*
 * The policy of tiering: which step comes next.
 *
 * MAPs that wait come first, in turns of their clients (tier_turns.h), one at a
 * time: two that together want more slots than there are cannot take them from
 * each other. Now and then comes an order; when nobody waits, the background keeps
 * some slots free so that neither ALLOC nor MAP has to wait for a demotion.
 */
#include "brickd/tier/tier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/base/clock.h"
#include "brickd/base/stop.h"
#include "brickd/base/util.h"
#include "brickd/config/config.h"
#include "brickd/mapping/mapping.h"
#include "brickd/storage/storage.h"
#include "brickd/tier/tier_ask.h"
#include "brickd/tier/tier_pins.h"
#include "brickd/tier/tier_reserve.h"
#include "brickd/tier/tier_step.h"
#include "brickd/tier/tier_turns.h"
#include "brickd/tier/tier_victims.h"
#include "proto/kfb_time.h"

#define PERCENT	     100
#define MS_PER_S     1000
#define LOOK_BUSY_MS 5 /* until blocks are tried again that others hold */
#define ASKED_MS \
	10 /* until mappings are looked for again that clients were asked for */
#define MAP_STEPS   3 /* for MAPs, before one for an order that waits */
#define MISSES_MAX  8 /* steps in a row that move nothing */
#define TROUBLE_MS  1000 /* after one failure; doubled with each more */
#define TROUBLE_MAX 7 /* failures: 64 s */

enum outcome {
	BEGUN,
	WAITS,
	ENDED,
};

static enum outcome end_job(struct brick_tier *tier, struct brick_tier_job *job,
			    int error)
{
	job->error = error;
	if (!job->id) {
		TAILQ_REMOVE(&tier->waiting, job, link);
		brick_tier_turns_end(tier, &tier->waiting, job->whose);
		brick_tier_reserve(tier, job);
		job->done(job);
		return ENDED;
	}
	TAILQ_REMOVE(&tier->orders, job, link);
	brick_tier_turns_end(tier, &tier->orders, job->whose);
	if (job->whose) {
		tier->n_asked--;
	} else {
		tier->n_orders--;
		tier->ended[tier->n_ended++ % BRICK_TIER_ENDED_MAX] = *job;
	}
	free(job);
	return ENDED;
}

static enum outcome background_wait_ms(struct brick_tier *tier, uint64_t ms)
{
	uint64_t again_ms = brick_now_ms() + ms;

	if (again_ms < tier->again_ms)
		tier->again_ms = again_ms;
	return WAITS;
}

static enum outcome begin_step(struct brick_tier *tier,
			       struct brick_tier_job *job, const uint64_t *va,
			       unsigned int n, bool to_slow)
{
	tier->n_map_steps = job->id ? 0 : tier->n_map_steps + 1;
	brick_tier_step_begin(tier, job, va, n, to_slow);
	return BEGUN;
}

static unsigned int at_most_blocks(unsigned int n, uint64_t limit)
{
	return n < limit ? n : (unsigned int)limit;
}

static unsigned int step_max(const struct brick_tier *tier)
{
	return at_most_blocks(BRICK_TIER_STEP_MAX,
			      brick_move_max(tier->storage->store));
}

/* Have up to n slots freed for a job that cannot go on without. */
static enum outcome make_room(struct brick_tier *tier,
			      struct brick_tier_job *job, unsigned int n)
{
	uint64_t va[BRICK_TIER_STEP_MAX];
	enum brick_tier_excuse excuse;
	struct brick_store_stats stats;
	unsigned int n_victims;

	job->is_short = false;
	brick_store_stats(tier->storage->store, &stats);
	/* No room can be made, and what others give back would stay as well. */
	if (stats.slow_has_failed)
		return end_job(tier, job, -ENOSPC);
	if (!stats.slow_ready && stats.slow_cleaning)
		return background_wait_ms(tier, LOOK_BUSY_MS);
	n_victims = brick_tier_victims(tier, va, n, job, &excuse);
	if (n_victims) {
		job->n_looked = 0;
		return begin_step(tier, job, va, n_victims, true);
	}
	job->n_looked += BRICK_TIER_LOOK_MAX;
	if (excuse == BRICK_TIER_LOOK_ON && job->n_looked < stats.slots_total)
		return background_wait_ms(tier, 0);
	if (excuse == BRICK_TIER_WAIT)
		return background_wait_ms(tier, LOOK_BUSY_MS);
	/*
	 * All that could make room is mapped or pinned; but what was just
	 * unmapped is not in the list of rest yet.
	 */
	if (tier->n_resting)
		return background_wait_ms(tier, LOOK_BUSY_MS);
	if (!job->may_ask || !brick_recall_ask(tier, n, job->session) ||
	    job->id)
		return end_job(tier, job, -ENOSPC);
	job->is_short = true;
	return background_wait_ms(tier, ASKED_MS);
}

static enum outcome move_some(struct brick_tier *tier,
			      struct brick_tier_job *job, uint64_t *va,
			      unsigned int n)
{
	struct brick_store_stats stats;
	unsigned int i, n_looked;

	brick_store_stats(tier->storage->store, &stats);
	if (job->to_slow && stats.slow_has_failed)
		return end_job(tier, job, -EIO);
	if (job->to_slow ? !stats.slow_ready && stats.slow_cleaning
			 : !stats.slots_ready && stats.slots_cleaning)
		return background_wait_ms(tier, LOOK_BUSY_MS);
	if (!job->to_slow && !stats.slots_ready)
		return make_room(tier, job, n);
	n = at_most_blocks(n,
			   job->to_slow ? stats.slow_ready : stats.slots_ready);
	if (!n)
		return end_job(tier, job, -ENOSPC);
	if (!job->is_locked) {
		/*
		 * What is in use is left out; an order goes on behind all that
		 * it has seen.
		 */
		job->at = (va[n - 1] >> KFB_BLOCK_SHIFT) + 1;
		n_looked = n;
		n = 0;
		for (i = 0; i < n_looked; i++) {
			if (brick_tier_is_movable(tier, va[i], job->to_slow))
				va[n++] = va[i];
			else
				job->n_skipped++;
		}
	}
	if (!n)
		return background_wait_ms(tier, 0);
	return begin_step(tier, job, va, n, job->to_slow);
}

static enum outcome advance_job(struct brick_tier *tier,
				struct brick_tier_job *job)
{
	uint64_t va[BRICK_TIER_STEP_MAX], at = job->at;
	unsigned int n;

	if (job->is_locked && job->n_failed)
		return end_job(tier, job, -EIO);
	if (job->n_misses > MISSES_MAX)
		return end_job(tier, job,
			       tier->n_troubles || job->n_failed ? -EIO
								 : -EAGAIN);
	n = brick_store_find(tier->storage->store, &at, job->span.end,
			     !job->to_slow, va, step_max(tier));
	if (!n && at >= job->span.end)
		return end_job(tier, job, 0);
	if (brick_now_ms() >= job->until_ms ||
	    (job->is_unwanted && job->is_unwanted(job)))
		return end_job(tier, job, job->is_short ? -ENOSPC : -EAGAIN);
	/* All before is where it is to be, and locked. */
	if (n && job->is_locked)
		job->at = va[0] >> KFB_BLOCK_SHIFT;
	if (n)
		return move_some(tier, job, va, n);
	job->at = at;
	return background_wait_ms(tier, 0);
}

static void run_background(struct brick_tier *tier)
{
	uint64_t va[BRICK_TIER_STEP_MAX], now_ms = brick_now_ms();
	enum brick_tier_excuse excuse;
	struct brick_store_stats stats;
	uint64_t n_free, rate = tier->config->limits.tier_rate_bytes;
	unsigned int n;

	brick_store_stats(tier->storage->store, &stats);
	n_free = stats.slots_ready + stats.slots_cleaning;
	if (n_free < tier->low_slots)
		tier->is_demoting = true;
	if (n_free >= tier->high_slots)
		tier->is_demoting = false;
	if (!tier->is_demoting || !stats.slow_ready ||
	    now_ms < tier->trouble_ms)
		return;
	if (now_ms < tier->rate_ms) {
		tier->again_ms = tier->rate_ms;
		return;
	}
	n = at_most_blocks(step_max(tier), tier->high_slots - n_free);
	n = brick_tier_victims(tier, va, at_most_blocks(n, stats.slow_ready),
			       NULL, &excuse);
	if (!n)
		return; /* the next tick looks again */
	tier->rate_ms = now_ms;
	if (rate)
		tier->rate_ms +=
			((uint64_t)n << KFB_BLOCK_SHIFT) * MS_PER_S / rate;
	brick_tier_step_begin(tier, NULL, va, n, true);
}

/* Until a step has begun or one of them waits: ENDED, there are no more. */
static enum outcome advance_jobs(struct brick_tier *tier,
				 const struct brick_tier_jobs *jobs)
{
	struct brick_tier_job *job;

	while (!tier->step.is_busy && (job = brick_tier_turns_next(jobs))) {
		if (tier->stop->is_stopping)
			(void)end_job(tier, job, -ESHUTDOWN);
		else if (advance_job(tier, job) == WAITS)
			return WAITS;
	}
	return tier->step.is_busy ? BEGUN : ENDED;
}

void brick_tier_run(struct brick_tier *tier)
{
	bool orders_first = tier->n_map_steps >= MAP_STEPS;
	enum outcome first, second;
	struct brick_tier_job *job;
	uint64_t now_ms;

	if (!tier->is_on || tier->step.is_busy)
		return;
	now_ms = brick_now_ms();
	/*
	 * MAPs whose time is over, or that nobody waits for, do not wait for their
	 * turn.
	 */
	do {
		TAILQ_FOREACH(job, &tier->waiting, link)
		if (now_ms >= job->until_ms ||
		    (job->is_unwanted && job->is_unwanted(job)))
			break;
	} while (job && !tier->step.is_busy && advance_job(tier, job) == ENDED);
	tier->again_ms = KFB_TIME_NEVER;
	first = advance_jobs(tier,
			     orders_first ? &tier->orders : &tier->waiting);
	if (first == BEGUN)
		return;
	second = advance_jobs(tier,
			      orders_first ? &tier->waiting : &tier->orders);
	if (first == ENDED && second == ENDED && !tier->stop->is_stopping)
		run_background(tier);
}

static void step_done(struct brick_tier *tier)
{
	unsigned int n = at_most_blocks(TROUBLE_MAX, tier->n_troubles);

	if (n)
		tier->trouble_ms = brick_now_ms() + (TROUBLE_MS << (n - 1));
	brick_tier_run(tier);
}

static uint64_t share_of(uint64_t slots, uint64_t percent)
{
	return (slots * percent + PERCENT - 1) / PERCENT;
}

void brick_tier_init(struct brick_tier *tier)
{
	const struct brick_limits *limits = &tier->config->limits;
	struct brick_store_stats stats;

	TAILQ_INIT(&tier->waiting);
	TAILQ_INIT(&tier->orders);
	tier->again_ms = KFB_TIME_NEVER;
	tier->step.stepped = step_done;
	brick_store_stats(tier->storage->store, &stats);
	tier->is_on = stats.slow_total;
	tier->low_slots = share_of(stats.slots_total, limits->tier_low_percent);
	tier->high_slots =
		share_of(stats.slots_total, limits->tier_high_percent);
	if (tier->high_slots <= tier->low_slots)
		tier->high_slots = tier->low_slots + 1;
	/* Whoever wrote before a stop that was not clean may come back. */
	if (!brick_store_recovery(tier->storage->store)->was_clean)
		tier->trouble_ms = brick_now_ms() + limits->lease_ms;
	for (uint32_t i = 0; i < tier->config->n_pins; i++)
		(void)brick_tier_pin(tier, tier->config->pins[i]);
}

uint64_t brick_tier_next_ms(const struct brick_tier *tier)
{
	return tier->step.is_busy ? KFB_TIME_NEVER : tier->again_ms;
}

bool brick_tier_is_idle(const struct brick_tier *tier)
{
	return !tier->step.is_busy;
}

/* ---- jobs ---- */

void brick_tier_promote(struct brick_tier *tier, struct brick_tier_job *job)
{
	uint64_t wait_ms = tier->config->limits.promote_wait_ms;
	struct brick_store_stats stats;

	brick_store_stats(tier->storage->store, &stats);
	job->is_locked = true;
	job->may_ask = true;
	job->at = job->span.first;
	/* Who is to wait no time at all has one step even so, and then another. */
	job->until_ms = brick_now_ms() + (wait_ms ? wait_ms : 1);
	brick_tier_turns_add(tier, &tier->waiting, job);
	brick_tier_resume_reserved(tier, job);
	/* No waiting and no asking makes memory larger. */
	if (job->span.end - job->span.first >
	    stats.slots_total - stats.slots_bad)
		(void)end_job(tier, job, -ENOSPC);
	else
		brick_tier_run(tier);
}

/* Does a client, do all of them, have as many orders as they may? */
static bool has_too_many(const struct brick_tier *tier, const void *whose)
{
	const struct brick_tier_job *job;
	unsigned int n = 0;

	if (!whose)
		return tier->n_orders == BRICK_TIER_ORDERS_MAX;
	TAILQ_FOREACH(job, &tier->orders, link)
	n += job->whose == whose;
	return n == BRICK_TIER_ASKED_EACH ||
	       tier->n_asked == BRICK_TIER_ASKED_MAX;
}

int brick_tier_order(struct brick_tier *tier, const void *whose,
		     struct brick_span span, bool to_slow, bool may_ask,
		     uint64_t *id)
{
	struct brick_tier_job *job;

	if (!tier->is_on)
		return -EOPNOTSUPP;
	if (has_too_many(tier, whose))
		return -EUSERS;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->span = span;
	job->at = span.first;
	job->to_slow = to_slow;
	job->may_ask = may_ask;
	job->until_ms = KFB_TIME_NEVER;
	job->whose = whose;
	job->id = ++tier->last_order;
	*id = job->id;
	if (whose)
		tier->n_asked++;
	else
		tier->n_orders++;
	brick_tier_turns_add(tier, &tier->orders, job);
	brick_tier_run(tier);
	return 0;
}

const struct brick_tier_job *
brick_tier_find_order(const struct brick_tier *tier, uint64_t id,
		      bool *has_ended)
{
	const struct brick_tier_job *job;

	*has_ended = false;
	TAILQ_FOREACH(job, &tier->orders, link)
	if (job->id == id)
		return job;
	*has_ended = true;
	for (size_t i = 0; id && i < BRICK_TIER_ENDED_MAX; i++)
		if (tier->ended[i].id == id)
			return &tier->ended[i];
	return NULL;
}

int brick_tier_cancel(struct brick_tier *tier, uint64_t id)
{
	struct brick_tier_job *job;

	TAILQ_FOREACH(job, &tier->orders, link)
	{
		if (job->id != id)
			continue;
		job->until_ms = 0;
		brick_tier_run(tier);
		return 0;
	}
	return -ENOENT;
}

/* ---- blocks that come to rest ---- */

struct rest {
	struct brick_work work;
	struct brick_tier *tier;
	size_t n;
	struct brick_span spans[];
};

static void run_rest(struct brick_work *work)
{
	struct rest *rest = brick_container_of(work, struct rest, work);

	for (size_t i = 0; i < rest->n; i++)
		brick_store_rest(rest->tier->storage->store,
				 rest->spans[i].first << KFB_BLOCK_SHIFT,
				 rest->spans[i].end - rest->spans[i].first);
}

static void rest_over(struct brick_work *work)
{
	struct rest *rest = brick_container_of(work, struct rest, work);

	rest->tier->n_resting--;
	free(rest);
}

static struct rest *rest_new(struct brick_tier *tier, size_t n)
{
	struct rest *rest;

	if (!tier->is_on || !tier->thread.started)
		return NULL;
	/* Without memory it stays where it was in the order, or out of it. */
	rest = calloc(1, sizeof(*rest) + n * sizeof(rest->spans[0]));
	if (!rest)
		return NULL;
	rest->tier = tier;
	rest->n = n;
	rest->work.run = run_rest;
	rest->work.done = rest_over;
	return rest;
}

static void submit_rest(struct rest *rest)
{
	struct brick_tier *tier = rest->tier;

	tier->n_resting++;
	brick_worker_submit(&tier->thread, &rest->work);
}

void brick_tier_rest(struct brick_tier *tier,
		     const struct brick_handle *handles, size_t n)
{
	struct rest *rest = rest_new(tier, n);

	if (!rest)
		return;
	for (size_t i = 0; i < n; i++)
		rest->spans[i] = handles[i].span;
	submit_rest(rest);
}

void brick_tier_rest_span(struct brick_tier *tier, struct brick_span span)
{
	struct rest *rest = rest_new(tier, 1);

	if (!rest)
		return;
	rest->spans[0] = span;
	submit_rest(rest);
}
