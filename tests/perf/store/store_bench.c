// SPDX-License-Identifier: BSD-2-Clause
/*
 * How fast a store allocates, lists and starts:
 *
 *	store_bench PATH [SLOTS [BLOCKS_PER_BATCH]]
 *
 * PATH is made, sparse where that is allowed, and removed again.
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
	double start = now();

	if (brick_store_open(m, &o, &s, err, sizeof(err))) {
		fprintf(stderr, "%s\n", err);
		exit(1);
	}
	printf("%-28s %10s    %7.3f s\n", "open", "", now() - start);
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

int main(int argc, char **argv)
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
