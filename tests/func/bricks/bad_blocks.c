// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: a platform that names bad blocks, OFFSET+BYTES in
 * BAD_BLOCKS, separated by blanks. No emulator has any: what libpmem2 would
 * say is said here, and what is cleared becomes zeros.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "brickd/platform/platform.h"

#define BAD_MAX 16

int __real_brick_platform_read(const struct brick_media *m,
			       struct brick_platform *out);
int __wrap_brick_platform_read(const struct brick_media *m,
			       struct brick_platform *out);
int __wrap_brick_platform_clear(const struct brick_media *m,
				struct brick_bytes bytes);

int __wrap_brick_platform_read(const struct brick_media *m,
			       struct brick_platform *out)
{
	const char *text = getenv("BAD_BLOCKS");
	int rc = __real_brick_platform_read(m, out);
	char *rest;

	if (rc || !text)
		return rc;
	out->bad = calloc(BAD_MAX, sizeof(*out->bad));
	if (!out->bad)
		return -ENOMEM;
	while (*text && out->n_bad < BAD_MAX) {
		struct brick_bytes *bad = &out->bad[out->n_bad++];

		bad->off = strtoull(text, &rest, 0);
		bad->len = strtoull(rest + (*rest == '+'), &rest, 0);
		text = rest + (*rest == ' ');
	}
	out->bad_known = true;
	return 0;
}

int __wrap_brick_platform_clear(const struct brick_media *m,
				struct brick_bytes bytes)
{
	if (getenv("BAD_BLOCKS_STAY"))
		return -EPERM;
	memset(m->base + bytes.off, 0, bytes.len);
	return 0;
}
