// SPDX-License-Identifier: BSD-2-Clause
/*
 * Power failures while blocks move between the tiers: at every fence each block
 * is in one place, whole. What the slow tier loses is test_tier.c's matter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/store/move.h"
#include "brickd/store/store_impl.h"
#include "crash_medium.h"
#include "crash_states.h"
#include "slow_fake.h"

#define SLOTS  3U
#define SLOW   4U
#define BLOCKS 2U
#define ROUNDS 6U

struct scene {
	struct crash_medium *cm;
	struct slow_fake *slow;
	struct brick_store *s;
	uint64_t boot;
	uint64_t n_states;
	const char *wrong;
};

static uint64_t data_of(uint64_t block)
{
	return 0xda7a000000000001ULL + block;
}

static struct brick_store *open_store(struct scene *sc, struct crash_medium *cm)
{
	struct brick_store_open o = {
		.instance_id = ++sc->boot,
		.slow = &sc->slow->slow,
	};
	struct brick_store *s;
	char err[256];

	/* Each follows a reboot: no process holds the store. */
	memcpy(o.boot_id, &sc->boot, sizeof(sc->boot));
	return brick_store_open(&cm->m, &o, &s, err, sizeof(err)) ? NULL : s;
}

static uint64_t sample(struct scene *sc, struct crash_medium *cm,
		       const struct brick_run *run, unsigned int i)
{
	uint64_t value;

	if (!run->slow)
		return crash_medium_load(cm,
					 crash_sample_off(cm, run->slot, i));
	memcpy(&value,
	       slow_fake_slot(sc->slow, brick_slot_number(run->slot)) +
		       (i ? KFB_BLOCK_BYTES - sizeof(value) : 0),
	       sizeof(value));
	return value;
}

static const char *look(struct scene *sc, struct crash_medium *cm,
			struct brick_store *s)
{
	const struct brick_store_recovery *r = brick_store_recovery(s);
	struct brick_run run;
	uint64_t block;

	if (r->records_repaired || r->records_bad || r->commit_repaired)
		return "power loss looks like damage";
	if (s->n_alloc != BLOCKS)
		return "a block is gone, or there twice";
	for (block = 0; block < BLOCKS; block++) {
		if (brick_store_lookup(s, brick_va(block), 1, &run))
			return "a block is gone";
		if (sample(sc, cm, &run, 0) != data_of(block) ||
		    sample(sc, cm, &run, 1) != data_of(block))
			return "a block has other bytes";
	}
	return NULL;
}

static bool check_state(struct crash_medium *cm, void *arg)
{
	struct scene *sc = arg;
	struct brick_store *s = open_store(sc, cm);

	sc->n_states++;
	sc->wrong = s ? look(sc, cm, s) : "recovery refuses";
	if (s)
		brick_store_discard(s);
	return !sc->wrong;
}

static void on_point(struct crash_medium *cm, void *arg)
{
	uint64_t seed = 1;
	struct scene *sc = arg;
	struct crash_states states = {
		.exhaustive = 256,
		.random = 64,
		.seed = &seed,
		.fn = check_state,
		.arg = sc,
	};

	if (!sc->wrong)
		crash_states(cm, &states);
}

static void set_up(struct scene *sc)
{
	struct brick_store_format f = { .uuid = { 1 } };
	struct brick_store_op alloc = { .kind = BRICK_STORE_ALLOC,
					.n_blocks = BLOCKS };
	struct brick_run run;
	uint64_t block;
	unsigned int i;
	char err[256];

	memset(sc, 0, sizeof(*sc));
	sc->cm = crash_medium_new(SLOTS, 2);
	sc->slow = slow_fake_new(SLOW);
	f.slow = &sc->slow->slow;
	assert_int_equal(brick_store_format(&sc->cm->m, &f, err, sizeof(err)),
			 0);
	sc->s = open_store(sc, sc->cm);
	assert_non_null(sc->s);
	brick_store_commit(sc->s, &alloc);
	assert_int_equal(alloc.error, 0);
	for (block = 0; block < BLOCKS; block++) {
		assert_int_equal(
			brick_store_lookup(sc->s, brick_va(block), 1, &run), 0);
		for (i = 0; i < CRASH_SAMPLES; i++)
			sc->cm->m.ops->st64(&sc->cm->m,
					    crash_sample_off(sc->cm, run.slot,
							     i),
					    data_of(block));
	}
	brick_store_flush(sc->s, 0, BLOCKS * KFB_BLOCK_BYTES);
	assert_int_equal(brick_store_drain(sc->s), 0);
	sc->cm->on_point = on_point;
	sc->cm->arg = sc;
}

static void move(struct scene *sc, uint64_t block, bool to_slow)
{
	struct brick_move mv = { .va = brick_va(block), .to_slow = to_slow };
	struct brick_store_op op = {
		.kind = BRICK_STORE_MOVE,
		.va = mv.va,
		.n_blocks = 1,
		.move = &mv,
	};

	/* Copies are made on a thread of their own, whose flushes are its own. */
	crash_thread = 1;
	brick_move_begin(sc->s, &mv, 1);
	assert_int_equal(mv.error, 0);
	brick_move_copy(sc->s, &mv, 1);
	assert_int_equal(mv.error, 0);
	crash_thread = 0;
	brick_store_commit(sc->s, &op);
	assert_int_equal(op.error, 0);
	brick_move_end(sc->s, &mv, 1);
	on_point(sc->cm, sc);
}

static void a_block_is_in_one_place_whole_at_every_fence(void **state)
{
	struct scene sc;
	unsigned int i;

	(void)state;
	set_up(&sc);
	for (i = 0; i < ROUNDS && !sc.wrong; i++) {
		/* The second move finds the first one's seals. */
		move(&sc, 0, true);
		move(&sc, 1, true);
		assert_true(brick_store_clean_one(sc.s, 1) >= 0);
		move(&sc, 0, false);
		move(&sc, 1, false);
	}
	if (sc.wrong)
		fail_msg("round %u: %s", i, sc.wrong);
	assert_true(sc.n_states > 1000);
	sc.cm->on_point = NULL;
	brick_store_close(sc.s, true);
	crash_medium_free(sc.cm);
	slow_fake_free(sc.slow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_is_in_one_place_whole_at_every_fence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
