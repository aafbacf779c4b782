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

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "brickd/base/clock.h"
#include "brickd/base/flow.h"
#include "brickd/base/work.h"
#include "brickd/config/config.h"
#include "brickd/mapping/range_locks.h"
#include "brickd/mapping/mapping.h"
#include "brickd/reserve/reservations.h"
#include "brickd/session/state.h"
#include "brickd/storage/changes.h"
#include "brickd/storage/flush.h"
#include "brickd/storage/storage.h"
#include "brickd/store/store.h"
#include "brickd/tier/tier.h"
#include "proto/codec/kfb_codec.h"
#include "proto/kfb_err.h"

struct brick_counters;
struct brick_stop;

TAILQ_HEAD(brick_op_list, brick_op);

/*
 * struct brick_op_reserve - of RESERVE
 * @then: what the disk will be, as long as the table does not say so
 * @text: what the file is to hold
 * @mark: of the sessions that end for it, one bit; 0: not yet
 * @ends_itself: its own session is one of those that may not go on
 */
struct brick_op_reserve {
	struct brick_reserved *then;
	char *text;
	uint64_t mark;
	bool ends_itself;
};

/*
 * struct brick_op - one request
 * @queue: where it came
 * @generation: of the queue, when it came there last
 * @resume: what comes next, in the loop
 * @range_lock: its blocks, when @has_range_lock
 * @waiting_link: among its session's that wait for them, or for other sessions
 * @awaited_in: FENCE and RESERVE: where it is while it waits for other sessions
 * @error: of the last step in a worker
 * @begun_ns: when its message came
 * @n_changes: in @changes
 * @changes: for the store thread
 * @commit: its way there
 * @is_committing: it is under way there
 * @n_handles: in @handles
 * @handles: MAP: to be registered; UNMAP: to be closed
 * @at_handle: how far a step of several has come with them
 * @mapping: MAP: is being made of them; UNMAP: what they were of
 * @status: MAP: what it is refused with when all has been undone
 * @mapping_id: MAP: what the slot's record keeps
 * @n_readable: in @readable
 * @readable: LIST: spans that the client may read, copied for the worker
 * @owner: UNMAP: the session whose domain the handles are in; kept by n_ops
 * @is_flushing: UNMAP: what came through its handles is flushed
 * @at_wanted: FLUSH: what is before it in @wanted is flushed, or no need to
 * @n_wanted: FLUSH: in @wanted
 * @wanted: FLUSH: what it names, sorted and apart; the one at @at_wanted begins
 *	where it goes on
 * @is_revoking: UNMAP: the device may take its time for its keys yet
 * @is_slow: MAP: some of its blocks are in the slow tier
 * @n_promotions: MAP: how often they have been promoted
 * @promotion: MAP: while they are
 * @fenced: FENCE: whom it is about, NULL: the settings do not name it
 * @fence_link: FENCE and RESERVE: among those that wait for the file or for the end of
 *	sessions
 * @fences: FENCE: what the file is to hold
 * @reserve: RESERVE: what becomes of it
 * @reply: last: without its body where the reply has none (message.c)
 */
struct brick_op {
	struct brick_work work;
	struct brick_session *session;
	struct brick_queue *queue;
	uint32_t generation;
	void (*resume)(struct brick_op *op);
	struct brick_range_lock range_lock;
	TAILQ_ENTRY(brick_op) waiting_link;
	struct brick_op_list *awaited_in;
	bool has_range_lock;
	int error;
	uint64_t begun_ns;
	size_t n_changes;
	struct brick_store_op *changes;
	struct brick_changes commit;
	bool is_committing;
	size_t n_handles;
	size_t cap_handles;
	struct brick_handle *handles;
	size_t at_handle;
	struct brick_mapping *mapping;
	enum kfb_status status;
	uint64_t mapping_id;
	uint32_t n_readable;
	struct brick_span *readable;
	struct brick_session *owner;
	bool is_flushing;
	size_t at_wanted;
	size_t n_wanted;
	struct brick_flush_range *wanted;
	TAILQ_ENTRY(brick_op) revoke_link;
	bool is_revoking;
	bool is_slow;
	unsigned int n_promotions;
	struct brick_tier_job promotion;
	const struct brick_client *fenced;
	TAILQ_ENTRY(brick_op) fence_link;
	char *fences;
	struct brick_op_reserve reserve;
	struct brick_flush flush;
	struct kfb_request req;
	struct kfb_reply reply;
};

/*
 * struct brick_reserves - RESERVEs whose turn has not come
 * @of: each client's, by its number, as they came
 * @turn: of each client's last one that was written
 * @last_turn: of anybody's
 */
struct brick_reserves {
	struct brick_op_list of[BRICK_CLIENTS_MAX];
	uint64_t turn[BRICK_CLIENTS_MAX];
	uint64_t last_turn;
};

/*
 * struct brick_ops - requests in flight, and what they work on
 * @stop: the daemon's
 * @flows: in whose turns they go on
 * @busy: what the loop is at; NULL: nobody wants to know
 * @range_locks: which blocks they and the tiers work on
 * @n: how many
 * @n_pending: of these, waiting for their blocks
 * @n_pending_of: of these, each client's, by its number
 * @n_revoking: UNMAPs that wait for a device, or for others that do
 * @revoked: of UNMAPs, the one whose keys the registrar closes just now, or NULL
 * @key_begun_ms: since when it has been at one of them
 * @unrevoked: UNMAPs with a key that is still good, until its session has no endpoints
 * @fencing: FENCEs whose turn it is to write the file, the first one does
 * @ending: FENCEs that wait for the end of sessions
 * @reservations: which disks are reserved
 * @reserving: RESERVEs by turns of their clients
 * @is_reserving: one is written into the file
 * @awaiting: RESERVEs that wait for the end of sessions
 * @reserve_marks: of these
 * @lists: LISTs of mapped blocks that wait for their client's turn
 * @grace_until_ms: last writers only, until then; constant after the start
 */
struct brick_ops {
	const struct brick_config *config;
	const struct brick_stop *stop;
	struct brick_storage *storage;
	struct brick_sessions *sessions;
	struct brick_tier *tier;
	struct brick_counters *counters;
	struct brick_flows *flows;
	struct brick_busy *busy;
	struct brick_range_locks range_locks;
	uint64_t n;
	uint32_t n_pending;
	uint32_t n_pending_of[BRICK_CLIENTS_MAX];
	uint32_t n_revoking;
	struct brick_op *_Atomic revoked;
	_Atomic uint64_t key_begun_ms;
	struct brick_op_list unrevoked;
	struct brick_op_list fencing;
	struct brick_op_list ending;
	struct brick_reservations reservations;
	struct brick_reserves reserving;
	bool is_reserving;
	struct brick_op_list awaiting;
	uint64_t reserve_marks;
	struct brick_work_list lists;
	uint64_t grace_until_ms;
};

/* Who executes a session's requests. */
static inline struct brick_ops *
brick_ops_of(const struct brick_session *session)
{
	return session->all->requests;
}

/* Are blocks kept for whoever wrote to them last, so that it finds them as they were? */
static inline bool brick_ops_keep_blocks(const struct brick_ops *ops)
{
	return ops->grace_until_ms && brick_now_ms() < ops->grace_until_ms;
}

/* It is this request that the loop is busy with. */
static inline void brick_op_busy(const struct brick_op *op)
{
	brick_busy_with(brick_ops_of(op->session)->busy,
			op->req.op <= KFB_OP_LAST ? op->req.op : 0);
}

/* Begins a request; req is what kfb_decode_request() filled. */
typedef void (*brick_op_fn)(struct brick_op *op);

/**
 * brick_op_finish - reply, record, let go
 * @op: freed
 * @status: KFB_ST_OK: with the body in op->reply.u
 */
void brick_op_finish(struct brick_op *op, enum kfb_status status);

/* The same with a negative errno or 0. */
void brick_op_finish_errno(struct brick_op *op, int error);

/**
 * brick_op_answer_stale - answer a request that is too old to be executed
 * @queue: with a connection
 * @req: from it
 */
void brick_op_answer_stale(struct brick_queue *queue,
			   const struct kfb_request *req);

/**
 * brick_op_lock_range - hold blocks until the op is finished
 * @op: without a range lock
 * @span: blocks
 * @next: called when they are held, perhaps at once
 */
void brick_op_lock_range(struct brick_op *op, struct brick_span span,
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

/**
 * brick_op_go_on - continue in the loop, in the next turn of its client
 * @op: the op
 * @resume: what comes next
 *
 * For whatever has many pieces: in between others are served, and the client, too.
 */
void brick_op_go_on(struct brick_op *op, brick_op_fn resume);

/**
 * brick_op_next_handles - some more of its handles
 * @op: the op; @at_handle is 0 when it begins
 * @n: gets how many there are, at most BRICK_MAPPING_STEP
 *
 * Return: the first one; @at_handle is behind the last one.
 */
struct brick_handle *brick_op_next_handles(struct brick_op *op, size_t *n);

/**
 * brick_op_await - wait for what the end of other sessions brings
 * @op: the op, which holds no blocks; freed when its session has ended already
 * @list: where it is meanwhile, by its @fence_link
 * @forgotten: called instead when its own session has ended but for it
 *
 * Sessions may end each other: one that ended only when those have that it waits for
 * would never do so.
 */
void brick_op_await(struct brick_op *op, struct brick_op_list *list,
		    brick_op_fn forgotten);

/* It waits no more, and goes on otherwise. */
void brick_op_awaited(struct brick_op *op);

/* Have its changes made in the store thread, then resume in the loop. */
void brick_op_commit(struct brick_op *op, brick_op_fn resume);

/**
 * brick_lists_before_wait - answer a LIST of mapped blocks
 * @ops: all requests
 *
 * Each may have to look at all mappings that there are, in the loop, where nobody
 * else is served meanwhile. So there is one each time that the loop comes round, of
 * each client in turn.
 *
 * Return: are there more? Then the loop must not sleep.
 */
bool brick_lists_before_wait(struct brick_ops *ops);

/* Is nobody waiting for the reply any more? */
static inline bool brick_op_is_orphan(const struct brick_op *op)
{
	return brick_session_is_ending(op->session);
}

/* Finishes one of a session's ops that still wait for their blocks, or for other
 * sessions; false: none does.
 */
bool brick_ops_cancel(struct brick_session *session);

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
 * What it is granted may be less since, or its client gone: brick_reload(). Nobody
 * gets blocks without asking here.
 *
 * Return: KFB_ST_OK; KFB_ST_SHUTDOWN: its session ends; KFB_ST_DENIED;
 * KFB_ST_CONFLICT: a reservation forbids it.
 */
enum kfb_status brick_op_recheck(const struct brick_op *op);

/**
 * brick_ops_visit - go through the requests that hold blocks
 * @ops: all requests
 * @span: blocks; those that hold none of them are left out
 * @visit: is called for each; gives no lock back
 * @arg: for it
 */
void brick_ops_visit(struct brick_ops *ops, struct brick_span span,
		     void (*visit)(struct brick_op *op, void *arg), void *arg);

/* After a reload, or when something was reserved: changes that the store thread has not
 * begun and that are not allowed any more are never made.
 */
void brick_ops_recheck(struct brick_ops *ops);

#endif
