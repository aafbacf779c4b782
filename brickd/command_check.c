// SPDX-License-Identifier: BSD-2-Clause
/* brickd check: look at a store that nobody serves, and repair it. */
#include "brickd/command.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "brickd/admin/admin_put.h"
#include "brickd/config/config.h"
#include "brickd/media/media.h"
#include "brickd/store/format/super.h"
#include "brickd/store/offline/check.h"

#define EXIT_DAMAGED 3
#define EXIT_FATAL   4
/* More of them say no more; all are counted. */
#define LINES_MAX 1000U

enum {
	OPT_JSON = 256,
	OPT_REPAIR,
	OPT_READ_CLEAN,
	OPT_SLOW,
};

static const char usage[] =
	"Usage: brickd check PATH [OPTION]...\n"
	"Looks at a store that is not in use, and changes nothing.\n"
	"\n"
	"      --repair      put right what can be\n"
	"      --slow PATH   look at the store's slow tier, too\n"
	"      --read-clean  read the free slots that are recorded as zero, too\n"
	"      --json        objects for programs\n"
	"  -h, --help        show this text and exit\n"
	"\n"
	"Exit status: 0 whole, 1 could not look, 2 usage, 3 damaged: --repair\n"
	"helps, 4 damaged beyond repair. brickctl-check(8) explains the "
	"findings.\n";

static const struct option options[] = {
	{ "repair", no_argument, NULL, OPT_REPAIR },
	{ "read-clean", no_argument, NULL, OPT_READ_CLEAN },
	{ "slow", required_argument, NULL, OPT_SLOW },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

/* Return: -1 to go on, or the exit status. */
static int parse_check_arguments(int argc, char **argv, struct brick_check *c,
				 const char **path, const char **slow)
{
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (opt) {
		case OPT_REPAIR:
			c->repair = true;
			break;
		case OPT_READ_CLEAN:
			c->read_clean = true;
			break;
		case OPT_SLOW:
			*slow = optarg;
			break;
		case OPT_JSON:
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return brick_option_error("check", opt, argv, options);
		}
	}
	return brick_path_argument("check", argc, argv, path);
}

/* What was found, for print_finding(). */
struct findings {
	unsigned int n;
	struct json_object *list; /* with --json */
};

static void add_finding(const struct brick_finding *f, struct json_object *list)
{
	static const char *const grades[] = {
		[BRICK_FINDING_NOTE] = "note",
		[BRICK_FINDING_DAMAGE] = "damage",
		[BRICK_FINDING_LOSS] = "loss",
		[BRICK_FINDING_FATAL] = "fatal",
	};
	struct json_object *o = json_object_new_object();
	char va[sizeof("0x") + 16];

	brick_admin_put_text(o, "name", f->name);
	brick_admin_put_text(o, "what", f->what);
	brick_admin_put_text(o, "grade", grades[f->grade]);
	if (f->slot != BRICK_FINDING_NO_SLOT) {
		brick_admin_put_count(o, "slot", brick_slot_number(f->slot));
		brick_admin_put_text(o, "tier",
				     brick_slot_is_slow(f->slot) ? "slow"
								 : "fast");
	}
	if (f->copy >= 0)
		brick_admin_put_count(o, "copy", (uint64_t)f->copy);
	if (f->has_va) {
		(void)snprintf(va, sizeof(va), "0x%" PRIx64, f->va);
		brick_admin_put_text(o, "va", va);
	}
	json_object_array_add(list, o);
}

static void print_finding(const struct brick_finding *f, void *arg)
{
	struct findings *found = arg;

	if (++found->n > LINES_MAX)
		return;
	if (found->list) {
		add_finding(f, found->list);
		return;
	}
	brick_command_hide_progress();
	printf("%s:", f->name);
	if (f->slot != BRICK_FINDING_NO_SLOT)
		printf(" slot %" PRIu64 "%s", brick_slot_number(f->slot),
		       brick_slot_is_slow(f->slot) ? " of the slow tier" : "");
	if (f->copy >= 0)
		printf(" copy %d", f->copy);
	if (f->has_va)
		printf(" block 0x%" PRIx64, f->va);
	printf(" %s\n", f->what);
}

/* What it comes to, in a word for programs, and how to exit. */
static int result_of(const struct brick_check *c, const char **word)
{
	*word = "beyond repair";
	if (c->n[BRICK_FINDING_FATAL])
		return EXIT_FATAL;
	*word = "repaired";
	if (c->is_repaired)
		return 0;
	*word = "damaged";
	if (c->n[BRICK_FINDING_DAMAGE] || c->n[BRICK_FINDING_LOSS])
		return EXIT_DAMAGED;
	*word = "whole";
	return 0;
}

static int sum_up_json(const struct brick_check *c, const char *path,
		       const struct findings *found)
{
	struct json_object *o = brick_command_object();
	const char *word;
	int status = result_of(c, &word);

	brick_admin_put_text(o, "store", path);
	brick_admin_put_text(o, "result", word);
	brick_admin_put_count(o, "slots", c->n_slots);
	brick_admin_put_count(o, "blocks", c->n_alloc);
	brick_admin_put_count(o, "damaged", c->n[BRICK_FINDING_DAMAGE]);
	brick_admin_put_count(o, "lost", c->n[BRICK_FINDING_LOSS]);
	brick_admin_put_count(o, "fatal", c->n[BRICK_FINDING_FATAL]);
	brick_admin_put_count(o, "notes", c->n[BRICK_FINDING_NOTE]);
	json_object_object_add(o, "findings", found->list);
	brick_admin_put_count(o, "findings_left_out",
			      found->n > LINES_MAX ? found->n - LINES_MAX : 0);
	brick_command_print(stdout, o);
	return status;
}

static int sum_up(const struct brick_check *c, const char *path,
		  unsigned int lines)
{
	static const struct {
		const char *word;
		const char *text;
	} texts[] = {
		{ "beyond repair", "beyond repair; restore it from a copy" },
		{ "damaged", "damaged; --repair puts it right" },
	};
	const char *word;
	int status = result_of(c, &word);
	uint64_t damage = c->n[BRICK_FINDING_DAMAGE];
	uint64_t loss = c->n[BRICK_FINDING_LOSS];
	uint64_t fatal = c->n[BRICK_FINDING_FATAL];

	if (lines > LINES_MAX)
		printf("and %u more\n", lines - LINES_MAX);
	printf("%s: %" PRIu64 " slots, %" PRIu64 " blocks; %" PRIu64
	       " damaged, %" PRIu64 " lost, %" PRIu64 " fatal, %" PRIu64
	       " notes: ",
	       path, c->n_slots, c->n_alloc, damage, loss, fatal,
	       c->n[BRICK_FINDING_NOTE]);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(word, texts[i].word))
			word = texts[i].text;
	puts(word);
	return status;
}

static int check_store(struct brick_check *c, const char *path,
		       const char *slow, char *err, size_t err_len)
{
	struct brick_media *media;
	int rc;

	rc = brick_boot_id_read(c->boot_id);
	if (rc)
		return rc;
	rc = brick_command_open_media(path, NULL, &media, err, err_len);
	if (rc)
		return rc;
	if (slow)
		rc = brick_slow_open(slow, NULL, &c->slow, err, err_len);
	if (!rc)
		rc = brick_store_check(media, c, err, err_len);
	if (c->slow)
		brick_slow_close(c->slow);
	brick_media_close(media);
	return rc;
}

int brick_command_check(int argc, char **argv)
{
	struct findings found = { 0 };
	struct brick_check c = { .found = print_finding, .arg = &found };
	char err[BRICK_ERR_BYTES] = "";
	const char *path = NULL, *slow = NULL;
	int rc;

	rc = parse_check_arguments(argc, argv, &c, &path, &slow);
	if (rc >= 0)
		return rc;
	if (brick_command_wants_json())
		found.list = json_object_new_array();
	brick_command_show_progress();
	rc = check_store(&c, path, slow, err, sizeof(err));
	brick_command_hide_progress();
	if (!rc && found.list)
		return sum_up_json(&c, path, &found);
	if (!rc)
		return sum_up(&c, path, found.n);
	json_object_put(found.list);
	return brick_command_fail(
		"check", rc == -EUCLEAN ? EXIT_FATAL : BRICK_EXIT_FAILED, rc,
		err);
}
