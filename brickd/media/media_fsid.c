// SPDX-License-Identifier: BSD-2-Clause
/*
 * Which mount of a file system a file is on.
 *
 * A mount's id is of no use: a service with a mount namespace of its own has
 * another one at each start. File systems on block devices have a folder below
 * /sys/fs while they are mounted anywhere; its inode number is given once in a
 * boot.
 */
#include "brickd/media/media_fsid.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* Linux 6.10 and newer; older headers do not have it. */
struct fs_path {
	uint8_t len;
	uint8_t name[128];
};

#define GET_FS_PATH _IOR(0x15, 1, struct fs_path)

static uint64_t inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

static uint64_t ask_kernel(int fd)
{
	struct fs_path fs = { 0 };
	char path[sizeof("/sys/fs/") + sizeof(fs.name)];

	if (ioctl(fd, GET_FS_PATH, &fs) || fs.len >= sizeof(fs.name))
		return 0;
	(void)snprintf(path, sizeof(path), "/sys/fs/%.*s", (int)fs.len,
		       (const char *)fs.name);
	return inode_of(path);
}

/* By the device's name, which these file systems name their folder after. */
static uint64_t ask_sysfs(int fd)
{
	static const char *const kinds[] = { "ext4", "xfs", "f2fs" };
	char path[PATH_MAX], device[PATH_MAX];
	const char *name;
	uint64_t inode = 0;
	struct stat st;
	ssize_t len;

	if (fstat(fd, &st))
		return 0;
	(void)snprintf(path, sizeof(path), "/sys/dev/block/%u:%u",
		       major(st.st_dev), minor(st.st_dev));
	len = readlink(path, device, sizeof(device) - 1);
	if (len <= 0)
		return 0;
	device[len] = '\0';
	name = strrchr(device, '/');
	for (size_t i = 0; name && !inode && i < sizeof(kinds) / sizeof(*kinds);
	     i++) {
		(void)snprintf(path, sizeof(path), "/sys/fs/%s%.*s", kinds[i],
			       NAME_MAX, name);
		inode = inode_of(path);
	}
	return inode;
}

uint64_t brick_media_fsid(int fd)
{
	uint64_t id = ask_kernel(fd);

	return id ? id : ask_sysfs(fd);
}
