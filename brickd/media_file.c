// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file behind the page cache, and a file in memory.
 *
 * A plain file is durable after one fdatasync, which writes every dirty page
 * of the mapping; msync per range costs many times more. A tmpfs file is gone
 * with the power whatever is called, so nothing is.
 */
#include <errno.h>
#include <unistd.h>

#include "brickd/media_impl.h"
#include "kfb_wire.h"

static int file_drain(struct brick_media *m)
{
	while (fdatasync(m->fd)) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static const struct brick_media_ops file_ops = {
	.st64 = brick_media_st64,
	.copy = brick_media_copy,
	.zero = brick_media_zero,
	.flush = brick_media_flush_nothing,
	.drain = file_drain,
	.close = brick_media_unmap,
};

static const struct brick_media_ops tmpfs_ops = {
	.st64 = brick_media_st64,
	.copy = brick_media_copy,
	.zero = brick_media_zero,
	.flush = brick_media_flush_nothing,
	.drain = brick_media_drain_nothing,
	.close = brick_media_unmap,
};

int brick_media_file_adopt(const struct brick_media_file *f,
			   struct brick_media_map *mm, bool is_tmpfs)
{
	(void)f;
	mm->m.kind = is_tmpfs ? KFB_MEDIUM_VOLATILE : KFB_MEDIUM_FILE;
	mm->m.ops = is_tmpfs ? &tmpfs_ops : &file_ops;
	mm->m.granularity = BRICK_GRANULARITY_PAGE;
	return 0;
}
