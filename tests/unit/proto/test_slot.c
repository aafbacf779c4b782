// SPDX-License-Identifier: BSD-2-Clause
/*
 * Credits at their bounds; slots and cookies on both sides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "kfb_slot.h"

static void credits_are_granted_within_their_bounds(void **state)
{
	struct kfb_credits credits = { 1, 2 };
	struct kfb_slots slots;

	assert_int_equal(kfb_credits_init(&credits, 0), -EINVAL);
	assert_int_equal(kfb_credits_init(&credits, KFB_CREDITS_MIN - 1),
			 -EINVAL);
	assert_int_equal(kfb_credits_init(&credits, KFB_CREDITS_MAX + 1),
			 -EINVAL);
	assert_int_equal(credits.limit, 1);
	assert_int_equal(kfb_credits_init(&credits, KFB_CREDITS_MIN), 0);
	assert_int_equal(kfb_credits_init(&credits, KFB_CREDITS_MAX), 0);
	assert_int_equal(kfb_slots_init(&slots, KFB_CREDITS_MIN - 1), -EINVAL);
	assert_int_equal(kfb_slots_init(&slots, KFB_CREDITS_MAX + 1), -EINVAL);
	assert_int_equal(kfb_slots_init(&slots, KFB_CREDITS_MAX), 0);
}

static void the_last_two_credits_are_for_ping_and_unmap(void **state)
{
	struct kfb_credits credits;
	unsigned int i;
	__u16 op;

	assert_int_equal(kfb_credits_init(&credits, 8), 0);
	for (i = 0; i < 6; i++)
		assert_int_equal(kfb_credits_take(&credits, KFB_OP_MAP), 0);
	for (op = KFB_OP_AUTH; op <= KFB_OP_LAST; op++)
		if (op != KFB_OP_PING && op != KFB_OP_UNMAP)
			assert_int_equal(kfb_credits_take(&credits, op),
					 -EAGAIN);
	assert_int_equal(kfb_credits_take(&credits, KFB_OP_PING), 0);
	assert_int_equal(kfb_credits_take(&credits, KFB_OP_UNMAP), 0);
	assert_int_equal(kfb_credits_take(&credits, KFB_OP_PING), -EAGAIN);
	assert_int_equal(kfb_credits_take(&credits, KFB_OP_UNMAP), -EAGAIN);
}

static void credits_come_back_but_never_more_than_are_out(void **state)
{
	struct kfb_credits credits;
	unsigned int i;

	assert_int_equal(kfb_credits_init(&credits, 4), 0);
	assert_int_equal(kfb_credits_give(&credits, 1), -EPROTO);
	assert_int_equal(kfb_credits_give(&credits, 0), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(kfb_credits_take(&credits, KFB_OP_PING), 0);
	assert_int_equal(kfb_credits_give(&credits, 5), -EPROTO);
	assert_int_equal(kfb_credits_give(&credits, 0xffff), -EPROTO);
	assert_int_equal(credits.available, 0);
	assert_int_equal(kfb_credits_give(&credits, 3), 0);
	assert_int_equal(kfb_credits_give(&credits, 2), -EPROTO);
	assert_int_equal(kfb_credits_give(&credits, 1), 0);
	assert_int_equal(credits.available, 4);
}

static void slots_are_handed_out_with_rising_numbers(void **state)
{
	struct kfb_cookie cookie;
	struct kfb_slots slots;
	__u16 i;

	assert_int_equal(kfb_slots_init(&slots, 4), 0);
	for (i = 0; i < 2; i++) {
		assert_int_equal(
			kfb_slots_assign(&slots, KFB_OP_ALLOC, &cookie), 0);
		assert_int_equal(cookie.slot, i);
		assert_int_equal(cookie.seq, 1);
	}
	assert_int_equal(kfb_slots_assign(&slots, KFB_OP_ALLOC, &cookie),
			 -EAGAIN);
	assert_int_equal(kfb_slots_assign(&slots, KFB_OP_UNMAP, &cookie), 0);
	assert_int_equal(kfb_slots_assign(&slots, KFB_OP_PING, &cookie), 0);
	assert_int_equal(cookie.slot, 3);
	assert_int_equal(kfb_slots_assign(&slots, KFB_OP_PING, &cookie),
			 -EAGAIN);

	cookie.slot = 1;
	cookie.seq = 1;
	assert_int_equal(kfb_slots_answered(&slots, KFB_OP_ALLOC, &cookie), 0);
	assert_int_equal(kfb_slots_assign(&slots, KFB_OP_PING, &cookie), 0);
	assert_int_equal(cookie.slot, 1);
	assert_int_equal(cookie.seq, 2);
}

static void a_reply_to_nothing_is_a_breach(void **state)
{
	struct kfb_cookie cookie, wrong;
	struct kfb_slots slots;

	assert_int_equal(kfb_slots_init(&slots, 4), 0);
	assert_int_equal(kfb_slots_assign(&slots, KFB_OP_FREE, &cookie), 0);
	wrong = cookie;
	wrong.seq++;
	assert_int_equal(kfb_slots_answered(&slots, KFB_OP_FREE, &wrong),
			 -EPROTO);
	wrong.seq = 0;
	wrong.slot = 1;
	assert_int_equal(kfb_slots_answered(&slots, KFB_OP_FREE, &wrong),
			 -EPROTO);
	wrong.slot = 4;
	slots.slot[4].busy = 1;
	assert_int_equal(kfb_slots_answered(&slots, KFB_OP_FREE, &wrong),
			 -EPROTO);
	wrong.slot = 0xffff;
	assert_int_equal(kfb_slots_answered(&slots, KFB_OP_FREE, &wrong),
			 -EPROTO);
	assert_int_equal(kfb_slots_answered(&slots, KFB_OP_FREE, &cookie), 0);
	assert_int_equal(kfb_slots_answered(&slots, KFB_OP_FREE, &cookie),
			 -EPROTO);
}

static void auth_takes_no_slot_and_has_the_zero_cookie(void **state)
{
	struct kfb_cookie cookie = { 7, 7 };
	struct kfb_slots slots;

	assert_int_equal(kfb_slots_init(&slots, 4), 0);
	assert_int_equal(kfb_slots_assign(&slots, KFB_OP_AUTH, &cookie), 0);
	assert_int_equal(cookie.slot, 0);
	assert_int_equal(cookie.seq, 0);
	assert_int_equal(slots.n_busy, 0);
	assert_int_equal(kfb_slots_answered(&slots, KFB_OP_AUTH, &cookie), 0);
	cookie.seq = 1;
	assert_int_equal(kfb_slots_answered(&slots, KFB_OP_AUTH, &cookie),
			 -EPROTO);
	assert_int_equal(kfb_slots_classify(&slots, KFB_OP_AUTH, &cookie),
			 KFB_COOKIE_NEW);
	cookie.seq = 0;
	assert_int_equal(kfb_slots_classify(&slots, KFB_OP_AUTH, &cookie),
			 KFB_COOKIE_NEW);
	assert_int_equal(kfb_slots_begin(&slots, KFB_OP_AUTH, &cookie), 0);
	assert_int_equal(slots.n_busy, 0);
	assert_int_equal(kfb_slots_end(&slots, KFB_OP_AUTH, &cookie), 0);
	assert_int_equal(slots.slot[0].seq, 0);
}

static enum kfb_cookie_class classify(const struct kfb_slots *slots, __u16 slot,
				      __u32 seq)
{
	const struct kfb_cookie cookie = { slot, seq };

	return kfb_slots_classify(slots, KFB_OP_ALLOC, &cookie);
}

static void run(struct kfb_slots *slots, __u16 slot, __u32 seq)
{
	const struct kfb_cookie cookie = { slot, seq };

	assert_int_equal(kfb_slots_begin(slots, KFB_OP_ALLOC, &cookie), 0);
	assert_int_equal(classify(slots, slot, seq), KFB_COOKIE_RUNNING);
	assert_int_equal(kfb_slots_begin(slots, KFB_OP_ALLOC, &cookie),
			 -EINVAL);
	/* A client that reuses a slot before its answer. */
	assert_int_equal(classify(slots, slot, seq + 1 ? seq + 1 : 1),
			 KFB_COOKIE_MALFORMED);
	assert_int_equal(kfb_slots_end(slots, KFB_OP_ALLOC, &cookie), 0);
	assert_int_equal(kfb_slots_end(slots, KFB_OP_ALLOC, &cookie), -EINVAL);
	assert_int_equal(classify(slots, slot, seq), KFB_COOKIE_RESEND);
}

static void the_brick_tells_new_from_known(void **state)
{
	struct kfb_slots slots;

	assert_int_equal(kfb_slots_init(&slots, 4), 0);
	assert_int_equal(classify(&slots, 0, 1), KFB_COOKIE_NEW);
	assert_int_equal(classify(&slots, 0, 2), KFB_COOKIE_MALFORMED);
	assert_int_equal(classify(&slots, 0, ~0U), KFB_COOKIE_MALFORMED);
	run(&slots, 0, 1);
	run(&slots, 0, 2);
	run(&slots, 0, 3);
	assert_int_equal(classify(&slots, 0, 1), KFB_COOKIE_STALE);
	assert_int_equal(classify(&slots, 0, 2), KFB_COOKIE_STALE);
	assert_int_equal(classify(&slots, 0, 4), KFB_COOKIE_NEW);
	assert_int_equal(classify(&slots, 0, 5), KFB_COOKIE_MALFORMED);
	/* Slots do not know of each other. */
	assert_int_equal(classify(&slots, 1, 1), KFB_COOKIE_NEW);
	assert_int_equal(classify(&slots, 3, 1), KFB_COOKIE_NEW);
}

static void cookies_out_of_bounds_are_malformed(void **state)
{
	struct kfb_slots slots;

	assert_int_equal(kfb_slots_init(&slots, 4), 0);
	assert_int_equal(classify(&slots, 4, 1), KFB_COOKIE_MALFORMED);
	assert_int_equal(classify(&slots, 0xffff, 1), KFB_COOKIE_MALFORMED);
	assert_int_equal(classify(&slots, 0, 0), KFB_COOKIE_MALFORMED);
	run(&slots, 0, 1);
	assert_int_equal(classify(&slots, 0, 0), KFB_COOKIE_MALFORMED);
}

static void sequence_numbers_wrap_and_skip_zero(void **state)
{
	struct kfb_cookie cookie;
	struct kfb_slots slots;

	assert_int_equal(kfb_slots_init(&slots, 4), 0);
	slots.slot[2].seq = ~0U - 1;
	run(&slots, 2, ~0U);
	assert_int_equal(classify(&slots, 2, 0), KFB_COOKIE_MALFORMED);
	assert_int_equal(classify(&slots, 2, 1), KFB_COOKIE_NEW);
	run(&slots, 2, 1);
	assert_int_equal(classify(&slots, 2, ~0U), KFB_COOKIE_STALE);
	assert_int_equal(classify(&slots, 2, 3), KFB_COOKIE_MALFORMED);

	assert_int_equal(kfb_slots_init(&slots, 4), 0);
	slots.slot[0].seq = ~0U;
	assert_int_equal(kfb_slots_assign(&slots, KFB_OP_INFO, &cookie), 0);
	assert_int_equal(cookie.slot, 0);
	assert_int_equal(cookie.seq, 1);
}

static void half_the_numbers_behind_are_stale(void **state)
{
	struct kfb_slots slots;

	assert_int_equal(kfb_slots_init(&slots, 4), 0);
	slots.slot[0].seq = 0x80000010;
	assert_int_equal(classify(&slots, 0, 0x11), KFB_COOKIE_STALE);
	assert_int_equal(classify(&slots, 0, 0x10), KFB_COOKIE_MALFORMED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(credits_are_granted_within_their_bounds),
		cmocka_unit_test(the_last_two_credits_are_for_ping_and_unmap),
		cmocka_unit_test(credits_come_back_but_never_more_than_are_out),
		cmocka_unit_test(slots_are_handed_out_with_rising_numbers),
		cmocka_unit_test(a_reply_to_nothing_is_a_breach),
		cmocka_unit_test(auth_takes_no_slot_and_has_the_zero_cookie),
		cmocka_unit_test(the_brick_tells_new_from_known),
		cmocka_unit_test(cookies_out_of_bounds_are_malformed),
		cmocka_unit_test(sequence_numbers_wrap_and_skip_zero),
		cmocka_unit_test(half_the_numbers_behind_are_stale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
