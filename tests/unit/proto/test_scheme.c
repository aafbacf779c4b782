// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scheme_says_which_providers_it_means),
		cmocka_unit_test(an_address_without_a_scheme_is_of_tcp),
		cmocka_unit_test(what_follows_the_scheme_is_the_rest),
		cmocka_unit_test(an_unknown_scheme_is_none_never_tcp),
		cmocka_unit_test(a_message_can_name_them_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
