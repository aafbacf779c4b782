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

#include "brickd/platform/platform.h"
#include "proto/kfb_wire.h"
#include "tests/lib/cached_medium.h"

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

static void close_medium(struct cached_medium *c)
{
	free(c->m.path);
	free(c);
}

int __wrap_brick_media_open(const char *path,
			    const struct brick_media_create *create,
			    struct brick_media **out, char *err, size_t err_len)
{
	struct cached_medium *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->below = platform.eadr ? NULL : media;
	c->close = close_medium;
	cached_medium_init(c);
	c->m.base = cached;
	c->m.size = PF_MEDIUM_BYTES;
	c->m.path = strdup(path);
	c->m.fd = -1;
	c->m.medium = &brick_medium_devdax;
	c->m.fresh_is_zero = true;
	*out = &c->m;
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
