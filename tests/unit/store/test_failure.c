// SPDX-License-Identifier: BSD-2-Clause
/*
 * Syncs that fail: whose bytes may be gone is told, whatever thread it was
 * whose sync failed, and nothing is called durable that is not.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "brickd/store/store_impl.h"
#include "hold.h"
#include "tests/unit/store/media/linux_medium.h"

#define SLOTS	   4
#define BLOCK	   KFB_BLOCK_BYTES
#define WORD	   UINT64_C(0x0123456789abcdef)
#define TIMEOUT_MS 300 /* ms: for what must not happen */
#define LOOK_MS	   5
#define LOOKS	   12000

struct scene {
	struct linux_medium *lm;
	struct brick_store *s;
	struct hold hold;
	uint64_t off; /* of the client's block */
	char err[256];
};

/* Who waits for a sync that somebody else runs. */
static atomic_uint n_waiting;
static const pthread_cond_t *_Atomic sync_ended;

int __real_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);

/* Whoever runs the sync needs the mutex for its end: it finds all that have been counted. */
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	if (cond == sync_ended)
		n_waiting++;
	return __real_pthread_cond_wait(cond, mutex);
}

/* Until each of them waits for the sync that is held, or has ended: how many have. */
static unsigned int settle(struct worker *workers, unsigned int n)
{
	bool ended[8] = { false };
	unsigned int i, looks, n_ended = 0;

	for (looks = 0; looks < LOOKS && n_waiting + n_ended < n; looks++)
		for (i = 0; i < n; i++)
			if (!ended[i] && worker_ends_in(&workers[i], LOOK_MS)) {
				ended[i] = true;
				n_ended++;
			}
	assert_true(looks < LOOKS);
	return n_ended;
}

/* The same of one; none that waits may end by itself. */
static bool ends_early(struct worker *w)
{
	return settle(w, 1) || worker_ends_in(w, TIMEOUT_MS);
}

static int flush(void *arg)
{
	struct scene *sc = arg;

	return brick_store_drain(sc->s);
}

static int change(struct scene *sc, enum brick_store_op_kind kind, uint64_t va)
{
	struct brick_store_op op = { .kind = kind, .va = va, .n_blocks = 1 };

	brick_store_commit(sc->s, &op);
	return op.error;
}

static int alloc(void *arg)
{
	struct scene *sc = arg;

	return change(sc, BRICK_STORE_ALLOC, BLOCK);
}

static int release(void *arg)
{
	struct scene *sc = arg;

	return change(sc, BRICK_STORE_FREE, 0);
}

static int clean(void *arg)
{
	struct scene *sc = arg;

	return brick_store_clean_one(sc->s, 1);
}

static int open_store(struct scene *sc, uint8_t boot)
{
	struct brick_store_open o = { .boot_id = { boot }, .instance_id = 1 };

	return brick_store_open(&sc->lm->m, &o, &sc->s, sc->err,
				sizeof(sc->err));
}

/* A store with one block at 0, which a client has mapped. */
static int begin(void **state)
{
	static struct scene sc;
	struct brick_store_format f = { .uuid = { 1 } };
	struct brick_run run;

	memset(&sc, 0, sizeof(sc));
	*state = &sc;
	hold_init(&sc.hold);
	sc.lm = linux_medium_new((SLOTS + 1) * BLOCK);
	sc.lm->hold = &sc.hold;
	if (brick_store_format(&sc.lm->m, &f, sc.err, sizeof(sc.err)) ||
	    open_store(&sc, 1) || change(&sc, BRICK_STORE_ALLOC, 0) ||
	    brick_store_lookup(sc.s, 0, 1, &run))
		return -1;
	sc.off = run.offset;
	return 0;
}

static int end(void **state)
{
	struct scene *sc = *state;

	if (sc->s)
		brick_store_close(sc->s, false);
	linux_medium_free(sc->lm);
	hold_fini(&sc->hold);
	return 0;
}

/* As a client does it: past the store. */
static void write_data(struct scene *sc)
{
	const uint64_t word = WORD;

	memcpy(sc->lm->m.base + sc->off, &word, sizeof(word));
}

static bool is_on_disk(const struct scene *sc)
{
	uint64_t word;

	memcpy(&word, sc->lm->disk + sc->off, sizeof(word));
	return word == WORD;
}

/* The next sync. */
static void hold_sync(struct scene *sc, enum hold_moment moment)
{
	sc->lm->n_syncs = 0;
	n_waiting = 0;
	sync_ended = &sc->s->syncs.ended;
	hold_arm(&sc->hold, 1, moment);
}

/*
 * The other thread's sync is told that the client's bytes could not be written.
 * Before it has returned with that, the client flushes.
 */
static void error_of(struct scene *sc, int (*work)(void *arg))
{
	struct worker other = { .arg = sc, .work = work };
	struct worker flusher = { .arg = sc, .work = flush };
	bool early;

	write_data(sc);
	sc->lm->fails = true;
	hold_sync(sc, HOLD_WRITTEN);
	worker_start(&other);
	hold_wait(&sc->hold);
	sc->lm->fails = false;
	worker_start(&flusher);
	early = ends_early(&flusher);
	hold_release(&sc->hold);
	worker_join(&other);
	if (!early)
		worker_join(&flusher);
	assert_false(is_on_disk(sc));
	assert_int_equal(other.error, -EIO);
	assert_int_equal(flusher.error, -EIO);
	/* And it stays so, though the medium would take it now. */
	write_data(sc);
	assert_int_equal(flush(sc), -EIO);
	assert_int_equal(alloc(sc), -EIO);
	assert_int_equal(release(sc), -EIO);
	assert_int_equal(clean(sc), -EIO);
}

static void a_flush_hears_of_an_error_that_an_alloc_was_told(void **state)
{
	error_of(*state, alloc);
}

static void a_flush_hears_of_an_error_that_a_free_was_told(void **state)
{
	error_of(*state, release);
}

static void a_flush_hears_of_an_error_that_the_cleaner_was_told(void **state)
{
	struct scene *sc = *state;

	assert_int_equal(alloc(sc), 0);
	assert_int_equal(change(sc, BRICK_STORE_FREE, BLOCK), 0);
	error_of(sc, clean);
}

static void a_flush_hears_of_an_error_that_a_flush_was_told(void **state)
{
	error_of(*state, flush);
}

static void an_alloc_hears_of_an_error_that_a_flush_was_told(void **state)
{
	struct worker flusher = { .arg = *state, .work = flush };
	struct worker other = { .arg = *state, .work = alloc };
	struct scene *sc = *state;
	bool early;

	/* The ALLOC's records are in the page cache when its fence begins. */
	hold_sync(sc, HOLD_BEGUN);
	worker_start(&flusher);
	hold_wait(&sc->hold);
	worker_start(&other);
	early = ends_early(&other);
	sc->lm->fails = true;
	hold_release(&sc->hold);
	worker_join(&flusher);
	assert_false(early);
	worker_join(&other);
	assert_int_equal(flusher.error, -EIO);
	assert_int_equal(other.error, -EIO);
}

/* The sync that runs may have passed what is written now. */
static void a_flush_is_not_content_with_a_sync_that_began_before(void **state)
{
	struct worker first = { .arg = *state, .work = flush };
	struct worker second = { .arg = *state, .work = flush };
	struct scene *sc = *state;
	bool early;

	hold_sync(sc, HOLD_WRITTEN);
	worker_start(&first);
	hold_wait(&sc->hold);
	write_data(sc);
	worker_start(&second);
	early = ends_early(&second);
	hold_release(&sc->hold);
	worker_join(&first);
	assert_false(early);
	worker_join(&second);
	assert_int_equal(first.error, 0);
	assert_int_equal(second.error, 0);
	assert_int_equal(sc->lm->n_syncs, 2);
	assert_true(is_on_disk(sc));
}

/* Those that wait for the next one share it. */
static void flushes_that_wait_share_a_sync(void **state)
{
	struct worker first = { .arg = *state, .work = flush };
	struct worker others[3];
	struct scene *sc = *state;
	unsigned int i, n_early;

	hold_sync(sc, HOLD_WRITTEN);
	worker_start(&first);
	hold_wait(&sc->hold);
	for (i = 0; i < 3; i++) {
		others[i] = (struct worker){ .arg = sc, .work = flush };
		worker_start(&others[i]);
	}
	n_early = settle(others, 3);
	for (i = 0; i < 3 && !n_early; i++)
		n_early += worker_ends_in(&others[i], TIMEOUT_MS / 3);
	hold_release(&sc->hold);
	worker_join(&first);
	assert_int_equal(n_early, 0);
	for (i = 0; i < 3; i++) {
		worker_join(&others[i]);
		assert_int_equal(others[i].error, 0);
	}
	assert_int_equal(sc->lm->n_syncs, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_flush_hears_of_an_error_that_an_alloc_was_told),
		CASE(a_flush_hears_of_an_error_that_a_free_was_told),
		CASE(a_flush_hears_of_an_error_that_the_cleaner_was_told),
		CASE(a_flush_hears_of_an_error_that_a_flush_was_told),
		CASE(an_alloc_hears_of_an_error_that_a_flush_was_told),
		CASE(a_flush_is_not_content_with_a_sync_that_began_before),
		CASE(flushes_that_wait_share_a_sync),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
