/* SPDX-License-Identifier: BSD-2-Clause */
/* Error numbers: the system's. */
#ifndef SIM_LINUX_ERRNO_H
#define SIM_LINUX_ERRNO_H

#include_next <linux/errno.h>

#endif
