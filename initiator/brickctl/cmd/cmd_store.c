// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl format, check and grow: lets brickd make a store, look at one, or
 * add to it.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "initiator/brickctl/brickctl.h"

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
	unsigned int i;

	for (i = 1; argv[i]; i++) {
		if (strcmp(argv[i], "--help") != 0)
			continue;
		ctl_help_command(ctl->command);
		return CTL_DONE;
	}
	/* argv[-1] is a word of our own command line: at least our name. */
	argv[-1] = (char[]){ "brickd" };
	exec_beside(argv - 1);
	execvp("brickd", argv - 1);
	return ctl_fail(
		ctl, CTL_USAGE, -errno,
		"install brickd, or run it with these words where it is",
		"brickd beside brickctl or in PATH: %s", strerror(errno));
}

const struct ctl_command ctl_cmd_format = {
	.name = "format",
	.synopsis = "STORE [OPTION...]",
	.summary = "Makes a store for a brick on this machine",
	.details =
		"Runs brickd format with all that follows, so this is for the machine that has\n"
		"the store, and the exit status is brickd's; brickd(8) describes the options.\n"
		"\n"
		"Example: brickctl format /var/lib/kfbrick/store --size 64G",
	.words_min = 1,
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
	.words_min = 1,
	.run_raw = run_raw,
};

const struct ctl_command ctl_cmd_grow = {
	.name = "grow",
	.synopsis = "STORE [OPTION...]",
	.summary = "Adds blocks to a store that is not in use",
	.details =
		"Runs brickd grow with all that follows, so this is for the machine that has\n"
		"the store, and the exit status is brickd's; brickd(8) describes the options.\n"
		"\n"
		"Example: brickctl grow /var/lib/kfbrick/store --size 128G",
	.words_min = 1,
	.run_raw = run_raw,
};
