/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loss table: each cell is a platform, a way to flush, and who lies; some
 * must never lose what was flushed, the others must be seen to.
 */
#ifndef TESTS_POWERFAIL_CELLS_H
#define TESTS_POWERFAIL_CELLS_H

#include "rig.h"

/* What must come of the cuts of a cell. */
enum pf_must {
	PF_NONE_LOSES,
	PF_ALL_LOSE,
	PF_SOME_LOSE,
};

/**
 * struct pf_cell - a row of the table
 * @name: as a sentence
 * @platform: the brick's host
 * @lie: who
 * @no_flush: the client takes completed writes for durable
 * @many: needs several queues
 * @links: connections end, too, and are made again
 * @outlived: one ends with a FLUSH outstanding that the brick has done, and with
 *	writes after it
 * @retains: the client keeps copies: it must never hear of a loss
 * @mode: KFB_FLUSH_* that brickd must choose
 * @must: with a drain of 0 and of 60 percent
 */
struct pf_cell {
	const char *name;
	struct pf_platform platform;
	enum pf_lie lie;
	bool no_flush;
	bool many;
	bool links;
	bool outlived;
	bool retains;
	uint32_t mode;
	enum pf_must must[2];
};

extern const struct pf_cell pf_cells[];
extern const unsigned int pf_n_cells;

/**
 * struct pf_result - of the cuts of a cell
 * @cuts: how many
 * @losing: of these, lost something that was flushed
 * @first: number of the first that did, from 1; 0: none
 * @wrong: words that are neither old nor new: the test itself is broken, or
 *	something is torn within 8 bytes
 */
struct pf_result {
	uint32_t cuts;
	uint32_t losing;
	uint32_t first;
	uint32_t wrong;
};

/* Cuts the power so often in a cell, on so many queues. */
void pf_cell_run(const struct pf_cell *cell, uint32_t queues,
		 uint32_t drain_permille, uint32_t cuts, uint64_t seed,
		 struct pf_result *out);

#endif
