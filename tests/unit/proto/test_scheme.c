// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include "kfb_scheme.h"

static void a_scheme_says_which_providers_it_means(void **state)
{
	static const struct kfb_scheme schemes[] = {
		{ "tcp", "stcp", "tcp", 0, 1, 1 },
		{ "libfabric-tcp", "tcp", "tcp", 0, 0, 0 },
		{ "verbs", "verbs", "verbs", 1, 0, 1 },
	};
	const struct kfb_scheme *found, *want;

	for (want = schemes; want < schemes + 3; want++) {
		found = kfb_scheme(want->name, (__u32)strlen(want->name));
		assert_non_null(found);
		assert_string_equal(found->name, want->name);
		assert_string_equal(found->fabric, want->fabric);
		assert_string_equal(found->kernel, want->kernel);
		assert_int_equal(found->is_rdma, want->is_rdma);
		assert_int_equal(found->is_strict, want->is_strict);
		assert_int_equal(found->is_fencing, want->is_fencing);
	}
}

static void an_address_without_a_scheme_is_of_tcp(void **state)
{
	static const char *const addresses[] = { "host", "host:1", "[::1]:1",
						 "",	 "a:/b",   "tcp:/a" };
	const char *rest;
	size_t i;

	for (i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		assert_string_equal(kfb_scheme_of(addresses[i], &rest)->name,
				    "tcp");
		assert_ptr_equal(rest, addresses[i]);
	}
}

static void what_follows_the_scheme_is_the_rest(void **state)
{
	const char *rest;

	assert_string_equal(kfb_scheme_of("verbs://a:1", &rest)->name, "verbs");
	assert_string_equal(rest, "a:1");
	assert_string_equal(kfb_scheme_of("tcp://", &rest)->name, "tcp");
	assert_string_equal(rest, "");
	assert_string_equal(kfb_scheme_of("tcp://verbs://a", &rest)->name,
			    "tcp");
	assert_string_equal(rest, "verbs://a");
}

static void an_unknown_scheme_is_none_never_tcp(void **state)
{
	static const char *const unknown[] = { "ftp://a", "://a",
					       "tc://a",  "tcpx://a",
					       "TCP://a", "a/tcp://b",
					       "verb://" };
	const char *rest = "untouched";
	size_t i;

	for (i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_null(kfb_scheme_of(unknown[i], &rest));
		assert_string_equal(rest, "untouched");
	}
}

static void a_message_can_name_them_all(void **state)
{
	char text[KFB_SCHEMES_BYTES];

	assert_ptr_equal(kfb_scheme_names(text), text);
	assert_string_equal(text, "tcp, libfabric-tcp, verbs");
}

static void a_place_is_a_host_and_perhaps_a_port(void **state)
{
	static const struct {
		const char *text;
		const char *host;
		__u16 port;
		_Bool has_port;
		_Bool has_brackets;
	} good[] = {
		{ "a", "a", 0, 0, 0 },
		{ "a:0", "a", 0, 1, 0 },
		{ "a.b:65535", "a.b", KFB_PORT_MAX, 1, 0 },
		{ "a:00000000000000000007", "a", 7, 1, 0 },
		{ "[::1]", "::1", 0, 0, 1 },
		{ "[::1]:7", "::1", 7, 1, 1 },
		{ "[fd00::1%wg0]:7", "fd00::1%wg0", 7, 1, 1 },
		{ "::1", "::1", 0, 0, 0 },
		{ "::1:7", "::1:7", 0, 0, 0 },
	};
	struct kfb_place place;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(kfb_place_parse(good[i].text, &place), 0);
		assert_int_equal(place.host_len, strlen(good[i].host));
		assert_memory_equal(place.host, good[i].host, place.host_len);
		assert_int_equal(place.has_port, good[i].has_port);
		assert_int_equal(place.has_brackets, good[i].has_brackets);
		assert_int_equal(place.port, good[i].port);
	}
}

static void what_is_no_place_is_refused(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} bad[] = {
		{ "", -EINVAL },
		{ ":1", -EINVAL },
		{ "[]", -EINVAL },
		{ "[::1", -EINVAL },
		{ "[::1]x", -EINVAL },
		{ "[::1]%wg0", -EINVAL },
		{ "a b", -EINVAL },
		{ "a/", -EINVAL },
		{ "u@a", -EINVAL },
		{ "a\n", -EINVAL },
		{ "a:", -ERANGE },
		{ "a:65536", -ERANGE },
		{ "a:-1", -ERANGE },
		{ "a:1x", -ERANGE },
		{ "a: 1", -ERANGE },
		{ "[::1]:", -ERANGE },
		{ "a:4294967297", -ERANGE },
	};
	struct kfb_place place = { .port = 1234 };
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(kfb_place_parse(bad[i].text, &place),
				 bad[i].rc);
		assert_int_equal(place.port, 1234);
	}
}

static void schemes_come_one_after_the_other(void **state)
{
	const struct kfb_scheme *scheme;
	__u32 n;

	assert_string_equal(kfb_scheme_at(0)->name, "tcp");
	for (n = 0; (scheme = kfb_scheme_at(n)); n++)
		assert_ptr_equal(kfb_scheme(scheme->name,
					    (__u32)strlen(scheme->name)),
				 scheme);
	assert_true(n >= 3);
	assert_null(kfb_scheme_at(n + 1));
	assert_null(kfb_scheme_at((__u32)-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scheme_says_which_providers_it_means),
		cmocka_unit_test(an_address_without_a_scheme_is_of_tcp),
		cmocka_unit_test(what_follows_the_scheme_is_the_rest),
		cmocka_unit_test(an_unknown_scheme_is_none_never_tcp),
		cmocka_unit_test(a_message_can_name_them_all),
		cmocka_unit_test(a_place_is_a_host_and_perhaps_a_port),
		cmocka_unit_test(what_is_no_place_is_refused),
		cmocka_unit_test(schemes_come_one_after_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
