// SPDX-License-Identifier: BSD-2-Clause
/*
 * kfbrick-sim [--seed N] [--seeds N] [--seconds N] [--trace]: brickd and clients
 * of libkfbrick in a simulated world.
 *
 * A seed decides all that happens in its world. Prints the first seed whose
 * world has seen a promise broken, and how.
 */
#include <getopt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "brick.h"
#include "client.h"
#include "faults.h"
#include "oracle.h"

struct totals {
	uint64_t worlds;
	uint64_t events;
	uint64_t lives;
	uint64_t virtual_ns;
	uint64_t writes;
	uint64_t reads;
	uint64_t flushes;
	uint64_t losses;
};

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static bool run_seed(uint64_t seed, struct totals *totals)
{
	struct sim_scene *scene = sim_scene_new(seed);

	sim_world_run();
	sim_scene_judge(scene);
	totals->worlds++;
	totals->events += sim.n_events;
	totals->virtual_ns += sim.now_ns;
	sim_scene_count(scene, &totals->lives, &totals->writes, &totals->reads,
			&totals->flushes, &totals->losses);
	sim_scene_free(scene);
	if (!*sim_violation)
		return true;
	printf("seed %llu: %s\n", (unsigned long long)seed, sim_violation);
	*sim_violation = '\0';
	return false;
}

static void print_totals(const struct totals *t, double seconds)
{
	printf("# %llu worlds, %llu events, %llu lives of brickd, %llu s of "
	       "theirs in %.1f s of processor time\n",
	       (unsigned long long)t->worlds, (unsigned long long)t->events,
	       (unsigned long long)t->lives,
	       (unsigned long long)(t->virtual_ns / SIM_S), seconds);
	printf("# %llu writes, %llu reads, %llu flushes, %llu losses told; "
	       "%.0f events a second, %.0f lives a minute\n",
	       (unsigned long long)t->writes, (unsigned long long)t->reads,
	       (unsigned long long)t->flushes, (unsigned long long)t->losses,
	       (double)t->events / seconds, (double)t->lives * 60 / seconds);
}

/* Unless one is named: other worlds each time. */
static uint64_t fresh_seed(void)
{
	struct timespec now;

	(void)timespec_get(&now, TIME_UTC);
	return (uint64_t)now.tv_sec * SIM_S + (uint64_t)now.tv_nsec;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'n' },
		{ "seconds", required_argument, NULL, 't' },
		{ "trace", no_argument, NULL, 'v' },
		{ 0 },
	};
	struct totals totals = { 0 };
	uint64_t seed = fresh_seed(), n = 1;
	double seconds = 0;
	bool good = true;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 's')
			seed = strtoull(optarg, NULL, 10);
		else if (opt == 'n')
			n = strtoull(optarg, NULL, 10);
		else if (opt == 't')
			seconds = strtod(optarg, NULL);
		else if (opt == 'v')
			sim_is_traced = true;
		else
			return 2;
	}
	if (sodium_init() < 0)
		sim_die("libsodium does not start");
	for (uint64_t i = 0;
	     good && (seconds > 0 ? cpu_seconds() < seconds : i < n); i++)
		good = run_seed(seed + i, &totals);
	print_totals(&totals, cpu_seconds());
	return !good;
}
