// SPDX-License-Identifier: BSD-2-Clause
/*
 * A brick whose medium has failed, which it says in answer to a FLUSH: what that
 * covered is in doubt, and somebody is told before anything is durable again.
 */
#include "lib_fixture.h"

#include <errno.h>

#include "internal.h"

static uint8_t buffer[4096];
static struct kfbrick_memory *memory;
static struct kfbrick_mapping *mapping;

static void connect_with(uint64_t retain_bytes)
{
	struct kfbrick_config config = lib_config();

	config.reconnect_ms = TIMEOUT_MS;
	config.retain_bytes = retain_bytes;
	assert_int_equal(lib_connect(&config), 0);
	assert_int_equal(
		kfbrick_memory_register(k, buffer, sizeof(buffer), &memory), 0);
	mapping = lib_map(2);
	assert_int_equal(kfbrick_write(k, FAKE_VA, "x", 1), 0);
}

static int setup(void **state)
{
	lib_setup(state);
	connect_with(0);
	return 0;
}

/* So many FLUSHes are refused, and then none; 0: all. */
static void fail_medium(uint32_t flushes)
{
	rules->refuse_status = KFB_ST_IO;
	rules->refuse_max = flushes;
	rules->refuse_op = KFB_OP_FLUSH;
}

/* Another run of the brick, to which mappings and unflushed writes are brought. */
static void restart(void)
{
	rules->instance_id++;
	rules->forget = true;
	rules->drop_once = KFB_OP_PING;
	assert_int_equal(kfbrick_ping(k), 0);
}

static void wait_for_flushes(unsigned int n)
{
	while (fake_brick_seen(brick, KFB_OP_FLUSH) < n)
		assert_int_equal(kfbrick_ping(k), 0);
}

static void a_failed_flush_says_that_the_medium_failed(void **state)
{
	fail_medium(0);
	assert_int_equal(kfbrick_flush(k), -EIO);
	lib_says("the medium failed");
	lib_says("in doubt");
	assert_int_equal(kfbrick_flush(k), -EIO);
	assert_int_equal(fake_brick_last_flush(brick).ranges[0].va, FAKE_VA);
}

/* The library flushes by itself what has outlived an instance. */
static void a_failed_flush_that_nobody_asked_for_fails_the_next(void **state)
{
	fail_medium(1);
	restart();
	wait_for_flushes(1);
	assert_int_equal(kfbrick_ping(k), 0);
	assert_int_equal(kfbrick_flush(k), -EIO);
	lib_says("the medium failed");
	assert_int_equal(kfbrick_flush(k), 0);
}

/* It covered what others had written. */
static void a_durable_write_that_fails_fails_the_next_flush(void **state)
{
	fail_medium(1);
	assert_int_equal(kfbrick_post_write_durable(k, FAKE_VA + 4096, buffer,
						    512, NULL),
			 0);
	assert_int_equal(lib_collect().error, -EIO);
	assert_int_equal(kfbrick_flush(k), -EIO);
	assert_int_equal(kfbrick_flush(k), 0);
}

static void a_flush_that_fails_is_no_news_to_a_durable_write(void **state)
{
	fail_medium(1);
	restart();
	wait_for_flushes(1);
	assert_int_equal(kfbrick_ping(k), 0);
	assert_int_equal(kfbrick_post_write_durable(k, FAKE_VA + 4096, buffer,
						    512, NULL),
			 0);
	assert_int_equal(lib_collect().error, 0);
	assert_int_equal(kfbrick_flush(k), -EIO);
}

/* Nobody waits for that answer any more, but what it says is true. */
static void what_an_old_answer_says_of_the_medium_is_told(void **state)
{
	rules->drop_once = KFB_OP_FLUSH;
	fail_medium(1);
	assert_int_equal(kfbrick_flush(k), -EIO);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 3);
	assert_int_equal(kfbrick_flush(k), 0);
}

static void what_a_late_answer_says_of_the_medium_is_told(void **state)
{
	fail_medium(1);
	rules->hold_op = KFB_OP_FLUSH;
	lib_limit(SHORT_TIMEOUT_MS);
	assert_int_equal(kfbrick_flush(k), -ETIMEDOUT);
	lib_limit(TIMEOUT_MS);
	rules->hold_op = 0;
	wait_for_flushes(2);
	assert_int_equal(kfbrick_flush(k), -EIO);
	assert_int_equal(kfbrick_flush(k), 0);
}

/* What a failed flush has covered counts as not flushed. */
static void what_is_in_doubt_is_lost_with_the_power_epoch(void **state)
{
	struct kfbrick_range lost[2];

	fail_medium(0);
	assert_int_equal(kfbrick_flush(k), -EIO);
	rules->refuse_op = 0;
	rules->power_epoch++;
	restart();
	assert_int_equal(kfbrick_flush(k), -EIO);
	lib_says("lost");
	assert_int_equal(kfbrick_flush(k), -EIO);
	assert_int_equal(kfbrick_losses(k, lost, 2), 1);
	assert_int_equal(lost[0].va, FAKE_VA);
	assert_int_equal(lost[0].len, 1);
	kfbrick_accept_losses(k);
	assert_int_equal(kfbrick_write(k, FAKE_VA, "x", 1), 0);
	assert_int_equal(kfbrick_flush(k), 0);
}

/* It has flushed, in vain, and its mapping stays. */
static void fail_unmap(void)
{
	fail_medium(1);
	rules->no_memory_op = KFB_OP_UNMAP;
	assert_int_equal(kfbrick_unmap(k, mapping), -ENOMEM);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 1);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_UNMAP), 1);
}

static void an_unmap_that_is_refused_leaves_its_flush_to_be_told(void **state)
{
	fail_unmap();
	assert_int_equal(kfbrick_flush(k), -EIO);
	assert_int_equal(kfbrick_flush(k), 0);
	assert_int_equal(kfbrick_unmap(k, mapping), 0);
}

/* Its copies have gone: they cannot be written again. */
static void
an_unmap_that_is_refused_has_lost_what_it_did_not_flush(void **state)
{
	struct kfbrick_range lost[2];

	connect_with(KFBRICK_RETAIN_MIN_BYTES);
	fail_unmap();
	assert_int_equal(kfbrick_flush(k), -EIO);
	assert_int_equal(kfbrick_losses(k, lost, 2), 1);
	assert_int_equal(lost[0].va, FAKE_VA);
	kfbrick_accept_losses(k);
	assert_int_equal(kfbrick_unmap(k, mapping), 0);
}

/* The loss is why it could not flush, and who accepts that has nothing to hear. */
static void an_unmap_that_is_refused_tells_no_loss_twice(void **state)
{
	struct kfbrick_range lost[2];

	rules->power_epoch++;
	restart();
	assert_int_equal(kfbrick_write(k, FAKE_VA, "y", 1), 0);
	rules->no_memory_op = KFB_OP_UNMAP;
	assert_int_equal(kfbrick_unmap(k, mapping), -ENOMEM);
	assert_int_equal(kfbrick_losses(k, lost, 2), 1);
	kfbrick_accept_losses(k);
	assert_int_equal(kfbrick_flush(k), 0);
	assert_int_equal(kfbrick_unmap(k, mapping), 0);
}

/* Whoever hears that it is unmapped would map it again, and be refused for ever. */
static void an_unmap_without_an_answer_is_no_unmap(void **state)
{
	fail_medium(1);
	rules->silent_op = KFB_OP_UNMAP;
	lib_limit(LATE_MS);
	assert_int_equal(kfbrick_unmap(k, mapping), -ETIMEDOUT);
	lib_limit(TIMEOUT_MS);
	rules->silent_op = 0;
	assert_int_equal(kfbrick_flush(k), -EIO);
	assert_int_equal(kfbrick_flush(k), 0);
}

static void what_it_did_not_flush_is_told_once(void **state)
{
	struct kfbrick_range lost[2];

	connect_with(KFBRICK_RETAIN_MIN_BYTES);
	fail_unmap();
	assert_int_equal(kfbrick_losses(k, lost, 2), 1);
	kfbrick_accept_losses(k);
	assert_int_equal(kfbrick_flush(k), 0);
}

/* A write to one of two mappings is lost, which nobody has accepted yet. */
static struct kfbrick_mapping *lose_one_of_two(void)
{
	struct kfbrick_config config = lib_config();
	struct kfbrick_mapping *other;

	rules->flush_mode = KFB_FLUSH_READBACK;
	config.reconnect_ms = TIMEOUT_MS;
	assert_int_equal(lib_connect(&config), 0);
	mapping = lib_map(1);
	assert_int_equal(kfbrick_map(k, FAKE_VA + KFB_BLOCK_BYTES, 1,
				     KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
				     &other),
			 0);
	assert_int_equal(kfbrick_write(k, FAKE_VA, "x", 1), 0);
	rules->power_epoch++;
	restart();
	assert_int_equal(kfbrick_losses(k, NULL, 0), 1);
	return other;
}

/* What cannot be flushed because of the loss, and is unmapped then. */
static void unmap_in_vain(struct kfbrick_mapping *of, uint64_t va)
{
	assert_int_equal(kfbrick_write(k, va, "y", 1), 0);
	assert_int_equal(kfbrick_unmap(k, of), -EIO);
}

/* A readback needs a place, and another one is as good. */
static void a_flush_needs_no_mapping_that_has_gone(void **state)
{
	unmap_in_vain(lose_one_of_two(), FAKE_VA + KFB_BLOCK_BYTES);
	kfbrick_accept_losses(k);
	assert_int_equal(kfbrick_flush(k), 0);
	assert_int_equal(kfbrick_unmap(k, mapping), 0);
}

static void a_flush_needs_no_mapping_at_all(void **state)
{
	unmap_in_vain(lose_one_of_two(), FAKE_VA + KFB_BLOCK_BYTES);
	unmap_in_vain(mapping, FAKE_VA);
	kfbrick_accept_losses(k);
	assert_int_equal(kfbrick_flush(k), 0);
}

static char data[64 << 10];

static void poll_for_nothing(uint64_t until_ms)
{
	struct kfbrick_completion done;

	assert_true(kfbl_now_ms() < until_ms);
	assert_int_equal(kfbrick_poll(k, &done, 1, 0), 0);
}

/* The window of a new connection lets no write of so many bytes go as a whole. */
static bool is_a_part_written(struct kfbrick_completion *to)
{
	struct kfbrick_config config = lib_config();
	uint64_t until_ms = kfbl_now_ms() + TIMEOUT_MS;
	struct kfbrick_completion done;

	config.reconnect_ms = TIMEOUT_MS;
	config.queue_depth = 1;
	assert_int_equal(lib_connect(&config), 0);
	mapping = lib_map(2);
	memset(data, 'y', sizeof(data));
	assert_int_equal(
		kfbrick_memory_register(k, data, sizeof(data), &memory), 0);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA, data, sizeof(data), to),
			 0);
	while (!kfbrick_moved_bytes(k)) {
		assert_true(kfbl_now_ms() < until_ms);
		if (kfbrick_poll(k, &done, 1, 0))
			return false;
	}
	return k->ops[0].posted < sizeof(data);
}

/* All parts may go at once, where there is little time for one after the other. */
static void write_a_part(struct kfbrick_completion *to)
{
	unsigned int tries = 10;

	while (!is_a_part_written(to))
		assert_true(--tries);
}

/* What is under way waits for the mappings of a new session. */
static void lose_what_has_moved(void)
{
	uint64_t until_ms = kfbl_now_ms() + TIMEOUT_MS;

	rules->power_epoch++;
	rules->forget = true;
	rules->hold_op = KFB_OP_MAP;
	kfb_initiator_lost(&k->queues[0].core, -ECONNRESET, "for a test", "");
	while (!kfbrick_losses(k, NULL, 0))
		poll_for_nothing(until_ms);
	memset(fake_brick_memory(brick), 0, FAKE_BYTES);
}

/* Whoever accepts the loss answers for what had completed, and this had not. */
static void a_write_of_which_a_part_was_lost_does_not_complete(void **state)
{
	struct kfbrick_completion done = { 0 };

	write_a_part(&done);
	lose_what_has_moved();
	kfbrick_accept_losses(k);
	rules->hold_op = 0;
	done = lib_collect();
	assert_int_equal(done.error, -EIO);
	assert_int_equal(done.len, 0);
	assert_int_equal(kfbrick_write(k, FAKE_VA, data, sizeof(data)), 0);
	assert_int_equal(kfbrick_flush(k), 0);
	assert_memory_equal(fake_brick_memory(brick), data, sizeof(data));
}

/* It has come to its end, and nobody knows of that either. */
static void a_write_that_was_lost_uncollected_does_not_complete(void **state)
{
	struct kfbrick_completion none;

	assert_int_equal(kfbrick_post_write(k, FAKE_VA, buffer, sizeof(buffer),
					    buffer),
			 0);
	/* Pings collect nothing. */
	while (STAILQ_EMPTY(&k->done))
		assert_int_equal(kfbrick_ping(k), 0);
	rules->power_epoch++;
	restart();
	assert_int_equal(kfbrick_losses(k, NULL, 0), 1);
	kfbrick_accept_losses(k);
	assert_int_equal(lib_collect().error, -EIO);
	assert_int_equal(kfbrick_poll(k, &none, 1, 0), 0);
}

/* Of what was lost before it began it is the end, and of nothing else's loss. */
static void a_write_that_was_not_lost_completes(void **state)
{
	struct kfb_dirty others = { 0 };

	rules->power_epoch++;
	restart();
	assert_int_equal(kfbrick_losses(k, NULL, 0), 1);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA, buffer, sizeof(buffer),
					    buffer),
			 0);
	while (STAILQ_EMPTY(&k->done))
		assert_int_equal(kfbrick_ping(k), 0);
	kfb_dirty_add(&others, FAKE_VA + KFB_BLOCK_BYTES, 1);
	kfbrick_accept_losses(k);
	kfb_initiator_lose(&k->core, &others, KFB_LOSS_EPOCH);
	kfbrick_accept_losses(k);
	assert_int_equal(lib_collect().error, 0);
	assert_int_equal(kfbrick_flush(k), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, lib_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_failed_flush_says_that_the_medium_failed),
		CASE(a_failed_flush_that_nobody_asked_for_fails_the_next),
		CASE(a_durable_write_that_fails_fails_the_next_flush),
		CASE(a_flush_that_fails_is_no_news_to_a_durable_write),
		CASE(what_an_old_answer_says_of_the_medium_is_told),
		CASE(what_a_late_answer_says_of_the_medium_is_told),
		CASE(what_is_in_doubt_is_lost_with_the_power_epoch),
		CASE(an_unmap_that_is_refused_leaves_its_flush_to_be_told),
		CASE(an_unmap_that_is_refused_has_lost_what_it_did_not_flush),
		CASE(an_unmap_that_is_refused_tells_no_loss_twice),
		CASE(an_unmap_without_an_answer_is_no_unmap),
		CASE(what_it_did_not_flush_is_told_once),
		CASE(a_flush_needs_no_mapping_that_has_gone),
		CASE(a_flush_needs_no_mapping_at_all),
		CASE(a_write_of_which_a_part_was_lost_does_not_complete),
		CASE(a_write_that_was_lost_uncollected_does_not_complete),
		CASE(a_write_that_was_not_lost_completes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
