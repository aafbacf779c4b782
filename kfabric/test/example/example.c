// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Example of an upper layer: connects to itself, writes a page into the
 * peer's memory with a flush behind it, and checks what arrived. Explained in
 * docs/kfabric.md. The module loads only if all went well.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <kfabric/fi_cm.h>
#include <kfabric/fi_rma.h>

static char *provider = "loop", *node = "127.0.0.1", *service = "7471";
module_param(provider, charp, 0444);
module_param(node, charp, 0444);
module_param(service, charp, 0444);

static struct fi_info *listen_info, *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;
static struct fid_cq *cq;
static struct fid_pep *pep;
static struct fid_ep *ep[2]; /* active, passive */
static struct fid_mr *mr;
static struct fi_context *ctx[2]; /* domain_attr.op_context_size bytes each */
static u8 *from, *to;

/* Ask for one kind of fabric; the hints say what is needed of it. */
static int find(u64 flags, struct fi_info **result)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->flush_modes = FI_FLUSH_READBACK;
	hints->domain_attr->mr_mode = ~0; /* we obey whatever it demands */
	hints->fabric_attr->prov_name = kstrdup(provider, GFP_KERNEL);
	ret = fi_getinfo(FI_VERSION(1, 0), node, service, flags, hints, result);
	fi_freeinfo(hints);
	return ret;
}

static int open_ep(struct fi_info *with, struct fid_ep **new)
{
	int ret = fi_endpoint(domain, with, new, NULL);

	ret = ret ?: fi_ep_bind(*new, &cq->fid, FI_TRANSMIT | FI_RECV);
	return ret ?: fi_ep_bind(*new, &eq->fid, 0);
}

static int open_all(void)
{
	int ret = find(FI_SOURCE, &listen_info);

	ret = ret ?: find(0, &info);
	ret = ret ?: fi_fabric(info->fabric_attr, &fabric, NULL);
	ret = ret ?: fi_domain(fabric, info, &domain, NULL);
	ret = ret ?: fi_eq_open(fabric, NULL, &eq, NULL);
	ret = ret ?: fi_cq_open(domain, NULL, &cq, NULL); /* no upcall: read */
	ret = ret ?: fi_passive_ep(fabric, listen_info, &pep, NULL);
	ret = ret ?: fi_pep_bind(pep, &eq->fid, 0);
	ret = ret ?: fi_listen(pep);
	ret = ret ?: open_ep(info, &ep[0]);
	return ret ?: fi_connect(ep[0], NULL, "hello", 5);
}

/* Take events until both ends are connected. */
static int connect_both(void)
{
	u8 buf[sizeof(struct fi_eq_cm_entry) + FI_CM_DATA_MAX] __aligned(8);
	struct fi_eq_cm_entry *entry = (void *)buf;
	int ret = 0, connected = 0;
	u32 event;

	while (!ret && connected < 2) {
		if (fi_eq_sread(eq, &event, buf, sizeof(buf), 5000, 0) < 0)
			return -ETIMEDOUT;
		connected += event == FI_CONNECTED;
		if (event == FI_CONNREQ) {
			ret = open_ep(entry->info, &ep[1]);
			ret = ret ?: fi_accept(ep[1], NULL, 0);
			fi_freeinfo(entry->info);
		}
	}
	return ret;
}

static int open_memory(void)
{
	const u64 access = FI_REMOTE_READ | FI_REMOTE_WRITE;
	int ret;

	ctx[0] = kzalloc(info->domain_attr->op_context_size, GFP_KERNEL);
	ctx[1] = kzalloc(info->domain_attr->op_context_size, GFP_KERNEL);
	from = kmalloc(PAGE_SIZE, GFP_KERNEL);
	to = kzalloc(PAGE_SIZE, GFP_KERNEL);
	if (!ctx[0] || !ctx[1] || !from || !to)
		return -ENOMEM;
	memset(from, 0x5a, PAGE_SIZE);
	ret = fi_mr_reg(domain, to, PAGE_SIZE, access, 0, 1, 0, &mr, NULL);
	if (!ret && (domain->mr_mode & FI_MR_ENDPOINT))
		ret = fi_mr_bind(mr, &ep[1]->fid, 0) ?: fi_mr_enable(mr);
	return ret;
}

/* A write and a flush behind it: one chain, two completions. */
static int write_and_flush(void)
{
	struct fi_rma_iov iov = { mr->iova, PAGE_SIZE, fi_mr_key(mr) };
	struct fi_msg_rma w = { .buf = fi_buf_linear(from, PAGE_SIZE),
				.rma_iov = &iov,
				.rma_iov_count = 1,
				.context = ctx[0] };
	struct fi_msg_flush f = { .mode = FI_FLUSH_READBACK,
				  .rma_iov = &iov,
				  .rma_iov_count = 1,
				  .context = ctx[1] };
	struct fi_cq_data_entry done;
	int i, ret = fi_writemsg(ep[0], &w, FI_MORE);

	ret = ret ?: fi_flush(ep[0], &f, 0);
	for (i = 0; i < 2 && !ret; i++)
		/* A failure would be -FI_EAVAIL: see fi_cq_readerr(). */
		if (fi_cq_sread(cq, &done, 1, NULL, -1) != 1)
			ret = -EIO;
	return ret ?: (memcmp(from, to, PAGE_SIZE) ? -EBADMSG : 0);
}

/* Children first. When fi_close() returns, nothing of it runs any more. */
static void close_all(void)
{
	struct kfid *all[] = {
		mr ? &mr->fid : NULL,	      ep[0] ? &ep[0]->fid : NULL,
		ep[1] ? &ep[1]->fid : NULL,   pep ? &pep->fid : NULL,
		cq ? &cq->fid : NULL,	      eq ? &eq->fid : NULL,
		domain ? &domain->fid : NULL, fabric ? &fabric->fid : NULL
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i])
			WARN_ON(fi_close(all[i]));
	fi_freeinfo(info);
	fi_freeinfo(listen_info);
	kfree(ctx[0]);
	kfree(ctx[1]);
	kfree(from);
	kfree(to);
}

static int __init example_init(void)
{
	int ret = open_all();

	ret = ret ?: connect_both();
	ret = ret ?: open_memory();
	ret = ret ?: write_and_flush();
	if (ret)
		close_all();
	return ret;
}

static void __exit example_exit(void)
{
	close_all();
}

module_init(example_init);
module_exit(example_exit);
MODULE_DESCRIPTION("kfabric: example of an upper layer");
MODULE_LICENSE("Dual BSD/GPL");
