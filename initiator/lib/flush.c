// SPDX-License-Identifier: BSD-2-Clause
/*
 * Flushes and losses as the library's users see them; what decides is the
 * core's.
 */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <string.h>

#include "internal.h"
#include "kfb_err.h"

int kfbl_flush_locate(struct kfb_initiator *i, const struct kfb_flush_range *at,
		      struct kfb_initiator_place *place)
{
	struct kfb_piece piece;
	int rc;

	rc = kfb_blockmap_split(&kfbl_of(i)->map, at->va, at->len, false,
				&piece);
	if (rc)
		return rc;
	place->raddr = piece.raddr;
	place->key = piece.key;
	return 0;
}

int kfbl_flush_locate_any(struct kfb_initiator *i, __u64 *va)
{
	const struct kfb_blockmap *map = &kfbl_of(i)->map;

	if (!map->n)
		return -ENODATA;
	*va = map->entries[0].handle.va;
	return 0;
}

int kfbl_flush_read_back(struct kfb_initiator_queue *core, __u32 place,
			 __u64 id, const struct kfb_initiator_place *from,
			 __u32 len)
{
	struct kfbrick *k = kfbl_of(core->initiator);
	struct kfbl_queue *q = kfbl_queue_of(core);
	struct kfbl_ctx *ctx = &q->readback_ctx[place];

	ctx->kind = KFBL_CTX_READBACK;
	ctx->flush_id = id;
	return kfbl_errno(fi_read(
		q->link.ep, q->readback + place * KFB_READBACK_BYTES, len,
		k->fabric.control_desc, 0, from->raddr, from->key, &ctx->fi));
}

int kfbl_flush_losses(struct kfbrick *k)
{
	const struct kfb_dirty *lost = &k->core.losses.ranges;
	const char *why = kfb_losses_text(k->core.losses.why);

	if (lost->all)
		return kfbl_fail(k, -EIO,
				 "flush at %s: completed writes are lost, no "
				 "one knows which: %s",
				 k->url.text, why);
	return kfbl_fail(k, -EIO,
			 "flush at %s: completed writes are lost in %u ranges, "
			 "the first is 0x%llx+%llu: %s: write them again after "
			 "kfbrick_accept_losses()",
			 k->url.text, lost->n,
			 (unsigned long long)lost->ranges[0].va,
			 (unsigned long long)lost->ranges[0].len, why);
}

void kfbl_flush_done(struct kfb_initiator *i, struct kfb_initiator_flush *flush,
		     int error)
{
	kfbl_op_done(kfbl_of(i), kfb_container_of(flush, struct kfbl_op, flush),
		     error);
}

bool kfbl_flush_is_dirty_in(struct kfbrick *k, uint64_t va, uint64_t len)
{
	uint32_t i;

	for (i = 0; i < k->n_queues; i++) {
		if (kfb_flush_is_dirty_in(&k->queues[i].core.flush, va, len))
			return true;
	}
	return k->core.replay_due &&
	       kfb_initiator_retain_has(&k->core, va, len);
}

void kfbl_flush_follow(struct kfbrick *k, struct kfbl_op *op)
{
	op->kind = KFBL_OP_FLUSH;
	op->flush.only = KFB_INITIATOR_ALL_QUEUES;
	/* A durable write answers for itself alone. */
	op->flush.is_of_write = op->durable;
	op->flush.is_told = !op->durable;
	/* A flush of everything covers its copies. */
	op->flush.copy = KFB_RETAIN_NONE;
	kfb_initiator_flush(&k->core, &op->flush);
}

void kfbl_flush_start(struct kfbrick *k, struct kfbl_op *op)
{
	op->state = KFBL_OP_ACTIVE;
	k->n_active++;
	op->error = 0;
	op->len = 0;
	kfbl_flush_follow(k, op);
}

int kfbrick_post_flush(struct kfbrick *k, void *context)
{
	struct kfbl_op *op;

	if (kfbl_is_over(k))
		return kfbl_not_connected(k);
	op = kfbl_op_get(k, false);
	if (!op)
		return -EAGAIN;
	op->context = context;
	kfbl_flush_start(k, op);
	return 0;
}

size_t kfbrick_losses(struct kfbrick *k, struct kfbrick_range *ranges,
		      size_t max)
{
	const struct kfb_dirty *lost = &k->core.losses.ranges;
	size_t i;

	if (lost->all) {
		if (max)
			ranges[0] = (struct kfbrick_range){ .len = UINT64_MAX };
		return 1;
	}
	for (i = 0; i < lost->n && i < max; i++) {
		ranges[i].va = lost->ranges[i].va;
		ranges[i].len = lost->ranges[i].len;
	}
	return lost->n;
}

/* What has arrived of a write whose end nobody knows: may some of it be lost? */
static bool is_torn(const struct kfbrick *k, const struct kfbl_op *op)
{
	const struct kfb_losses *losses = &k->core.losses;

	return op->state != KFBL_OP_FREE && op->kind == KFBL_OP_WRITE &&
	       op->uncommitted && op->losses_before != losses->n &&
	       kfb_dirty_overlaps(&losses->ranges, op->va, op->len);
}

void kfbrick_accept_losses(struct kfbrick *k)
{
	bool is_lost = kfb_losses_error(&k->core.losses);
	uint32_t i;

	/* What has arrived of a write is not sent again, so that it says so. */
	for (i = 0; is_lost && i < k->queue_depth; i++) {
		struct kfbl_op *op = &k->ops[i];

		if (!op->error && is_torn(k, op))
			op->error = -EIO;
	}
	kfb_losses_reset(&k->core.losses);
	/* Who finds no room waits for a flush again. */
	if (is_lost)
		k->core.retain.error = 0;
}
