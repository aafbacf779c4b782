// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Ranges of remote memory.
 *
 * Context: any.
 */
#include <linux/string.h>
#include "../wire/wire_bytes.h"
#include "rdmw_rma.h"

#define AT_RANGES   8
#define RANGE_BYTES 24

__u32 rdmw_head_pack(const struct rdmw_head *head, __u8 *out)
{
	const struct rdmw_range *r = head->ranges;
	__u32 i;

	memset(out, 0, AT_RANGES);
	out[0] = (__u8)head->count;
	out += AT_RANGES;
	for (i = 0; i < head->count; i++, r++, out += RANGE_BYTES) {
		wire_put(out, 8, r->addr);
		wire_put(out + 8, 8, r->len);
		wire_put(out + 16, 8, r->key);
	}
	return RDMW_HEAD_BYTES(head->count);
}

enum rdmw_violation rdmw_head_parse(const struct rdmw_piece *first,
				    const __u8 *in, struct rdmw_head *head,
				    __u64 *len)
{
	__u64 sum = 0, all;
	__u32 i;

	if (first->bytes < AT_RANGES)
		return RDMW_BAD_LENGTH;
	if (!wire_is_zero(in + 1, AT_RANGES - 1))
		return RDMW_BAD_RESERVED;
	if (!in[0] || in[0] > RDMW_RANGES_MAX)
		return RDMW_BAD_FIELD;
	if (first->bytes < RDMW_HEAD_BYTES(in[0]))
		return RDMW_BAD_LENGTH;
	memset(head, 0, sizeof(*head));
	head->count = in[0];
	in += AT_RANGES;
	for (i = 0; i < head->count; i++, in += RANGE_BYTES) {
		struct rdmw_range *r = &head->ranges[i];

		r->addr = wire_get(in, 8);
		r->len = wire_get(in + 8, 8);
		r->key = wire_get(in + 16, 8);
		if (r->len > RDMW_MESSAGE_MAX || r->addr + r->len < r->addr)
			return RDMW_BAD_FIELD;
		sum += r->len;
	}
	if (sum > RDMW_MESSAGE_MAX)
		return RDMW_BAD_FIELD;
	all = RDMW_HEAD_BYTES(head->count);
	if (first->kind == RDMW_WRITE)
		all += sum;
	if (first->at != all)
		return RDMW_BAD_LENGTH;
	*len = sum;
	return RDMW_OK;
}

_Bool rdmw_head_at(const struct rdmw_head *head, __u64 at, __u64 *len,
		   struct rdmw_range *range)
{
	const struct rdmw_range *r = head->ranges;
	__u32 i;

	for (i = 0; i < head->count; i++, r++) {
		if (at < r->len) {
			if (*len > r->len - at)
				*len = r->len - at;
			range->addr = r->addr + at;
			range->len = *len;
			range->key = r->key;
			return 1;
		}
		at -= r->len;
	}
	return 0;
}
