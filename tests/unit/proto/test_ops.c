// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <ctype.h>
#include <string.h>

#include <cmocka.h>

#include "codec/kfb_codec.h"
#include "codec/kfb_ops.h"

static void every_op_has_names(void **state)
{
	__u16 op;
	size_t i;

	for (op = 1; op <= KFB_OP_LAST; op++) {
		const char *name = kfb_op_name(op);
		const char *label = kfb_op_label(op);

		assert_string_not_equal(name, "?");
		assert_int_equal(strlen(name), strlen(label));
		for (i = 0; name[i]; i++)
			assert_int_equal(tolower(name[i]), label[i]);
	}
	assert_string_equal(kfb_op_name(KFB_OP_AUTH), "AUTH");
	assert_string_equal(kfb_op_name(KFB_OP_EVENT), "EVENT");
}

static void what_is_no_op_is_nothing(void **state)
{
	static const __u16 none[] = { 0, KFB_OP_LAST + 1, 0xffff,
				      KFB_OP_REPLY | KFB_OP_PING };
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		assert_null(kfb_op(none[i]));
		assert_string_equal(kfb_op_name(none[i]), "?");
		assert_string_equal(kfb_op_label(none[i]), "unknown");
		assert_false(kfb_op_is(none[i], KFB_OP_OPENS));
		assert_false(kfb_op_is(none[i], KFB_OP_URGENT));
		assert_false(kfb_op_is(none[i], KFB_OP_RECOMPUTED));
		assert_false(kfb_op_is(none[i], KFB_OP_NOT_STOPPING));
		assert_false(kfb_op_has_reply_body(none[i]));
	}
}

#define BIT(op) (1U << (op))

/* The ops of which a trait is true, as bits. */
static unsigned int those(enum kfb_op_trait trait)
{
	unsigned int found = 0;
	__u16 op;

	for (op = 1; op <= KFB_OP_LAST; op++)
		if (kfb_op_is(op, trait))
			found |= BIT(op);
	return found;
}

/* As docs/protocol.md has it. */
static void traits_are_those_of_the_protocol(void **state)
{
	assert_int_equal(those(KFB_OP_OPENS), BIT(KFB_OP_AUTH));
	assert_int_equal(those(KFB_OP_URGENT),
			 BIT(KFB_OP_UNMAP) | BIT(KFB_OP_PING));
	assert_int_equal(those(KFB_OP_RECOMPUTED),
			 BIT(KFB_OP_INFO) | BIT(KFB_OP_MAP) | BIT(KFB_OP_LIST) |
				 BIT(KFB_OP_PING) | BIT(KFB_OP_CLIENT) |
				 BIT(KFB_OP_RESERVATION));
	assert_int_equal(those(KFB_OP_NOT_STOPPING),
			 BIT(KFB_OP_AUTH) | BIT(KFB_OP_ALLOC) |
				 BIT(KFB_OP_FREE) | BIT(KFB_OP_MAP) |
				 BIT(KFB_OP_FENCE) | BIT(KFB_OP_RESERVE));
}

static void an_event_is_no_request(void **state)
{
	__u16 op;

	for (op = 1; op <= KFB_OP_LAST; op++) {
		assert_non_null(kfb_op(op)->reply);
		if (op == KFB_OP_EVENT)
			assert_null(kfb_op(op)->request);
		else
			assert_non_null(kfb_op(op)->request);
	}
}

static void some_good_replies_are_a_status_only(void **state)
{
	__u16 op;

	for (op = 1; op <= KFB_OP_LAST; op++)
		assert_int_equal(
			kfb_op_has_reply_body(op),
			op == KFB_OP_AUTH || op == KFB_OP_INFO ||
				op == KFB_OP_MAP || op == KFB_OP_LIST ||
				op == KFB_OP_EVENT || op == KFB_OP_CLIENT ||
				op == KFB_OP_RESERVATION);
}

static void a_request_keeps_the_event_that_it_acknowledges(void **state)
{
	struct kfb_request req;
	__u16 op;

	for (op = 1; op <= KFB_OP_LAST; op++) {
		_Bool can = op == KFB_OP_PING || op == KFB_OP_UNMAP;

		memset(&req, 0, sizeof(req));
		req.op = op;
		kfb_request_acknowledge(&req, 7);
		assert_int_equal(kfb_request_event_seq(&req), can ? 7 : 0);
		kfb_request_acknowledge(&req, 8);
		assert_int_equal(kfb_request_event_seq(&req), can ? 7 : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_op_has_names),
		cmocka_unit_test(what_is_no_op_is_nothing),
		cmocka_unit_test(traits_are_those_of_the_protocol),
		cmocka_unit_test(an_event_is_no_request),
		cmocka_unit_test(some_good_replies_are_a_status_only),
		cmocka_unit_test(
			a_request_keeps_the_event_that_it_acknowledges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
