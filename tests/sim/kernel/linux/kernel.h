/* SPDX-License-Identifier: BSD-2-Clause */
/* What everybody has. */
#ifndef SIM_LINUX_KERNEL_H
#define SIM_LINUX_KERNEL_H

#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/err.h>
#include <linux/kstrtox.h>
#include <linux/limits.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/sizes.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include <stdarg.h>
#include <stdio.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

int scnprintf(char *to, size_t room, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define might_sleep() km_check_may_sleep(__func__)

#endif
