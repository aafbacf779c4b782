// SPDX-License-Identifier: BSD-2-Clause
/*
 * Blocks of a client that have no registers: now and then it looks whether they are
 * as new as they were said to be, and leaves something there for whoever gets their
 * slots next, in memory or in the slow tier.
 */
#include <errno.h>
#include <string.h>

#include "client.h"
#include "kfbrick.h"

#define LOOK_CHANCE 400
#define LOOKS	    4
#define LOOK_WORDS  8
#define USED	    UINT64_C(0xfeedfeedfeedfeed)
#define RETRY_NS    (20 * SIM_MS)
#define RETRIES	    20

/* Where clients have a register in a block, so that words of theirs are found, too. */
static uint64_t place_in(struct sim_client *c, uint64_t va)
{
	uint64_t bytes = c->settings.n_words * sizeof(uint64_t);
	uint64_t at = sim_below_of(&c->chance, SIM_CLIENT_REGS) *
		      (KFB_BLOCK_BYTES / SIM_CLIENT_REGS);

	return va + at / bytes * bytes;
}

/* Return: 0 or a negative errno of libkfbrick. */
static int look_at(struct sim_client *c, uint64_t va)
{
	uint64_t words[LOOK_WORDS];
	int rc;

	c->call = "read what is new";
	rc = kfbrick_read(c->k, va, words, sizeof(words));
	for (uint32_t i = 0; !rc && i < LOOK_WORDS; i++)
		if (words[i])
			sim_violated("%s: 0x%llx is new, and holds %llx",
				     c->name, (unsigned long long)va,
				     (unsigned long long)words[i]);
	return rc;
}

static int use(struct sim_client *c, uint64_t va)
{
	uint64_t words[LOOK_WORDS];

	for (uint32_t i = 0; i < LOOK_WORDS; i++)
		words[i] = USED;
	c->call = "write what is new";
	return kfbrick_write(c->k, va, words, sizeof(words));
}

/* It is told here of what a flush before it may have failed to do. */
static int unmap(struct sim_client *c, struct kfbrick_mapping *mapping)
{
	int rc = -ENOMEM;

	c->call = "unmap what is new";
	for (uint32_t i = 0; sim_client_keeps(rc) && i < RETRIES; i++) {
		rc = kfbrick_unmap(c->k, mapping);
		if (sim_client_keeps(rc))
			sim_sleep(sim.now_ns + RETRY_NS);
	}
	if (rc && !sim_client_keeps(rc))
		c->is_untold = false;
	return rc;
}

bool sim_client_use_spares(struct sim_client *c, uint64_t va, uint32_t n)
{
	struct kfbrick_mapping *mapping;
	uint64_t places[LOOKS];
	int rc, left;

	if (!sim_chance_of(&c->chance, LOOK_CHANCE))
		return true;
	if (!sim_client_settle(c))
		return false;
	c->call = "map what is new";
	rc = kfbrick_map(c->k, va, n, KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
			 &mapping);
	sim_trace(c->name, "looks at what is new, 0x%llx+%u: %s",
		  (unsigned long long)va, n, strerror(-rc));
	for (uint32_t i = 0; i < LOOKS; i++)
		places[i] = place_in(c, va + (sim_below_of(&c->chance, n)
					      << KFB_BLOCK_SHIFT));
	if (!rc) {
		for (uint32_t i = 0; !rc && i < LOOKS; i++)
			rc = look_at(c, places[i]);
		for (uint32_t i = 0; !rc && i < LOOKS; i++)
			rc = use(c, places[i]);
		left = unmap(c, mapping);
		rc = rc ? rc : left;
	}
	c->call = "nothing";
	return rc != -ENOTCONN && rc != -ECONNRESET && rc != -ETIMEDOUT;
}
