/* SPDX-License-Identifier: BSD-2-Clause */
/* Types. */
#ifndef SIM_LINUX_TYPES_H
#define SIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#include_next <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef unsigned int gfp_t;
typedef u64 sector_t;
typedef unsigned int fmode_t;
typedef unsigned int blk_mode_t;
typedef unsigned short umode_t;

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

typedef struct {
	s64 counter;
} atomic64_t;

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

/* sparse's. */
#define __user
#define __iomem
#define __force
#define __rcu
#define __acquires(x)
#define __releases(x)
#define __must_hold(x)

#endif
