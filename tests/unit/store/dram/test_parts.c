// SPDX-License-Identifier: BSD-2-Clause
/* The parts of a store on their own: checksum, index, slots, sort, lists. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/store/dram/sort.h"
#include "brickd/store/format/crc32c.h"
#include "brickd/store/recovery/copies.h"
#include "tests/unit/store/fixture.h"

static void the_checksum_is_crc32c(void **state)
{
	/* RFC 3720, appendix B.4, and the usual check value. */
	uint8_t bytes[32];

	(void)state;
	assert_int_equal(brick_crc32c(0, "123456789", 9), 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(brick_crc32c(0, bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(brick_crc32c(0, bytes, sizeof(bytes)), 0x62a8ab43);
	assert_int_equal(brick_crc32c(brick_crc32c(0, "1234", 4), "56789", 5),
			 0xe3069283);
}

/* Short and long buffers take different ways to one checksum. */
static void the_checksum_of_parts_is_that_of_the_whole(void **state)
{
	uint8_t bytes[200];
	size_t i, len;

	(void)state;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37 + 11);
	for (len = 0; len <= 96; len++) {
		uint32_t parts = 0;

		for (i = 0; i < len; i++)
			parts = brick_crc32c(parts, bytes + i, 1);
		assert_int_equal(brick_crc32c(0, bytes, len), parts);
		assert_int_equal(brick_crc32c(brick_crc32c(0, bytes, len),
					      bytes + len, 64),
				 brick_crc32c(0, bytes, len + 64));
	}
}

static void the_index_is_an_ordered_map(void **state)
{
	struct brick_index ix;
	uint64_t key, value;

	(void)state;
	brick_index_init(&ix);
	key = 0;
	assert_false(brick_index_next(&ix, &key, &value));
	assert_int_equal(brick_index_put(&ix, 0, 10), 0);
	assert_int_equal(brick_index_put(&ix, KFB_BLOCKS_MAX - 1, 12), 0);
	assert_int_equal(brick_index_put(&ix, 77, 11), 0);
	assert_int_equal(brick_index_put(&ix, 77, 21), 0);
	assert_true(brick_index_get(&ix, 77, &value));
	assert_int_equal(value, 21);
	assert_false(brick_index_get(&ix, 78, &value));
	key = 1;
	assert_true(brick_index_next(&ix, &key, &value));
	assert_int_equal(key, 77);
	key = 78;
	assert_true(brick_index_next(&ix, &key, &value));
	assert_true(key == KFB_BLOCKS_MAX - 1);
	assert_int_equal(value, 12);
	brick_index_del(&ix, 77);
	brick_index_del(&ix, 77);
	assert_false(brick_index_get(&ix, 77, &value));
	key = KFB_BLOCKS_MAX;
	assert_false(brick_index_next(&ix, &key, &value));
	/* An entry that could not be taken out is not there. */
	assert_int_equal(brick_index_put(&ix, 5, BRICK_INDEX_ABSENT), 0);
	assert_false(brick_index_get(&ix, 5, &value));
	key = 1;
	assert_true(brick_index_next(&ix, &key, &value));
	assert_true(key == KFB_BLOCKS_MAX - 1);
	brick_index_fini(&ix);
}

static struct brick_slot_run run_of(uint64_t slot, uint64_t n)
{
	return (struct brick_slot_run){ .slot = slot, .n = n };
}

static void slots_are_taken_side_by_side_if_they_can_be(void **state)
{
	struct brick_slot_run run;
	struct brick_slots s;

	(void)state;
	assert_int_equal(brick_slots_init(&s, 200), 0);
	assert_false(brick_slot_map_take(&s.clean, 1, false, &run));
	brick_slot_map_give(&s.clean, run_of(3, 5));
	brick_slot_map_give(&s.clean, run_of(60, 70));
	brick_slot_map_give(&s.clean, run_of(199, 1));
	assert_int_equal(s.clean.n_set, 76);
	assert_true(brick_slot_map_take(&s.clean, 70, true, &run));
	assert_true(run.slot == 60 && run.n == 70);
	assert_false(brick_slot_map_take(&s.clean, 6, true, &run));
	assert_true(brick_slot_map_take(&s.clean, 6, false, &run));
	assert_true(run.slot == 199 && run.n == 1);
	assert_true(brick_slot_map_take(&s.clean, 4, false, &run));
	assert_true(run.slot == 3 && run.n == 4);
	assert_int_equal(s.clean.n_set, 1);
	assert_true(brick_slot_map_take(&s.clean, 9, false, &run));
	assert_true(run.slot == 7 && run.n == 1);
	assert_false(brick_slot_map_take(&s.clean, 1, false, &run));
	brick_slots_fini(&s);
}

/* Others wait meanwhile, and there may be millions of places. */
static void a_run_is_looked_for_at_so_many_places(void **state)
{
	enum {
		LOOKED = 4096,
		N = 3 * LOOKED,
	};
	struct brick_slot_run run;
	struct brick_slots s;

	(void)state;
	assert_int_equal(brick_slots_init(&s, N), 0);
	for (uint64_t slot = 0; slot < 2 * (LOOKED - 1); slot += 2)
		brick_slot_map_give(&s.clean, run_of(slot, 1));
	brick_slot_map_give(&s.clean, run_of(N - 9, 2));
	assert_true(brick_slot_map_take(&s.clean, 2, true, &run));
	assert_true(run.slot == N - 9 && run.n == 2);
	s.clean.hint = 0;
	brick_slot_map_give(&s.clean, run_of(2 * (LOOKED - 1), 1));
	brick_slot_map_give(&s.clean, run_of(N - 9, 2));
	assert_false(brick_slot_map_take(&s.clean, 2, true, &run));
	assert_true(brick_slot_map_take(&s.clean, 2, false, &run));
	assert_true(run.slot == 0 && run.n == 1);
	brick_slots_fini(&s);
}

/* Against a plain array, with random takes and gives. */
static void the_slot_map_agrees_with_an_array(void **state)
{
	enum {
		N = 9000 /* words of words, and a part of one */
	};
	bool has[N] = { false };
	struct brick_slot_run run;
	struct brick_slots s;
	unsigned int step, i, n = 0;

	(void)state;
	srand(5);
	assert_int_equal(brick_slots_init(&s, N), 0);
	for (step = 0; step < 20000; step++) {
		unsigned int at = (unsigned int)rand() % N;
		unsigned int len = 1 + (unsigned int)rand() % 2700;

		if (rand() % 2) {
			for (i = 0; i < len && at + i < N && !has[at + i]; i++)
				has[at + i] = true;
			if (i)
				brick_slot_map_give(&s.clean, run_of(at, i));
			n += i;
		} else if (brick_slot_map_take(&s.clean, len, rand() % 2,
					       &run)) {
			assert_in_range(run.n, 1, len);
			for (i = 0; i < run.n; i++) {
				assert_true(has[run.slot + i]);
				has[run.slot + i] = false;
			}
			n -= (unsigned int)run.n;
		}
		assert_int_equal(s.clean.n_set, n);
	}
	brick_slots_fini(&s);
}

static void expect_sorted(struct brick_id *ids, struct brick_id *tmp, int n)
{
	uint64_t was = 0;
	int i;

	for (i = 0; i < n; i++) {
		ids[i].key_lo = (uint32_t)rand() << 1 ^ (uint32_t)rand();
		ids[i].key_hi = (uint32_t)rand() & 0x7ff;
		ids[i].slot = ids[i].key_lo ^ ids[i].key_hi;
	}
	brick_id_sort(ids, tmp, (uint64_t)n);
	for (i = 0; i < n; i++) {
		uint64_t key = (uint64_t)ids[i].key_hi << 32 | ids[i].key_lo;

		assert_true(key >= was);
		assert_int_equal(ids[i].slot, ids[i].key_lo ^ ids[i].key_hi);
		was = key;
	}
}

static void ids_are_sorted_by_all_their_bits(void **state)
{
	enum {
		N = 5000
	};
	static struct brick_id ids[N], tmp[N];
	int n;

	(void)state;
	srand(6);
	expect_sorted(ids, tmp, N);
	/* Few are sorted in another way than many. */
	for (n = 0; n < 100; n++)
		expect_sorted(ids, tmp, n);
}

static void a_layout_uses_all_the_room_there_is(void **state)
{
	uint64_t size;

	(void)state;
	for (size = 2 * BLOCK; size < 1ULL << 45; size = size * 7 / 3) {
		struct brick_super sb;

		assert_int_equal(brick_super_plan(size, 0, &sb), 0);
		assert_true(sb.total_size <= size);
		assert_true(size - sb.total_size < 2 * BLOCK);
		assert_int_equal(sb.data_off % BLOCK, 0);
	}
}

/* All extents, page by page. */
static uint64_t list_all(struct brick_store *s, unsigned int page,
			 uint64_t *n_pages)
{
	struct brick_store_extent ext[16];
	uint64_t cursor = 0, changes, blocks = 0, last = 0;
	unsigned int n, i;

	*n_pages = 0;
	do {
		n = brick_store_list(s, &cursor, ext, page, &changes);
		assert_in_range(n, 1, page);
		for (i = 0; i < n; i++) {
			assert_true(!blocks || ext[i].va >= last);
			last = ext[i].va + ext[i].n_blocks * BLOCK;
			blocks += ext[i].n_blocks;
		}
		++*n_pages;
	} while (cursor);
	return blocks;
}

static void a_list_comes_in_pages(void **state)
{
	struct brick_store_extent ext[4];
	struct fixture fx;
	uint64_t i, pages, cursor = 0, changes, before;

	(void)state;
	fixture_format(&fx, 40);
	fixture_open(&fx, 1);
	assert_int_equal(brick_store_list(fx.s, &cursor, ext, 4, &before), 0);
	assert_int_equal(cursor, 0);
	for (i = 0; i < 10; i++)
		assert_int_equal(fixture_alloc(&fx, (3 * i + 1) * BLOCK, 2), 0);
	assert_int_equal(brick_store_list(fx.s, &cursor, ext, 4, &changes), 4);
	assert_int_equal(changes, before + 10);
	assert_int_equal(cursor, 13 * BLOCK);
	assert_true(ext[3].va == 10 * BLOCK && ext[3].n_blocks == 2);
	assert_int_equal(list_all(fx.s, 4, &pages), 20);
	assert_int_equal(pages, 3);
	assert_int_equal(list_all(fx.s, 1, &pages), 20);
	/* The end is known only when nothing follows the last extent. */
	assert_int_equal(pages, 10);
	fixture_free(&fx);
}

static void a_long_list_is_cut_into_bounded_pages(void **state)
{
	struct fixture fx;
	uint64_t pages;

	(void)state;
	fixture_format(&fx, 20000);
	fixture_open(&fx, 1);
	assert_int_equal(fixture_alloc(&fx, 0, 20000), 0);
	assert_int_equal(list_all(fx.s, 16, &pages), 20000);
	assert_int_equal(pages, 2);
	fixture_free(&fx);
}

static void put_both(struct fixture *fx, const struct brick_super *sb,
		     struct brick_word w0, struct brick_word w1)
{
	brick_record_put_word(fx->m, sb, BRICK_COPY(0), 2, w0);
	brick_record_put_word(fx->m, sb, BRICK_COPY(1), 2, w1);
}

/* Every pair of states that one or two copies can have at a crash. */
static void states_are_settled_by_the_commit_word(void **state)
{
	static const struct {
		enum brick_state state0;
		int tx0; /* relative to the commit word */
		enum brick_state state1;
		int tx1;
		enum brick_state want;
		unsigned int damaged;
	} cases[] = {
		{ BRICK_ALLOC_B, 0, BRICK_ALLOC_B, 0, BRICK_ALLOC, 0 },
		{ BRICK_ALLOC_B, 1, BRICK_ALLOC_B, 1, BRICK_DIRTY, 0 },
		{ BRICK_DIRTY_B, 0, BRICK_DIRTY_B, 0, BRICK_DIRTY, 0 },
		{ BRICK_DIRTY_B, 1, BRICK_DIRTY_B, 1, BRICK_ALLOC, 0 },
		{ BRICK_CLEAN, 0, BRICK_ALLOC_B, 1, BRICK_CLEAN, 0 },
		{ BRICK_ALLOC_B, 1, BRICK_CLEAN, 0, BRICK_DIRTY, 0 },
		{ BRICK_ALLOC, 0, BRICK_ALLOC_B, 0, BRICK_ALLOC, 0 },
		{ BRICK_ALLOC, 0, BRICK_DIRTY, 0, BRICK_ALLOC, 0 },
		{ BRICK_DIRTY, 0, BRICK_ALLOC, 0, BRICK_DIRTY, 0 },
		{ BRICK_DIRTY, 0, BRICK_CLEAN, 0, BRICK_DIRTY, 0 },
		{ BRICK_CLEAN, 0, BRICK_DIRTY, 0, BRICK_CLEAN, 0 },
		{ BRICK_ALLOC, 0, BRICK_BIRTH_B, 0, BRICK_ALLOC, 0 },
		{ BRICK_ALLOC, 0, BRICK_BIRTH_B, 1, BRICK_ALLOC, 0 },
		{ BRICK_DIRTY, 0, BRICK_BIRTH_B, 0, BRICK_DIRTY, 0 },
		{ BRICK_ALLOC_B, 2, BRICK_ALLOC, 0, BRICK_ALLOC, 1 },
		{ BRICK_ALLOC, 0, BRICK_ALLOC_B, -1, BRICK_ALLOC, 2 },
		{ BRICK_ALLOC_B, -1, BRICK_DIRTY_B, 2, BRICK_BAD, 3 },
		{ BRICK_BIRTH_B, 0, BRICK_ALLOC, 0, BRICK_ALLOC, 1 },
		{ BRICK_BIRTH_B, 0, BRICK_BIRTH_B, 1, BRICK_BAD, 1 },
		{ BRICK_BAD, 0, BRICK_BAD, 0, BRICK_BAD, 0 },
	};
	struct brick_payload p = { .id = 6 * BLOCK, .birth = 1 };
	struct brick_super sb;
	struct fixture fx;
	uint32_t tx[] = { 9, 0, BRICK_FMT_TX_MASK };
	size_t i, k;

	(void)state;
	fixture_format(&fx, 4);
	sb = fixture_super(&fx);
	brick_record_put_payload(fx.m, &sb, BRICK_COPY_BOTH, 2, &p);
	for (k = 0; k < sizeof(tx) / sizeof(tx[0]); k++) {
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			struct brick_word w0 = { .state = cases[i].state0 };
			struct brick_word w1 = { .state = cases[i].state1 };
			struct brick_verdict v;

			if (brick_state_is_batch(w0.state))
				w0.tx = (tx[k] + (uint32_t)cases[i].tx0) &
					BRICK_FMT_TX_MASK;
			if (brick_state_is_batch(w1.state))
				w1.tx = (tx[k] + (uint32_t)cases[i].tx1) &
					BRICK_FMT_TX_MASK;
			put_both(&fx, &sb, w0, w1);
			brick_copies_validate(fx.m, &sb, tx[k], 2, &v);
			if (v.state != cases[i].want ||
			    v.damaged != cases[i].damaged)
				fail_msg("case %zu, tx %u: state %u, damaged "
					 "%u",
					 i, tx[k], v.state, v.damaged);
		}
	}
	fixture_free(&fx);
}

static void a_committed_birth_wins_over_a_torn_copy(void **state)
{
	struct brick_payload old = { .id = 6 * BLOCK, .birth = 1, .owner = 1 };
	struct brick_payload new = { .id = 6 * BLOCK, .birth = 2, .owner = 2 };
	struct brick_word alloc = { .state = BRICK_ALLOC };
	struct brick_word birth = { .state = BRICK_BIRTH_B, .tx = 5 };
	struct brick_verdict v;
	struct brick_super sb;
	struct fixture fx;

	(void)state;
	fixture_format(&fx, 4);
	sb = fixture_super(&fx);
	brick_record_put_payload(fx.m, &sb, BRICK_COPY(0), 2, &old);
	brick_record_put_payload(fx.m, &sb, BRICK_COPY(1), 2, &new);
	put_both(&fx, &sb, alloc, birth);
	brick_copies_validate(fx.m, &sb, 5, 2, &v);
	assert_true(v.payload.owner == 2 && !v.damaged && !v.settled);
	brick_copies_validate(fx.m, &sb, 4, 2, &v);
	assert_true(v.payload.owner == 1 && !v.damaged && !v.settled);
	/* Half of the new payload is in copy 0. */
	memcpy(fx.m->base + brick_super_rec(&sb, 0, 2) + 8,
	       fx.m->base + brick_super_rec(&sb, 1, 2) + 8, 8);
	brick_copies_validate(fx.m, &sb, 5, 2, &v);
	assert_true(v.payload.owner == 2 && !v.damaged && !v.settled);
	brick_copies_validate(fx.m, &sb, 4, 2, &v);
	assert_true(v.state == BRICK_BAD && v.damaged == 1);
	fixture_free(&fx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_checksum_is_crc32c),
		cmocka_unit_test(the_checksum_of_parts_is_that_of_the_whole),
		cmocka_unit_test(the_index_is_an_ordered_map),
		cmocka_unit_test(slots_are_taken_side_by_side_if_they_can_be),
		cmocka_unit_test(a_run_is_looked_for_at_so_many_places),
		cmocka_unit_test(the_slot_map_agrees_with_an_array),
		cmocka_unit_test(ids_are_sorted_by_all_their_bits),
		cmocka_unit_test(a_layout_uses_all_the_room_there_is),
		cmocka_unit_test(a_list_comes_in_pages),
		cmocka_unit_test(a_long_list_is_cut_into_bounded_pages),
		cmocka_unit_test(states_are_settled_by_the_commit_word),
		cmocka_unit_test(a_committed_birth_wins_over_a_torn_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
