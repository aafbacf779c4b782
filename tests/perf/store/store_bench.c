// SPDX-License-Identifier: BSD-2-Clause
/*
 * How fast a store allocates, lists and starts:
 *
 *	store_bench PATH [SLOTS [BLOCKS_PER_BATCH]]
 *	store_bench --full PATH [SLOTS]
 *
 * PATH is made, sparse where that is allowed, and removed again. --full
 * allocates every slot, once with addresses in a row and once with random ones,
 * and measures a warm start and the first page of LIST of each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <malloc.h>

#include "brickd/store/store.h"
#include "kfb_wire.h"

#define SLOTS	     (1U << 20)
#define BATCH_BLOCKS 4096U
#define PAGE_EXTENTS KFB_LIST_EXTENTS_MAX
#define NS_PER_S     1e9

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / NS_PER_S;
}

static double cpu(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / NS_PER_S;
}

static void report(const char *what, uint64_t n, double seconds)
{
	printf("%-28s %10" PRIu64 " in %7.3f s  %12.0f /s\n", what, n, seconds,
	       (double)n / seconds);
}

static struct brick_store *open_store(struct brick_media *m)
{
	struct brick_store_open o = { .instance_id = 1 };
	struct brick_store *s;
	char err[256];
	double start = now(), cpu_start = cpu();

	if (brick_store_open(m, &o, &s, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		exit(1);
	}
	/* On a busy machine the processor's time is the one to look at. */
	printf("%-28s %10s    %7.3f s, of the processor %7.3f s\n", "open", "",
	       now() - start, cpu() - cpu_start);
	return s;
}

/* Allocate or free n blocks, every second address if they are scattered. */
static void change_all(struct brick_store *s, enum brick_store_op_kind kind,
		       uint64_t n, uint64_t per_op, uint64_t per_call)
{
	struct brick_store_op *ops = calloc(per_call, sizeof(*ops));
	uint64_t done = 0, i;

	while (ops && done < n) {
		for (i = 0; i < per_call && done < n; i++) {
			uint64_t left = n - done;

			memset(&ops[i], 0, sizeof(ops[i]));
			ops[i].kind = kind;
			/* One block apart, so that each op is an extent. */
			ops[i].va = (done + done / per_op) << KFB_BLOCK_SHIFT;
			ops[i].n_blocks = left < per_op ? left : per_op;
			done += ops[i].n_blocks;
			if (i)
				ops[i - 1].next = &ops[i];
		}
		brick_store_commit(s, ops);
		for (; i; i--) {
			if (ops[i - 1].error) {
				fprintf(stderr, "error %d\n", ops[i - 1].error);
				exit(1);
			}
		}
	}
	free(ops);
}

static void list_all(struct brick_store *s)
{
	struct brick_store_extent ext[PAGE_EXTENTS];
	uint64_t cursor = 0, changes, n = 0, blocks = 0, pages = 0;
	double start = now();
	unsigned int got, i;

	do {
		got = brick_store_list(s, &cursor, ext, PAGE_EXTENTS, &changes);
		for (i = 0; i < got; i++)
			blocks += ext[i].n_blocks;
		n += got;
		pages++;
	} while (cursor);
	report("list, extents", n, now() - start);
	printf("%-28s %10" PRIu64 ", blocks %" PRIu64 "\n", "  pages", pages,
	       blocks);
}

static void measure(struct brick_store *s, uint64_t n, uint64_t per_op,
		    uint64_t per_call, const char *how)
{
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	char what[64];
	double start = now();

	(void)snprintf(what, sizeof(what), "alloc, %s", how);
	change_all(s, BRICK_STORE_ALLOC, n, per_op, per_call);
	report(what, n, now() - start);
	printf("%-28s %10.1f bytes a block\n", "  memory",
	       ((double)(mallinfo2().uordblks + mallinfo2().hblkhd) -
		(double)before) /
		       (double)n);
	list_all(s);
}

static void free_all(struct brick_store *s, uint64_t n, uint64_t per_op,
		     uint64_t per_call)
{
	double start = now();

	change_all(s, BRICK_STORE_FREE, n, per_op, per_call);
	report("free", n, now() - start);
}

static int measure_halves(int argc, char **argv)
{
	uint64_t slots = argc > 2 ? strtoull(argv[2], NULL, 0) : SLOTS;
	uint64_t batch = argc > 3 ? strtoull(argv[3], NULL, 0) : BATCH_BLOCKS;
	struct brick_media_create create = { .sparse = true };
	struct brick_store_format f = { .uuid = { 1 } };
	struct brick_store *s;
	struct brick_media *m;
	char err[256];
	double start;

	if (argc < 2 || !slots || !batch) {
		fprintf(stderr, "usage: %s PATH [SLOTS [BATCH]]\n", argv[0]);
		return 2;
	}
	create.size = (slots + slots / 1024 + 2) << KFB_BLOCK_SHIFT;
	if (brick_media_open(argv[1], &create, &m, err, sizeof(err))) {
		create.sparse = false;
		if (brick_media_open(argv[1], &create, &m, err, sizeof(err))) {
			fprintf(stderr, "%s\n", err);
			return 1;
		}
	}
	start = now();
	if (brick_store_format(m, &f, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	printf("%-28s %10" PRIu64 " in %7.3f s\n", "format, slots", slots,
	       now() - start);
	s = open_store(m);
	measure(s, slots / 2, batch, 1, "one range a batch");
	brick_store_close(s, true);
	s = open_store(m);
	free_all(s, slots / 2, batch, 1);
	measure(s, slots / 2, 1, batch, "single blocks, grouped");
	brick_store_close(s, true);
	s = open_store(m);
	brick_store_close(s, true);
	brick_media_close(m);
	(void)unlink(argv[1]);
	return 0;
}

/* A permutation of 40-bit block numbers: an odd factor and a shift, twice. */
static uint64_t scatter(uint64_t i)
{
	const uint64_t mask = (1ULL << 40) - 1;

	i = (i * 0x9e3779b97f4a7c15ULL) & mask;
	i ^= i >> 20;
	return (i * 0xbf58476d1ce4e5b9ULL) & mask;
}

static void alloc_every(struct brick_store *s, uint64_t n, bool random)
{
	struct brick_store_op *ops = calloc(BATCH_BLOCKS, sizeof(*ops));
	uint64_t done = 0, per_op = random ? 1 : BATCH_BLOCKS, i;
	double start = now();

	while (ops && done < n) {
		uint64_t n_ops = random ? BATCH_BLOCKS : 1;

		for (i = 0; i < n_ops && done < n; i++) {
			uint64_t left = n - done;

			ops[i] = (struct brick_store_op){
				.kind = BRICK_STORE_ALLOC,
				.va = (random ? scatter(done) : done)
				      << KFB_BLOCK_SHIFT,
				.n_blocks = left < per_op ? left : per_op,
			};
			done += ops[i].n_blocks;
			if (i)
				ops[i - 1].next = &ops[i];
		}
		brick_store_commit(s, ops);
		while (i--) {
			if (ops[i].error) {
				fprintf(stderr, "error %d\n", ops[i].error);
				exit(1);
			}
		}
	}
	free(ops);
	report(random ? "alloc, random addresses" : "alloc, one range a batch",
	       n, now() - start);
}

static void first_page(struct brick_store *s)
{
	struct brick_store_extent ext[PAGE_EXTENTS];
	uint64_t cursor = 0, changes;
	double start = now();
	unsigned int n;

	n = brick_store_list(s, &cursor, ext, PAGE_EXTENTS, &changes);
	printf("%-28s %10u in %7.3f ms\n", "  first page, extents", n,
	       (now() - start) * 1e3);
}

static void memory(size_t before, uint64_t n)
{
	struct mallinfo2 info = mallinfo2();

	printf("%-28s %10.1f bytes a block\n", "  memory",
	       ((double)(info.uordblks + info.hblkhd) - (double)before) /
		       (double)n);
}

static int fill_and_start(struct brick_media *m, bool random)
{
	struct brick_store_format f = { .uuid = { 1 }, .force = true };
	struct brick_store_stats st;
	struct brick_store *s;
	size_t before;
	char err[256];

	if (brick_store_format(m, &f, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	/* As a fresh file: only a sparse one is, and it still is. */
	m->fresh_is_zero = true;
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	s = open_store(m);
	brick_store_stats(s, &st);
	alloc_every(s, st.slots_total, random);
	memory(before, st.slots_total);
	brick_store_close(s, true);
	before = mallinfo2().uordblks + mallinfo2().hblkhd;
	puts(random ? "start, random addresses:" : "start, in a row:");
	s = open_store(m);
	memory(before, st.slots_total);
	first_page(s);
	brick_store_close(s, true);
	return 0;
}

static int measure_full(const char *path, uint64_t slots)
{
	struct brick_media_create create = { .sparse = true };
	struct brick_media *m;
	char err[256];
	int status;

	create.size = (slots + slots / 1024 + 2) << KFB_BLOCK_SHIFT;
	if (brick_media_open(path, &create, &m, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	status = fill_and_start(m, false);
	m->fresh_is_zero = true;
	if (!status)
		status = fill_and_start(m, true);
	brick_media_close(m);
	(void)unlink(path);
	return status;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "--full"))
		return measure_full(argv[2],
				    argc > 3 ? strtoull(argv[3], NULL, 0)
					     : 1U << 23);
	return measure_halves(argc, argv);
}
