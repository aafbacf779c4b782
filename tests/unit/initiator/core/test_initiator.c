// SPDX-License-Identifier: BSD-2-Clause
/* The initiator's flushes and requests, on two queues. */
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

/* ---- flushes ---------------------------------------------------------------- */

/* Queue 0's op fails, and then queue 1 loses its connection. */
static void refuse_and_cut(void)
{
	port_read_back(0, -EIO);
	assert_null(port->done);
	kfb_initiator_flush_lost(&port->q[1]);
	assert_true(kfb_initiator_pump_flushes(&port->i));
}

static void
a_failed_op_stays_the_flushs_error_when_it_begins_again(void **state)
{
	(void)state;
	flush.is_told = 0;
	kfb_initiator_flush(&port->i, &flush);
	refuse_and_cut();
	port_read_back(0, 0);
	port_read_back(1, 0);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, -EIO);
}

/* Others have made it durable by then: there is no op to wait for. */
static void it_stays_so_without_anything_dirty(void **state)
{
	struct kfb_dirty writes = { 0 };
	uint32_t n;

	(void)state;
	kfb_initiator_flush(&port->i, &flush);
	port_read_back(0, -EIO);
	kfb_initiator_flush_lost(&port->q[1]);
	for (n = 0; n < QUEUES; n++)
		kfb_flush_take(&port->q[n].flush, &writes, &writes);
	kfb_initiator_pump_flushes(&port->i);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, -EIO);
}

static void the_next_use_of_a_flush_knows_nothing_of_the_last(void **state)
{
	(void)state;
	kfb_initiator_flush(&port->i, &flush);
	refuse_and_cut();
	port_read_back(0, 0);
	port_read_back(1, 0);
	assert_int_equal(port->error, -EIO);

	kfb_flush_wrote(&port->q[1].flush, 0, 512);
	kfb_initiator_flush(&port->i, &flush);
	port_read_back(1, 0);
	assert_int_equal(port->error, 0);
}

static void a_lost_connection_alone_is_no_error(void **state)
{
	(void)state;
	kfb_initiator_flush(&port->i, &flush);
	port_read_back(0, 0);
	kfb_initiator_flush_lost(&port->q[1]);
	assert_null(port->done);
	kfb_initiator_pump_flushes(&port->i);
	port_read_back(1, 0);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, 0);
}

static void what_comes_late_proves_nothing(void **state)
{
	uint64_t late;

	(void)state;
	kfb_initiator_flush(&port->i, &flush);
	port_read_back(0, 0);
	late = port_posted(1);
	kfb_initiator_flush_lost(&port->q[1]);
	kfb_initiator_pump_flushes(&port->i);
	kfb_initiator_flushed(&port->q[1], late, 0);
	assert_null(port->done);
	port_read_back(1, 0);
	assert_ptr_equal(port->done, &flush);
}

/* An answer to FLUSH names the op by the slot of the request. */
static void answer(uint32_t queue, enum kfb_outcome_kind kind, uint16_t status)
{
	struct kfb_outcome outcome = {
		.kind = kind,
		.op = KFB_OP_FLUSH,
		.status = status,
		.error = status ? -EIO : 0,
		.owner = &port->q[queue],
	};

	kfb_initiator_answered(&port->q[queue], &outcome);
}

static void a_medium_that_failed_is_told_to_who_asks_next(void **state)
{
	(void)state;
	/* Nobody waits for it any more. */
	answer(1, KFB_OUTCOME_LATE, KFB_ST_IO);
	/* A write that is to be durable answers for itself alone. */
	flush.is_of_write = 1;
	flush.is_told = 0;
	kfb_initiator_flush(&port->i, &flush);
	port_read_back(0, 0);
	port_read_back(1, 0);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, 0);
	flush.is_of_write = 0;
	flush.is_told = 1;
	kfb_initiator_flush(&port->i, &flush);
	assert_int_equal(port->error, -EIO);
	kfb_initiator_flush(&port->i, &flush);
	assert_int_equal(port->error, 0);
}

static void what_has_no_room_is_posted_when_there_is(void **state)
{
	(void)state;
	port->room = 1;
	kfb_initiator_flush(&port->i, &flush);
	assert_int_equal(port->n_posted, 1);
	port->room = 1;
	kfb_initiator_pump_flushes(&port->i);
	assert_int_equal(port->n_posted, 2);
	port_read_back(0, 0);
	port_read_back(1, 0);
	assert_ptr_equal(port->done, &flush);
}

static void a_readback_without_a_place_fails_its_flush(void **state)
{
	(void)state;
	port->has_no_place = true;
	kfb_initiator_flush(&port->i, &flush);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, -ENXIO);
}

/* ---- losses ------------------------------------------------------------------ */

static void a_loss_fails_those_who_wait_and_every_flush_after(void **state)
{
	(void)state;
	kfb_initiator_flush(&port->i, &flush);
	kfb_initiator_flush_lost(&port->q[0]);
	kfb_initiator_validate(&port->q[0], KFB_FATE_GONE);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, -EIO);
	port->done = NULL;
	kfb_initiator_flush(&port->i, &flush);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, -EIO);
}

/* On queue 1 a write waits for its flush, and the brick loses its power. */
static void lose_a_write_that_waits(void)
{
	flush.only = 1;
	flush.is_of_write = 1;
	kfb_initiator_flush(&port->i, &flush);
	kfb_initiator_flush_lost(&port->q[1]);
	kfb_initiator_validate(&port->q[1], KFB_FATE_GONE);
	assert_null(port->done);
	assert_int_equal(port->n_taken_back, 1);
}

/* Make durable what setup() has written on queue 1. */
static void flush_queue_1(void)
{
	flush.only = 1;
	kfb_initiator_flush(&port->i, &flush);
	port_read_back(1, 0);
	port->done = NULL;
}

/* Its end is nobody's knowledge yet: it is sent again, and is no loss. */
static void a_write_that_waits_for_its_flush_is_sent_again(void **state)
{
	(void)state;
	port->i.ops = &port_ops_of_disk;
	flush_queue_1();
	kfb_flush_wrote_fua(&port->q[1].flush, KFB_BLOCK_BYTES, 512);
	lose_a_write_that_waits();
	assert_int_equal(port->n_lost_bytes, 0);
	assert_int_equal(kfb_losses_error(&port->i.losses), 0);
	/* Queue 0's were complete. */
	kfb_initiator_flush_lost(&port->q[0]);
	kfb_initiator_validate(&port->q[0], KFB_FATE_GONE);
	assert_int_equal(port->n_lost_bytes, 512);
	assert_int_equal(kfb_losses_error(&port->i.losses), -EIO);
}

/* It may fail when it is sent again, or the power be lost once more before. */
static void what_lies_below_it_is_lost_all_the_same(void **state)
{
	(void)state;
	port->i.ops = &port_ops_of_disk;
	kfb_flush_wrote_fua(&port->q[1].flush, KFB_BLOCK_BYTES, 512);
	lose_a_write_that_waits();
	assert_int_equal(port->n_lost_bytes, 512);
	assert_int_equal(kfb_losses_error(&port->i.losses), -EIO);
}

static void what_was_written_over_it_is_lost_all_the_same(void **state)
{
	(void)state;
	port->i.ops = &port_ops_of_disk;
	flush_queue_1();
	kfb_flush_wrote_fua(&port->q[1].flush, KFB_BLOCK_BYTES, 512);
	kfb_flush_wrote(&port->q[1].flush, KFB_BLOCK_BYTES, 8);
	lose_a_write_that_waits();
	assert_int_equal(port->n_lost_bytes, 8);
	assert_int_equal(kfb_losses_error(&port->i.losses), -EIO);
}

static void where_there_are_copies_nothing_is_lost(void **state)
{
	(void)state;
	port->i.ops = &port_ops_of_disk;
	port->i.retains = 1;
	kfb_initiator_flush(&port->i, &flush);
	kfb_initiator_flush_lost(&port->q[0]);
	kfb_initiator_validate(&port->q[0], KFB_FATE_SUSPECT);
	assert_true(port->i.replay_due);
	assert_int_equal(kfb_losses_error(&port->i.losses), 0);
	/* And nothing is durable before they are written. */
	assert_false(kfb_initiator_pump_flushes(&port->i));
	assert_null(port->done);
	assert_true(kfb_initiator_is_dirty(&port->i));
}

/* In a new session the blocks of queue 1 may go down queue 0. */
static void writes_of_another_queue_are_the_firsts_to_flush(void **state)
{
	(void)state;
	port->i.client.session_id = 8;
	kfb_initiator_flush_lost(&port->q[1]);
	kfb_initiator_validate(&port->q[1], KFB_FATE_PLACED);
	port->i.client.n_used = 1;
	kfb_initiator_flush(&port->i, &flush);
	assert_int_equal(port->n_posted, 1);
	port_read_back(0, 0);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, 0);
}

/* ---- requests ---------------------------------------------------------------- */

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

	while (port->q[0].unmaps[slot] != mapping_id)
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
		port->q[0].unmaps[outcome.slot] = 0;
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

static void fill_slots(const struct kfb_request *req)
{
	uint16_t slot;

	while (!kfb_initiator_start(&port->q[0], req, NULL, &slot))
		;
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

/* ---- connecting --------------------------------------------------------------- */

static uint32_t encode_event(uint8_t *data, uint32_t size, uint32_t seq)
{
	const struct kfb_reply event = {
		.op = KFB_OP_EVENT,
		.u.event = { .kind = KFB_EVENT_MEDIA_ERROR,
			     .event_seq = seq,
			     .n_blocks = 1 },
	};
	int len = kfb_encode_reply(&event, data, size);

	assert_true(len > 0);
	return (uint32_t)len;
}

/* Right behind its answer to the request to connect, which is looked at later. */
static void what_a_brick_says_early_is_heard(void **state)
{
	const struct kfb_accept accept = {
		.version = KFB_VERSION,
		.credits = KFB_CREDITS_MAX,
		.features = KFB_FEATURE_EVENT,
		.req_max_bytes = KFB_REQ_MAX_BYTES,
		.reply_max_bytes = KFB_REPLY_MAX_BYTES,
		.session_id = 5,
		.instance_id = 6,
	};
	struct kfb_engine *e = &port->i.client.queues[0].engine;
	uint8_t said[2][KFB_REPLY_MAX_BYTES], raw[KFB_ACCEPT_BYTES];
	struct kfb_event event;
	const uint8_t *hello;
	uint32_t len, n;

	(void)state;
	e->state = KFB_CONN_IDLE;
	e->config.features = KFB_FEATURE_EVENT;
	port->i.client.state = KFB_CLIENT_OPENING;
	assert_int_equal(kfb_engine_hello(e, &hello, &len), 0);
	assert_int_equal(kfb_initiator_opened(&port->q[0]), 0);
	for (n = 0; n < 2; n++) {
		len = encode_event(said[n], sizeof(said[n]), n + 1);
		assert_false(
			kfb_initiator_received(&port->q[0], n, said[n], len));
	}
	assert_false(kfb_initiator_is_lost(&port->q[0]));
	assert_int_equal(port->n_receives, KFB_INITIATOR_RX_FIRST);
	assert_int_equal(kfb_encode_accept(&accept, raw, sizeof(raw)),
			 sizeof(raw));
	kfb_initiator_accepted(&port->q[0], raw, sizeof(raw));
	assert_false(kfb_initiator_is_lost(&port->q[0]));
	/* All there are, and those of the two messages again. */
	assert_int_equal(port->n_receives, KFB_INITIATOR_RX_MAX + 2);
	for (n = 0; n < 2; n++) {
		assert_true(kfb_initiator_take_event(&port->i, &event));
		assert_int_equal(event.event_seq, n + 1);
	}
	assert_false(kfb_initiator_take_event(&port->i, &event));
}

/* INFO was answered with another one before; the session is about to begin. */
static void a_rate_that_comes_before_its_session_begins_holds(void **state)
{
	const struct kfb_reply event = {
		.op = KFB_OP_EVENT,
		.u.event = { .kind = KFB_EVENT_RATE,
			     .event_seq = 1,
			     .rate = { .ops_per_s = 20 } },
	};
	struct kfb_client *c = &port->i.client;
	uint8_t data[KFB_REPLY_MAX_BYTES];
	int len = kfb_encode_reply(&event, data, sizeof(data));

	(void)state;
	assert_true(len > 0);
	c->queues[0].engine.accept.features =
		KFB_FEATURE_EVENT | KFB_FEATURE_RATE;
	c->info.block_shift = KFB_BLOCK_SHIFT;
	c->info.flush_mode = KFB_FLUSH_READBACK;
	c->info.rate.ops_per_s = 10;
	c->map_due = 1;
	c->state = KFB_CLIENT_MAPPING;
	kfb_initiator_received(&port->q[0], 0, data, (uint32_t)len);
	assert_int_equal(port->rate.ops_per_s, 20);
	kfb_initiator_run(&port->i);
	assert_int_equal(c->map_due, 0);
	assert_int_equal(port->rate.ops_per_s, 20);
}

/* Of those that nobody has taken; the one before it stays. */
static void of_rates_the_newest_is_kept(void **state)
{
	struct kfb_engine *e = &port->i.client.queues[0].engine;
	struct kfb_reply event = { .op = KFB_OP_EVENT };
	uint8_t data[KFB_REPLY_MAX_BYTES];
	struct kfb_event taken;
	uint32_t n;

	(void)state;
	e->accept.features = KFB_FEATURE_EVENT | KFB_FEATURE_RATE;
	for (n = 0; n < 2 * KFB_EVENTS_UNACKED_MAX; n++) {
		event.u.event = (struct kfb_event){
			.kind = n ? KFB_EVENT_RATE : KFB_EVENT_MEDIA_ERROR,
			.event_seq = n + 1,
			.rate.ops_per_s = n ? KFB_RATE_OPS_MIN + n : 0,
		};
		kfb_initiator_received(
			&port->q[0], 0, data,
			(uint32_t)kfb_encode_reply(&event, data, sizeof(data)));
		/* They are acknowledged, and not taken. */
		e->events_unacked = 0;
	}
	assert_false(kfb_initiator_is_lost(&port->q[0]));
	assert_true(kfb_initiator_take_event(&port->i, &taken));
	assert_int_equal(taken.kind, KFB_EVENT_MEDIA_ERROR);
	assert_true(kfb_initiator_take_event(&port->i, &taken));
	assert_int_equal(taken.rate.ops_per_s, KFB_RATE_OPS_MIN + n - 1);
	assert_false(kfb_initiator_take_event(&port->i, &taken));
}

/* A second queue, of a session whose first one is READY, is refused. */
static void refuse_second_queue(uint16_t status)
{
	const struct kfb_reject reject = {
		.status = status,
		.version_min = KFB_VERSION,
		.version_max = KFB_VERSION,
	};
	static const uint8_t key[KFB_KEY_BYTES];
	const struct kfb_join join = {
		.queue = 1,
		.session_id = 7,
		.counter = 1,
		.key = key,
	};
	struct kfb_client_queue *q = &port->i.client.queues[1];
	uint8_t raw[KFB_REJECT_BYTES];
	const uint8_t *hello;
	uint32_t len;

	port->i.client.state = KFB_CLIENT_MAPPING;
	q->engine.state = KFB_CONN_IDLE;
	assert_int_equal(kfb_engine_join(&q->engine, &join, &hello, &len), 0);
	len = (uint32_t)kfb_encode_reject(&reject, raw, sizeof(raw));
	kfb_initiator_rejected(&port->q[1], ECONNREFUSED, raw, len);
}

static void fewer_queues_than_wanted_are_no_reason(void **state)
{
	(void)state;
	refuse_second_queue(KFB_ST_LIMIT);
	assert_int_equal(port->n_reasons, 0);
	assert_int_equal(port->i.client.n_offered, 1);
}

static void a_queue_that_is_refused_is_a_reason(void **state)
{
	(void)state;
	refuse_second_queue(KFB_ST_SHUTDOWN);
	assert_int_equal(port->n_reasons, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_failed_op_stays_the_flushs_error_when_it_begins_again),
		CASE(it_stays_so_without_anything_dirty),
		CASE(the_next_use_of_a_flush_knows_nothing_of_the_last),
		CASE(a_lost_connection_alone_is_no_error),
		CASE(what_comes_late_proves_nothing),
		CASE(a_medium_that_failed_is_told_to_who_asks_next),
		CASE(what_has_no_room_is_posted_when_there_is),
		CASE(a_readback_without_a_place_fails_its_flush),
		CASE(a_loss_fails_those_who_wait_and_every_flush_after),
		CASE(a_write_that_waits_for_its_flush_is_sent_again),
		CASE(what_lies_below_it_is_lost_all_the_same),
		CASE(what_was_written_over_it_is_lost_all_the_same),
		CASE(where_there_are_copies_nothing_is_lost),
		CASE(writes_of_another_queue_are_the_firsts_to_flush),
		CASE(a_mapping_that_comes_late_is_given_back),
		CASE(a_mapping_that_the_brick_keeps_is_given_back_again),
		CASE(many_mappings_that_the_brick_keeps_are_all_given_back),
		CASE(an_unmap_that_is_not_answered_is_sent_once),
		CASE(an_alarm_that_is_due_is_none),
		CASE(a_further_page_that_comes_late_takes_nothing_away),
		CASE(a_call_of_another_session_is_lost_unsent),
		CASE(a_call_without_room_is_given_up_in_its_time),
		CASE(who_leaves_tells_the_brick_and_waits_for_little),
		CASE(whoever_waits_is_told_of_the_end_once),
		CASE(what_a_brick_says_early_is_heard),
		CASE(a_rate_that_comes_before_its_session_begins_holds),
		CASE(of_rates_the_newest_is_kept),
		CASE(fewer_queues_than_wanted_are_no_reason),
		CASE(a_queue_that_is_refused_is_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
