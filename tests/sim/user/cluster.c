// SPDX-License-Identifier: BSD-2-Clause
/*
 * Blocks that the disks of two machines write at one time, each its own registers, and
 * the engine of the two: it allocates the blocks, and fences a host now and then, from
 * when on nothing that this one has sent may change them (docs/kfbrick.md).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../disk/disk.h"
#include "../machine/fabric.h"
#include "initiator/lib/kfbrick.h"
#include "../scene.h"

#define RETRY_NS	(20 * SIM_MS)
#define TIMEOUT_MS	1000
#define REST_NS		(50 * SIM_MS)
#define WAIT_NS		(2 * SIM_MS)
#define WAITS_MAX	200
#define FENCED_NS	(300 * SIM_MS)
#define FENCES_PERMILLE 600
/* Whoever has fenced a host looks at once, or does not look at all. */
#define LOOKS_PERMILLE 800

static uint64_t below(struct sim_cluster *c, uint64_t bound)
{
	return sim_below_of(&c->chance, bound);
}

static struct kfbrick *connect_to(const struct sim_cluster *c)
{
	uint8_t key[KFBRICK_KEY_BYTES];
	struct kfbrick *k = NULL;
	char url[64];
	const struct kfbrick_config config = {
		.size = sizeof(config),
		.brick = url,
		.client = c->name,
		.key = key,
		.timeout_ms = TIMEOUT_MS,
		.queues = 1,
		.queue_depth = 2,
	};

	sim_client_key(c->number, key);
	(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%u",
		       c->brick->settings.is_tcp ? "tcp" : "verbs",
		       sim_brick_port(c->brick, false));
	if (!kfbrick_connect(&config, &k))
		return k;
	kfbrick_close(k);
	return NULL;
}

/* So that whoever has fenced a host can look at once. */
static struct kfbrick *connect_and_map(struct sim_cluster *c)
{
	const struct sim_disk_settings *s = &c->disks[0]->settings;
	struct kfbrick_mapping *mapping;
	struct kfbrick *k = connect_to(c);

	if (k)
		(void)kfbrick_map(k, s->first_va, s->grows_to,
				  KFBRICK_MAP_RO | KFBRICK_MAP_SHARED,
				  &mapping);
	return k;
}

/* All of them, or none. */
static void allocate(struct sim_cluster *c)
{
	const struct sim_disk_settings *s = &c->disks[0]->settings;
	struct kfbrick *k;
	int rc;

	do {
		k = connect_to(c);
		rc = k ? kfbrick_alloc(k, s->first_va, s->grows_to) : -ENOTCONN;
		kfbrick_close(k);
		sim_trace(c->name, "allocates for all hosts: %d", rc);
		c->is_full = rc == -ENOSPC;
		if (rc)
			sim_sleep(sim.now_ns + RETRY_NS);
	} while (rc && rc != -EEXIST && !sim.is_over);
	c->is_full = false;
}

/* ---- fences -------------------------------------------------------------------- */

/* What a disk's registers hold. */
struct sight {
	uint64_t words[SIM_DISK_REGS][SIM_WORDS_MAX];
};

/* Whether it can be compared with another one: nothing is lost meanwhile. */
static uint64_t count_losses(const struct sim_brick *brick)
{
	return brick->n_powers + brick->files.n_failed + brick->n_spoiled;
}

/* Its blocks are mapped. */
static int look_at(struct kfbrick *k, const struct sim_disk *d,
		   struct sight *sight)
{
	int rc = 0;

	for (uint32_t i = 0; i < d->settings.n_registers && !rc; i++) {
		const struct sim_register *r = &d->registers[i];
		uint64_t floor = r->writes[0].serial;

		rc = kfbrick_read(k, r->va, sight->words[i], 8 * r->n_words);
		if (!rc)
			sim_register_seen(r, floor, sight->words[i]);
	}
	return rc;
}

static void compare(const struct sim_disk *d, const struct sight *one,
		    const struct sight *other)
{
	for (uint32_t i = 0; i < d->settings.n_registers; i++)
		if (memcmp(one->words[i], other->words[i],
			   8 * d->registers[i].n_words) != 0)
			sim_violated(
				"%s: register %u has changed since it was fenced",
				d->name, d->registers[i].number);
}

/* While it is kept out its bytes stay what they are. */
static void watch(struct sim_cluster *c, struct kfbrick *k,
		  const struct sim_disk *d)
{
	struct sight *sights = calloc(2, sizeof(*sights));
	uint64_t before = count_losses(c->brick);
	bool looks = sim_chance_of(&c->chance, LOOKS_PERMILLE);
	bool is_seen;

	if (!sights)
		sim_die("no memory for who looks at a fenced host");
	is_seen = looks && !look_at(k, d, &sights[0]);
	sim_sleep(sim.now_ns + below(c, FENCED_NS));
	sim_trace(c->name, "looks at %s again: %s", d->name,
		  is_seen ? "it was seen" : "it was not");
	if (is_seen && !look_at(k, d, &sights[1]) &&
	    count_losses(c->brick) == before)
		compare(d, &sights[0], &sights[1]);
	free(sights);
}

/* Until the brick says so: it may have been in vain, or done and not answered. */
static struct kfbrick *order(struct sim_cluster *c, struct kfbrick *k,
			     int (*what)(struct kfbrick *k, const char *client),
			     const struct sim_disk *d)
{
	int rc;

	while (!sim.is_over) {
		if (!k)
			k = connect_and_map(c);
		rc = k ? what(k, d->name) : -ENOTCONN;
		sim_trace(c->name, "%s %s: %d",
			  what == kfbrick_fence ? "fences" : "admits", d->name,
			  rc);
		if (!rc)
			break;
		kfbrick_close(k);
		k = NULL;
		sim_sleep(sim.now_ns + RETRY_NS);
	}
	return k;
}

/* Mostly there is somebody to be kept out, who is about to write. */
static void wait_for(struct sim_cluster *c, const struct sim_disk *d)
{
	for (uint32_t i = 0; i < WAITS_MAX && !d->open && !d->ends; i++)
		sim_sleep(sim.now_ns + WAIT_NS);
	sim_sleep(sim.now_ns + below(c, WAIT_NS));
}

static void fence_one(struct sim_cluster *c)
{
	const struct sim_disk *d = c->disks[below(c, 2)];
	struct kfbrick *k = connect_and_map(c);

	wait_for(c, d);
	/* From now on there is a reason for its end, until it is attached anew. */
	c->brick->n_revoked[d->number]++;
	k = order(c, k, kfbrick_fence, d);
	if (!sim.is_over)
		watch(c, k, d);
	k = order(c, k, kfbrick_admit, d);
	kfbrick_close(k);
	/* Who was told that it may not is told so for as long. */
	c->brick->n_revoked[d->number]++;
}

static void *live(void *arg)
{
	struct sim_cluster *c = arg;
	bool fences = sim_chance_of(&c->chance, FENCES_PERMILLE);

	allocate(c);
	while (fences && !sim.is_over && !c->disks[0]->ends) {
		sim_sleep(sim.now_ns + below(c, REST_NS));
		if (!c->disks[0]->ends)
			fence_one(c);
	}
	return NULL;
}

static void begin(struct sim_event *event)
{
	struct sim_cluster *c =
		sim_container_of(event, struct sim_cluster, begin);

	sim_process_start(&c->host.process, live, c);
}

void sim_cluster_init(struct sim_cluster *c, struct sim_disk *one,
		      struct sim_disk *other, uint32_t process, uint32_t number,
		      uint64_t seed)
{
	memset(c, 0, sizeof(*c));
	one->partner = other;
	other->partner = one;
	c->disks[0] = one;
	c->disks[1] = other;
	c->brick = one->brick;
	c->number = number;
	c->chance = seed;
	sim_client_name(number, c->name);
	c->host.process.name = c->name;
	c->host.process.number = process;
	c->brick->settings.fencer = number + 1;
	c->brick->settings.is_host[number] = true;
	c->brick->settings.is_host[one->number] = true;
	c->brick->settings.is_host[other->number] = true;
	c->begin.fire = begin;
	sim_schedule(&c->begin, sim.now_ns + 1);
}

void sim_cluster_fini(struct sim_cluster *c)
{
	if (!c->brick)
		return;
	sim_process_kill(&c->host.process);
	sim_cancel(&c->begin);
}
