// SPDX-License-Identifier: BSD-2-Clause
/*
 * What the next start knows of writes that were lost: whichever of the medium,
 * the mark off it and the file system still tells, the power epoch rises, once,
 * and nobody takes for durable what is not.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "brickd/media/media_impl.h"
#include "brickd/media/media_mark.h"
#include "brickd/store/format/evlog.h"
#include "brickd/store/offline/check.h"
#include "brickd/store/offline/grow.h"
#include "brickd/store/store_impl.h"
#include "tests/unit/store/media/linux_medium.h"

#define SLOTS 4
#define BLOCK KFB_BLOCK_BYTES
#define WORD  UINT64_C(0x0123456789abcdef)
#define FS    77 /* of the file system, as mounted at first */

/* Whose marks can be written, which file system answers. */
struct scene {
	struct linux_medium *lm;
	struct brick_store *s;
	struct brick_media_ops ops;
	uint64_t epoch; /* when all was well */
	uint64_t off;
	char dir[64];
	char err[256];
};

static int lost_result;
static unsigned int n_asked;
static bool dies_of_it;

static int lost(struct brick_media *m)
{
	int ret = lost_result;

	(void)m;
	if (dies_of_it)
		_exit(0);
	n_asked++;
	lost_result = 0; /* it is told once */
	return ret;
}

static uint64_t epoch_of(const struct scene *sc)
{
	struct brick_store_stats st;

	brick_store_stats(sc->s, &st);
	return st.power_epoch;
}

static int try_open(struct scene *sc, uint8_t boot)
{
	struct brick_store_open o = { .boot_id = { boot }, .instance_id = 1 };

	return brick_store_open(&sc->lm->m, &o, &sc->s, sc->err,
				sizeof(sc->err));
}

/* By a process that is gone when it is killed: its page names another one. */
static void open_store(struct scene *sc, uint8_t boot)
{
	struct brick_store *s;
	unsigned int copy;

	assert_int_equal(try_open(sc, boot), 0);
	s = sc->s;
	s->inst.start_time++;
	for (copy = 0; copy < BRICK_FMT_COPIES; copy++) {
		s->inst.seq++;
		brick_instance_put(s->m, &s->sb, copy, &s->inst);
		assert_int_equal(s->m->ops->drain(s->m), 0);
	}
	s->inst_copy = BRICK_FMT_COPIES - 1;
	s->inst_safe = s->inst_copy;
}

/* As SIGKILL does it. */
static void kill_it(struct scene *sc)
{
	sc->s->failed = true;
	(void)brick_store_close(sc->s, false);
	sc->s = NULL;
}

/* A formatted store with one block, open, in the folder of marks. */
static int make_store(struct scene *sc, const char *name)
{
	struct brick_store_op op = { .kind = BRICK_STORE_ALLOC, .n_blocks = 1 };
	struct brick_store_format f = { .uuid = { (uint8_t)name[0] } };
	struct brick_run run;
	char store[96];

	(void)snprintf(store, sizeof(store), "%s/%s", sc->dir, name);
	sc->lm = linux_medium_new((SLOTS + 1) * BLOCK);
	sc->lm->m.mark = strdup(store);
	sc->lm->m.past.fs_id = FS;
	sc->ops = *sc->lm->m.ops;
	sc->ops.lost = lost;
	sc->lm->m.ops = &sc->ops;
	if (brick_store_format(&sc->lm->m, &f, sc->err, sizeof(sc->err)))
		return -1;
	open_store(sc, 1);
	brick_store_commit(sc->s, &op);
	if (op.error || brick_store_lookup(sc->s, 0, 1, &run))
		return -1;
	sc->off = run.offset;
	sc->epoch = epoch_of(sc);
	return 0;
}

static int begin(void **state)
{
	static struct scene sc;

	memset(&sc, 0, sizeof(sc));
	*state = &sc;
	lost_result = 0;
	n_asked = 0;
	dies_of_it = false;
	(void)snprintf(sc.dir, sizeof(sc.dir), "/tmp/kfbrick-past-XXXXXX");
	if (!mkdtemp(sc.dir) || setenv("RUNTIME_DIRECTORY", sc.dir, 1))
		return -1;
	return make_store(&sc, "store");
}

static void end_store(struct scene *sc)
{
	if (sc->s)
		(void)brick_store_close(sc->s, false);
	free(sc->lm->m.mark);
	linux_medium_free(sc->lm);
}

/* Another one, on the same file system. */
static struct scene neighbour_of(const struct scene *sc)
{
	struct scene other = { .s = NULL };

	memcpy(other.dir, sc->dir, sizeof(other.dir));
	return other;
}

static int end(void **state)
{
	struct scene *sc = *state;
	char command[128];

	end_store(sc);
	(void)snprintf(command, sizeof(command), "rm -r %s", sc->dir);
	return system(command);
}

static void write_data(struct scene *sc)
{
	const uint64_t word = WORD;

	memcpy(sc->lm->m.base + sc->off, &word, sizeof(word));
}

static bool is_seen(const struct scene *sc)
{
	uint64_t word;

	memcpy(&word, sc->lm->m.base + sc->off, sizeof(word));
	return word == WORD;
}

/* A flush that fails; the medium works again afterwards if it is to. */
static void fail_a_flush(struct scene *sc, bool for_good)
{
	write_data(sc);
	sc->lm->fails = true;
	if (!for_good)
		sc->lm->fails_once = true;
	assert_int_equal(brick_store_drain(sc->s), -EIO);
	sc->lm->fails = false;
	assert_true(brick_store_failure(sc->s)->is_marked);
	/* The file system knows, too, until it is asked. */
	lost_result = -EIO;
}

static void assert_new_epoch(struct scene *sc, uint8_t boot, const char *why)
{
	open_store(sc, boot);
	assert_true(epoch_of(sc) > sc->epoch);
	assert_true(brick_store_recovery(sc->s)->new_power_epoch);
	assert_non_null(strstr(brick_store_recovery(sc->s)->epoch_why, why));
	/* It is told once, to those who were there. */
	assert_false(brick_mark_is_set(sc->lm->m.mark));
	sc->epoch = epoch_of(sc);
	kill_it(sc);
	open_store(sc, boot);
	assert_int_equal(epoch_of(sc), sc->epoch);
}

static void after_a_kill_nothing_is_lost(void **state)
{
	struct scene *sc = *state;

	write_data(sc);
	kill_it(sc);
	open_store(sc, 1);
	assert_int_equal(epoch_of(sc), sc->epoch);
	assert_true(is_seen(sc));
	assert_int_equal(n_asked, 1);
	assert_null(brick_store_recovery(sc->s)->epoch_why);
}

static void the_mark_on_the_medium_is_enough(void **state)
{
	struct scene *sc = *state;

	fail_a_flush(sc, false);
	assert_true(brick_mark_is_set(sc->lm->m.mark));
	brick_mark_clear(sc->lm->m.mark);
	kill_it(sc);
	linux_medium_drop(sc->lm);
	assert_new_epoch(sc, 1, "had failed");
	assert_false(is_seen(sc));
}

static void the_mark_off_the_medium_is_enough(void **state)
{
	struct scene *sc = *state;

	fail_a_flush(sc, true);
	kill_it(sc);
	linux_medium_drop(sc->lm);
	assert_new_epoch(sc, 1, "had failed");
	assert_false(is_seen(sc));
}

/* Neither could be written; it was told to brickd's sync, and still is known. */
static void the_file_system_is_enough(void **state)
{
	struct scene *sc = *state;

	fail_a_flush(sc, true);
	brick_mark_clear(sc->lm->m.mark);
	kill_it(sc);
	linux_medium_drop(sc->lm);
	assert_new_epoch(sc, 1, "file system has lost");
}

/* What the file system tells once outlives a start that is refused. */
static void a_start_that_is_refused_forgets_nothing(void **state)
{
	struct scene *sc = *state;

	kill_it(sc);
	lost_result = -EIO;
	sc->lm->fails = true;
	assert_int_equal(try_open(sc, 1), -EIO);
	sc->s = NULL;
	sc->lm->fails = false;
	sc->lm->is_recorded = false;
	linux_medium_drop(sc->lm);
	assert_new_epoch(sc, 1, "had failed");
}

/* It is told of a loss, and its sync of that number fails. Return: false: it has fewer. */
static bool fails_to_start(struct scene *sc, unsigned int n)
{
	int ret;

	kill_it(sc);
	lost_result = -EIO;
	sc->lm->n_syncs = 0;
	sc->lm->fails_at = n;
	ret = try_open(sc, 1);
	if (ret)
		assert_int_equal(ret, -EIO);
	return ret;
}

/* Until the medium tells for sure what the mark does. */
static void a_start_whose_sync_fails_leaves_the_mark(void **state)
{
	const struct scene *sc = *state;
	unsigned int n = 0;
	bool fails;

	do {
		struct scene other = neighbour_of(sc);

		assert_int_equal(make_store(&other, "other"), 0);
		fails = fails_to_start(&other, ++n);
		assert_int_equal(brick_mark_is_set(other.lm->m.mark), fails);
		brick_mark_clear(other.lm->m.mark);
		end_store(&other);
	} while (fails);
	/* Both copies of the instance's page, and what comes before them. */
	assert_true(n > 3);
}

/* The answer is a dead process's: the file system does not repeat it. */
static void who_is_killed_while_it_asks_forgets_nothing(void **state)
{
	struct scene *sc = *state, other = neighbour_of(sc);
	int status;
	pid_t pid;

	assert_int_equal(make_store(&other, "other"), 0);
	kill_it(sc);
	kill_it(&other);
	dies_of_it = true;
	pid = fork();
	if (!pid) {
		(void)try_open(sc, 1);
		_exit(1);
	}
	dies_of_it = false;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	linux_medium_drop(sc->lm);
	assert_new_epoch(sc, 1, "had failed");
	assert_new_epoch(&other, 1, "told to another");
	end_store(&other);
}

/* Refused once the file system has been asked. */
static void name_a_slow_tier_that_is_none(struct scene *sc)
{
	struct brick_store_open o = { .boot_id = { 1 }, .instance_id = 1 };
	char path[] = "no tier of this store";
	struct brick_slow none = { .path = path };
	unsigned int n = n_asked;

	o.slow = &none;
	assert_int_equal(brick_store_open(&sc->lm->m, &o, &sc->s, sc->err,
					  sizeof(sc->err)),
			 -EINVAL);
	sc->s = NULL;
	assert_int_equal(n_asked, n + 1);
	linux_medium_drop(sc->lm);
}

static void a_start_that_is_refused_invents_no_loss(void **state)
{
	struct scene *sc = *state;

	kill_it(sc);
	name_a_slow_tier_that_is_none(sc);
	open_store(sc, 1);
	assert_int_equal(epoch_of(sc), sc->epoch);
}

/* No mark can be written off the medium: then one is on it. */
static void a_start_that_is_refused_marks_the_medium_if_it_must(void **state)
{
	struct scene *sc = *state;

	kill_it(sc);
	free(sc->lm->m.mark);
	sc->lm->m.mark = strdup("/proc/none/store");
	assert_int_equal(setenv("RUNTIME_DIRECTORY", "/proc/none", 1), 0);
	lost_result = -EIO;
	name_a_slow_tier_that_is_none(sc);
	assert_new_epoch(sc, 1, "had failed");
}

/* The file system tells one of them, and does not say whose write it was. */
static void a_loss_is_told_to_all_stores_of_a_file_system(void **state)
{
	struct scene *sc = *state, other = neighbour_of(sc);

	assert_int_equal(make_store(&other, "other"), 0);
	kill_it(sc);
	kill_it(&other);
	for (int i = 0; i < 2; i++) {
		lost_result = -EIO;
		assert_new_epoch(&other, 1, "file system has lost");
		assert_new_epoch(sc, 1, "told to another");
		kill_it(&other);
		open_store(&other, 1);
		assert_int_equal(epoch_of(&other), other.epoch);
		kill_it(&other);
		kill_it(sc);
	}
	/* Whoever had failed asks as well. */
	open_store(&other, 1);
	fail_a_flush(&other, false);
	kill_it(&other);
	assert_new_epoch(&other, 1, "had failed");
	assert_new_epoch(sc, 1, "told to another");
	end_store(&other);
}

/* A start that is refused has not told its clients. */
static void a_loss_of_a_neighbour_outlives_a_refused_start(void **state)
{
	struct scene *sc = *state, other = neighbour_of(sc);

	assert_int_equal(make_store(&other, "other"), 0);
	kill_it(sc);
	kill_it(&other);
	lost_result = -EIO;
	assert_new_epoch(&other, 1, "file system has lost");
	name_a_slow_tier_that_is_none(sc);
	assert_new_epoch(sc, 1, "had failed");
	end_store(&other);
}

static void a_loss_before_a_clean_stop_is_none(void **state)
{
	struct scene *sc = *state, other = neighbour_of(sc);

	assert_int_equal(make_store(&other, "other"), 0);
	kill_it(&other);
	lost_result = -EIO;
	assert_new_epoch(&other, 1, "file system has lost");
	assert_int_equal(brick_store_close(sc->s, true), 0);
	for (int i = 0; i < 2; i++) {
		open_store(sc, 1);
		assert_int_equal(epoch_of(sc), sc->epoch);
		kill_it(sc);
	}
	end_store(&other);
}

static void a_loss_is_not_that_of_another_file_system(void **state)
{
	struct scene *sc = *state, other = neighbour_of(sc);

	assert_int_equal(make_store(&other, "other"), 0);
	assert_int_equal(brick_store_close(sc->s, true), 0);
	sc->lm->m.past.fs_id = FS + 1;
	open_store(sc, 1);
	kill_it(sc);
	kill_it(&other);
	lost_result = -EIO;
	assert_new_epoch(&other, 1, "file system has lost");
	open_store(sc, 1);
	assert_int_equal(epoch_of(sc), sc->epoch);
	end_store(&other);
}

static void another_mount_is_a_loss(void **state)
{
	struct scene *sc = *state;

	kill_it(sc);
	sc->lm->m.past.fs_id = FS + 1;
	assert_new_epoch(sc, 1, "mounted anew");
}

static void another_mount_after_a_clean_stop_is_none(void **state)
{
	struct scene *sc = *state;

	assert_int_equal(brick_store_close(sc->s, true), 0);
	sc->lm->m.past.fs_id = FS + 1;
	lost_result = -EIO;
	open_store(sc, 1);
	assert_int_equal(epoch_of(sc), sc->epoch);
	assert_int_equal(n_asked, 0);
}

/* Where the mount has no number, pages in memory tell that it is the same. */
static void without_a_number_something_must_be_in_memory(void **state)
{
	struct scene *sc = *state;

	kill_it(sc);
	sc->lm->m.past.fs_id = 0;
	sc->lm->m.past.was_cached = true;
	open_store(sc, 1);
	assert_int_equal(epoch_of(sc), sc->epoch);
	kill_it(sc);
	sc->lm->m.past.was_cached = false;
	open_store(sc, 1);
	assert_int_equal(epoch_of(sc), sc->epoch + 1);
	assert_non_null(
		strstr(brick_store_recovery(sc->s)->epoch_why, "in memory"));
}

/* Until a start has told of it: it may be refused, or killed. */
static void that_nothing_was_in_memory_is_known_until_a_start(void **state)
{
	struct scene *sc = *state;

	kill_it(sc);
	assert_int_equal(brick_mark_set_cold(sc->lm->m.mark), 0);
	name_a_slow_tier_that_is_none(sc);
	assert_true(brick_mark_is_cold(sc->lm->m.mark));
	assert_false(brick_mark_is_set(sc->lm->m.mark));
	open_store(sc, 1);
	assert_false(brick_mark_is_cold(sc->lm->m.mark));
	/* It is the same mount, by its number. */
	assert_int_equal(epoch_of(sc), sc->epoch);
}

static void bytes_that_cannot_be_compared_are_refused_after_a_loss(void **state)
{
	struct scene *sc = *state;

	kill_it(sc);
	sc->lm->m.past.is_unknown = true;
	open_store(sc, 1);
	fail_a_flush(sc, true);
	kill_it(sc);
	linux_medium_drop(sc->lm);
	assert_int_equal(try_open(sc, 1), -EIO);
	sc->s = NULL;
	assert_non_null(strstr(sc->err, "compared"));
	sc->lm->m.past.is_unknown = false;
	assert_new_epoch(sc, 1, "had failed");
}

/* It would make durable what may be half of the truth. */
static void bytes_that_cannot_be_compared_are_not_repaired(void **state)
{
	struct brick_check look = { .boot_id = { 1 } };
	struct brick_check repair = { .boot_id = { 1 }, .repair = true };
	struct brick_grow grow = { .boot_id = { 1 }, .zero_from = UINT64_MAX };
	struct scene *sc = *state;

	kill_it(sc);
	for (int i = 0; i < 2; i++) {
		sc->lm->m.past.is_unknown = true;
		sc->lm->n_syncs = 0;
		assert_int_equal(brick_store_check(&sc->lm->m, &repair, sc->err,
						   sizeof(sc->err)),
				 -EIO);
		assert_non_null(strstr(sc->err, "compared"));
		assert_int_equal(brick_store_grow(&sc->lm->m, &grow, sc->err,
						  sizeof(sc->err)),
				 -EIO);
		assert_non_null(strstr(sc->err, "compared"));
		assert_int_equal(sc->lm->n_syncs, 0);
		assert_int_equal(brick_store_check(&sc->lm->m, &look, sc->err,
						   sizeof(sc->err)),
				 0);
		/* The other time: a clean one, and a mark. */
		sc->lm->m.past.is_unknown = false;
		open_store(sc, 1);
		assert_int_equal(brick_store_close(sc->s, true), 0);
		assert_int_equal(brick_mark_set(sc->lm->m.mark, "a test"), 0);
	}
	sc->s = NULL;
	brick_mark_clear(sc->lm->m.mark);
	sc->lm->m.past.is_unknown = true;
	assert_int_equal(brick_store_check(&sc->lm->m, &repair, sc->err,
					   sizeof(sc->err)),
			 0);
}

/* Each sync of the last write of the pages in turn. */
static void a_clean_stop_whose_sync_fails_is_not_called_one(void **state)
{
	struct scene *sc = *state;
	unsigned int i, n;

	for (i = 0; i < 4; i++) {
		n = i / 2 + 1;
		write_data(sc);
		sc->lm->n_syncs = 0;
		sc->lm->fails_at = n;
		assert_int_equal(brick_store_close(sc->s, true), -EIO);
		sc->lm->fails_at = 0;
		sc->s = NULL;
		linux_medium_drop(sc->lm);
		/* Either mark is enough here, too. */
		if (i % 2)
			brick_mark_clear(sc->lm->m.mark);
		open_store(sc, 1);
		assert_true(epoch_of(sc) > sc->epoch);
		sc->epoch = epoch_of(sc);
		assert_int_equal(brick_store_close(sc->s, true), 0);
		open_store(sc, 1);
		assert_int_equal(epoch_of(sc), sc->epoch);
	}
}

/* The mark itself is torn, and so is the page that was being written. */
static void a_mark_that_is_torn_costs_no_page_that_was_whole(void **state)
{
	struct scene *sc = *state;
	unsigned int n;

	for (n = 1; n <= 2; n++) {
		sc->lm->n_syncs = 0;
		sc->lm->tears_from = n;
		assert_int_equal(brick_store_close(sc->s, true), -EIO);
		sc->lm->tears_from = 0;
		sc->s = NULL;
		linux_medium_drop(sc->lm);
		open_store(sc, 1);
		assert_true(epoch_of(sc) > sc->epoch);
		sc->epoch = epoch_of(sc);
	}
}

/* An older brickd takes it for another boot's: the epoch rises there, too. */
static void the_mark_is_a_page_of_no_boot(void **state)
{
	static const uint8_t no_boot[KFB_UUID_BYTES];
	struct brick_instance inst;
	struct scene *sc = *state;
	struct brick_event event;
	unsigned int copy;
	uint64_t last;
	bool damaged;

	fail_a_flush(sc, false);
	kill_it(sc);
	linux_medium_drop(sc->lm);
	open_store(sc, 2);
	last = brick_evlog_last(sc->s->m, &sc->s->sb);
	do
		assert_true(
			brick_evlog_get(sc->s->m, &sc->s->sb, last--, &event));
	while (event.kind != BRICK_EVENT_WRITES_LOST && last);
	assert_int_equal(event.kind, BRICK_EVENT_WRITES_LOST);
	fail_a_flush(sc, false);
	assert_int_equal(brick_instance_read(&sc->lm->m, &sc->s->sb, &inst,
					     &copy, &damaged),
			 0);
	assert_false(damaged || inst.clean);
	assert_memory_equal(inst.boot_id, no_boot, sizeof(no_boot));
}

/* Both places: one cannot be written. */
static void a_mark_lies_beside_the_store_where_it_must(void **state)
{
	struct scene *sc = *state;
	char beside[128], store[96];
	struct stat st;

	(void)snprintf(store, sizeof(store), "%s/store", sc->dir);
	(void)snprintf(beside, sizeof(beside), "%s.failed", store);
	assert_int_equal(brick_mark_set(store, "a test"), 0);
	assert_true(brick_mark_is_set(store));
	assert_int_not_equal(stat(beside, &st), 0);
	brick_mark_clear(store);
	assert_false(brick_mark_is_set(store));
	assert_int_equal(setenv("RUNTIME_DIRECTORY", "/proc/none:/x", 1), 0);
	assert_int_equal(brick_mark_set(store, "a test"), 0);
	assert_true(brick_mark_is_set(store));
	assert_int_equal(stat(beside, &st), 0);
	brick_mark_clear(store);
	assert_false(brick_mark_is_set(store));
	assert_int_not_equal(brick_mark_set("/proc/none/store", "a test"), 0);
}

/* Whoever owns the folder may have put a link there: what it names stays as it is. */
static void a_mark_is_written_over_nothing(void **state)
{
	struct scene *sc = *state;
	char beside[128], store[96], other[96];
	struct stat st;
	int fd;

	(void)snprintf(store, sizeof(store), "%s/store", sc->dir);
	(void)snprintf(beside, sizeof(beside), "%s.failed", store);
	(void)snprintf(other, sizeof(other), "%s/other", sc->dir);
	assert_int_equal(setenv("RUNTIME_DIRECTORY", "/proc/none", 1), 0);
	fd = open(other, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "mine", 4), 4);
	assert_int_equal(close(fd), 0);
	assert_int_equal(symlink(other, beside), 0);
	assert_int_equal(brick_mark_set(store, "a test"), 0);
	assert_true(brick_mark_is_set(store));
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_size, 4);
	assert_int_equal(brick_mark_set(store, "once more"), 0);
	brick_mark_clear(store);
	assert_false(brick_mark_is_set(store));
	assert_int_equal(unlink(other), 0);
}

static void that_no_mark_could_be_written_is_known(void **state)
{
	struct scene *sc = *state;

	free(sc->lm->m.mark);
	sc->lm->m.mark = strdup("/proc/none/store");
	assert_int_equal(setenv("RUNTIME_DIRECTORY", "/proc/none", 1), 0);
	write_data(sc);
	sc->lm->fails = true;
	assert_int_equal(brick_store_drain(sc->s), -EIO);
	assert_false(brick_store_failure(sc->s)->is_marked);
}

static void format_takes_the_mark_of_what_was_there_away(void **state)
{
	struct brick_store_format f = { .uuid = { 2 }, .force = true };
	struct scene *sc = *state;

	fail_a_flush(sc, true);
	kill_it(sc);
	assert_int_equal(brick_store_format(&sc->lm->m, &f, sc->err,
					    sizeof(sc->err)),
			 0);
	assert_false(brick_mark_is_set(sc->lm->m.mark));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(after_a_kill_nothing_is_lost),
		CASE(the_mark_on_the_medium_is_enough),
		CASE(the_mark_off_the_medium_is_enough),
		CASE(the_file_system_is_enough),
		CASE(a_start_that_is_refused_forgets_nothing),
		CASE(a_start_whose_sync_fails_leaves_the_mark),
		CASE(who_is_killed_while_it_asks_forgets_nothing),
		CASE(a_start_that_is_refused_invents_no_loss),
		CASE(a_start_that_is_refused_marks_the_medium_if_it_must),
		CASE(a_loss_is_told_to_all_stores_of_a_file_system),
		CASE(a_loss_of_a_neighbour_outlives_a_refused_start),
		CASE(a_loss_before_a_clean_stop_is_none),
		CASE(a_loss_is_not_that_of_another_file_system),
		CASE(another_mount_is_a_loss),
		CASE(another_mount_after_a_clean_stop_is_none),
		CASE(without_a_number_something_must_be_in_memory),
		CASE(that_nothing_was_in_memory_is_known_until_a_start),
		CASE(bytes_that_cannot_be_compared_are_refused_after_a_loss),
		CASE(bytes_that_cannot_be_compared_are_not_repaired),
		CASE(a_clean_stop_whose_sync_fails_is_not_called_one),
		CASE(a_mark_that_is_torn_costs_no_page_that_was_whole),
		CASE(the_mark_is_a_page_of_no_boot),
		CASE(a_mark_lies_beside_the_store_where_it_must),
		CASE(a_mark_is_written_over_nothing),
		CASE(that_no_mark_could_be_written_is_known),
		CASE(format_takes_the_mark_of_what_was_there_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
