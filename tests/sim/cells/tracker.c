// SPDX-License-Identifier: BSD-2-Clause
/* What a client may expect after a loss of power: see tracker.h. */
#include "tracker.h"

#include <stdlib.h>
#include <string.h>

#include "power.h"

void tracker_init(struct tracker *l, uint32_t n_words)
{
	l->words = calloc(n_words, sizeof(*l->words));
	l->touched = calloc(n_words, sizeof(*l->touched));
	if (!l->words || !l->touched)
		abort();
	l->n_words = n_words;
	l->n_touched = 0;
}

void tracker_fini(struct tracker *l)
{
	free(l->words);
	free(l->touched);
}

uint64_t tracker_value(uint32_t serial, uint32_t word)
{
	__u64 state = ((__u64)serial << 32) | word;

	if (!serial)
		return 0;
	return ((uint64_t)serial << 32) | (fault_random(&state) >> 32);
}

bool tracker_has_room(const struct tracker *l, uint32_t word, uint32_t n)
{
	for (uint32_t i = word; i < word + n; i++)
		if (l->words[i].n == TRACKER_NEWER)
			return false;
	return true;
}

void tracker_write(struct tracker *l, uint32_t word, uint32_t n,
		   uint32_t serial)
{
	for (uint32_t i = word; i < word + n; i++) {
		struct tracker_word *w = &l->words[i];

		w->newer[w->n++] = serial;
		if (!w->is_touched)
			l->touched[l->n_touched++] = i;
		w->is_touched = true;
	}
}

static void cover(struct tracker_word *w, uint32_t serial)
{
	uint32_t covered = 0;

	while (covered < w->n && w->newer[covered] <= serial)
		w->durable = w->newer[covered++];
	w->n -= covered;
	memmove(w->newer, w->newer + covered, w->n * sizeof(w->newer[0]));
}

void tracker_flushed(struct tracker *l, uint32_t serial)
{
	for (uint32_t t = 0; t < l->n_touched; t++)
		cover(&l->words[l->touched[t]], serial);
}

void tracker_durable(struct tracker *l, uint32_t word, uint32_t n,
		     uint32_t serial)
{
	for (uint32_t i = word; i < word + n; i++)
		cover(&l->words[i], serial);
}

static bool is_newer(const struct tracker_word *w, uint64_t is, uint32_t word)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (is == tracker_value(w->newer[i], word))
			return true;
	return false;
}

void tracker_check(const struct tracker *l, const uint8_t *bytes,
		   struct tracker_verdict *out)
{
	*out = (struct tracker_verdict){ 0 };
	for (uint32_t t = 0; t < l->n_touched; t++) {
		uint32_t word = l->touched[t], serial;
		const struct tracker_word *w = &l->words[word];
		uint64_t is;

		memcpy(&is, bytes + (size_t)word * TRACKER_WORD, sizeof(is));
		if (is == tracker_value(w->durable, word) ||
		    is_newer(w, is, word))
			continue;
		/* Each word tells its write. */
		serial = (uint32_t)(is >> 32);
		if (serial < w->durable && is == tracker_value(serial, word))
			out->lost++;
		else
			out->wrong++;
	}
}

void tracker_forget(struct tracker *l, const uint8_t *bytes)
{
	for (uint32_t t = 0; t < l->n_touched; t++) {
		uint32_t word = l->touched[t];
		struct tracker_word *w = &l->words[word];
		uint64_t is;

		memcpy(&is, bytes + (size_t)word * TRACKER_WORD, sizeof(is));
		w->durable = (uint32_t)(is >> 32);
		w->n = 0;
		w->is_touched = false;
	}
	l->n_touched = 0;
}
