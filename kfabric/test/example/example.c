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

static char *ex_provider = "loop", *ex_node = "127.0.0.1", *ex_service = "7471";
module_param_named(provider, ex_provider, charp, 0444);
module_param_named(node, ex_node, charp, 0444);
module_param_named(service, ex_service, charp, 0444);

static struct fi_info *ex_listen_info, *ex_info;
static struct fid_fabric *ex_fabric;
static struct fid_domain *ex_domain;
static struct fid_eq *ex_eq;
static struct fid_cq *ex_cq;
static struct fid_pep *ex_pep;
static struct fid_ep *ex_ep[2]; /* active, passive */
static struct fid_mr *ex_mr;
static struct fi_context *ex_ctx[2]; /* domain_attr.op_context_size bytes each */
static u8 *ex_from, *ex_to;

/* Ask for one kind of fabric; the hints say what is needed of it. */
static int ex_find_provider(u64 flags, struct fi_info **result)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->flush_modes = FI_FLUSH_READBACK;
	hints->domain_attr->mr_mode = ~0; /* we obey whatever it demands */
	hints->fabric_attr->prov_name = kstrdup(ex_provider, GFP_KERNEL);
	ret = fi_getinfo(FI_VERSION(1, 0), ex_node, ex_service, flags, hints,
			 result);
	fi_freeinfo(hints);
	return ret;
}

static int ex_open_ep(struct fi_info *with, struct fid_ep **new)
{
	int ret = fi_endpoint(ex_domain, with, new, NULL);

	ret = ret ?: fi_ep_bind(*new, &ex_cq->fid, FI_TRANSMIT | FI_RECV);
	return ret ?: fi_ep_bind(*new, &ex_eq->fid, 0);
}

static int ex_open_all(void)
{
	int ret = ex_find_provider(FI_SOURCE, &ex_listen_info);

	ret = ret ?: ex_find_provider(0, &ex_info);
	ret = ret ?: fi_fabric(ex_info->fabric_attr, &ex_fabric, NULL);
	ret = ret ?: fi_domain(ex_fabric, ex_info, &ex_domain, NULL);
	ret = ret ?: fi_eq_open(ex_fabric, NULL, &ex_eq, NULL);
	ret = ret
		      ?: fi_cq_open(ex_domain, NULL, &ex_cq,
				    NULL); /* no upcall: read */
	ret = ret ?: fi_passive_ep(ex_fabric, ex_listen_info, &ex_pep, NULL);
	ret = ret ?: fi_pep_bind(ex_pep, &ex_eq->fid, 0);
	ret = ret ?: fi_listen(ex_pep);
	ret = ret ?: ex_open_ep(ex_info, &ex_ep[0]);
	return ret ?: fi_connect(ex_ep[0], NULL, "hello", 5);
}

/* Take events until both ends are connected. */
static int ex_connect_both(void)
{
	u8 buf[sizeof(struct fi_eq_cm_entry) + FI_CM_DATA_MAX] __aligned(8);
	struct fi_eq_cm_entry *entry = (void *)buf;
	int ret = 0, connected = 0;
	u32 event;

	while (!ret && connected < 2) {
		if (fi_eq_sread(ex_eq, &event, buf, sizeof(buf), 5000, 0) < 0)
			return -ETIMEDOUT;
		connected += event == FI_CONNECTED;
		if (event == FI_CONNREQ) {
			ret = ex_open_ep(entry->info, &ex_ep[1]);
			ret = ret ?: fi_accept(ex_ep[1], NULL, 0);
			fi_freeinfo(entry->info);
		}
	}
	return ret;
}

static int ex_open_memory(void)
{
	const u64 access = FI_REMOTE_READ | FI_REMOTE_WRITE;
	int ret;

	ex_ctx[0] = kzalloc(ex_info->domain_attr->op_context_size, GFP_KERNEL);
	ex_ctx[1] = kzalloc(ex_info->domain_attr->op_context_size, GFP_KERNEL);
	ex_from = kmalloc(PAGE_SIZE, GFP_KERNEL);
	ex_to = kzalloc(PAGE_SIZE, GFP_KERNEL);
	if (!ex_ctx[0] || !ex_ctx[1] || !ex_from || !ex_to)
		return -ENOMEM;
	memset(ex_from, 0x5a, PAGE_SIZE);
	ret = fi_mr_reg(ex_domain, ex_to, PAGE_SIZE, access, 0, 1, 0, &ex_mr,
			NULL);
	if (!ret && (ex_domain->mr_mode & FI_MR_ENDPOINT))
		ret = fi_mr_bind(ex_mr, &ex_ep[1]->fid, 0)
			      ?: fi_mr_enable(ex_mr);
	return ret;
}

/* A write and a flush behind it: one chain, two completions. */
static int ex_write_and_flush(void)
{
	struct fi_rma_iov iov = { ex_mr->iova, PAGE_SIZE, fi_mr_key(ex_mr) };
	struct fi_msg_rma w = { .buf = fi_buf_linear(ex_from, PAGE_SIZE),
				.rma_iov = &iov,
				.rma_iov_count = 1,
				.context = ex_ctx[0] };
	struct fi_msg_flush f = { .mode = FI_FLUSH_READBACK,
				  .rma_iov = &iov,
				  .rma_iov_count = 1,
				  .context = ex_ctx[1] };
	struct fi_cq_data_entry done;
	int i, ret = fi_writemsg(ex_ep[0], &w, FI_MORE);

	ret = ret ?: fi_flush(ex_ep[0], &f, 0);
	for (i = 0; i < 2 && !ret; i++)
		/* A failure would be -FI_EAVAIL: see fi_cq_readerr(). */
		if (fi_cq_sread(ex_cq, &done, 1, NULL, -1) != 1)
			ret = -EIO;
	return ret ?: (memcmp(ex_from, ex_to, PAGE_SIZE) ? -EBADMSG : 0);
}

/* Children first. When fi_close() returns, nothing of it runs any more. */
static void ex_close_all(void)
{
	struct kfid *all[] = { ex_mr ? &ex_mr->fid : NULL,
			       ex_ep[0] ? &ex_ep[0]->fid : NULL,
			       ex_ep[1] ? &ex_ep[1]->fid : NULL,
			       ex_pep ? &ex_pep->fid : NULL,
			       ex_cq ? &ex_cq->fid : NULL,
			       ex_eq ? &ex_eq->fid : NULL,
			       ex_domain ? &ex_domain->fid : NULL,
			       ex_fabric ? &ex_fabric->fid : NULL };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i])
			WARN_ON(fi_close(all[i]));
	fi_freeinfo(ex_info);
	fi_freeinfo(ex_listen_info);
	kfree(ex_ctx[0]);
	kfree(ex_ctx[1]);
	kfree(ex_from);
	kfree(ex_to);
}

static int __init ex_init(void)
{
	int ret = ex_open_all();

	ret = ret ?: ex_connect_both();
	ret = ret ?: ex_open_memory();
	ret = ret ?: ex_write_and_flush();
	if (ret)
		ex_close_all();
	return ret;
}

static void __exit ex_exit(void)
{
	ex_close_all();
}

module_init(ex_init);
module_exit(ex_exit);
MODULE_DESCRIPTION("kfabric: example of an upper layer");
MODULE_LICENSE("Dual BSD/GPL");
