/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one place that knows kernel versions: 6.1 to current.
 *
 * Spells what newer kernels have, for older ones.
 */
#ifndef KFABRIC_COMPAT_H
#define KFABRIC_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

/* Modules cannot call is_vmalloc_or_module_addr(). */
static inline bool kfi_is_linear(const void *addr)
{
#ifdef MODULES_VADDR
	unsigned long a = (unsigned long)addr;

	if (a >= MODULES_VADDR && a < MODULES_END)
		return false;
#endif
	return !is_vmalloc_addr(addr);
}

#endif /* KFABRIC_COMPAT_H */
