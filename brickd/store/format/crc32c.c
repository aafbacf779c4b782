// SPDX-License-Identifier: BSD-2-Clause
/*
 * CRC32C by ISA-L, whose function leaves both inversions to its caller.
 *
 * ISA-L is made for long buffers; a record's two checksums cover 16 and 32
 * bytes, and a start computes millions of them. Those take the processor's own
 * instruction where it has one, which costs a quarter of the call.
 */
#include <isa-l/crc.h>
#include <stdbool.h>
#include <string.h>

#include "brickd/store/format/crc32c.h"

#define SHORT_BYTES 64U

/* sparse does not know the builtins. */
#if defined(__x86_64__) && !defined(__CHECKER__)
static bool has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t
crc_short(uint32_t state, const uint8_t *data, size_t len)
{
	uint64_t word;

	for (; len; len -= sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		state = (uint32_t)__builtin_ia32_crc32di(state, word);
		data += sizeof(word);
	}
	return state;
}
#else
static bool has_instruction(void)
{
	return false;
}

static uint32_t crc_short(uint32_t state, const uint8_t *data, size_t len)
{
	(void)data;
	(void)len;
	return state;
}
#endif

uint32_t brick_crc32c(uint32_t crc, const void *data, size_t len)
{
	if (len <= SHORT_BYTES && len % sizeof(uint64_t) == 0 &&
	    has_instruction())
		return ~crc_short(~crc, data, len);
	/* ISA-L only reads, whatever its prototype says. */
	return ~crc32_iscsi((unsigned char *)(uintptr_t)data, (int)len, ~crc);
}
