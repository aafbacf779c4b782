// SPDX-License-Identifier: BSD-2-Clause
/*
 * kfbrick-sim [--seed N] [--seeds N] [--seconds N] [--faults MASK]
 * [--coverage] [--trace]: brickd and clients of libkfbrick in simulated worlds.
 *
 * A seed decides all that happens in its world. Prints the first seed whose
 * world has seen a promise broken, how, and which of its faults that takes.
 */
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "oracle.h"
#include "scene.h"

#define CRASH_STACK_BYTES (64U << 10)
/* Of the processor: no world takes a tenth of it. */
#define HANG_S 30

static volatile uint64_t running_seed;

struct totals {
	uint64_t worlds;
	uint64_t events;
	uint64_t lives;
	uint64_t virtual_ns;
	uint64_t writes;
	uint64_t reads;
	uint64_t flushes;
	uint64_t losses;
	uint64_t faults; /* of the newest world */
};

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* A loop that does not end lets no time pass, and no event come. */
static void tell_hang(int number)
{
	(void)dprintf(STDOUT_FILENO,
		      "seed %llu: it hangs\n"
		      "# in %.1f s of processor time\n",
		      (unsigned long long)running_seed, cpu_seconds() - HANG_S);
	_exit(1);
}

/* The signal comes again when this returns, and ends the process as it should. */
static void tell_crash(int number)
{
	(void)dprintf(STDOUT_FILENO, "seed %llu: it crashes: %s\n",
		      (unsigned long long)running_seed, strsignal(number));
}

static void hear_crashes(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE,
				       SIGABRT };
	static uint8_t memory[CRASH_STACK_BYTES];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = {
		.sa_handler = tell_crash,
		.sa_flags = SA_ONSTACK | (int)SA_RESETHAND,
	};

	if (sigaltstack(&stack, NULL))
		sim_die("no stack for signals");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		(void)sigaction(signals[i], &action, NULL);
	action.sa_handler = tell_hang;
	(void)sigaction(SIGPROF, &action, NULL);
}

/* A world begins. */
static void wait_for_hang(void)
{
	static const struct itimerval timer = { .it_value = { HANG_S, 0 } };

	(void)setitimer(ITIMER_PROF, &timer, NULL);
}

/* Return: true: no promise was broken; else the words are in sim_violation. */
static bool run_seed(uint64_t seed, uint64_t faults, struct totals *totals)
{
	struct sim_scene *scene;

	*sim_violation = '\0';
	running_seed = seed;
	wait_for_hang();
	scene = sim_scene_new(seed, faults);
	sim_world_run();
	sim_scene_check(scene);
	totals->worlds++;
	totals->events += sim.n_events;
	totals->virtual_ns += sim.now_ns;
	totals->faults = sim_faults_mask(scene);
	sim_scene_count(scene, &totals->lives, &totals->writes, &totals->reads,
			&totals->flushes, &totals->losses);
	sim_scene_free(scene);
	return !*sim_violation;
}

/* Of the faults of a seed, those without which nothing is found. */
static uint64_t shrink(uint64_t seed, uint64_t faults)
{
	struct totals ignored = { 0 };

	for (uint32_t i = 0; i < 64; i++) {
		uint64_t bit = UINT64_C(1) << i;

		if (faults & bit && !run_seed(seed, faults & ~bit, &ignored))
			faults &= ~bit;
	}
	return faults;
}

static void tell(uint64_t seed, uint64_t faults, double spent)
{
	struct totals ignored = { 0 };
	struct sim_scene *scene;

	printf("seed %llu: %s\n"
	       "# in %.1f s of processor time\n",
	       (unsigned long long)seed, sim_violation, spent);
	/* Leaving out its faults may take long, be cut short, or end in what a simulator dies of. */
	(void)fflush(stdout);
	if (sim_is_traced)
		return;
	faults = shrink(seed, faults);
	(void)run_seed(seed, faults, &ignored);
	scene = sim_scene_new(seed, 0);
	printf("with these faults alone: %s\n", sim_violation);
	sim_faults_print(scene, faults);
	sim_scene_free(scene);
	printf("its story: kfbrick-sim --seed %llu --faults 0x%llx --trace\n",
	       (unsigned long long)seed, (unsigned long long)faults);
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

static bool is_more(uint64_t i, uint64_t n, double seconds)
{
	return seconds > 0 ? cpu_seconds() < seconds : i < n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 'n' },
		{ "seconds", required_argument, NULL, 't' },
		{ "faults", required_argument, NULL, 'f' },
		{ "coverage", no_argument, NULL, 'c' },
		{ "trace", no_argument, NULL, 'v' },
		{ 0 },
	};
	struct totals totals = { 0 };
	uint64_t seed = fresh_seed(), n = 1, faults = UINT64_MAX;
	double seconds = 0, spent = 0;
	bool good = true, is_covered = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 's')
			seed = strtoull(optarg, NULL, 10);
		else if (opt == 'n')
			n = strtoull(optarg, NULL, 10);
		else if (opt == 't')
			seconds = strtod(optarg, NULL);
		else if (opt == 'f')
			faults = strtoull(optarg, NULL, 0);
		else if (opt == 'c')
			is_covered = true;
		else if (opt == 'v')
			sim_is_traced = true;
		else
			return 2;
	}
	if (sodium_init() < 0)
		sim_die("libsodium does not start");
	hear_crashes();
	/* What a world gives back the next one takes. */
	(void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
	(void)mallopt(M_MMAP_THRESHOLD, INT_MAX);
	printf("# from seed %llu on\n", (unsigned long long)seed);
	(void)fflush(stdout);
	for (uint64_t i = 0; good && is_more(i, n, seconds); i++) {
		good = run_seed(seed + i, faults, &totals);
		spent = cpu_seconds();
		if (!good)
			tell(seed + i, faults & totals.faults, spent);
	}
	if (is_covered)
		sim_faults_print_coverage();
	print_totals(&totals, spent);
	return !good;
}
