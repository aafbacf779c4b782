// SPDX-License-Identifier: BSD-2-Clause
/*
 * Somebody else who may have the disk's blocks: another disk of the same machine,
 * with a client's name of its own or with the same one, or of another machine. Now and then it is attached,
 * writes durably what it likes, finds it there, and goes again.
 *
 * What it has written it reads until it goes, whatever the first disk does: nobody
 * writes to blocks that are another's. The first disk reads none of it where it
 * has had the block itself: it fails instead (docs/kfbrick.md).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../brick.h"
#include "disk.h"
#include "../machine/fabric.h"
#include "proto/kfb_wire.h"

#define ANSWER_BYTES 256
#define ORDER_BYTES  512
#define INSTANCE_AT  9

/* One request of its own, which it waits for. */
struct waited {
	struct km_io io;
	bool is_over;
	int error;
};

static void over(struct km_io *io, int error)
{
	struct waited *w = sim_container_of(io, struct waited, io);

	w->is_over = true;
	w->error = error;
	km_wake(w);
}

static int wait_io(struct gendisk *disk, struct waited *w)
{
	struct km_io *io = &w->io;

	io->done = over;
	km_submit(disk, &io, 1);
	while (!w->is_over)
		km_wait(w);
	return w->error;
}

static int write_one(struct sim_squatter *q, struct gendisk *disk, uint32_t i)
{
	struct sim_disk *d = q->disk;
	struct sim_register *r = &q->registers[i];
	struct waited w = {
		.io = { .op = KM_WRITE,
			.fua = true,
			.sector = (r->va - d->settings.first_va) /
				  KM_SECTOR_BYTES,
			.bytes = r->n_words * (uint32_t)sizeof(uint64_t),
			.buf = q->buf },
	};
	int error;

	if (!sim_register_has_room(r))
		return 0;
	sim_register_write(r, d->epoch, q->buf);
	sim_disk_is_visited(d, i);
	sim_trace("squatter", "writes %u, %llu", r->number,
		  (unsigned long long)r->serial);
	error = wait_io(disk, &w);
	if (!error)
		sim_disk_is_taken(d, i);
	/* The disk may have come meanwhile, and written the register itself. */
	sim_disk_is_visited(d, i);
	sim_register_written(r, !error);
	if (!error)
		sim_register_flushed(r, r->serial);
	return error;
}

static int read_one(struct sim_squatter *q, struct gendisk *disk, uint32_t i)
{
	struct sim_disk *d = q->disk;
	struct sim_register *r = &q->registers[i];
	struct waited w = {
		.io = { .op = KM_READ,
			.sector = (r->va - d->settings.first_va) /
				  KM_SECTOR_BYTES,
			.bytes = r->n_words * (uint32_t)sizeof(uint64_t),
			.buf = q->buf },
	};
	int error = wait_io(disk, &w);

	sim_trace("squatter", "has read %u: %d, %llu", r->number, error,
		  (unsigned long long)(*(uint64_t *)q->buf >> 22));
	if (!error)
		sim_register_read(r, d->epoch, q->buf);
	return error;
}

/* Some of its registers, as long as it is not told that it cannot. */
static void use(struct sim_squatter *q, struct gendisk *disk)
{
	struct sim_disk *d = q->disk;
	uint32_t first = (uint32_t)sim_disk_below(d, d->settings.n_registers);
	uint32_t end = first + 1 + (uint32_t)sim_disk_below(d, 3), i;
	int error = 0;

	if (end > d->settings.n_registers)
		end = d->settings.n_registers;
	for (i = first; i < end && !error; i++) {
		/* It is not there before: whoever wrote last had it. */
		sim_register_init(&q->registers[i], q->registers[i].number,
				  d->registers[i].va, d->settings.n_words);
		if ((d->registers[i].va - d->settings.first_va) >>
		    KFB_BLOCK_SHIFT < d->n_blocks)
			error = write_one(q, disk, i);
	}
	end = i;
	km_sleep_until(sim.now_ns + sim_disk_below(d, 5 * SIM_MS));
	for (i = first; i < end && !error; i++)
		if (q->registers[i].serial)
			error = read_one(q, disk, i);
}

static void visit(struct sim_squatter *q)
{
	struct sim_disk *d = q->disk;
	const struct sim_disk_settings *s = &d->settings;
	char text[ORDER_BYTES], answer[ANSWER_BYTES];
	bool on_second = s->has_two_networks && sim_disk_chance(d, 500);
	struct gendisk *disk;
	int instance;

	(void)snprintf(
		text, sizeof(text),
		"attach,addr=127.0.0.1,port=%u,provider=%s,client=client%u,key=kfbrick:%u,base=0x%llx,blocks=%u,sector=%u,queues=1,reconnect_s=0,timeout_s=1,retain_mb=0,map_cache=%u,thin",
		sim_brick_port(d->brick, on_second), s->provider, q->number,
		q->number, (unsigned long long)s->first_va, d->n_blocks,
		s->sector_bytes, sim_disk_chance(d, 300) ? 0U : 2U);
	if (km_control(text, answer, sizeof(answer))) {
		sim_trace("squatter", "is not let in: %s", answer);
		return;
	}
	instance = (int)strtol(answer + INSTANCE_AT, NULL, 10);
	disk = km_disk_open(instance);
	if (disk) {
		/* One that is over by now has none. */
		km_disk_attribute(disk, "state", answer, sizeof(answer));
		if (q->number == d->number && sim_disk_keeps_others_out(d) &&
		    strcmp(answer, "failed") != 0 &&
		    strcmp(answer, "dead") != 0)
			sim_violated("%s: two disks of one client have its "
				     "blocks",
				     d->name);
		use(q, disk);
		km_disk_close(disk);
	}
	(void)snprintf(text, sizeof(text), "detach,instance=%d", instance);
	while (km_control(text, answer, sizeof(answer)) == -ENOMEM)
		;
}

void sim_squatter_live(struct sim_squatter *q)
{
	struct sim_disk *d = q->disk;
	uint8_t *memory = calloc(2, SIM_DISK_BUF_BYTES);

	if (!memory)
		sim_die("no memory for a squatter");
	q->buf = (void *)(memory + (-(uintptr_t)memory & 4095));
	while (!d->ends && !sim.is_over) {
		km_sleep_until(
			sim.now_ns + SIM_US +
			sim_disk_below(d, d->settings.visit_ms * SIM_MS));
		if (d->settings.is_visited_when_connecting &&
		    !sim_disk_is_connecting(d))
			continue;
		if (!d->ends)
			visit(q);
	}
}
