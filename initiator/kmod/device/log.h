/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: lines of the kernel's log, each with its disk.
 */
#ifndef KFBK_LOG_H
#define KFBK_LOG_H

#include <linux/printk.h>
#include <linux/ratelimit.h>

#define kfbk_err(dev, fmt, ...) \
	pr_err("kfbrick%d: " fmt, (dev)->instance, ##__VA_ARGS__)
#define kfbk_info(dev, fmt, ...) \
	pr_info("kfbrick%d: " fmt, (dev)->instance, ##__VA_ARGS__)

/*
 * What a brick, or the path to it, can provoke as often as it likes: so many lines
 * of a disk in so many seconds. Context: any.
 */
#define kfbk_err_limited(dev, fmt, ...)                    \
	do {                                               \
		if (__ratelimit(&(dev)->log_limit))        \
			kfbk_err(dev, fmt, ##__VA_ARGS__); \
	} while (0)
#define kfbk_info_limited(dev, fmt, ...)                    \
	do {                                                \
		if (__ratelimit(&(dev)->log_limit))         \
			kfbk_info(dev, fmt, ##__VA_ARGS__); \
	} while (0)

#endif /* KFBK_LOG_H */
