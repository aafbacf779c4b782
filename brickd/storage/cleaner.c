// SPDX-License-Identifier: BSD-2-Clause
/* The cleaner: freed slots are zeroed, what an instance left is flushed. */
#include "brickd/storage/cleaner.h"

#include "brickd/base/clock.h"
#include "brickd/base/counters.h"
#include "brickd/base/log.h"
#include "brickd/base/util.h"
#include "brickd/storage/storage.h"
#include "brickd/storage/storage_failure.h"

/*
 * Zeroed, or written back, before others get a turn: an ALLOC that has no other
 * slots waits for them. Where it takes no sync, one is zeroed at a time.
 */
#define CLEAN_SLOTS 16

static void clean_slots(struct brick_work *work)
{
	struct brick_storage *storage =
		brick_container_of(work, struct brick_storage, cleaning);

	unsigned int n_fast =
		storage->media->granularity == BRICK_GRANULARITY_PAGE
			? CLEAN_SLOTS
			: 1;
	int n;

	while (!brick_worker_is_stopping(&storage->cleaner)) {
		n = brick_store_clean_one(storage->store, n_fast);
		if (n > 0)
			brick_count_add(&storage->counters->slots_cleaned,
					(uint64_t)n);
		if (!n)
			n = brick_store_clean_slow(storage->store, CLEAN_SLOTS);
		/* A slow tier that has failed keeps nobody from the rest. */
		if (!n || brick_store_slow_failure(storage->store))
			n = brick_store_flush_inherited(storage->store,
							CLEAN_SLOTS);
		if (n <= 0)
			break;
	}
}

static void clean_done(struct brick_work *work)
{
	struct brick_storage *storage =
		brick_container_of(work, struct brick_storage, cleaning);

	storage->cleaning_queued = false;
	brick_failure_look(storage);
	if (storage->cleaning_again)
		brick_cleaner_kick(storage);
}

void brick_cleaner_kick(struct brick_storage *storage)
{
	storage->cleaning_again = storage->cleaning_queued;
	if (storage->cleaning_queued || !storage->cleaner.started)
		return;
	storage->cleaning_queued = true;
	storage->cleaning.run = clean_slots;
	storage->cleaning.done = clean_done;
	brick_worker_submit(&storage->cleaner, &storage->cleaning);
}

/* What the cleaner has not got to. It takes as long as the stop may take. */
bool brick_cleaner_finish(struct brick_storage *storage, uint64_t deadline_ms)
{
	while (brick_now_ms() < deadline_ms &&
	       brick_store_flush_inherited(storage->store, CLEAN_SLOTS) > 0)
		;
	if (!brick_store_has_inherited(storage->store))
		return true;
	brick_log(LOG_NOTICE, NULL,
		  "stopped before all was flushed that an instance left that "
		  "was killed: if the host loses its power now, clients are "
		  "told that it is lost");
	return false;
}
