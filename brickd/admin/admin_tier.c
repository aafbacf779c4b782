// SPDX-License-Identifier: BSD-2-Clause
/* The admin op "tier": shows both tiers, pins, and orders blocks to one. */
#include <errno.h>

#include "brickd/admin/admin_parts.h"
#include "brickd/admin/admin_put.h"
#include "brickd/admin/view.h"
#include "brickd/storage/storage_failure.h"
#include "brickd/tier/tier_pins.h"

static struct json_object *job_json(const struct brick_tier_job *job,
				    bool has_ended)
{
	struct json_object *object = json_object_new_object();

	brick_admin_put_span(object, job->span);
	brick_admin_put_count(object, "job", job->id);
	brick_admin_put_text(object, "do", job->to_slow ? "demote" : "promote");
	brick_admin_put_count(object, "seen", job->at - job->span.first);
	brick_admin_put_count(object, "moved", job->n_moved);
	brick_admin_put_count(object, "failed", job->n_failed);
	brick_admin_put_count(object, "skipped", job->n_skipped);
	json_object_object_add(object, "ended",
			       json_object_new_boolean(has_ended));
	if (has_ended)
		brick_admin_put_count(object, "errno", (uint64_t)-job->error);
	return object;
}

static void show_tier(const struct brick_view *view, struct json_object *reply)
{
	const struct brick_tier *t = view->tier;
	struct json_object *list = json_object_new_array(), *pin;
	const struct brick_counters *c = view->counters;
	const struct brick_tier_job *job;
	char failure[BRICK_FAILURE_BYTES];
	struct brick_store_stats s;
	uint64_t n_waiting = 0;

	if (view->storage->slow)
		brick_admin_put_text(reply, "slow", view->storage->slow->path);
	if (view->storage->slow_failed) {
		brick_failure_slow_text(view->storage, failure);
		brick_admin_put_text(reply, "slow_failure", failure);
	}
	brick_store_stats(view->storage->store, &s);
	brick_admin_put_count(reply, "fast_total", s.slots_total);
	brick_admin_put_count(reply, "fast_free",
			      s.slots_clean + s.slots_dirty);
	brick_admin_put_count(reply, "fast_allocated", s.slots_alloc);
	brick_admin_put_count(reply, "slow_total", s.slow_total);
	brick_admin_put_count(reply, "slow_free", s.slow_clean + s.slow_dirty);
	brick_admin_put_count(reply, "slow_allocated", s.slow_alloc);
	brick_admin_put_count(reply, "slow_bad", s.slow_bad);
	brick_admin_put_count(reply, "spare", s.slow_spare);
	brick_admin_put_count(reply, "low", t->low_slots);
	brick_admin_put_count(reply, "high", t->high_slots);
	brick_admin_put_count(reply, "promoted", c->tier_promoted);
	brick_admin_put_count(reply, "demoted", c->tier_demoted);
	brick_admin_put_count(reply, "read_errors", c->tier_read_errors);
	brick_admin_put_count(reply, "write_errors", c->tier_write_errors);
	TAILQ_FOREACH(job, &t->waiting, link)
	n_waiting++;
	brick_admin_put_count(reply, "maps_waiting", n_waiting);
	for (uint32_t i = 0; i < t->n_pins; i++) {
		pin = json_object_new_object();
		brick_admin_put_span(pin, t->pins[i]);
		json_object_array_add(list, pin);
	}
	json_object_object_add(reply, "pins", list);
	list = json_object_new_array();
	TAILQ_FOREACH(job, &t->orders, link)
	json_object_array_add(list, job_json(job, false));
	json_object_object_add(reply, "jobs", list);
}

static int show_job(const struct brick_view *view, uint64_t id,
		    struct json_object *reply, const char **why)
{
	bool has_ended;
	const struct brick_tier_job *job =
		brick_tier_find_order(view->tier, id, &has_ended);

	if (!job) {
		*why = "there is no such job, or it is forgotten";
		return -ENOENT;
	}
	json_object_object_add(reply, "progress", job_json(job, has_ended));
	return 0;
}

static int order_move(struct brick_view *view,
		      const struct brick_admin_request *r, bool to_slow,
		      struct json_object *reply, const char **why)
{
	uint64_t id = 0;
	int rc = brick_tier_order(view->tier, NULL,
				  brick_span_of(r->va, r->n_blocks), to_slow,
				  false, &id);

	if (rc == -EOPNOTSUPP)
		*why = "this brick has no slow tier";
	else if (rc == -EUSERS)
		*why = "too many jobs are waiting";
	else if (rc)
		*why = "out of memory";
	else
		brick_admin_put_count(reply, "job", id);
	return rc;
}

int brick_admin_tier(struct brick_view *view,
		     const struct brick_admin_request *r,
		     struct json_object *reply, const char **why)
{
	struct brick_span span = brick_span_of(r->va, r->n_blocks);
	int rc = 0;

	switch (r->tier) {
	case BRICK_ADMIN_TIER_SHOW:
		show_tier(view, reply);
		return 0;
	case BRICK_ADMIN_TIER_JOB:
		return show_job(view, r->job, reply, why);
	case BRICK_ADMIN_TIER_CANCEL:
		rc = brick_tier_cancel(view->tier, r->job);
		if (rc)
			*why = "there is no such job";
		return rc;
	case BRICK_ADMIN_TIER_DEMOTE:
	case BRICK_ADMIN_TIER_PROMOTE:
		return order_move(view, r, r->tier == BRICK_ADMIN_TIER_DEMOTE,
				  reply, why);
	case BRICK_ADMIN_TIER_PIN:
		rc = brick_tier_pin(view->tier, span);
		break;
	case BRICK_ADMIN_TIER_UNPIN:
		rc = brick_tier_unpin(view->tier, span);
		/*
		 * Whoever is pinned no more may be demoted: back into the order
		 * of rest.
		 */
		if (!rc)
			brick_tier_rest_span(view->tier, span);
		break;
	case BRICK_ADMIN_TIER_WHATS:
		return -EOPNOTSUPP;
	}
	if (rc)
		*why = "too many separate ranges are pinned";
	return rc;
}
