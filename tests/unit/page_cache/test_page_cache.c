// SPDX-License-Identifier: BSD-2-Clause
/* The model of Linux's page cache that tests of failing disks rely on. */
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
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/page_cache.h"

#define PAGES 8U
#define SIZE  (PAGES * PC_PAGE)

static const struct pc_disk whole, broken = { .error = EIO };

struct fixture {
	char folder[64];
	struct page_cache pc;
};

static void put(const char *folder, const char *name, size_t len)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	if (strstr(name, "file.state")) {
		struct pc_state st = { .magic = PC_MAGIC, .size = SIZE };

		assert_int_equal(write(fd, &st, sizeof(st)), sizeof(st));
	}
	close(fd);
}

static int setup(void **state)
{
	static const char *const names[] = { "file", "file.disk",
					     "file.clean" };
	struct fixture *f = calloc(1, sizeof(*f));
	char path[128];

	assert_non_null(f);
	strcpy(f->folder, "/tmp/page-cache-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	for (size_t i = 0; i < 3; i++)
		put(f->folder, names[i], SIZE);
	put(f->folder, "file.state", sizeof(struct pc_state) + PAGES);
	put(f->folder, "superblock.state", sizeof(struct pc_errseq));
	(void)snprintf(path, sizeof(path), "%s/file", f->folder);
	assert_true(pc_exists(f->folder, "file", "state"));
	assert_false(pc_exists(f->folder, "other", "state"));
	assert_int_equal(pc_open(&f->pc, f->folder, "file", open(path, O_RDWR)),
			 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "file", "file.disk", "file.clean",
					     "file.state", "superblock.state" };
	struct fixture *f = *state;
	char path[128];

	for (size_t i = 0; i < 5; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", f->folder,
			       names[i]);
		unlink(path);
	}
	rmdir(f->folder);
	free(f);
	return 0;
}

static void write_page(struct page_cache *pc, unsigned int page, uint8_t value)
{
	memset(pc->page + page * PC_PAGE, value, PC_PAGE);
	pc_dirty(pc, page * PC_PAGE, PC_PAGE);
}

static uint8_t on_disk(struct page_cache *pc, unsigned int page)
{
	uint8_t value;

	assert_int_equal(pc_read_disk(pc, &value, 1, page * PC_PAGE), 1);
	return value;
}

static uint64_t write_back(struct page_cache *pc, const struct pc_disk *disk)
{
	return pc_write_back(pc, 0, UINT64_MAX, PC_PER_MILLE, disk);
}

static void what_is_dirty_reaches_the_disk_once_it_is_written_back(void **state)
{
	struct page_cache *pc = &((struct fixture *)*state)->pc;

	write_page(pc, 3, 7);
	assert_true(pc_is_dirty(pc, 0, SIZE));
	assert_false(pc_is_dirty(pc, 0, 3 * PC_PAGE));
	assert_int_equal(on_disk(pc, 3), 0);
	assert_int_equal(write_back(pc, &whole), 0);
	assert_int_equal(on_disk(pc, 3), 7);
	assert_false(pc_is_dirty(pc, 0, SIZE));
}

static void a_page_that_was_mapped_is_dirty_when_it_differs(void **state)
{
	struct page_cache *pc = &((struct fixture *)*state)->pc;

	pc->state->was_mapped = 1;
	pc->page[PC_PAGE + 5] = 1;
	assert_true(pc_is_dirty(pc, PC_PAGE, 1));
	assert_int_equal(write_back(pc, &whole), 0);
	assert_int_equal(pc->disk[PC_PAGE + 5], 1);
}

static void a_page_that_failed_is_clean_and_reads_as_it_was(void **state)
{
	struct page_cache *pc = &((struct fixture *)*state)->pc;
	uint32_t since = pc_sample(&pc->state->error);

	write_page(pc, 2, 9);
	assert_int_equal(write_back(pc, &broken), 1);
	assert_int_equal(on_disk(pc, 2), 0);
	assert_int_equal(pc->page[2 * PC_PAGE], 9);
	assert_int_equal(pc_error(&pc->state->error, &since), -EIO);
	/* The next sync has nothing to write and nothing to say. */
	assert_int_equal(write_back(pc, &broken), 0);
	assert_int_equal(pc_error(&pc->state->error, &since), 0);
	/* Written anew it reaches the disk. */
	write_page(pc, 2, 9);
	assert_int_equal(write_back(pc, &whole), 0);
	assert_int_equal(on_disk(pc, 2), 9);
}

static void an_error_is_told_once_to_each_description(void **state)
{
	struct page_cache *pc = &((struct fixture *)*state)->pc;
	struct pc_errseq *e = &pc->state->error;
	uint32_t one = pc_sample(e), two = pc_sample(e), three;

	write_page(pc, 0, 1);
	assert_int_equal(write_back(pc, &broken), 1);
	assert_int_equal(pc_error(e, &one), -EIO);
	/* One that is opened after somebody was told is not told. */
	three = pc_sample(e);
	assert_int_equal(pc_error(e, &three), 0);
	assert_int_equal(pc_error(e, &two), -EIO);
	assert_int_equal(pc_error(e, &two), 0);
	assert_int_equal(pc_error(e, &one), 0);
}

static void one_that_nobody_was_told_waits_for_the_next_open(void **state)
{
	struct page_cache *pc = &((struct fixture *)*state)->pc;
	uint32_t since;

	write_page(pc, 0, 1);
	assert_int_equal(write_back(pc, &broken), 1);
	since = pc_sample(&pc->state->error);
	assert_int_equal(pc_error(&pc->state->error, &since), -EIO);
	/* The file system has its own memory of it. */
	since = pc_sample(pc->super);
	assert_int_equal(pc_error(pc->super, &since), -EIO);
}

static void clean_pages_are_dropped_unless_somebody_maps_them(void **state)
{
	struct page_cache *pc = &((struct fixture *)*state)->pc;
	unsigned char vec[PAGES];

	write_page(pc, 1, 4);
	assert_int_equal(write_back(pc, &broken), 1);
	write_page(pc, 5, 6);
	pc->n_maps = 1;
	pc_drop(pc, 0, SIZE);
	assert_int_equal(pc->page[PC_PAGE], 4);
	pc->n_maps = 0;
	pc_drop(pc, 0, SIZE);
	assert_int_equal(pc->page[PC_PAGE], 0);
	assert_int_equal(pc->page[5 * PC_PAGE], 6);
	pc_mincore(pc, 0, SIZE, vec);
	assert_int_equal(vec[1], 0);
	assert_int_equal(vec[5], 1);
	pc_present(pc, 0, SIZE);
	pc_mincore(pc, 0, SIZE, vec);
	assert_int_equal(vec[1], 1);
}

static void a_disk_that_cannot_flush_its_cache_tells_one_sync(void **state)
{
	struct page_cache *pc = &((struct fixture *)*state)->pc;
	uint32_t since = pc_sample(&pc->state->error);

	write_page(pc, 0, 1);
	write_page(pc, 1, 1);
	assert_int_equal(pc_flush_fails(pc, EIO, PC_PER_MILLE), -EIO);
	assert_int_equal(on_disk(pc, 0), 1);
	write_page(pc, 0, 2);
	assert_int_equal(pc_flush_fails(pc, EIO, 0), -EIO);
	assert_int_equal(on_disk(pc, 0), 1);
	assert_false(pc_is_dirty(pc, 0, SIZE));
	assert_int_equal(pc_error(&pc->state->error, &since), 0);
}

static void a_part_of_the_pages_may_be_written_or_taken(void **state)
{
	struct page_cache *pc = &((struct fixture *)*state)->pc;
	struct pc_disk half = { .error = EIO, .keep = 500 };
	uint64_t lost = 0;
	unsigned int i, round;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < PAGES; i++)
			write_page(pc, i, (uint8_t)(round + 1));
		lost += write_back(pc, &half);
	}
	assert_in_range(lost, 100, 300);
	for (i = 0; i < PAGES; i++)
		write_page(pc, i, 0xff);
	(void)pc_write_back(pc, 0, UINT64_MAX, 500, &whole);
	assert_true(pc_is_dirty(pc, 0, SIZE));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_is_dirty_reaches_the_disk_once_it_is_written_back),
		TEST(a_page_that_was_mapped_is_dirty_when_it_differs),
		TEST(a_page_that_failed_is_clean_and_reads_as_it_was),
		TEST(an_error_is_told_once_to_each_description),
		TEST(one_that_nobody_was_told_waits_for_the_next_open),
		TEST(clean_pages_are_dropped_unless_somebody_maps_them),
		TEST(a_disk_that_cannot_flush_its_cache_tells_one_sync),
		TEST(a_part_of_the_pages_may_be_written_or_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
