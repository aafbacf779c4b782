// SPDX-License-Identifier: BSD-2-Clause
/*
 * The flush worker's turns, and what of a FLUSH is flushed at all: on a store in
 * memory that is taken for persistent, notes what is flushed, and holds the
 * worker up at its first range until the test lets it go.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <semaphore.h>
#include <cmocka.h>

#include "brickd/base/util.h"
#include "brickd/config/config.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/quarantine.h"
#include "brickd/storage/flush.h"
#include "brickd/storage/storage.h"
#include "flush_rig.h"

#define BLOCK	   KFB_BLOCK_BYTES
#define BLOCKS	   12
#define SLICE_MAX  (1U << 20)
#define FLUSHES	   12
#define TINY	   500
#define MAPPINGS   200
#define LOOKED_UP  64 /* handles for which nobody else waits */
#define TIMEOUT_MS 30000

/* A flush, and which one it was to be done. */
struct numbered {
	struct brick_flush flush;
	unsigned int place;
};

static struct brick_storage storage;
static struct brick_mailbox box;
static sem_t begun, go_on;
static bool holds; /* the next range is held up */
static uint64_t offset_of[BLOCKS];
static uint64_t last_offset;
static uint64_t n_flushed;
static uint64_t flushed_of[BLOCKS]; /* bytes of each block */
static uint64_t flushed_before[FLUSHES]; /* the first drains */
static unsigned int n_drained;
static unsigned int n_done;

static void flush(struct brick_media *m, uint64_t off, size_t len)
{
	(void)m;
	if (__atomic_exchange_n(&holds, false, __ATOMIC_ACQ_REL)) {
		sem_post(&begun);
		sem_wait(&go_on);
	}
	last_offset = off;
	n_flushed += len;
	for (unsigned int b = 0; b < BLOCKS; b++)
		if (off >= offset_of[b] && off < offset_of[b] + BLOCK)
			flushed_of[b] += len;
}

static int drain(struct brick_media *m)
{
	(void)m;
	if (n_drained < FLUSHES)
		flushed_before[n_drained] = n_flushed;
	n_drained++;
	return 0;
}

static void forget_flushed(void)
{
	n_flushed = 0;
	n_drained = 0;
	memset(flushed_of, 0, sizeof(flushed_of));
}

static int begin(void **state)
{
	(void)state;
	if (flush_rig_open(&storage, "memory:64M", BLOCKS, flush, drain))
		return -1;
	storage.flush_mode = KFB_FLUSH_MESSAGE;
	for (uint64_t b = 0; b < BLOCKS; b++) {
		brick_store_flush(storage.store, b * BLOCK, 1);
		offset_of[b] = last_offset;
	}
	forget_flushed();
	n_done = 0;
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	storage.flusher = (struct brick_worker){ .name = "flush",
						 .run = brick_flush_run,
						 .ctx = &storage,
						 .box = &box };
	return brick_mailbox_init(&box) || brick_worker_start(&storage.flusher);
}

static int end(void **state)
{
	(void)state;
	brick_worker_stop(&storage.flusher);
	brick_mailbox_deliver(&box);
	brick_mailbox_fini(&box);
	flush_rig_close(&storage);
	return 0;
}

static void count_done(struct brick_flush *f)
{
	assert_int_equal(f->error, 0);
	brick_container_of(f, struct numbered, flush)->place = n_done++;
}

static void want(struct numbered *f, uint64_t va, uint64_t len)
{
	f->flush.done = count_done;
	assert_int_equal(brick_flush_add(&f->flush, va, va + (len - 1)), 0);
}

/* Submits a flush that the worker stops in, before its first range. */
static void submit_held(struct brick_flush_queue *q, struct brick_flush *f)
{
	__atomic_store_n(&holds, true, __ATOMIC_RELEASE);
	brick_flush_submit(&storage, q, f);
	sem_wait(&begun);
}

static void a_session_waits_for_one_slice_of_another(void **state)
{
	struct numbered all = { 0 }, few = { 0 };
	_Atomic uint64_t n_flushed_of[2] = { 0, 0 };
	struct brick_flush_queue queues[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		brick_flush_queue_init(&queues[i]);
		queues[i].flushed_bytes = &n_flushed_of[i];
	}
	want(&all, 0, BLOCKS * BLOCK);
	want(&few, BLOCK + 64, 65536);
	submit_held(&queues[0], &all.flush);
	brick_flush_submit(&storage, &queues[1], &few.flush);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, 2);
	assert_int_equal(few.place, 0);
	assert_true(flushed_before[0] <= 2 * SLICE_MAX + 65536);
	assert_int_equal(n_flushed, BLOCKS * BLOCK + 65536);
	assert_int_equal(n_flushed_of[0], BLOCKS * BLOCK);
	assert_int_equal(n_flushed_of[1], 65536);
	assert_int_equal(n_drained, 2);
}

/* To find a byte takes as long as to flush some more of them. */
static void a_slice_has_few_ranges_too(void **state)
{
	struct numbered tiny = { 0 }, few = { 0 };
	struct brick_flush_queue queues[2];

	(void)state;
	brick_flush_queue_init(&queues[0]);
	brick_flush_queue_init(&queues[1]);
	for (uint64_t i = 0; i < TINY; i++)
		want(&tiny, i * 256, 64);
	want(&few, BLOCK + 64, 65536);
	submit_held(&queues[0], &tiny.flush);
	brick_flush_submit(&storage, &queues[1], &few.flush);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, 2);
	assert_int_equal(few.place, 0);
	assert_true(flushed_before[0] < 65536 + TINY / 2 * 64);
	assert_int_equal(n_flushed, 65536 + TINY * 64);
}

/* Else they would be sorted while others wait. */
static void a_pass_has_some_of_many_ranges(void **state)
{
	struct numbered all[FLUSHES] = { 0 }, few = { 0 };
	struct brick_flush_queue queues[2];

	(void)state;
	brick_flush_queue_init(&queues[0]);
	brick_flush_queue_init(&queues[1]);
	want(&few, BLOCK + 64, 65536);
	for (unsigned int i = 0; i < FLUSHES; i++)
		for (uint64_t r = 0; r < 2 * TINY; r++)
			want(&all[i], r * 256, 64);
	submit_held(&queues[1], &few.flush);
	for (unsigned int i = 0; i < FLUSHES; i++)
		brick_flush_submit(&storage, &queues[0], &all[i].flush);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, FLUSHES + 1);
	for (unsigned int i = 0; i < FLUSHES; i++)
		assert_int_equal(all[i].place, i + 1);
	/* The first one, and then four at a time. */
	assert_int_equal(n_drained, 5);
	assert_int_equal(n_flushed, 65536 + 4 * 2 * TINY * 64);
}

static void many_of_one_session_take_the_turns_of_one(void **state)
{
	struct numbered all[FLUSHES] = { 0 }, few = { 0 };
	struct brick_flush_queue queues[2];

	(void)state;
	brick_flush_queue_init(&queues[0]);
	brick_flush_queue_init(&queues[1]);
	for (unsigned int i = 0; i < FLUSHES; i++)
		want(&all[i], 0, BLOCKS * BLOCK);
	want(&few, BLOCK + 64, 65536);
	submit_held(&queues[0], &all[0].flush);
	for (unsigned int i = 1; i < FLUSHES; i++)
		brick_flush_submit(&storage, &queues[0], &all[i].flush);
	brick_flush_submit(&storage, &queues[1], &few.flush);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, FLUSHES + 1);
	assert_int_equal(few.place, 0);
	assert_int_equal(all[0].place, 1);
	assert_true(flushed_before[0] <= 2 * SLICE_MAX + 65536);
	/* One pass that was under way, and one for all who came meanwhile. */
	assert_int_equal(n_flushed, 2 * BLOCKS * BLOCK + 65536);
	assert_int_equal(n_drained, 3);
}

static void what_is_asked_for_twice_is_flushed_once(void **state)
{
	struct brick_flush_queue queue;
	struct numbered f = { 0 };

	(void)state;
	brick_flush_queue_init(&queue);
	want(&f, BLOCK, BLOCK);
	want(&f, 5 * BLOCK, 64);
	want(&f, BLOCK + 4096, 4096);
	want(&f, BLOCK + BLOCK / 2, BLOCK);
	want(&f, 3 * BLOCK, 64);
	want(&f, UINT64_MAX - 63, 64); /* there is no block */
	brick_flush_submit(&storage, &queue, &f.flush);
	flush_rig_wait(&box, &n_done, 1);
	assert_int_equal(flushed_of[1], BLOCK);
	assert_int_equal(flushed_of[2], BLOCK / 2);
	assert_int_equal(flushed_of[3], 64);
	assert_int_equal(flushed_of[5], 64);
	assert_int_equal(n_flushed, BLOCK + BLOCK / 2 + 128);
}

static void a_flush_of_nothing_drains(void **state)
{
	struct brick_flush_queue queue;
	struct numbered f = { .flush.done = count_done };

	(void)state;
	brick_flush_queue_init(&queue);
	brick_flush_submit(&storage, &queue, &f.flush);
	flush_rig_wait(&box, &n_done, 1);
	assert_int_equal(n_flushed, 0);
	assert_int_equal(n_drained, 1);
}

/* ---- what a FLUSH is for ---------------------------------------------- */

static struct brick_sessions sessions;
static struct brick_session session;
static struct brick_ops requests;
static struct brick_client client;
static struct brick_holdings holdings;

static void map_for(struct brick_holdings *whose, struct brick_mapping *m,
		    uint32_t flags, struct brick_handle *handle, uint64_t first,
		    uint64_t end)
{
	*handle = (struct brick_handle){ .span = { first, end } };
	*m = (struct brick_mapping){ .session = &session,
				     .holdings = whose,
				     .flags = flags,
				     .n = 1,
				     .handles = handle };
	assert_int_equal(brick_mappings_add(&sessions.mappings, m), 0);
}

static void map(struct brick_mapping *m, uint32_t flags,
		struct brick_handle *handle, uint64_t first, uint64_t end)
{
	map_for(&holdings, m, flags, handle, first, end);
}

static void begin_session(void)
{
	memset(&sessions, 0, sizeof(sessions));
	memset(&session, 0, sizeof(session));
	memset(&requests, 0, sizeof(requests));
	requests.storage = &storage;
	requests.counters = storage.counters;
	requests.sessions = &sessions;
	TAILQ_INIT(&requests.range_locks.list);
	sessions.requests = &requests;
	sessions.counters = storage.counters;
	client.grants.ro[0] = (struct brick_span){ 0, 1ULL << 43 };
	client.grants.n_ro = 1;
	session.all = &sessions;
	session.client = &client;
	session.state = KFB_SESSION_LIVE;
	memset(&holdings, 0, sizeof(holdings));
	TAILQ_INIT(&holdings.late);
	session.holdings = &holdings;
	session.flushes = (struct brick_flush_queue){ 0 };
	brick_mappings_init(&sessions.mappings, 1, brick_session_is_ending);
	TAILQ_INIT(&sessions.list);
	TAILQ_INSERT_TAIL(&sessions.list, &session, link);
	TAILQ_INIT(&session.mappings);
	brick_flush_queue_init(&session.flushes);
}

static void end_session(void)
{
	while (sessions.mappings.by_block.root)
		brick_mappings_shorten(&sessions.mappings,
				       sessions.mappings.by_block.root->owner);
}

/* The only handle of a mapping is closed. */
static struct brick_handle *take_handle(struct brick_mapping *m)
{
	struct brick_handle *taken;

	assert_int_equal(brick_mappings_take_handles(&sessions.mappings, m, 0,
						     1, &taken),
			 0);
	brick_mappings_forget(&sessions.mappings, taken, 1);
	return taken;
}

/* Begins a request; its reply has nowhere to go. */
static struct brick_queue *begin_flush(const struct kfb_flush *what)
{
	struct brick_queue *q = calloc(1, sizeof(*q) + sizeof(q->records[0]));
	struct brick_op *op = calloc(1, sizeof(*op));

	assert_non_null(q);
	assert_non_null(op);
	q->session = &session;
	op->session = &session;
	op->queue = q;
	op->req.op = KFB_OP_FLUSH;
	op->req.u.flush = *what;
	session.n_ops = 1;
	brick_op_flush(op);
	return q;
}

static void end_flush(struct brick_queue *q)
{
	struct pollfd p = { .fd = box.source.fd, .events = POLLIN };

	while (session.n_ops) {
		assert_int_equal(poll(&p, 1, TIMEOUT_MS), 1);
		box.source.ready(&box.source);
	}
	free(q);
}

static void request_flush(const struct kfb_flush *what)
{
	end_flush(begin_flush(what));
}

static void only_what_the_session_may_have_written_is_flushed(void **state)
{
	const struct kfb_flush all = { .flags = KFB_FLUSH_ALL };
	struct brick_handle handles[5], *gone, *flushed;
	struct brick_mapping mappings[5];
	struct brick_span late[] = { { 0, 2 }, { 10, 11 } };

	(void)state;
	begin_session();
	map(&mappings[0], KFB_MAP_RW, &handles[0], 1, 3);
	map(&mappings[1], 0, &handles[1], 4, 6);
	map(&mappings[2], KFB_MAP_RW, &handles[2], 6, 7);
	map(&mappings[3], KFB_MAP_RW, &handles[3], 8, 9);
	map(&mappings[4], KFB_MAP_RW, &handles[4], 9, 10);
	gone = take_handle(&mappings[3]);
	flushed = take_handle(&mappings[4]);
	brick_holdings_flushed(&holdings, flushed, 1);
	TAILQ_INSERT_TAIL(&holdings.late, &session, late_link);
	session.quarantine.n = 2;
	session.quarantine.spans = late;
	request_flush(&all);
	for (unsigned int b = 0; b < BLOCKS; b++)
		assert_int_equal(flushed_of[b],
				 b <= 2 || b == 6 || b == 8 || b == 10 ? BLOCK
								       : 0);
	assert_int_equal(n_drained, 1);
	brick_holdings_flushed(&holdings, gone, 1);
	end_session();
}

static void ranges_are_cut_to_what_it_may_have_written(void **state)
{
	const struct kfb_flush some = {
		.n_ranges = 4,
		.ranges = { { 3 * BLOCK, 8 * BLOCK },
			    { BLOCK + 4096, BLOCK },
			    { BLOCK + 8192, UINT64_MAX - 2 * BLOCK },
			    { 0, 64 } },
	};
	struct brick_handle handles[2];
	struct brick_mapping mappings[2];

	(void)state;
	begin_session();
	map(&mappings[0], KFB_MAP_RW, &handles[0], 1, 3);
	map(&mappings[1], KFB_MAP_RW | KFB_MAP_SHARED, &handles[1], 2, 4);
	request_flush(&some);
	assert_int_equal(flushed_of[0], 0);
	assert_int_equal(flushed_of[1], BLOCK - 4096);
	assert_int_equal(flushed_of[2], BLOCK);
	assert_int_equal(flushed_of[3], BLOCK);
	assert_int_equal(n_flushed, 3 * BLOCK - 4096);
	end_session();
}

/* It is ending, so that nobody sees its mappings any more. */
static void what_another_session_of_the_client_wrote_is_flushed(void **state)
{
	const struct kfb_flush all = { .flags = KFB_FLUSH_ALL };
	struct brick_session ending = { .state = KFB_SESSION_FENCING };
	struct brick_holdings strangers = { 0 };
	struct brick_handle handles[2];
	struct brick_mapping mappings[2];

	(void)state;
	begin_session();
	map(&mappings[0], KFB_MAP_RW, &handles[0], 2, 3);
	mappings[0].session = &ending;
	map_for(&strangers, &mappings[1], KFB_MAP_RW, &handles[1], 4, 5);
	request_flush(&all);
	assert_int_equal(flushed_of[2], BLOCK);
	assert_int_equal(n_flushed, BLOCK);
	end_session();
}

static void map_many(struct brick_mapping *m, struct brick_handle *handles)
{
	/* Most are where there is no block, which nobody but the store knows. */
	for (uint64_t i = 0; i < MAPPINGS; i++)
		map(&m[i], KFB_MAP_RW, &handles[i], i * 2, i * 2 + 1);
}

static void few_mappings_are_looked_up_at_a_time(void **state)
{
	const struct kfb_flush all = { .flags = KFB_FLUSH_ALL };
	struct brick_mapping mappings[MAPPINGS];
	struct brick_handle handles[MAPPINGS];

	(void)state;
	begin_session();
	map_many(mappings, handles);
	request_flush(&all);
	assert_true(n_drained >= MAPPINGS / LOOKED_UP);
	assert_int_equal(n_flushed, BLOCKS / 2 * BLOCK);
	end_session();
}

/* Its first part is under way when the last mapping is taken out of the table. */
static void what_is_unmapped_before_its_turn_is_flushed(void **state)
{
	const struct kfb_flush all = { .flags = KFB_FLUSH_ALL };
	struct brick_mapping mappings[MAPPINGS];
	struct brick_handle handles[MAPPINGS], *gone;
	struct brick_mapping last;
	struct brick_handle handle;
	struct brick_store_op alloc = {
		.kind = BRICK_STORE_ALLOC,
		.va = 2 * MAPPINGS * BLOCK,
		.n_blocks = 1,
	};
	struct brick_queue *q;

	(void)state;
	brick_store_commit(storage.store, &alloc);
	assert_int_equal(alloc.error, 0);
	forget_flushed();
	begin_session();
	map_many(mappings, handles);
	map(&last, KFB_MAP_RW, &handle, 2 * MAPPINGS, 2 * MAPPINGS + 1);
	__atomic_store_n(&holds, true, __ATOMIC_RELEASE);
	q = begin_flush(&all);
	sem_wait(&begun);
	gone = take_handle(&last);
	sem_post(&go_on);
	end_flush(q);
	assert_int_equal(n_flushed, (BLOCKS / 2 + 1) * BLOCK);
	brick_holdings_flushed(&holdings, gone, 1);
	end_session();
}

static void a_flush_ends_with_its_session(void **state)
{
	const struct kfb_flush all = { .flags = KFB_FLUSH_ALL };
	struct brick_mapping mappings[MAPPINGS];
	struct brick_handle handles[MAPPINGS];
	struct brick_queue *q;

	(void)state;
	begin_session();
	map_many(mappings, handles);
	__atomic_store_n(&holds, true, __ATOMIC_RELEASE);
	q = begin_flush(&all);
	sem_wait(&begun);
	session.state = KFB_SESSION_FENCING;
	sem_post(&go_on);
	/* It does not end now: that takes more of it than there is. */
	session.is_torn_down = true;
	end_flush(q);
	assert_int_equal(n_drained, 1);
	end_session();
}

static void what_was_left_may_be_anywhere(void **state)
{
	const struct kfb_flush all = { .flags = KFB_FLUSH_ALL };
	const struct kfb_flush two = {
		.n_ranges = 2, .ranges = { { 64, BLOCK }, { 4 * BLOCK, BLOCK } }
	};

	(void)state;
	begin_session();
	storage.has_unflushed = true;
	request_flush(&two);
	assert_int_equal(n_flushed, 2 * BLOCK);
	request_flush(&all);
	assert_int_equal(n_flushed, (2 + BLOCKS) * BLOCK);
	end_session();
}

static void a_reader_makes_nothing_be_flushed(void **state)
{
	const struct kfb_flush all = { .flags = KFB_FLUSH_ALL };
	struct brick_handle handle;
	struct brick_mapping mapping;

	(void)state;
	begin_session();
	map(&mapping, 0, &handle, 0, BLOCKS);
	request_flush(&all);
	assert_int_equal(n_flushed, 0);
	assert_int_equal(n_drained, 1);
	end_session();
}

#define FLUSH_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FLUSH_TEST(a_session_waits_for_one_slice_of_another),
		FLUSH_TEST(a_slice_has_few_ranges_too),
		FLUSH_TEST(a_pass_has_some_of_many_ranges),
		FLUSH_TEST(many_of_one_session_take_the_turns_of_one),
		FLUSH_TEST(what_is_asked_for_twice_is_flushed_once),
		FLUSH_TEST(a_flush_of_nothing_drains),
		FLUSH_TEST(only_what_the_session_may_have_written_is_flushed),
		FLUSH_TEST(ranges_are_cut_to_what_it_may_have_written),
		FLUSH_TEST(what_another_session_of_the_client_wrote_is_flushed),
		FLUSH_TEST(few_mappings_are_looked_up_at_a_time),
		FLUSH_TEST(what_is_unmapped_before_its_turn_is_flushed),
		FLUSH_TEST(a_flush_ends_with_its_session),
		FLUSH_TEST(what_was_left_may_be_anywhere),
		FLUSH_TEST(a_reader_makes_nothing_be_flushed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
