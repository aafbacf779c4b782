/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a client may expect of each 8-byte word after a loss of power: the
 * newest write that a flush has covered, or any later one; nothing else.
 */
#ifndef TESTS_SIM_TRACKER_H
#define TESTS_SIM_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACKER_WORD  8
#define TRACKER_NEWER 8 /* writes of a word that no flush has covered */

struct tracker_word {
	uint32_t durable; /* serial number of a write; 0: zeros */
	uint32_t n;
	uint32_t newer[TRACKER_NEWER]; /* in the order of writing */
	bool is_touched;
};

/**
 * struct tracker - of an array of words
 * @words: of them
 * @n_words: how many
 * @touched: those that were written since tracker_forget()
 * @n_touched: how many
 */
struct tracker {
	struct tracker_word *words;
	uint32_t n_words;
	uint32_t *touched;
	uint32_t n_touched;
};

/* What became of it. */
struct tracker_verdict {
	uint32_t lost; /* words that are older than what was flushed */
	uint32_t wrong; /* words that nobody has ever written so */
};

void tracker_init(struct tracker *l, uint32_t n_words);
void tracker_fini(struct tracker *l);

/* The word that write number @serial puts at @word. */
uint64_t tracker_value(uint32_t serial, uint32_t word);

/* May a write of these words be begun? */
bool tracker_has_room(const struct tracker *l, uint32_t word, uint32_t n);

/* A write is posted: from now on its words may be there. */
void tracker_write(struct tracker *l, uint32_t word, uint32_t n,
		   uint32_t serial);

/* A flush has completed that covers all writes up to a number. */
void tracker_flushed(struct tracker *l, uint32_t serial);

/* A write was durable when it completed. */
void tracker_durable(struct tracker *l, uint32_t word, uint32_t n,
		     uint32_t serial);

/* Compare with what is there. */
void tracker_check(const struct tracker *l, const uint8_t *bytes,
		   struct tracker_verdict *out);

/* What is there is what is there: begin anew. */
void tracker_forget(struct tracker *l, const uint8_t *bytes);

#endif
