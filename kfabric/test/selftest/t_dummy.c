// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: objects of a provider of its own that implements next to
 * nothing: defaults, dead objects, deregistration that waits.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "st.h"

/* All objects of the dummy: freed by one release. */
struct dummy {
	union {
		struct kfid fid;
		struct fid_fabric fabric;
		struct fid_domain domain;
		struct fid_ep ep;
		struct fid_cq cq;
	};
};

static unsigned int st_dummy_live;
static unsigned int st_dummy_sent;

static void st_dummy_release_fid(struct kfid *fid)
{
	st_dummy_live--;
	kfree(container_of(fid, struct dummy, fid));
}

static const struct fi_ops st_dummy_fid_ops = {
	.size = sizeof(struct fi_ops),
	.release = st_dummy_release_fid,
};

static struct dummy *st_dummy_new_dummy(void)
{
	struct dummy *d = kzalloc(sizeof(*d), GFP_KERNEL);

	if (d)
		st_dummy_live++;
	return d;
}

static ssize_t st_dummy_count_send(struct fid_ep *ep, const struct fi_msg *msg,
				   u64 flags)
{
	st_dummy_sent++;
	return 0;
}

/* A vector from a time when it was shorter. */
static const struct fi_ops_msg st_dummy_short_msg_ops = {
	.size = offsetofend(struct fi_ops_msg, sendmsg),
	.sendmsg = st_dummy_count_send,
	.recvmsg = st_dummy_count_send,
};

static const struct kfi_ep_ops st_dummy_ep_ops = {
	.fid = &st_dummy_fid_ops,
	.msg = &st_dummy_short_msg_ops,
};

static int st_dummy_open_ep(struct fid_domain *domain, struct fi_info *info,
			    struct fid_ep **ep, void *context)
{
	struct dummy *d = st_dummy_new_dummy();

	if (!d)
		return -ENOMEM;
	*ep = &d->ep;
	return kfi_ep_init(&d->ep, domain, info, &st_dummy_ep_ops, context);
}

static const struct fi_ops_domain st_dummy_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.endpoint = st_dummy_open_ep,
};

static int st_dummy_open_domain(struct fid_fabric *fabric, struct fi_info *info,
				struct fid_domain **domain, void *context)
{
	struct dummy *d = st_dummy_new_dummy();

	if (!d)
		return -ENOMEM;
	*domain = &d->domain;
	return kfi_domain_init(&d->domain, fabric, &st_dummy_fid_ops,
			       &st_dummy_domain_ops, 0, context);
}

static const struct fi_ops_fabric st_dummy_fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = st_dummy_open_domain,
};

static int st_dummy_open_fabric(struct kfi_provider *prov,
				struct fi_fabric_attr *attr,
				struct fid_fabric **fabric, void *context)
{
	struct dummy *d = st_dummy_new_dummy();

	if (!d)
		return -ENOMEM;
	*fabric = &d->fabric;
	return kfi_fabric_init(&d->fabric, prov, &st_dummy_fid_ops,
			       &st_dummy_fabric_ops, context);
}

static int st_dummy_getinfo(struct kfi_provider *prov, const char *node,
			    const char *service, u64 flags,
			    const struct fi_info *hints, struct fi_info **info)
{
	*info = fi_allocinfo();
	return *info ? 0 : -ENOMEM;
}

static struct kfi_provider st_dummy_prov = {
	.name = "st-dummy",
	.fi_version = FI_VERSION(1, 0),
	.owner = THIS_MODULE,
	.flags = KFI_PROV_EXPLICIT,
	.getinfo = st_dummy_getinfo,
	.fabric = st_dummy_open_fabric,
};

/* Everything open at once. */
struct rig {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;
};

static int st_dummy_rig_open(struct rig *r)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->fabric_attr->prov_name = kstrdup("st-dummy", GFP_KERNEL);
	ret = fi_getinfo(FI_VERSION(1, 0), NULL, NULL, 0, hints, &r->info);
	fi_freeinfo(hints);
	ret = ret ?: fi_fabric(r->info->fabric_attr, &r->fabric, r);
	ret = ret ?: fi_domain(r->fabric, r->info, &r->domain, r);
	return ret ?: fi_endpoint(r->domain, r->info, &r->ep, r);
}

static int st_dummy_close_all(struct rig *r)
{
	int ret = 0;

	if (r->ep)
		ret = fi_close(&r->ep->fid);
	if (r->domain)
		ret = ret ?: fi_close(&r->domain->fid);
	if (r->fabric)
		ret = ret ?: fi_close(&r->fabric->fid);
	fi_freeinfo(r->info);
	return ret;
}

/* The whole life of a provider: register, be used, deregister. */
int st_dummy_round(void)
{
	struct rig r = {};
	int ret, closed;

	ret = kfi_provider_register(&st_dummy_prov);
	if (ret)
		return ret;
	ret = st_dummy_rig_open(&r);
	closed = st_dummy_close_all(&r);
	kfi_provider_deregister(&st_dummy_prov);
	return ret ?: closed;
}

static void st_dummy_defaults(struct st *st, struct rig *r)
{
	struct fi_mr_attr mr_attr = { .buf = fi_buf_linear(r, 1),
				      .access = FI_REMOTE_READ };
	struct fi_msg_flush flush = {};
	struct fi_msg_rma rma = {};
	struct fi_msg msg = {};
	struct fid_pep *pep;
	struct fid_mr *mr;
	struct fid_cq *cq;
	size_t len = 0;

	CHECK_EQ(st, fi_sendmsg(r->ep, &msg, 0), 0, "an operation runs");
	CHECK_EQ(st, st_dummy_sent, 1, "it ran once");
	CHECK_EQ(st, fi_recvmsg(r->ep, &msg, 0), -ENOSYS,
		 "an operation beyond the vector's size is not called");
	CHECK_EQ(st, fi_inject(r->ep, r, 1, 0), -ENOSYS,
		 "a missing inject is ENOSYS");
	CHECK_EQ(st, fi_writemsg(r->ep, &rma, 0), -ENOSYS,
		 "a missing vector is ENOSYS for writes");
	CHECK_EQ(st, fi_readmsg(r->ep, &rma, 0), -ENOSYS,
		 "a missing vector is ENOSYS for reads");
	CHECK_EQ(st, fi_flush(r->ep, &flush, 0), -ENOSYS,
		 "a missing vector is ENOSYS for flushes");
	CHECK_EQ(st, fi_connect(r->ep, r, NULL, 0), -ENOSYS,
		 "a missing vector is ENOSYS for connect");
	CHECK_EQ(st, fi_accept(r->ep, NULL, 0), -ENOSYS,
		 "a missing vector is ENOSYS for accept");
	CHECK_EQ(st, fi_getname(&r->ep->fid, NULL, &len), -ENOSYS,
		 "a missing vector is ENOSYS for getname");
	CHECK_EQ(st, fi_cq_open(r->domain, NULL, &cq, NULL), -ENOSYS,
		 "a domain without queues is ENOSYS");
	CHECK_EQ(st, fi_mr_regattr(r->domain, &mr_attr, 0, &mr), -ENOSYS,
		 "a domain without regions is ENOSYS");
	r->info->src_addr = kzalloc(1, GFP_KERNEL);
	CHECK_EQ(st, fi_passive_ep(r->fabric, r->info, &pep, NULL), -ENOSYS,
		 "a fabric without passive endpoints is ENOSYS");
	CHECK_EQ(st, fi_control(&r->ep->fid, FI_PROVIDER_CONTROL, NULL),
		 -ENOSYS, "an object without control is ENOSYS");
}

static void st_dummy_dead(struct st *st, struct rig *r)
{
	struct fi_msg_flush flush = {};
	struct fi_msg_rma rma = {};
	struct fi_msg msg = {};
	struct fid_ep *ep;

	kfi_obj_kill(&r->ep->fid);
	kfi_obj_kill(&r->domain->fid);
	CHECK_EQ(st, fi_ep_state(r->ep), KFI_EP_DEAD,
		 "an endpoint can be killed");
	CHECK_EQ(st, fi_sendmsg(r->ep, &msg, 0), -ENODEV,
		 "a dead endpoint does not send");
	CHECK_EQ(st, st_dummy_sent, 1, "the provider is not asked");
	CHECK_EQ(st, fi_recvmsg(r->ep, &msg, 0), -ENODEV,
		 "a dead endpoint does not receive");
	CHECK_EQ(st, fi_inject(r->ep, r, 1, 0), -ENODEV,
		 "a dead endpoint does not inject");
	CHECK_EQ(st, fi_writemsg(r->ep, &rma, 0), -ENODEV,
		 "a dead endpoint does not write");
	CHECK_EQ(st, fi_readmsg(r->ep, &rma, 0), -ENODEV,
		 "a dead endpoint does not read");
	CHECK_EQ(st, fi_flush(r->ep, &flush, 0), -ENODEV,
		 "a dead endpoint does not flush");
	CHECK_EQ(st, fi_enable(r->ep), -ENODEV,
		 "a dead endpoint is not enabled");
	CHECK_EQ(st, fi_endpoint(r->domain, r->info, &ep, NULL), -ENODEV,
		 "a dead domain opens nothing");
}

static struct completion st_dummy_gone;

static int st_dummy_deregister(void *arg)
{
	kfi_provider_deregister(&st_dummy_prov);
	complete(&st_dummy_gone);
	return 0;
}

/* Deregistration waits for objects, and nobody new gets in. */
static void st_dummy_waits(struct st *st, struct rig *r)
{
	struct fid_domain *domain;
	struct task_struct *task;

	init_completion(&st_dummy_gone);
	task = kthread_run(st_dummy_deregister, NULL, "kfabric-deregister");
	if (!CHECK(st, !IS_ERR(task), "a thread starts"))
		return;
	CHECK(st,
	      !wait_for_completion_timeout(&st_dummy_gone,
					   msecs_to_jiffies(ST_QUIET_MS)),
	      "deregistration waits while there are objects");
	CHECK_EQ(st, fi_domain(r->fabric, r->info, &domain, NULL), -ENODEV,
		 "a provider that is going opens nothing");
	st_dummy_live--; /* the refused object was never initialised */
	kfree(container_of(domain, struct dummy, domain));
	CHECK_EQ(st, fi_close(&r->ep->fid), 0, "a dead endpoint closes");
	CHECK_EQ(st, fi_close(&r->domain->fid), 0, "a dead domain closes");
	CHECK_EQ(st, fi_close(&r->fabric->fid), 0, "the fabric closes");
	CHECK(st,
	      wait_for_completion_timeout(&st_dummy_gone,
					  msecs_to_jiffies(ST_WAIT_MS)),
	      "deregistration ends with the last object");
	CHECK_EQ(st, st_dummy_live, 0, "every object was released");
}

void st_test_dummy(struct st *st)
{
	struct rig r = {};

	st_dummy_live = 0;
	st_dummy_sent = 0;
	if (!CHECK_EQ(st, kfi_provider_register(&st_dummy_prov), 0,
		      "a provider that can next to nothing registers"))
		return;
	if (!CHECK_EQ(st, st_dummy_rig_open(&r), 0, "its objects open"))
		return;
	CHECK_EQ(st, fi_close(&r.domain->fid), -EBUSY,
		 "a domain with an endpoint does not close");
	CHECK_EQ(st, fi_close(&r.fabric->fid), -EBUSY,
		 "a fabric with a domain does not close");
	st_dummy_defaults(st, &r);
	st_dummy_dead(st, &r);
	st_dummy_waits(st, &r);
	fi_freeinfo(r.info);
}
