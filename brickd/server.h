/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon as a whole: holds what the rooms own, and joins them.
 *
 * Context: the loop thread owns everything here; workers see the store, the
 * medium and the work they are given. docs/threads.md has the rules.
 */
#ifndef BRICKD_SERVER_H
#define BRICKD_SERVER_H

#include <stddef.h>

#include "brickd/admin/view.h"
#include "brickd/base/counters.h"
#include "brickd/base/loop.h"
#include "brickd/base/stop.h"
#include "brickd/base/work.h"
#include "brickd/config/config.h"
#include "brickd/net/net.h"
#include "brickd/op/op.h"
#include "brickd/reload.h"
#include "brickd/session/state.h"
#include "brickd/storage/storage.h"
#include "brickd/tier/tier.h"

/*
 * struct brick_server - one run of the daemon
 * @config: its clients are changed by brick_reload() only
 * @reload: its way to read and the context are set before the start
 * @counters: what happened since the start
 */
struct brick_server {
	struct brick_config *config;
	struct brick_reload reload;
	struct brick_storage storage;

	struct brick_loop loop;
	struct brick_flows flows;
	struct brick_mailbox box;
	struct brick_source signals;

	struct brick_tier tier;

	struct brick_net net;

	struct brick_sessions sessions;
	struct brick_ops ops;
	struct brick_counters counters;
	struct brick_view view;

	struct brick_stop stop;
};

/**
 * brick_server_hold_signals - SIGTERM, SIGINT and SIGHUP wait until brickd serves
 *
 * One that came at the default would end a start half-way, behind which a store is
 * not clean; and threads that a fabric's provider starts inherit what is blocked.
 *
 * Context: before anything is opened, and before any other thread starts.
 */
void brick_server_hold_signals(void);

/**
 * brick_server_start - open the store, test the fabrics, start the threads
 * @server: zeroed
 * @config: checked, with keys; stays the server's until it has stopped
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0 or -errno; on failure everything is closed again.
 */
int brick_server_start(struct brick_server *server, struct brick_config *config,
		       char *err, size_t err_len);

/**
 * brick_server_run - serve until SIGTERM or SIGINT
 * @server: started
 *
 * Return: 0 or -errno.
 */
int brick_server_run(struct brick_server *server);

/**
 * brick_server_stop - close everything
 * @server: started
 *
 * Return: 0, or -EIO when what clients wrote could not be made durable.
 */
int brick_server_stop(struct brick_server *server);

/* Tells the service manager what is served. Context: the loop thread. */
void brick_server_tell_manager(const struct brick_server *server);

#endif
