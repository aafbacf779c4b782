/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: the verbs objects behind those of provider "verbs",
 * for who must ask the device something that kfabric has no words for.
 *
 * fi_open_ops() gives a set of operations for a domain, an endpoint or a region; its
 * get() lends the objects, and put() gives them back. While something is lent it stays,
 * and what would free it waits: fi_close() of the fi object, and the removal of the
 * device. So give it back soon, in any case before you close the object, or wait for
 * whoever has it; whoever waits for the removal of a device must not hold any of it.
 * The set itself is used only while the object is open.
 *
 * With what is lent one may
 *   - read attributes, and ask: ib_query_port(), ib_query_qp(), ib_dma_*();
 *   - make objects of one's own on the protection domain, which must be gone before it
 *     is given back.
 * One must not
 *   - free, change or drain it: no ib_destroy_qp(), ib_modify_qp(), ib_dereg_mr(),
 *     ib_dealloc_pd(), rdma_disconnect();
 *   - post to the queue pair, nor poll or arm a completion queue: the provider counts
 *     what it posts, and takes every completion for one of its own;
 *   - count on what a later kernel has in these structures.
 *
 * A struct fid_cq has no verbs object: completion queues are shares of the device's,
 * which each endpoint takes for itself. Behind a layer ("fault;verbs") there are none
 * of these sets.
 */
#ifndef KFABRIC_FI_VERBS_H
#define KFABRIC_FI_VERBS_H

#include <linux/types.h>

struct fid_domain;
struct fid_ep;
struct fid_mr;
struct ib_cq;
struct ib_device;
struct ib_mr;
struct ib_pd;
struct ib_qp;

/* Names of the sets, for fi_open_ops(). */
#define FI_VERBS_DOMAIN_OPS "verbs_domain_ops" /* struct fi_verbs_ops_domain */
#define FI_VERBS_EP_OPS	    "verbs_ep_ops" /* struct fi_verbs_ops_ep */
#define FI_VERBS_MR_OPS	    "verbs_mr_ops" /* struct fi_verbs_ops_mr */

/**
 * struct fi_verbs_domain - what is behind a domain
 * @device: the RDMA device
 * @pd: protection domain of all its endpoints and regions
 */
struct fi_verbs_domain {
	struct ib_device *device;
	struct ib_pd *pd;
};

/**
 * struct fi_verbs_ep - what is behind an endpoint
 * @qp: queue pair: a reliable connection; of FI_EP_DGRAM an unreliable datagram one
 * @send_cq: where it completes sends, remote memory and atomic operations; shared with
 *	other users of the device
 * @recv_cq: where it completes receives; may be the same
 */
struct fi_verbs_ep {
	struct ib_qp *qp;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;
};

/**
 * struct fi_verbs_ops_domain - set "verbs_domain_ops"
 * @size: sizeof this struct
 * @get: lend; each get has its put. 0; -ENODEV the device is gone, or the domain closed.
 *	Context: process
 * @put: give back. Context: process
 */
struct fi_verbs_ops_domain {
	size_t size;
	int (*get)(struct fid_domain *domain, struct fi_verbs_domain *objects);
	void (*put)(struct fid_domain *domain);
};

/**
 * struct fi_verbs_ops_ep - set "verbs_ep_ops"
 * @size: sizeof this struct
 * @get: lend; each get has its put. 0; -FI_EOPBADSTATE there is no queue pair yet: an
 *	endpoint that connects has one when its way to the peer is known, one that accepts
 *	when it is enabled; -ENOTCONN the connection has ended; -ENODEV the device is gone.
 *	Context: process
 * @put: give back. Context: process
 */
struct fi_verbs_ops_ep {
	size_t size;
	int (*get)(struct fid_ep *ep, struct fi_verbs_ep *objects);
	void (*put)(struct fid_ep *ep);
};

/**
 * struct fi_verbs_ops_mr - set "verbs_mr_ops"
 * @size: sizeof this struct
 * @get: lend; each get has its put. 0; -ENODEV the device is gone. Its key is good when
 *	the region is enabled. Context: process
 * @put: give back; until then fi_close() of the region waits. Context: process
 */
struct fi_verbs_ops_mr {
	size_t size;
	int (*get)(struct fid_mr *mr, struct ib_mr **object);
	void (*put)(struct fid_mr *mr);
};

#endif /* KFABRIC_FI_VERBS_H */
