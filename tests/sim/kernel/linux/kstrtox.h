/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers in text. */
#ifndef SIM_LINUX_KSTRTOX_H
#define SIM_LINUX_KSTRTOX_H

#include <linux/types.h>

int kstrtou16(const char *text, unsigned int base, u16 *out);
int kstrtou32(const char *text, unsigned int base, u32 *out);
int kstrtou64(const char *text, unsigned int base, u64 *out);

#endif
