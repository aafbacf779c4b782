// SPDX-License-Identifier: BSD-2-Clause
/*
 * One-sided operations and flushes through the library.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "internal.h"
#include "kfb_rate.h"
#include "lib_fixture.h"

#define BLOCK KFBRICK_BLOCK_BYTES
#define DEPTH 16

static uint8_t *buf;
static struct kfbrick_memory *memory;

static int setup(void **state)
{
	lib_setup_connected(state);
	buf = malloc(2 * BLOCK);
	return kfbrick_memory_register(k, buf, 2 * BLOCK, &memory);
}

static int setup_readback(void **state)
{
	lib_setup(state);
	rules->flush_mode = KFB_FLUSH_READBACK;
	lib_connect_default();
	buf = malloc(2 * BLOCK);
	return kfbrick_memory_register(k, buf, 2 * BLOCK, &memory);
}

static int setup_none(void **state)
{
	lib_setup(state);
	rules->flush_mode = KFB_FLUSH_NONE;
	lib_connect_default();
	buf = malloc(2 * BLOCK);
	return kfbrick_memory_register(k, buf, 2 * BLOCK, &memory);
}

static int teardown(void **state)
{
	lib_teardown(state);
	free(buf);
	return 0;
}

static void write_now(uint64_t va, size_t len)
{
	assert_int_equal(kfbrick_post_write(k, va, buf, len, buf), 0);
	assert_int_equal(lib_collect().error, 0);
}

static int flush_now(void)
{
	assert_int_equal(kfbrick_post_flush(k, NULL), 0);
	return lib_collect().error;
}

static void data_goes_where_it_should_across_handles(void **state)
{
	struct kfbrick_completion done;
	size_t i;

	lib_map(3);
	for (i = 0; i < BLOCK + 100; i++)
		buf[i] = (uint8_t)(i * 31);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA + BLOCK - 50, buf,
					    BLOCK + 100, &memory),
			 0);
	done = lib_collect();
	assert_int_equal(done.error, 0);
	assert_int_equal(done.len, BLOCK + 100);
	assert_ptr_equal(done.context, &memory);
	assert_memory_equal(fake_brick_memory(brick) + BLOCK - 50, buf,
			    BLOCK + 100);
	assert_int_equal(fake_brick_memory(brick)[BLOCK - 51], 0);
	assert_int_equal(fake_brick_memory(brick)[2 * BLOCK + 50], 0);
	memset(buf, 0, BLOCK + 100);
	assert_int_equal(kfbrick_post_read(k, FAKE_VA + BLOCK - 50, buf,
					   BLOCK + 100, NULL),
			 0);
	assert_int_equal(lib_collect().error, 0);
	assert_memory_equal(fake_brick_memory(brick) + BLOCK - 50, buf,
			    BLOCK + 100);
}

static void synchronous_calls_take_any_memory(void **state)
{
	uint8_t *mine = malloc(5 * BLOCK);
	size_t i;

	lib_map(6);
	for (i = 0; i < 5 * BLOCK; i++)
		mine[i] = (uint8_t)(i / 7);
	assert_int_equal(kfbrick_write(k, FAKE_VA + 9, mine, 5 * BLOCK), 0);
	assert_memory_equal(fake_brick_memory(brick) + 9, mine, 5 * BLOCK);
	fake_brick_memory(brick)[9] = 99;
	assert_int_equal(kfbrick_read(k, FAKE_VA + 9, mine, 5 * BLOCK), 0);
	assert_int_equal(mine[0], 99);
	assert_memory_equal(fake_brick_memory(brick) + 9, mine, 5 * BLOCK);
	free(mine);
}

static void what_may_not_be_done_is_refused_at_once(void **state)
{
	struct kfbrick_mapping *ro;
	uint8_t other[8];

	lib_map(2);
	assert_int_equal(kfbrick_map(k, FAKE_VA + 2 * BLOCK, 1,
				     KFBRICK_MAP_RO | KFBRICK_MAP_SHARED, &ro),
			 0);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA, other, 8, NULL),
			 -EFAULT);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA, buf + 2 * BLOCK - 4, 8,
					    NULL),
			 -EFAULT);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA, buf, 0, NULL), -EINVAL);
	assert_int_equal(kfbrick_post_read(k, FAKE_VA - 1, buf, 8, NULL),
			 -ENXIO);
	lib_says("0x3fffffff");
	assert_int_equal(kfbrick_post_read(k, FAKE_VA + 3 * BLOCK - 1, buf, 8,
					   NULL),
			 -ENXIO);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA + 2 * BLOCK - 4, buf, 8,
					    NULL),
			 -EACCES);
	lib_says("read-only");
	assert_int_equal(kfbrick_write(k, FAKE_VA + 2 * BLOCK, buf, 8),
			 -EACCES);
	assert_int_equal(kfbrick_read(k, FAKE_VA + 2 * BLOCK, buf, 8), 0);
	assert_int_equal(kfbrick_post_read(k, UINT64_MAX, buf, 8, NULL),
			 -EINVAL);
}

static void a_full_queue_says_so(void **state)
{
	int i;

	lib_map(1);
	for (i = 0; i < DEPTH; i++)
		assert_int_equal(kfbrick_post_write(k, FAKE_VA, buf, 512, NULL),
				 0);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA, buf, 512, NULL),
			 -EAGAIN);
	assert_int_equal(kfbrick_post_flush(k, NULL), -EAGAIN);
	/* Synchronous calls have room of their own. */
	assert_int_equal(kfbrick_write(k, FAKE_VA, buf, 512), 0);
	for (i = 0; i < DEPTH; i++)
		assert_int_equal(lib_collect().error, 0);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA, buf, 512, NULL), 0);
	assert_int_equal(lib_collect().error, 0);
}

static void what_is_in_use_cannot_be_taken_away(void **state)
{
	struct kfbrick_mapping *mapping = lib_map(2);

	assert_int_equal(
		kfbrick_post_write(k, FAKE_VA + BLOCK, buf, BLOCK, NULL), 0);
	assert_int_equal(kfbrick_unmap(k, mapping), -EBUSY);
	assert_int_equal(kfbrick_memory_release(k, memory), -EBUSY);
	assert_int_equal(lib_collect().error, 0);
	assert_int_equal(kfbrick_memory_release(k, memory), 0);
	assert_int_equal(kfbrick_unmap(k, mapping), 0);
	assert_int_equal(kfbrick_post_read(k, FAKE_VA, buf, 8, NULL), -ENXIO);
}

static void registrations_do_not_overlap(void **state)
{
	struct kfbrick_memory *second;

	assert_int_equal(kfbrick_memory_register(k, buf + 5, 1, &second),
			 -EEXIST);
	assert_int_equal(kfbrick_memory_register(k, NULL, 1, &second), -EINVAL);
	assert_int_equal(kfbrick_memory_register(k, buf, 0, &second), -EINVAL);
	assert_int_equal(kfbrick_memory_release(k, memory), 0);
	assert_int_equal(kfbrick_memory_register(k, buf + 5, 1, &second), 0);
	assert_int_equal(kfbrick_memory_register(k, buf, 5, &memory), 0);
	assert_int_equal(kfbrick_memory_register(k, buf + 6, 9, &memory), 0);
	assert_int_equal(kfbrick_memory_release(k, NULL), 0);
}

static void a_dead_key_ends_the_connection(void **state)
{
	struct kfbrick_completion done;

	rules->key_offset = 1;
	lib_map(1);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA, buf, 4096, NULL), 0);
	done = lib_collect();
	assert_true(done.error == -ECONNRESET || done.error == -EACCES);
	assert_int_equal(done.len, 0);
	assert_int_equal(kfbrick_poll(k, &done, 1, TIMEOUT_MS), -ECONNRESET);
	assert_int_equal(fake_brick_memory(brick)[0], 0);
}

static void a_lost_connection_delivers_what_was_in_flight(void **state)
{
	struct kfbrick_completion done[DEPTH];
	int lost = 0;
	int n;
	int i;

	lib_map(1);
	rules->drop_op = KFB_OP_PING;
	for (i = 0; i < DEPTH; i++)
		assert_int_equal(
			kfbrick_post_write(k, FAKE_VA, buf, BLOCK, NULL), 0);
	assert_int_equal(kfbrick_ping(k), -ECONNRESET);
	for (i = 0; i < DEPTH; i += n) {
		int j;

		n = kfbrick_poll(k, done, DEPTH, TIMEOUT_MS);
		assert_true(n > 0);
		for (j = 0; j < n; j++)
			lost += done[j].error == -ECONNRESET;
	}
	assert_int_equal(i, DEPTH);
	assert_int_equal(kfbrick_poll(k, done, 1, 0), -ECONNRESET);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA, buf, 1, NULL),
			 -ENOTCONN);
	assert_int_equal(kfbrick_post_flush(k, NULL), -ENOTCONN);
	assert_int_equal(kfbrick_write(k, FAKE_VA, buf, 1), -ENOTCONN);
	assert_int_equal(kfbrick_flush(k), -ENOTCONN);
	assert_true(kfbrick_wait_fd(k) < 0);
	(void)lost;
}

static void the_descriptor_tells_of_completions(void **state)
{
	struct kfbrick_completion done;
	struct pollfd fd = { .events = POLLIN };
	int n;

	lib_map(1);
	fd.fd = kfbrick_wait_fd(k);
	assert_true(fd.fd >= 0);
	assert_int_equal(kfbrick_wait_fd(k), fd.fd);
	assert_int_equal(kfbrick_poll(k, &done, 1, 0), 0);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA, buf, 4096, NULL), 0);
	while (!(n = kfbrick_poll(k, &done, 1, 0)))
		assert_int_equal(poll(&fd, 1, TIMEOUT_MS), 1);
	assert_int_equal(n, 1);
	assert_int_equal(done.error, 0);
}

static void a_poll_without_anything_to_come_ends_in_time(void **state)
{
	struct kfbrick_completion done;

	assert_int_equal(kfbrick_poll(k, &done, 1, 10), 0);
	assert_int_equal(kfbrick_poll(k, &done, 0, -1), 0);
}

static void a_flush_message_names_what_was_written(void **state)
{
	struct kfb_flush flush;

	lib_map(2);
	assert_int_equal(flush_now(), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 0);
	write_now(FAKE_VA + 4096, 4096);
	write_now(FAKE_VA + 8192, 4096);
	write_now(FAKE_VA + BLOCK, 512);
	assert_int_equal(flush_now(), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 1);
	flush = fake_brick_last_flush(brick);
	assert_int_equal(flush.flags, 0);
	assert_int_equal(flush.n_ranges, 2);
	assert_int_equal(flush.ranges[0].va, FAKE_VA + 4096);
	assert_int_equal(flush.ranges[0].len, 8192);
	assert_int_equal(flush.ranges[1].va, FAKE_VA + BLOCK);
	assert_int_equal(flush.ranges[1].len, 512);
	assert_int_equal(flush_now(), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 1);
}

/* Nothing is lost as long as nothing was given up. */
static void a_mapping_that_the_brick_cannot_flush_stays(void **state)
{
	struct kfbrick_mapping *mapping;

	for (unsigned int i = 0; i < LIB_STAYS; i++) {
		mapping = lib_map(1);
		write_now(FAKE_VA, 512);
		rules->refuse_status = lib_stays[i].status;
		rules->refuse_max = 1;
		rules->refuse_op = KFB_OP_FLUSH;
		assert_int_equal(kfbrick_unmap(k, mapping), lib_stays[i].error);
		assert_int_equal(fake_brick_seen(brick, KFB_OP_UNMAP), i);
		assert_int_equal(kfbrick_unmap(k, mapping), 0);
		assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH),
				 2 * i + 2);
		assert_int_equal(fake_brick_seen(brick, KFB_OP_UNMAP), i + 1);
	}
}

static void flushes_share_a_message_that_covers_them(void **state)
{
	struct kfbrick_completion done;
	int i;

	lib_map(1);
	write_now(FAKE_VA, 512);
	rules->hold_op = KFB_OP_FLUSH;
	assert_int_equal(kfbrick_post_flush(k, NULL), 0);
	assert_int_equal(kfbrick_post_flush(k, NULL), 0);
	write_now(FAKE_VA, 512);
	assert_int_equal(kfbrick_post_flush(k, NULL), 0);
	assert_int_equal(kfbrick_ping(k), 0);
	assert_int_equal(kfbrick_poll(k, &done, 1, 0), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 2);
	rules->hold_op = 0;
	for (i = 0; i < 3; i++)
		assert_int_equal(lib_collect().error, 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 4);
}

static void a_failed_flush_is_told_and_tried_again(void **state)
{
	lib_map(1);
	write_now(FAKE_VA, 512);
	rules->refuse_status = KFB_ST_IO;
	rules->refuse_op = KFB_OP_FLUSH;
	assert_int_equal(flush_now(), -EIO);
	assert_int_equal(kfbrick_flush(k), -EIO);
	lib_says("may not be durable");
	rules->refuse_op = 0;
	assert_int_equal(kfbrick_flush(k), 0);
	assert_int_equal(fake_brick_last_flush(brick).ranges[0].va, FAKE_VA);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 3);
}

static void a_flush_without_answer_times_out(void **state)
{
	lib_map(1);
	assert_int_equal(kfbrick_write(k, FAKE_VA, "x", 1), 0);
	rules->silent_op = KFB_OP_FLUSH;
	lib_limit(SHORT_TIMEOUT_MS);
	assert_int_equal(kfbrick_flush(k), -ETIMEDOUT);
	rules->silent_op = 0;
	lib_limit(TIMEOUT_MS);
	assert_int_equal(kfbrick_flush(k), 0);
}

static void an_unmap_flushes_what_was_written_first(void **state)
{
	struct kfbrick_mapping *mapping = lib_map(1);

	assert_int_equal(kfbrick_unmap(k, mapping), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 0);
	mapping = lib_map(1);
	write_now(FAKE_VA, 512);
	assert_int_equal(kfbrick_unmap(k, mapping), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 1);
	mapping = lib_map(1);
	write_now(FAKE_VA, 512);
	rules->refuse_status = KFB_ST_IO;
	rules->refuse_op = KFB_OP_FLUSH;
	assert_int_equal(kfbrick_unmap(k, mapping), -EIO);
	lib_says("may not be durable");
	assert_int_equal(fake_brick_seen(brick, KFB_OP_UNMAP), 3);
}

static void a_readback_sends_no_message(void **state)
{
	lib_map(2);
	assert_int_equal(flush_now(), 0);
	write_now(FAKE_VA + BLOCK - 3, 6);
	assert_int_equal(flush_now(), 0);
	write_now(FAKE_VA, 1);
	assert_int_equal(kfbrick_flush(k), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 0);
}

static void a_volatile_brick_cannot_flush(void **state)
{
	struct kfbrick_mapping *mapping = lib_map(1);

	write_now(FAKE_VA, 512);
	assert_int_equal(flush_now(), -EOPNOTSUPP);
	assert_int_equal(kfbrick_flush(k), -EOPNOTSUPP);
	lib_says("volatile");
	assert_int_equal(kfbrick_unmap(k, mapping), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 0);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* So many bytes, at 1 MiB in a second, less what may be had at one time. */
static uint64_t least_ms(uint64_t bytes)
{
	return bytes * 1000 / KFB_RATE_BYTES_MIN - 2 * KFB_RATE_BURST_MS;
}

/*
 * Longer than it may take: it is not the brick that lets it wait. A fast link would take
 * the block at once, and the rate then be owed for longer than anything may take.
 */
static void a_rate_makes_long_calls_wait_and_not_fail(void **state)
{
	const uint32_t timeout_ms = 1000;
	uint8_t *mine = calloc(1, BLOCK);
	unsigned int tries = 10;
	uint64_t begun_ms;
	int rc;

	assert_true(timeout_ms < least_ms(BLOCK));
	rules->rate_bytes = KFB_RATE_BYTES_MIN;
	mine[BLOCK - 1] = 7;
	/*
	 * The brick, too, lets it wait where others use the processors. If it is the
	 * rate the call fails each time.
	 */
	do {
		lib_connect_default();
		lib_map(1);
		k->queues[0].core.window.limit_bytes = KFB_WINDOW_MAX_BYTES;
		lib_limit(timeout_ms);
		begun_ms = now_ms();
		rc = kfbrick_write(k, FAKE_VA, mine, BLOCK);
	} while (rc && --tries);
	assert_int_equal(rc, 0);
	assert_true(now_ms() - begun_ms >= least_ms(BLOCK));
	/* In thousandths; nobody has looked at it since the last piece was posted. */
	assert_true(-k->rate.bytes <= 1000 * (int64_t)k->rate.piece_max_bytes);
	assert_memory_equal(fake_brick_memory(brick), mine, BLOCK);
	lib_limit(TIMEOUT_MS);
	assert_int_equal(kfbrick_ping(k), 0);
	free(mine);
}

static void what_is_posted_waits_for_the_rate_in_order(void **state)
{
	struct kfbrick_completion done;
	uint64_t begun_ms;
	unsigned int i;

	rules->rate_ops = KFB_RATE_OPS_MIN;
	lib_connect_default();
	assert_int_equal(kfbrick_memory_register(k, buf, 2 * BLOCK, &memory),
			 0);
	lib_map(1);
	begun_ms = now_ms();
	for (i = 0; i < 6; i++)
		assert_int_equal(kfbrick_post_write(k, FAKE_VA + i * 4096ULL,
						    buf, 512, &buf[i]),
				 0);
	for (i = 0; i < 6; i++) {
		done = lib_collect();
		assert_int_equal(done.error, 0);
		assert_ptr_equal(done.context, &buf[i]);
	}
	/* One is there at first, and one is owed at the end. */
	assert_true(now_ms() - begun_ms >= 4 * 1000 / KFB_RATE_OPS_MIN);
}

/* Who sleeps on the descriptor is woken when there is some again. */
static void the_descriptor_tells_when_the_rate_lets_go_on(void **state)
{
	struct kfbrick_completion done;
	struct pollfd pfd = { .events = POLLIN };
	unsigned int i, n = 0;

	rules->rate_ops = KFB_RATE_OPS_MIN;
	lib_connect_default();
	assert_int_equal(kfbrick_memory_register(k, buf, 2 * BLOCK, &memory),
			 0);
	lib_map(1);
	pfd.fd = kfbrick_wait_fd(k);
	assert_true(pfd.fd >= 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(kfbrick_post_write(k, FAKE_VA, buf, 512, NULL),
				 0);
	while (n < 4) {
		ssize_t rc;

		while ((rc = kfbrick_poll(k, &done, 1, 0)) > 0)
			n++;
		assert_int_equal(rc, 0);
		if (n < 4)
			assert_int_equal(poll(&pfd, 1, TIMEOUT_MS), 1);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(data_goes_where_it_should_across_handles),
		CASE(synchronous_calls_take_any_memory),
		CASE(what_may_not_be_done_is_refused_at_once),
		CASE(a_full_queue_says_so),
		CASE(what_is_in_use_cannot_be_taken_away),
		CASE(registrations_do_not_overlap),
		CASE(a_dead_key_ends_the_connection),
		CASE(a_lost_connection_delivers_what_was_in_flight),
		CASE(the_descriptor_tells_of_completions),
		CASE(a_poll_without_anything_to_come_ends_in_time),
		CASE(a_flush_message_names_what_was_written),
		CASE(a_mapping_that_the_brick_cannot_flush_stays),
		CASE(flushes_share_a_message_that_covers_them),
		CASE(a_failed_flush_is_told_and_tried_again),
		CASE(a_flush_without_answer_times_out),
		CASE(an_unmap_flushes_what_was_written_first),
		CASE(a_rate_makes_long_calls_wait_and_not_fail),
		CASE(what_is_posted_waits_for_the_rate_in_order),
		CASE(the_descriptor_tells_when_the_rate_lets_go_on),
		cmocka_unit_test_setup_teardown(a_readback_sends_no_message,
						setup_readback, teardown),
		cmocka_unit_test_setup_teardown(a_volatile_brick_cannot_flush,
						setup_none, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
