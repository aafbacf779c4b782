// SPDX-License-Identifier: BSD-2-Clause
/* Receives and sends of messages are posted here. */
#include <stdlib.h>
#include <string.h>

#include "impl.h"

#define PLACED (FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

/* Under the endpoint's lock, which has put the op's header in its order. */
static ssize_t submit_op(struct stcp_ep *ep, struct stcp_op *op,
			 const struct tcpw_hdr *hdr)
{
	int n;

	if (ep->state != TCPW_UP)
		return ep->state < TCPW_UP ? -FI_EOPBADSTATE : -FI_ENOTCONN;
	if (ep->n_tx >= ep->tx_size)
		return -FI_EAGAIN;
	n = tcpw_hdr_encode(hdr, ep->order, op->hdr);
	if (n < 0)
		return -FI_EINVAL;
	op->hdr_bytes = (uint8_t)n;
	ep->n_tx++;
	TAILQ_INSERT_TAIL(&ep->queue, op, link);
	stcp_tx_begin_turn(ep);
	stcp_tx_progress(ep);
	return 0;
}

ssize_t stcp_post(struct stcp_ep *ep, struct stcp_op *op, struct tcpw_hdr *hdr,
		  const struct iovec *iov, size_t n_iov, uint64_t flags)
{
	bool data = hdr->op == TCPW_WRITE && hdr->flags & TCPW_F_CQ_DATA;
	uint8_t *to;
	ssize_t rc;

	if (!op)
		return -FI_ENOMEM;
	if (stcp_is_inherited(ep->domain->fabric)) {
		free(op);
		return -FI_EOPBADSTATE;
	}
	to = op->copy;
	op->n_iov = (uint8_t)n_iov;
	for (size_t i = 0; i < n_iov; i++) {
		op->iov[i] = iov[i];
		op->total += iov[i].iov_len;
		if (flags & FI_INJECT && iov[i].iov_len) {
			memcpy(to, iov[i].iov_base, iov[i].iov_len);
			op->iov[i].iov_base = to;
			to += iov[i].iov_len;
		}
	}
	if (hdr->op != TCPW_READ_REQUEST) {
		hdr->payload_bytes = op->total;
		/*
		 * What the peer says before it is over. It may refuse data for
		 * its completion queue, or be slow to take them: of these it
		 * always says.
		 */
		if (flags & FI_COMMIT_COMPLETE)
			hdr->flags |=
				flags & PLACED ? TCPW_F_ACKED : TCPW_F_COMMIT;
		else if (flags & PLACED || (data && !op->silent))
			hdr->flags |= TCPW_F_DELIVERY;
	}
	op->acked = hdr->flags & TCPW_F_ACKED;
	op->completes = !op->silent && (!ep->tx_selective ||
					(flags | ep->tx_flags) & FI_COMPLETION);
	pthread_mutex_lock(&ep->lock);
	rc = submit_op(ep, op, hdr);
	pthread_mutex_unlock(&ep->lock);
	if (rc)
		free(op);
	return rc;
}

/*
 * What a message leaves at the peer is in its receive, which nothing makes
 * persistent: kfabric's other providers refuse that as well (kfi_check_send()).
 */
static ssize_t msg_sendmsg(struct fid_ep *fid, const struct fi_msg *msg,
			   uint64_t flags)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	struct tcpw_hdr hdr = { .op = TCPW_MSG };
	size_t bytes = stcp_iov_bytes(msg->msg_iov, msg->iov_count);
	struct stcp_op *op;

	if (flags & ~(STCP_TX_FLAGS | FI_MSG | FI_REMOTE_CQ_DATA |
		      FI_COMMIT_COMPLETE | FI_MATCH_COMPLETE))
		return -FI_EBADFLAGS;
	if (flags & FI_COMMIT_COMPLETE)
		return -FI_EOPNOTSUPP;
	if (msg->iov_count > STCP_IOV_MAX || bytes > STCP_MSG_MAX ||
	    (flags & FI_INJECT && bytes > STCP_INJECT_BYTES))
		return -FI_EINVAL;
	op = stcp_op_alloc(STCP_SEND, flags & FI_INJECT ? bytes : 0);
	if (op) {
		op->context = msg->context;
		op->flags = FI_SEND | FI_MSG;
	}
	if (flags & FI_REMOTE_CQ_DATA) {
		hdr.flags |= TCPW_F_CQ_DATA;
		hdr.cq_data = msg->data;
	}
	return stcp_post(ep, op, &hdr, msg->msg_iov, msg->iov_count, flags);
}

static ssize_t msg_sendv(struct fid_ep *fid, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t dest_addr,
			 void *context)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	struct fi_msg msg = { .msg_iov = iov,
			      .iov_count = count,
			      .context = context };

	return msg_sendmsg(fid, &msg, ep->tx_flags);
}

static ssize_t msg_send(struct fid_ep *fid, const void *buf, size_t len,
			void *desc, fi_addr_t dest_addr, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return msg_sendv(fid, &iov, NULL, 1, dest_addr, context);
}

static ssize_t msg_senddata(struct fid_ep *fid, const void *buf, size_t len,
			    void *desc, uint64_t data, fi_addr_t dest_addr,
			    void *context)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct fi_msg msg = { .msg_iov = &iov,
			      .iov_count = 1,
			      .context = context,
			      .data = data };

	return msg_sendmsg(fid, &msg, ep->tx_flags | FI_REMOTE_CQ_DATA);
}

/* Its user hears no more of it, whatever becomes of it. */
static ssize_t inject_bytes(struct fid_ep *fid, const void *buf, size_t len,
			    struct tcpw_hdr *hdr)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct stcp_op *op;

	if (len > STCP_INJECT_BYTES)
		return -FI_EINVAL;
	op = stcp_op_alloc(STCP_SEND, len);
	if (op)
		op->silent = true;
	return stcp_post(ep, op, hdr, &iov, 1, FI_INJECT);
}

static ssize_t msg_inject(struct fid_ep *fid, const void *buf, size_t len,
			  fi_addr_t dest_addr)
{
	struct tcpw_hdr hdr = { .op = TCPW_MSG };

	return inject_bytes(fid, buf, len, &hdr);
}

static ssize_t msg_injectdata(struct fid_ep *fid, const void *buf, size_t len,
			      uint64_t data, fi_addr_t dest_addr)
{
	struct tcpw_hdr hdr = { .op = TCPW_MSG,
				.flags = TCPW_F_CQ_DATA,
				.cq_data = data };

	return inject_bytes(fid, buf, len, &hdr);
}

int stcp_receive_alloc(const struct stcp_domain *domain,
		       const struct fi_msg *msg, uint64_t flags,
		       struct stcp_op **out)
{
	struct stcp_op *op;

	if (msg->iov_count > STCP_IOV_MAX)
		return -FI_EINVAL;
	if (flags & ~STCP_RECV_FLAGS)
		return -FI_EBADFLAGS;
	if (stcp_is_inherited(domain->fabric))
		return -FI_EOPBADSTATE;
	op = stcp_op_alloc(STCP_RECV, 0);
	if (!op)
		return -FI_ENOMEM;
	op->context = msg->context;
	op->flags = FI_RECV | FI_MSG;
	op->n_iov = (uint8_t)msg->iov_count;
	for (size_t i = 0; i < msg->iov_count; i++) {
		op->iov[i] = msg->msg_iov[i];
		op->total += msg->msg_iov[i].iov_len;
	}
	*out = op;
	return 0;
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg,
			   uint64_t flags)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid);
	struct stcp_op *op;
	int rc = stcp_receive_alloc(ep->domain, msg, flags, &op);

	if (rc)
		return rc;
	op->completes =
		!ep->rx_selective || (flags | ep->rx_flags) & FI_COMPLETION;
	pthread_mutex_lock(&ep->lock);
	if (ep->state == TCPW_DEAD) {
		rc = -FI_ENOTCONN;
	} else if (ep->n_rx >= ep->rx_size) {
		rc = -FI_EAGAIN;
	} else {
		ep->n_rx++;
		TAILQ_INSERT_TAIL(&ep->receives, op, link);
		stcp_rx_resume(ep, STCP_NO_RECEIVE);
	}
	pthread_mutex_unlock(&ep->lock);
	if (rc)
		free(op);
	return rc;
}

ssize_t stcp_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc,
		   size_t count, fi_addr_t src_addr, void *context)
{
	struct fi_msg msg = { .msg_iov = iov,
			      .iov_count = count,
			      .context = context };

	return fid->msg->recvmsg(fid, &msg, 0);
}

ssize_t stcp_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
		  fi_addr_t src_addr, void *context)
{
	struct iovec iov = { buf, len };

	return stcp_recvv(fid, &iov, NULL, 1, src_addr, context);
}

struct fi_ops_msg stcp_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = stcp_recv,
	.recvv = stcp_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};
