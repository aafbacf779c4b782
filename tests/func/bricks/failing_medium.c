// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: a file that fails. While the file named by FAILING_MEDIUM
 * exists, what should become durable does not: in all files, or in the one that
 * FAILING_FILE names.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

static bool is_meant(int fd)
{
	const char *only = getenv("FAILING_FILE");
	struct stat is, meant;

	return !only ||
	       (!fstat(fd, &is) && !stat(only, &meant) &&
		is.st_dev == meant.st_dev && is.st_ino == meant.st_ino);
}

int __wrap_fdatasync(int fd)
{
	const char *file = getenv("FAILING_MEDIUM");

	if (!file || access(file, F_OK) || !is_meant(fd))
		return __real_fdatasync(fd);
	errno = EIO;
	return -1;
}
