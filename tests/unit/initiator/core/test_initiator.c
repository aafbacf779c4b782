// SPDX-License-Identifier: BSD-2-Clause
/* The initiator's flushes, losses and connections, on two queues. */
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

/* Another device of the brick: what its CPU has placed a read does not flush. */
static void what_was_written_by_message_is_flushed_by_message(void **state)
{
	struct kfb_info *info = &port->i.client.info;
	struct kfb_dirty writes = { 0 };
	uint32_t n;

	(void)state;
	port->i.has_promised = 1;
	port->i.flush_mode = KFB_FLUSH_MESSAGE;
	info->flush_mode = KFB_FLUSH_READBACK;
	info->flush_modes = KFB_FLUSH_READBACK | KFB_FLUSH_MESSAGE;
	assert_int_equal(kfb_initiator_choose_flush(&port->i), 0);
	assert_int_equal(port->i.flush_mode, KFB_FLUSH_MESSAGE);
	/* A brick that offers none has another medium. */
	info->flush_modes = KFB_FLUSH_READBACK;
	assert_int_equal(kfb_initiator_choose_flush(&port->i), -ESTALE);
	assert_int_equal(port->i.flush_mode, KFB_FLUSH_MESSAGE);
	for (n = 0; n < QUEUES; n++)
		kfb_flush_take(&port->q[n].flush, &writes, &writes);
	assert_int_equal(kfb_initiator_choose_flush(&port->i), 0);
	assert_int_equal(port->i.flush_mode, KFB_FLUSH_READBACK);
}

static int locate_none(struct kfb_initiator *i, __u64 *va)
{
	(void)i;
	(void)va;
	return -ENODATA;
}

static void where_nothing_is_mapped_nothing_is_to_be_flushed(void **state)
{
	struct kfb_initiator_ops ops = *port->i.ops;

	(void)state;
	ops.locate_any = locate_none;
	port->i.ops = &ops;
	port->has_no_place = true;
	kfb_initiator_flush(&port->i, &flush);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, 0);
	assert_int_equal(port->n_posted, 0);
	assert_false(kfb_initiator_is_dirty(&port->i));
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

static void hear_of_lost_block(uint32_t seq, uint64_t block)
{
	const struct kfb_reply event = {
		.op = KFB_OP_EVENT,
		.u.event = { .kind = KFB_EVENT_MEDIA_ERROR,
			     .event_seq = seq,
			     .va = block << KFB_BLOCK_SHIFT,
			     .n_blocks = 1 },
	};
	uint8_t data[KFB_REPLY_MAX_BYTES];
	int len = kfb_encode_reply(&event, data, sizeof(data));

	assert_true(len > 0);
	kfb_initiator_received(&port->q[0], 0, data, (uint32_t)len);
	port->i.client.queues[0].engine.events_unacked = 0;
}

static bool is_at_fault(int error, uint64_t block)
{
	return kfb_initiator_is_at_fault(
		&port->i, error, (block << KFB_BLOCK_SHIFT) + 4096, 512);
}

/*
 * Over tcp an operation that the brick cannot carry out ends as one whose network has
 * gone: of a block that the brick has called lost it is that operation's doing.
 */
static void the_brick_says_which_block_ends_connections(void **state)
{
	struct kfb_client *c = &port->i.client;
	uint64_t block;

	(void)state;
	c->queues[0].engine.accept.features = KFB_FEATURE_EVENT;
	assert_false(is_at_fault(-ECONNRESET, 5));
	assert_true(is_at_fault(-EIO, 5));
	hear_of_lost_block(1, 5);
	assert_true(is_at_fault(-ECONNRESET, 5));
	assert_true(is_at_fault(-ECANCELED, 5));
	assert_false(is_at_fault(-ECONNRESET, 4));
	assert_false(is_at_fault(-ECONNRESET, 6));
	/* The network was not there, or memory: nobody has tried it. */
	assert_false(is_at_fault(-ETIMEDOUT, 5));
	assert_false(is_at_fault(-ENOMEM, 5));
	assert_false(is_at_fault(0, 5));
	/* The newest are kept, and each of them once. */
	for (block = 10; block < 10 + KFB_INITIATOR_BAD_MAX; block++) {
		hear_of_lost_block(2 * (uint32_t)block, block);
		hear_of_lost_block(2 * (uint32_t)block + 1, block);
	}
	assert_false(is_at_fault(-ECONNRESET, 5));
	for (block = 10; block < 10 + KFB_INITIATOR_BAD_MAX; block++)
		assert_true(is_at_fault(-ECONNRESET, block));
	/* The last one that there can be. */
	hear_of_lost_block(100, ((uint64_t)1 << (64 - KFB_BLOCK_SHIFT)) - 1);
	assert_true(is_at_fault(-ECONNRESET,
				((uint64_t)1 << (64 - KFB_BLOCK_SHIFT)) - 1));
	assert_false(is_at_fault(-ECONNRESET, 0));
	/* Not for ever: of a page that is there again nobody says so. */
	port->i.n_closed += KFB_INITIATOR_BAD_ENDS - 1;
	assert_true(is_at_fault(-ECONNRESET, 17));
	hear_of_lost_block(101, 17);
	port->i.n_closed++;
	assert_false(is_at_fault(-ECONNRESET, 16));
	assert_true(is_at_fault(-ECONNRESET, 17));
	/* Another session is told anew. */
	c->session_id++;
	assert_false(is_at_fault(-ECONNRESET, 17));
	hear_of_lost_block(102, 4);
	assert_true(is_at_fault(-ECONNRESET, 4));
	assert_false(is_at_fault(-ECONNRESET, 17));
	/* Also when that comes before it has begun. */
	c->info.block_shift = KFB_BLOCK_SHIFT;
	c->info.flush_mode = KFB_FLUSH_READBACK;
	c->map_due = 1;
	c->state = KFB_CLIENT_MAPPING;
	kfb_initiator_run(&port->i);
	assert_true(is_at_fault(-ECONNRESET, 4));
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
		CASE(what_was_written_by_message_is_flushed_by_message),
		CASE(where_nothing_is_mapped_nothing_is_to_be_flushed),
		CASE(a_loss_fails_those_who_wait_and_every_flush_after),
		CASE(a_write_that_waits_for_its_flush_is_sent_again),
		CASE(what_lies_below_it_is_lost_all_the_same),
		CASE(what_was_written_over_it_is_lost_all_the_same),
		CASE(where_there_are_copies_nothing_is_lost),
		CASE(writes_of_another_queue_are_the_firsts_to_flush),
		CASE(what_a_brick_says_early_is_heard),
		CASE(the_brick_says_which_block_ends_connections),
		CASE(a_rate_that_comes_before_its_session_begins_holds),
		CASE(of_rates_the_newest_is_kept),
		CASE(fewer_queues_than_wanted_are_no_reason),
		CASE(a_queue_that_is_refused_is_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
