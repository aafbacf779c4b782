/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters that several processors change. */
#ifndef SIM_LINUX_ATOMIC_H
#define SIM_LINUX_ATOMIC_H

#include <linux/compiler.h>
#include <linux/types.h>

#define ATOMIC_INIT(i) \
	{              \
		(i)    \
	}

/* The types stand where parentheses may not. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define SIM_ATOMIC(prefix, type, number)                                      \
	static inline number prefix##_read(const type *v)                     \
	{                                                                     \
		return READ_ONCE(v->counter);                                 \
	}                                                                     \
	static inline void prefix##_set(type *v, number i)                    \
	{                                                                     \
		WRITE_ONCE(v->counter, i);                                    \
	}                                                                     \
	static inline number prefix##_add_return(number i, type *v)           \
	{                                                                     \
		km_may_yield();                                               \
		v->counter += i;                                              \
		return v->counter;                                            \
	}                                                                     \
	static inline void prefix##_add(number i, type *v)                    \
	{                                                                     \
		prefix##_add_return(i, v);                                    \
	}                                                                     \
	static inline void prefix##_inc(type *v)                              \
	{                                                                     \
		prefix##_add_return(1, v);                                    \
	}                                                                     \
	static inline void prefix##_dec(type *v)                              \
	{                                                                     \
		prefix##_add_return(-1, v);                                   \
	}                                                                     \
	static inline number prefix##_inc_return(type *v)                     \
	{                                                                     \
		return prefix##_add_return(1, v);                             \
	}                                                                     \
	static inline number prefix##_cmpxchg(type *v, number old, number to) \
	{                                                                     \
		number was;                                                   \
                                                                              \
		km_may_yield();                                               \
		was = v->counter;                                             \
		if (was == old)                                               \
			v->counter = to;                                      \
		return was;                                                   \
	}

/* NOLINTEND(bugprone-macro-parentheses) */

SIM_ATOMIC(atomic, atomic_t, int)
SIM_ATOMIC(atomic_long, atomic_long_t, long)
SIM_ATOMIC(atomic64, atomic64_t, s64)

static inline s64 atomic64_read_acquire(const atomic64_t *v)
{
	return atomic64_read(v);
}

static inline bool atomic_inc_unless_negative(atomic_t *v)
{
	km_may_yield();
	if (v->counter < 0)
		return false;
	v->counter++;
	return true;
}

/* Nobody comes between: threads of the simulator yield where they say so. */
#define cmpxchg(at, old, to)                        \
	({                                          \
		typeof(*(at)) cmpxchg_seen = *(at); \
		if (cmpxchg_seen == (old))          \
			*(at) = (to);               \
		cmpxchg_seen;                       \
	})
#define cmpxchg64(at, old, to) cmpxchg(at, old, to)

#endif
