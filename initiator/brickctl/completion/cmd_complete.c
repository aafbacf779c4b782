// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl complete: what the last word of a command line can become, for the
 * completions of shells.
 *
 * A candidate is a line, with a tab and what it is behind it where that says more.
 * A line that begins with a colon is for the shell: ":files" and ":folders" are
 * its own to find, after ":nospace" the word goes on.
 *
 * Commands and options come from the tables, disks from sysfs, clients, sessions
 * and jobs from the admin socket, addresses from the brick. Whoever cannot be
 * asked has none: a completion prints no errors, and waits no longer than a user
 * would.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/admin/admin.h"
#include "initiator/brickctl/disk/attach.h"
#include "initiator/brickctl/top/top.h"
#include "kfb_scheme.h"

#define TIMEOUT_MS   2000
#define EXTENTS_MAX  512
#define TEXT_BYTES   128
#define OPTION_BYTES 64

struct completion {
	struct ctl *ctl;
	const struct ctl_command *command; /* NULL: none is there yet */
	const char *words[CTL_WORDS_MAX]; /* behind it */
	int n_words;
	const struct ctl_option *option; /* whose value is completed, or NULL */
	const char *prefix; /* printed before a candidate: "--option=" */
	const char *current; /* what is there of the word */
};

static void offer_word(const struct completion *c, const char *word,
		       const char *what)
{
	if (strncmp(word, c->current, strlen(c->current)) != 0)
		return;
	printf("%s%s%s%s\n", c->prefix, word, what ? "\t" : "",
	       what ? what : "");
}

/* Words with blanks between them. */
static void offer_all(const struct completion *c, const char *words)
{
	char *copy = strdup(words);
	char *at = copy;
	char *word;

	while (copy && (word = strsep(&at, " ")) != NULL)
		offer_word(c, word, NULL);
	free(copy);
}

/* ---- what others know --------------------------------------------------- */

static void offer_disks(const struct completion *c)
{
	struct dirent **found;
	char name[CTL_DISK_NAME_BYTES];
	int n = scandir(CTL_SYS_BLOCK, &found, ctl_is_disk, versionsort);
	int i;

	for (i = 0; i < n; i++) {
		ctl_disk_name(found[i]->d_name, name);
		offer_word(c, found[i]->d_name, *name ? name : NULL);
		if (*name)
			offer_word(c, name, found[i]->d_name);
		free(found[i]);
	}
	if (n >= 0)
		free(found);
}

/* A member of each object of a list; with @beside another, as what it is. */
static void offer_of_admin(const struct completion *c, const char *op,
			   const char *member, const char *beside)
{
	struct json_object *list;
	size_t i;

	if (ctl_admin_all(c->ctl, op, &list))
		return;
	for (i = 0; i < json_object_array_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		const char *word = ctl_admin_text(o, member);

		if (*word)
			offer_word(c, word,
				   beside ? ctl_admin_text(o, beside) : NULL);
	}
	json_object_put(list);
}

static void offer_jobs(const struct completion *c)
{
	struct json_object *answer = NULL;
	struct json_object *list;
	char text[TEXT_BYTES];
	struct ctl_admin a;
	size_t i, n;

	if (ctl_admin_open(c->ctl, &a))
		return;
	ctl_admin_ask(c->ctl, &a, ctl_admin_request("tier"), &answer);
	ctl_admin_close(&a);
	list = ctl_admin_list(answer, "jobs", &n);
	for (i = 0; i < n; i++) {
		struct json_object *job = json_object_array_get_idx(list, i);

		snprintf(text, sizeof(text), "%" PRIu64,
			 ctl_admin_count(job, "job"));
		offer_word(c, text, ctl_admin_text(job, "do"));
	}
	json_object_put(answer);
}

static void offer_clients(const struct completion *c)
{
	/* Without a brick there may be a client all the same. */
	ctl_settings_complete(c->ctl);
	if (c->ctl->settings.client)
		offer_word(c, c->ctl->settings.client, NULL);
	offer_of_admin(c, "clients", "client", NULL);
}

enum extent_as {
	AS_RANGE, /* VA+N */
	AS_ADDRESS, /* VA */
	AS_MAPPING, /* its id */
};

static void offer_extents(const struct completion *c, unsigned int what,
			  enum extent_as as)
{
	static struct kfbrick_extent extents[EXTENTS_MAX];
	char size[CTL_SIZE_TEXT_BYTES];
	char text[TEXT_BYTES];
	uint64_t cursor = 0;
	uint64_t change;
	int i, n;

	if (ctl_connect(c->ctl))
		return;
	n = kfbrick_list(c->ctl->k, what, &cursor, extents, EXTENTS_MAX,
			 &change);
	for (i = 0; i < n; i++) {
		const struct kfbrick_extent *e = &extents[i];

		ctl_size_text(size, ctl_blocks_bytes(e->n_blocks));
		if (as == AS_MAPPING)
			ctl_id_text(text, e->mapping_id);
		else if (as == AS_ADDRESS)
			snprintf(text, sizeof(text), "0x%" PRIx64, e->va);
		else
			snprintf(text, sizeof(text), "0x%" PRIx64 "+%" PRIu64,
				 e->va, e->n_blocks);
		offer_word(c, text, size);
	}
}

/* Those that a fencer may ask for. */
static void offer_fenceable(const struct completion *c)
{
	struct kfbrick_client client = { .size = sizeof(client) };
	size_t n = 0;

	if (ctl_connect(c->ctl))
		return;
	while (n++ < EXTENTS_MAX &&
	       !kfbrick_next_client(c->ctl->k, client.name, &client))
		offer_word(c, client.name,
			   client.is_fenced ? "is fenced" : NULL);
}

static void offer_bricks(const struct completion *c)
{
	const struct kfb_scheme *scheme;
	char text[TEXT_BYTES];
	unsigned int i;

	ctl_settings_complete(c->ctl);
	if (c->ctl->settings.brick)
		offer_word(c, c->ctl->settings.brick, NULL);
	for (i = 0; (scheme = kfb_scheme_at(i)); i++) {
		snprintf(text, sizeof(text), "%s://", scheme->name);
		offer_word(c, text, NULL);
	}
	puts(":nospace");
}

/* Of the kernel; several schemes may mean one. */
static void offer_providers(const struct completion *c)
{
	const struct kfb_scheme *scheme, *before;
	unsigned int i, j;

	for (i = 0; (scheme = kfb_scheme_at(i)); i++) {
		for (j = 0; (before = kfb_scheme_at(j)) != scheme; j++)
			if (scheme->kernel && before->kernel &&
			    !strcmp(before->kernel, scheme->kernel))
				break;
		if (scheme->kernel && before == scheme)
			offer_word(c, scheme->kernel, NULL);
	}
}

static void offer_columns(const struct completion *c)
{
	const char *key;
	unsigned int i;

	for (i = 0; (key = top_column_key(i)); i++)
		offer_word(c, key, NULL);
}

/* What a table has: words, of which one with a colon is for the shell, or a function. */
static void offer_entry(const struct completion *c, const char *words,
			void (*offer)(const struct completion *c))
{
	if (!words)
		offer(c);
	else if (*words == ':')
		puts(words);
	else
		offer_all(c, words);
}

/* ---- values of options -------------------------------------------------- */

/* By the option's name, or by what its help calls the value. */
static const struct {
	const char *option;
	const char *value;
	const char *words;
	void (*offer)(const struct completion *c);
} values[] = {
	{ .option = "client", .offer = offer_clients },
	{ .option = "provider", .offer = offer_providers },
	{ .option = "sector", .words = "512 4096" },
	{ .value = "CLIENT", .offer = offer_clients },
	{ .value = "COLUMN", .offer = offer_columns },
	{ .value = "DIR", .words = ":folders" },
	{ .value = "DISK", .offer = offer_disks },
	{ .value = "FILE", .words = ":files" },
	{ .value = "OP", .words = "read write durable" },
	{ .value = "PATH", .words = ":files" },
	{ .value = "STORE", .words = ":files" },
	{ .value = "TYPE",
	  .words = "write-exclusive exclusive-access write-exclusive-reg-only "
		   "exclusive-access-reg-only write-exclusive-all-regs "
		   "exclusive-access-all-regs" },
	{ .value = "URL", .offer = offer_bricks },
	{ .value = "WHAT", .words = "client session" },
	{ .value = "WHEN", .words = "never io-error" },
};

static void offer_value(const struct completion *c)
{
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (values[i].option
			    ? strcmp(values[i].option, c->option->name) != 0
			    : strcmp(values[i].value, c->option->value) != 0)
			continue;
		offer_entry(c, values[i].words, values[i].offer);
		return;
	}
}

/* ---- words behind a command --------------------------------------------- */

static void offer_ranges(const struct completion *c)
{
	offer_extents(c, KFBRICK_LIST_ALLOCATED, AS_RANGE);
}

static void offer_addresses(const struct completion *c)
{
	offer_extents(c, KFBRICK_LIST_ALLOCATED, AS_ADDRESS);
}

static void offer_mappings(const struct completion *c)
{
	offer_extents(c, KFBRICK_LIST_MINE, AS_MAPPING);
}

static void offer_sessions(const struct completion *c)
{
	offer_of_admin(c, "sessions", "session", "client");
}

/* The word behind one of tier's. */
static void offer_tier(const struct completion *c)
{
	if (!c->n_words)
		offer_all(c, "show pin unpin demote promote cancel");
	else if (!strcmp(c->words[0], "cancel"))
		offer_jobs(c);
	else if (strcmp(c->words[0], "show") != 0)
		offer_ranges(c);
}

/* The word behind one of reserve's. */
static void offer_reserve(const struct completion *c)
{
	if (!c->n_words)
		offer_all(c, "register reserve release preempt clear show");
	else
		offer_ranges(c);
}

static const struct {
	const char *command;
	int n; /* words that it completes */
	const char *words;
	void (*offer)(const struct completion *c);
} arguments[] = {
	{ "admit", 1, NULL, offer_fenceable },
	{ "attach", 1, NULL, offer_bricks },
	{ "check", 1, ":files", NULL },
	{ "clients", 1, NULL, offer_fenceable },
	{ "detach", 1, NULL, offer_disks },
	{ "evict", 1, NULL, offer_sessions },
	{ "fence", 1, NULL, offer_fenceable },
	{ "format", 1, ":files", NULL },
	{ "free", 1, NULL, offer_ranges },
	{ "grow", 1, ":files", NULL },
	{ "keygen", 1, ":files", NULL },
	{ "list", 1, "allocated mapped mine", NULL },
	{ "map", 1, NULL, offer_ranges },
	{ "read", 1, NULL, offer_addresses },
	{ "reattach", 1, NULL, offer_disks },
	{ "reserve", 2, NULL, offer_reserve },
	{ "tier", 2, NULL, offer_tier },
	{ "unmap", 1, NULL, offer_mappings },
	{ "write", 1, NULL, offer_addresses },
};

static void offer_argument(const struct completion *c)
{
	size_t i;

	for (i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++) {
		if (strcmp(arguments[i].command, c->command->name) != 0 ||
		    c->n_words >= arguments[i].n)
			continue;
		offer_entry(c, arguments[i].words, arguments[i].offer);
	}
}

/* ---- the command line --------------------------------------------------- */

static void offer_commands(const struct completion *c)
{
	const struct ctl_command *const *at;

	for (at = ctl_commands; *at; at++)
		offer_word(c, (*at)->name, (*at)->summary);
}

static void offer_options(const struct completion *c,
			  const struct ctl_option *options)
{
	char name[OPTION_BYTES];

	for (; options && options->name; options++) {
		snprintf(name, sizeof(name), "--%s", options->name);
		offer_word(c, name, options->help);
	}
}

static const struct ctl_option *find_among(const struct ctl_option *options,
					   const char *word)
{
	size_t len = strcspn(word + 2, "=");

	for (; options && options->name; options++) {
		if (word[1] != '-'
			    ? word[1] == options->letter && !word[2]
			    : strlen(options->name) == len &&
				      !strncmp(options->name, word + 2, len))
			return options;
	}
	return NULL;
}

static const struct ctl_option *find_typed_option(const struct completion *c,
						  const char *word)
{
	const struct ctl_option *found = NULL;

	if (strlen(word) < 2)
		return NULL;
	if (c->command)
		found = find_among(c->command->options, word);
	return found ? found : find_among(ctl_globals, word);
}

/* Where to ask, and as whom. */
static void note_setting(const struct completion *c,
			 const struct ctl_option *option, const char *value)
{
	struct ctl_settings *s = &c->ctl->settings;
	char **to = NULL;

	if (option == find_among(ctl_globals, "--brick"))
		to = &s->brick;
	else if (option == find_among(ctl_globals, "--client"))
		to = &s->client;
	else if (option == find_among(ctl_globals, "--key-file"))
		to = &s->key_file;
	else if (option == find_among(ctl_globals, "--admin"))
		to = &s->admin;
	if (!to)
		return;
	free(*to);
	*to = strdup(value);
}

/* The words before the last one; false: it is none that anybody knows. */
static bool take_words(struct completion *c, char **words, int n)
{
	const struct ctl_option *option;
	const char *value;
	bool only_words = false;
	int i;

	for (i = 0; i < n; i++) {
		if (only_words || *words[i] != '-' || !words[i][1]) {
			if (!c->command) {
				c->command = ctl_command_find(words[i]);
				if (!c->command)
					return false;
			} else if (c->n_words < CTL_WORDS_MAX) {
				c->words[c->n_words++] = words[i];
			}
			continue;
		}
		only_words = !strcmp(words[i], "--");
		option = find_typed_option(c, words[i]);
		if (!option || !option->value)
			continue;
		value = strchr(words[i], '=');
		if (!value && i + 1 == n)
			c->option = option;
		else
			note_setting(c, option, value ? value + 1 : words[++i]);
	}
	if (only_words)
		c->option = NULL;
	return true;
}

/* An option with its value in one word. */
static bool is_joined(struct completion *c, char *word, char *prefix,
		      size_t size)
{
	const struct ctl_option *option = find_typed_option(c, word);
	const char *value = strchr(word, '=');

	if (strncmp(word, "--", 2) != 0 || !value || !option || !option->value)
		return false;
	snprintf(prefix, size, "%.*s", (int)(value + 1 - word), word);
	c->option = option;
	c->prefix = prefix;
	c->current = value + 1;
	return true;
}

static int run_complete(struct ctl *ctl, char **argv)
{
	struct completion c = { .ctl = ctl, .prefix = "", .current = "" };
	struct ctl_caught caught = { 0 };
	char prefix[OPTION_BYTES];
	char **words = argv + 1;
	int n = 0;

	while (words[n])
		n++;
	if (n == 1 && !strcmp(words[0], "--help")) {
		ctl_help_command(ctl->command);
		return CTL_DONE;
	}
	/* In front of the words: they are nobody's options. */
	if (n && !strcmp(words[0], "--")) {
		words++;
		n--;
	}
	if (!n)
		return ctl_usage(ctl, "needs %s", ctl->command->synopsis);
	ctl->catching = &caught;
	ctl->settings.timeout_ms = TIMEOUT_MS;
	c.current = words[n - 1];
	if (!take_words(&c, words, n - 1)) {
		ctl->catching = NULL;
		return CTL_DONE;
	}
	if (c.option || is_joined(&c, words[n - 1], prefix, sizeof(prefix))) {
		offer_value(&c);
	} else if (*c.current == '-') {
		if (c.command)
			offer_options(&c, c.command->options);
		offer_options(&c, ctl_globals);
	} else if (c.command) {
		offer_argument(&c);
	} else {
		offer_commands(&c);
	}
	ctl->catching = NULL;
	ctl->failed = false;
	return CTL_DONE;
}

const struct ctl_command ctl_cmd_complete = {
	.name = "complete",
	.synopsis = "-- WORD...",
	.summary = "Says what the last word can become, for shells",
	.details =
		"The words are those of a command line behind brickctl; the last one, which may be\n"
		"empty, is completed. The completions of bash, zsh and fish run this.\n"
		"\n"
		"Example: brickctl complete -- detach kf",
	.run_raw = run_complete,
};
