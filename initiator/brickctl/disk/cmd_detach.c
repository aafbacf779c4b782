// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl detach and reattach: take a disk away; let one that has failed come back to
 * its brick.
 */
#include <stdio.h>

#include "initiator/brickctl/disk/attach.h"

enum {
	OPT_FORCE,
};

static const struct ctl_option options[] = {
	[OPT_FORCE] = { "force", 0, NULL, "even while it is in use" },
	{ NULL },
};

/*
 * The verb of the order, and flags behind it: ",force" or ""; done names what is
 * printed with --json.
 */
static int order_about_disk(struct ctl *ctl, const char *disk, const char *verb,
			    const char *flags, const char *done)
{
	char answer[CTL_ANSWER_BYTES];
	unsigned int number;
	char line[64];
	char path[64];
	int status;

	status = ctl_disk_number(ctl, disk, &number);
	if (status)
		return status;
	snprintf(path, sizeof(path), "/dev/kfbrick%u", number);
	snprintf(line, sizeof(line), "%s,instance=%u%s", verb, number, flags);
	status = ctl_control(ctl, path, line, answer);
	if (!status && ctl->json)
		ctl_json_print(ctl_json_of(done, json_object_new_string(path)));
	return status;
}

static int run_detach(struct ctl *ctl, const struct ctl_args *args)
{
	return order_about_disk(ctl, args->words[0], "detach",
				args->options[OPT_FORCE] ? ",force" : "",
				"detached");
}

static int run_reattach(struct ctl *ctl, const struct ctl_args *args)
{
	return order_about_disk(ctl, args->words[0], "reattach", "",
				"reattached");
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
	.words = 1,
	.changes = true,
	.run = run_detach,
};

const struct ctl_command ctl_cmd_reattach = {
	.name = "reattach",
	.synopsis = "DISK",
	.summary = "Takes up a disk again whose brick was away too long",
	.details =
		"A disk whose brick did not come back in --reconnect-s is failed. When the brick is\n"
		"there again this makes it go on, under all that is mounted or otherwise open: for\n"
		"as long again it tries to connect, maps its blocks, and writes again what may be\n"
		"lost and there are copies of. If completed writes are lost it is lossy, as it would\n"
		"have been before. What failed meanwhile has failed: a file system that has shut\n"
		"itself down is to be mounted again.\n"
		"\n"
		"Example: brickctl reattach kfbrick0",
	.words = 1,
	.changes = true,
	.run = run_reattach,
};
