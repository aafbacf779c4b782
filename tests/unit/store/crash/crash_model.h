/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a store must hold after a power failure: the blocks acknowledged, and
 * those of the batch that is under way, all of it or nothing.
 */
#ifndef TESTS_STORE_CRASH_MODEL_H
#define TESTS_STORE_CRASH_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/store/store.h"
#include "crash_medium.h"

#define MODEL_KEYS 12U

struct model_block {
	bool there;
	uint32_t birth; /* 0: any but not_birth */
	uint32_t not_birth;
	uint32_t owner;
	uint64_t stable; /* data that were flushed and drained */
	uint64_t latest; /* data written; they may have got there too */
};

struct model {
	struct model_block blocks[MODEL_KEYS];
};

/* The address of a model's block; the last ones end the address space. */
uint64_t model_va(unsigned int key);
unsigned int model_key(uint64_t va); /* MODEL_KEYS: not one of ours */

/* Note what an operation is to change. */
void model_apply(struct model *model, const struct brick_store_op *op);

/* Take the births that the store chose. */
void model_learn(struct model *model, struct brick_store *s);

/*
 * Compare a store with a model. NULL: they agree; else what is wrong.
 * Data are read from the medium, and from its slow tier.
 */
const char *model_compare(const struct model *model, struct brick_store *s,
			  const struct crash_medium *cm);

/*
 * The same where each block may be as it was or as it is to be, or be lost if
 * slots were given up: a copy was lost while a batch with births was under way.
 */
const char *model_compare_each(const struct model *now,
			       const struct model *after, struct brick_store *s,
			       const struct crash_medium *cm, bool may_be_lost);

/* Whether a reader may see this: run is NULL where it found nothing. */
bool model_allows(const struct model_block *b, const struct brick_run *run);

/* Each owner has as many blocks as the records say. */
const char *model_check_owners(struct brick_store *s);

/*
 * What holds whatever happened: numbers add up, those of the owners, too; CLEAN
 * slots are zero.
 */
const char *model_check_slots(struct brick_store *s,
			      const struct crash_medium *cm);

#endif
