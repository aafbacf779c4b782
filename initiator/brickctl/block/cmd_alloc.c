// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl alloc: allocates blocks.
 */
#include "initiator/brickctl/base/brickctl.h"

static int run_alloc(struct ctl *ctl, const struct ctl_args *args)
{
	return ctl_in_batches(ctl, args->words[0], kfbrick_alloc, "allocating",
			      "allocated");
}

const struct ctl_command ctl_cmd_alloc = {
	.name = "alloc",
	.synopsis = "VA+N",
	.summary = "Allocates N blocks from address VA on, durably",
	.details =
		"VA is an address on a 2 MiB boundary, in decimal or hexadecimal, with K, M, G\n"
		"or T if you like. N counts blocks of 2 MiB, or bytes when it has such a letter.\n"
		"New blocks read as zeros. All are allocated or none, unless there are more than\n"
		"the brick takes at once (info shows alloc_max); the error then says how far it\n"
		"came.\n"
		"\n"
		"Example: brickctl alloc 0x0+128     the first 256 MiB\n"
		"         brickctl alloc 4G+1T       1 TiB from 4 GiB on",
	.words_min = 1,
	.words_max = 1,
	.changes = true,
	.run = run_alloc,
};
