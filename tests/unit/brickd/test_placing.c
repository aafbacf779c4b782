// SPDX-License-Identifier: BSD-2-Clause
/* How each kind of device places, by what sysfs says of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brickd/net/placing.h"

static char folder[] = "/tmp/kfbrick-placing-XXXXXX";
static int dir = -1;

static void put(const char *path, const char *text)
{
	int fd;

	if (!text) {
		assert_int_equal(mkdirat(dir, path, 0700), 0);
		return;
	}
	fd = openat(dir, path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* As the system lists them: what has hardware has a link to it. */
static int make_devices(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	dir = open(folder, O_RDONLY | O_DIRECTORY);
	put("rxe0", NULL);
	put("rxe0/node_type", "1: CA\n");
	put("siw0", NULL);
	put("siw0/node_type", "4: RNIC\n");
	put("odd0", NULL);
	put("mlx5_0", NULL);
	put("mlx5_0/device", NULL);
	put("mlx5_0/node_type", "1: CA\n");
	return 0;
}

static int remove_devices(void **state)
{
	static const char *const paths[] = {
		"rxe0/node_type", "siw0/node_type", "mlx5_0/node_type",
		"rxe0",		  "siw0",	    "odd0",
		"mlx5_0/device",  "mlx5_0",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (unlinkat(dir, paths[i], 0))
			unlinkat(dir, paths[i], AT_REMOVEDIR);
	close(dir);
	return rmdir(folder);
}

static enum brick_placing placing(const char *device)
{
	return brick_placing_of(kfb_scheme("verbs", 5), folder, device);
}

static void only_what_acknowledges_placed_bytes_says_so(void **state)
{
	assert_int_equal(placing("rxe0"), BRICK_PLACED_BEFORE_ACK);
	assert_int_equal(placing("siw0"), BRICK_PLACED_BY_SOFT_RDMA);
	assert_int_equal(placing("odd0"), BRICK_PLACED_BY_SOFT_RDMA);
	assert_int_equal(placing("mlx5_0"), BRICK_PLACED_BY_DEVICE);
	assert_int_equal(placing("gone0"), BRICK_PLACED_BY_DEVICE);
	assert_int_equal(brick_placing_of(kfb_scheme("tcp", 3), folder, "rxe0"),
			 BRICK_PLACED_BY_CPU);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_acknowledges_placed_bytes_says_so),
	};

	return cmocka_run_group_tests(tests, make_devices, remove_devices);
}
