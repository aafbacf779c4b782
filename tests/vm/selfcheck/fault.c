// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * vm_fault: does one thing that must be noticed, when loaded; an oops on every
 * kernel, the others on the debug kernel.
 *
 * None of these harms the guest, and the module loads whatever is noticed; with an
 * oops the guest ends.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

/* More than one, as a stale pointer on some stack may hide one. */
#define LOST	   16
#define LOST_BYTES 100

static char *fault = "";
module_param(fault, charp, 0444);
MODULE_PARM_DESC(fault, "leak, inversion, sleep or oops");

static DEFINE_MUTEX(one);
static DEFINE_MUTEX(two);
static DEFINE_SPINLOCK(spin);

/* Memory that nothing points to any more. */
static int leak(void)
{
	u8 *lost = NULL;
	int i;

	for (i = 0; i < LOST; i++) {
		lost = kmalloc(LOST_BYTES, GFP_KERNEL);
		if (!lost)
			return -ENOMEM;
		memset(lost, i, LOST_BYTES);
	}
	return 0;
}

/* Two locks in either order: with two threads this could be a deadlock. */
static int inversion(void)
{
	mutex_lock(&one);
	mutex_lock(&two);
	mutex_unlock(&two);
	mutex_unlock(&one);
	mutex_lock(&two);
	mutex_lock(&one);
	mutex_unlock(&one);
	mutex_unlock(&two);
	return 0;
}

/* Sleep where it is forbidden. */
static int sleep(void)
{
	spin_lock(&spin);
	msleep(1);
	spin_unlock(&spin);
	return 0;
}

static int __init fault_init(void)
{
	if (!strcmp(fault, "leak"))
		return leak();
	if (!strcmp(fault, "inversion"))
		return inversion();
	if (!strcmp(fault, "oops"))
		BUG();
	if (!strcmp(fault, "sleep"))
		return sleep();
	return -EINVAL;
}

static void __exit fault_exit(void)
{
}

module_init(fault_init);
module_exit(fault_exit);
MODULE_DESCRIPTION("what the debug kernel must notice");
MODULE_LICENSE("Dual BSD/GPL");
