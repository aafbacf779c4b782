// SPDX-License-Identifier: BSD-2-Clause
/*
 * Opening a medium: what the path is decides what it becomes.
 *
 * Context: one thread, at start, before others run: the environment is
 * changed. Lifetime: the flock lives as long as the descriptor, so a killed
 * daemon leaves none behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "brickd/media/media_impl.h"
#include "brickd/media/room.h"

#define FILE_MODE 0600

/* All there are; a file is of the first kind that wants it. */
static const struct brick_medium *const media[] = {
	&brick_medium_memory, &brick_medium_devdax, &brick_medium_tmpfs,
	&brick_medium_fsdax,  &brick_medium_file,
};

#define N_MEDIA (sizeof(media) / sizeof(media[0]))

static bool trust_environment;

void brick_media_trust_environment(bool trust)
{
	trust_environment = trust;
}

static int open_file(struct brick_media_file *f)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;

	f->fd = open(f->path, flags);
	if (f->fd < 0 && errno == ENOENT && f->create) {
		f->fd = open(f->path, flags | O_CREAT | O_EXCL, FILE_MODE);
		if (f->fd >= 0)
			f->made = BRICK_MADE_FILE;
	}
	if (f->fd >= 0)
		return 0;
	int error = errno;

	if (error == EISDIR)
		brick_media_say(f->err, f->err_len,
				"%s: is a folder; name a file in it", f->path);
	else if (error == ENOENT && !f->create)
		brick_media_say(f->err, f->err_len,
				"%s: does not exist; format it first", f->path);
	else
		brick_media_say(f->err, f->err_len, "%s: cannot open: %s",
				f->path, strerror(error));
	return -error;
}

static int check_type(const struct brick_media_file *f, const struct stat *st)
{
	if (S_ISREG(st->st_mode) || S_ISCHR(st->st_mode))
		return 0;
	if (S_ISBLK(st->st_mode))
		brick_media_say(
			f->err, f->err_len,
			"%s: a block device goes through the page cache and "
			"cannot back a brick; for /dev/pmemN run: ndctl "
			"create-namespace -f -e namespaceX.Y -m devdax -a 2M",
			f->path);
	else
		brick_media_say(f->err, f->err_len,
				"%s: neither a file nor a devdax device",
				f->path);
	return -ENOTSUP;
}

static int lock_file(const struct brick_media_file *f)
{
	if (!flock(f->fd, LOCK_EX | LOCK_NB))
		return 0;
	int error = errno;

	if (error == EWOULDBLOCK)
		brick_media_say(f->err, f->err_len,
				"%s: in use by another process; stop that "
				"brickd first",
				f->path);
	else
		brick_media_say(f->err, f->err_len, "%s: cannot lock: %s",
				f->path, strerror(error));
	return -error;
}

static int look_at_file_system(struct brick_media_file *f)
{
	struct statfs fs;

	if (fstatfs(f->fd, &fs)) {
		int error = errno;

		brick_media_say(f->err, f->err_len, "%s: statfs: %s", f->path,
				strerror(error));
		return -error;
	}
	f->is_tmpfs = fs.f_type == TMPFS_MAGIC;
	return 0;
}

/* Give an empty file its size; every byte of it, unless it may be sparse. */
static int size_file(struct brick_media_file *f, const struct stat *st)
{
	uint64_t size = f->create->size;
	int error;

	if (st->st_size) {
		if (!size || size == (uint64_t)st->st_size)
			return 0;
		brick_media_say(f->err, f->err_len,
				"%s: exists with %lld bytes, not %llu; remove "
				"it or leave out the size",
				f->path, (long long)st->st_size,
				(unsigned long long)size);
		return -EEXIST;
	}
	if (!size || size > INT64_MAX || (f->create->sparse && !f->is_tmpfs)) {
		brick_media_say(f->err, f->err_len,
				size ? "%s: only a file in memory may be sparse"
				     : "%s: is empty: give a size",
				f->path);
		return -EINVAL;
	}
	if (f->made == BRICK_MADE_NOTHING)
		f->made = BRICK_MADE_ROOM;
	if (f->create->sparse)
		error = ftruncate(f->fd, (off_t)size) ? errno : 0;
	else
		error = brick_room_take(f->fd, 0, size);
	if (error) {
		brick_media_say(f->err, f->err_len,
				"%s: cannot allocate %llu bytes: %s", f->path,
				(unsigned long long)size, strerror(error));
		return -error;
	}
	return 0;
}

/* Marks name the file as it is called without links. */
static int settle_past(const struct brick_media_file *f, char **mark,
		       struct brick_media_past *past)
{
	struct stat st;
	int ret;

	if (fstat(f->fd, &st))
		return -errno;
	*mark = realpath(f->path, NULL);
	if (!*mark)
		return -errno;
	ret = brick_media_settle(f, (uint64_t)st.st_size, *mark, past);
	if (ret) {
		free(*mark);
		*mark = NULL;
	}
	return ret;
}

/* Size, map and adopt a locked file or device. */
static int open_locked(struct brick_media_file *f, struct brick_media_map **out)
{
	const struct brick_medium *const *medium = media;
	struct brick_media_past past = { 0 };
	struct brick_media_map *mm;
	char *mark = NULL;
	struct stat st;
	int ret;

	if (fstat(f->fd, &st))
		return -errno;
	f->is_device = S_ISCHR(st.st_mode);
	if (!f->is_device) {
		ret = look_at_file_system(f);
		if (!ret && f->create)
			ret = size_file(f, &st);
		if (!ret && !f->is_tmpfs)
			ret = settle_past(f, &mark, &past);
		if (ret)
			return ret;
	}
	ret = brick_media_map(f, &mm);
	if (ret) {
		free(mark);
		return ret;
	}
	mm->m.mark = mark;
	mm->m.past = past;
	/* The last row takes every file. */
	while ((*medium)->prefix || !(*medium)->is_mine(f, mm))
		medium++;
	mm->m.medium = *medium;
	mm->m.is_volatile = mm->m.medium->is_volatile;
	ret = mm->m.medium->adopt(f, mm);
	if (ret) {
		mm->m.fd = -1; /* the caller closes it */
		brick_media_unmap(&mm->m);
		return ret;
	}
	*out = mm;
	return 0;
}

static int open_path(const char *path, const struct brick_media_create *create,
		     struct brick_media **out, char *err, size_t err_len)
{
	struct brick_media_file f = {
		.path = path,
		.fd = -1,
		.create = create,
		.err = err,
		.err_len = err_len,
	};
	struct brick_media_map *mm = NULL;
	struct stat st;
	int ret;

	ret = open_file(&f);
	if (ret)
		return ret;
	if (fstat(f.fd, &st))
		ret = -errno;
	if (!ret)
		ret = check_type(&f, &st);
	if (!ret)
		ret = lock_file(&f);
	if (!ret)
		ret = open_locked(&f, &mm);
	if (ret) {
		brick_unmake(path, f.fd, f.made);
		(void)close(f.fd);
		return ret;
	}
	*out = &mm->m;
	return 0;
}

/* The kind that a path with a prefix names, or NULL. */
static const struct brick_medium *find_by_prefix(const char *path)
{
	for (size_t i = 0; i < N_MEDIA; i++)
		if (media[i]->prefix &&
		    !strncmp(path, media[i]->prefix, strlen(media[i]->prefix)))
			return media[i];
	return NULL;
}

bool brick_media_is_made_at_start(const char *path)
{
	return find_by_prefix(path);
}

int brick_media_open(const char *path, const struct brick_media_create *create,
		     struct brick_media **out, char *err, size_t err_len)
{
	const struct brick_medium *medium = find_by_prefix(path);
	int ret;

	brick_media_say(err, err_len, "%s: failed", path);
	/* Both make libpmem2 take a disk file for persistent memory. */
	if (!trust_environment) {
		(void)unsetenv("PMEM2_FORCE_GRANULARITY");
		(void)unsetenv("PMEM_IS_PMEM_FORCE");
	}
	ret = medium ? medium->open(path, out, err, err_len)
		     : open_path(path, create, out, err, err_len);
	/* brickd locks its own memory; this is as large as it may be. */
	if (!ret)
		(void)munlock((*out)->base, (*out)->size);
	return ret;
}

void brick_media_discard(struct brick_media *m)
{
	brick_unmake(m->path, m->fd, m->made);
	brick_media_close(m);
}
