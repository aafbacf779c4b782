// SPDX-License-Identifier: BSD-2-Clause
/*
 * The life of a disk: its machine starts, it is attached, used, made larger,
 * detached and attached again, until it is killed or has ended.
 */
#include "disk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../brick.h"
#include "../coverage.h"
#include "../machine/fabric.h"
#include "../kernel/fabric.h"
#include "proto/kfb_wire.h"
#include "../scene.h"

#define RETRY_NS    (50 * SIM_MS)
#define GRACE_NS    (2 * SIM_S)
#define ORDER_BYTES 512
#define INSTANCE_AT 9
#define OPENER_NS   (300 * SIM_US)
#define AGAIN_NS    (20 * SIM_US)
#define SLOW_NS	    (30 * SIM_MS)
#define UNSEEN_NS   (100 * SIM_MS)
/* For how long a thread that is stopped is stopped, of each magnitude as often. */
#define STOP_NS	       (20 * SIM_MS)
#define STOPS_MAX      16
#define STOPS_PERMILLE 700
#define MAGNITUDES     8 /* of two */
/* Of those whose blocks somebody else wants. */
#define LOSES_PERMILLE 800
#define LEASE_MAX_MS   100

void km_client_key(uint32_t number, uint8_t key[32])
{
	sim_client_key(number, key);
}

/* ---- orders ----------------------------------------------------------------- */

void sim_disk_stop_once(struct sim_disk *d)
{
	if (!sim_disk_chance(d, STOPS_PERMILLE))
		return;
	sim_current->until_stop = 1 + (uint32_t)sim_disk_below(d, STOPS_MAX);
	sim_current->stop_ns =
		sim_disk_below(d, STOP_NS >> sim_disk_below(d, MAGNITUDES));
}

int sim_disk_order(struct sim_disk *d, const char *text, char *answer)
{
	int rc;

	d->call = text;
	rc = km_control(text, answer, SIM_ANSWER_BYTES);
	d->call = "nothing";
	sim_trace(d->name, "%s: %d, %s", text, rc, answer);
	return rc;
}

static int attach(struct sim_disk *d)
{
	const struct sim_disk_settings *s = &d->settings;
	char text[ORDER_BYTES], answer[SIM_ANSWER_BYTES], who[64] = "",
							  other[48] = "";
	bool is_other_first = false;
	int rc;

	if (s->has_two_networks) {
		is_other_first = sim_disk_chance(d, 500);
		(void)snprintf(other, sizeof(other), ",addr=127.0.0.1,port=%u",
			       sim_brick_port(d->brick, !is_other_first));
	}
	d->is_ro = sim_disk_chance(d, s->ro_permille);
	if (!s->is_nameless)
		(void)snprintf(who, sizeof(who), ",client=%s,key=kfbrick:%u",
			       d->name, d->number);
	(void)snprintf(
		text, sizeof(text),
		"attach,addr=127.0.0.1,port=%u%s,provider=%s%s,base=0x%llx,blocks=%u,sector=%u,queues=%u,reconnect_s=%u,timeout_s=1,retain_mb=%u,map_cache=%u%s%s%s",
		sim_brick_port(d->brick, is_other_first), other, s->provider,
		who, (unsigned long long)s->first_va, d->n_blocks,
		s->sector_bytes, s->queues, s->reconnect_s, s->retain_mb,
		s->map_cache, s->is_thin ? ",thin" : "",
		s->is_shared ? ",shared" : "", d->is_ro ? ",ro" : "");
	d->n_revoked = d->brick->n_revoked[d->number];
	d->is_attaching = true;
	rc = sim_disk_order(d, text, answer);
	d->is_attaching = false;
	if (rc) {
		/* What it has allocated it gives back. */
		sim_disk_may_free(d);
		return rc;
	}
	if (strncmp(answer, "instance=", INSTANCE_AT) != 0)
		sim_violated("%s: attach answers \"%s\"", d->name, answer);
	d->instance = (int)strtol(answer + INSTANCE_AT, NULL, 10);
	d->epoch++;
	d->n_failed = d->brick->n_failed_before;
	d->is_leaving = d->has_lost = false;
	d->open = km_disk_open(d->instance);
	if (!d->open)
		sim_violated("%s: it cannot be opened", d->name);
	if (d->open && km_disk_is_read_only(d->open) != d->is_ro)
		sim_violated("%s: it is %s", d->name,
			     d->is_ro ? "written" : "read-only");
	return 0;
}

static void close_disk(struct sim_disk *d)
{
	km_disk_close(d->open);
	d->open = NULL;
}

/* While it is open it stays. */
static void try_detach(struct sim_disk *d)
{
	char text[ORDER_BYTES], answer[SIM_ANSWER_BYTES];
	int rc;

	(void)snprintf(text, sizeof(text), "detach,instance=%d", d->instance);
	rc = sim_disk_order(d, text, answer);
	if (rc != -EBUSY && rc != -ENOMEM)
		sim_violated("%s: it is open, and detach says %d, %s", d->name,
			     rc, answer);
}

/* Who comes when it is to go keeps it, or does not come in. */
static void open_meanwhile(void *arg)
{
	struct sim_disk *d = arg;
	struct gendisk *disk;
	char state[SIM_STATE_BYTES];

	km_sleep_until(sim.now_ns + sim_disk_below(d, OPENER_NS));
	sim_disk_stop_once(d);
	disk = km_disk_open(d->instance);
	d->is_held = disk;
	if (disk) {
		km_disk_attribute(disk, "state", state, sizeof(state));
		if (!strcmp(state, "detaching"))
			sim_violated("%s: it is opened when it is detached",
				     d->name);
		km_sleep_until(sim.now_ns + sim_disk_below(d, OPENER_NS));
		d->is_held = false;
		km_disk_close(disk);
	}
	d->n_openers--;
	km_wake(&d->n_openers);
}

/* Another administrator makes it larger when it is to go: before that, or not at all. */
static void grow_meanwhile(void *arg)
{
	struct sim_disk *d = arg;
	char text[ORDER_BYTES], answer[SIM_ANSWER_BYTES];

	km_sleep_until(sim.now_ns + sim_disk_below(d, OPENER_NS));
	sim_disk_stop_once(d);
	(void)snprintf(text, sizeof(text), "resize,instance=%d,blocks=%u",
		       d->instance, d->n_blocks + 1);
	if (!km_control(text, answer, sizeof(answer)))
		d->n_blocks++;
	sim_trace(d->name, "%s meanwhile: %s", text, answer);
	d->n_openers--;
	km_wake(&d->n_openers);
}

/*
 * What was written and is over lasts, when detaching says so; by force it goes
 * with requests under way, too.
 */
static void detach(struct sim_disk *d)
{
	bool force = sim_disk_chance(d, 200);
	bool is_busy = force && sim_disk_chance(d, 500);
	char text[ORDER_BYTES], answer[SIM_ANSWER_BYTES];
	uint64_t marks[SIM_DISK_REGS] = { 0 };
	int rc;

	if (!is_busy)
		sim_disk_settle(d);
	sim_disk_look(d);
	/* Of several disks another one may have its number by then. */
	if (d->machine->n_guests)
		sim_disk_takers_settle(d);
	d->is_leaving = true;
	if (sim_disk_has_lost(d))
		sim_disk_lose_all(d);
	for (uint32_t i = 0; i < d->settings.n_registers; i++)
		marks[i] = sim_register_mark(&d->registers[i], d->epoch);
	if (!is_busy)
		close_disk(d);
	(void)snprintf(text, sizeof(text), "detach,instance=%d%s", d->instance,
		       force ? ",force" : "");
	/* Of several disks another one may be the one that is opened then. */
	if (!force && !d->machine->n_guests && sim_disk_chance(d, 200)) {
		d->n_openers++;
		km_start("opener", open_meanwhile, d);
	}
	/* Much may happen while one thread does one thing. */
	if (sim_disk_chance(d, 200)) {
		d->machine->host.process.slow_until_ns = sim.now_ns + SLOW_NS;
		d->machine->host.process.slow_ns = SIM_MS;
	}
	if (!d->machine->n_guests && d->n_blocks < d->settings.grows_to &&
	    sim_disk_chance(d, 500)) {
		d->n_openers++;
		km_start("grower", grow_meanwhile, d);
		/* Who is first is with it when it goes. */
		if (sim_disk_chance(d, 700))
			km_sleep_until(sim.now_ns +
				       sim_disk_below(d, OPENER_NS));
	}
	/* When there is no memory for the order it has not been obeyed. */
	while ((rc = sim_disk_order(d, text, answer)) == -ENOMEM ||
	       (rc == -EBUSY && !force))
		km_sleep_until(sim.now_ns + AGAIN_NS);
	if (d->is_held && !force)
		sim_violated("%s: it is open, and detached", d->name);
	while (d->n_openers)
		km_wait(&d->n_openers);
	sim_disk_takers_settle(d);
	if (rc && rc != -EIO)
		sim_violated("%s: %s: %d, %s", d->name, text, rc, answer);
	if (is_busy) {
		sim_disk_settle(d);
		close_disk(d);
	}
	for (uint32_t i = 0; i < d->settings.n_registers; i++) {
		if (!rc)
			sim_disk_lasts(d, i, marks[i]);
	}
	sim_disk_told_detached(d, rc);
	sim_disk_forget(d);
}

static void grow(struct sim_disk *d)
{
	char text[ORDER_BYTES], answer[SIM_ANSWER_BYTES];
	uint32_t to = d->n_blocks + 1, before = km_disk_resizes(d->open);

	if (to > d->settings.grows_to)
		return;
	(void)snprintf(text, sizeof(text), "resize,instance=%d,blocks=%u",
		       d->instance, to);
	if (sim_disk_order(d, text, answer))
		return;
	d->n_blocks = to;
	if (km_disk_sectors(d->open) * KM_SECTOR_BYTES !=
	    (uint64_t)to << KFB_BLOCK_SHIFT)
		sim_violated("%s: it has grown, and not to its size", d->name);
	if (km_disk_resizes(d->open) != before + 1)
		sim_violated("%s: it has grown, and nobody is told", d->name);
}

bool sim_disk_keeps_others_out(const struct sim_disk *d)
{
	uint32_t epoch = d->epoch;

	/* While its state is read it may begin to leave. */
	return d->open && !d->is_leaving && !sim_disk_is_lossy(d) &&
	       !d->is_leaving && d->epoch == epoch;
}

/* ---- its life ------------------------------------------------------------------ */

static void think(struct sim_disk *d)
{
	uint64_t us = sim_disk_below(d, d->settings.think_us + 1);

	if (sim_disk_chance(d, 3))
		us *= 200;
	km_sleep_until(sim.now_ns + us * SIM_US);
}

static void read_all(struct sim_disk *d)
{
	sim_disk_settle(d);
	for (uint32_t i = 0; i < d->settings.n_registers; i++) {
		struct sim_register *r = &d->registers[i];

		if ((r->va - d->settings.first_va) >> KFB_BLOCK_SHIFT >=
		    d->n_blocks)
			continue;
		while (!sim_disk_read(d, r) && !sim.is_over)
			sim_disk_collect(d, SIM_S);
	}
	sim_disk_settle(d);
}

/* Until it is to end, or it likes, or there is nothing to be had any more. */
static void use(struct sim_disk *d)
{
	while (!d->ends && !sim.is_over && !sim_disk_chance(d, 2)) {
		if (sim_disk_chance(d, 3))
			grow(d);
		if (sim_disk_chance(d, 2))
			try_detach(d);
		if (sim_disk_chance(d, 2))
			sim_disk_try_sizes(d);
		if (sim_disk_chance(d, 10))
			sim_disk_rest(d);
		if (sim_disk_chance(d, 5)) {
			sim_disk_look(d);
			sim_disk_count_mappings(d);
		}
		if (sim_disk_chance(d, sim_disk_has_failed(d) ? 50 : 1))
			sim_disk_take_up(d);
		sim_disk_ask(d);
		if (sim_disk_chance(d, 500))
			think(d);
		if (sim_disk_is_lossy(d) && sim_disk_chance(d, 10))
			break;
	}
	/* It is of no use, and nobody has looked yet. */
	if (sim_disk_is_lossy(d) && sim_disk_chance(d, 200))
		km_sleep_until(sim.now_ns + sim_disk_below(d, UNSEEN_NS));
	if (!d->ends)
		return;
	sim_disk_settle(d);
	if (sim_disk_has_failed(d) && sim_disk_chance(d, 700))
		(void)sim_disk_take_up_at_last(d);
	if (!sim_disk_is_lossy(d))
		read_all(d);
	else
		sim_disk_settle(d);
	/* Else it is attached once more. */
	d->has_ended = !sim_disk_is_lossy(d);
}

/* What was asked for before, and not answered, may still be carried out. */
static void outlive_earlier(struct sim_disk *d)
{
	if (d->was_clearing)
		km_sleep_until(sim.now_ns + 2 * d->settings.lease_ms * SIM_MS +
			       GRACE_NS);
	d->was_clearing = false;
}

/* What cannot be had any more, at the end. */
static bool is_gone(const struct sim_disk *d, int error)
{
	return error == -ENOSPC || error == -EDQUOT ||
	       (d->settings.is_shared && d->scene->cluster.is_full) ||
	       (error == -EIO && d->brick->n_spoiled);
}

/* As long as its machine lives. */
static void live(struct sim_disk *d)
{
	uint8_t *memory = calloc(SIM_DISK_POSTED_MAX + 1, SIM_DISK_BUF_BYTES);
	int rc;

	if (!memory)
		sim_die("no memory for a file system");
	d->bufs = memory + (-(uintptr_t)memory & 4095);
	outlive_earlier(d);
	while (!d->has_ended && !sim.is_over) {
		if (sim_disk_chance(d, 50))
			sim_disk_try_nameless(d);
		rc = attach(d);
		if (!rc) {
			use(d);
			detach(d);
		} else if (is_gone(d, rc) && d->ends) {
			d->has_ended = true; /* there is no more to be had */
		} else {
			km_sleep_until(sim.now_ns + RETRY_NS);
		}
	}
}

static void guest_ended(struct sim_disk *machine)
{
	machine->n_guests--;
	km_wake(&machine->n_guests);
}

static void live_as_guest(void *arg)
{
	struct sim_disk *d = arg;

	live(d);
	guest_ended(d->machine);
}

static void squat(void *arg)
{
	struct sim_squatter *q = arg;

	sim_squatter_live(q);
	guest_ended(q->machine);
}

static void run_machine(void *arg)
{
	struct sim_disk *d = arg;
	struct sim_scene *s = d->scene;
	int rc = km_boot();

	sim_short_permille = d->settings.short_permille;
	sim_hold_up_ns = d->settings.hold_up_ms * SIM_MS;
	if (rc) {
		sim_violated("%s: its kernel does not start: %d", d->name, rc);
		return;
	}
	d->n_guests = 0;
	if (d->visitor) {
		d->n_guests++;
		km_start("squatter", squat, d->visitor);
	}
	for (uint32_t i = 0; i < s->n_disks; i++) {
		if (s->disks[i].machine != d || &s->disks[i] == d)
			continue;
		d->n_guests++;
		km_start("guest", live_as_guest, &s->disks[i]);
	}
	live(d);
	while (d->n_guests)
		km_wait(&d->n_guests);
}

static void start(struct sim_event *event)
{
	struct sim_disk *d = sim_container_of(event, struct sim_disk, restart);

	d->host.life++;
	d->task = (struct km_task){ .name = "user",
				    .main = run_machine,
				    .arg = d };
	sim_process_start(&d->host.process, km_run, &d->task);
}

/* What it was told goes with its machine. */
static void die(struct sim_disk *d)
{
	d->open = NULL;
	d->is_untold = d->is_held = false;
	d->n_openers = d->n_takers = 0;
	if (d->is_attaching)
		sim_disk_may_free(d);
	d->is_attaching = false;
	sim_disk_forget(d);
}

void sim_disk_kill(struct sim_disk *d, uint64_t down_ns)
{
	struct sim_scene *s = d->scene;
	bool has_ended = true;

	d = d->machine;
	for (uint32_t i = 0; i < s->n_disks; i++)
		has_ended &= s->disks[i].machine != d || s->disks[i].has_ended;
	if (!d->host.process.is_alive || has_ended)
		return;
	sim_trace(d->name, "is killed");
	sim_process_kill(&d->host.process);
	sim_disk_is_in(d->host.process.number, SIM_NO_DISK);
	for (uint32_t i = 0; i < s->n_disks; i++)
		if (s->disks[i].machine == d)
			die(&s->disks[i]);
	sim_schedule(&d->restart, sim.now_ns + down_ns);
}

void sim_disk_choose_losses(uint64_t *dice, struct sim_disk_settings *s)
{
	/* While its lease lasts nobody else gets them. */
	if (!s->visit_ms || s->lease_ms > LEASE_MAX_MS ||
	    !sim_chance_of(dice, LOSES_PERMILLE))
		return;
	s->is_visited_by_itself = false;
	s->is_visited_when_connecting = true;
	s->visit_ms = 1 + (uint32_t)sim_below_of(dice, 3);
	s->reconnect_s = 1;
	s->retain_mb = 0;
}

void sim_disk_choose(uint64_t *dice, bool is_tcp, struct sim_disk_settings *s)
{
	static const uint32_t words[] = { 64, 128, 512 };
	static const uint32_t reconnects_s[] = { 0, 0, 1, 1, 60, 60, 60, 60 };

	*s = (struct sim_disk_settings){
		.n_blocks = 1 + (uint32_t)sim_below_of(dice, 4),
		.n_registers = 1 + (uint32_t)sim_below_of(dice, SIM_DISK_REGS),
		.n_words = words[sim_below_of(dice, 3)],
		.queues = 1 + (uint32_t)sim_below_of(
				      dice, sim_chance_of(dice, 100) ? 8 : 4),
		.reconnect_s = reconnects_s[sim_below_of(dice, 8)],
		.think_us = (uint32_t)sim_below_of(dice, 100),
		.posted_max =
			1 + (uint32_t)sim_below_of(dice, SIM_DISK_POSTED_MAX),
		.is_thin = sim_chance_of(dice, 500),
		.provider = is_tcp && sim_chance_of(dice, 700)
				    ? KM_FABRIC_SOCKET
				    : KM_FABRIC,
	};
	s->sector_bytes =
		s->n_words == 512 && sim_chance_of(dice, 500) ? 4096 : 512;
	s->grows_to = s->n_blocks + (uint32_t)sim_below_of(dice, 3);
	if (sim_chance_of(dice, 400))
		s->map_cache =
			1 + (uint32_t)sim_below_of(dice, SIM_DISK_BLOCKS_MAX);
	if (sim_chance_of(dice, 200))
		s->short_permille = 20;
	if (sim_chance_of(dice, 300)) {
		s->map_cache = (uint32_t)sim_below_of(dice, 3);
		s->visit_ms =
			1 + (uint32_t)sim_below_of(
				    dice, sim_chance_of(dice, 500) ? 20 : 200);
		s->is_visited_by_itself = sim_chance_of(dice, 300);
	}
	if (sim_chance_of(dice, 200))
		s->ro_permille = 300;
	s->run_permille = sim_chance_of(dice, 300) ? 300 : 0;
	if (sim_chance_of(dice, 500))
		s->retain_mb = 4;
	if (sim_chance_of(dice, s->retain_mb ? 500 : 150))
		s->hold_up_ms = 1 + (uint32_t)sim_below_of(dice, 100);
}

/* Where one host's are the next one's are as well, a sector behind them. */
static uint64_t place_shared(const struct sim_disk *d, uint32_t i, uint32_t at,
			     uint64_t block)
{
	uint32_t bytes = d->settings.n_words * (uint32_t)sizeof(uint64_t);

	return (block << KFB_BLOCK_SHIFT) + (2 * (uint64_t)i + at) * bytes;
}

/* Some lie right behind the one before, so that requests can be merged. */
static void place_registers(struct sim_disk *d, uint32_t at, uint32_t first)
{
	const struct sim_disk_settings *s = &d->settings;
	uint32_t bytes = s->n_words * (uint32_t)sizeof(uint64_t);
	uint64_t va = 0;

	for (uint32_t i = 0; i < s->n_registers; i++) {
		uint64_t slot = KFB_BLOCK_BYTES / SIM_DISK_REGS;

		if (i && sim_disk_chance(d, 400))
			va += bytes;
		else
			va = (sim_disk_below(d, s->grows_to)
			      << KFB_BLOCK_SHIFT) +
			     i * slot / bytes * bytes;
		if (s->is_shared)
			va = place_shared(d, i, at,
					  sim_disk_below(d, s->grows_to));
		sim_register_init(&d->registers[i], first + i, s->first_va + va,
				  s->n_words);
		d->squatter.registers[i].number = first + SIM_DISK_REGS + i;
	}
}

void sim_disk_init(struct sim_disk *d, uint32_t at, uint32_t process,
		   uint32_t number, struct sim_disk *machine,
		   const struct sim_disk_settings *settings, uint64_t seed)
{
	memset(d, 0, sizeof(*d));
	sim_client_name(number, d->name);
	d->host.process.name = d->name;
	d->host.process.number = process;
	d->host.process.has_kernel = true;
	d->machine = machine ? machine : d;
	d->number = number;
	d->settings = *settings;
	d->n_blocks = settings->n_blocks;
	d->chance = seed;
	d->call = "nothing";
	d->restart.fire = start;
	/* Those of who squats there follow. */
	place_registers(d, at, (SIM_CLIENTS_MAX + 2 * at) * SIM_DISK_REGS);
	d->squatter.disk = d;
	if (!machine)
		sim_schedule(&d->restart, sim.now_ns + 1);
}

void sim_disk_fini(struct sim_disk *d)
{
	sim_process_kill(&d->host.process);
	sim_cancel(&d->restart);
}
