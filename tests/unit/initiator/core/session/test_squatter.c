// SPDX-License-Identifier: BSD-2-Clause
/*
 * The client's session against whoever has the brick's port while the brick is
 * away: it knows all that has travelled before, and no key. It gets nothing but
 * HELLO and AUTH, ends nothing, and costs time only.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client_rig.h"
#include "kfb_err.h"

#define QUEUES	  2
#define SQUAT_MS  5000
#define STATUSES  18
#define ALLOC_NO  3
#define RESUME_MS 20000

static struct rig r;
static unsigned int n_told;
static int owner;
static int error_told;
static unsigned int n_same; /* sessions that went on */

static int setup(void **state)
{
	rig_init(&r, QUEUES);
	n_told = 0;
	error_told = 0;
	return 0;
}

static enum kfb_client_state state_of(void)
{
	return kfb_client_state(&r.c);
}

static void told(struct rig *rig, uint32_t queue,
		 const struct kfb_outcome *outcome)
{
	n_told++;
	error_told = outcome->error;
}

/* Between two steps of the client: is it trusted with anything? */
static void nothing_goes_there(void)
{
	uint32_t i;

	for (i = 0; i < QUEUES; i++) {
		if (!r.is_squatted[i] || !r.links[i].open)
			continue;
		assert_int_not_equal(r.c.queues[i].engine.state,
				     KFB_CONN_READY);
		assert_false(kfb_client_usable(&r.c, i, r.now_ms));
		assert_false(kfb_client_can_call(&r.c, i));
	}
	assert_int_equal(r.n_stolen, 0);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
}

static void squat(enum rig_squat how, uint16_t status, uint64_t ms)
{
	uint64_t end_ms = r.now_ms + ms;
	uint32_t before = r.n_squatted;
	uint32_t i;

	r.squat = how;
	r.squat_status = status;
	for (i = 0; i < QUEUES; i++)
		rig_cut(&r, i);
	while (r.now_ms < end_ms) {
		rig_run(&r);
		nothing_goes_there();
		assert_true(kfb_client_next_ms(&r.c) > r.now_ms);
		r.now_ms = kfb_client_next_ms(&r.c);
	}
	assert_true(r.n_squatted > before);
	r.squat = RIG_SQUAT_NONE;
}

/* Live, with one request whose answer was lost with the connection. */
static void begin(void)
{
	rig_connect(&r);
	r.blocks[1].held = true;
	r.on_outcome = told;
	r.cut = RIG_CUT_REPLY;
	r.cut_op = KFB_OP_ALLOC;
	assert_int_equal(rig_alloc(&r, ALLOC_NO, &owner), 0);
}

static void every_squatter(void (*then)(void))
{
	enum rig_squat how;
	uint16_t status;

	for (how = RIG_SQUAT_NONE + 1; how < RIG_SQUATS; how++) {
		for (status = 0; status < STATUSES; status++) {
			if (how == RIG_SQUAT_REFUSE && !status)
				continue;
			setup(NULL);
			begin();
			squat(how, status, SQUAT_MS);
			assert_int_equal(n_told, 0);
			then();
		}
	}
}

static void resume(void)
{
	uint64_t end_ms = r.now_ms + RESUME_MS;
	uint32_t i;

	for (i = 0; i < QUEUES; i++) {
		for (;;) {
			rig_run(&r);
			if (kfb_client_usable(&r.c, i, r.now_ms))
				break;
			rig_pass_time(&r);
			assert_true(r.now_ms < end_ms);
		}
	}
}

/* Or the brick was there to be asked: then it has ended the session itself. */
static void is_the_same_session(void)
{
	resume();
	assert_int_equal(r.b.n_openings, 1 + r.b.n_replaced);
	assert_int_equal(r.b.executed[ALLOC_NO], 1);
	assert_int_equal(n_told, 1);
	assert_int_equal(error_told, r.b.n_replaced ? -ECONNRESET : 0);
	n_same += !r.b.n_replaced;
}

static void the_session_outlives_every_squatter(void **state)
{
	n_same = 0;
	every_squatter(is_the_same_session);
	assert_true(n_same >= (RIG_SQUATS - 2) * STATUSES);
}

static void is_a_new_session(void)
{
	sim_restart(&r.b);
	rig_renew(&r);
	rig_run(&r);
	assert_int_equal(r.b.n_openings, 2);
	assert_int_equal(n_told, 1);
	assert_int_equal(error_told, -ECONNRESET);
	assert_true(r.blocks[1].mapped);
}

static void
a_brick_that_was_restarted_is_found_behind_every_squatter(void **state)
{
	every_squatter(is_a_new_session);
}

/* The first connection is an attempt that fails, and no more. */
static void a_first_connection_is_refused_with_the_reason(void **state)
{
	static const struct {
		enum rig_squat how;
		uint16_t status;
		int error;
	} cases[] = {
		{ RIG_SQUAT_RANDOM, 0, -EKEYREJECTED },
		{ RIG_SQUAT_RANDOM, KFB_ST_KEY_REJECTED, -EKEYREJECTED },
		{ RIG_SQUAT_REFUSE, KFB_ST_VERSION, -EPROTONOSUPPORT },
		{ RIG_SQUAT_REFUSE, KFB_ST_STALE, -ESTALE },
		{ RIG_SQUAT_MUTE, 0, -ETIMEDOUT },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		setup(NULL);
		rig_connect(&r);
		kfb_client_close(&r.c);
		rig_run(&r);
		r.squat = cases[i].how;
		r.squat_status = cases[i].status;
		rig_again(&r);
		assert_int_equal(kfb_client_start(&r.c), 0);
		rig_run_to(&r, KFB_CLIENT_FAILED, RIG_TIMEOUT_MS);
		assert_int_equal(kfb_client_error(&r.c), cases[i].error);
		assert_int_equal(r.n_stolen, 0);
	}
}

static void who_waits_hears_of_it_when_the_time_is_over(void **state)
{
	begin();
	squat(RIG_SQUAT_FORGET, 0, RIG_RECONNECT_MS - 4000);
	r.squat = RIG_SQUAT_FORGET;
	rig_run_to(&r, KFB_CLIENT_FAILED, 5000);
	rig_run(&r);
	assert_int_equal(n_told, 1);
	assert_int_equal(error_told, -ECONNRESET);
	assert_int_equal(r.n_stolen, 0);
	assert_false(r.links[0].open);
}

/* At every step of the question whether the session is gone. */
static void who_waits_hears_of_a_close_meanwhile(void **state)
{
	int n;
	int i;

	for (n = 1; n < 12; n++) {
		struct kfb_client_action action;

		setup(NULL);
		begin();
		r.squat = RIG_SQUAT_MUTE;
		rig_cut(&r, 0);
		rig_cut(&r, 1);
		for (i = 0; i < n; i++) {
			r.now_ms += 100;
			if (kfb_client_next(&r.c, r.now_ms, &action))
				rig_do(&r, &action);
		}
		kfb_client_close(&r.c);
		rig_run(&r);
		assert_int_equal(n_told, 1);
		assert_int_equal(error_told, -ECONNRESET);
		assert_false(r.links[0].open || r.links[1].open);
		assert_int_equal(r.n_stolen, 0);
	}
}

/*
 * One queue hears that the session is gone, the others live: either is wrong.
 * All of them join again.
 */
static void a_word_to_one_queue_ends_no_session(void **state)
{
	begin();
	rig_run_to(&r, KFB_CLIENT_LIVE, 1000);
	rig_run(&r);
	r.squat = RIG_SQUAT_FORGET;
	rig_cut(&r, 1);
	while (r.n_squatted < 2) {
		rig_run(&r);
		rig_pass_time(&r);
	}
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
	assert_int_equal(r.n_stolen, 0);
	r.squat = RIG_SQUAT_NONE;
	resume();
	assert_int_equal(r.b.n_openings, 1);
}

/*
 * The word was a lie, and then it is the brick that is asked: it ends the
 * session before the new one gets anything, as if it had been true.
 */
static void a_session_that_is_replaced_has_ended(void **state)
{
	uint64_t old;

	begin();
	old = r.c.session_id;
	r.squat = RIG_SQUAT_FORGET;
	r.squat_joins_only = true;
	rig_cut(&r, 0);
	rig_cut(&r, 1);
	assert_non_null(sim_session(&r.b, old));
	while (r.b.n_openings < 2) {
		rig_run(&r);
		rig_pass_time(&r);
	}
	r.squat = RIG_SQUAT_NONE;
	resume();
	assert_int_equal(r.b.n_openings, 1 + r.b.n_replaced);
	assert_null(sim_session(&r.b, old));
	assert_int_equal(n_told, 1);
	assert_int_equal(r.fate, KFB_FATE_PLACED);
}

/* Without a key nothing is proven: the same words end nothing for good. */
static void without_a_key_only_joins_are_proven(void **state)
{
	struct kfb_client_config config = rig_config(&r, QUEUES);

	config.engine.client_name = NULL;
	config.engine.key = NULL;
	rig_configure(&r, &config);
	r.b.anonymous = true;
	begin();
	squat(RIG_SQUAT_RANDOM, 0, SQUAT_MS);
	is_the_same_session();
	r.squat_status = KFB_ST_KEY_REJECTED;
	squat(RIG_SQUAT_REFUSE, KFB_ST_KEY_REJECTED, SQUAT_MS);
	resume();
	assert_int_equal(r.b.n_openings, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_session_outlives_every_squatter,
				       setup),
		cmocka_unit_test_setup(
			a_brick_that_was_restarted_is_found_behind_every_squatter,
			setup),
		cmocka_unit_test_setup(
			a_first_connection_is_refused_with_the_reason, setup),
		cmocka_unit_test_setup(
			who_waits_hears_of_it_when_the_time_is_over, setup),
		cmocka_unit_test_setup(who_waits_hears_of_a_close_meanwhile,
				       setup),
		cmocka_unit_test_setup(a_word_to_one_queue_ends_no_session,
				       setup),
		cmocka_unit_test_setup(a_session_that_is_replaced_has_ended,
				       setup),
		cmocka_unit_test_setup(without_a_key_only_joins_are_proven,
				       setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
