// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the client takes for silence, and what for a slow link.
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

static enum kfb_client_state state_of(void)
{
	return kfb_client_state(&r.c);
}

/* Bytes that move are a sign of life; that they have moved before is none. */
static void a_queue_that_moves_bytes_is_not_silent(void **state)
{
	uint64_t sent;

	r.b.lease_ms = 1600;
	rig_connect(&r);
	sent = r.now_ms;
	r.cut = RIG_CUT_SILENCE;
	assert_false(kfb_client_listens(&r.c, 0));
	kfb_client_moved(&r.c, 0, 10000, r.now_ms);
	r.now_ms = sent + 800;
	rig_run(&r);
	assert_true(kfb_client_listens(&r.c, 0));
	kfb_client_moved(&r.c, 0, 15000, r.now_ms);
	/* Three eighths of the lease from when they last did. */
	r.now_ms = sent + 1190;
	kfb_client_moved(&r.c, 0, 20000, r.now_ms);
	r.now_ms = sent + 1789;
	kfb_client_moved(&r.c, 0, 20000, r.now_ms);
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_LIVE);
	/* It lives, but without an answer handles are not used. */
	assert_false(kfb_client_usable(&r.c, 0, r.now_ms));
	r.now_ms = sent + 1790;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
	assert_int_equal(r.n_silent, 1);
}

/* Only a PING asks whether the brick lives; no time of its own ends it. */
static void a_ping_has_as_long_as_bytes_move(void **state)
{
	uint64_t sent, i;

	r.b.lease_ms = 1600;
	rig_connect(&r);
	sent = r.now_ms;
	r.cut = RIG_CUT_SILENCE;
	r.now_ms = sent + 800;
	rig_run(&r);
	sent = r.now_ms;
	for (i = 0; i <= 100; i++) {
		r.now_ms = sent + (i ? 390 + 590 * (i - 1) : 0);
		kfb_client_moved(&r.c, 0, i * KFB_CLIENT_MOVED_MIN_BYTES,
				 r.now_ms);
		rig_run(&r);
		assert_int_equal(state_of(), KFB_CLIENT_LIVE);
	}
	assert_int_equal(r.n_silent, 0);
	rig_cut(&r, 0);
	r.cut = RIG_CUT_NONE;
	rig_run_to(&r, KFB_CLIENT_LIVE, 1000);
	rig_run(&r);
	assert_true(kfb_client_usable(&r.c, 0, r.now_ms));
	assert_int_equal(r.b.n_openings, 1);
}

/* What has moved before a PING is no answer to it. */
static void what_moved_before_a_ping_is_no_sign_of_life(void **state)
{
	uint64_t sent;

	r.b.lease_ms = 1600;
	rig_connect(&r);
	sent = r.now_ms;
	r.cut = RIG_CUT_SILENCE;
	r.now_ms = sent + 800;
	rig_run(&r);
	kfb_client_moved(&r.c, 0, 15000, r.now_ms);
	r.now_ms = sent + 1199;
	kfb_client_moved(&r.c, 0, 15000, r.now_ms);
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_LIVE);
	r.now_ms = sent + 1200;
	kfb_client_moved(&r.c, 0, 15000, r.now_ms);
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
}

/* The host of a brick that stands still acknowledges the PING itself. */
static void a_ping_that_arrives_is_no_sign_of_life(void **state)
{
	uint64_t sent;

	r.b.lease_ms = 1600;
	rig_connect(&r);
	sent = r.now_ms;
	r.cut = RIG_CUT_SILENCE;
	r.now_ms = sent + 800;
	rig_run(&r);
	kfb_client_moved(&r.c, 0, 15000, r.now_ms);
	r.now_ms = sent + 1199;
	kfb_client_moved(&r.c, 0, 15100, r.now_ms);
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_LIVE);
	r.now_ms = sent + 1200;
	kfb_client_moved(&r.c, 0, 15100, r.now_ms);
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
}

/* An operation that was over not long before the PING speaks for the brick. */
static void an_operation_that_is_over_is_a_sign_of_life(void **state)
{
	uint64_t sent;

	r.b.lease_ms = 1600;
	rig_connect(&r);
	sent = r.now_ms;
	r.cut = RIG_CUT_SILENCE;
	kfb_client_heard(&r.c, 0, sent + 790);
	kfb_client_heard(&r.c, 0, sent + 100);
	r.now_ms = sent + 800;
	rig_run(&r);
	r.now_ms = sent + 1389;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_LIVE);
	r.now_ms = sent + 1390;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
}

/*
 * Requests that get no answer are no sign of life, however often one is sent: nor do
 * they take the credit that the PING needs which asks for one.
 */
static void requests_without_an_answer_hide_no_silence(void **state)
{
	struct kfb_request req = { .op = KFB_OP_UNMAP, .u.unmap = { 7 } };
	uint64_t sent;

	r.b.lease_ms = 1600;
	rig_connect(&r);
	sent = r.now_ms;
	r.cut = RIG_CUT_SILENCE;
	/* The one that is sent anew each time the last one has ended in vain. */
	while (state_of() == KFB_CLIENT_LIVE) {
		assert_true(r.now_ms < sent + 1200);
		(void)rig_call(&r, 0, &req, &r.reply);
		r.now_ms += 100;
		rig_run(&r);
	}
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
	assert_int_equal(r.n_silent, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_queue_that_moves_bytes_is_not_silent,
				       setup),
		cmocka_unit_test_setup(a_ping_has_as_long_as_bytes_move, setup),
		cmocka_unit_test_setup(
			what_moved_before_a_ping_is_no_sign_of_life, setup),
		cmocka_unit_test_setup(a_ping_that_arrives_is_no_sign_of_life,
				       setup),
		cmocka_unit_test_setup(
			an_operation_that_is_over_is_a_sign_of_life, setup),
		cmocka_unit_test_setup(
			requests_without_an_answer_hide_no_silence, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
