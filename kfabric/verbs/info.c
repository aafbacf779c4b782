// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: what there is to communicate with.
 *
 * An address decides on the device: a peer's by asking the connection manager
 * for the way to it, an own one by binding to it. Without either, or with a
 * wildcard, every device is listed. Datagram endpoints are for those who ask for
 * them: the same device with another face.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "dgram.h"

#define CAPS                                                        \
	(FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | \
	 FI_REMOTE_READ | FI_REMOTE_WRITE | FI_LOCAL_COMM | FI_REMOTE_COMM)
#define TX_CAPS (FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE)
#define RX_CAPS (FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)
/*
 * On iWARP payload is placed in any order; what was posted before is there when a READ
 * begins or a message is delivered (RFC 5040, 5.5).
 */
#define IWARP_ORDER                                                  \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_SAW | \
	 FI_ORDER_SAS)
#define FABRIC_NAME	   "rdma_cm"
#define RESOLVE_TIMEOUT_MS 2000
/* A key has so many bytes, and data for the peer's completion has. */
#define WIRE_WORD 4

static void kfiv_clear_port(struct sockaddr_storage *addr)
{
	if (addr->ss_family == AF_INET6)
		((struct sockaddr_in6 *)addr)->sin6_port = 0;
	else
		((struct sockaddr_in *)addr)->sin_port = 0;
}

/* ---- attributes ------------------------------------------------------- */

/* The usual size, or what is demanded if the device has it. */
static size_t kfiv_offer_limit(size_t wanted, size_t most)
{
	return min(max_t(size_t, KFIV_QUEUE_SIZE, wanted), most);
}

/* Fill in what depends on the device. Returns 0 or -ENOMEM. */
static int kfiv_set_device(struct fi_info *info, const struct kfiv_device *dev,
			   const struct fi_info *hints)
{
	const struct fi_tx_attr *tx_hint = hints ? hints->tx_attr : NULL;
	const struct fi_rx_attr *rx_hint = hints ? hints->rx_attr : NULL;
	u32 pages = dev->ib->attrs.max_fast_reg_page_list_len;
	struct fi_domain_attr *domain = info->domain_attr;
	struct fi_tx_attr *tx = info->tx_attr;
	struct fi_rx_attr *rx = info->rx_attr;
	size_t most = kfiv_max_queue(dev);
	bool shares = dev->max_srx && hints && hints->ep_attr &&
		      hints->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;

	tx->caps = TX_CAPS | (dev->atomic ? FI_ATOMIC : 0);
	/*
	 * iWARP completes a write when the stream has taken it. With a READ behind it
	 * it is in the peer's memory everywhere.
	 */
	tx->comp_levels = FI_INJECT_COMPLETE | FI_DELIVERY_COMPLETE;
	if (!dev->iwarp)
		tx->comp_levels |= FI_TRANSMIT_COMPLETE;
	tx->inject_size = KFIV_INJECT_BYTES;
	tx->size = kfiv_offer_limit(tx_hint ? tx_hint->size : 0, most);
	tx->iov_limit = dev->max_sge;
	tx->rma_iov_limit = 1;
	tx->msg_order = dev->iwarp ? IWARP_ORDER : KFI_ORDER_QUEUE_PAIR;
	tx->comp_order = FI_ORDER_STRICT;
	rx->msg_order = tx->msg_order;
	rx->comp_order = FI_ORDER_STRICT;
	rx->caps = RX_CAPS | (dev->atomic ? FI_ATOMIC : 0);
	rx->size = shares ? kfi_srx_offer(dev->max_srx, hints)
			  : kfiv_offer_limit(rx_hint ? rx_hint->size : 0, most);
	rx->iov_limit = dev->max_sge;
	domain->mr_iov_limit = pages;
	domain->mr_max_size = (size_t)pages * PAGE_SIZE;
	domain->seg_max_size = dev->max_seg;
	domain->max_ep_srx_ctx = dev->max_srx ? dev->ib->attrs.max_qp : 0;
	domain->name = kstrdup(dev_name(&dev->ib->dev), GFP_KERNEL);
	return domain->name ? 0 : -ENOMEM;
}

/* What is different where an info is one of datagram endpoints. */
static void kfiv_make_dgram(struct fi_info *info, const struct kfiv_device *dev)
{
	struct fi_ep_attr *ep = info->ep_attr;
	struct fi_tx_attr *tx = info->tx_attr;
	struct fi_rx_attr *rx = info->rx_attr;

	kfi_info_messages(info, FI_ORDER_NONE);
	ep->type = FI_EP_DGRAM;
	ep->protocol = FI_PROTO_IB_UD;
	ep->max_msg_size = dev ? kfiv_dgram_mtu(dev) : 0;
	ep->cm_data_size = 0;
	ep->flush_modes = 0;
	tx->size = min_t(size_t, tx->size, KFIV_DGRAM_QUEUE);
	rx->size = min_t(size_t, rx->size, KFIV_DGRAM_QUEUE);
}

/* Make an info; without a device it has only what does not depend on one. */
static struct fi_info *kfiv_new_info(const struct kfiv_device *dev,
				     const struct fi_info *hints)
{
	struct fi_info *info = fi_allocinfo();
	bool iwarp = dev && dev->iwarp;

	if (!info)
		return NULL;
	info->caps = CAPS | (dev && dev->atomic ? FI_ATOMIC : 0);
	info->addr_format = FI_SOCKADDR;
	*info->ep_attr = (struct fi_ep_attr){
		.type = FI_EP_MSG,
		.protocol = iwarp ? FI_PROTO_IWARP : FI_PROTO_RDMA_CM_IB_RC,
		.protocol_version = 1,
		.max_msg_size = dev ? dev->max_msg_size : 0,
		.cm_data_size = KFIV_CM_DATA_MAX,
		.flush_modes = FI_FLUSH_READBACK,
		.op_timeout_ms = KFIV_OP_TIMEOUT_MS,
		.cm_timeout_ms = KFIV_CM_TIMEOUT_MS,
	};
	info->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				     FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	info->domain_attr->mr_key_size = WIRE_WORD;
	/* iWARP has no immediate data. */
	info->domain_attr->cq_data_size = iwarp ? 0 : WIRE_WORD;
	info->domain_attr->op_context_size = kfiv_op_context_size();
	info->domain_attr->caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
	info->fabric_attr->name = kstrdup(FABRIC_NAME, GFP_KERNEL);
	if (!info->fabric_attr->name)
		goto free_info;
	if (dev && kfiv_set_device(info, dev, hints))
		goto free_info;
	/* iWARP has no datagrams: who asks for them is answered with what there is. */
	if (hints && hints->ep_attr && hints->ep_attr->type == FI_EP_DGRAM &&
	    !iwarp)
		kfiv_make_dgram(info, dev);
	kfi_obey_hints(info, hints);
	return info;

free_info:
	fi_freeinfo(info);
	return NULL;
}

/* Make an info of one device, with addresses. */
static struct fi_info *kfiv_device_info(const struct kfiv_device *dev,
					const struct fi_info *hints,
					const void *src, const void *dest)
{
	struct fi_info *info = kfiv_new_info(dev, hints);
	const struct sockaddr *one = dest ?: src;
	int ret;

	if (!info || !one)
		return info;
	info->addr_format =
		one->sa_family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	ret = kfi_info_set_addr(&info->src_addr, &info->src_addrlen, src,
				src ? kfi_addr_len(src) : 0);
	ret = ret
		      ?: kfi_info_set_addr(&info->dest_addr,
					   &info->dest_addrlen, dest,
					   dest ? kfi_addr_len(dest) : 0);
	if (ret) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}

struct fi_info *kfiv_connreq_info(struct rdma_cm_id *id, bool shares_rx)
{
	struct fi_ep_attr ep = { .rx_ctx_cnt =
					 shares_rx ? FI_SHARED_CONTEXT : 0 };
	const struct fi_info hints = { .ep_attr = &ep };
	struct fi_info *info = NULL;
	struct kfiv_device *dev;

	mutex_lock(&kfiv_device_mutex);
	dev = kfiv_device_find(id->device);
	if (dev)
		info = kfiv_device_info(dev, &hints, &id->route.addr.src_addr,
					&id->route.addr.dst_addr);
	mutex_unlock(&kfiv_device_mutex);
	if (info) {
		info->fabric_attr->prov_name =
			kstrdup(kfiv_provider.name, GFP_KERNEL);
		info->fabric_attr->prov_version = kfiv_provider.version;
		if (!info->fabric_attr->prov_name) {
			fi_freeinfo(info);
			return NULL;
		}
	}
	return info;
}

/* ---- asking the connection manager ------------------------------------ */

/* A CM id that is only asked; lives on the stack of the one who asks. */
struct probe {
	struct kfiv_cm cm;
	struct completion done;
	int result;
};

static int kfiv_probe_event(struct kfiv_cm *cm, struct rdma_cm_id *id,
			    struct rdma_cm_event *event)
{
	struct probe *probe = container_of(cm, struct probe, cm);

	if (event->event == RDMA_CM_EVENT_ADDR_RESOLVED)
		probe->result = 0;
	else
		probe->result = event->status ?: -EHOSTUNREACH;
	complete(&probe->done);
	return 0;
}

static int kfiv_probe_route(struct probe *probe, struct rdma_cm_id *id,
			    void *src, void *dest)
{
	int ret = rdma_resolve_addr(id, src, dest, RESOLVE_TIMEOUT_MS);

	if (ret)
		return ret;
	/* The connection manager keeps to its timeout. */
	wait_for_completion(&probe->done);
	return probe->result;
}

/* Make the info of the device that an address leads to. */
static int kfiv_ask_cm(const struct fi_info *hints, const struct fi_info *want,
		       struct fi_info **info)
{
	struct probe probe = { .cm.handler = kfiv_probe_event };
	struct sockaddr_storage src = {};
	struct kfiv_device *dev;
	struct rdma_cm_id *id;
	int ret;

	init_completion(&probe.done);
	id = rdma_create_id(current->nsproxy->net_ns, kfiv_cm_event, &probe.cm,
			    RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (want->src_addr)
		memcpy(&src, want->src_addr, kfi_addr_len(want->src_addr));
	kfiv_clear_port(&src);
	if (want->dest_addr)
		ret = kfiv_probe_route(&probe, id, want->src_addr ? &src : NULL,
				       want->dest_addr);
	else
		ret = rdma_bind_addr(id, (struct sockaddr *)&src);
	if (ret || !id->device) {
		/* The routing tables say so when they are short of memory. */
		if (ret == -ENOBUFS)
			ret = -ENOMEM;
		/* Whatever else it is, there is no way through this one. */
		if (ret != -ENOMEM)
			ret = -ENODATA;
		goto destroy;
	}
	/* The port is the probe's and will be free again; use the caller's. */
	if (!want->src_addr) {
		memcpy(&src, &id->route.addr.src_addr, sizeof(src));
		kfiv_clear_port(&src);
	}
	mutex_lock(&kfiv_device_mutex);
	dev = kfiv_device_find(id->device);
	*info = dev ? kfiv_device_info(dev, hints, want->src_addr ?: &src,
				       want->dest_addr)
		    : NULL;
	mutex_unlock(&kfiv_device_mutex);
	if (!*info)
		ret = dev ? -ENOMEM : -ENODATA;
destroy:
	rdma_destroy_id(id);
	return ret;
}

/* ---- listing ---------------------------------------------------------- */

static int kfiv_list_devices(const struct fi_info *hints, const void *src,
			     struct fi_info **info)
{
	struct fi_info *head = NULL, **tail = &head;
	struct kfiv_device *dev;
	int ret = 0;

	mutex_lock(&kfiv_device_mutex);
	list_for_each_entry(dev, &kfiv_devices, node) {
		*tail = kfiv_device_info(dev, hints, src, NULL);
		if (!*tail) {
			ret = -ENOMEM;
			break;
		}
		tail = &(*tail)->next;
	}
	mutex_unlock(&kfiv_device_mutex);
	if (!ret && !head)
		ret = -ENODATA;
	if (ret)
		fi_freeinfo(head);
	else
		*info = head;
	return ret;
}

int kfiv_getinfo(struct kfi_provider *prov, const char *node,
		 const char *service, u64 flags, const struct fi_info *hints,
		 struct fi_info **info)
{
	struct fi_info *want;
	bool any;
	int ret;

	if (flags & FI_PROV_ATTR_ONLY) {
		*info = kfiv_new_info(NULL, hints);
		return *info ? 0 : -ENOMEM;
	}
	want = fi_allocinfo();
	if (!want)
		return -ENOMEM;
	ret = kfi_resolve(node, service, flags, hints, want);
	if (ret)
		goto free_want;
	any = !want->src_addr || kfi_name_is_any(want->src_addr);
	if (want->dest_addr || !any)
		ret = kfiv_ask_cm(hints, want, info);
	else
		ret = kfiv_list_devices(hints, want->src_addr, info);
free_want:
	fi_freeinfo(want);
	return ret;
}
