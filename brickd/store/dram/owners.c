// SPDX-License-Identifier: BSD-2-Clause
/* The counts are an index from owner to blocks: replacing one takes no memory. */
#include "brickd/store/dram/owners.h"

void brick_owners_init(struct brick_owners *o)
{
	brick_index_init(&o->counts);
}

void brick_owners_fini(struct brick_owners *o)
{
	brick_index_fini(&o->counts);
}

int brick_owners_reserve(struct brick_owners *o, uint32_t owner)
{
	uint64_t n;

	if (!owner || brick_index_get(&o->counts, owner, &n))
		return 0;
	return brick_index_put(&o->counts, owner, 0);
}

void brick_owners_add(struct brick_owners *o, uint32_t owner, uint64_t n)
{
	if (owner)
		(void)brick_index_put(&o->counts, owner,
				      brick_owners_count(o, owner) + n);
}

void brick_owners_sub(struct brick_owners *o, uint32_t owner, uint64_t n)
{
	uint64_t has;

	if (owner && brick_index_get(&o->counts, owner, &has))
		(void)brick_index_put(&o->counts, owner, has > n ? has - n : 0);
}

uint64_t brick_owners_count(const struct brick_owners *o, uint32_t owner)
{
	uint64_t n;

	return brick_index_get(&o->counts, owner, &n) ? n : 0;
}
