// SPDX-License-Identifier: BSD-2-Clause
/*
 * The crash enumerator: so many crash states, from a seed.
 *
 * The states are cut into units, each a run of its own with its own seed, so
 * that what is seen does not depend on how many processes share the work.
 * tests/crash runs it.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "brickd/store/format/format.h"
#include "crash_pages.h"
#include "crash_run.h"

#define UNIT_STATES_MIN 500U
#define UNIT_STATES_MAX 50000U
#define JOBS_MAX	64U
#define NONE		UINT64_MAX
#define NS_PER_S	1e9

struct part {
	const char *name;
	const char *what;
	unsigned int weight; /* units of period() */
	void (*run)(struct crash_run *run);
	struct crash_run plan;
};

/* clang-format off */
static const struct part parts[] = {
	{ "batches", "alloc, free, birth, clean, client data", 18, crash_run,
	  { .n_slots = 6, .exhaustive = 1024, .random = 64, .open_every = 256,
	    .first_tx = 7 } },
	{ "small", "three slots, the largest points exhausted", 8, crash_run,
	  { .n_slots = 3, .exhaustive = 16384, .random = 512,
	    .open_every = 256, .first_tx = 7 } },
	{ "wrap", "the batch number wraps", 6, crash_run,
	  { .n_slots = 5, .exhaustive = 256, .random = 32, .open_every = 256,
	    .first_tx = BRICK_FMT_TX_MASK - 8 } },
	{ "recovery", "a second failure inside recovery", 16, crash_run,
	  { .n_slots = 5, .exhaustive = 64, .random = 16, .open_every = 256,
	    .nest_every = 3, .first_tx = 7 } },
	{ "poison", "a line of metadata is lost as well", 8, crash_run,
	  { .n_slots = 6, .exhaustive = 256, .random = 64, .open_every = 256,
	    .first_tx = 7, .poison = true } },
	{ "threads", "cleaner, client and batches by a seeded scheduler", 20,
	  crash_run,
	  { .n_slots = 6, .exhaustive = 256, .random = 32, .open_every = 256,
	    .first_tx = 7, .threads = true } },
	{ "tiers", "blocks move to a slow tier and back", 12, crash_run,
	  { .n_slots = 4, .n_slow = 5, .exhaustive = 256, .random = 32,
	    .open_every = 256, .nest_every = 96, .first_tx = 7 } },
	{ "movers", "mover, cleaner, client and batches take turns", 10,
	  crash_run,
	  { .n_slots = 4, .n_slow = 5, .exhaustive = 128, .random = 32,
	    .open_every = 256, .first_tx = 7, .threads = true } },
	{ "tiers-poison", "a line of either tier's metadata is lost as well", 4,
	  crash_run,
	  { .n_slots = 4, .n_slow = 5, .exhaustive = 128, .random = 64,
	    .open_every = 256, .first_tx = 7, .poison = true } },
	{ "pages", "instance pages, superblock and commit repair", 1,
	  crash_run_pages,
	  { .n_slots = 3, .exhaustive = 64, .random = 32 } },
	{ "format", "format over another store", 1, crash_run_format,
	  { .n_slots = 3, .exhaustive = 64, .random = 256 } },
	{ "grow", "slots added, tables moved, the superblock flipped", 2,
	  crash_run_grow,
	  { .n_slots = 6, .exhaustive = 256, .random = 128, .first_tx = 7 } },
	{ "grow-slow", "the same of both tiers", 2, crash_run_grow,
	  { .n_slots = 6, .n_slow = 5, .exhaustive = 256, .random = 128,
	    .first_tx = 7 } },
};
/* clang-format on */

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

/* What the processes share. */
struct shared {
	uint64_t next; /* the first unit that no one has taken */
	bool stop; /* a violation: no further units */
	uint64_t at[JOBS_MAX]; /* the unit in work, or NONE */
	struct crash_run units[];
};

struct options {
	uint64_t n_states;
	uint64_t seed;
	unsigned int jobs;
	uint64_t only_unit;
};

static const char usage[] =
	"Usage: tests/crash [--states N] [--seed S] [--jobs J] [--unit U]\n"
	"Tries N states that a power failure may leave a store in, and checks "
	"that\nrecovery keeps every promise in each of them.\n";

static unsigned int period(void)
{
	unsigned int sum = 0;
	size_t i;

	for (i = 0; i < N_PARTS; i++)
		sum += parts[i].weight;
	return sum;
}

/* Short runs have short units, so that every part gets its share. */
static uint64_t unit_states(const struct options *o)
{
	uint64_t n = o->n_states / period();

	if (n < UNIT_STATES_MIN)
		return UNIT_STATES_MIN;
	return n < UNIT_STATES_MAX ? n : UNIT_STATES_MAX;
}

static uint64_t n_units(const struct options *o)
{
	return (o->n_states + unit_states(o) - 1) / unit_states(o);
}

static const struct part *part_of(uint64_t unit)
{
	unsigned int at = (unsigned int)(unit % period());
	size_t i;

	for (i = 0; at >= parts[i].weight; i++)
		at -= parts[i].weight;
	return &parts[i];
}

/* Seeds next to each other must not give runs next to each other. */
static uint64_t mix(uint64_t seed, uint64_t unit)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ULL + unit + 1;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (x ^ x >> 31) | 1;
}

static void run_unit(const struct options *o, uint64_t unit,
		     struct crash_run *out)
{
	const struct part *part = part_of(unit);
	struct crash_run run = part->plan;
	uint64_t size = unit_states(o);
	uint64_t left = o->n_states - unit * size;

	run.seed = mix(o->seed, unit);
	run.n_steps = UINT32_MAX;
	run.max_states = left < size ? left : size;
	part->run(&run);
	*out = run;
}

static void work(const struct options *o, struct shared *sh, unsigned int job)
{
	uint64_t unit;

	while (!__atomic_load_n(&sh->stop, __ATOMIC_RELAXED)) {
		unit = __atomic_fetch_add(&sh->next, 1, __ATOMIC_RELAXED);
		if (unit >= n_units(o))
			break;
		sh->at[job] = unit;
		run_unit(o, unit, &sh->units[unit]);
		if (sh->units[unit].violation)
			__atomic_store_n(&sh->stop, true, __ATOMIC_RELAXED);
	}
	sh->at[job] = NONE;
}

/* The lowest unit that a process died in, or NONE. */
static uint64_t run_jobs(const struct options *o, struct shared *sh)
{
	pid_t pids[JOBS_MAX];
	uint64_t died = NONE;
	unsigned int job;
	int status;

	for (job = 0; job < o->jobs; job++) {
		pids[job] = fork();
		if (pids[job] < 0) {
			perror("crash: fork");
			exit(2);
		}
		if (!pids[job]) {
			work(o, sh, job);
			_exit(0);
		}
	}
	for (job = 0; job < o->jobs; job++) {
		while (waitpid(pids[job], &status, 0) < 0 && errno == EINTR)
			;
		if (status && sh->at[job] < died)
			died = sh->at[job];
	}
	return died;
}

static void report_part(const struct options *o, const struct shared *sh,
			const struct part *part, struct crash_run *sum)
{
	struct crash_run of = { .violation = NULL };
	uint64_t unit;

	for (unit = 0; unit < n_units(o); unit++) {
		const struct crash_run *run = &sh->units[unit];

		if (part_of(unit) != part)
			continue;
		of.n_states += run->n_states;
		of.n_nested += run->n_nested;
		of.n_points_all += run->n_points_all;
		of.n_points_some += run->n_points_some;
		of.fingerprint += run->fingerprint * (unit + 1);
		if (run->violation && !of.violation)
			of.violation = run->violation;
	}
	if (!of.n_states)
		return;
	printf("%s %s: %s: %" PRIu64 " states, %" PRIu64 " of them in "
	       "recovery; of the moments %" PRIu64 " exhaustive, %" PRIu64
	       " sampled\n",
	       of.violation ? "FAIL" : "ok", part->name, part->what,
	       of.n_states + of.n_nested, of.n_nested, of.n_points_all,
	       of.n_points_some);
	sum->n_states += of.n_states + of.n_nested;
	sum->fingerprint ^= of.fingerprint;
	sum->n_steps++;
	sum->n_slots += of.violation ? 1 : 0;
}

static bool report_violation(const struct options *o, const struct shared *sh,
			     uint64_t died)
{
	uint64_t unit;

	if (died != NONE)
		printf("FAIL %s: the process died: tests/crash --seed %" PRIu64
		       " --states %" PRIu64 " --unit %" PRIu64 "\n",
		       part_of(died)->name, o->seed, o->n_states, died);
	for (unit = 0; unit < n_units(o); unit++) {
		const struct crash_run *run = &sh->units[unit];

		if (!run->violation)
			continue;
		printf("%s, step %u, state %" PRIu64 ": %s\n"
		       "again: tests/crash --seed %" PRIu64 " --states %" PRIu64
		       " --unit %" PRIu64 "\n",
		       part_of(unit)->name, run->step,
		       run->n_states + run->n_nested, run->violation, o->seed,
		       o->n_states, unit);
		return true;
	}
	return died != NONE;
}

static int report(const struct options *o, const struct shared *sh,
		  uint64_t died, double seconds)
{
	struct crash_run sum = { .violation = NULL };
	unsigned int failed;
	bool bad;
	size_t i;

	for (i = 0; i < N_PARTS; i++)
		report_part(o, sh, &parts[i], &sum);
	bad = report_violation(o, sh, died);
	printf("seed %" PRIu64 ": %" PRIu64 " crash states in %.1f s, %.2f "
	       "million a second, %u processes, fingerprint %016" PRIx64 "\n",
	       o->seed, sum.n_states, seconds,
	       (double)sum.n_states / seconds / 1e6, o->jobs, sum.fingerprint);
	failed = sum.n_slots + (died != NONE ? 1 : 0);
	printf("%u passed, %u failed, 0 skipped\n", sum.n_steps - sum.n_slots,
	       failed);
	return bad;
}

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
		{ "states", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "unit", required_argument, NULL, 'u' },
		{ 0 },
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", table, NULL)) != -1) {
		uint64_t value = optarg ? strtoull(optarg, NULL, 0) : 0;

		switch (opt) {
		case 'n':
			o->n_states = value;
			break;
		case 's':
			o->seed = value;
			break;
		case 'j':
			o->jobs = (unsigned int)value;
			break;
		case 'u':
			o->only_unit = value;
			break;
		default:
			return -EINVAL;
		}
	}
	return !o->n_states || !o->jobs || o->jobs > JOBS_MAX || optind < argc
		       ? -EINVAL
		       : 0;
}

int main(int argc, char **argv)
{
	struct options o = { .n_states = 10000000,
			     .seed = 1,
			     .only_unit = NONE };
	struct timespec begin, end;
	struct shared *sh;
	uint64_t died = NONE;

	o.jobs = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	if (parse(argc, argv, &o)) {
		fputs(usage, stderr);
		return 2;
	}
	sh = mmap(NULL, sizeof(*sh) + n_units(&o) * sizeof(sh->units[0]),
		  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED) {
		perror("crash: mmap");
		return 2;
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &begin);
	if (o.only_unit < n_units(&o))
		run_unit(&o, o.only_unit, &sh->units[o.only_unit]);
	else
		died = run_jobs(&o, sh);
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	return report(&o, sh, died,
		      (double)(end.tv_sec - begin.tv_sec) +
			      (double)(end.tv_nsec - begin.tv_nsec) / NS_PER_S);
}
