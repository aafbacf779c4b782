// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the table of mappings costs the loop: mapping_bench [N...]
 *
 * N one-block mappings (1000, 10 000, 100 000), with gaps between them, below one
 * wide one, all of them shared. Prints, in microseconds: one coming and going, a
 * page of LIST, and whether a block is in anybody's way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "brickd/mapping/mapping.h"
#include "proto/kfb_wire.h"

#define ROUNDS 100
#define STEP   7919 /* a prime: the order is none */

static bool is_ending(const struct brick_session *session)
{
	(void)session;
	return false;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static struct brick_holdings holdings;

static struct brick_mapping *add(struct brick_mappings *all, uint32_t flags,
				 uint64_t first, uint64_t n)
{
	struct brick_mapping *m = calloc(1, sizeof(*m));

	if (m)
		m->handles = calloc(1, sizeof(*m->handles));
	if (!m || !m->handles)
		exit(1);
	m->holdings = &holdings;
	m->flags = flags;
	m->n = 1;
	m->handles[0].span = (struct brick_span){ first, first + n };
	if (brick_mappings_add(all, m))
		exit(1);
	return m;
}

static void drop(struct brick_mappings *all, struct brick_mapping *m)
{
	brick_mappings_shorten(all, m);
	free(m->handles);
	free(m);
}

/* As many stretches as a page has, from the middle on. */
static void list_page(const struct brick_mappings *all, uint64_t n)
{
	struct brick_span span;
	uint64_t from = n;
	uint32_t flags;

	for (int i = 0; i < KFB_LIST_EXTENTS_MAX; i++) {
		if (brick_mappings_union(all, from, &span, &flags))
			return;
		from = span.end;
	}
}

static void measure(uint64_t n)
{
	struct brick_mappings all;
	struct brick_mapping *wide;
	double begin, listed, looked, moved;

	brick_mappings_init(&all, 1, is_ending);
	wide = add(&all, KFB_MAP_RO | KFB_MAP_SHARED, 0, n);
	for (uint64_t i = 0; i < n; i++)
		(void)add(&all, KFB_MAP_RW | KFB_MAP_SHARED, i * STEP % n * 2,
			  1);
	begin = now_us();
	for (int i = 0; i < ROUNDS; i++)
		list_page(&all, n);
	listed = now_us();
	for (uint64_t i = 0; i < ROUNDS; i++)
		(void)brick_mappings_conflict(
			&all, (struct brick_span){ n + i, n + i + 1 }, true);
	looked = now_us();
	for (uint64_t i = 0; i < ROUNDS; i++)
		drop(&all, add(&all, KFB_MAP_RO | KFB_MAP_SHARED, i, 1));
	moved = now_us();
	printf("| %llu | %.2f | %.1f | %.2f |\n", (unsigned long long)n,
	       (moved - looked) / ROUNDS, (listed - begin) / ROUNDS,
	       (looked - listed) / ROUNDS);
	drop(&all, wide);
	while (all.by_block.root)
		drop(&all, all.by_block.root->owner);
}

int main(int argc, char **argv)
{
	static const uint64_t usual[] = { 1000, 10000, 100000 };

	printf("| mappings | one comes and goes, us | a page of LIST, us | a conflict, us |\n"
	       "|---|---|---|---|\n");
	for (int i = 1; i < argc; i++)
		measure(strtoull(argv[i], NULL, 10));
	for (size_t i = 0; argc < 2 && i < sizeof(usual) / sizeof(*usual); i++)
		measure(usual[i]);
	return 0;
}
