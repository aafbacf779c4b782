// SPDX-License-Identifier: BSD-2-Clause
/*
 * The initiator over two queues, with a port that is this test: it says what
 * became of what was posted.
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
#include "kfb_initiator_priv.h"
#include "kfb_initiator_retain.h"
#include "toy_hmac.h"

#define QUEUES	 2
#define POST_MAX 64
#define COPIES	 64

/* What the initiator has asked of its port. */
struct port {
	struct kfb_initiator i;
	struct kfb_initiator_queue q[QUEUES];
	uint8_t tx[KFB_CLIENT_TX_BYTES(QUEUES)];
	struct {
		uint32_t queue;
		uint64_t id;
	} posted[POST_MAX];
	uint32_t n_posted;
	uint32_t room; /* readbacks there is room for */
	uint32_t n_taken_back;
	uint64_t n_lost_bytes;
	struct kfb_initiator_flush *done;
	int error; /* that @done's owner is told */
	struct kfb_initiator_call *call_done;
	bool has_no_place; /* for a readback */
	/* Copies that are being written again. */
	struct kfb_copy copies[COPIES];
	__u64 newest[COPIES];
	uint64_t written[COPIES];
	uint32_t n_written;
	uint32_t n_kicks;
	int post_error; /* of writing a copy */
};

static struct port *port;
static struct kfb_initiator_flush flush;

static struct port *port_of(const struct kfb_initiator *i)
{
	return kfb_container_of(i, struct port, i);
}

static int send_message(struct kfb_initiator_queue *q,
			const struct kfb_message *message)
{
	(void)q;
	(void)message;
	return port->room-- ? 0 : -EAGAIN;
}

static int locate(struct kfb_initiator *i, const struct kfb_flush_range *at,
		  struct kfb_initiator_place *place)
{
	if (port_of(i)->has_no_place)
		return -ENXIO;
	place->raddr = at->va;
	place->key = 1;
	return 0;
}

static int read_back(struct kfb_initiator_queue *q, __u32 place, __u64 id,
		     const struct kfb_initiator_place *from, __u32 len)
{
	assert_true(place < KFB_FLUSH_PLACES);
	assert_int_equal(from->key, 1);
	assert_in_range(len, 1, KFB_READBACK_BYTES);
	if (!port->room)
		return -EAGAIN;
	port->room--;
	assert_true(port->n_posted < POST_MAX);
	port->posted[port->n_posted].queue = q->index;
	port->posted[port->n_posted++].id = id;
	return 0;
}

static void flush_done(struct kfb_initiator *i,
		       struct kfb_initiator_flush *done, int error)
{
	port_of(i)->done = done;
	port_of(i)->error = error;
}

static void take_back(struct kfb_initiator *i,
		      struct kfb_initiator_flush *taken)
{
	(void)taken;
	port_of(i)->n_taken_back++;
}

static void writes_lost(struct kfb_initiator *i, const struct kfb_dirty *writes)
{
	uint32_t n;

	for (n = 0; n < writes->n; n++)
		port_of(i)->n_lost_bytes += writes->ranges[n].len;
}

static int write_copy(struct kfb_initiator_queue *q, __u32 slot,
		      const struct kfb_retain_piece *piece, __u32 page,
		      const struct kfb_initiator_place *to)
{
	(void)q;
	(void)page;
	assert_true(slot < KFB_INITIATOR_REPLAYS);
	assert_int_equal(to->raddr, piece->va);
	if (port->post_error)
		return port->post_error;
	if (!port->room)
		return -EAGAIN;
	port->room--;
	port->written[port->n_written++] = piece->va;
	return (int)piece->len;
}

static void kick(struct kfb_initiator *i)
{
	port_of(i)->n_kicks++;
}

static void call_done(struct kfb_initiator *i, struct kfb_initiator_call *call)
{
	port_of(i)->call_done = call;
}

static void say(struct kfb_initiator *i, enum kfb_initiator_level level,
		const char *what, const char *detail, int error)
{
	(void)i;
	(void)level;
	(void)detail;
	(void)error;
	assert_non_null(what);
}

static __u64 now_ms(const struct kfb_initiator *i)
{
	(void)i;
	return 1000;
}

static const struct kfb_initiator_ops ops = {
	.send = send_message,
	.locate = locate,
	.read_back = read_back,
	.flush_done = flush_done,
	.call_done = call_done,
	.say = say,
	.now_ms = now_ms,
};

static const struct kfb_initiator_ops ops_of_disk = {
	.write_copy = write_copy,
	.kick = kick,
	.send = send_message,
	.locate = locate,
	.read_back = read_back,
	.flush_done = flush_done,
	.take_back = take_back,
	.writes_lost = writes_lost,
	.call_done = call_done,
	.say = say,
	.now_ms = now_ms,
};

static void no_random(void *ctx, void *buf, __u32 len)
{
	(void)ctx;
	memset(buf, 0, len);
}

/* A session that lives, and a write on each queue. */
static int setup(void **state)
{
	const struct kfb_initiator_config config = {
		.client = {
			.engine.hmac.compute = toy_hmac,
			.random = no_random,
			.n_queues = QUEUES,
			.timeout_ms = 1000,
		},
		.over_error = -ECONNRESET,
	};
	uint32_t n;

	(void)state;
	port = calloc(1, sizeof(*port));
	assert_non_null(port);
	assert_int_equal(kfb_initiator_init(&port->i, &ops, &config, port->tx),
			 0);
	port->i.flush_mode = KFB_FLUSH_READBACK;
	port->i.session_id = 7;
	port->i.client.session_id = 7;
	port->i.client.state = KFB_CLIENT_LIVE;
	port->i.client.n_used = QUEUES;
	port->room = POST_MAX;
	for (n = 0; n < QUEUES; n++) {
		struct kfb_client_queue *q = &port->i.client.queues[n];

		kfb_initiator_add_queue(&port->i, &port->q[n], n);
		q->engine.state = KFB_CONN_READY;
		assert_int_equal(kfb_credits_init(&q->engine.credits,
						  KFB_CREDITS_MAX),
				 0);
		assert_int_equal(
			kfb_slots_init(&q->engine.slots, KFB_CREDITS_MAX), 0);
		q->is_open = 1;
		kfb_flush_wrote(&port->q[n].flush, n * KFB_BLOCK_BYTES, 512);
	}
	flush = (struct kfb_initiator_flush){
		.only = KFB_INITIATOR_ALL_QUEUES,
		.is_told = 1,
	};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(port);
	return 0;
}

/* ---- flushes ---------------------------------------------------------------- */

/* The newest readback of a queue. */
static uint64_t posted(uint32_t queue)
{
	uint32_t n = port->n_posted;

	while (n--) {
		if (port->posted[n].queue == queue)
			return port->posted[n].id;
	}
	fail_msg("nothing was posted on queue %u", queue);
	return 0;
}

static void read(uint32_t queue, int error)
{
	kfb_initiator_flushed(&port->q[queue], posted(queue), error);
}

/* Queue 0's op fails, and then queue 1 loses its connection. */
static void refuse_and_cut(void)
{
	read(0, -EIO);
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
	read(0, 0);
	read(1, 0);
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
	read(0, -EIO);
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
	read(0, 0);
	read(1, 0);
	assert_int_equal(port->error, -EIO);

	kfb_flush_wrote(&port->q[1].flush, 0, 512);
	kfb_initiator_flush(&port->i, &flush);
	read(1, 0);
	assert_int_equal(port->error, 0);
}

static void a_lost_connection_alone_is_no_error(void **state)
{
	(void)state;
	kfb_initiator_flush(&port->i, &flush);
	read(0, 0);
	kfb_initiator_flush_lost(&port->q[1]);
	assert_null(port->done);
	kfb_initiator_pump_flushes(&port->i);
	read(1, 0);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, 0);
}

static void what_comes_late_proves_nothing(void **state)
{
	uint64_t late;

	(void)state;
	kfb_initiator_flush(&port->i, &flush);
	read(0, 0);
	late = posted(1);
	kfb_initiator_flush_lost(&port->q[1]);
	kfb_initiator_pump_flushes(&port->i);
	kfb_initiator_flushed(&port->q[1], late, 0);
	assert_null(port->done);
	read(1, 0);
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
	read(0, 0);
	read(1, 0);
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
	read(0, 0);
	read(1, 0);
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
	read(1, 0);
	port->done = NULL;
}

/* Its end is nobody's knowledge yet: it is sent again, and is no loss. */
static void a_write_that_waits_for_its_flush_is_sent_again(void **state)
{
	(void)state;
	port->i.ops = &ops_of_disk;
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
	port->i.ops = &ops_of_disk;
	kfb_flush_wrote_fua(&port->q[1].flush, KFB_BLOCK_BYTES, 512);
	lose_a_write_that_waits();
	assert_int_equal(port->n_lost_bytes, 512);
	assert_int_equal(kfb_losses_error(&port->i.losses), -EIO);
}

static void what_was_written_over_it_is_lost_all_the_same(void **state)
{
	(void)state;
	port->i.ops = &ops_of_disk;
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
	port->i.ops = &ops_of_disk;
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
	read(0, 0);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, 0);
}

/* ---- copies ------------------------------------------------------------------ */

/* A write that has completed, and has a copy. */
static uint64_t write_and_keep(uint64_t va)
{
	uint64_t id;
	__u64 copy;
	__u32 page;

	assert_int_equal(kfb_initiator_copy(&port->i, va, 512, 0, &copy, &page),
			 0);
	id = copy;
	kfb_initiator_copy_over(&port->i, copy, KFB_COPY_END_DONE);
	return id;
}

static void lose_with_copies(uint32_t n)
{
	uint32_t i;

	port->i.ops = &ops_of_disk;
	kfb_initiator_retain_open(&port->i, port->copies, port->newest, COPIES,
				  COPIES);
	for (i = 0; i < n; i++)
		write_and_keep((uint64_t)i * 4096);
	kfb_initiator_flush_lost(&port->q[0]);
	kfb_initiator_validate(&port->q[0], KFB_FATE_GONE);
	assert_true(port->i.replay_due);
}

static void copies_are_written_in_their_order_and_then_flushed(void **state)
{
	uint32_t i;

	(void)state;
	lose_with_copies(3);
	kfb_initiator_flush(&port->i, &flush);
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(port->written[i], i * 4096);
		assert_true(port->i.replay_due);
		assert_int_equal(port->n_posted, 0);
		kfb_initiator_replayed(&port->q[0], i, 0, 0);
	}
	assert_false(port->i.replay_due);
	assert_int_equal(port->n_kicks, 1);
	kfb_initiator_pump_flushes(&port->i);
	read(0, 0);
	read(1, 0);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, 0);
	assert_int_equal(port->i.retain.book.bytes, 0);
}

static void a_loss_meanwhile_begins_all_of_it_anew(void **state)
{
	(void)state;
	lose_with_copies(3);
	kfb_initiator_replay(&port->i);
	kfb_initiator_replayed(&port->q[0], 0, 0, 0);
	kfb_initiator_flush_lost(&port->q[0]);
	/* Nothing is begun while anything of the last time is under way. */
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 3);
	kfb_initiator_replayed(&port->q[0], 1, -ECONNRESET, 0);
	kfb_initiator_replayed(&port->q[0], 2, -ECONNRESET, 0);
	assert_true(port->i.replay_due);
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 6);
	assert_int_equal(port->written[3], 0);
	assert_int_equal(port->i.retain.n_replays, 2);
}

/* Also of what has arrived: it was lost again. */
static void what_was_written_again_is_so_once_more(void **state)
{
	(void)state;
	lose_with_copies(3);
	port->room = 1;
	kfb_initiator_replay(&port->i);
	kfb_initiator_replayed(&port->q[0], 0, 0, 0);
	kfb_initiator_flush_lost(&port->q[0]);
	kfb_initiator_validate(&port->q[0], KFB_FATE_GONE);
	port->room = POST_MAX;
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 4);
	assert_int_equal(port->written[1], 0);
}

static void copies_wait_for_a_write_that_is_under_way(void **state)
{
	__u64 copy;
	__u32 page;

	(void)state;
	lose_with_copies(1);
	assert_int_equal(
		kfb_initiator_copy(&port->i, 8192, 512, 0, &copy, &page), 0);
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 0);
	assert_true(kfb_initiator_copy_over(&port->i, copy, KFB_COPY_END_VOID) &
		    KFB_COPY_IDLE);
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 1);
}

static void no_more_copies_than_there_is_room_for(void **state)
{
	(void)state;
	lose_with_copies(3);
	port->room = 1;
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 1);
	port->room = 8;
	kfb_initiator_replay_pump(&port->i);
	assert_int_equal(port->n_written, 3);
}

/* Three connections died of it: it is not tried for ever. */
static void a_copy_that_kills_connections_is_a_loss(void **state)
{
	uint32_t i;

	(void)state;
	lose_with_copies(1);
	for (i = 0; i < 3; i++) {
		assert_true(port->i.replay_due);
		kfb_initiator_replay(&port->i);
		kfb_initiator_replayed(&port->q[0], 0, -EIO, 1);
	}
	assert_false(port->i.replay_due);
	assert_int_equal(kfb_losses_error(&port->i.losses), -EIO);
	assert_true(port->i.losses.ranges.all);
}

static void a_copy_that_cannot_be_posted_is_a_loss_in_the_end(void **state)
{
	uint32_t i;

	(void)state;
	lose_with_copies(1);
	/* No connection is nobody's fault. */
	port->post_error = -ENOTCONN;
	for (i = 0; i < 8; i++)
		kfb_initiator_replay(&port->i);
	assert_true(port->i.replay_due);
	port->post_error = -EINVAL;
	for (i = 0; i < 3; i++)
		kfb_initiator_replay(&port->i);
	assert_false(port->i.replay_due);
	assert_int_equal(kfb_losses_error(&port->i.losses), -EIO);
}

static void no_copy_goes_when_the_lease_is_over(void **state)
{
	(void)state;
	lose_with_copies(3);
	port->room = 1;
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 1);
	port->i.client.info.lease_ms = 1000;
	port->room = POST_MAX;
	kfb_initiator_replay_pump(&port->i);
	kfb_initiator_replayed(&port->q[0], 0, 0, 0);
	assert_int_equal(port->n_written, 1);
	port->i.client.info.lease_ms = 0;
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 3);
}

static void a_copy_without_a_place_is_a_loss(void **state)
{
	(void)state;
	lose_with_copies(1);
	port->has_no_place = true;
	kfb_initiator_replay(&port->i);
	assert_false(port->i.replay_due);
	assert_int_equal(kfb_losses_error(&port->i.losses), -EIO);
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
	assert_int_equal(port->i.late[0], 99);
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

static void a_call_can_be_taken_back_until_it_is_sent(void **state)
{
	struct kfb_initiator_call call = map_call(0);

	(void)state;
	port->i.client.queues[0].engine.state = KFB_CONN_CONNECTING;
	kfb_initiator_call(&port->i, &call);
	assert_true(kfb_initiator_take_call(&call));
	kfb_initiator_call(&port->i, &call);
	port->i.client.queues[0].engine.state = KFB_CONN_READY;
	kfb_initiator_pump_calls(&port->i);
	assert_int_equal(call.session_id, 7);
	assert_false(kfb_initiator_take_call(&call));
	assert_false(call.is_done);
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

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

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
		CASE(copies_are_written_in_their_order_and_then_flushed),
		CASE(a_loss_meanwhile_begins_all_of_it_anew),
		CASE(what_was_written_again_is_so_once_more),
		CASE(copies_wait_for_a_write_that_is_under_way),
		CASE(no_more_copies_than_there_is_room_for),
		CASE(a_copy_that_kills_connections_is_a_loss),
		CASE(a_copy_that_cannot_be_posted_is_a_loss_in_the_end),
		CASE(no_copy_goes_when_the_lease_is_over),
		CASE(a_copy_without_a_place_is_a_loss),
		CASE(a_mapping_that_comes_late_is_given_back),
		CASE(a_further_page_that_comes_late_takes_nothing_away),
		CASE(a_call_of_another_session_is_lost_unsent),
		CASE(a_call_can_be_taken_back_until_it_is_sent),
		CASE(whoever_waits_is_told_of_the_end_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
