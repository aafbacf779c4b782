/* SPDX-License-Identifier: BSD-2-Clause */
/* Modules: what begins them, by the name of its function. Nobody unloads one. */
#ifndef SIM_LINUX_MODULE_H
#define SIM_LINUX_MODULE_H

#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>

struct module;
#define THIS_MODULE ((struct module *)NULL)

#define module_init(fn)      \
	int sim_##fn(void);  \
	int sim_##fn(void)   \
	{                    \
		return fn(); \
	}
#define module_exit(fn)      \
	void sim_##fn(void); \
	void sim_##fn(void)  \
	{                    \
		fn();        \
	}
#define MODULE_DESCRIPTION(text)
#define MODULE_LICENSE(text)
#define MODULE_VERSION(text)
#define MODULE_SOFTDEP(text)
#define MODULE_ALIAS(text)

static inline bool try_module_get(struct module *module)
{
	return true;
}

static inline void module_put(struct module *module)
{
}

#endif
