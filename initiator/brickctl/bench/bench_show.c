// SPDX-License-Identifier: BSD-2-Clause
/*
 * What brickctl bench found, as lines, as a histogram and as JSON.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "initiator/brickctl/bench/bench.h"
#include "initiator/brickctl/base/clock.h"

#define BAR_COLUMNS 50
#define PER_MB	    1e6
#define NS_PER_US   1e3

static const char *const op_names[CTL_BENCH_OPS] = {
	[CTL_BENCH_READ] = "read",
	[CTL_BENCH_WRITE] = "write",
	[CTL_BENCH_DURABLE] = "durable",
};

static const struct {
	const char *name;
	double share;
} quantiles[] = {
	{ "p50", 0.5 },
	{ "p90", 0.9 },
	{ "p99", 0.99 },
	{ "p99.9", 0.999 },
};

#define N_QUANTILES (sizeof(quantiles) / sizeof(quantiles[0]))

const char *ctl_bench_op_name(enum ctl_bench_op op)
{
	return op_names[op];
}

/* The smallest latency that belongs into a bucket, ns. */
static uint64_t bucket_floor_ns(unsigned int bucket)
{
	const uint64_t fine = 1U << CTL_BENCH_FINE_BITS;
	unsigned int shift;

	if (bucket < fine)
		return bucket;
	shift = (bucket >> CTL_BENCH_FINE_BITS) - 1;
	return (fine + bucket % fine) << shift;
}

/* The latency that a share of the operations did not pass; 0.5: the median. */
static uint64_t quantile_ns(const struct ctl_bench_result *result, double share)
{
	uint64_t wanted = (uint64_t)(share * (double)result->count);
	uint64_t seen = 0;
	unsigned int i;

	for (i = 0; i < CTL_BENCH_BUCKETS; i++) {
		seen += result->buckets[i];
		if (seen > wanted)
			break;
	}
	if (i == CTL_BENCH_BUCKETS || bucket_floor_ns(i) > result->max_ns)
		return result->max_ns;
	if (bucket_floor_ns(i) < result->min_ns)
		return result->min_ns;
	return bucket_floor_ns(i);
}

static double bench_us_of(uint64_t ns)
{
	return (double)ns / NS_PER_US;
}

static double seconds_of(const struct ctl_bench_result *result)
{
	return (double)result->elapsed_ns / CTL_NS_PER_S;
}

static double per_second(const struct ctl_bench_result *result)
{
	return result->elapsed_ns ? (double)result->count / seconds_of(result)
				  : 0;
}

/* Print a row for each power of two of nanoseconds from first to last. */
static void print_histogram(const struct ctl_bench_result *result)
{
	uint64_t rows[65] = { 0 };
	unsigned int first = 64;
	unsigned int last = 0;
	uint64_t most = 0;
	unsigned int i;

	for (i = 0; i < CTL_BENCH_BUCKETS; i++) {
		uint64_t floor_ns = bucket_floor_ns(i);
		unsigned int row =
			floor_ns ? 64 - (unsigned int)__builtin_clzll(floor_ns)
				 : 0;

		if (!result->buckets[i])
			continue;
		rows[row] += result->buckets[i];
		first = row < first ? row : first;
		last = row > last ? row : last;
		most = rows[row] > most ? rows[row] : most;
	}
	for (i = first; i <= last; i++) {
		int bar = (int)(rows[i] * BAR_COLUMNS / most);

		printf("  < %12.1f us  %6.2f %%  %.*s\n",
		       bench_us_of((uint64_t)1 << i),
		       100.0 * (double)rows[i] / (double)result->count, bar,
		       "##################################################");
	}
}

void ctl_bench_print(const struct ctl_bench_job *job,
		     const struct ctl_bench_result *result, bool histogram)
{
	char size[CTL_SIZE_TEXT_BYTES];
	double rate = per_second(result);
	unsigned int i;

	printf("%-7s  %s, depth %u, %.1f s: %" PRIu64
	       " operations, %.0f/s, %.1f MB/s\n",
	       op_names[job->op], ctl_size_text(size, job->size), job->depth,
	       seconds_of(result), result->count, rate,
	       rate * (double)job->size / PER_MB);
	if (!result->count)
		return;
	printf("         us: min %.1f, mean %.1f", bench_us_of(result->min_ns),
	       bench_us_of(result->sum_ns / result->count));
	for (i = 0; i < N_QUANTILES; i++)
		printf(", %s %.1f", quantiles[i].name,
		       bench_us_of(quantile_ns(result, quantiles[i].share)));
	printf(", max %.1f\n", bench_us_of(result->max_ns));
	if (histogram)
		print_histogram(result);
}

static struct json_object *histogram_json(const struct ctl_bench_result *result)
{
	struct json_object *rows = json_object_new_array();
	struct json_object *row;
	unsigned int i;

	for (i = 0; i < CTL_BENCH_BUCKETS; i++) {
		if (!result->buckets[i])
			continue;
		row = json_object_new_object();
		ctl_json_count(row, "from_ns", bucket_floor_ns(i));
		ctl_json_count(row, "count", result->buckets[i]);
		json_object_array_add(rows, row);
	}
	return rows;
}

struct json_object *ctl_bench_json(const struct ctl_bench_job *job,
				   const struct ctl_bench_result *result)
{
	struct json_object *object = json_object_new_object();
	uint64_t mean_ns = result->count ? result->sum_ns / result->count : 0;
	double bytes = per_second(result) * (double)job->size;
	char name[16];
	unsigned int i;

	ctl_json_text(object, "op", op_names[job->op]);
	ctl_json_count(object, "size", job->size);
	ctl_json_count(object, "depth", job->depth);
	ctl_json_count(object, "count", result->count);
	ctl_json_count(object, "elapsed_ns", result->elapsed_ns);
	ctl_json_count(object, "bytes_per_s", (uint64_t)bytes);
	ctl_json_count(object, "min_ns", result->min_ns);
	ctl_json_count(object, "mean_ns", mean_ns);
	for (i = 0; i < N_QUANTILES; i++) {
		snprintf(name, sizeof(name), "%s_ns", quantiles[i].name);
		ctl_json_count(object, name,
			       quantile_ns(result, quantiles[i].share));
	}
	ctl_json_count(object, "max_ns", result->max_ns);
	json_object_object_add(object, "histogram", histogram_json(result));
	return object;
}
