// SPDX-License-Identifier: BSD-2-Clause
/*
 * The initiator's requests: those that nobody waits for any more, and those that the
 * session has no room for, FLUSH among them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kfb_err.h"
#include "port.h"

static struct kfb_initiator_call map_call(uint64_t mapping_id)
{
	struct kfb_initiator_call call = { .req = { .op = KFB_OP_MAP } };

	call.req.u.map.mapping_id = mapping_id;
	call.req.u.map.range.va = 0;
	call.req.u.map.range.n_blocks = 1;
	call.req.u.map.flags = KFB_MAP_RW | KFB_MAP_EXCLUSIVE;
	return call;
}

/* A MAP that was given up is granted after all. */
static void grant_late(uint64_t mapping_id)
{
	struct kfb_outcome outcome = { .op = KFB_OP_MAP };
	struct kfb_initiator_call call = map_call(mapping_id);
	uint16_t slot;

	assert_int_equal(
		kfb_initiator_start(&port->q[0], &call.req, &call, &slot), 0);
	/* No room for more: what is to be sent can be counted. */
	port->i.client.queues[0].engine.state = KFB_CONN_CONNECTING;
	outcome.slot = slot;
	outcome.owner = &call;
	outcome.kind = KFB_OUTCOME_TIMEOUT;
	outcome.error = -ETIMEDOUT;
	kfb_initiator_answered(&port->q[0], &outcome);
	assert_ptr_equal(port->call_done, &call);
	outcome.kind = KFB_OUTCOME_LATE;
	outcome.error = 0;
	port->i.reply.u.map.mapping_id = 99;
	kfb_initiator_answered(&port->q[0], &outcome);
}

static void a_mapping_that_comes_late_is_given_back(void **state)
{
	(void)state;
	grant_late(0);
	assert_int_equal(port->i.n_late, 1);
	assert_int_equal(port->i.late[0].mapping_id, 99);
}

static uint16_t slot_of_unmap(uint64_t mapping_id)
{
	uint16_t slot = 0;

	while (port->i.unmaps[slot].mapping_id != mapping_id)
		slot++;
	return slot;
}

/* The brick has no memory for that, or too much to do: it is asked again. */
static void a_mapping_that_the_brick_keeps_is_given_back_again(void **state)
{
	static const struct kfb_outcome refused[] = {
		{ .kind = KFB_OUTCOME_REPLY,
		  .op = KFB_OP_UNMAP,
		  .error = -ENOMEM },
		{ .kind = KFB_OUTCOME_REPLY,
		  .op = KFB_OP_UNMAP,
		  .error = -EAGAIN },
		/* That was given up before. */
		{ .kind = KFB_OUTCOME_LATE,
		  .op = KFB_OP_UNMAP,
		  .error = -ENOMEM },
	};
	struct kfb_outcome outcome;

	(void)state;
	for (unsigned int n = 0; n < 3; n++) {
		kfb_initiator_unmap_late(&port->i, 99);
		assert_true(port->i.late[0].is_sent);
		outcome = refused[n];
		outcome.slot = slot_of_unmap(99);
		kfb_initiator_answered(&port->q[0], &outcome);
		assert_int_equal(port->i.n_late, 1);
		assert_int_equal(port->i.late[0].mapping_id, 99);
		/* After a while, of which whoever sleeps is told, and once. */
		kfb_initiator_pump_calls(&port->i);
		assert_false(port->i.late[0].is_sent);
		assert_int_equal(kfb_initiator_next_ms(&port->i),
				 1000 + KFB_INITIATOR_LATE_MS);
		port->i.late_at_ms = 0;
		kfb_initiator_pump_calls(&port->i);
		assert_true(port->i.late[0].is_sent);
		assert_true(kfb_initiator_next_ms(&port->i) >
			    1000 + KFB_INITIATOR_LATE_MS);
		outcome.slot = slot_of_unmap(99);
		outcome.kind = KFB_OUTCOME_REPLY;
		outcome.error = -ENOENT;
		kfb_initiator_answered(&port->q[0], &outcome);
		assert_int_equal(port->i.n_late, 0);
		port->i.unmaps[outcome.slot].mapping_id = 0;
	}
}

/* All that are under way may be put off at once: none is forgotten. */
static void many_mappings_that_the_brick_keeps_are_all_given_back(void **state)
{
	struct kfb_outcome outcome = { .kind = KFB_OUTCOME_REPLY,
				       .op = KFB_OP_UNMAP,
				       .error = -EAGAIN };
	uint32_t n, n_sent = 0;

	(void)state;
	for (n = 0; n < KFB_INITIATOR_LATE_MAX; n++)
		kfb_initiator_unmap_late(&port->i, 100 + n);
	for (n = 0; n < KFB_INITIATOR_LATE_MAX; n++)
		n_sent += port->i.late[n].is_sent;
	assert_in_range(n_sent, 2, KFB_INITIATOR_LATE_MAX);
	for (n = 0; n < n_sent; n++) {
		outcome.slot = slot_of_unmap(100 + n);
		kfb_initiator_answered(&port->q[0], &outcome);
	}
	assert_int_equal(port->i.n_late, KFB_INITIATOR_LATE_MAX);
	for (n = 0; n < KFB_INITIATOR_LATE_MAX; n++)
		assert_false(port->i.late[n].is_sent);
	/* One more stays, and says so; with their session they are all gone. */
	kfb_initiator_unmap_late(&port->i, 7);
	assert_int_equal(port->i.n_late, KFB_INITIATOR_LATE_MAX);
	port->i.client.session_id = 8;
	kfb_initiator_pump_calls(&port->i);
	assert_int_equal(port->i.n_late, 0);
}

/* The brick has the UNMAP: a second one would take another place of its requests. */
static void an_unmap_that_is_not_answered_is_sent_once(void **state)
{
	struct kfb_outcome outcome = { .kind = KFB_OUTCOME_TIMEOUT,
				       .op = KFB_OP_UNMAP,
				       .error = -ETIMEDOUT };

	(void)state;
	kfb_initiator_unmap_late(&port->i, 99);
	outcome.slot = slot_of_unmap(99);
	kfb_initiator_answered(&port->q[0], &outcome);
	kfb_initiator_pump_calls(&port->i);
	assert_int_equal(port->i.n_late, 1);
	assert_true(port->i.late[0].is_sent);
	outcome.kind = KFB_OUTCOME_LATE;
	outcome.error = 0;
	kfb_initiator_answered(&port->q[0], &outcome);
	assert_int_equal(port->i.n_late, 0);
}

/* Its owner does not wait any more. */
static void give_up(uint16_t slot)
{
	struct kfb_call *call = &port->i.client.queues[0].engine.calls[slot];
	struct kfb_outcome outcome = { .kind = KFB_OUTCOME_TIMEOUT,
				       .op = KFB_OP_UNMAP,
				       .slot = slot,
				       .error = -ETIMEDOUT,
				       .owner = call->owner };

	call->abandoned = 1;
	kfb_initiator_answered(&port->q[0], &outcome);
}

/* Each would have a slot, and in the end none would be left for a FLUSH. */
static void an_unmap_that_is_asked_for_again_waits_for_the_first(void **state)
{
	const struct kfb_engine *e = &port->i.client.queues[0].engine;
	struct kfb_initiator_call call = { .req.op = KFB_OP_UNMAP };
	struct kfb_initiator_call other = { .req.op = KFB_OP_UNMAP };
	struct kfb_outcome outcome = { .op = KFB_OP_UNMAP };

	(void)state;
	call.req.u.unmap = (struct kfb_unmap){
		.mapping_id = 99,
		.range = { .va = 0, .n_blocks = 2 },
	};
	other.req.u.unmap = call.req.u.unmap;
	other.req.u.unmap.range.n_blocks = 1;
	kfb_initiator_call(&port->i, &call);
	give_up(slot_of_unmap(99));
	assert_int_equal(call.outcome.error, -ETIMEDOUT);
	kfb_initiator_call(&port->i, &call);
	assert_int_equal(call.session_id, 7);
	assert_int_equal(e->n_waiting, 1);
	assert_false(kfb_engine_is_given_up(e, slot_of_unmap(99)));
	/* Somebody waits for it, and that one is for something else. */
	kfb_initiator_call(&port->i, &other);
	assert_int_equal(e->n_waiting, 2);
	outcome.kind = KFB_OUTCOME_REPLY;
	outcome.slot = slot_of_unmap(99);
	outcome.owner = e->calls[outcome.slot].owner;
	kfb_initiator_answered(&port->q[0], &outcome);
	assert_true(call.is_done);
	assert_int_equal(call.outcome.error, 0);
	assert_false(other.is_done);
}

/* Nobody waits for the mapping any more, and its UNMAP is at the brick already. */
static void a_mapping_whose_unmap_is_late_is_not_given_back_twice(void **state)
{
	const struct kfb_engine *e = &port->i.client.queues[0].engine;
	struct kfb_initiator_call call = { .req.op = KFB_OP_UNMAP };
	struct kfb_outcome outcome = { .op = KFB_OP_UNMAP,
				       .kind = KFB_OUTCOME_LATE,
				       .error = -EAGAIN,
				       .owner = &call };

	(void)state;
	call.req.u.unmap.mapping_id = 99;
	kfb_initiator_call(&port->i, &call);
	outcome.slot = slot_of_unmap(99);
	give_up(outcome.slot);
	kfb_initiator_unmap_late(&port->i, 99);
	assert_int_equal(e->n_waiting, 1);
	assert_int_equal(port->i.n_late, 1);
	assert_true(port->i.late[0].is_sent);
	/* The brick has it still: it is asked again. */
	kfb_initiator_answered(&port->q[0], &outcome);
	assert_int_equal(port->i.n_late, 1);
	assert_false(port->i.late[0].is_sent);
	/* Who asks for that now has its own end, and nobody else asks. */
	port->i.late[0].is_sent = 1;
	kfb_initiator_call(&port->i, &call);
	assert_int_equal(port->i.n_late, 0);
	assert_int_equal(e->n_waiting, 1);
}

static void fill_slots(const struct kfb_request *req)
{
	uint16_t slot;

	while (!kfb_initiator_start(&port->q[0], req, NULL, &slot))
		;
}

/* All that was under way has been answered. */
static void give_room(void)
{
	struct kfb_engine *e = &port->i.client.queues[0].engine;

	assert_int_equal(kfb_slots_init(&e->slots, KFB_CREDITS_MAX), 0);
	assert_int_equal(kfb_credits_init(&e->credits, KFB_CREDITS_MAX), 0);
}

/* With the time that an alarm was for it has gone off. */
static void an_alarm_that_is_due_is_none(void **state)
{
	const struct kfb_request unmap = { .op = KFB_OP_UNMAP,
					   .u.unmap.mapping_id = 98 };

	(void)state;
	fill_slots(&unmap);
	kfb_initiator_unmap_late(&port->i, 99);
	port->i.late_at_ms = 1000;
	assert_int_equal(kfb_initiator_next_ms(&port->i), 1000);
	kfb_initiator_pump_calls(&port->i);
	assert_false(port->i.late[0].is_sent);
	assert_true(kfb_initiator_next_ms(&port->i) > 1000);
}

/* Who has asked again for that page has a mapping that works. */
static void a_further_page_that_comes_late_takes_nothing_away(void **state)
{
	(void)state;
	grant_late(99);
	assert_int_equal(port->i.n_late, 0);
}

static void a_call_of_another_session_is_lost_unsent(void **state)
{
	struct kfb_initiator_call call = map_call(0);

	(void)state;
	call.in_session = 6;
	kfb_initiator_call(&port->i, &call);
	assert_true(call.is_done);
	assert_int_equal(call.outcome.kind, KFB_OUTCOME_LOST);
	assert_int_equal(call.session_id, 0);
}

/* Its time begins when there is a session without room, and anew in the next. */
static void a_call_without_room_is_given_up_in_its_time(void **state)
{
	struct kfb_initiator_call call = map_call(0), second = map_call(0);

	(void)state;
	port->i.client.queues[0].engine.state = KFB_CONN_CONNECTING;
	kfb_initiator_call(&port->i, &call);
	assert_int_equal(call.until_ms, 0);
	port->i.client.queues[0].engine.state = KFB_CONN_READY;
	fill_slots(&call.req);
	/* Less than those have that are under way. */
	port->i.timeout_ms /= 2;
	kfb_initiator_call(&port->i, &second);
	assert_int_equal(call.until_ms, 1000 + port->i.timeout_ms);
	assert_int_equal(second.until_ms, call.until_ms);
	assert_int_equal(kfb_initiator_next_ms(&port->i), call.until_ms);
	port->i.client.queues[0].engine.state = KFB_CONN_CONNECTING;
	kfb_initiator_pump_calls(&port->i);
	assert_int_equal(call.until_ms, 0);
	port->i.client.queues[0].engine.state = KFB_CONN_READY;
	kfb_initiator_pump_calls(&port->i);
	assert_false(call.is_done);
	call.until_ms = 1000;
	kfb_initiator_pump_calls(&port->i);
	assert_true(call.is_done);
	assert_int_equal(call.outcome.kind, KFB_OUTCOME_TIMEOUT);
	assert_int_equal(call.outcome.error, -ETIMEDOUT);
	assert_int_equal(call.session_id, 0);
	assert_false(second.is_done);
}

/* Whatever has no answer, what was written can become durable. */
static void a_flush_has_room_that_other_requests_have_not(void **state)
{
	const struct kfb_request unmap = { .op = KFB_OP_UNMAP };
	const struct kfb_request map = { .op = KFB_OP_MAP };

	(void)state;
	port->i.flush_mode = KFB_FLUSH_MESSAGE;
	flush.only = 0;
	fill_slots(&map);
	kfb_initiator_flush(&port->i, &flush);
	assert_int_equal(port->q[0].flush.n_posted, 1);
	assert_int_equal(port->q[0].flush_until_ms, 0);
	fill_slots(&unmap);
	assert_int_equal(port->i.client.queues[0].engine.credits.available, 1);
}

/* A brick that answers to PINGs alone gives no request its credit back. */
static void begin_flush_without_room(void)
{
	const struct kfb_request before = { .op = KFB_OP_FLUSH };
	const struct kfb_request map = { .op = KFB_OP_MAP };

	port->i.flush_mode = KFB_FLUSH_MESSAGE;
	fill_slots(&map);
	fill_slots(&before);
	/* Less than those have that are under way. */
	port->i.timeout_ms /= 2;
	flush.only = 0;
	kfb_initiator_flush(&port->i, &flush);
	assert_int_equal(kfb_initiator_next_ms(&port->i),
			 1000 + port->i.timeout_ms);
	/* With each reply it is tried, which gives it no time. */
	port->q[0].flush_until_ms--;
	kfb_initiator_pump_flushes(&port->i);
	assert_int_equal(kfb_initiator_next_ms(&port->i),
			 999 + port->i.timeout_ms);
	assert_null(port->done);
	assert_true(port->i.client.queues[0].is_open);
}

static void a_flush_without_room_ends_its_connection_in_its_time(void **state)
{
	(void)state;
	begin_flush_without_room();
	port->q[0].flush_until_ms = 1000;
	kfb_initiator_flushes_due(&port->i);
	assert_true(kfb_initiator_is_lost(&port->q[0]));
	assert_int_equal(port->n_reasons, 1);
	assert_null(port->done);
	/* On the next connection it has its time again. */
	port->q[0].flush_until_ms = 1000;
	kfb_initiator_flush_lost(&port->q[0]);
	assert_int_equal(port->q[0].flush_until_ms, 0);
}

/* Who was away for that long finds the answers, and the room, when it looks. */
static void a_flush_that_has_room_at_last_is_sent(void **state)
{
	(void)state;
	port->i.gives_flushes_up = 1;
	begin_flush_without_room();
	port->q[0].flush_until_ms = 1000;
	give_room();
	kfb_initiator_flushes_due(&port->i);
	assert_null(port->done);
	assert_int_equal(port->q[0].flush_until_ms, 0);
	assert_int_equal(port->q[0].flush.n_posted, 1);
}

static void a_flush_without_room_is_given_up_in_its_time(void **state)
{
	(void)state;
	port->i.gives_flushes_up = 1;
	begin_flush_without_room();
	port->q[0].flush_until_ms = 1000;
	kfb_initiator_run(&port->i);
	assert_false(kfb_initiator_is_lost(&port->q[0]));
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, -ETIMEDOUT);
	assert_int_equal(port->q[0].flush_until_ms, 0);
	/* What was written waits for the next one. */
	assert_true(kfb_initiator_is_dirty(&port->i));
}

static void the_time_of_a_flush_without_room_is_one_of_the_session(void **state)
{
	(void)state;
	begin_flush_without_room();
	port->q[0].flush_until_ms = 1000;
	port->i.client.state = KFB_CLIENT_MAPPING;
	kfb_initiator_run(&port->i);
	assert_int_equal(port->q[0].flush_until_ms, 0);
	assert_false(kfb_initiator_is_lost(&port->q[0]));
	/* When there is room nothing is left of the time. */
	port->i.client.state = KFB_CLIENT_LIVE;
	kfb_initiator_pump_flushes(&port->i);
	assert_int_not_equal(port->q[0].flush_until_ms, 0);
	give_room();
	kfb_initiator_pump_flushes(&port->i);
	assert_int_equal(port->q[0].flush_until_ms, 0);
}

/* The newest FLUSH of a queue is answered so. */
static void answer_flush_of(struct kfb_initiator_queue *q, int error)
{
	struct kfb_outcome outcome = { .kind = KFB_OUTCOME_REPLY,
				       .op = KFB_OP_FLUSH,
				       .status = error == -EIO ? KFB_ST_IO : 0,
				       .error = error };
	uint16_t slot = 0;

	assert_int_equal(q->flush.n_posted, 1);
	while (!q->flush_ids[slot] || q->flush_ids[slot] != q->flush.last_id)
		slot++;
	outcome.slot = slot;
	kfb_initiator_answered(q, &outcome);
}

static void answer_flush(int error)
{
	answer_flush_of(&port->q[0], error);
}

static void begin_flush_that_is_refused(int error)
{
	port->i.flush_mode = KFB_FLUSH_MESSAGE;
	flush.only = 0;
	kfb_initiator_flush(&port->i, &flush);
	answer_flush(error);
}

/* Nothing is lost, and nothing is wrong with the connection. */
static void a_flush_that_is_refused_for_now_is_sent_again(void **state)
{
	static const int errors[] = { -ENOMEM, -EBUSY, -EAGAIN };

	(void)state;
	for (unsigned int n = 0; n < 3; n++) {
		kfb_flush_wrote(&port->q[0].flush, 0, 512);
		begin_flush_that_is_refused(errors[n]);
		assert_null(port->done);
		assert_int_equal(port->n_logged, n + 1);
		assert_false(kfb_initiator_is_lost(&port->q[0]));
		/* Not at once, and whoever sleeps comes back for it. */
		assert_int_equal(port->q[0].flush.n_posted, 0);
		assert_int_equal(kfb_initiator_next_ms(&port->i), 1100);
		kfb_initiator_run(&port->i);
		assert_int_equal(port->q[0].flush.n_posted, 0);
		port->i.flush_again_ms = 1000;
		kfb_initiator_run(&port->i);
		answer_flush(-ENOMEM);
		assert_int_equal(port->n_logged, n + 1);
		port->i.flush_again_ms = 1000;
		kfb_initiator_run(&port->i);
		answer_flush(0);
		assert_ptr_equal(port->done, &flush);
		assert_int_equal(port->error, 0);
		assert_int_equal(port->q[0].refused_until_ms, 0);
		port->done = NULL;
	}
}

static void a_flush_that_is_refused_has_its_time(void **state)
{
	(void)state;
	begin_flush_that_is_refused(-ENOMEM);
	assert_int_equal(port->q[0].refused_until_ms,
			 1000 + port->i.timeout_ms);
	port->i.flush_again_ms = 1000;
	kfb_initiator_run(&port->i);
	port->q[0].refused_until_ms = 1000;
	answer_flush(-ENOMEM);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, -ENOMEM);
	assert_int_equal(port->n_logged, 2);
	assert_true(kfb_initiator_is_dirty(&port->i));
	/* The next one has its own. */
	assert_int_equal(port->q[0].refused_until_ms, 0);
}

static void
a_flush_that_is_refused_goes_on_with_the_next_connection(void **state)
{
	(void)state;
	begin_flush_that_is_refused(-ENOMEM);
	kfb_initiator_flush_lost(&port->q[0]);
	assert_int_equal(port->i.flush_again_ms, 0);
	assert_int_equal(port->q[0].refused_until_ms, 0);
	kfb_initiator_pump_flushes(&port->i);
	answer_flush(0);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, 0);
}

/* The queues' next ops are good: they are no answer to the one that was not. */
static void
a_medium_that_fails_meanwhile_fails_a_flush_that_is_refused(void **state)
{
	(void)state;
	port->i.flush_mode = KFB_FLUSH_MESSAGE;
	flush.is_told = 0;
	kfb_initiator_flush(&port->i, &flush);
	answer_flush_of(&port->q[0], -ENOMEM);
	answer_flush_of(&port->q[1], -EIO);
	assert_null(port->done);
	port->i.flush_again_ms = 1000;
	kfb_initiator_run(&port->i);
	answer_flush_of(&port->q[0], 0);
	answer_flush_of(&port->q[1], 0);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, -EIO);
}

/* An op that nobody waits for takes no time from whoever comes later. */
static void a_flush_that_nobody_waits_for_has_no_time(void **state)
{
	(void)state;
	port->i.flush_mode = KFB_FLUSH_MESSAGE;
	kfb_flush_join(&port->q[0].flush);
	kfb_initiator_pump_flushes(&port->i);
	answer_flush(-ENOMEM);
	assert_int_equal(port->q[0].refused_until_ms, 0);
}

static void what_does_not_pass_fails_a_flush_at_once(void **state)
{
	(void)state;
	begin_flush_that_is_refused(-EIO);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, -EIO);
	port->done = NULL;
	/* Who gives a flush up that has no answer tries again by himself. */
	port->i.gives_flushes_up = 1;
	begin_flush_that_is_refused(-ENOMEM);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, -ENOMEM);
}

/* The session after a loss, too, has something the brick would keep for a lease. */
static void who_leaves_tells_the_brick_and_waits_for_little(void **state)
{
	static const enum kfb_client_state states[] = { KFB_CLIENT_LIVE,
							KFB_CLIENT_MAPPING };
	struct kfb_initiator_call end, before = map_call(0);

	(void)state;
	for (unsigned int n = 0; n < 2; n++) {
		port->i.client.state = states[n];
		port->i.client.config.reconnect_ms = 5000;
		port->i.timeout_ms = 60000;
		assert_true(kfb_initiator_leave(&port->i, &end));
		assert_int_equal(end.session_id, 7);
		assert_int_equal(end.req.op, KFB_OP_PING);
		assert_int_equal(end.req.u.ping.flags, KFB_PING_END);
		assert_int_equal(port->i.client.config.reconnect_ms, 0);
		assert_int_equal(port->i.timeout_ms, KFB_INITIATOR_LEAVE_MS);
	}
	/* What waits for a credit before it does not hold it up. */
	fill_slots(&before.req);
	before.in_mapping = 1;
	kfb_initiator_call(&port->i, &before);
	assert_true(kfb_initiator_leave(&port->i, &end));
	assert_int_equal(end.session_id, 7);
	assert_int_equal(before.session_id, 0);
	/* Who waits for less stays so; where nobody can be told nobody is waited for. */
	port->i.timeout_ms = 30;
	port->i.client.config.reconnect_ms = 5000;
	port->i.client.queues[0].engine.state = KFB_CONN_CONNECTING;
	assert_false(kfb_initiator_leave(&port->i, &end));
	assert_int_equal(port->i.timeout_ms, 30);
	assert_int_equal(port->i.client.config.reconnect_ms, 0);
}

static void whoever_waits_is_told_of_the_end_once(void **state)
{
	struct kfb_initiator_call call = map_call(0);

	(void)state;
	port->i.client.queues[0].engine.state = KFB_CONN_CONNECTING;
	kfb_initiator_call(&port->i, &call);
	kfb_initiator_flush(&port->i, &flush);
	port->i.is_over = 1;
	kfb_initiator_pump_calls(&port->i);
	kfb_initiator_end_flushes(&port->i);
	assert_int_equal(call.outcome.error, -ECONNRESET);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, -ECONNRESET);
	port->done = NULL;
	kfb_initiator_end_flushes(&port->i);
	assert_null(port->done);
	kfb_initiator_flush(&port->i, &flush);
	assert_int_equal(port->error, -ECONNRESET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_mapping_that_comes_late_is_given_back),
		CASE(a_mapping_that_the_brick_keeps_is_given_back_again),
		CASE(many_mappings_that_the_brick_keeps_are_all_given_back),
		CASE(an_unmap_that_is_not_answered_is_sent_once),
		CASE(an_unmap_that_is_asked_for_again_waits_for_the_first),
		CASE(a_mapping_whose_unmap_is_late_is_not_given_back_twice),
		CASE(an_alarm_that_is_due_is_none),
		CASE(a_further_page_that_comes_late_takes_nothing_away),
		CASE(a_call_of_another_session_is_lost_unsent),
		CASE(a_call_without_room_is_given_up_in_its_time),
		CASE(a_flush_has_room_that_other_requests_have_not),
		CASE(a_flush_without_room_ends_its_connection_in_its_time),
		CASE(a_flush_that_has_room_at_last_is_sent),
		CASE(a_flush_without_room_is_given_up_in_its_time),
		CASE(the_time_of_a_flush_without_room_is_one_of_the_session),
		CASE(a_flush_that_is_refused_for_now_is_sent_again),
		CASE(a_flush_that_is_refused_has_its_time),
		CASE(a_flush_that_is_refused_goes_on_with_the_next_connection),
		CASE(a_medium_that_fails_meanwhile_fails_a_flush_that_is_refused),
		CASE(a_flush_that_nobody_waits_for_has_no_time),
		CASE(what_does_not_pass_fails_a_flush_at_once),
		CASE(who_leaves_tells_the_brick_and_waits_for_little),
		CASE(whoever_waits_is_told_of_the_end_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
