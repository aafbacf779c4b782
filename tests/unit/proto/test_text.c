// SPDX-License-Identifier: BSD-2-Clause
/*
 * Numbers with suffixes and ranges of blocks, as people write them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "kfb_text.h"

#define UNTOUCHED 0x5a5a5a5aULL
#define NOWHERE	  12345U

struct size_case {
	const char *text;
	uint64_t value;
	int error;
	unsigned int error_at;
};

struct range_case {
	const char *text;
	uint64_t va;
	uint64_t n_blocks;
	int error;
	unsigned int error_at;
};

static void check_size(const struct size_case *c)
{
	unsigned int error_at = NOWHERE;
	__u64 value = UNTOUCHED;

	assert_int_equal(kfb_size_parse(c->text, &value, &error_at), c->error);
	if (c->error) {
		assert_int_equal(value, UNTOUCHED);
		assert_int_equal(error_at, c->error_at);
	} else {
		assert_true(value == c->value);
		assert_int_equal(error_at, NOWHERE);
	}
	assert_int_equal(kfb_size_parse(c->text, &value, NULL), c->error);
}

static void check_range(const struct range_case *c)
{
	unsigned int error_at = NOWHERE;
	__u64 n_blocks = UNTOUCHED;
	__u64 va = UNTOUCHED;

	assert_int_equal(kfb_range_parse(c->text, &va, &n_blocks, &error_at),
			 c->error);
	if (c->error) {
		assert_int_equal(va, UNTOUCHED);
		assert_int_equal(n_blocks, UNTOUCHED);
		assert_int_equal(error_at, c->error_at);
	} else {
		assert_true(va == c->va);
		assert_true(n_blocks == c->n_blocks);
		assert_int_equal(error_at, NOWHERE);
	}
	assert_int_equal(kfb_range_parse(c->text, &va, &n_blocks, NULL),
			 c->error);
}

static void sizes_are_decimal_or_hexadecimal_with_a_suffix(void **state)
{
	static const struct size_case cases[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "4096", 4096 },
		{ "0x0", 0 },
		{ "0xfF", 255 },
		{ "0X10", 16 },
		{ "007", 7 },
		{ "1K", 1ULL << 10 },
		{ "1k", 1ULL << 10 },
		{ "3M", 3ULL << 20 },
		{ "5G", 5ULL << 30 },
		{ "7t", 7ULL << 40 },
		{ "0x10M", 16ULL << 20 },
		{ "18446744073709551615", UINT64_MAX },
		{ "0xffffffffffffffff", UINT64_MAX },
		{ "16777215T", 16777215ULL << 40 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_size(&cases[i]);
}

static void sizes_that_are_not_numbers_are_refused_where_they_go_wrong(void **s)
{
	static const struct size_case cases[] = {
		{ "", 0, -EINVAL, 0 },	  { " 1", 0, -EINVAL, 0 },
		{ "1 ", 0, -EINVAL, 1 },  { "-1", 0, -EINVAL, 0 },
		{ "+1", 0, -EINVAL, 0 },  { "K", 0, -EINVAL, 0 },
		{ "0x", 0, -EINVAL, 2 },  { "0xg", 0, -EINVAL, 2 },
		{ "12a", 0, -EINVAL, 2 }, { "1KB", 0, -EINVAL, 2 },
		{ "1KK", 0, -EINVAL, 2 }, { "1.5G", 0, -EINVAL, 1 },
		{ "1\n", 0, -EINVAL, 1 }, { "1+1", 0, -EINVAL, 1 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_size(&cases[i]);
}

static void sizes_over_64_bits_are_out_of_range(void **state)
{
	static const struct size_case cases[] = {
		{ "18446744073709551616", 0, -ERANGE, 0 },
		{ "0x10000000000000000", 0, -ERANGE, 0 },
		{ "99999999999999999999999999", 0, -ERANGE, 0 },
		{ "16777216T", 0, -ERANGE, 0 },
		{ "0xffffffffffffffffK", 0, -ERANGE, 0 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_size(&cases[i]);
}

static void ranges_count_blocks_or_bytes(void **state)
{
	static const struct range_case cases[] = {
		{ "0x0+1", 0, 1 },
		{ "0+128", 0, 128 },
		{ "4G+2M", 4ULL << 30, 1 },
		{ "4G+1T", 4ULL << 30, 1ULL << 19 },
		{ "0x200000+0x10", 1ULL << 21, 16 },
		{ "2M+2048K", 1ULL << 21, 1 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_range(&cases[i]);
}

static void a_number_of_blocks_is_that_of_a_range_or_0(void **state)
{
	static const struct size_case cases[] = {
		{ "0", 0 },
		{ "0G", 0 },
		{ "51200", 51200 },
		{ "100G", 51200 },
		{ "2048K", 1 },
		{ "0x10", 16 },
		{ "3M", 0, -EDOM, 0 },
		{ "", 0, -EINVAL, 0 },
		{ "4x", 0, -EINVAL, 1 },
		{ "99999999999999999999", 0, -ERANGE, 0 },
	};
	unsigned int error_at;
	__u64 n_blocks;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n_blocks = UNTOUCHED;
		error_at = NOWHERE;
		assert_int_equal(kfb_blocks_parse(cases[i].text, &n_blocks,
						  &error_at),
				 cases[i].error);
		assert_true(n_blocks ==
			    (cases[i].error ? UNTOUCHED : cases[i].value));
		assert_int_equal(error_at,
				 cases[i].error ? cases[i].error_at : NOWHERE);
		assert_int_equal(kfb_blocks_parse(cases[i].text, &n_blocks,
						  NULL),
				 cases[i].error);
	}
}

static void the_last_block_and_the_whole_space_are_ranges(void **state)
{
	static const struct range_case cases[] = {
		{ "0xffffffffffe00000+1", 0xffffffffffe00000ULL, 1 },
		{ "0x0+8796093022208", 0, 1ULL << 43 },
		{ "0xffffffffffe00000+2", 0, 0, -EOVERFLOW, 19 },
		{ "0x0+8796093022209", 0, 0, -EOVERFLOW, 4 },
		{ "2M+8796093022208", 0, 0, -EOVERFLOW, 3 },
		{ "2M+18446744073709551615", 0, 0, -EOVERFLOW, 3 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_range(&cases[i]);
}

static void bad_ranges_are_told_apart_and_pointed_at(void **state)
{
	static const struct range_case cases[] = {
		{ "", 0, 0, -EINVAL, 0 },
		{ "0x0", 0, 0, -EINVAL, 3 },
		{ "0x0+", 0, 0, -EINVAL, 4 },
		{ "+1", 0, 0, -EINVAL, 0 },
		{ "0x0+1x", 0, 0, -EINVAL, 5 },
		{ "0x0+1+1", 0, 0, -EINVAL, 5 },
		{ "0x0-1", 0, 0, -EINVAL, 3 },
		{ "0x0 +1", 0, 0, -EINVAL, 3 },
		{ "1+1", 0, 0, -EDOM, 0 },
		{ "0x1fffff+1", 0, 0, -EDOM, 0 },
		{ "2M+3M", 0, 0, -EDOM, 3 },
		{ "2M+1K", 0, 0, -EDOM, 3 },
		{ "0x0+0", 0, 0, -ENODATA, 4 },
		{ "0x0+0G", 0, 0, -ENODATA, 4 },
		{ "99999999999999999999+1", 0, 0, -ERANGE, 0 },
		{ "0+99999999999999999999", 0, 0, -ERANGE, 2 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_range(&cases[i]);
}

static void each_error_has_its_own_sentence(void **state)
{
	static const int errors[] = { -EINVAL,	-ERANGE,    -EDOM,
				      -ENODATA, -EOVERFLOW, -EIO };
	const size_t n = sizeof(errors) / sizeof(errors[0]);
	size_t i;
	size_t j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < i; j++)
			assert_string_not_equal(kfb_text_why(errors[i]),
						kfb_text_why(errors[j]));
	}
}

static void digits_have_values_in_their_base(void **state)
{
	(void)state;
	assert_int_equal(kfb_digit_value('0', 10), 0);
	assert_int_equal(kfb_digit_value('9', 10), 9);
	assert_int_equal(kfb_digit_value('a', 10), -EINVAL);
	assert_int_equal(kfb_digit_value('a', 16), 10);
	assert_int_equal(kfb_digit_value('F', 16), 15);
	assert_int_equal(kfb_digit_value('g', 16), -EINVAL);
	assert_int_equal(kfb_digit_value('/', 16), -EINVAL);
	assert_int_equal(kfb_digit_value(':', 16), -EINVAL);
	assert_int_equal(kfb_digit_value('\0', 16), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			sizes_are_decimal_or_hexadecimal_with_a_suffix),
		cmocka_unit_test(
			sizes_that_are_not_numbers_are_refused_where_they_go_wrong),
		cmocka_unit_test(sizes_over_64_bits_are_out_of_range),
		cmocka_unit_test(ranges_count_blocks_or_bytes),
		cmocka_unit_test(a_number_of_blocks_is_that_of_a_range_or_0),
		cmocka_unit_test(the_last_block_and_the_whole_space_are_ranges),
		cmocka_unit_test(bad_ranges_are_told_apart_and_pointed_at),
		cmocka_unit_test(each_error_has_its_own_sentence),
		cmocka_unit_test(digits_have_values_in_their_base),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
