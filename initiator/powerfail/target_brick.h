/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What target.c leaves to a brick: blocks of it that stand for a device. The
 * functions are as those of target.h; no_brick.c has them for programs that a
 * guest starts thousands of times, and that libfabric would slow down.
 */
#ifndef INITIATOR_POWERFAIL_TARGET_BRICK_H
#define INITIATOR_POWERFAIL_TARGET_BRICK_H

#include "target.h"

/* Says what is wrong in @t->why. Return: rc. */
int target_fail(struct target *t, int rc, const char *what, const char *why);

int target_brick_open(struct target *t, const struct target_name *name,
		      uint64_t offset, const uint64_t *size, bool write);
void target_brick_close(struct target *t);
int target_brick_read(struct target *t, uint64_t at, void *buf, size_t len);
int target_brick_write(struct target *t, uint64_t at, const void *buf,
		       size_t len, bool durable);
int target_brick_flush(struct target *t);

#endif
