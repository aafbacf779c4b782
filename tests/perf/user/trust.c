// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes a brickd for measurements that believes PMEM2_FORCE_GRANULARITY, so
 * that a disk file in the page cache stands for persistent memory.
 */
#include <stdbool.h>

#include "brickd/media/media.h"

static void __attribute__((constructor)) trust(void)
{
	brick_media_trust_environment(true);
}
