// SPDX-License-Identifier: BSD-2-Clause
/* What has failed, for clients and administrators. */
#include "brickd/storage/storage_failure.h"

#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "brickd/base/counters.h"
#include "brickd/base/notify.h"
#include "brickd/storage/storage.h"

#define TIME_BYTES 32

/* NULL: it has not failed, which nobody asks for. */
static void say_failure(const struct brick_store_failure *f, const char *next,
			char *text)
{
	time_t at = f ? (time_t)f->time_s : 0;
	char when[TIME_BYTES];
	struct tm tm;

	(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ",
		       gmtime_r(&at, &tm));
	(void)snprintf(text, BRICK_FAILURE_BYTES,
		       "making it durable failed at %s: %s; %s", when,
		       f ? strerror(-f->error) : "?", next);
}

void brick_failure_text(const struct brick_storage *storage, char *text)
{
	const struct brick_store_failure *f =
		brick_store_failure(storage->store);

	say_failure(
		f,
		!f || f->is_marked
			? "mend what is below the store, then restart brickd: what "
			  "was not flushed before counts as lost"
			: "no mark of it could be written, neither in the runtime "
			  "directory nor on the medium: unmount its file system, "
			  "mend it and mount it again before brickd is restarted",
		text);
}

void brick_failure_slow_text(const struct brick_storage *storage, char *text)
{
	say_failure(
		brick_store_slow_failure(storage->store),
		"mend what is below it, then restart brickd: until then nothing is "
		"moved to it; no block is lost",
		text);
}

static void look_at_slow(struct brick_storage *storage)
{
	uint64_t n = brick_store_unzeroed(storage->store);
	char text[BRICK_FAILURE_BYTES];

	if (n != storage->slow_unzeroed) {
		brick_count_add(&storage->counters->tier_write_errors,
				n - storage->slow_unzeroed);
		storage->slow_unzeroed = n;
		brick_log_limited(&storage->slow_lines, LOG_ERR, NULL,
				  "slow tier %s: %llu freed slots cannot be "
				  "cleared: they are not used until the next "
				  "start",
				  storage->slow->path, (unsigned long long)n);
	}
	if (storage->slow_failed || !brick_store_slow_failure(storage->store))
		return;
	storage->slow_failed = true;
	brick_failure_slow_text(storage, text);
	brick_log(LOG_CRIT, NULL, "slow tier %s failed: %s",
		  storage->slow->path, text);
}

void brick_failure_look(struct brick_storage *storage)
{
	char text[BRICK_FAILURE_BYTES];

	look_at_slow(storage);
	if (storage->medium_failed || !brick_store_failure(storage->store))
		return;
	storage->medium_failed = true;
	storage->failed(storage);
	brick_failure_text(storage, text);
	brick_log(LOG_CRIT, NULL,
		  "%s: the medium failed: flushes and changes are refused, "
		  "reads go on; %s",
		  storage->media->path, text);
	brick_notify_status(BRICK_FAILED_STATUS);
}
