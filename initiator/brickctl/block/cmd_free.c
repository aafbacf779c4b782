// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl free: frees blocks.
 */
#include "initiator/brickctl/base/brickctl.h"

static int run_free(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_in_batches(ctl, args->words[0], kfbrick_free, "freeing",
			      "freed");
}

const struct ctl_command ctl_cmd_free = {
	.name = "free",
	.synopsis = "VA+N",
	.summary = "Frees N blocks from address VA on, durably",
	.details =
		"What the blocks held is gone when this returns. Blocks that anyone has mapped\n"
		"are refused. The form of VA+N and the rule for long ranges are those of alloc.\n"
		"\n"
		"Example: brickctl free 0x0+128",
	.words_min = 1,
	.words_max = 1,
	.changes = true,
	.run = run_free,
};
