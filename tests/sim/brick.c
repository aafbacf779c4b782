// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickd as it is, from brick_server_start() to brick_server_stop(), on a
 * machine of the simulated world. Its start-up test of the fabric is taken as
 * passed.
 */
#include "brick.h"

#include <signal.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "brickd/base/log.h"
#include "brickd/config/config.h"
#include "brickd/net/devices.h"
#include "brickd/net/selftest.h"
#include "brickd/platform/platform.h"
#include "brickd/server.h"
#include "brickd/store/store.h"
#include "machine/fabric.h"
#include "machine/memory.h"
#include "oracle.h"

/* Of clients. */
#define SIM_GROUP "hosts"
#define FIRST_PID 0x400000 /* more than Linux gives out */
#define HALF	  500

int __wrap_brick_media_open(const char *path,
			    const struct brick_media_create *create,
			    struct brick_media **out, char *err,
			    size_t err_len);
int __real_brick_media_open(const char *path,
			    const struct brick_media_create *create,
			    struct brick_media **out, char *err,
			    size_t err_len);
void __wrap_brick_media_st64(struct brick_media *m, uint64_t off,
			     uint64_t value);
void __wrap_brick_media_copy(struct brick_media *m, uint64_t off,
			     const void *src, size_t len);
void __wrap_brick_media_zero(struct brick_media *m, uint64_t off, size_t len);
int __wrap_brick_selftest(struct brick_fabric *f, char *err, size_t err_len);
int __wrap_brick_boot_id_read(uint8_t id[KFB_UUID_BYTES]);
pid_t __wrap_getpid(void);
FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);

static struct sim_brick *brick_of(struct sim_process *process)
{
	return (struct sim_brick *)process;
}

static struct sim_brick *current_brick(void)
{
	return brick_of(sim_current->process);
}

/* ---- what brickd asks of its machine ---------------------------------------- */

int __wrap_brick_media_open(const char *path,
			    const struct brick_media_create *create,
			    struct brick_media **out, char *err, size_t err_len)
{
	if (!strcmp(path, SIM_STORE_PATH))
		return __real_brick_media_open(path, create, out, err, err_len);
	*out = sim_medium_open(&current_brick()->medium);
	return 0;
}

/* A file is written as memory is. */
void __wrap_brick_media_st64(struct brick_media *m, uint64_t off,
			     uint64_t value)
{
	sim_medium_copy(&current_brick()->medium, off, &value, sizeof(value));
}

void __wrap_brick_media_copy(struct brick_media *m, uint64_t off,
			     const void *src, size_t len)
{
	if (len)
		sim_medium_copy(&current_brick()->medium, off, src, len);
}

void __wrap_brick_media_zero(struct brick_media *m, uint64_t off, size_t len)
{
	sim_medium_zero(&current_brick()->medium, off, len);
}

int __wrap_brick_selftest(struct brick_fabric *f, char *err, size_t err_len)
{
	return brick_device_add(f, f->info);
}

int __wrap_brick_boot_id_read(uint8_t id[KFB_UUID_BYTES])
{
	memcpy(id, current_brick()->host.boot_id, KFB_UUID_BYTES);
	return 0;
}

pid_t __wrap_getpid(void)
{
	return FIRST_PID +
	       (pid_t)(sim_host_of(sim_current->process)->life % FIRST_PID);
}

/* When a process has begun: the one that asks is there, and no earlier one. */
FILE *__wrap_fopen64(const char *path, const char *mode)
{
	static const char proc[] = "/proc/";
	static char text[128];
	bool is_ours;
	FILE *file;
	long pid;
	int n;

	if (!sim_current || strncmp(path, proc, sizeof(proc) - 1) != 0) {
		file = sim_file_read(path, &is_ours);
		return is_ours ? file : __real_fopen64(path, mode);
	}
	pid = strtol(path + sizeof(proc) - 1, NULL, 10);
	if (pid != __wrap_getpid())
		return NULL;
	n = snprintf(text, sizeof(text),
		     "%ld (brickd) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 6 0 %ld "
		     "0 0\n",
		     pid, pid);
	return fmemopen(text, (size_t)n, "r");
}

/* ---- its lives ---------------------------------------------------------------- */

static int format(struct sim_brick *brick, const struct brick_config *c)
{
	const struct brick_media_create create = { 0 };
	const struct brick_slow_create create_slow = { 0 };
	struct brick_store_format store = { .force = true };
	char err[BRICK_ERR_BYTES] = "";
	struct brick_media *m;
	int rc;

	memcpy(store.uuid, "simulated brick", sizeof(store.uuid));
	store.uuid[sizeof(store.uuid) - 1] =
		(uint8_t)brick->host.process.number;
	rc = brick_media_open(c->store, &create, &m, err, sizeof(err));
	if (rc)
		return rc;
	if (c->slow)
		rc = brick_slow_open(c->slow, &create_slow, &store.slow, err,
				     sizeof(err));
	if (!rc)
		rc = brick_store_format(m, &store, err, sizeof(err));
	if (store.slow)
		brick_slow_close(store.slow);
	brick_media_close(m);
	return rc;
}

void sim_client_key(uint32_t number, uint8_t key[32])
{
	memset(key, (int)number + 1, 32);
}

void sim_client_name(uint32_t number, char name[24])
{
	(void)snprintf(name, 24, "client%u", number);
}

/* Return: false: there is no memory. */
static bool add_clients(struct brick_config *c, struct sim_brick *brick)
{
	uint32_t n = brick->settings.n_clients;

	c->clients = calloc(n, sizeof(struct brick_client *));
	for (uint32_t i = 0; c->clients && i < n; i++) {
		enum sim_revoked revoked = brick->revoked[i];
		uint64_t *denied_ns = &brick->host.denied_ns[i];
		const struct kfb_grant all = { .n_blocks = KFB_BLOCKS_MAX,
					       .access =
						       revoked == SIM_READS_ONLY
							       ? KFB_GRANT_RO
							       : KFB_GRANT_RW };
		uint32_t quota = revoked == SIM_OTHER_QUOTA
					 ? brick->settings.other_quotas[i]
					 : brick->settings.quotas[i];
		struct brick_client *client;

		/* At a start nothing waits. */
		if (brick->quotas[i] != quota)
			brick->quota_ns[i] =
				sim.now_ns -
				(c == brick->config ? SIM_QUOTA_GRACE_NS : 0);
		brick->quotas[i] = quota;
		if (revoked == SIM_GRANTED || revoked == SIM_OTHER_QUOTA)
			*denied_ns = 0;
		else if (!*denied_ns)
			*denied_ns = sim.now_ns;
		if (revoked == SIM_REMOVED)
			continue;
		client = calloc(1, sizeof(*client));
		if (!client)
			return false;
		sim_client_name(i, client->name);
		if (brick->settings.is_host[i])
			(void)snprintf(client->group, sizeof(client->group),
				       SIM_GROUP);
		client->is_fencer = i + 1 == brick->settings.fencer;
		client->owner = brick_owner_hash(*client->group ? client->group
								: client->name);
		sim_client_key(revoked == SIM_REKEYED ? i + n : i,
			       client->keys[0].bytes);
		client->keys[0].id = ++c->last_key_id;
		client->n_keys = 1;
		(void)brick_grants_add(&client->grants, &all);
		client->has_quota = quota;
		client->quota_blocks = quota;
		client->rate = brick->n_revoked[i] & 1
				       ? brick->settings.other_rates[i]
				       : brick->settings.rates[i];
		client->number = c->n_clients;
		c->clients[c->n_clients++] = client;
	}
	return c->clients;
}

uint32_t sim_brick_port(const struct sim_brick *brick, bool on_second)
{
	return SIM_PORT + brick->host.process.number + on_second * SIM_NETWORK;
}

/* brickd's settings as they are now: 0 or -ENOMEM. */
static int read_settings(void *ctx, struct brick_config *c)
{
	struct sim_brick *brick = ctx;
	const struct sim_brick_settings *s = &brick->settings;
	uint32_t n_networks = s->has_two_networks ? SIM_NETWORKS : 1;
	char err[BRICK_ERR_BYTES] = "", url[64];

	brick_config_init(c);
	c->log_level = sim_is_traced ? LOG_INFO : LOG_EMERG;
	c->auth = s->is_open ? BRICK_AUTH_NONE : BRICK_AUTH_REQUIRED;
	c->ddio = s->platform.declared_off ? BRICK_DDIO_OFF : BRICK_DDIO_ON;
	free(c->admin);
	c->admin = NULL;
	c->limits.lease_ms = s->lease_ms;
	c->limits.promote_wait_ms = s->promote_wait_ms;
	c->limits.stop_timeout_ms = s->stop_timeout_ms;
	c->limits.map_extent_max_bytes = (uint64_t)s->extent_blocks
					 << KFB_BLOCK_SHIFT;
	c->limits.alloc_max_blocks = s->alloc_max_blocks;
	c->limits.mappings = s->mappings;
	c->limits.credits = s->credits;
	if (s->queues_vary)
		c->limits.queues = brick->lives % 2 ? 4 : 1;
	if (s->is_tight) {
		c->limits.unauthenticated = 1;
		c->limits.unauthenticated_per_address = 1;
		c->limits.pending = 1;
		c->limits.pending_total = 1;
		c->limits.queues = 1;
	}
	for (uint32_t i = 0; i < n_networks; i++) {
		(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%u",
			       s->is_tcp ? "tcp" : "verbs",
			       sim_brick_port(brick, i));
		if (brick_config_add_listen(c, url, err, sizeof(err)))
			return -ENOMEM;
	}
	if (s->fencer)
		c->fences = strdup(SIM_FENCES_PATH);
	if (s->files.slow_bytes)
		c->slow = strdup(SIM_SLOW_PATH);
	if (brick_config_set_store(c, s->is_file ? SIM_STORE_PATH : "/medium",
				   err, sizeof(err)) ||
	    (!s->is_open && !add_clients(c, brick)))
		return -ENOMEM;
	return 0;
}

bool sim_brick_is_failing(const struct sim_brick *brick)
{
	return brick->files.n_failed != brick->n_failed_before;
}

/* What was to fail has failed in this life, so that others may fail, too. */
static bool is_excused(const struct sim_brick *brick)
{
	return sim_brick_is_failing(brick) ||
	       sim_memory_failures(brick->host.process.number);
}

/* Whoever waits for it comes before anything else is done. */
static void pass_moment(struct sim_brick *brick, enum sim_moment moment)
{
	if (!brick->scene)
		return;
	brick->moments[moment] = sim.n_events;
	sim_yield();
}

static int format_once(struct sim_brick *brick,
		       const struct brick_config *config)
{
	int rc;

	if (brick->is_formatted)
		return 0;
	rc = format(brick, config);
	if (rc)
		return rc;
	brick->is_formatted = true;
	pass_moment(brick, SIM_FORMATTED);
	return 0;
}

static void prepare_start(struct sim_brick *brick)
{
	pass_moment(brick, SIM_STARTING);
	if (brick->cuts_start.operations)
		sim_medium_cut_after(&brick->medium, brick->cuts_start);
	brick->cuts_start.operations = 0;
}

static void *serve(void *arg)
{
	struct sim_brick *brick = arg;
	struct brick_server *server = calloc(1, sizeof(*server));
	struct brick_config *config = calloc(1, sizeof(*config));
	char err[BRICK_ERR_BYTES] = "";
	int rc = -ENOMEM;

	brick->config = config;
	brick->is_at_rest = false;
	brick->lives++;
	brick->n_failed_before = brick->files.n_failed;
	if (server && config)
		rc = read_settings(brick, config);
	if (!rc)
		rc = format_once(brick, config);
	if (!rc)
		prepare_start(brick);
	if (!rc && brick->grows_to)
		rc = sim_brick_grow_store(brick, config->store, err,
					  sizeof(err));
	if (!rc) {
		server->reload.read = read_settings;
		server->reload.ctx = brick;
		rc = brick_server_start(server, config, err, sizeof(err));
	}
	if (rc) {
		sim_trace("brickd", "does not start: %s", err);
		if (!is_excused(brick))
			sim_violated("brickd does not start: %s", err);
		return NULL;
	}
	/* A start drops what was in memory only. */
	if (brick->files.n_failed != brick->n_forgotten && brick->forgets)
		brick->forgets(brick);
	brick->n_forgotten = brick->files.n_failed;
	sim_trace("brickd", "serves, life %llu",
		  (unsigned long long)brick->lives);
	rc = brick_server_run(server);
	if (brick_counted(&server->counters.rate_exceeded))
		sim_violated("brickd finds that a session exceeds its rate");
	if (brick_server_stop(server))
		rc = -EIO;
	brick->is_at_rest = !rc;
	if (rc && !is_excused(brick))
		sim_violated("brickd has not stopped as it should");
	return NULL;
}

/* What libc has of it does not go with the process. */
static void forget_settings(struct sim_brick *brick)
{
	if (brick->config)
		brick_config_fini(brick->config);
	brick->config = NULL;
}

static void start(struct sim_event *event)
{
	struct sim_brick *brick =
		sim_container_of(event, struct sim_brick, restart);

	if (brick->host.process.is_alive)
		return;
	forget_settings(brick);
	brick->host.is_off = false;
	brick->host.life++;
	sim_process_start(&brick->host.process, serve, brick);
}

static void start_later(struct sim_brick *brick, uint64_t down_ns)
{
	if (!brick->stays_down)
		sim_schedule(&brick->restart, sim.now_ns + down_ns);
}

static void ended(struct sim_process *process)
{
	sim_trace("brickd", "has stopped");
	start_later(brick_of(process), brick_of(process)->down_ns);
}

void sim_brick_kill(struct sim_brick *brick, uint64_t down_ns)
{
	if (!brick->host.process.is_alive)
		return;
	sim_trace("brickd", "is killed");
	sim_process_kill(&brick->host.process);
	start_later(brick, down_ns);
}

void sim_brick_stop(struct sim_brick *brick, uint64_t down_ns)
{
	if (!brick->host.process.is_alive)
		return;
	sim_trace("brickd", "is to stop");
	brick->down_ns = down_ns;
	if (!sim_process_signal(&brick->host.process, SIGTERM))
		sim_brick_kill(brick, down_ns);
}

static void new_boot(struct sim_brick *brick)
{
	for (size_t i = 0; i < sizeof(brick->host.boot_id); i++)
		brick->host.boot_id[i] = (uint8_t)sim_below(256);
}

void sim_brick_lose_power(struct sim_brick *brick, uint64_t down_ns)
{
	sim_trace("brick", "the power fails");
	brick->n_powers++;
	sim_medium_lose_power(&brick->medium);
	sim_files_lose_power(&brick->files);
	brick->host.is_off = true;
	sim_links_lose(&brick->host);
	sim_process_kill(&brick->host.process);
	new_boot(brick);
	sim_cancel(&brick->restart);
	start_later(brick, down_ns);
}

/* ---- the machine ---------------------------------------------------------------- */

void sim_brick_init(struct sim_brick *brick, uint32_t number,
		    const struct sim_brick_settings *settings, uint64_t seed)
{
	/* The medium and its files are large, and begin anew by themselves. */
	memset(&brick->host, 0, sizeof(brick->host));
	memset(&brick->scene, 0,
	       sizeof(*brick) - offsetof(struct sim_brick, scene));
	brick->host.process.name = "brickd";
	brick->host.process.number = number;
	brick->host.process.ended = ended;
	brick->host.medium = &brick->medium;
	brick->restart.fire = start;
	brick->settings = *settings;
	sim_medium_init(&brick->medium, number, &settings->platform, seed);
	brick->medium.bytes = settings->bytes;
	sim_files_init(&brick->files, number, brick->medium.seen,
		       brick->medium.kept, &settings->files, ~seed);
	if (settings->is_file)
		brick->medium.files = &brick->files;
	brick->host.files = &brick->files;
	new_boot(brick);
	brick_log_set_level(sim_is_traced ? LOG_INFO : LOG_EMERG);
	sim_schedule(&brick->restart, sim.now_ns);
}

void sim_brick_fini(struct sim_brick *brick)
{
	sim_process_kill(&brick->host.process);
	sim_cancel(&brick->restart);
	sim_cancel(&brick->restore);
	forget_settings(brick);
}
