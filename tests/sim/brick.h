/* SPDX-License-Identifier: BSD-2-Clause */
/* A machine that runs brickd: its lives, and how they end. */
#ifndef TESTS_SIM_BRICK_H
#define TESTS_SIM_BRICK_H

#include "host.h"

#define SIM_CLIENTS_MAX 6

struct brick_config;

/*
 * struct sim_brick - one
 * @host: first, so that the host of brickd's process is found
 * @config: brickd's settings
 * @restart: when it is started again
 * @down_ns: how long it is down when it has stopped
 * @lives: how often it was started
 * @is_formatted: its medium has a store
 * @stays_down: it is not started again
 */
struct sim_brick {
	struct sim_host host;
	struct sim_medium medium;
	struct brick_config *config;
	struct sim_event restart;
	uint64_t down_ns;
	uint64_t lives;
	bool is_formatted;
	bool stays_down;
};

/* What brickd is set to, as far as worlds differ. */
struct sim_brick_settings {
	struct sim_platform platform;
	uint32_t lease_ms;
	uint32_t alloc_max_blocks;
	uint32_t mappings;
	uint32_t credits;
	uint32_t n_clients;
};

/* Makes the machine, with an empty store, and starts brickd. */
void sim_brick_init(struct sim_brick *brick, uint32_t number,
		    const struct sim_brick_settings *settings, uint64_t seed);
void sim_brick_fini(struct sim_brick *brick);

/* How it ends, and when it is started again. */
void sim_brick_kill(struct sim_brick *brick, uint64_t down_ns);
void sim_brick_stop(struct sim_brick *brick, uint64_t down_ns);
void sim_brick_lose_power(struct sim_brick *brick, uint64_t down_ns);

/* The key of client number @number, and its name. */
void sim_client_key(uint32_t number, uint8_t key[32]);
void sim_client_name(uint32_t number, char name[24]);

#endif
