/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's log. */
#ifndef SIM_LINUX_PRINTK_H
#define SIM_LINUX_PRINTK_H

#include "../machine.h"

#define pr_err(...)  km_log(__VA_ARGS__)
#define pr_warn(...) km_log(__VA_ARGS__)
#define pr_info(...) km_log(__VA_ARGS__)

#endif
