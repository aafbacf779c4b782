// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Atomic operations.
 *
 * Context: any.
 */
#include <linux/string.h>
#include "rdmw_atomic.h"
#include "../wire/wire_bytes.h"

#define AT_TYPE	   0
#define AT_OP	   1
#define AT_COUNT   2
#define AT_RESULT  3
#define AT_ROOM	   4
#define AT_ADDR	   8
#define AT_KEY	   16
#define ROOM_BYTES (AT_ADDR - AT_ROOM)

__u32 rdmw_atomic_bytes(const struct rdmw_atomic *a)
{
	__u32 bytes = RDMW_ATOMIC_HEAD_BYTES;

	if (a->op != RDMW_OP_READ)
		bytes += rdmw_elements_bytes(a);
	if (a->op >= RDMW_OP_COMPARES)
		bytes += rdmw_elements_bytes(a);
	return bytes;
}

void rdmw_elements_pack(__u8 type, const void *from, __u32 bytes, __u8 *out)
{
	const __u32 size = rdmw_element_bytes(type);
	__u32 i, word;
	__u64 wide;

	for (i = 0; i < bytes; i += size) {
		if (size == sizeof(wide)) {
			memcpy(&wide, (const __u8 *)from + i, sizeof(wide));
		} else {
			memcpy(&word, (const __u8 *)from + i, sizeof(word));
			wide = word;
		}
		wire_put(out + i, size, wide);
	}
}

void rdmw_elements_parse(__u8 type, const __u8 *in, __u32 bytes, void *to)
{
	const __u32 size = rdmw_element_bytes(type);
	__u32 i, word;
	__u64 wide;

	for (i = 0; i < bytes; i += size) {
		wide = wire_get(in + i, size);
		word = (__u32)wide;
		if (size == sizeof(wide))
			memcpy((__u8 *)to + i, &wide, sizeof(wide));
		else
			memcpy((__u8 *)to + i, &word, sizeof(word));
	}
}

void rdmw_atomic_pack(const struct rdmw_atomic *a, __u8 *out)
{
	const __u32 n = rdmw_elements_bytes(a);

	memset(out, 0, RDMW_ATOMIC_HEAD_BYTES);
	out[AT_TYPE] = a->type;
	out[AT_OP] = a->op;
	out[AT_COUNT] = a->count;
	out[AT_RESULT] = a->has_result;
	wire_put(out + AT_ADDR, 8, a->addr);
	wire_put(out + AT_KEY, 8, a->key);
	out += RDMW_ATOMIC_HEAD_BYTES;
	if (a->op != RDMW_OP_READ)
		rdmw_elements_pack(a->type, a->operand, n, out);
	if (a->op >= RDMW_OP_COMPARES)
		rdmw_elements_pack(a->type, a->compare, n, out + n);
}

/* Is it something to be done? */
static _Bool rdmw_atomic_is_sound(const __u8 *in)
{
	if (in[AT_TYPE] >= RDMW_TYPES || in[AT_OP] >= RDMW_OPS ||
	    !in[AT_COUNT] || in[AT_RESULT] > 1 ||
	    in[AT_COUNT] > RDMW_ELEMENTS_MAX / rdmw_element_bytes(in[AT_TYPE]))
		return 0;
	/* Who reads or compares wants to know. */
	return in[AT_RESULT] ||
	       (in[AT_OP] != RDMW_OP_READ && in[AT_OP] < RDMW_OP_COMPARES);
}

enum rdmw_violation rdmw_atomic_parse(const struct rdmw_piece *piece,
				      const __u8 *in, struct rdmw_atomic *a)
{
	__u32 n;

	if (piece->bytes < RDMW_ATOMIC_HEAD_BYTES)
		return RDMW_BAD_LENGTH;
	if (!wire_is_zero(in + AT_ROOM, ROOM_BYTES))
		return RDMW_BAD_RESERVED;
	if (!rdmw_atomic_is_sound(in))
		return RDMW_BAD_FIELD;
	*a = (struct rdmw_atomic){
		.type = in[AT_TYPE],
		.op = in[AT_OP],
		.count = in[AT_COUNT],
		.has_result = in[AT_RESULT],
		.addr = wire_get(in + AT_ADDR, 8),
		.key = wire_get(in + AT_KEY, 8),
	};
	n = rdmw_elements_bytes(a);
	if ((a->addr & (rdmw_element_bytes(a->type) - 1)) ||
	    a->addr + n < a->addr)
		return RDMW_BAD_FIELD;
	if (piece->bytes != rdmw_atomic_bytes(a))
		return RDMW_BAD_LENGTH;
	in += RDMW_ATOMIC_HEAD_BYTES;
	if (a->op != RDMW_OP_READ)
		rdmw_elements_parse(a->type, in, n, a->operand);
	if (a->op >= RDMW_OP_COMPARES)
		rdmw_elements_parse(a->type, in + n, n, a->compare);
	return RDMW_OK;
}
