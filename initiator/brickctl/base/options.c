// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads the command line: global options, which may also follow the command,
 * and each command's own.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "initiator/brickctl/base/brickctl.h"

/* What getopt_long() returns for options without a letter. */
#define GLOBAL_FIRST 0x100
#define OWN_FIRST    0x200

#define GLOBALS_MAX	 12
#define TIMEOUT_MAX_S	 86400
#define MS_PER_S	 1000
#define SHORT_MAX_BYTES	 (2 + 2 * (CTL_OPTIONS_MAX + GLOBALS_MAX) + 1)
#define LONG_MAX_ENTRIES (CTL_OPTIONS_MAX + GLOBALS_MAX + 1)

/* Positions in ctl_globals. */
enum global {
	GLOBAL_BRICK,
	GLOBAL_CLIENT,
	GLOBAL_KEY_FILE,
	GLOBAL_ADMIN,
	GLOBAL_TIMEOUT,
	GLOBAL_RECONNECT,
	GLOBAL_UNTRUSTED,
	GLOBAL_JSON,
	GLOBAL_QUIET,
	GLOBAL_HELP,
	GLOBAL_VERSION,
};

const struct ctl_option ctl_globals[] = {
	[GLOBAL_BRICK] = { "brick", 0, "URL",
			   "tcp://HOST[:PORT], verbs://HOST[:PORT] or HOST" },
	[GLOBAL_CLIENT] = { "client", 0, "NAME",
			    "the name the brick knows this client by" },
	[GLOBAL_KEY_FILE] = { "key-file", 0, "FILE",
			      "this client's key, readable by its owner only" },
	[GLOBAL_ADMIN] = { "admin", 0, "PATH",
			   "brickd's admin socket on this machine" },
	[GLOBAL_TIMEOUT] = { "timeout", 0, "SECONDS",
			     "of connecting and of each request; 10" },
	[GLOBAL_RECONNECT] = { "reconnect-s", 0, "SECONDS",
			       "how long to try when the brick is lost; 0" },
	[GLOBAL_UNTRUSTED] = { "allow-untrusted-tcp", 0, NULL,
			       "let tcp leave this host by any interface" },
	[GLOBAL_JSON] = { "json", 0, NULL, "objects for programs" },
	[GLOBAL_QUIET] = { "quiet", 'q', NULL,
			   "show no progress on the terminal" },
	[GLOBAL_HELP] = { "help", 'h', NULL, "this text" },
	[GLOBAL_VERSION] = { "version", 'V', NULL, "the version" },
	{ NULL },
};

struct grammar {
	char shorts[SHORT_MAX_BYTES];
	struct option longs[LONG_MAX_ENTRIES];
	unsigned int n_longs;
};

static int code_of(const struct ctl_option *option, int first, int index)
{
	return option->letter ? option->letter : first + index;
}

static void grammar_add(struct grammar *g, const struct ctl_option *options,
			int first)
{
	size_t len = strlen(g->shorts);
	int i;

	for (i = 0; options && options[i].name; i++) {
		if (g->n_longs == LONG_MAX_ENTRIES - 1)
			abort(); /* a command's table is too long */
		g->longs[g->n_longs++] = (struct option){
			.name = options[i].name,
			.has_arg = options[i].value ? required_argument
						    : no_argument,
			.val = code_of(&options[i], first, i),
		};
		if (!options[i].letter)
			continue;
		g->shorts[len++] = (char)options[i].letter;
		if (options[i].value)
			g->shorts[len++] = ':';
	}
}

/* Position of an option that getopt_long() returned, or -1. */
static int find_option(const struct ctl_option *options, int first, int code)
{
	int i;

	for (i = 0; options && options[i].name; i++) {
		if (code_of(&options[i], first, i) == code)
			return i;
	}
	return -1;
}

static int set_text(char **to, const char *value)
{
	free(*to);
	*to = strdup(value);
	return CTL_GO_ON;
}

static int set_seconds(struct ctl *ctl, const char *option, const char *value,
		       uint64_t least, uint32_t *ms)
{
	uint64_t seconds;
	int status;

	status = ctl_read_number(ctl, option, value, least, TIMEOUT_MAX_S,
				 &seconds);
	if (status)
		return status;
	*ms = (uint32_t)seconds * MS_PER_S;
	return CTL_GO_ON;
}

static int set_global(struct ctl *ctl, int which, const char *value)
{
	switch (which) {
	case GLOBAL_BRICK:
		return set_text(&ctl->settings.brick, value);
	case GLOBAL_CLIENT:
		return set_text(&ctl->settings.client, value);
	case GLOBAL_KEY_FILE:
		return set_text(&ctl->settings.key_file, value);
	case GLOBAL_ADMIN:
		return set_text(&ctl->settings.admin, value);
	case GLOBAL_TIMEOUT:
		return set_seconds(ctl, "--timeout", value, 1,
				   &ctl->settings.timeout_ms);
	case GLOBAL_RECONNECT:
		return set_seconds(ctl, "--reconnect-s", value, 0,
				   &ctl->settings.reconnect_ms);
	case GLOBAL_UNTRUSTED:
		ctl->settings.allow_untrusted_tcp = true;
		return CTL_GO_ON;
	case GLOBAL_JSON:
		ctl->json = true;
		return CTL_GO_ON;
	case GLOBAL_QUIET:
		ctl->quiet = true;
		return CTL_GO_ON;
	case GLOBAL_VERSION:
		puts("brickctl " BRICKCTL_VERSION);
		return CTL_DONE;
	default:
		if (ctl->command)
			ctl_help_command(ctl->command);
		else
			ctl_help();
		return CTL_DONE;
	}
}

static int set_own(struct ctl *ctl, struct ctl_args *args, int i)
{
	const struct ctl_command *command = ctl->command;
	const char *name = command->options[i].name;

	if (!command->repeatable || strcmp(name, command->repeatable) != 0) {
		args->options[i] = optarg ? optarg : "";
		return CTL_GO_ON;
	}
	if (args->n_repeated == CTL_REPEATED_MAX)
		return ctl_usage(ctl, "--%s: more than %d of them", name,
				 CTL_REPEATED_MAX);
	args->repeated[args->n_repeated++] = optarg;
	return CTL_GO_ON;
}

static int set_option(struct ctl *ctl, struct ctl_args *args, int code,
		      char **argv)
{
	const struct ctl_option *own =
		ctl->command ? ctl->command->options : NULL;
	int i;

	if (code == ':')
		return ctl_usage(ctl, "%s: needs a value", argv[optind - 1]);
	i = find_option(own, OWN_FIRST, code);
	if (i >= 0)
		return set_own(ctl, args, i);
	i = find_option(ctl_globals, GLOBAL_FIRST, code);
	if (i >= 0)
		return set_global(ctl, i, optarg);
	if (optopt && optopt < GLOBAL_FIRST)
		return ctl_usage(ctl, "-%c: no such option", optopt);
	return ctl_usage(ctl, "%s: no such option", argv[optind - 1]);
}

static int parse_options(struct ctl *ctl, int argc, char **argv,
			 const char *how, struct ctl_args *args)
{
	struct grammar g = { 0 };
	int status = CTL_GO_ON;
	int code;

	snprintf(g.shorts, sizeof(g.shorts), "%s", how);
	grammar_add(&g, ctl_globals, GLOBAL_FIRST);
	if (ctl->command)
		grammar_add(&g, ctl->command->options, OWN_FIRST);
	optind = 0;
	opterr = 0;
	while (status == CTL_GO_ON) {
		code = getopt_long(argc, argv, g.shorts, g.longs, NULL);
		if (code < 0)
			break;
		status = set_option(ctl, args, code, argv);
	}
	return status;
}

int ctl_parse_globals(struct ctl *ctl, int argc, char **argv, int *next)
{
	int status;

	status = parse_options(ctl, argc, argv, "+:", NULL);
	if (status == CTL_GO_ON)
		*next = optind;
	return status;
}

int ctl_parse_command(struct ctl *ctl, int argc, char **argv,
		      struct ctl_args *args)
{
	const struct ctl_command *command = ctl->command;
	int status;

	status = parse_options(ctl, argc, argv, ":", args);
	if (status != CTL_GO_ON)
		return status;
	for (; optind < argc; optind++) {
		if (args->n_words == command->words + command->words_more)
			return ctl_usage(ctl, "%s: one word too many",
					 argv[optind]);
		args->words[args->n_words++] = argv[optind];
	}
	if (args->n_words < command->words)
		return ctl_usage(ctl, "needs %s", command->synopsis);
	return CTL_GO_ON;
}
