// SPDX-License-Identifier: BSD-2-Clause
/*
 * The loss table, and how a cell of it is tried.
 *
 * A cut is tried on a copy of what the model holds, so that brickd and the
 * client need not be started again: once at some moment while flushes are under
 * way, once at some moment after them, with newer writes on their way. Often
 * there are two flushes: the second is posted when writes have completed since
 * the first was, which may or may not be over.
 */
#include "cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "initiator/lib/internal.h"
#include "tracker.h"

#define WORDS_PER_BLOCK (PF_AREA / TRACKER_WORD)
#define N_WORDS		(PF_BLOCKS * WORDS_PER_BLOCK)
#define FLUSHED_WRITES	24 /* before the flush; each block has some */
#define MORE_WRITES	8 /* at most, before a second flush */
#define NEWER_WRITES	8 /* at most, after the last */
#define SLOTS		(FLUSHED_WRITES + MORE_WRITES + NEWER_WRITES)
#define WRITE_WORDS	64 /* of the longest */
#define WRITE_WORDS_MIN 8
#define POLLS_MAX	32 /* before the cut */
#define BATCH		16
#define RECONNECT_MS	100

/* clang-format off */
#define READBACK KFB_FLUSH_READBACK
#define MESSAGE	 KFB_FLUSH_MESSAGE
const struct pf_cell pf_cells[] = {
	{ "no flush", { .declared_off = true },
	  .no_flush = true, .mode = READBACK,
	  .must = { PF_ALL_LOSE, PF_SOME_LOSE } },
	{ "readback on each queue that wrote", { .declared_off = true },
	  .mode = READBACK, .must = { PF_NONE_LOSES, PF_NONE_LOSES } },
	{ "readback on the first queue only", { .declared_off = true },
	  .lie = PF_CLIENT_FIRST_QUEUE, .many = true, .mode = READBACK,
	  .must = { PF_ALL_LOSE, PF_SOME_LOSE } },
	{ "no readback", { .declared_off = true },
	  .lie = PF_CLIENT_SKIPS, .mode = READBACK,
	  .must = { PF_ALL_LOSE, PF_SOME_LOSE } },
	{ "readback, DDIO on but declared off",
	  { .ddio = true, .declared_off = true }, .mode = READBACK,
	  .must = { PF_ALL_LOSE, PF_ALL_LOSE } },
	{ "readback, DDIO on, eADR", { .ddio = true, .eadr = true },
	  .mode = READBACK, .must = { PF_NONE_LOSES, PF_NONE_LOSES } },
	{ "no flush, DDIO on, eADR", { .ddio = true, .eadr = true },
	  .no_flush = true, .mode = READBACK,
	  .must = { PF_ALL_LOSE, PF_SOME_LOSE } },
	{ "FLUSH on each queue that wrote, DDIO on", { .ddio = true },
	  .mode = MESSAGE, .must = { PF_NONE_LOSES, PF_NONE_LOSES } },
	{ "FLUSH on each queue that wrote, DDIO off", { 0 },
	  .mode = MESSAGE, .must = { PF_NONE_LOSES, PF_NONE_LOSES } },
	{ "FLUSH on the first queue only, DDIO on", { .ddio = true },
	  .lie = PF_CLIENT_FIRST_QUEUE, .many = true, .mode = MESSAGE,
	  .must = { PF_ALL_LOSE, PF_SOME_LOSE } },
	{ "no FLUSH, DDIO on", { .ddio = true },
	  .lie = PF_CLIENT_SKIPS, .mode = MESSAGE,
	  .must = { PF_ALL_LOSE, PF_SOME_LOSE } },
	{ "connections end, readback", { .declared_off = true },
	  .links = true, .mode = READBACK,
	  .must = { PF_NONE_LOSES, PF_NONE_LOSES } },
	{ "connections end, FLUSH, DDIO on", { .ddio = true },
	  .links = true, .mode = MESSAGE,
	  .must = { PF_NONE_LOSES, PF_NONE_LOSES } },
	{ "connections end, readback, copies", { .declared_off = true },
	  .links = true, .retains = true, .mode = READBACK,
	  .must = { PF_NONE_LOSES, PF_NONE_LOSES } },
	{ "connections end, FLUSH, DDIO on, copies", { .ddio = true },
	  .links = true, .retains = true, .mode = MESSAGE,
	  .must = { PF_NONE_LOSES, PF_NONE_LOSES } },
	{ "connections end, copies, what they wrote is taken for placed",
	  { .declared_off = true }, .lie = PF_CLIENT_TRUSTS,
	  .links = true, .retains = true, .mode = READBACK,
	  .must = { PF_SOME_LOSE, PF_SOME_LOSE } },
	{ "connections end, what they wrote is taken for placed",
	  { .declared_off = true }, .lie = PF_CLIENT_TRUSTS,
	  .links = true, .mode = READBACK,
	  .must = { PF_SOME_LOSE, PF_SOME_LOSE } },
	{ "a connection ends with a FLUSH outstanding, DDIO on, placed",
	  { .ddio = true, .placed = true }, .outlived = true, .mode = MESSAGE,
	  .must = { PF_NONE_LOSES, PF_NONE_LOSES } },
	{ "the same, and its answer is taken for that of a newer FLUSH",
	  { .ddio = true, .placed = true }, .lie = PF_CLIENT_MISTAKES,
	  .outlived = true, .mode = MESSAGE,
	  .must = { PF_SOME_LOSE, PF_SOME_LOSE } },
	{ "a brick that answers FLUSH and does nothing, DDIO on",
	  { .ddio = true }, .lie = PF_BRICK_ANSWERS, .mode = MESSAGE,
	  .must = { PF_ALL_LOSE, PF_ALL_LOSE } },
	{ "a brick that flushes the first range only, DDIO on",
	  { .ddio = true }, .lie = PF_BRICK_HALF, .mode = MESSAGE,
	  .must = { PF_SOME_LOSE, PF_SOME_LOSE } },
};
/* clang-format on */
const unsigned int pf_n_cells = sizeof(pf_cells) / sizeof(pf_cells[0]);

/* A flush that is under way, and the newest write that it covers. */
struct flush {
	uint32_t covers;
};

/* One cell while it is tried. */
struct trial {
	const struct pf_cell *cell;
	struct pf_rig rig;
	struct tracker tracker;
	__u64 rng;
	uint32_t serial; /* of the newest write */
	uint32_t in_flight;
	uint32_t flushing;
	bool is_told; /* that writes are lost: no flush of this cut counts */
	struct pf_result result;
	bool has_lost; /* in this cut */
	struct kfbrick_memory *memory;
	uint64_t buffers[SLOTS][WRITE_WORDS];
	uint8_t survivors[PF_BLOCKS * PF_AREA];
	struct fault_line lines[PF_LINES];
	struct fault_queue conns[PF_CONNS];
};

static uint32_t below(struct trial *t, uint32_t bound)
{
	return (uint32_t)((fault_random(&t->rng) >> 32) % bound);
}

/* ---- a cut ------------------------------------------------------------- */

static void survive(struct trial *t, const struct fault_line *line)
{
	const uint8_t *at = (const uint8_t *)(uintptr_t)line->addr;

	for (uint32_t i = 0; i < PF_BLOCKS; i++) {
		const uint8_t *base = t->rig.at[i];

		if (at < base || at >= base + PF_AREA)
			continue;
		for (uint32_t b = 0; b < FAULT_LINE; b++)
			if (line->mask & (1ULL << b))
				t->survivors[i * PF_AREA + (at - base) + b] =
					line->data[b];
	}
}

/* What would be left if the power failed now. */
static void cut(struct trial *t)
{
	struct fault_power copy = pf_world.power;
	struct tracker_verdict verdict;
	struct fault_line line;

	memcpy(t->lines, pf_world.lines, sizeof(t->lines));
	memcpy(t->conns, pf_world.conns, sizeof(t->conns));
	copy.lines = t->lines;
	copy.conns = t->conns;
	copy.rng = fault_random(&t->rng);
	for (uint32_t i = 0; i < PF_BLOCKS; i++)
		pf_medium_survivors(t->rig.at[i], PF_AREA, &t->rng,
				    t->survivors + (size_t)i * PF_AREA);
	fault_power_cut(&copy);
	while (fault_power_pop(&copy, &line))
		survive(t, &line);
	tracker_check(&t->tracker, t->survivors, &verdict);
	t->has_lost |= verdict.lost > 0;
	t->result.wrong += verdict.wrong;
}

/* ---- the client -------------------------------------------------------- */

static void post_write(struct trial *t, uint32_t slot, uint32_t block)
{
	uint32_t n = WRITE_WORDS_MIN + below(t, WRITE_WORDS - WRITE_WORDS_MIN);
	uint32_t first = below(t, WORDS_PER_BLOCK - n);
	uint32_t word = block * WORDS_PER_BLOCK + first;
	uint64_t va = ((uint64_t)block << KFB_BLOCK_SHIFT) +
		      (uint64_t)first * TRACKER_WORD;

	if (!tracker_has_room(&t->tracker, word, n))
		return;
	t->serial++;
	for (uint32_t i = 0; i < n; i++)
		t->buffers[slot][i] = tracker_value(t->serial, word + i);
	tracker_write(&t->tracker, word, n, t->serial);
	if (kfbrick_post_write(t->rig.k, va, t->buffers[slot],
			       (size_t)n * TRACKER_WORD, t))
		pf_die("write: %s", kfbrick_error(t->rig.k));
	t->in_flight++;
}

static void flushed(struct trial *t, const struct flush *flush)
{
	tracker_flushed(&t->tracker, flush->covers);
}

static void poll_once(struct trial *t)
{
	struct kfbrick_completion done[BATCH];
	int n;

	/* Whoever connects looks at no completions, so that nothing moves. */
	pf_step();
	n = kfbrick_poll(t->rig.k, done, BATCH, 0);
	if (n < 0)
		pf_die("poll: %s", kfbrick_error(t->rig.k));
	for (int i = 0; i < n; i++) {
		if (done[i].context == t) {
			t->in_flight--;
		} else {
			t->flushing--;
			t->is_told |= t->cell->links && !t->cell->retains &&
				      done[i].error == -EIO;
			if (!t->is_told)
				flushed(t, done[i].context);
		}
		if (done[i].error && !t->is_told)
			pf_die("completion: %s: %s", strerror(-done[i].error),
			       t->rig.k->lost_why);
	}
}

static void finish_writes(struct trial *t)
{
	while (t->in_flight)
		poll_once(t);
}

static void post_flush(struct trial *t, struct flush *flush)
{
	flush->covers = t->serial;
	if (t->cell->no_flush) {
		flushed(t, flush);
		return;
	}
	if (kfbrick_post_flush(t->rig.k, flush))
		pf_die("flush: %s", kfbrick_error(t->rig.k));
	t->flushing++;
}

static void post_more(struct trial *t, uint32_t slot, uint32_t max)
{
	for (uint32_t n = below(t, max + 1); n; n--)
		post_write(t, slot++, below(t, PF_BLOCKS));
}

/* Now and then a connection ends; the time until the next try passes. */
static void cut_link(struct trial *t)
{
	if (!t->cell->links || below(t, 2))
		return;
	pf_cut_link(below(t, PF_CONNS) % t->rig.k->n_queues, below(t, 2));
	poll_once(t);
	pf_rig_wait(RECONNECT_MS);
}

static void flush_all(struct trial *t)
{
	uint32_t cut_at = below(t, POLLS_MAX), polls;
	struct flush flushes[2];

	cut_link(t);
	post_flush(t, &flushes[0]);
	if (below(t, 2)) {
		post_more(t, FLUSHED_WRITES, MORE_WRITES);
		finish_writes(t);
		post_flush(t, &flushes[1]);
	}
	for (polls = 0; t->flushing; polls++) {
		if (polls == cut_at) {
			cut(t);
			cut_link(t);
		}
		poll_once(t);
	}
}

static bool is_dirty_elsewhere(const struct trial *t, uint32_t queue)
{
	for (uint32_t i = 0; i < t->rig.k->n_queues; i++)
		if (i != queue &&
		    kfb_flush_is_dirty(&t->rig.k->queues[i].core.flush))
			return true;
	return false;
}

/* One that goes down a queue. */
static uint32_t block_of(struct trial *t, uint32_t queue)
{
	uint32_t block;

	do {
		block = below(t, PF_BLOCKS);
	} while (kfb_queue_of((uint64_t)block << KFB_BLOCK_SHIFT,
			      t->rig.k->n_queues) != queue);
	return block;
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
	uint32_t conn = below(t, t->rig.k->n_queues); /* of that queue */
	struct flush flushes[2];
	uint32_t left;

	pf_hold_answers(conn);
	post_flush(t, &flushes[0]);
	while (!pf_held_answers(conn) || is_dirty_elsewhere(t, conn))
		poll_once(t);
	for (left = below(t, MORE_WRITES + 1); left; left--)
		post_write(t, FLUSHED_WRITES + left - 1, block_of(t, conn));
	finish_writes(t);
	pf_cut_link(conn, true);
	poll_once(t);
	pf_rig_wait(RECONNECT_MS);
	post_flush(t, &flushes[1]);
	for (left = t->flushing; left; left = t->flushing) {
		poll_once(t);
		if (t->flushing < left)
			cut(t);
	}
}

/* Everything reaches the media: the next cut is of its own writes. */
static void settle(struct trial *t)
{
	for (uint32_t c = 0; c < PF_CONNS; c++)
		fault_power_empty(&pf_world.power, c);
	pf_place();
	for (uint32_t i = 0; i < PF_BLOCKS; i++) {
		pf_medium_settle(t->rig.at[i], PF_AREA);
		memcpy(t->survivors + (size_t)i * PF_AREA, t->rig.at[i],
		       PF_AREA);
	}
	tracker_forget(&t->tracker, t->survivors);
	kfbrick_accept_losses(t->rig.k);
	t->is_told = false;
}

static void one_cut(struct trial *t)
{
	uint32_t i;

	for (i = 0; i < FLUSHED_WRITES; i++)
		post_write(t, i, i < PF_BLOCKS ? i : below(t, PF_BLOCKS));
	finish_writes(t);
	if (t->cell->outlived)
		flush_outlives_link(t);
	else
		flush_all(t);
	post_more(t, FLUSHED_WRITES + MORE_WRITES, NEWER_WRITES);
	for (i = below(t, POLLS_MAX); i; i--)
		poll_once(t);
	cut(t);
	finish_writes(t);
	settle(t);
}

static void start(struct trial *t, uint32_t queues, uint32_t drain_permille,
		  uint64_t seed)
{
	uint32_t queue, used = 0;

	pf_rig_start(&t->rig, &t->cell->platform, queues, t->cell->retains,
		     seed, drain_permille);
	if (t->rig.k->core.flush_mode != t->cell->mode)
		pf_die("%s: brickd has chosen mode %u", t->cell->name,
		       t->rig.k->core.flush_mode);
	for (uint32_t i = 0; i < PF_BLOCKS; i++) {
		queue = kfb_queue_of((uint64_t)i << KFB_BLOCK_SHIFT, queues);
		used |= 1U << queue;
	}
	if (used != (1U << queues) - 1)
		pf_die("not every queue has a block");
	if (kfbrick_memory_register(t->rig.k, t->buffers, sizeof(t->buffers),
				    &t->memory))
		pf_die("memory: %s", kfbrick_error(t->rig.k));
	tracker_init(&t->tracker, N_WORDS);
	pf_rig_lie(t->cell->lie);
	pf_world.is_polite = t->cell->outlived;
}

void pf_cell_run(const struct pf_cell *cell, uint32_t queues,
		 uint32_t drain_permille, uint32_t cuts, uint64_t seed,
		 struct pf_result *out)
{
	struct trial *t = calloc(1, sizeof(*t));

	if (!t)
		abort();
	t->cell = cell;
	t->rng = seed;
	start(t, queues, drain_permille, seed);
	while (t->result.cuts < cuts) {
		t->has_lost = false;
		one_cut(t);
		t->result.cuts++;
		t->result.losing += t->has_lost;
		if (t->has_lost && !t->result.first)
			t->result.first = t->result.cuts;
	}
	if (cell->retains && cell->lie == PF_HONEST && cuts > 100 &&
	    !t->rig.k->core.retain.n_replays)
		pf_die("%s: no copy was written again", cell->name);
	*out = t->result;
	pf_rig_stop(&t->rig);
	tracker_fini(&t->tracker);
	free(t);
}
