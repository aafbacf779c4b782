// SPDX-License-Identifier: BSD-2-Clause
/*
 * 02: keep several writes in flight, flush them together, check one.
 *
 * Sixteen 64 KiB buffers go round: a completion frees a buffer for the next
 * write. One flush at the end covers all writes that have completed.
 *
 * Usage: 02-async-pipeline BRICK CLIENT KEY-FILE VA
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kfbrick.h"
#include "key.h"

#define N_BLOCKS       4
#define CHUNK_BYTES    65536
#define N_CHUNKS       (N_BLOCKS * (KFBRICK_BLOCK_BYTES / CHUNK_BYTES))
#define IN_FLIGHT      16
#define NO_PROGRESS_MS 10000

static int collect_done(struct kfbrick *k, void **context)
{
	struct kfbrick_completion done;
	int n = kfbrick_poll(k, &done, 1, NO_PROGRESS_MS);

	if (n < 0)
		return n;
	if (n == 0)
		return -ETIMEDOUT;
	*context = done.context;
	return done.error;
}

static int write_all(struct kfbrick *k, uint64_t va, uint8_t *memory)
{
	uint64_t started = 0;
	uint64_t finished = 0;
	int rc;

	while (finished < N_CHUNKS) {
		void *buf = memory + started * CHUNK_BYTES;

		if (started >= IN_FLIGHT || started == N_CHUNKS) {
			rc = collect_done(k, &buf);
			if (rc)
				return rc;
			finished++;
		}
		if (started == N_CHUNKS)
			continue;
		memset(buf, (int)(started & 0xff), CHUNK_BYTES);
		rc = kfbrick_post_write(k, va + started * CHUNK_BYTES, buf,
					CHUNK_BYTES, buf);
		if (rc)
			return rc;
		started++;
	}
	return 0;
}

static int flush_all(struct kfbrick *k)
{
	void *context;
	int rc;

	rc = kfbrick_post_flush(k, NULL);
	if (!rc)
		rc = collect_done(k, &context);
	if (rc == -EOPNOTSUPP) {
		puts("this brick is volatile: nothing to flush to");
		return 0;
	}
	return rc;
}

static int check_last(struct kfbrick *k, uint64_t va, uint8_t *memory)
{
	uint64_t last = N_CHUNKS - 1;
	void *context;
	size_t i;
	int rc;

	rc = kfbrick_post_read(k, va + last * CHUNK_BYTES, memory, CHUNK_BYTES,
			       NULL);
	if (!rc)
		rc = collect_done(k, &context);
	for (i = 0; !rc && i < CHUNK_BYTES; i++) {
		if (memory[i] != (uint8_t)last)
			rc = -EIO;
	}
	return rc;
}

static int run_pipeline(struct kfbrick *k, uint64_t va, uint8_t *memory)
{
	struct kfbrick_memory *registered;
	int rc;

	rc = kfbrick_memory_register(k, memory, IN_FLIGHT * CHUNK_BYTES,
				     &registered);
	if (rc)
		return rc;
	rc = write_all(k, va, memory);
	if (!rc)
		rc = flush_all(k);
	if (!rc)
		rc = check_last(k, va, memory);
	if (rc)
		return rc; /* closing the connection ends what is in flight */
	printf("%" PRIu64 " writes of %d bytes, at most %d in flight\n",
	       (uint64_t)N_CHUNKS, CHUNK_BYTES, IN_FLIGHT);
	return kfbrick_memory_release(k, registered);
}

static int with_blocks(struct kfbrick *k, uint64_t va)
{
	uint8_t *memory = malloc(IN_FLIGHT * CHUNK_BYTES);
	struct kfbrick_mapping *mapping;
	int rc;

	if (!memory)
		return -ENOMEM;
	rc = kfbrick_alloc(k, va, N_BLOCKS);
	if (rc)
		goto free_memory;
	rc = kfbrick_map(k, va, N_BLOCKS,
			 KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE, &mapping);
	if (!rc) {
		rc = run_pipeline(k, va, memory);
		if (!rc)
			rc = kfbrick_unmap(k, mapping);
	}
	if (!rc)
		rc = kfbrick_free(k, va, N_BLOCKS);
free_memory:
	/* Nothing may be in flight into it. */
	if (rc)
		fprintf(stderr, "%s\n", kfbrick_error(k));
	kfbrick_close(k);
	free(memory);
	return rc;
}

int main(int argc, char **argv)
{
	struct kfbrick_config config = { .size = sizeof(config) };
	uint8_t key[KFBRICK_KEY_BYTES];
	struct kfbrick *k;

	if (argc != 5) {
		fprintf(stderr, "usage: %s BRICK CLIENT KEY-FILE VA\n",
			argv[0]);
		return 2;
	}
	if (read_key(argv[3], key)) {
		fprintf(stderr, "%s: no key in it\n", argv[3]);
		return 2;
	}
	config.brick = argv[1];
	config.client = argv[2];
	config.key = key;
	if (kfbrick_connect(&config, &k)) {
		fprintf(stderr, "%s\n", kfbrick_error(k));
		kfbrick_close(k);
		return 1;
	}
	return with_blocks(k, strtoull(argv[4], NULL, 0)) ? 1 : 0;
}
