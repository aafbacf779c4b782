// SPDX-License-Identifier: BSD-2-Clause
/*
 * The client's session against a scripted brick.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "client_rig.h"
#include "kfb_err.h"
#include "session/kfb_client_priv.h"

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

static enum kfb_client_state state_of(void)
{
	return kfb_client_state(&r.c);
}

/* The table of docs/reconnect.md. */
static const char *const moves[KFB_CLIENT_STATES][KFB_CLIENT_STATES] = {
	[KFB_CLIENT_IDLE] = { [KFB_CLIENT_OPENING] = "",
			      [KFB_CLIENT_CLOSED] = "" },
	[KFB_CLIENT_OPENING] = { [KFB_CLIENT_MAPPING] = "",
				 [KFB_CLIENT_FAILED] = "",
				 [KFB_CLIENT_CLOSED] = "" },
	[KFB_CLIENT_MAPPING] = { [KFB_CLIENT_LIVE] = "",
				 [KFB_CLIENT_DETACHED] = "",
				 [KFB_CLIENT_FAILED] = "",
				 [KFB_CLIENT_CLOSED] = "" },
	[KFB_CLIENT_LIVE] = { [KFB_CLIENT_DETACHED] = "",
			      [KFB_CLIENT_FAILED] = "",
			      [KFB_CLIENT_CLOSED] = "" },
	[KFB_CLIENT_DETACHED] = { [KFB_CLIENT_LIVE] = "",
				  [KFB_CLIENT_MAPPING] = "",
				  [KFB_CLIENT_OPENING] = "",
				  [KFB_CLIENT_FAILED] = "",
				  [KFB_CLIENT_CLOSED] = "" },
	[KFB_CLIENT_FAILED] = { [KFB_CLIENT_DETACHED] = "",
				[KFB_CLIENT_CLOSED] = "" },
};

static void every_move_is_in_the_table_and_no_other(void **state)
{
	unsigned int from;
	unsigned int to;

	for (from = 0; from < KFB_CLIENT_STATES; from++) {
		for (to = 0; to < KFB_CLIENT_STATES; to++) {
			r.c.state = from;
			assert_int_equal(kfb_client_move(&r.c, to),
					 moves[from][to] ? 0 : -EINVAL);
			assert_int_equal(r.c.state,
					 moves[from][to] ? to : from);
		}
	}
}

static void a_configuration_no_client_can_have_is_refused(void **state)
{
	struct kfb_client_config config = rig_config(&r, 0);

	assert_int_equal(kfb_client_init(&r.c, &config, r.tx), -EINVAL);
	config = rig_config(&r, KFB_CLIENT_QUEUES_MAX + 1);
	assert_int_equal(kfb_client_init(&r.c, &config, r.tx), -EINVAL);
	config = rig_config(&r, 1);
	assert_int_equal(kfb_client_init(&r.c, &config, NULL), -EINVAL);
	config.random = NULL;
	assert_int_equal(kfb_client_init(&r.c, &config, r.tx), -EINVAL);
}

static void a_session_is_opened_and_its_queues_join(void **state)
{
	rig_connect(&r);
	assert_int_equal(r.b.n_openings, 1);
	assert_int_equal(r.b.n_auths, 1);
	assert_int_equal(r.b.n_joins, 2);
	assert_int_equal(r.c.n_used, 3);
	assert_int_equal(r.n_map_asked, 1);
	assert_true(kfb_client_usable(&r.c, 2, r.now_ms));
	assert_false(kfb_client_usable(&r.c, 3, r.now_ms));
	assert_int_equal(kfb_client_start(&r.c), -EISCONN);
}

static void without_a_name_the_session_key_is_made_of_zeros(void **state)
{
	struct kfb_client_config config = rig_config(&r, 2);

	config.engine.client_name = NULL;
	config.engine.key = NULL;
	rig_configure(&r, &config);
	r.b.anonymous = true;
	rig_connect(&r);
	assert_int_equal(r.b.n_joins, 1);
	rig_cut(&r, 0);
	rig_cut(&r, 1);
	rig_run_to(&r, KFB_CLIENT_DETACHED, 0);
	rig_run_to(&r, KFB_CLIENT_LIVE, 1000);
	assert_int_equal(r.b.n_openings, 1);
}

static void the_first_failure_to_connect_is_the_end(void **state)
{
	r.unreachable = true;
	assert_int_equal(kfb_client_start(&r.c), 0);
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_FAILED);
	assert_int_equal(kfb_client_error(&r.c), -ECONNREFUSED);
	assert_false(r.links[0].open);
}

static void without_reconnect_a_loss_is_the_end(void **state)
{
	struct kfb_client_config config = rig_config(&r, 1);
	int owner;

	config.reconnect_ms = 0;
	rig_configure(&r, &config);
	rig_connect(&r);
	r.cut = RIG_CUT_REPLY;
	assert_int_equal(rig_alloc(&r, 0, &owner), 0);
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_FAILED);
	assert_int_equal(r.outcome.kind, KFB_OUTCOME_LOST);
	assert_ptr_equal(r.outcome.owner, &owner);
	assert_false(r.links[0].open);
}

static void a_lost_reply_comes_after_a_resume(void **state)
{
	int owner;

	rig_connect(&r);
	r.cut = RIG_CUT_REPLY;
	assert_int_equal(rig_alloc(&r, 3, &owner), 0);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
	rig_run_to(&r, KFB_CLIENT_LIVE, 1000);
	rig_run(&r);
	assert_int_equal(r.b.n_openings, 1);
	assert_int_equal(r.b.n_auths, 1);
	assert_int_equal(r.b.n_resent, 1);
	assert_int_equal(r.b.executed[3], 1);
	assert_int_equal(r.outcome.kind, KFB_OUTCOME_REPLY);
	assert_int_equal(r.outcome.error, 0);
	assert_ptr_equal(r.outcome.owner, &owner);
	assert_int_equal(r.n_map_asked, 1);
}

static void a_lost_request_is_executed_after_a_resume(void **state)
{
	rig_connect(&r);
	r.cut = RIG_CUT_REQUEST;
	assert_int_equal(rig_alloc(&r, 3, NULL), 0);
	rig_run_to(&r, KFB_CLIENT_LIVE, 1000);
	rig_run(&r);
	assert_int_equal(r.b.n_resent, 0);
	assert_int_equal(r.b.executed[3], 1);
	assert_int_equal(r.outcome.kind, KFB_OUTCOME_REPLY);
}

static void a_request_keeps_its_time_while_it_is_away(void **state)
{
	rig_connect(&r);
	r.cut = RIG_CUT_REPLY;
	assert_int_equal(rig_alloc(&r, 3, NULL), 0);
	r.now_ms += 5 * RIG_TIMEOUT_MS;
	rig_run(&r);
	assert_int_equal(r.outcome.kind, KFB_OUTCOME_REPLY);
}

/* What it returned belonged to the connection that is gone. */
static void a_request_returns_no_credits_when_it_is_sent_again(void **state)
{
	rig_connect(&r);
	r.c.queues[0].engine.event_credits = 2;
	r.cut = RIG_CUT_REQUEST;
	assert_int_equal(rig_alloc(&r, 3, NULL), 0);
	rig_run_to(&r, KFB_CLIENT_LIVE, 1000);
	rig_run(&r);
	assert_int_equal(r.b.executed[3], 1);
}

/* With all slots in use, the reserve among them. */
static void everything_unanswered_is_sent_again(void **state)
{
	struct kfb_request ping = { .op = KFB_OP_PING };
	struct kfb_request flush = { .op = KFB_OP_FLUSH };
	int owner;
	int i;

	rig_connect(&r);
	r.cut = RIG_CUT_SILENCE;
	assert_int_equal(rig_call(&r, 0, &ping, &owner), 0);
	for (i = 0; i < SIM_CREDITS - 4; i++)
		assert_int_equal(rig_alloc(&r, (uint32_t)i, &owner), 0);
	assert_int_equal(rig_alloc(&r, 9, &owner), -EAGAIN);
	assert_int_equal(rig_call(&r, 0, &flush, &owner), 0);
	assert_int_equal(rig_call(&r, 0, &ping, &owner), 0);
	assert_int_equal(rig_call(&r, 0, &ping, &owner), 0);
	assert_int_equal(rig_call(&r, 0, &ping, &owner), -EAGAIN);
	r.n_outcomes = 0;
	r.cut = RIG_CUT_NONE;
	rig_cut(&r, 0);
	rig_run_to(&r, KFB_CLIENT_LIVE, 1000);
	rig_run(&r);
	assert_int_equal(r.n_outcomes, SIM_CREDITS);
	for (i = 0; i < SIM_CREDITS - 4; i++)
		assert_int_equal(r.b.executed[i], 1);
	assert_int_equal(rig_alloc(&r, 9, &owner), 0);
}

static void a_new_instance_makes_outcomes_unknown(void **state)
{
	rig_connect(&r);
	r.blocks[1].held = true;
	r.cut = RIG_CUT_REPLY;
	assert_int_equal(rig_alloc(&r, 3, NULL), 0);
	sim_restart(&r.b);
	rig_renew(&r);
	assert_int_equal(r.b.n_openings, 2);
	assert_int_equal(r.b.n_auths, 2);
	assert_int_equal(r.n_map_asked, 2);
	assert_int_equal(r.b.executed[3], 1);
	assert_true(r.blocks[1].mapped);
}

static void lost(struct rig *rig, uint32_t queue,
		 const struct kfb_outcome *outcome)
{
	assert_int_equal(outcome->kind, KFB_OUTCOME_LOST);
	assert_int_equal(outcome->error, -ECONNRESET);
	*(int *)outcome->owner += 1;
}

static void an_outcome_is_told_once(void **state)
{
	int n = 0;

	rig_connect(&r);
	r.on_outcome = lost;
	r.cut = RIG_CUT_SILENCE;
	assert_int_equal(rig_alloc(&r, 1, &n), 0);
	assert_int_equal(rig_alloc(&r, 2, &n), 0);
	r.cut = RIG_CUT_NONE;
	rig_cut(&r, 0);
	rig_run(&r);
	/* Kept for a while, and then there is nothing to keep them for. */
	assert_int_equal(n, 0);
	sim_restart(&r.b);
	rig_renew(&r);
	assert_int_equal(n, 2);
	assert_int_equal(r.b.executed[1] + r.b.executed[2], 0);
}

static void a_session_that_is_over_is_replaced(void **state)
{
	r.b.lease_ms = 9000;
	rig_connect(&r);
	sim_end_session(&r.b, r.c.session_id);
	rig_cut(&r, 0);
	rig_renew(&r);
	assert_int_equal(r.b.n_openings, 2);
}

static void one_stale_queue_ends_all_of_them(void **state)
{
	uint64_t old;

	rig_connect(&r);
	old = r.c.session_id;
	sim_end_session(&r.b, old);
	rig_cut(&r, 1);
	rig_renew(&r);
	assert_int_not_equal(r.c.session_id, old);
	assert_int_equal(r.links[0].session, r.c.session_id);
	assert_int_equal(r.links[2].session, r.c.session_id);
}

/* Only the brick's word ends a session: its writes could still land. */
static void a_refusal_that_is_not_stale_keeps_the_session(void **state)
{
	static const uint16_t status[] = { KFB_ST_KEY_REJECTED, KFB_ST_AGAIN,
					   KFB_ST_SHUTDOWN, KFB_ST_LIMIT,
					   KFB_ST_NOT_SUPPORTED };
	unsigned int i;

	rig_connect(&r);
	for (i = 0; i < sizeof(status) / sizeof(status[0]); i++) {
		r.b.reject_status = status[i];
		rig_cut(&r, 0);
		r.now_ms += 3000;
		rig_run(&r);
		assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
		r.b.reject_status = 0;
		rig_run_to(&r, KFB_CLIENT_LIVE, 5000);
	}
	assert_int_equal(r.b.n_openings, 1);
}

static void a_join_in_another_instance_is_no_join(void **state)
{
	rig_connect(&r);
	r.b.wrong_instance = true;
	rig_cut(&r, 0);
	r.now_ms += 3000;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
	assert_int_equal(r.c.error, -EPROTO);
	r.b.wrong_instance = false;
	rig_run_to(&r, KFB_CLIENT_LIVE, 5000);
	assert_int_equal(r.b.n_openings, 1);
}

/* They may overtake each other, and the counter must rise at the brick. */
static void one_join_is_under_way_at_a_time(void **state)
{
	struct kfb_client_action action;
	int n_connects = 0;
	int n = 0;

	rig_connect(&r);
	kfb_client_lost(&r.c, 1, r.now_ms, -ECONNRESET);
	kfb_client_lost(&r.c, 2, r.now_ms, -ECONNRESET);
	r.now_ms += 100;
	while (kfb_client_next(&r.c, r.now_ms, &action)) {
		if (action.what == KFB_DO_CLOSE)
			kfb_client_closed(&r.c, action.queue);
		n_connects += action.what == KFB_DO_CONNECT;
		assert_true(n++ < 100);
	}
	assert_int_equal(n_connects, 1);
	/* Nor does the other one ask to be looked at meanwhile. */
	assert_true(kfb_client_next_ms(&r.c) > r.now_ms);
}

static void a_join_counter_never_comes_twice(void **state)
{
	uint32_t before;
	int i;

	rig_connect(&r);
	before = r.c.join_counter;
	for (i = 0; i < 3; i++) {
		rig_cut(&r, 0);
		r.unreachable = true;
		r.now_ms += 3000;
		rig_run(&r);
		r.unreachable = false;
		rig_run_to(&r, KFB_CLIENT_LIVE, 5000);
	}
	assert_true(r.c.join_counter >= before + 6);
	assert_int_equal(r.b.n_openings, 1);
	/* The last one there is. */
	r.c.join_counter = UINT32_MAX;
	rig_cut(&r, 0);
	r.now_ms += 3000;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_FAILED);
	assert_int_equal(kfb_client_error(&r.c), -EOVERFLOW);
}

static void it_gives_up_in_its_time_and_not_before(void **state)
{
	rig_connect(&r);
	r.unreachable = true;
	rig_cut(&r, 0);
	rig_run(&r);
	r.now_ms += RIG_RECONNECT_MS - 1;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
	r.now_ms += 1;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_FAILED);
	assert_int_equal(kfb_client_error(&r.c), -ECONNREFUSED);
	assert_false(r.links[0].open);
}

static void tries_are_spread_over_time(void **state)
{
	uint32_t n = 0;
	uint64_t end;

	rig_connect(&r);
	r.unreachable = true;
	rig_cut(&r, 0);
	end = r.now_ms + 20000;
	while (r.now_ms < end) {
		uint32_t before = r.c.join_counter;

		rig_run(&r);
		n += r.c.join_counter - before;
		assert_true(kfb_client_next_ms(&r.c) > r.now_ms);
		r.now_ms = kfb_client_next_ms(&r.c);
	}
	assert_in_range(n, 12, 40);
}

static void a_brick_is_asked_no_sooner_than_it_says(void **state)
{
	uint64_t at;

	rig_connect(&r);
	r.b.reject_status = KFB_ST_AGAIN;
	r.b.reject_after_ms = 1500;
	rig_cut(&r, 0);
	rig_run(&r);
	r.now_ms = kfb_client_next_ms(&r.c);
	at = r.now_ms;
	rig_run(&r);
	assert_true(kfb_client_next_ms(&r.c) >= at + 1500);
}

static void another_brick_is_refused(void **state)
{
	rig_connect(&r);
	sim_restart(&r.b);
	r.b.other_uuid = true;
	rig_cut(&r, 0);
	rig_run_to(&r, KFB_CLIENT_FAILED, 5000);
	assert_int_equal(kfb_client_error(&r.c), -ESTALE);
}

/* Nobody has proven to be the brick: it may be there again. */
static void a_refusal_of_a_new_session_is_not_the_end(void **state)
{
	rig_connect(&r);
	sim_restart(&r.b);
	rig_cut(&r, 0);
	r.b.reject_new = KFB_ST_VERSION;
	while (r.c.error != -EPROTONOSUPPORT) {
		rig_run(&r);
		rig_pass_time(&r);
	}
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
	r.b.reject_new = 0;
	rig_renew(&r);
	sim_restart(&r.b);
	rig_cut(&r, 0);
	r.b.reject_new = KFB_ST_VERSION;
	rig_run_to(&r, KFB_CLIENT_FAILED, 2 * RIG_RECONNECT_MS);
	assert_int_equal(kfb_client_error(&r.c), -EPROTONOSUPPORT);
}

static void a_lease_is_renewed_in_time(void **state)
{
	uint64_t end;

	r.b.lease_ms = 9000;
	rig_connect(&r);
	end = r.now_ms + 60000;
	while (r.now_ms < end) {
		assert_true(kfb_client_lease_ok(&r.c, r.now_ms));
		r.now_ms = kfb_client_next_ms(&r.c);
		rig_run(&r);
	}
	assert_in_range(r.b.n_pings, 60000 / 4500, 60000 / 4500 + 3);
}

static void a_lease_ends_before_the_brick_thinks_so(void **state)
{
	uint64_t sent;

	r.b.lease_ms = 8000;
	rig_connect(&r);
	sent = r.now_ms;
	assert_true(kfb_client_usable(&r.c, 0, sent + 6999));
	assert_false(kfb_client_usable(&r.c, 0, sent + 7000));
}

/* A PING that nothing answers leaves time for another one, on a new connection,
 * before handles have to pause.
 */
static void a_silent_queue_is_lost_while_there_is_time(void **state)
{
	uint64_t sent;

	r.b.lease_ms = 1600;
	rig_connect(&r);
	sent = r.now_ms;
	r.cut = RIG_CUT_SILENCE;
	r.now_ms = sent + 800;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_LIVE);
	r.now_ms = sent + 1199;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_LIVE);
	r.now_ms = sent + 1200;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_DETACHED);
	assert_int_equal(r.n_silent, 1);
	r.cut = RIG_CUT_NONE;
	rig_run_to(&r, KFB_CLIENT_LIVE, 1000);
	rig_run(&r);
	assert_true(kfb_client_usable(&r.c, 0, r.now_ms));
	assert_in_range(r.now_ms, sent + 1200, sent + 1399);
	assert_int_equal(r.b.n_openings, 1);
	kfb_client_lost(&r.c, 0, r.now_ms, -ETIMEDOUT);
	rig_run(&r);
	assert_int_equal(r.n_silent, 1);
}

static void after_a_resume_the_lease_must_be_renewed_first(void **state)
{
	r.b.lease_ms = 9000;
	rig_connect(&r);
	rig_cut(&r, 0);
	rig_run(&r);
	r.now_ms += 8500;
	assert_false(kfb_client_lease_ok(&r.c, r.now_ms));
	r.cut = RIG_CUT_SILENCE;
	r.cut_op = KFB_OP_PING;
	rig_run(&r);
	assert_int_equal(state_of(), KFB_CLIENT_LIVE);
	assert_false(kfb_client_usable(&r.c, 0, r.now_ms));
}

/* Between the join and the word on what was written before it. */
static void nothing_is_posted_before_old_writes_are_validated(void **state)
{
	uint8_t accept[KFB_ACCEPT_BYTES];
	struct kfb_client_action action;
	int len;

	rig_connect(&r);
	rig_cut(&r, 0);
	rig_run(&r);
	r.now_ms += 100;
	assert_true(kfb_client_next(&r.c, r.now_ms, &action));
	assert_int_equal(action.what, KFB_DO_CONNECT);
	len = sim_hello(&r.b, action.hello, action.hello_len, accept,
			&r.links[0].session, &r.links[0].queue);
	r.links[0].open = true;
	assert_int_equal(kfb_client_accepted(&r.c, 0, accept, (uint32_t)len,
					     r.now_ms),
			 0);
	assert_int_equal(state_of(), KFB_CLIENT_LIVE);
	assert_false(kfb_client_usable(&r.c, 0, r.now_ms));
	rig_run(&r);
	assert_true(kfb_client_usable(&r.c, 0, r.now_ms));
}

static void writes_in_memory_stay_with_their_instance(void **state)
{
	rig_connect(&r);
	rig_cut(&r, 0);
	rig_run_to(&r, KFB_CLIENT_DETACHED, 0);
	rig_run_to(&r, KFB_CLIENT_LIVE, 1000);
	rig_run(&r);
	assert_int_equal(r.n_fates, 1);
	assert_int_equal(r.fate, KFB_FATE_PLACED);
}

static void an_acknowledgement_may_prove_nothing(void **state)
{
	r.b.ack_is_placed = false;
	rig_connect(&r);
	rig_cut(&r, 0);
	rig_run_to(&r, KFB_CLIENT_LIVE, 1000);
	rig_run_to(&r, KFB_CLIENT_LIVE, 0);
	r.now_ms += 100;
	rig_run(&r);
	assert_int_equal(r.n_fates, 1);
	assert_int_equal(r.fate, KFB_FATE_SUSPECT);
}

static void a_new_instance_has_the_memory_of_the_old(void **state)
{
	rig_connect(&r);
	sim_restart(&r.b);
	rig_cut(&r, 0);
	rig_renew(&r);
	assert_int_equal(r.n_fates, 1);
	assert_int_equal(r.fate, KFB_FATE_FLUSH);
}

static void a_new_power_epoch_has_not(void **state)
{
	rig_connect(&r);
	sim_power_cut(&r.b);
	rig_cut(&r, 0);
	rig_cut(&r, 1);
	rig_renew(&r);
	/* The queue that noticed nothing has lost its writes all the same. */
	assert_int_equal(r.n_fates, 3);
	assert_int_equal(r.fate, KFB_FATE_GONE);
}

/* The flag is that of the brick that acknowledged the writes. */
static void what_an_acknowledgement_proved_does_not_change(void **state)
{
	r.b.ack_is_placed = false;
	rig_connect(&r);
	sim_restart(&r.b);
	r.b.ack_is_placed = true;
	rig_cut(&r, 0);
	rig_renew(&r);
	assert_int_equal(r.fate, KFB_FATE_SUSPECT);
}

static enum kfb_fate fates[SIM_QUEUES];

static void note_fate(struct rig *rig, uint32_t queue, enum kfb_fate fate)
{
	if (fate > fates[queue])
		fates[queue] = fate;
}

/* Queue 0 is back and nobody has asked yet, when queue 1 is refused. */
static void a_fate_that_is_not_told_yet_is_not_forgotten(void **state)
{
	rig_connect(&r);
	r.on_fate = note_fate;
	r.c.queues[0].fate_due = 1;
	r.c.queues[0].fate = KFB_FATE_SUSPECT;
	kfb_client_doubt(&r.c, r.now_ms);
	assert_false(kfb_client_usable(&r.c, 0, r.now_ms));
	sim_restart(&r.b);
	rig_run_to(&r, KFB_CLIENT_LIVE, 5000);
	assert_int_equal(fates[0], KFB_FATE_SUSPECT);
	assert_int_equal(fates[1], KFB_FATE_FLUSH);
}

static void a_loss_while_mapping_is_resumed_there(void **state)
{
	int i;

	for (i = 0; i < SIM_BLOCKS; i++)
		r.blocks[i].held = true;
	r.cut_op = KFB_OP_MAP;
	rig_connect(&r);
	sim_restart(&r.b);
	rig_cut(&r, 0);
	r.cut = RIG_CUT_REPLY;
	rig_renew(&r);
	assert_int_equal(r.b.n_openings, 2);
	assert_int_equal(r.b.n_resent, 1);
	for (i = 0; i < SIM_BLOCKS; i++)
		assert_true(r.blocks[i].mapped);
}

static void a_loss_in_auth_begins_anew(void **state)
{
	static const uint16_t ops[] = { KFB_OP_AUTH, KFB_OP_INFO };
	static const enum kfb_client_state state_in[] = { KFB_CLIENT_DETACHED,
							  KFB_CLIENT_OPENING };
	unsigned int i;

	rig_connect(&r);
	for (i = 0; i < 2; i++) {
		sim_restart(&r.b);
		rig_cut(&r, 0);
		r.cut_op = ops[i];
		r.cut = RIG_CUT_REPLY;
		rig_renew(&r);
		r.cut = RIG_CUT_SILENCE;
		sim_restart(&r.b);
		rig_cut(&r, 0);
		rig_run_to(&r, state_in[i], 1000);
		r.now_ms += RIG_TIMEOUT_MS;
		rig_run(&r);
		r.cut = RIG_CUT_NONE;
		rig_run_to(&r, KFB_CLIENT_LIVE, 10000);
	}
}

static void a_block_has_one_queue_and_neighbours_spread(void **state)
{
	uint32_t n[8] = { 0 };
	uint64_t i;

	assert_int_equal(kfb_queue_of(UINT64_MAX, 1), 0);
	for (i = 0; i < 8000; i++) {
		uint64_t va = i * KFB_BLOCK_BYTES;
		uint32_t queue = kfb_queue_of(va, 8);

		assert_true(queue < 8);
		assert_int_equal(kfb_queue_of(va + KFB_BLOCK_BYTES - 1, 8),
				 queue);
		n[queue]++;
	}
	for (i = 0; i < 8; i++)
		assert_in_range(n[i], 800, 1200);
}

static void who_waits_hears_of_the_close(void **state)
{
	int owner;

	rig_connect(&r);
	r.cut = RIG_CUT_SILENCE;
	assert_int_equal(rig_alloc(&r, 0, &owner), 0);
	kfb_client_close(&r.c);
	rig_run(&r);
	assert_int_equal(r.n_outcomes, 1);
	assert_int_equal(r.outcome.kind, KFB_OUTCOME_LOST);
	assert_ptr_equal(r.outcome.owner, &owner);
	assert_false(r.links[0].open);
}

static void closed_is_for_ever(void **state)
{
	struct kfb_client_action action;

	rig_connect(&r);
	kfb_client_close(&r.c);
	assert_int_equal(state_of(), KFB_CLIENT_CLOSED);
	assert_true(kfb_client_next(&r.c, r.now_ms, &action));
	assert_int_equal(action.what, KFB_DO_CLOSE);
	kfb_client_closed(&r.c, 0);
	assert_false(kfb_client_next(&r.c, r.now_ms, &action));
	assert_int_equal(kfb_client_start(&r.c), -EISCONN);
}

#define ONE(name)   cmocka_unit_test_setup(name, setup)
#define THREE(name) cmocka_unit_test_setup(name, setup_queues)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ONE(every_move_is_in_the_table_and_no_other),
		ONE(a_configuration_no_client_can_have_is_refused),
		THREE(a_session_is_opened_and_its_queues_join),
		ONE(without_a_name_the_session_key_is_made_of_zeros),
		ONE(the_first_failure_to_connect_is_the_end),
		ONE(without_reconnect_a_loss_is_the_end),
		ONE(a_lost_reply_comes_after_a_resume),
		ONE(a_lost_request_is_executed_after_a_resume),
		ONE(a_request_keeps_its_time_while_it_is_away),
		ONE(a_request_returns_no_credits_when_it_is_sent_again),
		ONE(everything_unanswered_is_sent_again),
		ONE(a_new_instance_makes_outcomes_unknown),
		ONE(an_outcome_is_told_once),
		ONE(a_session_that_is_over_is_replaced),
		THREE(one_stale_queue_ends_all_of_them),
		ONE(a_refusal_that_is_not_stale_keeps_the_session),
		ONE(a_join_in_another_instance_is_no_join),
		THREE(one_join_is_under_way_at_a_time),
		ONE(a_join_counter_never_comes_twice),
		ONE(it_gives_up_in_its_time_and_not_before),
		ONE(tries_are_spread_over_time),
		ONE(a_brick_is_asked_no_sooner_than_it_says),
		ONE(another_brick_is_refused),
		ONE(a_refusal_of_a_new_session_is_not_the_end),
		ONE(a_lease_is_renewed_in_time),
		ONE(a_lease_ends_before_the_brick_thinks_so),
		ONE(a_silent_queue_is_lost_while_there_is_time),
		ONE(after_a_resume_the_lease_must_be_renewed_first),
		ONE(nothing_is_posted_before_old_writes_are_validated),
		ONE(writes_in_memory_stay_with_their_instance),
		ONE(an_acknowledgement_may_prove_nothing),
		ONE(a_new_instance_has_the_memory_of_the_old),
		THREE(a_new_power_epoch_has_not),
		ONE(what_an_acknowledgement_proved_does_not_change),
		THREE(a_fate_that_is_not_told_yet_is_not_forgotten),
		ONE(a_loss_while_mapping_is_resumed_there),
		THREE(a_loss_in_auth_begins_anew),
		ONE(a_block_has_one_queue_and_neighbours_spread),
		ONE(who_waits_hears_of_the_close),
		ONE(closed_is_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
