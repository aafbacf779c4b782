// SPDX-License-Identifier: BSD-2-Clause
/* How far long work on a medium has come. */
#include "brickd/media/progress.h"

#include <stddef.h>

static void (*shown)(const char *doing, uint64_t done, uint64_t total);

void brick_progress_watch(void (*show)(const char *doing, uint64_t done,
				       uint64_t total))
{
	shown = show;
}

void brick_progress(const char *doing, uint64_t done, uint64_t total)
{
	if (shown)
		shown(doing, done, total);
}
