// SPDX-License-Identifier: BSD-2-Clause
/* What opening a store has found: counted, and kept in its event log. */
#include <time.h>

#include "brickd/store/format/evlog.h"
#include "brickd/store/store_impl.h"

#define NS_PER_S 1000000000ULL
/* A start over much damage logs the first of it; all of it is counted. */
#define NOTES_MAX 128U

static void count_note(struct brick_store_recovery *r, uint32_t kind)
{
	switch (kind) {
	case BRICK_EVENT_RECORD_REPAIRED:
		r->records_repaired++;
		break;
	case BRICK_EVENT_SUPER_REPAIRED:
		r->super_repaired = true;
		break;
	case BRICK_EVENT_COMMIT_REPAIRED:
		r->commit_repaired = true;
		break;
	case BRICK_EVENT_INSTANCE_REPAIRED:
		r->instance_repaired = true;
		break;
	case BRICK_EVENT_SLOW_REPAIRED:
		r->slow_repaired = true;
		break;
	case BRICK_EVENT_NEW_POWER_EPOCH:
		r->new_power_epoch = true;
		break;
	default:
		break;
	}
}

void brick_store_note(struct brick_store *s, uint32_t kind, uint32_t copy,
		      uint64_t slot, uint64_t detail)
{
	struct brick_event event = {
		.kind = kind,
		.copy = copy,
		.slot = slot,
		.detail = detail,
	};
	struct timespec now;

	count_note(&s->recovery, kind);
	if (s->n_notes++ == 0)
		s->last_event = brick_evlog_last(s->m, &s->sb);
	if (s->n_notes > NOTES_MAX)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	event.time_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	event.seq = ++s->last_event;
	brick_evlog_put(s->m, &s->sb, &event);
}

const struct brick_store_recovery *
brick_store_recovery(const struct brick_store *s)
{
	return &s->recovery;
}
