// SPDX-License-Identifier: BSD-2-Clause
/*
 * A devdax device: persistent memory without a file system, for production.
 */
#include <errno.h>

#include "brickd/media/media_impl.h"
#include "kfb_wire.h"

static bool is_devdax(const struct brick_media_file *f,
		      const struct brick_media_map *mm)
{
	return f->is_device;
}

static int adopt_devdax(const struct brick_media_file *f,
			struct brick_media_map *mm)
{
	if (mm->m.granularity == BRICK_GRANULARITY_PAGE) {
		brick_media_say(f->err, f->err_len,
				"%s: the CPU cannot flush this device; it is "
				"not persistent memory",
				f->path);
		return -ENOTSUP;
	}
	/* A slot must be one page of the device, or it maps at a crawl. */
	if (!mm->align_bytes || mm->align_bytes % KFB_BLOCK_BYTES) {
		brick_media_say(f->err, f->err_len,
				"%s: is aligned to %zu bytes, not to 2 MiB; "
				"run: ndctl create-namespace -f -e "
				"namespaceX.Y -m devdax -a 2M",
				f->path, mm->align_bytes);
		return -ENOTSUP;
	}
	mm->m.ops = &brick_media_pmem_ops;
	return 0;
}

const struct brick_medium brick_medium_devdax = {
	.label = KFB_MEDIUM_DEVDAX,
	.is_pmem = true,
	.is_device = true,
	.is_mine = is_devdax,
	.adopt = adopt_devdax,
};
