/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests in flight.
 *
 * An op begins in the loop when its message is decoded, may pass through
 * workers (its resume() is called in the loop after each) and ends with
 * brick_op_finish(), which replies. When its session has begun to end
 * meanwhile it undoes what nobody will use and finishes without a reply.
 *
 * Context: the loop thread; a worker has the op to itself between submit and
 * resume().
 */
#ifndef BRICKD_OP_OP_H
#define BRICKD_OP_OP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brickd/storage/changes.h"
#include "brickd/mapping/claims.h"
#include "brickd/storage/flush.h"
#include "brickd/mapping/mapping.h"
#include "brickd/session/session.h"
#include "brickd/store/store.h"
#include "brickd/tier/tier.h"
#include "brickd/base/work.h"
#include "proto/kfb_codec.h"
#include "proto/kfb_err.h"

struct brick_server;

/*
 * struct brick_op - one request
 * @queue: where it came
 * @generation: of the queue, when it came there last
 * @resume: what comes next, in the loop
 * @claim: its blocks, when @has_claim
 * @error: of the last step in a worker
 * @begun_ns: when its message came
 * @n_changes: in @changes
 * @changes: for the store thread
 * @commit: its way there
 * @is_committing: it is under way there
 * @n_handles: in @handles
 * @handles: MAP: to be registered; UNMAP: to be closed
 * @mapping_id: MAP: what the slot's record keeps
 * @n_readable: in @readable
 * @readable: LIST: spans that the client may read, copied for the worker
 * @owner: UNMAP: the session whose domain the handles are in; kept by n_ops
 * @revoke_ms: UNMAP: when its endpoints go if the keys are still good
 * @is_revoking: UNMAP: in the server's list
 * @is_slow: MAP: some of its blocks are in the slow tier
 * @n_promotions: MAP: how often they have been promoted
 * @promotion: MAP: while they are
 * @reply: last: without its body where the reply has none (receive.c)
 */
struct brick_op {
	struct brick_work work;
	struct brick_session *session;
	struct brick_queue *queue;
	uint32_t generation;
	void (*resume)(struct brick_op *op);
	struct brick_claim claim;
	bool has_claim;
	int error;
	uint64_t begun_ns;
	size_t n_changes;
	struct brick_store_op *changes;
	struct brick_changes commit;
	bool is_committing;
	size_t n_handles;
	size_t cap_handles;
	struct brick_handle *handles;
	uint64_t mapping_id;
	uint32_t n_readable;
	struct brick_span *readable;
	struct brick_session *owner;
	TAILQ_ENTRY(brick_op) revoke_link;
	uint64_t revoke_ms;
	bool is_revoking;
	bool is_slow;
	unsigned int n_promotions;
	struct brick_tier_job promotion;
	struct brick_flush flush;
	struct kfb_request req;
	struct kfb_reply reply;
};

/* Begins a request; req is what kfb_decode_request() filled. */
typedef void (*brick_op_fn)(struct brick_op *op);

void brick_op_auth(struct brick_op *op);
void brick_op_info(struct brick_op *op);
void brick_op_alloc(struct brick_op *op);
void brick_op_free(struct brick_op *op);
void brick_op_map(struct brick_op *op);
void brick_op_unmap(struct brick_op *op);
void brick_op_list(struct brick_op *op);
void brick_op_flush(struct brick_op *op);
void brick_op_ping(struct brick_op *op);

/**
 * brick_op_begin - execute a request
 * @op: from brick_op_receive(), with the queue's connection
 * @again: it was answered before
 */
void brick_op_begin(struct brick_op *op, bool again);

/**
 * brick_op_finish - reply, record, let go
 * @op: freed
 * @status: KFB_ST_OK: with the body in op->reply.u
 */
void brick_op_finish(struct brick_op *op, enum kfb_status status);

/* The same with a negative errno or 0. */
void brick_op_finish_errno(struct brick_op *op, int error);

/**
 * brick_op_claim - hold blocks until the op is finished
 * @op: without a claim
 * @span: blocks
 * @next: called when they are held, perhaps at once
 */
void brick_op_claim(struct brick_op *op, struct brick_span span,
		    brick_op_fn next);

/**
 * brick_op_submit - continue in a worker
 * @op: the op
 * @worker: which
 * @run: what it does there
 * @resume: what comes next in the loop
 */
void brick_op_submit(struct brick_op *op, struct brick_worker *worker,
		     void (*run)(struct brick_work *work), brick_op_fn resume);

/* Have its changes made in the store thread, then resume in the loop. */
void brick_op_commit(struct brick_op *op, brick_op_fn resume);

/* Is nobody waiting for the reply any more? */
static inline bool brick_op_is_orphan(const struct brick_op *op)
{
	return brick_session_is_ending(op->session);
}

/* Finishes a session's ops that still wait for their blocks. */
void brick_ops_cancel(struct brick_session *session);

/**
 * brick_op_check_range - the checks that ALLOC, FREE and MAP share
 * @op: the op
 * @range: from the request
 * @write: needs a grant for writing
 *
 * Return: KFB_ST_OK, KFB_ST_INVALID or KFB_ST_DENIED.
 */
enum kfb_status brick_op_check_range(const struct brick_op *op,
				     const struct kfb_range *range, bool write);

/**
 * brick_op_recheck - may an op that has waited still do what it was asked for?
 * @op: an ALLOC, FREE or MAP that was checked when it came
 *
 * What it is granted may be less since, or its client gone: brick_reload().
 *
 * Return: KFB_ST_OK; KFB_ST_SHUTDOWN: its session ends; KFB_ST_DENIED.
 */
enum kfb_status brick_op_recheck(const struct brick_op *op);

/* After a reload: changes that the store thread has not begun and that are not
 * allowed any more are never made.
 */
void brick_ops_recheck(struct brick_server *server);

/* Disconnects sessions whose keys a device does not let go of. */
void brick_unmaps_due(struct brick_server *server);
uint64_t brick_unmaps_next_ms(const struct brick_server *server);

#endif
