/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loss table: each cell is a platform, a way to flush, and who lies; some
 * must never lose what was flushed, the others must be seen to.
 */
#ifndef TESTS_SIM_CELL_H
#define TESTS_SIM_CELL_H

#include "liars.h"
#include "tests/sim/machine/medium.h"

/* What must come of the cuts of a cell. */
enum cell_must {
	CELL_NONE_LOSES,
	CELL_ALL_LOSE,
	CELL_SOME_LOSE,
};

/* Who writes. */
enum cell_over {
	CELL_LIB,
	CELL_DISK, /* thick */
	CELL_THIN_DISK, /* with a map cache smaller than the disk */
	CELL_OVERS,
};

/*
 * struct cell - a row of the table
 * @where: the platform, and what befalls
 * @what: how is flushed, or who lies
 * @platform: the brick's host; its drain is a column's
 * @lie: who
 * @no_flush: the client takes completed writes for durable
 * @many: needs several queues
 * @links: connections end, too, and are made again
 * @outlived: one ends with a FLUSH outstanding that the brick has done, and with
 *	writes after it
 * @retains: the client keeps copies: it must never hear of a loss
 * @commits: over tcp; each write is to be durable when it completes
 * @on_disk: it is tried with the disk, too
 * @mode: KFB_FLUSH_* that brickd must choose
 * @must: with a drain of 0 and of 60 percent
 */
struct cell {
	const char *where;
	const char *what;
	struct sim_platform platform;
	enum cell_lie lie;
	bool no_flush;
	bool many;
	bool links;
	bool outlived;
	bool retains;
	bool commits;
	bool on_disk;
	uint32_t mode;
	enum cell_must must[2];
};

extern const struct cell cells[];
extern const unsigned int n_cells;

/*
 * struct cell_result - of the cuts of a cell
 * @cuts: how many
 * @losing: of these, lost something that was flushed
 * @first: number of the first that did, from 1; 0: none
 * @wrong: words that are neither old nor new: the test itself is broken, or
 *	something is torn within 8 bytes
 */
struct cell_result {
	uint32_t cuts;
	uint32_t losing;
	uint32_t first;
	uint32_t wrong;
};

/*
 * Cuts the power so often in a cell. What was broken besides is in sim_violation.
 */
void cell_try(const struct cell *cell, enum cell_over over, uint32_t queues,
	      uint32_t drain_permille, uint32_t cuts, uint64_t seed,
	      struct cell_result *out);

#endif
