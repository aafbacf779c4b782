/* SPDX-License-Identifier: BSD-2-Clause */
/* References that are counted. */
#ifndef SIM_LINUX_REFCOUNT_H
#define SIM_LINUX_REFCOUNT_H

#include <linux/atomic.h>
#include <linux/bug.h>

typedef struct {
	atomic_t refs;
} refcount_t;

static inline void refcount_set(refcount_t *r, int n)
{
	atomic_set(&r->refs, n);
}

static inline unsigned int refcount_read(const refcount_t *r)
{
	return (unsigned int)atomic_read(&r->refs);
}

static inline void refcount_inc(refcount_t *r)
{
	WARN_ON(atomic_inc_return(&r->refs) <= 1);
}

static inline bool refcount_inc_not_zero(refcount_t *r)
{
	km_may_yield();
	if (!r->refs.counter)
		return false;
	r->refs.counter++;
	return true;
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	int n = atomic_add_return(-1, &r->refs);

	WARN_ON(n < 0);
	return !n;
}

#endif
