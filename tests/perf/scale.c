// SPDX-License-Identifier: BSD-2-Clause
/*
 * Many blocks over the wire: scale BRICK CLIENT KEYFILE BLOCKS
 *
 * Allocates BLOCKS blocks in the largest batches the brick takes, frees them,
 * then allocates BLOCKS extents of one block with gaps between and lists them
 * all with a cursor. The client's grant must cover twice BLOCKS from 0. Prints
 * a line for each step; fails when the list is not what was allocated.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "initiator/lib/kfbrick.h"
#include "tests/func/clients/key_file.h"

#define PAGE_EXTENTS 4096

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void report(const char *what, uint64_t n, double start)
{
	printf("%-36s %9" PRIu64 " %8.3f s\n", what, n, now_s() - start);
	fflush(stdout);
}

/* Allocate or free n consecutive blocks in batches of at most max. */
static int in_batches(struct kfbrick *k, bool is_alloc, uint64_t n,
		      uint64_t max)
{
	uint64_t at, len;
	int rc = 0;

	for (at = 0; at < n && !rc; at += len) {
		uint64_t va = at * KFBRICK_BLOCK_BYTES;

		len = n - at < max ? n - at : max;
		rc = is_alloc ? kfbrick_alloc(k, va, len)
			      : kfbrick_free(k, va, len);
	}
	return rc;
}

static int batches(struct kfbrick *k, uint64_t n)
{
	struct kfbrick_info info = { .size = sizeof(info) };
	double start;
	int rc = kfbrick_get_info(k, &info);

	start = now_s();
	if (!rc)
		rc = in_batches(k, true, n, info.alloc_max_blocks);
	report("blocks allocated in batches", n, start);
	start = now_s();
	if (!rc)
		rc = in_batches(k, false, n, info.alloc_max_blocks);
	report("blocks freed in batches", n, start);
	return rc;
}

static int make_extents(struct kfbrick *k, uint64_t n)
{
	double start = now_s();
	uint64_t i;
	int rc = 0;

	for (i = 0; i < n && !rc; i++)
		rc = kfbrick_alloc(k, 2 * i * KFBRICK_BLOCK_BYTES, 1);
	report("single blocks allocated, with gaps", n, start);
	return rc;
}

/* Every extent is one block, in order, with a gap of one block. */
static int list_extents(struct kfbrick *k, uint64_t n)
{
	static struct kfbrick_extent extents[PAGE_EXTENTS];
	double start = now_s();
	uint64_t cursor = 0, seen = 0;
	int i, got;

	do {
		got = kfbrick_list(k, KFBRICK_LIST_ALLOCATED, &cursor, extents,
				   PAGE_EXTENTS, NULL);
		for (i = 0; i < got; i++, seen++)
			if (extents[i].n_blocks != 1 ||
			    extents[i].va != 2 * seen * KFBRICK_BLOCK_BYTES)
				return -EUCLEAN;
	} while (got >= 0 && cursor);
	report("extents listed with a cursor", seen, start);
	if (got < 0)
		return got;
	return seen == n ? 0 : -EUCLEAN;
}

int main(int argc, char **argv)
{
	uint8_t key[KFBRICK_KEY_BYTES];
	struct kfbrick_config config = { .size = sizeof(config),
					 .key = key,
					 .timeout_ms = 60000 };
	struct kfbrick *k = NULL;
	uint64_t n;
	char *end;
	int rc;

	if (argc != 5 || key_file_read(argv[3], key)) {
		fprintf(stderr, "usage: %s BRICK CLIENT KEYFILE BLOCKS\n",
			argv[0]);
		return 2;
	}
	n = strtoull(argv[4], &end, 0);
	if (*end || !n)
		return 2;
	config.brick = argv[1];
	config.client = argv[2];
	rc = kfbrick_connect(&config, &k);
	if (!rc)
		rc = batches(k, n);
	if (!rc)
		rc = make_extents(k, n);
	if (!rc)
		rc = list_extents(k, n);
	if (rc)
		fprintf(stderr, "%s: %s: %s\n", argv[0], strerror(-rc),
			kfbrick_error(k));
	kfbrick_close(k);
	return rc ? 1 : 0;
}
