// SPDX-License-Identifier: BSD-2-Clause
/* Lines of the admin socket. */
#include "brickd/admin/admin_line.h"

#include <string.h>

size_t brick_admin_line_end(const struct brick_admin_line *l)
{
	const char *end = memchr(l->buf, '\n', l->len);

	return end ? (size_t)(end - l->buf) + 1 : 0;
}

bool brick_admin_line_is_too_long(const struct brick_admin_line *l)
{
	return l->len == sizeof(l->buf) && !brick_admin_line_end(l);
}

void brick_admin_line_drop(struct brick_admin_line *l, size_t n)
{
	l->len -= n;
	memmove(l->buf, l->buf + n, l->len);
}
