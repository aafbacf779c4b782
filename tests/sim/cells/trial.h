/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One cell while it is tried: a brick, a client over libkfbrick or a disk, and
 * what that client was told.
 */
#ifndef TESTS_SIM_TRIAL_H
#define TESTS_SIM_TRIAL_H

#include "cell.h"
#include "tests/sim/brick.h"
#include "tests/sim/kernel/kernel.h"
#include "tests/sim/kernel/machine.h"
#include "tracker.h"

#define CELL_BLOCKS	     8
#define CELL_AREA	     8192 /* bytes of each block that are used */
#define CELL_WORDS_PER_BLOCK (CELL_AREA / TRACKER_WORD)
#define CELL_WORDS	     (CELL_BLOCKS * CELL_WORDS_PER_BLOCK)
#define CELL_FLUSHED_WRITES  24 /* before the flush; each block has some */
#define CELL_MORE_WRITES     8 /* at most, before a second flush */
#define CELL_NEWER_WRITES    8 /* at most, after the last */
#define CELL_SLOTS	     (CELL_FLUSHED_WRITES + CELL_MORE_WRITES + CELL_NEWER_WRITES)
#define CELL_WRITE_WORDS     128 /* of the longest */
#define CELL_FLUSHES	     2 /* under way at one time */
#define CELL_LEASE_MS	     3000 /* where connections end */

struct trial;
struct kfbrick;
struct kfbrick_mapping;

/*
 * struct cell_op - a write or a flush that is under way
 * @io: the disk's
 * @is_flush: it covers all writes up to @serial, else it is the write @serial of
 *	the words from @word on, @n of them, and
 * @is_durable: it is to be durable when it completes
 * @buf: of the process
 */
struct cell_op {
	struct km_io io;
	struct trial *trial;
	bool is_used;
	bool is_flush;
	bool is_durable;
	uint32_t word;
	uint32_t n;
	uint32_t serial;
	uint64_t *buf;
};

/*
 * struct cell_port - how a client asks
 * @live: what its process does: connects, calls trial_run(), goes
 * @unit: words; a write begins and ends at a multiple
 * @write: posts it; trial_done() is called when it is over
 * @flush: posts a flush; trial_done() is called when it is over
 * @collect: waits for something to be over, for some ms at most
 * @has_lost: the client is told so by an operation that ends with an error
 * @accept: what was told is no matter any more; what was lost is lost
 * @flush_mode: KFB_FLUSH_* that the brick has chosen
 * @n_replays: how often copies were written again
 */
struct cell_port {
	void (*live)(struct trial *t);
	uint32_t unit;
	void (*write)(struct trial *t, struct cell_op *op);
	void (*flush)(struct trial *t, struct cell_op *op);
	void (*collect)(struct trial *t);
	bool (*has_lost)(struct trial *t, const struct cell_op *op, int error);
	void (*accept)(struct trial *t);
	uint32_t (*flush_mode)(struct trial *t);
	uint64_t (*n_replays)(struct trial *t);
};

extern const struct cell_port cell_lib_port, cell_disk_port;

/*
 * struct trial - of a cell
 * @host: of the client; first, so that the host of its process is found
 * @task: of the first thread of its machine, which has a kernel or none
 * @has_fua: some writes of the disk's are to last when they are over
 * @chance: what it does next
 * @areas: where in the medium each block is
 * @serial: of the newest write
 * @until_cut: so many events of the world more, then the power fails; 0: it does
 *	not
 * @cuts_at_flush: it does as soon as a flush is over
 * @is_told: that writes are lost: no flush of this cut counts
 * @has_lost: something of what was flushed, in this cut
 * @patience: ends it when something takes for ever
 */
struct trial {
	struct sim_host host;
	struct km_task task;
	const struct cell *cell;
	const struct cell_port *port;
	enum cell_over over;
	uint32_t queues;
	uint32_t cuts;
	bool has_fua;
	uint64_t chance;
	struct sim_brick *brick;
	uint64_t areas[CELL_BLOCKS];
	struct tracker tracker;
	uint32_t serial;
	struct cell_op writes[CELL_SLOTS];
	struct cell_op flushes[CELL_FLUSHES];
	uint32_t in_flight;
	uint32_t flushing;
	uint64_t until_cut;
	bool cuts_at_flush;
	bool is_told;
	bool has_lost;
	bool is_over;
	struct sim_event patience;
	struct cell_result result;

	struct kfbrick *k;
	struct kfbrick_mapping *mapping;
	struct gendisk *disk;
	int instance;
};

/* The cuts of the cell. Context: the client's process; it is connected. */
void trial_run(struct trial *t);
/* An operation is over. */
void trial_done(struct cell_op *op, int error);
/* Something is wrong, and the world is over; does not return. */
void trial_fail(const struct trial *t, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

static inline uint32_t trial_below(struct trial *t, uint32_t bound)
{
	return (uint32_t)sim_below_of(&t->chance, bound);
}

/*
 * What a loss of power would leave of an area of each block, each CELL_AREA
 * bytes; the medium itself goes on as it is.
 */
void cell_survivors(const struct sim_medium *medium, const uint64_t *areas,
		    uint64_t seed, uint8_t *out);

#endif
