// SPDX-License-Identifier: BSD-2-Clause
/* What sessions read and write, held against their rates. */
#include "brickd/session/usage.h"

#include <stdio.h>

#include "brickd/base/clock.h"
#include "brickd/net/conn.h"
#include "brickd/net/net.h"
#include "proto/kfb_feature.h"
#include "proto/kfb_wire.h"

/*
 * What a session may have had in advance. A client has 100 ms: between that and this
 * lies all that a network holds back, and brings at once.
 */
#define BURST_MS 10000

/* 1/16 more than the rate, for what its clock is ahead and what a client does not count. */
#define SLACK_SHIFT 4

/*
 * A tick looks at so many sessions: at all that there may be within five minutes, which
 * is well before a bucket forgets how long it has been filling.
 */
#define LOOK_MAX 256

/* Whose requests come one behind the other is looked at so often, and not with each. */
#define LOOK_MIN_MS 100

/* The log has the name of a session once in so long; what it exceeds is counted on. */
#define NAME_MS 300000

#define WHAT_BYTES 80

/*
 * The rate that a session is measured against. A client that makes each of its writes
 * durable, as a disk does with FUA, reads a few bytes behind each, and counts none of
 * these reads; here they look like any, so that there may be twice as many operations.
 */
static struct kfb_rate tolerated_rate(const struct kfb_rate *rate)
{
	uint64_t bytes = rate->bytes_per_s + (rate->bytes_per_s >> SLACK_SHIFT);
	uint64_t n_ops = 2 * (uint64_t)rate->ops_per_s;

	n_ops += n_ops >> SLACK_SHIFT;
	return (struct kfb_rate){
		.bytes_per_s =
			bytes < KFB_RATE_BYTES_MAX ? bytes : KFB_RATE_BYTES_MAX,
		.ops_per_s = n_ops < UINT32_MAX ? (uint32_t)n_ops : UINT32_MAX,
	};
}

static void name_session(struct brick_session *s, uint64_t now_ms)
{
	unsigned long long bytes = s->rate.bytes_per_s;
	unsigned int n_ops = s->rate.ops_per_s;
	char what[WHAT_BYTES];

	if (now_ms < s->usage.named_until_ms)
		return;
	s->usage.named_until_ms = now_ms + NAME_MS;
	if (bytes && n_ops)
		(void)snprintf(what, sizeof(what),
			       "%llu bytes and %u operations", bytes, n_ops);
	else if (bytes)
		(void)snprintf(what, sizeof(what), "%llu bytes", bytes);
	else
		(void)snprintf(what, sizeof(what), "%u operations", n_ops);
	brick_log_limited(&s->all->net->lines[BRICK_LINES_RATES], LOG_WARNING,
			  s->who,
			  "it moves more than its rate, %s a second: its "
			  "software keeps to no rates, or is older than this "
			  "brick: update it, or evict the session",
			  what);
}

/* What a session has not been told yet it cannot keep to. */
static bool is_untold(const struct brick_session *s)
{
	return s->events.holds[KFB_EVENT_RATE] &&
	       (!s->events.sent[KFB_EVENT_RATE] || s->events.is_rate_old) &&
	       !(kfb_event_needs(KFB_EVENT_RATE) & ~s->features);
}

static void measure_session(struct brick_session *s,
			    const struct stcp_moved *sum, uint64_t now_ms)
{
	struct kfb_bucket *b = &s->usage.bucket;
	uint64_t looked_ms = b->filled_ms;
	const struct kfb_rate rate = b->rate;

	/*
	 * What has come since the last look has come in the time since then: that
	 * fills the bucket afterwards, however long it was.
	 */
	kfb_bucket_take(b, sum->read_bytes + sum->written_bytes, sum->n_ops);
	if (kfb_bucket_is_open(b, now_ms))
		return;
	kfb_bucket_init(b, &rate, BURST_MS, now_ms);
	/* Some of it may have been under way when its client was told. */
	if (looked_ms < s->usage.told_ms || is_untold(s))
		return;
	brick_count(&s->counters->rate_exceeded);
	brick_count(&s->all->counters->rate_exceeded);
	name_session(s, now_ms);
}

void brick_usage_look(struct brick_session *s)
{
	struct brick_client_counters *counters = s->counters;
	uint64_t now_ms = brick_now_ms();
	struct stcp_moved sum = { 0 };
	uint32_t n = s->n_conns;

	s->usage.looked_ms = now_ms;
	/* Without a client there is no handle, and nothing can have moved. */
	if (!counters)
		return;
	for (size_t i = 0; i < BRICK_QUEUES_MAX && n; i++) {
		if (!s->queues[i] || !s->queues[i]->conn)
			continue;
		n--;
		brick_conn_add_moved(s->queues[i]->conn, &sum);
	}
	if (sum.read_bytes || sum.written_bytes || sum.n_ops) {
		brick_count_add(&counters->read_bytes, sum.read_bytes);
		brick_count_add(&counters->written_bytes, sum.written_bytes);
		brick_count_add(&counters->data_ops, sum.n_ops);
	}
	if (kfb_rate_is_set(&s->rate))
		measure_session(s, &sum, now_ms);
}

void brick_usage_noted(struct brick_session *s)
{
	if (s->all->net->loop->now_ms - s->usage.looked_ms >= LOOK_MIN_MS)
		brick_usage_look(s);
}

void brick_usage_told(struct brick_session *s)
{
	s->usage.told_ms = brick_now_ms() + BURST_MS;
}

void brick_usage_tick(struct brick_sessions *all)
{
	struct brick_session *s, *last;
	uint32_t n = LOOK_MAX;

	last = TAILQ_LAST(&all->rated, brick_session_list);
	while (last && n--) {
		s = TAILQ_FIRST(&all->rated);
		TAILQ_REMOVE(&all->rated, s, rated_link);
		TAILQ_INSERT_TAIL(&all->rated, s, rated_link);
		brick_usage_look(s);
		if (s == last)
			break;
	}
}

static void change_rate(struct brick_session *s, const struct kfb_rate *rate)
{
	if (kfb_rate_is_set(&s->rate))
		TAILQ_REMOVE(&s->all->rated, s, rated_link);
	s->rate = *rate;
	if (kfb_rate_is_set(&s->rate))
		TAILQ_INSERT_TAIL(&s->all->rated, s, rated_link);
}

void brick_usage_begin(struct brick_session *s)
{
	const struct kfb_rate rate = tolerated_rate(&s->client->rate);

	change_rate(s, &s->client->rate);
	kfb_bucket_init(&s->usage.bucket, &rate, BURST_MS, brick_now_ms());
}

void brick_usage_end(struct brick_session *s)
{
	change_rate(s, &kfb_rate_none);
}

bool brick_usage_take_rate(struct brick_session *s)
{
	const struct kfb_rate rate = tolerated_rate(&s->client->rate);
	uint64_t now_ms = brick_now_ms();

	if (kfb_rate_equals(&s->rate, &s->client->rate))
		return false;
	brick_usage_look(s);
	change_rate(s, &s->client->rate);
	kfb_bucket_change(&s->usage.bucket, &rate, now_ms);
	s->usage.told_ms = now_ms + BURST_MS;
	return true;
}
