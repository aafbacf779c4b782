/* SPDX-License-Identifier: BSD-2-Clause */
/* UUIDs. */
#ifndef SIM_LINUX_UUID_H
#define SIM_LINUX_UUID_H

#include <linux/types.h>

typedef struct {
	u8 b[16];
} uuid_t;

int uuid_parse(const char *text, uuid_t *out);

#endif
