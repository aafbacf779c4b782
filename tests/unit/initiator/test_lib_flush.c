// SPDX-License-Identifier: BSD-2-Clause
/*
 * The library's flushes over two queues, without a fabric: the test posts the ops
 * and says what became of them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "internal.h"
#include "kfb_err.h"

#define QUEUES 2

static struct kfbrick *k;
static struct kfbl_op op;

/* A session that lives, and a write on each queue. */
static int setup(void **state)
{
	uint32_t i;

	k = calloc(1, sizeof(*k));
	assert_non_null(k);
	STAILQ_INIT(&k->flushing);
	STAILQ_INIT(&k->done);
	k->n_queues = QUEUES;
	k->flush_mode = KFB_FLUSH_MESSAGE;
	k->client.state = KFB_CLIENT_LIVE;
	for (i = 0; i < QUEUES; i++) {
		kfb_flush_init(&k->flush[i], KFB_FLUSH_POSTED_MAX);
		kfb_flush_wrote(&k->flush[i], i * KFB_BLOCK_BYTES, 512);
	}
	op = (struct kfbl_op){ .state = KFBL_OP_ACTIVE, .durable = true };
	k->n_active = 1;
	return 0;
}

static int teardown(void **state)
{
	free(k);
	return 0;
}

static uint64_t post(uint32_t queue)
{
	struct kfb_flush_op *posted = kfb_flush_post(&k->flush[queue]);

	assert_non_null(posted);
	return posted->id;
}

static void answer(uint32_t queue, uint64_t id, uint16_t status)
{
	struct kfb_outcome outcome = {
		.kind = KFB_OUTCOME_REPLY,
		.op = KFB_OP_FLUSH,
		.status = status,
		.error = status ? -EIO : 0,
	};

	kfbl_flush_answered(k, queue, id, &outcome);
}

/* Queue 0 is refused, and then queue 1 loses its connection. */
static void refuse_and_cut(void)
{
	uint64_t first = post(0);

	post(1);
	answer(0, first, KFB_ST_IO);
	assert_int_equal(op.state, KFBL_OP_ACTIVE);
	kfbl_flush_lost(k, 1);
	assert_true(kfbl_flush_pump(k));
}

static void a_refused_flush_stays_refused_when_it_begins_again(void **state)
{
	kfbl_flush_follow(k, &op);
	refuse_and_cut();
	answer(0, post(0), KFB_ST_OK);
	answer(1, post(1), KFB_ST_OK);
	assert_int_equal(op.state, KFBL_OP_DONE);
	assert_int_equal(op.error, -EIO);
	assert_int_equal(k->untold_error, -EIO);
}

/* Others have made it durable by then: there is no op to wait for. */
static void a_refused_flush_stays_refused_without_anything_dirty(void **state)
{
	struct kfb_dirty writes = { 0 };
	uint64_t first;
	uint32_t i;

	kfbl_flush_follow(k, &op);
	first = post(0);
	post(1);
	answer(0, first, KFB_ST_IO);
	kfbl_flush_lost(k, 1);
	for (i = 0; i < QUEUES; i++)
		kfb_flush_take(&k->flush[i], &writes);
	kfbl_flush_pump(k);
	assert_int_equal(op.state, KFBL_OP_DONE);
	assert_int_equal(op.error, -EIO);
}

static void the_next_use_of_an_op_knows_nothing_of_the_last(void **state)
{
	kfbl_flush_follow(k, &op);
	refuse_and_cut();
	answer(0, post(0), KFB_ST_OK);
	answer(1, post(1), KFB_ST_OK);
	assert_int_equal(op.state, KFBL_OP_DONE);

	op.state = KFBL_OP_ACTIVE;
	kfb_flush_wrote(&k->flush[1], 0, 512);
	kfbl_flush_follow(k, &op);
	answer(1, post(1), KFB_ST_OK);
	assert_int_equal(op.state, KFBL_OP_DONE);
	assert_int_equal(op.error, 0);
}

static void a_lost_connection_alone_is_no_error(void **state)
{
	kfbl_flush_follow(k, &op);
	answer(0, post(0), KFB_ST_OK);
	post(1);
	kfbl_flush_lost(k, 1);
	kfbl_flush_pump(k);
	answer(1, post(1), KFB_ST_OK);
	assert_int_equal(op.state, KFBL_OP_DONE);
	assert_int_equal(op.error, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_refused_flush_stays_refused_when_it_begins_again),
		CASE(a_refused_flush_stays_refused_without_anything_dirty),
		CASE(the_next_use_of_an_op_knows_nothing_of_the_last),
		CASE(a_lost_connection_alone_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
