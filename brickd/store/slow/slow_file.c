// SPDX-License-Identifier: BSD-2-Clause
/*
 * A slow tier in a file or on a block device: pread, pwrite, fdatasync.
 *
 * A block device is opened with O_DIRECT where it can be: blocks at rest are
 * of no use in the page cache, and an error names its block.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "brickd/media/media_say.h"
#include "brickd/media/room.h"
#include "brickd/store/format/format.h"
#include "brickd/store/slow/slow.h"

#define FILE_MODE 0600

struct slow_file {
	struct brick_slow slow;
	int fd;
};

/* A file on its way to becoming a slow tier. */
struct opening {
	const char *path;
	const struct brick_slow_create *create;
	int fd;
	enum brick_made made;
	bool is_tmpfs;
	int sync_error;
	uint64_t size;
	char *err;
	size_t err_len;
};

static int fd_of(const struct brick_slow *slow)
{
	return ((const struct slow_file *)(const void *)slow)->fd;
}

_Static_assert(offsetof(struct slow_file, slow) == 0, "for fd_of()");

static int file_read(struct brick_slow *slow, uint64_t off, void *to,
		     size_t len)
{
	char *at = to;
	ssize_t n;

	while (len) {
		n = pread(fd_of(slow), at, len, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			return -EIO; /* it was cut short meanwhile */
		at += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static int file_write(struct brick_slow *slow, uint64_t off, const void *from,
		      size_t len)
{
	const char *at = from;
	ssize_t n;

	while (len) {
		n = pwrite(fd_of(slow), at, len, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* Room that format has set aside is kept: no holes, but in memory. */
static int file_zero(struct brick_slow *slow, uint64_t off, size_t len)
{
	static const uint8_t zeros[16 * BRICK_FMT_PAGE]
		__attribute__((aligned(BRICK_FMT_PAGE)));
	int mode =
		slow->is_volatile ? FALLOC_FL_PUNCH_HOLE : FALLOC_FL_ZERO_RANGE;
	int ret = 0;

	if (!fallocate(fd_of(slow), mode | FALLOC_FL_KEEP_SIZE, (off_t)off,
		       (off_t)len))
		return 0;
	while (len && !ret) {
		size_t piece = len < sizeof(zeros) ? len : sizeof(zeros);

		ret = file_write(slow, off, zeros, piece);
		off += piece;
		len -= piece;
	}
	return ret;
}

/* Not again after EINTR: the first one may have been told an error as well. */
static int file_sync(struct brick_slow *slow)
{
	return fdatasync(fd_of(slow)) ? -errno : 0;
}

static void file_close(struct brick_slow *slow)
{
	(void)close(fd_of(slow));
	free(slow->path);
	free(slow);
}

static const struct brick_slow_ops file_ops = {
	.read = file_read,
	.write = file_write,
	.zero = file_zero,
	.sync = file_sync,
	.close = file_close,
};

static int say_errno(const struct opening *o, const char *what)
{
	int error = errno;

	brick_media_say(o->err, o->err_len, "%s: %s: %s", o->path, what,
			strerror(error));
	return -error;
}

static int open_slow_path(struct opening *o)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct stat st;

	if (!stat(o->path, &st) && S_ISBLK(st.st_mode)) {
		/* Not mounted, not part of anything else, of no other brickd. */
		o->fd = open(o->path, flags | O_EXCL | O_DIRECT);
		if (o->fd < 0 && errno == EBUSY) {
			brick_media_say(o->err, o->err_len,
					"%s: the device is in use: mounted, "
					"part of another device, or another "
					"brickd's",
					o->path);
			return -EBUSY;
		}
	} else {
		o->fd = open(o->path, flags);
		if (o->fd < 0 && errno == ENOENT && o->create) {
			o->fd = open(o->path, flags | O_CREAT | O_EXCL,
				     FILE_MODE);
			if (o->fd >= 0)
				o->made = BRICK_MADE_FILE;
		}
	}
	return o->fd < 0 ? say_errno(o, "cannot open the slow tier") : 0;
}

static int lock_path(const struct opening *o)
{
	if (!flock(o->fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return say_errno(o, "cannot lock");
	brick_media_say(o->err, o->err_len,
			"%s: in use by another process; stop that brickd first",
			o->path);
	return -EWOULDBLOCK;
}

static int make_file(struct opening *o)
{
	uint64_t size = o->create->size;
	int error;

	if (!size || size > INT64_MAX) {
		brick_media_say(o->err, o->err_len,
				"%s: is empty: give --slow-size", o->path);
		return -EINVAL;
	}
	if (o->made == BRICK_MADE_NOTHING)
		o->made = BRICK_MADE_ROOM;
	if (o->create->sparse)
		error = ftruncate(o->fd, (off_t)size) ? errno : 0;
	else
		error = brick_room_take(o->fd, 0, size);
	if (error) {
		errno = error;
		return say_errno(o, "cannot allocate the slow tier");
	}
	o->size = size;
	return 0;
}

static int size_slow_file(struct opening *o, const struct stat *st)
{
	struct statfs fs;

	if (fstatfs(o->fd, &fs))
		return say_errno(o, "statfs");
	o->is_tmpfs = fs.f_type == TMPFS_MAGIC;
	o->size = (uint64_t)st->st_size;
	if (!o->create)
		return 0;
	if (!o->size)
		return make_file(o);
	if (!o->create->size || o->create->size == o->size)
		return 0;
	brick_media_say(o->err, o->err_len,
			"%s: exists with %llu bytes, not %llu; remove it or "
			"leave out --slow-size",
			o->path, (unsigned long long)o->size,
			(unsigned long long)o->create->size);
	return -EEXIST;
}

static int size_device(struct opening *o)
{
	int sector;

	if (ioctl(o->fd, BLKGETSIZE64, &o->size) ||
	    ioctl(o->fd, BLKSSZGET, &sector))
		return say_errno(o, "cannot learn its size");
	if (sector > (int)BRICK_FMT_PAGE) {
		brick_media_say(o->err, o->err_len,
				"%s: has sectors of %d bytes; a slow tier's "
				"are at most %u",
				o->path, sector, BRICK_FMT_PAGE);
		return -ENOTSUP;
	}
	if (!o->create || !o->create->size)
		return 0;
	brick_media_say(o->err, o->err_len,
			"%s: a device has a size of its own; leave out "
			"--slow-size",
			o->path);
	return -ENOTSUP;
}

static int find_size(struct opening *o)
{
	struct stat st;

	if (fstat(o->fd, &st))
		return say_errno(o, "cannot look at it");
	if (S_ISBLK(st.st_mode))
		return size_device(o);
	if (S_ISREG(st.st_mode))
		return size_slow_file(o, &st);
	brick_media_say(o->err, o->err_len,
			"%s: a slow tier is a file or a block device", o->path);
	return -ENOTSUP;
}

static int finish_opening(const struct opening *o, struct brick_slow **out)
{
	struct slow_file *f = calloc(1, sizeof(*f));
	char *path = strdup(o->path);

	if (!f || !path) {
		free(f);
		free(path);
		brick_media_say(o->err, o->err_len, "%s: not enough memory",
				o->path);
		return -ENOMEM;
	}
	f->fd = o->fd;
	f->slow.ops = &file_ops;
	f->slow.size = o->size;
	f->slow.path = path;
	f->slow.made = o->made;
	f->slow.fresh_is_zero = o->made != BRICK_MADE_NOTHING;
	f->slow.is_volatile = o->is_tmpfs;
	f->slow.sync_error = o->sync_error;
	*out = &f->slow;
	return 0;
}

int brick_slow_open(const char *path, const struct brick_slow_create *create,
		    struct brick_slow **out, char *err, size_t err_len)
{
	struct opening o = {
		.path = path,
		.create = create,
		.fd = -1,
		.err = err,
		.err_len = err_len,
	};
	int ret;

	ret = open_slow_path(&o);
	if (ret)
		return ret;
	ret = lock_path(&o);
	if (!ret)
		ret = find_size(&o);
	/*
	 * An error that nobody has been told yet is told here and not to the first
	 * move. What Linux could not write looks written until it is dropped.
	 */
	if (!ret && o.made == BRICK_MADE_NOTHING) {
		if (fdatasync(o.fd))
			o.sync_error = -errno;
		(void)posix_fadvise(o.fd, 0, 0, POSIX_FADV_DONTNEED);
	}
	if (!ret)
		ret = finish_opening(&o, out);
	if (!ret)
		return 0;
	brick_unmake(path, o.fd, o.made);
	(void)close(o.fd);
	return ret;
}

void brick_slow_discard(struct brick_slow *slow)
{
	brick_unmake(slow->path, fd_of(slow), slow->made);
	brick_slow_close(slow);
}

int brick_slow_extend(struct brick_slow *slow, uint64_t size, char *err,
		      size_t err_len)
{
	struct stat st;
	int ret;

	if (fstat(fd_of(slow), &st) || !S_ISREG(st.st_mode)) {
		brick_media_say(err, err_len,
				"%s: is no file and has a size of its own; "
				"leave out the size",
				slow->path);
		return -ENOTSUP;
	}
	if (size <= slow->size || size > INT64_MAX) {
		brick_media_say(err, err_len,
				"%s: has %llu bytes; %llu are not more",
				slow->path, (unsigned long long)slow->size,
				(unsigned long long)size);
		return -EINVAL;
	}
	if (slow->is_volatile) {
		ret = ftruncate(fd_of(slow), (off_t)size) ? -errno : 0;
	} else {
		ret = -brick_room_take(fd_of(slow), slow->size,
				       size - slow->size);
		if (ret)
			(void)!ftruncate(fd_of(slow), (off_t)slow->size);
	}
	if (!ret)
		ret = slow->ops->sync(slow);
	if (ret)
		brick_media_say(err, err_len,
				"%s: cannot allocate %llu bytes: %s",
				slow->path, (unsigned long long)size,
				strerror(-ret));
	else
		slow->size = size;
	return ret;
}
