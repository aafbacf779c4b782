/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine whose kernel has a disk of a brick's blocks, and a file system on it
 * that believes what it is told.
 */
#ifndef TESTS_SIM_DISK_H
#define TESTS_SIM_DISK_H

#include "../machine/host.h"
#include "../kernel/kernel.h"
#include "../kernel/machine.h"
#include "../oracle.h"

#define SIM_DISKS_MAX	    3
#define SIM_DISK_BLOCKS_MAX 6
#define SIM_DISK_REGS	    24
#define SIM_DISK_POSTED_MAX 24
#define SIM_DISK_BUF_BYTES  8192
#define SIM_ANSWER_BYTES    256
#define SIM_STATE_BYTES	    32

struct sim_brick;
struct sim_scene;

/* What a world is like for a disk. */
struct sim_disk_settings {
	const char *provider;
	uint64_t first_va;
	uint32_t n_blocks;
	uint32_t grows_to;
	uint32_t n_registers;
	uint32_t n_words;
	uint32_t sector_bytes;
	uint32_t queues;
	uint32_t map_cache;
	uint32_t retain_mb;
	uint32_t reconnect_s;
	uint32_t lease_ms;
	uint32_t think_us;
	uint32_t short_permille;
	uint32_t hold_up_ms; /* on its machine, of who connects or closes */
	uint32_t run_permille;
	uint32_t posted_max;
	bool is_thin;
	bool is_shared; /* another one writes other registers of its blocks */
	bool is_nameless; /* its brick asks for no name */
	bool has_two_networks; /* its brick does, and it knows */
	uint32_t ro_permille; /* epochs in which nothing is written */
	uint32_t visit_ms; /* of a squatter; 0: there is none */
	bool is_visited_when_connecting; /* by one who waits until it is */
	bool is_visited_by_itself;
};

struct sim_disk;

/*
 * struct sim_squatter - another disk over the same blocks; see disk_squatter.c
 * @disk: whose blocks
 * @machine: on whose machine it is
 * @number: of the client as which it logs on
 * @buf: of the machine
 */
struct sim_squatter {
	struct sim_disk *disk;
	struct sim_disk *machine;
	uint32_t number;
	struct sim_register registers[SIM_DISK_REGS];
	void *buf;
};

/*
 * struct sim_asked - something that the file system has asked for
 * @io: it
 * @disk: of which disk
 * @is_used: it is not over
 * @begun_ns: when it was asked for
 * @r: of a write or read: its register
 * @seen: of a read: its partner's register, and the @floor of what it may hold
 * @zeros: by register: what becomes zero
 * @marks: what a flush covers, by register
 * @was_lossy: the disk had told of a loss when it was asked for
 * @was_over: it had failed, and nobody was taking it up again
 * @n_takings: of the disk, then
 * @was_taken: a squatter had its register by then
 * @was_untold: nobody had been told of a flush that had failed
 */
struct sim_asked {
	struct km_io io;
	struct sim_disk *disk;
	bool is_used;
	uint64_t begun_ns;
	struct sim_register *r;
	const struct sim_register *seen;
	uint64_t floor;
	uint32_t zeros;
	uint64_t marks[SIM_DISK_REGS];
	bool was_lossy;
	bool was_over;
	uint32_t n_takings;
	bool was_taken;
	bool was_untold;
};

/*
 * struct sim_disk - one; outlives its machine
 * @host: first, so that the host of its process is found
 * @task: of its first thread
 * @brick: whose blocks it has
 * @machine: the disk on whose machine it is; mostly itself
 * @partner: of a shared disk: that of the other machine
 * @visitor: of a machine: who squats there; NULL: nobody
 * @n_guests: of a machine: other disks and squatters that have not ended
 * @number: of the client as which it logs on
 * @n_blocks: that it has now
 * @epoch: times that it was attached
 * @is_busy: by register: something of it is under way
 * @used: by block: the newest epoch in which it was written
 * @is_strange: by register: a squatter may have written it: nothing is known of
 *	it until a newer write lasts, than @visited
 * @guarded: by register: the epoch in which a squatter wanted it, and this disk
 *	had its block: it is told so when it is another's
 * @taken: by register: the same, and the squatter has written it
 * @instance: the N of kfbrickN
 * @open: while it is open
 * @bufs: of its machine
 * @at: where it reads on
 * @is_leaving: it is being detached
 * @is_held: by somebody who has come meanwhile
 * @is_ro: in this epoch nothing is written
 * @n_takers: orders to take it up again that are under way
 * @n_takings: times that one has begun or ended
 * @has_lost: in this epoch it has said that it has lost writes
 * @n_revoked: times that an administrator had taken something from its client when
 *	it was attached
 * @n_failed: times that something of the brick's files had failed before the life in
 *	which it was attached
 * @n_refused: flushes that the brick has failed to do, and
 * @is_untold: nobody has been told of one
 * @may_free_until_ns: what may free blocks has been asked for, and may come late
 * @call: what it waits in, for the story
 */
struct sim_disk {
	struct sim_host host;
	struct km_task task;
	struct sim_disk_settings settings;
	struct sim_scene *scene;
	struct sim_brick *brick;
	struct sim_disk *machine;
	struct sim_disk *partner;
	struct sim_squatter *visitor;
	uint32_t n_guests;
	uint32_t number;
	char name[24];
	uint64_t chance;
	uint32_t n_blocks;
	uint32_t epoch;
	struct sim_register registers[SIM_DISK_REGS];
	bool is_busy[SIM_DISK_REGS];
	uint32_t used[SIM_DISK_BLOCKS_MAX];
	bool is_strange[SIM_DISK_REGS];
	uint64_t visited[SIM_DISK_REGS];
	uint32_t guarded[SIM_DISK_REGS];
	uint32_t taken[SIM_DISK_REGS];
	struct sim_squatter squatter;
	struct sim_asked asked[SIM_DISK_POSTED_MAX];
	uint32_t n_asked;
	int instance;
	struct gendisk *open;
	uint8_t *bufs;
	uint64_t at;
	struct sim_event restart;
	bool is_ro;
	uint32_t n_takers;
	uint32_t n_takings;
	bool has_lost;
	uint32_t n_revoked;
	uint64_t n_failed;
	uint64_t n_refused;
	bool is_untold;
	const char *call;
	bool was_clearing;
	bool is_attaching;
	uint64_t may_free_until_ns;
	bool is_leaving;
	bool is_held;
	uint32_t n_openers;
	bool ends;
	bool has_ended;
	uint64_t n_writes;
	uint64_t n_reads;
	uint64_t n_flushes;
	uint64_t n_losses;
};

/* What this one is like, before a brick whose fabric is tcp, or not. */
void sim_disk_choose(uint64_t *dice, bool is_tcp,
		     struct sim_disk_settings *settings);
/* It may lose what it has written, and then its blocks: see sim_faults_make(). */
void sim_disk_choose_losses(uint64_t *dice, struct sim_disk_settings *settings);
/*
 * @at: its place among the scene's; @process: of its machine
 * @machine: another disk, on whose machine it is; NULL: it has one of its own
 */
void sim_disk_init(struct sim_disk *disk, uint32_t at, uint32_t process,
		   uint32_t number, struct sim_disk *machine,
		   const struct sim_disk_settings *settings, uint64_t seed);
void sim_disk_fini(struct sim_disk *disk);
/* Its machine is killed, with all disks on it. */
void sim_disk_kill(struct sim_disk *disk, uint64_t down_ns);

/* disk_io.c: what it asks for, and what becomes of it. */

/* One thing more, chosen by its dice. */
void sim_disk_ask(struct sim_disk *disk);
/* Waits for one to be over; for all of them. */
void sim_disk_collect(struct sim_disk *disk, uint64_t ns);
void sim_disk_settle(struct sim_disk *disk);
/* Reads a register, when there is room. */
bool sim_disk_read(struct sim_disk *disk, struct sim_register *r);
/* Something is under way that may free blocks. */
bool sim_disk_is_freeing(const struct sim_disk *disk);
/* Nobody waits for anything any more. */
void sim_disk_forget(struct sim_disk *disk);
/* It says that it has lost writes, or is over. */
bool sim_disk_is_lossy(const struct sim_disk *disk);
/* It says that it has no connection. Context: threads of its machine. */
bool sim_disk_is_connecting(const struct sim_disk *disk);
/* It says that it has lost writes. */
bool sim_disk_has_lost(const struct sim_disk *disk);
/* It says that it is over, and not that it has lost any. */
bool sim_disk_has_failed(const struct sim_disk *disk);
/* Nobody has given it a reason to be over, but a brick that is away. */
bool sim_disk_cannot_fail(const struct sim_disk *disk);
/* Whether it has ended without a reason. Context: may sleep. */
void sim_disk_look(struct sim_disk *disk);
void sim_disk_lose_all(struct sim_disk *disk);

/* disk_orders.c: orders that are refused, and what it owes its brick. */

/* One that has no client's name and no mappings of its own, in place of @text. */
void sim_disk_try_nameless(struct sim_disk *disk);
/* It does not become smaller, nor larger than the address space. */
void sim_disk_try_sizes(struct sim_disk *disk);
/* Does nothing for a while: does it give back what its brick asks for? */
void sim_disk_rest(struct sim_disk *disk);
/* It has no more of them than it may. */
void sim_disk_count_mappings(struct sim_disk *disk);
/* This thread may be stopped soon, once and wherever it is, while the others go on. */
void sim_disk_stop_once(struct sim_disk *disk);
/* An order to the control device, for the story, too. */
int sim_disk_order(struct sim_disk *disk, const char *text, char *answer);

/* disk_reattach.c: it is taken up again when it has failed. */

/* By somebody, or by two at once; perhaps without waiting for them. */
void sim_disk_take_up(struct sim_disk *disk);
/* Waits until nobody does. */
void sim_disk_takers_settle(struct sim_disk *disk);
/* Again and again, when no more faults befall it: true: it is up. */
bool sim_disk_take_up_at_last(struct sim_disk *disk);

/* disk_shared.c: blocks that two machines write at one time. */

/*
 * struct sim_cluster - its engine: it allocates them, as disks do not, and fences hosts
 * @host: first, so that the host of its process is found
 * @disks: those that have them; NULL: there are none
 * @brick: whose blocks they are
 * @number: of the client as which it logs on
 * @is_full: the brick had no room for them
 */
struct sim_cluster {
	struct sim_host host;
	struct sim_disk *disks[2];
	struct sim_brick *brick;
	uint32_t number;
	char name[24];
	uint64_t chance;
	bool is_full;
	struct sim_event begin;
};

/* They and their engine are of one group of clients. */
void sim_cluster_init(struct sim_cluster *cluster, struct sim_disk *one,
		      struct sim_disk *other, uint32_t process, uint32_t number,
		      uint64_t seed);
void sim_cluster_fini(struct sim_cluster *cluster);

/* disk_told.c: is whoever flushes told what has failed? */
void sim_disk_told_init(struct sim_scene *scene);
void sim_disk_told_asked(struct sim_asked *asked);
void sim_disk_told_done(const struct sim_asked *asked, int error);
void sim_disk_told_detached(struct sim_disk *disk, int error);

/* disk_wire.c: what its brick is asked for. */

/* What it has asked for may come late. */
void sim_disk_may_free(struct sim_disk *disk);

/* A squatter begins to write a register; it has. */
void sim_disk_is_visited(struct sim_disk *disk, uint32_t i);
void sim_disk_is_taken(struct sim_disk *disk, uint32_t i);
/* A write up to that serial number lasts. */
void sim_disk_lasts(struct sim_disk *disk, uint32_t i, uint64_t mark);
/* It is attached, and does not say that it is over. */
bool sim_disk_keeps_others_out(const struct sim_disk *disk);
/* Until the disk is to end. */
void sim_squatter_live(struct sim_squatter *squatter);

static inline uint64_t sim_disk_below(struct sim_disk *d, uint64_t bound)
{
	return sim_below_of(&d->chance, bound);
}

static inline bool sim_disk_chance(struct sim_disk *d, uint32_t permille)
{
	return sim_chance_of(&d->chance, permille);
}

#endif
