// SPDX-License-Identifier: BSD-2-Clause
/*
 * Reads a client's key file.
 */
#include <stdio.h>

#include "key.h"

static int hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int read_key(const char *path, uint8_t key[KFBRICK_KEY_BYTES])
{
	FILE *file = fopen(path, "r");
	int rc = -1;
	int i;

	if (!file)
		return -1;
	for (i = 0; i < KFBRICK_KEY_BYTES; i++) {
		int high = hex_digit(fgetc(file));
		int low = hex_digit(fgetc(file));

		if (high < 0 || low < 0)
			goto close;
		key[i] = (uint8_t)(high << 4 | low);
	}
	rc = 0;
close:
	fclose(file);
	return rc;
}
