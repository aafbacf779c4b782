// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: a file as if it were persistent memory below a CPU's
 * caches. What brickd and its clients write goes to a copy in memory; the file
 * gets only the lines that are written back. SIGKILL is a loss of power.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "brickd/media.h"
#include "brickd/util.h"

#define LINE UINT64_C(64)

struct cached {
	struct brick_media m; /* base is the copy */
	struct brick_media *file;
};

int __real_brick_media_open(const char *path,
			    const struct brick_media_create *create,
			    struct brick_media **out, char *err,
			    size_t err_len);
int __wrap_brick_media_open(const char *path,
			    const struct brick_media_create *create,
			    struct brick_media **out, char *err,
			    size_t err_len);

static void st64(struct brick_media *m, uint64_t off, uint64_t value)
{
	__atomic_store_n((uint64_t *)(void *)(m->base + off), value,
			 __ATOMIC_RELEASE);
}

static void copy(struct brick_media *m, uint64_t off, const void *src,
		 size_t len)
{
	memcpy(m->base + off, src, len);
}

static void zero(struct brick_media *m, uint64_t off, size_t len)
{
	memset(m->base + off, 0, len);
}

/* A line is written back as it is, never as it was: one copy at a time. */
static pthread_mutex_t one_copy = PTHREAD_MUTEX_INITIALIZER;

static void flush(struct brick_media *m, uint64_t off, size_t len)
{
	struct cached *c = brick_container_of(m, struct cached, m);
	uint64_t begin = off / LINE * LINE;
	uint64_t end = (off + len + LINE - 1) / LINE * LINE;

	pthread_mutex_lock(&one_copy);
	memcpy(c->file->base + begin, m->base + begin, end - begin);
	pthread_mutex_unlock(&one_copy);
}

static int drain(struct brick_media *m)
{
	return 0;
}

static void close_both(struct brick_media *m)
{
	struct cached *c = brick_container_of(m, struct cached, m);

	munmap(m->base, m->size);
	brick_media_close(c->file);
	free(c);
}

static const struct brick_media_ops ops = {
	.st64 = st64,
	.copy = copy,
	.zero = zero,
	.flush = flush,
	.drain = drain,
	.close = close_both,
};

int __wrap_brick_media_open(const char *path,
			    const struct brick_media_create *create,
			    struct brick_media **out, char *err, size_t err_len)
{
	struct cached *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	rc = __real_brick_media_open(path, create, &c->file, err, err_len);
	if (rc) {
		free(c);
		return rc;
	}
	c->m = *c->file;
	c->m.ops = &ops;
	c->m.granularity = BRICK_GRANULARITY_CACHE_LINE;
	c->m.base = mmap(NULL, c->m.size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->m.base == MAP_FAILED)
		abort();
	memcpy(c->m.base, c->file->base, c->m.size);
	*out = &c->m;
	return 0;
}
