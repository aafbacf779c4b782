// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: start and end of the module.
 */
#include <linux/module.h>

#include "core.h"

u32 kfabric_version(void)
{
	return FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
}
EXPORT_SYMBOL_GPL(kfabric_version);

static int __init kfi_core_init(void)
{
	int ret = kfi_obj_setup();

	if (ret)
		return ret;
	kfi_debugfs_setup();
	return 0;
}

static void __exit kfi_core_exit(void)
{
	kfi_debugfs_teardown();
	kfi_obj_teardown();
}

module_init(kfi_core_init);
module_exit(kfi_core_exit);
MODULE_DESCRIPTION("Fabric mid-layer: messages and remote memory");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(KFB_MODULE_VERSION);
