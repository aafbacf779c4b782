// SPDX-License-Identifier: BSD-2-Clause
/*
 * Status codes, ops and ranges: the small tables everybody looks things up in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "codec/kfb_codec.h"
#include "kfb_err.h"
#include "kfb_evicted.h"

struct status {
	int error;
	const char *error_name;
	const char *name;
};

/* Stable for ever: this list is not derived from the code's. */
static const struct status statuses[] = {
	{ 0, "0", "OK" },
	{ EINVAL, "EINVAL", "INVALID" },
	{ EACCES, "EACCES", "DENIED" },
	{ EEXIST, "EEXIST", "EXISTS" },
	{ ENOENT, "ENOENT", "NOT_FOUND" },
	{ EBUSY, "EBUSY", "BUSY" },
	{ ENOSPC, "ENOSPC", "NO_SPACE" },
	{ ESTALE, "ESTALE", "STALE" },
	{ EAGAIN, "EAGAIN", "AGAIN" },
	{ EOPNOTSUPP, "EOPNOTSUPP", "NOT_SUPPORTED" },
	{ EIO, "EIO", "IO" },
	{ EKEYREJECTED, "EKEYREJECTED", "KEY_REJECTED" },
	{ EPROTONOSUPPORT, "EPROTONOSUPPORT", "VERSION" },
	{ EDQUOT, "EDQUOT", "LIMIT" },
	{ ESHUTDOWN, "ESHUTDOWN", "SHUTDOWN" },
	{ ENOMEM, "ENOMEM", "NO_MEMORY" },
	{ EBADMSG, "EBADMSG", "MALFORMED" },
	{ EKEYREVOKED, "EKEYREVOKED", "FENCED" },
	{ EBADE, "EBADE", "CONFLICT" },
};

#define N_STATUSES (sizeof(statuses) / sizeof(statuses[0]))

static void every_status_has_an_errno_of_its_own_and_a_sentence(void **state)
{
	unsigned int i, j;

	assert_int_equal(N_STATUSES, KFB_ST_LAST + 1);
	for (i = 0; i < N_STATUSES; i++) {
		assert_int_equal(kfb_status_to_errno(i), -statuses[i].error);
		assert_int_equal(kfb_status_from_errno(-statuses[i].error), i);
		assert_true(strlen(kfb_status_text(i)) > 5);
		for (j = 0; j < i; j++)
			assert_string_not_equal(kfb_status_text(i),
						kfb_status_text(j));
		assert_string_not_equal(kfb_status_text(i),
					kfb_status_text(KFB_ST_LAST + 1));
	}
}

static void the_page_has_the_same_statuses(void **state)
{
	const char *path = getenv("KFB_PROTOCOL_PAGE");
	char line[512], name[32], error_name[32];
	FILE *f = fopen(path ? path : "", "r");
	unsigned int n = 0;

	if (!f) {
		fail_msg("KFB_PROTOCOL_PAGE names docs/protocol.md");
		return;
	}
	while (fgets(line, sizeof(line), f)) {
		char *end;
		unsigned long number;

		if (line[0] != '|' ||
		    sscanf(line, "| %*[0-9] | %31[A-Z_] | %31[A-Z0] |", name,
			   error_name) != 2)
			continue;
		number = strtoul(line + 2, &end, 10);
		assert_int_equal(number, n);
		assert_true(n < N_STATUSES);
		assert_string_equal(name, statuses[n].name);
		assert_string_equal(error_name, statuses[n].error_name);
		n++;
	}
	fclose(f);
	assert_int_equal(n, N_STATUSES);
}

static void an_errno_without_a_status_is_an_io_error(void **state)
{
	assert_int_equal(kfb_status_from_errno(-ENXIO), KFB_ST_IO);
	assert_int_equal(kfb_status_from_errno(-EPROTO), KFB_ST_IO);
	assert_int_equal(kfb_status_from_errno(EINVAL), KFB_ST_IO);
}

static void every_cause_of_an_eviction_has_words(void **state)
{
	const char *unknown = kfb_evicted_text(KFB_EVICTED_LAST + 1);
	uint32_t cause, other;

	assert_string_equal(kfb_evicted_text(0), unknown);
	assert_string_equal(kfb_evicted_text(0xffffffff), unknown);
	for (cause = 1; cause <= KFB_EVICTED_LAST; cause++)
		for (other = cause + 1; other <= KFB_EVICTED_LAST + 1; other++)
			assert_string_not_equal(kfb_evicted_text(cause),
						kfb_evicted_text(other));
}

static void a_range_may_end_at_the_end_of_the_address_space(void **state)
{
	const __u64 last = 0ULL - KFB_BLOCK_BYTES;

	assert_int_equal(kfb_range_check(0, 1), 0);
	assert_int_equal(kfb_range_check(0, KFB_BLOCKS_MAX), 0);
	assert_int_equal(kfb_range_check(last, 1), 0);
	assert_int_equal(kfb_range_check(last - KFB_BLOCK_BYTES, 2), 0);

	assert_int_equal(kfb_range_check(0, KFB_BLOCKS_MAX + 1), -EINVAL);
	assert_int_equal(kfb_range_check(last, 2), -EINVAL);
	assert_int_equal(kfb_range_check(last, ~0ULL), -EINVAL);
	assert_int_equal(kfb_range_check(KFB_BLOCK_BYTES, ~0ULL), -EINVAL);
	assert_int_equal(kfb_range_check(0, 0), -EINVAL);
	assert_int_equal(kfb_range_check(1, 1), -EINVAL);
	assert_int_equal(kfb_range_check(KFB_BLOCK_BYTES - 1, 1), -EINVAL);
	assert_int_equal(kfb_range_check(KFB_BLOCK_BYTES / 2, 1), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_status_has_an_errno_of_its_own_and_a_sentence),
		cmocka_unit_test(the_page_has_the_same_statuses),
		cmocka_unit_test(an_errno_without_a_status_is_an_io_error),
		cmocka_unit_test(every_cause_of_an_eviction_has_words),
		cmocka_unit_test(
			a_range_may_end_at_the_end_of_the_address_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
