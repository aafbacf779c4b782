// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: completion queues.
 *
 * A kfabric CQ is the core's list. What the hardware fills are shares of the
 * device's pooled CQs, which an endpoint takes when it is enabled: as many
 * entries as it can have work requests, so that nothing overflows however
 * many endpoints one kfabric CQ serves.
 */
#include <linux/sched/mm.h>

#include "verbs.h"

static int kfiv_cq_get_share(struct kfiv_ep *ep, int i, const struct fid_cq *cq,
			     unsigned int nr_cqe)
{
	struct ib_cq *share;

	share = ib_cq_pool_get(
		ep->domain->dev->ib, nr_cqe, cq->attr.signaling_vector,
		kfi_cq_wants_work(cq) ? IB_POLL_WORKQUEUE : IB_POLL_SOFTIRQ);
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
		return ep->rx_attr.size + 1;
	return ep->tx_attr.size + (ep->sinks ? KFIV_SINK_WRS : 0) +
	       KFIV_OWN_WRS;
}

int kfiv_ep_get_cqs(struct kfiv_ep *ep)
{
	const struct fid_cq *tx = ep->ep.tx_cq, *rx = ep->ep.rx_cq;
	unsigned int noio = memalloc_noio_save();
	int ret;

	lockdep_assert_held(&ep->mutex);
	if (kfi_cq_wants_work(tx) == kfi_cq_wants_work(rx) &&
	    tx->attr.signaling_vector == rx->attr.signaling_vector) {
		ret = kfiv_cq_get_share(ep, 0, tx,
					kfiv_nr_wrs(ep, false) +
						kfiv_nr_wrs(ep, true));
		ep->cq[1] = ep->cq[0];
	} else {
		ret = kfiv_cq_get_share(ep, 0, tx, kfiv_nr_wrs(ep, false));
		ret = ret
			      ?: kfiv_cq_get_share(ep, 1, rx,
						   kfiv_nr_wrs(ep, true));
	}
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
