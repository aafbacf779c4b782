// SPDX-License-Identifier: BSD-2-Clause
/* Small files that remember a table over restarts: see state_file.h. */
#include "brickd/base/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define FILE_MODE 0600

int brick_state_file_lock(const char *path, const char *what, int *lock_fd,
			  char *err, size_t err_len)
{
	char lock[PATH_MAX];
	int fd = -1, rc;

	errno = ENAMETOOLONG;
	if (snprintf(lock, sizeof(lock), "%s.lock", path) < PATH_MAX)
		fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
			  FILE_MODE);
	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB)) {
		*lock_fd = fd;
		return 0;
	}
	rc = -errno;
	if (rc == -EWOULDBLOCK)
		snprintf(err, err_len,
			 "%s: %s is in use by another brickd: give each "
			 "brick a file of its own, or stop that one",
			 what, path);
	else
		snprintf(err, err_len, "%s: %s: %s", what, lock, strerror(-rc));
	if (fd >= 0)
		close(fd);
	return rc;
}

static int write_whole(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return fsync(fd) ? -errno : 0;
}

int brick_state_file_replace(const char *path, const char *text)
{
	char fresh[PATH_MAX], dir[PATH_MAX];
	int fd, rc;

	if (snprintf(fresh, sizeof(fresh), "%s.new", path) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		  FILE_MODE);
	if (fd < 0)
		return -errno;
	rc = write_whole(fd, text, strlen(text));
	if (close(fd) && !rc)
		rc = -errno;
	if (!rc && rename(fresh, path))
		rc = -errno;
	if (rc)
		return rc;
	/* A name is durable when its folder is. */
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(path, '/') - path) + 1,
		 path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) ? -errno : 0;
	close(fd);
	return rc;
}
