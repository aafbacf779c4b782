/* SPDX-License-Identifier: BSD-2-Clause */
/* References that free. */
#ifndef SIM_LINUX_KREF_H
#define SIM_LINUX_KREF_H

#include <linux/refcount.h>

struct kref {
	refcount_t refcount;
};

static inline void kref_init(struct kref *ref)
{
	refcount_set(&ref->refcount, 1);
}

static inline unsigned int kref_read(const struct kref *ref)
{
	return refcount_read(&ref->refcount);
}

static inline void kref_get(struct kref *ref)
{
	refcount_inc(&ref->refcount);
}

static inline int kref_put(struct kref *ref, void (*release)(struct kref *ref))
{
	if (!refcount_dec_and_test(&ref->refcount))
		return 0;
	release(ref);
	return 1;
}

#endif
