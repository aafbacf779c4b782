// SPDX-License-Identifier: BSD-2-Clause
/*
 * Structures that callers of other versions have in other sizes.
 */
#include <errno.h>
#include <string.h>

#include "internal.h"

static bool is_zero(const uint8_t *bytes, size_t len)
{
	while (len && !*bytes) {
		bytes++;
		len--;
	}
	return !len;
}

int kfbl_take_sized(void *to, size_t size, const void *from, size_t from_size)
{
	const uint8_t *bytes = from;

	if (from_size > size && !is_zero(bytes + size, from_size - size))
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
