/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SIGHUP: clients and grants are read again.
 *
 * All or nothing: settings with a mistake change nothing. Sessions whose client
 * is gone, has another key, or lost a grant that they have mapped are fenced.
 *
 * Context: the loop thread; reads files, which takes milliseconds.
 */
#ifndef BRICKD_RELOAD_H
#define BRICKD_RELOAD_H

#include <stdbool.h>

struct brick_config;
struct brick_ops;
struct brick_sessions;

/*
 * struct brick_reload - what is read again, and whom it concerns
 * @config: its clients are changed
 * @read: reads, checks and loads the settings once more, or is NULL; logs why
 *	it fails; fresh is to be finished in any case
 * @ctx: its context
 */
struct brick_reload {
	struct brick_config *config;
	int (*read)(void *ctx, struct brick_config *fresh);
	void *ctx;
	struct brick_sessions *sessions;
	struct brick_ops *ops;
};

/**
 * brick_reload - take clients and grants of fresh settings
 * @reload: what it takes
 *
 * What cannot change while the daemon runs is named in the log.
 *
 * Return: false: nothing was tried.
 */
bool brick_reload(struct brick_reload *reload);

#endif
