/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory whose pages do not lie together. */
#ifndef SIM_LINUX_VMALLOC_H
#define SIM_LINUX_VMALLOC_H

#include <linux/types.h>

void *vmalloc(unsigned long len);
void *vzalloc(unsigned long len);
void vfree(const void *at);
bool is_vmalloc_addr(const void *at);

#endif
