// SPDX-License-Identifier: BSD-2-Clause
/*
 * A file is read as the medium has it: what an earlier process left in memory is
 * written and dropped, what cannot be dropped is compared, and an error that
 * nobody was told is remembered.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "brickd/media/media.h"
#include "brickd/media/media_fsid.h"
#include "brickd/media/media_mark.h"
#include "brickd/store/offline/look.h"
#include "brickd/store/slow/slow.h"
#include "kfb_wire.h"

#define SIZE  (8U << 20)
#define PAGES (SIZE / 4096)

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __real_syncfs(int fd);
int __wrap_syncfs(int fd);
/* What pread() is with offsets of 64 bits. */
ssize_t __real_pread64(int fd, void *to, size_t len, off_t off);
ssize_t __wrap_pread64(int fd, void *to, size_t len, off_t off);

enum direct {
	AS_IT_IS,
	DIFFERENT, /* the medium has other bytes */
	IMPOSSIBLE, /* the file system cannot read past the page cache */
};

static enum direct direct;
static int sync_error, syncfs_error;
static bool ends_with_the_first; /* whoever syncs again is told nothing */
static char err[512];

struct place {
	char folder[128];
	char file[256];
	uint8_t *kept; /* somebody else's mapping */
};

int __wrap_fdatasync(int fd)
{
	errno = sync_error;
	if (!errno)
		return __real_fdatasync(fd);
	if (ends_with_the_first)
		sync_error = 0;
	return -1;
}

int __wrap_syncfs(int fd)
{
	errno = syncfs_error;
	return syncfs_error ? -1 : __real_syncfs(fd);
}

ssize_t __wrap_pread64(int fd, void *to, size_t len, off_t off)
{
	ssize_t n;

	if (!(fcntl(fd, F_GETFL) & O_DIRECT) || direct == AS_IT_IS)
		return __real_pread64(fd, to, len, off);
	if (direct == IMPOSSIBLE) {
		errno = EINVAL;
		return -1;
	}
	n = __real_pread64(fd, to, len, off);
	((uint8_t *)to)[len - 1] ^= 1;
	return n;
}

static struct brick_media *open_with(const struct place *p,
				     const struct brick_media_create *create)
{
	struct brick_media *m = NULL;

	if (brick_media_open(p->file, create, &m, err, sizeof(err)))
		return NULL;
	return m;
}

static struct brick_media *open_file(const struct place *p)
{
	struct brick_media *m = open_with(p, NULL);

	if (!m)
		fail_msg("%s", err);
	return m;
}

static unsigned int n_resident(const struct brick_media *m)
{
	unsigned char pages[PAGES];
	unsigned int i, n = 0;

	assert_int_equal(mincore(m->base, SIZE, pages), 0);
	for (i = 0; i < PAGES; i++)
		n += pages[i] & 1;
	return n;
}

static int begin(void **state)
{
	struct brick_media_create create = { .size = SIZE };
	static struct place place;
	struct place *p = &place;
	const char *tmp = getenv("TMPDIR");
	struct brick_media *m;

	memset(p, 0, sizeof(*p));
	direct = AS_IT_IS;
	sync_error = 0;
	syncfs_error = 0;
	ends_with_the_first = false;
	(void)snprintf(p->folder, sizeof(p->folder), "%s/kfbrick-settle-XXXXXX",
		       tmp ? tmp : "/tmp");
	if (!mkdtemp(p->folder) ||
	    setenv("RUNTIME_DIRECTORY", p->folder, 1) != 0)
		return -1;
	if (snprintf(p->file, sizeof(p->file), "%s/store", p->folder) >=
	    (int)sizeof(p->file))
		return -1;
	m = open_with(p, &create);
	if (!m)
		return -1;
	memset(m->base, 0x5a, SIZE);
	brick_media_close(m);
	*state = p;
	return 0;
}

static int end(void **state)
{
	struct place *p = *state;
	char command[160];

	if (p->kept)
		(void)munmap(p->kept, SIZE);
	(void)snprintf(command, sizeof(command), "rm -r %s", p->folder);
	return system(command);
}

static bool is_on_disk(const struct place *p)
{
	struct statfs fs;

	return !statfs(p->folder, &fs) && fs.f_type != TMPFS_MAGIC;
}

/* Somebody has it mapped: its pages stay in memory. */
static void keep(struct place *p)
{
	int fd = open(p->file, O_RDONLY | O_CLOEXEC);

	p->kept = mmap(NULL, SIZE, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	assert_true(p->kept != MAP_FAILED);
	assert_int_equal(mlock(p->kept, 4096), 0);
	(void)close(fd);
}

static void what_was_dirty_is_written_and_nothing_stays(void **state)
{
	struct place *p = *state;
	struct brick_media *m;

	if (!is_on_disk(p))
		skip();
	m = open_file(p);
	assert_true(m->past.was_cached);
	assert_int_equal(n_resident(m), 0);
	assert_int_equal(m->base[SIZE - 1], 0x5a);
	assert_false(brick_mark_is_set(p->file));
	brick_media_close(m);
}

/* As another mount of its file system finds it. */
static void take_out_of_memory(const struct place *p)
{
	int fd = open(p->file, O_RDONLY | O_CLOEXEC);

	assert_int_equal(__real_fdatasync(fd), 0);
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	(void)close(fd);
}

/* Opens it twice: was it there neither time, and is there no mark left? */
static bool is_left_out_of_memory(const struct place *p)
{
	struct brick_media *m;
	bool was_there = false;

	take_out_of_memory(p);
	for (int i = 0; i < 2; i++) {
		m = open_file(p);
		was_there |= m->past.was_cached;
		assert_int_equal(m->base[0], 0x5a);
		assert_true(was_there || brick_mark_is_cold(p->file));
		brick_media_close(m);
		/* The next one is to see what is there, and no mark. */
		brick_mark_clear_cold(p->file);
	}
	return !was_there;
}

/* Linux keeps a page that somebody else, such as its reclaim, has hold of just then. */
static void comes_about(void *state, bool (*is_so)(const struct place *p))
{
	const struct place *p = state;
	int tries = 20;

	if (!is_on_disk(p))
		skip();
	while (tries && !is_so(p))
		tries--;
	assert_int_not_equal(tries, 0);
}

/* Whoever only looked leaves no trace that would be taken for a brickd's. */
static void a_file_that_was_not_in_memory_is_left_so(void **state)
{
	comes_about(*state, is_left_out_of_memory);
}

/* By a process that is killed with it open. Return: had it been in memory? */
static bool read_and_be_killed(const struct place *p)
{
	struct brick_media *m;
	pid_t pid = fork();
	int status;

	if (!pid) {
		m = open_with(p, NULL);
		_exit(!m || m->base[0] != 0x5a ? 2 : m->past.was_cached);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status);
}

static bool is_in_memory(const struct place *p)
{
	int fd = open(p->file, O_RDONLY | O_CLOEXEC);
	struct brick_media m = { .base = mmap(NULL, SIZE, PROT_READ, MAP_SHARED,
					      fd, 0) };
	bool is_there;

	assert_true(m.base != MAP_FAILED);
	is_there = n_resident(&m);
	(void)munmap(m.base, SIZE);
	(void)close(fd);
	return is_there;
}

/* A grow, a check or a start that is killed leaves pages: they prove nothing. */
static void who_reads_it_and_is_killed_leaves_no_proof(void **state)
{
	struct place *p = *state;
	struct brick_media *m;
	int tries = 20;

	if (!is_on_disk(p))
		skip();
	do
		take_out_of_memory(p);
	while (read_and_be_killed(p) && --tries);
	assert_int_not_equal(tries, 0);
	assert_true(is_in_memory(p));
	assert_false(read_and_be_killed(p));
	assert_true(brick_mark_is_cold(p->file));
	m = open_file(p);
	assert_false(m->past.was_cached);
	/* Here a start has told of it: from now on what is there is its own. */
	brick_mark_clear_cold(p->file);
	assert_int_equal(m->base[0], 0x5a);
	m->past.was_cached = true;
	brick_media_close(m);
	assert_true(read_and_be_killed(p));
	assert_false(brick_mark_is_cold(p->file));
}

/* By who finds it out of memory. Return: does the next one know? */
static bool is_looked_at_in_passing(const struct place *p)
{
	struct brick_media *m;
	bool was_there;

	take_out_of_memory(p);
	if (is_in_memory(p))
		return false;
	assert_int_equal(brick_store_look(p->file, NULL, err, sizeof(err)),
			 -ENOENT);
	/* Also while what was asked for is still on its way into memory. */
	assert_true(brick_mark_is_cold(p->file));
	m = open_file(p);
	was_there = m->past.was_cached;
	brick_media_close(m);
	assert_true(brick_mark_is_cold(p->file));
	brick_mark_clear_cold(p->file);
	return !was_there;
}

/* brickd --check-config, before the start that has to find out. */
static void who_looks_at_it_leaves_no_proof(void **state)
{
	comes_about(*state, is_looked_at_in_passing);
}

static void an_error_that_nobody_was_told_is_remembered(void **state)
{
	struct place *p = *state;
	struct brick_media *m;

	if (!is_on_disk(p))
		skip();
	sync_error = EIO;
	m = open_file(p);
	assert_true(brick_mark_is_set(p->file));
	assert_string_equal(m->mark, p->file);
	brick_media_close(m);
	brick_mark_clear(p->file);
}

/* What the sync had met before the signal came, only that one was told. */
static void a_sync_that_is_interrupted_is_not_tried_again(void **state)
{
	struct place *p = *state;
	struct brick_slow *slow;
	struct brick_media *m;

	if (!is_on_disk(p))
		skip();
	ends_with_the_first = true;
	m = open_file(p);
	sync_error = EINTR;
	assert_int_equal(m->ops->drain(m), -EINTR);
	assert_int_equal(m->ops->drain(m), 0);
	brick_media_close(m);
	assert_int_equal(
		brick_slow_open(p->file, NULL, &slow, err, sizeof(err)), 0);
	sync_error = EINTR;
	assert_int_equal(slow->ops->sync(slow), -EINTR);
	assert_int_equal(slow->ops->sync(slow), 0);
	brick_slow_close(slow);
}

static void pages_that_somebody_keeps_are_compared(void **state)
{
	struct place *p = *state;
	struct brick_media *m;

	if (!is_on_disk(p))
		skip();
	keep(p);
	m = open_file(p);
	assert_true(n_resident(m) > 0);
	assert_false(m->past.is_unknown);
	assert_false(brick_mark_is_set(p->file));
	brick_media_close(m);
}

static void bytes_that_the_medium_does_not_have_are_refused(void **state)
{
	struct place *p = *state;

	if (!is_on_disk(p))
		skip();
	keep(p);
	direct = DIFFERENT;
	assert_null(open_with(p, NULL));
	assert_non_null(strstr(err, "mapped"));
	assert_non_null(strstr(err, p->file));
	assert_true(brick_mark_is_set(p->file));
	brick_mark_clear(p->file);
}

static void what_cannot_be_compared_is_said(void **state)
{
	struct place *p = *state;
	struct brick_media *m;

	if (!is_on_disk(p))
		skip();
	keep(p);
	direct = IMPOSSIBLE;
	m = open_file(p);
	assert_true(m->past.is_unknown);
	brick_media_close(m);
}

static void the_file_system_is_asked(void **state)
{
	struct place *p = *state;
	struct brick_media *m;

	if (!is_on_disk(p))
		skip();
	m = open_file(p);
	assert_int_equal(m->ops->lost(m), 0);
	syncfs_error = ENOSPC;
	assert_int_equal(m->ops->lost(m), -ENOSPC);
	brick_media_close(m);
}

static void a_mount_has_the_same_number_for_all_its_files(void **state)
{
	struct place *p = *state;
	struct brick_media *m;
	int fd;

	if (!is_on_disk(p))
		skip();
	m = open_file(p);
	fd = open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(m->past.fs_id, brick_media_fsid(fd));
	(void)close(fd);
	fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(brick_media_fsid(fd), 0);
	(void)close(fd);
	brick_media_close(m);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_was_dirty_is_written_and_nothing_stays),
		CASE(a_file_that_was_not_in_memory_is_left_so),
		CASE(who_reads_it_and_is_killed_leaves_no_proof),
		CASE(who_looks_at_it_leaves_no_proof),
		CASE(an_error_that_nobody_was_told_is_remembered),
		CASE(a_sync_that_is_interrupted_is_not_tried_again),
		CASE(pages_that_somebody_keeps_are_compared),
		CASE(bytes_that_the_medium_does_not_have_are_refused),
		CASE(what_cannot_be_compared_is_said),
		CASE(the_file_system_is_asked),
		CASE(a_mount_has_the_same_number_for_all_its_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
