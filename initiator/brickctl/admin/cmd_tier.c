// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl tier: the slow tier of the brick of this machine.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "initiator/brickctl/admin/admin.h"
#include "initiator/brickctl/base/progress.h"

/* Between two looks at a job. */
#define LOOK_MS 200

enum {
	OPT_DETACH,
};

static const struct ctl_option options[] = {
	[OPT_DETACH] = { "detach", 'd', NULL,
			 "do not wait for the end of demote and promote" },
	{ NULL },
};

static void print_slots(struct json_object *t, const char *tier)
{
	char total[CTL_BLOCKS_TEXT_BYTES], left[CTL_BLOCKS_TEXT_BYTES];
	char name[32];

	snprintf(name, sizeof(name), "%s_total", tier);
	ctl_blocks_text(total, ctl_admin_count(t, name));
	snprintf(name, sizeof(name), "%s_free", tier);
	ctl_blocks_text(left, ctl_admin_count(t, name));
	printf("%-12s %s, free %s\n", tier, total, left);
}

static void print_tier_list(struct json_object *t, const char *name)
{
	size_t n, i;
	struct json_object *list = ctl_admin_list(t, name, &n);

	for (i = 0; i < n; i++) {
		struct json_object *s = json_object_array_get_idx(list, i);

		printf("%-12s %s+%" PRIu64, i ? "" : name,
		       ctl_admin_text(s, "va"), ctl_admin_count(s, "n_blocks"));
		if (*ctl_admin_text(s, "do"))
			printf(" %s, %" PRIu64 " moved (job %" PRIu64 ")",
			       ctl_admin_text(s, "do"),
			       ctl_admin_count(s, "moved"),
			       ctl_admin_count(s, "job"));
		putchar('\n');
	}
}

static void print_tier_text(struct json_object *t)
{
	if (!*ctl_admin_text(t, "slow")) {
		puts("this brick has no slow tier");
		return;
	}
	printf("%-12s %s\n", "path", ctl_admin_text(t, "slow"));
	if (*ctl_admin_text(t, "slow_failure"))
		printf("%-12s %s\n", "FAILED",
		       ctl_admin_text(t, "slow_failure"));
	print_slots(t, "fast");
	print_slots(t, "slow");
	printf("%-12s %" PRIu64 " kept for moves, %" PRIu64 " bad\n", "",
	       ctl_admin_count(t, "spare"), ctl_admin_count(t, "slow_bad"));
	printf("%-12s below %" PRIu64 " free, up to %" PRIu64 "\n", "demotes",
	       ctl_admin_count(t, "low"), ctl_admin_count(t, "high"));
	printf("%-12s %" PRIu64 " promoted, %" PRIu64 " demoted\n", "blocks",
	       ctl_admin_count(t, "promoted"), ctl_admin_count(t, "demoted"));
	printf("%-12s %" PRIu64 " reading, %" PRIu64 " writing\n", "errors",
	       ctl_admin_count(t, "read_errors"),
	       ctl_admin_count(t, "write_errors"));
	printf("%-12s %" PRIu64 " maps\n", "waiting",
	       ctl_admin_count(t, "maps_waiting"));
	print_tier_list(t, "pins");
	print_tier_list(t, "jobs");
}

static struct json_object *tier_request(const char *what)
{
	struct json_object *request = ctl_admin_request("tier");

	if (what)
		ctl_json_text(request, "do", what);
	return request;
}

static int show_tier(struct ctl *ctl, struct ctl_admin *a)
{
	struct json_object *answer;
	int status = ctl_admin_ask(ctl, a, tier_request(NULL), &answer);

	if (status)
		return status;
	json_object_object_del(answer, "ok");
	if (ctl->json) {
		ctl_json_print(answer);
		return CTL_DONE;
	}
	print_tier_text(answer);
	json_object_put(answer);
	return CTL_DONE;
}

static int report_job(struct ctl *ctl, struct json_object *p)
{
	int error = -(int)ctl_admin_count(p, "errno");
	uint64_t n_failed = ctl_admin_count(p, "failed");
	uint64_t n_skipped = ctl_admin_count(p, "skipped");

	if (ctl->json)
		ctl_json_print(json_object_get(p));
	else
		printf("%" PRIu64 " moved, %" PRIu64
		       " skipped (mapped, pinned or busy), %" PRIu64
		       " failed\n",
		       ctl_admin_count(p, "moved"), n_skipped, n_failed);
	if (!error && !n_failed)
		return CTL_DONE;
	return ctl_fail(ctl, CTL_REFUSED, error,
			"the log of brickd says which blocks and why",
			"not every block could be moved");
}

/* Follow a job to its end, with a progress line meanwhile. */
static int follow_job(struct ctl *ctl, struct ctl_admin *a, uint64_t job,
		      uint64_t n_blocks)
{
	struct ctl_progress progress;
	struct json_object *answer, *p = NULL, *ended = NULL;
	uint64_t seen = 0, now;
	int status;

	ctl_progress_start(&progress, ctl, "moving",
			   ctl_blocks_bytes(n_blocks));
	for (;;) {
		struct json_object *request = tier_request("job");

		ctl_json_count(request, "job", job);
		status = ctl_admin_ask(ctl, a, request, &answer);
		if (status)
			break;
		json_object_object_get_ex(answer, "progress", &p);
		now = ctl_admin_count(p, "seen");
		ctl_progress_add(&progress, ctl_blocks_bytes(now - seen));
		seen = now;
		json_object_object_get_ex(p, "ended", &ended);
		if (json_object_get_boolean(ended))
			break;
		json_object_put(answer);
		poll(NULL, 0, LOOK_MS);
	}
	ctl_progress_stop(&progress);
	if (status)
		return status;
	status = report_job(ctl, p);
	json_object_put(answer);
	return status;
}

static int steer_blocks(struct ctl *ctl, struct ctl_admin *a, const char *what,
			const char *range, bool detach)
{
	struct json_object *request, *answer;
	uint64_t va, n_blocks, job;
	char text[64];
	int status;

	status = ctl_read_range(ctl, range, &va, &n_blocks);
	if (status)
		return status;
	request = tier_request(what);
	snprintf(text, sizeof(text), "0x%" PRIx64 "+%" PRIu64, va, n_blocks);
	ctl_json_text(request, "range", text);
	status = ctl_admin_ask(ctl, a, request, &answer);
	if (status)
		return status;
	job = ctl_admin_count(answer, "job");
	json_object_put(answer);
	if (job && !detach)
		return follow_job(ctl, a, job, n_blocks);
	if (ctl->json) {
		answer = json_object_new_object();
		ctl_json_text(answer, "do", what);
		ctl_json_hex(answer, "va", va);
		ctl_json_count(answer, "n_blocks", n_blocks);
		if (job)
			ctl_json_count(answer, "job", job);
		ctl_json_print(answer);
	} else if (job) {
		printf("job %" PRIu64 "\n", job);
	}
	return CTL_DONE;
}

static int cancel_job(struct ctl *ctl, struct ctl_admin *a, const char *word)
{
	struct json_object *request, *answer;
	uint64_t job;
	int status;

	status = ctl_read_number(ctl, "JOB", word, 0, UINT64_MAX, &job);
	if (status)
		return status;
	request = tier_request("cancel");
	ctl_json_count(request, "job", job);
	status = ctl_admin_ask(ctl, a, request, &answer);
	if (status)
		return status;
	json_object_put(answer);
	answer = ctl_json_of("do", json_object_new_string("cancel"));
	ctl_json_count(answer, "job", job);
	return ctl_done(ctl, answer, "%s", "");
}

static int run_tier(struct ctl *ctl, const struct ctl_args *args)
{
	const char *what = args->n_words ? args->words[0] : "show";
	bool steers = !strcmp(what, "pin") || !strcmp(what, "unpin") ||
		      !strcmp(what, "demote") || !strcmp(what, "promote");
	bool cancels = !strcmp(what, "cancel");
	struct ctl_admin a;
	int status;

	if (!steers && !cancels && strcmp(what, "show") != 0)
		return ctl_usage(ctl,
				 "show, pin, unpin, demote, promote or cancel");
	if ((steers || cancels) != (args->n_words == 2))
		return ctl_usage(ctl, steers	? "a range VA+N"
				      : cancels ? "a job"
						: "nothing goes with show");
	status = ctl_admin_open(ctl, &a);
	if (status)
		return status;
	a.next = "brickctl tier shows the tier, its pins and its jobs";
	a.next_unsupported =
		"a store gets a slow tier when it is made: brickd format PATH --slow PATH";
	if (steers)
		status = steer_blocks(ctl, &a, what, args->words[1],
				      args->options[OPT_DETACH]);
	else
		status = cancels ? cancel_job(ctl, &a, args->words[1])
				 : show_tier(ctl, &a);
	ctl_admin_close(&a);
	return status;
}

const struct ctl_command ctl_cmd_tier = {
	.name = "tier",
	.synopsis =
		"[show | pin VA+N | unpin VA+N | demote VA+N | promote VA+N | cancel JOB]",
	.summary =
		"Shows and steers the slow tier of the brick of this machine",
	.details =
		"demote and promote move blocks to the slow tier and out of it, and show how far\n"
		"they are; blocks that are mapped, pinned or busy are skipped. Pinned blocks are\n"
		"not demoted; pins are forgotten when brickd stops, those of its configuration\n"
		"come back. Asks brickd over its admin socket (--admin).\n"
		"\n"
		"Example: brickctl tier demote 0x0+1024",
	.options = options,
	.words_more = 2,
	.changes = true,
	.run = run_tier,
};
