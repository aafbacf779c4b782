// SPDX-License-Identifier: BSD-2-Clause
/*
 * Structures that callers of other versions have in other sizes.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

int kfbl_take_sized(void *to, size_t size, const void *from, size_t from_size)
{
	const uint8_t *bytes = from;
	size_t i;

	for (i = size; i < from_size; i++)
		if (bytes[i])
			return -E2BIG;
	memset(to, 0, size);
	memcpy(to, from, from_size < size ? from_size : size);
	return 0;
}

void kfbl_give_sized(void *to, size_t to_size, const void *from, size_t size)
{
	uint8_t *bytes = to;

	memcpy(to, from, to_size < size ? to_size : size);
	if (to_size > size)
		memset(bytes + size, 0, to_size - size);
}
