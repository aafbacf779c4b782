/* SPDX-License-Identifier: BSD-2-Clause */
/* A machine that runs brickd: its lives, and how they end. */
#ifndef TESTS_SIM_BRICK_H
#define TESTS_SIM_BRICK_H

#include "brickd/media/media.h"
#include "machine/host.h"
#include "proto/kfb_rate.h"

struct brick_config;
struct sim_scene;

#define SIM_BRICKS_MAX	  2
#define SIM_REQUEST_BYTES 128
#define SIM_BAD_MAX	  3
/* What has been asked for before, and waits, is done as it was asked for. */
#define SIM_QUOTA_GRACE_NS (400 * SIM_MS)

/* What an administrator has taken from a client for a while. */
enum sim_revoked {
	SIM_GRANTED,
	SIM_REMOVED,
	SIM_READS_ONLY,
	SIM_REKEYED,
	SIM_OTHER_QUOTA,
	SIM_REVOKED,
};

/* Moments of a brick's machine that a fault may wait for. */
enum sim_moment {
	SIM_FORMATTED, /* brickd format has ended, and brickd has not begun */
	SIM_STARTING, /* brickd is about to open its store */
	SIM_MOMENTS,
};

/*
 * struct sim_brick_settings - what brickd is set to, as far as worlds differ
 * @is_file: its store is a file, and no persistent memory
 * @bytes: of its store
 * @extent_blocks: what one MAP may ask for as one piece
 * @is_tight: what there may be one of, there is one of
 * @has_two_networks: it listens on both
 * @queues_vary: a session may have four queues in one life of brickd, and one in the next
 * @is_open: it asks nobody for a name
 * @is_unmounted: at the end of the world, if something of its files has failed
 * @quotas: of blocks, by client; 0: it has none
 * @other_quotas: that an administrator may give it, and is not the same; 0: it has none
 * @may_differ: by client: he may
 * @rates: of sessions, by client
 * @other_rates: that each has from when an administrator takes something from it, until
 *	he does so again
 */
struct sim_brick_settings {
	struct sim_platform platform;
	struct sim_files_settings files;
	bool is_file;
	bool is_tcp;
	uint64_t bytes;
	uint32_t lease_ms;
	uint32_t promote_wait_ms;
	uint32_t stop_timeout_ms;
	uint32_t extent_blocks;
	uint32_t alloc_max_blocks;
	uint32_t mappings;
	uint32_t credits;
	bool is_tight;
	bool has_two_networks;
	bool queues_vary;
	bool is_open;
	bool is_unmounted;
	uint32_t n_clients;
	uint32_t quotas[SIM_CLIENTS_MAX];
	uint32_t other_quotas[SIM_CLIENTS_MAX];
	bool may_differ[SIM_CLIENTS_MAX];
	struct kfb_rate rates[SIM_CLIENTS_MAX];
	struct kfb_rate other_rates[SIM_CLIENTS_MAX];
	bool is_host[SIM_CLIENTS_MAX]; /* of shared disks: in one group */
	uint32_t fencer; /* its number, and 1 more; 0: there is none */
};

/*
 * struct sim_brick - one
 * @host: first, so that the host of brickd's process is found
 * @scene: that it is in
 * @settings: brickd's
 * @config: the same, of its newest life
 * @revoked: by client; @n_revoked: how often; @restore: until then
 * @quotas: by client, of the settings that brickd has read last; @quota_ns: since when
 * @request: what an administrator asks next; "": nothing
 * @refuses_until_ns: it unmaps nothing before
 * @bad: lines that cannot be read; @n_spoiled: how many have gone bad
 * @is_at_rest: brickd has stopped, and well
 * @n_failed_before: files->n_failed when brickd was started
 * @n_forgotten: the same when it served
 * @is_damaged: so was one of the tables, once
 * @cuts_growth: what comes in the middle of it; @cuts_start: of the next start
 * @moments: by moment: the event of the world that it was
 * @grows_to: bytes that its store is to have before its next life; 0: as many
 * @has_tried: somebody has begun to; @gives_up: and does not again if that was cut short
 * @has_grown: it was formatted with fewer
 * @restart: when it is started again
 * @down_ns: how long it is down when it has stopped
 * @lives: how often it was started; @n_powers: how often its power has failed
 * @is_formatted: its medium has a store
 * @stays_down: it is not started again
 * @forgets: called when writes that were placed may be gone with the page cache; or
 *	NULL
 */
struct sim_brick {
	struct sim_host host;
	struct sim_medium medium;
	struct sim_files files;
	struct sim_scene *scene;
	struct sim_brick_settings settings;
	struct brick_config *config;
	enum sim_revoked revoked[SIM_CLIENTS_MAX];
	uint32_t n_revoked[SIM_CLIENTS_MAX];
	struct sim_event restore;
	uint32_t quotas[SIM_CLIENTS_MAX];
	uint64_t quota_ns[SIM_CLIENTS_MAX];
	char request[SIM_REQUEST_BYTES];
	uint64_t refuses_until_ns;
	struct brick_bytes bad[SIM_BAD_MAX + 1];
	uint32_t n_bad;
	uint32_t n_spoiled;
	bool is_damaged;
	bool is_at_rest;
	uint64_t n_failed_before;
	uint64_t n_forgotten;
	uint64_t grows_to;
	struct sim_cut cuts_growth;
	struct sim_cut cuts_start;
	uint64_t moments[SIM_MOMENTS];
	bool has_tried;
	bool gives_up;
	bool has_grown;
	struct sim_event restart;
	uint64_t down_ns;
	uint64_t lives;
	uint64_t n_powers;
	bool is_formatted;
	bool stays_down;
	void (*forgets)(struct sim_brick *brick);
};

/* Makes the machine, with an empty store, and starts brickd. */
void sim_brick_init(struct sim_brick *brick, uint32_t number,
		    const struct sim_brick_settings *settings, uint64_t seed);
void sim_brick_fini(struct sim_brick *brick);

/* Where it is on the first network, or, if it has two, on the second. */
uint32_t sim_brick_port(const struct sim_brick *brick, bool on_second);

/* How it ends, and when it is started again. */
void sim_brick_kill(struct sim_brick *brick, uint64_t down_ns);
void sim_brick_stop(struct sim_brick *brick, uint64_t down_ns);
void sim_brick_lose_power(struct sim_brick *brick, uint64_t down_ns);

/* The key of client number @number, and its name. */
void sim_client_key(uint32_t number, uint8_t key[32]);
void sim_client_name(uint32_t number, char name[24]);

/* An administrator's: through brickd's own code, at the next round of its loop. */
void sim_brick_evict(struct sim_brick *brick, uint32_t client);
/* Some blocks from an address on are to go to a tier, or to stay in one. */
void sim_brick_order(struct sim_brick *brick, uint64_t va, uint64_t which);
/* Settings that have something less for a client are read, and the old ones. */
void sim_brick_revoke(struct sim_brick *brick, uint32_t client, uint64_t which,
		      uint64_t ns);
/*
 * Whether it was to give a client the same quota all the time since @since_ns, and which;
 * 0: it has none.
 */
bool sim_brick_had_quota(const struct sim_brick *brick, uint32_t client,
			 uint64_t since_ns, uint32_t *quota);
/* For so long it refuses to unmap, as one does that is short of memory. */
void sim_brick_refuse(struct sim_brick *brick, uint64_t ns);
/* It stops, and its store is larger when it is started again, if there is room. */
void sim_brick_grow(struct sim_brick *brick, uint64_t which, bool gives_up,
		    uint64_t ns);
/* Does that. Context: a process of its machine, no brickd. 0 or a negative errno. */
int sim_brick_grow_store(struct sim_brick *brick, const char *path, char *err,
			 size_t err_len);
/* A line goes bad, and brickd dies by it. */
void sim_brick_go_bad(struct sim_brick *brick, uint64_t which, uint64_t ns);
/* Another brickd of this machine asks its file system. */
void sim_brick_neighbour_asks(struct sim_brick *brick);
/* In this life something of its files has failed, and may have for good. */
bool sim_brick_is_failing(const struct sim_brick *brick);
/* What was taken is given back, what has failed is started again. */
void sim_brick_mend(struct sim_brick *brick);

#endif
