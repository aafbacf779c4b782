/* SPDX-License-Identifier: BSD-2-Clause */
/* What user space hears of objects. */
#ifndef SIM_LINUX_KOBJECT_H
#define SIM_LINUX_KOBJECT_H

enum kobject_action {
	KOBJ_CHANGE,
};

struct kobject {
	const char *name;
};

int kobject_uevent_env(struct kobject *kobj, enum kobject_action action,
		       char *envp[]);

#endif
