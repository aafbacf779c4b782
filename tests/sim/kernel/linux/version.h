/* SPDX-License-Identifier: BSD-2-Clause */
/* Which kernel this stands for. */
#ifndef SIM_LINUX_VERSION_H
#define SIM_LINUX_VERSION_H

#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 12, 0)

#endif
