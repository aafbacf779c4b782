// SPDX-License-Identifier: BSD-2-Clause
/*
 * The mapping below files and dax devices, by libpmem2, and the CPU's ways of
 * writing to it.
 *
 * Context: the ops may run on many threads at once, on disjoint ranges.
 */
#include <errno.h>
#include <fcntl.h>
#include <libpmem2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "brickd/media/media_impl.h"

#define WORD_BYTES	sizeof(uint64_t)
#define PMEM2_ERRNO_END (-4096)

void brick_media_st64(struct brick_media *m, uint64_t off, uint64_t value)
{
	__atomic_store_n((uint64_t *)(void *)(m->base + off), value,
			 __ATOMIC_RELEASE);
}

void brick_media_copy(struct brick_media *m, uint64_t off, const void *src,
		      size_t len)
{
	const uint8_t *from = src;
	uint64_t word;

	if (off % WORD_BYTES || len % WORD_BYTES) {
		memcpy(m->base + off, src, len);
		return;
	}
	for (; len; len -= WORD_BYTES) {
		memcpy(&word, from, WORD_BYTES);
		brick_media_st64(m, off, word);
		from += WORD_BYTES;
		off += WORD_BYTES;
	}
}

void brick_media_zero(struct brick_media *m, uint64_t off, size_t len)
{
	memset(m->base + off, 0, len);
}

void brick_media_flush_nothing(struct brick_media *m, uint64_t off, size_t len)
{
	(void)m;
	(void)off;
	(void)len;
}

int brick_media_drain_nothing(struct brick_media *m)
{
	(void)m;
	return 0;
}

static struct brick_media_map *map_of(struct brick_media *m)
{
	return (struct brick_media_map *)((char *)m -
					  offsetof(struct brick_media_map, m));
}

static void pmem_zero(struct brick_media *m, uint64_t off, size_t len)
{
	map_of(m)->memset(m->base + off, 0, len,
			  PMEM2_F_MEM_NONTEMPORAL | PMEM2_F_MEM_NODRAIN);
}

static void pmem_flush(struct brick_media *m, uint64_t off, size_t len)
{
	map_of(m)->flush(m->base + off, len);
}

static int pmem_drain(struct brick_media *m)
{
	map_of(m)->drain();
	return 0;
}

const struct brick_media_ops brick_media_pmem_ops = {
	.st64 = brick_media_st64,
	.copy = brick_media_copy,
	.zero = pmem_zero,
	.flush = pmem_flush,
	.drain = pmem_drain,
	.close = brick_media_unmap,
};

void brick_media_unmap(struct brick_media *m)
{
	struct brick_media_map *mm = map_of(m);

	(void)pmem2_map_delete(&mm->map);
	/* As it was found. */
	if (m->fd >= 0 && m->mark && !m->past.was_cached)
		(void)posix_fadvise(m->fd, 0, 0, POSIX_FADV_DONTNEED);
	if (m->fd >= 0)
		(void)close(m->fd);
	free(m->mark);
	free(m->path);
	free(mm);
}

static enum brick_granularity granularity_of(struct pmem2_map *map)
{
	switch (pmem2_map_get_store_granularity(map)) {
	case PMEM2_GRANULARITY_BYTE:
		return BRICK_GRANULARITY_BYTE;
	case PMEM2_GRANULARITY_CACHE_LINE:
		return BRICK_GRANULARITY_CACHE_LINE;
	default:
		return BRICK_GRANULARITY_PAGE;
	}
}

static int map_source(struct pmem2_source *src, struct pmem2_map **map)
{
	struct pmem2_config *cfg;
	int ret;

	ret = pmem2_config_new(&cfg);
	if (ret)
		return ret;
	ret = pmem2_config_set_required_store_granularity(
		cfg, PMEM2_GRANULARITY_PAGE);
	if (!ret)
		ret = pmem2_map_new(map, cfg, src);
	(void)pmem2_config_delete(&cfg);
	return ret;
}

static int map_fd(const struct brick_media_file *f, struct brick_media_map *mm)
{
	struct pmem2_source *src;
	const char *why;
	int ret;

	ret = pmem2_source_from_fd(&src, f->fd);
	if (!ret) {
		ret = pmem2_source_alignment(src, &mm->align_bytes);
		if (!ret)
			ret = map_source(src, &mm->map);
		(void)pmem2_source_delete(&src);
	}
	if (!ret)
		return 0;
	why = pmem2_errormsg();
	brick_media_say(f->err, f->err_len, "%s: cannot map: %s", f->path,
			*why ? why : "neither a file nor a devdax device");
	/* libpmem2 has numbers of its own, far below those of errno. */
	return ret > PMEM2_ERRNO_END ? ret : -ENOTSUP;
}

int brick_media_map(const struct brick_media_file *f,
		    struct brick_media_map **out)
{
	struct brick_media_map *mm = calloc(1, sizeof(*mm));
	char *path = strdup(f->path);
	int ret = -ENOMEM;

	if (!mm || !path)
		goto free_both;
	ret = map_fd(f, mm);
	if (ret)
		goto free_both;
	mm->flush = pmem2_get_flush_fn(mm->map);
	mm->drain = pmem2_get_drain_fn(mm->map);
	mm->memset = pmem2_get_memset_fn(mm->map);
	mm->m.base = pmem2_map_get_address(mm->map);
	mm->m.size = pmem2_map_get_size(mm->map);
	mm->m.granularity = granularity_of(mm->map);
	mm->m.path = path;
	mm->m.fd = f->fd;
	mm->m.made = f->made;
	mm->m.fresh_is_zero = f->made != BRICK_MADE_NOTHING;
	*out = mm;
	return 0;

free_both:
	free(path);
	free(mm);
	return ret;
}
