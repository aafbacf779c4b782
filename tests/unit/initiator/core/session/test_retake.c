// SPDX-License-Identifier: BSD-2-Clause
/*
 * A session that was given up is taken up again: what it finds is what it would
 * have found in time, and the old session is never joined again.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client_rig.h"
#include "kfb_err.h"
#include "session/kfb_client_priv.h"

static struct rig r;
static uint64_t old_session;

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

static enum kfb_client_state state_of(void)
{
	return kfb_client_state(&r.c);
}

/* It has been LIVE, its brick went away, and did not come back in time. */
static void give_up(void)
{
	uint32_t i;

	rig_connect(&r);
	old_session = r.c.session_id;
	r.unreachable = true;
	for (i = 0; i < r.c.config.n_queues; i++)
		rig_cut(&r, i);
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
	r.now_ms += RIG_RECONNECT_MS;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_FAILED);
}

/* The brick is there again. */
static void come_back(void)
{
	r.unreachable = false;
	assert_int_equal(kfb_client_retake(&r.c, r.now_ms), 0);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
	rig_run_to(&r, KFB_CLIENT_LIVE, 1000);
	rig_run(&r);
}

static void a_session_that_was_given_up_is_replaced(void **state)
{
	uint32_t i;

	for (i = 0; i < SIM_BLOCKS; i++)
		r.blocks[i].held = true;
	give_up();
	come_back();
	assert_int_not_equal(r.c.session_id, old_session);
	assert_int_equal(r.b.n_replaced, 1);
	for (i = 0; i < SIM_BLOCKS; i++)
		assert_true(r.blocks[i].mapped);
	for (i = 0; i < r.c.n_used; i++)
		assert_true(kfb_client_usable(&r.c, i, r.now_ms));
	assert_int_equal(r.c.n_used, 3);
}

/* The brick may have the session for longer than the client has tried. */
static void the_old_session_is_not_joined(void **state)
{
	uint32_t n_joins;

	give_up();
	n_joins = r.b.n_joins;
	assert_int_equal(kfb_client_retake(&r.c, r.now_ms), 0);
	/* Nobody answers, or nobody who can prove anything. */
	r.now_ms += RIG_RECONNECT_MS / 2;
	rig_run(&r);
	r.unreachable = false;
	r.squat = RIG_SQUAT_FORGET;
	rig_run(&r);
	r.now_ms += 5000;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
	assert_int_equal(r.b.n_joins, n_joins);
	r.squat = RIG_SQUAT_NONE;
	rig_run_to(&r, KFB_CLIENT_LIVE, 5000);
	assert_int_not_equal(r.c.session_id, old_session);
	assert_int_equal(r.b.n_replaced, 1);
}

static void it_gives_up_again_in_its_time(void **state)
{
	give_up();
	assert_int_equal(kfb_client_retake(&r.c, r.now_ms), 0);
	rig_run(&r);
	r.now_ms += RIG_RECONNECT_MS - 1;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
	r.now_ms += 1;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_FAILED);
	come_back();
	assert_int_equal(r.b.n_replaced, 1);
}

/* A loss was its end at once. */
static void give_up_at_once(void)
{
	rig_connect(&r);
	r.c.config.reconnect_ms = 0;
	r.unreachable = true;
	rig_cut(&r, 0);
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_FAILED);
}

static void who_waits_for_nobody_tries_once(void **state)
{
	give_up_at_once();
	come_back();
	assert_int_equal(r.b.n_replaced, 1);
	r.unreachable = true;
	rig_cut(&r, 0);
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_FAILED);
	assert_int_equal(kfb_client_retake(&r.c, r.now_ms), 0);
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_FAILED);
	come_back();
}

/* It lets in, or does not, and proves nothing: the try is over when its time is. */
static void one_try_has_an_end(void **state)
{
	static const enum rig_squat squats[] = { RIG_SQUAT_MUTE,
						 RIG_SQUAT_REFUSE,
						 RIG_SQUAT_RANDOM,
						 RIG_SQUAT_FORGET };
	uint64_t begun_ms;
	size_t i;

	for (i = 0; i < sizeof(squats) / sizeof(squats[0]); i++) {
		rig_init(&r, 1);
		give_up_at_once();
		r.unreachable = false;
		r.squat = squats[i];
		r.squat_status = KFB_ST_AGAIN;
		begun_ms = r.now_ms;
		assert_int_equal(kfb_client_retake(&r.c, r.now_ms), 0);
		rig_run(&r);
		while (state_of() != KFB_CLIENT_FAILED)
			rig_pass_time(&r), rig_run(&r);
		assert_true(r.now_ms - begun_ms <= RIG_TIMEOUT_MS);
		r.squat = RIG_SQUAT_NONE;
		come_back();
	}
}

static void writes_have_the_fate_that_they_would_have_had(void **state)
{
	static const struct {
		bool is_restarted;
		bool loses_power;
		bool is_placed;
		enum kfb_fate fate;
	} cases[] = {
		{ .is_placed = true, .fate = KFB_FATE_PLACED },
		{ .is_placed = false, .fate = KFB_FATE_SUSPECT },
		{ .is_restarted = true,
		  .is_placed = true,
		  .fate = KFB_FATE_FLUSH },
		{ .loses_power = true,
		  .is_placed = true,
		  .fate = KFB_FATE_GONE },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rig_init(&r, 1);
		r.b.ack_is_placed = cases[i].is_placed;
		give_up();
		assert_int_equal(r.n_fates, 0);
		if (cases[i].is_restarted)
			sim_restart(&r.b);
		if (cases[i].loses_power)
			sim_power_cut(&r.b);
		come_back();
		assert_int_equal(r.n_fates, 1);
		assert_int_equal(r.fate, cases[i].fate);
	}
}

/* Given up while it asked whether the old session was gone. */
static void a_question_that_was_open_is_asked_anew(void **state)
{
	rig_connect(&r);
	sim_restart(&r.b);
	r.squat = RIG_SQUAT_MUTE;
	rig_cut(&r, 0);
	rig_run(&r);
	while (state_of() != KFB_CLIENT_FAILED)
		rig_pass_time(&r), rig_run(&r);
	r.squat = RIG_SQUAT_NONE;
	come_back();
	assert_int_equal(r.fate, KFB_FATE_FLUSH);
}

static void a_request_that_was_told_lost_is_not_told_again(void **state)
{
	int owner;

	rig_connect(&r);
	r.cut = RIG_CUT_SILENCE;
	assert_int_equal(rig_alloc(&r, 0, &owner), 0);
	r.unreachable = true;
	rig_cut(&r, 0);
	rig_run(&r);
	r.now_ms += RIG_RECONNECT_MS;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_FAILED);
	assert_int_equal(r.n_outcomes, 1);
	assert_int_equal(r.outcome.kind, KFB_OUTCOME_LOST);
	r.cut = RIG_CUT_NONE;
	come_back();
	assert_int_equal(r.n_outcomes, 1);
	/* Each slot of the new session is free. */
	assert_int_equal(rig_alloc(&r, 1, &owner), 0);
	rig_run(&r);
	assert_int_equal(r.n_outcomes, 2);
	assert_int_equal(r.outcome.kind, KFB_OUTCOME_REPLY);
}

static void who_has_not_failed_is_not_taken_up(void **state)
{
	assert_int_equal(kfb_client_retake(&r.c, r.now_ms), -EINVAL);
	rig_connect(&r);
	assert_int_equal(kfb_client_retake(&r.c, r.now_ms), -EINVAL);
	r.unreachable = true;
	rig_cut(&r, 0);
	r.now_ms += RIG_RECONNECT_MS;
	kfb_client_fail(&r.c, -ETIMEDOUT);
	/* Its endpoint is still to be closed. */
	r.c.queues[0].is_open = 1;
	assert_int_equal(kfb_client_retake(&r.c, r.now_ms), -EBUSY);
	r.c.queues[0].is_open = 0;
	kfb_client_close(&r.c);
	assert_int_equal(kfb_client_retake(&r.c, r.now_ms), -EINVAL);
}

static void who_never_connected_is_not_taken_up(void **state)
{
	r.unreachable = true;
	assert_int_equal(kfb_client_start(&r.c), 0);
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_FAILED);
	assert_int_equal(kfb_client_retake(&r.c, r.now_ms), -EINVAL);
}

#define ONE(name)   cmocka_unit_test_setup(name, setup)
#define THREE(name) cmocka_unit_test_setup(name, setup_queues)

int main(void)
{
	const struct CMUnitTest tests[] = {
		THREE(a_session_that_was_given_up_is_replaced),
		ONE(the_old_session_is_not_joined),
		ONE(it_gives_up_again_in_its_time),
		ONE(who_waits_for_nobody_tries_once),
		ONE(one_try_has_an_end),
		ONE(writes_have_the_fate_that_they_would_have_had),
		ONE(a_question_that_was_open_is_asked_anew),
		ONE(a_request_that_was_told_lost_is_not_told_again),
		ONE(who_has_not_failed_is_not_taken_up),
		ONE(who_never_connected_is_not_taken_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
