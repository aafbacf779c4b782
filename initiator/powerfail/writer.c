// SPDX-License-Identifier: BSD-2-Clause
/*
 * powerfail-writer: writes records until its target is cut off, and notes what
 * was flushed; powerfail-writer(8).
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "kfb_text.h"
#include "notes.h"
#include "target.h"

#define BUFFER_ALIGN   4096
#define RECORD_DEFAULT 4096
#define BATCH_DEFAULT  16
#define FUA_ONE_IN     4

enum {
	EXIT_WRITTEN, /* as much as was asked for */
	EXIT_CUT_OFF, /* an error ended it: that is what is expected */
	EXIT_USAGE,
	EXIT_BROKEN, /* it could not begin, or could not note */
};

static const char usage[] =
	"Usage: powerfail-writer [OPTION]... NOTES DEVICE\n"
	"       powerfail-writer [OPTION]... --brick URL --size SIZE NOTES\n"
	"Writes records to DEVICE until it is cut off, and notes in the new file\n"
	"NOTES what was flushed. What was in DEVICE is overwritten.\n"
	"\n"
	"      --size SIZE      bytes to use (default: to the end)\n"
	"      --offset OFFSET  first byte to use (default 0)\n"
	"      --record SIZE    of each record (default 4K)\n"
	"      --jobs N         that write at the same time (default 1)\n"
	"      --batch N        flush after up to N records (default 16)\n"
	"      --fua            let some records be durable by themselves\n"
	"      --no-flush       do not flush, but note it: the test must fail\n"
	"      --seconds N      then stop (default: never)\n"
	"      --records N      of each job, then stop (default: never)\n"
	"      --seed N         what is written where (default: random)\n"
	"      --salt N         the same records again (default: random)\n"
	"      --brick URL      a brick instead of DEVICE\n"
	"      --client NAME    at the brick\n"
	"      --key-file FILE  of the client\n"
	"      --allow-untrusted-tcp  as for brickctl\n"
	"  -h, --help           show this text and exit\n";

static const struct option options[] = {
	{ "size", required_argument, NULL, 's' },
	{ "offset", required_argument, NULL, 'o' },
	{ "record", required_argument, NULL, 'r' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "batch", required_argument, NULL, 'b' },
	{ "fua", no_argument, NULL, 'f' },
	{ "no-flush", no_argument, NULL, 'F' },
	{ "seconds", required_argument, NULL, 't' },
	{ "records", required_argument, NULL, 'n' },
	{ "seed", required_argument, NULL, 'S' },
	{ "salt", required_argument, NULL, 'T' },
	{ "brick", required_argument, NULL, 'B' },
	{ "client", required_argument, NULL, 'c' },
	{ "key-file", required_argument, NULL, 'k' },
	{ "allow-untrusted-tcp", no_argument, NULL, 'u' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

struct writer {
	struct plan plan;
	struct target_name name;
	const char *notes;
	uint64_t record_size; /* as given; checked, it is the plan's */
	uint64_t n_jobs;
	uint64_t batch;
	uint64_t seconds;
	uint64_t records;
	bool fua;
	bool lies; /* no flush is made */
	int notes_fd;
	uint64_t end_s;
	atomic_bool stop;
	atomic_bool is_broken;
	atomic_uint_fast64_t n_records;
	atomic_uint_fast64_t n_flushes;
};

struct job {
	struct writer *w;
	uint32_t index;
	pthread_t thread;
	struct target target;
	void *buffer;
	uint32_t seq; /* of the newest record */
	int error;
};

static uint64_t now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec;
}

static bool is_over(const struct job *j)
{
	const struct writer *w = j->w;

	return w->stop || j->seq == UINT32_MAX ||
	       (w->records && j->seq >= w->records) ||
	       (w->seconds && now_s() >= w->end_s);
}

static int note_flush(struct job *j)
{
	int rc;

	if (!j->seq)
		return 0;
	rc = notes_add(j->w->notes_fd, &j->w->plan, j->index, j->seq);

	if (rc) {
		fprintf(stderr, "powerfail-writer: %s: %s\n", j->w->notes,
			strerror(-rc));
		j->w->is_broken = true;
	}
	j->w->n_flushes++;
	return rc;
}

/* Write some records, then flush; or one that is durable by itself. */
static int write_batch(struct job *j)
{
	struct writer *w = j->w;
	const struct plan *p = &w->plan;
	uint64_t dice = plan_mix(w->plan.run ^ j->index, j->seq);
	uint64_t n = 1 + dice % w->batch;
	bool fua = w->fua && !w->lies && !((dice >> 32) % FUA_ONE_IN);
	int rc = 0;

	/* What is durable alone says nothing of what came before it. */
	if (fua)
		n = 1;
	while (!rc && n-- && !is_over(j)) {
		uint64_t slot = plan_slot(p, j->index, ++j->seq);

		plan_fill(p, slot, j->seq, j->buffer);
		w->n_records++;
		rc = target_write(&j->target, p->offset + slot * p->record,
				  j->buffer, p->record, fua);
	}
	if (!rc && !fua && !w->lies)
		rc = target_flush(&j->target);
	return rc ? rc : note_flush(j);
}

static void *run_job(void *arg)
{
	struct job *j = arg;

	while (!j->error && !is_over(j))
		j->error = write_batch(j);
	/* A job that is cut off is the end of all. */
	if (j->error)
		j->w->stop = true;
	return NULL;
}

static int start_job(struct writer *w, struct job *j, uint32_t index)
{
	int rc;

	j->w = w;
	j->index = index;
	if (posix_memalign(&j->buffer, BUFFER_ALIGN, w->plan.record))
		return -ENOMEM;
	rc = target_open(&j->target, &w->name, w->plan.offset, &w->plan.size,
			 true);
	if (rc)
		fprintf(stderr, "powerfail-writer: %s\n", j->target.why);
	return rc;
}

static int run_jobs(struct writer *w, struct job *jobs)
{
	bool cut = false;
	uint32_t i, n;

	for (n = 0; n < w->plan.jobs; n++)
		if (pthread_create(&jobs[n].thread, NULL, run_job, &jobs[n])) {
			w->stop = true;
			w->is_broken = true;
			break;
		}
	for (i = 0; i < n; i++) {
		pthread_join(jobs[i].thread, NULL);
		cut |= jobs[i].error != 0;
		if (jobs[i].error && !w->is_broken)
			fprintf(stderr,
				"powerfail-writer: job %u, record %u: %s\n", i,
				jobs[i].seq, jobs[i].target.why);
	}
	printf("%" PRIuFAST64 " records, %" PRIuFAST64 " flushes noted\n",
	       w->n_records, w->n_flushes);
	if (w->is_broken)
		return EXIT_BROKEN;
	return cut ? EXIT_CUT_OFF : EXIT_WRITTEN;
}

static int open_all(struct writer *w, struct job *jobs)
{
	if (start_job(w, &jobs[0], 0))
		return EXIT_BROKEN;
	/* The size may have been asked of the device: round it to records. */
	w->plan.size -= w->plan.size % w->plan.record;
	if (!plan_is_valid(&w->plan)) {
		fputs("powerfail-writer: size, offset, record and jobs do not go "
		      "together\n",
		      stderr);
		return EXIT_USAGE;
	}
	for (uint32_t i = 1; i < w->plan.jobs; i++)
		if (start_job(w, &jobs[i], i))
			return EXIT_BROKEN;
	w->notes_fd = notes_create(w->notes, &w->plan);
	if (w->notes_fd < 0) {
		fprintf(stderr, "powerfail-writer: %s: %s\n", w->notes,
			strerror(-w->notes_fd));
		return EXIT_BROKEN;
	}
	return 0;
}

static int write_all(struct writer *w)
{
	struct job *jobs = calloc(w->plan.jobs, sizeof(*jobs));
	int status;

	if (!jobs)
		return EXIT_BROKEN;
	for (uint32_t i = 0; i < w->plan.jobs; i++)
		jobs[i].target.fd = -1;
	status = open_all(w, jobs);
	if (!status) {
		w->end_s = now_s() + w->seconds;
		printf("run %" PRIx64 "\n", w->plan.run);
		fflush(stdout);
		status = run_jobs(w, jobs);
	}
	for (uint32_t i = 0; i < w->plan.jobs; i++) {
		target_close(&jobs[i].target);
		free(jobs[i].buffer);
	}
	free(jobs);
	if (w->notes_fd >= 0)
		close(w->notes_fd);
	return status;
}

/* ---- the command line -------------------------------------------------- */

static int writer_usage_error(const char *what)
{
	fprintf(stderr, "powerfail-writer: %s; try powerfail-writer --help\n",
		what);
	return EXIT_USAGE;
}

/* Return: -1 to go on, or the exit status. */
static int take_writer_option(struct writer *w, int opt)
{
	uint64_t *const numbers[] = {
		['s'] = &w->plan.size,	 ['o'] = &w->plan.offset,
		['S'] = &w->plan.run,	 ['T'] = &w->plan.salt,
		['r'] = &w->record_size, ['j'] = &w->n_jobs,
		['b'] = &w->batch,	 ['t'] = &w->seconds,
		['n'] = &w->records,
	};
	__u64 n;

	if (target_take_option(&w->name, opt, optarg))
		return -1;
	switch (opt) {
	case 'f':
		w->fua = true;
		return -1;
	case 'F':
		w->lies = true;
		return -1;
	case 'h':
		fputs(usage, stdout);
		return 0;
	case '?':
		return writer_usage_error("unknown option or missing value");
	default:
		if (kfb_size_parse(optarg, &n, NULL))
			return writer_usage_error(
				"a number, like 4K, is expected");
		*numbers[opt] = n;
		return -1;
	}
}

static int parse_writer_arguments(int argc, char **argv, struct writer *w)
{
	int opt, status;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		status = take_writer_option(w, opt);
		if (status >= 0)
			return status;
	}
	if (argc - optind != (w->name.brick ? 1 : 2))
		return writer_usage_error(
			"it needs NOTES, and DEVICE or --brick");
	if (!w->record_size || w->record_size > PLAN_RECORD_MAX || !w->n_jobs ||
	    w->n_jobs > PLAN_JOBS_MAX || !w->batch)
		return writer_usage_error(
			"record, jobs or batch is out of range");
	w->plan.record = (uint32_t)w->record_size;
	w->plan.jobs = (uint32_t)w->n_jobs;
	w->notes = argv[optind];
	if (!w->name.brick)
		w->name.path = argv[optind + 1];
	return -1;
}

int main(int argc, char **argv)
{
	struct writer w = {
		.record_size = RECORD_DEFAULT,
		.n_jobs = 1,
		.batch = BATCH_DEFAULT,
		.notes_fd = -1,
	};
	int status;

	if (getrandom(&w.plan.salt, sizeof(w.plan.salt), 0) < 0)
		w.plan.salt = (uint64_t)time(NULL);
	w.plan.run = plan_mix(w.plan.salt, 0);
	status = parse_writer_arguments(argc, argv, &w);
	return status >= 0 ? status : write_all(&w);
}
