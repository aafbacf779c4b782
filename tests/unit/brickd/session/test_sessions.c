// SPDX-License-Identifier: BSD-2-Clause
/*
 * The table of sessions, and of their connections: what is done for one of them
 * looks at none of the others, of which there may be tens of thousands. One of
 * each is where nobody may look: whoever goes through all of them dies of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/mman.h>

#include "brickd/net/conn.h"
#include "brickd/net/net.h"
#include "brickd/session/quarantine.h"
#include "brickd/session/session.h"
#include "brickd/session/sessions.h"

#define PLACE_BYTES 65536
#define SHARE	    2

static struct brick_config config;
static struct brick_sessions sessions;
static struct brick_client mine, others = { .number = 1 };
static struct brick_session first, last;
static struct brick_session *hidden;
static struct brick_holdings holdings;

_Static_assert(sizeof(struct brick_session) <= PLACE_BYTES, "it fits");

static void *place(void)
{
	void *at = mmap(NULL, PLACE_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void hide(void *at)
{
	assert_int_equal(mprotect(at, PLACE_BYTES, PROT_NONE), 0);
}

static void show(void *at)
{
	assert_int_equal(mprotect(at, PLACE_BYTES, PROT_READ | PROT_WRITE), 0);
}

static void add(struct brick_session *s, uint64_t id,
		const struct brick_client *client)
{
	memset(s, 0, sizeof(*s));
	s->all = &sessions;
	s->id = id;
	s->client = client;
	s->state = KFB_SESSION_LIVE;
	brick_sessions_add(&sessions, s);
}

static int begin(void **state)
{
	(void)state;
	memset(&sessions, 0, sizeof(sessions));
	memset(&holdings, 0, sizeof(holdings));
	TAILQ_INIT(&sessions.list);
	config.limits.sessions = 100;
	config.limits.sessions_per_client = SHARE;
	sessions.config = &config;
	hidden = place();
	add(&first, 0x100000001, &mine);
	add(hidden, 0x200000002, &others);
	add(&last, 0x300000003, &mine);
	hide(hidden);
	return 0;
}

static int end(void **state)
{
	(void)state;
	show(hidden);
	brick_quarantine_end(&first);
	brick_sessions_del(&sessions, &first);
	brick_sessions_del(&sessions, hidden);
	brick_sessions_del(&sessions, &last);
	munmap(hidden, PLACE_BYTES);
	return sessions.n ? -1 : 0;
}

static void one_is_found_without_a_look_at_others(void **state)
{
	(void)state;
	assert_ptr_equal(brick_sessions_find(&sessions, last.id), &last);
	assert_null(brick_sessions_find(&sessions, last.id + 1));
}

static void ids_that_share_a_place_are_told_apart(void **state)
{
	struct brick_session alike;

	(void)state;
	add(&alike, last.id + BRICK_SESSION_BUCKETS, &mine);
	assert_ptr_equal(brick_sessions_find(&sessions, last.id), &last);
	assert_ptr_equal(brick_sessions_find(&sessions, alike.id), &alike);
	brick_sessions_del(&sessions, &alike);
	assert_null(brick_sessions_find(&sessions, alike.id));
}

static void
a_clients_sessions_are_counted_without_a_look_at_others(void **state)
{
	(void)state;
	assert_false(brick_sessions_is_full(&sessions, &mine));
	*brick_sessions_holdings(&sessions, &mine) = &holdings;
	holdings.n_sessions = SHARE;
	assert_true(brick_sessions_is_full(&sessions, &mine));
	assert_false(brick_sessions_is_full(&sessions, &others));
	/* Those that are ending leave room, until there are as many again. */
	holdings.n_ending = 1;
	assert_false(brick_sessions_is_full(&sessions, &mine));
	holdings.n_sessions = 2 * SHARE;
	holdings.n_ending = 2 * SHARE;
	assert_true(brick_sessions_is_full(&sessions, &mine));
}

static void quarantine_looks_only_at_sessions_that_have_one(void **state)
{
	const struct brick_span blocks = { 10, 20 }, beside = { 20, 30 };
	uint64_t token;

	(void)state;
	assert_false(brick_quarantine_blocks(&sessions, blocks, NULL));
	assert_int_equal(brick_quarantine_add(&first, blocks), 0);
	assert_true(brick_quarantine_blocks(&sessions, blocks, &last));
	assert_false(brick_quarantine_blocks(&sessions, beside, &last));
	assert_int_equal(brick_quarantine_token(&sessions, beside, &token), 0);
	assert_int_equal(token, 0);
	brick_quarantine_forget(&sessions, blocks);
	assert_false(brick_quarantine_blocks(&sessions, blocks, &last));
}

static void
an_endpoints_connection_is_found_without_a_look_at_others(void **state)
{
	static struct brick_net net;
	struct brick_conn here = { .net = &net };
	struct brick_conn *there = place();
	struct fid_ep here_ep = { 0 }, gone = { 0 };

	(void)state;
	memset(&net, 0, sizeof(net));
	TAILQ_INIT(&net.conns);
	there->net = &net;
	there->ep = (struct fid_ep *)(there + 1);
	brick_conn_list(there);
	hide(there);
	here.ep = &here_ep;
	assert_null(brick_conn_find(&net, &here_ep.fid));
	show(there);
	brick_conn_list(&here);
	hide(there);
	assert_ptr_equal(brick_conn_find(&net, &here_ep.fid), &here);
	assert_null(brick_conn_find(&net, &gone.fid));
	munmap(there, PLACE_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			one_is_found_without_a_look_at_others, begin, end),
		cmocka_unit_test_setup_teardown(
			ids_that_share_a_place_are_told_apart, begin, end),
		cmocka_unit_test_setup_teardown(
			a_clients_sessions_are_counted_without_a_look_at_others,
			begin, end),
		cmocka_unit_test_setup_teardown(
			quarantine_looks_only_at_sessions_that_have_one, begin,
			end),
		cmocka_unit_test(
			an_endpoints_connection_is_found_without_a_look_at_others),
	};

	return cmocka_run_group_tests_name("sessions", tests, NULL, NULL);
}
