// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl format, check and grow: lets brickd make a store, look at one, or
 * add to it.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "initiator/brickctl/base/brickctl.h"

/* From the folder brickctl is in: beside it, and where packages put daemons. */
static const char *const places[] = {
	"brickd",
	"../sbin/brickd",
	"../libexec/brickd",
	"../libexec/kfbrick/brickd",
};

/* Tries to become brickd; returns when it is not there. */
static void exec_beside(char **argv)
{
	char self[PATH_MAX];
	char path[2 * PATH_MAX];
	const char *folder;
	unsigned int i;
	ssize_t len;

	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len < 0)
		return;
	self[len] = '\0';
	folder = dirname(self);
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, places[i]);
		execv(path, argv);
	}
}

static int run_raw(struct ctl *ctl, char **argv)
{
	char brickd[] = "brickd";
	char json[] = "--json";
	unsigned int i, n = 0;
	char **words;
	int err;

	for (i = 1; argv[i]; i++) {
		if (strcmp(argv[i], "--help") != 0)
			continue;
		ctl_help_command(ctl->command);
		return CTL_DONE;
	}
	words = calloc(i + 3, sizeof(*words));
	if (!words)
		return ctl_no_memory(ctl);
	words[n++] = brickd;
	words[n++] = argv[0];
	/* Given before the command it is meant for it, too. */
	if (ctl->json)
		words[n++] = json;
	memcpy(&words[n], &argv[1], i * sizeof(*words));
	exec_beside(words);
	execvp("brickd", words);
	err = errno;
	free(words);
	return ctl_fail(
		ctl, CTL_USAGE, -err,
		"install brickd, or run it with these words where it is",
		"brickd beside brickctl or in PATH: %s", strerror(err));
}

/*
 * For --help only: brickd reads them. A test compares them with what brickd has.
 */
static const struct ctl_option format_options[] = {
	{ "size", 0, "SIZE", "of the file, like 64G; not for a device" },
	{ "slow", 0, "PATH", "a slow tier: a file or a block device" },
	{ "slow-size", 0, "SIZE", "of that file" },
	{ "uuid", 0, "UUID", "the store's name; a random one unless given" },
	{ "force", 0, NULL, "overwrite a store or other data" },
	{ "sparse", 0, NULL, "do not allocate; only on volatile media" },
	{ "allow-fragmented", 0, NULL, "accept a DAX file in several pieces" },
	{ NULL },
};

static const struct ctl_option check_options[] = {
	{ "repair", 0, NULL, "put right what can be" },
	{ "slow", 0, "PATH", "look at the store's slow tier, too" },
	{ "read-clean", 0, NULL, "read free slots recorded as zero, too" },
	{ NULL },
};

static const struct ctl_option grow_options[] = {
	{ "size", 0, "SIZE", "make the file as large as this first" },
	{ "slow", 0, "PATH", "take the room of the slow tier, too" },
	{ "slow-size", 0, "SIZE", "make its file as large as this first" },
	{ NULL },
};

const struct ctl_command ctl_cmd_format = {
	.name = "format",
	.synopsis = "STORE [OPTION...]",
	.summary = "Makes a store for a brick on this machine",
	.details =
		"Runs brickd format with all that follows, so this is for the machine that has\n"
		"the store, and the exit status is brickd's; brickd(8) says more of the options.\n"
		"\n"
		"Example: brickctl format /var/lib/kfbrick/store --size 64G",
	.options = format_options,
	.run_raw = run_raw,
};

const struct ctl_command ctl_cmd_check = {
	.name = "check",
	.synopsis = "STORE [OPTION...]",
	.summary = "Looks for damage in a store that is not in use",
	.details =
		"Runs brickd check with all that follows, so this is for the machine that has\n"
		"the store, and the exit status is brickd's; brickctl-check(8) describes the\n"
		"options and explains each finding. Nothing is changed without --repair.\n"
		"\n"
		"Example: brickctl check /var/lib/kfbrick/store",
	.options = check_options,
	.run_raw = run_raw,
};

const struct ctl_command ctl_cmd_grow = {
	.name = "grow",
	.synopsis = "STORE [OPTION...]",
	.summary = "Adds blocks to a store that is not in use",
	.details =
		"Runs brickd grow with all that follows, so this is for the machine that has\n"
		"the store, and the exit status is brickd's; brickd(8) says more of the options.\n"
		"\n"
		"Example: brickctl grow /var/lib/kfbrick/store --size 128G",
	.options = grow_options,
	.run_raw = run_raw,
};
