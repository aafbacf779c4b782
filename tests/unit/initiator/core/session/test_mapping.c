// SPDX-License-Identifier: BSD-2-Clause
/*
 * Mappings are made in a new session by the caller, who is busy with it while
 * connections come and go.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client_rig.h"

static struct rig r;

static int setup(void **state)
{
	rig_init(&r, 1);
	return 0;
}

static int setup_queues(void **state)
{
	rig_init(&r, 3);
	return 0;
}

/* All that is to be done, but for what is asked of the caller. */
static bool is_asked_for_mappings(void)
{
	struct kfb_client_action action;

	while (kfb_client_next(&r.c, r.now_ms, &action)) {
		if (action.what == KFB_DO_MAP)
			return true;
		rig_do(&r, &action);
	}
	return false;
}

/* The caller is not to know in which state the session is when it is done. */
static void what_is_mapped_while_detached_is_mapped(void **state)
{
	rig_connect(&r);
	sim_restart(&r.b);
	rig_cut(&r, 0);
	while (!is_asked_for_mappings())
		rig_pass_time(&r);
	assert_int_equal(kfb_client_state(&r.c), KFB_CLIENT_MAPPING);
	r.unreachable = true;
	for (uint32_t i = 0; i < r.c.config.n_queues; i++)
		rig_cut(&r, i);
	assert_false(is_asked_for_mappings());
	assert_int_equal(kfb_client_state(&r.c), KFB_CLIENT_DETACHED);
	assert_int_equal(kfb_client_mapped(&r.c), 0);
	r.unreachable = false;
	rig_run_to(&r, KFB_CLIENT_LIVE, 5000);
	assert_int_equal(r.b.n_openings, 2);
	assert_int_equal(kfb_client_mapped(&r.c), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_mapped_while_detached_is_mapped,
				       setup),
		cmocka_unit_test_setup(what_is_mapped_while_detached_is_mapped,
				       setup_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
