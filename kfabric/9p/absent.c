// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_9p where the kernel's 9P is not there, or not as this transport knows it.
 */
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/printk.h>

static int __init k9p_refuse(void)
{
	pr_err("kfabric_9p: this kernel has no 9P client (CONFIG_NET_9P), or a later one than this transport is for (up to 6.18)\n");
	return -EOPNOTSUPP;
}

module_init(k9p_refuse);
MODULE_DESCRIPTION("kfabric: transport of the 9P file system");
MODULE_VERSION(KFB_MODULE_VERSION);
MODULE_LICENSE("Dual BSD/GPL");
