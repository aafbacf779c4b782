// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over powerfail-verify: a medium whose byte number $BAD_BYTE cannot be
 * read, if it is set.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

ssize_t __real_pread64(int fd, void *buf, size_t len, off_t at);
ssize_t __wrap_pread64(int fd, void *buf, size_t len, off_t at);

ssize_t __wrap_pread64(int fd, void *buf, size_t len, off_t at)
{
	const char *text = getenv("BAD_BYTE");
	off_t bad = text ? strtoll(text, NULL, 10) : -1;

	if (bad < at || bad - at >= (off_t)len)
		return __real_pread64(fd, buf, len, at);
	errno = EIO;
	return -1;
}
