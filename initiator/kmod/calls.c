// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: requests of the control protocol that somebody waits for.
 *
 * Whoever wants one puts it into dev->calls and sleeps; it is sent on queue 0
 * when the session can take it, and its owner is woken with the answer. FLUSH
 * requests are flush.c's; their owner is the queue.
 *
 * A request that was not answered in time is nobody's any more. When it was a
 * MAP, and is granted after all, the mapping is given back.
 */
#include "kfbrick.h"

/* Context: dev->lock is held; the call is in no list and no engine. */
static void finish(struct kfbk_call *call, const struct kfb_outcome *outcome)
{
	call->outcome = *outcome;
	complete(&call->done);
}

static void lose(struct kfbk_call *call)
{
	const struct kfb_outcome lost = { .kind = KFB_OUTCOME_LOST,
					  .error = -ECONNRESET };

	list_del_init(&call->node);
	finish(call, &lost);
}

void kfbk_answered(struct kfbk_queue *q, const struct kfb_outcome *outcome)
{
	struct kfbk_device *dev = q->dev;
	struct kfbk_call *call;

	lockdep_assert_held(&dev->lock);
	if (!outcome->owner)
		return;
	if (outcome->op == KFB_OP_FLUSH) {
		kfbk_flush_answered(q, outcome);
		return;
	}
	call = outcome->owner;
	if (outcome->kind == KFB_OUTCOME_REPLY && call->reply)
		*call->reply = dev->rx_reply;
	finish(call, outcome);
}

void kfbk_answered_late(struct kfbk_queue *q, const struct kfb_outcome *outcome)
{
	struct kfbk_device *dev = q->dev;

	lockdep_assert_held(&dev->lock);
	if (outcome->op == KFB_OP_FLUSH)
		kfbk_flush_answered(q, outcome);
	if (outcome->op != KFB_OP_MAP || outcome->error)
		return;
	if (dev->n_late == KFBK_LATE_MAX) {
		kfbk_err_limited(dev, "a mapping stays: too many came late\n");
		return;
	}
	dev->late[dev->n_late++] = dev->rx_reply.u.map.mapping_id;
	kfbk_calls_pump(dev);
}

/* Nobody waits for the answers: they are BUSY to who maps them again. */
static void give_back_late(struct kfbk_device *dev)
{
	struct kfb_request req = { .op = KFB_OP_UNMAP };
	struct kfb_message message;
	u64 now_ms = kfbk_now_ms();

	/* With its session a mapping is gone. */
	if (dev->is_over || dev->session_id != dev->client.session_id)
		dev->n_late = 0;
	while (dev->n_late && kfb_client_can_call(&dev->client, 0)) {
		req.u.unmap.mapping_id = dev->late[dev->n_late - 1];
		if (kfb_engine_start(&dev->client.queues[0].engine, &req,
				     now_ms, dev->options.timeout_ms, NULL,
				     &message))
			return;
		kfbk_send(&dev->queues[0], &message);
		dev->n_late--;
	}
}

static bool may_go(const struct kfbk_device *dev, const struct kfbk_call *call)
{
	return kfb_client_can_call(&dev->client, 0) &&
	       (call->in_mapping ||
		kfb_client_state(&dev->client) == KFB_CLIENT_LIVE);
}

/* -EAGAIN: later. */
static int start(struct kfbk_device *dev, struct kfbk_call *call)
{
	struct kfb_message message;
	u64 now_ms = kfbk_now_ms();
	int ret;

	ret = kfb_engine_start(&dev->client.queues[0].engine, &call->req,
			       now_ms, dev->options.timeout_ms, call, &message);
	if (ret)
		return ret;
	call->session_id = dev->client.session_id;
	kfbk_send(&dev->queues[0], &message);
	kfbk_wake_at(dev, now_ms + dev->options.timeout_ms);
	return 0;
}

void kfbk_calls_pump(struct kfbk_device *dev)
{
	struct kfbk_call *call, *next;

	lockdep_assert_held(&dev->lock);
	give_back_late(dev);
	list_for_each_entry_safe(call, next, &dev->calls, node) {
		if (dev->is_over ||
		    (call->in_session &&
		     call->in_session != dev->client.session_id)) {
			lose(call);
			continue;
		}
		if (!may_go(dev, call))
			continue;
		list_del_init(&call->node);
		switch (start(dev, call)) {
		case 0:
			break;
		case -EAGAIN:
		case -ENOTCONN:
			list_add(&call->node, &dev->calls);
			return;
		default:
			lose(call);
			break;
		}
	}
}

int kfbk_call(struct kfbk_device *dev, struct kfbk_call *call)
{
	init_completion(&call->done);
	kfbk_lock(dev);
	list_add_tail(&call->node, &dev->calls);
	kfbk_calls_pump(dev);
	kfbk_unlock(dev);
	wait_for_completion(&call->done);
	return call->outcome.error;
}
