// SPDX-License-Identifier: BSD-2-Clause
/* Writes and reads, the one-sided operations, are posted here. */
#include <string.h>

#include "impl.h"

static ssize_t post_rma(struct fid_ep *fid, const struct fi_msg_rma *msg,
			uint64_t flags, struct tcpw_hdr *hdr, bool silent)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	bool is_read = hdr->op == TCPW_READ_REQUEST;
	struct stcp_op *op;
	size_t bytes;

	if (msg->iov_count > STCP_IOV_MAX || !msg->rma_iov_count ||
	    msg->rma_iov_count > TCPW_SEGS_MAX)
		return -FI_EINVAL;
	bytes = stcp_iov_bytes(msg->msg_iov, msg->iov_count);
	if (bytes > STCP_MSG_MAX ||
	    (flags & FI_INJECT && bytes > STCP_INJECT_BYTES))
		return -FI_EINVAL;
	hdr->n_segs = (__u8)msg->rma_iov_count;
	for (size_t i = 0; i < msg->rma_iov_count; i++) {
		hdr->segs[i].addr = msg->rma_iov[i].addr;
		hdr->segs[i].bytes = msg->rma_iov[i].len;
		hdr->segs[i].key = msg->rma_iov[i].key;
	}
	op = stcp_op_alloc(is_read ? STCP_READ : STCP_WRITE,
			   flags & FI_INJECT ? STCP_INJECT_BYTES : 0);
	if (op) {
		op->context = msg->context;
		op->flags = FI_RMA | (is_read ? FI_READ : FI_WRITE);
		op->silent = silent;
	}
	return stcp_post(ep, op, hdr, msg->msg_iov, msg->iov_count, flags);
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			   uint64_t flags)
{
	struct tcpw_hdr hdr = { .op = TCPW_READ_REQUEST };
	size_t bytes = 0;

	if (flags & ~(STCP_TX_FLAGS | FI_RMA | FI_READ | FI_COMMIT_COMPLETE |
		      FI_MATCH_COMPLETE))
		return -FI_EBADFLAGS;
	/* The response must fit exactly where it goes. */
	for (size_t i = 0; i < msg->rma_iov_count; i++)
		bytes += msg->rma_iov[i].len;
	if (stcp_iov_bytes(msg->msg_iov, msg->iov_count) != bytes ||
	    flags & FI_INJECT)
		return -FI_EINVAL;
	return post_rma(fid, msg, flags, &hdr, false);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			    uint64_t flags)
{
	struct tcpw_hdr hdr = { .op = TCPW_WRITE };

	if (flags & ~(STCP_TX_FLAGS | FI_RMA | FI_WRITE | FI_REMOTE_CQ_DATA |
		      FI_COMMIT_COMPLETE | FI_MATCH_COMPLETE))
		return -FI_EBADFLAGS;
	if (flags & FI_REMOTE_CQ_DATA) {
		hdr.flags = TCPW_F_CQ_DATA;
		hdr.cq_data = msg->data;
	}
	return post_rma(fid, msg, flags, &hdr, false);
}

/* One remote range stands for all local memory. */
static struct fi_msg_rma one_range(struct fi_rma_iov *rma,
				   const struct iovec *iov, size_t count,
				   void *context)
{
	struct fi_msg_rma msg = { .msg_iov = iov,
				  .iov_count = count,
				  .rma_iov = rma,
				  .rma_iov_count = 1,
				  .context = context };

	rma->len = stcp_iov_bytes(msg.msg_iov, msg.iov_count);
	return msg;
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t src_addr,
			 uint64_t addr, uint64_t key, void *context)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	struct fi_rma_iov rma = { .addr = addr, .key = key };
	struct fi_msg_rma msg = one_range(&rma, iov, count, context);

	return rma_readmsg(fid, &msg, ep->tx_flags & ~FI_INJECT);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc,
			fi_addr_t src_addr, uint64_t addr, uint64_t key,
			void *context)
{
	struct iovec iov = { buf, len };

	return rma_readv(fid, &iov, NULL, 1, src_addr, addr, key, context);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov,
			  void **desc, size_t count, fi_addr_t dest_addr,
			  uint64_t addr, uint64_t key, void *context)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	struct fi_rma_iov rma = { .addr = addr, .key = key };
	struct fi_msg_rma msg = one_range(&rma, iov, count, context);

	return rma_writemsg(fid, &msg, ep->tx_flags);
}

static ssize_t rma_write(struct fid_ep *fid, const void *buf, size_t len,
			 void *desc, fi_addr_t dest_addr, uint64_t addr,
			 uint64_t key, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return rma_writev(fid, &iov, NULL, 1, dest_addr, addr, key, context);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buf, size_t len,
			  fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct tcpw_hdr hdr = { .op = TCPW_WRITE };
	struct fi_rma_iov rma = { .addr = addr, .key = key };
	struct fi_msg_rma msg = one_range(&rma, &iov, 1, NULL);

	return post_rma(fid, &msg, FI_INJECT, &hdr, true);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buf, size_t len,
			     void *desc, uint64_t data, fi_addr_t dest_addr,
			     uint64_t addr, uint64_t key, void *context)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_rma_iov rma = { .addr = addr, .key = key };
	struct fi_msg_rma msg = one_range(&rma, &iov, 1, context);

	msg.data = data;
	return rma_writemsg(fid, &msg, ep->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buf, size_t len,
			      uint64_t data, fi_addr_t dest_addr, uint64_t addr,
			      uint64_t key)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct tcpw_hdr hdr = { .op = TCPW_WRITE,
				.flags = TCPW_F_CQ_DATA,
				.cq_data = data };
	struct fi_rma_iov rma = { .addr = addr, .key = key };
	struct fi_msg_rma msg = one_range(&rma, &iov, 1, NULL);

	return post_rma(fid, &msg, FI_INJECT, &hdr, true);
}

struct fi_ops_rma stcp_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
