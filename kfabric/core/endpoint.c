// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: states and bindings of endpoints, and their room.
 *
 * Locking: ep->lock protects the state and everything that must not change
 * once the endpoint is enabled. All moves go through kfi_ep_move_locked().
 */
#include <linux/export.h>
#include <linux/lockdep.h>

#include <kfabric/fi_atomic.h>

#include "core.h"
#include "trace.h"

#define TO(state) BIT(KFI_EP_##state)

/* The states that each state may move to; fi_endpoint.h draws them. */
static const u8 kfi_ep_moves[KFI_EP_STATES] = {
	[KFI_EP_IDLE] = TO(ENABLED) | TO(DEAD) | TO(CLOSED),
	[KFI_EP_ENABLED] = TO(CONNECTING) | TO(DEAD) | TO(CLOSED),
	[KFI_EP_CONNECTING] =
		TO(CONNECTED) | TO(SHUTDOWN) | TO(DEAD) | TO(CLOSED),
	[KFI_EP_CONNECTED] = TO(SHUTDOWN) | TO(DEAD) | TO(CLOSED),
	[KFI_EP_SHUTDOWN] = TO(DEAD) | TO(CLOSED),
	[KFI_EP_DEAD] = TO(CLOSED),
	[KFI_EP_CLOSED] = 0,
};

static const char *const kfi_ep_state_names[KFI_EP_STATES] = {
	[KFI_EP_IDLE] = "idle",
	[KFI_EP_ENABLED] = "enabled",
	[KFI_EP_CONNECTING] = "connecting",
	[KFI_EP_CONNECTED] = "connected",
	[KFI_EP_SHUTDOWN] = "shutdown",
	[KFI_EP_DEAD] = "dead",
	[KFI_EP_CLOSED] = "closed",
};

const char *kfi_ep_state_name(enum kfi_ep_state state)
{
	return state < KFI_EP_STATES ? kfi_ep_state_names[state] : "?";
}

int kfi_ep_move_locked(struct fid_ep *ep, enum kfi_ep_state to)
{
	lockdep_assert_held(&ep->lock);
	if (!(kfi_ep_moves[ep->state] & BIT(to)))
		return -FI_EOPBADSTATE;
	trace_kfabric_ep_state(ep, ep->state, to);
	WRITE_ONCE(ep->state, to);
	return 0;
}

int kfi_ep_move(struct fid_ep *ep, enum kfi_ep_state to)
{
	unsigned long irq;
	int ret;

	spin_lock_irqsave(&ep->lock, irq);
	ret = kfi_ep_move_locked(ep, to);
	spin_unlock_irqrestore(&ep->lock, irq);
	return ret;
}

/* ---- dead endpoints --------------------------------------------------- */

/* Of size 0: KFI_NO_OP(). */
static const struct fi_ops_msg kfi_dead_msg_ops;
static const struct fi_ops_rma kfi_dead_rma_ops;
static const struct fi_ops_tagged kfi_dead_tagged_ops;
static const struct fi_ops_atomic kfi_dead_atomic_ops;

static bool kfi_ep_is_unconnected(const struct fid_ep *ep)
{
	return ep->type == FI_EP_RDM || ep->type == FI_EP_DGRAM;
}

/* Move to an end, and queue the event that tells of it, if there is one. */
struct kfi_event *kfi_ep_end_locked(struct fid_ep *ep, enum kfi_ep_state to,
				    int err, int prov_errno, const void *data,
				    size_t len)
{
	enum kfi_ep_state from = ep->state;
	struct kfi_event *ev = NULL;

	if (kfi_ep_move_locked(ep, to))
		return NULL;
	if (from == KFI_EP_CONNECTED ||
	    (from == KFI_EP_ENABLED && to == KFI_EP_DEAD &&
	     kfi_ep_is_unconnected(ep) && ep->eq))
		ev = &ep->ev_shutdown;
	else if (from == KFI_EP_CONNECTING)
		ev = &ep->ev_cm;
	if (!ev)
		return NULL;
	kfi_event_set(ev, FI_SHUTDOWN, &ep->fid, data, len);
	if (from == KFI_EP_CONNECTING) {
		ev->err = err;
		ev->prov_errno = prov_errno;
	}
	kfi_eq_queue(ep->eq, ev);
	return ev;
}

void kfi_obj_kill(struct kfid *fid)
{
	struct kfi_event *ev;
	struct fid_ep *ep;
	unsigned long irq;

	WRITE_ONCE(fid->dead, true);
	if (!kfi_is_ep(fid))
		return;
	ep = container_of(fid, struct fid_ep, fid);
	spin_lock_irqsave(&ep->lock, irq);
	ev = kfi_ep_end_locked(ep, KFI_EP_DEAD, ENODEV, 0, NULL, 0);
	if (ep->state == KFI_EP_DEAD) {
		WRITE_ONCE(ep->msg, &kfi_dead_msg_ops);
		WRITE_ONCE(ep->rma, &kfi_dead_rma_ops);
		WRITE_ONCE(ep->tagged, &kfi_dead_tagged_ops);
		WRITE_ONCE(ep->atomic, &kfi_dead_atomic_ops);
	}
	spin_unlock_irqrestore(&ep->lock, irq);
	if (ev)
		kfi_eq_notify(ep->eq, ev);
}
EXPORT_SYMBOL_GPL(kfi_obj_kill);

/* ---- bindings --------------------------------------------------------- */

static bool kfi_is_ctx(const struct fid_ep *ep)
{
	return ep->fid.fclass == FI_CLASS_TX_CTX ||
	       ep->fid.fclass == FI_CLASS_RX_CTX;
}

/* The directions in which it completes operations, and needs a queue. */
static u64 kfi_ep_dirs(const struct fid_ep *ep)
{
	switch (ep->fid.fclass) {
	case FI_CLASS_SEP:
		return 0;
	case FI_CLASS_TX_CTX:
		return FI_TRANSMIT;
	case FI_CLASS_RX_CTX:
	case FI_CLASS_SRX_CTX:
		return FI_RECV;
	default:
		return FI_TRANSMIT | FI_RECV;
	}
}

/* There is one pin per direction, so that unbinding needs no cases. */
static int kfi_bind_cq_locked(struct fid_ep *ep, struct fid_cq *cq, u64 flags)
{
	bool selective = flags & FI_SELECTIVE_COMPLETION;
	u64 dirs = kfi_ep_dirs(ep);

	lockdep_assert_held(&ep->lock);
	if (!dirs)
		return -EINVAL;
	/* What it tells there is never a success. */
	if (ep->fid.fclass == FI_CLASS_SRX_CTX && selective)
		return -FI_EBADFLAGS;
	if ((flags & ~(dirs | FI_SELECTIVE_COMPLETION)) || !(flags & dirs))
		return -FI_EBADFLAGS;
	if (cq->domain != ep->domain)
		return -FI_EDOMAIN;
	if (((flags & FI_TRANSMIT) && ep->tx_cq) ||
	    ((flags & FI_RECV) && ep->rx_cq))
		return -EBUSY;
	if ((flags & FI_TRANSMIT) && kfi_obj_pin(&cq->fid)) {
		ep->tx_cq = cq;
		ep->tx_selective = selective;
	}
	if ((flags & FI_RECV) && kfi_obj_pin(&cq->fid)) {
		ep->rx_cq = cq;
		ep->rx_selective = selective;
	}
	return 0;
}

/* Pin what there is one of, and which takes no flags. */
static int kfi_bind_one(struct kfid *bfid, u64 flags, bool same_domain,
			const void *bound)
{
	if (flags)
		return -FI_EBADFLAGS;
	if (!same_domain)
		return -FI_EDOMAIN;
	if (bound)
		return -EBUSY;
	return kfi_obj_pin(bfid) ? 0 : -EINVAL;
}

static int kfi_bind_ep_locked(struct fid_ep *ep, struct kfid *bfid, u64 flags)
{
	struct fid_ep *srx;
	struct fid_av *av;
	int ret;

	lockdep_assert_held(&ep->lock);
	if (ep->state != KFI_EP_IDLE)
		return -FI_EOPBADSTATE;
	if (ep->fid.fclass == FI_CLASS_SRX_CTX && bfid->fclass != FI_CLASS_CQ)
		return -EINVAL;
	/* What is the scalable endpoint's is its contexts' as well. */
	if (kfi_is_ctx(ep) && bfid->fclass != FI_CLASS_CQ &&
	    bfid->fclass != FI_CLASS_CNTR)
		return -EINVAL;
	switch (bfid->fclass) {
	case FI_CLASS_CQ:
		return kfi_bind_cq_locked(
			ep, container_of(bfid, struct fid_cq, fid), flags);
	case FI_CLASS_CNTR:
		if (ep->fid.fclass == FI_CLASS_SEP)
			return -EINVAL;
		return kfi_bind_cntr_locked(
			ep, container_of(bfid, struct fid_cntr, fid), flags);
	case FI_CLASS_AV:
		if (!kfi_ep_is_unconnected(ep))
			return -EINVAL;
		av = container_of(bfid, struct fid_av, fid);
		ret = kfi_bind_one(bfid, flags, av->domain == ep->domain,
				   ep->av);
		if (!ret)
			ep->av = av;
		return ret;
	case FI_CLASS_SRX_CTX:
		if (!ep->shares_rx)
			return -EINVAL;
		srx = container_of(bfid, struct fid_ep, fid);
		ret = kfi_bind_one(bfid, flags, srx->domain == ep->domain,
				   ep->srx);
		if (!ret)
			ep->srx = srx;
		return ret;
	case FI_CLASS_EQ:
		ret = kfi_bind_one(bfid, flags, true, ep->eq);
		if (!ret)
			ep->eq = container_of(bfid, struct fid_eq, fid);
		return ret;
	default:
		return -EINVAL;
	}
}

static int kfi_bind_mr(struct fid_mr *mr, struct kfid *bfid, u64 flags)
{
	struct fid_ep *ep = container_of(bfid, struct fid_ep, fid);
	int ret;

	if (bfid->fclass != FI_CLASS_EP || ep->domain != mr->domain)
		return -EINVAL;
	ret = kfi_bind_one(bfid, flags, true, mr->ep);
	if (ret)
		return ret;
	mr->ep = ep;
	if (KFI_HAS_OP(mr->fid.ops, bind))
		ret = mr->fid.ops->bind(&mr->fid, bfid, flags);
	if (ret) {
		mr->ep = NULL;
		kfi_obj_unpin(bfid);
	}
	return ret;
}

static int kfi_bind_pep(struct fid_pep *pep, struct kfid *bfid, u64 flags)
{
	int ret;

	if (bfid->fclass != FI_CLASS_EQ || bfid->prov != pep->fid.prov)
		return -EINVAL;
	/* Flags are refused first, whatever else is wrong. */
	if (pep->listening && !flags)
		return -FI_EOPBADSTATE;
	ret = kfi_bind_one(bfid, flags, true, pep->eq);
	if (!ret)
		pep->eq = container_of(bfid, struct fid_eq, fid);
	return ret;
}

int kfabric_bind(struct kfid *fid, struct kfid *bfid, u64 flags)
{
	struct fid_ep *ep = container_of(fid, struct fid_ep, fid);
	unsigned long irq;
	int ret;

	might_sleep();
	if (READ_ONCE(fid->dead) || READ_ONCE(bfid->dead))
		return -ENODEV;
	if (fid->fclass == FI_CLASS_PEP)
		return kfi_bind_pep(container_of(fid, struct fid_pep, fid),
				    bfid, flags);
	if (fid->fclass == FI_CLASS_MR)
		return kfi_bind_mr(container_of(fid, struct fid_mr, fid), bfid,
				   flags);
	if (!kfi_is_ep(fid) || bfid->prov != fid->prov)
		return -EINVAL;
	spin_lock_irqsave(&ep->lock, irq);
	ret = kfi_bind_ep_locked(ep, bfid, flags);
	spin_unlock_irqrestore(&ep->lock, irq);
	if (!ret && KFI_HAS_OP(fid->ops, bind))
		ret = fid->ops->bind(fid, bfid, flags);
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_bind);

/* The provider's code has stopped, so that nothing is queued any more. */
void kfi_ep_unbind(struct fid_ep *ep)
{
	if (ep->eq) {
		kfi_eq_wait(ep->eq, &ep->ev_cm);
		kfi_eq_wait(ep->eq, &ep->ev_shutdown);
		kfi_eq_forget(ep->eq, &ep->fid);
		kfi_obj_unpin(&ep->eq->fid);
	}
	if (ep->tx_cq) {
		kfi_cq_forget(ep->tx_cq, ep);
		kfi_obj_unpin(&ep->tx_cq->fid);
	}
	if (ep->rx_cq) {
		kfi_cq_forget(ep->rx_cq, ep);
		kfi_obj_unpin(&ep->rx_cq->fid);
	}
	if (ep->av)
		kfi_obj_unpin(&ep->av->fid);
	if (ep->srx)
		kfi_obj_unpin(&ep->srx->fid);
	kfi_cntr_unbind(ep);
}

/* ---- enabling --------------------------------------------------------- */

/* What it is not bound to and needs; 0: nothing. */
static int kfi_ep_lacks_locked(const struct fid_ep *ep)
{
	u64 dirs = kfi_ep_dirs(ep);

	lockdep_assert_held(&ep->lock);
	if (((dirs & FI_TRANSMIT) && !ep->tx_cq) ||
	    ((dirs & FI_RECV) && !ep->rx_cq))
		return -FI_ENOCQ;
	/* Whose memory a silent completion gives back nobody could tell. */
	if (ep->shares_rx && (!ep->srx || ep->rx_selective))
		return -EINVAL;
	if (kfi_is_ctx(ep))
		return 0;
	if (kfi_ep_is_unconnected(ep))
		return ep->av ? 0 : -FI_ENOAV;
	return ep->eq ? 0 : -FI_ENOEQ;
}

static int kfi_enable_ep(struct fid_ep *ep)
{
	unsigned long irq;
	int ret;

	spin_lock_irqsave(&ep->lock, irq);
	ret = kfi_ep_lacks_locked(ep);
	ret = ret ?: kfi_ep_move_locked(ep, KFI_EP_ENABLED);
	spin_unlock_irqrestore(&ep->lock, irq);
	if (!ret && KFI_HAS_OP(ep->fid.ops, control))
		ret = ep->fid.ops->control(&ep->fid, FI_ENABLE, NULL);
	return ret == -ENOSYS ? 0 : ret;
}

int kfi_ep_ready(struct fid_ep *ep)
{
	return fi_ep_state(ep) == KFI_EP_IDLE ? kfi_enable_ep(ep) : 0;
}

int kfabric_control(struct kfid *fid, int command, void *arg)
{
	struct fid_mr *mr = container_of(fid, struct fid_mr, fid);

	might_sleep();
	if (READ_ONCE(fid->dead))
		return -ENODEV;
	if (fid->fclass == FI_CLASS_SRX_CTX)
		return -ENOSYS;
	if (command == FI_ENABLE && kfi_is_ep(fid))
		return kfi_enable_ep(container_of(fid, struct fid_ep, fid));
	if (command == FI_ENABLE && fid->fclass == FI_CLASS_MR) {
		if (!(mr->domain->mr_mode & FI_MR_ENDPOINT))
			return 0;
		if (!mr->ep || fi_ep_state(mr->ep) != KFI_EP_CONNECTED)
			return -FI_EOPBADSTATE;
	}
	if (!KFI_HAS_OP(fid->ops, control))
		return -ENOSYS;
	return fid->ops->control(fid, command, arg);
}
EXPORT_SYMBOL_GPL(kfabric_control);

int kfabric_open_ops(struct kfid *fid, const char *name, u64 flags, void **ops,
		     void *context)
{
	might_sleep();
	if (!name)
		return -EINVAL;
	if (flags)
		return -FI_EBADFLAGS;
	if (READ_ONCE(fid->dead))
		return -ENODEV;
	if (!KFI_HAS_OP(fid->ops, ops_open))
		return -ENOSYS;
	return fid->ops->ops_open(fid, name, flags, ops, context);
}
EXPORT_SYMBOL_GPL(kfabric_open_ops);

/* ---- room ------------------------------------------------------------- */

ssize_t kfi_ep_again(struct fid_ep *ep, u64 dir)
{
	atomic_long_inc(&ep->nr_again);
	set_bit(dir == FI_RECV, &ep->space_wanted);
	return -FI_EAGAIN;
}
EXPORT_SYMBOL_GPL(kfi_ep_again);

void kfi_ep_call_space(struct fid_ep *ep, unsigned int bit)
{
	if (!test_and_clear_bit(bit, &ep->space_wanted) || !ep->space.fn)
		return;
	if (fi_ep_state(ep) != KFI_EP_CLOSED)
		ep->space.fn(ep, bit ? FI_RECV : FI_TRANSMIT,
			     ep->space.context);
}
EXPORT_SYMBOL_GPL(kfi_ep_call_space);
