// SPDX-License-Identifier: BSD-2-Clause
/*
 * The library's copies of writes: a brick that has lost what was not flushed gets
 * it again, and nobody hears of a loss.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "internal.h"
#include "lib_fixture.h"

#define BYTES (256U << 10)

static uint8_t data[BYTES];
static struct kfbrick_mapping *mapping;

/* As over verbs: local memory is registered. */
static bool is_mr_local;
static struct {
	void *addr;
	size_t len;
	uint64_t n;
} registered; /* the last one, and how many */

int __real_kfbl_fabric_open(struct kfbl_fabric *f, const struct kfbl_url *url,
			    const char *address, uint32_t queue_depth,
			    const char **what);
int __wrap_kfbl_fabric_open(struct kfbl_fabric *f, const struct kfbl_url *url,
			    const char *address, uint32_t queue_depth,
			    const char **what);
int __wrap_kfbl_fabric_register(struct kfbl_fabric *f, void *addr, size_t len,
				struct fid_mr **mr);

int __wrap_kfbl_fabric_open(struct kfbl_fabric *f, const struct kfbl_url *url,
			    const char *address, uint32_t queue_depth,
			    const char **what)
{
	int rc = __real_kfbl_fabric_open(f, url, address, queue_depth, what);

	f->mr_local |= is_mr_local;
	return rc;
}

int __wrap_kfbl_fabric_register(struct kfbl_fabric *f, void *addr, size_t len,
				struct fid_mr **mr)
{
	registered.addr = addr;
	registered.len = len;
	/* Here the caller has to see to it that keys differ. */
	return fi_mr_reg(f->domain, addr, len, FI_SEND | FI_RECV, 0,
			 registered.n++, 0, mr, NULL);
}

static void connect_with(uint64_t retain_bytes)
{
	struct kfbrick_config config = lib_config();

	config.reconnect_ms = TIMEOUT_MS;
	config.retain_bytes = retain_bytes;
	assert_int_equal(lib_connect(&config), 0);
	mapping = lib_map(FAKE_BLOCKS);
}

static int setup(void **state)
{
	uint32_t i;

	lib_setup(state);
	for (i = 0; i < BYTES; i++)
		data[i] = (uint8_t)(i * 7 + (i >> 8));
	connect_with(KFBRICK_RETAIN_MIN_BYTES);
	return 0;
}

/* The power fails at the brick: what was not flushed is not there any more. */
static void lose_power(void)
{
	memset(fake_brick_memory(brick), 0, FAKE_BYTES);
	rules->power_epoch++;
	rules->forget = true;
	rules->drop_once = KFB_OP_PING;
	assert_int_equal(kfbrick_ping(k), 0);
}

static void what_the_brick_has_lost_is_written_again(void **state)
{
	static const uint8_t newer[] = { 5, 4, 3, 2, 1 };
	struct kfbrick_range lost;

	(void)state;
	assert_int_equal(kfbrick_write(k, FAKE_VA + 512, data, BYTES), 0);
	assert_int_equal(kfbrick_write(k, FAKE_VA + 512, newer, sizeof(newer)),
			 0);
	lose_power();
	assert_int_equal(kfbrick_flush(k), 0);
	memcpy(data, newer, sizeof(newer));
	assert_memory_equal(fake_brick_memory(brick) + 512, data, BYTES);
	assert_int_equal(kfbrick_losses(k, &lost, 1), 0);
	assert_int_equal(k->core.retain.n_replays, 1);
}

/* Of more copies than are under way at one time the last. */
static void a_read_finds_what_was_written_before_the_loss(void **state)
{
	static uint8_t back[512];
	struct kfbrick_completion done;
	struct kfbrick_memory *memory;
	uint64_t va = FAKE_VA;
	uint32_t i;

	(void)state;
	assert_int_equal(
		kfbrick_memory_register(k, back, sizeof(back), &memory), 0);
	for (i = 0; i < 3 * KFB_INITIATOR_REPLAYS; i++, va += 1024)
		assert_int_equal(kfbrick_write(k, va, data, sizeof(back)), 0);
	memset(fake_brick_memory(brick), 0, FAKE_BYTES);
	rules->power_epoch++;
	rules->forget = true;
	kfb_initiator_lost(&k->queues[0].core, -ECONNRESET, "for a test", "");
	assert_int_equal(
		kfbrick_post_read(k, va - 1024, back, sizeof(back), back), 0);
	done = lib_collect();
	assert_ptr_equal(done.context, back);
	assert_int_equal(done.error, 0);
	assert_memory_equal(back, data, sizeof(back));
}

/* What was flushed is the brick's to keep. */
static void what_was_flushed_is_not_written_again(void **state)
{
	(void)state;
	assert_int_equal(kfbrick_write(k, FAKE_VA, data, BYTES), 0);
	assert_int_equal(kfbrick_flush(k), 0);
	assert_int_equal(kfbrick_write(k, FAKE_VA + BYTES, "x", 1), 0);
	lose_power();
	assert_int_equal(kfbrick_flush(k), 0);
	assert_int_equal(fake_brick_memory(brick)[0], 0);
	assert_int_equal(fake_brick_memory(brick)[BYTES], 'x');
	assert_int_equal(k->core.retain.n_replayed, 1);
}

/* It is lost again while copies are on their way. */
static void a_second_loss_begins_anew(void **state)
{
	uint32_t i;

	(void)state;
	assert_int_equal(kfbrick_write(k, FAKE_VA, data, BYTES), 0);
	for (i = 0; i < 3; i++)
		lose_power();
	assert_int_equal(kfbrick_flush(k), 0);
	assert_memory_equal(fake_brick_memory(brick), data, BYTES);
}

/* Room for more comes from flushes that nobody has asked for. */
static void more_than_there_is_room_for_is_flushed_meanwhile(void **state)
{
	uint64_t va = FAKE_VA;
	uint32_t i;

	(void)state;
	for (i = 0; i < FAKE_BYTES / BYTES; i++, va += BYTES)
		assert_int_equal(kfbrick_write(k, va, data, BYTES), 0);
	assert_true(k->core.retain.n_flushes > 0);
	assert_true(fake_brick_seen(brick, KFB_OP_FLUSH) > 0);
	assert_int_equal(kfbrick_flush(k), 0);
	assert_int_equal(k->core.retain.book.bytes, 0);
}

/* Such a flush fails: the next one that somebody asks for says so. */
static void a_flush_in_the_background_that_fails_is_told(void **state)
{
	uint32_t i;

	(void)state;
	rules->refuse_status = KFB_ST_IO;
	rules->refuse_max = 1;
	rules->refuse_op = KFB_OP_FLUSH;
	for (i = 0; i < 12; i++)
		assert_int_equal(
			kfbrick_write(k, FAKE_VA + i * BYTES, data, BYTES), 0);
	while (!fake_brick_seen(brick, KFB_OP_FLUSH))
		assert_int_equal(kfbrick_ping(k), 0);
	assert_int_equal(kfbrick_flush(k), -EIO);
	assert_int_equal(kfbrick_flush(k), 0);
}

/* A medium that keeps nothing: a write that waits for room would wait for ever. */
static void a_write_without_room_fails_with_the_flush(void **state)
{
	uint64_t va = FAKE_VA;
	uint32_t i;
	int rc = 0;

	(void)state;
	rules->refuse_status = KFB_ST_IO;
	rules->refuse_op = KFB_OP_FLUSH;
	for (i = 0; !rc && i < FAKE_BYTES / BYTES; i++, va += BYTES)
		rc = kfbrick_write(k, va, data, BYTES);
	assert_int_equal(rc, -EIO);
	/* Until it keeps something again. */
	rules->refuse_op = 0;
	assert_int_equal(kfbrick_flush(k), -EIO);
	assert_int_equal(kfbrick_flush(k), 0);
	assert_int_equal(kfbrick_write(k, FAKE_VA, data, BYTES), 0);
	assert_int_equal(kfbrick_flush(k), 0);
}

/* A write that there is no room for, however much becomes free at one time. */
static void post_more(void)
{
	static uint8_t more[2 * KFBRICK_RETAIN_MIN_BYTES];
	uint64_t n_waits = k->core.retain.n_waits;
	uint64_t until_ms = kfbl_now_ms() + TIMEOUT_MS;
	struct kfbrick_completion done;
	struct kfbrick_memory *memory;

	if (!k->n_memories)
		assert_int_equal(kfbrick_memory_register(k, more, sizeof(more),
							 &memory),
				 0);
	assert_int_equal(
		kfbrick_post_write(k, FAKE_VA, more, sizeof(more), more), 0);
	while (k->core.retain.n_waits == n_waits) {
		assert_true(kfbl_now_ms() < until_ms);
		assert_int_equal(kfbrick_poll(k, &done, 1, 1), 0);
	}
}

/* Until a flush that nobody has asked for has had no answer. */
static void leave_a_flush_unanswered(void)
{
	struct kfbrick_config config = lib_config();
	uint64_t until_ms = kfbl_now_ms() + TIMEOUT_MS;
	struct kfbrick_completion done;
	uint64_t va = FAKE_VA;

	config.reconnect_ms = TIMEOUT_MS;
	config.retain_bytes = KFBRICK_RETAIN_MIN_BYTES;
	assert_int_equal(lib_connect(&config), 0);
	lib_map(FAKE_BLOCKS);
	rules->hold_op = KFB_OP_FLUSH;
	/* Of that flush, and of nothing else that is done here. */
	k->core.timeout_ms = SHORT_TIMEOUT_MS;
	for (; !k->core.retain.is_flushing && !k->core.retain.error;
	     va += BYTES)
		assert_int_equal(kfbrick_write(k, va, data, BYTES), 0);
	while (k->core.retain.is_flushing) {
		assert_true(kfbl_now_ms() < until_ms);
		assert_int_equal(kfbrick_poll(k, &done, 1, 1), 0);
	}
	assert_int_equal(k->core.retain.error, -ETIMEDOUT);
}

/* That nobody waited for, and the next one is answered. */
static void a_write_without_room_waits_for_a_flush_of_its_own(void **state)
{
	(void)state;
	leave_a_flush_unanswered();
	lib_limit(TIMEOUT_MS);
	post_more();
	rules->hold_op = 0;
	assert_int_equal(lib_collect().error, 0);
	assert_int_equal(kfbrick_flush(k), 0);
}

/* The one that it waits for has no answer, either; what comes behind it waits anew. */
static void a_write_fails_with_the_flush_that_it_waits_for(void **state)
{
	(void)state;
	leave_a_flush_unanswered();
	post_more();
	assert_int_equal(lib_collect().error, -ETIMEDOUT);
	lib_limit(TIMEOUT_MS);
	post_more();
	rules->hold_op = 0;
	assert_int_equal(lib_collect().error, 0);
	assert_int_equal(kfbrick_flush(k), 0);
}

/* To find what no newer copy has takes more steps than one run has. */
static void a_search_that_takes_long_waits_for_nothing(void **state)
{
	struct kfbrick_completion done;
	uint32_t i;

	(void)state;
	connect_with(8 * KFBRICK_RETAIN_MIN_BYTES);
	for (i = 0; i < 4000; i++)
		assert_int_equal(kfbrick_write(k, FAKE_VA, data + i, 512), 0);
	memset(fake_brick_memory(brick), 0, FAKE_BYTES);
	rules->power_epoch++;
	rules->forget = true;
	kfb_initiator_lost(&k->queues[0].core, -ECONNRESET, "for a test", "");
	while (!k->core.retain.n_replays || k->core.replay_due) {
		assert_int_equal(kfbrick_poll(k, &done, 1, 0), 0);
		/* Who sleeps now is woken by nobody. */
		assert_false(k->has_changed);
	}
	assert_int_equal(kfbrick_flush(k), 0);
	assert_memory_equal(fake_brick_memory(brick), data + 3999, 512);
	assert_int_equal(k->core.retain.n_replayed, 1);
}

/* Not even what could not be flushed before that, which was said. */
static void an_unmapped_range_is_never_written_again(void **state)
{
	(void)state;
	assert_int_equal(kfbrick_write(k, FAKE_VA, data, BYTES), 0);
	rules->refuse_status = KFB_ST_IO;
	rules->refuse_op = KFB_OP_FLUSH;
	assert_int_equal(kfbrick_unmap(k, mapping), -EIO);
	rules->refuse_op = 0;
	lose_power();
	assert_int_equal(kfbrick_flush(k), 0);
	assert_int_equal(fake_brick_memory(brick)[0], 0);
}

/* Copies are of no use to a block that is somebody else's by now. */
static void a_mapping_that_dies_takes_its_copies_with_it(void **state)
{
	struct kfbrick_range lost = { 0 };

	(void)state;
	assert_int_equal(kfbrick_write(k, FAKE_VA, data, BYTES), 0);
	rules->refuse_status = KFB_ST_NOT_FOUND;
	rules->refuse_op = KFB_OP_MAP;
	lose_power();
	assert_int_equal(kfbrick_flush(k), -EIO);
	assert_int_equal(kfbrick_losses(k, &lost, 1), 1);
	assert_int_equal(lost.va, FAKE_VA);
	assert_in_range(lost.len, BYTES, FAKE_BYTES);
	assert_int_equal(fake_brick_memory(brick)[0], 0);
}

/* A loss that was accepted fails no write that has to wait for room. */
static void after_an_accepted_loss_writes_wait_for_room(void **state)
{
	struct kfb_dirty all = { .all = 1 };

	(void)state;
	assert_int_equal(kfbrick_write(k, FAKE_VA, data, BYTES), 0);
	kfb_initiator_lose(&k->core, &all, KFB_LOSS_SUSPECT);
	assert_int_equal(kfbrick_flush(k), -EIO);
	kfbrick_accept_losses(k);
	/* There is no room while no flush is over. */
	rules->hold_op = KFB_OP_FLUSH;
	post_more();
	rules->hold_op = 0;
	assert_int_equal(lib_collect().error, 0);
	assert_int_equal(kfbrick_flush(k), 0);
}

static void without_copies_the_loss_is_told(void **state)
{
	(void)state;
	connect_with(0);
	assert_int_equal(kfbrick_write(k, FAKE_VA, data, BYTES), 0);
	lose_power();
	assert_int_equal(kfbrick_flush(k), -EIO);
}

static void room_that_helps_nobody_is_refused(void **state)
{
	struct kfbrick_config config = lib_config();

	(void)state;
	config.reconnect_ms = TIMEOUT_MS;
	config.retain_bytes = KFBRICK_RETAIN_MIN_BYTES - 1;
	assert_int_equal(lib_connect(&config), -EINVAL);
	config.retain_bytes = KFBRICK_RETAIN_MIN_BYTES;
	config.reconnect_ms = 0;
	assert_int_equal(lib_connect(&config), -EINVAL);
}

/* A copy could be written over what another client has written and flushed since. */
static void what_others_write_has_no_copies(void **state)
{
	struct kfbrick_mapping *shared = NULL;

	(void)state;
	assert_int_equal(kfbrick_unmap(k, mapping), 0);
	assert_int_equal(kfbrick_map(k, FAKE_VA, 1,
				     KFBRICK_MAP_RW | KFBRICK_MAP_SHARED,
				     &shared),
			 -EINVAL);
	lib_says("retain_bytes");
	assert_null(shared);
	assert_int_equal(kfbrick_map(k, FAKE_VA, 1,
				     KFBRICK_MAP_RO | KFBRICK_MAP_SHARED,
				     &shared),
			 0);
	/* Without copies that is for the clients to see to. */
	connect_with(0);
	assert_int_equal(kfbrick_unmap(k, mapping), 0);
	assert_int_equal(kfbrick_map(k, FAKE_VA, 1,
				     KFBRICK_MAP_RW | KFBRICK_MAP_SHARED,
				     &shared),
			 0);
}

/* Not more of it, either, where that is no whole page. */
static void what_copies_have_is_registered(void **state)
{
	(void)state;
	is_mr_local = true;
	connect_with(KFBRICK_RETAIN_MIN_BYTES + 4095);
	is_mr_local = false;
	assert_ptr_equal(registered.addr, k->retain.bytes);
	assert_int_equal(registered.len, KFBRICK_RETAIN_MIN_BYTES);
	assert_int_equal(k->retain.n_pages,
			 KFBRICK_RETAIN_MIN_BYTES >> KFB_RETAIN_PAGE_SHIFT);
}

/*
 * libfabric's verbs calls nearly all failures EIO; enum ibv_wc_status tells those of
 * the network from what the brick's NIC refuses.
 */
static void verbs_tells_the_network_from_the_operation(void **state)
{
	static const struct {
		int err;
		int prov_errno;
		bool is_rdma;
		int error;
		bool is_at_fault;
	} cases[] = {
		{ FI_EIO, 2, true, -ECONNABORTED, false },
		{ FI_EIO, 4, true, -EIO, true },
		{ FI_EIO, 10, true, -EACCES, true },
		{ FI_EIO, 11, true, -EIO, true },
		{ FI_EIO, 12, true, -ETIMEDOUT, false },
		{ FI_EIO, 13, true, -ENOBUFS, false },
		{ FI_EIO, 20, true, -ETIMEDOUT, false },
		{ FI_ECANCELED, 5, true, -ECANCELED, false },
		{ FI_EIO, 12, false, -EIO, true },
		{ FI_ENOKEY, 0, false, -EACCES, true },
		{ FI_ETIMEDOUT, ETIMEDOUT, false, -ETIMEDOUT, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct fi_cq_err_entry entry = {
			.err = cases[i].err, .prov_errno = cases[i].prov_errno
		};
		int error = kfbl_completion_error(&entry, cases[i].is_rdma);

		assert_int_equal(error, cases[i].error);
		assert_int_equal(kfb_is_at_fault(error), cases[i].is_at_fault);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, lib_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_the_brick_has_lost_is_written_again),
		CASE(a_read_finds_what_was_written_before_the_loss),
		CASE(what_was_flushed_is_not_written_again),
		CASE(a_second_loss_begins_anew),
		CASE(more_than_there_is_room_for_is_flushed_meanwhile),
		CASE(a_flush_in_the_background_that_fails_is_told),
		CASE(a_write_without_room_fails_with_the_flush),
		CASE(a_write_without_room_waits_for_a_flush_of_its_own),
		CASE(a_write_fails_with_the_flush_that_it_waits_for),
		CASE(a_search_that_takes_long_waits_for_nothing),
		CASE(an_unmapped_range_is_never_written_again),
		CASE(a_mapping_that_dies_takes_its_copies_with_it),
		CASE(after_an_accepted_loss_writes_wait_for_room),
		CASE(without_copies_the_loss_is_told),
		CASE(room_that_helps_nobody_is_refused),
		CASE(what_others_write_has_no_copies),
		CASE(what_copies_have_is_registered),
		cmocka_unit_test(verbs_tells_the_network_from_the_operation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
