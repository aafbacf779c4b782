// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file behind the page cache, and a file in memory.
 *
 * A plain file is durable after one fdatasync, which writes every dirty page
 * of the mapping; msync per range costs many times more. A tmpfs file is gone
 * with the power whatever is called, so nothing is.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brickd/media/media_impl.h"
#include "brickd/media/room.h"
#include "kfb_wire.h"

#define STAT_BLOCK_BYTES 512 /* the unit of st_blocks, stat(2) */

/* Not again after EINTR: the first one may have been told an error as well. */
static int file_drain(struct brick_media *m)
{
	return fdatasync(m->fd) ? -errno : 0;
}

/* A file system remembers an error for longer than a file does. */
static int file_lost(struct brick_media *m)
{
	return syncfs(m->fd) ? -errno : 0;
}

static const struct brick_media_ops file_ops = {
	.st64 = brick_media_st64,
	.copy = brick_media_copy,
	.zero = brick_media_zero,
	.flush = brick_media_flush_nothing,
	.drain = file_drain,
	.lost = file_lost,
	.close = brick_media_unmap,
};

/* Zeros of a sparse file take no memory: a hole, where holes can be. */
static void sparse_zero(struct brick_media *m, uint64_t off, size_t len)
{
	if (fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      (off_t)off, (off_t)len))
		brick_media_zero(m, off, len);
}

static bool is_sparse(int fd, uint64_t size)
{
	struct stat st;

	return !fstat(fd, &st) &&
	       (uint64_t)st.st_blocks * STAT_BLOCK_BYTES < size;
}

static const struct brick_media_ops sparse_tmpfs_ops = {
	.st64 = brick_media_st64,
	.copy = brick_media_copy,
	.zero = sparse_zero,
	.flush = brick_media_flush_nothing,
	.drain = brick_media_drain_nothing,
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

static bool is_tmpfs(const struct brick_media_file *f,
		     const struct brick_media_map *mm)
{
	return f->is_tmpfs;
}

static int adopt_tmpfs(const struct brick_media_file *f,
		       struct brick_media_map *mm)
{
	mm->m.ops = is_sparse(mm->m.fd, mm->m.size) ? &sparse_tmpfs_ops
						    : &tmpfs_ops;
	mm->m.granularity = BRICK_GRANULARITY_PAGE;
	return 0;
}

const struct brick_medium brick_medium_tmpfs = {
	.label = KFB_MEDIUM_VOLATILE,
	.is_volatile = true,
	.is_mine = is_tmpfs,
	.adopt = adopt_tmpfs,
};

static bool is_any(const struct brick_media_file *f,
		   const struct brick_media_map *mm)
{
	return true;
}

static int adopt_file(const struct brick_media_file *f,
		      struct brick_media_map *mm)
{
	mm->m.ops = &file_ops;
	mm->m.granularity = BRICK_GRANULARITY_PAGE;
	return 0;
}

const struct brick_medium brick_medium_file = {
	.label = KFB_MEDIUM_FILE,
	.is_mine = is_any,
	.adopt = adopt_file,
};

int brick_media_extend(struct brick_media *m, uint64_t size, char *err,
		       size_t err_len)
{
	struct stat st;
	int ret;

	if (m->fd < 0 || fstat(m->fd, &st) || !S_ISREG(st.st_mode)) {
		brick_media_say(err, err_len,
				"%s: is no file and has a size of its own; "
				"leave out the size",
				m->path);
		return -ENOTSUP;
	}
	if (size <= (uint64_t)st.st_size || size > INT64_MAX) {
		brick_media_say(err, err_len,
				"%s: has %lld bytes; %llu are not more",
				m->path, (long long)st.st_size,
				(unsigned long long)size);
		return -EINVAL;
	}
	if (m->is_volatile && is_sparse(m->fd, m->size)) {
		ret = ftruncate(m->fd, (off_t)size) ? -errno : 0;
	} else {
		ret = -brick_room_take(m->fd, (uint64_t)st.st_size,
				       size - (uint64_t)st.st_size);
		if (ret)
			(void)!ftruncate(m->fd, st.st_size);
	}
	if (ret)
		brick_media_say(err, err_len,
				"%s: cannot allocate %llu bytes: %s; it is as "
				"it was",
				m->path, (unsigned long long)size,
				strerror(-ret));
	return ret;
}
