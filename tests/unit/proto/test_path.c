// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "kfb_path.h"

static void only_a_wireguard_link_is_trusted(void **state)
{
	static const char *const others[] = { "",	    "wireguar",
					      "wireguard0", "Wireguard",
					      "tun",	    "veth" };
	size_t i;

	assert_int_equal(kfb_path_of(0, "wireguard"), KFB_PATH_WIREGUARD);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(kfb_path_of(0, others[i]), KFB_PATH_UNTRUSTED);
}

static void what_stays_on_the_host_needs_no_tunnel(void **state)
{
	assert_int_equal(kfb_path_of(1, ""), KFB_PATH_LOOPBACK);
	assert_int_equal(kfb_path_of(1, "veth"), KFB_PATH_LOOPBACK);
}

static void every_path_has_a_name_of_its_own(void **state)
{
	__u32 a, b;

	for (a = 0; a <= KFB_PATH_LAST; a++)
		for (b = 0; b < a; b++)
			assert_string_not_equal(kfb_path_name(a),
						kfb_path_name(b));
	assert_string_equal(kfb_path_name(KFB_PATH_WIREGUARD), "wireguard");
	assert_string_equal(kfb_path_name(KFB_PATH_UNTRUSTED), "untrusted");
	assert_string_equal(kfb_path_name(KFB_PATH_LAST + 1), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_wireguard_link_is_trusted),
		cmocka_unit_test(what_stays_on_the_host_needs_no_tunnel),
		cmocka_unit_test(every_path_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
