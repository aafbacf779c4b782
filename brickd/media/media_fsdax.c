// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file on a file system that maps persistent memory directly.
 *
 * A slot is registered and mapped as one 2 MiB page only if the file system
 * has placed it in one piece, 2 MiB aligned. Preallocation hints do not
 * promise that, so format looks at what it got.
 */
#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "brickd/media/media_impl.h"
#include "kfb_wire.h"

#define EXTENTS_PER_CALL 128

struct fragment_scan {
	uint64_t piece; /* the 2 MiB piece the last extent ended in */
	uint64_t covered; /* good bytes of it so far, from its start */
	uint64_t good;
	uint64_t phys_end; /* where the last extent ended */
};

/* Pieces that lie wholly in one aligned stretch are good. */
static void scan_extent(struct fragment_scan *s, const struct fiemap_extent *e)
{
	uint64_t pos = e->fe_logical, end = pos + e->fe_length;
	uint64_t phys = e->fe_physical;

	while (pos < end) {
		uint64_t piece = pos >> KFB_BLOCK_SHIFT;
		uint64_t piece_end = (piece + 1) << KFB_BLOCK_SHIFT;
		uint64_t n = (end < piece_end ? end : piece_end) - pos;
		uint64_t in_piece = pos & (KFB_BLOCK_BYTES - 1);

		if (!in_piece && !(phys & (KFB_BLOCK_BYTES - 1))) {
			s->piece = piece;
			s->covered = n;
		} else if (piece == s->piece && in_piece == s->covered &&
			   in_piece && phys == s->phys_end) {
			s->covered += n;
		} else {
			s->covered = 0;
		}
		if (s->covered == KFB_BLOCK_BYTES)
			s->good++;
		pos += n;
		phys += n;
		s->phys_end = phys;
	}
}

int brick_media_fragments(int fd, uint64_t size, uint64_t *n_bad)
{
	struct fragment_scan scan = { 0 };
	uint64_t pos = 0;
	struct fiemap *map;
	int ret = 0;

	map = calloc(1, sizeof(*map) +
				EXTENTS_PER_CALL * sizeof(map->fm_extents[0]));
	if (!map)
		return -ENOMEM;
	while (pos < size) {
		const struct fiemap_extent *last;
		uint32_t i;

		map->fm_start = pos;
		map->fm_length = size - pos;
		map->fm_flags = FIEMAP_FLAG_SYNC;
		map->fm_extent_count = EXTENTS_PER_CALL;
		map->fm_mapped_extents = 0;
		if (ioctl(fd, FS_IOC_FIEMAP, map)) {
			ret = -errno;
			break;
		}
		for (i = 0; i < map->fm_mapped_extents; i++)
			scan_extent(&scan, &map->fm_extents[i]);
		if (!i)
			break;
		last = &map->fm_extents[i - 1];
		if (last->fe_flags & FIEMAP_EXTENT_LAST ||
		    last->fe_logical + last->fe_length <= pos)
			break;
		pos = last->fe_logical + last->fe_length;
	}
	free(map);
	if (!ret)
		*n_bad = (size >> KFB_BLOCK_SHIFT) - scan.good;
	return ret;
}

static bool is_fsdax(const struct brick_media_file *f,
		     const struct brick_media_map *mm)
{
	return mm->m.granularity != BRICK_GRANULARITY_PAGE;
}

static int adopt_fsdax(const struct brick_media_file *f,
		       struct brick_media_map *mm)
{
	uint64_t n_bad;
	int ret;

	mm->m.ops = &brick_media_pmem_ops;
	if (!f->create || f->create->allow_fragmented)
		return 0;
	ret = brick_media_fragments(f->fd, mm->m.size, &n_bad);
	if (ret) {
		brick_media_say(f->err, f->err_len,
				"%s: cannot tell where the file lies (FIEMAP "
				"error %d); --allow-fragmented accepts that",
				f->path, -ret);
		return ret;
	}
	if (!n_bad)
		return 0;
	brick_media_say(f->err, f->err_len,
			"%s: %llu of %llu slots are not in one piece and 2 MiB "
			"aligned; use a file system made for it (ext4 -O "
			"bigalloc -C 2M), devdax, or --allow-fragmented",
			f->path, (unsigned long long)n_bad,
			(unsigned long long)(mm->m.size >> KFB_BLOCK_SHIFT));
	return -EFBIG;
}

const struct brick_medium brick_medium_fsdax = {
	.label = KFB_MEDIUM_FSDAX,
	.is_pmem = true,
	.is_mine = is_fsdax,
	.adopt = adopt_fsdax,
};
