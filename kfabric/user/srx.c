// SPDX-License-Identifier: BSD-2-Clause
/*
 * Shared receive contexts: receives that any of several connections takes, as
 * its next message arrives.
 *
 * Context: any thread.
 * Locking: eps_lock guards the list of endpoints and is taken before theirs;
 * lock guards the receives and is a leaf.
 */
#include <stdlib.h>

#include "impl.h"

static ssize_t srx_recvmsg(struct fid_ep *fid, const struct fi_msg *msg,
			   uint64_t flags)
{
	struct stcp_srx *srx = stcp_container_of(fid, struct stcp_srx, fid);
	struct stcp_ep *ep;
	struct stcp_op *op;
	bool starving;
	int rc = stcp_receive_alloc(srx->domain, msg, flags, &op);

	if (rc)
		return rc;
	op->completes = (flags | srx->rx_flags) & FI_COMPLETION;
	pthread_mutex_lock(&srx->lock);
	if (srx->n_rx >= srx->rx_size) {
		pthread_mutex_unlock(&srx->lock);
		free(op);
		return -FI_EAGAIN;
	}
	srx->n_rx++;
	TAILQ_INSERT_TAIL(&srx->receives, op, link);
	starving = srx->starving;
	srx->starving = false;
	pthread_mutex_unlock(&srx->lock);
	if (!starving)
		return 0;
	/* Those who found nothing look again. */
	pthread_mutex_lock(&srx->eps_lock);
	LIST_FOREACH(ep, &srx->eps, srx_link)
	{
		pthread_mutex_lock(&ep->lock);
		stcp_rx_resume(ep, STCP_NO_RECEIVE);
		pthread_mutex_unlock(&ep->lock);
	}
	pthread_mutex_unlock(&srx->eps_lock);
	return 0;
}

struct stcp_op *stcp_srx_take(struct stcp_ep *ep)
{
	struct stcp_srx *srx = ep->srx;
	struct stcp_op *op;

	pthread_mutex_lock(&srx->lock);
	op = TAILQ_FIRST(&srx->receives);
	if (op) {
		TAILQ_REMOVE(&srx->receives, op, link);
		srx->n_rx--;
	} else {
		srx->starving = true;
	}
	pthread_mutex_unlock(&srx->lock);
	if (op && !ep->rx_selective)
		op->completes = true;
	return op;
}

int stcp_srx_bind(struct stcp_ep *ep, struct fid *fid)
{
	struct stcp_srx *srx = stcp_container_of(fid, struct stcp_srx, fid.fid);

	if (ep->srx)
		return -FI_EINVAL;
	ep->srx = srx;
	atomic_fetch_add(&srx->refs, 1);
	pthread_mutex_lock(&srx->eps_lock);
	LIST_INSERT_HEAD(&srx->eps, ep, srx_link);
	pthread_mutex_unlock(&srx->eps_lock);
	return 0;
}

void stcp_srx_unbind(struct stcp_ep *ep)
{
	pthread_mutex_lock(&ep->srx->eps_lock);
	LIST_REMOVE(ep, srx_link);
	pthread_mutex_unlock(&ep->srx->eps_lock);
	atomic_fetch_sub(&ep->srx->refs, 1);
}

static int srx_close(struct fid *fid)
{
	struct stcp_srx *srx = stcp_container_of(fid, struct stcp_srx, fid.fid);
	struct stcp_op *op;

	if (stcp_is_inherited(srx->domain->fabric))
		return 0;
	if (atomic_load(&srx->refs))
		return -FI_EBUSY;
	while ((op = TAILQ_FIRST(&srx->receives))) {
		TAILQ_REMOVE(&srx->receives, op, link);
		free(op);
	}
	pthread_mutex_destroy(&srx->lock);
	pthread_mutex_destroy(&srx->eps_lock);
	atomic_fetch_sub(&srx->domain->refs, 1);
	free(srx);
	return 0;
}

/* clang-format off */
STCP_NOT_DONE(static ssize_t, no_srx_send, struct fid_ep *ep, const void *buf,
	      size_t len, void *desc, fi_addr_t dest_addr, void *context)
STCP_NOT_DONE(static ssize_t, no_srx_sendv, struct fid_ep *ep,
	      const struct iovec *iov, void **desc, size_t count,
	      fi_addr_t dest_addr, void *context)
STCP_NOT_DONE(static ssize_t, no_srx_sendmsg, struct fid_ep *ep,
	      const struct fi_msg *msg, uint64_t flags)
STCP_NOT_DONE(static ssize_t, no_srx_inject, struct fid_ep *ep, const void *buf,
	      size_t len, fi_addr_t dest_addr)
STCP_NOT_DONE(static ssize_t, no_srx_senddata, struct fid_ep *ep, const void *buf,
	      size_t len, void *desc, uint64_t data, fi_addr_t dest_addr,
	      void *context)
STCP_NOT_DONE(static ssize_t, no_srx_injectdata, struct fid_ep *ep,
	      const void *buf, size_t len, uint64_t data, fi_addr_t dest_addr)
/* clang-format on */

static struct fi_ops_msg srx_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = stcp_recv,
	.recvv = stcp_recvv,
	.recvmsg = srx_recvmsg,
	.send = no_srx_send,
	.sendv = no_srx_sendv,
	.sendmsg = no_srx_sendmsg,
	.inject = no_srx_inject,
	.senddata = no_srx_senddata,
	.injectdata = no_srx_injectdata,
};

static struct fi_ops srx_fid_ops = STCP_FID_OPS(
	srx_close, stcp_no_bind, stcp_no_control, stcp_no_ops_open);

int stcp_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr,
		  struct fid_ep **out, void *context)
{
	struct stcp_srx *srx = calloc(1, sizeof(*srx));

	if (!srx)
		return -FI_ENOMEM;
	stcp_fid_init(&srx->fid.fid, FI_CLASS_SRX_CTX, &srx_fid_ops, context);
	srx->fid.ops = &stcp_no_ep_ops;
	srx->fid.msg = &srx_msg_ops;
	srx->fid.cm = &stcp_no_cm_ops;
	srx->fid.rma = &stcp_no_rma_ops;
	srx->fid.tagged = &stcp_no_tagged_ops;
	srx->fid.atomic = &stcp_no_atomic_ops;
	srx->fid.collective = &stcp_no_collective_ops;
	srx->rx_size = attr && attr->size ? attr->size : STCP_QUEUE_SIZE;
	srx->rx_flags = attr ? attr->op_flags : 0;
	srx->domain = stcp_container_of(domain, struct stcp_domain, fid);
	atomic_fetch_add(&srx->domain->refs, 1);
	pthread_mutex_init(&srx->eps_lock, NULL);
	pthread_mutex_init(&srx->lock, NULL);
	LIST_INIT(&srx->eps);
	TAILQ_INIT(&srx->receives);
	*out = &srx->fid;
	return 0;
}
