// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "kfb_medium.h"
#include "kfb_wire.h"

static void every_medium_has_a_name_of_its_own(void **state)
{
	__u32 a, b;

	for (a = 1; a <= KFB_MEDIUM_LAST; a++) {
		assert_non_null(kfb_medium_name(a));
		assert_non_null(kfb_medium_text(a));
		for (b = 0; b < a; b++)
			assert_string_not_equal(kfb_medium_name(a),
						kfb_medium_name(b));
	}
	assert_string_equal(kfb_medium_name(KFB_MEDIUM_BATTERY), "battery");
	assert_string_equal(kfb_medium_name(KFB_MEDIUM_CXL), "cxl");
}

static void what_is_no_medium_is_unknown(void **state)
{
	assert_string_equal(kfb_medium_name(0), "unknown");
	assert_string_equal(kfb_medium_name(KFB_MEDIUM_LAST + 1), "unknown");
	assert_string_equal(kfb_medium_text(~(__u32)0), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_medium_has_a_name_of_its_own),
		cmocka_unit_test(what_is_no_medium_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
