// SPDX-License-Identifier: BSD-2-Clause
/* A machine with a disk whose file system flushes, for the loss table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/kfb_wire.h"
#include "tests/sim/machine/fabric.h"
#include "trial.h"

#define COLLECT_NS    (20 * SIM_MS)
#define ANSWER_BYTES  256
#define ORDER_BYTES   512
#define INSTANCE_AT   9
#define CLIENT_NUMBER 0
#define MAP_CACHE     3 /* of CELL_BLOCKS */
#define RETAIN_MB     4
#define SECTOR_WORDS  (KM_SECTOR_BYTES / TRACKER_WORD)

void km_client_key(uint32_t number, uint8_t key[32])
{
	sim_client_key(number, key);
}

/* ---- its life ------------------------------------------------------------- */

static int order(const char *text, char *answer)
{
	int rc = km_control(text, answer, ANSWER_BYTES);

	sim_trace("disk", "%s: %d, %s", text, rc, answer);
	return rc;
}

static void attach(struct trial *t)
{
	bool is_thin = t->over == CELL_THIN_DISK;
	char text[ORDER_BYTES], answer[ANSWER_BYTES], name[24];

	sim_client_name(CLIENT_NUMBER, name);
	(void)snprintf(
		text, sizeof(text),
		"attach,addr=127.0.0.1,port=%d,provider=sim,client=%s,key=kfbrick:%d,base=0,blocks=%d,sector=512,queues=%u,reconnect_s=60,timeout_s=1,retain_mb=%d,map_cache=%d%s",
		SIM_PORT, name, CLIENT_NUMBER, CELL_BLOCKS, t->queues,
		t->cell->retains ? RETAIN_MB : 0, is_thin ? MAP_CACHE : 0,
		is_thin ? ",thin" : "");
	if (order(text, answer))
		trial_fail(t, "attach: %s", answer);
	t->instance = (int)strtol(answer + INSTANCE_AT, NULL, 10);
	t->disk = km_disk_open(t->instance);
	if (!t->disk)
		trial_fail(t, "the disk cannot be opened");
}

/* What was written and is not there any more is no matter. */
static void detach(struct trial *t)
{
	char text[ORDER_BYTES], answer[ANSWER_BYTES];
	int rc;

	km_disk_close(t->disk);
	(void)snprintf(text, sizeof(text), "detach,instance=%d", t->instance);
	rc = order(text, answer);
	if (rc && !(rc == -EIO && t->is_told))
		trial_fail(t, "detach: %d, %s", rc, answer);
}

static void give_buffers(struct trial *t)
{
	uint64_t *words = aligned_alloc(
		4096, (size_t)CELL_SLOTS * CELL_WRITE_WORDS * TRACKER_WORD);

	if (!words)
		trial_fail(t, "no memory for a file system");
	for (uint32_t i = 0; i < CELL_SLOTS; i++)
		t->writes[i].buf = words + (size_t)i * CELL_WRITE_WORDS;
}

static void live(struct trial *t)
{
	sim_short_permille = 0;
	if (km_boot())
		trial_fail(t, "the kernel does not start");
	give_buffers(t);
	attach(t);
	trial_run(t);
}

/* ---- requests --------------------------------------------------------------- */

static void over(struct km_io *io, int error)
{
	struct cell_op *op = sim_container_of(io, struct cell_op, io);

	trial_done(op, error);
	km_wake(op->trial);
}

static void submit(struct trial *t, struct cell_op *op)
{
	struct km_io *io = &op->io;

	io->done = over;
	km_submit(t->disk, &io, 1);
}

static void post_write(struct trial *t, struct cell_op *op)
{
	uint64_t block = op->word / CELL_WORDS_PER_BLOCK;
	uint64_t at = op->word % CELL_WORDS_PER_BLOCK;

	op->io = (struct km_io){
		.op = KM_WRITE,
		.fua = op->is_durable,
		.sector = (block << KFB_BLOCK_SHIFT) / KM_SECTOR_BYTES +
			  at / SECTOR_WORDS,
		.bytes = op->n * TRACKER_WORD,
		.buf = op->buf,
	};
	submit(t, op);
}

static void post_flush(struct trial *t, struct cell_op *op)
{
	op->io = (struct km_io){ .op = KM_FLUSH };
	submit(t, op);
}

static void collect(struct trial *t)
{
	(void)km_wait_until(t, sim.now_ns + COLLECT_NS);
}

/* ---- what it says -------------------------------------------------------------- */

static bool attribute_is(struct trial *t, const char *name, const char *value)
{
	char text[64];

	km_disk_attribute(t->disk, name, text, sizeof(text));
	return !strcmp(text, value);
}

static bool has_lost(struct trial *t, const struct cell_op *op, int error)
{
	return attribute_is(t, "state", "lossy");
}

/*
 * A disk that has lost something takes nothing more until it is attached anew.
 * Detached on its way back, it has left a session that keeps its mappings.
 */
static void accept_losses(struct trial *t)
{
	if (!t->is_told)
		return;
	detach(t);
	km_sleep_until(sim.now_ns + 2 * CELL_LEASE_MS * SIM_MS);
	attach(t);
}

static uint32_t flush_mode(struct trial *t)
{
	if (attribute_is(t, "flush_mode", "readback"))
		return KFB_FLUSH_READBACK;
	return attribute_is(t, "flush_mode", "message") ? KFB_FLUSH_MESSAGE
							: KFB_FLUSH_NONE;
}

static uint64_t n_replays(struct trial *t)
{
	static const char key[] = "replays=";
	char text[256];
	const char *at;

	km_disk_attribute(t->disk, "retain", text, sizeof(text));
	at = strstr(text, key);
	return at ? strtoull(at + sizeof(key) - 1, NULL, 10) : 0;
}

const struct cell_port cell_disk_port = {
	.live = live,
	.unit = SECTOR_WORDS,
	.write = post_write,
	.flush = post_flush,
	.collect = collect,
	.has_lost = has_lost,
	.accept = accept_losses,
	.flush_mode = flush_mode,
	.n_replays = n_replays,
};
