/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's configuration: brickd.conf(5) and the command line's flags.
 *
 * Context: read before threads start and constant afterwards, but for clients and
 * log level, which brick_config_take_clients() changes in the loop thread. Workers
 * read nothing of these but a client's owner.
 */
#ifndef BRICKD_CONFIG_CONFIG_H
#define BRICKD_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "brickd/config/address.h"
#include "brickd/config/declared.h"
#include "brickd/config/grants.h"
#include "proto/kfb_rate.h"
#include "proto/kfb_wire.h"

#define BRICK_LISTEN_MAX  8
#define BRICK_QUEUES_MAX  64 /* of one session */
#define BRICK_CLIENTS_MAX 1024
#define BRICK_PINS_MAX	  64
/* Of one client, so that it can be given a new one before the old one goes. */
#define BRICK_KEYS_MAX	2
#define BRICK_ERR_BYTES 512
/* What fits into a socket's address, without the NUL. */
#define BRICK_ADMIN_PATH_MAX 107

enum brick_auth {
	BRICK_AUTH_REQUIRED,
	BRICK_AUTH_NONE,
};

/**
 * struct brick_key - one of a client's keys
 * @id: differs between all keys that there were since the start; 0: not yet known
 * @file: path
 * @bytes: its content, once loaded
 */
struct brick_key {
	uint64_t id;
	char *file;
	uint8_t bytes[KFB_KEY_BYTES];
};

/**
 * struct brick_client - a client that may connect
 * @name: as in its section
 * @group: those of one group own their blocks together; "": in none
 * @owner: hash of the name, or of that of the group, never 0; on the media it names
 *	whose a block is
 * @number: its place among the clients, below BRICK_CLIENTS_MAX, for tables that
 *	others keep
 * @line: where its section begins
 * @n_keys: each is as good as the other
 * @keys: in the order of the settings
 * @grants: what it may use
 * @has_quota: it may have @quota_blocks, at most KFB_QUOTA_MAX, and no more
 * @quota_blocks: with @has_quota
 * @rate: how much each of its sessions may move
 * @is_fencer: it may have other clients kept out, and let in again
 * @removed: the settings name it no more; kept for those who point to it
 */
struct brick_client {
	char name[KFB_NAME_MAX + 1];
	char group[KFB_NAME_MAX + 1];
	uint32_t owner;
	uint32_t number;
	unsigned int line;
	uint32_t n_keys;
	struct brick_key keys[BRICK_KEYS_MAX];
	struct brick_grants grants;
	bool has_quota;
	uint64_t quota_blocks;
	struct kfb_rate rate;
	bool is_fencer;
	bool removed;
};

/**
 * struct brick_limits - every bound that an administrator can move
 * @sessions: in all
 * @sessions_per_client: of these, one client's
 * @unauthenticated: connections before AUTH
 * @unauthenticated_per_address: of those, from one source address
 * @queues: connections per session
 * @lease_ms: that a session lives without a message; 0: it ends with its last
 *	connection
 * @auth_timeout_ms: from the connection request to AUTH
 * @credits: requests in flight per queue
 * @pending: of these, waiting for their blocks, in one session
 * @pending_per_client: the same in all sessions of one client
 * @pending_total: the same in all
 * @mappings: per session
 * @handles: registrations per session
 * @map_extent_max_bytes: one handle
 * @alloc_max_blocks: one ALLOC or FREE
 * @tcp_busy_poll_us: that tcp's threads look for more before they sleep
 * @stop_timeout_ms: that clients get to go after SIGTERM
 * @tier_low_percent: of the pmem slots; with fewer free ones demotion begins
 * @tier_high_percent: and ends with so many
 * @tier_rate_bytes: copied in the background in a second, 0: no bound
 * @promote_wait_ms: that a MAP waits for its blocks
 */
struct brick_limits {
	uint64_t sessions;
	uint64_t sessions_per_client;
	uint64_t unauthenticated;
	uint64_t unauthenticated_per_address;
	uint64_t queues;
	uint64_t lease_ms;
	uint64_t auth_timeout_ms;
	uint64_t credits;
	uint64_t pending;
	uint64_t pending_per_client;
	uint64_t pending_total;
	uint64_t mappings;
	uint64_t handles;
	uint64_t map_extent_max_bytes;
	uint64_t alloc_max_blocks;
	uint64_t stop_timeout_ms;
	uint64_t tcp_busy_poll_us;
	uint64_t tier_low_percent;
	uint64_t tier_high_percent;
	uint64_t tier_rate_bytes;
	uint64_t promote_wait_ms;
};

/*
 * struct brick_config - all settings
 * @file: where they come from, NULL before brick_config_read()
 * @slow: path of the slow tier, NULL: none
 * @pins: blocks that are not demoted
 * @listen_line: lines of the addresses, 0 for those of flags
 * @admin: path of the admin socket, NULL: none
 * @fences: path of the file with the names of those that are kept out, NULL: none
 *	can be
 * @reservations: path of the file with persistent reservations, NULL: nothing can be
 *	reserved
 * @last_key_id: of the keys that there have been
 * @has_metrics: serve metrics at @metrics, whose line is @metrics_line
 */
struct brick_config {
	char *file;
	char *store;
	char *slow;
	uint32_t n_pins;
	struct brick_span pins[BRICK_PINS_MAX];
	uint32_t n_listen;
	unsigned int listen_line[BRICK_LISTEN_MAX];
	struct brick_address listen[BRICK_LISTEN_MAX];
	enum brick_auth auth;
	enum brick_persistence persistence;
	enum brick_ddio ddio;
	bool allow_untrusted_tcp;
	bool allow_remote_anonymous;
	char *admin;
	char *fences;
	char *reservations;
	bool has_metrics;
	bool allow_remote_metrics;
	unsigned int metrics_line;
	struct brick_address metrics;
	bool has_uuid;
	uint8_t uuid[KFB_UUID_BYTES];
	int log_level;
	struct brick_limits limits;
	uint64_t last_key_id;
	uint32_t n_clients;
	struct brick_client **clients;
};

/**
 * brick_config_init - the defaults
 * @config: filled
 */
void brick_config_init(struct brick_config *config);
void brick_config_fini(struct brick_config *config);

/**
 * brick_config_read - read a configuration file
 * @config: initialised
 * @file: open for reading
 * @name: its name for messages
 * @err: message on failure, "NAME:LINE: what is wrong"
 * @err_len: its size, bytes
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int brick_config_read(struct brick_config *config, FILE *file, const char *name,
		      char *err, size_t err_len);

/**
 * brick_config_set_store - what the flag --store does
 * @config: initialised
 * @text: value
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int brick_config_set_store(struct brick_config *config, const char *text,
			   char *err, size_t err_len);

/**
 * brick_config_add_listen - what the flag --listen does
 * @config: initialised
 * @text: value
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int brick_config_add_listen(struct brick_config *config, const char *text,
			    char *err, size_t err_len);

/**
 * brick_config_check - is the whole consistent and allowed?
 * @config: after file and flags; missing listen addresses are filled in
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0 or -EINVAL.
 */
int brick_config_check(struct brick_config *config, char *err, size_t err_len);

/**
 * brick_config_load_keys - read every client's key file
 * @config: checked
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0 or -errno.
 */
int brick_config_load_keys(struct brick_config *config, char *err,
			   size_t err_len);

/**
 * brick_config_client - find a client
 * @config: checked
 * @name: from a peer
 *
 * Return: the client or NULL.
 */
const struct brick_client *
brick_config_client(const struct brick_config *config, const char *name);

/**
 * brick_client_name_is_good - may a client be called so?
 * @name: from settings or a file
 */
bool brick_client_name_is_good(const char *name);

/**
 * brick_client_key - one of a client's keys
 * @client: a client
 * @id: of the key
 *
 * Return: its number, from 1 on; 0: the client has it no more.
 */
unsigned int brick_client_key(const struct brick_client *client, uint64_t id);

/**
 * brick_config_writable - how many blocks the clients together may allocate
 * @config: checked
 * @n_blocks: filled; what several may is counted once
 *
 * Return: 0 or -ENOMEM.
 */
int brick_config_writable(const struct brick_config *config,
			  uint64_t *n_blocks);

/**
 * brick_config_next_limit - go through the limits that differ
 * @a: some limits
 * @b: others
 * @at: 0 to begin with; moved on
 *
 * Return: the name of the next one, or NULL.
 */
const char *brick_config_next_limit(const struct brick_limits *a,
				    const struct brick_limits *b, size_t *at);

/**
 * brick_config_differs - what has changed that is not taken without a restart
 * @a: checked
 * @b: checked
 * @names: filled with the names of the settings that differ, ", " between them
 * @size: its size, bytes
 *
 * Return: how many there are.
 */
unsigned int brick_config_differs(const struct brick_config *a,
				  const struct brick_config *b, char *names,
				  size_t size);

/**
 * brick_config_take_clients - take clients and log level of fresh settings
 * @config: in use
 * @fresh: checked, with keys; loses clients that @config did not have
 *
 * A client keeps its place in memory for ever: one that is gone is marked, one
 * that comes back is the same again.
 *
 * Context: the loop thread.
 * Return: 0, or -ENOMEM or -ENOSPC (too many clients since the start); nothing
 * has changed then.
 */
int brick_config_take_clients(struct brick_config *config,
			      struct brick_config *fresh);

/**
 * brick_owner_hash - what names a client on the media
 * @name: client's name; "" for clients without one
 *
 * FNV-1a, 32 bits, with 1 instead of 0; part of the media format.
 */
uint32_t brick_owner_hash(const char *name);

/**
 * brick_uuid_parse - read 8-4-4-4-12 hex digits
 * @text: the text
 * @uuid: filled on success
 *
 * Return: 0 or -EINVAL.
 */
int brick_uuid_parse(const char *text, uint8_t uuid[KFB_UUID_BYTES]);

/**
 * brick_boot_id_read - the name of this boot of this host
 * @id: filled on success
 *
 * Context: reads /proc.
 * Return: 0 or -errno.
 */
int brick_boot_id_read(uint8_t id[KFB_UUID_BYTES]);

#define BRICK_UUID_TEXT_BYTES 37

void brick_uuid_format(const uint8_t uuid[KFB_UUID_BYTES],
		       char text[BRICK_UUID_TEXT_BYTES]);

#endif
