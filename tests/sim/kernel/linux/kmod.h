/* SPDX-License-Identifier: BSD-2-Clause */
/* Modules that are asked for: none comes. */
#ifndef SIM_LINUX_KMOD_H
#define SIM_LINUX_KMOD_H

static inline int request_module(const char *fmt, ...)
{
	return -1;
}

#endif
