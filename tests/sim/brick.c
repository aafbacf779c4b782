// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickd as it is, from brick_server_start() to brick_server_stop(), on a
 * machine of the simulated world. Its start-up test of the fabric is taken as
 * passed.
 */
#include "brick.h"

#include <signal.h>
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
#include "fabric.h"
#include "oracle.h"

#define FIRST_PID 0x400000 /* more than Linux gives out */
#define HALF	  500

int __wrap_brick_media_open(const char *path,
			    const struct brick_media_create *create,
			    struct brick_media **out, char *err,
			    size_t err_len);
int __wrap_brick_platform_read(const struct brick_media *m,
			       struct brick_platform *out);
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
	*out = sim_medium_open(&current_brick()->medium);
	return 0;
}

int __wrap_brick_platform_read(const struct brick_media *m,
			       struct brick_platform *out)
{
	const struct sim_platform *platform = &current_brick()->medium.platform;

	*out = (struct brick_platform){
		.backing = BRICK_BACKING_PMEM,
		.domain = platform->eadr ? BRICK_DOMAIN_CACHES
					 : BRICK_DOMAIN_MEMORY,
		.bad_known = true,
	};
	return 0;
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
	long pid;
	int n;

	if (!sim_current || strncmp(path, proc, sizeof(proc) - 1) != 0)
		return __real_fopen64(path, mode);
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

static void format(struct sim_brick *brick)
{
	struct brick_store_format store = { .force = true };
	char err[BRICK_ERR_BYTES] = "";
	struct brick_media *m = sim_medium_open(&brick->medium);

	memcpy(store.uuid, "simulated brick", sizeof(store.uuid));
	if (brick_store_format(m, &store, err, sizeof(err)))
		sim_die("cannot format a medium: %s", err);
	brick_media_close(m);
}

static void *serve(void *arg)
{
	struct sim_brick *brick = arg;
	struct brick_server *server = calloc(1, sizeof(*server));
	char err[BRICK_ERR_BYTES] = "";
	int rc;

	if (!server)
		sim_die("no memory for brickd");
	brick->lives++;
	if (!brick->is_formatted)
		format(brick);
	brick->is_formatted = true;
	rc = brick_server_start(server, brick->config, err, sizeof(err));
	if (rc) {
		sim_violated("brickd does not start: %s", err);
		return NULL;
	}
	sim_trace("brickd", "serves, life %llu",
		  (unsigned long long)brick->lives);
	rc = brick_server_run(server);
	if (rc || brick_server_stop(server))
		sim_violated("brickd has not stopped as it should");
	return NULL;
}

static void start(struct sim_event *event)
{
	struct sim_brick *brick =
		sim_container_of(event, struct sim_brick, restart);

	if (brick->host.process.is_alive)
		return;
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
	sim_process_signal(&brick->host.process, SIGTERM);
}

static void new_boot(struct sim_brick *brick)
{
	for (size_t i = 0; i < sizeof(brick->host.boot_id); i++)
		brick->host.boot_id[i] = (uint8_t)sim_below(256);
}

void sim_brick_lose_power(struct sim_brick *brick, uint64_t down_ns)
{
	sim_trace("brick", "the power fails");
	sim_medium_lose_power(&brick->medium);
	brick->host.is_off = true;
	sim_links_lose(&brick->host);
	sim_process_kill(&brick->host.process);
	new_boot(brick);
	sim_cancel(&brick->restart);
	start_later(brick, down_ns);
}

/* ---- the machine ---------------------------------------------------------------- */

void sim_client_key(uint32_t number, uint8_t key[32])
{
	memset(key, (int)number + 1, 32);
}

void sim_client_name(uint32_t number, char name[24])
{
	(void)snprintf(name, 24, "client%u", number);
}

static void add_clients(struct brick_config *c, uint32_t n)
{
	const struct kfb_grant all = { .n_blocks = KFB_BLOCKS_MAX,
				       .access = KFB_GRANT_RW };

	c->clients = calloc(n, sizeof(struct brick_client *));
	for (uint32_t i = 0; c->clients && i < n; i++) {
		struct brick_client *client = calloc(1, sizeof(*client));

		if (!client)
			sim_die("no memory for a client");
		sim_client_name(i, client->name);
		client->owner = brick_owner_hash(client->name);
		sim_client_key(i, client->key);
		(void)brick_grants_add(&client->grants, &all);
		c->clients[c->n_clients++] = client;
	}
}

static struct brick_config *settings_of(uint32_t number,
					const struct sim_brick_settings *s)
{
	struct brick_config *c = calloc(1, sizeof(*c));
	char err[BRICK_ERR_BYTES] = "", url[64];

	if (!c)
		sim_die("no memory for settings");
	brick_config_init(c);
	c->auth = BRICK_AUTH_REQUIRED;
	c->ddio = s->platform.declared_off ? BRICK_DDIO_OFF : BRICK_DDIO_ON;
	free(c->admin);
	c->admin = NULL;
	c->limits.lease_ms = s->lease_ms;
	c->limits.alloc_max_blocks = s->alloc_max_blocks;
	c->limits.mappings = s->mappings;
	c->limits.credits = s->credits;
	(void)snprintf(url, sizeof(url), "verbs://127.0.0.1:%u",
		       SIM_PORT + number);
	if (brick_config_set_store(c, "/medium", err, sizeof(err)) ||
	    brick_config_add_listen(c, url, err, sizeof(err)))
		sim_die("settings: %s", err);
	add_clients(c, s->n_clients);
	return c;
}

void sim_brick_init(struct sim_brick *brick, uint32_t number,
		    const struct sim_brick_settings *settings, uint64_t seed)
{
	brick->host.process.name = "brickd";
	brick->host.process.number = number;
	brick->host.process.ended = ended;
	brick->host.medium = &brick->medium;
	brick->restart.fire = start;
	brick->restart.place = 0;
	brick->host.life = 0;
	brick->lives = 0;
	brick->stays_down = false;
	brick->is_formatted = false;
	sim_medium_init(&brick->medium, number, &settings->platform, seed);
	new_boot(brick);
	brick->config = settings_of(number, settings);
	brick_log_set_level(sim_is_traced ? LOG_INFO : LOG_EMERG);
	sim_schedule(&brick->restart, sim.now_ns);
}

void sim_brick_fini(struct sim_brick *brick)
{
	sim_process_kill(&brick->host.process);
	sim_cancel(&brick->restart);
	brick_config_fini(brick->config);
	free(brick->config);
	brick->config = NULL;
}
