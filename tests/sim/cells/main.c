// SPDX-License-Identifier: BSD-2-Clause
/*
 * kfbrick-cells [--cuts N] [--seed S] [--table] [--trace] [NAME...]: tries the
 * cells of the loss table, or those whose row has a name in it; TAP, or the table.
 *
 * The same arguments give the same cuts.
 */
#include <getopt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cell.h"
#include "tests/sim/oracle.h"

#define CUTS_DEFAULT 2000
#define SEED_DEFAULT 20149
#define SOON	     50 /* a lie is to be noticed within so many cuts */

#define N_DRAINS 2
#define N_QUEUES 2

static const uint32_t drains[N_DRAINS] = { 0, 600 };
static const uint32_t queues[N_QUEUES] = { 1, 4 };
static const char *const overs[CELL_OVERS] = { "libkfbrick", "the disk",
					       "the disk, thin" };

static uint32_t cuts = CUTS_DEFAULT;
static uint64_t seed = SEED_DEFAULT;
static bool is_table;
static unsigned int n_points, n_failed;
static uint64_t all_cuts;

static bool is_right(const struct cell_result *r, enum cell_must must)
{
	if (r->wrong || *sim_violation)
		return false;
	switch (must) {
	case CELL_NONE_LOSES:
		return !r->losing;
	case CELL_ALL_LOSE:
		return r->losing == r->cuts;
	case CELL_SOME_LOSE:
		return r->first && r->first <= SOON;
	}
	return false;
}

/* A disk that makes room for a mapping flushes, whatever else it forgets. */
static enum cell_must must_of(const struct cell *cell, enum cell_over over,
			      unsigned int d)
{
	enum cell_must must = cell->must[d];

	return over == CELL_THIN_DISK && must == CELL_ALL_LOSE ? CELL_SOME_LOSE
							       : must;
}

/* The brick's answers are held up there; who maps on demand needs them. */
static bool is_tried(const struct cell *cell, enum cell_over over)
{
	return over == CELL_LIB ||
	       (cell->on_disk && !(over == CELL_THIN_DISK && cell->outlived));
}

static void print_point(const struct cell *cell, enum cell_over over,
			uint32_t n_queues, uint32_t drain_permille,
			const struct cell_result *r, bool ok)
{
	printf("%sok %u - %s: %s; %s, %u queues, p %u%%: %u of %u cuts lost "
	       "what was flushed\n",
	       ok ? "" : "not ", n_points, cell->where, cell->what, overs[over],
	       n_queues, drain_permille / 10, r->losing, r->cuts);
	if (r->first)
		printf("# the first was cut %u\n", r->first);
	if (r->wrong)
		printf("# %u words that nobody wrote\n", r->wrong);
	if (*sim_violation)
		printf("# %s\n", sim_violation);
}

/* Of a point of the table, whichever others are tried. */
static uint64_t seed_of(const struct cell *cell, enum cell_over over,
			unsigned int q, unsigned int d)
{
	uint64_t row = (uint64_t)(cell - cells);

	return seed + ((row * CELL_OVERS + over) * N_DRAINS + d) * N_QUEUES + q;
}

/* One platform, one number of queues, one drain. */
static void try_point(const struct cell *cell, enum cell_over over,
		      unsigned int q, unsigned int d)
{
	struct cell_result r = { 0 };
	bool ok;

	if (cell->many && queues[q] == 1) {
		if (is_table)
			printf("-");
		return;
	}
	cell_try(cell, over, queues[q], drains[d], cuts,
		 seed_of(cell, over, q, d), &r);
	ok = is_right(&r, must_of(cell, over, d));
	n_failed += !ok;
	n_points++;
	all_cuts += r.cuts;
	if (is_table)
		printf("%s%u", ok ? "" : "WRONG ", r.losing);
	else
		print_point(cell, over, queues[q], drains[d], &r, ok);
	fflush(stdout);
}

static void try_over(const struct cell *cell, enum cell_over over)
{
	for (unsigned int d = 0; d < N_DRAINS; d++)
		for (unsigned int q = 0; q < N_QUEUES; q++) {
			if (is_table)
				printf("%s", q ? " / " : d ? ", " : " | ");
			try_point(cell, over, q, d);
		}
}

static void try_cell(const struct cell *cell)
{
	if (is_table)
		printf("| %s | %s", cell->where, cell->what);
	for (enum cell_over over = CELL_LIB; over < CELL_OVERS; over++) {
		if (is_tried(cell, over))
			try_over(cell, over);
		else if (is_table)
			printf(" |");
	}
	if (is_table)
		printf(" |\n");
}

static bool is_meant(const struct cell *cell, char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (strstr(cell->where, names[i]) ||
		    strstr(cell->what, names[i]))
			return true;
	return !n;
}

static void try_cells(char *const *names, int n)
{
	if (is_table)
		printf("| | flush | libkfbrick | the disk | the disk, thin |\n"
		       "|---|---|---|---|---|\n");
	for (unsigned int i = 0; i < n_cells; i++)
		if (is_meant(&cells[i], names, n))
			try_cell(&cells[i]);
	if (!is_table)
		printf("1..%u\n", n_points);
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cuts", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ "table", no_argument, NULL, 't' },
		{ "trace", no_argument, NULL, 'v' },
		{ 0 },
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'c')
			cuts = (uint32_t)strtoul(optarg, NULL, 10);
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 10);
		else if (opt == 't')
			is_table = true;
		else if (opt == 'v')
			sim_is_traced = true;
		else
			return 2;
	}
	if (!cuts)
		sim_die("there is nothing to be seen in no cuts");
	if (sodium_init() < 0)
		sim_die("libsodium does not start");
	try_cells(argv + optind, argc - optind);
	printf("# seed %llu: %llu cuts in %.1f s of processor time\n",
	       (unsigned long long)seed, (unsigned long long)all_cuts,
	       cpu_seconds());
	return n_failed || !n_points;
}
