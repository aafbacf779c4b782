// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: modules that count dirty shutdowns. The count is in the
 * file DIRTY_SHUTDOWNS; no emulator has one. Without such a file they count none.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "brickd/platform/platform.h"

int __real_brick_platform_read(const struct brick_media *m,
			       struct brick_platform *out);
int __wrap_brick_platform_read(const struct brick_media *m,
			       struct brick_platform *out);

int __wrap_brick_platform_read(const struct brick_media *m,
			       struct brick_platform *out)
{
	int rc = __real_brick_platform_read(m, out);
	const char *path = getenv("DIRTY_SHUTDOWNS");
	FILE *file = !rc && path ? fopen(path, "re") : NULL;
	int n;

	if (!file)
		return rc;
	/* NOLINTNEXTLINE(cert-err34-c): a test wrote it */
	n = fscanf(file, "%" SCNu64, &out->dirty_shutdowns);
	out->dirty_shutdowns_known = n == 1;
	(void)fclose(file);
	return 0;
}
