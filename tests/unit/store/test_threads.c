// SPDX-License-Identifier: BSD-2-Clause
/*
 * The store thread, the cleaner and readers at the same time, for the thread
 * sanitizer and for what only shows when they meet.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fixture.h"

#define SLOTS	16U
#define ROUNDS	120U
#define READERS 2U

struct meeting {
	struct fixture fx;
	bool stop; /* atomic */
	unsigned int n_wrong; /* atomic */
};

static bool stopped(struct meeting *mt)
{
	return __atomic_load_n(&mt->stop, __ATOMIC_ACQUIRE);
}

static void wrong(struct meeting *mt)
{
	(void)__atomic_add_fetch(&mt->n_wrong, 1, __ATOMIC_RELAXED);
}

static void *clean(void *arg)
{
	struct meeting *mt = arg;

	while (!stopped(mt))
		if (brick_store_clean_one(mt->fx.s, 3) < 0)
			wrong(mt);
	return NULL;
}

static void *read_all(void *arg)
{
	struct brick_store_extent ext[SLOTS];
	struct meeting *mt = arg;
	struct brick_store_stats st;
	struct brick_run run;
	uint64_t cursor, changes, va;

	while (!stopped(mt)) {
		cursor = 0;
		(void)brick_store_list(mt->fx.s, &cursor, ext, SLOTS, &changes);
		for (va = 0; va < SLOTS * BLOCK; va += BLOCK)
			if (!brick_store_lookup(mt->fx.s, va, SLOTS, &run) &&
			    (!run.birth || run.slot >= SLOTS))
				wrong(mt);
		brick_store_stats(mt->fx.s, &st);
		if (st.slots_clean + st.slots_dirty + st.slots_alloc !=
		    st.slots_total)
			wrong(mt);
		brick_store_flush(mt->fx.s, 0, SLOTS * BLOCK);
		brick_store_release(mt->fx.s, 7);
	}
	return NULL;
}

/* A client that finds old bytes in its new block would be a breach. */
static void write_and_check(struct meeting *mt, uint64_t va)
{
	struct brick_run run;
	uint8_t *data;

	assert_int_equal(brick_store_lookup(mt->fx.s, va, 1, &run), 0);
	data = mt->fx.m->base + run.offset;
	assert_int_equal(data[0] | data[BLOCK - 1], 0);
	data[0] = 0xee;
	data[BLOCK - 1] = 0xee;
}

static void store_cleaner_and_readers_get_along(void **state)
{
	struct meeting mt = { .stop = false };
	struct brick_store_op op;
	pthread_t threads[READERS + 1];
	unsigned int i;
	uint64_t va, n;

	(void)state;
	fixture_format(&mt.fx, SLOTS);
	fixture_open(&mt.fx, 1);
	mt.fx.m->granularity = BRICK_GRANULARITY_CACHE_LINE;
	assert_int_equal(pthread_create(&threads[0], NULL, clean, &mt), 0);
	for (i = 1; i <= READERS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, read_all, &mt), 0);
	for (i = 0; i < ROUNDS; i++) {
		va = i % 3 * BLOCK;
		n = SLOTS - 4 + i % 5;
		/* The whole store: waits for what the cleaner holds. */
		while (fixture_alloc(&mt.fx, va, n) == -ENOSPC)
			brick_store_release(mt.fx.s, 7);
		write_and_check(&mt, va);
		write_and_check(&mt, va + (n - 1) * BLOCK);
		assert_int_equal(fixture_birth(&mt.fx, va, 2, i + 1), 0);
		op = (struct brick_store_op){
			.kind = BRICK_STORE_FREE,
			.va = va,
			.n_blocks = n - 1,
			.quarantine = i % 2 ? 7 : 0,
		};
		brick_store_commit(mt.fx.s, &op);
		assert_int_equal(op.error, 0);
		assert_int_equal(
			fixture_release(&mt.fx, va + (n - 1) * BLOCK, 1), 0);
	}
	__atomic_store_n(&mt.stop, true, __ATOMIC_RELEASE);
	for (i = 0; i <= READERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(mt.n_wrong, 0);
	fixture_free(&mt.fx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_cleaner_and_readers_get_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
