// SPDX-License-Identifier: BSD-2-Clause
/* Room of a file: what cannot fit takes nothing from anybody. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "brickd/media/room.h"

static unsigned int n_asked;

int __real_posix_fallocate64(int fd, off_t offset, off_t len);
int __wrap_posix_fallocate64(int fd, off_t offset, off_t len);

int __wrap_posix_fallocate64(int fd, off_t offset, off_t len)
{
	n_asked++;
	return __real_posix_fallocate64(fd, offset, len);
}

static int a_file(void)
{
	char path[] = "/tmp/kfbrick-room.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	n_asked = 0;
	return fd;
}

static void what_fits_is_allocated(void **state)
{
	const uint64_t len = 1 << 20;
	struct stat st;
	int fd = a_file();

	assert_int_equal(brick_room_take(fd, 4096, len), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 4096 + len);
	assert_true((uint64_t)st.st_blocks * 512 >= len);
	assert_int_equal(close(fd), 0);
}

static void what_cannot_fit_takes_nothing(void **state)
{
	struct statvfs fs;
	struct stat st;
	int fd = a_file();

	assert_int_equal(fstatvfs(fd, &fs), 0);
	assert_int_equal(
		brick_room_take(fd, 0, 2 * (uint64_t)fs.f_blocks * fs.f_frsize),
		ENOSPC);
	assert_int_equal(n_asked, 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_blocks, 0);
	assert_int_equal(close(fd), 0);
}

/* A mistake is the kernel's to name. */
static void what_is_no_file_is_told(void **state)
{
	assert_int_equal(brick_room_take(-1, 0, 4096), EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_allocated),
		cmocka_unit_test(what_cannot_fit_takes_nothing),
		cmocka_unit_test(what_is_no_file_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
