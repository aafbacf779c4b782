// SPDX-License-Identifier: BSD-2-Clause
/*
 * ALLOC and FREE over ranges that are longer than the brick takes at once.
 */
#include <inttypes.h>
#include <stdio.h>

#include "initiator/brickctl/base/brickctl.h"
#include "initiator/brickctl/base/progress.h"

static void print_batch_done(struct ctl *ctl, uint64_t va, uint64_t n_blocks,
			     const char *done)
{
	char size[CTL_SIZE_TEXT_BYTES];
	struct json_object *object;

	if (ctl->json) {
		object = json_object_new_object();
		ctl_json_hex(object, "va", va);
		ctl_json_count(object, "n_blocks", n_blocks);
		ctl_json_print(object);
	} else {
		printf("%" PRIu64 " block%s (%s) at 0x%" PRIx64 " %s\n",
		       n_blocks, ctl_plural(n_blocks),
		       ctl_size_text(size, ctl_blocks_bytes(n_blocks)), va,
		       done);
	}
}

int ctl_in_batches(struct ctl *ctl, const char *range,
		   int (*op)(struct kfbrick *k, uint64_t va, uint64_t n_blocks),
		   const char *doing, const char *done)
{
	struct ctl_progress progress;
	struct kfbrick_info info = { .size = sizeof(info) };
	uint64_t n_done = 0;
	uint64_t n_blocks;
	uint64_t n;
	uint64_t va;
	int status;
	int err;

	status = ctl_read_range(ctl, range, &va, &n_blocks);
	if (!status)
		status = ctl_connect(ctl);
	if (status)
		return status;
	err = kfbrick_get_info(ctl->k, &info);
	if (err)
		return ctl_fail_call(ctl, err, "%s", ctl->settings.brick);
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
	if (!err)
		print_batch_done(ctl, va, n_blocks, done);
	else if (n_done)
		status = ctl_fail_call(ctl, err,
				       "0x%" PRIx64 "+%" PRIu64 " (0x%" PRIx64
				       "+%" PRIu64 " are %s)",
				       va + ctl_blocks_bytes(n_done), n, va,
				       n_done, done);
	else
		status = ctl_fail_range(ctl, err, va, n);
	return status;
}
