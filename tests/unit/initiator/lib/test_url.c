// SPDX-License-Identifier: BSD-2-Clause
/*
 * Names of bricks.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "url.h"

static char why[512];

static int parse(const char *text, struct kfbl_url *url)
{
	why[0] = '\0';
	return kfbl_url_parse(text, url, why, sizeof(why));
}

static void names_of_bricks_are_taken_apart(void **state)
{
	static const struct {
		const char *text;
		const char *scheme;
		const char *host;
		const char *port;
		const char *whole;
	} good[] = {
		{ "tcp://a", "tcp", "a", "20149", "tcp://a:20149" },
		{ "libfabric-tcp://a:1", "libfabric-tcp", "a", "1",
		  "libfabric-tcp://a:1" },
		{ "verbs://a.b:1", "verbs", "a.b", "1", "verbs://a.b:1" },
		{ "a", "tcp", "a", "20149", "tcp://a:20149" },
		{ "a:65535", "tcp", "a", "65535", "tcp://a:65535" },
		{ "tcp://[::1]:7", "tcp", "::1", "7", "tcp://[::1]:7" },
		{ "[::1]", "tcp", "::1", "20149", "tcp://[::1]:20149" },
		{ "::1", "tcp", "::1", "20149", "tcp://[::1]:20149" },
		{ "fe80::1%eth0", "tcp", "fe80::1%eth0", "20149",
		  "tcp://[fe80::1%eth0]:20149" },
	};
	struct kfbl_url url;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(parse(good[i].text, &url), 0);
		assert_string_equal(url.scheme->name, good[i].scheme);
		assert_string_equal(url.host, good[i].host);
		assert_string_equal(url.port, good[i].port);
		assert_string_equal(url.text, good[i].whole);
	}
}

static void anything_else_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"tcp://",
		"http://a",
		"tcp://a:",
		"a:0",
		"a:65536",
		"a:-1",
		"a:+1",
		"a:1x",
		"a: 1",
		"[::1",
		"[::1]x",
		"[::1]:",
		"[]",
		"a/b",
		"tcp://u@a",
		"tcp:/a",
		"tcp://a/",
		"TCP://a",
		"a b",
		":1",
		"tcp://:20149",
		"a:99999999999999999999",
	};
	struct kfbl_url url;
	char text[400];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&url, 0x55, sizeof(url));
		assert_int_equal(parse(bad[i], &url), -EINVAL);
		assert_int_equal(url.host[0], 0x55);
		assert_non_null(strstr(why, "tcp, libfabric-tcp, verbs"));
	}
	memset(text, 'a', sizeof(text));
	text[KFBL_HOST_MAX] = '\0';
	assert_int_equal(parse(text, &url), 0);
	text[KFBL_HOST_MAX] = 'a';
	text[KFBL_HOST_MAX + 1] = '\0';
	assert_int_equal(parse(text, &url), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_bricks_are_taken_apart),
		cmocka_unit_test(anything_else_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
