// SPDX-License-Identifier: BSD-2-Clause
/*
 * "memory:SIZE": a medium that lives and dies with the process.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "brickd/media/media_impl.h"
#include "kfb_wire.h"

#define PREFIX	    "memory:"
#define SUFFIX_STEP 10 /* K, M, G and T are ten bits apart */

static void mem_close(struct brick_media *m)
{
	(void)munmap(m->base, m->size);
	free(m->path);
	free(m);
}

static const struct brick_media_ops mem_ops = {
	.st64 = brick_media_st64,
	.copy = brick_media_copy,
	.zero = brick_media_zero,
	.flush = brick_media_flush_nothing,
	.drain = brick_media_drain_nothing,
	.close = mem_close,
};

/* A number of bytes, or of K, M, G or T of them. */
static int parse_size(const char *text, uint64_t *size)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	unsigned int shift = 0;
	uint64_t value;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	if (*end) {
		suffix = strchr(suffixes, toupper((unsigned char)*end));
		if (!suffix || end[1])
			return -EINVAL;
		shift = (unsigned int)(suffix - suffixes + 1) * SUFFIX_STEP;
	}
	if (!value || value > (uint64_t)INT64_MAX >> shift)
		return -ERANGE;
	*size = value << shift;
	return 0;
}

static int mem_open(const char *path, struct brick_media **out, char *err,
		    size_t err_len)
{
	struct brick_media *m;
	uint64_t size;
	int ret;

	ret = parse_size(path + strlen(PREFIX), &size);
	if (ret) {
		brick_media_say(err, err_len,
				"%s: not a size; write memory:64M", path);
		return ret;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->path = strdup(path);
	m->base = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!m->path || m->base == MAP_FAILED) {
		brick_media_say(err, err_len, "%s: not enough memory", path);
		if (m->base != MAP_FAILED)
			(void)munmap(m->base, size);
		free(m->path);
		free(m);
		return -ENOMEM;
	}
	m->ops = &mem_ops;
	m->size = size;
	m->fd = -1;
	m->granularity = BRICK_GRANULARITY_PAGE;
	m->medium = &brick_medium_memory;
	m->is_volatile = true;
	m->fresh_is_zero = true;
	*out = m;
	return 0;
}

const struct brick_medium brick_medium_memory = {
	.label = KFB_MEDIUM_VOLATILE,
	.prefix = PREFIX,
	.is_volatile = true,
	.open = mem_open,
};
