// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: the control device: an order in by write(), the answer out by
 * read().
 *
 * The answer to "attach,..." is "instance=N", to the others "done", to what
 * failed "error=" and why; write() has returned the errno then. Each open file
 * has its own last answer. One order at a time per file, any number of files.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "attach.h"

#define ANSWER_BYTES (KFBK_WHY_BYTES + 32)

/**
 * struct control - an open file
 * @lock: one order at a time
 * @answer: to the last one
 */
struct control {
	struct mutex lock;
	char answer[ANSWER_BYTES];
};

static int kfbk_control_open(struct inode *inode, struct file *file)
{
	struct control *control;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	control = kzalloc(sizeof(*control), GFP_KERNEL);
	if (!control)
		return -ENOMEM;
	mutex_init(&control->lock);
	file->private_data = control;
	return nonseekable_open(inode, file);
}

static int kfbk_control_release(struct inode *inode, struct file *file)
{
	struct control *control = file->private_data;

	mutex_destroy(&control->lock);
	kfree(control);
	return 0;
}

static int kfbk_control_obey(char *line, char answer[ANSWER_BYTES])
{
	char why[KFBK_WHY_BYTES] = "";
	struct kfbk_options options;
	int instance;
	int ret;

	strscpy(answer, "done\n", ANSWER_BYTES);
	ret = kfbk_options_parse(line, &options, why);
	if (!ret && options.order == KFBK_ATTACH) {
		ret = kfbk_attach(&options, &instance, why);
		if (!ret)
			snprintf(answer, ANSWER_BYTES, "instance=%d\n",
				 instance);
	} else if (!ret && options.order == KFBK_RESIZE) {
		ret = kfbk_resize(options.instance, options.n_blocks, why);
	} else if (!ret && options.order == KFBK_REATTACH) {
		ret = kfbk_reattach(options.instance, why);
	} else if (!ret) {
		ret = kfbk_detach(options.instance, options.force, why);
	}
	if (ret) {
		pr_err("kfbrick: %s: error %d\n", why, ret);
		snprintf(answer, ANSWER_BYTES, "error=%s\n", why);
	}
	return ret;
}

static ssize_t kfbk_control_write(struct file *file, const char __user *buf,
				  size_t count, loff_t *pos)
{
	struct control *control = file->private_data;
	char *line;
	int ret;

	if (count > KFBK_OPTIONS_MAX_BYTES)
		return -EMSGSIZE;
	line = memdup_user_nul(buf, count);
	if (IS_ERR(line))
		return PTR_ERR(line);
	ret = mutex_lock_killable(&control->lock);
	if (!ret) {
		ret = kfbk_control_obey(line, control->answer);
		mutex_unlock(&control->lock);
	}
	kfree(line);
	return ret ?: count;
}

/* The whole answer, once. */
static ssize_t kfbk_control_read(struct file *file, char __user *buf,
				 size_t count, loff_t *pos)
{
	struct control *control = file->private_data;
	ssize_t ret;
	size_t len;

	ret = mutex_lock_killable(&control->lock);
	if (ret)
		return ret;
	len = strlen(control->answer);
	if (count < len) {
		ret = -EMSGSIZE;
	} else if (copy_to_user(buf, control->answer, len)) {
		ret = -EFAULT;
	} else {
		ret = len;
		control->answer[0] = '\0';
	}
	mutex_unlock(&control->lock);
	return ret;
}

static const struct file_operations kfbk_control_ops = {
	.owner = THIS_MODULE,
	.open = kfbk_control_open,
	.release = kfbk_control_release,
	.write = kfbk_control_write,
	.read = kfbk_control_read,
};

struct miscdevice kfbk_control_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kfbrick-control",
	.mode = 0600,
	.fops = &kfbk_control_ops,
};
