// SPDX-License-Identifier: BSD-2-Clause
/*
 * brickctl alloc and free: allocate blocks, and free them, also over ranges that are
 * longer than the brick takes at once.
 */
#include <inttypes.h>

#include "initiator/brickctl/base/brickctl.h"
#include "initiator/brickctl/base/progress.h"

/*
 * One or the other over a range of any length: op does a piece that the brick takes
 * at once, doing and done are for people.
 */
static int in_batches(struct ctl *ctl, const char *range,
		      int (*op)(struct kfbrick *k, uint64_t va,
				uint64_t n_blocks),
		      const char *doing, const char *done)
{
	struct ctl_progress progress;
	struct kfbrick_info info;
	char size[CTL_SIZE_TEXT_BYTES];
	struct json_object *object;
	uint64_t n_done = 0;
	uint64_t n_blocks;
	uint64_t n;
	uint64_t va;
	int status;
	int err = 0;

	status = ctl_read_range(ctl, range, &va, &n_blocks);
	if (!status)
		status = ctl_connect_info(ctl, &info);
	if (status)
		return status;
	if (!info.alloc_max_blocks)
		info.alloc_max_blocks = n_blocks;
	ctl_progress_start(&progress, ctl, doing, ctl_blocks_bytes(n_blocks));
	for (; n_done < n_blocks; n_done += n) {
		n = n_blocks - n_done;
		if (n > info.alloc_max_blocks)
			n = info.alloc_max_blocks;
		err = op(ctl->k, va + ctl_blocks_bytes(n_done), n);
		if (err)
			break;
		ctl->under_way = true;
		ctl_progress_add(&progress, ctl_blocks_bytes(n));
	}
	ctl_progress_stop(&progress);
	if (err && n_done)
		return ctl_fail_call(ctl, err,
				     "0x%" PRIx64 "+%" PRIu64 " (0x%" PRIx64
				     "+%" PRIu64 " are %s)",
				     va + ctl_blocks_bytes(n_done), n, va,
				     n_done, done);
	if (err)
		return ctl_fail_range(ctl, err, va, n);
	object = json_object_new_object();
	ctl_json_hex(object, "va", va);
	ctl_json_count(object, "n_blocks", n_blocks);
	return ctl_done(ctl, object,
			"%" PRIu64 " block%s (%s) at 0x%" PRIx64 " %s\n",
			n_blocks, ctl_plural(n_blocks),
			ctl_size_text(size, ctl_blocks_bytes(n_blocks)), va,
			done);
}

static int run_alloc(struct ctl *ctl, const struct ctl_args *args)
{
	return in_batches(ctl, args->words[0], kfbrick_alloc, "allocating",
			  "allocated");
}

static int run_free(struct ctl *ctl, const struct ctl_args *args)
{
	return in_batches(ctl, args->words[0], kfbrick_free, "freeing",
			  "freed");
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
	.words = 1,
	.changes = true,
	.run = run_alloc,
};

const struct ctl_command ctl_cmd_free = {
	.name = "free",
	.synopsis = "VA+N",
	.summary = "Frees N blocks from address VA on, durably",
	.details =
		"What the blocks held is gone when this returns. Blocks that anyone has mapped\n"
		"are refused. The form of VA+N and the rule for long ranges are those of alloc.\n"
		"\n"
		"Example: brickctl free 0x0+128",
	.words = 1,
	.changes = true,
	.run = run_free,
};
