// SPDX-License-Identifier: BSD-2-Clause
/*
 * The same operations as the bare loop's by libkfbrick, of a brick without
 * authentication that has AREA_BYTES free at address 0.
 */
#include <stdio.h>
#include <string.h>

#include "initiator/lib/kfbrick.h"
#include "peer.h"
#include "samples.h"

#define N_BLOCKS (AREA_BYTES / KFBRICK_BLOCK_BYTES)

static struct kfbrick *k;
static struct kfbrick_mapping *mapping;
static struct kfbrick_memory *memory;
static uint8_t *pieces;

static int failed(const char *what, int rc)
{
	fprintf(stderr, "side-by-side: %s: %s: %s\n", what, strerror(-rc),
		kfbrick_error(k));
	return -1;
}

/* One operation's end; its context says which. */
static int wait_one(void **context)
{
	struct kfbrick_completion done;
	int n = kfbrick_poll(k, &done, 1, -1);

	if (n != 1)
		return n < 0 ? n : -1;
	*context = done.context;
	return done.error;
}

static int durable(uint64_t at)
{
	void *context;
	int rc = kfbrick_post_write(k, at, pieces, SMALL_BYTES, NULL);

	if (!rc)
		rc = wait_one(&context);
	if (!rc)
		rc = kfbrick_post_flush(k, NULL);
	if (!rc)
		rc = wait_one(&context);
	return rc ? failed("durable write", rc) : 0;
}

static int commit(uint64_t at)
{
	void *context;
	int rc = kfbrick_post_write_durable(k, at, pieces, SMALL_BYTES, NULL);

	if (!rc)
		rc = wait_one(&context);
	return rc ? failed("durable write", rc) : 0;
}

static int post_large(uint8_t *piece, unsigned int i)
{
	return kfbrick_post_write(k, large_at(i), piece, LARGE_BYTES, piece);
}

static int large(unsigned int n)
{
	unsigned int posted, done;
	void *piece;
	int rc = 0;

	for (posted = 0; !rc && posted < LARGE_DEPTH; posted++)
		rc = post_large(pieces + (size_t)posted * LARGE_BYTES, posted);
	for (done = 0; !rc && done < n; done++) {
		rc = wait_one(&piece);
		if (!rc && posted < n)
			rc = post_large(piece, posted++);
	}
	return rc ? failed("large writes", rc) : 0;
}

static void end(void)
{
	kfbrick_unmap(k, mapping);
	kfbrick_memory_release(k, memory);
	kfbrick_free(k, 0, N_BLOCKS);
	kfbrick_close(k);
}

/* The connection is the other peer's. */
static void end_nothing(void)
{
}

const struct peer *kfbrick_commit_peer(void)
{
	static const struct peer peer = { "libkfbrick, commit", commit, large,
					  end_nothing };

	return &peer;
}

const struct peer *kfbrick_peer(const char *url, uint8_t *buffer)
{
	static const struct peer peer = { "libkfbrick", durable, large, end };
	struct kfbrick_config config = { .size = sizeof(config), .brick = url };
	int rc = kfbrick_connect(&config, &k);

	pieces = buffer;
	if (!rc)
		rc = kfbrick_alloc(k, 0, N_BLOCKS);
	if (!rc)
		rc = kfbrick_map(k, 0, N_BLOCKS,
				 KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
				 &mapping);
	if (!rc)
		rc = kfbrick_memory_register(
			k, buffer, (size_t)LARGE_DEPTH * LARGE_BYTES, &memory);
	if (!rc)
		return &peer;
	failed(url, rc);
	return NULL;
}
