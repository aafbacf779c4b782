// SPDX-License-Identifier: BSD-2-Clause
#include "brickd/media/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "brickd/media/made.h"
#include "brickd/media/progress.h"

/* Allocated in one go; between two of them somebody may be told. */
#define PIECE_BYTES (1ULL << 28)

int brick_room_take(int fd, uint64_t offset, uint64_t len)
{
	const uint64_t sector = 512; /* of st_blocks, see stat(2) */
	uint64_t done, piece;
	struct statvfs fs;
	struct stat st;
	int error = 0;

	/* The range may be allocated in part. */
	if (!fstatvfs(fd, &fs) && !fstat(fd, &st) &&
	    len > (uint64_t)fs.f_bavail * fs.f_frsize +
			    (uint64_t)st.st_blocks * sector)
		return ENOSPC;
	for (done = 0; !error && done < len; done += piece) {
		piece = len - done < PIECE_BYTES ? len - done : PIECE_BYTES;
		brick_progress("allocating", done, len);
		error = posix_fallocate(fd, (off_t)(offset + done),
					(off_t)piece);
	}
	return error;
}

void brick_unmake(const char *path, int fd, enum brick_made made)
{
	if (made == BRICK_MADE_FILE)
		(void)unlink(path);
	else if (made == BRICK_MADE_ROOM)
		(void)!ftruncate(fd, 0);
}
