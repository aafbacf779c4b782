// SPDX-License-Identifier: BSD-2-Clause
/*
 * The store thread's turns: on a store in memory whose free slots are all dirty,
 * with the thread held up while it zeroes or commits until the test lets it go.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <semaphore.h>
#include <cmocka.h>

#include "brickd/base/util.h"
#include "brickd/storage/changes.h"
#include "brickd/storage/storage.h"
#include "flush_rig.h"

#define BLOCK	KFB_BLOCK_BYTES
#define DIRTY	60
#define SLICE	1 /* slots of one client that others wait for */
#define SYNCED	16 /* the same where each time takes a sync */
#define CHURN	16
#define HUNGRY	5
#define ROUNDS	8
#define CHANGES 300
#define AT(who) ((uint64_t)(who) << 32) /* where its blocks begin */

static struct brick_storage storage;
static struct brick_media_ops hooked;
static struct brick_mailbox box;
static sem_t begun, go_on;
static bool holds; /* the next slot that is zeroed, or commit, is held up */
static bool commits;
static bool watches; /* all that is committed is a test's */
static uint64_t n_zeroed;
static uint64_t n_zeroed_in_commit;
static unsigned int n_commits;
static unsigned int n_done;

/*
 * struct numbered - a change
 * @place: which one it was to be done
 * @commit: of which commit
 * @zeroed_by: slots that had been zeroed before that
 */
struct numbered {
	struct brick_changes changes;
	struct brick_store_op op;
	unsigned int place;
	unsigned int commit;
	uint64_t zeroed_by;
	_Atomic uint64_t n_zeroed_for;
};

void __real_brick_store_commit(struct brick_store *s,
			       struct brick_store_op *ops);
void __wrap_brick_store_commit(struct brick_store *s,
			       struct brick_store_op *ops);

static void hold(void)
{
	if (!__atomic_exchange_n(&holds, false, __ATOMIC_ACQ_REL))
		return;
	sem_post(&begun);
	sem_wait(&go_on);
}

void __wrap_brick_store_commit(struct brick_store *s,
			       struct brick_store_op *ops)
{
	n_commits++;
	commits = true;
	hold();
	for (struct brick_store_op *op = ops; watches && op; op = op->next) {
		struct numbered *c =
			brick_container_of(op, struct numbered, op);

		c->commit = n_commits;
		c->zeroed_by = n_zeroed;
	}
	__real_brick_store_commit(s, ops);
	commits = false;
}

static void zero(struct brick_media *m, uint64_t off, size_t len)
{
	(void)m;
	(void)off;
	hold();
	n_zeroed += len / BLOCK;
	if (commits)
		n_zeroed_in_commit += len / BLOCK;
}

/* Takes all blocks but those of the first client, and has its freed. */
static int fill(void)
{
	struct brick_store_op alloc = { .kind = BRICK_STORE_ALLOC };
	struct brick_store_op freed = { .kind = BRICK_STORE_FREE };
	struct brick_store_stats stats;

	brick_store_stats(storage.store, &stats);
	alloc.va = AT(9);
	alloc.n_blocks = stats.slots_total - DIRTY;
	freed.n_blocks = DIRTY;
	__real_brick_store_commit(storage.store, &alloc);
	__real_brick_store_commit(storage.store, &freed);
	return alloc.error ? alloc.error : freed.error;
}

static int begin(void **state)
{
	(void)state;
	if (flush_rig_open(&storage, "memory:256M", DIRTY, NULL, NULL) ||
	    fill())
		return -1;
	hooked = *storage.media->ops;
	hooked.zero = zero;
	storage.media->ops = &hooked;
	n_zeroed = 0;
	n_zeroed_in_commit = 0;
	n_commits = 0;
	n_done = 0;
	watches = true;
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	storage.store_thread =
		(struct brick_worker){ .name = "store",
				       .run = brick_store_thread_run,
				       .ctx = &storage,
				       .box = &box };
	return brick_mailbox_init(&box) ||
	       brick_worker_start(&storage.store_thread);
}

static int end(void **state)
{
	(void)state;
	brick_worker_stop(&storage.store_thread);
	watches = false;
	brick_mailbox_deliver(&box);
	brick_mailbox_fini(&box);
	flush_rig_close(&storage);
	return 0;
}

static void count_done(struct brick_work *work)
{
	brick_container_of(work, struct numbered, changes.work)->place =
		n_done++;
}

static void number(struct numbered *c, const void *whose,
		   enum brick_store_op_kind kind, uint64_t va,
		   uint64_t n_blocks)
{
	*c = (struct numbered){
		.op = { .kind = kind, .va = va, .n_blocks = n_blocks },
	};
	c->changes.work.done = count_done;
	c->changes.whose = whose;
	c->changes.zeroed_blocks = &c->n_zeroed_for;
	c->changes.n = 1;
	c->changes.list = &c->op;
}

static void submit(struct numbered *c, const void *whose,
		   enum brick_store_op_kind kind, uint64_t va,
		   uint64_t n_blocks)
{
	number(c, whose, kind, va, n_blocks);
	brick_changes_submit(&storage, &c->changes);
}

static void submit_held(struct numbered *c, const void *whose,
			enum brick_store_op_kind kind, uint64_t va,
			uint64_t n_blocks)
{
	__atomic_store_n(&holds, true, __ATOMIC_RELEASE);
	submit(c, whose, kind, va, n_blocks);
	sem_wait(&begun);
}

static void a_neighbour_waits_for_one_slice_of_zeroing(void **state)
{
	struct numbered large = { 0 }, small = { 0 };

	(void)state;
	submit_held(&large, &large, BRICK_STORE_ALLOC, AT(1), DIRTY - 1);
	submit(&small, &small, BRICK_STORE_ALLOC, AT(2), 1);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, 2);
	assert_int_equal(large.op.error, 0);
	assert_int_equal(small.op.error, 0);
	assert_int_equal(small.place, 0);
	assert_true(small.zeroed_by <= 2 * SLICE + 1);
	/* None is zeroed twice, or while others wait for the commit. */
	assert_int_equal(n_zeroed, DIRTY);
	assert_int_equal(n_zeroed_in_commit, 0);
	assert_int_equal(large.n_zeroed_for, DIRTY - 1);
	assert_int_equal(small.n_zeroed_for, 1);
}

static void where_it_takes_a_sync_a_slice_is_of_more_than_one_slot(void **state)
{
	struct numbered large = { 0 }, small = { 0 };

	(void)state;
	storage.media->granularity = BRICK_GRANULARITY_PAGE;
	submit_held(&large, &large, BRICK_STORE_ALLOC, AT(1), DIRTY - 1);
	submit(&small, &small, BRICK_STORE_ALLOC, AT(2), 1);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, 2);
	assert_int_equal(small.op.error, 0);
	assert_true(small.zeroed_by > SYNCED);
	assert_true(small.zeroed_by <= 2 * SYNCED + 1);
	assert_int_equal(n_zeroed, DIRTY);
}

/* However many others want however much zeroed. */
static void
what_needs_no_zeroing_waits_for_one_slice_of_one_client(void **state)
{
	struct numbered hungry[HUNGRY] = { 0 }, other = { 0 };

	(void)state;
	submit_held(&hungry[0], &hungry[0], BRICK_STORE_ALLOC, AT(1), 8);
	for (size_t i = 1; i < HUNGRY; i++)
		submit(&hungry[i], &hungry[i], BRICK_STORE_ALLOC, AT(1 + i), 8);
	/* It comes while a slice of the next one is zeroed. */
	__atomic_store_n(&holds, true, __ATOMIC_RELEASE);
	sem_post(&go_on);
	sem_wait(&begun);
	submit(&other, &other, BRICK_STORE_BIRTH, AT(9), 1);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, HUNGRY + 1);
	assert_int_equal(other.op.error, 0);
	assert_int_equal(other.place, 0);
	assert_true(other.zeroed_by <= 2 * SLICE);
	for (size_t i = 0; i < HUNGRY; i++) {
		assert_int_equal(hungry[i].op.error, 0);
		assert_int_equal(hungry[i].n_zeroed_for, 8);
	}
}

static int drain_fails(struct brick_media *m)
{
	(void)m;
	return -EIO;
}

static void who_cannot_have_it_zeroed_is_told_so(void **state)
{
	struct numbered alloc = { 0 };

	(void)state;
	hooked.drain = drain_fails;
	submit(&alloc, &alloc, BRICK_STORE_ALLOC, AT(1), 3);
	flush_rig_wait(&box, &n_done, 1);
	assert_int_equal(alloc.op.error, -EIO);
}

/* Else somebody who allocates and frees takes whatever is zeroed for others. */
static void what_is_zeroed_for_one_is_kept_for_it(void **state)
{
	struct numbered large = { 0 }, churn[2 * ROUNDS], again = { 0 };

	(void)state;
	submit_held(&large, &large, BRICK_STORE_ALLOC, AT(1), 2 * CHURN + 8);
	for (size_t i = 0; i < BRICK_ARRAY_SIZE(churn); i++)
		submit(&churn[i], churn,
		       i % 2 ? BRICK_STORE_FREE : BRICK_STORE_ALLOC, AT(2),
		       CHURN);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, BRICK_ARRAY_SIZE(churn) + 1);
	for (size_t i = 0; i < BRICK_ARRAY_SIZE(churn); i++)
		assert_int_equal(churn[i].op.error, 0);
	assert_int_equal(large.op.error, 0);
	assert_true(large.commit <= 5);
	assert_int_equal(n_zeroed_in_commit, 0);
	assert_int_equal(n_zeroed, 2 * CHURN + 8 + ROUNDS * CHURN);
	/* Nothing is kept for what is over. */
	submit(&again, &again, BRICK_STORE_ALLOC, AT(3), CHURN);
	flush_rig_wait(&box, &n_done, BRICK_ARRAY_SIZE(churn) + 2);
	assert_int_equal(again.op.error, 0);
	assert_int_equal(n_zeroed, 2 * CHURN + 8 + (ROUNDS + 1) * CHURN);
}

static void what_is_kept_for_a_cancelled_one_is_free_again(void **state)
{
	struct numbered large = { 0 }, next = { 0 };

	(void)state;
	submit_held(&large, &large, BRICK_STORE_ALLOC, AT(1), DIRTY);
	brick_changes_cancel(&large.changes);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, 1);
	assert_int_equal(large.op.error, -EACCES);
	submit(&next, &next, BRICK_STORE_ALLOC, AT(2), CHURN);
	flush_rig_wait(&box, &n_done, 2);
	assert_int_equal(next.op.error, 0);
	assert_int_equal(n_zeroed, CHURN);
}

static void what_cannot_be_has_nothing_zeroed(void **state)
{
	struct numbered full = { 0 }, there = { 0 };

	(void)state;
	submit(&full, &full, BRICK_STORE_ALLOC, AT(1), DIRTY + 1);
	submit(&there, &there, BRICK_STORE_ALLOC, AT(9), DIRTY);
	flush_rig_wait(&box, &n_done, 2);
	assert_int_equal(full.op.error, -ENOSPC);
	assert_int_equal(there.op.error, -EEXIST);
	assert_int_equal(n_zeroed, 0);
}

/* They come free with the commit that the ALLOC cannot be in. */
static void an_alloc_has_what_its_client_freed_before(void **state)
{
	struct numbered full = { 0 }, other = { 0 }, freed = { 0 },
			alloc = { 0 };

	(void)state;
	submit(&full, &full, BRICK_STORE_ALLOC, AT(1), DIRTY);
	flush_rig_wait(&box, &n_done, 1);
	submit_held(&other, &other, BRICK_STORE_BIRTH, AT(1), 1);
	submit(&freed, &freed, BRICK_STORE_FREE, AT(9), CHURN + 4);
	submit(&alloc, &freed, BRICK_STORE_ALLOC, AT(2), CHURN + 4);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, 4);
	assert_int_equal(full.op.error, 0);
	assert_int_equal(freed.op.error, 0);
	assert_int_equal(alloc.op.error, 0);
	assert_int_equal(n_zeroed_in_commit, 0);
	assert_int_equal(n_zeroed, DIRTY + CHURN + 4);
}

/* What its client has freed has to be zeroed first, outside of a commit. */
static void
an_alloc_within_the_quota_again_is_not_zeroed_in_a_commit(void **state)
{
	struct numbered held = { 0 }, freed = { 0 }, alloc = { 0 },
			over = { 0 };

	(void)state;
	submit_held(&held, &held, BRICK_STORE_BIRTH, AT(9), 1);
	number(&freed, &held, BRICK_STORE_BIRTH, AT(9), CHURN + 4);
	freed.op.owner = 7;
	brick_changes_submit(&storage, &freed.changes);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, 2);
	submit_held(&held, &held, BRICK_STORE_BIRTH, AT(9) + 32 * BLOCK, 1);
	number(&freed, &freed, BRICK_STORE_FREE, AT(9), CHURN + 4);
	brick_changes_submit(&storage, &freed.changes);
	number(&alloc, &freed, BRICK_STORE_ALLOC, AT(2), CHURN + 4);
	alloc.op.owner = 7;
	alloc.op.has_quota = true;
	alloc.op.quota_blocks = CHURN + 4;
	brick_changes_submit(&storage, &alloc.changes);
	number(&over, &over, BRICK_STORE_ALLOC, AT(3), 1);
	over.op.owner = 7;
	over.op.has_quota = true;
	brick_changes_submit(&storage, &over.changes);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, 6);
	assert_int_equal(freed.op.error, 0);
	assert_int_equal(alloc.op.error, 0);
	assert_true(alloc.commit > freed.commit);
	/* Nobody waits for another client's FREE to hear that it may not. */
	assert_int_equal(over.op.error, -EDQUOT);
	assert_int_equal(over.commit, freed.commit);
	assert_int_equal(n_zeroed_in_commit, 0);
	assert_int_equal(n_zeroed, CHURN + 4);
}

static void a_commit_has_a_share_of_each_client(void **state)
{
	static struct numbered many[CHANGES];
	struct numbered first = { 0 }, few = { 0 };

	(void)state;
	submit_held(&first, &first, BRICK_STORE_BIRTH, AT(9), 1);
	for (size_t i = 0; i < CHANGES; i++)
		submit(&many[i], many, BRICK_STORE_BIRTH, AT(9), 50);
	submit(&few, &few, BRICK_STORE_BIRTH, AT(9), 1);
	sem_post(&go_on);
	flush_rig_wait(&box, &n_done, CHANGES + 2);
	assert_int_equal(few.commit, 2);
	for (size_t i = 0; i < CHANGES; i++) {
		assert_int_equal(many[i].op.error, 0);
		/* 4096 blocks, and the change that goes beyond them. */
		assert_int_equal(many[i].commit, 2 + i / 82);
		assert_true(!i || many[i].place > many[i - 1].place);
	}
}

#define CHANGES_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CHANGES_TEST(a_neighbour_waits_for_one_slice_of_zeroing),
		CHANGES_TEST(
			where_it_takes_a_sync_a_slice_is_of_more_than_one_slot),
		CHANGES_TEST(
			what_needs_no_zeroing_waits_for_one_slice_of_one_client),
		CHANGES_TEST(who_cannot_have_it_zeroed_is_told_so),
		CHANGES_TEST(what_is_zeroed_for_one_is_kept_for_it),
		CHANGES_TEST(what_is_kept_for_a_cancelled_one_is_free_again),
		CHANGES_TEST(what_cannot_be_has_nothing_zeroed),
		CHANGES_TEST(an_alloc_has_what_its_client_freed_before),
		CHANGES_TEST(
			an_alloc_within_the_quota_again_is_not_zeroed_in_a_commit),
		CHANGES_TEST(a_commit_has_a_share_of_each_client),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
