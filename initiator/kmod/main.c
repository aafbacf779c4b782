// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: remote persistent memory as a block device.
 *
 * The module has no parameters: devices are attached through the control
 * device, see options.h.
 */
#include <linux/miscdevice.h>
#include <linux/module.h>

#include "attach/attach.h"
#include "io/requests.h"

static int __init kfbk_module_init(void)
{
	int ret;

	ret = kfbk_zeroes_init();
	if (ret)
		return ret;
	ret = kfbk_works_init();
	if (ret)
		goto free_zeroes;
	ret = misc_register(&kfbk_control_device);
	if (ret)
		goto exit_works;
	return 0;

exit_works:
	kfbk_works_exit();
free_zeroes:
	kfbk_zeroes_exit();
	return ret;
}

static void __exit kfbk_module_exit(void)
{
	misc_deregister(&kfbk_control_device);
	kfbk_devices_exit();
	kfbk_works_exit();
	kfbk_zeroes_exit();
}

module_init(kfbk_module_init);
module_exit(kfbk_module_exit);
MODULE_DESCRIPTION("kfbrick: remote persistent memory as a block device");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(KFB_MODULE_VERSION);
MODULE_SOFTDEP("pre: hmac sha256_generic");
