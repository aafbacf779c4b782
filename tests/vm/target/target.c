// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfi_target: connections. A thread takes events; who wants to connect may, as
 * long as there is a place, and has receives posted; an endpoint whose
 * connection has ended is closed.
 *
 * Lifetime: the thread's, which the module's exit stops.
 */
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>

#include <kfabric/fi_shared.h>

#include "target.h"

#define PEERS	      32
#define RECEIVES      8
#define RECEIVE_BYTES 256
#define SHARED_BYTES  SZ_256K /* of a receive that peers share */
#define LENT_BYTES    SZ_256K /* of the message that a peer may ask for */
#define LENT_BYTE     0x5a
#define LATER_BYTE    0xff /* what its memory has when it is sent */
#define EVENT_MS      50
#define TURN_MS	      100

static char *provider = "tcp", *node = "127.0.0.1", *service = "7471";
module_param(provider, charp, 0444);
MODULE_PARM_DESC(provider, "of the kernel fabric");
module_param(node, charp, 0444);
MODULE_PARM_DESC(node, "address to listen at");
module_param(service, charp, 0444);
MODULE_PARM_DESC(service, "port");
static uint shared;
module_param(shared, uint, 0444);
MODULE_PARM_DESC(
	shared,
	"receives that all peers share, 8 at most; 0: each has its own");
static uint op_timeout_ms;
module_param(op_timeout_ms, uint, 0444);
MODULE_PARM_DESC(op_timeout_ms, "of endpoints; 0: the provider's");

/* Receives that are posted, again and again. */
struct inbox {
	struct fid_ep *ep; /* to which */
	void *ctx[RECEIVES];
	u8 *bytes;
	size_t len; /* of each */
};

struct peer {
	struct fid_ep *ep; /* NULL: the place is free */
	struct fid_cq *cq;
	struct inbox own;
	void *lent_ctx;
	u8 *lent;
	bool lends; /* the message is under way */
};

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;
static struct fid_pep *pep;
static struct peer peers[PEERS];
static struct inbox common; /* where receives are shared */
static struct task_struct *thread;

static uint taken, refused, ended, messages;
module_param(taken, uint, 0444);
MODULE_PARM_DESC(taken, "connections so far (read)");
module_param(refused, uint, 0444);
MODULE_PARM_DESC(refused, "requests that found no place (read)");
module_param(ended, uint, 0444);
MODULE_PARM_DESC(ended, "connections that are over (read)");
module_param(messages, uint, 0444);
MODULE_PARM_DESC(messages, "messages that arrived (read)");

static int get_bad(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%lu\n", target_memory_bad());
}

static int get_regions(char *text, const struct kernel_param *kp)
{
	return target_memory_tell(text);
}

static const struct kernel_param_ops bad_ops = { .get = get_bad };
module_param_cb(bad, &bad_ops, NULL, 0444);
MODULE_PARM_DESC(bad, "bytes that nobody may write and somebody has (read)");
static const struct kernel_param_ops regions_ops = { .get = get_regions };
module_param_cb(regions, &regions_ops, NULL, 0444);
MODULE_PARM_DESC(regions, "name, key, address and length of each (read)");

/* ---- receives ---------------------------------------------------------- */

static int post(struct inbox *in, int i)
{
	struct fi_msg msg = {
		.buf = fi_buf_linear(in->bytes + i * in->len, in->len),
		.addr = FI_ADDR_UNSPEC,
		.context = in->ctx[i],
	};

	return fi_recvmsg(in->ep, &msg, FI_COMPLETION);
}

static int alloc_inbox(struct inbox *in, size_t len)
{
	int i;

	in->len = len;
	in->bytes = kvmalloc(RECEIVES * len, GFP_KERNEL);
	for (i = 0; i < RECEIVES && in->bytes; i++) {
		in->ctx[i] =
			kzalloc(info->domain_attr->op_context_size, GFP_KERNEL);
		if (!in->ctx[i])
			return -ENOMEM;
	}
	return in->bytes ? 0 : -ENOMEM;
}

static void free_inbox(struct inbox *in)
{
	int i;

	for (i = 0; i < RECEIVES; i++)
		kfree(in->ctx[i]);
	kvfree(in->bytes);
}

static int open_common(void)
{
	uint i;
	int ret;

	if (!shared)
		return 0;
	if (shared > RECEIVES)
		return -EINVAL;
	ret = alloc_inbox(&common, SHARED_BYTES);
	ret = ret ?: fi_srx_context(domain, NULL, &common.ep, NULL);
	for (i = 0; i < shared && !ret; i++)
		ret = post(&common, i);
	return ret;
}

static void close_common(void)
{
	if (common.ep)
		WARN_ON(fi_close(&common.ep->fid));
	free_inbox(&common);
}

/* ---- a peer ------------------------------------------------------------ */

/* Send a long message; its memory has other things to do when that is done. */
static void lend(struct peer *p)
{
	struct fi_msg msg = {
		.buf = fi_buf_linear(p->lent, LENT_BYTES),
		.addr = FI_ADDR_UNSPEC,
		.context = p->lent_ctx,
	};

	if (p->lends)
		return;
	memset(p->lent, LENT_BYTE, LENT_BYTES);
	p->lends = !fi_sendmsg(p->ep, &msg, FI_COMPLETION);
}

static void done(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
		 void *context)
{
	struct peer *p = context;
	struct inbox *in = shared ? &common : &p->own;
	int i;

	if (entry->op_context == p->lent_ctx) {
		memset(p->lent, LATER_BYTE, LENT_BYTES);
		p->lends = false;
	}
	/* What is shared is not over with one of those who share it. */
	if (!(entry->flags & FI_RECV) || (entry->err && !shared))
		return;
	messages += !entry->err;
	for (i = 0; i < RECEIVES; i++) {
		if (in->ctx[i] != entry->op_context)
			continue;
		if (!entry->err && entry->len && in->bytes[i * in->len] == 'L')
			lend(p);
		post(in, i);
	}
}

static void close_peer(struct peer *p)
{
	if (p->ep)
		WARN_ON(fi_close(&p->ep->fid));
	if (p->cq)
		WARN_ON(fi_close(&p->cq->fid));
	free_inbox(&p->own);
	kfree(p->lent_ctx);
	kfree(p->lent);
	memset(p, 0, sizeof(*p));
}

static int alloc_peer(struct peer *p)
{
	int ret = shared ? 0 : alloc_inbox(&p->own, RECEIVE_BYTES);

	p->lent = kmalloc(LENT_BYTES, GFP_KERNEL);
	p->lent_ctx = kzalloc(info->domain_attr->op_context_size, GFP_KERNEL);
	return ret ?: p->lent && p->lent_ctx ? 0 : -ENOMEM;
}

static int open_peer(struct peer *p, struct fi_info *request)
{
	struct fi_cq_attr attr = { .comp_handler = done };
	int i, ret = alloc_peer(p);

	ret = ret ?: fi_cq_open(domain, &attr, &p->cq, p);
	ret = ret ?: fi_endpoint(domain, request, &p->ep, p);
	ret = ret ?: fi_ep_bind(p->ep, &p->cq->fid, FI_TRANSMIT | FI_RECV);
	ret = ret ?: fi_ep_bind(p->ep, &eq->fid, 0);
	if (shared)
		ret = ret ?: fi_ep_bind(p->ep, &common.ep->fid, 0);
	ret = ret ?: fi_enable(p->ep);
	p->own.ep = p->ep;
	for (i = 0; i < RECEIVES && !shared && !ret; i++)
		ret = post(&p->own, i);
	return ret ?: fi_accept(p->ep, NULL, 0);
}

static struct peer *free_place(void)
{
	int i;

	for (i = 0; i < PEERS; i++)
		if (!peers[i].ep)
			return &peers[i];
	return NULL;
}

static void take(struct fi_info *request)
{
	struct peer *p = free_place();

	if (p && !open_peer(p, request)) {
		taken++;
	} else {
		refused++;
		fi_reject(pep, request->handle, NULL, 0);
		if (p)
			close_peer(p);
	}
	fi_freeinfo(request);
}

/* ---- events ------------------------------------------------------------ */

static void over(struct kfid *fid)
{
	struct peer *p = fid->context;

	if (!p || !p->ep)
		return;
	close_peer(p);
	ended++;
}

static void handle(struct fi_eq_cm_entry *entry, size_t len)
{
	struct fi_eq_err_entry *err;
	ssize_t n;
	u32 event;

	n = fi_eq_sread(eq, &event, entry, len, EVENT_MS, 0);
	if (n == -FI_EAVAIL) {
		err = (void *)entry;
		if (fi_eq_readerr(eq, err, 0) > 0)
			over(err->fid);
	} else if (n >= 0 && event == FI_CONNREQ) {
		take(entry->info);
	} else if (n >= 0 && event == FI_SHUTDOWN) {
		over(entry->fid);
	}
}

static int run(void *unused)
{
	size_t len = sizeof(struct fi_eq_err_entry) + FI_CM_DATA_MAX;
	struct fi_eq_cm_entry *entry = kzalloc(len, GFP_KERNEL);
	unsigned long turn = jiffies;
	int ret = entry ? 0 : -ENOMEM;

	while (!kthread_should_stop()) {
		if (ret) {
			schedule_timeout_interruptible(HZ / 10);
			continue;
		}
		handle(entry, len);
		if (time_after(jiffies, turn)) {
			ret = target_memory_turn(domain);
			turn = jiffies + msecs_to_jiffies(TURN_MS);
			if (ret)
				pr_err("kfi_target: a region is lost: %d\n",
				       ret);
		}
	}
	kfree(entry);
	return ret;
}

/* ---- all ---------------------------------------------------------------- */

static int find(void)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->op_timeout_ms = op_timeout_ms;
	hints->ep_attr->rx_ctx_cnt = shared ? FI_SHARED_CONTEXT : 0;
	hints->domain_attr->mr_mode = ~0;
	hints->fabric_attr->prov_name = kstrdup(provider, GFP_KERNEL);
	ret = fi_getinfo(FI_VERSION(1, 0), node, service, FI_SOURCE, hints,
			 &info);
	fi_freeinfo(hints);
	return ret;
}

static void close_one(struct kfid *fid)
{
	WARN_ON(fi_close(fid));
}

static void close_all(void)
{
	int i;

	for (i = 0; i < PEERS; i++)
		close_peer(&peers[i]);
	close_common();
	target_memory_close();
	if (pep)
		close_one(&pep->fid);
	if (eq)
		close_one(&eq->fid);
	if (domain)
		close_one(&domain->fid);
	if (fabric)
		close_one(&fabric->fid);
	fi_freeinfo(info);
}

static int __init target_init(void)
{
	int ret = find();

	ret = ret ?: fi_fabric(info->fabric_attr, &fabric, NULL);
	ret = ret ?: fi_domain(fabric, info, &domain, NULL);
	ret = ret ?: fi_eq_open(fabric, NULL, &eq, NULL);
	ret = ret ?: target_memory_open(domain);
	ret = ret ?: open_common();
	ret = ret ?: fi_passive_ep(fabric, info, &pep, NULL);
	ret = ret ?: fi_pep_bind(pep, &eq->fid, 0);
	ret = ret ?: fi_listen(pep);
	if (!ret) {
		thread = kthread_run(run, NULL, "kfi_target");
		ret = PTR_ERR_OR_ZERO(thread);
	}
	if (ret)
		close_all();
	return ret;
}

static void __exit target_exit(void)
{
	kthread_stop(thread);
	close_all();
}

module_init(target_init);
module_exit(target_exit);
MODULE_DESCRIPTION("kfabric: an end for hostile peers");
MODULE_LICENSE("Dual BSD/GPL");
