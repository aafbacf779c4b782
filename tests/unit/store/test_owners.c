// SPDX-License-Identifier: BSD-2-Clause
/* Whose blocks are whose, how many each owner has, and what a quota refuses. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/store/dram/owners.h"
#include "fixture.h"

#define SLOTS 16
#define A     0xaaaaU
#define B     0xbbbbU

static int with_slots(void **state)
{
	static struct fixture fx;

	fixture_format(&fx, SLOTS);
	fixture_open(&fx, 1);
	*state = &fx;
	return 0;
}

static int done(void **state)
{
	fixture_free(*state);
	return 0;
}

static struct brick_store_op alloc_of(uint32_t owner, uint64_t block,
				      uint64_t n)
{
	return (struct brick_store_op){ .kind = BRICK_STORE_ALLOC,
					.owner = owner,
					.va = block * BLOCK,
					.n_blocks = n };
}

static struct brick_store_op within(uint64_t quota, struct brick_store_op op)
{
	op.has_quota = true;
	op.quota_blocks = quota;
	return op;
}

static int carry_out(struct fixture *fx, struct brick_store_op op)
{
	op.error = 1;
	brick_store_commit(fx->s, &op);
	return op.error;
}

static void carry_out_all(struct fixture *fx, struct brick_store_op *ops,
			  size_t n)
{
	size_t i;

	for (i = 1; i < n; i++)
		ops[i - 1].next = &ops[i];
	brick_store_commit(fx->s, ops);
}

static void assert_owned(struct fixture *fx, uint64_t a, uint64_t b)
{
	assert_int_equal(brick_store_owned(fx->s, A), a);
	assert_int_equal(brick_store_owned(fx->s, B), b);
}

/* Before a loss of power and after it. */
static void assert_owned_for_good(struct fixture *fx, uint64_t a, uint64_t b)
{
	static uint8_t boot = 1;

	assert_owned(fx, a, b);
	fixture_kill(fx);
	fixture_open(fx, ++boot);
	assert_owned(fx, a, b);
}

static void a_block_is_of_who_allocated_it(void **state)
{
	struct fixture *fx = *state;
	struct brick_run run;

	assert_int_equal(carry_out(fx, alloc_of(A, 4, 3)), 0);
	assert_int_equal(carry_out(fx, alloc_of(B, 7, 1)), 0);
	assert_int_equal(brick_store_lookup(fx->s, 4 * BLOCK, 9, &run), 0);
	assert_int_equal(run.owner, A);
	assert_int_equal(run.n_blocks, 3);
	assert_owned_for_good(fx, 3, 1);
}

static void a_block_is_of_who_mapped_it_for_writing_since(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(carry_out(fx, alloc_of(A, 0, 5)), 0);
	assert_int_equal(fixture_birth(fx, BLOCK, 3, B), 0);
	assert_owned_for_good(fx, 2, 3);
	/* Again, with what is its own already. */
	assert_int_equal(fixture_birth(fx, 2 * BLOCK, 3, B), 0);
	assert_owned(fx, 1, 4);
	assert_int_equal(fixture_birth(fx, 0, 5, A), 0);
	assert_owned_for_good(fx, 5, 0);
}

static void a_freed_block_is_nobodys(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(carry_out(fx, alloc_of(A, 0, 6)), 0);
	assert_int_equal(fixture_birth(fx, 4 * BLOCK, 2, B), 0);
	/* One block takes no batch, several do; and some of both owners. */
	assert_int_equal(fixture_release(fx, 0, 1), 0);
	assert_owned(fx, 3, 2);
	assert_int_equal(fixture_release(fx, 3 * BLOCK, 2), 0);
	assert_owned_for_good(fx, 2, 1);
	assert_int_equal(fixture_release(fx, BLOCK, 2), 0);
	assert_int_equal(fixture_release(fx, 5 * BLOCK, 1), 0);
	assert_owned_for_good(fx, 0, 0);
}

static void a_block_that_is_kept_is_freed_by_its_owner_only(void **state)
{
	struct brick_store_op op = { .kind = BRICK_STORE_FREE,
				     .owner = B,
				     .is_kept = true,
				     .n_blocks = 3 };
	struct fixture *fx = *state;

	assert_int_equal(carry_out(fx, alloc_of(A, 0, 4)), 0);
	assert_int_equal(fixture_birth(fx, 0, 2, B), 0);
	/* One is of another, and all or nothing is freed. */
	assert_int_equal(carry_out(fx, op), -EBUSY);
	assert_owned_for_good(fx, 2, 2);
	op.n_blocks = 2;
	assert_int_equal(carry_out(fx, op), 0);
	op.va = 2 * BLOCK;
	assert_int_equal(carry_out(fx, op), -EBUSY);
	op.is_kept = false;
	assert_int_equal(carry_out(fx, op), 0);
	assert_owned_for_good(fx, 0, 0);
	/* What is nobody's is kept for nobody. */
	assert_int_equal(fixture_alloc(fx, 0, 2), 0);
	op.is_kept = true;
	op.va = 0;
	assert_int_equal(carry_out(fx, op), 0);
}

/* As every store has it that an older brickd has written. */
static void a_block_of_nobody_counts_for_nobody(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(fixture_alloc(fx, 0, 4), 0);
	assert_int_equal(brick_store_owned(fx->s, 0), 0);
	assert_owned_for_good(fx, 0, 0);
	assert_int_equal(fixture_birth(fx, 0, 2, A), 0);
	assert_int_equal(fixture_release(fx, 3 * BLOCK, 1), 0);
	assert_owned_for_good(fx, 2, 0);
	assert_int_equal(brick_store_owned(fx->s, 0), 0);
}

static void a_quarantined_slot_counts_for_nobody(void **state)
{
	struct fixture *fx = *state;
	struct brick_store_op freed = { .kind = BRICK_STORE_FREE,
					.n_blocks = 2,
					.quarantine = 9 };

	assert_int_equal(carry_out(fx, alloc_of(A, 0, 3)), 0);
	assert_int_equal(carry_out(fx, freed), 0);
	assert_owned(fx, 1, 0);
	brick_store_release(fx->s, 9);
	assert_owned(fx, 1, 0);
}

static void a_damaged_copy_hides_no_owner(void **state)
{
	struct fixture *fx = *state;
	struct brick_payload p;
	struct brick_run run;

	assert_int_equal(carry_out(fx, alloc_of(A, 0, 2)), 0);
	assert_int_equal(brick_store_lookup(fx->s, 0, 1, &run), 0);
	memset(fx->m->base + fx->s->sb.rec_off[0] + run.slot * 32 + 16, 0x5a,
	       4);
	assert_false(
		brick_record_get_payload(fx->m, &fx->s->sb, 0, run.slot, &p));
	assert_int_equal(fixture_release(fx, 0, 1), 0);
	assert_owned(fx, 1, 0);
}

static void a_quota_is_reached_by_its_last_block(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(carry_out(fx, within(4, alloc_of(A, 0, 3))), 0);
	fixture_snapshot(fx);
	assert_int_equal(carry_out(fx, within(4, alloc_of(A, 3, 2))), -EDQUOT);
	assert_int_equal(carry_out(fx, within(4, alloc_of(A, 3, 1ULL << 40))),
			 -EDQUOT);
	fixture_assert_unchanged(fx);
	assert_owned(fx, 3, 0);
	assert_int_equal(carry_out(fx, within(4, alloc_of(A, 3, 1))), 0);
	assert_int_equal(carry_out(fx, within(4, alloc_of(A, 4, 1))), -EDQUOT);
	/* Others have their own, or none. */
	assert_int_equal(carry_out(fx, within(1, alloc_of(B, 4, 1))), 0);
	assert_int_equal(carry_out(fx, alloc_of(B, 5, 2)), 0);
	assert_owned_for_good(fx, 4, 3);
	assert_int_equal(carry_out(fx, within(4, alloc_of(A, 8, 1))), -EDQUOT);
	assert_int_equal(fixture_release(fx, 0, 1), 0);
	assert_int_equal(carry_out(fx, within(4, alloc_of(A, 8, 1))), 0);
}

static void a_quota_below_what_is_there_takes_nothing(void **state)
{
	struct fixture *fx = *state;

	assert_int_equal(carry_out(fx, alloc_of(A, 0, 6)), 0);
	assert_int_equal(carry_out(fx, within(2, alloc_of(A, 6, 1))), -EDQUOT);
	assert_int_equal(carry_out(fx, within(0, alloc_of(B, 6, 1))), -EDQUOT);
	assert_owned(fx, 6, 0);
	assert_int_equal(fixture_release(fx, 0, 4), 0);
	assert_int_equal(carry_out(fx, within(2, alloc_of(A, 6, 1))), -EDQUOT);
	assert_int_equal(fixture_release(fx, 4 * BLOCK, 1), 0);
	assert_int_equal(carry_out(fx, within(2, alloc_of(A, 6, 1))), 0);
}

static void two_allocs_of_one_list_share_a_quota(void **state)
{
	struct fixture *fx = *state;
	struct brick_store_op ops[] = {
		within(5, alloc_of(A, 0, 3)),  within(5, alloc_of(A, 3, 3)),
		within(5, alloc_of(A, 6, 2)),  within(5, alloc_of(B, 8, 5)),
		within(5, alloc_of(A, 13, 1)),
	};

	carry_out_all(fx, ops, 5);
	assert_int_equal(ops[0].error, 0);
	assert_int_equal(ops[1].error, -EDQUOT);
	assert_int_equal(ops[2].error, 0);
	assert_int_equal(ops[3].error, 0);
	assert_int_equal(ops[4].error, -EDQUOT);
	/* All that succeeded was one batch. */
	assert_int_equal(fixture_seen.n_drains, 2);
	assert_owned_for_good(fx, 5, 5);
}

static void a_list_is_in_order_for_quotas_too(void **state)
{
	struct fixture *fx = *state;
	struct brick_store_op ops[] = {
		{ .kind = BRICK_STORE_FREE, .va = 0, .n_blocks = 2 },
		within(4, alloc_of(A, 4, 2)),
		within(4, alloc_of(A, 6, 1)),
		{ .kind = BRICK_STORE_BIRTH,
		  .owner = B,
		  .va = 2 * BLOCK,
		  .n_blocks = 1 },
		within(4, alloc_of(A, 7, 1)),
		{ .kind = BRICK_STORE_BIRTH,
		  .owner = B,
		  .va = 3 * BLOCK,
		  .n_blocks = 1 },
		within(2, alloc_of(B, 8, 1)),
		within(3, alloc_of(B, 9, 1)),
	};

	assert_int_equal(carry_out(fx, alloc_of(A, 0, 4)), 0);
	carry_out_all(fx, ops, 8);
	assert_int_equal(ops[0].error, 0);
	assert_int_equal(ops[1].error, 0);
	assert_int_equal(ops[2].error, -EDQUOT);
	assert_int_equal(ops[3].error, 0);
	assert_int_equal(ops[4].error, 0);
	assert_int_equal(ops[5].error, 0);
	assert_int_equal(ops[6].error, -EDQUOT);
	assert_int_equal(ops[7].error, 0);
	assert_owned_for_good(fx, 3, 3);
}

/* A client may take over what another one leaves, whatever its quota is. */
static void a_birth_knows_no_quota(void **state)
{
	struct fixture *fx = *state;
	struct brick_store_op op =
		within(1, (struct brick_store_op){ .kind = BRICK_STORE_BIRTH,
						   .owner = B,
						   .n_blocks = 4 });

	assert_int_equal(carry_out(fx, alloc_of(A, 0, 4)), 0);
	assert_int_equal(carry_out(fx, op), 0);
	assert_owned(fx, 0, 4);
}

static void what_a_quota_refuses_is_not_prepared(void **state)
{
	struct fixture *fx = *state;
	struct brick_store_op op = within(4, alloc_of(A, 8, 2));
	struct brick_zeroing left = { .fast = SLOTS };

	assert_int_equal(carry_out(fx, alloc_of(A, 0, 3)), 0);
	assert_int_equal(brick_store_prepare(fx->s, &op, &left), -EDQUOT);
	assert_int_equal(fx->s->slots.n_kept, 0);
	op.n_blocks = 1;
	assert_int_equal(brick_store_prepare(fx->s, &op, &left), 0);
	assert_int_equal(fx->s->slots.n_kept, 1);
	/* Another one of its has the last block: what was kept is given back. */
	assert_int_equal(carry_out(fx, alloc_of(A, 4, 1)), 0);
	brick_store_commit(fx->s, &op);
	assert_int_equal(op.error, -EDQUOT);
	assert_int_equal(fx->s->slots.n_kept, 0);
}

/* Also where what failed is a third fence, behind the commit. */
static void a_failed_batch_leaves_the_counts_of_what_readers_see(void **state)
{
	struct fixture *fx = *state;
	unsigned int fail_at, key;

	for (fail_at = 1; fail_at <= 4; fail_at++) {
		uint64_t n_b = 0;

		fixture_free(fx);
		fixture_format(fx, SLOTS);
		fixture_open(fx, 1);
		assert_int_equal(carry_out(fx, alloc_of(A, 0, 4)), 0);
		fixture_seen.fail_at = fixture_seen.n_drains + fail_at;
		assert_int_equal(fixture_birth(fx, BLOCK, 2, B), -EIO);
		for (key = 0; key < 4; key++) {
			struct brick_run run;

			assert_int_equal(brick_store_lookup(fx->s, key * BLOCK,
							    1, &run),
					 0);
			n_b += run.owner == B;
		}
		assert_owned(fx, 4 - n_b, n_b);
		fixture_seen.fail_at = 0;
	}
}

static void counts_need_memory_once_and_are_never_negative(void **state)
{
	struct brick_owners o;

	(void)state;
	brick_owners_init(&o);
	brick_owners_sub(&o, 7, 1);
	assert_int_equal(brick_owners_count(&o, 7), 0);
	assert_int_equal(brick_owners_reserve(&o, 7), 0);
	brick_owners_add(&o, 7, 3);
	assert_int_equal(brick_owners_reserve(&o, 7), 0);
	assert_int_equal(brick_owners_count(&o, 7), 3);
	brick_owners_sub(&o, 7, 1);
	assert_int_equal(brick_owners_count(&o, 7), 2);
	brick_owners_sub(&o, 7, 5);
	assert_int_equal(brick_owners_count(&o, 7), 0);
	assert_int_equal(brick_owners_reserve(&o, 0), 0);
	brick_owners_add(&o, 0, 3);
	assert_int_equal(brick_owners_count(&o, 0), 0);
	assert_int_equal(brick_owners_reserve(&o, UINT32_MAX), 0);
	brick_owners_add(&o, UINT32_MAX, 1ULL << 33);
	assert_true(brick_owners_count(&o, UINT32_MAX) == 1ULL << 33);
	brick_owners_fini(&o);
}

#define OWNERS_TEST(name) \
	cmocka_unit_test_setup_teardown(name, with_slots, done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OWNERS_TEST(a_block_is_of_who_allocated_it),
		OWNERS_TEST(a_block_is_of_who_mapped_it_for_writing_since),
		OWNERS_TEST(a_freed_block_is_nobodys),
		OWNERS_TEST(a_block_that_is_kept_is_freed_by_its_owner_only),
		OWNERS_TEST(a_block_of_nobody_counts_for_nobody),
		OWNERS_TEST(a_quarantined_slot_counts_for_nobody),
		OWNERS_TEST(a_damaged_copy_hides_no_owner),
		OWNERS_TEST(a_quota_is_reached_by_its_last_block),
		OWNERS_TEST(a_quota_below_what_is_there_takes_nothing),
		OWNERS_TEST(two_allocs_of_one_list_share_a_quota),
		OWNERS_TEST(a_list_is_in_order_for_quotas_too),
		OWNERS_TEST(a_birth_knows_no_quota),
		OWNERS_TEST(what_a_quota_refuses_is_not_prepared),
		OWNERS_TEST(
			a_failed_batch_leaves_the_counts_of_what_readers_see),
		cmocka_unit_test(
			counts_need_memory_once_and_are_never_negative),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
