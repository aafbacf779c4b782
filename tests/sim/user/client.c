// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program over libkfbrick: it connects, maps its blocks, writes, reads and
 * flushes what chance has it, and notes what it is told.
 */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../brick.h"
#include "../machine/fabric.h"
#include "initiator/lib/internal.h"
#include "kfbrick.h"
#include "../machine/memory.h"
#include "../scene.h"

int __real_kfb_client_init(struct kfb_client *session,
			   const struct kfb_client_config *config, __u8 *tx);
int __wrap_kfb_client_init(struct kfb_client *session,
			   const struct kfb_client_config *config, __u8 *tx);

#define POLL_MS	      50
#define BATCH	      8
#define RETRY_NS      (20 * SIM_MS)
#define GRACE_NS      (2 * SIM_S)
#define PERMILLE      1000
#define ACCEPT_CHANCE 300
#define SHARED_CHANCE 300
#define LOOK_CHANCE   300
#define HALF	      500
#define MAPS_MAX      3

static uint64_t below(struct sim_client *c, uint64_t bound)
{
	return sim_below_of(&c->chance, bound);
}

static bool chance(struct sim_client *c, uint32_t permille)
{
	return sim_chance_of(&c->chance, permille);
}

static uint64_t first_va(const struct sim_client *c)
{
	return sim_client_va(c->number);
}

static uint64_t va_of(const struct sim_client *c, uint32_t block)
{
	return first_va(c) + ((uint64_t)block << KFB_BLOCK_SHIFT);
}

static void said(struct sim_client *c, const char *what, int rc)
{
	c->call = "nothing";
	if (rc == -ETIMEDOUT)
		c->unanswered = sim.n_events;
	if (rc < 0)
		sim_trace(c->name, "%s: %s: %s", what, strerror(-rc),
			  kfbrick_error(c->k));
}

bool sim_client_is_refused(int error)
{
	return error == -EIO || error == -EACCES || error == -ENOMEM ||
	       error == -ESTALE;
}

bool sim_client_keeps(int error)
{
	return error == -ENOMEM || error == -EAGAIN;
}

/* ---- what is posted ---------------------------------------------------------- */

struct sim_posted *sim_client_place(struct sim_client *c)
{
	if (c->n_posted >= c->settings.posted_max)
		return NULL;
	for (uint32_t i = 0; i < SIM_POSTED_MAX; i++)
		if (c->posted[i].kind == SIM_POSTED_NONE)
			return &c->posted[i];
	return NULL;
}

void sim_client_posted(struct sim_client *c, struct sim_posted *p,
		       enum sim_posted_kind kind, struct sim_register *r)
{
	p->kind = kind;
	p->r = r;
	p->n_losses = c->n_losses - kfbrick_losses(c->k, NULL, 0);
	p->was_untold = c->is_untold;
	p->may_be_told = c->is_untold || c->has_accepted;
	p->life = c->brick->lives;
	c->n_posted++;
	if (r)
		c->is_busy[r - c->registers] = true;
}

static void unpost(struct sim_client *c, struct sim_posted *p)
{
	if (p->r)
		c->is_busy[p->r - c->registers] = false;
	p->kind = SIM_POSTED_NONE;
	p->r = NULL;
	c->n_posted--;
}

static struct sim_register *some_register(struct sim_client *c)
{
	uint32_t at = (uint32_t)below(c, c->settings.n_registers);

	return c->is_busy[at] ? NULL : &c->registers[at];
}

static void post_write(struct sim_client *c)
{
	struct sim_posted *p = sim_client_place(c);
	struct sim_register *r = some_register(c);
	bool is_durable = chance(c, 60);
	int rc;

	if (!p || !r || !sim_register_has_room(r))
		return;
	sim_register_write(r, c->epoch, p->words);
	rc = (is_durable ? kfbrick_post_write_durable : kfbrick_post_write)(
		c->k, r->va, p->words, r->n_words * sizeof(uint64_t), p);
	if (rc) {
		/* It has not begun. */
		r->n--;
		r->serial--;
		said(c, "post_write", rc);
		c->is_stale |= sim_client_is_refused(rc);
		return;
	}
	sim_trace(c->name, "writes %u, %llu%s", r->number,
		  (unsigned long long)r->serial, is_durable ? " durably" : "");
	sim_client_posted(
		c, p, is_durable ? SIM_POSTED_DURABLE : SIM_POSTED_WRITE, r);
	c->n_writes++;
}

static bool post_read_of(struct sim_client *c, struct sim_register *r)
{
	struct sim_posted *p = sim_client_place(c);
	int rc;

	if (!p || c->is_busy[r - c->registers])
		return false;
	rc = kfbrick_post_read(c->k, r->va, p->words,
			       r->n_words * sizeof(uint64_t), p);
	said(c, "post_read", rc);
	c->is_stale |= sim_client_is_refused(rc);
	if (rc)
		return false;
	sim_client_posted(c, p, SIM_POSTED_READ, r);
	c->n_reads++;
	return true;
}

static void post_flush(struct sim_client *c)
{
	struct sim_posted *p = sim_client_place(c);
	int rc;

	if (!p)
		return;
	for (uint32_t i = 0; i < c->settings.n_registers; i++)
		p->marks[i] = sim_register_mark(&c->registers[i], c->epoch);
	rc = kfbrick_post_flush(c->k, p);
	said(c, "post_flush", rc);
	if (!rc)
		sim_client_posted(c, p, SIM_POSTED_FLUSH, NULL);
}

static void flush_done(struct sim_client *c, const struct sim_posted *p,
		       int error)
{
	bool is_told;

	sim_trace(c->name, "flush: %s", error ? strerror(-error) : "ok");
	if (!error && p->was_untold && c->is_untold &&
	    !sim_client_flushes_besides(c, p))
		sim_violated("%s: a flush has failed, and nobody is told",
			     c->name);
	if (!error) {
		for (uint32_t i = 0; i < c->settings.n_registers; i++)
			sim_register_flushed(&c->registers[i], p->marks[i]);
		c->n_flushes++;
		return;
	}
	/* Also of what the brick has answered to somebody else since it was posted. */
	is_told = p->may_be_told || (c->is_untold && c->is_owed);
	c->is_untold = false;
	sim_client_hear_losses(c);
	/* A medium fails until brickd is started again, or it is of another flush. */
	if (error == -EIO && c->n_losses == p->n_losses && !is_told &&
	    !sim_brick_is_failing(c->brick) && p->life == c->brick->lives)
		sim_violated("%s: a flush fails with EIO, and nothing is lost: "
			     "%s",
			     c->name, kfbrick_error(c->k));
	c->has_accepted = false;
	if (chance(c, ACCEPT_CHANCE))
		sim_client_accept_losses(c);
}

static void done(struct sim_client *c, struct sim_posted *p, int error)
{
	struct sim_register *r = p->r;

	c->is_stale |= r && sim_client_is_refused(error);
	if (r && !error)
		sim_client_rate_moved(c, r->n_words * sizeof(uint64_t));
	switch (p->kind) {
	case SIM_POSTED_WRITE:
	case SIM_POSTED_DURABLE:
		sim_trace(c->name, "has written %u: %s", r->number,
			  error ? strerror(-error) : "ok");
		sim_register_written(r, !error);
		if (!error && p->kind == SIM_POSTED_DURABLE)
			sim_register_flushed(r, r->serial);
		break;
	case SIM_POSTED_READ:
		sim_trace(c->name, "has read %u: %s, %llu", r->number,
			  error ? strerror(-error) : "ok",
			  (unsigned long long)(p->words[0] >> 22));
		if (!error)
			sim_register_read(r, c->epoch, p->words);
		break;
	case SIM_POSTED_FLUSH:
		flush_done(c, p, error);
		break;
	case SIM_POSTED_SHARED_WRITE:
	case SIM_POSTED_SHARED_READ:
		sim_shared_done(c, p, error);
		break;
	case SIM_POSTED_NONE:
		sim_violated("%s: a completion of nothing", c->name);
		return;
	}
	unpost(c, p);
}

static bool is_flush(const struct kfbrick_completion *completion)
{
	const struct sim_posted *p = completion->context;

	return p->kind == SIM_POSTED_FLUSH;
}

/* Return: false: the connection is lost for good. */
static bool collect(struct sim_client *c, int timeout_ms)
{
	struct kfbrick_completion completions[BATCH];
	int n;

	c->call = "poll";
	n = kfbrick_poll(c->k, completions, BATCH, timeout_ms);
	said(c, "poll", n);
	sim_client_hear_losses(c);
	/* What else has completed it knows before it accepts a loss. */
	for (int i = 0; i < 2 * n; i++)
		if (is_flush(&completions[i % n]) == (i >= n))
			done(c, completions[i % n].context,
			     completions[i % n].error);
	return n >= 0;
}

/* ---- blocks -------------------------------------------------------------------- */

static void zeros_in(struct sim_client *c, uint32_t block)
{
	for (uint32_t i = 0; i < c->settings.n_registers; i++)
		if ((c->registers[i].va - first_va(c)) >> KFB_BLOCK_SHIFT ==
		    block)
			sim_register_zeros(&c->registers[i]);
}

/*
 * What LIST says against what it knows. How a change has ended that failed with its
 * medium, the next start says, and no answer from before it (@is_final).
 */
static void check_block(struct sim_client *c, uint32_t block, bool is_there,
			bool is_final)
{
	enum sim_block_state was = c->blocks[block];

	c->is_listed[block] = is_there;
	if (was == SIM_BLOCK_UNKNOWN && !is_final)
		return;
	if (was == SIM_BLOCK_THERE && !is_there)
		sim_violated("%s: block 0x%llx is gone", c->name,
			     (unsigned long long)va_of(c, block));
	if (was == SIM_BLOCK_NONE && is_there)
		sim_violated("%s: block 0x%llx is there, and was freed",
			     c->name, (unsigned long long)va_of(c, block));
	c->blocks[block] = is_there ? SIM_BLOCK_THERE : SIM_BLOCK_NONE;
}

/* One that was not answered was carried out as a whole, or not at all. */
static void check_asked(struct sim_client *c, const bool *is_there)
{
	for (uint32_t i = 1; i < c->n_asked; i++)
		if (c->blocks[c->asked] == SIM_BLOCK_UNKNOWN &&
		    is_there[c->asked + i] != is_there[c->asked])
			sim_violated(
				"%s: %u blocks from 0x%llx were asked for, "
				"and some are there",
				c->name, c->n_asked,
				(unsigned long long)va_of(c, c->asked));
	c->n_asked = 0;
}

/* Looks which of its blocks are there: 0 or a negative errno. */
static int look_at_blocks(struct sim_client *c)
{
	uint64_t cursor = first_va(c), end = va_of(c, sim_client_n_places(c));
	struct kfbrick_extent extents[BATCH];
	bool is_there[SIM_PLACES] = { false };
	const struct sim_brick *brick = c->brick;
	uint64_t life = brick->lives;
	bool is_final = !sim_brick_is_failing(brick);
	int n;

	memset(c->is_bad, 0, sizeof(c->is_bad));
	c->call = "list";
	do {
		n = kfbrick_list(c->k, KFBRICK_LIST_ALLOCATED, &cursor, extents,
				 BATCH, NULL);
		for (int i = 0; i < n; i++)
			for (uint32_t b = 0; b < sim_client_n_places(c); b++)
				if (va_of(c, b) - extents[i].va <
				    extents[i].n_blocks << KFB_BLOCK_SHIFT) {
					is_there[b] = true;
					c->is_bad[b] = extents[i].flags &
						       KFBRICK_EXTENT_BAD;
				}
	} while (n >= 0 && cursor && cursor < end);
	said(c, "list", n);
	if (n < 0)
		return n;
	is_final &= !sim_brick_is_failing(brick) && brick->lives == life;
	check_asked(c, is_there);
	for (uint32_t b = 0; b < sim_client_n_places(c); b++)
		check_block(c, b, is_there[b], is_final);
	return 0;
}

static void note_blocks(struct sim_client *c, uint32_t block, uint32_t n,
			enum sim_block_state state)
{
	while (n--)
		c->blocks[block + n] = state;
}

/*
 * Whether they are there before the answer nobody knows. True: before that it was known:
 * not of what a medium has failed to do, in the life in which it was refused.
 */
static bool ask(struct sim_client *c, const char *call, uint32_t block,
		uint32_t n)
{
	bool is_known = true;

	for (uint32_t i = 0; i < n; i++)
		is_known &= c->blocks[block + i] != SIM_BLOCK_UNKNOWN;
	note_blocks(c, block, n, SIM_BLOCK_UNKNOWN);
	c->asked = block;
	c->n_asked = n;
	c->asked_ns = sim.now_ns;
	c->call = call;
	return is_known;
}

static int alloc_blocks(struct sim_client *c, uint32_t block, uint32_t n)
{
	bool is_known = ask(c, "alloc", block, n);
	int rc;

	rc = kfbrick_alloc(c->k, va_of(c, block), n);
	said(c, "alloc", rc);
	if (!rc)
		note_blocks(c, block, n, SIM_BLOCK_THERE);
	else if (rc == -ENOSPC)
		note_blocks(c, block, n, SIM_BLOCK_NONE);
	else if (rc == -EDQUOT && !c->brick->settings.is_tight)
		sim_violated("%s: a limit is reached, of which there is none",
			     c->name);
	else if (rc == -EEXIST && is_known)
		sim_violated("%s: block 0x%llx exists already", c->name,
			     (unsigned long long)va_of(c, block));
	sim_client_check_quota(c, n, rc);
	return rc;
}

static int free_blocks(struct sim_client *c, uint32_t block, uint32_t n)
{
	bool is_known = ask(c, "free", block, n);
	int rc;

	rc = kfbrick_free(c->k, va_of(c, block), n);
	said(c, "free", rc);
	if (!rc)
		note_blocks(c, block, n, SIM_BLOCK_NONE);
	else if (rc == -ENOENT && is_known)
		sim_violated("%s: block 0x%llx does not exist", c->name,
			     (unsigned long long)va_of(c, block));
	return rc;
}

/* Something has to have happened to the medium. */
static void check_bad(const struct sim_client *c, uint32_t block)
{
	const struct sim_brick *brick = c->brick;

	if (!brick->n_bad && !brick->is_damaged && !brick->files.n_failed)
		sim_violated("%s: block 0x%llx is lost, and nothing is bad",
			     c->name, (unsigned long long)va_of(c, block));
}

/*
 * Who was not answered may ask again, in the same session: what is granted too late is
 * given back, however long the brick cannot do that, and is busy until then.
 */
static int map_blocks(struct sim_client *c)
{
	uint32_t n_left = chance(c, HALF) ? MAPS_MAX : 0;
	bool was_late = false;
	int rc;

	for (;;) {
		c->call = "map";
		rc = kfbrick_map(c->k, first_va(c), c->settings.n_blocks,
				 KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
				 &c->mapping);
		said(c, "map", rc);
		if (rc == -ETIMEDOUT && n_left--)
			was_late = true;
		else if (rc != -EBUSY || !was_late)
			return rc;
		sim_sleep(sim.now_ns + RETRY_NS);
	}
}

static int get_blocks(struct sim_client *c)
{
	int rc = look_at_blocks(c);

	for (uint32_t b = 0; !rc && b < c->settings.n_blocks; b++) {
		if (c->blocks[b] == SIM_BLOCK_THERE && c->is_bad[b]) {
			check_bad(c, b);
			rc = free_blocks(c, b, 1);
			if (rc)
				break;
			c->is_listed[b] = false;
		}
		if (c->blocks[b] == SIM_BLOCK_THERE || c->is_listed[b])
			continue;
		zeros_in(c, b);
		rc = alloc_blocks(c, b, 1);
	}
	if (rc)
		return rc;
	rc = map_blocks(c);
	if (!rc)
		sim_trace(c->name, "has its blocks");
	if (!rc && chance(c, LOOK_CHANCE))
		sim_client_check_mapped(c);
	c->is_stale = rc;
	return rc;
}

/* Some blocks without registers come or go. */
static bool change_spares(struct sim_client *c)
{
	uint32_t block, n = 1;
	bool is_new;
	int rc;

	if (!c->settings.n_spares)
		return true;
	block = c->settings.n_blocks + (uint32_t)below(c, c->settings.n_spares);
	while (block + n < sim_client_n_places(c) && chance(c, 600) &&
	       c->blocks[block + n] == c->blocks[block])
		n++;
	is_new = c->blocks[block] == SIM_BLOCK_NONE;
	if (c->blocks[block] == SIM_BLOCK_UNKNOWN)
		rc = look_at_blocks(c);
	else if (c->blocks[block] != SIM_BLOCK_NONE)
		rc = free_blocks(c, block, n);
	else
		rc = alloc_blocks(c, block, n);
	if (!rc && is_new)
		return sim_client_use_spares(c, va_of(c, block), n);
	return rc != -ENOTCONN && rc != -ECONNRESET && rc != -ETIMEDOUT;
}

/* Everything that is posted has ended, or the connection has. */
bool sim_client_settle(struct sim_client *c)
{
	while (c->n_posted)
		if (!collect(c, POLL_MS))
			return false;
	return true;
}

/* Unmaps, now and then frees, and maps again. */
static bool change_blocks(struct sim_client *c)
{
	int rc;

	if (!sim_client_settle(c))
		return false;
	c->call = "unmap";
	rc = kfbrick_unmap(c->k, c->mapping);
	said(c, "unmap", rc);
	if (sim_client_keeps(rc))
		return true;
	if (rc == -EBUSY)
		sim_violated("%s: nothing is posted, and a mapping is busy",
			     c->name);
	c->mapping = NULL;
	sim_client_hear_losses(c);
	/* It flushes first, and says so. */
	if (rc)
		c->is_untold = false;
	/* What was not flushed before an unmap that failed may be gone. */
	if (rc)
		sim_client_lose_all(c);
	for (uint32_t b = 0; !rc && b < c->settings.n_blocks; b++)
		if (chance(c, 400))
			rc = free_blocks(c, b, 1);
	/* It may still be carried out, also when its session has been evicted. */
	if (rc == -ETIMEDOUT || rc == -ECONNRESET)
		return false;
	rc = get_blocks(c);
	while (rc == -EBUSY || rc == -EAGAIN || (rc == -ENOSPC && !c->ends)) {
		sim_sleep(sim.now_ns + RETRY_NS);
		rc = get_blocks(c);
	}
	return !rc;
}

/* ---- its life -------------------------------------------------------------------- */

static int connect_to(struct sim_client *c)
{
	char url[64];
	uint8_t key[KFBRICK_KEY_BYTES];
	const struct sim_client_settings *s = &c->settings;
	const struct kfbrick_config config = {
		.size = sizeof(config),
		.brick = url,
		.client = s->is_nameless ? NULL : c->name,
		.key = s->is_nameless ? NULL : key,
		.timeout_ms = s->timeout_ms,
		.reconnect_ms = s->reconnect_ms,
		.queues = s->queues,
		.queue_depth = 2 * SIM_POSTED_MAX,
		.retain_bytes = s->retains ? KFBRICK_RETAIN_MIN_BYTES : 0,
	};
	int rc;

	(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%u",
		       s->is_tcp ? "tcp" : "verbs", s->port);
	sim_client_key(c->number, key);
	c->call = "connect";
	rc = kfbrick_connect(&config, &c->k);
	sim_client_rate_begin(c);
	if (rc)
		c->session = NULL;
	said(c, "connect", rc);
	return rc;
}

/* Memory of this process for what is posted. */
static int register_words(struct sim_client *c)
{
	struct kfbrick_memory *memory;

	c->words = calloc(SIM_POSTED_MAX, SIM_REGISTER_BYTES);
	if (!c->words)
		sim_die("no memory for a client's words");
	for (uint32_t i = 0; i < SIM_POSTED_MAX; i++)
		c->posted[i].words = c->words + (size_t)i * SIM_WORDS_MAX;
	return kfbrick_memory_register(
		c->k, c->words, (size_t)SIM_POSTED_MAX * SIM_REGISTER_BYTES,
		&memory);
}

static void think(struct sim_client *c)
{
	uint64_t us = below(c, c->settings.think_us + 1);

	if (chance(c, 3))
		us *= 200;
	sim_sleep(sim.now_ns + us * SIM_US);
}

/* One thing more. Return: false: the connection is lost for good. */
static bool step(struct sim_client *c)
{
	uint64_t dice = below(c, PERMILLE);

	if (c->is_stale)
		return change_blocks(c);
	if (chance(c, c->settings.churn_permille))
		return change_spares(c);
	if (c->settings.sharing != SIM_SHARES_NOTHING &&
	    chance(c, SHARED_CHANCE))
		return sim_shared_step(c);
	if (dice < 450)
		post_write(c);
	else if (dice < 600) {
		struct sim_register *r = some_register(c);

		if (r)
			post_read_of(c, r);
	} else if (dice < 660) {
		post_flush(c);
	} else if (dice < 664) {
		return change_blocks(c);
	} else if (dice < 730) {
		if (sim_client_hear_losses(c) && chance(c, ACCEPT_CHANCE))
			sim_client_accept_losses(c);
	} else {
		return collect(c, dice < 860 ? 0 : POLL_MS);
	}
	if (dice & 1)
		think(c);
	return true;
}

static bool read_all(struct sim_client *c)
{
	if (!sim_client_settle(c))
		return false;
	for (uint32_t i = 0; i < c->settings.n_registers; i++)
		while (!post_read_of(c, &c->registers[i]))
			if (c->is_stale || !collect(c, POLL_MS))
				return false;
	return sim_client_settle(c) && !c->is_stale;
}

/* Until it is to end, or the connection is lost for good, or it likes. */
static void use(struct sim_client *c)
{
	while (!c->ends && !sim.is_over)
		if (!step(c) || chance(c, 1))
			return;
	if (!read_all(c) || !sim_shared_end(c))
		return;
	sim_client_check_slots(c);
	c->has_ended = true;
}

/* The process has no memory of what was posted. */
static void forget(struct sim_client *c)
{
	for (uint32_t i = 0; i < SIM_POSTED_MAX; i++)
		if (c->posted[i].kind != SIM_POSTED_NONE)
			unpost(c, &c->posted[i]);
	for (uint32_t i = 0; i < c->settings.n_registers; i++)
		sim_register_give_up(&c->registers[i]);
	/* What was not flushed may be gone with its connection. */
	sim_client_lose_all(c);
	c->is_untold = false;
	c->mapping = NULL;
	c->shared_mapping = NULL;
	sim_births_left(c, false);
	c->words = NULL;
}

/*
 * A request of an earlier session may still be carried out, as long as the brick
 * keeps that: who has asked for a block, and was not answered, waits for its end.
 */
static void outlive_earlier(struct sim_client *c)
{
	for (uint32_t b = 0; b < sim_client_n_places(c); b++) {
		if (c->blocks[b] != SIM_BLOCK_UNKNOWN)
			continue;
		sim_sleep(sim.now_ns + 2 * c->settings.lease_ms * SIM_MS +
			  GRACE_NS);
		return;
	}
}

/* libkfbrick makes a session. */
int __wrap_kfb_client_init(struct kfb_client *session,
			   const struct kfb_client_config *config, __u8 *tx)
{
	int rc = __real_kfb_client_init(session, config, tx);

	/* Who allocates is none. */
	if (sim_host_of(sim_current->process)->client)
		((struct sim_client *)sim_current->process)->session = session;
	return rc;
}

static void *live(void *arg)
{
	struct sim_client *c = arg;
	int rc;

	forget(c);
	while (!c->has_ended && !sim.is_over) {
		outlive_earlier(c);
		c->epoch++;
		rc = connect_to(c);
		if (!rc)
			rc = register_words(c);
		if (!rc)
			rc = get_blocks(c);
		if (rc == -ENOSPC && c->ends)
			sim_client_check_full(c, va_of(c, c->asked));
		if (!rc)
			rc = sim_shared_get(c);
		if (!rc)
			use(c);
		else if (rc == -ENOSPC && c->ends)
			c->has_ended = true; /* others have all there is */
		c->call = "close";
		c->session = NULL;
		kfbrick_close(c->k);
		c->k = NULL;
		free(c->words);
		c->words = NULL;
		c->call = "nothing";
		forget(c);
		if (!c->has_ended)
			sim_sleep(sim.now_ns + RETRY_NS);
	}
	return NULL;
}

static void start(struct sim_event *event)
{
	struct sim_client *c =
		sim_container_of(event, struct sim_client, restart);

	c->host.life++;
	sim_process_start(&c->host.process, live, c);
}

uint32_t sim_client_state(const struct sim_client *c)
{
	return c->host.process.is_alive && c->session
		       ? kfb_client_state(c->session)
		       : KFB_CLIENT_IDLE;
}

void sim_client_kill(struct sim_client *c, uint64_t down_ns)
{
	if (!c->host.process.is_alive || c->has_ended)
		return;
	sim_trace(c->name, "is killed");
	sim_process_kill(&c->host.process);
	c->k = NULL;
	c->session = NULL;
	sim_schedule(&c->restart, sim.now_ns + down_ns);
}

void sim_client_init(struct sim_client *c, uint32_t process, uint32_t number,
		     const struct sim_client_settings *settings, uint64_t seed)
{
	uint32_t bytes = settings->n_words * (uint32_t)sizeof(uint64_t);

	memset(c, 0, sizeof(*c));
	sim_client_name(number, c->name);
	c->host.process.name = c->name;
	c->host.process.number = process;
	c->host.client = number + 1;
	c->number = number;
	c->settings = *settings;
	c->chance = seed;
	c->call = "nothing";
	c->restart.fire = start;
	for (uint32_t i = 0; i < settings->n_registers; i++) {
		uint64_t block = below(c, settings->n_blocks);
		uint64_t at =
			i * (KFB_BLOCK_BYTES / SIM_CLIENT_REGS) / bytes * bytes;

		sim_register_init(&c->registers[i],
				  number * SIM_CLIENT_REGS + i,
				  first_va(c) + (block << KFB_BLOCK_SHIFT) + at,
				  settings->n_words);
	}
	sim_schedule(&c->restart, sim.now_ns + 1);
}

void sim_client_fini(struct sim_client *c)
{
	sim_process_kill(&c->host.process);
	sim_cancel(&c->restart);
}
