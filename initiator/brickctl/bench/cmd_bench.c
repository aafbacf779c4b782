// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl bench: latency and bandwidth of one-sided operations.
 *
 * It allocates the blocks it uses, all or none, so it cannot touch those of
 * anyone; on blocks that are allocated it works only when told to. Whatever it
 * allocated is freed also after an interrupt.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "initiator/brickctl/bench/bench.h"
#include "initiator/brickctl/base/clock.h"

#define SIZE_DEFAULT	 4096
#define TIME_DEFAULT_S	 5
#define TIME_MAX_S	 86400
#define BUFFER_MAX_BYTES (1ULL << 30)
#define PAGE_BYTES	 4096
#define FILLING		 0xa5

enum {
	OPT_OP,
	OPT_SIZE,
	OPT_DEPTH,
	OPT_TIME,
	OPT_COUNT,
	OPT_HISTOGRAM,
	OPT_EXISTING,
	OPT_OVERWRITE,
};

static const struct ctl_option options[] = {
	[OPT_OP] = { "op", 0, "OP", "read, write or durable; all three" },
	[OPT_SIZE] = { "size", 0, "BYTES", "of an operation; 4K" },
	[OPT_DEPTH] = { "depth", 0, "N", "operations at a time, to 64; 1" },
	[OPT_TIME] = { "time", 0, "SECONDS", "of each kind; 5" },
	[OPT_COUNT] = { "count", 'c', "N", "so many of each kind instead" },
	[OPT_HISTOGRAM] = { "histogram", 0, NULL,
			    "also when the output is no terminal" },
	[OPT_EXISTING] = { "existing", 0, NULL,
			   "only read, blocks that are allocated" },
	[OPT_OVERWRITE] = { "overwrite", 0, NULL,
			    "blocks that are allocated: they lose their data" },
	{ NULL },
};

struct bench {
	struct ctl *ctl;
	struct ctl_bench_job job; /* without op */
	uint64_t n_blocks;
	bool ops[CTL_BENCH_OPS];
	bool chosen; /* the user named the operation */
	bool allocates;
	bool histogram;
	struct kfbrick_memory *memory;
	struct kfbrick_mapping *mapping;
	struct json_object *results;
	struct ctl_bench_result result;
};

static volatile int interrupted;

static void on_signal(int signal)
{
	interrupted = signal;
}

/* Reading comes last, so that it reads what was written. */
static int measure_all(struct bench *b)
{
	static const enum ctl_bench_op order[] = {
		CTL_BENCH_WRITE,
		CTL_BENCH_DURABLE,
		CTL_BENCH_READ,
	};
	unsigned int i;
	int status;

	for (i = 0; i < CTL_BENCH_OPS && !interrupted; i++) {
		if (!b->ops[order[i]])
			continue;
		b->job.op = order[i];
		status = ctl_bench_measure(b->ctl, &b->job, &interrupted,
					   &b->result);
		if (status)
			return status;
		if (b->ctl->json) {
			json_object_array_add(b->results,
					      ctl_bench_json(&b->job,
							     &b->result));
			continue;
		}
		ctl_bench_print(&b->job, &b->result, b->histogram);
		fflush(stdout);
	}
	return CTL_DONE;
}

static int with_memory(struct bench *b)
{
	size_t len = b->job.size * b->job.depth;
	struct kfbrick *k = b->ctl->k;
	int status;
	int err;

	len = (len + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
	b->job.buffer = aligned_alloc(PAGE_BYTES, len);
	if (!b->job.buffer)
		return ctl_no_memory(b->ctl);
	memset(b->job.buffer, FILLING, len);
	err = kfbrick_memory_register(k, b->job.buffer, len, &b->memory);
	if (err) {
		free(b->job.buffer);
		return ctl_fail_call(b->ctl, err, "registering %zu bytes", len);
	}
	status = measure_all(b);
	if (status) {
		/* Operations may still use the memory. */
		kfbrick_close(k);
		b->ctl->k = NULL;
	} else {
		kfbrick_memory_release(k, b->memory);
	}
	free(b->job.buffer);
	return status;
}

static int with_mapping(struct bench *b)
{
	bool writes = b->ops[CTL_BENCH_WRITE] || b->ops[CTL_BENCH_DURABLE];
	unsigned int flags = writes ? KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE
				    : KFBRICK_MAP_RO | KFBRICK_MAP_SHARED;
	int status;
	int err;

	err = kfbrick_map(b->ctl->k, b->job.va, b->n_blocks, flags,
			  &b->mapping);
	if (err)
		return ctl_fail_range(b->ctl, err, b->job.va, b->n_blocks);
	status = with_memory(b);
	if (!b->ctl->k)
		return status;
	err = kfbrick_unmap(b->ctl->k, b->mapping);
	/* Nothing of a volatile brick can be flushed, nor needs to be. */
	if (err && err != -EOPNOTSUPP && !status)
		status = ctl_fail_call(b->ctl, err, "unmapping 0x%" PRIx64,
				       b->job.va);
	return status;
}

/* Frees what was allocated, over a new connection if the old one is gone. */
static int free_blocks(struct bench *b)
{
	struct ctl *ctl = b->ctl;
	int status = CTL_DONE;
	int err = 0;

	if (!ctl->k)
		status = ctl_connect(ctl);
	if (!status)
		err = kfbrick_free(ctl->k, b->job.va, b->n_blocks);
	if (err)
		status = ctl_fail_call(ctl, err,
				       "freeing 0x%" PRIx64 "+%" PRIu64,
				       b->job.va, b->n_blocks);
	if (status)
		ctl_note(ctl,
			 "0x%" PRIx64 "+%" PRIu64
			 " may still be allocated: run brickctl free 0x%" PRIx64
			 "+%" PRIu64,
			 b->job.va, b->n_blocks, b->job.va, b->n_blocks);
	return status;
}

static int with_blocks(struct bench *b)
{
	struct ctl *ctl = b->ctl;
	int status;
	int end;
	int err;

	if (b->allocates) {
		err = kfbrick_alloc(ctl->k, b->job.va, b->n_blocks);
		if (err)
			return ctl_fail_range(ctl, err, b->job.va, b->n_blocks);
		ctl->under_way = true;
	}
	status = interrupted ? CTL_DONE : with_mapping(b);
	if (!b->allocates)
		return status;
	end = free_blocks(b);
	return status ? status : end;
}

static int connect_to_brick(struct bench *b)
{
	struct ctl *ctl = b->ctl;
	struct kfbrick_info info;
	int status = ctl_connect_info(ctl, &info);

	if (status)
		return status;
	if (b->allocates && info.alloc_max_blocks &&
	    b->n_blocks > info.alloc_max_blocks)
		return ctl_usage(ctl, "%" PRIu64 " blocks: at most %" PRIu64,
				 b->n_blocks, info.alloc_max_blocks);
	if (info.flush_mode != KFBRICK_FLUSH_NONE || !b->ops[CTL_BENCH_DURABLE])
		return CTL_DONE;
	if (b->chosen)
		return ctl_fail(ctl, CTL_REFUSED, -EOPNOTSUPP,
				"measure --op write",
				"%s is volatile: nothing is durable there",
				ctl->settings.brick);
	ctl_note(ctl, "%s is volatile: durable writes are left out",
		 ctl->settings.brick);
	b->ops[CTL_BENCH_DURABLE] = false;
	return CTL_DONE;
}

static int read_op(struct bench *b, const char *text)
{
	unsigned int i;

	for (i = 0; i < CTL_BENCH_OPS; i++) {
		b->ops[i] =
			!text ||
			!strcmp(text, ctl_bench_op_name((enum ctl_bench_op)i));
		if (text && b->ops[i])
			b->chosen = true;
	}
	if (text && !b->chosen)
		return ctl_usage(b->ctl, "--op %s: not read, write or durable",
				 text);
	return CTL_DONE;
}

static int read_numbers(struct bench *b, const struct ctl_args *args)
{
	uint64_t time_s = args->options[OPT_COUNT] ? 0 : TIME_DEFAULT_S;
	uint64_t depth = 1;
	int status;

	b->job.size = SIZE_DEFAULT;
	status = ctl_read_option(b->ctl, args, OPT_SIZE, 1, BUFFER_MAX_BYTES,
				 &b->job.size);
	if (!status)
		status = ctl_read_option(b->ctl, args, OPT_DEPTH, 1,
					 CTL_BENCH_DEPTH_MAX, &depth);
	if (!status)
		status = ctl_read_option(b->ctl, args, OPT_TIME, 1, TIME_MAX_S,
					 &time_s);
	if (!status)
		status = ctl_read_option(b->ctl, args, OPT_COUNT, 1, UINT64_MAX,
					 &b->job.count);
	b->job.depth = (unsigned int)depth;
	b->job.time_ns = time_s * CTL_NS_PER_S;
	return status;
}

/* What one part asks for must suit the others. */
static int check_arguments(struct bench *b, const struct ctl_args *args)
{
	bool writes = b->ops[CTL_BENCH_WRITE] || b->ops[CTL_BENCH_DURABLE];

	if (b->job.size > b->job.len)
		return ctl_usage(b->ctl,
				 "--size %" PRIu64 ": the range has %" PRIu64
				 " bytes",
				 b->job.size, b->job.len);
	if (b->job.size * b->job.depth > BUFFER_MAX_BYTES)
		return ctl_usage(b->ctl,
				 "--size times --depth: at most %llu bytes",
				 BUFFER_MAX_BYTES);
	if (args->options[OPT_EXISTING] && args->options[OPT_OVERWRITE])
		return ctl_usage(b->ctl, "--existing and --overwrite");
	if (args->options[OPT_EXISTING] && b->chosen && writes)
		return ctl_usage(
			b->ctl, "--existing only reads: --overwrite is to lose "
				"what the blocks hold");
	return CTL_DONE;
}

static int read_bench_arguments(struct bench *b, const struct ctl_args *args)
{
	int status;

	status = ctl_read_range(b->ctl, args->words[0], &b->job.va,
				&b->n_blocks);
	if (!status)
		status = read_op(b, args->options[OPT_OP]);
	if (!status)
		status = read_numbers(b, args);
	if (status)
		return status;
	b->job.len = ctl_blocks_bytes(b->n_blocks);
	b->histogram = args->options[OPT_HISTOGRAM] || isatty(STDOUT_FILENO);
	b->allocates =
		!args->options[OPT_EXISTING] && !args->options[OPT_OVERWRITE];
	status = check_arguments(b, args);
	if (args->options[OPT_EXISTING]) {
		b->ops[CTL_BENCH_WRITE] = false;
		b->ops[CTL_BENCH_DURABLE] = false;
	}
	return status;
}

static int run_bench(struct ctl *ctl, const struct ctl_args *args)
{
	/* Large: not on the stack; one thread, one run. */
	static struct bench b;
	/* Without SA_RESTART: a wait ends and the flag is looked at. */
	struct sigaction action = { .sa_handler = on_signal };
	struct json_object *object;
	int status;

	b.ctl = ctl;
	status = read_bench_arguments(&b, args);
	if (!status)
		status = connect_to_brick(&b);
	if (status)
		return status;
	b.results = json_object_new_array();
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	status = with_blocks(&b);
	if (ctl->json && !status) {
		object = json_object_new_object();
		ctl_json_text(object, "brick", ctl->settings.brick);
		ctl_json_bool(object, "interrupted", interrupted);
		json_object_object_add(object, "results", b.results);
		ctl_json_print(object);
		return status;
	}
	if (interrupted && !status)
		puts(b.allocates ? "interrupted; the blocks are freed"
				 : "interrupted");
	json_object_put(b.results);
	return status;
}

const struct ctl_command ctl_cmd_bench = {
	.name = "bench",
	.synopsis = "VA+N [OPTION...]",
	.summary = "Measures latency and bandwidth of reads and writes",
	.details =
		"Allocates the N blocks at VA, which must be free, measures one-sided writes,\n"
		"durable writes (a write, then a flush) and reads of them, one after the other,\n"
		"and frees the blocks, also on Ctrl-C. With --existing it reads blocks that are\n"
		"allocated, with --overwrite it writes them too: what they held is lost. MB are\n"
		"10^6 bytes, us microseconds.\n"
		"\n"
		"Example: brickctl bench 1T+32 --size 2M --depth 4 --op write",
	.options = options,
	.words = 1,
	.changes = true,
	.run = run_bench,
};
