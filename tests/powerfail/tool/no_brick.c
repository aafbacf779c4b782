// SPDX-License-Identifier: BSD-2-Clause
/* In the place of target_brick.c: block devices and files are all there is. */
#include <errno.h>

#include "target_brick.h"

int target_brick_open(struct target *t, const struct target_name *name,
		      uint64_t offset, const uint64_t *size, bool write)
{
	(void)offset;
	(void)size;
	(void)write;
	return target_fail(t, -EOPNOTSUPP, name->brick,
			   "this program is for devices alone");
}

void target_brick_close(struct target *t)
{
	(void)t;
}

int target_brick_read(struct target *t, uint64_t at, void *buf, size_t len)
{
	(void)at;
	(void)buf;
	(void)len;
	return target_fail(t, -EOPNOTSUPP, "read", "there is no brick");
}

int target_brick_write(struct target *t, uint64_t at, const void *buf,
		       size_t len, bool durable)
{
	(void)at;
	(void)buf;
	(void)len;
	(void)durable;
	return target_fail(t, -EOPNOTSUPP, "write", "there is no brick");
}

int target_brick_flush(struct target *t)
{
	return target_fail(t, -EOPNOTSUPP, "flush", "there is no brick");
}
