/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stand-in for Linux' <linux/types.h> on other systems: the fixed-width types
 * that proto/ uses, from what GCC and Clang predefine.
 */
#ifndef KFB_PORT_LINUX_TYPES_H
#define KFB_PORT_LINUX_TYPES_H

#ifdef __CHECKER__
#define __bitwise __attribute__((bitwise))
#else
#define __bitwise
#endif

#ifndef NULL
#define NULL ((void *)0)
#endif

typedef __UINT8_TYPE__ __u8;
typedef __UINT16_TYPE__ __u16;
typedef __UINT32_TYPE__ __u32;
/* Not __UINT64_TYPE__: Linux has long long everywhere the kernel prints it. */
typedef unsigned long long __u64;
typedef __INT32_TYPE__ __s32;
typedef long long __s64;

typedef __u16 __bitwise __le16;
typedef __u32 __bitwise __le32;
typedef __u64 __bitwise __le64;

#endif
