// SPDX-License-Identifier: BSD-2-Clause
/* Which receive takes a message: order, senders, tags, and what was looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rdmw_match.h"

#define ALL	UINT64_MAX
#define WANTS	12
#define ROUNDS	200
#define SENDERS 3

static const uint8_t alice[RDMW_NAME_BYTES] = { 1 };
static const uint8_t bob[RDMW_NAME_BYTES] = { 1, [RDMW_NAME_BYTES - 1] = 1 };

static struct rdmw_want plain(const uint8_t *from)
{
	return (struct rdmw_want){ .from = from };
}

static struct rdmw_want tagged(const uint8_t *from, uint64_t tag,
			       uint64_t ignore)
{
	return (struct rdmw_want){
		.from = from, .is_tagged = 1, .tag = tag, .ignore = ignore
	};
}

static struct rdmw_want *find(const struct rdmw_wants *wants,
			      const uint8_t *from, int is_tagged, uint64_t tag)
{
	const struct rdmw_label label = { .from = from,
					  .is_tagged = !!is_tagged,
					  .tag = tag };

	return rdmw_wants_find(wants, &label, 0, ALL);
}

static void test_the_oldest_receive_takes_a_message(void **state)
{
	struct rdmw_wants wants = { 0 };
	struct rdmw_want a = plain(NULL), b = plain(NULL);

	(void)state;
	assert_null(find(&wants, alice, 0, 0));
	rdmw_want_add(&wants, &a);
	rdmw_want_add(&wants, &b);
	assert_ptr_equal(find(&wants, alice, 0, 0), &a);
	rdmw_want_del(&wants, &a);
	assert_ptr_equal(find(&wants, alice, 0, 0), &b);
	rdmw_want_del(&wants, &b);
	assert_null(find(&wants, alice, 0, 0));
	assert_null(wants.first);
	assert_null(wants.last);
}

static void test_a_directed_receive_is_for_its_sender(void **state)
{
	struct rdmw_wants wants = { 0 };
	struct rdmw_want a = plain(bob), b = plain(NULL);

	(void)state;
	rdmw_want_add(&wants, &a);
	assert_null(find(&wants, alice, 0, 0));
	rdmw_want_add(&wants, &b);
	assert_ptr_equal(find(&wants, alice, 0, 0), &b);
	assert_ptr_equal(find(&wants, bob, 0, 0), &a);
}

static void test_who_waits_for_a_sender_is_known(void **state)
{
	struct rdmw_wants wants = { 0 };
	struct rdmw_want a = tagged(bob, 1, 0), b = tagged(NULL, 2, 0);

	(void)state;
	assert_false(rdmw_wants_from(&wants, alice));
	rdmw_want_add(&wants, &a);
	assert_false(rdmw_wants_from(&wants, alice));
	assert_true(rdmw_wants_from(&wants, bob));
	rdmw_want_add(&wants, &b);
	assert_true(rdmw_wants_from(&wants, alice));
}

static void test_tags_are_a_world_of_their_own(void **state)
{
	struct rdmw_wants wants = { 0 };
	struct rdmw_want a = tagged(NULL, 0, ALL), b = plain(NULL);

	(void)state;
	rdmw_want_add(&wants, &a);
	assert_null(find(&wants, alice, 0, 0));
	rdmw_want_add(&wants, &b);
	assert_ptr_equal(find(&wants, alice, 0, 0), &b);
	assert_ptr_equal(find(&wants, alice, 1, 7), &a);
	rdmw_want_del(&wants, &a);
	assert_null(find(&wants, alice, 1, 0));
}

static void test_each_bit_of_a_tag_counts_unless_ignored(void **state)
{
	const uint64_t tag = 0x5aa5f00f12345678;
	struct rdmw_wants wants = { 0 };
	struct rdmw_want a = tagged(NULL, tag, 0);
	int bit;

	(void)state;
	rdmw_want_add(&wants, &a);
	assert_ptr_equal(find(&wants, alice, 1, tag), &a);
	for (bit = 0; bit < 64; bit++) {
		a.ignore = 0;
		assert_null(find(&wants, alice, 1, tag ^ 1ULL << bit));
		a.ignore = 1ULL << bit;
		assert_ptr_equal(find(&wants, alice, 1, tag ^ 1ULL << bit), &a);
		a.ignore = ~(1ULL << bit);
		assert_null(find(&wants, alice, 1, tag ^ 1ULL << bit));
	}
	a.from = bob;
	a.ignore = ALL;
	assert_null(find(&wants, alice, 1, tag));
	assert_ptr_equal(find(&wants, bob, 1, 0), &a);
}

static void test_a_receive_that_comes_back_has_its_old_place(void **state)
{
	struct rdmw_wants wants = { 0 };
	struct rdmw_want w[3] = { plain(NULL), plain(NULL), plain(NULL) };
	int i, j;

	(void)state;
	for (i = 0; i < 3; i++)
		rdmw_want_add(&wants, &w[i]);
	for (i = 0; i < 3; i++) {
		rdmw_want_del(&wants, &w[i]);
		rdmw_want_put(&wants, &w[i]);
	}
	/* Also when all are gone meanwhile, and come back the wrong way round. */
	for (i = 0; i < 3; i++)
		rdmw_want_del(&wants, &w[i]);
	for (i = 2; i >= 0; i--)
		rdmw_want_put(&wants, &w[i]);
	for (j = 0; j < 3; j++) {
		assert_ptr_equal(find(&wants, alice, 0, 0), &w[j]);
		rdmw_want_del(&wants, &w[j]);
	}
}

static void test_receives_that_do_not_count_are_passed_by(void **state)
{
	const struct rdmw_label label = { .from = alice };
	struct rdmw_wants wants = { 0 };
	struct rdmw_want w[3] = { plain(NULL), plain(NULL), plain(NULL) };
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		rdmw_want_add(&wants, &w[i]);
	assert_null(rdmw_wants_find(&wants, &label, 0, 0));
	assert_ptr_equal(rdmw_wants_find(&wants, &label, 0, 1), &w[0]);
	assert_ptr_equal(rdmw_wants_find(&wants, &label, 1, 2), &w[1]);
	assert_null(rdmw_wants_find(&wants, &label, 2, 2));
	assert_ptr_equal(rdmw_wants_find(&wants, &label, 2, 3), &w[2]);
	assert_null(rdmw_wants_find(&wants, &label, 3, ALL));
}

/* The rule in the shortest words, over an array in the order of posting. */
static int expected(const struct rdmw_want *w, const int *there, int n,
		    const struct rdmw_label *label)
{
	int i;

	for (i = 0; i < n; i++) {
		if (!there[i] || w[i].is_tagged != label->is_tagged)
			continue;
		if (w[i].is_tagged &&
		    (w[i].tag | w[i].ignore) != (label->tag | w[i].ignore))
			continue;
		if (!w[i].from ||
		    !memcmp(w[i].from, label->from, RDMW_NAME_BYTES))
			return i;
	}
	return -1;
}

static void test_any_queue_answers_as_the_rule_says(void **state)
{
	uint8_t names[SENDERS][RDMW_NAME_BYTES] = { { 1 }, { 2 }, { 3 } };
	struct rdmw_want w[WANTS], *got;
	int round, i, step, there[WANTS], want;

	(void)state;
	srand(1);
	for (round = 0; round < ROUNDS; round++) {
		struct rdmw_wants wants = { 0 };

		for (i = 0; i < WANTS; i++) {
			const uint8_t *from =
				rand() % 2 ? names[rand() % SENDERS] : NULL;

			w[i] = rand() % 3 ? tagged(from, (uint64_t)rand() % 4,
						   (uint64_t)rand() % 4)
					  : plain(from);
			rdmw_want_add(&wants, &w[i]);
			there[i] = 1;
		}
		for (step = 0; step < 3 * WANTS; step++) {
			const struct rdmw_label label = {
				.from = names[rand() % SENDERS],
				.is_tagged = rand() % 3 != 0,
				.tag = (uint64_t)rand() % 4,
			};

			want = expected(w, there, WANTS, &label);
			got = rdmw_wants_find(&wants, &label, 0, ALL);
			assert_ptr_equal(got, want < 0 ? NULL : &w[want]);
			if (got) {
				rdmw_want_del(&wants, got);
				there[want] = 0;
			}
			i = rand() % WANTS;
			if (!there[i] && rand() % 2) {
				rdmw_want_put(&wants, &w[i]);
				there[i] = 1;
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_oldest_receive_takes_a_message),
		cmocka_unit_test(test_a_directed_receive_is_for_its_sender),
		cmocka_unit_test(test_who_waits_for_a_sender_is_known),
		cmocka_unit_test(test_tags_are_a_world_of_their_own),
		cmocka_unit_test(test_each_bit_of_a_tag_counts_unless_ignored),
		cmocka_unit_test(
			test_a_receive_that_comes_back_has_its_old_place),
		cmocka_unit_test(test_receives_that_do_not_count_are_passed_by),
		cmocka_unit_test(test_any_queue_answers_as_the_rule_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
