// SPDX-License-Identifier: BSD-2-Clause
/* A program over libkfbrick that flushes, for the loss table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "initiator/lib/internal.h"
#include "kfbrick.h"
#include "tests/sim/machine/fabric.h"
#include "trial.h"

#define POLL_MS	      20
#define BATCH	      1 /* each is heard of when it comes */
#define TIMEOUT_MS    60000
#define CLIENT_NUMBER 0

static void connect_to(struct trial *t)
{
	char url[64], name[24];
	uint8_t key[KFBRICK_KEY_BYTES];
	const struct kfbrick_config config = {
		.size = sizeof(config),
		.brick = url,
		.client = name,
		.key = key,
		.timeout_ms = TIMEOUT_MS,
		.reconnect_ms = TIMEOUT_MS,
		.queue_depth = 64,
		.queues = t->queues,
		.retain_bytes = t->cell->retains ? KFBRICK_RETAIN_MIN_BYTES : 0,
	};
	struct kfbrick_completion none;

	(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%d",
		       t->cell->commits ? "tcp" : "verbs", SIM_PORT);
	sim_client_name(CLIENT_NUMBER, name);
	sim_client_key(CLIENT_NUMBER, key);
	if (kfbrick_connect(&config, &t->k))
		trial_fail(t, "connect: %s", kfbrick_error(t->k));
	if (kfbrick_alloc(t->k, 0, CELL_BLOCKS) ||
	    kfbrick_map(t->k, 0, CELL_BLOCKS,
			KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE, &t->mapping))
		trial_fail(t, "blocks: %s", kfbrick_error(t->k));
	while (t->k->core.client.n_used < t->queues)
		if (kfbrick_poll(t->k, &none, 1, POLL_MS))
			trial_fail(t, "queues: %s", kfbrick_error(t->k));
}

static void register_buffers(struct trial *t)
{
	struct kfbrick_memory *memory;
	uint64_t *words = calloc(CELL_SLOTS, CELL_WRITE_WORDS * TRACKER_WORD);

	if (!words ||
	    kfbrick_memory_register(t->k, words,
				    (size_t)CELL_SLOTS * CELL_WRITE_WORDS *
					    TRACKER_WORD,
				    &memory))
		trial_fail(t, "memory: %s", kfbrick_error(t->k));
	for (uint32_t i = 0; i < CELL_SLOTS; i++)
		t->writes[i].buf = words + (size_t)i * CELL_WRITE_WORDS;
}

static void live(struct trial *t)
{
	connect_to(t);
	register_buffers(t);
	trial_run(t);
}

static uint64_t va_of(const struct cell_op *op)
{
	return ((uint64_t)(op->word / CELL_WORDS_PER_BLOCK)
		<< KFB_BLOCK_SHIFT) +
	       (uint64_t)(op->word % CELL_WORDS_PER_BLOCK) * TRACKER_WORD;
}

static void post_write(struct trial *t, struct cell_op *op)
{
	if ((op->is_durable ? kfbrick_post_write_durable : kfbrick_post_write)(
		    t->k, va_of(op), op->buf, (size_t)op->n * TRACKER_WORD, op))
		trial_fail(t, "write: %s", kfbrick_error(t->k));
}

static void post_flush(struct trial *t, struct cell_op *op)
{
	if (kfbrick_post_flush(t->k, op))
		trial_fail(t, "flush: %s", kfbrick_error(t->k));
}

static void collect(struct trial *t)
{
	struct kfbrick_completion done[BATCH];
	int n = kfbrick_poll(t->k, done, BATCH, POLL_MS);

	if (n < 0)
		trial_fail(t, "poll: %s", kfbrick_error(t->k));
	for (int i = 0; i < n; i++)
		trial_done(done[i].context, done[i].error);
}

static bool has_lost(struct trial *t, const struct cell_op *op, int error)
{
	return op->is_flush && error == -EIO;
}

static void accept_losses(struct trial *t)
{
	kfbrick_accept_losses(t->k);
}

static uint32_t flush_mode(struct trial *t)
{
	return t->k->core.flush_mode;
}

static uint64_t n_replays(struct trial *t)
{
	return t->k->core.retain.n_replays;
}

const struct cell_port cell_lib_port = {
	.live = live,
	.unit = 1,
	.write = post_write,
	.flush = post_flush,
	.collect = collect,
	.has_lost = has_lost,
	.accept = accept_losses,
	.flush_mode = flush_mode,
	.n_replays = n_replays,
};
