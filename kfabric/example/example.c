// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Example of an upper layer: connects to itself, writes a page into the
 * peer's memory, flushes, and checks what is there. Explained in
 * docs/kfabric.md. The module loads only if all went well.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include <kfabric/fi_cm.h>
#include <kfabric/fi_rma.h>

#define WAIT_MS 5000

static char *provider = "loop";
module_param(provider, charp, 0444);
static char *node = "127.0.0.1";
module_param(node, charp, 0444);
static char *service = "7471";
module_param(service, charp, 0444);

/* A request, as a block driver would have one; the context comes last. */
struct request {
	struct completion done;
	int err;
	struct fi_context ctx; /* domain_attr.op_context_size bytes */
};

static struct fi_info *listen_info, *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *eq;
static struct fid_cq *cq;
static struct fid_pep *pep;
static struct fid_ep *active, *passive;
static struct fid_mr *mr;
static struct request *wr, *fl;
static u8 *from, *to;

/* Completion upcall: may be softirq, must not sleep, may post. */
static void on_done(struct fid_cq *q, const struct fi_cq_err_entry *e, void *c)
{
	struct request *rq = container_of(e->op_context, struct request, ctx);

	rq->err = e->err;
	complete(&rq->done);
}

/* Ask for one kind of fabric; hints say what is needed. */
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

static int open_endpoint(struct fi_info *with, struct fid_ep **ep)
{
	int ret = fi_endpoint(domain, with, ep, NULL);

	ret = ret ?: fi_ep_bind(*ep, &cq->fid, FI_TRANSMIT | FI_RECV);
	return ret ?: fi_ep_bind(*ep, &eq->fid, 0);
}

static int open_all(void)
{
	struct fi_cq_attr attr = { .comp_handler = on_done };
	int ret = find(FI_SOURCE, &listen_info);

	ret = ret ?: find(0, &info);
	ret = ret ?: fi_fabric(info->fabric_attr, &fabric, NULL);
	ret = ret ?: fi_domain(fabric, info, &domain, NULL);
	ret = ret ?: fi_eq_open(fabric, NULL, &eq, NULL);
	ret = ret ?: fi_cq_open(domain, &attr, &cq, NULL);
	ret = ret ?: fi_passive_ep(fabric, listen_info, &pep, NULL);
	ret = ret ?: fi_pep_bind(pep, &eq->fid, 0);
	ret = ret ?: fi_listen(pep);
	ret = ret ?: open_endpoint(info, &active);
	return ret ?: fi_connect(active, NULL, "hello", 5);
}

/* Events until both ends are connected. */
static int connect_both(void)
{
	u8 buf[sizeof(struct fi_eq_cm_entry) + FI_CM_DATA_MAX] __aligned(8);
	struct fi_eq_cm_entry *entry = (void *)buf;
	int ret, connected = 0;
	u32 event;

	while (connected < 2) {
		ssize_t n =
			fi_eq_sread(eq, &event, buf, sizeof(buf), WAIT_MS, 0);
		if (n < 0)
			return n;
		if (event == FI_CONNECTED)
			connected++;
		if (event != FI_CONNREQ)
			continue;
		ret = open_endpoint(entry->info, &passive);
		ret = ret ?: fi_accept(passive, NULL, 0);
		fi_freeinfo(entry->info);
		if (ret)
			return ret;
	}
	return 0;
}

static int open_memory(void)
{
	size_t size = sizeof(*wr) + info->domain_attr->op_context_size;
	int ret;

	wr = kzalloc(size, GFP_KERNEL);
	fl = kzalloc(size, GFP_KERNEL);
	from = kmalloc(PAGE_SIZE, GFP_KERNEL);
	to = kzalloc(PAGE_SIZE, GFP_KERNEL);
	if (!wr || !fl || !from || !to)
		return -ENOMEM;
	init_completion(&wr->done);
	init_completion(&fl->done);
	memset(from, 0x5a, PAGE_SIZE);
	ret = fi_mr_reg(domain, to, PAGE_SIZE, FI_REMOTE_READ | FI_REMOTE_WRITE,
			0, 1, 0, &mr, NULL);
	if (!ret && (domain->mr_mode & FI_MR_ENDPOINT)) {
		ret = fi_mr_bind(mr, &passive->fid, 0);
		ret = ret ?: fi_mr_enable(mr);
	}
	return ret;
}

/* A write and a flush behind it, as one chain. */
static int write_and_flush(void)
{
	struct fi_rma_iov iov = { .addr = mr->iova,
				  .len = PAGE_SIZE,
				  .key = fi_mr_key(mr) };
	struct fi_msg_rma w = { .buf = fi_buf_linear(from, PAGE_SIZE),
				.rma_iov = &iov,
				.rma_iov_count = 1,
				.context = &wr->ctx };
	struct fi_msg_flush f = { .mode = FI_FLUSH_READBACK,
				  .rma_iov = &iov,
				  .rma_iov_count = 1,
				  .context = &fl->ctx };
	int ret = fi_writemsg(active, &w, FI_MORE);

	ret = ret ?: fi_flush(active, &f, 0);
	if (ret)
		return ret;
	/* The endpoint has a time-out: both completions will come. */
	wait_for_completion(&wr->done);
	wait_for_completion(&fl->done);
	if (wr->err || fl->err)
		return -EIO;
	return memcmp(from, to, PAGE_SIZE) ? -EBADMSG : 0;
}

/* Children first; after fi_close() nothing of the object runs any more. */
static void close_all(void)
{
	struct kfid *fids[] = {
		mr ? &mr->fid : NULL,		active ? &active->fid : NULL,
		passive ? &passive->fid : NULL, pep ? &pep->fid : NULL,
		cq ? &cq->fid : NULL,		eq ? &eq->fid : NULL,
		domain ? &domain->fid : NULL,	fabric ? &fabric->fid : NULL
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fids); i++)
		if (fids[i])
			WARN_ON(fi_close(fids[i]));
	fi_freeinfo(info);
	fi_freeinfo(listen_info);
	kfree(wr);
	kfree(fl);
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
	pr_info("kfabric example over %s: %d\n", provider, ret);
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
