// SPDX-License-Identifier: BSD-2-Clause
/* What a brick says of its blocks and of who has them, against what has to be. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../brick.h"
#include "client.h"
#include "initiator/core/session/kfb_client.h"
#include "kfbrick.h"
#include "../scene.h"

#define PAGE_EXTENTS 2 /* few, so that there are several pages */
#define SLOTS_TRIES  600
#define SLOTS_NS     (20 * SIM_MS)

/* Blocks of an extent that are its own, without spare ones. */
static uint64_t n_own(const struct sim_client *c,
		      const struct kfbrick_extent *extent)
{
	uint64_t first = sim_client_va(c->number), n = 0;

	for (uint32_t b = 0; b < c->settings.n_blocks; b++)
		n += first + ((uint64_t)b << KFB_BLOCK_SHIFT) - extent->va <
		     extent->n_blocks << KFB_BLOCK_SHIFT;
	return n;
}

/* Counts blocks of all pages, its own or all; or a negative errno. */
static int64_t count(struct sim_client *c, unsigned int what, bool own)
{
	struct kfbrick_extent extents[PAGE_EXTENTS];
	uint64_t cursor = 0;
	int64_t n_blocks = 0;
	int n;

	c->call = "list";
	do {
		n = kfbrick_list(c->k, what, &cursor, extents, PAGE_EXTENTS,
				 NULL);
		for (int i = 0; i < n; i++)
			n_blocks += (int64_t)(own ? n_own(c, &extents[i])
						  : extents[i].n_blocks);
	} while (n >= 0 && cursor && !sim.is_over);
	c->call = "nothing";
	return n < 0 ? n : n_blocks;
}

/* Its number; 0: there is none just now. */
static uint64_t live_session(const struct sim_client *c)
{
	return sim_client_state(c) == KFB_CLIENT_LIVE ? c->session->session_id
						      : 0;
}

void sim_client_check_mapped(struct sim_client *c)
{
	static const unsigned int lists[] = { KFBRICK_LIST_MINE,
					      KFBRICK_LIST_MAPPED };
	uint64_t session = live_session(c);

	for (uint32_t i = 0; i < 2; i++) {
		int64_t n = count(c, lists[i], true);

		/* In another session they may be mapped in a moment. */
		if (n < 0 || !session || live_session(c) != session)
			return;
		if (n != c->settings.n_blocks)
			sim_violated("%s: %u blocks are mapped, and %lld are "
				     "listed of %s",
				     c->name, c->settings.n_blocks,
				     (long long)n, i ? "all" : "its own");
	}
}

/* It has no more than it may, and is refused no less. */
void sim_client_check_quota(const struct sim_client *c, uint32_t n, int rc)
{
	uint32_t n_there = 0, n_unknown = c->owns_more, quota;
	bool is_told;

	if (!sim_brick_had_quota(c->brick, c->number, c->asked_ns, &quota))
		return;
	/* A brick that is full says nothing of quotas. */
	is_told =
		rc == -ENOSPC && strstr(kfbrick_error(c->k), "quota of client");
	if (is_told && !quota)
		sim_violated("%s: it has reached a quota, and has none",
			     c->name);
	if (!quota)
		return;
	for (uint32_t b = 0; b < sim_client_n_places(c); b++) {
		n_there += c->blocks[b] == SIM_BLOCK_THERE;
		n_unknown += c->blocks[b] == SIM_BLOCK_UNKNOWN;
	}
	if (!rc && n_there > quota)
		sim_violated("%s: %u blocks, and its quota is %u", c->name,
			     n_there, quota);
	if (is_told && n_there + n_unknown + n <= quota)
		sim_violated(
			"%s: %u blocks, %u perhaps, and %u more are too many for a quota of %u",
			c->name, n_there, n_unknown, n, quota);
}

/*
 * What cannot be zeroed nobody gets, and it costs no more than itself. The slow tier
 * has some to spare, which are counted as free when they are in memory.
 */
static bool is_sum_right(const struct sim_brick *brick,
			 const struct kfbrick_info *info, int64_t n_allocated)
{
	int64_t n_missing = (int64_t)(info->slots_total + info->slow_total -
				      info->slots_free - info->slow_free) -
			    n_allocated;

	return n_missing <= (int64_t)brick->files.n_failed &&
	       (!n_missing || info->slow_total || brick->files.n_failed);
}

/*
 * What others do meanwhile moves slots from one count to another: it is enough that
 * the sum is right once.
 */
void sim_client_check_slots(struct sim_client *c)
{
	const struct sim_brick *brick = c->brick;
	struct kfbrick_info info = { .size = sizeof(info) };
	uint64_t life = brick->lives;
	int64_t n = 0;

	for (uint32_t i = 0; i < SLOTS_TRIES; i++) {
		/* Bad ones are counted with those that are free, or not. */
		if (brick->n_spoiled || brick->lives != life)
			return;
		c->call = "info";
		n = kfbrick_get_info(c->k, &info);
		c->call = "nothing";
		n = n ? n : count(c, KFBRICK_LIST_ALLOCATED, false);
		if (n < 0 || is_sum_right(brick, &info, n))
			return;
		sim_sleep(sim.now_ns + SLOTS_NS);
	}
	sim_violated("%s: of %llu slots %llu are free and %lld allocated",
		     c->name,
		     (unsigned long long)(info.slots_total + info.slow_total),
		     (unsigned long long)(info.slots_free + info.slow_free),
		     (long long)n);
}

/* Why there is no room for one block more: there is none, or it is not known. */
static bool is_full(struct sim_client *c)
{
	const struct sim_brick *brick = c->brick;
	struct kfbrick_info info = { .size = sizeof(info) };
	uint64_t quota = 0, used = 0;
	int rc;

	c->call = "info";
	rc = kfbrick_get_info(c->k, &info);
	if (!rc)
		rc = kfbrick_get_quota(c->k, &quota, &used);
	c->call = "nothing";
	return rc || brick->n_spoiled || brick->files.slow.bytes ||
	       brick->files.n_failed || !info.slots_free || used >= quota;
}

/* Slots that somebody may still write to come back with the end of his session. */
void sim_client_check_full(struct sim_client *c, uint64_t va)
{
	uint64_t life = c->brick->lives;

	for (uint32_t i = 0; i < SLOTS_TRIES; i++) {
		if (is_full(c) || c->brick->lives != life)
			return;
		c->call = "alloc";
		if (kfbrick_alloc(c->k, va, 1) != -ENOSPC)
			return;
		sim_sleep(sim.now_ns + SLOTS_NS);
	}
	sim_violated("%s: a block is refused, and there is room", c->name);
}
