// SPDX-License-Identifier: BSD-2-Clause
/* Scenes and their faults: see faults.h. */
#include "faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "brick.h"
#include "client.h"
#include "coverage.h"
#include "fabric.h"
#include "proto/kfb_slot.h"

#define FAULTS_MAX 64
/* How long everybody has to come to an end when no more faults happen. */
#define END_NS (600 * SIM_S)
/* Operations of brickd's on its medium. */
#define SOON_MAX   40
#define CLIENTS_AT 1 /* processes: the brick's, then the clients' */

enum fault_kind {
	FAULT_CUT,
	FAULT_HOLD,
	FAULT_KILL_BRICK,
	FAULT_STOP_BRICK,
	FAULT_POWER,
	FAULT_POWER_SOON, /* in the middle of what brickd stores */
	FAULT_KILL_CLIENT,
	FAULT_KINDS,
};

/* What befalls, in words. */
static const char *const names[FAULT_KINDS] = {
	[FAULT_CUT] = "a link is cut",
	[FAULT_HOLD] = "a link is held",
	[FAULT_KILL_BRICK] = "the daemon is killed",
	[FAULT_STOP_BRICK] = "the daemon is stopped",
	[FAULT_POWER] = "the power fails",
	[FAULT_POWER_SOON] = "the power fails during a store",
	[FAULT_KILL_CLIENT] = "a client is killed",
};

struct fault {
	struct sim_event due;
	struct sim_scene *scene;
	enum fault_kind kind;
	uint64_t at_ns;
	uint64_t which;
	uint64_t ns;
};

struct sim_scene {
	struct sim_brick brick;
	uint32_t n_clients;
	uint32_t n_left;
	struct sim_client clients[SIM_CLIENTS_MAX];
	struct sim_shared shared;
	uint64_t down_ns;
	uint32_t n_faults;
	struct fault faults[FAULTS_MAX];
	struct sim_event end;
	struct sim_event limit;
};

/* ---- what befalls them ---------------------------------------------------------- */

static void lose_power(struct sim_scene *s, uint64_t down_ns)
{
	sim_brick_lose_power(&s->brick, down_ns);
	sim_shared_power(&s->shared);
}

static void power_fails(struct sim_event *event)
{
	struct sim_scene *s =
		sim_container_of(event, struct sim_scene, brick.medium.cut);

	lose_power(s, s->down_ns);
}

static void befall(struct sim_event *event)
{
	struct fault *f = sim_container_of(event, struct fault, due);
	struct sim_scene *s = f->scene;
	uint32_t n_links = sim_links_count();

	for (uint32_t i = 0; i < s->n_clients; i++)
		sim_cover_fault(f->kind, sim_client_state(&s->clients[i]));
	switch (f->kind) {
	case FAULT_CUT:
		if (n_links)
			sim_link_cut((uint32_t)(f->which % n_links));
		break;
	case FAULT_HOLD:
		if (n_links)
			sim_link_hold((uint32_t)(f->which % n_links),
				      sim.now_ns + f->ns);
		break;
	case FAULT_KILL_BRICK:
		sim_brick_kill(&s->brick, f->ns);
		break;
	case FAULT_STOP_BRICK:
		sim_brick_stop(&s->brick, f->ns);
		break;
	case FAULT_POWER:
		lose_power(s, f->ns);
		break;
	case FAULT_POWER_SOON:
		s->down_ns = f->ns;
		sim_medium_cut_after(&s->brick.medium,
				     1 + (uint32_t)(f->which % SOON_MAX));
		break;
	case FAULT_KILL_CLIENT:
		if (s->n_clients)
			sim_client_kill(&s->clients[f->which % s->n_clients],
					f->ns);
		break;
	case FAULT_KINDS:
		break;
	}
}

static void make_faults(struct sim_scene *s, uint64_t *dice, uint64_t span_ns,
			uint64_t faults)
{
	uint32_t weights[FAULT_KINDS], sum = 0;

	for (uint32_t i = 0; i < FAULT_KINDS; i++)
		sum += weights[i] = (uint32_t)sim_below_of(dice, 4) *
				    (uint32_t)sim_below_of(dice, 8);
	s->n_faults = (uint32_t)sim_below_of(dice, FAULTS_MAX);
	for (uint32_t i = 0; sum && i < s->n_faults; i++) {
		struct fault *f = &s->faults[i];
		uint64_t pick = sim_below_of(dice, sum);

		while (pick >= weights[f->kind])
			pick -= weights[f->kind++];
		f->scene = s;
		f->which = sim_below_of(dice, 1 << 20);
		f->ns = sim_below_of(dice, sim_chance_of(dice, 200)
						   ? 2 * SIM_S
						   : 20 * SIM_MS);
		f->due.fire = befall;
		f->at_ns = sim.now_ns + sim_below_of(dice, span_ns);
		if (faults >> i & 1)
			sim_schedule(&f->due, f->at_ns);
	}
}

/* ---- the end ---------------------------------------------------------------------- */

static void begin_end(struct sim_event *event)
{
	struct sim_scene *s = sim_container_of(event, struct sim_scene, end);

	sim_trace("scene", "no more faults");
	for (uint32_t i = 0; i < s->n_clients; i++)
		s->clients[i].ends = true;
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

void sim_scene_check(struct sim_scene *s)
{
	for (uint32_t i = 0; i < s->n_clients; i++) {
		const struct sim_client *c = &s->clients[i];

		if (!c->has_ended)
			sim_violated("%s waits for ever: in %s", c->name,
				     c->call);
	}
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

static void choose_brick(uint64_t *dice, struct sim_brick_settings *b)
{
	choose_platform(dice, &b->platform);
	b->lease_ms = sim_chance_of(dice, 500) ? 100 : 3000;
	b->alloc_max_blocks = SIM_BLOCKS_MAX;
	b->mappings = 16;
	b->credits = sim_chance_of(dice, 300) ? KFB_CREDITS_MIN : 16;
}

static void choose_client(uint64_t *dice, struct sim_client_settings *c)
{
	static const uint32_t words[] = { 8, 16, 64, 512 };

	*c = (struct sim_client_settings){
		.churn_permille = sim_chance_of(dice, 300) ? 200 : 16,
		.n_blocks = 1 + (uint32_t)sim_below_of(dice, 3),
		.n_spares = (uint32_t)sim_below_of(dice, SIM_SPARES_MAX + 1),
		.n_registers =
			1 + (uint32_t)sim_below_of(dice, SIM_CLIENT_REGS),
		.n_words = words[sim_below_of(dice, 4)],
		.queues = 1 + (uint32_t)sim_below_of(dice, 4),
		.reconnect_ms = sim_chance_of(dice, 250) ? 0 : 60000,
		.timeout_ms = 1000,
		.think_us = (uint32_t)sim_below_of(dice, 100),
		.posted_max = 1 + (uint32_t)sim_below_of(dice, SIM_POSTED_MAX),
	};
	c->retains = c->reconnect_ms && sim_chance_of(dice, 300);
}

struct sim_scene *sim_scene_new(uint64_t seed, uint64_t faults)
{
	struct sim_brick_settings b;
	struct sim_client_settings c;
	enum sim_sharing sharing;
	static struct sim_scene scene;
	struct sim_scene *s = &scene;
	uint64_t dice = seed ^ UINT64_C(0x9e3779b97f4a7c15), span_ns;

	sim_world_init(~dice);
	sim_fabric_init();
	choose_pace(&dice);
	choose_brick(&dice, &b);
	s->n_clients = 1 + (uint32_t)sim_below_of(&dice, 3);
	sharing = (enum sim_sharing)sim_below_of(&dice, 3);
	sim_shared_init(&s->shared);
	s->n_left = s->n_clients;
	b.n_clients = s->n_clients;
	s->brick.medium.cut.fire = power_fails;
	sim_brick_init(&s->brick, 0, &b, sim_below_of(&dice, UINT64_MAX));
	for (uint32_t i = 0; i < s->n_clients; i++) {
		choose_client(&dice, &c);
		c.lease_ms = b.lease_ms;
		c.sharing = sharing;
		/* What is posted again, or copied, is for who writes alone. */
		if (sharing == SIM_SHARES)
			c.reconnect_ms = 0;
		c.retains &= sharing == SIM_SHARES_NOTHING;
		sim_client_init(&s->clients[i], CLIENTS_AT + i, i, &c,
				sim_below_of(&dice, UINT64_MAX));
		s->clients[i].host.process.ended = client_ended;
		s->clients[i].scene = s;
		s->clients[i].shared = &s->shared;
	}
	span_ns = (20 + sim_below_of(&dice, 500)) * SIM_MS;
	memset(s->faults, 0, sizeof(s->faults));
	make_faults(s, &dice, span_ns, faults);
	s->end.fire = begin_end;
	s->limit.fire = give_up;
	sim_schedule(&s->end, sim.now_ns + span_ns);
	sim_schedule(&s->limit, sim.now_ns + span_ns + END_NS);
	return s;
}

uint64_t sim_scene_faults(const struct sim_scene *s)
{
	return s->n_faults ? UINT64_MAX >> (64 - s->n_faults) : 0;
}

void sim_scene_print(const struct sim_scene *s, uint64_t faults)
{
	for (uint32_t i = 0; i < s->n_faults; i++)
		if (faults >> i & 1)
			printf("  %6llu.%06llu %s\n",
			       (unsigned long long)(s->faults[i].at_ns /
						    SIM_MS),
			       (unsigned long long)(s->faults[i].at_ns %
						    SIM_MS),
			       names[s->faults[i].kind]);
}

void sim_scene_print_coverage(void)
{
	sim_coverage_print(names, FAULT_KINDS);
}

void sim_scene_count(const struct sim_scene *s, uint64_t *lives,
		     uint64_t *writes, uint64_t *reads, uint64_t *flushes,
		     uint64_t *losses)
{
	*lives += s->brick.lives;
	for (uint32_t i = 0; i < s->n_clients; i++) {
		*writes += s->clients[i].n_writes;
		*reads += s->clients[i].n_reads;
		*flushes += s->clients[i].n_flushes;
		*losses += s->clients[i].n_losses;
	}
}

void sim_scene_free(struct sim_scene *s)
{
	for (uint32_t i = 0; i < s->n_clients; i++)
		sim_client_fini(&s->clients[i]);
	sim_brick_fini(&s->brick);
}
