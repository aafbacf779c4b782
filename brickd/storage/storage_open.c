// SPDX-License-Identifier: BSD-2-Clause
/* Opening and closing: the medium, what lies below it, the tiers, the store. */
#include "brickd/storage/storage_open.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "brickd/base/log.h"
#include "brickd/base/loop.h"
#include "brickd/config/config.h"
#include "brickd/storage/sigbus.h"
#include "brickd/storage/storage.h"
#include "brickd/storage/storage_platform.h"

#define MIB_SHIFT 20

/* What is no file has nothing to find: it is formatted at each start. */
static int open_media(struct brick_storage *storage, char *err, size_t err_len)
{
	const struct brick_config *c = storage->config;
	struct brick_store_format format = { 0 };
	int rc;

	rc = brick_media_open(c->store, NULL, &storage->media, err, err_len);
	if (rc || !storage->media->medium->prefix)
		return rc;
	if (c->slow) {
		snprintf(err, err_len,
			 "slow = %s: a store in the daemon's own memory is "
			 "forgotten and cannot have a slow tier",
			 c->slow);
		rc = -EINVAL;
	} else {
		randombytes_buf(format.uuid, sizeof(format.uuid));
		rc = brick_store_format(storage->media, &format, err, err_len);
	}
	if (rc)
		brick_media_close(storage->media);
	return rc;
}

static void log_recovery(const struct brick_storage *storage)
{
	const struct brick_store_recovery *r =
		brick_store_recovery(storage->store);

	if (r->records_repaired || r->super_repaired || r->commit_repaired ||
	    r->instance_repaired || r->slow_repaired)
		brick_log(LOG_WARNING, NULL, "repaired: %llu records%s%s%s%s",
			  (unsigned long long)r->records_repaired,
			  r->super_repaired ? ", a superblock" : "",
			  r->commit_repaired ? ", a commit word" : "",
			  r->instance_repaired ? ", an instance page" : "",
			  r->slow_repaired ? ", a header of the slow tier"
					   : "");
	if (r->records_bad)
		brick_log(
			LOG_CRIT, NULL,
			"%llu slots are lost, and what they held: both copies "
			"of their records are damaged",
			(unsigned long long)r->records_bad);
	if (r->slots_given_up)
		brick_log(LOG_WARNING, NULL,
			  "%llu free slots have bad blocks and are given up",
			  (unsigned long long)r->slots_given_up);
	if (r->blocks_lost)
		brick_log(LOG_CRIT, NULL,
			  "the medium has lost %llu blocks to bad blocks; "
			  "brickctl list shows them as bad; free them, and "
			  "restore what they held from a copy",
			  (unsigned long long)r->blocks_lost);
	if (r->new_power_epoch)
		brick_log(LOG_NOTICE, NULL,
			  "new power epoch: %s: what was not flushed before "
			  "may be lost",
			  r->epoch_why);
}

static void close_slow(struct brick_storage *storage)
{
	if (storage->slow)
		brick_slow_close(storage->slow);
	storage->slow = NULL;
}

static void log_slow(const struct brick_storage *storage,
		     const struct brick_store_stats *stats)
{
	if (!storage->slow)
		return;
	brick_log(LOG_INFO, NULL, "%s is the slow tier, %llu MiB",
		  storage->slow->path,
		  (unsigned long long)stats->slow_total
			  << (KFB_BLOCK_SHIFT - MIB_SHIFT));
	if (storage->slow->sync_error)
		brick_log(LOG_WARNING, NULL,
			  "slow tier %s: what an earlier run wrote last could "
			  "not be made durable: %s; no block was in it",
			  storage->slow->path,
			  strerror(-storage->slow->sync_error));
}

int brick_storage_open(struct brick_storage *storage, char *err, size_t err_len)
{
	struct brick_store_open o = { 0 };
	struct brick_store_stats stats;
	int rc;

	storage->slow_lines.interval_ms = 10 * BRICK_TICK_MS;
	storage->slow_lines.burst = 20;
	storage->fault_lines = storage->slow_lines;
	while (!o.instance_id)
		randombytes_buf(&o.instance_id, sizeof(o.instance_id));
	if (storage->config->has_uuid)
		o.expect_uuid = storage->config->uuid;
	rc = brick_boot_id_read(o.boot_id);
	if (rc) {
		snprintf(err, err_len, "cannot read this host's boot id: %s",
			 strerror(-rc));
		return rc;
	}
	rc = open_media(storage, err, err_len);
	if (rc)
		return rc;
	brick_sigbus_watch(storage->media, NULL);
	rc = brick_storage_platform_read(storage);
	if (!rc)
		rc = brick_storage_platform_mend(storage, err, err_len);
	if (!rc && storage->config->slow)
		rc = brick_slow_open(storage->config->slow, NULL,
				     &storage->slow, err, err_len);
	if (rc)
		goto close_media;
	o.slow = storage->slow;
	o.bad = storage->platform.bad;
	o.n_bad = storage->platform.n_bad;
	o.dirty_shutdowns_known = storage->platform.dirty_shutdowns_known;
	o.dirty_shutdowns = storage->platform.dirty_shutdowns;
	rc = brick_store_open(storage->media, &o, &storage->store, err,
			      err_len);
	if (rc)
		goto close_slow;
	brick_store_stats(storage->store, &stats);
	storage->instance_id = stats.instance_id;
	storage->power_epoch = stats.power_epoch;
	memcpy(storage->uuid, stats.uuid, sizeof(storage->uuid));
	brick_sigbus_watch(storage->media, storage->store);
	brick_storage_platform_log(storage);
	log_slow(storage, &stats);
	log_recovery(storage);
	return 0;

close_slow:
	close_slow(storage);
close_media:
	brick_platform_fini(&storage->platform);
	brick_sigbus_watch(NULL, NULL);
	brick_media_close(storage->media);
	return rc;
}

int brick_storage_close(struct brick_storage *storage, bool is_clean)
{
	int rc;

	brick_sigbus_watch(storage->media, NULL);
	rc = brick_store_close(storage->store, is_clean);
	brick_platform_fini(&storage->platform);
	close_slow(storage);
	brick_sigbus_watch(NULL, NULL);
	brick_media_close(storage->media);
	return rc;
}
