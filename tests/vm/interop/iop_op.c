// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_interop: single operations, and commands to the peer.
 */
#include <linux/string.h>

#include "iop.h"

/* One completion. Returns 0, the positive error of it, or -errno. */
int iop_wait(struct fid_cq *cq, struct fi_cq_err_entry *entry, int timeout_ms)
{
	struct fi_cq_err_entry err = {};
	struct fi_cq_data_entry ok;
	ssize_t n;

	n = fi_cq_sread(cq, &ok, 1, NULL, timeout_ms);
	if (n == 1) {
		if (entry)
			*entry =
				(struct fi_cq_err_entry){ .op_context =
								  ok.op_context,
							  .flags = ok.flags,
							  .len = ok.len,
							  .data = ok.data };
		return 0;
	}
	if (n != -FI_EAVAIL)
		return n;
	n = fi_cq_readerr(cq, &err, 0);
	if (n != 1)
		return -EPROTO;
	if (entry)
		*entry = err;
	return err.err;
}

int iop_tx_done(struct iop *t)
{
	return iop_wait(t->txcq, NULL, IOP_MS);
}

static struct fi_msg_rma make_msg(struct iop *t, struct iop_buf *b,
				  enum iop_kind kind, u32 len,
				  const struct fi_rma_iov *rma)
{
	return (struct fi_msg_rma){ .buf = iop_buf_fi(b, kind, len),
				    .rma_iov = rma,
				    .rma_iov_count = 1,
				    .context = t->tx_ctx[0] };
}

int iop_write(struct iop *t, struct iop_buf *b, enum iop_kind kind, u32 len,
	      u64 addr, u64 key)
{
	struct fi_rma_iov rma = { .addr = addr, .len = len, .key = key };
	struct fi_msg_rma msg = make_msg(t, b, kind, len, &rma);
	int ret = fi_writemsg(t->ep, &msg, 0);

	return ret ?: iop_tx_done(t);
}

int iop_read(struct iop *t, struct iop_buf *b, enum iop_kind kind, u32 len,
	     u64 addr, u64 key)
{
	struct fi_rma_iov rma = { .addr = addr, .len = len, .key = key };
	struct fi_msg_rma msg = make_msg(t, b, kind, len, &rma);
	int ret = fi_readmsg(t->ep, &msg, 0);

	return ret ?: iop_tx_done(t);
}

int iop_post_recv(struct iop *t, void *buf, u32 len)
{
	return fi_recv(t->ep, buf, len, NULL, FI_ADDR_UNSPEC, t->rx_ctx);
}

/* Send a command, and get the value of its reply. */
int iop_command(struct iop *t, const struct iop_cmd *cmd, u64 *value)
{
	struct fi_cq_err_entry entry;
	struct iop_reply reply;
	int ret;

	ret = iop_post_recv(t, t->cmd + sizeof(*cmd), sizeof(reply));
	if (ret)
		return ret;
	memcpy(t->cmd, cmd, sizeof(*cmd));
	ret = fi_send(t->ep, t->cmd, sizeof(*cmd), NULL, FI_ADDR_UNSPEC,
		      t->tx_ctx[0]);
	ret = ret ?: iop_tx_done(t);
	ret = ret ?: iop_wait(t->rxcq, &entry, IOP_MS);
	if (ret)
		return ret;
	memcpy(&reply, t->cmd + sizeof(*cmd), sizeof(reply));
	if (entry.len != sizeof(reply) || reply.op != cmd->op)
		return -EPROTO;
	if (value)
		*value = reply.value;
	return 0;
}
