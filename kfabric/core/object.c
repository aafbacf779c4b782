// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: life cycle of objects; the drawing is in kfi_provider.h.
 *
 * Locking: kfi_obj_mutex protects the list of all objects. fid->users counts
 * children and bindings; fi_close() moves it from 0 to far below 0, after
 * which pins fail. fid->ref counts the memory.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "core.h"
#include "trace.h"

DEFINE_MUTEX(kfi_obj_mutex);
LIST_HEAD(kfi_obj_list);

static atomic_t kfi_next_id = ATOMIC_INIT(0);
static struct workqueue_struct *kfi_reaper;

static const char *const kfi_class_names[FI_CLASS_COUNT] = {
	[FI_CLASS_UNSPEC] = "none",	[FI_CLASS_FABRIC] = "fabric",
	[FI_CLASS_DOMAIN] = "domain",	[FI_CLASS_EP] = "ep",
	[FI_CLASS_PEP] = "pep",		[FI_CLASS_MR] = "mr",
	[FI_CLASS_CQ] = "cq",		[FI_CLASS_EQ] = "eq",
	[FI_CLASS_AV] = "av",		[FI_CLASS_CONNREQ] = "connreq",
	[FI_CLASS_SEP] = "sep",		[FI_CLASS_TX_CTX] = "tx_ctx",
	[FI_CLASS_RX_CTX] = "rx_ctx",	[FI_CLASS_CNTR] = "cntr",
	[FI_CLASS_SRX_CTX] = "srx_ctx",
};

const char *kfi_class_name(enum fi_class fclass)
{
	return fclass < FI_CLASS_COUNT ? kfi_class_names[fclass] : "?";
}

bool kfi_obj_pin(struct kfid *fid)
{
	return atomic_inc_unless_negative(&fid->users);
}

void kfi_obj_unpin(struct kfid *fid)
{
	atomic_dec(&fid->users);
}

static void kfi_reap_work(struct work_struct *work)
{
	struct kfid *fid = container_of(work, struct kfid, reap);

	fid->reap_fn(fid);
	kfi_obj_put(fid);
}

/*
 * A connection request does not keep its passive endpoint from being closed:
 * closing rejects it. All other children do.
 */
static bool kfi_pins_parent(enum fi_class fclass)
{
	return fclass != FI_CLASS_CONNREQ;
}

int kfi_obj_init(struct kfid *fid, enum fi_class fclass,
		 struct kfi_provider *prov, struct kfid *parent,
		 const struct fi_ops *ops, void *context)
{
	if (!KFI_HAS_OP(ops, release))
		return -EINVAL;
	if (!kfi_prov_get(prov))
		return -ENODEV;
	fid->fclass = fclass;
	if (parent &&
	    (kfi_pins_parent(fclass) ? !kfi_obj_pin(parent)
				     : atomic_read(&parent->users) < 0)) {
		kfi_prov_put(prov);
		return -EINVAL;
	}
	if (parent) {
		kref_get(&parent->ref);
		fid->parent = parent;
	}
	fid->id = atomic_inc_return(&kfi_next_id);
	fid->context = context;
	fid->ops = ops;
	fid->prov = prov;
	kref_init(&fid->ref);
	atomic_set(&fid->users, 0);
	INIT_WORK(&fid->reap, kfi_reap_work);
	atomic_inc(&prov->nr_objects);
	mutex_lock(&kfi_obj_mutex);
	list_add_tail(&fid->node, &kfi_obj_list);
	mutex_unlock(&kfi_obj_mutex);
	trace_kfabric_object(fid, "open");
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_obj_init);

void kfi_obj_get(struct kfid *fid)
{
	kref_get(&fid->ref);
}
EXPORT_SYMBOL_GPL(kfi_obj_get);

static void kfi_obj_release(struct kref *ref)
{
	struct kfid *fid = container_of(ref, struct kfid, ref);
	struct kfi_provider *prov = fid->prov;
	struct kfid *parent = fid->parent;
	struct fi_info *info = NULL;
	struct net *net = NULL;

	if (fid->fclass == FI_CLASS_FABRIC)
		net = container_of(fid, struct fid_fabric, fid)->net;
	if (fid->fclass == FI_CLASS_PEP)
		info = container_of(fid, struct fid_pep, fid)->info;
	mutex_lock(&kfi_obj_mutex);
	list_del(&fid->node);
	mutex_unlock(&kfi_obj_mutex);
	trace_kfabric_object(fid, "release");
	fid->ops->release(fid);
	kfabric_freeinfo(info);
	if (net)
		put_net(net);
	if (parent)
		kfi_obj_put(parent);
	atomic_dec(&prov->nr_objects);
	kfi_prov_put(prov);
}

void kfi_obj_put(struct kfid *fid)
{
	kref_put(&fid->ref, kfi_obj_release);
}
EXPORT_SYMBOL_GPL(kfi_obj_put);

void kfi_obj_kfree(struct kfid *fid)
{
	kfree(fid);
}
EXPORT_SYMBOL_GPL(kfi_obj_kfree);

const struct fi_ops kfi_plain_ops = {
	.size = sizeof(struct fi_ops),
	.release = kfi_obj_kfree,
};
EXPORT_SYMBOL_GPL(kfi_plain_ops);

/* The upper layer's handle is gone, and with it the hold on the parent. */
static void kfi_obj_retire(struct kfid *fid)
{
	if (fid->parent && kfi_pins_parent(fid->fclass))
		kfi_obj_unpin(fid->parent);
	kfi_obj_put(fid);
}

void kfi_obj_abort(struct kfid *fid)
{
	atomic_set(&fid->users, KFI_USERS_CLOSED);
	kfi_obj_retire(fid);
}
EXPORT_SYMBOL_GPL(kfi_obj_abort);

void kfi_obj_reap(struct kfid *fid, void (*fn)(struct kfid *fid))
{
	kref_get(&fid->ref);
	fid->reap_fn = fn;
	queue_work(kfi_reaper, &fid->reap);
}
EXPORT_SYMBOL_GPL(kfi_obj_reap);

/* The provider's code has stopped: undo what the core did for the class. */
static void kfi_obj_after_close(struct kfid *fid)
{
	struct fid_pep *pep;
	struct fid_ep *ep;
	struct fid_mr *mr;

	if (kfi_is_ep(fid)) {
		ep = container_of(fid, struct fid_ep, fid);
		kfi_ep_unbind(ep);
		kfi_ctx_give_back(ep);
		return;
	}
	switch (fid->fclass) {
	case FI_CLASS_PEP:
		pep = container_of(fid, struct fid_pep, fid);
		if (pep->eq) {
			kfi_eq_forget(pep->eq, fid);
			kfi_obj_unpin(&pep->eq->fid);
		}
		break;
	case FI_CLASS_MR:
		mr = container_of(fid, struct fid_mr, fid);
		if (mr->ep)
			kfi_obj_unpin(&mr->ep->fid);
		break;
	case FI_CLASS_CQ:
		kfi_cq_drop(container_of(fid, struct fid_cq, fid));
		break;
	case FI_CLASS_EQ:
		kfi_eq_forget(container_of(fid, struct fid_eq, fid), NULL);
		break;
	default:
		break;
	}
}

int kfabric_close(struct kfid *fid)
{
	int users;

	might_sleep();
	if (fid->fclass == FI_CLASS_CONNREQ)
		return -EINVAL;
	users = atomic_cmpxchg(&fid->users, 0, KFI_USERS_CLOSED);
	if (users)
		return users > 0 ? -EBUSY : -EINVAL;
	trace_kfabric_object(fid, "close");
	if (kfi_is_ep(fid))
		kfi_ep_move(container_of(fid, struct fid_ep, fid),
			    KFI_EP_CLOSED);
	if (KFI_HAS_OP(fid->ops, close))
		fid->ops->close(fid);
	kfi_obj_after_close(fid);
	kfi_obj_retire(fid);
	return 0;
}
EXPORT_SYMBOL_GPL(kfabric_close);

int kfi_obj_setup(void)
{
	/* Nothing that frees memory waits for the queue; its work may flush. */
	kfi_reaper = alloc_workqueue("kfabric_reaper", WQ_UNBOUND, 0);
	return kfi_reaper ? 0 : -ENOMEM;
}

void kfi_obj_teardown(void)
{
	destroy_workqueue(kfi_reaper);
}
