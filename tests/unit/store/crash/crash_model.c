// SPDX-License-Identifier: BSD-2-Clause
/* The model of a store's contents. */
#include "crash_model.h"

#include <string.h>

#include "brickd/store/store_impl.h"
#include "crash_slow.h"

#define TOP_KEYS 4U /* of the model's keys, at the end of the address space */

uint64_t model_va(unsigned int key)
{
	if (key < MODEL_KEYS - TOP_KEYS)
		return brick_va(key);
	return brick_va(KFB_BLOCKS_MAX - MODEL_KEYS + key);
}

unsigned int model_key(uint64_t va)
{
	unsigned int key;

	for (key = 0; key < MODEL_KEYS; key++)
		if (model_va(key) == va)
			return key;
	return MODEL_KEYS;
}

void model_apply(struct model *model, const struct brick_store_op *op)
{
	unsigned int first = model_key(op->va), key;

	for (key = first; key < first + op->n_blocks; key++) {
		struct model_block *b = &model->blocks[key];

		switch (op->kind) {
		case BRICK_STORE_ALLOC:
			*b = (struct model_block){ .there = true,
						   .owner = op->owner };
			break;
		case BRICK_STORE_MOVE:
			break;
		case BRICK_STORE_FREE:
			*b = (struct model_block){ .there = false };
			break;
		case BRICK_STORE_BIRTH:
			b->not_birth = b->birth;
			b->birth = 0;
			b->owner = op->owner;
			break;
		}
	}
}

void model_learn(struct model *model, struct brick_store *s)
{
	struct brick_run run;
	unsigned int key;

	for (key = 0; key < MODEL_KEYS; key++)
		if (model->blocks[key].there &&
		    !brick_store_lookup(s, model_va(key), 1, &run))
			model->blocks[key].birth = run.birth;
}

static bool birth_is_right(const struct model_block *b,
			   const struct brick_run *run)
{
	return b->birth ? run->birth == b->birth
			: run->birth && run->birth != b->not_birth;
}

bool model_allows(const struct model_block *b, const struct brick_run *run)
{
	if (!run || !b->there)
		return !run && !b->there;
	return run->owner == b->owner && birth_is_right(b, run);
}

/* A word of a slot's data, in whichever tier. */
static uint64_t load_sample(const struct crash_medium *cm, uint64_t slot,
			    unsigned int sample)
{
	if (brick_slot_is_slow(slot))
		return crash_slow_sample(cm, slot, sample);
	return crash_medium_load(cm, crash_sample_off(cm, slot, sample));
}

static const char *compare_block(const struct model_block *b,
				 const struct brick_run *run,
				 const struct crash_medium *cm)
{
	unsigned int sample;

	if (run->owner != b->owner)
		return "wrong owner";
	if (!birth_is_right(b, run))
		return "wrong birth";
	for (sample = 0; sample < CRASH_SAMPLES; sample++) {
		uint64_t data = load_sample(cm, run->slot, sample);

		if (data != b->stable && data != b->latest)
			return b->stable ? "flushed data are lost"
					 : "another client's bytes";
	}
	return NULL;
}

const char *model_compare(const struct model *model, struct brick_store *s,
			  const struct crash_medium *cm)
{
	unsigned int key, n = 0;
	struct brick_store_stats stats;
	struct brick_run run;
	const char *wrong;

	for (key = 0; key < MODEL_KEYS; key++) {
		const struct model_block *b = &model->blocks[key];
		bool there = !brick_store_lookup(s, model_va(key), 1, &run);

		if (there != b->there)
			return there ? "a freed block is back"
				     : "a block is gone";
		if (!there)
			continue;
		n++;
		wrong = compare_block(b, &run, cm);
		if (wrong)
			return wrong;
	}
	brick_store_stats(s, &stats);
	return stats.slots_alloc + stats.slow_alloc == n ? NULL
							 : "an unknown block";
}

const char *model_compare_each(const struct model *now,
			       const struct model *after, struct brick_store *s,
			       const struct crash_medium *cm, bool may_be_lost)
{
	const char *wrong;
	struct brick_run run;
	unsigned int key;

	for (key = 0; key < MODEL_KEYS; key++) {
		const struct model_block *old = &now->blocks[key];
		const struct model_block *new = &after->blocks[key];

		if (brick_store_lookup(s, model_va(key), 1, &run)) {
			if (old->there && new->there && !may_be_lost)
				return "a block is gone";
			continue;
		}
		if (!old->there && !new->there)
			return "a freed block is back";
		wrong = new->there ? compare_block(new, &run, cm) : "freed";
		if (wrong && old->there)
			wrong = compare_block(old, &run, cm);
		if (wrong && strcmp(wrong, "freed") != 0)
			return wrong;
	}
	return NULL;
}

/* The slots from first to end, all of one tier; counts by their state. */
static const char *check_tier(struct brick_store *s,
			      const struct crash_medium *cm, uint64_t first,
			      uint64_t end, uint64_t *counts)
{
	struct brick_word w, mirror;
	unsigned int sample;
	uint64_t slot;

	for (slot = first; slot < end; slot++) {
		if (!brick_record_get_word(s->m, &s->sb, 0, slot, &w) ||
		    !brick_record_get_word(s->m, &s->sb, 1, slot, &mirror))
			return "a state word is damaged";
		if (w.state != mirror.state || brick_state_is_batch(w.state))
			return "a state is not settled";
		counts[w.state]++;
		if (w.state != BRICK_CLEAN)
			continue;
		for (sample = 0; sample < CRASH_SAMPLES; sample++)
			if (load_sample(cm, slot, sample))
				return "a CLEAN slot is not zero";
	}
	return NULL;
}

const char *model_check_owners(struct brick_store *s)
{
	uint32_t owners[MODEL_KEYS] = { 0 };
	uint64_t owner, has, sum = 0;
	unsigned int key, n = 0;
	struct brick_run run;

	for (key = 0; key < MODEL_KEYS; key++)
		if (!brick_store_lookup(s, model_va(key), 1, &run) && run.owner)
			owners[n++] = run.owner;
	for (owner = 0; brick_index_next(&s->owners.counts, &owner, &has);
	     owner++) {
		sum += has;
		for (key = 0; key < n; key++)
			has -= owners[key] == owner;
		if (has)
			return "an owner's blocks are not counted right";
	}
	return sum == n ? NULL : "blocks of an owner are not counted";
}

const char *model_check_slots(struct brick_store *s,
			      const struct crash_medium *cm)
{
	uint64_t counts[BRICK_BIRTH_B + 1] = { 0 };
	uint64_t slow[BRICK_BIRTH_B + 1] = { 0 };
	struct brick_store_stats stats;
	const char *wrong;

	wrong = check_tier(s, cm, 0, s->sb.n, counts);
	if (!wrong)
		wrong = check_tier(s, cm, BRICK_SLOT_SLOW,
				   BRICK_SLOT_SLOW + s->sb.n_slow, slow);
	if (wrong)
		return wrong;
	brick_store_stats(s, &stats);
	if (stats.slots_clean != counts[BRICK_CLEAN] ||
	    stats.slots_dirty != counts[BRICK_DIRTY] ||
	    stats.slots_alloc != counts[BRICK_ALLOC] ||
	    stats.slots_bad != counts[BRICK_BAD] ||
	    stats.slow_clean != slow[BRICK_CLEAN] ||
	    stats.slow_dirty != slow[BRICK_DIRTY] ||
	    stats.slow_alloc != slow[BRICK_ALLOC] ||
	    stats.slow_bad != slow[BRICK_BAD])
		return "the numbers do not add up";
	return model_check_owners(s);
}
