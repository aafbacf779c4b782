/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory: the process's that stands for the machine, and gone with it. */
#ifndef SIM_LINUX_SLAB_H
#define SIM_LINUX_SLAB_H

#include <linux/gfp.h>
#include <linux/overflow.h>

void *kmalloc(size_t len, gfp_t flags);
void *kvmalloc(size_t len, gfp_t flags);
void *kzalloc(size_t len, gfp_t flags);
void *kcalloc(size_t n, size_t len, gfp_t flags);
void kfree(const void *at);
/* The kernel's own, zeroed, which does not fail. */
void *km_zalloc(size_t len);

#define kvzalloc(len, flags)	kzalloc(len, flags)
#define kvcalloc(n, len, flags) kcalloc(n, len, flags)
#define kvmalloc(len, flags)	kmalloc(len, flags)
#define kvfree(at)		kfree(at)

void kvfree_sensitive(const void *at, size_t len);

#endif
