// SPDX-License-Identifier: BSD-2-Clause
/*
 * A brickd without libmicrohttpd. Its stand-in is compiled into this test in
 * every build, so that it keeps up with metrics.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "brickd/admin/metrics.h"
#include "brickd/admin/view.h"

static void a_page_that_cannot_be_served_is_refused(void **state)
{
	static struct brick_config config = { .has_metrics = true };
	static struct brick_view view = { .config = &config };
	char err[100] = "", url[BRICK_URL_BYTES];

	assert_int_equal(brick_metrics_start(&view, err, sizeof(err)), -ENOSYS);
	assert_non_null(strstr(err, "built without metrics"));
	assert_false(brick_metrics_url(&view, url));
}

static void without_a_page_there_is_nothing_to_do(void **state)
{
	static struct brick_config config;
	static struct brick_view view = { .config = &config };
	char err[100] = "";

	assert_int_equal(brick_metrics_start(&view, err, sizeof(err)), 0);
	assert_string_equal(err, "");
	brick_metrics_tick(&view);
	assert_false(brick_metrics_before_wait(&view));
	brick_metrics_stop(&view);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_that_cannot_be_served_is_refused),
		cmocka_unit_test(without_a_page_there_is_nothing_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
