// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Test module of the fault layer: shows that each fault has its effect, when
 * the module is loaded. Results are KTAP on the console.
 */
#include <linux/module.h>

#include "test.h"

static unsigned int ft_count, ft_failed;

bool ft_check(bool ok, const char *what, long long got, long long want)
{
	ft_count++;
	ft_failed += !ok;
	if (ok)
		pr_info("ok %u - %s\n", ft_count, what);
	else
		pr_info("not ok %u - %s (got %lld, want %lld)\n", ft_count,
			what, got, want);
	return ok;
}

static int __init fault_test_init(void)
{
	pr_info("KTAP version 1\n");
	kfabric_fault_reset();
	if (CHECK_EQ(ft_setup(), 0, "the layer opens")) {
		ft_faults();
		ft_power();
	}
	ft_teardown();
	kfabric_fault_reset();
	pr_info("1..%u\n", ft_count);
	pr_info("# passed %u, failed %u\n", ft_count - ft_failed, ft_failed);
	return 0;
}

static void __exit fault_test_exit(void)
{
}

module_init(fault_test_init);
module_exit(fault_test_exit);
MODULE_DESCRIPTION("kfabric: shows that each fault has its effect");
MODULE_LICENSE("Dual BSD/GPL");
