// SPDX-License-Identifier: BSD-2-Clause
/* A medium below a CPU's caches: see cached_medium.h. */
#include "cached_medium.h"

#include <pthread.h>
#include <string.h>

#include "brickd/base/util.h"

#define LINE UINT64_C(64)

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

static pthread_mutex_t one_copy = PTHREAD_MUTEX_INITIALIZER;

static void flush(struct brick_media *m, uint64_t off, size_t len)
{
	struct cached_medium *c =
		brick_container_of(m, struct cached_medium, m);
	uint64_t begin = off / LINE * LINE;
	uint64_t end = (off + len + LINE - 1) / LINE * LINE;

	if (!c->below)
		return;
	pthread_mutex_lock(&one_copy);
	memcpy(c->below + begin, m->base + begin, end - begin);
	pthread_mutex_unlock(&one_copy);
}

static int drain(struct brick_media *m)
{
	(void)m;
	return 0;
}

static void close_medium(struct brick_media *m)
{
	struct cached_medium *c =
		brick_container_of(m, struct cached_medium, m);

	c->close(c);
}

static const struct brick_media_ops ops = {
	.st64 = st64,
	.copy = copy,
	.zero = zero,
	.flush = flush,
	.drain = drain,
	.close = close_medium,
};

void cached_medium_init(struct cached_medium *c)
{
	c->m.ops = &ops;
	c->m.granularity = c->below ? BRICK_GRANULARITY_CACHE_LINE
				    : BRICK_GRANULARITY_BYTE;
}
