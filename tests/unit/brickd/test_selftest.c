// SPDX-License-Identifier: BSD-2-Clause
/*
 * The start-up self-test on the tcp provider: it passes there, and it notices
 * each kind of key that is not refused; which devices may be served.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brickd/net/devices.h"
#include "brickd/net/fabric.h"
#include "brickd/net/selftest.h"
#include "brickd/net/selftest_link.h"
#include "kfabric/user/way.h"
#include "proto/kfb_wire.h"

static struct brick_address address;
static struct brick_fabric fabric;
static char err[512];
/* How many of the self-test's connections still succeed. */
static int links_left;

int __real_brick_link_open(struct brick_link *link,
			   const struct brick_fabric *f,
			   const struct brick_address *to);
int __wrap_brick_link_open(struct brick_link *link,
			   const struct brick_fabric *f,
			   const struct brick_address *to);

int __wrap_brick_link_open(struct brick_link *link,
			   const struct brick_fabric *f,
			   const struct brick_address *to)
{
	if (links_left-- > 0)
		return __real_brick_link_open(link, f, to);
	memset(link, 0, sizeof(*link));
	return -ETIMEDOUT;
}

static int open_fabric(const char *url)
{
	if (brick_address_parse(url, &address, err, sizeof(err)))
		return -1;
	memset(&fabric, 0, sizeof(fabric));
	fabric.address = &address;
	return brick_fabric_open(&fabric, false, err, sizeof(err));
}

static int begin(void **state)
{
	links_left = INT_MAX;
	brick_fabric_prepare();
	return open_fabric("libfabric-tcp://127.0.0.1:0");
}

static int end(void **state)
{
	brick_fabric_close(&fabric);
	return 0;
}

static void stock_tcp_passes(void **state)
{
	assert_int_equal(brick_selftest(&fabric, err, sizeof(err)), 0);
}

static void stcp_passes_and_fences(void **state)
{
	brick_fabric_close(&fabric);
	assert_int_equal(open_fabric("tcp://127.0.0.1:0"), 0);
	assert_true(fabric.mr_fences);
	assert_int_equal(brick_selftest(&fabric, err, sizeof(err)), 0);
}

/*
 * On stock tcp a plain write completes whatever its key is: without
 * FI_DELIVERY_COMPLETE, as on a fabric where it is placed, the test must not
 * pass.
 */
static void a_completion_with_a_bad_key_is_noticed(void **state)
{
	fabric.write_is_placed = true;
	assert_int_equal(brick_selftest(&fabric, err, sizeof(err)),
			 -EKEYREJECTED);
	assert_non_null(strstr(err, "not serving"));
}

/* What the good key wrote before must not be taken for a bad key's bytes. */
static void no_connection_is_no_proof_of_a_bad_key(void **state)
{
	links_left = 1;
	assert_int_equal(brick_selftest(&fabric, err, sizeof(err)), -ETIMEDOUT);
	assert_non_null(strstr(err, "could not be carried out"));
}

static void a_tcp_wildcard_is_tested_by_loopback(void **state)
{
	brick_fabric_close(&fabric);
	memset(&fabric, 0, sizeof(fabric));
	fabric.address = &address;
	assert_int_equal(brick_address_parse("tcp://0.0.0.0:0", &address, err,
					     sizeof(err)),
			 0);
	assert_true(address.wildcard);
	assert_int_equal(brick_fabric_open(&fabric, false, err, sizeof(err)),
			 0);
	assert_int_equal(brick_selftest(&fabric, err, sizeof(err)), 0);
	assert_int_equal(fabric.n_devices, 1);
}

/* Its own address may be anybody's meanwhile, and leads nowhere from here. */
static void what_is_bound_to_an_interface_is_tested_by_loopback(void **state)
{
	brick_fabric_close(&fabric);
	assert_int_equal(open_fabric("tcp://192.0.2.1%lo:0"), 0);
	assert_int_equal(fabric.path, KFB_PATH_LOOPBACK);
	assert_int_equal(brick_selftest(&fabric, err, sizeof(err)), 0);
}

static void an_interface_that_is_not_there_is_named(void **state)
{
	brick_fabric_close(&fabric);
	assert_int_equal(open_fabric("tcp://192.0.2.1%nothere0"), -ENODEV);
	assert_non_null(strstr(err, "interface nothere0: No such device"));
	assert_int_equal(begin(state), 0);
}

/* The name of an interface of this machine that is no tunnel; NULL: none. */
static const char *find_card(char name[IF_NAMESIZE])
{
	struct stcp_way way;

	for (unsigned int i = 1; i < 100; i++)
		if (if_indextoname(i, name) && !stcp_way_by(name, &way) &&
		    kfb_path_of(way.is_local, way.kind) == KFB_PATH_UNTRUSTED)
			return name;
	return NULL;
}

static void only_a_wireguard_interface_will_do(void **state)
{
	char name[IF_NAMESIZE], url[BRICK_URL_BYTES];

	if (!find_card(name))
		skip();
	snprintf(url, sizeof(url), "tcp://192.0.2.1%%%s", name);
	brick_fabric_close(&fabric);
	assert_int_equal(open_fabric(url), -EPERM);
	assert_non_null(strstr(err, "is no WireGuard interface"));
	memset(&fabric, 0, sizeof(fabric));
	fabric.address = &address;
	assert_int_equal(brick_fabric_open(&fabric, true, err, sizeof(err)), 0);
	assert_int_equal(fabric.path, KFB_PATH_UNTRUSTED);
	assert_int_not_equal(fabric.interface, 0);
}

static void nothing_is_served_before_the_test(void **state)
{
	assert_false(brick_device_is_tested(&fabric, fabric.info));
	assert_int_equal(brick_selftest(&fabric, err, sizeof(err)), 0);
	assert_true(brick_device_is_tested(&fabric, fabric.info));
}

/* Known by its trait. */
static const struct kfb_scheme rdma = { .name = "other", .is_rdma = 1 };

/* Over RDMA it is the device's name that counts. */
static void another_device_is_not_tested(void **state)
{
	static struct brick_address verbs = { .scheme = &rdma };
	struct fi_info *other = fi_dupinfo(fabric.info);

	assert_non_null(other);
	fabric.address = &verbs;
	assert_int_equal(brick_device_add(&fabric, fabric.info), 0);
	assert_int_equal(brick_device_add(&fabric, fabric.info), 0);
	assert_int_equal(fabric.n_devices, 1);
	assert_true(brick_device_is_tested(&fabric, other));
	free(other->domain_attr->name);
	other->domain_attr->name = strdup("another0");
	assert_false(brick_device_is_tested(&fabric, other));
	fi_freeinfo(other);
}

static void as_many_devices_are_known_as_there_is_room_for(void **state)
{
	static struct brick_address verbs = { .scheme = &rdma };
	struct fi_info *info = fi_dupinfo(fabric.info);
	char name[16];
	int rc = 0;

	assert_non_null(info);
	fabric.address = &verbs;
	for (int i = 0; !rc && i <= BRICK_DEVICES_MAX; i++) {
		snprintf(name, sizeof(name), "device%d", i);
		free(info->domain_attr->name);
		info->domain_attr->name = strdup(name);
		rc = brick_device_add(&fabric, info);
	}
	assert_int_equal(rc, -E2BIG);
	assert_int_equal(fabric.n_devices, BRICK_DEVICES_MAX);
	fi_freeinfo(info);
}

/* A flush would acknowledge what the page cache never saw. */
static void a_plain_file_is_not_served_over_verbs(void **state)
{
	static struct brick_address verbs = { .scheme = &rdma };
	char path[] = "file";
	struct brick_media media = { .medium = &brick_medium_file,
				     .path = path };

	assert_int_equal(
		brick_devices_try_medium(&fabric, &media, err, sizeof(err)), 0);
	fabric.address = &verbs;
	assert_int_equal(brick_devices_try_medium(&fabric, &media, err,
						  sizeof(err)),
			 -EOPNOTSUPP);
	assert_non_null(strstr(err, "devdax"));
}

/* As the system lists them: what has hardware has a link to it. */
static void a_device_without_hardware_is_soft(void **state)
{
	static const char *const names[] = { "rxe0", "mlx5_0",
					     "mlx5_0/device" };
	char folder[] = "/tmp/kfbrick-devices-XXXXXX";
	int dir;

	assert_non_null(mkdtemp(folder));
	dir = open(folder, O_RDONLY | O_DIRECTORY);
	assert_true(dir >= 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(mkdirat(dir, names[i], 0700), 0);
	assert_true(brick_device_is_soft(folder, "rxe0"));
	assert_false(brick_device_is_soft(folder, "mlx5_0"));
	assert_false(brick_device_is_soft(folder, "unknown0"));
	for (int i = 2; i >= 0; i--)
		unlinkat(dir, names[i], AT_REMOVEDIR);
	close(dir);
	rmdir(folder);
}

/* With the registration cache closed keys stay good. */
static void the_environment_cannot_ask_for_the_cache(void **state)
{
	setenv("FI_MR_CACHE_MAX_COUNT", "1024", 1);
	setenv("FI_MR_CACHE_MONITOR", "memhooks", 1);
	brick_fabric_prepare();
	assert_string_equal(getenv("FI_MR_CACHE_MAX_COUNT"), "0");
	assert_string_equal(getenv("FI_MR_CACHE_MONITOR"), "disabled");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stock_tcp_passes),
		TEST(stcp_passes_and_fences),
		TEST(a_completion_with_a_bad_key_is_noticed),
		TEST(no_connection_is_no_proof_of_a_bad_key),
		TEST(a_tcp_wildcard_is_tested_by_loopback),
		TEST(what_is_bound_to_an_interface_is_tested_by_loopback),
		TEST(an_interface_that_is_not_there_is_named),
		TEST(only_a_wireguard_interface_will_do),
		TEST(nothing_is_served_before_the_test),
		TEST(another_device_is_not_tested),
		TEST(as_many_devices_are_known_as_there_is_room_for),
		TEST(a_plain_file_is_not_served_over_verbs),
		TEST(a_device_without_hardware_is_soft),
		TEST(the_environment_cannot_ask_for_the_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
