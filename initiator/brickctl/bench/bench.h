/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measuring one kind of operation: the loop, and what it found.
 */
#ifndef BRICKCTL_BENCH_H
#define BRICKCTL_BENCH_H

#include "initiator/brickctl/base/brickctl.h"

/* What the queue of a connection holds. */
#define CTL_BENCH_DEPTH_MAX 64

/*
 * Buckets of latencies: 2^CTL_BENCH_FINE_BITS for each power of two of
 * nanoseconds, so a value is known to better than 1 %.
 */
#define CTL_BENCH_FINE_BITS 7
#define CTL_BENCH_BUCKETS \
	((64 - CTL_BENCH_FINE_BITS + 1) << CTL_BENCH_FINE_BITS)

enum ctl_bench_op {
	CTL_BENCH_READ,
	CTL_BENCH_WRITE,
	CTL_BENCH_DURABLE, /* a write, then a flush */
	CTL_BENCH_OPS
};

/**
 * struct ctl_bench_job - what to measure
 * @op: which operation
 * @va: of the first byte
 * @len: bytes that may be used from there
 * @size: bytes of one operation, at most @len
 * @depth: operations under way at a time
 * @time_ns: for so long; 0: until @count
 * @count: so many; 0: until @time_ns
 * @buffer: registered memory of @depth times @size bytes
 */
struct ctl_bench_job {
	enum ctl_bench_op op;
	uint64_t va;
	uint64_t len;
	uint64_t size;
	unsigned int depth;
	uint64_t time_ns;
	uint64_t count;
	uint8_t *buffer;
};

/* What was found; all times in nanoseconds. */
struct ctl_bench_result {
	uint64_t count;
	uint64_t elapsed_ns;
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t sum_ns;
	uint64_t buckets[CTL_BENCH_BUCKETS];
};

/**
 * ctl_bench_measure - run the loop
 * @ctl: connected, the blocks mapped
 * @job: what to do
 * @stop: set from outside to end it early
 * @result: filled, also when it was stopped
 *
 * Nothing is under way when it returns CTL_DONE; after a failure something may
 * be.
 *
 * Return: the status to exit with.
 */
int ctl_bench_measure(struct ctl *ctl, const struct ctl_bench_job *job,
		      const volatile int *stop,
		      struct ctl_bench_result *result);

/* bench_show.c */
const char *ctl_bench_op_name(enum ctl_bench_op op);
void ctl_bench_print(const struct ctl_bench_job *job,
		     const struct ctl_bench_result *result, bool histogram);
struct json_object *ctl_bench_json(const struct ctl_bench_job *job,
				   const struct ctl_bench_result *result);

#endif
