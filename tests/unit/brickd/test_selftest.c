// SPDX-License-Identifier: BSD-2-Clause
/*
 * The start-up self-test on the tcp provider: it passes there, and it notices
 * each kind of key that is not refused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "brickd/fabric.h"
#include "brickd/selftest.h"

static struct brick_address address;
static struct brick_fabric fabric;
static char err[512];

static int begin(void **state)
{
	brick_fabric_prepare();
	if (brick_address_parse("tcp://127.0.0.1:0", &address, err,
				sizeof(err)))
		return -1;
	memset(&fabric, 0, sizeof(fabric));
	fabric.address = &address;
	return brick_fabric_open(&fabric, err, sizeof(err));
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

/*
 * On stock tcp a plain write completes whatever its key is: without
 * FI_DELIVERY_COMPLETE, as on a fabric that fences, the test must not pass.
 */
static void a_completion_with_a_bad_key_is_noticed(void **state)
{
	fabric.mr_fences = true;
	assert_int_equal(brick_selftest(&fabric, err, sizeof(err)),
			 -EKEYREJECTED);
	assert_non_null(strstr(err, "not serving"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stock_tcp_passes),
		TEST(a_completion_with_a_bad_key_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
