// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fault provider: endpoints: opening, connecting, closing.
 *
 * Each has an inner endpoint with queues of its own: a completion upcall per
 * direction, which knows the endpoint by its context, and an event queue whose
 * handler queues work.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "fault.h"

/* Beyond an operation's limit, for the end of a connection to settle. */
#define END_MARGIN_MS 1000
#define CUT_WAIT_MS   20000

DEFINE_MUTEX(fault_eps_lock);
LIST_HEAD(fault_eps);

/* ---- events ------------------------------------------------------------ */

static void fault_ep_went_down(struct fault_ep *ep, int err, int prov_errno,
			       const void *data, size_t len)
{
	if (READ_ONCE(ep->inner->fid.dead))
		kfi_obj_kill(&ep->post.ep.fid);
	kfi_ep_down(&ep->post.ep, err, prov_errno, data, len);
	fault_break(ep);
}

static void fault_ep_came_up(struct fault_ep *ep, const void *data, size_t len)
{
	unsigned long irq;

	spin_lock_irqsave(&ep->post.lock, irq);
	ep->post.up = true;
	spin_unlock_irqrestore(&ep->post.lock, irq);
	kfi_ep_connected(&ep->post.ep, data, len);
}

static void fault_ep_read_failure(struct fault_ep *ep)
{
	struct fi_eq_err_entry err;

	if (fi_eq_readerr(ep->inner_eq, &err, 0) > 0)
		fault_ep_went_down(ep, err.err, err.prov_errno, err.err_data,
				   err.err_data_size);
}

static void fault_ep_read_events(struct work_struct *work)
{
	struct fault_ep *ep = container_of(work, struct fault_ep, events);
	struct fi_eq_cm_entry *entry = (void *)ep->event_buf;
	const size_t room = sizeof(ep->event_buf);
	ssize_t n;
	u32 event;

	if (READ_ONCE(ep->refused))
		fault_ep_went_down(ep, ECONNREFUSED, 0, NULL, 0);
	while ((n = fi_eq_read(ep->inner_eq, &event, entry, room, 0)) !=
	       -FI_EAGAIN) {
		if (n == -FI_EAVAIL)
			fault_ep_read_failure(ep);
		else if (event == FI_CONNECTED)
			fault_ep_came_up(ep, entry->data, n - sizeof(*entry));
		else
			fault_ep_went_down(ep, ECONNABORTED, 0, NULL, 0);
	}
}

static void fault_ep_event_came(struct fid_eq *eq, void *context)
{
	struct fault_ep *ep = context;

	queue_work(fault_wq, &ep->events);
}

/* The inner endpoint has room again. */
static void fault_ep_space_came(struct fid_ep *inner, u64 dir, void *context)
{
	struct fault_ep *ep = context;
	unsigned long irq;

	if (dir == FI_RECV) {
		kfi_ep_space(&ep->post.ep, dir);
		return;
	}
	spin_lock_irqsave(&ep->post.lock, irq);
	fault_kick(ep);
	spin_unlock_irqrestore(&ep->post.lock, irq);
}

/* ---- connecting -------------------------------------------------------- */

static void fault_pass_timeouts(struct fault_ep *ep)
{
	WRITE_ONCE(ep->inner->op_timeout_ms,
		   READ_ONCE(ep->post.ep.op_timeout_ms));
	WRITE_ONCE(ep->inner->cm_timeout_ms,
		   READ_ONCE(ep->post.ep.cm_timeout_ms));
}

static int fault_ep_connect(struct fid_ep *fid, const void *addr,
			    const void *param, size_t paramlen)
{
	struct fault_ep *ep = to_fault_ep(fid);

	fault_pass_timeouts(ep);
	if (!fault_knob(power_off) && !fault_hit(reject_nth))
		return fi_connect(ep->inner, addr, param, paramlen);
	fault_count(rejects);
	WRITE_ONCE(ep->refused, true);
	queue_work(fault_wq, &ep->events);
	return 0;
}

static int fault_ep_accept(struct fid_ep *fid, const void *param,
			   size_t paramlen)
{
	struct fault_ep *ep = to_fault_ep(fid);

	fault_pass_timeouts(ep);
	return fi_accept(ep->inner, param, paramlen);
}

static bool fault_ep_is_up(struct fault_ep *ep)
{
	unsigned long irq;
	bool up;

	spin_lock_irqsave(&ep->post.lock, irq);
	up = ep->post.up && !ep->post.broken;
	spin_unlock_irqrestore(&ep->post.lock, irq);
	return up;
}

/* Without the power model there is nothing to wait for. */
static int fault_ep_shutdown(struct fid_ep *fid, u64 flags)
{
	struct fault_ep *ep = to_fault_ep(fid);

	if (!ep->lines)
		return fi_shutdown(ep->inner, flags);
	fault_end(ep, FAULT_END_CLOSE);
	return 0;
}

static int fault_ep_getname(struct kfid *fid, void *addr, size_t *addrlen)
{
	struct fault_ep *ep = container_of(fid, struct fault_ep, post.ep.fid);

	return fi_getname(&ep->inner->fid, addr, addrlen);
}

static int fault_ep_getpeer(struct fid_ep *fid, void *addr, size_t *addrlen)
{
	return fi_getpeer(to_fault_ep(fid)->inner, addr, addrlen);
}

static int fault_ep_control(struct kfid *fid, int command, void *arg)
{
	struct fault_ep *ep = container_of(fid, struct fault_ep, post.ep.fid);

	return fi_control(&ep->inner->fid, command, arg);
}

/* ---- the end ----------------------------------------------------------- */

/* Let N drain or drop, if there is a connection left to do it on. */
static void fault_ep_end_connection(struct fault_ep *ep)
{
	u32 limit = READ_ONCE(ep->post.ep.op_timeout_ms) + END_MARGIN_MS;

	if (!ep->lines || !fault_ep_is_up(ep))
		return;
	fault_end(ep, FAULT_END_CLOSE);
	wait_event_timeout(ep->wait, READ_ONCE(ep->post.broken),
			   msecs_to_jiffies(limit));
}

/* Whatever there is of the inner objects; their code has stopped after it. */
static void fault_ep_close_inner(struct fault_ep *ep)
{
	if (ep->inner) {
		/* The events' work looks at it. */
		kfi_obj_get(&ep->inner->fid);
		fi_close(&ep->inner->fid);
		cancel_work_sync(&ep->events);
		kfi_obj_put(&ep->inner->fid);
	}
	if (ep->inner_tx)
		fi_close(&ep->inner_tx->fid);
	if (ep->inner_rx)
		fi_close(&ep->inner_rx->fid);
	if (ep->inner_eq)
		fi_close(&ep->inner_eq->fid);
}

static void fault_ep_close(struct kfid *fid)
{
	struct fault_ep *ep = container_of(fid, struct fault_ep, post.ep.fid);

	mutex_lock(&fault_eps_lock);
	list_del(&ep->node);
	mutex_unlock(&fault_eps_lock);
	fault_ep_end_connection(ep);
	/* From here on the engine leaves the inner endpoint alone. */
	fault_break(ep);
	cancel_delayed_work_sync(&ep->engine);
	fault_ep_close_inner(ep);
	spin_lock_irq(&ep->post.lock);
	ep->closed = true;
	spin_unlock_irq(&ep->post.lock);
	cancel_delayed_work_sync(&ep->engine);
	fault_run(ep);
}

static void fault_ep_free(struct fault_ep *ep)
{
	kvfree(ep->lines);
	kvfree(ep->drain_mem);
	kvfree(ep->post.slot_mem);
	kfree(ep);
}

static void fault_ep_release(struct kfid *fid)
{
	fault_ep_free(container_of(fid, struct fault_ep, post.ep.fid));
}

static const struct fi_ops fault_ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = fault_ep_close,
	.release = fault_ep_release,
	.control = fault_ep_control,
};

static const struct fi_ops_cm fault_cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.connect = fault_ep_connect,
	.accept = fault_ep_accept,
	.shutdown = fault_ep_shutdown,
	.getname = fault_ep_getname,
	.getpeer = fault_ep_getpeer,
};

static const struct kfi_ep_ops fault_ep_ops = {
	.fid = &fault_ep_fid_ops,
	.cm = &fault_cm_ops,
	.msg = &kfi_post_msg_ops,
	.rma = &kfi_post_rma_ops,
	.atomic = &kfi_post_atomic_ops,
};

/* ---- opening ----------------------------------------------------------- */

static int fault_ep_alloc_slots(struct fault_ep *ep,
				const struct fault_domain *d)
{
	size_t op_bytes =
		ALIGN(offsetof(struct fault_op, inner) + d->inner_context,
		      sizeof(u64));
	struct fault_op *op;
	int i;

	ep->drain_mem = kvcalloc(FAULT_DRAIN_SLOTS, op_bytes, GFP_KERNEL);
	if (!ep->drain_mem)
		return -ENOMEM;
	for (i = 0; i < FAULT_DRAIN_SLOTS; i++) {
		op = ep->drain_mem + i * op_bytes;
		op->base.type = FAULT_DRAIN;
		list_add_tail(&op->base.node, &ep->drains);
	}
	return kfi_post_alloc_slots(&ep->post, op_bytes);
}

static void fault_ep_init(struct fault_ep *ep, const struct fi_info *info)
{
	kfi_post_init(&ep->post, info, &fault_post_ops);
	init_waitqueue_head(&ep->wait);
	INIT_LIST_HEAD(&ep->node);
	INIT_LIST_HEAD(&ep->queue);
	INIT_LIST_HEAD(&ep->sent);
	INIT_LIST_HEAD(&ep->rx);
	INIT_LIST_HEAD(&ep->rx_done);
	INIT_LIST_HEAD(&ep->lost);
	INIT_LIST_HEAD(&ep->rx_lost);
	INIT_LIST_HEAD(&ep->drains);
	INIT_WORK(&ep->events, fault_ep_read_events);
	INIT_DELAYED_WORK(&ep->engine, fault_engine);
}

static struct fault_ep *fault_ep_alloc(const struct fault_domain *d,
				       const struct fi_info *info)
{
	struct fault_ep *ep;

	if (!info->tx_attr->size || !info->rx_attr->size)
		return ERR_PTR(-EINVAL);
	ep = kzalloc(sizeof(*ep), GFP_KERNEL);
	if (!ep)
		return ERR_PTR(-ENOMEM);
	fault_ep_init(ep, info);
	if (fault_ep_alloc_slots(ep, d) || fault_hold_init(ep)) {
		fault_ep_free(ep);
		return ERR_PTR(-ENOMEM);
	}
	return ep;
}

static int fault_ep_open_queues(struct fault_ep *ep,
				const struct fault_domain *d)
{
	struct fi_cq_attr cq = { .comp_handler = fault_inner_done };
	struct fi_eq_attr eq = { .handler = fault_ep_event_came };
	int ret;

	ret = fi_cq_open(d->inner, &cq, &ep->inner_tx, ep);
	ret = ret ?: fi_cq_open(d->inner, &cq, &ep->inner_rx, ep);
	return ret ?: fi_eq_open(d->inner->fabric, &eq, &ep->inner_eq, ep);
}

static int fault_ep_bind_queues(struct fault_ep *ep)
{
	struct fi_space_handler space = { .fn = fault_ep_space_came,
					  .context = ep };
	int ret;

	ret = fi_setopt(&ep->inner->fid, FI_OPT_ENDPOINT, FI_OPT_SPACE_HANDLER,
			&space, sizeof(space));
	ret = ret ?: fi_ep_bind(ep->inner, &ep->inner_tx->fid, FI_TRANSMIT);
	ret = ret ?: fi_ep_bind(ep->inner, &ep->inner_rx->fid, FI_RECV);
	return ret ?: fi_ep_bind(ep->inner, &ep->inner_eq->fid, 0);
}

static int fault_ep_open_inner(struct fault_ep *ep,
			       const struct fault_domain *d,
			       const struct fi_info *info)
{
	struct kfid *handle = info->handle;
	struct fi_info *inner;
	int ret;

	if (handle) {
		if (handle->ops != &fault_req_ops)
			return -EINVAL;
		handle = container_of(handle, struct fault_req, req.fid)
				 ->inner->handle;
	}
	inner = fault_info_inner(info, handle);
	if (!inner)
		return -ENOMEM;
	ret = fault_ep_open_queues(ep, d);
	ret = ret ?: fi_endpoint(d->inner, inner, &ep->inner, ep);
	fi_freeinfo(inner);
	return ret ?: fault_ep_bind_queues(ep);
}

int fault_endpoint(struct fid_domain *domain, struct fi_info *info,
		   struct fid_ep **fid, void *context)
{
	struct fault_domain *d = to_fault_domain(domain);
	struct fault_ep *ep = fault_ep_alloc(d, info);
	int ret;

	if (IS_ERR(ep))
		return PTR_ERR(ep);
	ret = fault_ep_open_inner(ep, d, info);
	ret = ret
		      ?: kfi_ep_init(&ep->post.ep, domain, info, &fault_ep_ops,
				     context);
	if (ret) {
		fault_ep_close_inner(ep);
		fault_ep_free(ep);
		return ret;
	}
	mutex_lock(&fault_eps_lock);
	list_add_tail(&ep->node, &fault_eps);
	mutex_unlock(&fault_eps_lock);
	*fid = &ep->post.ep;
	return 0;
}

/* ---- power ------------------------------------------------------------- */

/* Wait for every endpoint that is being cut; false: one does not come. */
static bool fault_await_all(bool down)
{
	struct fault_ep *ep;
	bool all = true;

	lockdep_assert_held(&fault_eps_lock);
	list_for_each_entry(ep, &fault_eps, node) {
		if (READ_ONCE(ep->end) < FAULT_END_CUT)
			continue;
		if (!wait_event_timeout(ep->wait,
					READ_ONCE(ep->post.broken) ||
						(!down &&
						 READ_ONCE(ep->end_settled)),
					msecs_to_jiffies(CUT_WAIT_MS)))
			all = false;
	}
	return all;
}

int kfabric_fault_cut(void)
{
	struct fault_ep *ep;
	bool all;
	int n = 0;

	mutex_lock(&fault_eps_lock);
	list_for_each_entry(ep, &fault_eps, node) {
		if (fault_ep_is_up(ep)) {
			fault_end(ep, FAULT_END_CUT);
			n++;
		}
	}
	all = fault_await_all(false);
	list_for_each_entry(ep, &fault_eps, node)
		fault_end(ep, FAULT_END_DOWN);
	all = fault_await_all(true) && all;
	mutex_unlock(&fault_eps_lock);
	return all ? n : -ETIMEDOUT;
}
EXPORT_SYMBOL_GPL(kfabric_fault_cut);

static void fault_cut_while_off(struct work_struct *work)
{
	kfabric_fault_cut();
}

static DECLARE_WORK(fault_off_work, fault_cut_while_off);

/* In the midst of operations: the cut itself waits for their engines. */
void fault_power_off(void)
{
	WRITE_ONCE(fault_knobs[FAULT_KNOB_power_off], 1);
	queue_work(system_long_wq, &fault_off_work);
}

/* When there are no endpoints any more. */
void fault_power_off_end(void)
{
	cancel_work_sync(&fault_off_work);
}
