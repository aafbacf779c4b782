// SPDX-License-Identifier: BSD-2-Clause
/*
 * Providers of kfabric: endpoints are ends of simulated links. Each has a thread
 * that stands for its interrupts; an operation of several pieces goes over the
 * link piece by piece, and is done when the last one is.
 */
#include "fabric.h"

#include <linux/completion.h>
#include <linux/in.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include <kfabric/kfi_post.h>

#include "nic.h"

#define QUEUE_MAX    512 /* operations, as far as it says */
#define TX_MAX	     100 /* and as far as there is room */
#define TX_FEW	     12
#define FEW_PERMILLE 300
#define IOV_LIMIT    8
#define MSG_MAX	     (1UL << 23)
#define TIMEOUT_MS   10000

/*
 * struct sim_kep - an endpoint
 * @nic: its end of the link
 * @held: posted with FI_MORE: they wait for the doorbell
 * @ops: that are under way
 * @n_senders: who sends in a context of its own, and may sleep
 * @moved: bytes
 * @gone: its thread has ended
 */
struct sim_kep {
	struct kfi_post_ep post;
	struct km_nic *nic;
	u16 port;
	struct list_head held;
	struct list_head ops;
	u32 n_senders;
	u64 moved;
	struct completion gone;
};

static struct sim_kep *to_sim_kep(struct fid_ep *ep)
{
	return container_of(ep, struct sim_kep, post.ep);
}

/* ---- posting ---------------------------------------------------------------------- */

static int post_piece(const struct sim_kep *ep, const struct kfi_op *op, u8 *at,
		      size_t len, u64 done, void *context)
{
	const struct fi_rma_iov *rma = &op->rma[0];

	switch (op->type) {
	case KFI_OP_SEND:
		return km_nic_send(ep->nic, at, len, context);
	case KFI_OP_RECV:
		return km_nic_recv(ep->nic, at, len, context);
	case KFI_OP_WRITE:
		return km_nic_write(ep->nic, at, len, rma->addr + done,
				    rma->key, op->flags & FI_COMMIT_COMPLETE,
				    context);
	default:
		return km_nic_read(ep->nic, at, len, rma->addr + done, rma->key,
				   context);
	}
}

/* Pieces that lie together go as one. */
static int post_pieces(const struct sim_kep *ep, struct kfi_op *op)
{
	size_t total = op->buf.len, done = 0, len = 0, n;
	struct kfi_buf_iter it;
	struct kfi_seg seg;
	u8 *at = NULL;
	int ret = 0;

	kfi_buf_start(&it, &op->buf);
	while (!ret && (n = kfi_buf_next(&it, total, &seg))) {
		u8 *next = (u8 *)page_address(seg.page) + seg.offset;

		if (len && at + len != next) {
			ret = post_piece(ep, op, at, len, done, NULL);
			done += len;
			len = 0;
		}
		at = len ? at : next;
		len += n;
	}
	return ret ?: post_piece(ep, op, at, len, done, op);
}

/* The doorbell. What the link refuses ends with it, when that is heard. */
static void submit(struct kfi_post_ep *post)
{
	struct sim_kep *ep = to_sim_kep(&post->ep);
	struct kfi_op *op;

	while (!list_empty(&ep->held)) {
		op = list_first_entry(&ep->held, struct kfi_op, node);
		list_move_tail(&op->node, &ep->ops);
		(void)post_pieces(ep, op);
	}
}

static int queue(struct kfi_post_ep *post, struct kfi_op *op)
{
	struct sim_kep *ep = to_sim_kep(&post->ep);

	if (op->type == KFI_OP_FLUSH)
		kfi_post_make_readback(op);
	list_add_tail(&op->node, &ep->held);
	if (!(op->flags & FI_MORE))
		submit(post);
	return 0;
}

/* Whoever sends sleeps, as a socket has it, and the endpoint has to be there still. */
static void submit_inline(struct kfi_post_ep *post)
{
	struct sim_kep *ep = to_sim_kep(&post->ep);
	unsigned long irq;

	km_check_may_sleep("submit_inline()");
	ep->n_senders++;
	km_may_yield();
	spin_lock_irqsave(&post->lock, irq);
	submit(post);
	spin_unlock_irqrestore(&post->lock, irq);
	ep->n_senders--;
}

static const struct kfi_post_ops post_ops = {
	.size = sizeof(struct kfi_post_ops),
	.queue = queue,
	.kick = submit,
	.submit_inline = submit_inline,
};

/* ---- what happens ------------------------------------------------------------------- */

static void finish(struct sim_kep *ep, struct kfi_op *op, int error)
{
	op->comp->entry.err = error;
	kfi_post_done(&ep->post, op);
}

/* Nothing is posted from now on; what was ends. */
static void break_off(struct sim_kep *ep, struct kfi_op *why, int error)
{
	unsigned long irq;
	struct kfi_op *op;

	spin_lock_irqsave(&ep->post.lock, irq);
	ep->post.broken = true;
	spin_unlock_irqrestore(&ep->post.lock, irq);
	if (why)
		finish(ep, why, error);
	for (;;) {
		spin_lock_irqsave(&ep->post.lock, irq);
		list_splice_init(&ep->held, ep->ops.prev);
		op = list_first_entry_or_null(&ep->ops, struct kfi_op, node);
		spin_unlock_irqrestore(&ep->post.lock, irq);
		if (!op)
			return;
		finish(ep, op, FI_ECANCELED);
	}
}

static void connected(struct sim_kep *ep, const struct km_nic_event *event)
{
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	ep->post.up = true;
	spin_unlock_irqrestore(&ep->post.lock, irq);
	kfi_ep_connected(&ep->post.ep, event->data, event->len);
}

static void completed(struct sim_kep *ep, struct kfi_op *op, size_t len)
{
	if (!op)
		return;
	ep->moved += len;
	if (op->type == KFI_OP_RECV)
		op->comp->entry.len = len;
	finish(ep, op, 0);
}

static void interrupts(void *arg)
{
	struct sim_kep *ep = arg;
	struct km_nic_event event;

	km_current()->is_softirq = true;
	do {
		km_nic_next(ep->nic, &event);
		switch (event.kind) {
		case KM_NIC_DONE:
			completed(ep, event.context, event.len);
			break;
		case KM_NIC_FAILED:
			break_off(ep, event.context, event.error);
			break;
		case KM_NIC_CONNECTED:
			connected(ep, &event);
			break;
		case KM_NIC_REFUSED:
		case KM_NIC_SHUTDOWN:
			if (kfi_ep_down(&ep->post.ep, event.error, 0,
					event.data, event.len))
				break_off(ep, NULL, 0);
			break;
		case KM_NIC_CALLED:
			break;
		}
	} while (event.kind != KM_NIC_CALLED);
	km_nic_close(ep->nic);
	break_off(ep, NULL, 0);
	complete(&ep->gone);
}

/* ---- endpoints ----------------------------------------------------------------------- */

uint64_t sim_hold_up_ns;

/* Cards take their time, and others run meanwhile; packets come all the same. */
static void hold_up(void)
{
	if (sim_hold_up_ns)
		km_sleep_until(km_now_ns() + km_below(sim_hold_up_ns));
}

static int ep_connect(struct fid_ep *fid, const void *addr, const void *data,
		      size_t len)
{
	struct sim_kep *ep = to_sim_kep(fid);
	const struct sockaddr_in *sin = addr;

	int ret = km_nic_connect(ep->nic, sin ? ntohs(sin->sin_port) : ep->port,
				 data, len);

	hold_up();
	return ret;
}

static int ep_shutdown(struct fid_ep *fid, u64 flags)
{
	return -ENOSYS;
}

static void ep_close(struct kfid *fid)
{
	struct sim_kep *ep = container_of(fid, struct sim_kep, post.ep.fid);

	if (ep->n_senders)
		km_broken("an endpoint is closed on which somebody sends");
	km_nic_call(ep->nic);
	wait_for_completion(&ep->gone);
	hold_up();
}

static void ep_release(struct kfid *fid)
{
	struct sim_kep *ep = container_of(fid, struct sim_kep, post.ep.fid);

	km_nic_free(ep->nic);
	kvfree(ep->post.slot_mem);
	kfree(ep);
}

static u64 ep_moved(struct fid_ep *fid)
{
	return to_sim_kep(fid)->moved;
}

static const struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = ep_close,
	.release = ep_release,
};

static const struct fi_ops_cm ep_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.connect = ep_connect,
	.shutdown = ep_shutdown,
};

static const struct kfi_ep_ops ep_ops = {
	.fid = &ep_fid_ops,
	.cm = &ep_cm_ops,
	.msg = &kfi_post_msg_ops,
	.rma = &kfi_post_rma_ops,
	.moved = ep_moved,
};

static bool is_socket(const struct fi_info *info)
{
	return !strcmp(info->fabric_attr->name, KM_FABRIC_SOCKET);
}

/* Some devices have room for few operations: posts are refused for a while. */
static void limit(struct sim_kep *ep)
{
	size_t receives = ep->post.rx_attr.size;

	kfi_post_limit(&ep->post, km_chance(FEW_PERMILLE) ? TX_FEW : TX_MAX,
		       IOV_LIMIT, MSG_MAX);
	ep->post.rx_attr.size = receives;
	ep->post.rx_free = receives;
}

static int ep_open(struct fid_domain *domain, struct fi_info *info,
		   struct fid_ep **out, void *context)
{
	const struct sockaddr_in *sin = info->dest_addr;
	struct sim_kep *ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	int ret;

	if (!ep)
		return -ENOMEM;
	INIT_LIST_HEAD(&ep->held);
	INIT_LIST_HEAD(&ep->ops);
	init_completion(&ep->gone);
	ep->port = ntohs(sin->sin_port);
	kfi_post_init(&ep->post, info, &post_ops);
	ep->post.ep.is_inline = is_socket(info);
	limit(ep);
	ret = kfi_post_alloc_slots(&ep->post, sizeof(struct kfi_op));
	ret = ret ?: kfi_ep_init(&ep->post.ep, domain, info, &ep_ops, context);
	if (ret) {
		kvfree(ep->post.slot_mem);
		kfree(ep);
		return ret;
	}
	ep->nic = km_nic_open();
	km_start("interrupts", interrupts, ep);
	*out = &ep->post.ep;
	return 0;
}

/* ---- domains, infos --------------------------------------------------------------------- */

static void domain_release(struct kfid *fid)
{
	kfree(container_of(fid, struct fid_domain, fid));
}

static const struct fi_ops domain_fid_ops = {
	.size = sizeof(struct fi_ops),
	.release = domain_release,
};

static const struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.endpoint = ep_open,
	.cq_open = kfi_plain_cq_open,
};

static int domain_open(struct fid_fabric *fabric, struct fi_info *info,
		       struct fid_domain **out, void *context)
{
	struct fid_domain *domain = kzalloc(sizeof(*domain), GFP_KERNEL);
	int ret;

	if (!domain)
		return -ENOMEM;
	ret = kfi_domain_init(domain, fabric, &domain_fid_ops, &domain_ops, 0,
			      context);
	if (ret)
		kfree(domain);
	else
		*out = domain;
	return ret;
}

static const struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = domain_open,
};

static void fill(struct fi_info *info)
{
	const u64 tx = FI_SEND | FI_READ | FI_WRITE;

	info->caps = FI_MSG | FI_RMA | tx | FI_RECV | FI_REMOTE_COMM;
	info->addr_format = FI_SOCKADDR_IN;
	*info->tx_attr = (struct fi_tx_attr){
		.caps = FI_MSG | FI_RMA | tx,
		.comp_levels = FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE,
		.inject_size = KFI_POST_INJECT_SIZE,
		.size = QUEUE_MAX,
		.iov_limit = IOV_LIMIT,
		.rma_iov_limit = 1,
	};
	*info->rx_attr = (struct fi_rx_attr){ .caps = FI_MSG | FI_RECV,
					      .size = QUEUE_MAX,
					      .iov_limit = 1 };
	*info->ep_attr = (struct fi_ep_attr){
		.type = FI_EP_MSG,
		.protocol = FI_PROTO_RDMA_CM_IB_RC,
		.protocol_version = 1,
		.max_msg_size = MSG_MAX,
		.cm_data_size = KM_NIC_DATA_MAX,
		.flush_modes = FI_FLUSH_READBACK,
		.op_timeout_ms = TIMEOUT_MS,
		.cm_timeout_ms = TIMEOUT_MS,
	};
	info->domain_attr->seg_max_size = SIZE_MAX;
	info->domain_attr->op_context_size =
		KFI_OP_CONTEXT_SIZE(sizeof(struct kfi_op));
	info->domain_attr->caps = FI_REMOTE_COMM;
}

static int getinfo(struct kfi_provider *prov, const char *node,
		   const char *service, u64 flags, const struct fi_info *hints,
		   struct fi_info **out)
{
	struct fi_info *info = fi_allocinfo();
	int ret = -ENOMEM;

	if (!info)
		return -ENOMEM;
	fill(info);
	if (!strcmp(prov->name, KM_FABRIC_SOCKET))
		info->tx_attr->comp_levels |= FI_COMMIT_COMPLETE;
	kfi_obey_hints(info, hints);
	info->domain_attr->name = kstrdup(prov->name, GFP_KERNEL);
	info->fabric_attr->name = kstrdup(prov->name, GFP_KERNEL);
	if (info->domain_attr->name && info->fabric_attr->name)
		ret = kfi_resolve(node, service, flags, hints, info);
	if (ret)
		fi_freeinfo(info);
	else
		*out = info;
	return ret;
}

static struct kfi_provider sim_kernel_providers[] = {
	{ .name = KM_FABRIC, .preference = 10 },
	{ .name = KM_FABRIC_SOCKET, .preference = 20 },
};

int km_fabric_init(void)
{
	int ret = 0;

	for (u32 i = 0; !ret && i < ARRAY_SIZE(sim_kernel_providers); i++) {
		struct kfi_provider *prov = &sim_kernel_providers[i];

		prov->version = FI_VERSION(1, 0);
		prov->fi_version =
			FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
		prov->getinfo = getinfo;
		prov->fabric = kfi_plain_fabric;
		prov->fabric_ops = &fabric_ops;
		ret = kfi_provider_register(prov);
	}
	return ret;
}

/* ---- what of the core is not here ---------------------------------------------------------- */

void kfi_debugfs_setup(void);
void kfi_debugfs_teardown(void);

void kfi_debugfs_setup(void)
{
}

void kfi_debugfs_teardown(void)
{
}
