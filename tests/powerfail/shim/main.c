// SPDX-License-Identifier: BSD-2-Clause
/*
 * powerfail-shim [--cuts N] [--seed S]: tries every cell of the loss table, TAP.
 *
 * The same arguments give the same cuts.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "cells.h"

#define CUTS_DEFAULT 2000
#define SEED_DEFAULT 20149
#define SOON	     50 /* a lie is to be noticed within so many cuts */

static const uint32_t drains[] = { 0, 600 };
static const uint32_t queues[] = { 1, 4 };

static unsigned int n_points, n_failed;
static uint64_t all_cuts;

static bool is_right(const struct pf_result *r, enum pf_must must)
{
	if (r->wrong)
		return false;
	switch (must) {
	case PF_NONE_LOSES:
		return !r->losing;
	case PF_ALL_LOSE:
		return r->losing == r->cuts;
	case PF_SOME_LOSE:
		return r->first && r->first <= SOON;
	}
	return false;
}

static void try_cell(const struct pf_cell *cell, uint32_t n_queues,
		     unsigned int drain, uint32_t cuts, uint64_t seed)
{
	struct pf_result r;
	bool ok;

	pf_cell_run(cell, n_queues, drains[drain], cuts, seed, &r);
	ok = is_right(&r, cell->must[drain]);
	n_failed += !ok;
	all_cuts += r.cuts;
	printf("%sok %u - %s; %u queues, p %u%%: %u of %u cuts lost what was "
	       "flushed\n",
	       ok ? "" : "not ", ++n_points, cell->name, n_queues,
	       drains[drain] / 10, r.losing, r.cuts);
	if (r.first)
		printf("# the first was cut %u\n", r.first);
	if (r.wrong)
		printf("# %u words that nobody wrote\n", r.wrong);
	fflush(stdout);
}

/* The program's clock is counted; the processor's time is not. */
static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void try_all(uint32_t cuts, uint64_t seed)
{
	for (unsigned int c = 0; c < pf_n_cells; c++)
		for (unsigned int q = 0; q < 2; q++)
			for (unsigned int d = 0; d < 2; d++)
				if (queues[q] > 1 || !pf_cells[c].many)
					try_cell(&pf_cells[c], queues[q], d,
						 cuts, seed);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cuts", required_argument, NULL, 'c' },
		{ "seed", required_argument, NULL, 's' },
		{ 0 },
	};
	uint32_t cuts = CUTS_DEFAULT;
	uint64_t seed = SEED_DEFAULT;
	double seconds;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'c')
			cuts = (uint32_t)strtoul(optarg, NULL, 10);
		else if (opt == 's')
			seed = strtoull(optarg, NULL, 10);
		else
			return 2;
	}
	if (!cuts || optind < argc)
		pf_die("usage: powerfail-shim [--cuts N] [--seed S]");
	try_all(cuts, seed);
	printf("1..%u\n", n_points);
	seconds = cpu_seconds();
	printf("# seed %llu: %llu cuts in %.1f s of processor time, %.0f a "
	       "second\n",
	       (unsigned long long)seed, (unsigned long long)all_cuts, seconds,
	       (double)all_cuts / seconds);
	return n_failed ? 1 : 0;
}
