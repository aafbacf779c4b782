// SPDX-License-Identifier: BSD-2-Clause
/*
 * One-sided reads and writes: ops in, pieces out, completions collected.
 *
 * Nothing here allocates: ops and pieces are made with the connection. An op
 * is posted in pieces, one per handle, at most piece_max bytes, and with
 * several queues one per block: all I/O of a block goes down one queue. What
 * does not fit into the fabric's queue, into the window of what the link
 * moves soon (kfb_window.h), or into what the brick allows (kfb_rate.h), waits
 * in order, and so does what was in flight when its connection died: it is
 * posted again when the session lives.
 */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int kfbl_io_init(struct kfbrick *k)
{
	uint32_t i;

	k->n_ops = k->queue_depth + KFBL_OPS_INTERNAL;
	kfb_bucket_init(&k->rate, &kfb_rate_none, KFB_RATE_BURST_MS,
			kfbl_now_ms());
	STAILQ_INIT(&k->free_ops);
	STAILQ_INIT(&k->free_internal);
	STAILQ_INIT(&k->unposted);
	STAILQ_INIT(&k->done);
	TAILQ_INIT(&k->free_pieces);
	k->ops = calloc(k->n_ops, sizeof(*k->ops));
	k->piece_ctx = calloc(k->queue_depth, sizeof(*k->piece_ctx));
	if (!k->ops || !k->piece_ctx)
		return -ENOMEM;
	for (i = 0; i < k->n_ops; i++) {
		k->ops[i].internal = i >= k->queue_depth;
		kfbl_op_put(k, &k->ops[i]);
	}
	for (i = 0; i < k->queue_depth; i++) {
		k->piece_ctx[i].kind = KFBL_CTX_PIECE;
		TAILQ_INSERT_HEAD(&k->free_pieces, &k->piece_ctx[i], link);
	}
	return 0;
}

void kfbl_io_fini(struct kfbrick *k)
{
	free(k->ops);
	free(k->piece_ctx);
}

struct kfbl_op *kfbl_op_get(struct kfbrick *k, bool internal)
{
	struct kfbl_ops *list = internal ? &k->free_internal : &k->free_ops;
	struct kfbl_op *op = STAILQ_FIRST(list);

	if (op)
		STAILQ_REMOVE_HEAD(list, link);
	else
		kfbl_fail(k, -EAGAIN,
			  "%u operations are not collected: poll first",
			  k->queue_depth);
	return op;
}

void kfbl_op_put(struct kfbrick *k, struct kfbl_op *op)
{
	op->state = KFBL_OP_FREE;
	op->durable = false;
	STAILQ_INSERT_HEAD(op->internal ? &k->free_internal : &k->free_ops, op,
			   link);
}

void kfbl_op_done(struct kfbrick *k, struct kfbl_op *op, int error)
{
	op->state = KFBL_OP_DONE;
	op->error = error;
	k->n_active--;
	if (!op->internal)
		STAILQ_INSERT_TAIL(&k->done, op, link);
}

uint64_t kfbl_write_flags(const struct kfbrick *k)
{
	return FI_COMPLETION |
	       (k->fabric.delivery_complete ? FI_DELIVERY_COMPLETE : 0);
}

static ssize_t post_piece(struct kfbrick *k, struct kfbl_queue *q,
			  struct kfbl_ctx *ctx, const struct kfb_piece *piece)
{
	struct kfbl_op *op = ctx->op;
	struct iovec iov = {
		.iov_base = op->buf + ctx->offset,
		.iov_len = piece->len,
	};
	struct fi_rma_iov rma = {
		.addr = piece->raddr,
		.len = piece->len,
		.key = piece->key,
	};
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.desc = &op->desc,
		.iov_count = 1,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = &ctx->fi,
	};

	if (op->kind == KFBL_OP_READ)
		return fi_readmsg(q->link.ep, &msg, FI_COMPLETION);
	ctx->commits = op->durable &&
		       k->core.client.info.flush_modes & KFB_FLUSH_COMMIT;
	return fi_writemsg(q->link.ep, &msg,
			   ctx->commits ? FI_COMPLETION | FI_COMMIT_COMPLETE
					: kfbl_write_flags(k));
}

/* The next piece of some bytes of an op, and where it goes; -EAGAIN: later. */
static int next_piece(struct kfbrick *k, const struct kfbl_queue *q,
		      const struct kfbl_op *op, size_t offset, size_t len,
		      struct kfb_piece *piece)
{
	uint64_t va = op->va + offset;
	uint64_t in_block = KFB_BLOCK_BYTES - (va & (KFB_BLOCK_BYTES - 1));
	int rc;

	rc = kfb_blockmap_split(&k->map, va, len, op->kind == KFBL_OP_WRITE,
				piece);
	if (rc)
		return rc;
	if (piece->len > k->fabric.piece_max)
		piece->len = k->fabric.piece_max;
	/* A copy, and all I/O of a queue, is of one block. */
	if ((k->core.client.n_used > 1 || k->core.retain.is_on) &&
	    piece->len > in_block)
		piece->len = in_block;
	piece->len = kfb_window_piece(&q->core.window,
				      kfb_bucket_piece(&k->rate, piece->len));
	return piece->len ? 0 : -EAGAIN;
}

bool kfbl_is_over_rate(struct kfbrick *k)
{
	if (!kfb_rate_is_set(&k->rate.rate) ||
	    kfb_bucket_is_open(&k->rate, kfbl_now_ms()))
		return false;
	k->waits_for_rate = true;
	return true;
}

/* Return 0, -EAGAIN (later), or why these bytes cannot be moved. */
static int post_bytes(struct kfbrick *k, struct kfbl_ctx *ctx,
		      struct kfbl_op *op, size_t offset, size_t len)
{
	struct kfb_piece piece;
	struct kfbl_queue *q;
	ssize_t rc;

	q = &k->queues[kfb_queue_of(op->va + offset, k->core.client.n_used)];
	if (q->full || kfbl_is_over_rate(k)) {
		/* A later one must not find that there is some again. */
		q->full = true;
		return -EAGAIN;
	}
	rc = next_piece(k, q, op, offset, len, &piece);
	/* A smaller piece must not overtake this one. */
	if (rc == -EAGAIN)
		q->full = true;
	if (rc)
		return (int)rc;
	ctx->op = op;
	ctx->offset = offset;
	ctx->len = piece.len;
	ctx->rest = 0;
	ctx->copy = KFB_RETAIN_NONE;
	rc = op->kind == KFBL_OP_WRITE ? kfbl_retain_piece(k, ctx) : 0;
	if (rc == -EAGAIN)
		q->full = true;
	if (rc)
		return (int)rc;
	rc = post_piece(k, q, ctx, &piece);
	if (rc)
		kfbl_retain_over(k, ctx, KFB_COPY_END_VOID);
	if (rc == -FI_EAGAIN) {
		q->full = true;
		return -EAGAIN;
	}
	if (rc) {
		kfbl_queue_failed(q, "an operation cannot be posted", rc);
		q->full = true;
		return -EAGAIN;
	}
	TAILQ_INSERT_TAIL(&q->in_flight, ctx, link);
	kfb_bucket_take(&k->rate, ctx->len, 1);
	kfb_window_posted(&q->core.window, ctx->len, kfbl_now_ms(), &ctx->mark);
	return 0;
}

/* Why an address cannot be used: the end of its mapping, or the core's word. */
static int why_not(struct kfbrick *k, uint64_t va, int error)
{
	const struct kfbrick_mapping *mapping = kfbl_mapping_find(k, va);

	return mapping && mapping->error ? mapping->error : error;
}

/* An op that is not posted any further ends when nothing of it is in flight. */
static void settle_op(struct kfbrick *k, struct kfbl_op *op)
{
	if (op->pieces || op->state != KFBL_OP_ACTIVE)
		return;
	if (op->error && op->posted < op->len) {
		STAILQ_REMOVE(&k->unposted, op, kfbl_op, link);
		op->posted = op->len;
	}
	if (op->posted < op->len)
		return;
	if (op->durable && op->uncommitted && !op->error)
		kfbl_flush_follow(k, op);
	else
		kfbl_op_done(k, op, op->error);
}

/* Post as much of an op as fits: true when all of it is posted, or it ends. */
static bool post_op(struct kfbrick *k, struct kfbl_op *op, bool *any)
{
	while (!op->error && op->posted < op->len) {
		struct kfbl_ctx *ctx = TAILQ_FIRST(&k->free_pieces);
		int rc;

		if (!ctx)
			return false;
		TAILQ_REMOVE(&k->free_pieces, ctx, link);
		rc = post_bytes(k, ctx, op, op->posted, op->len - op->posted);
		if (!rc) {
			op->posted += ctx->len;
			op->pieces++;
			*any = true;
			continue;
		}
		TAILQ_INSERT_HEAD(&k->free_pieces, ctx, link);
		if (rc == -EAGAIN)
			return false;
		op->error = why_not(k, op->va + op->posted, rc);
		*any = true;
	}
	return true;
}

static void free_piece(struct kfbrick *k, struct kfbl_ctx *ctx)
{
	TAILQ_INSERT_HEAD(&k->free_pieces, ctx, link);
	ctx->op->pieces--;
	settle_op(k, ctx->op);
}

/*
 * Post a piece again whose connection died: in parts when the window is smaller
 * now, one after the other.
 */
static bool post_again(struct kfbrick *k, struct kfbl_queue *q,
		       struct kfbl_ctx *ctx, bool *any)
{
	size_t offset = ctx->offset;
	size_t len = ctx->len;
	int rc = ctx->op->error;

	if (!rc)
		rc = post_bytes(k, ctx, ctx->op, offset, len);
	if (rc == -EAGAIN) {
		ctx->offset = offset;
		ctx->len = len;
		TAILQ_INSERT_HEAD(&q->again, ctx, link);
		return false;
	}
	*any = true;
	if (rc) {
		if (!ctx->op->error)
			ctx->op->error = why_not(k, ctx->op->va + offset, rc);
		free_piece(k, ctx);
		return true;
	}
	ctx->rest = len - ctx->len;
	return true;
}

bool kfbl_io_pump(struct kfbrick *k)
{
	struct kfbl_op *op = STAILQ_FIRST(&k->unposted);
	struct kfbl_op *next;
	struct kfbl_ctx *ctx;
	bool any = false;
	bool open = false;
	uint32_t i;

	for (i = 0; i < k->n_queues; i++)
		open |= !TAILQ_EMPTY(&k->queues[i].again);
	/* Copies go before all else. */
	if ((!op && !open) || k->core.replay_due ||
	    kfb_client_state(&k->core.client) != KFB_CLIENT_LIVE)
		return false;
	for (i = 0; i < k->n_queues; i++)
		k->queues[i].full =
			!kfb_client_usable(&k->core.client, i, kfbl_now_ms());
	for (i = 0; open && i < k->n_queues; i++) {
		struct kfbl_queue *q = &k->queues[i];

		while ((ctx = TAILQ_FIRST(&q->again))) {
			TAILQ_REMOVE(&q->again, ctx, link);
			if (!post_again(k, q, ctx, &any))
				break;
		}
	}
	for (; op; op = next) {
		next = STAILQ_NEXT(op, link);
		if (!post_op(k, op, &any))
			continue;
		if (op->error) {
			settle_op(k, op);
			continue;
		}
		STAILQ_REMOVE(&k->unposted, op, kfbl_op, link);
	}
	return any;
}

void kfbl_piece_done(struct kfbrick *k, struct kfbl_queue *q,
		     struct kfbl_ctx *ctx, int error)
{
	struct kfbl_op *op = ctx->op;
	uint64_t now_ms = kfbl_now_ms();

	TAILQ_REMOVE(&q->in_flight, ctx, link);
	if (error) {
		kfb_window_unposted(&q->core.window, ctx->len);
		if (!op->error)
			op->error = error;
	} else {
		kfb_initiator_moved(&q->core, ctx->len, &ctx->mark, now_ms);
		k->moved_bytes += ctx->len;
		/* An operation that gets on kills no connections. */
		op->losses = 0;
	}
	if (op->kind == KFBL_OP_WRITE && !error && !ctx->commits) {
		kfb_flush_wrote(&q->core.flush, op->va + ctx->offset, ctx->len);
		if (!op->uncommitted)
			op->losses_before = k->core.losses.n;
		op->uncommitted = true;
	}
	/* A flush that begins now knows of the write. */
	kfbl_retain_over(k, ctx,
			 error		? KFB_COPY_END_VOID
			 : ctx->commits ? KFB_COPY_END_DURABLE
					: KFB_COPY_END_DONE);
	if (ctx->rest && !op->error) {
		ctx->offset += ctx->len;
		ctx->len = ctx->rest;
		TAILQ_INSERT_TAIL(&q->again, ctx, link);
		return;
	}
	free_piece(k, ctx);
}

/* Context: the endpoint is closed, no piece of it is in flight any more. */
void kfbl_io_lost(struct kfbrick *k, struct kfbl_queue *q)
{
	struct kfbl_ctx *ctx;
	uint32_t i;

	/* Each loss counts once for an op, however many pieces it had there. */
	TAILQ_FOREACH(ctx, &q->in_flight, link)
	{
		kfbl_retain_over(k, ctx, KFB_COPY_END_VOID);
		ctx->op->died = true;
		ctx->len += ctx->rest;
	}
	for (i = 0; i < k->n_ops; i++) {
		struct kfbl_op *op = &k->ops[i];

		if (op->died && ++op->losses == KFB_STRIKES_MAX && !op->error)
			op->error = -ECONNABORTED;
		op->died = false;
	}
	TAILQ_CONCAT(&q->again, &q->in_flight, link);
}

/* Context: no endpoint is open. */
void kfbl_io_end(struct kfbrick *k, int error)
{
	uint32_t i;

	STAILQ_INIT(&k->unposted);
	for (i = 0; k->queues && i < k->n_queues; i++) {
		TAILQ_CONCAT(&k->free_pieces, &k->queues[i].in_flight, link);
		TAILQ_CONCAT(&k->free_pieces, &k->queues[i].again, link);
	}
	for (i = 0; k->ops && i < k->n_ops; i++) {
		struct kfbl_op *op = &k->ops[i];

		/* Those who wait for a flush are the core's to tell. */
		if (op->state == KFBL_OP_ACTIVE && op->kind != KFBL_OP_FLUSH)
			kfbl_op_done(k, op, op->error ? op->error : error);
	}
}

void kfbl_post(struct kfbrick *k, struct kfbl_op *op, enum kfbl_op_kind kind,
	       uint64_t va, void *buf, size_t len, void *desc)
{
	op->kind = kind;
	op->state = KFBL_OP_ACTIVE;
	k->n_active++;
	op->va = va;
	op->buf = buf;
	op->desc = desc;
	op->len = len;
	op->posted = 0;
	op->pieces = 0;
	op->losses = 0;
	op->died = false;
	op->uncommitted = false;
	op->waits_for_room = false;
	op->error = 0;
	/* All that were there have been told: nobody would tell this one. */
	if (k->core.is_over) {
		kfbl_op_done(k, op, -ECONNRESET);
		return;
	}
	STAILQ_INSERT_TAIL(&k->unposted, op, link);
	kfbl_io_pump(k);
}

bool kfbl_io_uses_range(const struct kfbrick *k, const struct kfb_range *range)
{
	uint64_t last = range->va + ((range->n_blocks << KFB_BLOCK_SHIFT) - 1);
	uint32_t i;

	for (i = 0; i < k->n_ops; i++) {
		const struct kfbl_op *op = &k->ops[i];

		if (op->state == KFBL_OP_ACTIVE && op->kind != KFBL_OP_FLUSH &&
		    op->va <= last && op->va + (op->len - 1) >= range->va)
			return true;
	}
	return false;
}

bool kfbl_io_uses_memory(const struct kfbrick *k, const uint8_t *addr,
			 size_t len)
{
	uint32_t i;

	for (i = 0; i < k->n_ops; i++) {
		const struct kfbl_op *op = &k->ops[i];

		if (op->state == KFBL_OP_ACTIVE && op->kind != KFBL_OP_FLUSH &&
		    op->buf < addr + len && op->buf + op->len > addr)
			return true;
	}
	return false;
}

int kfbl_io_check(struct kfbrick *k, uint64_t va, size_t len, bool write)
{
	const struct kfbrick_mapping *dead = NULL;
	int rc = kfb_blockmap_check_io(&k->map, va, len, write);
	int covered;

	if (rc == -ENXIO) {
		covered = kfbl_mapping_covers(k, va, len, write, &dead);
		/* While mappings are made again the block map is not whole. */
		if (kfb_client_state(&k->core.client) != KFB_CLIENT_LIVE)
			rc = covered;
	}
	if (dead)
		return kfbl_fail(k, dead->error,
				 KFBL_BYTES
				 " at %s: the mapping did not outlive "
				 "a loss of the connection: %s; unmap it, and "
				 "see what the blocks hold before you write",
				 va, len, k->url.text,
				 dead->error == -ESTALE
					 ? "the blocks have changed hands"
					 : strerror(-dead->error));
	switch (rc) {
	case 0:
		return 0;
	case -ENXIO:
		return kfbl_fail(k, rc,
				 KFBL_BYTES " at %s: not mapped by this "
					    "connection: map it first",
				 va, len, k->url.text);
	case -EACCES:
		return kfbl_fail(k, rc,
				 KFBL_BYTES " at %s: mapped read-only: map it "
					    "RW to write",
				 va, len, k->url.text);
	default:
		return kfbl_fail(k, rc,
				 KFBL_BYTES ": no bytes, or past the end of "
					    "the address space",
				 va, len);
	}
}

static int post_io(struct kfbrick *k, enum kfbl_op_kind kind, bool durable,
		   uint64_t va, void *buf, size_t len, void *context)
{
	struct kfbrick_memory *memory;
	struct kfbl_op *op;
	int rc;

	if (kfbl_is_over(k))
		return kfbl_not_connected(k);
	rc = kfbl_io_check(k, va, len, kind == KFBL_OP_WRITE);
	if (rc)
		return rc;
	memory = kfbl_memory_find(k, buf, len);
	if (!memory)
		return kfbl_fail(k, -EFAULT,
				 "buffer %p+%zu is not inside registered "
				 "memory: kfbrick_memory_register() it",
				 buf, len);
	if (kfb_client_state(&k->core.client) == KFB_CLIENT_LIVE &&
	    k->core.client.info.lease_ms &&
	    !kfb_client_lease_ok(&k->core.client, kfbl_now_ms()))
		return kfbl_fail(k, -EAGAIN,
				 "%s: the lease must be renewed first: poll",
				 k->url.text);
	op = kfbl_op_get(k, false);
	if (!op)
		return -EAGAIN;
	op->context = context;
	op->durable = durable;
	kfbl_post(k, op, kind, va, buf, len,
		  memory->mr ? fi_mr_desc(memory->mr) : NULL);
	return 0;
}

int kfbrick_post_read(struct kfbrick *k, uint64_t va, void *buf, size_t len,
		      void *context)
{
	return post_io(k, KFBL_OP_READ, false, va, buf, len, context);
}

int kfbrick_post_write(struct kfbrick *k, uint64_t va, const void *buf,
		       size_t len, void *context)
{
	/* The fabric's interface has no const; a write only reads it. */
	return post_io(k, KFBL_OP_WRITE, false, va, (void *)(uintptr_t)buf, len,
		       context);
}

int kfbrick_post_write_durable(struct kfbrick *k, uint64_t va, const void *buf,
			       size_t len, void *context)
{
	return post_io(k, KFBL_OP_WRITE, true, va, (void *)(uintptr_t)buf, len,
		       context);
}

uint64_t kfbrick_moved_bytes(const struct kfbrick *k)
{
	return k->moved_bytes;
}

static size_t take_done(struct kfbrick *k, struct kfbrick_completion *out,
			size_t max)
{
	size_t n = 0;

	while (n < max) {
		struct kfbl_op *op = STAILQ_FIRST(&k->done);

		if (!op)
			break;
		STAILQ_REMOVE_HEAD(&k->done, link);
		out[n].context = op->context;
		out[n].error = op->error;
		out[n].len = op->error ? 0 : op->len;
		kfbl_op_put(k, op);
		n++;
	}
	return n;
}

int kfbrick_poll(struct kfbrick *k, struct kfbrick_completion *out, size_t max,
		 int timeout_ms)
{
	uint64_t until_ms = KFB_TIME_NEVER;
	size_t n;

	if (max > INT32_MAX)
		max = INT32_MAX;
	if (timeout_ms > 0)
		until_ms = kfbl_now_ms() + (uint64_t)timeout_ms;
	/*
	 * One operation that was posted just now is mostly not done yet: who
	 * would find that out by looking for completions may as well wait for
	 * them. With a brick that answers before the caller gets here it is the
	 * other way round, and each is dear where the other is right: what was
	 * right the last time is done.
	 */
	if (max && timeout_ms && k->is_settled && k->n_active == 1 &&
	    STAILQ_EMPTY(&k->done))
		k->sleeps_first = k->sleeps_first ? kfbl_wait(k, until_ms)
						  : !kfbl_progress(k);
	for (;;) {
		bool any;

		n = take_done(k, out, max);
		if (n)
			return (int)n;
		any = kfbl_progress(k);
		n = take_done(k, out, max);
		if (n || !max)
			return (int)n;
		if (kfbl_is_over(k))
			return kfbl_fail(k, -ECONNRESET,
					 "%s: the connection is lost: %s; "
					 "close it and connect again",
					 k->url.text, kfbl_why(k));
		if (any && !k->is_settled)
			continue;
		if (!timeout_ms) {
			/* Zero means: the wait fd tells of what comes next. */
			if (kfbl_arm(k))
				return 0;
			continue;
		}
		if (kfbl_now_ms() >= until_ms)
			return 0;
		kfbl_wait(k, until_ms);
	}
}
