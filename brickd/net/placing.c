// SPDX-License-Identifier: BSD-2-Clause
/* How the bytes of a write get into memory: see placing.h. */
#include "brickd/net/placing.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "brickd/net/devices.h"

#define LINE_BYTES     64
#define NODE_TYPE_RNIC 4 /* sysfs-class-infiniband: iWARP */

/* Does a write to this device end with an acknowledgement of the device? */
static bool acknowledges_writes(const char *folder, const char *device)
{
	char path[PATH_MAX], line[LINE_BYTES], *rest = line;
	unsigned long type = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s/node_type", folder, device);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fgets(line, sizeof(line), file))
		type = strtoul(line, &rest, 10);
	(void)fclose(file);
	return rest != line && type != NODE_TYPE_RNIC;
}

enum brick_placing brick_placing_of(const struct kfb_scheme *scheme,
				    const char *folder, const char *device)
{
	if (!scheme->is_rdma)
		return BRICK_PLACED_BY_CPU;
	if (!brick_device_is_soft(folder, device))
		return BRICK_PLACED_BY_DEVICE;
	return acknowledges_writes(folder, device) ? BRICK_PLACED_BEFORE_ACK
						   : BRICK_PLACED_BY_SOFT_RDMA;
}
