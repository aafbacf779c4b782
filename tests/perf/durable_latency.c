// SPDX-License-Identifier: BSD-2-Clause
/*
 * Latency of a durable 4 KiB write: durable-latency BRICK CLIENT KEYFILE VA
 *
 * Allocates the block at VA, writes 4 KiB pieces one-sidedly, flushes each,
 * and prints "MEDIAN us / P99 us"; frees the block again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "initiator/lib/kfbrick.h"
#include "tests/func/key_file.h"

#define ROUNDS	    1000
#define PIECE_BYTES 4096
#define NS_PER_US   1000

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* One operation at a time: post, then wait for its completion. */
static int wait_one(struct kfbrick *k)
{
	struct kfbrick_completion done;
	int n = kfbrick_poll(k, &done, 1, -1);

	if (n < 0)
		return n;
	return n == 1 ? done.error : -EIO;
}

static int durable_write(struct kfbrick *k, uint64_t va, const void *buf)
{
	int rc = kfbrick_post_write(k, va, buf, PIECE_BYTES, NULL);

	if (!rc)
		rc = wait_one(k);
	if (!rc)
		rc = kfbrick_post_flush(k, NULL);
	return rc ? rc : wait_one(k);
}

static int measure(struct kfbrick *k, uint64_t va)
{
	static uint64_t ns[ROUNDS];
	static uint8_t piece[PIECE_BYTES];
	struct kfbrick_memory *memory;
	unsigned int i;
	int rc;

	rc = kfbrick_memory_register(k, piece, sizeof(piece), &memory);
	if (rc)
		return rc;
	for (i = 0; i < ROUNDS && !rc; i++) {
		uint64_t offset = i * PIECE_BYTES % KFBRICK_BLOCK_BYTES;
		uint64_t start = now_ns();

		memset(piece, (int)i, sizeof(piece));
		rc = durable_write(k, va + offset, piece);
		ns[i] = now_ns() - start;
	}
	kfbrick_memory_release(k, memory);
	if (rc)
		return rc;
	qsort(ns, ROUNDS, sizeof(ns[0]), by_value);
	printf("%" PRIu64 " us / %" PRIu64 " us\n", ns[ROUNDS / 2] / NS_PER_US,
	       ns[ROUNDS * 99 / 100] / NS_PER_US);
	return 0;
}

static int run(struct kfbrick *k, uint64_t va)
{
	struct kfbrick_mapping *mapping;
	int rc = kfbrick_alloc(k, va, 1);

	if (rc)
		return rc;
	rc = kfbrick_map(k, va, 1, KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
			 &mapping);
	if (!rc) {
		rc = measure(k, va);
		kfbrick_unmap(k, mapping);
	}
	if (kfbrick_free(k, va, 1) && !rc)
		rc = -EIO;
	return rc;
}

int main(int argc, char **argv)
{
	uint8_t key[KFBRICK_KEY_BYTES];
	struct kfbrick_config config = { .size = sizeof(config), .key = key };
	struct kfbrick *k = NULL;
	char *end;
	uint64_t va;
	int rc;

	if (argc != 5) {
		fprintf(stderr, "usage: %s BRICK CLIENT KEYFILE VA\n", argv[0]);
		return 2;
	}
	config.brick = argv[1];
	config.client = argv[2];
	va = strtoull(argv[4], &end, 0);
	rc = *end ? -EINVAL : key_file_read(argv[3], key);
	if (rc) {
		fprintf(stderr, "%s: bad key file or address\n", argv[0]);
		return 2;
	}
	rc = kfbrick_connect(&config, &k);
	if (!rc)
		rc = run(k, va);
	if (rc)
		fprintf(stderr, "%s: %s: %s\n", argv[0], strerror(-rc),
			kfbrick_error(k));
	kfbrick_close(k);
	return rc ? 1 : 0;
}
