/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the platform below a store keeps when the power goes, and in what state
 * it is: asked of libndctl and libpmem2 once, when the store is opened.
 *
 * Nothing here is guessed: what the platform does not say is unknown, and
 * brickd/platform/durability.h then promises less.
 *
 * Context: the thread that starts the daemon; may block.
 */
#ifndef BRICKD_PLATFORM_PLATFORM_H
#define BRICKD_PLATFORM_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brickd/media/media.h"

#define BRICK_REGION_BYTES 32

/**
 * enum brick_backing - what is below a medium
 * @BRICK_BACKING_OTHER: no persistent memory: a file on a disk, or volatile
 * @BRICK_BACKING_PMEM: a region of persistent memory
 * @BRICK_BACKING_CXL: one behind CXL
 * @BRICK_BACKING_MEMORY: a dax device of memory that nobody calls persistent:
 *	CXL or soft-reserved memory
 */
enum brick_backing {
	BRICK_BACKING_OTHER,
	BRICK_BACKING_PMEM,
	BRICK_BACKING_CXL,
	BRICK_BACKING_MEMORY,
};

/**
 * enum brick_domain - what survives a loss of power (ACPI 6.2, 5.2.25.9)
 * @BRICK_DOMAIN_UNKNOWN: the platform does not say
 * @BRICK_DOMAIN_MEMORY: what has reached the memory controller (ADR)
 * @BRICK_DOMAIN_CACHES: the CPU's caches, too (eADR)
 */
enum brick_domain {
	BRICK_DOMAIN_UNKNOWN,
	BRICK_DOMAIN_MEMORY,
	BRICK_DOMAIN_CACHES,
};

/**
 * enum brick_health - of the worst module, in ascending order
 * @BRICK_HEALTH_UNKNOWN: none says, or we may not ask
 * @BRICK_HEALTH_OK: all say so
 * @BRICK_HEALTH_WORN: maintenance is due
 * @BRICK_HEALTH_FAILING: data will be lost, or has been
 */
enum brick_health {
	BRICK_HEALTH_UNKNOWN,
	BRICK_HEALTH_OK,
	BRICK_HEALTH_WORN,
	BRICK_HEALTH_FAILING,
};

/**
 * struct brick_platform - what is known
 * @backing: below the medium
 * @region: name of the region, "" when there is none
 * @domain: of the region
 * @health: of its modules
 * @dirty_shutdowns_known: the modules count them
 * @dirty_shutdowns: their sum
 * @bad_known: @bad is all there is; else bad blocks could not be asked for
 * @n_bad: pieces
 * @bad: of the medium, unreadable; brick_platform_fini() frees it
 */
struct brick_platform {
	enum brick_backing backing;
	char region[BRICK_REGION_BYTES];
	enum brick_domain domain;
	enum brick_health health;
	bool dirty_shutdowns_known;
	uint64_t dirty_shutdowns;
	bool bad_known;
	uint32_t n_bad;
	struct brick_bytes *bad;
};

/**
 * brick_platform_read - ask what is below a medium
 * @m: the medium
 * @out: filled; to be finished in any case
 *
 * Return: 0 or -ENOMEM: what cannot be asked is unknown, no error.
 */
int brick_platform_read(const struct brick_media *m,
			struct brick_platform *out);
void brick_platform_fini(struct brick_platform *p);

/**
 * brick_platform_clear - make bad bytes of a medium readable again, as zeros
 * @m: the medium
 * @bytes: what
 *
 * Takes the right to send commands to the modules (CAP_SYS_ADMIN, and
 * /dev/ndctlN for a devdax device).
 *
 * Return: 0, or -EPERM and other errors of libpmem2.
 */
int brick_platform_clear(const struct brick_media *m, struct brick_bytes bytes);

/**
 * struct brick_place - where a device hangs in the tree of devices
 * @bus: number of the bus of persistent memory, with @region
 * @region: number of its region on that bus
 * @has_region: there are those
 */
struct brick_place {
	unsigned int bus;
	unsigned int region;
	bool has_region;
};

/**
 * brick_platform_place - find bus and region in a path below /sys/devices
 * @path: resolved, such as that of a dax or block device
 * @out: filled
 */
void brick_platform_place(const char *path, struct brick_place *out);

/**
 * brick_platform_region - ask libndctl for a region
 * @place: with a region
 * @out: backing, region, domain, health are set; unchanged when there is no
 *	such region
 */
void brick_platform_region(const struct brick_place *place,
			   struct brick_platform *out);

#endif
