/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reliable datagrams' wire: the bytes of an atomic operation on the peer's memory,
 * and of the answer to it. Format and rules are in docs/kfabric-rdm.md.
 *
 * Context: any. No state but the caller's.
 */
#ifndef RDMW_ATOMIC_H
#define RDMW_ATOMIC_H

#include "rdmw_flow.h"

/* Bytes of all elements of one. */
#define RDMW_ELEMENTS_MAX 64

/* Bytes of one at most: what it is for, operands, and what is compared. */
#define RDMW_ATOMIC_HEAD_BYTES 24
#define RDMW_ATOMIC_MAX	       (RDMW_ATOMIC_HEAD_BYTES + 2 * RDMW_ELEMENTS_MAX)

/* Numbers of types and operations; those that are not named are in the page. */
#define RDMW_TYPE_WIDE	 2 /* those from here on have 8 bytes, others 4 */
#define RDMW_TYPES	 4
#define RDMW_OP_READ	 10 /* has no operands */
#define RDMW_OP_COMPARES 12 /* those from here on compare */
#define RDMW_OPS	 19

/**
 * struct rdmw_atomic - an atomic operation
 * @type: of its elements, less than RDMW_TYPES
 * @op: what is done, less than RDMW_OPS
 * @count: elements; not 0
 * @has_result: the answer has what the elements were before
 * @addr: from the start of the region; a multiple of an element's size
 * @key: of the region
 * @operand: one for each element, in the machine's order
 * @compare: one for each element, in the machine's order, of an operation that
 *	compares
 */
struct rdmw_atomic {
	__u8 type;
	__u8 op;
	__u8 count;
	_Bool has_result;
	__u64 addr;
	__u64 key;
	__u64 operand[RDMW_ELEMENTS_MAX / 8];
	__u64 compare[RDMW_ELEMENTS_MAX / 8];
};

/* Of one element. */
static inline __u32 rdmw_element_bytes(__u8 type)
{
	return type >= RDMW_TYPE_WIDE ? 8 : 4;
}

/**
 * rdmw_elements_bytes() - bytes of the elements of an operation
 * @a: its type and count are set
 *
 * Return: them.
 */
static inline __u32 rdmw_elements_bytes(const struct rdmw_atomic *a)
{
	return a->count * rdmw_element_bytes(a->type);
}

/**
 * rdmw_atomic_bytes() - bytes of a request
 * @a: sound, but for what it is for
 *
 * Return: them, no more than RDMW_ATOMIC_MAX.
 */
__u32 rdmw_atomic_bytes(const struct rdmw_atomic *a);

/**
 * rdmw_atomic_pack() - the bytes of a request
 * @a: sound
 * @out: rdmw_atomic_bytes()
 */
void rdmw_atomic_pack(const struct rdmw_atomic *a, __u8 *out);

/**
 * rdmw_atomic_parse() - what a request is
 * @piece: the only one
 * @in: the bytes of that
 * @a: out; nothing of it is known to be the peer's to use
 *
 * Return: RDMW_OK, or why the connection must end.
 */
enum rdmw_violation rdmw_atomic_parse(const struct rdmw_piece *piece,
				      const __u8 *in, struct rdmw_atomic *a);

/**
 * rdmw_elements_pack() - elements for the wire
 * @type: of them
 * @from: in the machine's order
 * @bytes: of them
 * @out: so many
 */
void rdmw_elements_pack(__u8 type, const void *from, __u32 bytes, __u8 *out);

/**
 * rdmw_elements_parse() - elements of the wire
 * @type: of them
 * @in: their bytes
 * @bytes: of them
 * @to: out: in the machine's order; so many
 */
void rdmw_elements_parse(__u8 type, const __u8 *in, __u32 bytes, void *to);

#endif
