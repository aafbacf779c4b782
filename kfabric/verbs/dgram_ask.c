// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_verbs: datagram endpoints: asking a peer for its queue pair, and answering
 * those who ask.
 *
 * A question is one CM id, and one work, which begins it, and which ends it when the
 * answer has come, or cm_timeout_ms are over, or the endpoint stops, whichever is first.
 * A request is answered in its handler, and its id ends there.
 *
 * Context: kfiv_ask_wq, and the connection manager's handlers.
 * Lifetime: a question is in dgram->asks until it is over, which kfiv_asks_end() waits
 *	for. Its id's handlers have ended when its work frees it.
 */
#include <linux/in.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_sa.h>

#include "dgram.h"

/**
 * struct kfiv_ask - a question that is under way
 * @cm: context of @id
 * @dgram: who asks
 * @node: in dgram->asks
 * @name: who is asked
 * @id: CM id
 * @work: begins, then ends it
 * @begun: @work has begun it
 * @result: what it ends with, if no answer comes in time: that
 * @ah: the answer
 * @source: where the peer's datagrams come from
 */
struct kfiv_ask {
	struct kfiv_cm cm;
	struct kfiv_dgram *dgram;
	struct list_head node;
	struct sockaddr_in6 name;
	struct rdma_cm_id *id;
	struct delayed_work work;
	bool begun;
	int result;
	struct kfiv_ah *ah;
	struct kfiv_source source;
};

/* ---- asking --------------------------------------------------------------------- */

static int kfiv_ask_request(struct kfiv_ask *ask, struct rdma_cm_id *id)
{
	const struct kfiv_dgram *dgram = ask->dgram;
	const struct sockaddr_in6 *own = (const void *)&dgram->ep->src;
	struct sa_path_rec *path = id->route.path_rec;
	struct kfiv_hello hello = {
		.magic = cpu_to_be32(KFIV_HELLO_MAGIC),
		.qpn = cpu_to_be32(dgram->qpn),
		.port = own->sin6_port,
	};
	struct rdma_conn_param param = { .private_data = &hello,
					 .private_data_len = sizeof(hello),
					 .qp_num = dgram->qpn };
	union ib_gid gid;

	/*
	 * What the peer will see as the source of our datagrams, which have a global
	 * route header where ib_init_ah_attr_from_path() gives the address handle one.
	 */
	if (rdma_cap_eth_ah(id->device, id->port_num) || path->hop_limit > 0)
		gid = path->sgid;
	else
		kfiv_lid_gid(&gid, be32_to_cpu(sa_path_get_slid(path)));
	memcpy(hello.gid, gid.raw, sizeof(hello.gid));
	return rdma_connect_locked(id, &param);
}

static int kfiv_ask_answer(struct kfiv_ask *ask, struct rdma_ud_param *answer)
{
	const struct rdma_ah_attr *attr = &answer->ah_attr;
	struct kfiv_ah *ah = kfiv_ah_new(ask->dgram, answer);

	if (IS_ERR(ah))
		return PTR_ERR(ah);
	ask->ah = ah;
	ask->source.qpn = answer->qp_num;
	if (rdma_ah_get_ah_flags(attr) & IB_AH_GRH)
		ask->source.gid = rdma_ah_read_grh(attr)->dgid;
	else
		kfiv_lid_gid(&ask->source.gid, rdma_ah_get_dlid(attr));
	return 0;
}

static int kfiv_ask_event(struct kfiv_cm *cm, struct rdma_cm_id *id,
			  struct rdma_cm_event *event)
{
	struct kfiv_ask *ask = container_of(cm, struct kfiv_ask, cm);
	struct kfiv_ep *ep = ask->dgram->ep;
	int ret;

	if (ask->ah)
		return 0; /* it is answered */
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		/* By another device or port than the queue pair's nothing can be sent. */
		if (id->device != ep->domain->dev->ib ||
		    id->port_num != ask->dgram->port_num)
			ret = -EHOSTUNREACH;
		else
			ret = rdma_resolve_route(id, kfiv_cm_timeout_ms(ep));
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ret = kfiv_ask_request(ask, id);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		ret = kfiv_ask_answer(ask, &event->param.ud);
		ask->result = ret;
		mod_delayed_work(kfiv_ask_wq, &ask->work, 0);
		return 0;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return 0;
	default:
		/* A positive one is the peer's: nobody listens, or wants to be asked. */
		if (event->event == RDMA_CM_EVENT_UNREACHABLE &&
		    event->status > 0)
			ret = -ECONNREFUSED;
		else
			ret = event->status < 0 ? event->status : -EHOSTUNREACH;
		break;
	}
	if (ret) {
		ask->result = ret;
		mod_delayed_work(kfiv_ask_wq, &ask->work, 0);
	}
	return 0;
}

static int kfiv_ask_begin(struct kfiv_ask *ask)
{
	struct kfiv_ep *ep = ask->dgram->ep;
	struct sockaddr_in6 src;
	struct rdma_cm_id *id;
	int ret;

	if (READ_ONCE(ask->dgram->closed))
		return -ECONNABORTED;
	memcpy(&src, &ep->src, sizeof(src));
	src.sin6_port = 0; /* of either family */
	id = rdma_create_id(ep->ep.domain->fabric->net, kfiv_cm_event, &ask->cm,
			    RDMA_PS_UDP, IB_QPT_UD);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ask->id = id;
	ret = rdma_resolve_addr(id, (struct sockaddr *)&src,
				(struct sockaddr *)&ask->name,
				kfiv_cm_timeout_ms(ep));
	/* To the routing tables this is memory. */
	return ret == -ENOBUFS ? -ENOMEM : ret;
}

/* The endpoint may be gone when this returns. */
static void kfiv_ask_end(struct kfiv_ask *ask)
{
	struct kfiv_dgram *dgram = ask->dgram;

	spin_lock_irq(&dgram->lock);
	list_del(&ask->node);
	spin_unlock_irq(&dgram->lock);
	if (ask->id)
		rdma_destroy_id(ask->id);
	/* Nobody else wakes it any more. */
	cancel_delayed_work(&ask->work);
	kfiv_peer_answered(dgram, &ask->name, ask->result, ask->ah,
			   &ask->source);
	/* What waits when the endpoint stops is canceled with the rest. */
	if (ask->result && !READ_ONCE(dgram->closed))
		kfiv_dgram_fail_waiting(dgram, &ask->name, ask->result);
	kfree(ask);
	spin_lock_irq(&dgram->lock);
	kfiv_dgram_kick(dgram);
	if (!--dgram->nr_asks && dgram->closed)
		complete(&dgram->answered);
	spin_unlock_irq(&dgram->lock);
}

static void kfiv_ask_work(struct work_struct *work)
{
	struct kfiv_ask *ask =
		container_of(to_delayed_work(work), struct kfiv_ask, work);
	unsigned int noio = memalloc_noio_save();
	int ret;

	if (!ask->begun) {
		ask->begun = true;
		ret = kfiv_ask_begin(ask);
		if (!ret) {
			/* Unless it has been answered meanwhile. */
			queue_delayed_work(kfiv_ask_wq, &ask->work,
					   msecs_to_jiffies(kfiv_cm_timeout_ms(
						   ask->dgram->ep)));
			goto out;
		}
		ask->result = ret;
	}
	kfiv_ask_end(ask);
out:
	memalloc_noio_restore(noio);
}

static int kfiv_ask_start(struct kfiv_dgram *dgram,
			  const struct sockaddr_in6 *name)
{
	struct kfiv_ask *ask = kzalloc(sizeof(*ask), GFP_KERNEL);
	int ret;

	if (!ask)
		return -ENOMEM;
	ask->cm.handler = kfiv_ask_event;
	ask->dgram = dgram;
	ask->name = *name;
	ask->result = -ETIMEDOUT;
	INIT_DELAYED_WORK(&ask->work, kfiv_ask_work);
	ret = kfiv_peer_ask(dgram, name, &ask->node);
	if (ret)
		kfree(ask);
	else
		queue_delayed_work(kfiv_ask_wq, &ask->work, 0);
	return ret;
}

/*
 * Ask for whom sends wait, and whose answers are old, as long as there may be more
 * questions. The end of one of them comes here again.
 */
void kfiv_asks_run(struct kfiv_dgram *dgram)
{
	struct sockaddr_in6 name;
	int ret;

	while (kfiv_dgram_send_waiting(dgram, &name)) {
		ret = kfiv_ask_start(dgram, &name);
		if (ret == -EBUSY || ret == -ECONNABORTED)
			return;
		if (ret == -ENOMEM)
			kfiv_dgram_fail_waiting(dgram, &name, ret);
	}
	while (kfiv_peer_next_stale(dgram, &name)) {
		ret = kfiv_ask_start(dgram, &name);
		if (ret && ret != -EALREADY)
			return; /* whoever doubts it comes here again */
	}
}

/* No work of the endpoint starts another one. */
void kfiv_asks_end(struct kfiv_dgram *dgram)
{
	struct kfiv_ask *ask;
	bool idle;

	spin_lock_irq(&dgram->lock);
	idle = !dgram->nr_asks;
	list_for_each_entry(ask, &dgram->asks, node)
		mod_delayed_work(kfiv_ask_wq, &ask->work, 0);
	spin_unlock_irq(&dgram->lock);
	if (idle)
		return;
	wait_for_completion(&dgram->answered);
	/* Who has completed it has it in hand no longer. */
	spin_lock_irq(&dgram->lock);
	spin_unlock_irq(&dgram->lock);
}

/* ---- answering ------------------------------------------------------------------ */

/*
 * What the asking endpoint says of itself, if it is one of kfabric: a claim, as the
 * source address of a datagram of UDP. On RoCE the address tells the GID, too.
 */
static void kfiv_hello_take(struct kfiv_dgram *dgram, struct rdma_cm_id *id,
			    const struct rdma_ud_param *request)
{
	struct kfiv_source source = {};
	struct sockaddr_in6 name;
	struct kfiv_hello hello;

	if (!request->private_data || request->private_data_len < sizeof(hello))
		return;
	memcpy(&hello, request->private_data, sizeof(hello));
	if (hello.magic != cpu_to_be32(KFIV_HELLO_MAGIC) || !hello.port ||
	    !kfi_name_set(&name, &id->route.addr.dst_addr))
		return;
	name.sin6_port = hello.port; /* of either family */
	source.qpn = be32_to_cpu(hello.qpn);
	if (rdma_cap_eth_ah(id->device, id->port_num))
		rdma_ip2gid((struct sockaddr *)&id->route.addr.dst_addr,
			    &source.gid);
	else
		memcpy(source.gid.raw, hello.gid, sizeof(hello.gid));
	kfiv_peer_learn(dgram, &name, &source);
}

/*
 * Of the id that listens, and, as context and handler are the listener's, of that of a
 * request, which has done all it is for: the connection manager destroys it, and refuses
 * what was not answered, as this returns not 0.
 */
int kfiv_dgram_event(struct kfiv_cm *cm, struct rdma_cm_id *id,
		     struct rdma_cm_event *event)
{
	struct kfiv_ep *ep = container_of(cm, struct kfiv_ep, cm);
	struct rdma_conn_param param = {};

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		param.qp_num = ep->dgram->qpn;
		if (!READ_ONCE(ep->dgram->closed)) {
			kfiv_hello_take(ep->dgram, id, &event->param.ud);
			rdma_accept(id, &param);
		}
		return -ECONNABORTED;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		kfiv_ep_fail(ep, ENODEV, event->event);
		kfiv_ep_queue_removal(ep);
		return 0;
	default:
		return 0;
	}
}
