/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reliable datagrams' wire: what the bytes of a request for remote memory begin
 * with: the ranges that it is for. Format and rules are in docs/kfabric-rdm.md.
 *
 * Context: any. No state but the caller's.
 */
#ifndef RDMW_RMA_H
#define RDMW_RMA_H

#include "rdmw_flow.h"

/**
 * struct rdmw_range - a part of the peer's memory
 * @addr: from the start of the region
 * @len: bytes
 * @key: of the region
 */
struct rdmw_range {
	__u64 addr;
	__u64 len;
	__u64 key;
};

/**
 * struct rdmw_head - what a request is for
 * @count: of @ranges
 * @ranges: one behind the other
 */
struct rdmw_head {
	__u32 count;
	struct rdmw_range ranges[RDMW_RANGES_MAX];
};

/**
 * rdmw_head_pack() - the beginning of a request's bytes
 * @head: what it is for
 * @out: RDMW_HEAD_BYTES(@head->count)
 *
 * Return: bytes stored.
 */
__u32 rdmw_head_pack(const struct rdmw_head *head, __u8 *out);

/**
 * rdmw_head_parse() - what a request is for
 * @first: its first piece
 * @in: the bytes of that
 * @head: out; nothing of it is known to be the peer's to use
 * @len: out: bytes of all ranges together, which a write has behind its head
 *
 * Return: RDMW_OK, or why the connection must end.
 */
enum rdmw_violation rdmw_head_parse(const struct rdmw_piece *first,
				    const __u8 *in, struct rdmw_head *head,
				    __u64 *len);

/**
 * rdmw_head_at() - the part of a request's ranges that a piece of it is for
 * @head: of the request
 * @at: bytes of the ranges before it
 * @len: bytes from there on; out: fewer, if its range ends before
 * @range: out: the part, which is in one range
 *
 * Return: there is one: 0 beyond the last range.
 */
_Bool rdmw_head_at(const struct rdmw_head *head, __u64 at, __u64 *len,
		   struct rdmw_range *range);

#endif
