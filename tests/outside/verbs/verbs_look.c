// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An upper layer that needs nothing of the tree but kfabric's headers and symbols:
 * looks at the verbs objects behind a domain, an endpoint and a region, and loads only
 * if they belong together, and stay as long as they are lent. With hold=1 it loads while
 * a thread of its own keeps a domain's device, until the parameter is 0.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include <kfabric/fi_cm.h>
#include <kfabric/fi_domain.h>
#include <kfabric/fi_endpoint.h>
#include <kfabric/fi_eq.h>
#include <kfabric/fi_verbs.h>

#define LOOK_BYTES   4096
#define LOOK_WAIT_MS 30000
#define LOOK_HELD_MS 300

static char *look_provider = "verbs";
module_param_named(provider, look_provider, charp, 0444);
static char *look_node = "127.0.0.1";
module_param_named(node, look_node, charp, 0444);
static bool look_hold;
module_param_named(hold, look_hold, bool, 0644);
MODULE_PARM_DESC(hold, "keep the device of a domain until this is 0");

static struct fi_info *look_listen_info, *look_info;
static struct fid_fabric *look_fabric;
static struct fid_domain *look_domain;
static struct fid_eq *look_eq;
static struct fid_cq *look_cq;
static struct fid_pep *look_pep;
static struct fid_ep *look_ep;
static struct fid_mr *look_mr;
static u8 *look_bytes;

static int look_fail(const char *what, int ret)
{
	pr_err("verbs_look: %s: %d\n", what, ret);
	return ret < 0 ? ret : -ERANGE;
}

#define LOOK(cond, what) ((cond) ? 0 : look_fail(what, 0))

/* ---- objects of kfabric ---------------------------------------------------------- */

static int look_ask(const char *service, u64 flags, struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	if (!hints)
		return -ENOMEM;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->mr_mode = ~0;
	hints->fabric_attr->prov_name = kstrdup(look_provider, GFP_KERNEL);
	ret = fi_getinfo(FI_VERSION(1, 0), look_node, service, flags, hints,
			 info);
	fi_freeinfo(hints);
	return ret;
}

static int look_listen(void)
{
	struct sockaddr_in6 name;
	size_t len = sizeof(name);
	char port[8];
	int ret = look_ask("0", FI_SOURCE, &look_listen_info);

	ret = ret
		      ?: fi_fabric(look_listen_info->fabric_attr, &look_fabric,
				   NULL);
	ret = ret ?: fi_eq_open(look_fabric, NULL, &look_eq, NULL);
	ret = ret
		      ?: fi_passive_ep(look_fabric, look_listen_info, &look_pep,
				       NULL);
	ret = ret ?: fi_pep_bind(look_pep, &look_eq->fid, 0);
	ret = ret ?: fi_listen(look_pep);
	ret = ret ?: fi_getname(&look_pep->fid, &name, &len);
	if (ret)
		return ret;
	/* Both families have the port at the same place. */
	snprintf(port, sizeof(port), "%u", be16_to_cpu(name.sin6_port));
	return look_ask(port, 0, &look_info);
}

static int look_open(void)
{
	int ret = look_listen();

	look_bytes = kzalloc(LOOK_BYTES, GFP_KERNEL);
	if (!look_bytes)
		return -ENOMEM;
	ret = ret ?: fi_domain(look_fabric, look_info, &look_domain, NULL);
	ret = ret ?: fi_cq_open(look_domain, NULL, &look_cq, NULL);
	ret = ret ?: fi_endpoint(look_domain, look_info, &look_ep, NULL);
	ret = ret ?: fi_ep_bind(look_ep, &look_cq->fid, FI_TRANSMIT | FI_RECV);
	ret = ret ?: fi_ep_bind(look_ep, &look_eq->fid, 0);
	return ret
		       ?: fi_mr_reg(look_domain, look_bytes, LOOK_BYTES,
				    FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0,
				    &look_mr, NULL);
}

static void look_close(void)
{
	if (look_mr)
		fi_close(&look_mr->fid);
	if (look_ep)
		fi_close(&look_ep->fid);
	if (look_pep)
		fi_close(&look_pep->fid);
	if (look_cq)
		fi_close(&look_cq->fid);
	if (look_eq)
		fi_close(&look_eq->fid);
	if (look_domain)
		fi_close(&look_domain->fid);
	if (look_fabric)
		fi_close(&look_fabric->fid);
	fi_freeinfo(look_info);
	fi_freeinfo(look_listen_info);
	kfree(look_bytes);
}

/* ---- sets of operations ---------------------------------------------------------- */

static int look_sets_refused(void)
{
	void *ops = look_bytes;
	int ret = fi_open_ops(&look_domain->fid, "no_such_ops", 0, &ops, NULL);

	ret = LOOK(ret == -ENOSYS, "an unknown set is there");
	ret = ret
		      ?: LOOK(fi_open_ops(&look_domain->fid, FI_VERBS_EP_OPS, 0,
					  &ops, NULL) == -ENOSYS,
			      "a domain has an endpoint's set");
	ret = ret
		      ?: LOOK(fi_open_ops(&look_cq->fid, FI_VERBS_DOMAIN_OPS, 0,
					  &ops, NULL) == -ENOSYS,
			      "a queue has a domain's set");
	ret = ret
		      ?: LOOK(fi_open_ops(&look_domain->fid,
					  FI_VERBS_DOMAIN_OPS, 1, &ops,
					  NULL) == -FI_EBADFLAGS,
			      "a flag is taken");
	ret = ret
		      ?: LOOK(fi_open_ops(&look_domain->fid, NULL, 0, &ops,
					  NULL) == -EINVAL,
			      "no name is taken");
	return ret ?: LOOK(ops == look_bytes, "a refusal gives something");
}

static const struct fi_verbs_ops_domain *look_domain_ops(void)
{
	void *ops = NULL;

	if (fi_open_ops(&look_domain->fid, FI_VERBS_DOMAIN_OPS, 0, &ops, NULL))
		return NULL;
	return ops;
}

static const struct fi_verbs_ops_ep *look_ep_ops(void)
{
	void *ops = NULL;

	if (fi_open_ops(&look_ep->fid, FI_VERBS_EP_OPS, 0, &ops, NULL))
		return NULL;
	return ops;
}

static const struct fi_verbs_ops_mr *look_mr_ops(void)
{
	void *ops = NULL;

	if (fi_open_ops(&look_mr->fid, FI_VERBS_MR_OPS, 0, &ops, NULL))
		return NULL;
	return ops;
}

/* ---- what is behind them --------------------------------------------------------- */

/* The queue pair comes when the way to the peer is known. */
static int look_await_ep(const struct fi_verbs_ops_ep *ops,
			 struct fi_verbs_ep *objects)
{
	int ms, ret = ops->get(look_ep, objects);

	if (ret != -FI_EOPBADSTATE)
		return look_fail("there is a queue pair before its time", ret);
	ret = fi_connect(look_ep, NULL, NULL, 0);
	if (ret)
		return look_fail("it does not connect", ret);
	for (ms = 0; ms < LOOK_WAIT_MS; ms += 10) {
		ret = ops->get(look_ep, objects);
		if (ret != -FI_EOPBADSTATE)
			break;
		msleep(10);
	}
	return ret ? look_fail("no queue pair comes", ret) : 0;
}

static int look_at_ep(const struct fi_verbs_domain *d)
{
	const struct fi_verbs_ops_ep *ops = look_ep_ops();
	struct ib_qp_init_attr init;
	struct fi_verbs_ep e = {};
	struct ib_qp_attr attr;
	int ret;

	if (!ops || ops->size < sizeof(*ops))
		return look_fail("an endpoint has no set", 0);
	ret = look_await_ep(ops, &e);
	if (ret)
		return ret;
	ret = LOOK(e.qp->device == d->device && e.qp->pd == d->pd,
		   "the queue pair is of another domain");
	ret = ret ?: LOOK(e.qp->qp_type == IB_QPT_RC, "it is of another type");
	ret = ret
		      ?: LOOK(e.qp->send_cq == e.send_cq &&
				      e.qp->recv_cq == e.recv_cq,
			      "its completion queues are others");
	ret = ret ?: ib_query_qp(e.qp, &attr, IB_QP_CAP, &init);
	ret = ret
		      ?: LOOK(attr.cap.max_send_wr >= look_info->tx_attr->size,
			      "it takes fewer than were asked for");
	ops->put(look_ep);
	return ret;
}

static int look_at_mr(const struct fi_verbs_domain *d)
{
	const struct fi_verbs_ops_mr *ops = look_mr_ops();
	struct ib_mr *mr = NULL;
	int ret;

	if (!ops || ops->size < sizeof(*ops))
		return look_fail("a region has no set", 0);
	ret = ops->get(look_mr, &mr);
	if (ret)
		return look_fail("a region is not lent", ret);
	ret = LOOK(mr->pd == d->pd && mr->length == LOOK_BYTES,
		   "the region is another one");
	ops->put(look_mr);
	return ret;
}

static int look_at_all(void)
{
	const struct fi_verbs_ops_domain *ops = look_domain_ops();
	struct fi_verbs_domain d = {};
	int ret;

	if (!ops || ops->size < sizeof(*ops))
		return look_fail("a domain has no set", 0);
	ret = ops->get(look_domain, &d);
	if (ret)
		return look_fail("a domain is not lent", ret);
	ret = LOOK(d.pd->device == d.device &&
			   !strcmp(dev_name(&d.device->dev),
				   look_info->domain_attr->name),
		   "the device is another one");
	ret = ret ?: look_at_mr(&d);
	ret = ret ?: look_at_ep(&d);
	ops->put(look_domain);
	return ret;
}

/* ---- what is lent stays ---------------------------------------------------------- */

static atomic_t look_is_back;

/* Give a region back late: its close waits for that. */
static int look_keep_mr(void *ops)
{
	msleep(LOOK_HELD_MS);
	atomic_set(&look_is_back, 1);
	((const struct fi_verbs_ops_mr *)ops)->put(look_mr);
	return 0;
}

static int look_close_waits(void)
{
	const struct fi_verbs_ops_mr *ops = look_mr_ops();
	struct task_struct *task;
	struct fid_mr *mr = look_mr;
	struct ib_mr *object;
	int ret = ops->get(mr, &object);

	if (ret)
		return ret;
	task = kthread_create(look_keep_mr, (void *)ops, "verbs-look");
	if (IS_ERR(task)) {
		ops->put(mr);
		return PTR_ERR(task);
	}
	get_task_struct(task);
	wake_up_process(task);
	ret = fi_close(&mr->fid);
	ret = ret
		      ?: LOOK(atomic_read(&look_is_back),
			      "a region is closed while it is lent");
	kthread_stop(task);
	put_task_struct(task);
	look_mr = NULL;
	return ret;
}

static struct task_struct *look_holder;

/* It has the device: what it sees of it must be there, whoever removes it. */
static int look_hold_device(void *ops)
{
	struct fi_verbs_domain d;
	int ret =
		((const struct fi_verbs_ops_domain *)ops)->get(look_domain, &d);

	pr_info("verbs_look: holds the device: %d\n", ret);
	while (!ret && READ_ONCE(look_hold) && !kthread_should_stop())
		msleep(10);
	if (!ret) {
		pr_info("verbs_look: gives %s back\n",
			dev_name(&d.device->dev));
		((const struct fi_verbs_ops_domain *)ops)->put(look_domain);
	}
	ret = ((const struct fi_verbs_ops_domain *)ops)->get(look_domain, &d);
	if (!ret)
		((const struct fi_verbs_ops_domain *)ops)->put(look_domain);
	while (!kthread_should_stop())
		msleep(10);
	return 0;
}

static int look_start_holder(void)
{
	if (!look_hold)
		return 0;
	look_holder = kthread_run(look_hold_device, (void *)look_domain_ops(),
				  "verbs-look");
	return PTR_ERR_OR_ZERO(look_holder);
}

static int __init verbs_look_init(void)
{
	int ret = look_open();
	void *ops;

	if (ret)
		goto close;
	if (strcmp(look_provider, "verbs")) {
		ret = LOOK(fi_open_ops(&look_domain->fid, FI_VERBS_DOMAIN_OPS,
				       0, &ops, NULL) == -ENOSYS,
			   "another provider has a set of verbs");
		goto close;
	}
	ret = look_sets_refused();
	ret = ret ?: look_at_all();
	ret = ret ?: look_close_waits();
	ret = ret ?: look_start_holder();
	if (!ret && look_hold)
		return 0;
close:
	look_close();
	if (ret)
		pr_err("verbs_look: %s: error %d\n", look_provider, ret);
	return ret;
}

static void __exit verbs_look_exit(void)
{
	if (IS_ERR_OR_NULL(look_holder))
		return;
	kthread_stop(look_holder);
	look_close();
}

module_init(verbs_look_init);
module_exit(verbs_look_exit);
MODULE_DESCRIPTION("looks at the verbs objects of kfabric, from outside");
MODULE_LICENSE("Dual BSD/GPL");
