/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of modules stand in the environment. */
#ifndef SIM_LINUX_MODULEPARAM_H
#define SIM_LINUX_MODULEPARAM_H

#include <stdlib.h>

#define sim_param_uint(text)  strtoul(text, NULL, 10)
#define sim_param_charp(text) (text)

#define module_param_named(name, variable, type, mode)                  \
	__attribute__((constructor)) static void sim_param_##name(void) \
	{                                                               \
		char *text = getenv("KM_PARAM_" #name);                 \
                                                                        \
		if (text)                                               \
			(variable) = sim_param_##type(text);            \
	}
#define MODULE_PARM_DESC(name, text)

#endif
