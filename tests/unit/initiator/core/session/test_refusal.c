// SPDX-License-Identifier: BSD-2-Clause
/* What a refusal means: its words, and for whom another try may go better. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kfb_err.h"
#include "session/kfb_refusal.h"

/* What docs/protocol.md has of each op, and what passes for whom. */
static const struct {
	uint16_t op;
	int error;
	enum kfb_patience least;
} passing[] = {
	{ KFB_OP_MAP, -EAGAIN, KFB_PATIENCE_CALLER },
	{ KFB_OP_MAP, -ESHUTDOWN, KFB_PATIENCE_DISK },
	{ KFB_OP_MAP, -ETIMEDOUT, KFB_PATIENCE_DISK },
	{ KFB_OP_MAP, -EBUSY, KFB_PATIENCE_RESTORE },
	{ KFB_OP_MAP, -ENOMEM, KFB_PATIENCE_RESTORE },
	{ KFB_OP_MAP, -ENOSPC, KFB_PATIENCE_RESTORE },
	{ KFB_OP_UNMAP, -EAGAIN, KFB_PATIENCE_CALLER },
	{ KFB_OP_UNMAP, -ENOMEM, KFB_PATIENCE_CALLER },
	{ KFB_OP_UNMAP, -ETIMEDOUT, KFB_PATIENCE_CALLER },
	{ KFB_OP_FLUSH, -EAGAIN, KFB_PATIENCE_DISK },
	{ KFB_OP_FLUSH, -EBUSY, KFB_PATIENCE_DISK },
	{ KFB_OP_FLUSH, -ENOMEM, KFB_PATIENCE_DISK },
	{ KFB_OP_ALLOC, -EAGAIN, KFB_PATIENCE_DISK },
	{ KFB_OP_ALLOC, -ESHUTDOWN, KFB_PATIENCE_DISK },
	{ KFB_OP_ALLOC, -ETIMEDOUT, KFB_PATIENCE_DISK },
	{ KFB_OP_FREE, -EAGAIN, KFB_PATIENCE_DISK },
	{ KFB_OP_FREE, -ESHUTDOWN, KFB_PATIENCE_DISK },
	{ KFB_OP_FREE, -ETIMEDOUT, KFB_PATIENCE_DISK },
};

static bool is_to_pass(uint16_t op, int error, enum kfb_patience who)
{
	for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
		if (passing[i].op == op && passing[i].error == error)
			return who >= passing[i].least;
	}
	return false;
}

static void only_what_may_pass_is_tried_again(void **state)
{
	(void)state;
	for (uint16_t op = 0; op <= KFB_OP_LAST + 20; op++) {
		for (int error = 0; error > -200; error--) {
			for (int who = KFB_PATIENCE_NONE;
			     who <= KFB_PATIENCE_RESTORE; who++)
				assert_int_equal(kfb_refusal_may_pass(op, error,
								      who),
						 is_to_pass(op, error, who));
		}
	}
}

/* brickctl tells what to do next apart, by the first semicolon. */
static void each_refusal_says_why_and_what_to_do(void **state)
{
	(void)state;
	for (uint16_t op = 0; op <= KFB_OP_LAST; op++) {
		for (uint16_t status = 1; status <= KFB_ST_LAST; status++) {
			int error = kfb_status_to_errno(status);
			const char *why = kfb_refusal_why(op, error);

			assert_non_null(why);
			assert_true(strlen(why) > 5);
			assert_null(strstr(why, "; "));
			assert_true(strlen(kfb_refusal_next(op, error)) > 5);
		}
	}
}

/* KFBK_WHY_BYTES of the disk, with "block 123456789 cannot be mapped: " before it. */
static void a_disk_has_room_for_the_reason(void **state)
{
	static const uint16_t ops[] = { KFB_OP_LIST, KFB_OP_ALLOC, KFB_OP_MAP };

	(void)state;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		for (uint16_t status = 1; status <= KFB_ST_LAST; status++)
			assert_in_range(
				strlen(kfb_refusal_why(
					ops[i], kfb_status_to_errno(status))),
				1, 122);
	}
}

/* Of a status that only a newer brick knows. */
static void an_unknown_status_has_words(void **state)
{
	int error = kfb_status_to_errno(KFB_ST_LAST + 1);

	(void)state;
	assert_string_equal(kfb_refusal_why(KFB_OP_MAP, error),
			    "the brick answered something else");
	assert_string_equal(kfb_refusal_next(KFB_OP_MAP, error),
			    "the brick's log may say more");
}

static void what_the_connection_did_is_no_refusal(void **state)
{
	(void)state;
	assert_null(kfb_refusal_why(KFB_OP_MAP, -ECONNRESET));
	assert_null(kfb_refusal_why(KFB_OP_MAP, -ETIMEDOUT));
	assert_null(kfb_refusal_why(KFB_OP_MAP, -ENOTCONN));
}

static void an_op_has_words_of_its_own(void **state)
{
	(void)state;
	assert_non_null(strstr(kfb_refusal_why(KFB_OP_RESERVE, -EBADE),
			       "reservation conflict"));
	assert_non_null(strstr(kfb_refusal_next(KFB_OP_RESERVATION, -EBADE),
			       "reserve show"));
	assert_non_null(
		strstr(kfb_refusal_next(KFB_OP_MAP, -EBADE), "register"));
	assert_non_null(strstr(kfb_refusal_why(KFB_OP_FENCE, -EACCES), "role"));
	assert_non_null(
		strstr(kfb_refusal_next(KFB_OP_CLIENT, -EACCES), "fencer"));
	assert_string_equal(kfb_refusal_why(KFB_OP_MAP, -EACCES),
			    kfb_status_text(KFB_ST_DENIED));
	/* It is the change that is not durable, not a block that is bad. */
	assert_non_null(
		strstr(kfb_refusal_why(KFB_OP_RESERVE, -EIO), "durable"));
	assert_string_equal(kfb_refusal_next(KFB_OP_RESERVE, -EIO),
			    kfb_refusal_next(KFB_OP_ALLOC, -EIO));
}

static void a_quota_is_told_from_a_full_brick(void **state)
{
	struct kfb_info info = { .flags = KFB_INFO_QUOTA,
				 .quota_blocks = 10,
				 .owned_blocks = 8,
				 .slots_free = 3,
				 .slow_free = 2 };
	__u64 n_free = 0;

	(void)state;
	assert_int_equal(kfb_shortage(&info, 3, &n_free), KFB_SHORT_OF_QUOTA);
	assert_int_equal(n_free, 5);
	assert_int_equal(kfb_shortage(&info, 2, &n_free), KFB_SHORT_OF_NOTHING);
	assert_int_equal(kfb_shortage(&info, UINT64_MAX, &n_free),
			 KFB_SHORT_OF_QUOTA);
	/* A quota that was made smaller. */
	info.owned_blocks = 11;
	assert_int_equal(kfb_shortage(&info, 1, &n_free), KFB_SHORT_OF_QUOTA);
	info.flags = 0;
	assert_int_equal(kfb_shortage(&info, 5, &n_free), KFB_SHORT_OF_NOTHING);
	assert_int_equal(kfb_shortage(&info, 6, &n_free), KFB_SHORT_OF_SPACE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_may_pass_is_tried_again),
		cmocka_unit_test(each_refusal_says_why_and_what_to_do),
		cmocka_unit_test(a_disk_has_room_for_the_reason),
		cmocka_unit_test(an_unknown_status_has_words),
		cmocka_unit_test(what_the_connection_did_is_no_refusal),
		cmocka_unit_test(an_op_has_words_of_its_own),
		cmocka_unit_test(a_quota_is_told_from_a_full_brick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
