// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: RDMA devices as they come and go.
 *
 * Removal: every domain of the device dies with its endpoints and regions;
 * what they have of the device is freed here or, if a close was under way, by
 * the reaper; remove() returns when nobody has anything of the device left.
 * The connection manager is asked to let go of its ids after us, as it
 * registered as a client before us.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include <compat.h>

#include "verbs.h"

static bool kfiv_siw;
module_param_named(siw, kfiv_siw, bool, 0444);
MODULE_PARM_DESC(siw, "use software iWARP too: it lets peers read on after a "
		      "region was closed");

DEFINE_MUTEX(kfiv_device_mutex);
LIST_HEAD(kfiv_devices);

struct kfiv_device *kfiv_device_find(struct ib_device *ib)
{
	lockdep_assert_held(&kfiv_device_mutex);
	return ib_get_client_data(ib, &kfiv_client);
}

void kfiv_device_put(struct kfiv_device *dev)
{
	if (refcount_dec_and_test(&dev->users))
		complete(&dev->idle);
}

static bool kfiv_is_siw(const struct ib_device *ib)
{
	return ib->ops.driver_id == RDMA_DRIVER_SIW;
}

/* Operations that a queue can take, besides work requests of our own. */
size_t kfiv_max_queue(const struct kfiv_device *dev)
{
	int own = KFIV_OWN_WRS + (dev->iwarp ? KFIV_SINK_WRS : 0);

	return max(dev->ib->attrs.max_qp_wr - own, 2);
}

/*
 * Bytes that can be mapped as one: a length on the wire is 32 bits, and bounce
 * buffers, through which all I/O goes in guests whose memory is encrypted, take
 * less. Whole pages, so that disks may be told. Not inlined: tests say what it is
 * (tests/vm/probe).
 */
static noinline __noclone size_t kfiv_max_mapping(struct ib_device *ib)
{
	size_t most = min_t(size_t, SZ_1G, ib_dma_max_seg_size(ib));

	if (!ib_uses_virt_dma(ib))
		most = min(most, dma_max_mapping_size(ib->dma_device));
	return max(round_down(most, PAGE_SIZE), PAGE_SIZE);
}

/*
 * Receives that a shared context may have. An endpoint that shares them must have room
 * in a CQ for all, besides its sends. Not inlined: tests say that there are none
 * (tests/vm/probe).
 */
static noinline __noclone u32 kfiv_max_srq(struct ib_device *ib)
{
	if (!ib->ops.create_srq || ib->attrs.max_srq <= 0)
		return 0;
	return min(ib->attrs.max_srq_wr, ib->attrs.max_cqe / 2);
}

/* Limits are what all ports can do; of some devices no port is up yet. */
static void kfiv_read_limits(struct kfiv_device *dev)
{
	const struct ib_device_attr *attr = &dev->ib->attrs;
	u32 pages =
		min_t(u32, attr->max_fast_reg_page_list_len, KFIV_SINK_PAGES);
	struct ib_port_attr port;
	u32 i;

	dev->max_sge =
		min3(attr->max_send_sge, attr->max_recv_sge, KFIV_MAX_SGE);
	dev->max_seg = kfiv_max_mapping(dev->ib);
	dev->max_srx = kfiv_max_srq(dev->ib);
	dev->siw = kfiv_is_siw(dev->ib);
	/*
	 * Does it say nothing when a queue pair that has failed has done with its shared
	 * receives? The InfiniBand specification (volume 1, affiliated asynchronous
	 * events) has "last WQE reached" for it.
	 */
	dev->mute = dev->siw || (dev->ib->ops.driver_id == RDMA_DRIVER_RXE &&
				 !KFI_RXE_LAST_WQE);
	dev->max_msg_size = SIZE_MAX;
	rdma_for_each_port(dev->ib, i)
	{
		if (rdma_protocol_iwarp(dev->ib, i))
			dev->iwarp = true;
		if (!ib_query_port(dev->ib, i, &port) && port.max_msg_sz)
			dev->max_msg_size = min_t(size_t, dev->max_msg_size,
						  port.max_msg_sz);
	}
	dev->atomic = !dev->iwarp && attr->atomic_cap != IB_ATOMIC_NONE;
	/* What is offered holds for reads, too: our users do not split them. */
	if (!dev->iwarp) {
		dev->max_sge = min_t(u32, dev->max_sge, attr->max_sge_rd ?: 1);
		return;
	}
	/*
	 * One registered sink, or several, take the place of all segments of a
	 * read. Each piece between two holes needs one, and so do each so many
	 * pages; there must be enough for the largest message.
	 */
	dev->max_sge = min_t(u32, dev->max_sge, KFIV_MAX_READS / 2);
	dev->max_msg_size = min_t(size_t, dev->max_msg_size,
				  (KFIV_MAX_READS - 1 - dev->max_sge) *
					  (max(pages, 2U) - 1) * PAGE_SIZE);
}

static int kfiv_add_device(struct ib_device *ib)
{
	u32 port = rdma_start_port(ib);
	struct kfiv_device *dev;

	if (kfiv_is_siw(ib) && !kfiv_siw) {
		dev_notice(&ib->dev, "not used, as parameter siw is not set\n");
		return -EOPNOTSUPP;
	}
	if (!rdma_cap_ib_cm(ib, port) && !rdma_cap_iw_cm(ib, port))
		return -EOPNOTSUPP;
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->ib = ib;
	INIT_LIST_HEAD(&dev->domains);
	refcount_set(&dev->users, 1);
	init_completion(&dev->idle);
	kfiv_read_limits(dev);
	mutex_lock(&kfiv_device_mutex);
	ib_set_client_data(ib, &kfiv_client, dev);
	list_add_tail(&dev->node, &kfiv_devices);
	mutex_unlock(&kfiv_device_mutex);
	return 0;
}

static void kfiv_remove_device(struct ib_device *ib, void *data)
{
	struct kfiv_device *dev = data;
	struct kfiv_domain *domain;

	if (!dev)
		return;
	mutex_lock(&kfiv_device_mutex);
	list_del(&dev->node);
	ib_set_client_data(ib, &kfiv_client, NULL);
	while (!list_empty(&dev->domains)) {
		domain = list_first_entry(&dev->domains, struct kfiv_domain,
					  node);
		list_del_init(&domain->node);
		kfi_obj_get(&domain->domain.fid);
		mutex_unlock(&kfiv_device_mutex);
		kfiv_domain_remove(domain);
		kfi_obj_put(&domain->domain.fid);
		mutex_lock(&kfiv_device_mutex);
	}
	mutex_unlock(&kfiv_device_mutex);
	kfiv_device_put(dev);
	wait_for_completion(&dev->idle);
	kfree(dev);
}

struct ib_client kfiv_client = {
	.name = "kfabric_verbs",
	.add = kfiv_add_device,
	.remove = kfiv_remove_device,
};
