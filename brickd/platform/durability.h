/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which flush is true: the one place that decides what a brick promises.
 *
 * docs/durability.md has the table, and why. A mode is offered only when
 * medium, platform and fabric together honour it; the exception is
 * "persistence = assume-readback", which is shown as unsafe wherever the mode
 * is shown.
 *
 * Context: any; pure functions.
 */
#ifndef BRICKD_PLATFORM_DURABILITY_H
#define BRICKD_PLATFORM_DURABILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/config/declared.h"
#include "brickd/media/media.h"
#include "brickd/net/placing.h"
#include "brickd/platform/platform.h"

/**
 * struct brick_facts - all that counts
 * @medium: as opened
 * @granularity: of the medium
 * @backing: below it
 * @domain: of the backing
 * @persistence: as declared
 * @ddio: as declared
 */
struct brick_facts {
	const struct brick_medium *medium;
	enum brick_granularity granularity;
	enum brick_backing backing;
	enum brick_domain domain;
	enum brick_persistence persistence;
	enum brick_ddio ddio;
};

/**
 * struct brick_durability - the promise
 * @modes: KFB_FLUSH_* that are offered
 * @mode: the one to use
 * @why: KFB_WHY_*
 * @is_unsafe: more is offered than anybody vouches for
 */
struct brick_durability {
	uint32_t modes;
	uint32_t mode;
	uint32_t why;
	bool is_unsafe;
};

/**
 * brick_durability_of - what to promise to a session
 * @facts: of medium and platform
 * @placing: of the session's fabric
 * @out: filled
 */
void brick_durability_of(const struct brick_facts *facts,
			 enum brick_placing placing,
			 struct brick_durability *out);

/**
 * brick_medium_is_volatile - does nothing of the medium outlive the power?
 * @facts: of medium and platform
 *
 * Return: true also for memory that nobody vouches for.
 */
bool brick_medium_is_volatile(const struct brick_facts *facts);

/**
 * brick_medium_is_never_flushed - does nobody write back what the CPU caches?
 * @facts: of medium and platform
 *
 * libpmem2 calls the caches of the whole machine persistent, and flushes nothing
 * then. It asks all regions of persistent memory, of which the medium may be none:
 * memory that a battery keeps, or a file system on something that has no region.
 *
 * Return: true where the medium's own region does not say that they are.
 */
bool brick_medium_is_never_flushed(const struct brick_facts *facts);

/**
 * brick_medium_label - what to call the medium
 * @facts: of medium and platform
 *
 * Return: KFB_MEDIUM_*: memory that nobody vouches for is volatile.
 */
unsigned int brick_medium_label(const struct brick_facts *facts);

#endif
