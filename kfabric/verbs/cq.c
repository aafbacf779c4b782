// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: completion queues.
 *
 * A kfabric CQ is the core's list. What the hardware fills are shares of the
 * device's pooled CQs, which an endpoint takes when it is enabled: as many
 * entries as it can have work requests, so that nothing overflows however
 * many endpoints one kfabric CQ serves. One that shares receives may get all of
 * them.
 */
#include <linux/sched/mm.h>

#include "verbs.h"

static int kfiv_cq_get_share(struct kfiv_ep *ep, int i, const struct fid_cq *cq,
			     bool in_work, unsigned int nr_cqe)
{
	struct ib_cq *share;

	/* The pool would look for one without end. */
	if (nr_cqe > ep->domain->dev->ib->attrs.max_cqe)
		return -EINVAL;
	share = ib_cq_pool_get(ep->domain->dev->ib, nr_cqe,
			       cq->attr.signaling_vector,
			       in_work ? IB_POLL_WORKQUEUE : IB_POLL_SOFTIRQ);
	if (IS_ERR(share))
		return PTR_ERR(share);
	ep->cq[i] = share;
	ep->nr_cqe[i] = nr_cqe;
	return 0;
}

/* Count the work requests of either side, our own included. */
static unsigned int kfiv_nr_wrs(const struct kfiv_ep *ep, bool rx)
{
	if (rx)
		return ep->ep.srx ? to_kfiv_srx(ep->ep.srx)->attr.size
				  : ep->rx_attr.size + 1;
	return ep->tx_attr.size + (ep->sinks ? KFIV_SINK_WRS : 0) +
	       KFIV_OWN_WRS;
}

/* Must the upcalls of a queue come in softirq, or as there? */
static bool kfiv_cq_wants_softirq(const struct fid_cq *cq)
{
	return (cq->attr.comp_handler || cq->attr.ready_handler) &&
	       cq->attr.comp_context == FI_CQ_SOFTIRQ;
}

static int kfiv_cq_get_one(struct kfiv_ep *ep, const struct fid_cq *cq,
			   bool in_work)
{
	int ret = kfiv_cq_get_share(ep, 0, cq, in_work,
				    kfiv_nr_wrs(ep, false) +
					    kfiv_nr_wrs(ep, true));

	ep->cq[1] = ep->cq[0];
	return ret;
}

/*
 * Shared receives need one for both directions: what is posted to send is behind what
 * was received there (kfiv_srx_drain()).
 */
static int kfiv_cq_get_any(struct kfiv_ep *ep)
{
	const struct fid_cq *tx = ep->ep.tx_cq, *rx = ep->ep.rx_cq;
	bool tx_work = kfi_cq_wants_work(tx), rx_work = kfi_cq_wants_work(rx);

	if (ep->ep.srx) {
		if ((tx_work || rx_work) &&
		    (kfiv_cq_wants_softirq(tx) || kfiv_cq_wants_softirq(rx)))
			return -EOPNOTSUPP;
		return kfiv_cq_get_one(ep, rx, tx_work || rx_work);
	}
	if (tx_work == rx_work &&
	    tx->attr.signaling_vector == rx->attr.signaling_vector)
		return kfiv_cq_get_one(ep, tx, tx_work);
	return kfiv_cq_get_share(ep, 0, tx, tx_work, kfiv_nr_wrs(ep, false))
		       ?: kfiv_cq_get_share(ep, 1, rx, rx_work,
					    kfiv_nr_wrs(ep, true));
}

int kfiv_ep_get_cqs(struct kfiv_ep *ep)
{
	unsigned int noio = memalloc_noio_save();
	int ret;

	lockdep_assert_held(&ep->mutex);
	ret = kfiv_cq_get_any(ep);
	memalloc_noio_restore(noio);
	return ret;
}

void kfiv_ep_put_cqs(struct kfiv_ep *ep)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (ep->nr_cqe[i])
			ib_cq_pool_put(ep->cq[i], ep->nr_cqe[i]);
		ep->cq[i] = NULL;
		ep->nr_cqe[i] = 0;
	}
}
