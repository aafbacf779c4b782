// SPDX-License-Identifier: BSD-2-Clause
/* How many blocks a disk can have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <linux/slab.h>

#include "initiator/kmod/blocks/mappings.h"

#define TOO_MANY (UINT64_C(1) << 26)

static size_t asked_bytes;

/* What is large is not filled: nobody looks at it. */
void *kcalloc(size_t n, size_t size, gfp_t flags)
{
	(void)flags;
	if (n * size > asked_bytes)
		asked_bytes = n * size;
	return malloc(1);
}

static void a_table_is_no_larger_than_can_be_had(void **state)
{
	struct kfbk_device dev = { .options.n_blocks = TOO_MANY - 1 };

	(void)state;
	assert_null(kfbk_maps_check(1));
	assert_null(kfbk_maps_check(TOO_MANY - 1));
	assert_int_equal(kfbk_maps_init(&dev), 0);
	/* More is refused by the kernel, with a warning. */
	assert_in_range(asked_bytes, TOO_MANY, INT_MAX);
	free(dev.blocks);
	free(dev.replies);
}

static void who_wants_more_hears_how_many_there_may_be(void **state)
{
	(void)state;
	assert_non_null(strstr(kfbk_maps_check(TOO_MANY), "128 TiB"));
	assert_non_null(kfbk_maps_check(UINT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_no_larger_than_can_be_had),
		cmocka_unit_test(who_wants_more_hears_how_many_there_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
