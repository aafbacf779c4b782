/* SPDX-License-Identifier: BSD-2-Clause */
/* What the compiler is told, and loads and stores without a lock: another processor may come between. */
#ifndef SIM_LINUX_COMPILER_H
#define SIM_LINUX_COMPILER_H

#include "../machine.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define __aligned(x)   __attribute__((aligned(x)))
#define __printf(a, b) __attribute__((format(printf, a, b)))
#define __maybe_unused __attribute__((unused))
#define __must_check
#define __init
#define __exit
#define noinline	   __attribute__((noinline))
#define noinline_for_stack noinline
#define __packed	   __attribute__((packed))
#define fallthrough	   __attribute__((fallthrough))

#ifdef __clang__
#define __noclone
#else
#define __noclone __attribute__((noclone))
#endif

#define READ_ONCE(x)                               \
	({                                         \
		km_may_yield();                    \
		*(const volatile typeof(x) *)&(x); \
	})
#define WRITE_ONCE(x, value)                           \
	do {                                           \
		*(volatile typeof(x) *)&(x) = (value); \
		km_may_yield();                        \
	} while (0)
#define smp_load_acquire(at)	     READ_ONCE(*(at))
#define smp_store_release(at, value) WRITE_ONCE(*(at), value)
#define barrier()		     __asm__ __volatile__("" ::: "memory")
#define smp_mb()		     km_may_yield()
#define smp_rmb()		     km_may_yield()
#define smp_wmb()		     km_may_yield()

#endif
