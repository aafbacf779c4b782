/* SPDX-License-Identifier: BSD-2-Clause */
/* Small helpers that every part of the daemon uses. */
#ifndef BRICKD_BASE_UTIL_H
#define BRICKD_BASE_UTIL_H

#include <stddef.h>

#define brick_container_of(ptr, type, member) \
	((type *)((char *)(ptr)-offsetof(type, member)))

#define BRICK_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#endif
