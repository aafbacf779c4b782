/* SPDX-License-Identifier: BSD-2-Clause */
/* The instance page: who holds the store, and what power has done to it. */
#ifndef BRICKD_STORE_INSTANCE_H
#define BRICKD_STORE_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/media/media.h"
#include "brickd/store/format/super.h"

struct brick_instance {
	uint64_t seq;
	uint8_t boot_id[KFB_UUID_BYTES];
	uint64_t instance_id;
	uint64_t start_time; /* clock ticks since boot */
	uint32_t pid; /* 0: nobody */
	bool clean;
	bool dirty_shutdowns_known;
	uint64_t power_epoch;
	uint64_t dirty_shutdowns;
	uint64_t fs_id; /* 0: unknown, or dirty_shutdowns is known */
};

/*
 * The mark of a medium that has failed: a page of no boot that is not clean.
 * Every version takes it for another boot's, and raises the power epoch.
 */
static inline bool brick_instance_has_failed(const struct brick_instance *inst)
{
	return !inst->clean &&
	       brick_all_zero(inst->boot_id, sizeof(inst->boot_id));
}

/**
 * brick_instance_read - find the newest valid page
 * @m: the medium
 * @sb: its superblock
 * @inst: filled on success
 * @copy: which page it is
 * @damaged: the other page is not valid
 *
 * Context: any.
 * Return: 0, or -EUCLEAN when neither is valid.
 */
int brick_instance_read(const struct brick_media *m,
			const struct brick_super *sb,
			struct brick_instance *inst, unsigned int *copy,
			bool *damaged);

/**
 * brick_instance_put - store and flush one page; the caller drains
 * @m: the medium
 * @sb: its superblock
 * @copy: the page that may be lost: not the one that was read last
 * @inst: what
 *
 * Context: any.
 */
void brick_instance_put(struct brick_media *m, const struct brick_super *sb,
			unsigned int copy, const struct brick_instance *inst);

/**
 * brick_instance_is_held - whether the process that wrote a page still runs
 * @inst: the page
 * @boot_id: of this host
 *
 * Context: reads /proc.
 * Return: true if it runs.
 */
bool brick_instance_is_held(const struct brick_instance *inst,
			    const uint8_t boot_id[KFB_UUID_BYTES]);

/**
 * brick_process_start_time - when a process began
 * @pid: which
 * @start_time: clock ticks since boot
 *
 * Context: reads /proc.
 * Return: 0, or -ESRCH, also of one that has ended and is a zombie.
 */
int brick_process_start_time(uint32_t pid, uint64_t *start_time);

#endif
