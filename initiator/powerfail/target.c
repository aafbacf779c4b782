// SPDX-License-Identifier: BSD-2-Clause
/* Where records go: see target.h. */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "target_brick.h"

bool target_take_option(struct target_name *name, int option, const char *value)
{
	switch (option) {
	case 'B':
		name->brick = value;
		return true;
	case 'c':
		name->client = value;
		return true;
	case 'k':
		name->key_file = value;
		return true;
	case 'u':
		name->allow_untrusted_tcp = true;
		return true;
	default:
		return false;
	}
}

int target_fail(struct target *t, int rc, const char *what, const char *why)
{
	(void)snprintf(t->why, sizeof(t->why), "%s: %s", what, why);
	return rc;
}

/* ---- a device or file -------------------------------------------------- */

/* What is written there is flushed from the page cache, too. */
static int open_file(struct target *t, const struct target_name *name,
		     bool write)
{
	const int flags = (write ? O_RDWR : O_RDONLY) | O_CLOEXEC;

	t->fd = open(name->path, flags | O_DIRECT);
	if (t->fd >= 0 || errno != EINVAL)
		return t->fd < 0 ? -errno : 0;
	if (!write && !name->page_cache)
		return target_fail(t, -EINVAL, name->path,
				   "its file system has no way past the page "
				   "cache: see --page-cache");
	t->fd = open(name->path, flags);
	if (t->fd < 0)
		return -errno;
	if (write)
		return 0;
	/* Nothing that the cache still holds may stand for what the disk has kept. */
	if (fdatasync(t->fd))
		return -errno;
	return -posix_fadvise(t->fd, 0, 0, POSIX_FADV_DONTNEED);
}

static int open_path(struct target *t, const struct target_name *name,
		     uint64_t offset, uint64_t *size, bool write)
{
	const char *path = name->path;
	struct stat st;
	uint64_t has;
	int rc;

	rc = open_file(t, name, write);
	if (rc)
		return t->why[0] ? rc : target_fail(t, rc, path, strerror(-rc));
	rc = fstat(t->fd, &st);
	has = rc ? 0 : (uint64_t)st.st_size;
	if (!rc && S_ISBLK(st.st_mode))
		rc = ioctl(t->fd, BLKGETSIZE64, &has);
	if (rc)
		return target_fail(t, -errno, path, strerror(errno));
	if (offset > has || *size > has - offset)
		return target_fail(t, -ENOSPC, path, "it is not that large");
	if (!*size)
		*size = has - offset;
	return 0;
}

/* ---- either ------------------------------------------------------------ */

int target_open(struct target *t, const struct target_name *name,
		uint64_t offset, uint64_t *size, bool write)
{
	int rc;

	*t = (struct target){ .fd = -1 };
	rc = name->path ? open_path(t, name, offset, size, write)
			: target_brick_open(t, name, offset, size, write);
	if (rc)
		target_close(t);
	return rc;
}

void target_close(struct target *t)
{
	if (t->fd >= 0)
		close(t->fd);
	target_brick_close(t);
	t->fd = -1;
}

static int say_failure(struct target *t, int rc, const char *what)
{
	return rc ? target_fail(t, rc, what, strerror(-rc)) : 0;
}

int target_read(struct target *t, uint64_t at, void *buf, size_t len)
{
	ssize_t n;

	if (t->k)
		return target_brick_read(t, at, buf, len);
	n = pread(t->fd, buf, len, (off_t)at);
	if (n < 0)
		return say_failure(t, -errno, "read");
	return say_failure(t, (size_t)n == len ? 0 : -EIO, "read");
}

int target_write(struct target *t, uint64_t at, const void *buf, size_t len,
		 bool durable)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };
	ssize_t n;

	if (t->k)
		return target_brick_write(t, at, buf, len, durable);
	n = pwritev2(t->fd, &iov, 1, (off_t)at, durable ? RWF_DSYNC : 0);
	if (n < 0)
		return say_failure(t, -errno, "write");
	return say_failure(t, (size_t)n == len ? 0 : -EIO, "write");
}

int target_flush(struct target *t)
{
	if (t->k)
		return target_brick_flush(t);
	return say_failure(t, fdatasync(t->fd) ? -errno : 0, "flush");
}
