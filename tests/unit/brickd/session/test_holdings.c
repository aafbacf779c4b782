// SPDX-License-Identifier: BSD-2-Clause
/* What a client has through all its sessions, and LIST of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>

#include "brickd/config/config.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/session.h"
#include "brickd/storage/storage.h"
#include "event_rig.h"
#include "../storage/flush_rig.h"

#define SESSIONS     4 /* the last one is admitted by a test */
#define HIDDEN_BYTES 65536
#define MAPPINGS     40
#define PAGE	     7

static struct brick_storage storage;
static struct brick_sessions sessions;
static struct brick_ops requests;
static struct brick_client client, stranger = { .number = 1 };
static struct brick_fabric fences = { .mr_fences = true };
static struct brick_fabric fences_not;
static struct event_rig rigs[SESSIONS];
static struct kfb_reply answer;
static const struct brick_conn *answered; /* whose answer that is */

void __wrap_brick_conn_send(struct brick_conn *c,
			    const struct kfb_reply *reply);

void __wrap_brick_conn_send(struct brick_conn *c, const struct kfb_reply *reply)
{
	answered = c;
	answer = *reply;
}

static bool cancel(struct brick_session *s)
{
	(void)s;
	return false;
}

static void ended(struct brick_sessions *all, const struct brick_client *whose)
{
	(void)all;
	(void)whose;
}

static const struct brick_session_ops session_ops = {
	.cancel = cancel,
	.ended = ended,
};

static void admit(struct event_rig *rig, struct brick_fabric *fabric,
		  const struct brick_client *who)
{
	static const uint8_t key[KFB_KEY_BYTES];

	rig->s.fabric = fabric;
	rig->s.state = KFB_SESSION_OPENING;
	rig->s.holdings = calloc(1, sizeof(*rig->s.holdings));
	assert_non_null(rig->s.holdings);
	TAILQ_INIT(&rig->s.holdings->late);
	brick_session_admit(&rig->s, who, key);
}

static int begin(void **state)
{
	(void)state;
	if (flush_rig_open(&storage, "memory:64M", 1, NULL, NULL))
		return -1;
	memset(&sessions, 0, sizeof(sessions));
	memset(&requests, 0, sizeof(requests));
	sessions.storage = &storage;
	sessions.counters = storage.counters;
	sessions.requests = &requests;
	STAILQ_INIT(&requests.lists);
	sessions.ops = &session_ops;
	requests.storage = &storage;
	requests.counters = storage.counters;
	requests.sessions = &sessions;
	TAILQ_INIT(&sessions.list);
	brick_leases_init(&sessions.leases, 60000);
	brick_mappings_init(&sessions.mappings, 1, brick_session_is_ending);
	for (size_t i = 0; i < SESSIONS; i++) {
		if (rig_begin(&rigs[i], &sessions))
			return -1;
		TAILQ_INSERT_TAIL(&sessions.list, &rigs[i].s, link);
	}
	admit(&rigs[0], &fences, &client);
	admit(&rigs[1], &fences_not, &client);
	admit(&rigs[2], &fences_not, &stranger);
	return 0;
}

static int end(void **state)
{
	(void)state;
	while (sessions.mappings.by_block.root) {
		struct brick_mapping *m =
			sessions.mappings.by_block.root->owner;

		brick_mappings_shorten(&sessions.mappings, m);
		free(m->handles);
		free(m);
	}
	free(rigs[0].s.holdings);
	free(rigs[2].s.holdings);
	for (size_t i = 0; i < SESSIONS; i++)
		rig_end(&rigs[i]);
	flush_rig_close(&storage);
	return 0;
}

static struct brick_mapping *map(struct brick_session *s, uint64_t first)
{
	return rig_map(s, first, KFB_MAP_RW | KFB_MAP_SHARED);
}

/* Mappings of both sessions in turn, with a stranger's before each. */
static void map_many(struct brick_mapping *mine[MAPPINGS])
{
	for (size_t i = 0; i < MAPPINGS; i++) {
		struct brick_mapping *theirs = map(&rigs[2].s, i);

		/* Whoever looks whose it is does not come back. */
		TAILQ_REMOVE(&rigs[2].s.mappings, theirs, session_link);
		theirs->session = NULL;
		mine[i] = map(&rigs[i % 2].s, MAPPINGS - i);
	}
}

static void ask(struct event_rig *rig, uint16_t slot, uint32_t what,
		uint64_t cursor)
{
	struct brick_op *op = calloc(1, sizeof(*op));

	assert_non_null(op);
	op->session = &rig->s;
	op->queue = rig->s.queues[0];
	op->generation = op->queue->generation;
	op->req.op = KFB_OP_LIST;
	op->req.cookie.slot = slot;
	op->req.u.list = (struct kfb_list){
		.what = what,
		.max_extents = PAGE,
		.cursor = cursor,
	};
	rig->s.n_ops++;
	if (!slot)
		assert_int_equal(kfb_credits_init(&op->queue->credits,
						  KFB_CREDITS_MIN),
				 0);
	assert_int_equal(kfb_credits_take(&op->queue->credits, KFB_OP_LIST), 0);
	brick_op_list(op);
}

static uint64_t list_mine(uint64_t cursor)
{
	ask(&rigs[0], 0, KFB_LIST_MINE, cursor);
	assert_int_equal(answer.op, KFB_OP_LIST);
	assert_int_equal(answer.status, KFB_ST_OK);
	return answer.u.list.cursor;
}

static void sessions_of_one_client_have_the_same(void **state)
{
	(void)state;
	assert_ptr_equal(rigs[0].s.holdings, rigs[1].s.holdings);
	assert_ptr_not_equal(rigs[0].s.holdings, rigs[2].s.holdings);
	assert_int_equal(rigs[0].s.holdings->n_sessions, 2);
	/* They have their turns in the loop together, too, also on connections. */
	assert_ptr_equal(rigs[0].s.flow, &sessions.flows[client.number]);
	assert_ptr_equal(rigs[1].s.flow, rigs[0].s.flow);
	assert_ptr_equal(rigs[1].conn.flow, rigs[0].s.flow);
	assert_ptr_equal(rigs[1].s.flushes.flow, rigs[0].s.flow);
	assert_ptr_equal(rigs[2].s.flow, &sessions.flows[stranger.number]);
	assert_ptr_equal(TAILQ_FIRST(&rigs[0].s.holdings->late), &rigs[1].s);
	assert_null(TAILQ_NEXT(&rigs[1].s, late_link));
}

/* There may be tens of thousands of others. */
static void a_session_is_admitted_without_a_look_at_others(void **state)
{
	struct brick_session *hidden =
		mmap(NULL, HIDDEN_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(hidden, MAP_FAILED);
	hidden->client = &stranger;
	TAILQ_INSERT_HEAD(&sessions.list, hidden, link);
	assert_int_equal(mprotect(hidden, HIDDEN_BYTES, PROT_NONE), 0);
	admit(&rigs[3], &fences, &client);
	assert_ptr_equal(rigs[3].s.holdings, rigs[0].s.holdings);
	assert_int_equal(rigs[0].s.holdings->n_sessions, 3);
	assert_int_equal(mprotect(hidden, HIDDEN_BYTES, PROT_READ | PROT_WRITE),
			 0);
	TAILQ_REMOVE(&sessions.list, hidden, link);
	munmap(hidden, HIDDEN_BYTES);
}

static void its_mappings_are_listed_by_their_numbers(void **state)
{
	struct brick_mapping *mine[MAPPINGS];
	uint64_t cursor = 0;
	size_t n = 0;

	(void)state;
	map_many(mine);
	do {
		cursor = list_mine(cursor);
		assert_true(answer.u.list.n_extents == PAGE || !cursor);
		for (uint32_t i = 0; i < answer.u.list.n_extents; i++) {
			const struct kfb_list_extent *e =
				&answer.u.list.extents[i];

			assert_true(n < MAPPINGS);
			assert_int_equal(e->mapping_id, mine[n]->id);
			assert_int_equal(e->va, (MAPPINGS - n)
							<< KFB_BLOCK_SHIFT);
			n++;
		}
	} while (cursor);
	assert_int_equal(n, MAPPINGS);
}

static void a_list_goes_on_where_a_mapping_was(void **state)
{
	struct brick_mapping *mine[MAPPINGS];
	struct brick_handle *out;
	uint64_t cursor;

	(void)state;
	map_many(mine);
	cursor = list_mine(0);
	assert_int_equal(cursor, mine[PAGE]->id);
	assert_int_equal(brick_mappings_take_handles(&sessions.mappings,
						     mine[PAGE], 0, 1, &out),
			 0);
	brick_mappings_forget(&sessions.mappings, out, 1);
	brick_holdings_flushed(rigs[0].s.holdings, out, 1);
	free(out);
	TAILQ_REMOVE(&mine[PAGE]->session->mappings, mine[PAGE], session_link);
	brick_mapping_put(mine[PAGE]);
	(void)list_mine(cursor);
	assert_int_equal(answer.u.list.extents[0].mapping_id,
			 mine[PAGE + 1]->id);
}

static void what_a_session_leaves_is_not_listed(void **state)
{
	struct brick_mapping *mine[MAPPINGS];
	struct brick_span span;

	(void)state;
	map_many(mine);
	rigs[1].s.queues[0]->conn = NULL;
	rigs[1].s.n_ops = 1; /* it ends no further */
	brick_session_fence(&rigs[1].s, "test");
	(void)list_mine(0);
	for (size_t i = 0; i < PAGE; i++)
		assert_int_equal(answer.u.list.extents[i].mapping_id,
				 mine[2 * i]->id);
	/* What came through it is not durable yet. */
	assert_true(brick_holdings_written(rigs[0].s.holdings, MAPPINGS - 1,
					   &span));
	assert_int_equal(span.first, MAPPINGS - 1);
}

static void expect_answer_of(const struct event_rig *rig, bool more)
{
	answered = NULL;
	assert_int_equal(brick_lists_before_wait(&requests), more);
	assert_ptr_equal(answered, rig->s.queues[0]->conn);
	assert_int_equal(answer.status, KFB_ST_OK);
}

/* Each looks at what all have mapped: one at a time, and of each client in turn. */
static void lists_of_mapped_blocks_take_turns(void **state)
{
	(void)state;
	answered = NULL;
	ask(&rigs[0], 0, KFB_LIST_MAPPED, 0);
	ask(&rigs[0], 1, KFB_LIST_MAPPED, 0);
	ask(&rigs[1], 0, KFB_LIST_MAPPED, 0);
	ask(&rigs[2], 0, KFB_LIST_MAPPED, 0);
	assert_null(answered);
	expect_answer_of(&rigs[0], true);
	expect_answer_of(&rigs[2], true);
	expect_answer_of(&rigs[0], true);
	expect_answer_of(&rigs[1], false);
	assert_false(brick_lists_before_wait(&requests));
}

static void a_list_of_a_session_that_ends_is_not_made(void **state)
{
	(void)state;
	ask(&rigs[0], 0, KFB_LIST_MAPPED, 0);
	rigs[0].s.n_ops++; /* it ends no further */
	rigs[0].s.state = KFB_SESSION_FENCING;
	assert_false(brick_lists_before_wait(&requests));
	assert_int_equal(answer.status, KFB_ST_SHUTDOWN);
	assert_int_equal(rigs[0].s.n_ops, 1);
}

#define HOLDINGS_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HOLDINGS_TEST(sessions_of_one_client_have_the_same),
		HOLDINGS_TEST(a_session_is_admitted_without_a_look_at_others),
		HOLDINGS_TEST(its_mappings_are_listed_by_their_numbers),
		HOLDINGS_TEST(a_list_goes_on_where_a_mapping_was),
		HOLDINGS_TEST(what_a_session_leaves_is_not_listed),
		HOLDINGS_TEST(lists_of_mapped_blocks_take_turns),
		HOLDINGS_TEST(a_list_of_a_session_that_ends_is_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
