// SPDX-License-Identifier: BSD-2-Clause
/* Grants of regions: format, bounds, and how they are taken back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rdmw_grant.h"

#define PIECE 300

static const struct rdmw_offer offers[2] = {
	{ .instance = 1,
	  .serial = 1,
	  .features = RDMW_FEATURES,
	  .window = 4,
	  .piece_bytes = PIECE },
	{ .instance = 2,
	  .serial = 1,
	  .features = RDMW_FEATURES,
	  .window = 4,
	  .piece_bytes = PIECE },
};

static const struct rdmw_grant sample = { .key = 0x1122334455667788,
					  .native_key = 0x99aabbcc,
					  .addr = 0x1040,
					  .len = 0x0203,
					  .access = RDMW_MAY_WRITE };

/* docs/kfabric-rdm.md has these bytes. */
static const uint8_t sample_bytes[RDMW_GRANT_BYTES] = {
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* key */
	0xcc, 0xbb, 0xaa, 0x99, 0,    0,    0,	  0, /* native key */
	0x40, 0x10, 0,	  0,	0,    0,    0,	  0, /* address */
	3,    2,    0,	  0,	0,    0,    0,	  0, /* bytes */
	2,    0,    0,	  0,	0,    0,    0,	  0, /* access, 0 */
};

static const struct rdmw_message grant_it = { .kind = RDMW_GRANT,
					      .total = RDMW_GRANT_BYTES };
static const struct rdmw_piece sound = { .kind = RDMW_GRANT,
					 .flags = RDMW_FIRST | RDMW_LAST,
					 .bytes = RDMW_GRANT_BYTES,
					 .at = RDMW_GRANT_BYTES };

static void pair(struct rdmw_flow *a, struct rdmw_flow *b)
{
	rdmw_flow_init(a, &offers[0], &offers[1]);
	rdmw_flow_init(b, &offers[1], &offers[0]);
}

static void test_a_grant_has_the_documented_bytes(void **state)
{
	struct rdmw_grants grants = { 0 };
	uint8_t out[RDMW_GRANT_BYTES];

	(void)state;
	rdmw_grant_pack(&sample, out);
	assert_memory_equal(out, sample_bytes, sizeof(out));
	assert_int_equal(rdmw_grants_add(&grants, &sound, out), RDMW_OK);
	assert_true(grants.grants[0].key == sample.key);
	assert_true(grants.grants[0].native_key == sample.native_key);
	assert_true(grants.grants[0].addr == sample.addr);
	assert_true(grants.grants[0].len == sample.len);
	assert_int_equal(grants.grants[0].access, sample.access);
	assert_int_equal(grants.grants[0].users, 0);
	assert_false(grants.grants[0].is_revoked);
}

static void test_each_wrong_grant_is_told(void **state)
{
	static const struct {
		const char *what;
		int at;
		uint8_t value;
		enum rdmw_violation want;
	} wrongs[] = {
		{ "no access", 32, 0, RDMW_BAD_FIELD },
		{ "an access that is not known", 32, 4, RDMW_BAD_FIELD },
		{ "something in the room", 33, 1, RDMW_BAD_RESERVED },
		{ "something at the room's end", 39, 1, RDMW_BAD_RESERVED },
	};
	struct rdmw_grants grants = { 0 };
	uint8_t bytes[RDMW_GRANT_BYTES];
	struct rdmw_piece piece = sound;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		memcpy(bytes, sample_bytes, sizeof(bytes));
		bytes[wrongs[i].at] = wrongs[i].value;
		if (rdmw_grants_add(&grants, &sound, bytes) != wrongs[i].want)
			fail_msg("%s", wrongs[i].what);
	}
	/* So high that its end goes round. */
	memcpy(bytes, sample_bytes, sizeof(bytes));
	memset(bytes + 16, 0xff, 8);
	assert_int_equal(rdmw_grants_add(&grants, &sound, bytes),
			 RDMW_BAD_FIELD);
	for (piece.bytes = 0; piece.bytes < 60; piece.bytes++)
		if (piece.bytes != RDMW_GRANT_BYTES)
			assert_int_equal(rdmw_grants_add(&grants, &piece,
							 sample_bytes),
					 RDMW_BAD_LENGTH);
	for (i = 0; i < RDMW_GRANTS_MAX; i++)
		assert_int_equal(grants.grants[i].access, 0);
}

static enum rdmw_violation add(struct rdmw_grants *grants, uint64_t key)
{
	struct rdmw_grant grant = sample;
	uint8_t bytes[RDMW_GRANT_BYTES];

	grant.key = key;
	rdmw_grant_pack(&grant, bytes);
	return rdmw_grants_add(grants, &sound, bytes);
}

static void test_there_are_so_many_and_each_key_has_one(void **state)
{
	struct rdmw_grants grants = { 0 };
	uint64_t i;

	(void)state;
	for (i = 0; i < RDMW_GRANTS_MAX; i++) {
		assert_int_equal(add(&grants, i), RDMW_OK);
		assert_int_equal(add(&grants, i), RDMW_BAD_GRANT);
	}
	assert_int_equal(add(&grants, i), RDMW_BAD_GRANT);
	assert_int_equal(rdmw_grants_revoke(&grants, 7), RDMW_OK);
	/* Until it is returned there is no other. */
	assert_int_equal(add(&grants, 7), RDMW_BAD_GRANT);
	assert_true(rdmw_grants_drop(&grants, 7));
	assert_int_equal(add(&grants, 7), RDMW_OK);
}

static void test_a_range_is_within_its_grant(void **state)
{
	struct rdmw_range r = { .key = 5 };
	struct rdmw_grants grants = { 0 };

	(void)state;
	assert_null(rdmw_grants_find(&grants, &r, RDMW_MAY_WRITE));
	add(&grants, 5);
	assert_non_null(rdmw_grants_find(&grants, &r, RDMW_MAY_WRITE));
	assert_null(rdmw_grants_find(&grants, &r, RDMW_MAY_READ));
	r.len = sample.len;
	assert_non_null(rdmw_grants_find(&grants, &r, RDMW_MAY_WRITE));
	r.len++;
	assert_null(rdmw_grants_find(&grants, &r, RDMW_MAY_WRITE));
	r.addr = sample.len;
	assert_null(rdmw_grants_find(&grants, &r, RDMW_MAY_WRITE));
	r.len = 0;
	assert_non_null(rdmw_grants_find(&grants, &r, RDMW_MAY_WRITE));
	r.addr++;
	assert_null(rdmw_grants_find(&grants, &r, RDMW_MAY_WRITE));
	r.addr = UINT64_MAX;
	r.len = 2;
	assert_null(rdmw_grants_find(&grants, &r, RDMW_MAY_WRITE));
	r = (struct rdmw_range){ .key = 6 };
	assert_null(rdmw_grants_find(&grants, &r, RDMW_MAY_WRITE));
}

static void test_what_is_revoked_is_used_no_more_and_goes_unused(void **state)
{
	struct rdmw_range r = { .key = 5 };
	struct rdmw_grants grants = { 0 };
	struct rdmw_grant *grant;

	(void)state;
	assert_int_equal(rdmw_grants_revoke(&grants, 5), RDMW_BAD_GRANT);
	add(&grants, 5);
	grant = rdmw_grants_find(&grants, &r, RDMW_MAY_WRITE);
	assert_non_null(grant);
	grant->users = 1;
	assert_int_equal(rdmw_grants_revoke(&grants, 5), RDMW_OK);
	assert_null(rdmw_grants_find(&grants, &r, RDMW_MAY_WRITE));
	assert_false(rdmw_grants_drop(&grants, 5));
	grant->users = 0;
	assert_true(rdmw_grants_drop(&grants, 5));
	/* It has gone before. */
	assert_true(rdmw_grants_drop(&grants, 5));
	assert_int_equal(rdmw_grants_revoke(&grants, 5), RDMW_BAD_GRANT);
}

static void test_one_is_revoked_at_a_time_and_returned_once(void **state)
{
	uint8_t wire[RDMW_HEADER_BYTES], back[RDMW_HEADER_BYTES];
	struct rdmw_piece piece;
	struct rdmw_flow a, b;

	(void)state;
	pair(&a, &b);
	assert_true(rdmw_flow_revoke(&a, 77, wire));
	assert_int_equal(wire[1], RDMW_REVOKE);
	assert_int_equal(wire[16], 77);
	assert_false(rdmw_flow_revoke(&a, 78, back));
	assert_int_equal(rdmw_flow_arrived(&b, wire, sizeof(wire), &piece),
			 RDMW_OK);
	assert_int_equal(piece.kind, RDMW_REVOKE);
	assert_true(b.is_revoked && b.revoked == 77);
	/* It takes no buffer of the window. */
	assert_int_equal(b.held, 0);
	assert_int_equal(rdmw_flow_arrived(&b, wire, sizeof(wire), &piece),
			 RDMW_BAD_GRANT);
	rdmw_flow_return(&b, back);
	assert_int_equal(back[1], RDMW_RETURN);
	assert_false(b.is_revoked);
	/* Another one is not what was asked for. */
	back[16] = 78;
	assert_int_equal(rdmw_flow_arrived(&a, back, sizeof(back), &piece),
			 RDMW_BAD_GRANT);
	back[16] = 77;
	assert_int_equal(rdmw_flow_arrived(&a, back, sizeof(back), &piece),
			 RDMW_OK);
	assert_int_equal(rdmw_flow_arrived(&a, back, sizeof(back), &piece),
			 RDMW_BAD_GRANT);
	assert_true(rdmw_flow_revoke(&a, 78, wire));
}

static enum rdmw_violation grant_arrives(struct rdmw_flow *a,
					 struct rdmw_flow *b, uint16_t n)
{
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_piece piece;

	rdmw_flow_data(a, &grant_it, 0, n, wire);
	return rdmw_flow_arrived(b, wire, RDMW_HEADER_BYTES + n, &piece);
}

static void test_a_grant_is_one_piece_of_the_window(void **state)
{
	struct rdmw_message m = { .kind = RDMW_DATA, .total = 2 };
	uint8_t wire[PIECE] = { 0 };
	struct rdmw_piece piece;
	struct rdmw_flow a, b;

	(void)state;
	pair(&a, &b);
	assert_int_equal(grant_arrives(&a, &b, RDMW_GRANT_BYTES), RDMW_OK);
	assert_int_equal(b.held, 1);
	assert_int_equal(a.credits, 3);
	pair(&a, &b);
	assert_int_equal(grant_arrives(&a, &b, RDMW_GRANT_BYTES - 1),
			 RDMW_BAD_ORDER);
	/* Not in the middle of a message. */
	pair(&a, &b);
	rdmw_flow_data(&a, &m, 0, 1, wire);
	assert_int_equal(rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES + 1,
					   &piece),
			 RDMW_OK);
	assert_int_equal(grant_arrives(&a, &b, RDMW_GRANT_BYTES),
			 RDMW_BAD_ORDER);
	/* Nor behind a farewell. */
	pair(&a, &b);
	assert_true(rdmw_flow_bye(&a, wire));
	assert_int_equal(rdmw_flow_may_send(&a, RDMW_GRANT), 0);
	assert_int_equal(rdmw_flow_arrived(&b, wire, RDMW_HEADER_BYTES, &piece),
			 RDMW_OK);
	assert_int_equal(grant_arrives(&a, &b, RDMW_GRANT_BYTES),
			 RDMW_BAD_ORDER);
}

static void test_nothing_else_is_in_one_that_is_revoked(void **state)
{
	static const int ats[] = { 2, 3, 6, 8, 24 };
	uint8_t wire[RDMW_HEADER_BYTES];
	struct rdmw_piece piece;
	struct rdmw_flow a, b;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(ats) / sizeof(*ats); i++) {
		pair(&a, &b);
		rdmw_flow_revoke(&a, 77, wire);
		wire[ats[i]] = 1;
		assert_int_equal(rdmw_flow_arrived(&b, wire, sizeof(wire),
						   &piece),
				 RDMW_BAD_RESERVED);
	}
}

static void test_the_feature_is_needed(void **state)
{
	struct rdmw_offer old = offers[0];
	uint8_t wire[RDMW_HEADER_BYTES];
	struct rdmw_piece piece;
	struct rdmw_flow a, b;

	(void)state;
	old.features &= ~(uint32_t)RDMW_FEATURE_GRANT;
	pair(&a, &b);
	rdmw_flow_init(&b, &offers[1], &old);
	assert_int_equal(grant_arrives(&a, &b, RDMW_GRANT_BYTES),
			 RDMW_BAD_KIND);
	rdmw_flow_revoke(&a, 77, wire);
	assert_int_equal(rdmw_flow_arrived(&b, wire, sizeof(wire), &piece),
			 RDMW_BAD_KIND);
	rdmw_flow_return(&a, wire);
	assert_int_equal(rdmw_flow_arrived(&b, wire, sizeof(wire), &piece),
			 RDMW_BAD_KIND);
	wire[1] = RDMW_ATOMIC + 1;
	pair(&a, &b);
	assert_int_equal(rdmw_flow_arrived(&b, wire, sizeof(wire), &piece),
			 RDMW_BAD_KIND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_grant_has_the_documented_bytes),
		cmocka_unit_test(test_each_wrong_grant_is_told),
		cmocka_unit_test(test_there_are_so_many_and_each_key_has_one),
		cmocka_unit_test(test_a_range_is_within_its_grant),
		cmocka_unit_test(
			test_what_is_revoked_is_used_no_more_and_goes_unused),
		cmocka_unit_test(
			test_one_is_revoked_at_a_time_and_returned_once),
		cmocka_unit_test(test_a_grant_is_one_piece_of_the_window),
		cmocka_unit_test(test_nothing_else_is_in_one_that_is_revoked),
		cmocka_unit_test(test_the_feature_is_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
