// SPDX-License-Identifier: BSD-2-Clause
/*
 * How a cell of the loss table is tried.
 *
 * A cut is tried on a copy of the medium, so that brickd and the client need not
 * be started again: once between two events while flushes are under way, once
 * between two after them, with newer writes on their way. Often there are two
 * flushes: the second is posted when writes have completed since the first was,
 * which may or may not be over.
 *
 * No two writes of one word are under way at one time: nobody promises an order.
 */
#include "trial.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/core/session/kfb_client.h"
#include "proto/kfb_wire.h"
#include "tests/sim/machine/fabric.h"
#include "tests/sim/machine/link.h"
#include "tests/sim/oracle.h"

#define WRITE_WORDS_MIN 8
#define EVENTS_MAX	96 /* before the cut */
#define SPACING		4096 /* blocks begin at a multiple */
#define TRIES		1000
#define QUIET_NS	(5 * SIM_MS)
#define GAP_NS		SIM_MS
#define PATIENCE_NS	(3600 * SIM_S)
/* Who renews a lease sends a message, which empties N. */
#define LONG_LEASE_MS  3600000
#define CREDITS	       16
#define DURABLE_ONE_OF 8 /* writes of a disk: with FUA */
#define REPLAYED_AFTER 100 /* cuts, or there have been copies to be written */

void trial_fail(const struct trial *t, const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	sim_violated("after %u cuts: %s", t->result.cuts, why);
	sim.is_over = true;
	for (;;)
		sim_sleep(SIM_NEVER);
}

/* ---- a cut ---------------------------------------------------------------- */

static void cut(struct trial *t)
{
	static uint8_t survivors[CELL_BLOCKS * CELL_AREA];
	struct tracker_verdict verdict;

	t->until_cut = 0;
	cell_survivors(&t->brick->medium, t->areas,
		       sim_below_of(&t->chance, UINT64_MAX), survivors);
	tracker_check(&t->tracker, survivors, &verdict);
	t->has_lost |= verdict.lost > 0;
	t->result.wrong += verdict.wrong;
	sim_trace("cell", "a cut: %u words are lost, %u are nobody's",
		  verdict.lost, verdict.wrong);
}

/* After each event. */
static void watch(void *arg)
{
	struct trial *t = arg;

	if (t->until_cut && !--t->until_cut)
		cut(t);
}

static void cut_soon(struct trial *t)
{
	t->until_cut = 1 + trial_below(t, EVENTS_MAX);
}

/* ---- what is asked -------------------------------------------------------- */

static bool is_free(const struct trial *t, uint32_t word, uint32_t n)
{
	for (uint32_t i = 0; i < CELL_SLOTS; i++) {
		const struct cell_op *op = &t->writes[i];

		if (op->is_used && op->word < word + n &&
		    word < op->word + op->n)
			return false;
	}
	return tracker_has_room(&t->tracker, word, n);
}

static struct cell_op *find_room(struct trial *t)
{
	for (uint32_t i = 0; i < CELL_SLOTS; i++)
		if (!t->writes[i].is_used)
			return &t->writes[i];
	trial_fail(t, "too many writes are under way");
}

static void write_words(struct trial *t, uint32_t word, uint32_t n)
{
	struct cell_op *op = find_room(t);

	op->trial = t;
	op->is_used = true;
	op->is_durable = t->cell->commits ||
			 (t->has_fua && !trial_below(t, DURABLE_ONE_OF));
	op->word = word;
	op->n = n;
	op->serial = ++t->serial;
	for (uint32_t i = 0; i < n; i++)
		op->buf[i] = tracker_value(op->serial, word + i);
	tracker_write(&t->tracker, word, n, op->serial);
	t->in_flight++;
	t->port->write(t, op);
}

/* Some words of a block, unless others of them are under way. */
static void write_some(struct trial *t, uint32_t block)
{
	uint32_t unit = t->port->unit;
	uint32_t least = unit > WRITE_WORDS_MIN ? unit : WRITE_WORDS_MIN;
	uint32_t n = least + trial_below(t, CELL_WRITE_WORDS - least + 1);
	uint32_t first;

	n -= n % unit;
	first = trial_below(t, CELL_WORDS_PER_BLOCK - n + 1);
	first -= first % unit;
	first += block * CELL_WORDS_PER_BLOCK;
	if (is_free(t, first, n))
		write_words(t, first, n);
}

static void write_more(struct trial *t, uint32_t max)
{
	for (uint32_t n = trial_below(t, max + 1); n; n--)
		write_some(t, trial_below(t, CELL_BLOCKS));
}

static void post_flush(struct trial *t, struct cell_op *op)
{
	if (t->cell->no_flush) {
		tracker_flushed(&t->tracker, t->serial);
		return;
	}
	if (t->cell->commits)
		return;
	op->trial = t;
	op->is_flush = true;
	op->serial = t->serial;
	t->flushing++;
	t->port->flush(t, op);
}

void trial_done(struct cell_op *op, int error)
{
	struct trial *t = op->trial;

	if (error)
		t->is_told |= t->cell->links && !t->cell->retains &&
			      t->port->has_lost(t, op, error);
	if (error && !t->is_told)
		trial_fail(t, "a %s fails: %s",
			   op->is_flush ? "flush" : "write", strerror(-error));
	op->is_used = false;
	if (op->is_flush)
		t->flushing--;
	else
		t->in_flight--;
	if (error || t->is_told)
		return;
	if (op->is_flush)
		tracker_flushed(&t->tracker, op->serial);
	else if (op->is_durable)
		tracker_durable(&t->tracker, op->word, op->n, op->serial);
	if (op->is_flush && t->cuts_at_flush)
		cut(t);
}

static void finish_writes(struct trial *t)
{
	while (t->in_flight)
		t->port->collect(t);
}

/* ---- links ---------------------------------------------------------------- */

static bool is_up(const struct sim_link *link)
{
	return !link->is_cut && link->end[SIM_CLIENT] && link->end[SIM_BRICK];
}

/* All are there that the client wants, and nothing of others is on its way. */
static bool links_are_up(const struct trial *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < SIM_LINKS_MAX; i++) {
		if (sim_links[i] && !is_up(sim_links[i]))
			return false;
		n += sim_links[i] != NULL;
	}
	return n == t->queues;
}

static void wait_for_links(struct trial *t)
{
	for (uint32_t i = 0; !links_are_up(t); i++) {
		if (i == TRIES)
			trial_fail(t, "the links do not come back");
		t->port->collect(t);
	}
}

/* Every other time a connection ends; always where somebody lies about that. */
static void cut_link(struct trial *t)
{
	bool is_certain = t->cell->lie == CELL_CLIENT_TRUSTS;
	uint32_t n = sim_links_count();

	if (t->cell->links && n && (is_certain || trial_below(t, 2)))
		sim_link_cut(trial_below(t, n));
}

static void wait_until_quiet(struct trial *t)
{
	uint64_t until_ns = sim.now_ns + QUIET_NS;

	while (sim.now_ns < until_ns)
		t->port->collect(t);
}

/* ---- flushes ---------------------------------------------------------------- */

static void flush_all(struct trial *t)
{
	bool is_second = trial_below(t, 2);

	cut_link(t);
	cut_soon(t);
	post_flush(t, &t->flushes[0]);
	if (is_second) {
		write_more(t, CELL_MORE_WRITES);
		finish_writes(t);
		cut_link(t);
		post_flush(t, &t->flushes[1]);
	}
	while (t->flushing)
		t->port->collect(t);
	t->until_cut = 0;
}

/*
 * The brick has done what a FLUSH asks for, and its answer does not arrive. More
 * is written, then the connection ends. Whoever waits for that flush, and for
 * one of what was written since, waits for a new FLUSH; the old one is sent again
 * and answered from what the brick remembers, before the new one arrives. The
 * power fails as soon as a flush is over.
 */
static void flush_outlives_link(struct trial *t)
{
	uint32_t which = trial_below(t, t->queues), n = 0;
	struct sim_link *link = NULL;

	for (uint32_t i = 0; !link; i++)
		if (sim_links[i] && n++ == which)
			link = sim_links[i];
	link->way[SIM_BRICK].is_held = true;
	post_flush(t, &t->flushes[0]);
	for (n = 0; !link->way[SIM_BRICK].n_ops; n++) {
		if (n == TRIES)
			trial_fail(t, "a queue that wrote is not flushed");
		t->port->collect(t);
	}
	wait_until_quiet(t);
	write_more(t, CELL_MORE_WRITES);
	finish_writes(t);
	sim_link_cut(which);
	t->cuts_at_flush = true;
	post_flush(t, &t->flushes[1]);
	while (t->flushing)
		t->port->collect(t);
	t->cuts_at_flush = false;
}

/* ---- a cut and what leads to it ------------------------------------------------ */

/* Everything reaches the media: the next cut is of its own writes. */
static void settle(struct trial *t)
{
	static uint8_t survivors[CELL_BLOCKS * CELL_AREA];
	struct sim_medium *m = &t->brick->medium;

	sim_medium_fence(m);
	for (uint32_t i = 0; i < CELL_BLOCKS; i++) {
		sim_medium_settle(m, t->areas[i], CELL_AREA);
		memcpy(survivors + (size_t)i * CELL_AREA, m->kept + t->areas[i],
		       CELL_AREA);
	}
	tracker_forget(&t->tracker, survivors);
}

static void try_cut(struct trial *t)
{
	uint32_t i;

	sim_schedule(&t->patience, sim.now_ns + PATIENCE_NS);
	t->has_lost = false;
	for (i = 0; i < CELL_FLUSHED_WRITES; i++)
		write_some(t,
			   i < CELL_BLOCKS ? i : trial_below(t, CELL_BLOCKS));
	finish_writes(t);
	if (t->cell->outlived)
		flush_outlives_link(t);
	else
		flush_all(t);
	cut_soon(t);
	write_more(t, CELL_NEWER_WRITES);
	finish_writes(t);
	/* Nothing happens any more. */
	if (t->until_cut)
		cut(t);
	wait_for_links(t);
	t->port->accept(t);
	t->is_told = false;
	settle(t);
}

/* ---- what it begins with --------------------------------------------------------- */

/* The medium has what was written to the first words of a block. */
static uint64_t find_area(struct trial *t, uint32_t block, uint32_t serial)
{
	const uint64_t first =
		tracker_value(serial, block * CELL_WORDS_PER_BLOCK);

	for (uint64_t off = 0; off < t->brick->medium.bytes; off += SPACING)
		if (!memcmp(t->brick->medium.seen + off, &first, sizeof(first)))
			return off;
	trial_fail(t, "block %u is nowhere", block);
}

static void find_areas(struct trial *t)
{
	for (uint32_t i = 0; i < CELL_BLOCKS; i++)
		write_words(t, i * CELL_WORDS_PER_BLOCK, CELL_WRITE_WORDS);
	finish_writes(t);
	sim_medium_fence(&t->brick->medium);
	for (uint32_t i = 0; i < CELL_BLOCKS; i++)
		t->areas[i] = find_area(t, i, i + 1);
	settle(t);
}

static void check_queues(struct trial *t)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < CELL_BLOCKS; i++)
		used |= 1U << kfb_queue_of((uint64_t)i << KFB_BLOCK_SHIFT,
					   t->queues);
	if (used != (1U << t->queues) - 1)
		trial_fail(t, "not every queue has a block");
}

void trial_run(struct trial *t)
{
	if (t->port->flush_mode(t) != t->cell->mode)
		trial_fail(t, "brickd has chosen mode %u",
			   t->port->flush_mode(t));
	check_queues(t);
	find_areas(t);
	wait_for_links(t);
	while (t->result.cuts < t->cuts && !sim.is_over) {
		try_cut(t);
		t->result.cuts++;
		t->result.losing += t->has_lost;
		if (t->has_lost && !t->result.first)
			t->result.first = t->result.cuts;
	}
	if (t->cell->retains && t->cell->lie == CELL_HONEST &&
	    t->cuts > REPLAYED_AFTER && !t->port->n_replays(t))
		trial_fail(t, "no copy was written again");
	t->is_over = true;
	sim.is_over = true;
}

/* The client begins when the brick answers. */
static void live(void *arg)
{
	struct trial *t = arg;

	while (!sim_pep_at(SIM_PORT))
		km_sleep_until(sim.now_ns + SIM_MS);
	t->port->live(t);
}

static void give_up(struct sim_event *event)
{
	sim_violated("something takes for ever");
	sim.is_over = true;
}

static void begin_world(struct trial *t, uint32_t drain_permille)
{
	struct sim_brick_settings b = {
		.platform = t->cell->platform,
		.is_tcp = t->cell->commits,
		.bytes = SIM_MEDIUM_BYTES,
		.files.store_bytes = SIM_MEDIUM_BYTES,
		.lease_ms = t->cell->links ? CELL_LEASE_MS : LONG_LEASE_MS,
		.promote_wait_ms = 5000,
		.stop_timeout_ms = 3000,
		.extent_blocks = CELL_BLOCKS,
		.alloc_max_blocks = CELL_BLOCKS,
		.mappings = 2 * CELL_BLOCKS,
		.credits = CREDITS,
		.n_clients = 1,
	};

	b.platform.drain_permille = drain_permille;
	sim_world_init(trial_below(t, UINT32_MAX));
	sim.pace.short_ns = (1 + trial_below(t, 10)) * SIM_US;
	sim.pace.yield_permille = trial_below(t, 2) * 20;
	if (t->cell->outlived)
		sim.pace.gap_ns = GAP_NS;
	sim_fabric_init();
	sim_brick_init(t->brick, 0, &b, trial_below(t, UINT32_MAX));
	t->task = (struct km_task){ .name = "user", .main = live, .arg = t };
	t->host.process.name = "client";
	t->host.process.number = 1;
	t->patience.fire = give_up;
	sim_schedule(&t->patience, sim.now_ns + PATIENCE_NS);
}

void cell_try(const struct cell *cell, enum cell_over over, uint32_t queues,
	      uint32_t drain_permille, uint32_t cuts, uint64_t seed,
	      struct cell_result *out)
{
	/* What it has mapped stays. */
	static struct sim_brick brick;
	static struct trial trial;
	struct trial *t = &trial;

	memset(t, 0, sizeof(*t));
	*sim_violation = '\0';
	t->brick = &brick;
	t->cell = cell;
	t->over = over;
	t->port = over == CELL_LIB ? &cell_lib_port : &cell_disk_port;
	/* It flushes its queue; whoever lies is to have nobody flush for him. */
	t->has_fua = over != CELL_LIB && cell->lie == CELL_HONEST &&
		     !cell->no_flush && !cell->outlived;
	t->queues = queues;
	t->cuts = cuts;
	t->chance = seed;
	tracker_init(&t->tracker, CELL_WORDS);
	begin_world(t, drain_permille);
	cell_let_lie(cell->lie, cell->platform.placed && !cell->commits);
	sim_process_start(&t->host.process, km_run, &t->task);
	sim_watch(watch, t);
	sim_world_run();
	sim_watch(NULL, NULL);
	if (!t->is_over)
		sim_violated("nobody does anything any more");
	*out = t->result;
	sim_process_kill(&t->host.process);
	sim_brick_fini(&brick);
	tracker_fini(&t->tracker);
}
