// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over powerfail-verify: a file system without O_DIRECT, and a word when
 * the page cache is synced and dropped. With 64 bits for offsets the functions
 * have these names in glibc.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>

int __real_open64(const char *path, int flags);
int __wrap_open64(const char *path, int flags);
int __wrap_fdatasync(int fd);
int __wrap_posix_fadvise64(int fd, off_t offset, off_t len, int advice);

int __wrap_open64(const char *path, int flags)
{
	if (!(flags & O_DIRECT))
		return __real_open64(path, flags);
	errno = EINVAL;
	return -1;
}

int __wrap_fdatasync(int fd)
{
	fprintf(stderr, "%d is synced\n", fd);
	return 0;
}

int __wrap_posix_fadvise64(int fd, off_t offset, off_t len, int advice)
{
	if (!offset && !len && advice == POSIX_FADV_DONTNEED)
		fprintf(stderr, "%d is dropped\n", fd);
	return 0;
}
