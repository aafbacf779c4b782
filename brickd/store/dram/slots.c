// SPDX-License-Identifier: BSD-2-Clause
/* Bitmaps of free slots and the search for runs in them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/store/dram/slots.h"

#define WORD_BITS   64U
#define RUNS_LOOKED 4096U

struct brick_slot_quarantine {
	uint64_t token;
	struct brick_slot_run run;
	struct brick_slot_quarantine *next;
};

static uint64_t n_words(uint64_t n_bits)
{
	return (n_bits + WORD_BITS - 1) / WORD_BITS;
}

/* One word more: no slots are no reason to fail. */
static int map_init(struct brick_slot_map *map, uint64_t n)
{
	map->n_bits = n;
	map->bits = calloc(n_words(n) + 1, sizeof(uint64_t));
	map->words = calloc(n_words(n_words(n)) + 1, sizeof(uint64_t));
	return map->bits && map->words ? 0 : -ENOMEM;
}

static void map_fini(struct brick_slot_map *map)
{
	free(map->bits);
	free(map->words);
	map->bits = NULL;
	map->words = NULL;
}

int brick_slots_init(struct brick_slots *s, uint64_t n)
{
	memset(s, 0, sizeof(*s));
	s->n = n;
	if (!map_init(&s->clean, n) && !map_init(&s->dirty, n))
		return 0;
	brick_slots_fini(s);
	return -ENOMEM;
}

void brick_slots_fini(struct brick_slots *s)
{
	while (s->quarantine) {
		struct brick_slot_quarantine *q = s->quarantine;

		s->quarantine = q->next;
		free(q);
	}
	free(s->withheld);
	s->withheld = NULL;
	s->n_withheld = 0;
	map_fini(&s->clean);
	map_fini(&s->dirty);
}

/* The first bit in [pos, end) that is set, or clear; end if there is none. */
static uint64_t find_in_words(const uint64_t *bits, uint64_t pos, uint64_t end,
			      bool set)
{
	uint64_t flip = set ? 0 : UINT64_MAX;
	uint64_t w, word;

	if (pos >= end)
		return end;
	w = pos / WORD_BITS;
	word = (bits[w] ^ flip) & UINT64_MAX << pos % WORD_BITS;
	while (!word) {
		if (++w >= n_words(end))
			return end;
		word = bits[w] ^ flip;
	}
	pos = w * WORD_BITS + (unsigned int)__builtin_ctzll(word);
	return pos < end ? pos : end;
}

/* The first free slot from a place on; n_bits if there is none. */
static uint64_t find_free(const struct brick_slot_map *map, uint64_t pos)
{
	uint64_t in_word = (pos / WORD_BITS + 1) * WORD_BITS, w, slot;

	if (in_word > map->n_bits)
		in_word = map->n_bits;
	slot = find_in_words(map->bits, pos, in_word, true);
	if (slot < in_word || in_word == map->n_bits)
		return slot;
	/* A map that is nearly empty is not gone through word by word. */
	w = find_in_words(map->words, in_word / WORD_BITS, n_words(map->n_bits),
			  true);
	if (w == n_words(map->n_bits))
		return map->n_bits;
	return find_in_words(map->bits, w * WORD_BITS, map->n_bits, true);
}

static void change_run(struct brick_slot_map *map, struct brick_slot_run run,
		       bool set)
{
	uint64_t pos = run.slot, end = run.slot + run.n;

	while (pos < end) {
		uint64_t w = pos / WORD_BITS, bit = pos % WORD_BITS;
		uint64_t *words = &map->words[w / WORD_BITS];
		uint64_t n = WORD_BITS - bit;
		uint64_t mask;

		if (n > end - pos)
			n = end - pos;
		mask = (UINT64_MAX >> (WORD_BITS - n)) << bit;
		if (set)
			map->bits[w] |= mask;
		else
			map->bits[w] &= ~mask;
		if (map->bits[w])
			*words |= 1ULL << w % WORD_BITS;
		else
			*words &= ~(1ULL << w % WORD_BITS);
		pos += n;
	}
}

void brick_slot_map_give(struct brick_slot_map *map, struct brick_slot_run run)
{
	change_run(map, run, true);
	map->n_set += run.n;
}

/*
 * The first run of enough slots from a place on, cut at want. Counts down how many
 * are looked at.
 */
static bool search_run(const struct brick_slot_map *map, uint64_t from,
		       uint64_t enough, uint64_t want,
		       struct brick_slot_run *run, unsigned int *left)
{
	uint64_t pos = from, limit, end;

	while (*left && (pos = find_free(map, pos)) < map->n_bits) {
		--*left;
		limit = map->n_bits - pos > want ? pos + want : map->n_bits;
		end = find_in_words(map->bits, pos, limit, false);
		if (end - pos >= enough) {
			run->slot = pos;
			run->n = end - pos;
			return true;
		}
		pos = end;
	}
	return false;
}

bool brick_slot_map_take(struct brick_slot_map *map, uint64_t want, bool whole,
			 struct brick_slot_run *run)
{
	uint64_t enough = whole ? want : 1;
	unsigned int left = RUNS_LOOKED;
	struct brick_slot_run found;

	if (map->n_set < enough)
		return false;
	/* From the hint on, then from the start. */
	if (!search_run(map, map->hint, enough, want, &found, &left) &&
	    !search_run(map, 0, enough, want, &found, &left))
		return false;
	change_run(map, found, false);
	map->n_set -= found.n;
	map->hint = found.slot + found.n;
	*run = found;
	return true;
}

bool brick_slot_map_take_one(struct brick_slot_map *map, uint64_t slot)
{
	struct brick_slot_run run = { slot, 1 };

	if (slot >= map->n_bits ||
	    !(map->bits[slot / WORD_BITS] >> slot % WORD_BITS & 1))
		return false;
	change_run(map, run, false);
	map->n_set--;
	return true;
}

int brick_slots_withhold(struct brick_slots *s, uint64_t slot)
{
	uint64_t *more =
		reallocarray(s->withheld, s->n_withheld + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	more[s->n_withheld++] = slot;
	s->withheld = more;
	return 0;
}

void brick_slots_give_dirty(struct brick_slots *s, struct brick_slot_run run)
{
	uint64_t i = 0;

	brick_slot_map_give(&s->dirty, run);
	/* Bad blocks are few: where there are none this is one comparison. */
	while (i < s->n_withheld) {
		uint64_t slot = s->withheld[i];

		if (slot < run.slot || slot - run.slot >= run.n) {
			i++;
			continue;
		}
		s->withheld[i] = s->withheld[--s->n_withheld];
		(void)brick_slot_map_take_one(&s->dirty, slot);
		s->n_bad++;
	}
}

struct brick_slot_quarantine *
brick_slot_quarantine_new(uint64_t token, struct brick_slot_run run)
{
	struct brick_slot_quarantine *q = calloc(1, sizeof(*q));

	if (q) {
		q->token = token;
		q->run = run;
	}
	return q;
}

void brick_slots_quarantine(struct brick_slots *s,
			    struct brick_slot_quarantine *q)
{
	q->next = s->quarantine;
	s->quarantine = q;
	s->n_quarantined += q->run.n;
}

void brick_slots_release(struct brick_slots *s, uint64_t token)
{
	struct brick_slot_quarantine **link = &s->quarantine;

	while (*link) {
		struct brick_slot_quarantine *q = *link;

		if (q->token != token) {
			link = &q->next;
			continue;
		}
		*link = q->next;
		s->n_quarantined -= q->run.n;
		brick_slots_give_dirty(s, q->run);
		free(q);
	}
}
