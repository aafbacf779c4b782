// SPDX-License-Identifier: BSD-2-Clause
/* What is written where: see plan.h. */
#include "plan.h"

#include <string.h>

/* splitmix64 of the first, from a start that the second moves. */
uint64_t plan_mix(uint64_t a, uint64_t b)
{
	uint64_t z = a * 0x9e3779b97f4a7c15ULL + b;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	z = (z + 0x9e3779b97f4a7c15ULL) * 0xd6e8feb86659fd93ULL;
	return z ^ (z >> 32);
}

bool plan_is_valid(const struct plan *p)
{
	return p->record >= PLAN_RECORD_MIN && p->record <= PLAN_RECORD_MAX &&
	       p->record % PLAN_RECORD_MIN == 0 && p->jobs &&
	       p->jobs <= PLAN_JOBS_MAX && p->size % p->record == 0 &&
	       p->offset % p->record == 0 &&
	       p->offset <= UINT64_MAX - p->size && plan_slots(p) >= p->jobs;
}

uint64_t plan_slots(const struct plan *p)
{
	return p->size / p->record;
}

uint64_t plan_slot(const struct plan *p, uint32_t job, uint32_t seq)
{
	uint64_t own = plan_slots(p) / p->jobs;
	uint64_t which = plan_mix(p->run, ((uint64_t)job << 32) | seq) % own;

	return which * p->jobs + job;
}

uint64_t plan_value(const struct plan *p, uint64_t slot, uint32_t index,
		    uint32_t seq)
{
	uint64_t check = plan_mix(plan_mix(p->run ^ p->salt, slot),
				  ((uint64_t)index << 32) | seq);

	return ((uint64_t)seq << 32) | (check >> 32);
}

void plan_fill(const struct plan *p, uint64_t slot, uint32_t seq, void *record)
{
	uint8_t *to = record;

	for (uint32_t i = 0; i < p->record / PLAN_WORD; i++) {
		uint64_t word = plan_value(p, slot, i, seq);

		memcpy(to + (size_t)i * PLAN_WORD, &word, sizeof(word));
	}
}

enum plan_word plan_validate(const struct plan *p, uint64_t slot,
			     uint32_t index, uint64_t word, uint32_t *seq)
{
	uint32_t job = (uint32_t)(slot % p->jobs);

	*seq = (uint32_t)(word >> 32);
	if (!word)
		return PLAN_ZERO;
	if (word == plan_value(p, slot, index, *seq))
		return plan_slot(p, job, *seq) == slot ? PLAN_OURS
						       : PLAN_FOREIGN;
	for (job = 0; job < p->jobs; job++)
		if (word == plan_value(p, plan_slot(p, job, *seq), index, *seq))
			return PLAN_MISPLACED;
	return PLAN_FOREIGN;
}
