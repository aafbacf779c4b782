// SPDX-License-Identifier: BSD-2-Clause
/*
 * The index is a JudyL array: 14 to 28 bytes an entry. Its functions are
 * called without Judy's macros, which exit the process on lack of memory.
 */
#include <errno.h>

#include <Judy.h>

#include "brickd/store/dram/index.h"

_Static_assert(sizeof(Word_t) == sizeof(uint64_t), "64-bit hosts only");

void brick_index_init(struct brick_index *ix)
{
	ix->judy = NULL;
}

void brick_index_fini(struct brick_index *ix)
{
	JError_t error;

	(void)JudyLFreeArray(&ix->judy, &error);
}

bool brick_index_get(const struct brick_index *ix, uint64_t key,
		     uint64_t *value)
{
	JError_t error;
	void **entry = JudyLGet(ix->judy, key, &error);

	if (!entry || entry == PPJERR || *(Word_t *)entry == BRICK_INDEX_ABSENT)
		return false;
	*value = *(Word_t *)entry;
	return true;
}

int brick_index_put(struct brick_index *ix, uint64_t key, uint64_t value)
{
	JError_t error;
	void **entry = JudyLIns(&ix->judy, key, &error);

	if (!entry || entry == PPJERR)
		return -ENOMEM;
	*(Word_t *)entry = value;
	return 0;
}

void brick_index_del(struct brick_index *ix, uint64_t key)
{
	JError_t error;

	if (JudyLDel(&ix->judy, key, &error) == JERR) {
		void **entry = JudyLGet(ix->judy, key, &error);

		if (entry && entry != PPJERR)
			*(Word_t *)entry = BRICK_INDEX_ABSENT;
	}
}

bool brick_index_next(const struct brick_index *ix, uint64_t *key,
		      uint64_t *value)
{
	JError_t error;
	Word_t at = *key;
	void **entry = JudyLFirst(ix->judy, &at, &error);

	while (entry && entry != PPJERR) {
		if (*(Word_t *)entry != BRICK_INDEX_ABSENT) {
			*key = at;
			*value = *(Word_t *)entry;
			return true;
		}
		entry = JudyLNext(ix->judy, &at, &error);
	}
	return false;
}
