// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A provider that needs nothing of the tree but kfabric's headers and symbols:
 * what an endpoint sends goes into its own receives.
 *
 * Context: posts queue; a work moves bytes and completes.
 * Locking: kfi_post_ep.lock protects the lists.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <kfabric/kfi_av.h>
#include <kfabric/kfi_post.h>

#define MIRROR_NAME  "mirror"
#define MIRROR_QUEUE 16
#define MIRROR_IOVS  4
#define MIRROR_MAX   65536

struct mirror_ep {
	struct kfi_post_ep post;
	struct sockaddr_in name;
	struct list_head sends;
	struct list_head receives;
	struct work_struct work;
};

static struct mirror_ep *to_mirror_ep(struct kfi_post_ep *post)
{
	return container_of(post, struct mirror_ep, post);
}

static int mirror_queue(struct kfi_post_ep *post, struct kfi_op *op)
{
	struct mirror_ep *ep = to_mirror_ep(post);

	list_add_tail(&op->node,
		      op->type == KFI_OP_RECV ? &ep->receives : &ep->sends);
	queue_work(system_unbound_wq, &ep->work);
	return 0;
}

static const struct kfi_post_ops mirror_post_ops = {
	.size = sizeof(struct kfi_post_ops),
	.queue = mirror_queue,
};

/* The first send and the first receive, if there are both. */
static bool mirror_take(struct mirror_ep *ep, struct kfi_op **tx,
			struct kfi_op **rx, struct list_head *busy)
{
	bool both;

	spin_lock_irq(&ep->post.lock);
	both = !list_empty(&ep->sends) && !list_empty(&ep->receives);
	if (both) {
		*tx = list_first_entry(&ep->sends, struct kfi_op, node);
		*rx = list_first_entry(&ep->receives, struct kfi_op, node);
		list_move(&(*tx)->node, busy);
		list_move(&(*rx)->node, busy);
	}
	spin_unlock_irq(&ep->post.lock);
	return both;
}

static void mirror_work(struct work_struct *work)
{
	struct mirror_ep *ep = container_of(work, struct mirror_ep, work);
	struct kfi_buf_iter from, to;
	struct kfi_op *tx, *rx;
	size_t len;
	LIST_HEAD(busy);

	while (mirror_take(ep, &tx, &rx, &busy)) {
		len = min(tx->buf.len, rx->buf.len);
		kfi_buf_start(&from, &tx->buf);
		kfi_buf_start(&to, &rx->buf);
		rx->comp->entry.len = kfi_buf_copy(&to, &from, len);
		rx->comp->entry.olen = tx->buf.len - len;
		rx->comp->entry.err = tx->buf.len > len ? FI_ETRUNC : 0;
		kfi_post_done(&ep->post, rx);
		kfi_post_done(&ep->post, tx);
	}
}

/* ---- endpoints ----------------------------------------------------------- */

static void mirror_end(struct mirror_ep *ep, struct list_head *list)
{
	struct kfi_op *op, *next;

	list_for_each_entry_safe(op, next, list, node) {
		op->comp->entry.err = FI_ECANCELED;
		kfi_post_done(&ep->post, op);
	}
}

static struct mirror_ep *mirror_ep_of(struct kfid *fid)
{
	return container_of(fid, struct mirror_ep, post.ep.fid);
}

static void mirror_ep_close(struct kfid *fid)
{
	struct mirror_ep *ep = mirror_ep_of(fid);

	spin_lock_irq(&ep->post.lock);
	ep->post.broken = true;
	spin_unlock_irq(&ep->post.lock);
	cancel_work_sync(&ep->work);
	mirror_end(ep, &ep->sends);
	mirror_end(ep, &ep->receives);
}

static void mirror_ep_free(struct mirror_ep *ep)
{
	kvfree(ep->post.slot_mem);
	kfree(ep);
}

static void mirror_ep_release(struct kfid *fid)
{
	mirror_ep_free(mirror_ep_of(fid));
}

static int mirror_ep_control(struct kfid *fid, int command, void *arg)
{
	return command == FI_ENABLE ? 0 : -ENOSYS;
}

static int mirror_ep_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	return kfi_copy_addr(&mirror_ep_of(fid)->name, addr, addrlen);
}

static const struct fi_ops mirror_ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mirror_ep_close,
	.release = mirror_ep_release,
	.control = mirror_ep_control,
};

static const struct fi_ops_cm mirror_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = mirror_ep_getname,
};

static const struct kfi_ep_ops mirror_ep_ops = {
	.fid = &mirror_ep_fid_ops,
	.cm = &mirror_cm_ops,
	.msg = &kfi_post_msg_ops,
};

static int mirror_endpoint(struct fid_domain *domain, struct fi_info *info,
			   struct fid_ep **fid, void *context)
{
	struct mirror_ep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	int ret;

	if (!ep)
		return -ENOMEM;
	kfi_post_init(&ep->post, info, &mirror_post_ops);
	kfi_post_limit(&ep->post, MIRROR_QUEUE, MIRROR_IOVS, MIRROR_MAX);
	ep->post.up = true;
	ep->name = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = cpu_to_be16(1),
		.sin_addr.s_addr = cpu_to_be32(INADDR_LOOPBACK),
	};
	INIT_LIST_HEAD(&ep->sends);
	INIT_LIST_HEAD(&ep->receives);
	INIT_WORK(&ep->work, mirror_work);
	ret = kfi_post_alloc_slots(&ep->post, sizeof(struct kfi_op));
	ret = ret
		      ?: kfi_ep_init(&ep->post.ep, domain, info, &mirror_ep_ops,
				     context);
	if (ret) {
		mirror_ep_free(ep);
		return ret;
	}
	*fid = &ep->post.ep;
	return 0;
}

/* ---- the provider -------------------------------------------------------- */

static const struct fi_ops_domain mirror_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.endpoint = mirror_endpoint,
	.cq_open = kfi_plain_cq_open,
	.av_open = kfi_plain_av_open,
};

static int mirror_getinfo(struct kfi_provider *prov, const char *node,
			  const char *service, u64 flags,
			  const struct fi_info *hints, struct fi_info **list)
{
	struct fi_info *info = kfi_post_info(
		MIRROR_NAME, MIRROR_QUEUE, MIRROR_IOVS, sizeof(struct kfi_op));

	if (!info)
		return -ENOMEM;
	info->caps = FI_MSG | FI_SEND | FI_RECV | FI_LOCAL_COMM;
	info->tx_attr->caps = FI_MSG | FI_SEND;
	info->tx_attr->comp_levels = FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |
				     FI_DELIVERY_COMPLETE;
	info->rx_attr->caps = FI_MSG | FI_RECV;
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->max_msg_size = MIRROR_MAX;
	kfi_obey_hints(info, hints);
	*list = info;
	return 0;
}

static struct kfi_provider mirror_prov = {
	.name = MIRROR_NAME,
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.owner = THIS_MODULE,
	.preference = 60,
	.getinfo = mirror_getinfo,
	.fabric = kfi_plain_fabric,
	.domain_ops = &mirror_domain_ops,
};

KFI_MODULE_PROVIDER(mirror_prov);
KFI_MODULE_ALIAS(MIRROR_NAME);
MODULE_DESCRIPTION("a kfabric provider of somebody else");
MODULE_LICENSE("Dual BSD/GPL");
