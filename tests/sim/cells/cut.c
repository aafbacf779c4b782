// SPDX-License-Identifier: BSD-2-Clause
/*
 * A loss of power that happens to a copy of the medium, so that brickd and the
 * client need not be started again after it.
 */
#include <string.h>

#include "trial.h"

#define COPY_HOST 1 /* the place of its memory: no other host has a medium */

static struct sim_medium copy;

/* N: its lines name the places of the memory that they were for. */
static void copy_buffers(const struct sim_medium *m, uint64_t seed)
{
	copy.n = m->n;
	copy.n.rng = seed;
	copy.n.lines = copy.n_lines;
	copy.n.conns = copy.n_links;
	memcpy(copy.n_links, m->n_links, sizeof(copy.n_links));
	memcpy(copy.n_lines, m->n_lines, sizeof(copy.n_lines));
	for (uint32_t i = 0; i < SIM_N_LINES; i++)
		copy.n_lines[i].addr +=
			(uintptr_t)copy.seen - (uintptr_t)m->seen;
}

/* L, and what was written back and is not drained. */
static void copy_cache(const struct sim_medium *m)
{
	memcpy(copy.dirty, m->dirty, sizeof(copy.dirty));
	memcpy(copy.waiting, m->waiting, sizeof(copy.waiting));
	copy.n_flushed = m->n_flushed;
	memcpy(copy.flushed, m->flushed, m->n_flushed * sizeof(*m->flushed));
}

void cell_survivors(const struct sim_medium *m, const uint64_t *areas,
		    uint64_t seed, uint8_t *out)
{
	if (!copy.seen)
		sim_medium_init(&copy, COPY_HOST, &m->platform, 0);
	copy.platform = m->platform;
	copy.chance = ~seed;
	copy_buffers(m, seed);
	copy_cache(m);
	for (uint32_t i = 0; i < CELL_BLOCKS; i++) {
		memcpy(copy.seen + areas[i], m->seen + areas[i], CELL_AREA);
		memcpy(copy.kept + areas[i], m->kept + areas[i], CELL_AREA);
	}
	sim_medium_lose_power(&copy);
	for (uint32_t i = 0; i < CELL_BLOCKS; i++)
		memcpy(out + (size_t)i * CELL_AREA, copy.seen + areas[i],
		       CELL_AREA);
}
