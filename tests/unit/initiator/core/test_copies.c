// SPDX-License-Identifier: BSD-2-Clause
/* What an initiator keeps of writes is written again after a loss. */
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

	port->i.ops = &port_ops_of_disk;
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
		kfb_initiator_replayed(&port->q[0], i, 0);
	}
	assert_false(port->i.replay_due);
	assert_int_equal(port->n_kicks, 1);
	kfb_initiator_pump_flushes(&port->i);
	port_read_back(0, 0);
	port_read_back(1, 0);
	assert_ptr_equal(port->done, &flush);
	assert_int_equal(port->error, 0);
	assert_int_equal(port->i.retain.book.bytes, 0);
}

static void a_loss_meanwhile_begins_all_of_it_anew(void **state)
{
	(void)state;
	lose_with_copies(3);
	kfb_initiator_replay(&port->i);
	kfb_initiator_replayed(&port->q[0], 0, 0);
	kfb_initiator_flush_lost(&port->q[0]);
	/* Nothing is begun while anything of the last time is under way. */
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 3);
	kfb_initiator_replayed(&port->q[0], 1, -ECONNRESET);
	kfb_initiator_replayed(&port->q[0], 2, -ECONNRESET);
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
	kfb_initiator_replayed(&port->q[0], 0, 0);
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
		kfb_initiator_replayed(&port->q[0], 0, -EIO);
	}
	assert_false(port->i.replay_due);
	assert_int_equal(kfb_losses_error(&port->i.losses), -EIO);
	assert_true(port->i.losses.ranges.all);
}

/* Over tcp, where nothing else says so; those that end with it are not counted. */
static void copies_of_a_lost_block_are_a_loss(void **state)
{
	uint32_t i;

	(void)state;
	lose_with_copies(2);
	port->i.bad[0].range = (struct kfb_range){ 0, 1 };
	port->i.bad_id = port->i.client.session_id;
	port->i.n_bad = 1;
	for (i = 0; i < 3; i++) {
		assert_true(port->i.replay_due);
		kfb_initiator_replay(&port->i);
		kfb_initiator_replayed(&port->q[0], 0, -ECONNRESET);
		kfb_initiator_replayed(&port->q[0], 1, -ECONNRESET);
	}
	assert_false(port->i.replay_due);
	assert_int_equal(kfb_losses_error(&port->i.losses), -EIO);
}

/* It would be written over what its user does about the loss. */
static void a_disk_that_has_lost_writes_writes_none_again(void **state)
{
	(void)state;
	lose_with_copies(2);
	kfb_initiator_lose(&port->i, &(struct kfb_dirty){ .all = 1 },
			   KFB_LOSS_BIRTH);
	assert_false(port->i.replay_due);
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 0);
	kfb_flush_wrote(&port->q[0].flush, 0, 512);
	kfb_initiator_flush_lost(&port->q[0]);
	kfb_initiator_validate(&port->q[0], KFB_FATE_GONE);
	assert_false(port->i.replay_due);
}

/*
 * The first of so many copies ends its connection three times: all are given up, while
 * the others are under way. The loss is accepted, as it can be where writes go on.
 */
static void give_copies_up(uint32_t n)
{
	static struct kfb_initiator_ops goes_on;
	uint32_t i, other;

	lose_with_copies(n);
	goes_on = port_ops_of_disk;
	goes_on.writes_lost = NULL;
	port->i.ops = &goes_on;
	for (i = 0; i < 3; i++) {
		kfb_initiator_replay(&port->i);
		assert_int_equal(port->n_written, n * (i + 1));
		kfb_initiator_replayed(&port->q[0], 0, -EIO);
		for (other = 1; i < 2 && other < n; other++)
			kfb_initiator_replayed(&port->q[0], other, -ECONNRESET);
	}
	assert_false(port->i.replay_due);
	assert_int_equal(kfb_losses_error(&port->i.losses), -EIO);
	kfb_losses_reset(&port->i.losses);
}

/*
 * Whoever was told of the loss, and does without what was lost, does not find it
 * there later: after another loss newer copies alone are written once more.
 */
static void copies_that_were_given_up_are_never_written(void **state)
{
	(void)state;
	give_copies_up(2);
	/* One is still read by the network: its memory is not given back. */
	write_and_keep(65536);
	assert_int_equal(port->i.retain.book.n_used, 3);
	kfb_initiator_replayed(&port->q[0], 1, -ECONNRESET);
	assert_int_equal(port->i.retain.book.n_used, 1);
	kfb_flush_wrote(&port->q[0].flush, 65536, 512);
	kfb_initiator_flush_lost(&port->q[0]);
	kfb_initiator_validate(&port->q[0], KFB_FATE_SUSPECT);
	assert_true(port->i.replay_due);
	port->n_written = 0;
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 1);
	assert_int_equal(port->written[0], 65536);
	/* It is not at fault for what others were. */
	kfb_initiator_replayed(&port->q[0], 0, -EIO);
	assert_true(port->i.replay_due);
}

/*
 * What is under way on another queue when copies are given up ends later, and is not
 * why others fail: what was written since is kept.
 */
static void what_was_given_up_takes_nothing_newer_along(void **state)
{
	uint32_t i;

	(void)state;
	give_copies_up(3);
	write_and_keep(65536);
	kfb_flush_wrote(&port->q[0].flush, 65536, 512);
	kfb_initiator_flush_lost(&port->q[0]);
	kfb_initiator_validate(&port->q[0], KFB_FATE_SUSPECT);
	assert_true(port->i.replay_due);
	kfb_initiator_replayed(&port->q[0], 1, -ECONNRESET);
	assert_int_equal(kfb_losses_error(&port->i.losses), 0);
	assert_true(port->i.replay_due);
	kfb_initiator_replayed(&port->q[0], 2, -EIO);
	for (i = 0; i < 2; i++) {
		kfb_initiator_replay(&port->i);
		kfb_initiator_replayed(&port->q[0], 0, -EIO);
		assert_true(port->i.replay_due);
	}
}

/* Blocks are unmapped while the network reads copies of what was written there. */
static void
copies_that_are_dropped_keep_their_memory_while_it_is_read(void **state)
{
	(void)state;
	lose_with_copies(2);
	kfb_initiator_replay(&port->i);
	assert_int_equal(port->n_written, 2);
	kfb_initiator_retain_drop(&port->i, 0, KFB_BLOCK_BYTES);
	assert_int_equal(port->i.retain.book.bytes, 0);
	assert_int_equal(port->i.retain.book.n_used, 2);
	kfb_initiator_replayed(&port->q[0], 0, 0);
	assert_int_equal(port->i.retain.book.n_used, 2);
	kfb_initiator_replayed(&port->q[0], 1, 0);
	assert_int_equal(port->i.retain.book.n_used, 0);
	/* One that could not be posted is not read. */
	port->room = 0;
	write_and_keep(65536);
	kfb_flush_wrote(&port->q[0].flush, 65536, 512);
	kfb_initiator_flush_lost(&port->q[0]);
	kfb_initiator_validate(&port->q[0], KFB_FATE_GONE);
	kfb_initiator_replay(&port->i);
	kfb_initiator_retain_drop(&port->i, 0, KFB_BLOCK_BYTES);
	assert_int_equal(port->i.retain.book.n_used, 0);
}

/* The way to the brick is nobody's fault, however often it ends. */
static void a_copy_is_kept_through_ends_of_the_network(void **state)
{
	static const int ends[] = { -ETIMEDOUT, -EHOSTUNREACH, -EPIPE,
				    -ECONNABORTED, -ENOMEM };
	uint32_t i;

	(void)state;
	lose_with_copies(1);
	for (i = 0; i < 3 * sizeof(ends) / sizeof(ends[0]); i++) {
		kfb_initiator_replay(&port->i);
		kfb_initiator_replayed(&port->q[0], 0, ends[i / 3]);
		assert_true(port->i.replay_due);
	}
	assert_int_equal(kfb_losses_error(&port->i.losses), 0);
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
	kfb_initiator_replayed(&port->q[0], 0, 0);
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
	port->n_kicks = 0;
	kfb_initiator_replay(&port->i);
	assert_false(port->i.replay_due);
	/* Whoever waits for the copies goes on. */
	assert_int_equal(port->n_kicks, 1);
	assert_int_equal(kfb_losses_error(&port->i.losses), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(copies_are_written_in_their_order_and_then_flushed),
		CASE(a_loss_meanwhile_begins_all_of_it_anew),
		CASE(what_was_written_again_is_so_once_more),
		CASE(copies_wait_for_a_write_that_is_under_way),
		CASE(no_more_copies_than_there_is_room_for),
		CASE(a_copy_that_kills_connections_is_a_loss),
		CASE(copies_of_a_lost_block_are_a_loss),
		CASE(a_disk_that_has_lost_writes_writes_none_again),
		CASE(copies_that_were_given_up_are_never_written),
		CASE(what_was_given_up_takes_nothing_newer_along),
		CASE(copies_that_are_dropped_keep_their_memory_while_it_is_read),
		CASE(a_copy_is_kept_through_ends_of_the_network),
		CASE(a_copy_that_cannot_be_posted_is_a_loss_in_the_end),
		CASE(no_copy_goes_when_the_lease_is_over),
		CASE(a_copy_without_a_place_is_a_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
