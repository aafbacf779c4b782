/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading a client's key for the test programs. */
#ifndef TESTS_FUNC_KEY_FILE_H
#define TESTS_FUNC_KEY_FILE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

#include "initiator/lib/kfbrick.h"

/**
 * key_file_read - the key in a file of 64 hex digits
 * @path: file
 * @key: filled
 *
 * Return: 0 or a negative errno.
 */
static inline int key_file_read(const char *path,
				uint8_t key[KFBRICK_KEY_BYTES])
{
	FILE *f = fopen(path, "re");
	char hex[2 * KFBRICK_KEY_BYTES];
	unsigned int i, n;

	if (!f)
		return -errno;
	n = fread(hex, 1, sizeof(hex), f);
	fclose(f);
	if (n != sizeof(hex))
		return -EINVAL;
	for (i = 0; i < sizeof(hex); i++) {
		unsigned int c = (unsigned char)hex[i];
		unsigned int digit = c - '0';

		if (c >= 'a' && c <= 'f')
			digit = c - 'a' + 10;
		if (digit > 15)
			return -EINVAL;
		if (i % 2)
			key[i / 2] |= digit;
		else
			key[i / 2] = digit << 4;
	}
	return 0;
}

#endif
