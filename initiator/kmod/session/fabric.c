// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: the kfabric objects: of each address of a device's brick, and of each of
 * its queues.
 *
 * A queue's endpoint has event and completion queues of its own: what they say
 * is of this endpoint and of no earlier one.
 *
 * Context: process; queues are opened and closed by the session work, or when
 * that is gone.
 */
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <net/net_namespace.h>

#include "kfb_initiator_retain.h"
#include "link.h"
#include "../io/requests.h"

/* No operation of the data path may move nothing for longer: it ends the
 * connection.
 */
#define OP_TIMEOUT_MS 10000

static int kfbk_route_get_info(const struct kfbk_options *o,
			       const struct kfbk_address *address,
			       struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->op_timeout_ms = OP_TIMEOUT_MS;
	hints->ep_attr->cm_timeout_ms = o->timeout_ms;
	hints->domain_attr->mr_mode = ~0u;
	/* Every request with a flush behind it, and the messages. */
	hints->tx_attr->size = 2 * KFBK_DEPTH + KFB_ENGINE_TX_MAX;
	hints->rx_attr->size = KFB_INITIATOR_RX_MAX;
	hints->fabric_attr->prov_name = kstrdup(o->provider, GFP_KERNEL);
	if (hints->fabric_attr->prov_name)
		ret = fi_getinfo(FI_VERSION(1, 0), address->addr, address->port,
				 0, hints, info);
	fi_freeinfo(hints);
	return ret;
}

static void kfbk_fabric_close_fid(struct kfid *fid)
{
	WARN_ON_ONCE(fi_close(fid));
}

static void kfbk_route_close(struct kfbk_route *route)
{
	if (route->domain)
		kfbk_fabric_close_fid(&route->domain->fid);
	if (route->fabric)
		kfbk_fabric_close_fid(&route->fabric->fid);
	fi_freeinfo(route->info);
	memset(route, 0, sizeof(*route));
}

static size_t kfbk_route_ctx_bytes(const struct fi_info *info)
{
	return round_up(offsetof(struct kfbk_ctx, fi) +
				info->domain_attr->op_context_size,
			8);
}

/* Memory and the disk's limits are of what was there at attach. */
static bool kfbk_route_fits(const struct kfbk_device *dev,
			    const struct fi_info *info)
{
	return kfbk_route_ctx_bytes(info) <= dev->ctx_bytes &&
	       info->tx_attr->iov_limit >= dev->max_segments &&
	       info->domain_attr->seg_max_size >= dev->max_segment_bytes &&
	       info->ep_attr->max_msg_size >= dev->max_op_bytes;
}

static void kfbk_route_limit(struct kfbk_device *dev,
			     const struct fi_info *info)
{
	dev->ctx_bytes = max(dev->ctx_bytes, kfbk_route_ctx_bytes(info));
	dev->max_segments =
		min_t(size_t, info->tx_attr->iov_limit, dev->max_segments);
	dev->max_segment_bytes = min_t(size_t, info->domain_attr->seg_max_size,
				       dev->max_segment_bytes);
	dev->max_op_bytes =
		min_t(size_t, info->ep_attr->max_msg_size, dev->max_op_bytes);
}

/* Leaves nothing when it fails. */
static int kfbk_route_open(struct kfbk_device *dev, u32 index)
{
	struct kfbk_route *route = &dev->routes[index];
	int ret = kfbk_route_get_info(
		&dev->options, &dev->options.addresses[index], &route->info);

	ret = ret ?: fi_fabric(route->info->fabric_attr, &route->fabric, NULL);
	ret = ret
		      ?: fi_domain(route->fabric, route->info, &route->domain,
				   NULL);
	if (ret)
		kfbk_route_close(route);
	return ret;
}

/* One that was not there at attach. A work looks in the first network namespace. */
static int kfbk_route_open_late(struct kfbk_queue *q)
{
	struct kfbk_device *dev = q->dev;
	struct kfbk_route *route = &dev->routes[q->core.address];
	int ret;

	if (!dev->is_in_init_net) {
		q->core.why =
			"this address was not there at attach, and is not looked for from another network namespace than the first: attach the disk anew";
		return -ENETUNREACH;
	}
	ret = kfbk_route_open(dev, q->core.address);
	if (!ret && !kfbk_route_fits(dev, route->info)) {
		kfbk_route_close(route);
		q->core.why =
			"this address was not there at attach, and its network device can do less than those that were: attach the disk anew";
		ret = -EPROTONOSUPPORT;
	}
	return ret;
}

int kfbk_fabric_open(struct kfbk_device *dev)
{
	const struct kfbk_options *o = &dev->options;
	int error = 0, ret;
	bool any = false;
	u32 i;

	dev->is_in_init_net = net_eq(current->nsproxy->net_ns, &init_net);
	dev->max_segments = KFBK_SEGMENTS_MAX;
	dev->max_segment_bytes = UINT_MAX;
	dev->max_op_bytes = SIZE_MAX;
	for (i = 0; i < o->n_addresses; i++) {
		ret = kfbk_route_open(dev, i);
		if (!ret) {
			kfbk_route_limit(dev, dev->routes[i].info);
			any = true;
			continue;
		}
		error = error ?: ret;
		kfbk_info(dev, "there is no way to %s so far: %s\n",
			  o->addresses[i].addr, fi_strerror(ret));
		/* A network that is away is tried again when it is wanted. */
		if (ret == -EINVAL || ret == -ENOMEM)
			return ret;
	}
	return any ? 0 : error;
}

void kfbk_fabric_close(struct kfbk_device *dev)
{
	u32 i;

	for (i = 0; i < dev->options.n_addresses; i++)
		kfbk_route_close(&dev->routes[i]);
}

static void kfbk_queue_has_event(struct fid_eq *eq, void *context)
{
	struct kfbk_queue *q = context;

	kfbk_kick(q->dev);
}

/* There is room again for what was refused. Context: upcall. */
static void kfbk_queue_has_space(struct fid_ep *ep, u64 dir, void *context)
{
	struct kfbk_queue *q = context;
	struct kfbk_device *dev = q->dev;

	kfbk_lock(dev);
	if (q->ep == ep) {
		kfb_initiator_send_unsent(&q->core);
		kfbk_data_pump(q);
		kfb_initiator_replay_pump(&dev->core);
		kfb_initiator_pump_flushes(&dev->core);
	}
	if (dev->disk)
		blk_mq_run_hw_queues(dev->disk->queue, true);
	kfbk_unlock(dev);
}

/*
 * Nothing that tcp carries is encrypted: it leaves this host by a WireGuard
 * interface alone, unless the administrator allows more. The connection is bound
 * to that: when the tunnel goes it does not go on elsewhere.
 */
static int kfbk_queue_choose_path(struct kfbk_queue *q, struct fid_ep *ep)
{
	struct kfbk_device *dev = q->dev;
	struct fi_path found = {};
	size_t len = sizeof(found);
	enum kfb_path path = KFB_PATH_RDMA;
	int ret;

	ret = fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_PATH, &found, &len);
	if (ret && ret != -ENOSYS)
		return ret;
	if (!ret)
		path = kfb_path_of(found.is_local, found.kind);
	ret = 0;
	if (path == KFB_PATH_WIREGUARD)
		ret = fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_PATH, &found,
				sizeof(found));
	kfbk_lock(dev);
	dev->path = path;
	strscpy(dev->interface, path == KFB_PATH_LOOPBACK ? "" : found.name,
		sizeof(dev->interface));
	if (path == KFB_PATH_UNTRUSTED && !dev->options.allow_untrusted_tcp) {
		snprintf(
			dev->path_why, sizeof(dev->path_why),
			"it is reached by %s, which is no WireGuard interface, and what tcp carries is not encrypted; see wg show and ip route",
			found.name);
		q->core.why = dev->path_why;
		ret = -EPERM;
	}
	kfbk_unlock(dev);
	return ret;
}

/* One that is enabled, and may go where its path leads. */
static int kfbk_queue_open_endpoint(struct kfbk_queue *q,
				    const struct kfbk_route *route,
				    struct fid_ep **ep)
{
	struct fi_space_handler space = { .fn = kfbk_queue_has_space,
					  .context = q };
	const u64 cq_flags = FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION;
	int ret;

	ret = fi_endpoint(route->domain, route->info, ep, q);
	if (ret)
		return ret;
	ret = fi_ep_bind(*ep, &q->eq->fid, 0);
	ret = ret ?: fi_ep_bind(*ep, &q->cq->fid, cq_flags);
	ret = ret
		      ?: fi_setopt(&(*ep)->fid, FI_OPT_ENDPOINT,
				   FI_OPT_SPACE_HANDLER, &space, sizeof(space));
	ret = ret ?: fi_enable(*ep);
	ret = ret ?: kfbk_queue_choose_path(q, *ep);
	if (ret)
		kfbk_fabric_close_fid(&(*ep)->fid);
	return ret;
}

int kfbk_queue_connect(struct kfbk_queue *q, const u8 *hello, u32 len)
{
	struct fi_eq_attr eq_attr = { .handler = kfbk_queue_has_event };
	struct fi_cq_attr cq_attr = {
		.comp_handler = kfbk_completed,
		.comp_context = FI_CQ_SOFTIRQ,
		.signaling_vector = q->core.index,
	};
	struct kfbk_device *dev = q->dev;
	struct kfbk_route *route = &dev->routes[q->core.address];
	struct fid_ep *ep;
	int ret = 0;

	if (!route->domain)
		ret = kfbk_route_open_late(q);
	ret = ret ?: fi_eq_open(route->fabric, &eq_attr, &q->eq, q);
	ret = ret ?: fi_cq_open(route->domain, &cq_attr, &q->cq, q);
	ret = ret ?: kfbk_queue_open_endpoint(q, route, &ep);
	if (ret)
		return ret;
	kfbk_lock(dev);
	q->ep = ep;
	q->error = 0;
	clear_bit(0, &q->broken);
	q->is_full = false;
	ret = kfb_initiator_opened(&q->core);
	kfbk_unlock(dev);
	return ret ?: fi_connect(ep, NULL, hello, len);
}

/* Context: queue_rq() is stopped, or there is no disk. */
void kfbk_queue_close(struct kfbk_queue *q)
{
	struct kfbk_device *dev = q->dev;
	struct fid_ep *ep;

	kfbk_lock(dev);
	ep = q->ep;
	q->ep = NULL;
	kfbk_unlock(dev);
	synchronize_rcu();
	if (ep)
		kfbk_fabric_close_fid(&ep->fid);
	if (q->cq)
		kfbk_fabric_close_fid(&q->cq->fid);
	if (q->eq)
		kfbk_fabric_close_fid(&q->eq->fid);
	q->cq = NULL;
	q->eq = NULL;
}

static u8 *kfbk_queue_alloc_ctx(const struct kfbk_device *dev, u32 n,
				enum kfbk_ctx_kind kind)
{
	u8 *array = kvcalloc(n, dev->ctx_bytes, GFP_KERNEL);
	u32 i;

	for (i = 0; array && i < n; i++) {
		kfbk_ctx_at(dev, array, i)->kind = kind;
		kfbk_ctx_at(dev, array, i)->index = i;
	}
	return array;
}

int kfbk_queue_init(struct kfbk_device *dev, u32 index)
{
	struct kfbk_queue *q = &dev->queues[index];

	q->dev = dev;
	kfb_initiator_add_queue(&dev->core, &q->core, index);
	spin_lock_init(&q->lock);
	INIT_LIST_HEAD(&q->fua);
	/* Whole pages: a reply is one segment. */
	q->rx = vzalloc(KFB_INITIATOR_RX_MAX * PAGE_ALIGN(KFB_REPLY_MAX_BYTES));
	q->rx_ctx =
		kfbk_queue_alloc_ctx(dev, KFB_INITIATOR_RX_MAX, KFBK_CTX_RECV);
	q->tx_ctx = kfbk_queue_alloc_ctx(dev, KFB_ENGINE_TX_MAX, KFBK_CTX_SEND);
	q->readback_ctx =
		kfbk_queue_alloc_ctx(dev, KFB_FLUSH_PLACES, KFBK_CTX_READBACK);
	return q->rx && q->rx_ctx && q->tx_ctx && q->readback_ctx ? 0 : -ENOMEM;
}

void kfbk_queue_fini(struct kfbk_queue *q)
{
	vfree(q->rx);
	kvfree(q->rx_ctx);
	kvfree(q->tx_ctx);
	kvfree(q->readback_ctx);
}
