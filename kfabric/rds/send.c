// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rds provider: handing messages to RDS, in the order of posting to each port.
 *
 * Context: the engine.
 */
#include <linux/jiffies.h>

#include "rds.h"

/* A message to a port waits behind an earlier one that the port was too full for. */
static bool krds_is_behind(const struct krds_host *host,
			   const struct krds_op *op)
{
	const struct krds_op *other;

	list_for_each_entry(other, &host->sends, base.node) {
		if (other == op)
			break;
		if (other->to.sin6_port == op->to.sin6_port)
			return true;
	}
	return false;
}

static void krds_taken(struct krds_ep *ep, struct krds_host *host,
		       struct krds_op *op)
{
	struct krds_op *other = op;

	/* Its port takes messages again: those behind it have waited for that. */
	if (op->why) {
		list_for_each_entry_continue(other, &host->sends, base.node)
		{
			if (other->to.sin6_port == op->to.sin6_port)
				other->deadline =
					kfi_post_deadline(&ep->base.post);
		}
	}
	if (host->local || (op->base.flags & FI_INJECT_COMPLETE)) {
		krds_finish(ep, op, 0, 0);
		return;
	}
	op->question = host->questions + 1;
	op->deadline = kfi_post_deadline(&ep->base.post);
	list_move_tail(&op->base.node, &host->handed);
}

static void krds_hand_over(struct krds_ep *ep, struct krds_host *host,
			   struct krds_op *op)
{
	int ret;

	if (!kfi_send_begin(&op->send)) {
		krds_finish(ep, op, ECANCELED, 0);
		return;
	}
	ret = kfi_socket_send(&ep->base, &op->to, &op->base.buf);
	switch (ret) {
	case 0:
		krds_taken(ep, host, op);
		break;
	case -EAGAIN:
	case -ENOBUFS:
	case -ENOMEM:
		op->why = -ret;
		ep->full = ret == -EAGAIN;
		kfi_send_begin_undo(&op->send);
		break;
	default:
		krds_finish(ep, op, FI_EHOSTUNREACH, ret);
	}
}

void krds_send_all(struct krds_ep *ep)
{
	bool check = time_after_eq(jiffies, ep->next_tick);
	struct krds_host *host, *next;
	struct krds_op *op, *next_op;
	bool cancel = READ_ONCE(ep->cancel);

	if (cancel) {
		spin_lock_irq(&ep->base.post.lock);
		ep->cancel = false;
		spin_unlock_irq(&ep->base.post.lock);
	}
	if (check)
		ep->next_tick = jiffies + msecs_to_jiffies(KRDS_TICK_MS);
	ep->full = false;
	list_for_each_entry_safe(host, next, &ep->busy, busy) {
		if (check || cancel)
			krds_host_check(ep, host);
		list_for_each_entry_safe(op, next_op, &host->sends, base.node) {
			if (ep->full || !(host->up || host->local))
				break;
			if (!krds_is_behind(host, op))
				krds_hand_over(ep, host, op);
		}
		krds_ask(ep, host);
		if (list_empty(&host->sends) && list_empty(&host->handed))
			krds_host_idle(ep, host);
	}
	/* Who was first today is last tomorrow: what is full must not be theirs. */
	list_rotate_left(&ep->busy);
}
