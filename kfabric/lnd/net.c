// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_lnd: a net: its endpoint, its operations, its peers.
 *
 * Context: process.
 */
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "lnd.h"

static const struct lndw_ops klnd_core_ops = {
	.begin = klnd_begun,
	.end = klnd_request_ended,
};

static int klnd_net_get_info(struct klnd_net *net)
{
	const struct klnd_attr *attr = &net->attr;
	struct fi_info *hints = fi_allocinfo();
	int ret = -ENOMEM;

	if (!hints)
		return ret;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_SOURCE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->ep_attr->op_timeout_ms = klnd_op_timeout_ms;
	hints->fabric_attr->prov_name =
		kstrdup(attr->prov ?: klnd_prov, GFP_KERNEL);
	if (hints->fabric_attr->prov_name)
		ret = fi_getinfo(FI_VERSION(1, 0), attr->node ?: klnd_node,
				 attr->service ?: klnd_service, FI_SOURCE,
				 hints, &net->info);
	fi_freeinfo(hints);
	return ret;
}

static int klnd_net_alloc_ops(struct klnd_net *net)
{
	struct klnd_op *op;
	unsigned int i;

	net->op_bytes =
		round_up(offsetof(struct klnd_op, fi) +
				 net->info->domain_attr->op_context_size,
			 8);
	for (i = 0; i < KLND_OPS; i++) {
		op = kzalloc(net->op_bytes, GFP_KERNEL);
		if (!op)
			return -ENOMEM;
		net->ops[i] = op;
		op->net = net;
		op->kind = i < KLND_RECVS	? KLND_RECV
			   : i < 2 * KLND_RECVS ? KLND_ANSWER
						: KLND_SEND;
		op->buf = kzalloc(op->kind == KLND_ANSWER ? KLND_ANSWER_BYTES
							  : LNDW_MESSAGE_MAX,
				  GFP_KERNEL);
		if (!op->buf)
			return -ENOMEM;
		if (op->kind == KLND_SEND)
			list_add_tail(&op->node, &net->free);
	}
	return 0;
}

/* Context: upcall. */
static void klnd_has_space(struct fid_ep *ep, u64 dir, void *context)
{
	klnd_engine_kick(context);
}

static int klnd_net_open_endpoint(struct klnd_net *net)
{
	struct fi_cq_attr cq = { .comp_handler = klnd_completed };
	struct fi_space_handler space = { .fn = klnd_has_space,
					  .context = net };
	unsigned int i;
	int ret;

	ret = fi_fabric(net->info->fabric_attr, &net->fabric, net);
	ret = ret ?: fi_domain(net->fabric, net->info, &net->domain, net);
	ret = ret ?: fi_cq_open(net->domain, &cq, &net->cq, net);
	ret = ret ?: fi_av_open(net->domain, NULL, &net->av, net);
	ret = ret ?: fi_endpoint(net->domain, net->info, &net->ep, net);
	ret = ret ?: fi_ep_bind(net->ep, &net->cq->fid, FI_TRANSMIT | FI_RECV);
	ret = ret ?: fi_ep_bind(net->ep, &net->av->fid, 0);
	ret = ret
		      ?: fi_setopt(&net->ep->fid, FI_OPT_ENDPOINT,
				   FI_OPT_SPACE_HANDLER, &space, sizeof(space));
	ret = ret ?: fi_enable(net->ep);
	for (i = 0; !ret && i < 2 * KLND_RECVS; i++)
		ret = klnd_post_recv(net->ops[i]);
	return ret;
}

/* The endpoint is closed: nothing comes any more. */
static void klnd_net_free(struct klnd_net *net)
{
	struct klnd_peer *peer;
	struct hlist_node *next;
	unsigned int i;

	fi_close_opened(net->cq);
	fi_close_opened(net->av);
	fi_close_opened(net->domain);
	fi_close_opened(net->fabric);
	fi_freeinfo(net->info);
	for (i = 0; i < KLND_OPS; i++) {
		if (net->ops[i])
			kfree(net->ops[i]->buf);
		kfree(net->ops[i]);
	}
	for (i = 0; i < ARRAY_SIZE(net->peers); i++)
		hlist_for_each_entry_safe(peer, next, &net->peers[i], node)
			kfree(peer);
	kfree(net);
}

static void klnd_net_close_endpoint(struct klnd_net *net)
{
	mutex_lock(&net->lock);
	net->is_closing = true;
	net->tick_ms = 0; /* the engine looks at all once more */
	klnd_requests_end(net);
	mutex_unlock(&net->lock);
	/* All operations are over when it returns, and no upcall comes any more. */
	fi_close_opened(net->ep);
	cancel_delayed_work_sync(&net->engine);
	klnd_engine(&net->engine.work);
	cancel_work_sync(&net->reaper);
	klnd_reap(&net->reaper);
}

int klnd_open(const struct klnd_attr *attr, struct klnd_net **net_out)
{
	struct klnd_net *net;
	int ret;

	if (!attr->nid || attr->credits > LNDW_CREDITS_MAX || !attr->ops ||
	    !attr->ops->match || !attr->ops->event)
		return -EINVAL;
	net = kzalloc(sizeof(*net), GFP_KERNEL);
	if (!net)
		return -ENOMEM;
	net->attr = *attr;
	net->self = (struct lndw_node){
		.nid = attr->nid,
		.incarnation = attr->incarnation ?: ktime_get_real_ns(),
		.credits = attr->credits ?: KLND_CREDITS,
		.ops = &klnd_core_ops,
	};
	spin_lock_init(&net->done_lock);
	INIT_LIST_HEAD(&net->done);
	mutex_init(&net->lock);
	INIT_LIST_HEAD(&net->dirty);
	INIT_LIST_HEAD(&net->free);
	INIT_LIST_HEAD(&net->retries);
	INIT_LIST_HEAD(&net->ended);
	INIT_DELAYED_WORK(&net->engine, klnd_engine);
	INIT_WORK(&net->reaper, klnd_reap);
	ret = klnd_net_get_info(net);
	ret = ret ?: klnd_net_alloc_ops(net);
	ret = ret ?: klnd_net_open_endpoint(net);
	/* What they point to is the caller's. */
	net->attr.prov = net->attr.node = net->attr.service = NULL;
	if (ret) {
		klnd_net_close_endpoint(net);
		klnd_net_free(net);
		return ret;
	}
	mutex_lock(&klnd_nets_lock);
	list_add_tail(&net->node, &klnd_nets);
	mutex_unlock(&klnd_nets_lock);
	*net_out = net;
	return 0;
}
EXPORT_SYMBOL_GPL(klnd_open);

void klnd_close(struct klnd_net *net)
{
	mutex_lock(&klnd_nets_lock);
	list_del(&net->node);
	mutex_unlock(&klnd_nets_lock);
	klnd_net_close_endpoint(net);
	klnd_net_free(net);
}
EXPORT_SYMBOL_GPL(klnd_close);

static struct hlist_head *klnd_peer_chain(struct klnd_net *net, u64 nid)
{
	return &net->peers[hash_64(nid, KLND_HASH_BITS)];
}

struct klnd_peer *klnd_peer_find(struct klnd_net *net, u64 nid)
{
	struct klnd_peer *peer;

	lockdep_assert_held(&net->lock);
	hlist_for_each_entry(peer, klnd_peer_chain(net, nid),
			     node) if (peer->core.nid == nid) return peer;
	return NULL;
}

int klnd_peer_add(struct klnd_net *net, u64 nid, const char *node,
		  const char *service)
{
	struct klnd_peer *peer;
	int ret;

	if (!nid)
		return -EINVAL;
	peer = kzalloc(sizeof(*peer), GFP_KERNEL);
	if (!peer)
		return -ENOMEM;
	peer->net = net;
	INIT_LIST_HEAD(&peer->dirty);
	INIT_LIST_HEAD(&peer->waiting);
	lndw_peer_init(&peer->core, &net->self, nid);
	ret = fi_av_insertsvc(net->av, node, service, &peer->addr, 0, NULL);
	if (ret != 1)
		goto free_peer;
	mutex_lock(&net->lock);
	ret = klnd_peer_find(net, nid) ? -EEXIST : 0;
	if (!ret)
		hlist_add_head(&peer->node, klnd_peer_chain(net, nid));
	mutex_unlock(&net->lock);
	if (!ret)
		return 0;
	fi_av_remove(net->av, &peer->addr, 1, 0);
free_peer:
	kfree(peer);
	return ret;
}
EXPORT_SYMBOL_GPL(klnd_peer_add);

void klnd_count(struct klnd_net *net, struct klnd_counts *counts)
{
	mutex_lock(&net->lock);
	*counts = net->counts;
	mutex_unlock(&net->lock);
}
EXPORT_SYMBOL_GPL(klnd_count);
