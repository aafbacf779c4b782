// SPDX-License-Identifier: BSD-2-Clause
/* A file medium that fails as Linux fails. */
#include "linux_medium.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "brickd/media/media_impl.h"
#include "kfb_wire.h"

#define PAGE 4096U

static struct linux_medium *of(struct brick_media *m)
{
	return (struct linux_medium *)(void *)m;
}

_Static_assert(offsetof(struct linux_medium, m) == 0, "for of()");

static uint8_t *pages(uint64_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

void linux_medium_flusher(struct linux_medium *lm)
{
	bool fails = __atomic_load_n(&lm->fails, __ATOMIC_ACQUIRE);
	uint64_t off;

	for (off = 0; off < lm->m.size; off += PAGE) {
		if (!memcmp(lm->taken + off, lm->m.base + off, PAGE))
			continue;
		memcpy(lm->taken + off, lm->m.base + off, PAGE);
		if (fails)
			__atomic_store_n(&lm->is_recorded, true,
					 __ATOMIC_RELEASE);
		if (!fails || lm->tears_from)
			memcpy(lm->disk + off, lm->m.base + off,
			       fails ? PAGE / 2 : PAGE);
	}
}

static int linux_drain(struct brick_media *m)
{
	struct linux_medium *lm = of(m);
	unsigned int n = __atomic_add_fetch(&lm->n_syncs, 1, __ATOMIC_RELAXED);
	bool told;

	hold_point(lm->hold, n, HOLD_BEGUN);
	if (lm->fails_at)
		lm->fails = n == lm->fails_at;
	if (lm->tears_from)
		lm->fails = n >= lm->tears_from;
	linux_medium_flusher(lm);
	if (lm->fails_once || lm->fails_at || lm->tears_from)
		lm->fails = false;
	told = __atomic_exchange_n(&lm->is_recorded, false, __ATOMIC_ACQ_REL);
	hold_point(lm->hold, n, HOLD_WRITTEN);
	return told ? -EIO : 0;
}

static void linux_close(struct brick_media *m)
{
	(void)m;
}

static const struct brick_media_ops linux_ops = {
	.st64 = brick_media_st64,
	.copy = brick_media_copy,
	.zero = brick_media_zero,
	.flush = brick_media_flush_nothing,
	.drain = linux_drain,
	.close = linux_close,
};

struct linux_medium *linux_medium_new(uint64_t size)
{
	struct linux_medium *lm = calloc(1, sizeof(*lm));

	if (!lm)
		abort();
	lm->m.ops = &linux_ops;
	lm->m.base = pages(size);
	lm->m.size = size;
	lm->m.path = strdup("a file");
	lm->m.fd = -1;
	lm->m.granularity = BRICK_GRANULARITY_PAGE;
	lm->m.medium = &brick_medium_file;
	lm->m.fresh_is_zero = true;
	lm->taken = pages(size);
	lm->disk = pages(size);
	return lm;
}

static void free_pages(uint8_t *at, uint64_t size)
{
	(void)munmap(at, size);
}

void linux_medium_free(struct linux_medium *lm)
{
	free_pages(lm->m.base, lm->m.size);
	free_pages(lm->taken, lm->m.size);
	free_pages(lm->disk, lm->m.size);
	free(lm->m.path);
	free(lm);
}

void linux_medium_drop(struct linux_medium *lm)
{
	memcpy(lm->m.base, lm->disk, lm->m.size);
	memcpy(lm->taken, lm->disk, lm->m.size);
}
