/* SPDX-License-Identifier: BSD-2-Clause */
/* Places of members. */
#ifndef SIM_LINUX_STDDEF_H
#define SIM_LINUX_STDDEF_H

#include <stddef.h>

#include <linux/types.h>

#define offsetofend(type, member) \
	(offsetof(type, member) + sizeof(((type *)0)->member))

#endif
