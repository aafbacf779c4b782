/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far long work on a medium has come, for a command that shows it.
 *
 * Context: one thread; the daemon watches nothing.
 */
#ifndef BRICKD_MEDIA_PROGRESS_H
#define BRICKD_MEDIA_PROGRESS_H

#include <stdint.h>

/**
 * brick_progress_watch - be told from now on
 * @show: is called often, with what is done (a participle), and how much of how
 *	much is; NULL: nobody is
 */
void brick_progress_watch(void (*show)(const char *doing, uint64_t done,
				       uint64_t total));

/* So much of so much is done; cheap where nobody watches. */
void brick_progress(const char *doing, uint64_t done, uint64_t total);

#endif
