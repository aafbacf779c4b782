// SPDX-License-Identifier: BSD-2-Clause
/* What clients do with a block of all of them: see shared.h. */
#include "shared.h"

#include <errno.h>
#include <string.h>

#include "../brick.h"
#include "client.h"
#include "kfbrick.h"
#include "proto/kfb_wire.h"

/* Behind all that clients have of their own. */
#define SHARED_BLOCK 1024
#define WORDS	     (SIM_SHARED_BYTES / sizeof(uint64_t))
#define CLIENT_SHIFT 32
#define UNMAP_CHANCE 60
#define WRITE_CHANCE 500
/* At the end of a world. */
#define TRY_NS	  (20 * SIM_MS)
#define TRIES	  600
#define TRIES_MAX 3000

static uint64_t va_of(uint32_t reg)
{
	return ((uint64_t)SHARED_BLOCK << KFB_BLOCK_SHIFT) +
	       (uint64_t)reg * SIM_SHARED_BYTES;
}

void sim_shared_init(struct sim_shared *s)
{
	for (uint32_t i = 0; i < SIM_SHARED_REGS; i++) {
		sim_history_init(&s->first[i], 2 * i);
		sim_history_init(&s->last[i], 2 * i + 1);
	}
	memset(s->told, 0, sizeof(s->told));
}

void sim_shared_power(struct sim_shared *s)
{
	for (uint32_t i = 0; i < SIM_SHARED_REGS; i++) {
		sim_history_power(&s->first[i]);
		sim_history_power(&s->last[i]);
	}
}

void sim_shared_check(struct sim_shared *s)
{
	for (uint32_t i = 0; i < SIM_SHARED_REGS; i++) {
		sim_history_check(&s->first[i]);
		sim_history_check(&s->last[i]);
	}
}

/* ---- a client's part --------------------------------------------------------- */

static int map(struct sim_client *c)
{
	bool is_shared = c->settings.sharing == SIM_SHARES;
	int rc;

	c->call = "map what is shared";
	sim_births_ask(c);
	rc = kfbrick_map(c->k, va_of(0), 1,
			 KFBRICK_MAP_RW |
				 (is_shared ? KFBRICK_MAP_SHARED
					    : KFBRICK_MAP_EXCLUSIVE |
						      KFBRICK_MAP_NOWAIT),
			 &c->shared_mapping);
	if (rc)
		c->shared_mapping = NULL;
	if (rc)
		sim_births_refused(c, rc == -EBUSY);
	else
		sim_births_told(c);
	c->call = "nothing";
	/* Lost with a bad line, or for a while not its any more. */
	if (rc == -EIO)
		c->settings.sharing = SIM_SHARES_NOTHING;
	return rc == -EIO || (!is_shared && (rc == -EBUSY || rc == -EAGAIN))
		       ? 0
		       : rc;
}

int sim_shared_get(struct sim_client *c)
{
	int rc;

	if (c->settings.sharing == SIM_SHARES_NOTHING)
		return 0;
	c->call = "alloc what is shared";
	rc = kfbrick_alloc(c->k, va_of(0), 1);
	c->call = "nothing";
	if (rc != -EEXIST)
		sim_births_begin_anew(c->shared);
	/* Whoever came first has allocated it; nobody frees it. */
	return rc && rc != -EEXIST ? rc : map(c);
}

static bool unmap(struct sim_client *c)
{
	int rc;

	if (!sim_client_settle(c))
		return false;
	c->call = "unmap what is shared";
	rc = kfbrick_unmap(c->k, c->shared_mapping);
	/* It flushes first, and says so. */
	c->call = "nothing";
	if (sim_client_keeps(rc))
		return true;
	if (rc)
		c->is_untold = false;
	c->shared_mapping = NULL;
	sim_births_left(c, !rc);
	return rc != -ENOTCONN && rc != -ECONNRESET;
}

/* Return: of libkfbrick. */
static int post_write(struct sim_client *c, struct sim_posted *p)
{
	int rc;

	/* A value that nobody else writes, in each word. */
	p->value = (uint64_t)(c->number + 1) << CLIENT_SHIFT |
		   ++c->n_shared_writes;
	for (size_t i = 0; i < WORDS; i++)
		p->words[i] = p->value;
	rc = kfbrick_post_write_durable(c->k, va_of(p->shared), p->words,
					SIM_SHARED_BYTES, p);
	if (rc)
		return rc;
	sim_history_write(&c->shared->first[p->shared], p->value);
	sim_history_write(&c->shared->last[p->shared], p->value);
	sim_trace(c->name, "writes what is shared, %u: %llx", p->shared,
		  (unsigned long long)p->value);
	sim_client_posted(c, p, SIM_POSTED_SHARED_WRITE, NULL);
	return 0;
}

static int post_read(struct sim_client *c, struct sim_posted *p)
{
	int rc = kfbrick_post_read(c->k, va_of(p->shared), p->words,
				   SIM_SHARED_BYTES, p);

	p->begin_ns = sim.now_ns;
	if (!rc)
		sim_client_posted(c, p, SIM_POSTED_SHARED_READ, NULL);
	return rc;
}

bool sim_shared_step(struct sim_client *c)
{
	struct sim_posted *p;
	int rc;

	if (c->settings.sharing == SIM_SHARES_NOTHING)
		return true;
	if (!c->shared_mapping) {
		rc = map(c);
		return rc != -ENOTCONN && rc != -ECONNRESET;
	}
	if (c->settings.sharing == SIM_TAKES_TURNS &&
	    sim_chance_of(&c->chance, UNMAP_CHANCE))
		return unmap(c);
	p = sim_client_place(c);
	if (!p)
		return true;
	p->shared = (uint32_t)sim_below_of(&c->chance, SIM_SHARED_REGS);
	rc = sim_chance_of(&c->chance, WRITE_CHANCE) ? post_write(c, p)
						     : post_read(c, p);
	return sim_client_is_refused(rc) ? unmap(c) : true;
}

/* Somebody has it mapped, as far as he knows. */
static bool is_anybodys(const struct sim_client *c)
{
	for (uint32_t i = 0; i < SIM_CLIENTS_MAX; i++)
		if (c->shared->told[i].until_ns >= sim.now_ns)
			return true;
	return false;
}

/* A mapping that nobody knows of any more goes, or the session does that has it. */
bool sim_shared_end(struct sim_client *c)
{
	uint64_t life = c->brick->lives;
	uint32_t n_tries = 0;
	int rc;

	if (c->settings.sharing != SIM_TAKES_TURNS)
		return true;
	/* There may be no room for it in memory for as long as others are there. */
	for (uint32_t i = 0; i < TRIES_MAX && !c->shared_mapping; i++) {
		rc = map(c);
		if (rc == -ENOTCONN || rc == -ECONNRESET)
			return false;
		if (rc || c->shared_mapping || c->brick->lives != life ||
		    c->settings.sharing != SIM_TAKES_TURNS)
			break;
		sim_sleep(sim.now_ns + TRY_NS);
		if (is_anybodys(c))
			n_tries = 0;
		if (++n_tries < TRIES)
			continue;
		sim_violated("%s: what is shared is busy, and nobody has it",
			     c->name);
		return false;
	}
	return !c->shared_mapping || unmap(c);
}

void sim_shared_done(struct sim_client *c, struct sim_posted *p, int error)
{
	struct sim_history *first = &c->shared->first[p->shared];
	struct sim_history *last = &c->shared->last[p->shared];

	sim_trace(c->name, "has %s what is shared, %u: %s, %llx",
		  p->kind == SIM_POSTED_SHARED_READ ? "read" : "written",
		  p->shared, error ? strerror(-error) : "ok",
		  (unsigned long long)p->words[0]);
	if (error)
		return;
	if (p->kind == SIM_POSTED_SHARED_WRITE) {
		sim_history_written(first, p->value);
		sim_history_written(last, p->value);
		return;
	}
	sim_history_read(first, p->words[0], p->begin_ns);
	sim_history_read(last, p->words[WORDS - 1], p->begin_ns);
}
