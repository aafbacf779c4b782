// SPDX-License-Identifier: BSD-2-Clause
/* Endpoints are opened, bound, enabled and closed here. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "impl.h"

#define CM_DATA_BYTES 256

static void take_seat(struct stcp_ep *ep, struct stcp_cq *cq,
		      struct stcp_cq_seat *seat)
{
	seat->ep = ep;
	pthread_mutex_lock(&cq->eps_lock);
	LIST_INSERT_HEAD(&cq->eps, seat, link);
	pthread_mutex_unlock(&cq->eps_lock);
}

static void leave_seat(struct stcp_cq *cq, struct stcp_cq_seat *seat)
{
	pthread_mutex_lock(&cq->eps_lock);
	LIST_REMOVE(seat, link);
	pthread_mutex_unlock(&cq->eps_lock);
}

static int bind_cq(struct stcp_ep *ep, struct stcp_cq *cq, uint64_t flags)
{
	if (!(flags & (FI_TRANSMIT | FI_RECV)))
		return -FI_EINVAL;
	if ((flags & FI_TRANSMIT && ep->tx_cq) ||
	    (flags & FI_RECV && ep->rx_cq))
		return -FI_EINVAL;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = flags & FI_SELECTIVE_COMPLETION;
		atomic_fetch_add(&cq->refs, 1);
		if (ep->rx_cq != cq)
			take_seat(ep, cq, &ep->tx_seat);
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = flags & FI_SELECTIVE_COMPLETION;
		atomic_fetch_add(&cq->refs, 1);
		if (ep->tx_cq != cq)
			take_seat(ep, cq, &ep->rx_seat);
	}
	return 0;
}

static int ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid.fid);

	switch (bfid->fclass) {
	case FI_CLASS_EQ:
		if (ep->eq)
			return -FI_EINVAL;
		stcp_eq_bind(ep,
			     stcp_container_of(bfid, struct stcp_eq, fid.fid));
		return 0;
	case FI_CLASS_CQ:
		return bind_cq(ep,
			       stcp_container_of(bfid, struct stcp_cq, fid.fid),
			       flags);
	case FI_CLASS_SRX_CTX:
		return stcp_srx_bind(ep, bfid);
	default:
		return -FI_ENOSYS;
	}
}

int stcp_ep_lacks(const struct stcp_ep *ep)
{
	if (!ep->eq)
		return -FI_ENOEQ;
	return ep->tx_cq && ep->rx_cq ? 0 : -FI_ENOCQ;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid.fid);

	return command == FI_ENABLE ? stcp_ep_lacks(ep) : -FI_ENOSYS;
}

static int ep_close(struct fid *fid)
{
	struct stcp_ep *ep = stcp_container_of(fid, struct stcp_ep, fid.fid);

	if (stcp_is_inherited(ep->domain->fabric)) {
		close(ep->source.fd);
		return 0;
	}
	pthread_mutex_lock(&ep->lock);
	ep->told = true;
	stcp_ep_end(ep, FI_ECANCELED, TCPW_OK);
	pthread_mutex_unlock(&ep->lock);
	if (ep->muted)
		stcp_shard_forget(&ep->source);
	pthread_mutex_lock(&ep->domain->lock);
	LIST_REMOVE(ep, domain_link);
	pthread_mutex_unlock(&ep->domain->lock);
	if (ep->eq)
		stcp_eq_unbind(ep);
	if (ep->srx)
		stcp_srx_unbind(ep);
	if (ep->tx_seat.ep)
		leave_seat(ep->tx_cq, &ep->tx_seat);
	if (ep->rx_seat.ep)
		leave_seat(ep->rx_cq, &ep->rx_seat);
	if (ep->tx_cq)
		atomic_fetch_sub(&ep->tx_cq->refs, 1);
	if (ep->rx_cq)
		atomic_fetch_sub(&ep->rx_cq->refs, 1);
	if (ep->request)
		stcp_request_free(ep->request);
	else if (ep->source.fd >= 0)
		close(ep->source.fd);
	free(ep->end_event);
	free(ep->from);
	pthread_mutex_destroy(&ep->lock);
	atomic_fetch_sub(&ep->domain->refs, 1);
	free(ep);
	return 0;
}

/* Passive endpoints have this option, too. */
int stcp_getopt(fid_t fid, int level, int optname, void *optval, size_t *optlen)
{
	if (level != FI_OPT_ENDPOINT || optname != FI_OPT_CM_DATA_SIZE)
		return -FI_ENOPROTOOPT;
	if (*optlen < sizeof(size_t)) {
		*optlen = sizeof(size_t);
		return -FI_ETOOSMALL;
	}
	*(size_t *)optval = CM_DATA_BYTES;
	*optlen = sizeof(size_t);
	return 0;
}

static struct fi_ops ep_fid_ops =
	STCP_FID_OPS(ep_close, ep_bind, ep_control, stcp_ep_ops_open);

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = stcp_ep_cancel,
	.getopt = stcp_getopt,
	.setopt = stcp_no_setopt,
	.tx_ctx = stcp_no_tx_ctx,
	.rx_ctx = stcp_no_rx_ctx,
	.rx_size_left = stcp_no_size_left,
	.tx_size_left = stcp_no_size_left,
};

/* Sets vectors, sizes of queues, and the flags of posts that give none. */
static void init_fields(struct stcp_ep *ep, const struct fi_info *info,
			void *context)
{
	stcp_fid_init(&ep->fid.fid, FI_CLASS_EP, &ep_fid_ops, context);
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &stcp_ep_cm_ops;
	ep->fid.msg = &stcp_msg_ops;
	ep->fid.rma = &stcp_rma_ops;
	ep->fid.tagged = &stcp_no_tagged_ops;
	ep->fid.atomic = &stcp_no_atomic_ops;
	ep->fid.collective = &stcp_no_collective_ops;
	ep->source.ready = stcp_ep_ready;
	ep->source.late = stcp_ep_late;
	ep->source.fd = -1;
	ep->tx_size = STCP_QUEUE_SIZE;
	ep->rx_size = STCP_QUEUE_SIZE;
	if (info->tx_attr && info->tx_attr->size)
		ep->tx_size = info->tx_attr->size;
	if (info->rx_attr && info->rx_attr->size)
		ep->rx_size = info->rx_attr->size;
	if (info->tx_attr)
		ep->tx_flags = info->tx_attr->op_flags;
	if (info->rx_attr)
		ep->rx_flags = info->rx_attr->op_flags;
	tcpw_tracker_init(&ep->tracker, (__u32)ep->tx_size);
}

static int allocate_rings(struct stcp_ep *ep, const struct fi_info *info)
{
	ep->end_event = stcp_event_alloc(FI_SHUTDOWN, &ep->fid.fid, NULL,
					 TCPW_CM_DATA_MAX);
	if (!ep->end_event)
		return -FI_ENOMEM;
	/* A request's addresses are its socket's. */
	if (info->handle || !info->src_addr)
		return 0;
	if (info->src_addrlen > sizeof(*ep->from))
		return -FI_EINVAL;
	ep->from = calloc(1, sizeof(*ep->from));
	if (!ep->from)
		return -FI_ENOMEM;
	memcpy(ep->from, info->src_addr, info->src_addrlen);
	return 0;
}

/* The handle is a request that has no endpoint yet, or a passive endpoint. */
static int take_handle(struct stcp_ep *ep, struct stcp_fabric *fabric,
		       fid_t handle)
{
	struct stcp_request *request = stcp_request_find(fabric, handle);
	struct stcp_pep *pep;

	if (request) {
		if (request->has_endpoint)
			return -FI_EINVAL;
		request->has_endpoint = true;
		ep->request = request;
		ep->source.fd = request->source.fd;
		(void)tcpw_state_move(&ep->state, TCPW_ASKED);
		return 0;
	}
	pep = stcp_pep_find(fabric, handle);
	if (!pep)
		return -FI_EINVAL;
	ep->source.fd = stcp_pep_take_socket(pep);
	ep->named = ep->source.fd >= 0;
	return 0;
}

int stcp_ep_open(struct fid_domain *fid, struct fi_info *info,
		 struct fid_ep **out, void *context)
{
	struct stcp_domain *domain =
		stcp_container_of(fid, struct stcp_domain, fid);
	struct stcp_ep *ep;
	int rc;

	if (stcp_is_inherited(domain->fabric))
		return -FI_EOPBADSTATE;
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	init_fields(ep, info, context);
	rc = allocate_rings(ep, info);
	if (!rc && info->handle)
		rc = take_handle(ep, domain->fabric, info->handle);
	if (rc) {
		free(ep->end_event);
		free(ep);
		return rc;
	}
	ep->domain = domain;
	TAILQ_INIT(&ep->queue);
	TAILQ_INIT(&ep->answers);
	TAILQ_INIT(&ep->receives);
	pthread_mutex_init(&ep->lock, NULL);
	atomic_fetch_add(&domain->refs, 1);
	pthread_mutex_lock(&domain->lock);
	LIST_INSERT_HEAD(&domain->eps, ep, domain_link);
	pthread_mutex_unlock(&domain->lock);
	*out = &ep->fid;
	return 0;
}
