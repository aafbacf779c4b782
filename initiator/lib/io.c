// SPDX-License-Identifier: BSD-2-Clause
/*
 * One-sided reads and writes: ops in, pieces out, completions collected.
 *
 * Nothing here allocates: ops and pieces are made with the connection. An op
 * is posted in pieces, one per handle and at most piece_max bytes; what does
 * not fit into the fabric's queue waits in order.
 */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "internal.h"

int kfbl_io_init(struct kfbrick *k)
{
	uint32_t n = k->queue_depth + KFBL_OPS_INTERNAL;
	uint32_t i;

	STAILQ_INIT(&k->free_ops);
	STAILQ_INIT(&k->free_internal);
	STAILQ_INIT(&k->unposted);
	STAILQ_INIT(&k->flushing);
	STAILQ_INIT(&k->done);
	k->ops = calloc(n, sizeof(*k->ops));
	k->piece_ctx = calloc(k->queue_depth, sizeof(*k->piece_ctx));
	if (!k->ops || !k->piece_ctx)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		k->ops[i].internal = i >= k->queue_depth;
		kfbl_op_put(k, &k->ops[i]);
	}
	for (i = 0; i < k->queue_depth; i++) {
		k->piece_ctx[i].kind = KFBL_CTX_PIECE;
		k->piece_ctx[i].next = k->free_pieces;
		k->free_pieces = &k->piece_ctx[i];
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
	return op;
}

void kfbl_op_put(struct kfbrick *k, struct kfbl_op *op)
{
	op->state = KFBL_OP_FREE;
	STAILQ_INSERT_HEAD(op->internal ? &k->free_internal : &k->free_ops, op,
			   link);
}

void kfbl_op_done(struct kfbrick *k, struct kfbl_op *op, int error)
{
	op->state = KFBL_OP_DONE;
	op->error = error;
	if (op->kind == KFBL_OP_WRITE && !error)
		kfb_flush_wrote(&k->flush, op->va, op->len);
	if (!op->internal)
		STAILQ_INSERT_TAIL(&k->done, op, link);
}

static ssize_t post_piece(struct kfbrick *k, struct kfbl_op *op,
			  struct kfbl_ctx *ctx, const struct kfb_piece *piece)
{
	struct iovec iov = {
		.iov_base = op->buf + op->posted,
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
	uint64_t flags = FI_COMPLETION;

	if (op->kind == KFBL_OP_READ)
		return fi_readmsg(k->fabric.ep, &msg, flags);
	if (k->fabric.delivery_complete)
		flags |= FI_DELIVERY_COMPLETE;
	return fi_writemsg(k->fabric.ep, &msg, flags);
}

/* Post as much of an op as fits: 0: all of it; -EAGAIN: the queue is full. */
static int post_op(struct kfbrick *k, struct kfbl_op *op)
{
	while (op->posted < op->len) {
		struct kfbl_ctx *ctx = k->free_pieces;
		struct kfb_piece piece;
		ssize_t rc;

		if (!ctx)
			return -EAGAIN;
		/* Checked when it was posted; unmapping waits for us. */
		rc = kfb_blockmap_split(&k->map, op->va + op->posted,
					op->len - op->posted,
					op->kind == KFBL_OP_WRITE, &piece);
		if (rc)
			return (int)rc;
		if (piece.len > k->fabric.piece_max)
			piece.len = k->fabric.piece_max;
		ctx->op = op;
		rc = post_piece(k, op, ctx, &piece);
		if (rc)
			return rc == -FI_EAGAIN ? -EAGAIN : kfbl_errno(rc);
		k->free_pieces = ctx->next;
		op->posted += piece.len;
		op->pieces++;
	}
	return 0;
}

bool kfbl_io_pump(struct kfbrick *k)
{
	struct kfbl_op *op;
	bool any = false;
	int rc;

	while ((op = STAILQ_FIRST(&k->unposted))) {
		rc = post_op(k, op);
		if (rc == -EAGAIN)
			break;
		if (rc) {
			kfbl_lost(k, -ECONNRESET, "cannot post to 0x%llx: %s",
				  (unsigned long long)op->va, strerror(-rc));
			return true;
		}
		STAILQ_REMOVE_HEAD(&k->unposted, link);
		any = true;
	}
	return any;
}

void kfbl_piece_done(struct kfbrick *k, struct kfbl_ctx *ctx, int error)
{
	struct kfbl_op *op = ctx->op;

	ctx->next = k->free_pieces;
	k->free_pieces = ctx;
	op->pieces--;
	if (error && !op->error)
		op->error = error;
	if (!op->pieces && op->posted == op->len)
		kfbl_op_done(k, op, op->error);
}

/* Context: the endpoint is closed, no piece is in flight any more. */
void kfbl_io_lost(struct kfbrick *k, int error)
{
	uint32_t n = k->queue_depth + KFBL_OPS_INTERNAL;
	uint32_t i;

	STAILQ_INIT(&k->unposted);
	STAILQ_INIT(&k->flushing);
	for (i = 0; k->ops && i < n; i++) {
		struct kfbl_op *op = &k->ops[i];

		if (op->state == KFBL_OP_ACTIVE)
			kfbl_op_done(k, op, op->error ? op->error : error);
	}
}

void kfbl_post(struct kfbrick *k, struct kfbl_op *op, enum kfbl_op_kind kind,
	       uint64_t va, void *buf, size_t len, void *desc)
{
	op->kind = kind;
	op->state = KFBL_OP_ACTIVE;
	op->va = va;
	op->buf = buf;
	op->desc = desc;
	op->len = len;
	op->posted = 0;
	op->pieces = 0;
	op->error = 0;
	STAILQ_INSERT_TAIL(&k->unposted, op, link);
	kfbl_io_pump(k);
}

bool kfbl_io_uses_range(const struct kfbrick *k, const struct kfb_range *range)
{
	uint32_t n = k->queue_depth + KFBL_OPS_INTERNAL;
	uint64_t last = range->va + ((range->n_blocks << KFB_BLOCK_SHIFT) - 1);
	uint32_t i;

	for (i = 0; i < n; i++) {
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
	uint32_t n = k->queue_depth + KFBL_OPS_INTERNAL;
	uint32_t i;

	for (i = 0; i < n; i++) {
		const struct kfbl_op *op = &k->ops[i];

		if (op->state == KFBL_OP_ACTIVE && op->kind != KFBL_OP_FLUSH &&
		    op->buf < addr + len && op->buf + op->len > addr)
			return true;
	}
	return false;
}

/* May an op of this kind be done? With words when not. */
int kfbl_io_check(struct kfbrick *k, uint64_t va, size_t len, bool write)
{
	int rc = kfb_blockmap_check_io(&k->map, va, len, write);

	switch (rc) {
	case 0:
		return 0;
	case -ENXIO:
		return kfbl_fail(k, rc,
				 "0x%llx+%zu at %s: not mapped by this "
				 "connection: map it first",
				 (unsigned long long)va, len, k->url.text);
	case -EACCES:
		return kfbl_fail(k, rc,
				 "0x%llx+%zu at %s: mapped read-only: map it "
				 "RW to write",
				 (unsigned long long)va, len, k->url.text);
	default:
		return kfbl_fail(k, rc,
				 "0x%llx+%zu: no bytes, or past the end of the "
				 "address space",
				 (unsigned long long)va, len);
	}
}

static int post_io(struct kfbrick *k, enum kfbl_op_kind kind, uint64_t va,
		   void *buf, size_t len, void *context)
{
	struct kfbrick_memory *memory;
	struct kfbl_op *op;
	int rc;

	if (k->lost)
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
	if (k->engine.lease_ms &&
	    !kfb_engine_lease_ok(&k->engine, kfbl_now_ms()))
		return kfbl_fail(k, -EAGAIN,
				 "%s: the lease must be renewed first: poll",
				 k->url.text);
	op = kfbl_op_get(k, false);
	if (!op)
		return kfbl_fail(k, -EAGAIN,
				 "%u operations are not collected: poll first",
				 k->queue_depth);
	op->context = context;
	kfbl_post(k, op, kind, va, buf, len,
		  memory->mr ? fi_mr_desc(memory->mr) : NULL);
	return 0;
}

int kfbrick_post_read(struct kfbrick *k, uint64_t va, void *buf, size_t len,
		      void *context)
{
	return post_io(k, KFBL_OP_READ, va, buf, len, context);
}

int kfbrick_post_write(struct kfbrick *k, uint64_t va, const void *buf,
		       size_t len, void *context)
{
	/* The fabric's interface has no const; a write only reads it. */
	return post_io(k, KFBL_OP_WRITE, va, (void *)(uintptr_t)buf, len,
		       context);
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
		out[n].len =
			op->error || op->kind == KFBL_OP_FLUSH ? 0 : op->len;
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
	for (;;) {
		bool any;

		n = take_done(k, out, max);
		if (n)
			return (int)n;
		any = kfbl_progress(k);
		n = take_done(k, out, max);
		if (n || !max)
			return (int)n;
		if (k->lost)
			return kfbl_fail(k, -ECONNRESET,
					 "%s: the connection is lost: %s; "
					 "close it and connect again",
					 k->url.text, k->lost_why);
		if (any)
			continue;
		kfbl_housekeeping(k);
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

int kfbrick_wait_fd(struct kfbrick *k)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd;

	if (k->fabric.epoll_fd >= 0)
		return k->fabric.epoll_fd;
	if (k->lost)
		return kfbl_not_connected(k);
	fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0 || epoll_ctl(fd, EPOLL_CTL_ADD, k->fabric.cq_fd, &event) ||
	    epoll_ctl(fd, EPOLL_CTL_ADD, k->fabric.eq_fd, &event)) {
		if (fd >= 0)
			close(fd);
		return kfbl_fail(k, -EOPNOTSUPP,
				 "%s: this fabric has no descriptors to wait "
				 "on: use kfbrick_poll() with a timeout",
				 k->url.text);
	}
	k->fabric.epoll_fd = fd;
	return fd;
}
