// SPDX-License-Identifier: BSD-2-Clause
/*
 * The queues of a session: as many as the brick has for it, one instance more and the
 * next one fewer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client_rig.h"

static struct rig r;

static int setup(void **state)
{
	rig_init(&r, 3);
	return 0;
}

static void a_brick_may_have_fewer_queues(void **state)
{
	r.b.n_queues = 2;
	rig_connect(&r);
	assert_int_equal(r.c.n_used, 2);
	rig_cut(&r, 1);
	rig_run_to(&r, KFB_CLIENT_LIVE, 0);
	r.now_ms += 100;
	rig_run(&r);
	assert_true(kfb_client_usable(&r.c, 1, r.now_ms));
	/* The next instance has more. */
	r.b.n_queues = 3;
	sim_restart(&r.b);
	rig_cut(&r, 0);
	rig_cut(&r, 1);
	rig_renew(&r);
	assert_int_equal(r.c.n_used, 3);
}

/* The session is cut when it has its mappings, and not all queues yet. */
static void cut_first_queue_once(struct rig *rig, uint32_t queue)
{
	if (!queue || kfb_client_state(&rig->c) != KFB_CLIENT_MAPPING)
		return;
	rig->on_connect = NULL;
	rig->mapping = false;
	assert_int_equal(kfb_client_mapped(&rig->c), 0);
	rig_cut(rig, 0);
}

/* What it had in the session before is not what it has now. */
static void fewer_queues_are_found_out_after_a_loss_too(void **state)
{
	for (uint32_t n_queues = 1; n_queues <= 3; n_queues++) {
		rig_init(&r, 3);
		rig_connect(&r);
		r.b.n_queues = n_queues;
		sim_restart(&r.b);
		for (uint32_t i = 0; i < 3; i++)
			rig_cut(&r, i);
		r.on_connect = cut_first_queue_once;
		rig_renew(&r);
		assert_null(r.on_connect);
		assert_int_equal(r.c.n_used, n_queues);
		assert_int_equal(r.b.n_openings, 2);
		for (uint32_t i = 0; i < n_queues; i++)
			assert_true(kfb_client_usable(&r.c, i, r.now_ms));
		r.now_ms += RIG_RECONNECT_MS;
		rig_run(&r);
		assert_int_equal(kfb_client_state(&r.c), KFB_CLIENT_LIVE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_brick_may_have_fewer_queues, setup),
		cmocka_unit_test_setup(
			fewer_queues_are_found_out_after_a_loss_too, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
