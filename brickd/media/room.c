// SPDX-License-Identifier: BSD-2-Clause
#include "brickd/media/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "brickd/media/made.h"

int brick_room_take(int fd, uint64_t offset, uint64_t len)
{
	const uint64_t sector = 512; /* of st_blocks, see stat(2) */
	struct statvfs fs;
	struct stat st;

	/* The range may be allocated in part. */
	if (!fstatvfs(fd, &fs) && !fstat(fd, &st) &&
	    len > (uint64_t)fs.f_bavail * fs.f_frsize +
			    (uint64_t)st.st_blocks * sector)
		return ENOSPC;
	return posix_fallocate(fd, (off_t)offset, (off_t)len);
}

void brick_unmake(const char *path, int fd, enum brick_made made)
{
	if (made == BRICK_MADE_FILE)
		(void)unlink(path);
	else if (made == BRICK_MADE_ROOM)
		(void)!ftruncate(fd, 0);
}
