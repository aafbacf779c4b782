// SPDX-License-Identifier: BSD-2-Clause
/*
 * powerfail-verify: what came back after a loss of power, compared with the
 * notes of powerfail-writer; powerfail-verify(8).
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "notes.h"
#include "target.h"

#define BUFFER_ALIGN 4096
#define SHOWN	     10 /* records of each fault that are named */

enum {
	EXIT_GOOD,
	EXIT_LOST, /* something that was flushed is not there */
	EXIT_USAGE,
	EXIT_UNKNOWN, /* it could not be found out */
};

static const char usage[] =
	"Usage: powerfail-verify [OPTION]... NOTES DEVICE\n"
	"       powerfail-verify [OPTION]... --brick URL NOTES\n"
	"Compares DEVICE with the NOTES that powerfail-writer made.\n"
	"\n"
	"      --brick URL      a brick instead of DEVICE\n"
	"      --client NAME    at the brick\n"
	"      --key-file FILE  of the client\n"
	"      --allow-untrusted-tcp  as for brickctl\n"
	"      --page-cache     read a file whose file system has no O_DIRECT\n"
	"  -h, --help           show this text and exit\n"
	"\n"
	"Exit status: 0 everything that was flushed is there, 1 something is lost\n"
	"or wrong, 2 wrong command line, 3 it could not be found out.\n";

static const struct option options[] = {
	{ "brick", required_argument, NULL, 'B' },
	{ "client", required_argument, NULL, 'c' },
	{ "key-file", required_argument, NULL, 'k' },
	{ "allow-untrusted-tcp", no_argument, NULL, 'u' },
	{ "page-cache", no_argument, NULL, 'p' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

/* What is wrong with a record; the worst of its words counts. */
enum fault {
	FAULT_NONE,
	FAULT_OLDER, /* all of it is older than what was flushed */
	FAULT_TORN, /* a part of it is */
	FAULT_MISPLACED, /* it has words of another slot */
	FAULT_FOREIGN, /* it has words that nobody wrote */
	N_FAULTS,
};

static const char *const fault_text[N_FAULTS] = {
	[FAULT_OLDER] = "older than what was flushed: lost, or reverted",
	[FAULT_TORN] = "torn: in part older than what was flushed",
	[FAULT_MISPLACED] = "has words of another record",
	[FAULT_FOREIGN] = "has words that were never written",
};

struct verdict {
	uint64_t validated;
	uint64_t newer; /* records with words of unflushed writes: allowed */
	uint64_t of[N_FAULTS];
};

static enum fault validate_record(const struct plan *p, uint64_t slot,
				  uint32_t durable, const uint8_t *record,
				  bool *is_newer)
{
	uint32_t n = p->record / PLAN_WORD, older = 0, seq;
	enum fault worst = FAULT_NONE;
	uint64_t word;

	*is_newer = false;
	for (uint32_t i = 0; i < n; i++) {
		memcpy(&word, record + (size_t)i * PLAN_WORD, sizeof(word));
		switch (plan_validate(p, slot, i, word, &seq)) {
		case PLAN_OURS:
			older += seq < durable;
			*is_newer |= seq > durable;
			break;
		case PLAN_ZERO:
			older++;
			break;
		case PLAN_MISPLACED:
			if (worst < FAULT_MISPLACED)
				worst = FAULT_MISPLACED;
			break;
		case PLAN_FOREIGN:
			worst = FAULT_FOREIGN;
			break;
		}
	}
	if (worst != FAULT_NONE || !older)
		return worst;
	return older == n ? FAULT_OLDER : FAULT_TORN;
}

static void verify_slot(const struct notes *notes, uint64_t slot,
			uint32_t durable, const uint8_t *record,
			struct verdict *v)
{
	const struct plan *p = &notes->plan;
	uint64_t at = p->offset + slot * p->record;
	enum fault fault;
	bool is_newer;

	fault = validate_record(p, slot, durable, record, &is_newer);
	v->validated++;
	v->newer += is_newer;
	v->of[fault]++;
	if (fault != FAULT_NONE && v->of[fault] <= SHOWN)
		printf("record %" PRIu32 " of job %" PRIu64 " at byte %" PRIu64
		       ": %s\n",
		       durable, slot % p->jobs, at, fault_text[fault]);
}

/* Read all at once; if that fails, one by one: the error names the record. */
static int read_slots(struct target *t, const struct plan *p,
		      const uint32_t *durable, uint64_t first, uint64_t end,
		      uint8_t *buffer)
{
	uint64_t at = p->offset + first * p->record;
	int rc = 0;

	if (!target_read(t, at, buffer, (end - first) * p->record))
		return 0;
	for (uint64_t s = first; !rc && s < end; s++) {
		uint64_t i = (s - first) * p->record;

		if (!durable[s])
			continue;
		rc = target_read(t, at + i, buffer + i, p->record);
		if (rc)
			fprintf(stderr,
				"powerfail-verify: at %" PRIu64 ": %s\n",
				at + i, t->why);
	}
	return rc;
}

/* Verify the slots from first to end that somebody has flushed. */
static int verify_window(struct target *t, const struct notes *notes,
			 const uint32_t *durable, uint64_t first, uint64_t end,
			 uint8_t *buffer, struct verdict *v)
{
	uint32_t bytes = notes->plan.record;
	int rc;

	while (first < end && !durable[first])
		first++;
	while (first < end && !durable[end - 1])
		end--;
	if (first == end)
		return 0;
	rc = read_slots(t, &notes->plan, durable, first, end, buffer);
	for (uint64_t s = first; !rc && s < end; s++)
		if (durable[s])
			verify_slot(notes, s, durable[s],
				    buffer + (s - first) * bytes, v);
	return rc;
}

static int say_verdict(const struct notes *notes, const struct verdict *v)
{
	uint64_t bad = v->validated - v->of[FAULT_NONE];

	printf("%" PRIu64 " flushes noted; %" PRIu64
	       " records validated, %" PRIu64
	       " of them with newer words; %" PRIu64 " older, %" PRIu64
	       " torn, %" PRIu64 " misplaced, %" PRIu64 " foreign\n",
	       notes->lines, v->validated, v->newer, v->of[FAULT_OLDER],
	       v->of[FAULT_TORN], v->of[FAULT_MISPLACED], v->of[FAULT_FOREIGN]);
	if (!v->validated) {
		puts("UNKNOWN: nothing had been flushed, so nothing is shown");
		return EXIT_UNKNOWN;
	}
	if (bad) {
		printf("LOST: %" PRIu64 " flushed records are not there\n",
		       bad);
		return EXIT_LOST;
	}
	puts("GOOD: everything that was flushed is there");
	return EXIT_GOOD;
}

static int verify_target(struct target *t, const struct notes *notes)
{
	const struct plan *p = &notes->plan;
	uint64_t n = PLAN_RECORD_MAX / p->record, slots = plan_slots(p);
	uint32_t *durable = calloc(slots, sizeof(*durable));
	struct verdict v = { 0 };
	void *buffer = NULL;
	int rc = -ENOMEM;

	/* The newest flushed number of every slot. */
	for (uint32_t job = 0; durable && job < p->jobs; job++)
		for (uint32_t s = 1; s && s <= notes->flushed[job]; s++)
			durable[plan_slot(p, job, s)] = s;
	if (durable && !posix_memalign(&buffer, BUFFER_ALIGN, n * p->record))
		rc = 0;
	for (uint64_t s = 0; !rc && s < slots; s += n)
		rc = verify_window(t, notes, durable, s,
				   s + n < slots ? s + n : slots, buffer, &v);
	free(buffer);
	free(durable);
	return rc ? EXIT_UNKNOWN : say_verdict(notes, &v);
}

static int verify_usage_error(const char *what)
{
	fprintf(stderr, "powerfail-verify: %s; try powerfail-verify --help\n",
		what);
	return EXIT_USAGE;
}

/* Return: -1 to go on, or the exit status. */
static int parse_verify_arguments(int argc, char **argv,
				  struct target_name *name, const char **notes)
{
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (target_take_option(name, opt, optarg))
			continue;
		if (opt == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (opt != 'p')
			return verify_usage_error(
				"unknown option or missing value");
		name->page_cache = true;
	}
	if (argc - optind != (name->brick ? 1 : 2))
		return verify_usage_error(
			"it needs NOTES, and DEVICE or --brick");
	*notes = argv[optind];
	if (!name->brick)
		name->path = argv[optind + 1];
	return -1;
}

int main(int argc, char **argv)
{
	static struct notes notes;
	struct target_name name = { 0 };
	const char *path, *why = "";
	struct target target;
	int status;

	status = parse_verify_arguments(argc, argv, &name, &path);
	if (status >= 0)
		return status;
	if (notes_read(path, &notes, &why)) {
		fprintf(stderr, "powerfail-verify: %s: %s\n", path, why);
		return EXIT_UNKNOWN;
	}
	if (target_open(&target, &name, notes.plan.offset, &notes.plan.size,
			false)) {
		fprintf(stderr, "powerfail-verify: %s\n", target.why);
		return EXIT_UNKNOWN;
	}
	status = verify_target(&target, &notes);
	target_close(&target);
	return status;
}
