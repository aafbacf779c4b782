/* SPDX-License-Identifier: BSD-2-Clause */
/* From a member to what it is in. */
#ifndef SIM_LINUX_CONTAINER_OF_H
#define SIM_LINUX_CONTAINER_OF_H

#include <stddef.h>

#define container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
