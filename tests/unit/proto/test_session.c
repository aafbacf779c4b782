// SPDX-License-Identifier: BSD-2-Clause
/*
 * Every move of every state, against the list in docs/protocol.md: the page is
 * what other implementations follow, so it is what the table must equal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kfb_session.h"

#define NONE 0
#define BOTH (KFB_ROLE_CLIENT | KFB_ROLE_BRICK)

/* Who may move, by what the page says; [from][to]. */
static unsigned int conn_page[KFB_CONN_STATES][KFB_CONN_STATES];
static unsigned int session_page[KFB_SESSION_STATES][KFB_SESSION_STATES];

static unsigned int conn_state(const char *name)
{
	unsigned int i;

	for (i = 0; i < KFB_CONN_STATES; i++)
		if (strcmp(kfb_conn_state_name(i), name) == 0)
			break;
	return i;
}

static unsigned int session_state(const char *name)
{
	unsigned int i;

	for (i = 0; i < KFB_SESSION_STATES; i++)
		if (strcmp(kfb_session_state_name(i), name) == 0)
			break;
	return i;
}

static unsigned int who(const char *word)
{
	if (strcmp(word, "client") == 0)
		return KFB_ROLE_CLIENT;
	if (strcmp(word, "brick") == 0)
		return KFB_ROLE_BRICK;
	assert_string_equal(word, "both");
	return BOTH;
}

/* Reads the page's lines "| connection | FROM | TO | who | why |". */
static int read_page(void **state)
{
	const char *path = getenv("KFB_PROTOCOL_PAGE");
	char line[512], kind[32], from[32], to[32], role[32];
	unsigned int n = 0;
	FILE *f = fopen(path ? path : "", "r");

	if (!f) {
		print_error("KFB_PROTOCOL_PAGE names docs/protocol.md\n");
		return -1;
	}
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "| %31s | %31s | %31s | %31s |", kind, from,
			   to, role) != 4)
			continue;
		if (strcmp(kind, "connection") == 0) {
			assert_true(conn_state(from) < KFB_CONN_STATES);
			assert_true(conn_state(to) < KFB_CONN_STATES);
			conn_page[conn_state(from)][conn_state(to)] = who(role);
			n++;
		} else if (strcmp(kind, "session") == 0) {
			assert_true(session_state(from) < KFB_SESSION_STATES);
			assert_true(session_state(to) < KFB_SESSION_STATES);
			session_page[session_state(from)][session_state(to)] =
				who(role);
			n++;
		}
	}
	fclose(f);
	return n > 0 ? 0 : -1;
}

static void expect_conn_move(enum kfb_conn_state from, enum kfb_role role,
			     enum kfb_conn_state to)
{
	enum kfb_conn_state state = from;
	int legal = (conn_page[from][to] & role) != NONE;
	int error = kfb_conn_move(&state, role, to);

	if (error != (legal ? 0 : -EINVAL))
		fail_msg("connection %s -> %s of role %d: %d, the page: %s",
			 kfb_conn_state_name(from), kfb_conn_state_name(to),
			 role, error, legal ? "legal" : "not there");
	assert_int_equal(state, legal ? to : from);
}

static void every_move_of_a_connection_is_as_the_page_says(void **state)
{
	unsigned int from, to;

	for (from = 0; from < KFB_CONN_STATES; from++) {
		for (to = 0; to < KFB_CONN_STATES; to++) {
			expect_conn_move(from, KFB_ROLE_CLIENT, to);
			expect_conn_move(from, KFB_ROLE_BRICK, to);
		}
	}
}

static void every_move_of_a_session_is_as_the_page_says(void **state)
{
	unsigned int from, to;

	for (from = 0; from < KFB_SESSION_STATES; from++) {
		for (to = 0; to < KFB_SESSION_STATES; to++) {
			enum kfb_session_state now = from;
			int legal = session_page[from][to] == BOTH;

			assert_int_equal(kfb_session_move(&now, to),
					 legal ? 0 : -EINVAL);
			assert_int_equal(now, legal ? to : from);
		}
	}
}

static void values_that_are_no_state_are_refused(void **state)
{
	enum kfb_conn_state conn = KFB_CONN_STATES;
	enum kfb_session_state session = KFB_SESSION_STATES;

	assert_int_equal(kfb_conn_move(&conn, KFB_ROLE_CLIENT, KFB_CONN_CLOSED),
			 -EINVAL);
	assert_int_equal(kfb_session_move(&session, KFB_SESSION_ENDED),
			 -EINVAL);
	assert_string_equal(kfb_conn_state_name(KFB_CONN_STATES), "?");
	assert_string_equal(kfb_session_state_name(KFB_SESSION_STATES), "?");
}

static void nothing_follows_the_end(void **state)
{
	unsigned int to;

	for (to = 0; to < KFB_CONN_STATES; to++)
		assert_int_equal(conn_page[KFB_CONN_CLOSED][to], NONE);
	for (to = 0; to < KFB_SESSION_STATES; to++)
		assert_int_equal(session_page[KFB_SESSION_ENDED][to], NONE);
}

static void before_auth_only_auth_passes_and_after_it_all_else(void **state)
{
	unsigned int at;
	__u16 op;

	for (op = KFB_OP_AUTH; op <= KFB_OP_PING; op++) {
		int is_auth = op == KFB_OP_AUTH;

		assert_int_equal(kfb_conn_admit(KFB_CONN_AUTH, op),
				 is_auth ? 0 : -EACCES);
		assert_int_equal(kfb_conn_admit(KFB_CONN_READY, op),
				 is_auth ? -EINVAL : 0);
		for (at = 0; at <= KFB_CONN_STATES; at++)
			if (at != KFB_CONN_AUTH && at != KFB_CONN_READY)
				assert_int_equal(kfb_conn_admit(at, op),
						 -ENOTCONN);
	}
}

static void the_version_must_be_common(void **state)
{
	assert_int_equal(kfb_version_choose(2, 2), 2);
	assert_int_equal(kfb_version_choose(1, 255), 2);
	assert_int_equal(kfb_version_choose(3, 255), -EPROTONOSUPPORT);
	/* Without proof of joins: no side speaks it any more. */
	assert_int_equal(kfb_version_choose(1, 1), -EPROTONOSUPPORT);
	assert_int_equal(kfb_version_choose(0, 0), -EPROTONOSUPPORT);
}

static void an_accept_must_answer_the_hello(void **state)
{
	struct kfb_hello hello = { .version_min = KFB_VERSION,
				   .version_max = KFB_VERSION,
				   .features = KFB_FEATURE_EVENT };
	struct kfb_accept accept = { .version = KFB_VERSION, .session_id = 5 };

	assert_int_equal(kfb_accept_check(&hello, &accept), 0);
	accept.features = KFB_FEATURE_EVENT;
	assert_int_equal(kfb_accept_check(&hello, &accept), 0);
	accept.features |= KFB_FEATURE_THIN;
	assert_int_equal(kfb_accept_check(&hello, &accept), -EPROTO);
	accept.features = 0;
	accept.version = KFB_VERSION + 1;
	assert_int_equal(kfb_accept_check(&hello, &accept), -EPROTO);
	/* "I am old": nothing is taken from one that says so. */
	accept.version = KFB_VERSION - 1;
	assert_int_equal(kfb_accept_check(&hello, &accept), -EPROTO);
	accept.version = 0;
	assert_int_equal(kfb_accept_check(&hello, &accept), -EPROTO);
	accept.version = KFB_VERSION;
	/* A join may not be given another session, whatever its queue. */
	hello.session_id = 4;
	assert_int_equal(kfb_accept_check(&hello, &accept), -EPROTO);
	hello.queue = 1;
	assert_int_equal(kfb_accept_check(&hello, &accept), -EPROTO);
	hello.session_id = 5;
	assert_int_equal(kfb_accept_check(&hello, &accept), 0);
}

static void a_join_counter_must_rise_and_never_wraps(void **state)
{
	assert_int_equal(kfb_join_counter_check(0, 1), 0);
	assert_int_equal(kfb_join_counter_check(0, 0), -EKEYREJECTED);
	assert_int_equal(kfb_join_counter_check(7, 7), -EKEYREJECTED);
	assert_int_equal(kfb_join_counter_check(7, 6), -EKEYREJECTED);
	assert_int_equal(kfb_join_counter_check(7, 100), 0);
	assert_int_equal(kfb_join_counter_check(~0U - 1, ~0U), 0);
	assert_int_equal(kfb_join_counter_check(~0U, 0), -EKEYREJECTED);
	assert_int_equal(kfb_join_counter_check(~0U, 1), -EKEYREJECTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_move_of_a_connection_is_as_the_page_says),
		cmocka_unit_test(every_move_of_a_session_is_as_the_page_says),
		cmocka_unit_test(values_that_are_no_state_are_refused),
		cmocka_unit_test(nothing_follows_the_end),
		cmocka_unit_test(
			before_auth_only_auth_passes_and_after_it_all_else),
		cmocka_unit_test(the_version_must_be_common),
		cmocka_unit_test(an_accept_must_answer_the_hello),
		cmocka_unit_test(a_join_counter_must_rise_and_never_wraps),
	};

	return cmocka_run_group_tests(tests, read_page, NULL);
}
