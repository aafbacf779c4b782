// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Test of the fault layer: connected pairs.
 */
#include <linux/in6.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "test.h"

static char *ft_provider = "fault;loop";
module_param_named(provider, ft_provider, charp, 0444);
MODULE_PARM_DESC(provider, "what to test");
static char *ft_node = "127.0.0.1";
module_param_named(node, ft_node, charp, 0444);
MODULE_PARM_DESC(node, "address of this machine");

static struct fi_info *ft_listen_info, *ft_info;
static struct fid_fabric *ft_fabric;
static struct fid_domain *ft_domain, *ft_target;
static struct fid_eq *ft_pep_eq;
static struct fid_pep *ft_pep;
static u64 ft_next_key = FT_KEY;

static int ft_ask_info(const char *service, u64 flags, struct fi_info **list)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->mr_mode = ~0;
	hints->fabric_attr->prov_name = kstrdup(ft_provider, GFP_KERNEL);
	ret = fi_getinfo(FI_VERSION(1, 0), ft_node, service, flags, hints,
			 list);
	fi_freeinfo(hints);
	return ret;
}

static int ft_ask_peer(void)
{
	struct sockaddr_in6 addr = {};
	size_t len = sizeof(addr);
	char port[8];
	int ret = fi_getname(&ft_pep->fid, &addr, &len);

	if (ret)
		return ret;
	/* Both families have the port at the same place. */
	snprintf(port, sizeof(port), "%u", be16_to_cpu(addr.sin6_port));
	return ft_ask_info(port, 0, &ft_info);
}

int ft_setup(void)
{
	int ret = ft_ask_info("0", FI_SOURCE, &ft_listen_info);

	ret = ret ?: fi_fabric(ft_listen_info->fabric_attr, &ft_fabric, NULL);
	ret = ret ?: fi_eq_open(ft_fabric, NULL, &ft_pep_eq, NULL);
	ret = ret ?: fi_passive_ep(ft_fabric, ft_listen_info, &ft_pep, NULL);
	ret = ret ?: fi_pep_bind(ft_pep, &ft_pep_eq->fid, 0);
	ret = ret ?: fi_listen(ft_pep);
	ret = ret ?: ft_ask_peer();
	ret = ret ?: fi_domain(ft_fabric, ft_info, &ft_domain, NULL);
	return ret ?: fi_domain(ft_fabric, ft_info, &ft_target, NULL);
}

static void ft_close_if(struct kfid *fid)
{
	if (fid && fi_close(fid))
		CHECK(false, "an object closes");
}

void ft_teardown(void)
{
	ft_close_if(ft_pep ? &ft_pep->fid : NULL);
	ft_close_if(ft_pep_eq ? &ft_pep_eq->fid : NULL);
	ft_close_if(ft_target ? &ft_target->fid : NULL);
	ft_close_if(ft_domain ? &ft_domain->fid : NULL);
	ft_close_if(ft_fabric ? &ft_fabric->fid : NULL);
	fi_freeinfo(ft_info);
	fi_freeinfo(ft_listen_info);
}

/* Wait for an event; a failure gives its error, negative. */
int ft_event(struct fid_eq *eq, u32 *event, struct fi_info **req)
{
	const size_t room = sizeof(struct fi_eq_cm_entry) + FI_CM_DATA_MAX;
	struct fi_eq_cm_entry *entry = kzalloc(room, GFP_KERNEL);
	struct fi_eq_err_entry *err = kzalloc(sizeof(*err), GFP_KERNEL);
	ssize_t n = -ENOMEM;

	if (entry && err)
		n = fi_eq_sread(eq, event, entry, room, FT_WAIT_MS, 0);
	if (n == -FI_EAVAIL && fi_eq_readerr(eq, err, 0) > 0)
		n = -err->err;
	if (n > 0 && req)
		*req = entry->info;
	else if (n > 0)
		fi_freeinfo(entry->info);
	kfree(entry);
	kfree(err);
	return n < 0 ? n : 0;
}

static int ft_open_end(struct ft_pair *p, struct fid_domain *d,
		       struct fi_info *i, struct fid_cq **cq,
		       struct fid_ep **ep)
{
	int ret = fi_endpoint(d, i, ep, p);

	ret = ret ?: fi_ep_bind(*ep, &(*cq)->fid, FI_TRANSMIT | FI_RECV);
	ret = ret ?: fi_ep_bind(*ep, &p->eq->fid, 0);
	return ret ?: fi_enable(*ep);
}

static int ft_accept_end(struct ft_pair *p)
{
	struct fi_info *req = NULL;
	u32 event;
	int ret = ft_event(ft_pep_eq, &event, &req);

	ret = ret ?: ft_open_end(p, ft_target, req, &p->bcq, &p->b);
	ret = ret ?: fi_accept(p->b, NULL, 0);
	fi_freeinfo(req);
	return ret;
}

static int ft_open_memory(struct ft_pair *p)
{
	p->op_size = ft_info->domain_attr->op_context_size;
	p->src = kvzalloc(FT_LEN, GFP_KERNEL);
	p->dst = kvzalloc(FT_LEN, GFP_KERNEL);
	p->ops = kcalloc(FT_OPS, p->op_size, GFP_KERNEL);
	return p->src && p->dst && p->ops ? 0 : -ENOMEM;
}

static int ft_open_region(struct ft_pair *p)
{
	struct fi_mr_attr attr = { .buf = fi_buf_linear(p->dst, FT_LEN),
				   .access = FI_REMOTE_READ | FI_REMOTE_WRITE,
				   .requested_key = ft_next_key++ };
	int ret = fi_mr_regattr(ft_target, &attr, 0, &p->mr);

	if (ret || !(ft_target->mr_mode & FI_MR_ENDPOINT))
		return ret;
	ret = fi_mr_bind(p->mr, &p->b->fid, 0);
	return ret ?: fi_mr_enable(p->mr);
}

/* Open an endpoint and start to connect; the first failure is returned. */
int ft_pair_open(struct ft_pair *p, u32 op_timeout_ms, struct fi_cq_attr *cq,
		 void *cq_context)
{
	int ret;

	memset(p, 0, sizeof(*p));
	ret = ft_open_memory(p);
	ret = ret ?: fi_eq_open(ft_fabric, NULL, &p->eq, NULL);
	ret = ret ?: fi_cq_open(ft_domain, cq, &p->acq, cq_context);
	ret = ret ?: fi_cq_open(ft_target, NULL, &p->bcq, NULL);
	ret = ret ?: ft_open_end(p, ft_domain, ft_info, &p->acq, &p->a);
	if (!ret && op_timeout_ms)
		ret = fi_setopt(&p->a->fid, FI_OPT_ENDPOINT,
				FI_OPT_OP_TIMEOUT_MS, &op_timeout_ms,
				sizeof(op_timeout_ms));
	ret = ret ?: fi_connect(p->a, NULL, NULL, 0);
	return ret;
}

/* The rest of it: accept, both events, memory. */
int ft_pair_join(struct ft_pair *p)
{
	u32 event;
	int ret = ft_accept_end(p), i;

	for (i = 0; i < 2; i++) {
		ret = ret ?: ft_event(p->eq, &event, NULL);
		if (!ret && event != FI_CONNECTED)
			ret = -ECONNABORTED;
	}
	return ret ?: ft_open_region(p);
}

/* Requests that nobody took: the next pair must not find them. */
static void ft_drop_requests(void)
{
	const size_t room = sizeof(struct fi_eq_cm_entry) + FI_CM_DATA_MAX;
	struct fi_eq_cm_entry *entry = kzalloc(room, GFP_KERNEL);
	u32 event;

	while (entry && fi_eq_read(ft_pep_eq, &event, entry, room, 0) > 0)
		fi_freeinfo(entry->info);
	kfree(entry);
}

void ft_pair_close(struct ft_pair *p)
{
	ft_close_if(p->mr ? &p->mr->fid : NULL);
	ft_close_if(p->a ? &p->a->fid : NULL);
	ft_close_if(p->b ? &p->b->fid : NULL);
	ft_close_if(p->acq ? &p->acq->fid : NULL);
	ft_close_if(p->bcq ? &p->bcq->fid : NULL);
	ft_close_if(p->eq ? &p->eq->fid : NULL);
	ft_drop_requests();
	kvfree(p->src);
	kvfree(p->dst);
	kfree(p->ops);
	memset(p, 0, sizeof(*p));
}

struct fi_context *ft_op(struct ft_pair *p, unsigned int i)
{
	return (void *)(p->ops + i * p->op_size);
}

ssize_t ft_post_write(struct ft_pair *p, unsigned int i, u64 offset, size_t len)
{
	return fi_write(p->a, p->src + offset, len, NULL, 0,
			p->mr->iova + offset, fi_mr_key(p->mr), ft_op(p, i));
}

ssize_t ft_post_flush(struct ft_pair *p, unsigned int i, u64 offset, size_t len)
{
	const struct fi_rma_iov range = { .addr = p->mr->iova + offset,
					  .len = len,
					  .key = fi_mr_key(p->mr) };
	const struct fi_msg_flush msg = { .mode = FI_FLUSH_READBACK,
					  .rma_iov = &range,
					  .rma_iov_count = 1,
					  .context = ft_op(p, i) };

	return fi_flush(p->a, &msg, 0);
}

/* Take one completion: its error, or -FI_EAGAIN. */
int ft_comp(struct fid_cq *cq, int timeout_ms, struct fi_context **context)
{
	struct fi_cq_err_entry err = {};
	struct fi_cq_data_entry entry;
	ssize_t n = fi_cq_sread(cq, &entry, 1, NULL, timeout_ms);

	if (n == -FI_EAVAIL && fi_cq_readerr(cq, &err, 0) == 1) {
		entry.op_context = err.op_context;
		n = 1;
	}
	if (n != 1)
		return n;
	if (context)
		*context = entry.op_context;
	return err.err;
}

int ft_write(struct ft_pair *p, u64 offset, size_t len, u8 value)
{
	ssize_t ret;

	memset(p->src + offset, value, len);
	ret = ft_post_write(p, 0, offset, len);
	return ret ? ret : ft_comp(p->acq, FT_WAIT_MS, NULL);
}

int ft_flush(struct ft_pair *p, u64 offset, size_t len)
{
	ssize_t ret = ft_post_flush(p, 1, offset, len);

	return ret ? ret : ft_comp(p->acq, FT_WAIT_MS, NULL);
}

bool ft_holds(const struct ft_pair *p, u64 offset, size_t len, u8 value)
{
	return !memchr_inv(p->dst + offset, value, len);
}

/* How many of the two sides see the end of the connection. */
unsigned int ft_shutdowns(struct ft_pair *p)
{
	unsigned int n = 0;
	u32 event;

	while (n < 2 && !ft_event(p->eq, &event, NULL))
		n += event == FI_SHUTDOWN;
	return n;
}
