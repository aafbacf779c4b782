// SPDX-License-Identifier: BSD-2-Clause
/*
 * A line on the terminal that says how far format, check or grow has come. It is
 * there only when standard error is a terminal and the work takes a moment, and
 * gone when something else is printed.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "brickd/base/clock.h"
#include "brickd/command.h"
#include "brickd/media/progress.h"

/* Work that is done sooner shows nothing. */
#define FIRST_MS 500
#define EVERY_MS 200

static uint64_t next_ms;
static bool is_shown;

static void show_progress(const char *doing, uint64_t done, uint64_t total)
{
	uint64_t now_ms = brick_now_ms();

	if (now_ms < next_ms)
		return;
	next_ms = now_ms + EVERY_MS;
	is_shown = true;
	fprintf(stderr, "\r%s: %3.0f %%\033[K", doing,
		total ? 100.0 * (double)done / (double)total : 0.0);
	fflush(stderr);
}

void brick_command_show_progress(void)
{
	if (!isatty(STDERR_FILENO))
		return;
	next_ms = brick_now_ms() + FIRST_MS;
	brick_progress_watch(show_progress);
}

void brick_command_hide_progress(void)
{
	if (is_shown)
		fputs("\r\033[K", stderr);
	fflush(stderr);
	is_shown = false;
}
