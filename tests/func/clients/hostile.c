// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a peer can send that a brick must not do: hostile BRICK CLIENT KEYFILE
 *
 * Each case expects its own status or the documented end of the connection.
 * tests/func/hostile.py looks afterwards whether the store is as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "key_file.h"
#include "proto/kfb_endian.h"
#include "proto/kfb_err.h"
#include "raw_session.h"

#define ALLOCATED_VA  UINT64_C(0) /* two blocks that hostile.py allocated */
#define FREE_VA	      (UINT64_C(64) << 30)
#define FOREIGN_VA    (UINT64_C(1) << 50) /* outside every grant */
#define LAST_BLOCK_VA (~UINT64_C(0) - KFB_BLOCK_BYTES + 1)

#define WAIT_MS 60000

static struct raw_identity id;

/* Statuses for ranges, by op. */
static void expect(struct raw_session *s, struct kfb_request *req,
		   unsigned int status)
{
	assert_int_equal(raw_call(s, req), RAW_ACCEPTED);
	assert_int_equal(s->reply.op, req->op);
	assert_int_equal(s->reply.status, status);
}

static void expect_range(struct raw_session *s, uint16_t op, uint64_t va,
			 uint64_t n, unsigned int status)
{
	struct kfb_request req = { .op = op };

	req.u.range.va = va;
	req.u.range.n_blocks = n;
	expect(s, &req, status);
}

static void expect_map(struct raw_session *s, uint64_t va, uint64_t n,
		       uint32_t flags, unsigned int status)
{
	struct kfb_request req = { .op = KFB_OP_MAP };

	req.u.map.range.va = va;
	req.u.map.range.n_blocks = n;
	req.u.map.flags = flags;
	expect(s, &req, status);
}

static void expect_unmap(struct raw_session *s, uint64_t mapping_id,
			 unsigned int status)
{
	struct kfb_request req = { .op = KFB_OP_UNMAP };

	req.u.unmap.mapping_id = mapping_id;
	expect(s, &req, status);
}

static int open_session(void **state)
{
	static struct raw_session s;

	*state = &s;
	return raw_session_open(&s, &id) ? 0 : -1;
}

static int close_session(void **state)
{
	raw_session_close(*state);
	return 0;
}

static void alloc_refuses_bad_ranges(void **state)
{
	struct raw_session *s = *state;

	expect_range(s, KFB_OP_ALLOC, FREE_VA + 4096, 1, KFB_ST_INVALID);
	expect_range(s, KFB_OP_ALLOC, FREE_VA, 0, KFB_ST_INVALID);
	expect_range(s, KFB_OP_ALLOC, LAST_BLOCK_VA, 2, KFB_ST_INVALID);
	expect_range(s, KFB_OP_ALLOC, FREE_VA, ~UINT64_C(0), KFB_ST_INVALID);
	expect_range(s, KFB_OP_ALLOC, FREE_VA, KFB_BLOCKS_MAX, KFB_ST_INVALID);
}

static void an_address_outside_the_grant_is_denied(void **state)
{
	struct raw_session *s = *state;

	expect_range(s, KFB_OP_ALLOC, FOREIGN_VA, 1, KFB_ST_DENIED);
	expect_range(s, KFB_OP_FREE, FOREIGN_VA, 1, KFB_ST_DENIED);
	expect_range(s, KFB_OP_ALLOC, LAST_BLOCK_VA, 1, KFB_ST_DENIED);
	expect_map(s, FOREIGN_VA, 1, KFB_MAP_RO | KFB_MAP_SHARED,
		   KFB_ST_DENIED);
}

static void double_alloc_exists_and_double_free_is_not_found(void **state)
{
	struct raw_session *s = *state;

	expect_range(s, KFB_OP_ALLOC, FREE_VA, 2, KFB_ST_OK);
	expect_range(s, KFB_OP_ALLOC, FREE_VA, 2, KFB_ST_EXISTS);
	expect_range(s, KFB_OP_ALLOC, FREE_VA + KFB_BLOCK_BYTES, 2,
		     KFB_ST_EXISTS);
	expect_range(s, KFB_OP_FREE, FREE_VA, 3, KFB_ST_NOT_FOUND);
	expect_range(s, KFB_OP_FREE, FREE_VA, 2, KFB_ST_OK);
	expect_range(s, KFB_OP_FREE, FREE_VA, 2, KFB_ST_NOT_FOUND);
}

static void a_full_store_says_so_and_allocates_nothing(void **state)
{
	expect_range(*state, KFB_OP_ALLOC, FREE_VA, 1000, KFB_ST_NO_SPACE);
	expect_range(*state, KFB_OP_FREE, FREE_VA, 1, KFB_ST_NOT_FOUND);
}

static void free_while_mapped_is_busy(void **state)
{
	struct raw_session *s = *state;
	uint64_t mapping_id;

	expect_map(s, ALLOCATED_VA, 2, KFB_MAP_RO | KFB_MAP_SHARED, KFB_ST_OK);
	mapping_id = s->reply.u.map.mapping_id;
	expect_range(s, KFB_OP_FREE, ALLOCATED_VA, 1, KFB_ST_BUSY);
	expect_unmap(s, mapping_id, KFB_ST_OK);
}

static void a_conflicting_exclusive_map_is_busy(void **state)
{
	struct raw_session other;
	struct raw_session *s = *state;
	uint64_t mapping_id;

	assert_true(raw_session_open(&other, &id));
	expect_map(s, ALLOCATED_VA, 2, KFB_MAP_RO | KFB_MAP_EXCLUSIVE,
		   KFB_ST_OK);
	mapping_id = s->reply.u.map.mapping_id;
	expect_map(&other, ALLOCATED_VA + KFB_BLOCK_BYTES, 1,
		   KFB_MAP_RO | KFB_MAP_SHARED, KFB_ST_BUSY);
	expect_map(&other, ALLOCATED_VA, 1, KFB_MAP_RO | KFB_MAP_EXCLUSIVE,
		   KFB_ST_BUSY);
	expect_unmap(s, mapping_id, KFB_ST_OK);
	raw_session_close(&other);
}

static void unmap_of_a_stale_mapping_is_refused(void **state)
{
	struct raw_session *s = *state;
	uint64_t mapping_id;

	expect_map(s, ALLOCATED_VA, 2, KFB_MAP_RO | KFB_MAP_SHARED, KFB_ST_OK);
	mapping_id = s->reply.u.map.mapping_id;
	expect_unmap(s, mapping_id, KFB_ST_OK);
	expect_unmap(s, mapping_id, KFB_ST_NOT_FOUND);
	expect_unmap(s, mapping_id ^ (UINT64_C(1) << 60), KFB_ST_STALE);
}

static void a_write_with_completion_data_ends_the_connection(void **state)
{
	static uint8_t block[KFB_BLOCK_BYTES / 2];
	struct raw_session *s = *state;
	uint8_t answer[KFB_REPLY_MAX_BYTES];
	size_t len = sizeof(answer);
	struct raw_session other;
	struct kfb_handle handle;
	uint64_t mapping_id;

	expect_map(s, ALLOCATED_VA, 1, KFB_MAP_RW | KFB_MAP_SHARED, KFB_ST_OK);
	handle = s->reply.u.map.handles[0];
	mapping_id = s->reply.u.map.mapping_id;
	/* Longer than any message: as one it would be read beyond its end. */
	assert_int_equal(raw_write_data(s->c, block, sizeof(block),
					handle.raddr + sizeof(block),
					handle.key),
			 0);
	assert_int_equal(raw_receive(s->c, answer, &len, WAIT_MS), RAW_ENDED);
	assert_true(raw_session_open(&other, &id));
	expect_unmap(&other, mapping_id, KFB_ST_OK);
	raw_session_close(&other);
}

static void map_refuses_bad_flags_and_unallocated_blocks(void **state)
{
	struct raw_session *s = *state;

	expect_map(s, ALLOCATED_VA, 1, 0, KFB_ST_INVALID);
	expect_map(s, ALLOCATED_VA, 1, KFB_MAP_RO | KFB_MAP_RW | KFB_MAP_SHARED,
		   KFB_ST_INVALID);
	expect_map(s, ALLOCATED_VA, 1, KFB_MAP_RW, KFB_ST_INVALID);
	expect_map(s, ALLOCATED_VA, 3, KFB_MAP_RO | KFB_MAP_SHARED,
		   KFB_ST_NOT_FOUND);
}

static void list_refuses_an_unknown_subject(void **state)
{
	struct raw_session *s = *state;
	struct kfb_request req = { .op = KFB_OP_LIST };
	uint8_t buf[KFB_REQ_MAX_BYTES];
	int n;

	req.u.list.what = KFB_LIST_ALLOCATED;
	n = raw_encode(s, &req, buf, sizeof(buf));
	assert_true(n > 0);
	buf[sizeof(struct kfb_wire_header)] = 99;
	assert_true(raw_bytes_end_connection(s, buf, n));
}

static void a_message_too_long_ends_the_connection(void **state)
{
	struct raw_session *s = *state;
	struct kfb_request req = { .op = KFB_OP_PING };
	uint8_t buf[2048] = { 0 };

	assert_true(raw_encode(s, &req, buf, sizeof(buf)) > 0);
	assert_true(raw_bytes_end_connection(s, buf, sizeof(buf)));
}

static void a_length_that_disagrees_ends_the_connection(void **state)
{
	struct raw_session *s = *state;
	struct kfb_request req = { .op = KFB_OP_PING };
	uint8_t buf[KFB_REQ_MAX_BYTES];
	int n = raw_encode(s, &req, buf, sizeof(buf));

	assert_true(n > 0);
	assert_true(raw_bytes_end_connection(s, buf, n - 1));
}

static void a_reserved_field_not_zero_ends_the_connection(void **state)
{
	struct raw_session *s = *state;
	struct kfb_request req = { .op = KFB_OP_ALLOC };
	uint8_t buf[KFB_REQ_MAX_BYTES];
	int n;

	req.u.range.va = FREE_VA;
	req.u.range.n_blocks = 1;
	n = raw_encode(s, &req, buf, sizeof(buf));
	assert_true(n > 0);
	buf[offsetof(struct kfb_wire_header, reserved2)] = 1;
	assert_true(raw_bytes_end_connection(s, buf, n));
}

static void an_unknown_op_is_not_supported(void **state)
{
	struct raw_session *s = *state;
	struct kfb_request req = { .op = KFB_OP_PING };
	uint8_t buf[KFB_REQ_MAX_BYTES];
	size_t len = sizeof(buf);
	int n = raw_encode(s, &req, buf, sizeof(buf));
	__le16 status;

	assert_true(n > 0);
	kfb_put_le16((__le16 *)buf, 77);
	assert_int_equal(raw_send(s->c, buf, n), 0);
	assert_int_equal(raw_receive(s->c, buf, &len, WAIT_MS), RAW_ACCEPTED);
	memcpy(&status, buf + offsetof(struct kfb_wire_header, status),
	       sizeof(status));
	assert_int_equal(kfb_get_le16(&status), KFB_ST_NOT_SUPPORTED);
}

static void a_resent_request_is_answered_but_not_executed_again(void **state)
{
	struct raw_session *s = *state;
	struct kfb_request req = { .op = KFB_OP_ALLOC };

	req.u.range.va = FREE_VA;
	req.u.range.n_blocks = 1;
	expect(s, &req, KFB_ST_OK);
	s->seq--;
	expect(s, &req, KFB_ST_OK);
	expect_range(s, KFB_OP_FREE, FREE_VA, 1, KFB_ST_OK);
}

static void a_cookie_out_of_order_ends_the_connection(void **state)
{
	struct raw_session *s = *state;
	struct kfb_request req = { .op = KFB_OP_PING };
	uint8_t buf[KFB_REQ_MAX_BYTES];
	int n;

	s->seq += 5;
	n = raw_encode(s, &req, buf, sizeof(buf));
	assert_true(raw_bytes_end_connection(s, buf, n));
}

static void a_wrong_key_is_rejected(void **state)
{
	struct raw_session s;
	struct kfb_hello hello;
	struct kfb_request req;
	uint16_t status;
	uint8_t key[KFB_KEY_BYTES] = { 1 };

	raw_hello(&hello);
	assert_int_equal(raw_session_connect(&s, &id, &hello, &status),
			 RAW_ACCEPTED);
	assert_true(raw_auth_request(&s, id.client, key, &req));
	expect(&s, &req, KFB_ST_KEY_REJECTED);
	raw_session_close(&s);
}

static void an_unknown_client_is_rejected_like_a_wrong_key(void **state)
{
	struct raw_session s;
	struct kfb_hello hello;
	struct kfb_request req;
	uint16_t status;

	raw_hello(&hello);
	assert_int_equal(raw_session_connect(&s, &id, &hello, &status),
			 RAW_ACCEPTED);
	assert_true(raw_auth_request(&s, "nobody-knows-me", id.key, &req));
	expect(&s, &req, KFB_ST_KEY_REJECTED);
	raw_session_close(&s);
}

/* What another connection proved is worth nothing on this one. */
static void a_replayed_auth_is_rejected(void **state)
{
	struct raw_session first, second;
	struct kfb_hello hello;
	struct kfb_request req;
	uint16_t status;

	raw_hello(&hello);
	assert_int_equal(raw_session_connect(&first, &id, &hello, &status),
			 RAW_ACCEPTED);
	assert_true(raw_auth_request(&first, id.client, id.key, &req));
	expect(&first, &req, KFB_ST_OK);
	assert_int_equal(raw_session_connect(&second, &id, &hello, &status),
			 RAW_ACCEPTED);
	expect(&second, &req, KFB_ST_KEY_REJECTED);
	raw_session_close(&second);
	raw_session_close(&first);
}

static void ops_before_auth_are_denied(void **state)
{
	static const uint16_t ops[] = { KFB_OP_INFO,	KFB_OP_ALLOC,
					KFB_OP_LIST,	KFB_OP_PING,
					KFB_OP_FENCE,	KFB_OP_CLIENT,
					KFB_OP_RESERVE, KFB_OP_RESERVATION };
	struct raw_session s;
	struct kfb_hello hello;
	uint16_t status;
	unsigned int i;

	raw_hello(&hello);
	assert_int_equal(raw_session_connect(&s, &id, &hello, &status),
			 RAW_ACCEPTED);
	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct kfb_request req = { .op = ops[i] };

		if (ops[i] == KFB_OP_LIST)
			req.u.list.what = KFB_LIST_ALLOCATED;
		if (ops[i] == KFB_OP_ALLOC)
			req.u.range.n_blocks = 1;
		if (ops[i] == KFB_OP_FENCE)
			req.u.fence =
				(struct kfb_fence){ 1, "b", KFB_FENCE_EVICT };
		if (ops[i] == KFB_OP_CLIENT)
			req.u.client.which = KFB_CLIENT_AFTER;
		if (ops[i] == KFB_OP_RESERVE)
			req.u.reserve.action = KFB_RESERVE_REGISTER;
		expect(&s, &req, KFB_ST_DENIED);
	}
	raw_session_close(&s);
}

static void a_join_without_proof_is_rejected(void **state)
{
	struct raw_session s;
	struct kfb_hello hello;
	uint16_t status = KFB_ST_OK;

	raw_hello(&hello);
	hello.queue = 1;
	hello.session_id = ((struct raw_session *)*state)->accepted.session_id;
	hello.join_counter = 1;
	assert_int_equal(raw_session_connect(&s, &id, &hello, &status),
			 RAW_REJECTED);
	assert_int_equal(status, KFB_ST_KEY_REJECTED);
	/* The live queue of that session was not touched. */
	expect_range(*state, KFB_OP_FREE, FREE_VA, 1, KFB_ST_NOT_FOUND);
}

static void no_common_version_is_rejected(void **state)
{
	struct raw_session s;
	struct kfb_hello hello;
	uint16_t status = KFB_ST_OK;

	raw_hello(&hello);
	hello.version_min = KFB_VERSION + 1;
	hello.version_max = KFB_VERSION + 3;
	assert_int_equal(raw_session_connect(&s, &id, &hello, &status),
			 RAW_REJECTED);
	assert_int_equal(status, KFB_ST_VERSION);
	/* Nor does a brick serve a client that would not ask it for proof. */
	status = KFB_ST_OK;
	hello.version_min = 1;
	hello.version_max = KFB_VERSION - 1;
	assert_int_equal(raw_session_connect(&s, &id, &hello, &status),
			 RAW_REJECTED);
	assert_int_equal(status, KFB_ST_VERSION);
}

static void a_hello_that_is_none_is_rejected(void **state)
{
	uint8_t junk[44], answer[256];
	size_t len = sizeof(answer);
	struct raw_client *c;

	randombytes_buf(junk, sizeof(junk));
	assert_int_not_equal(raw_connect(id.url, junk, sizeof(junk), answer,
					 &len, &c),
			     RAW_ACCEPTED);
	len = sizeof(answer);
	assert_int_not_equal(raw_connect(id.url, junk, 3, answer, &len, &c),
			     RAW_ACCEPTED);
}

#define IN_SESSION(test) \
	cmocka_unit_test_setup_teardown(test, open_session, close_session)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		IN_SESSION(alloc_refuses_bad_ranges),
		IN_SESSION(an_address_outside_the_grant_is_denied),
		IN_SESSION(double_alloc_exists_and_double_free_is_not_found),
		IN_SESSION(a_full_store_says_so_and_allocates_nothing),
		IN_SESSION(free_while_mapped_is_busy),
		IN_SESSION(a_conflicting_exclusive_map_is_busy),
		IN_SESSION(unmap_of_a_stale_mapping_is_refused),
		IN_SESSION(a_write_with_completion_data_ends_the_connection),
		IN_SESSION(map_refuses_bad_flags_and_unallocated_blocks),
		IN_SESSION(list_refuses_an_unknown_subject),
		IN_SESSION(a_message_too_long_ends_the_connection),
		IN_SESSION(a_length_that_disagrees_ends_the_connection),
		IN_SESSION(a_reserved_field_not_zero_ends_the_connection),
		IN_SESSION(an_unknown_op_is_not_supported),
		IN_SESSION(a_resent_request_is_answered_but_not_executed_again),
		IN_SESSION(a_cookie_out_of_order_ends_the_connection),
		cmocka_unit_test(a_wrong_key_is_rejected),
		cmocka_unit_test(
			an_unknown_client_is_rejected_like_a_wrong_key),
		cmocka_unit_test(a_replayed_auth_is_rejected),
		cmocka_unit_test(ops_before_auth_are_denied),
		IN_SESSION(a_join_without_proof_is_rejected),
		cmocka_unit_test(no_common_version_is_rejected),
		cmocka_unit_test(a_hello_that_is_none_is_rejected),
	};

	if (argc != 4 || key_file_read(argv[3], id.key) || sodium_init() < 0) {
		fprintf(stderr, "usage: %s BRICK CLIENT KEYFILE\n", argv[0]);
		return 2;
	}
	id.url = argv[1];
	id.client = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
