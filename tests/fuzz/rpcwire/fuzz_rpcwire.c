// SPDX-License-Identifier: BSD-2-Clause
/*
 * Feeds anything to a client of RPC-over-RDMA as a server's message: what is taken
 * stays within what its call has offered.
 *
 * The first byte says what is offered: two bits for the segments of the write chunk, two
 * for those of the reply chunk.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rpcw_hdr.h"

#define SEGMENT_BYTES 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int truth)
{
	if (!truth)
		abort();
}

static void offer(struct rpcw_chunk *chunk, uint32_t count)
{
	chunk->count = count;
	while (count--)
		chunk->segments[count].length = SEGMENT_BYTES;
}

/* One range: full segments, one that may be not, and empty ones. */
static void check_chunk(const struct rpcw_chunk *chunk, uint32_t bytes,
			uint32_t offered)
{
	uint32_t i, left = bytes, due;

	expect(chunk->count <= offered && bytes <= offered * SEGMENT_BYTES);
	for (i = 0; i < chunk->count; i++, left -= due) {
		due = left < SEGMENT_BYTES ? left : SEGMENT_BYTES;
		expect(chunk->segments[i].length == due);
	}
	expect(!left);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rpcw_call call = { .credits = 1 };
	uint8_t out[RPCW_HEADER_MAX];
	struct rpcw_reply reply;
	uint32_t bytes;

	if (!size)
		return 0;
	bytes = (uint32_t)size - 1;
	offer(&call.write, data[0] & 3);
	offer(&call.reply, data[0] >> 2 & 3);
	expect(rpcw_call_bytes(&call) <= sizeof(out));
	rpcw_call_pack(&call, out);
	if (rpcw_reply_parse(data + 1, bytes, &reply))
		return 0;
	expect(reply.credits && reply.header_bytes <= bytes);
	if (reply.is_call || rpcw_reply_check(&call, &reply))
		return 0;
	if (reply.kind == RPCW_ERROR)
		return 0;
	check_chunk(&reply.write, reply.write_bytes, call.write.count);
	check_chunk(&reply.reply, reply.reply_bytes, call.reply.count);
	/* The message is in one place. */
	expect((reply.kind == RPCW_MSG) == !reply.reply_bytes);
	expect(reply.kind == RPCW_MSG ? bytes - reply.header_bytes >= 8
				      : reply.header_bytes == bytes);
	return 0;
}
