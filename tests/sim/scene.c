// SPDX-License-Identifier: BSD-2-Clause
/* Scenes: who is there, what they are like, and how it ends: see scene.h. */
#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coverage.h"
#include "machine/fabric.h"
#include "proto/kfb_slot.h"

/* How long everybody has to come to an end when no more faults happen. */
#define END_NS (600 * SIM_S)
/* Processes: the bricks', then the clients', then machines with disks. */
#define CLIENTS_AT SIM_BRICKS_MAX
/* Blocks from one disk to the next. */
#define DISK_STEP	 8
#define QUOTA_PERMILLE	 300
#define RATE_PERMILLE	 150
#define DISK_PERMILLE	 500
#define DISKS_PERMILLE	 250 /* more than one of them, of those */
#define GUEST_PERMILLE	 500 /* on the machine of the first one, of those */
#define BRICKS_PERMILLE	 120
#define OPEN_PERMILLE	 60
#define SMALL_PERMILLE	 150 /* stores that have room to grow */
#define UNMOUNT_PERMILLE 500
#define VISITOR_PERMILLE 600 /* of another machine */
#define SHARED_PERMILLE	 450 /* of the first two disks, if that may be */
#define NETWORK_PERMILLE 250 /* bricks on two */
#define KNOWS_PERMILLE	 800 /* disks of those that know of both */

/* ---- the end ---------------------------------------------------------------------- */

static void begin_end(struct sim_event *event)
{
	struct sim_scene *s = sim_container_of(event, struct sim_scene, end);

	sim_trace("scene", "no more faults");
	sim_faults_end(s);
	for (uint32_t i = 0; i < s->n_clients; i++)
		s->clients[i].ends = true;
	for (uint32_t i = 0; i < s->n_disks; i++)
		s->disks[i].ends = true;
}

void sim_scene_forget(struct sim_brick *brick)
{
	struct sim_scene *s = brick->scene;

	for (uint32_t i = 0; i < s->n_clients; i++)
		for (uint32_t r = 0; r < SIM_CLIENT_REGS; r++)
			if (s->clients[i].brick == brick)
				sim_register_power(&s->clients[i].registers[r]);
	for (uint32_t i = 0; i < s->n_disks; i++)
		for (uint32_t r = 0; r < SIM_DISK_REGS; r++)
			if (s->disks[i].brick == brick)
				sim_register_power(&s->disks[i].registers[r]);
	if (brick == s->bricks)
		sim_shared_power(&s->shared);
}

static void give_up(struct sim_event *event)
{
	sim.is_over = true;
}

static void client_ended(struct sim_process *process)
{
	const struct sim_client *c = (const struct sim_client *)process;
	struct sim_scene *s = c->scene;

	sim_trace(c->name, "has ended");
	if (!--s->n_left)
		sim.is_over = true;
}

static void machine_ended(struct sim_process *process)
{
	const struct sim_disk *d = (const struct sim_disk *)process;

	sim_trace(d->name, "has ended");
	if (!--d->scene->n_left)
		sim.is_over = true;
}

void sim_scene_check(struct sim_scene *s)
{
	for (uint32_t i = 0; i < s->n_clients; i++) {
		const struct sim_client *c = &s->clients[i];

		if (!c->has_ended)
			sim_violated("%s waits for ever: in %s", c->name,
				     c->call);
	}
	for (uint32_t i = 0; i < s->n_disks; i++)
		if (!s->disks[i].has_ended)
			sim_violated("%s waits for ever: in %s",
				     s->disks[i].name, s->disks[i].call);
	sim_shared_check(&s->shared);
}

/* ---- who is there ------------------------------------------------------------------ */

static void choose_pace(uint64_t *dice)
{
	static const uint32_t yields[] = { 0, 5, 50, 300 };

	sim.pace.short_ns = (1 + sim_below_of(dice, 20)) * SIM_US;
	sim.pace.long_ns = (1 + sim_below_of(dice, 50)) * SIM_MS;
	sim.pace.long_permille = (uint32_t)sim_below_of(dice, 4);
	sim.pace.yield_permille = yields[sim_below_of(dice, 4)];
}

static void choose_platform(uint64_t *dice, struct sim_platform *p)
{
	static const uint32_t drains[] = { 0, 0, 100, 600 };

	*p = (struct sim_platform){ 0 };
	switch (sim_below_of(dice, 4)) {
	case 0:
		p->declared_off = true;
		break;
	case 1:
		p->ddio = true;
		p->eadr = true;
		break;
	default:
		p->ddio = sim_chance_of(dice, 700);
		break;
	}
	p->drain_permille = drains[sim_below_of(dice, 4)];
	p->evict_permille = (uint32_t)sim_below_of(dice, 3) * 20;
}

/* Memory, or a file; with a slow tier the store is a small one. */
static void choose_media(uint64_t *dice, struct sim_brick_settings *b)
{
	static const uint32_t write_backs[] = { 0, 2, 30 };
	static const uint64_t syncs_ns[] = { 0, 0, 100 * SIM_US, 3 * SIM_MS };
	bool has_slow = sim_chance_of(dice, 250);

	b->is_file = sim_chance_of(dice, 350);
	b->bytes = SIM_MEDIUM_BYTES;
	if (has_slow || sim_chance_of(dice, SMALL_PERMILLE))
		b->bytes = (12 + 2 * sim_below_of(dice, 5)) << 20;
	b->files = (struct sim_files_settings){
		.store_bytes = b->bytes,
		.slow_bytes =
			has_slow ? (8 + 2 * sim_below_of(dice, 8)) << 20 : 0,
		.has_mount_id = sim_chance_of(dice, 700),
		.run_is_closed = sim_chance_of(dice, 200),
		.write_back_permille = write_backs[sim_below_of(dice, 3)],
		.sync_ns = syncs_ns[sim_below_of(dice, 4)],
	};
}

static void choose_brick(uint64_t *dice, struct sim_brick_settings *b)
{
	static const uint32_t leases_ms[] = { 100, 100, 400, 3000, 3000 };
	static const uint32_t promotes_ms[] = { 0, 50, 5000, 5000 };
	static const uint32_t stops_ms[] = { 0, 20, 3000 };

	*b = (struct sim_brick_settings){ 0 };
	choose_platform(dice, &b->platform);
	choose_media(dice, b);
	b->is_tcp = b->is_file || sim_chance_of(dice, 250);
	/* There a CPU puts it in its place, and into its cache. */
	b->platform.placed = b->is_tcp;
	b->platform.ddio |= b->is_tcp;
	b->lease_ms = leases_ms[sim_below_of(dice, 5)];
	b->promote_wait_ms = promotes_ms[sim_below_of(dice, 4)];
	b->stop_timeout_ms = stops_ms[sim_below_of(dice, 3)];
	b->extent_blocks = sim_chance_of(dice, 300) ? 1 : SIM_BLOCKS_MAX;
	b->alloc_max_blocks = SIM_BLOCKS_MAX;
	b->mappings = 16;
	b->is_tight = sim_chance_of(dice, 150);
	b->queues_vary = sim_chance_of(dice, 200);
	b->credits = sim_chance_of(dice, 300) ? KFB_CREDITS_MIN : 16;
}

static void choose_client(uint64_t *dice, struct sim_client_settings *c)
{
	static const uint32_t words[] = { 8, 16, 64, 512 };
	static const uint32_t timeouts_ms[] = { 200, 1000, 1000, 5000 };

	*c = (struct sim_client_settings){
		.churn_permille = sim_chance_of(dice, 300) ? 200 : 16,
		.n_blocks = 1 + (uint32_t)sim_below_of(dice, 3),
		.n_spares = (uint32_t)sim_below_of(dice, SIM_SPARES_MAX + 1),
		.n_registers =
			1 + (uint32_t)sim_below_of(dice, SIM_CLIENT_REGS),
		.n_words = words[sim_below_of(dice, 4)],
		.queues = 1 + (uint32_t)sim_below_of(dice, 4),
		.reconnect_ms = sim_chance_of(dice, 250) ? 0 : 60000,
		.timeout_ms = timeouts_ms[sim_below_of(dice, 4)],
		.think_us = (uint32_t)sim_below_of(dice, 100),
		.posted_max = 1 + (uint32_t)sim_below_of(dice, SIM_POSTED_MAX),
	};
	c->retains = c->reconnect_ms && sim_chance_of(dice, 300);
}

/* ---- clients ----------------------------------------------------------------------- */

static void add_client(struct sim_scene *s, uint32_t i, uint64_t *dice,
		       enum sim_sharing sharing, uint64_t *quotas)
{
	struct sim_brick *brick = &s->bricks[sim_below_of(dice, s->n_bricks)];
	uint64_t networks = sim.seed ^ (UINT64_C(0xa54ff53a5f1d36f1) + i);
	struct sim_client_settings c;

	choose_client(dice, &c);
	/* What they share the first brick has. */
	if (brick != s->bricks)
		sharing = SIM_SHARES_NOTHING;
	/* There is room for what is shared. */
	if (!brick->settings.is_open && sim_chance_of(quotas, QUOTA_PERMILLE))
		c.quota = c.n_blocks + (sharing != SIM_SHARES_NOTHING) +
			  (uint32_t)sim_below_of(quotas, c.n_spares + 1);
	brick->settings.quotas[i] = c.quota;
	brick->settings.other_quotas[i] =
		c.quota && sim_chance_of(quotas, 500) ? 0 : c.n_blocks - 1;
	brick->settings.may_differ[i] =
		sharing == SIM_SHARES_NOTHING && !brick->settings.is_open;
	c.port = sim_brick_port(brick, brick->settings.has_two_networks &&
					       sim_chance_of(&networks, 500));
	c.lease_ms = brick->settings.lease_ms;
	c.is_tcp = brick->settings.is_tcp;
	c.is_nameless = brick->settings.is_open;
	c.sharing = sharing;
	/*
	 * What is posted again, or copied, is for who writes alone. Those without
	 * names are one client, whose turns the brick cannot tell apart.
	 */
	if (sharing == SIM_SHARES ||
	    (sharing == SIM_TAKES_TURNS && c.is_nameless))
		c.reconnect_ms = 0;
	/* The library refuses copies of what is shared. */
	c.retains &= sharing == SIM_SHARES_NOTHING;
	sim_client_init(&s->clients[i], CLIENTS_AT + i, i, &c,
			sim_below_of(dice, UINT64_MAX));
	s->clients[i].host.process.ended = client_ended;
	s->clients[i].owns_more = sharing != SIM_SHARES_NOTHING;
	s->clients[i].scene = s;
	s->clients[i].brick = brick;
	s->clients[i].shared = &s->shared;
}

/* ---- disks -------------------------------------------------------------------------- */

/* There is no room for two large ones. */
static void make_small(uint64_t *dice, struct sim_disk_settings *d)
{
	d->n_blocks = 1 + (uint32_t)sim_below_of(dice, 2);
	d->grows_to = d->n_blocks + (uint32_t)sim_below_of(dice, 2);
	d->queues = d->queues > 4 ? 4 : d->queues;
}

/* The second disk writes the blocks of the first one, from another machine. */
static bool may_share(const struct sim_scene *s, uint32_t at)
{
	uint64_t dice = sim.seed ^ UINT64_C(0x510e527fade682d1);

	return at < 2 && s->n_disks > 1 && !s->bricks[0].settings.is_open &&
	       sim_chance_of(&dice, SHARED_PERMILLE);
}

/* What a shared disk does not have, and what both have alike. */
static void make_shared(const struct sim_scene *s, uint32_t at,
			struct sim_disk_settings *d)
{
	const struct sim_disk_settings *first = &s->disks[0].settings;

	d->is_shared = true;
	d->is_thin = false;
	d->map_cache = d->retain_mb = d->ro_permille = d->visit_ms = 0;
	d->is_visited_when_connecting = d->is_visited_by_itself = false;
	if (!at)
		return;
	d->first_va = first->first_va;
	d->n_blocks = first->n_blocks;
	d->grows_to = first->grows_to;
	d->n_words = first->n_words;
	d->sector_bytes = first->sector_bytes;
}

/* As another client, behind the blocks of those that there may be. */
static void add_disk(struct sim_scene *s, uint32_t at, uint64_t *dice)
{
	struct sim_disk *first = &s->disks[0], *machine = NULL;
	struct sim_brick *brick = &s->bricks[sim_below_of(dice, s->n_bricks)];
	bool is_shared = may_share(s, at);
	struct sim_disk_settings d;
	uint32_t number = s->n_clients + at;
	uint64_t block = SIM_CLIENTS_MAX * SIM_PLACES + at * DISK_STEP;
	uint64_t networks = sim.seed ^ (UINT64_C(0xbb67ae8584caa73b) + at);

	if (is_shared)
		brick = &s->bricks[0];
	sim_disk_choose(dice, brick->settings.is_tcp, &d);
	d.lease_ms = brick->settings.lease_ms;
	d.is_nameless = brick->settings.is_open;
	d.has_two_networks = brick->settings.has_two_networks &&
			     !d.is_nameless &&
			     sim_chance_of(&networks, KNOWS_PERMILLE);
	d.first_va = block << KFB_BLOCK_SHIFT;
	if (s->n_disks > 1)
		make_small(dice, &d);
	/* Clients are told apart by their names. */
	if (d.is_nameless)
		d.map_cache = d.visit_ms = 0;
	/* Behind it there is nothing. */
	if (!at && sim_chance_of(dice, 150))
		d.first_va = -((uint64_t)d.grows_to << KFB_BLOCK_SHIFT);
	if (!at)
		sim_disk_choose_losses(dice, &d);
	if (is_shared)
		make_shared(s, at, &d);
	if (at) {
		d.visit_ms = 0;
		machine = is_shared				? NULL
			  : sim_chance_of(dice, GUEST_PERMILLE) ? first
								: NULL;
	}
	/* The same client, and the same addresses, of another brick. */
	if (at == 1 && machine && brick != first->brick &&
	    sim_chance_of(dice, 500)) {
		number = first->number;
		d.first_va = first->settings.first_va;
		d.n_blocks = d.grows_to = 1;
	}
	sim_disk_init(&s->disks[at], at, CLIENTS_AT + s->n_clients + at, number,
		      machine, &d, sim_below_of(dice, UINT64_MAX));
	s->disks[at].host.process.ended = machine_ended;
	s->disks[at].scene = s;
	s->disks[at].brick = brick;
	if (is_shared && at)
		sim_cluster_init(&s->cluster, first, &s->disks[at],
				 CLIENTS_AT + s->n_clients + s->n_disks,
				 s->n_clients + s->n_disks,
				 sim.seed ^ UINT64_C(0x9b05688c2b3e6c1f));
}

/* Somebody of its own machine, or of the next one, who wants its blocks, too. */
static void add_visitor(struct sim_scene *s, uint64_t *dice)
{
	struct sim_disk *d = &s->disks[0], *machine = d;

	if (!d->settings.visit_ms)
		return;
	for (uint32_t i = 1; i < s->n_disks; i++)
		if (s->disks[i].machine != d &&
		    !d->settings.is_visited_when_connecting &&
		    sim_chance_of(dice, VISITOR_PERMILLE))
			machine = s->disks[i].machine;
	d->squatter.number = d->number;
	if (machine != d || !d->settings.is_visited_by_itself)
		d->squatter.number = s->n_clients + s->n_disks;
	d->squatter.machine = machine;
	machine->visitor = &d->squatter;
}

static uint32_t count_machines(const struct sim_scene *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_disks; i++)
		n += s->disks[i].machine == &s->disks[i];
	return n;
}

/* ---- all of it ------------------------------------------------------------------------ */

/* Who is there, as numbers. */
static void choose_people(struct sim_scene *s, uint64_t *dice)
{
	s->n_bricks = 1 + sim_chance_of(dice, BRICKS_PERMILLE);
	s->n_disks = sim_chance_of(dice, DISK_PERMILLE);
	s->n_clients = !s->n_disks + (uint32_t)sim_below_of(dice, 3);
	if (!s->n_disks || !sim_chance_of(dice, DISKS_PERMILLE))
		return;
	s->n_disks += 1 + sim_chance_of(dice, 300);
	s->n_clients = s->n_clients > 1 ? 1 : s->n_clients;
}

static struct kfb_rate some_rate(uint64_t *rates)
{
	struct kfb_rate rate = { 0 };

	if (sim_chance_of(rates, 500))
		rate.bytes_per_s = (uint64_t)KFB_RATE_BYTES_MIN
				   << sim_below_of(rates, 5);
	if (!rate.bytes_per_s || sim_chance_of(rates, 500))
		rate.ops_per_s =
			KFB_RATE_OPS_MIN + (uint32_t)sim_below_of(rates, 500);
	return rate;
}

/* How much clients may move, in some worlds. */
static void choose_rates(struct sim_brick_settings *b, uint64_t *rates)
{
	if (b->is_open || !sim_chance_of(rates, RATE_PERMILLE))
		return;
	for (uint32_t i = 0; i < b->n_clients; i++) {
		if (sim_chance_of(rates, 700))
			b->rates[i] = some_rate(rates);
		if (sim_chance_of(rates, 700))
			b->other_rates[i] = some_rate(rates);
	}
}

static void add_bricks(struct sim_scene *s, uint64_t *dice)
{
	uint64_t mounts = sim.seed ^ UINT64_C(0x6a09e667f3bcc908);
	uint64_t networks = sim.seed ^ UINT64_C(0x3c6ef372fe94f82b);
	uint64_t rates = sim.seed ^ UINT64_C(0x510e527fade682d1);
	struct sim_brick_settings b;

	for (uint32_t i = 0; i < s->n_bricks; i++) {
		choose_brick(dice, &b);
		b.n_clients = s->n_clients + s->n_disks + 1; /* a squatter */
		b.is_open = sim_chance_of(dice, OPEN_PERMILLE);
		b.is_unmounted = sim_chance_of(&mounts, UNMOUNT_PERMILLE);
		b.has_two_networks = sim_chance_of(&networks, NETWORK_PERMILLE);
		if (s->n_disks && sim_chance_of(dice, 200))
			b.mappings = 2;
		choose_rates(&b, &rates);
		sim_brick_init(&s->bricks[i], i, &b,
			       sim_below_of(dice, UINT64_MAX));
		s->bricks[i].scene = s;
		s->bricks[i].forgets = sim_scene_forget;
	}
}

struct sim_scene *sim_scene_new(uint64_t seed, uint64_t faults)
{
	enum sim_sharing sharing;
	uint64_t quotas = seed ^ UINT64_C(0x2545f4914f6cdd1d);
	static struct sim_scene scene;
	struct sim_scene *s = &scene;
	uint64_t dice = seed ^ UINT64_C(0x9e3779b97f4a7c15), span_ns;

	sim_world_init(~dice);
	sim.seed = seed;
	sim_fabric_init();
	choose_pace(&dice);
	choose_people(s, &dice);
	sharing = (enum sim_sharing)sim_below_of(&dice, 3);
	sim_shared_init(&s->shared);
	add_bricks(s, &dice);
	for (uint32_t i = 0; i < s->n_clients; i++)
		add_client(s, i, &dice, sharing, &quotas);
	s->cluster.brick = NULL;
	sim_disk_told_init(s);
	sim_disks_are_nowhere();
	for (uint32_t i = 0; i < s->n_disks; i++)
		add_disk(s, i, &dice);
	if (s->n_disks)
		add_visitor(s, &dice);
	s->n_left = s->n_clients + count_machines(s);
	span_ns = (20 + sim_below_of(&dice, 500)) * SIM_MS;
	sim_faults_make(s, &dice, span_ns, faults);
	s->end.fire = begin_end;
	s->limit.fire = give_up;
	sim_schedule(&s->end, sim.now_ns + span_ns);
	sim_schedule(&s->limit, sim.now_ns + span_ns + END_NS);
	return s;
}

void sim_scene_count(const struct sim_scene *s, uint64_t *lives,
		     uint64_t *writes, uint64_t *reads, uint64_t *flushes,
		     uint64_t *losses)
{
	for (uint32_t i = 0; i < s->n_bricks; i++)
		*lives += s->bricks[i].lives;
	for (uint32_t i = 0; i < s->n_clients; i++) {
		*writes += s->clients[i].n_writes;
		*reads += s->clients[i].n_reads;
		*flushes += s->clients[i].n_flushes;
		*losses += s->clients[i].n_losses;
	}
	for (uint32_t i = 0; i < s->n_disks; i++) {
		*writes += s->disks[i].n_writes;
		*reads += s->disks[i].n_reads;
		*flushes += s->disks[i].n_flushes;
	}
}

void sim_scene_free(struct sim_scene *s)
{
	for (uint32_t i = 0; i < s->n_clients; i++)
		sim_client_fini(&s->clients[i]);
	for (uint32_t i = 0; i < s->n_disks; i++)
		sim_disk_fini(&s->disks[i]);
	sim_cluster_fini(&s->cluster);
	for (uint32_t i = 0; i < s->n_bricks; i++)
		sim_brick_fini(&s->bricks[i]);
}
