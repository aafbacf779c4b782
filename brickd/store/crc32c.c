// SPDX-License-Identifier: BSD-2-Clause
/* CRC32C by ISA-L, whose function leaves both inversions to its caller. */
#include <isa-l/crc.h>

#include "brickd/store/crc32c.h"

uint32_t brick_crc32c(uint32_t crc, const void *data, size_t len)
{
	/* ISA-L only reads, whatever its prototype says. */
	return ~crc32_iscsi((unsigned char *)(uintptr_t)data, (int)len, ~crc);
}
