// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_probe: orders to functions of the kernel, written to debugfs kfi_probe, one
 * a line:
 *
 *   count FUNCTION [FILTER...]         it is counted
 *   delay FUNCTION MS [FILTER...]      it begins so much later; the CPU spins, so
 *                                      that locks may be held
 *   hold FUNCTION [FILTER...]          it begins after "release"; not where one
 *                                      must not sleep, as under a spinlock, and
 *                                      it has six arguments at most
 *   sleep FUNCTION MS [FILTER...]      as hold, but it begins after so many ms
 *   return FUNCTION VALUE [FILTER...]  it is not run, and returns that
 *   release
 *   clear                              all orders end, and what is held goes on
 *
 * FILTER: by=NAME (the task's, or the calling function's), argN=VALUE (from 0),
 * times=N (the first N only), every=N (each Nth only). Reading tells for each
 * order its function and how often it was obeyed.
 *
 * Context: what a kprobe's handler may do; orders: process.
 * Locking: kfp_mutex for the orders.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "probe.h"

#define KFP_NAME_BYTES 64
#define KFP_LINE_BYTES 256
#define KFP_ARGS       6

enum kfp_action {
	KFP_COUNT,
	KFP_DELAY,
	KFP_HOLD,
	KFP_RETURN,
	KFP_SLEEP
};

static const char *const kfp_actions[] = { "count", "delay", "hold", "return",
					   "sleep" };

/*
 * @times, @every: 0: no such filter
 * @calls: that the filters of name and argument let through
 * @done: how often the order was obeyed
 * @passing: the task whose held call goes on
 */
struct kfp_order {
	struct list_head node;
	struct kprobe probe;
	enum kfp_action action;
	unsigned long value;
	char function[KFP_NAME_BYTES];
	char by[KFP_NAME_BYTES];
	int arg;
	unsigned long arg_value;
	unsigned long times;
	unsigned long every;
	atomic_long_t calls;
	atomic_long_t done;
	struct task_struct *passing;
};

static DEFINE_MUTEX(kfp_mutex);
static LIST_HEAD(kfp_orders);
static LIST_HEAD(kfp_past); /* those that something may still be held by */
static DECLARE_WAIT_QUEUE_HEAD(kfp_wait);
static struct kfp_order *kfp_hold_order; /* one at a time; it stays after that */
static bool kfp_holds;
static bool kfp_released;
static unsigned long kfp_value; /* that functions return; one order at a time */
static struct dentry *kfp_dir;

/* ---- obeying ----------------------------------------------------------- */

static bool kfp_is_by(const struct kfp_order *o, struct pt_regs *regs)
{
	char caller[KSYM_SYMBOL_LEN];

	if (!*o->by || !strcmp(o->by, current->comm))
		return true;
	sprint_symbol_no_offset(caller, *(unsigned long *)regs->sp);
	strreplace(caller, ' ', '\0');
	return !strcmp(o->by, caller);
}

static bool kfp_is_meant(struct kfp_order *o, struct pt_regs *regs)
{
	unsigned long n;

	if (!kfp_is_by(o, regs))
		return false;
	if (o->arg >= 0 &&
	    regs_get_kernel_argument(regs, o->arg) != o->arg_value)
		return false;
	n = atomic_long_inc_return(&o->calls);
	if (o->every && n % o->every)
		return false;
	if (o->every)
		n /= o->every;
	return !o->times || n <= o->times;
}

typedef unsigned long (*kfp_function)(unsigned long a, unsigned long b,
				      unsigned long c, unsigned long d,
				      unsigned long e, unsigned long f);

static bool kfp_is_held(const struct kfp_order *o)
{
	return o->action == KFP_HOLD || o->action == KFP_SLEEP;
}

static long kfp_patience(const struct kfp_order *o)
{
	return o->action == KFP_SLEEP ? (long)msecs_to_jiffies(o->value)
				      : MAX_SCHEDULE_TIMEOUT;
}

/* What runs instead of a function that is held, and then runs it. */
static unsigned long kfp_hold(unsigned long a, unsigned long b, unsigned long c,
			      unsigned long d, unsigned long e, unsigned long f)
{
	struct kfp_order *o = READ_ONCE(kfp_hold_order);

	if (!in_atomic() && !irqs_disabled()) {
		atomic_long_inc(&o->done);
		wait_event_timeout(kfp_wait, READ_ONCE(kfp_released),
				   kfp_patience(o));
	}
	WRITE_ONCE(o->passing, current);
	return ((kfp_function)o->probe.addr)(a, b, c, d, e, f);
}

/* What runs instead of a function that is not to run. */
static unsigned long kfp_return(void)
{
	return READ_ONCE(kfp_value);
}

static int kfp_obey(struct kprobe *probe, struct pt_regs *regs)
{
	struct kfp_order *o = container_of(probe, struct kfp_order, probe);

	if (READ_ONCE(o->passing) == current) {
		WRITE_ONCE(o->passing, NULL);
		return 0;
	}
	if (!kfp_is_meant(o, regs) ||
	    (kfp_is_held(o) && READ_ONCE(kfp_released)))
		return 0;
	if (!kfp_is_held(o))
		atomic_long_inc(&o->done);
	switch (o->action) {
	case KFP_DELAY:
		mdelay(o->value);
		break;
	case KFP_HOLD:
	case KFP_SLEEP:
		regs->ip = (unsigned long)kfp_hold;
		return 1;
	case KFP_RETURN:
		WRITE_ONCE(kfp_value, o->value);
		regs->ip = (unsigned long)kfp_return;
		return 1;
	default:
		break;
	}
	return 0;
}
NOKPROBE_SYMBOL(kfp_obey);

/* Whoever has one is never optimised to a jump, which goes where it always went. */
static void kfp_obeyed(struct kprobe *probe, struct pt_regs *regs,
		       unsigned long flags)
{
}
NOKPROBE_SYMBOL(kfp_obeyed);

/* ---- orders ------------------------------------------------------------ */

static int kfp_filter(struct kfp_order *o, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	if (!strcmp(word, "by"))
		return strscpy(o->by, value, sizeof(o->by)) < 0 ? -EINVAL : 0;
	if (!strcmp(word, "times"))
		return kstrtoul(value, 0, &o->times);
	if (!strcmp(word, "every"))
		return kstrtoul(value, 0, &o->every);
	if (strncmp(word, "arg", 3) || kstrtoint(word + 3, 10, &o->arg) ||
	    o->arg < 0 || o->arg >= KFP_ARGS)
		return -EINVAL;
	return kstrtoul(value, 0, &o->arg_value);
}

static int kfp_parse(struct kfp_order *o, char *line)
{
	char *word = strsep(&line, " ");
	int ret;

	ret = match_string(kfp_actions, ARRAY_SIZE(kfp_actions), word);
	if (ret < 0)
		return ret;
	o->action = ret;
	word = strsep(&line, " ");
	if (!word || strscpy(o->function, word, sizeof(o->function)) < 0)
		return -EINVAL;
	if (o->action != KFP_COUNT && o->action != KFP_HOLD) {
		word = strsep(&line, " ");
		ret = word ? kstrtol(word, 0, (long *)&o->value) : -EINVAL;
	} else {
		ret = 0;
	}
	while (!ret && (word = strsep(&line, " ")))
		ret = kfp_filter(o, word);
	return ret;
}

static int kfp_add(char *line)
{
	struct kfp_order *o = kzalloc(sizeof(*o), GFP_KERNEL);
	int ret;

	if (!o)
		return -ENOMEM;
	o->arg = -1;
	ret = kfp_parse(o, line);
	if (!ret && kfp_is_held(o) && kfp_holds)
		ret = -EBUSY;
	if (ret)
		goto free;
	o->probe.symbol_name = o->function;
	o->probe.pre_handler = kfp_obey;
	if (kfp_is_held(o) || o->action == KFP_RETURN)
		o->probe.post_handler = kfp_obeyed;
	if (kfp_is_held(o)) {
		kfp_released = false;
		kfp_hold_order = o;
	}
	ret = register_kprobe(&o->probe);
	if (ret)
		goto free;
	kfp_holds |= kfp_is_held(o);
	list_add_tail(&o->node, &kfp_orders);
	return 0;

free:
	kfree(o);
	return ret;
}

static void kfp_release(void)
{
	WRITE_ONCE(kfp_released, true);
	wake_up_all(&kfp_wait);
}

static void kfp_clear(void)
{
	struct kfp_order *o, *next;

	kfp_release();
	list_for_each_entry_safe(o, next, &kfp_orders, node) {
		unregister_kprobe(&o->probe);
		list_move(&o->node, &kfp_past);
	}
	kfp_holds = false;
}

static int kfp_order(char *line)
{
	int ret = 0;

	mutex_lock(&kfp_mutex);
	if (!strcmp(line, "release"))
		kfp_release();
	else if (!strcmp(line, "clear"))
		kfp_clear();
	else
		ret = kfp_add(line);
	mutex_unlock(&kfp_mutex);
	return ret;
}

/* ---- debugfs ----------------------------------------------------------- */

static ssize_t kfp_write(struct file *file, const char __user *buf,
			 size_t count, loff_t *pos)
{
	char line[KFP_LINE_BYTES];
	int ret;

	if (count >= sizeof(line))
		return -EMSGSIZE;
	if (copy_from_user(line, buf, count))
		return -EFAULT;
	line[count] = '\0';
	ret = kfp_order(strim(line));
	return ret ?: count;
}

static int kfp_show(struct seq_file *m, void *v)
{
	const struct kfp_order *o;

	mutex_lock(&kfp_mutex);
	list_for_each_entry(o, &kfp_orders, node)
		seq_printf(m, "%s %s %ld\n", kfp_actions[o->action],
			   o->function, atomic_long_read(&o->done));
	mutex_unlock(&kfp_mutex);
	kfp_frag_tell(m);
	return 0;
}

static int kfp_open(struct inode *inode, struct file *file)
{
	return single_open(file, kfp_show, NULL);
}

static const struct file_operations kfp_fops = {
	.owner = THIS_MODULE,
	.open = kfp_open,
	.read = seq_read,
	.write = kfp_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init kfp_init(void)
{
	int ret = kfp_frag_open();

	if (ret)
		return ret;
	kfp_dir = debugfs_create_file("kfi_probe", 0600, NULL, NULL, &kfp_fops);
	return 0;
}

static void __exit kfp_exit(void)
{
	struct kfp_order *o, *next;

	debugfs_remove(kfp_dir);
	mutex_lock(&kfp_mutex);
	kfp_clear();
	list_for_each_entry_safe(o, next, &kfp_past, node)
		kfree(o);
	mutex_unlock(&kfp_mutex);
	kfp_frag_close();
}

module_init(kfp_init);
module_exit(kfp_exit);
MODULE_DESCRIPTION("kfabric: functions that are late, wait or fail");
MODULE_LICENSE("Dual BSD/GPL");
