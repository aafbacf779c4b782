// SPDX-License-Identifier: BSD-2-Clause
/* The index of spans against a list of them that is searched from end to end. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "brickd/mapping/intervals.h"

#define N	64
#define BLOCKS	96
#define STEPS	20000
#define MANY	100000
#define DEPTH	96
#define CLASSES BRICK_INTERVALS_CLASSES

static struct brick_intervals all;
static struct brick_interval spans[N];
static bool is_in[N];

static int begin(void **state)
{
	all.root = NULL;
	memset(is_in, 0, sizeof(is_in));
	return 0;
}

static uint64_t below(uint64_t n)
{
	return (uint64_t)rand() % n;
}

static bool has(int i, int of)
{
	return is_in[i] && spans[i].classes >> of & 1;
}

static uint64_t end_by_list(int of, uint64_t block)
{
	uint64_t end = 0;

	for (int i = 0; i < N; i++)
		if (has(i, of) && spans[i].span.first < block &&
		    spans[i].span.end > end)
			end = spans[i].span.end;
	return end;
}

static uint64_t next_by_list(int of, uint64_t block)
{
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < N; i++)
		if (has(i, of) && spans[i].span.first >= block &&
		    spans[i].span.first < next)
			next = spans[i].span.first;
	return next;
}

static uint32_t count_by_list(int of, struct brick_span span)
{
	uint32_t n = 0;

	for (int i = 0; i < N; i++)
		n += has(i, of) && brick_spans_overlap(spans[i].span, span);
	return n;
}

/* What has been visited, in which order. */
struct visits {
	uint32_t n;
	uint32_t most;
	uint64_t last;
};

static bool note(const struct brick_interval *found, void *arg)
{
	struct visits *v = arg;

	assert_true(found->span.first >= v->last);
	v->last = found->span.first;
	return ++v->n < v->most;
}

static void compare(int of)
{
	struct brick_span span = { below(BLOCKS), 0 };
	struct visits v = { .most = UINT32_MAX };

	span.end = span.first + 1 + below(8);
	assert_int_equal(brick_intervals_end(&all, of, span.first),
			 end_by_list(of, span.first));
	assert_int_equal(brick_intervals_next(&all, of, span.first),
			 next_by_list(of, span.first));
	brick_intervals_overlap(&all, of, span, note, &v);
	assert_int_equal(v.n, count_by_list(of, span));
}

static void change(int i)
{
	if (is_in[i]) {
		brick_intervals_del(&all, &spans[i]);
	} else {
		spans[i].span.first = below(BLOCKS);
		spans[i].span.end =
			spans[i].span.first + 1 + below(below(8) ? 4 : BLOCKS);
		spans[i].classes = 1U << BRICK_INTERVALS_ALL |
				   (uint32_t)below(1U << CLASSES);
		brick_intervals_add(&all, &spans[i]);
	}
	is_in[i] = !is_in[i];
}

static void it_knows_what_a_list_knows(void **state)
{
	srand(20149);
	for (int i = 0; i < STEPS; i++) {
		change((int)below(N));
		for (int of = 0; of < CLASSES; of++)
			compare(of);
	}
}

static void a_visit_ends_when_it_is_told_to(void **state)
{
	struct visits v = { .most = 3 };

	for (int i = 0; i < 8; i++) {
		spans[i].span = (struct brick_span){ 10, 20 };
		spans[i].classes = 1U << BRICK_INTERVALS_ALL;
		brick_intervals_add(&all, &spans[i]);
	}
	brick_intervals_overlap(&all, BRICK_INTERVALS_ALL,
				(struct brick_span){ 0, 30 }, note, &v);
	assert_int_equal(v.n, 3);
}

static int depth_of(const struct brick_interval *i)
{
	int left, right;

	if (!i)
		return 0;
	left = depth_of(i->left);
	right = depth_of(i->right);
	return 1 + (left > right ? left : right);
}

/* In whatever order they come, also when all begin at one block. */
static void nobody_makes_it_deep(void **state)
{
	struct brick_interval *many = calloc(MANY, sizeof(*many));

	assert_non_null(many);
	for (uint64_t i = 0; i < MANY; i++) {
		many[i].span.first = i < MANY / 2 ? i : MANY;
		many[i].span.end = many[i].span.first + 1;
		many[i].classes = 1U << BRICK_INTERVALS_ALL;
		brick_intervals_add(&all, &many[i]);
	}
	assert_in_range(depth_of(all.root), 17, DEPTH);
	for (uint64_t i = 0; i < MANY; i++)
		brick_intervals_del(&all, &many[i]);
	assert_null(all.root);
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(it_knows_what_a_list_knows, begin),
		cmocka_unit_test_setup(a_visit_ends_when_it_is_told_to, begin),
		cmocka_unit_test_setup(nobody_makes_it_deep, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
