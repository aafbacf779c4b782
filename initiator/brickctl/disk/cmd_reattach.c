// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl reattach: a disk that has failed comes back to its brick.
 */
#include "initiator/brickctl/disk/attach.h"

static int run_reattach(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_disk_order(ctl, args->words[0], "reattach", "",
			      "reattached");
}

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
	.words_min = 1,
	.words_max = 1,
	.changes = true,
	.run = run_reattach,
};
