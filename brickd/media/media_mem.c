// SPDX-License-Identifier: BSD-2-Clause
/*
 * "memory:SIZE": a medium that lives and dies with the process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "brickd/media/media_impl.h"
#include "kfb_text.h"
#include "kfb_wire.h"

#define PREFIX "memory:"

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

static int mem_open(const char *path, struct brick_media **out, char *err,
		    size_t err_len)
{
	struct brick_media *m;
	__u64 size;

	if (kfb_size_parse(path + strlen(PREFIX), &size, NULL) || !size ||
	    size > INT64_MAX) {
		brick_media_say(err, err_len,
				"%s: not a size; write memory:64M", path);
		return -EINVAL;
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
