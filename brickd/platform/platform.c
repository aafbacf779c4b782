// SPDX-License-Identifier: BSD-2-Clause
/* From a medium to what is below it: see platform.h. */
#include "brickd/platform/platform.h"

#include <errno.h>
#include <libpmem2.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define BUS    "/ndbus"
#define REGION "/region"

/* Where libpmem2's error numbers begin (libpmem2(7)). */
#define PMEM2_ERRORS 4096

/* More pieces than this, and the medium is beyond listing them. */
#define BAD_MAX 65536U

/* The number behind a word that is a whole path component with it. */
static const char *component_number(const char *path, const char *word,
				    unsigned int *number)
{
	size_t len = strlen(word);
	char *end;

	for (path = strstr(path, word); path; path = strstr(path + 1, word)) {
		*number = (unsigned int)strtoul(path + len, &end, 10);
		if (end != path + len && (*end == '/' || !*end))
			return end;
	}
	return NULL;
}

void brick_platform_place(const char *path, struct brick_place *out)
{
	const char *rest;

	memset(out, 0, sizeof(*out));
	rest = component_number(path, BUS, &out->bus);
	out->has_region = rest && component_number(rest, REGION, &out->region);
}

/* The device that a medium is, or that its file system is on. */
static bool device_path(const struct brick_media *m, char path[PATH_MAX])
{
	bool is_dax = m->medium->is_device;
	char link[64];
	struct stat st;
	dev_t dev;

	if (m->fd < 0 || fstat(m->fd, &st))
		return false;
	dev = is_dax ? st.st_rdev : st.st_dev;
	snprintf(link, sizeof(link), "/sys/dev/%s/%u:%u",
		 is_dax ? "char" : "block", major(dev), minor(dev));
	return realpath(link, path) != NULL;
}

static int read_bad(struct brick_platform *p, const struct pmem2_source *source)
{
	struct pmem2_badblock_context *ctx;
	struct brick_bytes *more;
	struct pmem2_badblock bb;
	int rc = 0, found = 0;

	if (pmem2_badblock_context_new(&ctx, source))
		return 0;
	while (p->n_bad < BAD_MAX) {
		found = pmem2_badblock_next(ctx, &bb);
		if (found)
			break;
		more = reallocarray(p->bad, p->n_bad + 1, sizeof(*more));
		if (!more) {
			rc = -ENOMEM;
			break;
		}
		more[p->n_bad].off = bb.offset;
		more[p->n_bad++].len = bb.length;
		p->bad = more;
	}
	p->bad_known = found == PMEM2_E_NO_BAD_BLOCK_FOUND;
	pmem2_badblock_context_delete(&ctx);
	return rc;
}

int brick_platform_clear(const struct brick_media *m, struct brick_bytes bytes)
{
	struct pmem2_badblock bb = { bytes.off, bytes.len };
	struct pmem2_badblock_context *ctx;
	struct pmem2_source *source;
	int rc;

	rc = pmem2_source_from_fd(&source, m->fd);
	if (rc)
		return -EIO;
	rc = pmem2_badblock_context_new(&ctx, source);
	if (!rc) {
		rc = pmem2_badblock_clear(ctx, &bb);
		pmem2_badblock_context_delete(&ctx);
	}
	(void)pmem2_source_delete(&source);
	/* libpmem2's own errors lie beyond those of the system. */
	return rc < 0 && rc > -PMEM2_ERRORS ? rc : rc ? -EIO : 0;
}

int brick_platform_read(const struct brick_media *m, struct brick_platform *out)
{
	struct brick_place place = { 0 };
	struct pmem2_source *source;
	char path[PATH_MAX];
	int rc;

	memset(out, 0, sizeof(*out));
	if (!m->medium->is_pmem)
		return 0;
	if (m->medium->is_device)
		out->backing = BRICK_BACKING_MEMORY;
	if (device_path(m, path))
		brick_platform_place(path, &place);
	if (!place.has_region)
		return 0;
	brick_platform_region(&place, out);
	/* libpmem2 is asked about the whole region: power was lost there. */
	if (pmem2_source_from_fd(&source, m->fd))
		return 0;
	out->dirty_shutdowns_known =
		!pmem2_source_device_usc(source, &out->dirty_shutdowns);
	rc = read_bad(out, source);
	(void)pmem2_source_delete(&source);
	return rc;
}

void brick_platform_fini(struct brick_platform *p)
{
	free(p->bad);
	p->bad = NULL;
	p->n_bad = 0;
}
