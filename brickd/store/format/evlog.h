/* SPDX-License-Identifier: BSD-2-Clause */
/* The event log: what was damaged, kept with the store itself. */
#ifndef BRICKD_STORE_EVLOG_H
#define BRICKD_STORE_EVLOG_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/media/media.h"
#include "brickd/store/format/super.h"

/* The values are on the media: never change them. */
enum brick_event_kind {
	BRICK_EVENT_BAD_SLOT = 1, /* given up: bad, or without a record */
	BRICK_EVENT_RECORD_REPAIRED = 2, /* one copy was */
	BRICK_EVENT_SUPER_REPAIRED = 3,
	BRICK_EVENT_COMMIT_REPAIRED = 4,
	BRICK_EVENT_INSTANCE_REPAIRED = 5,
	BRICK_EVENT_NEW_POWER_EPOCH = 6, /* detail: the new epoch */
	BRICK_EVENT_SLOW_REPAIRED = 7, /* a header of the slow tier was */
	BRICK_EVENT_WRITES_LOST = 8, /* a sync had failed before this start */
};

struct brick_event {
	uint64_t seq;
	uint64_t time_ns;
	uint32_t kind; /* enum brick_event_kind, or a newer one */
	uint32_t copy;
	uint64_t slot;
	uint64_t va;
	uint64_t detail;
};

/* The newest entry's number, 0 for none. */
uint64_t brick_evlog_last(const struct brick_media *m,
			  const struct brick_super *sb);

/* Read one entry; false if it was overwritten, damaged or never written. */
bool brick_evlog_get(const struct brick_media *m, const struct brick_super *sb,
		     uint64_t seq, struct brick_event *event);

/* Whether entry number index of the ring is empty or intact. */
bool brick_evlog_is_whole(const struct brick_media *m,
			  const struct brick_super *sb, unsigned int index);

/* Make an entry empty; the caller drains. */
void brick_evlog_erase(struct brick_media *m, unsigned int index);

/**
 * brick_evlog_put - store an entry over the oldest one; the caller drains
 * @m: the medium
 * @sb: its superblock
 * @event: what; seq and time_ns are set by the caller
 *
 * Context: one thread.
 */
void brick_evlog_put(struct brick_media *m, const struct brick_super *sb,
		     const struct brick_event *event);

#endif
