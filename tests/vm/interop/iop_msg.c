// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_interop: messages there and back.
 */
#include <linux/kernel.h>

#include "iop.h"

static const u32 sizes[] = { 1,		 2,
			     3,		 7,
			     8,		 63,
			     64,	 255,
			     256,	 257,
			     1023,	 4095,
			     4096,	 4097,
			     8191,	 65535,
			     65536,	 65537,
			     1 << 20,	 (1 << 20) + 1,
			     4 << 20,	 IOP_MSG_MAX - 1,
			     IOP_MSG_MAX };

/* The first byte is the command, so it is not of the pattern. */
static void set_first(struct iop_buf *b, u8 byte)
{
	b->chunk[0][b->off[0]] = byte;
}

static int echo(struct iop *t, u32 len, u32 align, u32 n, enum iop_kind kind,
		struct fi_cq_err_entry *entry)
{
	struct fi_msg in, out;
	int ret;

	iop_buf_split(&t->src, len, align, n);
	iop_buf_split(&t->dst, len, 64 - align, IOP_CHUNKS + 1 - n);
	iop_buf_fill(&t->src, len);
	iop_buf_clear(&t->dst);
	set_first(&t->src, IOP_ECHO);
	in = (struct fi_msg){ .buf = iop_buf_fi(&t->dst, kind, len),
			      .context = t->rx_ctx };
	out = (struct fi_msg){ .buf = iop_buf_fi(&t->src, kind, len),
			       .context = t->tx_ctx[0] };
	ret = fi_recvmsg(t->ep, &in, 0);
	ret = ret ?: fi_sendmsg(t->ep, &out, 0);
	ret = ret ?: iop_tx_done(t);
	return ret ?: iop_wait(t->rxcq, entry, IOP_MS);
}

static bool came_back(struct iop *t, u32 len,
		      const struct fi_cq_err_entry *entry)
{
	u8 *first = &t->dst.chunk[0][t->dst.off[0]];

	if (entry->len != len || *first != IOP_ECHO)
		return false;
	*first = iop_byte(len, 0);
	return iop_buf_is(&t->dst, len);
}

void iop_t_messages(struct iop *t)
{
	struct fi_cq_err_entry entry = {};
	u32 i, n;
	int ret;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		bool good = true;

		/* A long message does not fit into few pieces here. */
		for (n = sizes[i] > IOP_CHUNK_SIZE / 2 ? 8 : 1;
		     n <= IOP_CHUNKS / (sizes[i] > IOP_CHUNK_SIZE / 2 ? 2 : 1);
		     n++) {
			ret = echo(t, sizes[i], (i * 5 + n) % 64, n,
				   n % IOP_KINDS, &entry);
			good = good && !ret && came_back(t, sizes[i], &entry);
			if (ret)
				break;
		}
		if (!iop_check(good,
			       "a message of %u bytes goes there and back (%d)",
			       sizes[i], ret))
			return;
	}
}

void iop_t_inject(struct iop *t)
{
	struct fi_cq_err_entry entry = {};
	size_t len = t->info->tx_attr->inject_size;
	u32 round;
	int ret = 0;

	for (round = 0; round < 4 * IOP_TX_OPS && !ret; round++) {
		iop_buf_split(&t->src, len, round % 64, 1);
		iop_buf_split(&t->dst, len, 0, 1);
		iop_buf_fill(&t->src, len);
		set_first(&t->src, IOP_ECHO);
		ret = iop_post_recv(t, t->dst.chunk[0], len);
		ret = ret
			      ?: fi_inject(t->ep, t->src.kvec[0].iov_base, len,
					   FI_ADDR_UNSPEC);
		/* The buffer is ours again at once. */
		iop_buf_clear(&t->src);
		ret = ret ?: iop_wait(t->rxcq, &entry, IOP_MS);
		if (!ret && !came_back(t, len, &entry))
			ret = -EILSEQ;
	}
	iop_check(!ret, "%u injected messages of %zu bytes arrive (%d)", round,
		  len, ret);
	ret = iop_wait(t->txcq, &entry, 0);
	iop_check(ret == -FI_EAGAIN,
		  "an injected message has no completion (%d)", ret);
}
