// SPDX-License-Identifier: BSD-2-Clause
/*
 * Dirty ranges and flush bookkeeping, case by case. test_flush_model.c has the
 * random histories.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "data/kfb_flush.h"

#define BLOCK KFB_BLOCK_BYTES

static struct kfb_dirty dirty;
static struct kfb_flush_queue q;

static int setup(void **state)
{
	kfb_dirty_clear(&dirty);
	kfb_flush_init(&q, 2);
	return 0;
}

static void range_is(unsigned int i, uint64_t va, uint64_t len)
{
	assert_true(i < dirty.n);
	assert_int_equal(dirty.ranges[i].va, va);
	assert_int_equal(dirty.ranges[i].len, len);
}

static void touching_ranges_become_one(void **state)
{
	kfb_dirty_add(&dirty, 100, 10);
	kfb_dirty_add(&dirty, 120, 10);
	assert_int_equal(dirty.n, 2);
	kfb_dirty_add(&dirty, 110, 10);
	assert_int_equal(dirty.n, 1);
	range_is(0, 100, 30);
	kfb_dirty_add(&dirty, 90, 10);
	range_is(0, 90, 40);
	kfb_dirty_add(&dirty, 50, 200);
	assert_int_equal(dirty.n, 1);
	range_is(0, 50, 200);
	kfb_dirty_add(&dirty, 60, 1);
	range_is(0, 50, 200);
	kfb_dirty_add(&dirty, 0, 0);
	assert_int_equal(dirty.n, 1);
}

static void ranges_stay_sorted(void **state)
{
	kfb_dirty_add(&dirty, 300, 1);
	kfb_dirty_add(&dirty, 100, 1);
	kfb_dirty_add(&dirty, 200, 1);
	assert_int_equal(dirty.n, 3);
	range_is(0, 100, 1);
	range_is(1, 200, 1);
	range_is(2, 300, 1);
	kfb_dirty_add(&dirty, 50, 200);
	assert_int_equal(dirty.n, 2);
	range_is(0, 50, 200);
}

static void the_ends_of_the_address_space_are_ranges(void **state)
{
	kfb_dirty_add(&dirty, UINT64_MAX, 1);
	kfb_dirty_add(&dirty, 0, 1);
	assert_int_equal(dirty.n, 2);
	kfb_dirty_add(&dirty, UINT64_MAX - 1, 1);
	assert_int_equal(dirty.n, 2);
	range_is(1, UINT64_MAX - 1, 2);
	assert_true(kfb_dirty_overlaps(&dirty, UINT64_MAX, 1));
	assert_false(kfb_dirty_overlaps(&dirty, 1, UINT64_MAX - 2));
}

static void a_full_set_joins_inside_a_block_only(void **state)
{
	uint64_t i;

	/* Two in block 0, one in each of the others. */
	kfb_dirty_add(&dirty, 0, 10);
	kfb_dirty_add(&dirty, 1000, 10);
	for (i = 1; dirty.n < KFB_DIRTY_MAX; i++)
		kfb_dirty_add(&dirty, i * BLOCK, 10);
	kfb_dirty_add(&dirty, i * BLOCK, 10);
	assert_false(dirty.all);
	assert_int_equal(dirty.n, KFB_DIRTY_MAX);
	range_is(0, 0, 1010);
	range_is(KFB_DIRTY_MAX - 1, i * BLOCK, 10);
	i++;
	kfb_dirty_add(&dirty, i * BLOCK, 10);
	assert_true(dirty.all);
	assert_int_equal(dirty.n, 0);
	assert_true(kfb_dirty_overlaps(&dirty, 12345, 1));
	assert_false(kfb_dirty_is_empty(&dirty));
}

static void everything_merged_is_everything(void **state)
{
	struct kfb_dirty other;

	kfb_dirty_clear(&other);
	other.all = 1;
	kfb_dirty_add(&dirty, 0, 10);
	kfb_dirty_merge(&dirty, &other);
	assert_true(dirty.all);
	kfb_dirty_add(&dirty, 100, 10);
	assert_int_equal(dirty.n, 0);
}

static void nothing_written_needs_no_flush(void **state)
{
	assert_int_equal(kfb_flush_join(&q), 0);
	assert_null(kfb_flush_post(&q));
	assert_false(kfb_flush_is_dirty(&q));
	kfb_flush_wrote(&q, 5, 0);
	assert_false(kfb_flush_is_dirty(&q));
}

static void flushes_share_an_op_that_is_not_posted(void **state)
{
	struct kfb_flush_op *op;
	uint64_t id;

	kfb_flush_wrote(&q, 0, 10);
	id = kfb_flush_join(&q);
	assert_int_not_equal(id, 0);
	kfb_flush_wrote(&q, 10, 10);
	assert_int_equal(kfb_flush_join(&q), id);
	op = kfb_flush_post(&q);
	assert_int_equal(op->id, id);
	assert_int_equal(op->covers, 2);
	assert_true(kfb_dirty_overlaps(&op->dirty, 0, 1));
	assert_true(kfb_dirty_overlaps(&op->dirty, 19, 1));
	assert_int_equal(op->tail.va, 16);
	assert_null(kfb_flush_post(&q));
}

static void
a_write_after_the_last_flush_has_joined_is_left_to_the_next(void **state)
{
	struct kfb_flush_op *op;
	uint64_t id;

	kfb_flush_wrote(&q, 0, 10);
	id = kfb_flush_join(&q);
	kfb_flush_wrote(&q, 100, 10);
	op = kfb_flush_post(&q);
	assert_int_equal(op->covers, 1);
	assert_false(kfb_dirty_overlaps(&op->dirty, 100, 10));
	assert_int_equal(kfb_flush_done(&q, id, 0), 0);
	assert_true(kfb_flush_is_dirty(&q));
	assert_true(kfb_flush_is_dirty_in(&q, 100, 10));
	assert_int_equal(kfb_flush_join(&q), id + 1);
	assert_true(kfb_dirty_overlaps(&kfb_flush_post(&q)->dirty, 100, 10));
}

static void a_flush_joins_a_posted_op_that_covers_its_writes(void **state)
{
	uint64_t id;

	kfb_flush_wrote(&q, 0, 10);
	id = kfb_flush_join(&q);
	kfb_flush_post(&q);
	assert_int_equal(kfb_flush_join(&q), id);
	assert_null(kfb_flush_post(&q));
}

static void a_flush_does_not_join_an_op_posted_before_its_write(void **state)
{
	struct kfb_flush_op *op;
	uint64_t first;
	uint64_t second;

	kfb_flush_wrote(&q, 0, 10);
	first = kfb_flush_join(&q);
	kfb_flush_post(&q);
	kfb_flush_wrote(&q, 100, 10);
	second = kfb_flush_join(&q);
	assert_int_not_equal(first, second);
	/* It stands for itself: the first may fail. */
	op = kfb_flush_post(&q);
	assert_int_equal(op->id, second);
	assert_true(kfb_dirty_overlaps(&op->dirty, 0, 10));
	assert_true(kfb_dirty_overlaps(&op->dirty, 100, 10));
	assert_int_equal(kfb_flush_done(&q, second, 0), 0);
	assert_false(kfb_flush_is_dirty(&q));
	assert_int_equal(kfb_flush_done(&q, first, -EIO), 0);
	assert_false(kfb_flush_is_dirty(&q));
	assert_int_equal(kfb_flush_join(&q), 0);
}

static void no_more_ops_than_allowed_are_on_their_way(void **state)
{
	uint64_t id[3];
	int i;

	for (i = 0; i < 3; i++) {
		kfb_flush_wrote(&q, (uint64_t)i * 100, 1);
		id[i] = kfb_flush_join(&q);
		if (i < 2)
			assert_non_null(kfb_flush_post(&q));
	}
	assert_null(kfb_flush_post(&q));
	kfb_flush_done(&q, id[0], 0);
	assert_int_equal(kfb_flush_post(&q)->id, id[2]);
}

static void a_failed_op_leaves_its_writes_dirty(void **state)
{
	struct kfb_flush_op *op;
	uint64_t id;

	kfb_flush_wrote(&q, 0, 10);
	id = kfb_flush_join(&q);
	kfb_flush_post(&q);
	assert_true(kfb_flush_is_dirty_in(&q, 5, 1));
	kfb_flush_done(&q, id, -EIO);
	assert_true(kfb_flush_is_dirty_in(&q, 5, 1));
	assert_int_not_equal(kfb_flush_join(&q), 0);
	op = kfb_flush_post(&q);
	assert_true(kfb_dirty_overlaps(&op->dirty, 0, 10));
	kfb_flush_done(&q, op->id, 0);
	assert_false(kfb_flush_is_dirty_in(&q, 5, 1));
}

static void an_op_that_cannot_be_posted_keeps_its_number(void **state)
{
	struct kfb_flush_op *op;
	uint64_t id;

	kfb_flush_wrote(&q, 0, 10);
	id = kfb_flush_join(&q);
	op = kfb_flush_post(&q);
	kfb_flush_unpost(&q, op);
	kfb_flush_wrote(&q, 50, 10);
	assert_int_equal(kfb_flush_join(&q), id);
	op = kfb_flush_post(&q);
	assert_int_equal(op->id, id);
	assert_int_equal(op->covers, 2);
	assert_true(kfb_dirty_overlaps(&op->dirty, 0, 10));
	assert_true(kfb_dirty_overlaps(&op->dirty, 50, 10));
}

static void an_op_that_is_not_on_its_way_cannot_be_done(void **state)
{
	assert_int_equal(kfb_flush_done(&q, 0, 0), -ENOENT);
	assert_int_equal(kfb_flush_done(&q, 1, 0), -ENOENT);
	kfb_flush_wrote(&q, 0, 10);
	assert_int_equal(kfb_flush_done(&q, kfb_flush_join(&q), 0), -ENOENT);
	assert_true(kfb_flush_is_dirty(&q));
}

static void a_readback_reads_written_bytes_of_one_block(void **state)
{
	kfb_flush_wrote(&q, 4096, 4096);
	assert_int_equal(q.tail.va, 8184);
	assert_int_equal(q.tail.len, 8);
	kfb_flush_wrote(&q, BLOCK - 4, 7);
	assert_int_equal(q.tail.va, BLOCK);
	assert_int_equal(q.tail.len, 3);
	kfb_flush_wrote(&q, 3, 2);
	assert_int_equal(q.tail.va, 3);
	assert_int_equal(q.tail.len, 2);
	kfb_flush_wrote(&q, UINT64_MAX, 1);
	assert_int_equal(q.tail.va, UINT64_MAX);
	assert_int_equal(q.tail.len, 1);
}

/* How many queues there are to wait for. */
static uint32_t join(struct kfb_flush_ticket *ticket,
		     struct kfb_flush_queue *queues, uint32_t n)
{
	uint32_t n_ops = 0;
	uint32_t i;

	kfb_flush_ticket_again(ticket);
	for (i = 0; i < n; i++)
		n_ops += kfb_flush_ticket_join(ticket, i, &queues[i]);
	return n_ops;
}

static void a_ticket_waits_for_every_queue_that_wrote(void **state)
{
	static struct kfb_flush_queue queues[3];
	struct kfb_flush_ticket ticket = { 0 };
	int i;

	for (i = 0; i < 3; i++)
		kfb_flush_init(&queues[i], 1);
	assert_int_equal(join(&ticket, queues, 3), 0);
	kfb_flush_wrote(&queues[0], 0, 1);
	kfb_flush_wrote(&queues[2], BLOCK, 1);
	assert_int_equal(join(&ticket, queues, 3), 2);
	assert_int_equal(ticket.waiting, 5);
	assert_false(kfb_flush_ticket_done(&ticket, 1, 1, 0));
	assert_false(kfb_flush_ticket_done(&ticket, 0, ticket.op[0] + 1, 0));
	assert_false(kfb_flush_ticket_done(&ticket, 0, ticket.op[0], -EIO));
	assert_true(kfb_flush_ticket_done(&ticket, 2, ticket.op[2], 0));
	assert_int_equal(ticket.error, -EIO);
	assert_false(kfb_flush_ticket_done(&ticket, 2, ticket.op[2], 0));
	assert_false(kfb_flush_ticket_done(&ticket, 99, 1, 0));
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

static void a_lost_connection_voids_what_was_posted(void **state)
{
	struct kfb_flush_queue mine;
	struct kfb_flush_op *op;
	uint64_t id;

	kfb_flush_init(&mine, 2);
	kfb_flush_wrote(&mine, 4096, 512);
	id = kfb_flush_join(&mine);
	op = kfb_flush_post(&mine);
	assert_non_null(op);
	kfb_flush_wrote(&mine, 8192, 512);
	kfb_flush_join(&mine);
	kfb_flush_lost(&mine);
	assert_null(kfb_flush_post(&mine));
	assert_int_equal(kfb_flush_done(&mine, id, 0), -ENOENT);
	assert_true(kfb_flush_is_dirty_in(&mine, 4096, 512));
	assert_true(kfb_flush_join(&mine) > id);
	op = kfb_flush_post(&mine);
	assert_int_equal(op->dirty.n, 2);
}

/* Whoever posts it need not know which is which. */
static void what_nobody_was_told_of_is_flushed_as_well(void **state)
{
	struct kfb_flush_op *op;
	struct kfb_request req;
	uint32_t n;

	(void)state;
	kfb_flush_init(&q, 2);
	kfb_flush_wrote(&q, 0, 512);
	kfb_flush_wrote_fua(&q, 4096, 512);
	assert_true(kfb_flush_is_dirty_in(&q, 4100, 1));
	kfb_flush_join(&q);
	assert_true(kfb_flush_is_dirty_in(&q, 4100, 1));
	op = kfb_flush_post(&q);
	assert_int_equal(op->tail.va, 4096 + 504);
	kfb_flush_request(op, &req);
	assert_int_equal(req.u.flush.n_ranges, 2);
	assert_int_equal(req.u.flush.ranges[1].va, 4096);
	assert_int_equal(kfb_flush_done(&q, op->id, 0), 0);
	assert_false(kfb_flush_is_dirty(&q));

	/* More than a request names, of one block and of many. */
	for (n = 0; n < KFB_FLUSH_RANGES_MAX; n++)
		kfb_flush_wrote(&q, n * 4096ULL, 512);
	kfb_flush_wrote_fua(&q, n * 4096ULL, 512);
	kfb_flush_join(&q);
	op = kfb_flush_post(&q);
	kfb_flush_request(op, &req);
	assert_int_equal(req.u.flush.flags, 0);
	assert_in_range(req.u.flush.n_ranges, 1, KFB_FLUSH_RANGES_MAX);
	assert_int_equal(kfb_flush_done(&q, op->id, 0), 0);
	for (n = 0; n < KFB_FLUSH_RANGES_MAX; n++)
		kfb_flush_wrote(&q, n * BLOCK, 512);
	kfb_flush_wrote_fua(&q, n * BLOCK, 512);
	kfb_flush_join(&q);
	kfb_flush_request(kfb_flush_post(&q), &req);
	assert_int_equal(req.u.flush.flags, KFB_FLUSH_ALL);
}

static void a_loss_tells_apart_what_nobody_was_told_of(void **state)
{
	struct kfb_dirty told = { 0 };
	struct kfb_dirty fua = { 0 };

	(void)state;
	kfb_flush_init(&q, 2);
	kfb_flush_wrote(&q, 0, 512);
	kfb_flush_wrote_fua(&q, 0, 1024);
	kfb_flush_join(&q);
	kfb_flush_post(&q);
	kfb_flush_take(&q, &told, &fua);
	assert_int_equal(told.n, 1);
	assert_int_equal(told.ranges[0].len, 512);
	assert_int_equal(fua.ranges[0].len, 1024);
	kfb_flush_put(&q, &told, &fua);
	kfb_dirty_clear(&told);
	kfb_flush_take_in(&q, 0, KFB_BLOCK_BYTES, &told);
	assert_int_equal(told.ranges[0].len, 1024);
	assert_false(kfb_flush_is_dirty(&q));
}

static void what_is_taken_out_is_not_flushed(void **state)
{
	struct kfb_dirty out = { 0 };
	struct kfb_flush_queue mine;
	struct kfb_flush_queue other;

	kfb_flush_init(&mine, 2);
	kfb_flush_init(&other, 2);
	kfb_flush_wrote(&mine, 4096, 512);
	kfb_flush_join(&mine);
	kfb_flush_take(&mine, &out, &out);
	assert_false(kfb_flush_is_dirty(&mine));
	assert_null(kfb_flush_post(&mine));
	assert_int_equal(out.n, 1);
	kfb_flush_put(&other, &out, &(struct kfb_dirty){ 0 });
	assert_true(kfb_flush_is_dirty_in(&other, 4096, 1));
	assert_int_not_equal(kfb_flush_join(&other), 0);
	assert_int_equal(kfb_flush_post(&other)->tail.va, 4096 + 511);
}

static void one_mapping_is_taken_out_of_the_middle(void **state)
{
	struct kfb_dirty out = { 0 };
	struct kfb_flush_queue mine;
	struct kfb_flush_op *op;

	kfb_flush_init(&mine, 2);
	kfb_flush_wrote(&mine, KFB_BLOCK_BYTES - 512, KFB_BLOCK_BYTES + 1024);
	kfb_flush_take_in(&mine, KFB_BLOCK_BYTES, KFB_BLOCK_BYTES, &out);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.ranges[0].va, KFB_BLOCK_BYTES);
	assert_int_equal(out.ranges[0].len, KFB_BLOCK_BYTES);
	assert_false(
		kfb_flush_is_dirty_in(&mine, KFB_BLOCK_BYTES, KFB_BLOCK_BYTES));
	kfb_flush_join(&mine);
	op = kfb_flush_post(&mine);
	assert_int_equal(op->dirty.n, 2);
	assert_int_equal(op->dirty.ranges[0].len, 512);
	assert_int_equal(op->dirty.ranges[1].va, 2 * KFB_BLOCK_BYTES);
	/* A readback reads where something is left. */
	assert_int_equal(op->tail.va, 2 * KFB_BLOCK_BYTES + 511);
	kfb_flush_done(&mine, op->id, 0);
	kfb_flush_wrote(&mine, 0, 8);
	kfb_flush_take_in(&mine, 0, KFB_BLOCK_BYTES, &out);
	assert_false(kfb_flush_is_dirty(&mine));
}

static void a_cut_out_of_everything_leaves_everything(void **state)
{
	struct kfb_dirty set = { .all = 1 };
	struct kfb_dirty out = { 0 };

	kfb_dirty_cut(&set, 4096, 512, &out);
	assert_true(set.all);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.ranges[0].len, 512);
}

/* An op on one queue ends well, that on another does not. */
static void the_queue_whose_op_failed_alone_stays_dirty(void **state)
{
	struct kfb_flush_ticket ticket = { 0 };
	struct kfb_flush_queue two[2];
	struct kfb_dirty lost = { 0 };
	int i;

	for (i = 0; i < 2; i++) {
		kfb_flush_init(&two[i], 2);
		kfb_flush_wrote(&two[i], i * BLOCK, 512);
	}
	assert_int_equal(join(&ticket, two, 2), 2);
	for (i = 0; i < 2; i++) {
		uint64_t id = kfb_flush_post(&two[i])->id;
		int error = i ? 0 : -EIO;

		assert_int_equal(kfb_flush_done(&two[i], id, error), 0);
		assert_int_equal(kfb_flush_ticket_done(&ticket, i, id, error),
				 i);
	}
	assert_int_equal(ticket.error, -EIO);
	/* What a new power epoch would find unflushed. */
	for (i = 0; i < 2; i++)
		kfb_flush_take(&two[i], &lost, &lost);
	assert_int_equal(lost.n, 1);
	assert_int_equal(lost.ranges[0].va, 0);
	assert_int_equal(lost.ranges[0].len, 512);
}

/* Its other queue dies, and what was refused is made good meanwhile. */
static void a_ticket_that_begins_again_keeps_its_first_error(void **state)
{
	struct kfb_flush_ticket ticket = { 0 };
	struct kfb_flush_queue two[2];
	uint64_t id;
	int i;

	for (i = 0; i < 2; i++) {
		kfb_flush_init(&two[i], 2);
		kfb_flush_wrote(&two[i], i * BLOCK, 512);
	}
	assert_int_equal(join(&ticket, two, 2), 2);
	id = kfb_flush_post(&two[0])->id;
	kfb_flush_post(&two[1]);
	assert_int_equal(kfb_flush_done(&two[0], id, -EIO), 0);
	assert_false(kfb_flush_ticket_done(&ticket, 0, id, -EIO));
	kfb_flush_lost(&two[1]);
	assert_int_equal(join(&ticket, two, 2), 2);
	for (i = 0; i < 2; i++) {
		id = kfb_flush_post(&two[i])->id;
		assert_int_equal(kfb_flush_done(&two[i], id, 0), 0);
		assert_int_equal(kfb_flush_ticket_done(&ticket, i, id, 0), i);
	}
	assert_int_equal(ticket.error, -EIO);
	kfb_flush_ticket_init(&ticket);
	assert_int_equal(ticket.error, 0);
}

static void a_failure_is_told_once_to_who_asks_for_a_flush(void **state)
{
	int untold = 0;

	assert_int_equal(kfb_flush_tell(&untold, 0), 0);
	assert_int_equal(kfb_flush_tell(&untold, -ETIMEDOUT), -ETIMEDOUT);
	untold = -EIO;
	assert_int_equal(kfb_flush_tell(&untold, 0), -EIO);
	assert_int_equal(kfb_flush_tell(&untold, 0), 0);
	/* Who hears that it took too long would only ask again. */
	untold = -EIO;
	assert_int_equal(kfb_flush_tell(&untold, -ETIMEDOUT), -EIO);
	assert_int_equal(kfb_flush_tell(&untold, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(touching_ranges_become_one),
		CASE(ranges_stay_sorted),
		CASE(the_ends_of_the_address_space_are_ranges),
		CASE(a_full_set_joins_inside_a_block_only),
		CASE(everything_merged_is_everything),
		CASE(nothing_written_needs_no_flush),
		CASE(flushes_share_an_op_that_is_not_posted),
		CASE(a_write_after_the_last_flush_has_joined_is_left_to_the_next),
		CASE(a_flush_joins_a_posted_op_that_covers_its_writes),
		CASE(a_flush_does_not_join_an_op_posted_before_its_write),
		CASE(no_more_ops_than_allowed_are_on_their_way),
		CASE(a_failed_op_leaves_its_writes_dirty),
		CASE(an_op_that_cannot_be_posted_keeps_its_number),
		CASE(an_op_that_is_not_on_its_way_cannot_be_done),
		CASE(a_readback_reads_written_bytes_of_one_block),
		CASE(a_ticket_waits_for_every_queue_that_wrote),
		cmocka_unit_test(a_lost_connection_voids_what_was_posted),
		cmocka_unit_test(what_nobody_was_told_of_is_flushed_as_well),
		cmocka_unit_test(a_loss_tells_apart_what_nobody_was_told_of),
		cmocka_unit_test(what_is_taken_out_is_not_flushed),
		cmocka_unit_test(one_mapping_is_taken_out_of_the_middle),
		cmocka_unit_test(a_cut_out_of_everything_leaves_everything),
		cmocka_unit_test(the_queue_whose_op_failed_alone_stays_dirty),
		cmocka_unit_test(
			a_ticket_that_begins_again_keeps_its_first_error),
		cmocka_unit_test(
			a_failure_is_told_once_to_who_asks_for_a_flush),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
