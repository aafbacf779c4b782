/* SPDX-License-Identifier: BSD-2-Clause */
/* How large and how small numbers get. */
#ifndef SIM_LINUX_LIMITS_H
#define SIM_LINUX_LIMITS_H

#include <limits.h>
#include <stdint.h>

#define U8_MAX	((u8)~0U)
#define U16_MAX ((u16)~0U)
#define U32_MAX ((u32)~0U)
#define U64_MAX ((u64)~0ULL)
#define S64_MAX ((s64)(U64_MAX >> 1))

#endif
