// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: a file as if it were persistent memory below a CPU's
 * caches. What brickd and its clients write goes to a copy in memory; the file
 * gets only the lines that are written back. SIGKILL is a loss of power.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "brickd/base/util.h"
#include "tests/lib/cached_medium.h"

struct cached_file {
	struct cached_medium c; /* base is the copy */
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

static void close_both(struct cached_medium *c)
{
	struct cached_file *f = brick_container_of(c, struct cached_file, c);

	munmap(c->m.base, c->m.size);
	brick_media_close(f->file);
	free(f);
}

int __wrap_brick_media_open(const char *path,
			    const struct brick_media_create *create,
			    struct brick_media **out, char *err, size_t err_len)
{
	struct cached_file *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return -ENOMEM;
	rc = __real_brick_media_open(path, create, &f->file, err, err_len);
	if (rc) {
		free(f);
		return rc;
	}
	f->c.m = *f->file;
	f->c.below = f->file->base;
	f->c.close = close_both;
	cached_medium_init(&f->c);
	f->c.m.base = mmap(NULL, f->c.m.size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (f->c.m.base == MAP_FAILED)
		abort();
	memcpy(f->c.m.base, f->file->base, f->c.m.size);
	*out = &f->c.m;
	return 0;
}
