// SPDX-License-Identifier: BSD-2-Clause
/*
 * Calls under way: which replies are believed, whose a slot is, and how many there are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kfabric/rpc/krpc.h"

#define XID 0x01020304U

static struct krpc_conn conn;
static struct krpc_slot slots[KRPC_SLOTS];
static struct krpc_req req;
static struct km_task task;

/* There is one task. */
struct km_task *km_current(void)
{
	return &task;
}

void km_may_yield(void)
{
}

void km_broken(const char *fmt, ...)
{
	fail_msg("%s", fmt);
}

void spin_lock(spinlock_t *lock)
{
	assert_null(lock->owner);
	lock->owner = &task;
}

void spin_unlock(spinlock_t *lock)
{
	assert_ptr_equal(lock->owner, &task);
	lock->owner = NULL;
}

static void never_freed(struct kref *ref)
{
	(void)ref;
	fail_msg("RPC's own reference is gone");
}

void krpc_req_put(struct krpc_req *r)
{
	assert_ptr_equal(r, &req);
	kref_put(&r->ref, never_freed);
}

void krpc_req_fence(struct krpc_req *r)
{
	assert_ptr_equal(r, &req);
	r->n_regions = 0;
}

static int begin(void **state)
{
	(void)state;
	memset(slots, 0, sizeof(slots));
	for (u32 i = KRPC_CREDITS; i < KRPC_SLOTS; i++)
		slots[i].is_answer = true;
	conn = (struct krpc_conn){
		.slot_bytes = sizeof(slots[0]),
		.slots = (u8 *)slots,
		.granted = 1,
	};
	spin_lock_init(&conn.lock);
	kref_init(&req.ref);
	return 0;
}

/* No call is under way, and RPC alone has the request. */
static void assert_all_free(void)
{
	assert_int_equal(conn.n_used, 0);
	assert_int_equal(kref_read(&req.ref), 1);
	assert_true(krpc_slot_has_room(&conn));
}

static struct krpc_slot *take(void)
{
	struct krpc_slot *slot = krpc_slot_take(&conn, &req, XID);

	assert_true(slot && !IS_ERR(slot));
	assert_int_equal(conn.n_used, 1);
	assert_int_equal(kref_read(&req.ref), 2);
	return slot;
}

static void test_a_reply_to_a_call_that_was_not_sent_is_none(void **state)
{
	struct krpc_slot *slot = take();

	(void)state;
	assert_null(krpc_slot_answer(&conn, XID));
	krpc_slot_post(&conn, slot);
	assert_ptr_equal(krpc_slot_answer(&conn, XID), slot);
	krpc_slot_release(&conn, slot);
	krpc_slot_sent(&conn, slot);
	assert_all_free();
}

static void test_a_call_has_one_reply(void **state)
{
	struct krpc_slot *slot = take();

	(void)state;
	krpc_slot_post(&conn, slot);
	assert_null(krpc_slot_answer(&conn, XID + 1));
	assert_ptr_equal(krpc_slot_answer(&conn, XID), slot);
	assert_null(krpc_slot_answer(&conn, XID));
	krpc_slot_release(&conn, slot);
	assert_null(krpc_slot_answer(&conn, XID));
	krpc_slot_sent(&conn, slot);
	assert_null(krpc_slot_answer(&conn, XID));
	assert_all_free();
}

static void test_a_slot_is_free_when_it_was_sent_and_has_its_reply(void **state)
{
	struct krpc_slot *slot = take();

	(void)state;
	krpc_slot_post(&conn, slot);
	krpc_slot_sent(&conn, slot);
	assert_int_equal(conn.n_used, 1);
	assert_null(krpc_slot_take(&conn, &req, XID + 1));
	assert_ptr_equal(krpc_slot_answer(&conn, XID), slot);
	assert_int_equal(conn.n_used, 1);
	krpc_slot_release(&conn, slot);
	assert_all_free();

	slot = take();
	krpc_slot_post(&conn, slot);
	assert_ptr_equal(krpc_slot_answer(&conn, XID), slot);
	krpc_slot_release(&conn, slot);
	assert_int_equal(conn.n_used, 1);
	assert_false(krpc_slot_has_room(&conn));
	krpc_slot_sent(&conn, slot);
	assert_all_free();
}

static void test_what_could_not_be_made_is_given_back(void **state)
{
	struct krpc_slot *slot = take();

	(void)state;
	assert_null(krpc_slot_answer(&conn, XID));
	krpc_slot_release(&conn, slot);
	assert_all_free();
}

static void test_what_could_not_be_posted_is_the_senders(void **state)
{
	struct krpc_slot *slot = take();

	(void)state;
	krpc_slot_post(&conn, slot);
	assert_true(krpc_slot_unpost(&conn, slot));
	assert_null(krpc_slot_answer(&conn, XID));
	assert_int_equal(conn.n_used, 1);
	krpc_slot_release(&conn, slot);
	assert_all_free();
}

/* The server has guessed when, too. */
static void test_a_slot_with_a_reply_is_not_the_senders(void **state)
{
	struct krpc_slot *slot = take();

	(void)state;
	krpc_slot_post(&conn, slot);
	assert_ptr_equal(krpc_slot_answer(&conn, XID), slot);
	assert_false(krpc_slot_unpost(&conn, slot));
	assert_int_equal(conn.n_used, 1);
	krpc_slot_release(&conn, slot);
	assert_all_free();

	slot = take();
	krpc_slot_post(&conn, slot);
	assert_ptr_equal(krpc_slot_answer(&conn, XID), slot);
	krpc_slot_release(&conn, slot);
	assert_false(krpc_slot_unpost(&conn, slot));
	assert_all_free();
}

static void test_answers_need_no_credits_and_have_no_replies(void **state)
{
	struct krpc_slot *slot;

	(void)state;
	take();
	for (u32 i = 0; i < KRPC_EXTRA_RECVS; i++) {
		slot = krpc_slot_take_answer(&conn);
		assert_ptr_equal(slot, &slots[KRPC_CREDITS + i]);
		krpc_slot_post(&conn, slot);
		assert_null(krpc_slot_answer(&conn, slot->call.xid));
	}
	assert_null(krpc_slot_take_answer(&conn));
	assert_true(krpc_slot_unpost(&conn, &slots[KRPC_CREDITS]));
	krpc_slot_sent(&conn, &slots[KRPC_CREDITS + 1]);
	assert_ptr_equal(krpc_slot_take_answer(&conn), &slots[KRPC_CREDITS]);
	assert_int_equal(conn.n_used, 1);
}

static void test_no_call_is_under_way_when_a_connection_has_ended(void **state)
{
	struct krpc_slot *slot;

	(void)state;
	conn.granted = 2;
	slot = take();
	krpc_slot_post(&conn, slot);
	slot = krpc_slot_take(&conn, &req, XID + 1);
	assert_true(slot && !IS_ERR(slot));
	assert_int_equal(PTR_ERR(krpc_slot_take(&conn, &req, XID)), -EALREADY);
	req.n_regions = 1;
	krpc_slot_fence_all(&conn);
	assert_int_equal(req.n_regions, 0);
	krpc_slot_sent(&conn, &slots[0]);
	krpc_slot_drop_all(&conn);
	assert_all_free();
	conn.error = -ECONNRESET;
	assert_int_equal(PTR_ERR(krpc_slot_take(&conn, &req, XID)),
			 -ECONNRESET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			test_a_reply_to_a_call_that_was_not_sent_is_none,
			begin),
		cmocka_unit_test_setup(test_a_call_has_one_reply, begin),
		cmocka_unit_test_setup(
			test_a_slot_is_free_when_it_was_sent_and_has_its_reply,
			begin),
		cmocka_unit_test_setup(
			test_what_could_not_be_made_is_given_back, begin),
		cmocka_unit_test_setup(
			test_what_could_not_be_posted_is_the_senders, begin),
		cmocka_unit_test_setup(
			test_a_slot_with_a_reply_is_not_the_senders, begin),
		cmocka_unit_test_setup(
			test_answers_need_no_credits_and_have_no_replies,
			begin),
		cmocka_unit_test_setup(
			test_no_call_is_under_way_when_a_connection_has_ended,
			begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
