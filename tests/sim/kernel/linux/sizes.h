/* SPDX-License-Identifier: BSD-2-Clause */
/* Sizes. */
#ifndef SIM_LINUX_SIZES_H
#define SIM_LINUX_SIZES_H

#define SZ_4K	0x00001000
#define SZ_256K 0x00040000
#define SZ_1M	0x00100000
#define SZ_1G	0x40000000

#endif
