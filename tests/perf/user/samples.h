/* SPDX-License-Identifier: BSD-2-Clause */
/* The time of each operation of a loop, and what the run prints of them. */
#ifndef TESTS_PERF_USER_SAMPLES_H
#define TESTS_PERF_USER_SAMPLES_H

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SMALL_BYTES 4096
#define LARGE_BYTES (2U << 20)
#define LARGE_DEPTH 4
/* Of this many bytes, piece after piece, and again from the start. */
#define AREA_BYTES  (32U << 20)
#define SAMPLES_MAX 1000000
#define NS_PER_S    1000000000ULL
#define NS_PER_MS   1000000ULL

/* Where the i-th large piece of a run goes. */
static inline uint64_t large_at(unsigned int i)
{
	return (uint64_t)i * LARGE_BYTES % AREA_BYTES;
}

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* On one processor from now on, if one is named. */
static inline void stay_on(const char *cpu)
{
	cpu_set_t cpus;

	if (!cpu)
		return;
	CPU_ZERO(&cpus);
	CPU_SET(strtoul(cpu, NULL, 10), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus)) {
		perror("sched_setaffinity");
		_exit(1);
	}
}

struct samples {
	uint64_t ns[SAMPLES_MAX];
	unsigned int n;
};

static inline void samples_add(struct samples *s, uint64_t ns)
{
	if (s->n < SAMPLES_MAX)
		s->ns[s->n++] = ns;
}

static inline int samples_compare(const void *a, const void *b)
{
	const uint64_t *x = a;
	const uint64_t *y = b;

	return (*x > *y) - (*x < *y);
}

/* One line: the median of the durable writes, ns, and bytes a second. */
static inline void samples_print(struct samples *s, uint64_t bytes,
				 uint64_t elapsed_ns)
{
	qsort(s->ns, s->n, sizeof(s->ns[0]), samples_compare);
	printf("{\"durable_ns\": %llu, \"bytes_per_s\": %.0f}\n",
	       (unsigned long long)(s->n ? s->ns[s->n / 2] : 0),
	       (double)bytes * NS_PER_S / (double)elapsed_ns);
}

#endif
