// SPDX-License-Identifier: BSD-2-Clause
/*
 * The test medium, in the place of what brickd would open; and the platform
 * that it says it is.
 */
#include "medium.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "brickd/media.h"
#include "brickd/platform.h"
#include "proto/kfb_wire.h"

#define HALF (FAULT_PERMILLE / 2)

static struct pf_platform platform;
static uint8_t *cached, *media;

int __wrap_brick_media_open(const char *path,
			    const struct brick_media_create *create,
			    struct brick_media **out, char *err,
			    size_t err_len);
int __wrap_brick_platform_read(const struct brick_media *m,
			       struct brick_platform *out);

static void *map(void)
{
	void *p = mmap(NULL, PF_MEDIUM_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

void pf_medium_init(const struct pf_platform *p)
{
	platform = *p;
	cached = map();
	media = map();
}

void pf_medium_fini(void)
{
	munmap(cached, PF_MEDIUM_BYTES);
	munmap(media, PF_MEDIUM_BYTES);
}

void pf_medium_dma(uint8_t *at, const struct fault_line *line)
{
	uint8_t *to = media + (at - cached);

	for (unsigned int i = 0; i < FAULT_LINE; i++) {
		if (!(line->mask & (1ULL << i)))
			continue;
		at[i] = line->data[i];
		if (!platform.ddio)
			to[i] = line->data[i];
	}
}

void pf_medium_settle(const uint8_t *at, size_t len)
{
	memcpy(media + (at - cached), at, len);
}

void pf_medium_survivors(const uint8_t *at, size_t len, __u64 *rng,
			 uint8_t *out)
{
	const uint8_t *m = media + (at - cached);

	for (size_t i = 0; i < len; i += FAULT_LINE) {
		bool is_dirty = memcmp(at + i, m + i, FAULT_LINE) != 0;
		bool stays =
			is_dirty && (platform.eadr || fault_chance(rng, HALF));

		memcpy(out + i, stays ? at + i : m + i, FAULT_LINE);
	}
}

/* ---- brickd's side ----------------------------------------------------- */

static void st64(struct brick_media *m, uint64_t off, uint64_t value)
{
	memcpy(m->base + off, &value, sizeof(value));
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

static void flush(struct brick_media *m, uint64_t off, size_t len)
{
	uint64_t begin = off / FAULT_LINE * FAULT_LINE;
	uint64_t end = (off + len + FAULT_LINE - 1) / FAULT_LINE * FAULT_LINE;

	if (platform.eadr)
		return;
	memcpy(media + begin, m->base + begin, end - begin);
}

static int drain(struct brick_media *m)
{
	return 0;
}

static void close_medium(struct brick_media *m)
{
	free(m->path);
	free(m);
}

static const struct brick_media_ops ops = {
	.st64 = st64,
	.copy = copy,
	.zero = zero,
	.flush = flush,
	.drain = drain,
	.close = close_medium,
};

int __wrap_brick_media_open(const char *path,
			    const struct brick_media_create *create,
			    struct brick_media **out, char *err, size_t err_len)
{
	struct brick_media *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->ops = &ops;
	m->base = cached;
	m->size = PF_MEDIUM_BYTES;
	m->path = strdup(path);
	m->fd = -1;
	m->granularity = platform.eadr ? BRICK_GRANULARITY_BYTE
				       : BRICK_GRANULARITY_CACHE_LINE;
	m->kind = KFB_MEDIUM_DEVDAX;
	m->fresh_is_zero = true;
	*out = m;
	return 0;
}

int __wrap_brick_platform_read(const struct brick_media *m,
			       struct brick_platform *out)
{
	*out = (struct brick_platform){
		.backing = BRICK_BACKING_PMEM,
		.domain = platform.eadr ? BRICK_DOMAIN_CACHES
					: BRICK_DOMAIN_MEMORY,
		.bad_known = true,
	};
	return 0;
}
