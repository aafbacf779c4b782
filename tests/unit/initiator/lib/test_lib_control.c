// SPDX-License-Identifier: BSD-2-Clause
/*
 * Control calls: refusals, timeouts, lost connections, pages, events, leases.
 */
#include <errno.h>

#include "internal.h"
#include "lib_fixture.h"
#include "session/kfb_refusal.h"

/* Poll until the brick has seen so many; the deadline is kfbrick_poll()'s. */
static void wait_seen(uint16_t op, unsigned int n)
{
	struct kfbrick_completion done;
	int i;

	for (i = 0; fake_brick_seen(brick, op) < n && i < TIMEOUT_MS; i++)
		assert_int_equal(kfbrick_poll(k, &done, 1, 1), 0);
	assert_true(fake_brick_seen(brick, op) >= n);
}

static void a_refusal_names_range_brick_and_reason(void **state)
{
	static const struct {
		uint16_t status;
		int error;
	} cases[] = {
		{ KFB_ST_INVALID, -EINVAL },
		{ KFB_ST_DENIED, -EACCES },
		{ KFB_ST_EXISTS, -EEXIST },
		{ KFB_ST_NOT_FOUND, -ENOENT },
		{ KFB_ST_BUSY, -EBUSY },
		{ KFB_ST_NO_SPACE, -ENOSPC },
		{ KFB_ST_IO, -EIO },
		{ KFB_ST_LIMIT, -EDQUOT },
		{ KFB_ST_SHUTDOWN, -ESHUTDOWN },
	};
	size_t i;

	rules->refuse_op = KFB_OP_ALLOC;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rules->refuse_status = cases[i].status;
		assert_int_equal(kfbrick_alloc(k, FAKE_VA, 3), cases[i].error);
		lib_says("alloc 0x40000000+3");
		lib_says(fake_brick_url(brick));
		lib_says(kfb_refusal_why(KFB_OP_ALLOC, cases[i].error));
		if (cases[i].error != -ENOSPC)
			lib_says(
				kfb_refusal_next(KFB_OP_ALLOC, cases[i].error));
	}
	rules->refuse_op = 0;
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 3), 0);
	assert_int_equal(kfbrick_free(k, FAKE_VA, 3), 0);
}

static void an_alloc_over_the_quota_says_so(void **state)
{
	uint64_t quota, used;

	assert_int_equal(kfbrick_get_quota(k, &quota, &used), 0);
	assert_true(quota == KFBRICK_QUOTA_NONE && used == 0);
	rules->refuse_op = KFB_OP_ALLOC;
	rules->refuse_status = KFB_ST_NO_SPACE;
	rules->quota_blocks = 50;
	rules->owned_blocks = 48;
	lib_connect_default();
	assert_int_equal(kfbrick_get_quota(k, &quota, &used), 0);
	assert_true(quota == 50 && used == 48);
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 3), -ENOSPC);
	lib_says("alloc 0x40000000+3");
	lib_says(fake_brick_url(brick));
	lib_says("quota of client alice: 48 of 50 blocks are in use, 3 were "
		 "asked for; free some");
	rules->owned_blocks = 51;
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 1), -ENOSPC);
	lib_says("quota of client alice: 51 of 50");
	/* There is room in the quota: it is the brick that is full. */
	rules->owned_blocks = 47;
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 3), -ENOSPC);
	lib_says("alloc 0x40000000+3");
	lib_says(kfb_status_text(KFB_ST_NO_SPACE));
	/* What is not about space asks for no INFO. */
	rules->refuse_status = KFB_ST_EXISTS;
	rules->silent_op = KFB_OP_INFO;
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 3), -EEXIST);
}

static void a_quota_that_cannot_be_asked_for_hides_no_refusal(void **state)
{
	unsigned int tries = 10;
	int rc;

	rules->quota_blocks = 50;
	rules->refuse_op = KFB_OP_ALLOC;
	rules->refuse_status = KFB_ST_NO_SPACE;
	/* The refusal may take that long itself where others use the processors. */
	do {
		rules->silent_op = 0;
		lib_connect_default();
		rules->silent_op = KFB_OP_INFO;
		lib_limit(SHORT_TIMEOUT_MS);
		rc = kfbrick_alloc(k, FAKE_VA, 3);
	} while (rc == -ETIMEDOUT && --tries);
	assert_int_equal(rc, -ENOSPC);
	lib_says(kfb_status_text(KFB_ST_NO_SPACE));
}

static void a_quota_that_nobody_asked_for_breaks_the_protocol(void **state)
{
	struct kfbrick_config config = lib_config();

	rules->quota_blocks = 50;
	rules->quota_untold = true;
	assert_int_equal(lib_connect(&config), -EPROTO);
}

static void has_rate(uint64_t bytes, uint32_t ops)
{
	uint64_t bytes_per_s;
	uint32_t ops_per_s;

	kfbrick_get_rate(k, &bytes_per_s, &ops_per_s);
	assert_true(bytes_per_s == bytes && ops_per_s == ops);
}

/* The EVENT comes behind the answer, and is acknowledged by another PING. */
static void be_told_of_the_rate(void)
{
	unsigned int seen = fake_brick_seen(brick, KFB_OP_PING);

	rules->event_after_ping = KFB_EVENT_RATE;
	assert_int_equal(kfbrick_ping(k), 0);
	wait_seen(KFB_OP_PING, seen + 2);
}

static void
a_rate_is_that_of_the_session_until_an_event_says_another(void **state)
{
	struct kfbrick_event event = { .size = sizeof(event) };

	has_rate(0, 0);
	rules->rate_bytes = 64 << 20;
	rules->rate_ops = 500;
	lib_connect_default();
	has_rate(64 << 20, 500);
	rules->rate_ops = 0;
	be_told_of_the_rate();
	has_rate(64 << 20, 0);
	assert_int_equal(kfbrick_next_event(k, &event), 1);
	assert_int_equal(event.kind, KFBRICK_EVENT_RATE);
	assert_int_equal(event.va, 0);
	assert_int_equal(event.n_blocks, 0);
	rules->rate_bytes = 0;
	be_told_of_the_rate();
	has_rate(0, 0);
}

static void a_rate_that_nobody_asked_for_breaks_the_protocol(void **state)
{
	struct kfbrick_config config = lib_config();

	rules->rate_untold = true;
	assert_int_equal(lib_connect(&config), 0);
	rules->event_after_ping = KFB_EVENT_RATE;
	assert_int_equal(kfbrick_ping(k), 0);
	while (!kfbrick_ping(k))
		;
	lib_says("the brick sent what it may not send");
	rules->rate_ops = 500;
	assert_int_equal(lib_connect(&config), -EPROTO);
}

static void a_call_without_answer_times_out(void **state)
{
	rules->silent_op = KFB_OP_ALLOC;
	lib_limit(SHORT_TIMEOUT_MS);
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 1), -ETIMEDOUT);
	lib_says("unknown");
	/* The connection is still of use. */
	lib_limit(TIMEOUT_MS);
	assert_int_equal(kfbrick_ping(k), 0);
}

static void calls_without_answer_use_up_the_credits_but_not_ping(void **state)
{
	int i;

	rules->silent_op = KFB_OP_ALLOC;
	lib_limit(SHORT_TIMEOUT_MS);
	for (i = 0; i < 8; i++)
		assert_int_equal(kfbrick_alloc(k, FAKE_VA, 1), -ETIMEDOUT);
	lib_says("was not sent");
	lib_limit(TIMEOUT_MS);
	/* Behind all of them. */
	assert_int_equal(kfbrick_ping(k), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_ALLOC), 5);
}

static void a_connection_lost_after_a_request_leaves_it_unknown(void **state)
{
	rules->drop_op = KFB_OP_FREE;
	assert_int_equal(kfbrick_free(k, FAKE_VA, 1), -ECONNRESET);
	lib_says("unknown");
	assert_int_equal(kfbrick_free(k, FAKE_VA, 1), -ENOTCONN);
	lib_says("connect again");
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FREE), 1);
}

static void garbage_from_the_brick_ends_the_connection(void **state)
{
	rules->garbage_op = KFB_OP_PING;
	assert_int_equal(kfbrick_ping(k), -ECONNRESET);
	lib_says("may not send");
	assert_int_equal(kfbrick_ping(k), -ENOTCONN);
}

static void a_client_is_the_one_that_was_asked_for(void **state)
{
	struct kfbrick_client client = { .size = sizeof(client) };

	assert_int_equal(kfbrick_get_client(k, "db-7", &client), 0);
	assert_string_equal(client.name, "db-7");
	assert_true(client.is_fenced);
	assert_false(client.is_fencer);
	assert_int_equal(client.n_sessions, 2);
	assert_int_equal(kfbrick_next_client(k, "", &client), 0);
	assert_int_equal(kfbrick_next_client(k, "db-", &client), 0);
	/* Another one, and one that does not come behind it. */
	assert_int_equal(kfbrick_get_client(k, "db-8", &client), -EPROTO);
	lib_says("another client");
	assert_int_equal(kfbrick_next_client(k, "db-7", &client), -EPROTO);
	client.size = 8;
	assert_int_equal(kfbrick_get_client(k, "db-7", &client), -EINVAL);
}

static void a_fence_names_a_client_and_why_it_is_refused(void **state)
{
	static const struct {
		uint16_t status;
		int error;
		const char *says;
	} cases[] = {
		{ KFB_ST_DENIED, -EACCES, "role" },
		{ KFB_ST_INVALID, -EINVAL, "does not fence itself" },
		{ KFB_ST_NOT_FOUND, -ENOENT, "no such client" },
		{ KFB_ST_IO, -EIO, "asked again" },
		{ KFB_ST_NOT_SUPPORTED, -EOPNOTSUPP, "does not support" },
	};

	assert_int_equal(kfbrick_fence(k, ""), -EINVAL);
	assert_int_equal(kfbrick_fence(k, "a b"), -EINVAL);
	assert_int_equal(
		kfbrick_admit(k, "12345678901234567890123456789012345678901"),
		-EINVAL);
	lib_says("1 to 40");
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FENCE), 0);
	assert_int_equal(kfbrick_fence(k, "db-7"), 0);
	assert_int_equal(kfbrick_admit(k, "db-7"), 0);
	rules->refuse_op = KFB_OP_FENCE;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rules->refuse_status = cases[i].status;
		assert_int_equal(kfbrick_fence(k, "db-7"), cases[i].error);
		lib_says(cases[i].says);
	}
}

static void a_reservation_tells_who_has_which_key(void **state)
{
	struct kfbrick_reservation r = { .size = sizeof(r) };

	assert_int_equal(kfbrick_get_reservation(k, 0, 1, &r), 0);
	assert_int_equal(r.size, sizeof(r));
	assert_int_equal(r.generation, 3);
	assert_int_equal(r.type, KFBRICK_RESERVED_EXCLUSIVE_ACCESS);
	assert_int_equal(r.n_blocks, 5);
	assert_int_equal(r.n_registrants, 2);
	assert_string_equal(r.registrants[0].name, "db-7");
	assert_int_equal(r.registrants[0].key, 0x2a);
	assert_false(r.registrants[0].is_holder);
	assert_string_equal(r.registrants[1].name, "db-8");
	assert_true(r.registrants[1].is_holder);
	r.size = 8;
	assert_int_equal(kfbrick_get_reservation(k, 0, 1, &r), -EINVAL);
	lib_says("size");
}

static void a_reservation_says_why_it_is_refused(void **state)
{
	static const struct {
		uint16_t status;
		int error;
		const char *says;
	} cases[] = {
		{ KFB_ST_CONFLICT, -EBADE, "reservation conflict" },
		{ KFB_ST_INVALID, -EINVAL, "another type" },
		{ KFB_ST_DENIED, -EACCES, "grants" },
		{ KFB_ST_EXISTS, -EEXIST, "begins at another address" },
		{ KFB_ST_NOT_SUPPORTED, -EOPNOTSUPP, "it is older" },
		{ KFB_ST_IO, -EIO, "a restart may do it or undo it" },
		{ KFB_ST_LIMIT, -EDQUOT, "limit" },
	};
	struct kfbrick_reservation r = { .size = sizeof(r) };
	struct kfbrick_reserve want = { .size = sizeof(want),
					.n_blocks = 1,
					.key = 1,
					.action = KFBRICK_RESERVE_CLEAR };

	assert_int_equal(kfbrick_reserve(k, &want), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rules->refuse_op = KFB_OP_RESERVE;
		rules->refuse_status = cases[i].status;
		assert_int_equal(kfbrick_reserve(k, &want), cases[i].error);
		lib_says(cases[i].says);
	}
	rules->refuse_op = KFB_OP_RESERVATION;
	rules->refuse_status = KFB_ST_NOT_SUPPORTED;
	assert_int_equal(kfbrick_get_reservation(k, 0, 1, &r), -EOPNOTSUPP);
	lib_says("no persistent reservations");
	lib_says("reservation of 0x0+1");
}

/* Whoever has registered may. */
static void what_is_reserved_for_others_is_refused(void **state)
{
	struct kfbrick_mapping *mapping;

	rules->refuse_status = KFB_ST_CONFLICT;
	rules->refuse_op = KFB_OP_ALLOC;
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 1), -EBADE);
	lib_says("brickctl reserve");
	rules->refuse_op = KFB_OP_FREE;
	assert_int_equal(kfbrick_free(k, FAKE_VA, 1), -EBADE);
	lib_says("brickctl reserve");
	rules->refuse_op = KFB_OP_MAP;
	assert_int_equal(kfbrick_map(k, FAKE_VA, 1,
				     KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
				     &mapping),
			 -EBADE);
	lib_says("brickctl reserve");
}

static void what_does_not_go_together_is_not_sent(void **state)
{
	static const struct kfbrick_reserve wrong[] = {
		{ .action = 0 },
		{ .action = KFBRICK_RESERVE_CLEAR + 1 },
		{ .action = KFBRICK_RESERVE_REGISTER, .type = 1 },
		{ .action = KFBRICK_RESERVE_REGISTER, .flags = 2 },
		{ .action = KFBRICK_RESERVE_REGISTER, .flags = 1, .key = 1 },
		{ .action = KFBRICK_RESERVE_RESERVE },
		{ .action = KFBRICK_RESERVE_RESERVE, .type = 7 },
		{ .action = KFBRICK_RESERVE_RESERVE, .type = 1, .flags = 1 },
		{ .action = KFBRICK_RESERVE_RESERVE, .type = 1, .new_key = 1 },
		{ .action = KFBRICK_RESERVE_RELEASE },
		{ .action = KFBRICK_RESERVE_PREEMPT, .new_key = 1 },
		{ .action = KFBRICK_RESERVE_CLEAR, .type = 1 },
		{ .action = KFBRICK_RESERVE_CLEAR, .new_key = 1 },
	};
	struct kfbrick_reserve want = { .action = KFBRICK_RESERVE_CLEAR };

	assert_int_equal(kfbrick_reserve(k, &want), -EINVAL);
	lib_says("size");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		want = wrong[i];
		want.size = sizeof(want);
		assert_int_equal(kfbrick_reserve(k, &want), -EINVAL);
		lib_says("do not go together");
	}
	assert_int_equal(fake_brick_seen(brick, KFB_OP_RESERVE), 0);
}

static void a_map_is_tried_again_while_it_is_refused_for_now(void **state)
{
	struct kfbrick_mapping *mapping;

	rules->map_again = 3;
	mapping = lib_map(1);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_MAP), 4);
	assert_int_equal(kfbrick_unmap(k, mapping), 0);
	rules->map_again = 1;
	assert_int_equal(kfbrick_map(k, FAKE_VA, 1,
				     KFBRICK_MAP_RO | KFBRICK_MAP_SHARED |
					     KFBRICK_MAP_NOWAIT,
				     &mapping),
			 -EAGAIN);
	/* That of all tries; each is answered. */
	k->timeout_ms = SHORT_TIMEOUT_MS;
	rules->map_again = UINT32_MAX;
	assert_int_equal(kfbrick_map(k, FAKE_VA, 1,
				     KFBRICK_MAP_RO | KFBRICK_MAP_SHARED,
				     &mapping),
			 -EAGAIN);
}

static void a_map_of_many_pages_is_one_mapping(void **state)
{
	const struct kfbrick_handle *handles;
	struct kfbrick_mapping *mapping;
	size_t i;

	rules->handles_per_page = 2;
	mapping = lib_map(5);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_MAP), 3);
	assert_int_equal(kfbrick_mapping_handles(mapping, &handles), 5);
	for (i = 0; i < 5; i++)
		assert_int_equal(handles[i].va,
				 FAKE_VA + i * KFBRICK_BLOCK_BYTES);
	assert_int_not_equal(kfbrick_mapping_id(mapping), 0);
	assert_int_equal(kfbrick_unmap_id(k, kfbrick_mapping_id(mapping)),
			 -EBUSY);
	assert_int_equal(kfbrick_unmap(k, mapping), 0);
	assert_int_equal(kfbrick_unmap_id(k, 1), 0);
}

/*
 * A session that ends may still have its ALLOC carried out: after LIST has shown
 * the new one that nothing is there.
 */
static void an_alloc_that_comes_after_its_session_is_no_error(void **state)
{
	struct kfbrick_config config = lib_config();

	config.reconnect_ms = TIMEOUT_MS;
	assert_int_equal(lib_connect(&config), 0);
	rules->drop_once = KFB_OP_ALLOC;
	rules->forget = true;
	rules->hidden_lists = 3;
	rules->refuse_status = KFB_ST_EXISTS;
	rules->refuse_op = KFB_OP_ALLOC;
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 1), 0);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_LIST), 4);
	/* One that another has allocated is an error, as ever. */
	rules->hidden_lists = 1;
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 1), -EEXIST);
}

static void lose_session_by(uint16_t op)
{
	rules->drop_once = op;
	rules->forget = true;
}

/* The first one may have been carried out, or be so in a moment. */
static void a_refusal_of_an_alloc_that_was_sent_again_says_nothing(void **state)
{
	struct kfbrick_config config = lib_config();

	config.reconnect_ms = TIMEOUT_MS;
	assert_int_equal(lib_connect(&config), 0);
	rules->refuse_status = KFB_ST_DENIED;
	rules->refuse_op = KFB_OP_ALLOC;
	lose_session_by(KFB_OP_ALLOC);
	rules->hidden_lists = 3;
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 1), -ECONNRESET);
	lib_says("look with list");
	lib_says(kfb_status_text(KFB_ST_DENIED));
	lose_session_by(KFB_OP_ALLOC);
	rules->hidden_lists = 2;
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 1), 0);
	rules->hidden_lists = 1;
	assert_int_equal(kfbrick_alloc(k, FAKE_VA, 1), -EACCES);
}

/* A brick that cannot be right: it refuses for what it does not show. */
static void an_alloc_of_what_is_not_shown_comes_to_an_end(void **state)
{
	struct kfbrick_config config = lib_config();
	unsigned int tries = 10;

	config.reconnect_ms = TIMEOUT_MS;
	assert_int_equal(lib_connect(&config), 0);
	rules->refuse_status = KFB_ST_EXISTS;
	rules->refuse_op = KFB_OP_ALLOC;
	rules->hidden_lists = UINT32_MAX;
	lib_limit(LATE_MS);
	/* One answer may take that long where others use the processors. */
	do {
		lose_session_by(KFB_OP_ALLOC);
		assert_int_equal(kfbrick_alloc(k, FAKE_VA, 1), -ECONNRESET);
		lib_says("look with list");
	} while (strstr(kfbrick_error(k), "does not answer") && --tries);
	lib_says(kfb_status_text(KFB_ST_EXISTS));
}

/* Blocks that are granted no more are not shown either. */
static void a_free_is_done_when_its_blocks_are_known_to_be_gone(void **state)
{
	static const struct {
		uint16_t map_status;
		int error;
	} cases[] = {
		{ KFB_ST_DENIED, -ECONNRESET },
		{ KFB_ST_AGAIN, -ECONNRESET },
		{ KFB_ST_OK, -ECONNRESET },
		{ KFB_ST_NOT_FOUND, 0 },
	};
	struct kfbrick_config config = lib_config();

	config.reconnect_ms = TIMEOUT_MS;
	assert_int_equal(lib_connect(&config), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		rules->refuse_status = cases[i].map_status;
		rules->refuse_op =
			cases[i].map_status == KFB_ST_OK ? 0 : KFB_OP_MAP;
		lose_session_by(KFB_OP_FREE);
		rules->shown_lists = 1;
		rules->hidden_lists = 1;
		assert_int_equal(kfbrick_free(k, FAKE_VA, 1), cases[i].error);
	}
	assert_int_equal(fake_brick_seen(brick, KFB_OP_FREE), 4);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_UNMAP), 1);
}

/* Else nobody could map its blocks again as long as the session lives. */
static void a_mapping_that_the_brick_cannot_end_stays(void **state)
{
	struct kfbrick_mapping *mapping, *other;

	for (unsigned int i = 0; i < LIB_STAYS; i++) {
		mapping = lib_map(1);
		rules->refuse_status = lib_stays[i].status;
		rules->refuse_max = 1;
		rules->refuse_op = KFB_OP_UNMAP;
		assert_int_equal(kfbrick_unmap(k, mapping), lib_stays[i].error);
		assert_int_equal(kfbrick_map(k, FAKE_VA, 1,
					     KFBRICK_MAP_RO |
						     KFBRICK_MAP_SHARED,
					     &other),
				 -EBUSY);
		assert_int_equal(kfbrick_unmap(k, mapping), 0);
		assert_int_equal(fake_brick_seen(brick, KFB_OP_UNMAP),
				 2 * i + 2);
	}
	assert_int_equal(kfbrick_unmap(k, lib_map(1)), 0);
}

static void handles_of_something_else_are_given_back(void **state)
{
	struct kfbrick_mapping *mapping;

	rules->wrong_handles = true;
	assert_int_equal(kfbrick_map(k, FAKE_VA, 2,
				     KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
				     &mapping),
			 -EPROTO);
	lib_says("something else");
	wait_seen(KFB_OP_UNMAP, 1);
	rules->wrong_handles = false;
	/* Nothing at all would go on for ever. */
	rules->no_handles = true;
	assert_int_equal(kfbrick_map(k, FAKE_VA, 2,
				     KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
				     &mapping),
			 -EPROTO);
	rules->no_handles = false;
	assert_int_equal(kfbrick_unmap(k, lib_map(2)), 0);
}

static void a_map_that_comes_too_late_is_given_back(void **state)
{
	struct kfbrick_mapping *mapping;

	rules->hold_op = KFB_OP_MAP;
	lib_limit(SHORT_TIMEOUT_MS);
	assert_int_equal(kfbrick_map(k, FAKE_VA, 2,
				     KFBRICK_MAP_RW | KFBRICK_MAP_EXCLUSIVE,
				     &mapping),
			 -ETIMEDOUT);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_UNMAP), 0);
	rules->hold_op = 0;
	wait_seen(KFB_OP_UNMAP, 1);
}

static void bad_flags_and_double_mappings_are_refused(void **state)
{
	static const unsigned int bad[] = {
		0,
		KFBRICK_MAP_RO,
		KFBRICK_MAP_EXCLUSIVE,
		KFBRICK_MAP_RO | KFBRICK_MAP_RW | KFBRICK_MAP_SHARED,
		KFBRICK_MAP_RO | KFBRICK_MAP_SHARED | KFBRICK_MAP_EXCLUSIVE,
		KFBRICK_MAP_RO | KFBRICK_MAP_SHARED | 1U << 30,
	};
	struct kfbrick_mapping *mapping = lib_map(4);
	struct kfbrick_mapping *second;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(kfbrick_map(k, FAKE_VA, 1, bad[i], &second),
				 -EINVAL);
	assert_int_equal(kfbrick_map(k, FAKE_VA + 3 * KFBRICK_BLOCK_BYTES, 2,
				     KFBRICK_MAP_RO | KFBRICK_MAP_SHARED,
				     &second),
			 -EBUSY);
	assert_int_equal(fake_brick_seen(brick, KFB_OP_MAP), 1);
	assert_int_equal(kfbrick_unmap(k, mapping), 0);
}

static void a_list_goes_on_at_its_cursor(void **state)
{
	struct kfbrick_extent extents[4];
	uint64_t cursor = 0;
	uint64_t changes = 0;

	assert_int_equal(kfbrick_list(k, KFBRICK_LIST_ALLOCATED, &cursor,
				      extents, 4, &changes),
			 4);
	assert_int_equal(extents[0].va, FAKE_VA);
	assert_int_equal(changes, 5);
	assert_int_not_equal(cursor, 0);
	assert_int_equal(kfbrick_list(k, KFBRICK_LIST_ALLOCATED, &cursor,
				      extents, 4, NULL),
			 1);
	assert_int_equal(extents[0].va, FAKE_VA + 4 * KFBRICK_BLOCK_BYTES);
	assert_int_equal(cursor, 0);
	assert_int_equal(kfbrick_list(k, 0, &cursor, extents, 4, NULL),
			 -EINVAL);
	assert_int_equal(kfbrick_list(k, 4, &cursor, extents, 4, NULL),
			 -EINVAL);
	assert_int_equal(kfbrick_list(k, 1, &cursor, extents, 0, NULL),
			 -EINVAL);
}

static void a_list_that_makes_no_progress_is_refused(void **state)
{
	static const uint64_t steps[] = { 1, KFBRICK_BLOCK_BYTES };
	struct kfbrick_extent extents[4];
	uint64_t cursor = FAKE_VA;
	size_t i;

	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		rules->list_step = steps[i];
		assert_int_equal(kfbrick_list(k, KFBRICK_LIST_ALLOCATED,
					      &cursor, extents, 4, NULL),
				 -EPROTO);
		assert_int_equal(cursor, FAKE_VA);
	}
}

static void events_are_kept_and_acknowledged(void **state)
{
	struct kfbrick_event event = { .size = sizeof(event) };

	assert_int_equal(kfbrick_next_event(k, &event), 0);
	rules->event_after_ping = KFB_EVENT_RECALL;
	assert_int_equal(kfbrick_ping(k), 0);
	wait_seen(KFB_OP_PING, 2);
	assert_int_equal(fake_brick_last_ack(brick), 1);
	assert_int_equal(kfbrick_next_event(k, &event), 1);
	assert_int_equal(event.kind, KFBRICK_EVENT_RECALL);
	assert_int_equal(event.va, FAKE_VA);
	assert_int_equal(event.deadline_ms, 1000);
	assert_int_equal(kfbrick_next_event(k, &event), 0);
}

static void who_was_evicted_knows_by_whom(void **state)
{
	struct kfbrick_event event = { .size = sizeof(event) };
	struct kfbrick_completion none;
	unsigned int i;

	rules->event_after_ping = KFB_EVENT_EVICTED;
	assert_int_equal(kfbrick_ping(k), 0);
	for (i = 0; !kfbrick_next_event(k, &event) && i < 1000; i++)
		(void)kfbrick_poll(k, &none, 1, 10);
	assert_int_equal(event.kind, KFBRICK_EVENT_EVICTED);
	assert_int_equal(event.cause, KFBRICK_EVICTED_ORDER);
	assert_int_equal(event.uid, FAKE_UID);
	assert_int_equal(event.va, 0);
	assert_int_equal(event.mapping_id, 0);
	assert_int_equal(kfbrick_next_event(k, &event), 0);
	assert_int_equal(kfbrick_ping(k), -ENOTCONN);
	assert_non_null(strstr(kfbrick_error(k), "has evicted this client: an "
						 "administrator"));
}

static void polling_keeps_the_lease(void **state)
{
	rules->lease_ms =
		12000; /* a quarter is longer than a busy machine takes */
	lib_connect_default();
	wait_seen(KFB_OP_PING, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONNECTED(a_refusal_names_range_brick_and_reason),
		CONNECTED(an_alloc_over_the_quota_says_so),
		CONNECTED(a_quota_that_cannot_be_asked_for_hides_no_refusal),
		UNCONNECTED(a_quota_that_nobody_asked_for_breaks_the_protocol),
		CONNECTED(
			a_rate_is_that_of_the_session_until_an_event_says_another),
		UNCONNECTED(a_rate_that_nobody_asked_for_breaks_the_protocol),
		CONNECTED(a_call_without_answer_times_out),
		CONNECTED(calls_without_answer_use_up_the_credits_but_not_ping),
		CONNECTED(a_connection_lost_after_a_request_leaves_it_unknown),
		CONNECTED(garbage_from_the_brick_ends_the_connection),
		CONNECTED(a_client_is_the_one_that_was_asked_for),
		CONNECTED(a_fence_names_a_client_and_why_it_is_refused),
		CONNECTED(a_reservation_tells_who_has_which_key),
		CONNECTED(a_reservation_says_why_it_is_refused),
		CONNECTED(what_is_reserved_for_others_is_refused),
		CONNECTED(what_does_not_go_together_is_not_sent),
		CONNECTED(a_map_is_tried_again_while_it_is_refused_for_now),
		CONNECTED(a_map_of_many_pages_is_one_mapping),
		CONNECTED(an_alloc_that_comes_after_its_session_is_no_error),
		CONNECTED(
			a_refusal_of_an_alloc_that_was_sent_again_says_nothing),
		UNCONNECTED(an_alloc_of_what_is_not_shown_comes_to_an_end),
		CONNECTED(a_free_is_done_when_its_blocks_are_known_to_be_gone),
		CONNECTED(a_mapping_that_the_brick_cannot_end_stays),
		CONNECTED(handles_of_something_else_are_given_back),
		CONNECTED(a_map_that_comes_too_late_is_given_back),
		CONNECTED(bad_flags_and_double_mappings_are_refused),
		CONNECTED(a_list_goes_on_at_its_cursor),
		CONNECTED(a_list_that_makes_no_progress_is_refused),
		CONNECTED(events_are_kept_and_acknowledged),
		CONNECTED(who_was_evicted_knows_by_whom),
		CONNECTED(polling_keeps_the_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
