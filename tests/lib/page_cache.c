// SPDX-License-Identifier: BSD-2-Clause
/* Linux's page cache over a disk that fails: see page_cache.h. */
#include "page_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct span {
	uint64_t first;
	uint64_t end;
};

static struct span pages_of(const struct page_cache *pc, uint64_t off,
			    uint64_t len)
{
	uint64_t size = pc->n_pages * PC_PAGE;
	struct span span = { 0 };

	if (off >= size || !len)
		return span;
	if (len > size - off)
		len = size - off;
	span.first = off / PC_PAGE;
	span.end = (off + len + PC_PAGE - 1) / PC_PAGE;
	return span;
}

static void path_of(char *path, const char *folder, const char *name,
		    const char *what)
{
	(void)snprintf(path, PATH_MAX, "%s/%s.%s", folder, name, what);
}

bool pc_exists(const char *folder, const char *name, const char *what)
{
	char path[PATH_MAX];

	path_of(path, folder, name, what);
	return !access(path, F_OK);
}

static void *map_fd(int fd, size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return NULL;
	return at;
}

static void *map_file(const char *folder, const char *name, const char *what,
		      size_t len)
{
	char path[PATH_MAX];
	void *at;
	int fd;

	path_of(path, folder, name, what);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	at = map_fd(fd, len);
	(void)close(fd);
	return at;
}

int pc_open(struct page_cache *pc, const char *folder, const char *name, int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	size_t len;

	if (size < (off_t)PC_PAGE)
		return -EINVAL;
	pc->fd = fd;
	pc->n_pages = (uint64_t)size / PC_PAGE;
	len = pc->n_pages * PC_PAGE;
	(void)snprintf(pc->name, sizeof(pc->name), "%s", name);
	pc->page = map_fd(fd, len);
	pc->disk = map_file(folder, name, "disk", len);
	pc->clean = map_file(folder, name, "clean", len);
	pc->state = map_file(folder, name, "state",
			     sizeof(*pc->state) + pc->n_pages);
	pc->super = map_file(folder, "superblock", "state", sizeof(*pc->super));
	if (!pc->page || !pc->disk || !pc->clean || !pc->state || !pc->super ||
	    pc->state->magic != PC_MAGIC || pc->state->size != (uint64_t)size)
		return -EINVAL;
	(void)pthread_mutex_init(&pc->io, NULL);
	return 0;
}

static pthread_mutex_t errors_lock = PTHREAD_MUTEX_INITIALIZER;

uint32_t pc_sample(const struct pc_errseq *errors)
{
	uint32_t since;

	pthread_mutex_lock(&errors_lock);
	since = errors->seen ? errors->count : 0;
	pthread_mutex_unlock(&errors_lock);
	return since;
}

static void keep_error(struct pc_errseq *errors, int error)
{
	pthread_mutex_lock(&errors_lock);
	if (!errors->count || errors->seen || errors->error != (uint32_t)error)
		errors->count++;
	errors->error = (uint32_t)error;
	errors->seen = 0;
	pthread_mutex_unlock(&errors_lock);
}

int pc_error(struct pc_errseq *errors, uint32_t *since)
{
	int ret = 0;

	pthread_mutex_lock(&errors_lock);
	if (*since != errors->count) {
		*since = errors->count;
		errors->seen = 1;
		ret = -(int)errors->error;
	}
	pthread_mutex_unlock(&errors_lock);
	return ret;
}

static bool is_dirty(const struct page_cache *pc, uint64_t p)
{
	return (pc->state->page[p] & PC_DIRTY) ||
	       (pc->state->was_mapped &&
		memcmp(pc->page + p * PC_PAGE, pc->clean + p * PC_PAGE,
		       PC_PAGE));
}

static bool roll(struct page_cache *pc, unsigned int per_mille)
{
	return (unsigned int)rand_r(&pc->seed) % PC_PER_MILLE < per_mille;
}

/* The page as it is now, once: it may be written meanwhile. */
static bool write_page(struct page_cache *pc, uint64_t p, bool is_taken)
{
	uint64_t now[PC_PAGE / sizeof(uint64_t)];

	pc->state->page[p] = 0;
	memcpy(now, pc->page + p * PC_PAGE, PC_PAGE);
	if (is_taken)
		memcpy(pc->disk + p * PC_PAGE, now, PC_PAGE);
	memcpy(pc->clean + p * PC_PAGE, now, PC_PAGE);
	return is_taken;
}

static uint64_t clean_pages(struct page_cache *pc, struct span span,
			    unsigned int share, const struct pc_disk *disk)
{
	uint64_t p, lost = 0;

	for (p = span.first; p < span.end; p++)
		if (is_dirty(pc, p) &&
		    (share == PC_PER_MILLE || roll(pc, share)))
			lost += !write_page(
				pc, p, !disk->error || roll(pc, disk->keep));
	return lost;
}

uint64_t pc_write_back(struct page_cache *pc, uint64_t off, uint64_t len,
		       unsigned int share, const struct pc_disk *disk)
{
	uint64_t lost;

	pthread_mutex_lock(&pc->io);
	lost = clean_pages(pc, pages_of(pc, off, len), share, disk);
	if (disk->delay_us)
		(void)nanosleep(
			&(struct timespec){ .tv_nsec = disk->delay_us * 1000L },
			NULL);
	if (lost) {
		keep_error(&pc->state->error, disk->error);
		keep_error(pc->super, disk->error);
	}
	pthread_mutex_unlock(&pc->io);
	return lost;
}

bool pc_is_dirty(struct page_cache *pc, uint64_t off, uint64_t len)
{
	struct span span = pages_of(pc, off, len);
	uint64_t p = span.first;

	pthread_mutex_lock(&pc->io);
	while (p < span.end && !is_dirty(pc, p))
		p++;
	pthread_mutex_unlock(&pc->io);
	return p < span.end;
}

int pc_flush_fails(struct page_cache *pc, int error, unsigned int keep)
{
	struct pc_disk disk = { .error = error, .keep = keep };

	pthread_mutex_lock(&pc->io);
	(void)clean_pages(pc, pages_of(pc, 0, UINT64_MAX), PC_PER_MILLE, &disk);
	pthread_mutex_unlock(&pc->io);
	return -error;
}

void pc_dirty(struct page_cache *pc, uint64_t off, uint64_t len)
{
	struct span span = pages_of(pc, off, len);

	memset(pc->state->page + span.first, PC_DIRTY, span.end - span.first);
}

void pc_drop(struct page_cache *pc, uint64_t off, uint64_t len)
{
	struct span span = pages_of(pc, off, len);
	uint64_t p;

	if (pc->n_maps)
		return;
	pthread_mutex_lock(&pc->io);
	for (p = span.first; p < span.end; p++) {
		/* One that is absent is as the disk has it. */
		if (pc->state->page[p] == PC_ABSENT || is_dirty(pc, p))
			continue;
		memcpy(pc->page + p * PC_PAGE, pc->disk + p * PC_PAGE, PC_PAGE);
		memcpy(pc->clean + p * PC_PAGE, pc->disk + p * PC_PAGE,
		       PC_PAGE);
		pc->state->page[p] = PC_ABSENT;
	}
	pthread_mutex_unlock(&pc->io);
}

void pc_present(struct page_cache *pc, uint64_t off, uint64_t len)
{
	struct span span = pages_of(pc, off, len);
	uint64_t p;

	for (p = span.first; p < span.end; p++)
		if (pc->state->page[p] & PC_ABSENT)
			pc->state->page[p] = 0;
}

void pc_mincore(const struct page_cache *pc, uint64_t off, uint64_t len,
		unsigned char *vec)
{
	struct span span = pages_of(pc, off, len);
	uint64_t p;

	for (p = span.first; p < span.end; p++)
		vec[p - span.first] = !(pc->state->page[p] & PC_ABSENT);
}

ssize_t pc_read_disk(struct page_cache *pc, void *to, size_t len, uint64_t off)
{
	uint64_t size = pc->n_pages * PC_PAGE;

	if (off >= size)
		return 0;
	if (len > size - off)
		len = size - off;
	memcpy(to, pc->disk + off, len);
	return (ssize_t)len;
}
