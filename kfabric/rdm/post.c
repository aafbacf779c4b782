// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The rdm provider: posting and cancelling: queues; kicks the engine, or is it.
 *
 * Context: posting: any but hardirq; no sleep, no allocation.
 * Locking: kfir_ctx.post.lock; under it kfir_ep.lock.
 */

#include "rdm.h"

static int kfir_ready(struct kfi_post_ep *post, u64 dir)
{
	const struct kfir_ctx *ctx = to_kfir_ctx(post);
	const struct kfir_ep *ep = ctx->ep;

	if (!(ctx->dirs & dir))
		return -ENOSYS;
	if (!smp_load_acquire(&ctx->enabled))
		return -FI_EOPBADSTATE;
	if (READ_ONCE(ep->pep->fid.dead))
		return -ENODEV;
	return smp_load_acquire(&ep->listening) ? 0 : -FI_EOPBADSTATE;
}

static void kfir_queue_receive(struct kfir_ctx *ctx, struct kfir_op *op,
			       bool named)
{
	static_assert(sizeof(op->name) == RDMW_NAME_BYTES);
	/* On no list until it is canceled. */
	INIT_LIST_HEAD(&op->base.node);
	op->want = (struct rdmw_want){
		.from = named ? (const u8 *)&op->name : NULL,
		.is_tagged = op->base.is_tagged,
		.tag = op->base.tag,
		.ignore = op->base.ignore,
	};
	rdmw_want_add(&ctx->receives, &op->want);
	if (!(op->base.flags & FI_MULTI_RECV))
		return;
	op->multi = (struct rdmw_multi){
		.size = op->base.buf.len,
		.min = READ_ONCE(ctx->post.ep.min_multi_recv),
	};
	/* However it ends, but by a message. */
	op->base.comp->entry.flags |= FI_MULTI_RECV;
}

static int kfir_queue(struct kfi_post_ep *post, struct kfi_op *base)
{
	struct kfir_ctx *ctx = to_kfir_ctx(post);
	struct kfir_ep *ep = ctx->ep;
	struct kfir_op *op = to_kfir_op(base);
	bool named = base->type != KFI_OP_RECV ||
		     (ep->directed && base->addr != FI_ADDR_UNSPEC);

	lockdep_assert_held(&post->lock);
	op->to_ctx = 0;
	if (named && !kfi_av_name_ctx(ep->own.post.ep.av, base->addr, &op->name,
				      &op->to_ctx))
		return -EINVAL;
	/* Messages come from an endpoint, and not from one of its contexts. */
	if (base->type == KFI_OP_RECV && op->to_ctx)
		return -EINVAL;
	/* Without data nothing of remote memory is received. */
	if (kfir_is_request(op) && !(base->flags & FI_REMOTE_CQ_DATA))
		op->to_ctx = 0;
	/* A message is there when the peer's NIC has it; what is written is placed. */
	if (base->type == KFI_OP_SEND && (base->flags & FI_DELIVERY_COMPLETE))
		return -EOPNOTSUPP;
	op->ctx = ctx;
	op->is_answered = false;
	op->moved = 0;
	op->pieces = 0;
	op->anew = false;
	op->conn = NULL;
	op->flying = 0;
	op->canceled = false;
	op->whole = false;
	op->native = false;
	op->status = RDMW_DONE;
	if (base->type != KFI_OP_RECV) {
		op->deadline = kfi_post_deadline(post);
		kfi_send_add(&op->send, base, &ctx->sends);
		return kfir_tell(ctx, op);
	}
	kfir_queue_receive(ctx, op, named);
	if (!(base->flags & FI_MORE) && READ_ONCE(ep->hungry))
		kfir_tell_receive(ep);
	return 0;
}

static void kfir_post_kick(struct kfi_post_ep *post)
{
	kfir_kick(to_kfir_ctx(post)->ep);
}

/* A context that is over may be named: only what is on a list is looked into. */
static int kfir_cancel(struct kfi_post_ep *post, const struct kfi_op *base)
{
	struct kfir_ctx *ctx = to_kfir_ctx(post);
	struct rdmw_want *want;
	struct kfir_op *op;

	lockdep_assert_held(&post->lock);
	for (want = ctx->receives.first; want; want = want->next) {
		op = kfir_op_of_want(want);
		if (&op->base != base)
			continue;
		rdmw_want_del(&ctx->receives, want);
		op->canceled = true;
		/* The last of the messages that come into it ends it. */
		if (base->flags & FI_MULTI_RECV) {
			op->multi.is_over = true;
			if (op->multi.users)
				return 0;
		}
		list_add_tail(&op->base.node, &ctx->canceled);
		kfir_kick(ctx->ep);
		return 0;
	}
	if (kfi_send_cancel(&ctx->sends, base))
		return -ENOENT;
	ctx->cancel = true;
	kfir_kick(ctx->ep);
	return 0;
}

const struct kfi_post_ops kfir_post_ops = {
	.size = sizeof(struct kfi_post_ops),
	.ready = kfir_ready,
	.queue = kfir_queue,
	.posted = kfir_posted,
	.kick = kfir_post_kick,
	.part_free = kfir_part_free,
	.cancel = kfir_cancel,
};
