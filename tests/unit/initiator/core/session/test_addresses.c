// SPDX-License-Identifier: BSD-2-Clause
/*
 * A brick with several addresses: where a session is looked for, first and after a
 * loss.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client_rig.h"
#include "kfb_err.h"

#define QUEUES	  3
#define ADDRESSES 3
#define NOW_MS	  300 /* a try that waits for nobody, with its delays */
#define SOON_MS	  3000 /* one after others that did */

static struct rig r;

static void configure(uint32_t n_addresses)
{
	struct kfb_client_config config = rig_config(&r, QUEUES);

	config.n_addresses = n_addresses;
	rig_configure(&r, &config);
}

static int setup(void **state)
{
	rig_init(&r, QUEUES);
	configure(ADDRESSES);
	return 0;
}

static enum kfb_client_state state_of(void)
{
	return kfb_client_state(&r.c);
}

/* A queue is in a state soon. */
static void await(uint32_t queue, enum kfb_conn_state state)
{
	uint64_t end_ms = r.now_ms + SOON_MS;

	rig_run(&r);
	while (r.c.queues[queue].engine.state != state) {
		rig_pass_time(&r);
		assert_true(r.now_ms < end_ms);
		rig_run(&r);
	}
}

static void all_are_at(uint32_t address)
{
	uint32_t i;

	for (i = 0; i < QUEUES; i++)
		await(i, KFB_CONN_READY);
	assert_int_equal(r.c.address, address);
	for (i = 0; i < QUEUES; i++) {
		assert_true(kfb_client_usable(&r.c, i, r.now_ms));
		assert_int_equal(r.links[i].address, address);
	}
}

static void cut_all(void)
{
	uint32_t i;

	for (i = 0; i < QUEUES; i++)
		rig_cut(&r, i);
}

static void so_many_are_allowed(void **state)
{
	struct kfb_client_config config = rig_config(&r, QUEUES);

	config.n_addresses = KFB_CLIENT_ADDRESSES_MAX + 1;
	assert_int_equal(kfb_client_init(&r.c, &config, r.tx), -EINVAL);
	config.n_addresses--;
	assert_int_equal(kfb_client_init(&r.c, &config, r.tx), 0);
}

static void the_first_address_that_answers_is_taken(void **state)
{
	r.mute = 1 << 0 | 1 << 1;
	assert_int_equal(kfb_client_start(&r.c), 0);
	rig_run_to(&r, KFB_CLIENT_LIVE, 2 * RIG_TIMEOUT_MS);
	all_are_at(2);
}

static void where_nobody_listens_is_no_answer(void **state)
{
	r.unreachable = true;
	assert_int_equal(kfb_client_start(&r.c), 0);
	rig_run_to(&r, KFB_CLIENT_FAILED, 0);
	assert_int_equal(r.c.address, ADDRESSES - 1);
	assert_int_equal(kfb_client_error(&r.c), -ECONNREFUSED);
}

static void without_any_answer_attaching_ends(void **state)
{
	r.mute = ~0U;
	assert_int_equal(kfb_client_start(&r.c), 0);
	rig_run_to(&r, KFB_CLIENT_FAILED, ADDRESSES * RIG_TIMEOUT_MS);
	assert_int_equal(kfb_client_error(&r.c), -ETIMEDOUT);
}

/* What the brick says at one address it would say at all of them. */
static void a_refusal_is_an_answer(void **state)
{
	r.squat = RIG_SQUAT_REFUSE;
	r.squat_status = KFB_ST_VERSION;
	assert_int_equal(kfb_client_start(&r.c), 0);
	rig_run_to(&r, KFB_CLIENT_FAILED, 0);
	assert_int_equal(r.n_squatted, 1);
	assert_int_equal(kfb_client_error(&r.c), -EPROTONOSUPPORT);
}

static void one_lost_queue_joins_where_the_others_are(void **state)
{
	uint64_t session;

	rig_connect(&r);
	session = r.c.session_id;
	rig_cut(&r, 1);
	await(1, KFB_CONN_READY);
	all_are_at(0);
	assert_int_equal(r.c.session_id, session);
}

/* The network of the first address is gone; the others are found without waiting. */
static void without_a_queue_the_next_address_is_tried(void **state)
{
	uint32_t i;

	for (i = 0; i < SIM_BLOCKS; i++)
		r.blocks[i].held = true;
	rig_connect(&r);
	r.mute = 1 << 0;
	cut_all();
	rig_run_to(&r, KFB_CLIENT_LIVE, NOW_MS);
	all_are_at(1);
	assert_int_equal(r.b.n_replaced, 1);
	assert_int_equal(r.n_fates, QUEUES);
	for (i = 0; i < SIM_BLOCKS; i++)
		assert_true(r.blocks[i].mapped);
}

/* A queue that noticed sooner than the others is not waited for. */
static void a_try_at_the_address_before_is_given_up(void **state)
{
	rig_connect(&r);
	r.mute = 1 << 0;
	rig_cut(&r, 1);
	await(1, KFB_CONN_CONNECTING);
	rig_cut(&r, 0);
	rig_cut(&r, 2);
	rig_run_to(&r, KFB_CLIENT_LIVE, NOW_MS);
	all_are_at(1);
}

static void they_are_tried_in_turn_until_one_answers(void **state)
{
	rig_connect(&r);
	r.mute = ~0U;
	cut_all();
	rig_run(&r);
	while (r.c.address != ADDRESSES - 1) {
		rig_pass_time(&r);
		rig_run(&r);
	}
	r.mute = ~(1U << 0);
	rig_run_to(&r, KFB_CLIENT_LIVE, 3 * RIG_TIMEOUT_MS);
	all_are_at(0);
	/* It was away, and is the same session. */
	assert_int_equal(r.b.n_openings, 1);
}

/* Somebody has written down a wrong address: that costs a try, and no disk. */
static void another_brick_at_an_address_is_passed_by(void **state)
{
	rig_connect(&r);
	r.mute = 1 << 0;
	r.foreign = 1 << 1;
	cut_all();
	rig_run_to(&r, KFB_CLIENT_LIVE, SOON_MS);
	all_are_at(2);
}

static void one_that_was_given_up_looks_everywhere(void **state)
{
	rig_connect(&r);
	r.mute = ~0U;
	cut_all();
	rig_run_to(&r, KFB_CLIENT_FAILED, RIG_RECONNECT_MS);
	r.mute = ~(1U << 1);
	assert_int_equal(kfb_client_retake(&r.c, r.now_ms), 0);
	rig_run_to(&r, KFB_CLIENT_LIVE, ADDRESSES * (RIG_TIMEOUT_MS + 2000));
	all_are_at(1);
}

/* Who does not try to come back by itself looks everywhere once when it is told to. */
static void one_that_has_one_try_looks_everywhere(void **state)
{
	rig_connect(&r);
	r.c.config.reconnect_ms = 0;
	r.mute = 1 << 0;
	cut_all();
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_FAILED);
	r.mute = ~(1U << 1);
	assert_int_equal(kfb_client_retake(&r.c, r.now_ms), 0);
	rig_run_to(&r, KFB_CLIENT_LIVE, 2 * RIG_TIMEOUT_MS);
	assert_int_equal(r.c.address, 1);
	cut_all();
	rig_run(&r);
	r.mute = ~0U;
	assert_int_equal(kfb_client_retake(&r.c, r.now_ms), 0);
	rig_run_to(&r, KFB_CLIENT_FAILED, ADDRESSES * RIG_TIMEOUT_MS);
}

static void with_one_address_nothing_changes(void **state)
{
	uint32_t n;

	for (n = 0; n < 2; n++) {
		rig_init(&r, QUEUES);
		configure(n);
		rig_connect(&r);
		cut_all();
		rig_run_to(&r, KFB_CLIENT_LIVE, NOW_MS);
		rig_run(&r);
		assert_int_equal(r.c.address, 0);
		assert_int_equal(r.b.n_openings, 1);
	}
	assert_int_equal(state_of(), KFB_CLIENT_LIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(so_many_are_allowed, setup),
		cmocka_unit_test_setup(the_first_address_that_answers_is_taken,
				       setup),
		cmocka_unit_test_setup(where_nobody_listens_is_no_answer,
				       setup),
		cmocka_unit_test_setup(without_any_answer_attaching_ends,
				       setup),
		cmocka_unit_test_setup(a_refusal_is_an_answer, setup),
		cmocka_unit_test_setup(
			one_lost_queue_joins_where_the_others_are, setup),
		cmocka_unit_test_setup(
			without_a_queue_the_next_address_is_tried, setup),
		cmocka_unit_test_setup(a_try_at_the_address_before_is_given_up,
				       setup),
		cmocka_unit_test_setup(they_are_tried_in_turn_until_one_answers,
				       setup),
		cmocka_unit_test_setup(another_brick_at_an_address_is_passed_by,
				       setup),
		cmocka_unit_test_setup(one_that_was_given_up_looks_everywhere,
				       setup),
		cmocka_unit_test_setup(one_that_has_one_try_looks_everywhere,
				       setup),
		cmocka_unit_test(with_one_address_nothing_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
