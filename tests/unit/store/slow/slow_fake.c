// SPDX-License-Identifier: BSD-2-Clause
/* A slow tier in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "brickd/store/format/format.h"
#include "slow_fake.h"

#define SECTOR 512U

static struct slow_fake *fake_of(struct brick_slow *slow)
{
	return (struct slow_fake *)(void *)slow;
}

static bool hits(uint64_t bad, uint64_t off, size_t len)
{
	uint64_t at = brick_slow_data(bad - 1);

	return bad && at < off + len && off < at + KFB_BLOCK_BYTES;
}

/* Dirty, even if the bytes are the ones that were there. */
static void soil(struct slow_fake *f, uint64_t off, size_t len)
{
	memset(f->dirty + off / SECTOR, 1, len / SECTOR);
}

static int fake_read(struct brick_slow *slow, uint64_t off, void *to,
		     size_t len)
{
	struct slow_fake *f = fake_of(slow);

	if (hits(f->bad_read, off, len) || off + len > slow->size)
		return -EIO;
	memcpy(to, f->cache + off, len);
	return 0;
}

static int fake_write(struct brick_slow *slow, uint64_t off, const void *from,
		      size_t len)
{
	struct slow_fake *f = fake_of(slow);

	if (hits(f->bad_source, off, len))
		return -EFAULT;
	if (f->fail_write || hits(f->bad_write, off, len) ||
	    off + len > slow->size)
		return -EIO;
	memcpy(f->cache + off, from, len);
	soil(f, off, len);
	return 0;
}

static int fake_zero(struct brick_slow *slow, uint64_t off, size_t len)
{
	struct slow_fake *f = fake_of(slow);

	if (hits(f->bad_write, off, len) || off + len > slow->size)
		return -EIO;
	memset(f->cache + off, 0, len);
	soil(f, off, len);
	return 0;
}

static void write_back(struct slow_fake *f)
{
	bool fails = __atomic_load_n(&f->fails, __ATOMIC_ACQUIRE);
	uint64_t off;

	for (off = 0; off < f->slow.size; off += SECTOR) {
		if (!f->dirty[off / SECTOR] &&
		    !memcmp(f->taken + off, f->cache + off, SECTOR))
			continue;
		f->dirty[off / SECTOR] = 0;
		memcpy(f->taken + off, f->cache + off, SECTOR);
		if (fails)
			__atomic_store_n(&f->is_recorded, true,
					 __ATOMIC_RELEASE);
		else
			memcpy(f->disk + off, f->cache + off, SECTOR);
	}
}

static int fake_sync(struct brick_slow *slow)
{
	struct slow_fake *f = fake_of(slow);

	unsigned int n = __atomic_add_fetch(&f->n_syncs, 1, __ATOMIC_RELAXED);
	bool told;

	if (f->fail_sync)
		return -EIO;
	hold_point(f->hold, n, HOLD_BEGUN);
	if (!f->skip_sync)
		write_back(f);
	told = __atomic_exchange_n(&f->is_recorded, false, __ATOMIC_ACQ_REL);
	hold_point(f->hold, n, HOLD_WRITTEN);
	return told ? -EIO : 0;
}

static void fake_close(struct brick_slow *slow)
{
	(void)slow;
}

static const struct brick_slow_ops fake_ops = {
	.read = fake_read,
	.write = fake_write,
	.zero = fake_zero,
	.sync = fake_sync,
	.close = fake_close,
};

static uint8_t *pages(uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		abort();
	return at;
}

struct slow_fake *slow_fake_new(uint64_t n_slots)
{
	struct slow_fake *f = calloc(1, sizeof(*f));

	if (!f)
		abort();
	f->slow.ops = &fake_ops;
	f->slow.size = brick_slow_data(n_slots);
	f->slow.path = strdup("fake");
	f->slow.fresh_is_zero = true;
	f->cache = pages(f->slow.size);
	f->taken = pages(f->slow.size);
	f->disk = pages(f->slow.size);
	f->dirty = pages(f->slow.size / SECTOR);
	return f;
}

static void free_pages(uint8_t *at, size_t len)
{
	(void)munmap(at, len);
}

void slow_fake_free(struct slow_fake *f)
{
	free_pages(f->cache, f->slow.size);
	free_pages(f->taken, f->slow.size);
	free_pages(f->disk, f->slow.size);
	free_pages(f->dirty, f->slow.size / SECTOR);
	free(f->slow.path);
	free(f);
}

static unsigned int roll(uint64_t *seed, unsigned int n)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (unsigned int)(*seed % n);
}

void slow_fake_lose_power(struct slow_fake *f, unsigned int keep,
			  uint64_t *seed)
{
	uint64_t off;

	for (off = 0; off < f->slow.size; off += SECTOR)
		if (memcmp(f->disk + off, f->cache + off, SECTOR) &&
		    roll(seed, 100) < keep)
			memcpy(f->disk + off, f->cache + off, SECTOR);
	memcpy(f->cache, f->disk, f->slow.size);
	memcpy(f->taken, f->disk, f->slow.size);
	memset(f->dirty, 0, f->slow.size / SECTOR);
}

uint8_t *slow_fake_slot(struct slow_fake *f, uint64_t slot)
{
	return f->cache + brick_slow_data(slot);
}
