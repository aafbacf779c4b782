// SPDX-License-Identifier: BSD-2-Clause
/*
 * The end of a session, a piece at a time: what others see and do in between. Mappings
 * that nobody is to look at are where nobody may look.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include <sys/mman.h>

#include "brickd/base/util.h"
#include "brickd/net/net.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/session.h"
#include "event_rig.h"
#include "../storage/flush_rig.h"

#define PLACE_BYTES 65536
#define LEFT	    600 /* mappings, of which a piece of a LIST looks at 256 */
#define PIECE	    256
#define WAITING	    20 /* requests; a turn has 8 things at most */
#define TURN	    8

static struct brick_storage storage;
static struct brick_sessions sessions;
static struct brick_ops requests;
static struct brick_busy busy;
static struct brick_flows flows;
static struct brick_mailbox box;
static struct brick_client client, fencer = { .number = 2 };
static struct brick_client stranger = { .name = "stranger", .number = 1 };
static struct brick_client *clients[] = { &stranger };
static struct event_rig stays, ends, other;
static struct brick_work *submitted; /* to a worker, last */
static struct kfb_reply answer;
static unsigned int n_answers;
static unsigned int n_resumed; /* requests that got their blocks */

void __wrap_brick_conn_send(struct brick_conn *c,
			    const struct kfb_reply *reply);
void __wrap_brick_worker_submit(struct brick_worker *worker,
				struct brick_work *work);

void __wrap_brick_conn_send(struct brick_conn *c, const struct kfb_reply *reply)
{
	(void)c;
	n_answers++;
	answer = *reply;
}

void __wrap_brick_worker_submit(struct brick_worker *worker,
				struct brick_work *work)
{
	(void)worker;
	submitted = work;
}

/* The time, if it is not to go on by itself. */
static uint64_t now_ms;

int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (clock != CLOCK_BOOTTIME || !now_ms)
		return __real_clock_gettime(clock, ts);
	ts->tv_sec = (time_t)(now_ms / 1000);
	ts->tv_nsec = (long)(now_ms % 1000) * 1000000;
	return 0;
}

static const struct brick_session_ops session_ops = {
	.cancel = brick_ops_cancel,
	.ended = brick_fences_ended,
};

static int begin_session(struct event_rig *rig, struct brick_client *who,
			 struct brick_holdings *holdings)
{
	if (rig_begin(rig, &sessions))
		return -1;
	rig->s.client = who;
	rig->s.flow = &sessions.flows[who->number];
	rig->s.holdings = holdings;
	TAILQ_INIT(&rig->s.waiting);
	brick_flush_queue_init(&rig->s.flushes);
	if (kfb_credits_init(&rig->s.queues[0]->credits, KFB_CREDITS_MIN))
		return -1;
	return 0;
}

static struct brick_holdings mine, theirs;

static int begin(void **state)
{
	static struct brick_net net;
	static struct brick_config config = {
		.limits = { .pending = 100,
			    .pending_per_client = 100,
			    .pending_total = 100 },
		.n_clients = 1,
		.clients = clients,
	};

	(void)state;
	if (flush_rig_open(&storage, "memory:64M", 1, NULL, NULL))
		return -1;
	memset(&sessions, 0, sizeof(sessions));
	memset(&requests, 0, sizeof(requests));
	memset(&mine, 0, sizeof(mine));
	memset(&theirs, 0, sizeof(theirs));
	brick_flows_init(&flows, &busy);
	box.flows = &flows;
	memset(&net, 0, sizeof(net));
	sessions.net = &net;
	sessions.storage = &storage;
	sessions.counters = storage.counters;
	sessions.requests = &requests;
	sessions.ops = &session_ops;
	sessions.registrar.box = &box;
	sessions.config = &config;
	TAILQ_INIT(&sessions.list);
	requests.config = &config;
	requests.storage = &storage;
	requests.counters = storage.counters;
	requests.sessions = &sessions;
	requests.flows = &flows;
	TAILQ_INIT(&requests.fencing);
	TAILQ_INIT(&requests.ending);
	brick_reserves_init(&requests.reserving);
	TAILQ_INIT(&requests.awaiting);
	TAILQ_INIT(&requests.unrevoked);
	brick_range_locks_init(&requests.range_locks);
	brick_leases_init(&sessions.leases, 60000);
	brick_mappings_init(&sessions.mappings, 1, brick_session_is_ending);
	n_answers = 0;
	n_resumed = 0;
	submitted = NULL;
	return begin_session(&stays, &client, &mine) ||
			       begin_session(&ends, &client, &mine) ||
			       begin_session(&other, &stranger, &theirs)
		       ? -1
		       : 0;
}

static int end(void **state)
{
	(void)state;
	rig_end(&stays);
	rig_end(&ends);
	rig_end(&other);
	flush_rig_close(&storage);
	return 0;
}

/* Its connections are closed; it has one request more than it waits for. */
static void begin_to_end(void)
{
	ends.s.queues[0]->conn = NULL;
	brick_session_fence(&ends.s, "test");
}

static struct brick_mapping *map(struct brick_session *s, uint64_t first)
{
	return rig_map(s, first, KFB_MAP_RW | KFB_MAP_EXCLUSIVE);
}

static void forget(struct brick_mapping *m)
{
	TAILQ_REMOVE(&m->session->mappings, m, session_link);
	brick_mappings_shorten(&sessions.mappings, m);
	free(m->handles);
	free(m);
}

static void forget_all(struct brick_session *s)
{
	while (!TAILQ_EMPTY(&s->mappings))
		forget(TAILQ_FIRST(&s->mappings));
}

/* A mapping that nobody may look at. */
static struct brick_mapping *map_hidden(struct brick_session *s)
{
	struct brick_mapping *m =
		mmap(NULL, PLACE_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(m, MAP_FAILED);
	TAILQ_INSERT_TAIL(&s->mappings, m, session_link);
	assert_int_equal(mprotect(m, PLACE_BYTES, PROT_NONE), 0);
	return m;
}

static void show(struct brick_session *s, struct brick_mapping *m)
{
	assert_int_equal(mprotect(m, PLACE_BYTES, PROT_READ | PROT_WRITE), 0);
	TAILQ_REMOVE(&s->mappings, m, session_link);
	munmap(m, PLACE_BYTES);
}

static struct brick_op *request(struct event_rig *rig, uint16_t op)
{
	struct brick_op *new = calloc(1, sizeof(*new));

	assert_non_null(new);
	new->session = &rig->s;
	new->queue = rig->s.queues[0];
	new->generation = new->queue->generation;
	new->req.op = op;
	rig->s.n_ops++;
	return new;
}

/* ---- mappings ---- */

static void a_session_begins_to_end_without_a_look_at_its_mappings(void **state)
{
	struct brick_mapping *seen = map(&ends.s, 1), *hidden, *found;
	const struct brick_span block = { 1, 2 };

	(void)state;
	hidden = map_hidden(&ends.s);
	ends.s.n_ops = 1; /* it ends no further */
	begin_to_end();
	/* Nobody may have it, and nobody may unmap it. */
	assert_int_equal(brick_mappings_conflict(&sessions.mappings, block,
						 false),
			 -EAGAIN);
	assert_int_equal(brick_mappings_find(&sessions.mappings, &mine,
					     seen->id, &found),
			 -ENOENT);
	show(&ends.s, hidden);
	forget_all(&ends.s);
	assert_int_equal(
		brick_mappings_conflict(&sessions.mappings, block, false), 0);
}

static void list_mine(void)
{
	struct brick_op *op = request(&stays, KFB_OP_LIST);

	op->req.u.list.what = KFB_LIST_MINE;
	assert_int_equal(kfb_credits_take(&op->queue->credits, KFB_OP_LIST), 0);
	n_answers = 0;
	brick_op_list(op);
}

static void serve_all(void)
{
	while (brick_flows_serve(&flows))
		;
}

static void a_list_passes_what_a_session_leaves_in_pieces(void **state)
{
	struct brick_mapping *left[LEFT], *kept, *gone;

	(void)state;
	gone = map(&stays.s, LEFT + 1);
	for (uint64_t i = 0; i < LEFT; i++)
		left[i] = map(&ends.s, i);
	kept = map(&stays.s, LEFT);
	ends.s.n_ops = 1; /* it ends no further */
	begin_to_end();
	list_mine();
	assert_int_equal(n_answers, 0);
	/* In between the one that comes next is forgotten, and one that was found. */
	forget(left[PIECE - 1]);
	forget(gone);
	serve_all();
	assert_int_equal(n_answers, 1);
	assert_int_equal(answer.status, KFB_ST_OK);
	assert_int_equal(answer.u.list.n_extents, 1);
	assert_int_equal(answer.u.list.extents[0].mapping_id, kept->id);
	assert_int_equal(answer.u.list.cursor, 0);
	forget_all(&ends.s);
	forget_all(&stays.s);
}

static void a_list_in_pieces_ends_with_its_session(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < LEFT; i++)
		map(&ends.s, i);
	ends.s.n_ops = 1; /* it ends no further */
	begin_to_end();
	list_mine();
	stays.s.n_ops++;
	stays.s.state = KFB_SESSION_FENCING;
	assert_true(brick_flows_serve(&flows));
	assert_int_equal(n_answers, 1);
	assert_int_equal(answer.status, KFB_ST_SHUTDOWN);
	forget_all(&ends.s);
}

static int close_nothing(struct fid *fid)
{
	(void)fid;
	return 0;
}

/* The loop gets it from the registrar, who goes through all handles anyway. */
static void what_is_to_be_flushed_is_looked_up_by_the_registrar(void **state)
{
	static struct fi_ops fid_ops = { .close = close_nothing };
	struct fid_domain domain = { .fid.ops = &fid_ops };
	struct brick_mapping *hidden;

	(void)state;
	map(&ends.s, 3);
	map(&ends.s, 5);
	map(&ends.s, 4)->flags = KFB_MAP_RO;
	ends.s.domain = &domain;
	begin_to_end();
	assert_ptr_equal(submitted, &ends.s.teardown);
	submitted->run(submitted);
	hidden = map_hidden(&ends.s);
	submitted->done(submitted);
	assert_ptr_equal(submitted, &ends.s.flush.work);
	assert_int_equal(ends.s.flush.n, 2);
	assert_int_equal(ends.s.flush.ranges[0].first, 3ULL << KFB_BLOCK_SHIFT);
	assert_int_equal(ends.s.flush.ranges[1].first, 5ULL << KFB_BLOCK_SHIFT);
	assert_false(storage.has_unflushed);
	show(&ends.s, hidden);
	brick_flush_drop(&ends.s.flush);
	forget_all(&ends.s);
}

/* ---- requests that wait ---- */

static void resume(struct brick_op *op)
{
	n_resumed++;
	brick_op_finish(op,
			brick_op_is_orphan(op) ? KFB_ST_SHUTDOWN : KFB_ST_OK);
}

static void ask(struct event_rig *rig)
{
	brick_op_lock_range(request(rig, KFB_OP_FREE),
			    (struct brick_span){ 0, 1 }, resume);
}

static void never(struct brick_range_lock *lock)
{
	(void)lock;
	fail();
}

static struct brick_range_lock held = { .span = { 0, 1 }, .granted = never };

/* Whoever has the block has many that wait, and a stranger behind them. */
static void let_them_wait(void)
{
	assert_true(brick_range_locks_take(&requests.range_locks, &held));
	for (int i = 0; i < WAITING; i++)
		ask(&ends);
	assert_int_equal(
		kfb_credits_take(&other.s.queues[0]->credits, KFB_OP_FREE), 0);
	ask(&other);
	assert_int_equal(ends.s.n_pending, WAITING);
}

static void
requests_of_a_session_that_ends_are_cancelled_in_pieces(void **state)
{
	(void)state;
	let_them_wait();
	begin_to_end();
	assert_int_equal(ends.s.n_pending, WAITING - 1);
	assert_true(brick_flows_serve(&flows));
	assert_true(ends.s.n_pending >= WAITING - 1 - TURN);
	assert_true(ends.s.n_pending < WAITING - 1);
	assert_null(submitted);
	serve_all();
	assert_int_equal(ends.s.n_pending, 0);
	assert_int_equal(ends.s.n_ops, 0);
	assert_int_equal(n_resumed, 0);
	assert_ptr_equal(submitted, &ends.s.teardown);
	assert_int_equal(other.s.n_pending, 1);
	brick_range_locks_drop(&requests.range_locks, &held);
	serve_all();
	assert_int_equal(answer.status, KFB_ST_OK);
	assert_true(TAILQ_EMPTY(&requests.range_locks.list));
}

/* One that has got its blocks meanwhile is not cancelled, and does nothing. */
static void
a_request_gets_its_blocks_between_two_that_are_cancelled(void **state)
{
	(void)state;
	let_them_wait();
	begin_to_end();
	brick_range_locks_drop(&requests.range_locks, &held);
	assert_int_equal(ends.s.n_pending, WAITING - 2);
	assert_int_equal(n_answers, 0);
	serve_all();
	assert_int_equal(ends.s.n_ops, 0);
	assert_ptr_equal(submitted, &ends.s.teardown);
	assert_int_equal(n_answers, 1);
	assert_int_equal(answer.status, KFB_ST_OK);
}

/* Its teardown is what cancels them: it must not begin before that is over. */
static void
the_last_request_finishes_while_others_are_to_be_cancelled(void **state)
{
	(void)state;
	assert_true(brick_range_locks_take(&requests.range_locks, &held));
	ask(&ends);
	ask(&ends);
	begin_to_end();
	assert_int_equal(ends.s.n_pending, 1);
	brick_range_locks_drop(&requests.range_locks, &held);
	assert_int_equal(ends.s.n_pending, 0);
	/* It comes before the rest of what its client wants. */
	while (!n_resumed)
		assert_true(brick_flows_serve(&flows));
	serve_all();
	assert_int_equal(ends.s.n_ops, 0);
	assert_ptr_equal(submitted, &ends.s.teardown);
	assert_ptr_not_equal(submitted->done, NULL);
	assert_true(ends.s.is_torn_down);
}

static void one_more_than_may_overlap_is_to_be_tried_again(void **state)
{
	static struct brick_range_lock locks[BRICK_RANGE_LOCKS_OVERLAPS];

	(void)state;
	for (size_t i = 0; i < BRICK_RANGE_LOCKS_OVERLAPS; i++) {
		locks[i].span = (struct brick_span){ 0, 1 };
		(void)brick_range_locks_take(&requests.range_locks, &locks[i]);
	}
	assert_int_equal(
		kfb_credits_take(&other.s.queues[0]->credits, KFB_OP_FREE), 0);
	ask(&other);
	assert_int_equal(n_answers, 1);
	assert_int_equal(answer.status, KFB_ST_AGAIN);
	assert_int_equal(other.s.n_pending, 0);
}

#define END_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* ---- keys that are still good ---- */

static void
an_unmap_waits_for_the_endpoints_of_a_key_that_is_still_good(void **state)
{
	struct brick_op *op = request(&other, KFB_OP_UNMAP);

	(void)state;
	op->owner = &other.s;
	other.s.n_conns = 1;
	TAILQ_INSERT_TAIL(&requests.unrevoked, op, revoke_link);
	brick_unmaps_due(&requests);
	assert_null(submitted);
	assert_true(brick_unmaps_next_ms(&requests) == KFB_TIME_NEVER);
	/* At once, whatever it was that took the last of them. */
	other.s.n_conns = 0;
	assert_int_equal(brick_unmaps_next_ms(&requests), 0);
	brick_unmaps_due(&requests);
	assert_ptr_equal(submitted, &op->work);
	assert_true(TAILQ_EMPTY(&requests.unrevoked));
	assert_int_equal(n_answers, 0);
	free(op);
}

static uint64_t key_ms;

/* The loop looks when the device has taken its time. */
static int close_key(struct fid *fid)
{
	(void)fid;
	now_ms += key_ms;
	brick_unmaps_due(&requests);
	return 0;
}

#define KEYS 3

static struct fi_ops key_ops = { .close = close_key };
static struct fid_mr key = { .fid.ops = &key_ops };

/* The registrar closes the keys of an UNMAP. */
static void revoke(struct brick_op *op, uint64_t each_ms)
{
	key_ms = each_ms;
	for (size_t i = 0; i < KEYS; i++)
		op->handles[i].region.mr = &key;
	submitted->run(submitted);
	assert_int_equal(op->error, 0);
}

static void a_device_has_its_time_for_each_key(void **state)
{
	struct brick_op *op = request(&other, KFB_OP_UNMAP);

	(void)state;
	now_ms = 1000;
	op->owner = &other.s;
	op->n_handles = KEYS;
	op->handles = calloc(KEYS, sizeof(*op->handles));
	assert_non_null(op->handles);
	op->is_revoking = true;
	requests.n_revoking = 1;
	other.conn.is_disconnecting = true; /* nothing is said */
	TAILQ_INSERT_TAIL(&requests.unrevoked, op, revoke_link);
	brick_unmaps_due(&requests);
	assert_ptr_equal(submitted, &op->work);
	/* Others may be before it for as long as they take. */
	now_ms += 60000;
	brick_unmaps_due(&requests);
	assert_true(op->is_revoking);
	assert_int_equal(brick_unmaps_next_ms(&requests), now_ms + 500);
	revoke(op, 499);
	assert_true(op->is_revoking);
	revoke(op, 500);
	assert_false(op->is_revoking);
	assert_int_equal(requests.n_revoking, 0);
	assert_true(brick_unmaps_next_ms(&requests) == KFB_TIME_NEVER);
	now_ms = 0;
	free(op->handles);
	free(op);
}

/* ---- fences ---- */

static void forgotten(struct brick_op *op)
{
	(void)op;
	fail();
}

static void a_fence_waits_for_all_sessions_that_were_to_end(void **state)
{
	struct brick_op *op = request(&other, KFB_OP_FENCE);

	(void)state;
	assert_int_equal(kfb_credits_take(&op->queue->credits, KFB_OP_FENCE),
			 0);
	op->fenced = &client;
	brick_op_await(op, &requests.ending, forgotten);
	sessions.holdings[client.number] = &mine;
	mine.n_sessions = 3; /* one of them came later */
	mine.n_ending = 2;
	brick_fences_ended(&sessions, &client);
	assert_ptr_equal(TAILQ_FIRST(&requests.ending), op);
	mine.n_ending = 0;
	brick_fences_ended(&sessions, &stranger);
	assert_ptr_equal(TAILQ_FIRST(&requests.ending), op);
	brick_fences_ended(&sessions, &client);
	assert_true(TAILQ_EMPTY(&requests.ending));
	assert_int_equal(n_answers, 0);
	(void)brick_flows_serve(&flows);
	assert_int_equal(n_answers, 1);
	assert_int_equal(answer.op, KFB_OP_FENCE);
	assert_int_equal(answer.status, KFB_ST_OK);
}

/* The one that ends fences the stranger, of whose sessions one is ending already. */
static void fence_stranger(void)
{
	struct brick_op *op = request(&ends, KFB_OP_FENCE);

	fencer.is_fencer = true;
	ends.s.client = &fencer;
	sessions.fences.path = "fences";
	sessions.holdings[stranger.number] = &theirs;
	theirs.n_ending = 1;
	op->req.u.fence.what = KFB_FENCE_EVICT;
	strcpy(op->req.u.fence.name, stranger.name);
	brick_op_fence(op);
	assert_int_equal(n_answers, 0);
}

/* Whoever waits for others while others wait for it would do so for ever. */
static void waits_for_nobody(void)
{
	serve_all();
	assert_int_equal(ends.s.n_ops, 0);
	assert_ptr_equal(submitted, &ends.s.teardown);
	assert_true(TAILQ_EMPTY(&requests.ending));
	assert_true(TAILQ_EMPTY(&ends.s.waiting));
	/* Nor does anybody answer it later. */
	theirs.n_ending = 0;
	brick_fences_ended(&sessions, &stranger);
}

static void a_session_that_ends_waits_for_no_other_one(void **state)
{
	(void)state;
	sessions.fences.n = 1;
	sessions.fences.list[0] =
		(struct brick_fence){ .name = "stranger", .is_kept_out = true };
	fence_stranger();
	assert_false(TAILQ_EMPTY(&requests.ending));
	begin_to_end();
	waits_for_nobody();
}

static void a_session_ends_before_it_would_wait_for_another_one(void **state)
{
	struct brick_work *write;

	(void)state;
	fence_stranger();
	write = submitted;
	assert_non_null(write);
	begin_to_end();
	assert_ptr_equal(submitted, write);
	write->done(write);
	assert_true(brick_fences_has(&sessions.fences, stranger.name));
	waits_for_nobody();
}

/*
 * All marks are those of RESERVEs that wait, perhaps for this session: one of the
 * session that ends is queued, and one of another session behind it, for so many blocks.
 */
static void queue_reserves(uint64_t n_blocks)
{
	struct brick_op *first = request(&ends, KFB_OP_RESERVE);
	struct brick_op *next = request(&stays, KFB_OP_RESERVE);

	requests.reservations.path = "reservations";
	requests.reserve_marks = UINT64_MAX;
	/* Its own, of one that waits behind the file, is free when it ends. */
	first->reserve.mark = 1;
	TAILQ_INSERT_TAIL(&sessions.list, &stays.s, link);
	strcpy(client.name, "client");
	brick_op_reserve(first);
	assert_ptr_equal(TAILQ_FIRST(&requests.reserving.of[0]), first);
	next->req.u.reserve.range.n_blocks = n_blocks;
	assert_int_equal(kfb_credits_take(&stays.s.queues[0]->credits,
					  KFB_OP_RESERVE),
			 0);
	brick_op_reserve(next);
	assert_int_equal(n_answers, 0);
}

static void a_reserve_whose_session_ends_waits_for_no_mark(void **state)
{
	(void)state;
	/* The one behind it asks for a range that is none. */
	queue_reserves(0);
	stays.s.reserve_marks = 3;
	begin_to_end();
	serve_all();
	assert_int_equal(ends.s.n_ops, 0);
	assert_ptr_equal(submitted, &ends.s.teardown);
	assert_true(TAILQ_EMPTY(&requests.reserving.of[0]));
	assert_int_equal(requests.reserve_marks, UINT64_MAX - 1);
	assert_int_equal(stays.s.reserve_marks, 2);
	assert_int_equal(n_answers, 1);
}

/*
 * All sessions of a client end, one after the other. What the next one has asked for
 * is decided when the first one has ended, and the client was fenced before.
 */
static void nothing_is_reserved_for_a_client_that_was_fenced(void **state)
{
	(void)state;
	/* The client has no grant: it would be told so. */
	queue_reserves(1);
	sessions.fences.n = 1;
	sessions.fences.list[0] =
		(struct brick_fence){ .name = "client", .is_kept_out = true };
	begin_to_end();
	serve_all();
	assert_true(TAILQ_EMPTY(&requests.reserving.of[0]));
	assert_int_equal(n_answers, 1);
	assert_int_equal(answer.status, KFB_ST_SHUTDOWN);
	assert_false(requests.is_reserving);
}

/* ---- RESERVEs ---- */

static void register_block(struct event_rig *rig, uint64_t block)
{
	struct brick_op *op = request(rig, KFB_OP_RESERVE);

	op->req.u.reserve = (struct kfb_reserve){
		.range = { block << KFB_BLOCK_SHIFT, 1 },
		.action = KFB_RESERVE_REGISTER,
		.new_key = 1,
	};
	assert_int_equal(kfb_credits_take(&op->queue->credits, KFB_OP_RESERVE),
			 0);
	brick_op_reserve(op);
}

/* The file says what was submitted last. */
static void write_next(const struct event_rig *whose, uint64_t block)
{
	struct brick_work *write = submitted;
	const struct brick_op *op =
		brick_container_of(write, struct brick_op, work);

	assert_non_null(write);
	assert_ptr_equal(op->session, &whose->s);
	assert_int_equal(op->req.u.reserve.range.va, block << KFB_BLOCK_SHIFT);
	submitted = NULL;
	write->done(write);
}

/* Each takes syncs of a file: who asks for many keeps nobody from fencing. */
static void reserves_are_written_by_turns_of_their_clients(void **state)
{
	static const struct kfb_grant all = { .n_blocks = 100,
					      .access = KFB_GRANT_RW };
	struct brick_reservations *disks = &requests.reservations;

	(void)state;
	strcpy(client.name, "client");
	assert_int_equal(brick_grants_add(&client.grants, &all), 0);
	assert_int_equal(brick_grants_add(&stranger.grants, &all), 0);
	disks->path = "reservations";
	register_block(&stays, 1);
	register_block(&stays, 2);
	register_block(&ends, 3);
	register_block(&other, 4);
	write_next(&stays, 1);
	write_next(&other, 4);
	/* What it asks for now comes behind what others have waited with. */
	register_block(&other, 5);
	write_next(&stays, 2);
	write_next(&other, 5);
	write_next(&ends, 3);
	assert_null(submitted);
	serve_all();
	assert_int_equal(n_answers, 5);
	assert_int_equal(disks->n, 5);
	while (disks->n)
		free(disks->list[--disks->n]);
	memset(&client.grants, 0, sizeof(client.grants));
	memset(&stranger.grants, 0, sizeof(stranger.grants));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		END_TEST(
			a_session_begins_to_end_without_a_look_at_its_mappings),
		END_TEST(a_list_passes_what_a_session_leaves_in_pieces),
		END_TEST(a_list_in_pieces_ends_with_its_session),
		END_TEST(what_is_to_be_flushed_is_looked_up_by_the_registrar),
		END_TEST(
			requests_of_a_session_that_ends_are_cancelled_in_pieces),
		END_TEST(
			a_request_gets_its_blocks_between_two_that_are_cancelled),
		END_TEST(
			the_last_request_finishes_while_others_are_to_be_cancelled),
		END_TEST(one_more_than_may_overlap_is_to_be_tried_again),
		END_TEST(
			an_unmap_waits_for_the_endpoints_of_a_key_that_is_still_good),
		END_TEST(a_device_has_its_time_for_each_key),
		END_TEST(a_fence_waits_for_all_sessions_that_were_to_end),
		END_TEST(a_session_that_ends_waits_for_no_other_one),
		END_TEST(a_session_ends_before_it_would_wait_for_another_one),
		END_TEST(a_reserve_whose_session_ends_waits_for_no_mark),
		END_TEST(nothing_is_reserved_for_a_client_that_was_fenced),
		END_TEST(reserves_are_written_by_turns_of_their_clients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
