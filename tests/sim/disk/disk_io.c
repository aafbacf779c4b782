// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a file system asks of a disk, and whether it gets what the disk promises
 * (docs/kfbrick.md).
 */
#include <stdio.h>
#include <string.h>

#include "disk.h"
#include "../machine/fabric.h"
#include "proto/kfb_wire.h"
#include "../scene.h"

#define PERMILLE       1000
#define BATCH_MAX      4
#define FUA_CHANCE     100
#define COMMIT_CHANCE  30
#define PARTS	       16
#define WRITTEN_CHANCE 60 /* of zeros of whole blocks that are written */
/* A disk waits for an answer for longer. */
#define SOON_NS (900 * SIM_MS)
/* No brick is away for so long. */
#define OUTAGE_MAX_S 60

static uint32_t bytes_of(const struct sim_register *r)
{
	return r->n_words * (uint32_t)sizeof(uint64_t);
}

static uint32_t at(const struct sim_disk *d, const struct sim_register *r)
{
	return (uint32_t)(r - d->registers);
}

static uint32_t block_of(const struct sim_disk *d, const struct sim_register *r)
{
	return (uint32_t)((r->va - d->settings.first_va) >> KFB_BLOCK_SHIFT);
}

static uint64_t sector_of(const struct sim_disk *d,
			  const struct sim_register *r)
{
	return (r->va - d->settings.first_va) / KM_SECTOR_BYTES;
}

/* ---- losses ---------------------------------------------------------------- */

static bool state_is(const struct sim_disk *d, const char *one,
		     const char *other)
{
	char state[SIM_STATE_BYTES];

	km_disk_attribute(d->open, "state", state, sizeof(state));
	return !strcmp(state, one) || !strcmp(state, other);
}

/* Every request fails. */
static bool is_over(const struct sim_disk *d)
{
	return state_is(d, "failed", "dead");
}

bool sim_disk_has_failed(const struct sim_disk *d)
{
	return state_is(d, "failed", "failed");
}

bool sim_disk_is_connecting(const struct sim_disk *d)
{
	return d->open && !d->is_leaving &&
	       state_is(d, "connecting", "connecting");
}

bool sim_disk_has_lost(const struct sim_disk *d)
{
	return state_is(d, "lossy", "dead");
}

bool sim_disk_is_lossy(const struct sim_disk *d)
{
	return sim_disk_has_lost(d) || sim_disk_has_failed(d);
}

void sim_disk_lose_all(struct sim_disk *d)
{
	for (uint32_t i = 0; i < d->settings.n_registers; i++)
		sim_register_lost(&d->registers[i]);
}

/* An administrator has taken something from it since it was attached. */
static bool was_revoked(const struct sim_disk *d)
{
	return d->brick->n_revoked[d->number] != d->n_revoked;
}

/*
 * A brick whose medium has failed brings nothing back from a slow tier before its
 * next start, and what it has failed to free may be free then. A block of which a line
 * has gone bad is lost.
 */
static bool is_medium_failing(const struct sim_disk *d)
{
	return d->brick->files.n_failed != d->n_failed || d->brick->n_spoiled;
}

/*
 * A brick with a slow tier may have more blocks than memory to map them in: who has
 * his own and waits for more may keep a disk waiting that has nothing yet.
 */
static bool may_be_without_memory(const struct sim_disk *d)
{
	const struct sim_brick *brick = d->brick;
	uint64_t n = 1; /* that clients share */

	if (!brick->settings.files.slow_bytes)
		return false;
	for (uint32_t i = 0; i < d->scene->n_clients; i++)
		if (d->scene->clients[i].brick == brick)
			n += sim_client_n_places(&d->scene->clients[i]);
	for (uint32_t i = 0; i < d->scene->n_disks; i++)
		if (d->scene->disks[i].brick == brick)
			n += d->scene->disks[i].n_blocks;
	return n > (brick->settings.bytes >> KFB_BLOCK_SHIFT) - 1;
}

bool sim_disk_cannot_fail(const struct sim_disk *d)
{
	return !d->settings.visit_ms && !is_medium_failing(d) &&
	       !was_revoked(d) && !may_be_without_memory(d);
}

/*
 * One that may come back for a minute, and whose blocks nobody else wants, is
 * not over: no brick is away for so long, and no administrator refuses it.
 */
static void check_end(struct sim_disk *d)
{
	char why[160];

	if (d->settings.reconnect_s < OUTAGE_MAX_S || d->is_leaving ||
	    !sim_disk_cannot_fail(d) || !is_over(d))
		return;
	km_disk_attribute(d->open, "last_error", why, sizeof(why));
	sim_violated("%s: it has failed: %s", d->name, why);
}

/*
 * Who reads what it says of itself knows of a loss from then on. One that has failed
 * has lost nothing yet: it may be taken up again, with all that had completed.
 */
static bool hear_losses(struct sim_disk *d)
{
	if (sim_disk_has_failed(d))
		return true;
	if (!sim_disk_has_lost(d))
		return false;
	d->has_lost = true;
	if (km_disk_is_write_through(d->open) && !d->settings.visit_ms &&
	    !(d->settings.is_shared && was_revoked(d)) &&
	    !d->brick->n_spoiled && !d->brick->host.n_refused &&
	    state_is(d, "lossy", "dead"))
		sim_violated("%s: it has lost what lasts when it is over",
			     d->name);
	sim_disk_lose_all(d);
	return true;
}

/* Whoever finds it connecting, or with a loss, is told why. */
static void check_words(struct sim_disk *d)
{
	char why[160];

	if (!state_is(d, "connecting", "lossy") && !is_over(d))
		return;
	km_disk_attribute(d->open, "last_error", why, sizeof(why));
	if (!*why)
		sim_violated("%s: it is connecting, and does not say why",
			     d->name);
}

void sim_disk_look(struct sim_disk *d)
{
	check_end(d);
	check_words(d);
}

/* ---- others --------------------------------------------------------------- */

void sim_disk_is_visited(struct sim_disk *d, uint32_t i)
{
	bool is_used = d->used[block_of(d, &d->registers[i])] == d->epoch;

	/* What an earlier visit has left may be there still. */
	is_used &= !d->is_strange[i] || d->guarded[i] == d->epoch;
	d->is_strange[i] = true;
	d->visited[i] = d->registers[i].serial;
	d->guarded[i] = is_used ? d->epoch : 0;
}

/* From a disk that had it when the squatter began, and has not let it go since. */
void sim_disk_is_taken(struct sim_disk *d, uint32_t i)
{
	d->taken[i] = d->guarded[i];
}

/* ---- what is under way --------------------------------------------------------- */

static struct sim_asked *place(struct sim_disk *d)
{
	struct sim_asked *a;

	for (uint32_t i = 0; i < d->settings.posted_max; i++) {
		a = &d->asked[i];
		if (a->is_used)
			continue;
		memset(a, 0, sizeof(*a));
		a->disk = d;
		a->io.buf = d->bufs + (size_t)i * SIM_DISK_BUF_BYTES +
			    sim_disk_below(d, 8) * KM_SECTOR_BYTES;
		return a;
	}
	return NULL;
}

static void begin(struct sim_disk *d, struct sim_asked *a,
		  struct sim_register *r)
{
	/* It may be killed while it looks. */
	a->was_lossy = sim_disk_has_lost(d);
	a->n_takings = d->n_takings;
	a->was_over = !d->n_takers && sim_disk_has_failed(d);
	sim_disk_told_asked(a);
	a->begun_ns = sim.now_ns;
	a->is_used = true;
	a->r = r;
	a->was_taken = r && d->taken[at(d, r)] == d->epoch;
	d->n_asked++;
	if (r)
		d->is_busy[at(d, r)] = true;
}

/* A thin disk alone frees blocks, and only when it may. */
static bool frees(const struct sim_disk *d, const struct sim_asked *a)
{
	return d->settings.is_thin &&
	       (a->io.op == KM_DISCARD ||
		(a->io.op == KM_WRITE_ZEROES && !a->io.no_unmap));
}

bool sim_disk_is_freeing(const struct sim_disk *d)
{
	for (uint32_t i = 0; i < SIM_DISK_POSTED_MAX; i++)
		if (d->asked[i].is_used && frees(d, &d->asked[i]))
			return true;
	return false;
}

/*
 * What has succeeded at once was answered by its brick, and was done then. Else a
 * request for it may still be under way.
 */
static void may_free_late(struct sim_disk *d, const struct sim_asked *a,
			  int error)
{
	if (frees(d, a) && (error || sim.now_ns - a->begun_ns > SOON_NS))
		sim_disk_may_free(d);
}

static void end(struct sim_disk *d, struct sim_asked *a)
{
	if (a->r)
		d->is_busy[at(d, a->r)] = false;
	for (uint32_t i = 0; i < d->settings.n_registers; i++)
		if (a->zeros >> i & 1)
			d->is_busy[i] = false;
	a->is_used = false;
	a->zeros = 0;
	a->r = NULL;
	d->n_asked--;
}

/* A block that is being freed, or whose disk goes, may become another's. */
static void let_go(struct sim_disk *d)
{
	memset(d->used, 0, sizeof(d->used));
	memset(d->guarded, 0, sizeof(d->guarded));
	memset(d->taken, 0, sizeof(d->taken));
}

void sim_disk_forget(struct sim_disk *d)
{
	for (uint32_t i = 0; i < SIM_DISK_POSTED_MAX; i++) {
		if (!d->asked[i].is_used)
			continue;
		d->was_clearing |= d->asked[i].zeros != 0;
		may_free_late(d, &d->asked[i], -EIO);
		end(d, &d->asked[i]);
	}
	for (uint32_t i = 0; i < d->settings.n_registers; i++)
		sim_register_give_up(&d->registers[i]);
	let_go(d);
	sim_disk_lose_all(d);
}

/* It was over when that was asked for, and nobody has taken it up since. */
static bool was_over(const struct sim_asked *a)
{
	return a->was_over && a->n_takings == a->disk->n_takings;
}

/* ---- what becomes of it ---------------------------------------------------------- */

/*
 * A write lasts: what others have left there cannot come back. Zeros are not
 * written where the disk knows of no block, though another's may be there by now.
 */
void sim_disk_lasts(struct sim_disk *d, uint32_t i, uint64_t mark)
{
	const struct sim_written *oldest = &d->registers[i].writes[0];

	sim_register_flushed(&d->registers[i], mark);
	if (d->guarded[i] != d->epoch && mark > d->visited[i] &&
	    oldest->serial == mark && !oldest->is_zero)
		d->is_strange[i] = false;
}

static void covered(struct sim_disk *d, const struct sim_asked *a)
{
	for (uint32_t i = 0; i < d->settings.n_registers; i++)
		sim_disk_lasts(d, i, a->marks[i]);
}

static void write_done(struct sim_disk *d, const struct sim_asked *a, int error)
{
	struct sim_register *r = a->r;

	sim_trace(d->name, "has written %u: %d", r->number, error);
	sim_register_written(r, !error);
	if (error)
		return;
	if (a->was_lossy || was_over(a))
		sim_violated("%s: a write succeeds after a loss", d->name);
	if (a->was_taken)
		sim_violated("%s: register %u was another's, and is written",
			     d->name, r->number);
	d->used[block_of(d, r)] = d->epoch;
	if (a->io.preflush)
		covered(d, a);
	if (a->io.fua || km_disk_is_write_through(d->open))
		sim_disk_lasts(d, at(d, r), r->serial);
}

/*
 * A brick whose medium has failed knows only in its next life how a change has
 * ended: a block may seem not to be there, and be there then, or the reverse.
 */
static void check_read(struct sim_disk *d, struct sim_register *r,
		       const uint64_t *words)
{
	if (!sim_brick_is_failing(d->brick))
		sim_register_read(r, d->epoch, words);
	else if (words[0] || !(d->settings.is_thin || d->is_ro))
		(void)sim_register_look(r, words);
}

static void read_done(struct sim_disk *d, const struct sim_asked *a, int error)
{
	const uint64_t *words = a->io.buf;

	if (a->seen) {
		if (!error)
			sim_register_seen(a->seen, a->floor, words);
		return;
	}
	sim_trace(d->name, "has read %u: %d, %llu", a->r->number, error,
		  (unsigned long long)(words[0] >> 22));
	if (error)
		return;
	/* What it had itself in this epoch is nobody else's. */
	if (!d->is_strange[at(d, a->r)] || d->guarded[at(d, a->r)] == d->epoch)
		check_read(d, a->r, words);
}

static void flush_done(struct sim_disk *d, const struct sim_asked *a, int error)
{
	sim_trace(d->name, "has flushed: %d", error);
	if (error)
		return;
	/* Without a cache the kernel answers, and nothing has been lost. */
	if ((a->was_lossy || was_over(a)) && !km_disk_is_write_through(d->open))
		sim_violated("%s: a flush succeeds after a loss", d->name);
	covered(d, a);
	d->n_flushes++;
}

/* Blocks that were freed are another's for a moment: zeros, and for good. */
static void clear_done(struct sim_disk *d, const struct sim_asked *a, int error)
{
	sim_trace(d->name, "has cleared %x: %d", a->zeros, error);
	let_go(d);
	for (uint32_t i = 0; i < d->settings.n_registers; i++) {
		if (!(a->zeros >> i & 1))
			continue;
		sim_register_written(&d->registers[i], !error);
		/* Blocks that the disk has not are not asked for: what others have stays. */
		if (d->is_strange[i])
			d->visited[i] = d->registers[i].serial;
		if (!error && (a->io.op == KM_DISCARD ||
			       km_disk_is_write_through(d->open)))
			sim_disk_lasts(d, i, d->registers[i].serial);
	}
}

/* The brick has told why a flush, or what waits for one, fails. */
static bool is_refused(const struct sim_disk *d, const struct sim_asked *a)
{
	return d->n_refused && (a->io.op == KM_FLUSH || a->io.op == KM_WRITE);
}

/* What fails has a reason that the disk tells. */
static void check_error(struct sim_disk *d, const struct sim_asked *a,
			int error)
{
	if (is_refused(d, a) || d->brick->n_spoiled)
		return;
	/* It was over, and has been taken up again since, or is just now. */
	if (a->n_takings != d->n_takings || d->n_takers)
		return;
	/* Others may have taken what has to be mapped, or allocated, first. */
	if (error != -EIO || !state_is(d, "up", "connecting") ||
	    (a->io.op != KM_FLUSH &&
	     (d->settings.is_thin || d->settings.map_cache)))
		return;
	sim_violated("%s: operation %d fails, and nothing is lost", d->name,
		     (int)a->io.op);
}

static void done(struct km_io *io, int error)
{
	struct sim_asked *a = sim_container_of(io, struct sim_asked, io);
	struct sim_disk *d = a->disk;

	if (!a->is_used)
		sim_violated("%s: something is over twice", d->name);
	if (d->is_ro && io->op != KM_READ && io->op != KM_FLUSH) {
		if (!error)
			sim_violated("%s: it is read-only, and written",
				     d->name);
		end(d, a);
		km_wake(d);
		return;
	}
	sim_disk_told_done(a, error);
	if (hear_losses(d))
		sim_trace(d->name, "knows of a loss, or that it is over");
	else if (error)
		check_error(d, a, error);
	switch (io->op) {
	case KM_WRITE:
		write_done(d, a, error);
		break;
	case KM_READ:
		read_done(d, a, error);
		break;
	case KM_FLUSH:
		flush_done(d, a, error);
		break;
	case KM_DISCARD:
	case KM_WRITE_ZEROES:
		clear_done(d, a, error);
		may_free_late(d, a, error);
		break;
	}
	end(d, a);
	km_wake(d);
}

/* ---- asking ------------------------------------------------------------------------ */

static void submit(struct sim_disk *d, struct sim_asked *const *asked,
		   uint32_t n)
{
	struct km_io *ios[BATCH_MAX];

	for (uint32_t i = 0; i < n; i++) {
		ios[i] = &asked[i]->io;
		ios[i]->done = done;
	}
	d->call = "submit";
	km_submit(d->open, ios, n);
	d->call = "nothing";
}

static bool is_free(const struct sim_disk *d, const struct sim_register *r)
{
	return !d->is_busy[at(d, r)] && block_of(d, r) < d->n_blocks;
}

static void mark_all(struct sim_disk *d, struct sim_asked *a)
{
	for (uint32_t i = 0; i < d->settings.n_registers; i++)
		a->marks[i] = sim_register_mark(&d->registers[i], d->epoch);
}

static struct sim_asked *write_one(struct sim_disk *d, struct sim_register *r)
{
	struct sim_asked *a = place(d);

	if (!a || !is_free(d, r) || !sim_register_has_room(r))
		return NULL;
	a->io.op = KM_WRITE;
	a->io.sector = sector_of(d, r);
	a->io.bytes = bytes_of(r);
	a->io.fua = sim_disk_chance(d, FUA_CHANCE);
	if (sim_disk_chance(d, COMMIT_CHANCE)) {
		a->io.fua = true;
		a->io.preflush = true;
		mark_all(d, a);
	}
	begin(d, a, r);
	sim_register_write(r, d->epoch, a->io.buf);
	sim_trace(d->name, "writes %u, %llu%s%s", r->number,
		  (unsigned long long)r->serial, a->io.fua ? " durably" : "",
		  a->io.preflush ? " behind a flush" : "");
	d->n_writes++;
	return a;
}

/* Registers that may lie one behind the other. */
static void write_some(struct sim_disk *d)
{
	uint32_t from = (uint32_t)sim_disk_below(d, d->settings.n_registers);
	uint32_t most = 1 + (uint32_t)sim_disk_below(d, BATCH_MAX), n = 0;
	struct sim_asked *asked[BATCH_MAX];

	for (uint32_t i = 0; i < most && from + i < d->settings.n_registers;
	     i++) {
		asked[n] = write_one(d, &d->registers[from + i]);
		if (asked[n])
			n++;
	}
	if (n)
		submit(d, asked, n);
}

bool sim_disk_read(struct sim_disk *d, struct sim_register *r)
{
	struct sim_asked *a = place(d);

	if (!a || !is_free(d, r))
		return false;
	a->io.op = KM_READ;
	a->io.sector = sector_of(d, r);
	a->io.bytes = bytes_of(r);
	memset(a->io.buf, 0xa5, a->io.bytes);
	begin(d, a, r);
	d->n_reads++;
	submit(d, &a, 1);
	return true;
}

/* What the other host has written, which may be writing it just now. */
static void see(struct sim_disk *d)
{
	struct sim_disk *o = d->partner;
	const struct sim_register *r =
		&o->registers[sim_disk_below(d, o->settings.n_registers)];
	struct sim_asked *a = place(d);

	if (!a || block_of(o, r) >= d->n_blocks)
		return;
	a->io.op = KM_READ;
	a->io.sector = sector_of(o, r);
	a->io.bytes = bytes_of(r);
	a->seen = r;
	a->floor = r->writes[0].serial;
	begin(d, a, NULL);
	d->n_reads++;
	submit(d, &a, 1);
}

static void flush(struct sim_disk *d)
{
	struct sim_asked *a = place(d);

	if (!a)
		return;
	a->io.op = KM_FLUSH;
	mark_all(d, a);
	begin(d, a, NULL);
	sim_trace(d->name, "flushes");
	submit(d, &a, 1);
}

/* ---- zeros --------------------------------------------------------------------------- */

/* Registers of some bytes become zero; false: something is under way there. */
static bool begin_zeros(struct sim_disk *d, struct sim_asked *a, uint64_t from,
			uint64_t to)
{
	for (uint32_t i = 0; i < d->settings.n_registers; i++) {
		struct sim_register *r = &d->registers[i];
		uint64_t first = r->va - d->settings.first_va;

		if (first + bytes_of(r) <= from || first >= to)
			continue;
		if (d->is_busy[i] || !sim_register_has_room(r))
			return false;
		a->zeros |= UINT32_C(1) << i;
	}
	begin(d, a, NULL);
	for (uint32_t i = 0; i < d->settings.n_registers; i++) {
		if (!(a->zeros >> i & 1))
			continue;
		d->is_busy[i] = true;
		sim_register_write_zeros(&d->registers[i], d->epoch);
	}
	return true;
}

static void ask_zeros(struct sim_disk *d, struct sim_asked *a, uint64_t from,
		      uint64_t to)
{
	a->io.sector = from / KM_SECTOR_BYTES;
	a->io.bytes = (uint32_t)(to - from);
	sim_trace(d->name, "%s 0x%llx, 0x%x bytes%s",
		  a->io.op == KM_DISCARD ? "discards" : "writes zeros at",
		  (unsigned long long)from, a->io.bytes,
		  a->io.no_unmap ? ", which stay" : "");
	submit(d, &a, 1);
}

/*
 * Some blocks, and perhaps a part of the next ones, which a discard leaves as they
 * are.
 */
static void clear_blocks(struct sim_disk *d, bool discards)
{
	uint64_t first = sim_disk_below(d, d->n_blocks);
	uint64_t n = 1 + sim_disk_below(d, d->n_blocks - first);
	uint64_t from = first << KFB_BLOCK_SHIFT;
	uint64_t to = (first + n) << KFB_BLOCK_SHIFT;
	struct sim_asked *a = place(d);

	if (!a)
		return;
	a->io.op = discards ? KM_DISCARD : KM_WRITE_ZEROES;
	a->io.no_unmap = !discards && sim_disk_chance(d, 500);
	/* So many bytes take long. */
	if (!frees(d, a) && !sim_disk_chance(d, WRITTEN_CHANCE))
		return;
	if (!begin_zeros(d, a, from, to)) {
		a->zeros = 0;
		return;
	}
	let_go(d);
	if (discards && first && sim_disk_chance(d, 300))
		from -= (1 + sim_disk_below(d, PARTS - 1)) *
			(KFB_BLOCK_BYTES / PARTS);
	if (discards && first + n < d->n_blocks && sim_disk_chance(d, 300))
		to += (1 + sim_disk_below(d, PARTS - 1)) *
		      (KFB_BLOCK_BYTES / PARTS);
	ask_zeros(d, a, from, to);
}

/* As much as a register, in its place. */
static void clear_register(struct sim_disk *d, struct sim_register *r)
{
	uint64_t from = r->va - d->settings.first_va;
	struct sim_asked *a = place(d);

	if (!a || !is_free(d, r))
		return;
	a->io.op = KM_WRITE_ZEROES;
	a->io.no_unmap = sim_disk_chance(d, 500);
	if (begin_zeros(d, a, from, from + bytes_of(r)))
		ask_zeros(d, a, from, from + bytes_of(r));
	else
		a->zeros = 0;
}

/* ---- what next ------------------------------------------------------------------------- */

void sim_disk_collect(struct sim_disk *d, uint64_t ns)
{
	d->call = "collect";
	if (d->n_asked)
		km_wait_until(d, sim.now_ns + ns);
	d->call = "nothing";
}

void sim_disk_settle(struct sim_disk *d)
{
	d->call = "settle";
	while (d->n_asked)
		km_wait(d);
	d->call = "nothing";
}

static struct sim_register *some_register(struct sim_disk *d)
{
	return &d->registers[sim_disk_below(d, d->settings.n_registers)];
}

/* Block by block, where registers are. */
static void read_on(struct sim_disk *d)
{
	for (uint32_t i = 0; i < d->settings.n_registers; i++) {
		struct sim_register *r = &d->registers[i];

		if (block_of(d, r) != d->at % d->n_blocks)
			continue;
		(void)sim_disk_read(d, r);
		break;
	}
	d->at++;
}

/* Of a disk that is not written: reads, and a write that is refused. */
static void ask_unwritten(struct sim_disk *d, uint64_t dice)
{
	struct sim_register *r = some_register(d);
	struct sim_asked *a;

	if (dice < 700) {
		(void)sim_disk_read(d, r);
		return;
	}
	if (dice < 750) {
		flush(d);
		return;
	}
	if (dice > 770) {
		sim_disk_collect(d, 5 * SIM_MS);
		return;
	}
	a = place(d);
	if (!a || !is_free(d, r))
		return;
	a->io.op = dice < 760 ? KM_WRITE : KM_WRITE_ZEROES;
	a->io.sector = sector_of(d, r);
	a->io.bytes = bytes_of(r);
	memset(a->io.buf, 0xa5, a->io.bytes);
	begin(d, a, r);
	submit(d, &a, 1);
}

void sim_disk_ask(struct sim_disk *d)
{
	uint64_t dice = sim_disk_below(d, PERMILLE);

	if (d->is_ro) {
		ask_unwritten(d, dice);
		return;
	}
	if (sim_disk_chance(d, d->settings.run_permille))
		read_on(d);
	if (d->partner && sim_disk_chance(d, 100))
		see(d);
	if (dice < 500)
		write_some(d);
	else if (dice < 680)
		(void)sim_disk_read(d, some_register(d));
	else if (dice < 780)
		flush(d);
	/* Zeros of whole blocks would be the other host's, too; nor are they told apart. */
	else if (dice < 815 && d->partner)
		see(d);
	else if (dice < 800)
		clear_register(d, some_register(d));
	else if (dice < 815)
		clear_blocks(d,
			     d->settings.is_thin && !sim_disk_chance(d, 300));
	else
		sim_disk_collect(d, 5 * SIM_MS);
}
