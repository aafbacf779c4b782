/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A line on the terminal that shows how far long work has come.
 *
 * It appears only when standard error is a terminal, after the work has taken
 * a moment, and is gone when the work is done or something else is said.
 */
#ifndef BRICKCTL_PROGRESS_H
#define BRICKCTL_PROGRESS_H

#include "initiator/brickctl/base/brickctl.h"

struct ctl_progress {
	struct ctl *ctl;
	const char *doing; /* "reading" */
	uint64_t total_bytes; /* 0: not known */
	uint64_t done_bytes;
	uint64_t start_ns;
	uint64_t next_ns; /* when to draw again; UINT64_MAX: never */
	bool shown;
};

/**
 * ctl_progress_start - begin to show work
 * @p: lives until ctl_progress_stop()
 * @ctl: which knows of --quiet and --json
 * @doing: what is done, a participle
 * @total_bytes: how much there is to do, or 0
 */
void ctl_progress_start(struct ctl_progress *p, struct ctl *ctl,
			const char *doing, uint64_t total_bytes);

/* So much more is done. */
void ctl_progress_add(struct ctl_progress *p, uint64_t bytes);

/* Takes the line away, for something else to be said; it may come back. */
void ctl_progress_hide(struct ctl_progress *p);

/* Takes the line away. */
void ctl_progress_stop(struct ctl_progress *p);

#endif
