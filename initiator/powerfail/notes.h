/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The notes of a run, a text file on the client: its plan, then a line for each
 * flush that has succeeded, itself synced before anything more is written.
 */
#ifndef INITIATOR_POWERFAIL_NOTES_H
#define INITIATOR_POWERFAIL_NOTES_H

#include "plan.h"

/**
 * struct notes - read back
 * @plan: of the run
 * @flushed: of each job, the newest number that a flush has covered
 * @lines: flushes noted
 */
struct notes {
	struct plan plan;
	uint32_t flushed[PLAN_JOBS_MAX];
	uint64_t lines;
};

/**
 * notes_create - begin a file
 * @path: must not exist
 * @plan: to be noted
 *
 * Return: a descriptor, or -errno.
 */
int notes_create(const char *path, const struct plan *plan);

/**
 * notes_add - a flush has succeeded
 * @fd: from notes_create(); any thread
 * @plan: of the run
 * @job: whose
 * @seq: everything up to this number is durable
 *
 * Return: 0 or -errno.
 */
int notes_add(int fd, const struct plan *plan, uint32_t job, uint32_t seq);

/**
 * notes_read - read a file
 * @path: the file
 * @out: filled
 * @why: words on failure
 *
 * A last line that is not complete is no note: the client was cut, too.
 *
 * Return: 0, -EINVAL or -errno.
 */
int notes_read(const char *path, struct notes *out, const char **why);

#endif
