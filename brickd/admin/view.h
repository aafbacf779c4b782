/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What administrators see, and where they see it.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_ADMIN_VIEW_H
#define BRICKD_ADMIN_VIEW_H

#include <stdint.h>

#include "brickd/base/counters.h"
#include "brickd/base/loop.h"
#include "brickd/config/config.h"
#include "brickd/net/net.h"
#include "brickd/op/op.h"
#include "brickd/session/state.h"
#include "brickd/storage/storage.h"
#include "brickd/tier/tier.h"

struct brick_admin;
struct brick_metrics;

/*
 * struct brick_view - the daemon, for those who look at it
 * @counters: what happened since the start, at @started_ns
 * @admin: the admin socket, NULL: none
 * @metrics: the metrics page, NULL: none
 */
struct brick_view {
	const struct brick_config *config;
	struct brick_loop *loop;
	struct brick_counters *counters;
	uint64_t started_ns;
	struct brick_net *net;
	struct brick_storage *storage;
	struct brick_sessions *sessions;
	struct brick_ops *ops;
	struct brick_tier *tier;
	struct brick_admin *admin;
	struct brick_metrics *metrics;
};

#endif
