/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors in pointers. */
#ifndef SIM_LINUX_ERR_H
#define SIM_LINUX_ERR_H

#include <linux/errno.h>
#include <linux/types.h>

#define IS_ERR_VALUE(x) ((unsigned long)(x) >= (unsigned long)-4095)

static inline void *ERR_PTR(long error)
{
	return (void *)error;
}

static inline long PTR_ERR(const void *ptr)
{
	return (long)ptr;
}

static inline bool IS_ERR(const void *ptr)
{
	return IS_ERR_VALUE(ptr);
}

static inline bool IS_ERR_OR_NULL(const void *ptr)
{
	return !ptr || IS_ERR(ptr);
}

#endif
