// SPDX-License-Identifier: BSD-2-Clause
/* A session that is resumed goes on at once. */
#include "lib_fixture.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

#include "internal.h"

/* poll() waited although a request was to be sent. */
static unsigned int n_overslept;
static pthread_t library; /* the fake brick has a thread of its own */

/* What a request that is held has more than its time of, once the brick has seen so many. */
static unsigned int maps_until_late;
static _Atomic uint64_t skew_ms;

uint64_t __real_kfbl_now_ms(void);
uint64_t __wrap_kfbl_now_ms(void);

uint64_t __wrap_kfbl_now_ms(void)
{
	return __real_kfbl_now_ms() + skew_ms;
}

int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);

static bool owes_a_request(const struct kfb_engine *e)
{
	unsigned int i;

	if (kfb_engine_state(e) != KFB_CONN_READY)
		return false;
	for (i = 0; i < KFB_ENGINE_CALLS; i++)
		if (e->calls[i].waiting && e->calls[i].resend)
			return true;
	return false;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	if (pthread_equal(pthread_self(), library) && k && timeout_ms &&
	    owes_a_request(&k->core.client.queues[0].engine))
		n_overslept++;
	if (maps_until_late &&
	    fake_brick_seen(brick, KFB_OP_MAP) >= maps_until_late) {
		maps_until_late = 0;
		skew_ms += TIMEOUT_MS;
	}
	return __real_poll(fds, n, timeout_ms);
}

static void a_request_is_sent_again_as_soon_as_the_queue_is_back(void **state)
{
	struct kfbrick_config config = lib_config();
	struct kfbrick_info info = { .size = sizeof(info) };
	unsigned int seen;

	library = pthread_self();
	config.reconnect_ms = TIMEOUT_MS;
	assert_int_equal(lib_connect(&config), 0);
	seen = fake_brick_seen(brick, KFB_OP_INFO);
	rules->drop_once = KFB_OP_INFO;
	assert_int_equal(kfbrick_get_info(k, &info), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_INFO), seen + 2);
	assert_int_equal(n_overslept, 0);
}

/* Whose loss nobody gives a reason for has no older loss's. */
static void what_was_said_of_a_loss_is_not_said_of_the_next(void **state)
{
	struct kfbrick_config config = lib_config();
	struct kfbrick_completion done;
	struct kfbrick_info info = { .size = sizeof(info) };

	config.reconnect_ms = TIMEOUT_MS;
	rules->lease_ms = LATE_MS;
	assert_int_equal(lib_connect(&config), 0);
	rules->drop_once = KFB_OP_INFO;
	assert_int_equal(kfbrick_get_info(k, &info), 0);
	assert_true(k->lost_why[0]);
	lib_limit(SHORT_TIMEOUT_MS);
	k->core.client.config.reconnect_ms = SHORT_TIMEOUT_MS;
	rules->no_answer = true;
	rules->silent_op = KFB_OP_PING;
	assert_int_equal(kfbrick_poll(k, &done, 1, TIMEOUT_MS), -ECONNRESET);
	lib_says("did not answer in time");
}

static void connect_and_map(void)
{
	struct kfbrick_config config = lib_config();

	config.reconnect_ms = TIMEOUT_MS;
	assert_int_equal(lib_connect(&config), 0);
	lib_map(2);
}

static void connect_and_write(void)
{
	connect_and_map();
	assert_int_equal(kfbrick_write(k, FAKE_VA, "x", 1), 0);
}

/*
 * The flush goes with its connection; on the next one the old request is sent
 * again, and a new one that covers the same. The old answer is good, the new
 * one is not.
 */
static void an_old_answer_completes_no_newer_flush(void **state)
{
	connect_and_write();
	rules->refuse_status = KFB_ST_IO;
	rules->refuse_skip = 1;
	rules->refuse_op = KFB_OP_FLUSH;
	rules->drop_once = KFB_OP_FLUSH;
	assert_int_equal(kfbrick_flush(k), -EIO);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FLUSH), 3);
}

static void wait_for_answers(void)
{
	const struct kfb_engine *e = &k->core.client.queues[0].engine;
	uint64_t until_ms = kfbl_now_ms() + TIMEOUT_MS;
	struct kfbrick_completion done;

	while (e->n_waiting) {
		assert_true(kfbl_now_ms() < until_ms);
		assert_int_equal(kfbrick_poll(k, &done, 1, 1), 0);
	}
}

/*
 * In a new session the answer to the second page of a mapping is late, and the
 * page is asked for again. What comes at last is of a mapping that is in use.
 */
static void a_late_page_takes_no_mapping_away(void **state)
{
	struct kfbrick_config config = lib_config();

	/* Longer than the time that is let go by. */
	config.reconnect_ms = 10 * TIMEOUT_MS;
	assert_int_equal(lib_connect(&config), 0);
	rules->handles_per_page = 1;
	lib_map(2);
	rules->hold_op = KFB_OP_FREE;
	rules->hold_page = true;
	rules->forget = true;
	rules->drop_once = KFB_OP_PING;
	/* Both pages again, of which the second waits. */
	maps_until_late = fake_brick_seen(brick, KFB_OP_MAP) + 2;
	assert_int_equal(kfbrick_ping(k), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_MAP), 5);
	rules->hold_op = 0;
	wait_for_answers();
	assert_int_equal(kfbrick_ping(k), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_UNMAP), 0);
}

/* In a new session, whose first MAP is refused. */
static void is_mapped_by_the_next_try(void)
{
	char byte;

	rules->forget = true;
	rules->drop_once = KFB_OP_PING;
	assert_int_equal(kfbrick_ping(k), 0);
	assert_int_equal(kfbrick_read(k, FAKE_VA, &byte, 1), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_MAP), 3);
}

/*
 * A brick with a slow tier moves what a MAP with NOWAIT asks for, and may have to
 * move it away again before the next one comes.
 */
static void a_mapping_whose_blocks_do_not_stay_is_waited_for(void **state)
{
	connect_and_map();
	rules->nowait_again = true;
	is_mapped_by_the_next_try();
}

/*
 * A brick that is short of memory asks others to give some back, and maps the
 * blocks of a session that comes back a little later.
 */
static void a_mapping_waits_for_a_brick_that_is_short_of_memory(void **state)
{
	connect_and_map();
	rules->no_memory_op = KFB_OP_MAP;
	is_mapped_by_the_next_try();
}

/*
 * A brick that may not map blocks again has not given them to others. What was
 * not flushed is lost all the same, and the flush says why, as it is.
 */
static void a_refused_mapping_is_not_said_to_be_anothers(void **state)
{
	connect_and_write();
	rules->refuse_status = KFB_ST_DENIED;
	rules->refuse_op = KFB_OP_MAP;
	rules->forget = true;
	rules->drop_once = KFB_OP_PING;
	assert_int_equal(kfbrick_ping(k), 0);
	assert_int_equal(kfbrick_flush(k), -EIO);
	lib_says("cannot be mapped again");
	assert_int_equal(kfbrick_write(k, FAKE_VA, "y", 1), -EACCES);
}

/* Where it begins behind one that lives, too. */
static void what_reaches_into_a_dead_mapping_is_stale(void **state)
{
	static char data[8];
	struct kfbrick_mapping *behind;
	struct kfbrick_memory *memory;
	uint64_t va = FAKE_VA + KFB_BLOCK_BYTES - 4;

	connect_and_map();
	assert_int_equal(kfbrick_map(k, FAKE_VA + 2 * KFB_BLOCK_BYTES, 1,
				     KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
				     &behind),
			 0);
	assert_int_equal(
		kfbrick_memory_register(k, data, sizeof(data), &memory), 0);
	/* The newest mapping is made again first. */
	rules->refuse_status = KFB_ST_NOT_FOUND;
	rules->refuse_max = 1;
	rules->refuse_op = KFB_OP_MAP;
	rules->forget = true;
	rules->drop_once = KFB_OP_PING;
	assert_int_equal(kfbrick_ping(k), 0);
	assert_int_equal(behind->error, -ESTALE);
	assert_int_equal(kfbrick_read(k, va, data, sizeof(data)), 0);
	va += KFB_BLOCK_BYTES;
	assert_int_equal(kfbrick_read(k, va, data, sizeof(data)), -ESTALE);
	lib_says("changed hands");
	assert_int_equal(kfbrick_post_write(k, va, data, sizeof(data), NULL),
			 -ESTALE);
	/* Behind it nothing is mapped. */
	assert_int_equal(kfbrick_unmap(k, behind), -ESTALE);
	assert_int_equal(kfbrick_read(k, va, data, sizeof(data)), -ENXIO);
}

/* Whatever it died of: it is gone when it is unmapped, and can be mapped anew. */
static void a_mapping_that_died_can_be_unmapped(void **state)
{
	static const struct {
		int error;
		int told;
	} cases[] = {
		{ -EACCES, -EACCES },
		{ -ETIMEDOUT, -ETIMEDOUT },
		/* Of these whoever hears them keeps what is freed. */
		{ -ENOMEM, -ESTALE },
		{ -EAGAIN, -ESTALE },
		{ -EBUSY, -ESTALE },
	};
	struct kfbrick_config config = lib_config();
	struct kfbrick_mapping *mapping;
	size_t i;

	config.reconnect_ms = TIMEOUT_MS;
	assert_int_equal(lib_connect(&config), 0);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mapping = lib_map(1);
		rules->refuse_status = KFB_ST_DENIED;
		rules->refuse_op = KFB_OP_MAP;
		rules->forget = true;
		rules->drop_once = KFB_OP_PING;
		assert_int_equal(kfbrick_ping(k), 0);
		rules->refuse_op = 0;
		assert_int_equal(mapping->error, -EACCES);
		/* As if this process had had no memory for it, for one. */
		mapping->error = cases[i].error;
		assert_int_equal(kfbrick_unmap(k, mapping), cases[i].told);
		assert_int_equal(kfbrick_ping(k), 0);
		/* The brick has none of it. */
		assert_int_equal(fake_brick_seen(brick, KFB_OP_UNMAP), 0);
	}
	lib_map(1);
}

/* Of one queue; false when none came in time. */
static bool post_is_in_flight(const struct kfbl_queue *q, size_t shorter_than)
{
	uint64_t until_ms = kfbl_now_ms() + TIMEOUT_MS;
	struct kfbrick_completion done;

	while (kfbl_now_ms() < until_ms) {
		const struct kfbl_ctx *ctx = TAILQ_FIRST(&q->in_flight);

		if (ctx && ctx->len < shorter_than)
			return true;
		if (kfbrick_poll(k, &done, 1, 0))
			return false;
	}
	return false;
}

/*
 * The window of a new connection is small, so what was one operation goes in
 * parts. The connection may die again with the first of them.
 */
static bool dies_in_parts(void)
{
	static char data[64 << 10];
	static char back[sizeof(data)];
	struct kfbrick_config config = lib_config();
	struct kfbrick_completion done;
	struct kfbrick_memory *memory;
	struct kfbl_queue *q;

	config.reconnect_ms = TIMEOUT_MS;
	config.queue_depth = 1;
	memset(data, 'x', sizeof(data));
	assert_int_equal(lib_connect(&config), 0);
	lib_map(1);
	q = &k->queues[0];
	while (q->core.window.limit_bytes / KFB_WINDOW_PIECES < sizeof(data))
		assert_int_equal(kfbrick_write(k, FAKE_VA, back, sizeof(back)),
				 0);
	assert_int_equal(
		kfbrick_memory_register(k, data, sizeof(data), &memory), 0);
	assert_int_equal(
		kfbrick_post_write(k, FAKE_VA, data, sizeof(data), data), 0);
	assert_true(post_is_in_flight(q, sizeof(data) + 1));
	kfb_initiator_lost(&q->core, -ECONNRESET, "for a test", "");
	/* What the first connection brought is told from what the others do. */
	memset(data, 'y', sizeof(data));
	if (!post_is_in_flight(q, sizeof(data)))
		return false;
	kfb_initiator_lost(&q->core, -ECONNRESET, "for a test", "");
	done = lib_collect();
	assert_ptr_equal(done.context, data);
	assert_int_equal(done.error, 0);
	assert_int_equal(kfbrick_read(k, FAKE_VA, back, sizeof(back)), 0);
	assert_memory_equal(back, data, sizeof(data));
	return true;
}

/* All parts may go at once, where there is little time for one after the other. */
static void what_dies_again_in_parts_gets_on(void **state)
{
	unsigned int tries = 10;

	while (!dies_in_parts())
		assert_true(--tries);
}

/* Whoever accepts a join without the key, and says STALE to the next. */
static void an_impostor_gets_nothing_and_ends_nothing(void **state)
{
	static char data[4096] = "nobody else's";
	struct kfbrick_config config = lib_config();
	unsigned int seen[KFB_OP_LAST + 1];
	struct kfbrick_completion done;
	struct kfbrick_memory *memory;
	unsigned int n_unproven = 0;
	unsigned int hellos;
	unsigned int op;

	config.reconnect_ms = TIMEOUT_MS;
	assert_int_equal(lib_connect(&config), 0);
	lib_map(1);
	rules->bad_join = true;
	rules->bad_proof = true;
	rules->drop_once = KFB_OP_FLUSH;
	hellos = fake_brick_hellos(brick);
	assert_int_equal(
		kfbrick_memory_register(k, data, sizeof(data), &memory), 0);
	assert_int_equal(kfbrick_write(k, FAKE_VA + sizeof(data), "x", 1), 0);
	assert_int_equal(kfbrick_post_flush(k, NULL), 0);
	while (fake_brick_hellos(brick) == hellos)
		assert_int_equal(kfbrick_poll(k, &done, 1, 10), 0);
	for (op = 0; op <= KFB_OP_LAST; op++)
		seen[op] = fake_brick_seen(brick, op);
	assert_int_equal(
		kfbrick_post_write(k, FAKE_VA, data, sizeof(data), data), 0);
	while (fake_brick_hellos(brick) < hellos + 8) {
		assert_int_equal(kfbrick_poll(k, &done, 1, 10), 0);
		if (strstr(k->lost_why, "cannot prove"))
			n_unproven++;
		rules->forget = fake_brick_hellos(brick) >= hellos + 4;
	}
	for (op = 0; op <= KFB_OP_LAST; op++)
		if (op != KFB_OP_AUTH)
			assert_int_equal(fake_brick_seen(brick, op), seen[op]);
	assert_int_equal(fake_brick_memory(brick)[0], 0);
	rules->forget = false;
	rules->bad_join = false;
	rules->bad_proof = false;
	assert_true(n_unproven > 0);
	assert_int_equal(lib_collect().error, 0);
	assert_int_equal(lib_collect().error, 0);
	assert_memory_equal(fake_brick_memory(brick), data, sizeof(data));
}

/* Each is told once: of the end, and with its own context. */
static void every_operation_ends_once_with_the_connection(void **state)
{
	static char data[4096];
	struct kfbrick_config config = lib_config();
	struct kfbrick_completion done[8];
	struct kfbrick_memory *memory;
	struct kfbl_op *op;
	unsigned int seen = 0;
	int n;
	int i;

	assert_int_equal(lib_connect(&config), 0);
	lib_map(1);
	assert_int_equal(
		kfbrick_memory_register(k, data, sizeof(data), &memory), 0);
	assert_int_equal(kfbrick_write(k, FAKE_VA, "x", 1), 0);
	rules->hold_op = KFB_OP_FLUSH;
	for (i = 0; i < 3; i++)
		assert_int_equal(kfbrick_post_flush(k, &done[i]), 0);
	assert_int_equal(kfbrick_post_write(k, FAKE_VA, data, sizeof(data),
					    &done[3]),
			 0);
	kfb_initiator_lost(&k->queues[0].core, -ECONNRESET, "for a test", "");
	while ((n = kfbrick_poll(k, done, 8, TIMEOUT_MS)) > 0) {
		for (i = 0; i < n; i++) {
			unsigned int at =
				(unsigned int)((struct kfbrick_completion *)
						       done[i]
							       .context -
					       done);

			assert_int_equal(done[i].error, -ECONNRESET);
			assert_in_range(at, 0, 3);
			assert_false(seen & 1U << at);
			seen |= 1U << at;
		}
	}
	assert_int_equal(n, -ECONNRESET);
	assert_int_equal(seen, 15);
	assert_int_equal(k->n_active, 0);
	/* And one that comes after that is told so at once. */
	op = kfbl_op_get(k, true);
	kfbl_post(k, op, KFBL_OP_WRITE, FAKE_VA, data, sizeof(data), NULL);
	assert_int_equal(op->state, KFBL_OP_DONE);
	assert_int_equal(op->error, -ECONNRESET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_request_is_sent_again_as_soon_as_the_queue_is_back,
			lib_setup, lib_teardown),
		UNCONNECTED(what_dies_again_in_parts_gets_on),
		UNCONNECTED(an_impostor_gets_nothing_and_ends_nothing),
		UNCONNECTED(what_was_said_of_a_loss_is_not_said_of_the_next),
		UNCONNECTED(an_old_answer_completes_no_newer_flush),
		UNCONNECTED(a_late_page_takes_no_mapping_away),
		UNCONNECTED(a_mapping_whose_blocks_do_not_stay_is_waited_for),
		UNCONNECTED(
			a_mapping_waits_for_a_brick_that_is_short_of_memory),
		UNCONNECTED(a_refused_mapping_is_not_said_to_be_anothers),
		UNCONNECTED(what_reaches_into_a_dead_mapping_is_stale),
		UNCONNECTED(a_mapping_that_died_can_be_unmapped),
		UNCONNECTED(every_operation_ends_once_with_the_connection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
