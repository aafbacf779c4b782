// SPDX-License-Identifier: BSD-2-Clause
/* Where records go: see target.h. */
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "initiator/brickctl/brickctl.h"
#include "kfbrick.h"

#define BLOCK_SHIFT 21

static int fail(struct target *t, int rc, const char *what, const char *why)
{
	(void)snprintf(t->why, sizeof(t->why), "%s: %s", what, why);
	return rc;
}

/* ---- a device or file -------------------------------------------------- */

static int size_of(int fd, uint64_t *size)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	*size = (uint64_t)st.st_size;
	if (S_ISBLK(st.st_mode) && ioctl(fd, BLKGETSIZE64, size))
		return -errno;
	return 0;
}

/* Some file systems know nothing of O_DIRECT; every block device does. */
static int open_direct(const char *path, int flags)
{
	int fd = open(path, flags | O_DIRECT);
	struct stat st;

	if (fd >= 0 || errno != EINVAL)
		return fd;
	if (stat(path, &st) || !S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	return open(path, flags);
}

static int open_path(struct target *t, const char *path, uint64_t offset,
		     uint64_t *size, bool write)
{
	uint64_t has = 0;
	int rc;

	t->fd = open_direct(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (t->fd < 0)
		return fail(t, -errno, path, strerror(errno));
	rc = size_of(t->fd, &has);
	if (rc)
		return fail(t, rc, path, strerror(-rc));
	if (offset > has || *size > has - offset)
		return fail(t, -ENOSPC, path, "it is not that large");
	if (!*size)
		*size = has - offset;
	return 0;
}

/* ---- a brick ----------------------------------------------------------- */

static int connect_brick(struct target *t, const struct target_name *name)
{
	uint8_t key[KFBRICK_KEY_BYTES];
	struct kfbrick_config config = { .size = sizeof(config),
					 .brick = name->brick,
					 .client = name->client,
					 .key = name->client ? key : NULL };
	const char *why = "a client needs --key-file";
	int rc = -EINVAL;

	if (name->client && name->key_file)
		rc = ctl_key_read(name->key_file, key, &why);
	if (name->client && rc)
		return fail(t, rc, name->key_file ? name->key_file : "key",
			    why);
	rc = kfbrick_connect(&config, &t->k);
	explicit_bzero(key, sizeof(key));
	return rc ? fail(t, rc, name->brick, kfbrick_error(t->k)) : 0;
}

static int map_block(struct target *t, const struct target_name *name,
		     uint64_t va, bool write)
{
	struct kfbrick_mapping *mapping;
	unsigned int flags =
		KFBRICK_MAP_SHARED | (write ? KFBRICK_MAP_RW : KFBRICK_MAP_RO);
	int rc = write ? kfbrick_alloc(t->k, va, 1) : 0;

	if (!rc || rc == -EEXIST)
		rc = kfbrick_map(t->k, va, 1, flags, &mapping);
	return rc ? fail(t, rc, name->brick, kfbrick_error(t->k)) : 0;
}

static int open_brick(struct target *t, const struct target_name *name,
		      uint64_t offset, const uint64_t *size, bool write)
{
	uint64_t block, last;
	int rc;

	if (!*size)
		return fail(t, -EINVAL, name->brick, "a brick needs --size");
	rc = connect_brick(t, name);
	last = (offset + *size - 1) >> BLOCK_SHIFT;
	for (block = offset >> BLOCK_SHIFT; !rc && block <= last; block++)
		rc = map_block(t, name, block << BLOCK_SHIFT, write);
	return rc;
}

/* ---- either ------------------------------------------------------------ */

int target_open(struct target *t, const struct target_name *name,
		uint64_t offset, uint64_t *size, bool write)
{
	int rc;

	*t = (struct target){ .fd = -1 };
	rc = name->path ? open_path(t, name->path, offset, size, write)
			: open_brick(t, name, offset, size, write);
	if (rc)
		target_close(t);
	return rc;
}

void target_close(struct target *t)
{
	if (t->fd >= 0)
		close(t->fd);
	kfbrick_close(t->k);
	t->fd = -1;
	t->k = NULL;
}

static int say(struct target *t, int rc, const char *what)
{
	if (!rc)
		return 0;
	return fail(t, rc, what, t->k ? kfbrick_error(t->k) : strerror(-rc));
}

int target_read(struct target *t, uint64_t at, void *buf, size_t len)
{
	ssize_t n;

	if (t->k)
		return say(t, kfbrick_read(t->k, at, buf, len), "read");
	n = pread(t->fd, buf, len, (off_t)at);
	if (n < 0)
		return say(t, -errno, "read");
	return say(t, (size_t)n == len ? 0 : -EIO, "read");
}

int target_write(struct target *t, uint64_t at, const void *buf, size_t len,
		 bool durable)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };
	ssize_t n;
	int rc;

	if (t->k) {
		rc = say(t, kfbrick_write(t->k, at, buf, len), "write");
		return rc || !durable ? rc : target_flush(t);
	}
	n = pwritev2(t->fd, &iov, 1, (off_t)at, durable ? RWF_DSYNC : 0);
	if (n < 0)
		return say(t, -errno, "write");
	return say(t, (size_t)n == len ? 0 : -EIO, "write");
}

int target_flush(struct target *t)
{
	if (t->k)
		return say(t, kfbrick_flush(t->k), "flush");
	return say(t, fdatasync(t->fd) ? -errno : 0, "flush");
}
