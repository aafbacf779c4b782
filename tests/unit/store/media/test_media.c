// SPDX-License-Identifier: BSD-2-Clause
/* What a path becomes, and which paths are refused. */
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
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "brickd/media/media_impl.h"
#include "kfb_wire.h"

#define MIB	  (1024ULL * 1024)
#define FILE_SIZE (8 * MIB)

static char err[512];

struct place {
	char folder[128];
	char file[160];
};

static int make_place(void **state, const char *root)
{
	struct place *p = calloc(1, sizeof(*p));

	(void)snprintf(p->folder, sizeof(p->folder), "%s/kfbrick-XXXXXX", root);
	assert_non_null(mkdtemp(p->folder));
	(void)snprintf(p->file, sizeof(p->file), "%s/store", p->folder);
	*state = p;
	return 0;
}

static int on_disk(void **state)
{
	const char *tmp = getenv("TMPDIR");

	return make_place(state, tmp ? tmp : "/tmp");
}

static int in_memory(void **state)
{
	return make_place(state, "/dev/shm");
}

static int done(void **state)
{
	struct place *p = *state;

	(void)unlink(p->file);
	(void)rmdir(p->folder);
	free(p);
	return 0;
}

static bool is_tmpfs(const struct place *p)
{
	struct statfs fs;

	return !statfs(p->folder, &fs) && fs.f_type == TMPFS_MAGIC;
}

static struct brick_media *make(const struct place *p,
				struct brick_media_create create)
{
	struct brick_media *m = NULL;
	int ret = brick_media_open(p->file, &create, &m, err, sizeof(err));

	if (ret)
		fail_msg("%d: %s", ret, err);
	return m;
}

static int try_open(const char *path, const struct brick_media_create *create)
{
	struct brick_media *m = NULL;
	int ret;

	memset(err, 0, sizeof(err));
	ret = brick_media_open(path, create, &m, err, sizeof(err));
	if (!ret)
		brick_media_close(m);
	else
		assert_non_null(strstr(err, path));
	return ret;
}

static uint64_t allocated(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static void a_plain_file_is_made_whole_and_private(void **state)
{
	struct brick_media_create create = { .size = FILE_SIZE };
	struct place *p = *state;
	struct brick_media *m = NULL;
	struct stat st;

	if (is_tmpfs(p))
		skip();
	m = make(p, create);
	assert_ptr_equal(m->medium, &brick_medium_file);
	assert_int_equal(m->granularity, BRICK_GRANULARITY_PAGE);
	assert_int_equal(m->size, FILE_SIZE);
	assert_true(m->fresh_is_zero);
	assert_int_equal(fstat(m->fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(allocated(p->file) >= FILE_SIZE);
	brick_media_close(m);
}

static void what_is_written_is_there_after_reopening(void **state)
{
	struct brick_media_create create = { .size = FILE_SIZE };
	uint8_t text[] = "the bytes of";
	struct place *p = *state;
	struct brick_media *m = make(p, create);

	m->ops->zero(m, 4096, 4096);
	m->ops->copy(m, 4096, text, sizeof(text) - 1);
	m->ops->st64(m, 8192, 0x1122334455667788);
	m->ops->copy(m, 8200, "12345678abcdefgh", 16);
	m->ops->flush(m, 4096, 8192);
	assert_int_equal(m->ops->drain(m), 0);
	brick_media_close(m);
	assert_int_equal(brick_media_open(p->file, NULL, &m, err, sizeof(err)),
			 0);
	assert_false(m->fresh_is_zero);
	assert_memory_equal(m->base + 4096, text, sizeof(text) - 1);
	assert_int_equal(m->base[8192], 0x88);
	assert_memory_equal(m->base + 8200, "12345678abcdefgh", 16);
	brick_media_close(m);
}

static void a_file_in_memory_is_volatile_and_may_be_sparse(void **state)
{
	struct brick_media_create create = { .size = FILE_SIZE,
					     .sparse = true };
	struct place *p = *state;
	struct brick_media *m = NULL;

	if (!is_tmpfs(p))
		skip();
	m = make(p, create);
	assert_ptr_equal(m->medium, &brick_medium_tmpfs);
	assert_true(allocated(p->file) < FILE_SIZE);
	assert_int_equal(m->ops->drain(m), 0);
	brick_media_close(m);
	(void)unlink(p->file);
	create.sparse = false;
	m = make(p, create);
	assert_true(allocated(p->file) >= FILE_SIZE);
	brick_media_close(m);
}

static void a_file_on_disk_may_not_be_sparse(void **state)
{
	struct brick_media_create create = { .size = FILE_SIZE,
					     .sparse = true };
	struct place *p = *state;

	if (is_tmpfs(p))
		skip();
	assert_int_equal(try_open(p->file, &create), -EINVAL);
	/* Nothing is left behind. */
	assert_int_equal(access(p->file, F_OK), -1);
}

static void a_file_that_does_not_fit_leaves_nothing(void **state)
{
	struct brick_media_create create = { .size = 1ULL << 60 };
	struct place *p = *state;

	assert_true(try_open(p->file, &create) < 0);
	assert_int_equal(access(p->file, F_OK), -1);
	create.size = 0;
	assert_int_equal(try_open(p->file, &create), -EINVAL);
	assert_int_equal(access(p->file, F_OK), -1);
}

static void an_existing_file_keeps_its_size(void **state)
{
	struct brick_media_create create = { .size = FILE_SIZE };
	struct place *p = *state;
	struct brick_media *m = NULL;

	brick_media_close(make(p, create));
	create.size = 2 * FILE_SIZE;
	assert_int_equal(try_open(p->file, &create), -EEXIST);
	create.size = 0;
	m = make(p, create);
	assert_int_equal(m->size, FILE_SIZE);
	assert_false(m->fresh_is_zero);
	brick_media_close(m);
	/* An empty one is grown. */
	assert_int_equal(truncate(p->file, 0), 0);
	create.size = 2 * FILE_SIZE;
	m = make(p, create);
	assert_int_equal(m->size, 2 * FILE_SIZE);
	assert_true(m->fresh_is_zero);
	brick_media_close(m);
}

static void a_file_in_use_is_refused(void **state)
{
	struct brick_media_create create = { .size = FILE_SIZE };
	struct place *p = *state;
	struct brick_media *m = make(p, create);

	assert_int_equal(try_open(p->file, NULL), -EWOULDBLOCK);
	assert_int_equal(try_open(p->file, &create), -EWOULDBLOCK);
	brick_media_close(m);
	assert_int_equal(try_open(p->file, NULL), 0);
}

static void what_cannot_hold_a_store_is_refused(void **state)
{
	struct brick_media_create create = { .size = FILE_SIZE };
	struct place *p = *state;

	assert_int_equal(try_open(p->file, NULL), -ENOENT);
	assert_int_equal(try_open(p->folder, NULL), -EISDIR);
	assert_int_equal(try_open(p->folder, &create), -EISDIR);
	assert_true(try_open("/dev/null", NULL) < 0);
	assert_int_equal(mkfifo(p->file, 0600), 0);
	assert_int_equal(try_open(p->file, NULL), -ENOTSUP);
}

static void a_block_device_is_refused_with_advice(void **state)
{
	struct place *p = *state;
	int ret;

	/* Any block device will do; loop0 is harmless. */
	if (mknod(p->file, S_IFBLK | 0600, makedev(7, 0)))
		skip();
	ret = try_open(p->file, NULL);
	if (ret == -ENXIO || ret == -EACCES || ret == -EPERM || ret == -ENODEV)
		skip();
	assert_int_equal(ret, -ENOTSUP);
	assert_non_null(strstr(err, "ndctl create-namespace"));
}

static int adopt_devdax(size_t align_bytes)
{
	struct brick_media_map mm = {
		.m.granularity = BRICK_GRANULARITY_CACHE_LINE,
		.align_bytes = align_bytes,
	};
	const struct brick_media_file f = {
		.path = "/dev/dax0.0",
		.err = err,
		.err_len = sizeof(err),
	};

	return brick_medium_devdax.adopt(&f, &mm);
}

static void devdax_must_be_aligned_to_a_block(void **state)
{
	assert_int_equal(adopt_devdax(KFB_BLOCK_BYTES), 0);
	assert_int_equal(adopt_devdax(1024 * MIB), 0);
	assert_int_equal(adopt_devdax(4096), -ENOTSUP);
	assert_non_null(strstr(err, "-m devdax -a 2M"));
	assert_int_equal(adopt_devdax(0), -ENOTSUP);
}

static void a_medium_in_process_memory_takes_a_size(void **state)
{
	static const char *const bad[] = { "memory:",
					   "memory:0",
					   "memory:-1",
					   "memory:x",
					   "memory:1Q",
					   "memory:1MM",
					   "memory:99999999999999999999",
					   "memory:9999999999T" };
	struct brick_media *m = NULL;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_true(try_open(bad[i], NULL) < 0);
	assert_int_equal(
		brick_media_open("memory:3m", NULL, &m, err, sizeof(err)), 0);
	assert_int_equal(m->size, 3 * MIB);
	assert_ptr_equal(m->medium, &brick_medium_memory);
	assert_int_equal(m->fd, -1);
	assert_true(m->fresh_is_zero);
	brick_media_close(m);
}

static void the_environment_makes_no_pmem_of_a_file(void **state)
{
	struct brick_media_create create = { .size = FILE_SIZE,
					     .allow_fragmented = true };
	struct place *p = *state;
	struct brick_media *m = NULL;

	if (is_tmpfs(p))
		skip();
	assert_int_equal(setenv("PMEM2_FORCE_GRANULARITY", "CACHE_LINE", 1), 0);
	assert_int_equal(setenv("PMEM_IS_PMEM_FORCE", "1", 1), 0);
	m = make(p, create);
	assert_ptr_equal(m->medium, &brick_medium_file);
	assert_null(getenv("PMEM2_FORCE_GRANULARITY"));
	assert_null(getenv("PMEM_IS_PMEM_FORCE"));
	brick_media_close(m);
}

/* The one way to run the code of persistent memory on a disk file. */
static void a_test_may_force_persistent_memory(void **state)
{
	struct brick_media_create create = { .size = FILE_SIZE,
					     .allow_fragmented = true };
	struct place *p = *state;
	struct brick_media *m = NULL;
	uint64_t i;

	if (is_tmpfs(p))
		skip();
	brick_media_trust_environment(true);
	assert_int_equal(setenv("PMEM2_FORCE_GRANULARITY", "CACHE_LINE", 1), 0);
	m = make(p, create);
	assert_ptr_equal(m->medium, &brick_medium_fsdax);
	assert_int_equal(m->granularity, BRICK_GRANULARITY_CACHE_LINE);
	memset(m->base + MIB, 7, MIB);
	m->ops->zero(m, MIB, MIB);
	m->ops->st64(m, 0, 5);
	m->ops->flush(m, 0, 2 * MIB);
	assert_int_equal(m->ops->drain(m), 0);
	for (i = MIB; i < 2 * MIB; i++)
		assert_int_equal(m->base[i], 0);
	brick_media_close(m);
	assert_int_equal(setenv("PMEM2_FORCE_GRANULARITY", "BYTE", 1), 0);
	m = make(p, create);
	assert_int_equal(m->granularity, BRICK_GRANULARITY_BYTE);
	brick_media_close(m);
	assert_int_equal(unsetenv("PMEM2_FORCE_GRANULARITY"), 0);
	brick_media_trust_environment(false);
}

/* Written backwards and with holes, a file is not in aligned pieces. */
static void a_file_in_pieces_is_seen(void **state)
{
	struct place *p = *state;
	uint64_t n_bad = 0, off;
	int fd, ret;

	if (is_tmpfs(p))
		skip();
	fd = open(p->file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, FILE_SIZE), 0);
	ret = brick_media_fragments(fd, FILE_SIZE, &n_bad);
	if (ret == -EOPNOTSUPP) {
		(void)close(fd);
		skip();
	}
	assert_int_equal(ret, 0);
	assert_int_equal(n_bad, 4);
	for (off = 0; off < FILE_SIZE; off += MIB)
		assert_int_equal(pwrite(fd, "x", 1, (off_t)off), 1);
	assert_int_equal(brick_media_fragments(fd, FILE_SIZE, &n_bad), 0);
	assert_int_equal(n_bad, 4);
	(void)close(fd);
}

static void zeros_of_a_sparse_file_take_no_memory(void **state)
{
	const struct brick_media_create create = { .size = 8 << 20,
						   .sparse = true };
	struct brick_media *m = NULL;
	char path[64];
	struct stat st;

	(void)state;
	snprintf(path, sizeof(path), "/dev/shm/kfbrick-sparse-%d", getpid());
	assert_int_equal(brick_media_open(path, &create, &m, err, sizeof(err)),
			 0);
	memset(m->base, 0x5a, m->size / 2);
	m->ops->zero(m, 0, m->size / 2);
	assert_int_equal(fstat(m->fd, &st), 0);
	assert_int_equal(st.st_blocks, 0);
	assert_int_equal(m->base[0], 0);
	assert_int_equal(m->base[m->size / 2 - 1], 0);
	brick_media_close(m);
	unlink(path);
}

static void an_address_names_its_offset(void **state)
{
	struct brick_media *m = NULL;
	uint64_t off = 0;

	(void)state;
	assert_int_equal(
		brick_media_open("memory:4M", NULL, &m, err, sizeof(err)), 0);
	assert_true(brick_media_offset_of(m, m->base + 77, &off));
	assert_int_equal(off, 77);
	assert_false(brick_media_offset_of(m, m->base - 1, &off));
	assert_false(brick_media_offset_of(m, m->base + m->size, &off));
	brick_media_close(m);
}

#define DISK_TEST(name)	  cmocka_unit_test_setup_teardown(name, on_disk, done)
#define MEMORY_TEST(name) cmocka_unit_test_setup_teardown(name, in_memory, done)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DISK_TEST(a_plain_file_is_made_whole_and_private),
		DISK_TEST(what_is_written_is_there_after_reopening),
		MEMORY_TEST(what_is_written_is_there_after_reopening),
		MEMORY_TEST(a_file_in_memory_is_volatile_and_may_be_sparse),
		DISK_TEST(a_file_on_disk_may_not_be_sparse),
		DISK_TEST(a_file_that_does_not_fit_leaves_nothing),
		DISK_TEST(an_existing_file_keeps_its_size),
		DISK_TEST(a_file_in_use_is_refused),
		DISK_TEST(what_cannot_hold_a_store_is_refused),
		DISK_TEST(a_block_device_is_refused_with_advice),
		cmocka_unit_test(devdax_must_be_aligned_to_a_block),
		cmocka_unit_test(a_medium_in_process_memory_takes_a_size),
		DISK_TEST(the_environment_makes_no_pmem_of_a_file),
		DISK_TEST(a_test_may_force_persistent_memory),
		DISK_TEST(a_file_in_pieces_is_seen),
		cmocka_unit_test(zeros_of_a_sparse_file_take_no_memory),
		cmocka_unit_test(an_address_names_its_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
