// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl detach: takes a disk away.
 */
#include "initiator/brickctl/disk/attach.h"

enum {
	OPT_FORCE,
};

static const struct ctl_option options[] = {
	[OPT_FORCE] = { "force", 0, NULL, "even while it is in use" },
	{ NULL },
};

static int run_detach(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_disk_order(ctl, args->words[0], "detach",
			      args->options[OPT_FORCE] ? ",force" : "",
			      "detached");
}

const struct ctl_command ctl_cmd_detach = {
	.name = "detach",
	.synopsis = "DISK",
	.summary = "Takes a disk of attach away",
	.details =
		"What is under way is finished, everything is flushed, and the session with the\n"
		"brick ends. A disk that is mounted or otherwise open stays, unless --force; the\n"
		"blocks stay allocated.\n"
		"\n"
		"Example: brickctl detach kfbrick0",
	.options = options,
	.words_min = 1,
	.words_max = 1,
	.changes = true,
	.run = run_detach,
};
