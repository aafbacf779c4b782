// SPDX-License-Identifier: BSD-2-Clause
/*
 * What an earlier process has left of a file in memory.
 *
 * Linux keeps pages that it could not write, and calls them clean: they look
 * like the file and are not in it. So, before anybody reads a file that lies
 * behind the page cache, what is dirty is written, an error that nobody was told
 * is heard, and all pages are dropped. What cannot be dropped, because somebody
 * else has it mapped, is compared with the medium.
 *
 * That something is in memory may have to prove that it is the same mount
 * (past.c). So whoever of us is about to read a file of which nothing is leaves a
 * mark first. It stays until a start has drawn its conclusion: others may be about to
 * read the file, and what is still on its way into memory is not seen there.
 *
 * Context: before the file is mapped; it is locked, so nobody writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "brickd/media/media_fsid.h"
#include "brickd/media/media_impl.h"
#include "brickd/media/media_mark.h"
#include "brickd/media/progress.h"

#define PAGE	     4096U
#define WINDOW_BYTES (1ULL << 30) /* looked at in one go */
#define PIECE_BYTES  (1U << 20) /* compared in one go */

/* The pages of a file that are in memory, and how they compare. */
struct resident {
	int fd;
	int direct; /* past the page cache; -1: cannot be */
	uint8_t *cached; /* PIECE_BYTES each; NULL: is there any? */
	uint8_t *written;
	uint64_t n; /* pages */
	bool differ;
	bool unknown; /* some could not be compared */
};

static void compare_range(struct resident *r, uint64_t off, size_t len)
{
	if (r->direct < 0 ||
	    pread(r->fd, r->cached, len, (off_t)off) != (ssize_t)len ||
	    pread(r->direct, r->written, len, (off_t)off) != (ssize_t)len)
		r->unknown = true;
	else
		r->differ |= memcmp(r->cached, r->written, len) != 0;
}

static void look_at_pages(struct resident *r, uint64_t off,
			  const unsigned char *in_memory, size_t n_pages)
{
	size_t i = 0, first;

	while (i < n_pages) {
		first = i;
		while (i < n_pages && (in_memory[i] & 1) &&
		       (i - first) * PAGE < PIECE_BYTES)
			i++;
		r->n += i - first;
		if (i == first)
			i++;
		else if (r->cached)
			compare_range(r, off + (uint64_t)first * PAGE,
				      (i - first) * PAGE);
	}
}

static int look_at_window(struct resident *r, uint64_t off, size_t len)
{
	size_t n_pages = len / PAGE;
	unsigned char *in_memory = calloc(n_pages, 1);
	void *at = mmap(NULL, len, PROT_READ, MAP_SHARED, r->fd, (off_t)off);
	int ret = 0;

	if (!in_memory || at == MAP_FAILED || mincore(at, len, in_memory))
		ret = in_memory ? -errno : -ENOMEM;
	if (at != MAP_FAILED)
		(void)munmap(at, len);
	if (!ret)
		look_at_pages(r, off, in_memory, n_pages);
	free(in_memory);
	return ret;
}

static int look_at_cache(struct resident *r, uint64_t size)
{
	uint64_t off, len;
	int ret = 0;

	size -= size % PAGE;
	for (off = 0; !ret && off < size && (r->cached || !r->n); off += len) {
		len = size - off < WINDOW_BYTES ? size - off : WINDOW_BYTES;
		brick_progress("looking at what is in memory", off, size);
		ret = look_at_window(r, off, len);
	}
	return ret;
}

/* Whatever is still in memory: is it what the medium has? */
static int verify_cached(const struct brick_media_file *f, uint64_t size,
			 struct resident *r)
{
	char self[sizeof("/proc/self/fd/2147483647")];
	int ret = 0;

	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	r->direct = open(self, O_RDONLY | O_DIRECT | O_CLOEXEC);
	r->cached = aligned_alloc(PAGE, PIECE_BYTES);
	r->written = aligned_alloc(PAGE, PIECE_BYTES);
	if (r->cached && r->written)
		ret = look_at_cache(r, size);
	else
		ret = -ENOMEM;
	free(r->cached);
	free(r->written);
	if (r->direct >= 0)
		(void)close(r->direct);
	return ret;
}

static int drop_cached(const struct brick_media_file *f, uint64_t size,
		       const char *mark, struct brick_media_past *past)
{
	struct resident left = { .fd = f->fd };
	int ret;

	(void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_DONTNEED);
	ret = verify_cached(f, size, &left);
	past->is_unknown = ret || left.unknown;
	if (ret || !left.differ)
		return ret == -ENOMEM ? ret : 0;
	(void)brick_mark_set(mark, "it was in memory and not in the file");
	brick_media_say(f->err, f->err_len,
			"%s: what is in memory is not what the file has, after "
			"a write that failed, and somebody keeps it in memory; "
			"end who has the file mapped, or unmount its file "
			"system and mount it again",
			f->path);
	return -EIO;
}

bool brick_media_was_cached(int fd, const char *mark)
{
	struct resident now = { .fd = fd };
	struct stat st;
	bool is_there = !fstat(fd, &st) &&
			!look_at_cache(&now, (uint64_t)st.st_size) && now.n;

	if (!is_there)
		(void)brick_mark_set_cold(mark);
	return is_there && !brick_mark_is_cold(mark);
}

int brick_media_settle(const struct brick_media_file *f, uint64_t size,
		       const char *mark, struct brick_media_past *past)
{
	past->fs_id = brick_media_fsid(f->fd);
	if (f->made != BRICK_MADE_NOTHING)
		return 0;
	past->was_cached = brick_media_was_cached(f->fd, mark);
	/* Whoever asks next is told nothing: so it is written down now. */
	if (fdatasync(f->fd))
		(void)brick_mark_set(
			mark, "what an earlier process had written could "
			      "not be made durable");
	return drop_cached(f, size, mark, past);
}
