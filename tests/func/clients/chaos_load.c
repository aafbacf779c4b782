// SPDX-License-Identifier: BSD-2-Clause
/*
 * A client that works on a brick which is killed under it:
 * chaos-load BRICK CLIENT KEYFILE NUMBER SEED [RECONNECT_MS QUEUES [BLOCKS]]
 *
 * Allocates, frees, maps, writes and flushes at random inside its own window
 * of addresses. When the connection is lost it connects again, lists, settles
 * what was open and reads everything back. With RECONNECT_MS the library
 * connects again by itself, and the client goes on with what it was doing; it
 * lists and reads everything back when it sees another instance. Says "verified K" on its standard
 * output each time that has succeeded; ends with a last verification when its
 * standard input ends. Exit status 1: something was lost or mixed up.
 *
 * With BLOCKS it has so many blocks on a brick whose disks fail: an operation
 * that ends with EIO has an open outcome, nothing after the last good flush is
 * durable, and the client waits until the brick has been started again. What
 * it reads then is what a later flush covers.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "chaos_model.h"
#include "key_file.h"

#define WINDOW_BYTES	(UINT64_C(1) << 40)
#define RUN_MAX		4
#define WRITES_PER_MAP	12
#define RECONNECT_EVERY 16 /* steps; lets freed slots reach other clients */
#define RECONNECT_MS	60000

struct load {
	struct kfbrick_config config;
	uint8_t key[KFBRICK_KEY_BYTES];
	struct kfbrick *k;
	struct model model;
	unsigned int seed;
	unsigned int verified;
	bool disks_fail;
	uint64_t instance_id; /* of the brick that was verified last */
	uint8_t *block; /* a block's bytes */
};

/* Errors that mean: the brick went away, now or before, or will. */
static int lost(const struct load *l, int rc)
{
	return (l->disks_fail && rc == -EIO) || rc == -ECONNRESET ||
	       rc == -ENOTCONN || rc == -ETIMEDOUT || rc == -ESHUTDOWN ||
	       rc == -ECONNREFUSED;
}

static unsigned int random_below(struct load *l, unsigned int n)
{
	return (unsigned int)rand_r(&l->seed) % n;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static uint64_t address(const struct load *l, unsigned int block)
{
	return l->model.base + block * KFBRICK_BLOCK_BYTES;
}

static int fail(const struct load *l, const char *what, const char *why)
{
	fprintf(stderr, "chaos-load %s: %s: %s\n", l->config.client, what, why);
	return -EUCLEAN;
}

static int connect_again(struct load *l)
{
	uint64_t end = now_ms() + RECONNECT_MS;
	int rc;

	do {
		kfbrick_close(l->k);
		l->k = NULL;
		rc = kfbrick_connect(&l->config, &l->k);
		if (!rc)
			return 0;
		/* The brick is being started again: look every 20 ms. */
		poll(NULL, 0, 20);
	} while (now_ms() < end);
	return fail(l, "connect", kfbrick_error(l->k));
}

static int list_present(struct load *l, bool *present)
{
	struct kfbrick_extent ext[16];
	uint64_t cursor = l->model.base;
	int i, n;

	memset(present, 0, MODEL_BLOCKS * sizeof(*present));
	do {
		n = kfbrick_list(l->k, KFBRICK_LIST_ALLOCATED, &cursor, ext, 16,
				 NULL);
		if (n < 0)
			return n;
		for (i = 0; i < n; i++) {
			uint64_t at = (ext[i].va - l->model.base) /
				      KFBRICK_BLOCK_BYTES;
			uint64_t j;

			for (j = at; j < at + ext[i].n_blocks; j++)
				if (ext[i].va >= l->model.base &&
				    j < l->model.n)
					present[j] = true;
		}
	} while (cursor && cursor < address(l, l->model.n));
	return 0;
}

/*
 * The session before, which was closed on its way back to the brick and could not say
 * so, has it mapped until its lease is over. Or there is no memory for it now: others
 * have it mapped, or it is on its way.
 */
static bool is_crowded(const struct load *l, int rc)
{
	return rc == -EBUSY ||
	       (l->disks_fail && (rc == -EAGAIN || rc == -ENOSPC));
}

static int check_block(struct load *l, unsigned int block)
{
	uint64_t end = now_ms() + RECONNECT_MS;
	struct kfbrick_mapping *mapping;
	const char *wrong;
	int rc;

	do {
		rc = kfbrick_map(l->k, address(l, block), 1,
				 KFBRICK_MAP_RO | KFBRICK_MAP_SHARED, &mapping);
	} while (is_crowded(l, rc) && now_ms() < end);
	if (rc)
		return rc;
	rc = kfbrick_read(l->k, address(l, block), l->block,
			  KFBRICK_BLOCK_BYTES);
	if (rc)
		return rc;
	wrong = model_check(&l->model, block, l->block);
	if (wrong)
		return fail(l, "content", wrong);
	return kfbrick_unmap(l->k, mapping);
}

static int verify(struct load *l)
{
	bool present[MODEL_BLOCKS] = { false };
	struct kfbrick_info info = { .size = sizeof(info) };
	const char *wrong;
	unsigned int i;
	int rc = list_present(l, present);

	if (rc)
		return rc;
	wrong = model_resolve(&l->model, present);
	if (wrong)
		return fail(l, "list", wrong);
	for (i = 0; i < l->model.n && !rc; i++)
		if (l->model.blocks[i].allocated)
			rc = check_block(l, i);
	if (!rc)
		rc = kfbrick_get_info(l->k, &info);
	if (!rc) {
		l->instance_id = info.instance_id;
		printf("verified %u\n", ++l->verified);
		fflush(stdout);
	}
	return rc;
}

static int write_cell(struct load *l, unsigned int block, unsigned int cell)
{
	uint64_t words[MODEL_CELL_BYTES / 8];
	int rc;

	model_next(&l->model, block, cell, words);
	rc = kfbrick_write(l->k, address(l, block) + cell * MODEL_CELL_STRIDE,
			   words, sizeof(words));
	if (!rc)
		model_completed(&l->model, block, cell);
	return rc;
}

/*
 * What was read is durable after the next flush, also what was written before
 * the brick was started: a file is flushed as a whole. The library flushes when
 * something was written.
 */
static int flush_all(struct load *l)
{
	struct kfbrick_mapping *mapping;
	unsigned int block = 0;
	int rc;

	while (block < l->model.n && !l->model.blocks[block].allocated)
		block++;
	if (block == l->model.n)
		return 0;
	rc = kfbrick_map(l->k, address(l, block), 1,
			 KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE, &mapping);
	if (is_crowded(l, rc))
		return 0;
	if (!rc)
		rc = write_cell(l, block, random_below(l, MODEL_CELLS));
	if (!rc)
		rc = kfbrick_flush(l->k);
	if (rc)
		return rc;
	model_flushed(&l->model, 0, l->model.n);
	return kfbrick_unmap(l->k, mapping);
}

/* A random run of blocks that all are (or are not) allocated; 0: none. */
static unsigned int pick_run(struct load *l, bool allocated,
			     unsigned int *first)
{
	unsigned int n = 0, max = 1 + random_below(l, RUN_MAX);

	*first = random_below(l, l->model.n);
	while (n < max && *first + n < l->model.n &&
	       l->model.blocks[*first + n].allocated == allocated)
		n++;
	return n;
}

static int step_alloc_or_free(struct load *l, bool is_alloc)
{
	unsigned int first, n = pick_run(l, !is_alloc, &first);
	int rc;

	if (!n)
		return 0;
	l->model.open_op = (struct model_open_op){
		.open = true, .is_alloc = is_alloc, .first = first, .n = n
	};
	rc = is_alloc ? kfbrick_alloc(l->k, address(l, first), n)
		      : kfbrick_free(l->k, address(l, first), n);
	if (lost(l, rc))
		return rc;
	l->model.open_op.open = false;
	if (!rc)
		model_set(&l->model, first, n, is_alloc);
	return is_alloc && rc == -ENOSPC ? 0 : rc;
}

static int write_some(struct load *l, unsigned int first, unsigned int n)
{
	unsigned int i, writes = 1 + random_below(l, WRITES_PER_MAP);
	int rc = 0;

	for (i = 0; i < writes && !rc; i++)
		rc = write_cell(l, first + random_below(l, n),
				random_below(l, MODEL_CELLS));
	if (!rc && random_below(l, 4))
		rc = kfbrick_flush(l->k);
	else
		return rc;
	if (!rc)
		model_flushed(&l->model, first, n);
	return rc;
}

static int step_write(struct load *l)
{
	struct kfbrick_mapping *mapping;
	unsigned int first, n = pick_run(l, true, &first);
	int rc;

	if (!n)
		return 0;
	rc = kfbrick_map(l->k, address(l, first), n,
			 KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE, &mapping);
	if (is_crowded(l, rc))
		return 0;
	if (!rc)
		rc = write_some(l, first, n);
	if (!rc)
		rc = kfbrick_unmap(l->k, mapping);
	return rc;
}

static int step(struct load *l)
{
	switch (random_below(l, 4)) {
	case 0:
		return step_alloc_or_free(l, true);
	case 1:
		return step_alloc_or_free(l, false);
	default:
		return step_write(l);
	}
}

static bool input_ended(void)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	char byte;

	return poll(&fd, 1, 0) == 1 && read(STDIN_FILENO, &byte, 1) <= 0;
}

/* The brick whose disk has failed: its successor tells what is there. */
static int await_another(struct load *l)
{
	struct kfbrick_info info = { .size = sizeof(info) };
	uint64_t end = now_ms() + RECONNECT_MS;
	int rc;

	do {
		poll(NULL, 0, 2);
		rc = connect_again(l);
		if (!rc)
			rc = kfbrick_get_info(l->k, &info);
		if (!rc && info.instance_id != l->instance_id)
			return 0;
	} while ((!rc || lost(l, rc)) && !input_ended() && now_ms() < end);
	return rc;
}

/* Connect and verify, as often as the brick goes away meanwhile. */
static int come_back(struct load *l, int why)
{
	int rc = why;

	do {
		rc = rc == -EIO ? await_another(l) : connect_again(l);
		if (!rc)
			rc = verify(l);
		if (!rc && l->disks_fail)
			rc = flush_all(l);
	} while (lost(l, rc));
	return rc;
}

/* A session of its own frees what was unmapped; the brick may be a new one. */
static int change_session(struct load *l)
{
	struct kfbrick_info info = { .size = sizeof(info) };
	int rc = connect_again(l);

	if (!rc)
		rc = kfbrick_get_info(l->k, &info);
	if (!rc && info.instance_id != l->instance_id)
		rc = verify(l);
	return rc;
}

/* The library came back to another instance: everything must be there. */
static int look_after(struct load *l)
{
	struct kfbrick_info info = { .size = sizeof(info) };
	int rc;

	if (!l->config.reconnect_ms)
		return 0;
	rc = kfbrick_get_info(l->k, &info);
	if (!rc && info.instance_id != l->instance_id)
		rc = verify(l);
	return rc;
}

static int work(struct load *l)
{
	unsigned int steps = 0;
	int rc = come_back(l, 0);

	while (!rc && !input_ended()) {
		rc = step(l);
		if (!rc && ++steps % RECONNECT_EVERY == 0)
			rc = change_session(l);
		if (!rc)
			rc = look_after(l);
		if (lost(l, rc))
			rc = come_back(l, rc);
	}
	if (!rc)
		rc = come_back(l, 0);
	if (rc && rc != -EUCLEAN)
		fail(l, strerror(-rc), kfbrick_error(l->k));
	return rc;
}

static int number(const char *text, unsigned int *out)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || end == text || value > UINT32_MAX)
		return -EINVAL;
	*out = (unsigned int)value;
	return 0;
}

int main(int argc, char **argv)
{
	static struct load l;
	unsigned int reconnect_ms = 0;
	unsigned int queues = 1;
	unsigned int client;
	int rc;

	l.model.n = MODEL_BLOCKS;
	l.disks_fail = argc == 9;
	if (argc < 6 || argc == 7 || argc > 9 || number(argv[4], &client) ||
	    !client || client > 255 || number(argv[5], &l.seed) ||
	    key_file_read(argv[3], l.key) ||
	    (argc >= 8 &&
	     (number(argv[6], &reconnect_ms) || number(argv[7], &queues))) ||
	    (argc == 9 && (number(argv[8], &l.model.n) || !l.model.n ||
			   l.model.n > MODEL_BLOCKS))) {
		fprintf(stderr,
			"usage: %s BRICK CLIENT KEYFILE NUMBER SEED "
			"[RECONNECT_MS QUEUES [BLOCKS]]\n",
			argv[0]);
		return 2;
	}
	l.config = (struct kfbrick_config){ .size = sizeof(l.config),
					    .brick = argv[1],
					    .client = argv[2],
					    .key = l.key,
					    .reconnect_ms = reconnect_ms,
					    .queues = queues };
	l.model.client = (uint8_t)client;
	l.model.base = client * WINDOW_BYTES;
	l.block = malloc(KFBRICK_BLOCK_BYTES);
	rc = l.block ? work(&l) : -ENOMEM;
	kfbrick_close(l.k);
	free(l.block);
	return rc ? 1 : 0;
}
