// SPDX-License-Identifier: BSD-2-Clause
/* Uuids as text, and the one of this boot. */
#include "brickd/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <uuid/uuid.h>

int brick_uuid_parse(const char *text, uint8_t uuid[KFB_UUID_BYTES])
{
	return uuid_parse(text, uuid) ? -EINVAL : 0;
}

void brick_uuid_format(const uint8_t uuid[KFB_UUID_BYTES],
		       char text[BRICK_UUID_TEXT_BYTES])
{
	uuid_unparse_lower(uuid, text);
}

int brick_boot_id_read(uint8_t id[KFB_UUID_BYTES])
{
	char text[BRICK_UUID_TEXT_BYTES] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n == (ssize_t)sizeof(text) - 1 ? brick_uuid_parse(text, id)
					      : -EIO;
}
