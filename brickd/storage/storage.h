/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The open store, the tiers it lies on, and the threads that work on it.
 *
 * The store itself is a library without threads. This is the daemon's part:
 *
 *	storage_open.c	opening and closing
 *	storage_platform.c  what lies below, what is promised of it
 *	changes.c	the store thread: a share of each client's changes in one commit
 *	flush.c		the flush thread: each session's flushes in turn
 *	cleaner.c	the cleaner's thread
 *	storage_failure.c  what has failed, once
 *
 * Context: the loop thread; workers see the store, the medium and the work they
 * are given. docs/threads.md has the rules.
 */
#ifndef BRICKD_STORAGE_STORAGE_H
#define BRICKD_STORAGE_STORAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/base/log.h"
#include "brickd/base/work.h"
#include "brickd/media/media.h"
#include "brickd/platform/durability.h"
#include "brickd/platform/platform.h"
#include "brickd/store/store.h"

struct brick_config;
struct brick_counters;

/*
 * struct brick_storage - what is served
 * @slow: the slow tier, NULL: none
 * @platform: below the medium, as it was at the start
 * @facts: that decide what is promised; constant after the start
 * @flush_mode: what FLUSH can do: KFB_FLUSH_MESSAGE or KFB_FLUSH_NONE
 * @medium_failed: the store has failed, and that was said
 * @slow_failed: the slow tier has failed, and that was said
 * @slow_unzeroed: slots that cannot be zeroed, as they were told last
 * @has_unflushed: lines that were mapped for writing could not be flushed for
 *	want of memory: no stop is a clean one
 * @slow_lines: bound on log lines about the slow tier
 * @fault_lines: bound on those about pages that clients could not have
 * @failed: told when the medium has failed, once, in the loop thread
 */
struct brick_storage {
	const struct brick_config *config;
	struct brick_counters *counters;
	struct brick_media *media;
	struct brick_slow *slow;
	struct brick_store *store;
	uint64_t instance_id;
	uint64_t power_epoch;
	uint8_t uuid[KFB_UUID_BYTES];
	struct brick_platform platform;
	struct brick_facts facts;
	uint32_t flush_mode;
	bool medium_failed;
	bool slow_failed;
	uint64_t slow_unzeroed;
	bool has_unflushed;
	struct brick_ratelimit slow_lines;
	struct brick_ratelimit fault_lines;
	void (*failed)(struct brick_storage *storage);

	struct brick_worker store_thread;
	struct brick_worker flusher;
	struct brick_worker cleaner;
	struct brick_work cleaning;
	bool cleaning_queued;
	bool cleaning_again;
};

#endif
