// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl detach: takes a disk away.
 */
#include <stdio.h>

#include "initiator/brickctl/cmd/attach.h"

enum {
	OPT_FORCE,
};

static const struct ctl_option options[] = {
	[OPT_FORCE] = { "force", 0, NULL, "even while it is in use" },
	{ NULL },
};

static int run_detach(struct ctl *ctl, const struct ctl_args *args)
{
	char answer[CTL_ANSWER_BYTES];
	struct json_object *object;
	unsigned int number;
	char order[64];
	char path[64];
	int status;

	status = ctl_disk_number(ctl, args->words[0], &number);
	if (status)
		return status;
	snprintf(path, sizeof(path), "/dev/kfbrick%u", number);
	snprintf(order, sizeof(order), "detach,instance=%u%s", number,
		 args->options[OPT_FORCE] ? ",force" : "");
	status = ctl_control(ctl, path, order, answer);
	if (status || !ctl->json)
		return status;
	object = json_object_new_object();
	ctl_json_text(object, "detached", path);
	ctl_json_print(object);
	return CTL_DONE;
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
