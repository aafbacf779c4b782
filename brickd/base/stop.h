/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's stop: decided once, looked at by whoever begins something. */
#ifndef BRICKD_BASE_STOP_H
#define BRICKD_BASE_STOP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * struct brick_stop - is the daemon stopping?
 * @is_stopping: the daemon is stopping
 * @deadline_ms: when nothing is waited for any longer
 */
struct brick_stop {
	bool is_stopping;
	uint64_t deadline_ms;
};

#endif
