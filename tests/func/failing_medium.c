// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: a file that fails. While the file named by FAILING_MEDIUM
 * exists, what should become durable does not.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
	const char *file = getenv("FAILING_MEDIUM");

	if (!file || access(file, F_OK))
		return __real_fdatasync(fd);
	errno = EIO;
	return -1;
}
