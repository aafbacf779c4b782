// SPDX-License-Identifier: BSD-2-Clause
/* Uuids as text, and the one of this boot. */
#include "brickd/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proto/kfb_text.h"

static bool hyphen_at(size_t i)
{
	return i == 8 || i == 13 || i == 18 || i == 23;
}

int brick_uuid_parse(const char *text, uint8_t uuid[KFB_UUID_BYTES])
{
	uint8_t out[KFB_UUID_BYTES] = { 0 };
	size_t digit = 0;

	if (strlen(text) != BRICK_UUID_TEXT_BYTES - 1)
		return -EINVAL;
	for (size_t i = 0; i < BRICK_UUID_TEXT_BYTES - 1; i++) {
		int value = kfb_digit_value(text[i], 16);

		if (hyphen_at(i)) {
			if (text[i] != '-')
				return -EINVAL;
			continue;
		}
		if (value < 0)
			return -EINVAL;
		out[digit / 2] = (uint8_t)(out[digit / 2] << 4 | value);
		digit++;
	}
	memcpy(uuid, out, sizeof(out));
	return 0;
}

void brick_uuid_format(const uint8_t uuid[KFB_UUID_BYTES],
		       char text[BRICK_UUID_TEXT_BYTES])
{
	char *at = text;

	for (size_t i = 0; i < KFB_UUID_BYTES; i++) {
		if (hyphen_at((size_t)(at - text)))
			*at++ = '-';
		at += snprintf(at, 3, "%02x", uuid[i]);
	}
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
