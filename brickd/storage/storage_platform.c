// SPDX-License-Identifier: BSD-2-Clause
/* The daemon and its platform: see storage_platform.h. */
#include "brickd/storage/storage_platform.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "brickd/config/config.h"
#include "brickd/storage/storage.h"
#include "brickd/store/recovery/poison.h"
#include "proto/kfb_medium.h"

int brick_storage_platform_read(struct brick_storage *storage)
{
	struct brick_media *media = storage->media;
	int rc = brick_platform_read(media, &storage->platform);

	if (rc)
		return rc;
	storage->facts = (struct brick_facts){
		.medium = media->medium,
		.granularity = media->granularity,
		.backing = storage->platform.backing,
		.domain = storage->platform.domain,
		.persistence = storage->config->persistence,
		.ddio = storage->config->ddio,
	};
	storage->flush_mode = KFB_FLUSH_MESSAGE;
	media->is_volatile = brick_medium_is_volatile(&storage->facts);
	if (media->is_volatile)
		storage->flush_mode = KFB_FLUSH_NONE;
	return 0;
}

/* Clear what of one piece is in the tables, as far as they are known. */
static int mend_piece(const struct brick_storage *storage,
		      const struct brick_super *sb, struct brick_bytes bytes,
		      char *err, size_t err_len)
{
	uint64_t end = bytes.off + bytes.len;
	struct brick_bytes part;
	int rc;

	while (brick_poison_in_tables(sb, bytes, &part)) {
		rc = brick_platform_clear(storage->media, part);
		if (rc) {
			snprintf(
				err, err_len,
				"%s: the store's tables have bad blocks at "
				"0x%llx+%llu, and clearing them failed (%s); "
				"run: ndctl clear-errors NAMESPACE, then start "
				"again: the other copy has what they held",
				storage->media->path,
				(unsigned long long)part.off,
				(unsigned long long)part.len, strerror(-rc));
			return -EIO;
		}
		brick_log(LOG_WARNING, NULL,
			  "%s: cleared bad blocks in the store's tables at "
			  "0x%llx+%llu",
			  storage->media->path, (unsigned long long)part.off,
			  (unsigned long long)part.len);
		bytes.off = part.off + part.len;
		bytes.len = end - bytes.off;
	}
	return 0;
}

static int mend_all(const struct brick_storage *storage,
		    const struct brick_super *sb, char *err, size_t err_len)
{
	const struct brick_platform *p = &storage->platform;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < p->n_bad; i++)
		rc = mend_piece(storage, sb, p->bad[i], err, err_len);
	return rc;
}

int brick_storage_platform_mend(const struct brick_storage *storage, char *err,
				size_t err_len)
{
	struct brick_super sb;
	bool damaged;
	int rc;

	if (!storage->platform.n_bad)
		return 0;
	/* First where the superblock is; it tells where the rest is. */
	rc = mend_all(storage, NULL, err, err_len);
	if (rc)
		return rc;
	if (brick_super_read(storage->media, &sb, &damaged, err, err_len))
		return 0; /* brick_store_open() says why */
	return mend_all(storage, &sb, err, err_len);
}

static void log_medium(const struct brick_storage *storage)
{
	static const char *const means[] = {
		[BRICK_GRANULARITY_BYTE] = "SFENCE, CPU caches are persistent",
		[BRICK_GRANULARITY_CACHE_LINE] = "CLWB and SFENCE",
		[BRICK_GRANULARITY_PAGE] = "fdatasync",
	};
	const struct brick_platform *p = &storage->platform;
	const char *how = means[storage->facts.granularity];

	if (storage->flush_mode == KFB_FLUSH_NONE)
		how = "nothing";
	else if (brick_medium_is_never_flushed(&storage->facts))
		how = "SFENCE alone";
	brick_log(LOG_INFO, NULL, "%s is %s%s%s, flushed by %s",
		  storage->media->path,
		  kfb_medium_text(brick_medium_label(&storage->facts)),
		  *p->region ? " in " : "", p->region, how);
}

/* What the administrator may believe and must not. */
static void log_doubts(const struct brick_storage *storage)
{
	const struct brick_facts *f = &storage->facts;
	const char *path = storage->media->path;
	bool is_auto = f->persistence == BRICK_PERSISTENCE_AUTO;

	if (f->persistence == BRICK_PERSISTENCE_ASSUME_READBACK)
		brick_log(LOG_WARNING, NULL,
			  "UNSAFE: persistence = assume-readback: clients are "
			  "told that reading back makes writes durable, "
			  "whether it does or not; for tests only");
	if (brick_medium_is_never_flushed(f) && !brick_medium_is_volatile(f))
		brick_log(LOG_WARNING, NULL,
			  "UNSAFE: %s: libpmem2 flushes no CPU cache, because "
			  "the machine's regions say that its caches survive "
			  "a loss of power; of this memory nobody says so: "
			  "keep the store in one of these regions",
			  path);
	if (f->backing == BRICK_BACKING_MEMORY && is_auto)
		brick_log(LOG_WARNING, NULL,
			  "%s is memory that the platform does not call "
			  "persistent: it is served as volatile; if a battery "
			  "keeps it, say persistence = battery",
			  path);
	if (f->backing != BRICK_BACKING_OTHER &&
	    f->backing != BRICK_BACKING_MEMORY &&
	    f->domain == BRICK_DOMAIN_UNKNOWN && is_auto)
		brick_log(LOG_WARNING, NULL,
			  "UNSAFE: %s does not say what of it survives a loss "
			  "of power; see ndctl list -RN and the firmware's "
			  "settings; if a battery keeps it, say persistence = "
			  "battery",
			  storage->platform.region);
}

static void log_modules(const struct brick_platform *p)
{
	if (p->health == BRICK_HEALTH_FAILING)
		brick_log(LOG_CRIT, NULL,
			  "%s: a module is failing; copy the data away and "
			  "replace it: ndctl list -DH names it",
			  p->region);
	else if (p->health == BRICK_HEALTH_WORN)
		brick_log(LOG_WARNING, NULL,
			  "%s: a module asks for maintenance; ndctl list -DH "
			  "names it",
			  p->region);
	if (*p->region && !p->bad_known)
		brick_log(LOG_NOTICE, NULL,
			  "%s: bad blocks cannot be asked for: they show when "
			  "they are read",
			  p->region);
}

void brick_storage_platform_log(const struct brick_storage *storage)
{
	log_medium(storage);
	log_doubts(storage);
	log_modules(&storage->platform);
}
