/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A medium that remembers what is not durable yet.
 *
 * The unit is the 8-byte word. Each word has its durable value and the values
 * stored since, in order; a flush marks how many of them a drain of the same
 * thread makes durable: an SFENCE waits for its own CPU's CLWBs only. A flush
 * covers the words named and no others of their cache lines, so that more
 * states are possible here than on any machine.
 *
 * Of a slot's data only the first and the last word exist; the store looks at
 * none of them, the checks look at these.
 *
 * A slow tier beside the medium is part of the same picture: a word stands for
 * each of its sectors that exists, and a sync for the flush and the drain.
 * crash_slow.h knows what is in them.
 *
 * Media are nested: the states of one are loaded into the next, whose own
 * drains show crashes inside recovery. crash_states.h enumerates them.
 *
 * Context: one thread at a time; crash_sched.h sees to it.
 */
#ifndef TESTS_STORE_CRASH_MEDIUM_H
#define TESTS_STORE_CRASH_MEDIUM_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/media/media.h"

#define CRASH_WORD_BYTES  8U
#define CRASH_LINE_BYTES  64U
#define CRASH_PENDING_MAX 24U
#define CRASH_SAMPLES	  2U /* words of a slot that exist */
#define CRASH_THREADS	  4U
/* Sectors of the slow tier's header, before those of its slots. */
#define CRASH_HEADER_SECTORS 16U

/* What to leave out, to see whether anyone notices. */
struct crash_sabotage {
	unsigned int skip_drain; /* the n-th since crash_medium_mark(), or 0 */
	bool skip_meta_flush;
	bool skip_data_flush;
	bool skip_mirror_flush;
	bool skip_zero;
	bool skip_sync; /* of the slow tier */
};

struct crash_word {
	uint64_t pending[CRASH_PENDING_MAX];
	uint8_t n_pending;
	uint8_t n_flushed[CRASH_THREADS];
};

struct crash_medium;

/* Called when power might fail: before and after each drain. */
typedef void (*crash_point_fn)(struct crash_medium *cm, void *arg);

struct crash_medium {
	struct brick_media m; /* base is what the CPU sees */
	uint64_t meta_bytes; /* all words below exist */
	uint64_t data_off;
	uint64_t n_slots;
	uint64_t mirror_off;
	uint64_t tail_off; /* room for tables behind the data */
	uint64_t n_slow; /* slots of the slow tier */
	uint32_t n_sectors; /* of the slow tier that exist */
	struct brick_slow *slow; /* of crash_slow.h, or NULL */
	uint64_t *durable; /* by word number */
	struct crash_word *words;
	uint32_t *dirty; /* words with pending values */
	uint32_t n_dirty;
	uint32_t *touched; /* words that differ from the medium above */
	uint32_t n_touched;
	bool *is_touched;
	unsigned int n_drains;
	struct crash_sabotage sabotage;
	crash_point_fn on_point;
	void *arg;
	void (*on_op)(void); /* before each word and operation, or NULL */
	struct crash_medium *next; /* where crash states are loaded, or NULL */
};

/* Which of CRASH_THREADS this thread is, for its flushes and drains. */
extern _Thread_local unsigned int crash_thread;

/*
 * levels nested media for a store of n_slots, with records for n_slow more; the
 * outermost is returned.
 */
struct crash_medium *crash_medium_new(uint64_t n_slots, uint64_t n_slow,
				      unsigned int levels);

/* All of them get another size, at most room for n_slots and tail tables. */
void crash_medium_resize(struct crash_medium *cm, uint64_t n_slots);
void crash_medium_free(struct crash_medium *cm);

/* Begin to count drains anew. */
void crash_medium_mark(struct crash_medium *cm);

/*
 * Give the next medium the i-th dirty word with the first n of its pending
 * values; crash_medium_restore() takes back all that was given, and all that
 * the store did to the next medium since.
 */
void crash_medium_give(struct crash_medium *cm, uint32_t i, unsigned int n);
void crash_medium_restore(struct crash_medium *cm);

/*
 * A word gets a value that nobody stored there, durably. For a medium that a
 * state is loaded in. Returns whether that changed anything.
 */
bool crash_medium_spoil(struct crash_medium *cm, uint64_t off, uint64_t value);

/* The two words of a slot's data that exist. */
uint64_t crash_sample_off(const struct crash_medium *cm, uint64_t slot,
			  unsigned int sample);
uint64_t crash_medium_load(const struct crash_medium *cm, uint64_t off);

/*
 * The words that stand for sectors of the slow tier: set as a write sets them,
 * made durable by a sync, before and after which power may fail.
 */
uint64_t crash_medium_sector(const struct crash_medium *cm, uint32_t i);
void crash_medium_set_sector(struct crash_medium *cm, uint32_t i,
			     uint64_t value);
void crash_medium_sync(struct crash_medium *cm);

/* xorshift: the same numbers everywhere. */
uint64_t crash_random(uint64_t *seed);

#endif
