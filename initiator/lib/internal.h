/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libkfbrick's files share.
 *
 * Context: any thread, one at a time per connection; nothing here is global
 * but the error of the last failed connect, which is per thread.
 * Lifetime: an op belongs to the connection; it is free, active (posted or
 * waiting to be), or done (waiting to be collected).
 * Recovery: the core's initiator (kfb_initiator.h) decides, and session.c is its
 * port: after a loss the endpoint is closed first, then what was in flight on it
 * waits to be posted again, or ends with an error when the client has given up:
 * then only kfbrick_close() is left to do.
 */
#ifndef KFBRICK_INTERNAL_H
#define KFBRICK_INTERNAL_H

#include <inttypes.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "blocks/kfb_blockmap.h"
#include "blocks/kfb_map_try.h"
#include "kfb_initiator_retain.h"
#include "kfbrick.h"
#include "kfb_path.h"
#include "url.h"

#define KFBL_TIMEOUT_MS_DEFAULT	 10000
#define KFBL_QUEUE_DEPTH_DEFAULT 64
#define KFBL_QUEUE_DEPTH_MAX	 1024
#define KFBL_QUEUES_MAX		 KFB_CLIENT_QUEUES_MAX
#define KFBL_ERROR_BYTES	 512
#define KFBL_PATH_WHY_BYTES	 256

/* Ops of the library's own: the synchronous calls'. */
#define KFBL_OPS_INTERNAL 8

/* The bounce buffer of the synchronous calls. */
#define KFBL_BOUNCE_CHUNKS	4
#define KFBL_BOUNCE_CHUNK_BYTES (512U << 10)

/* One fabric operation moves no more: others get their turn. */
#define KFBL_PIECE_MAX_BYTES (8U << 20)

/* Registrations of the caller's memory. */
#define KFBL_MEMORIES_MAX 1024

/* Ranges in words: an address, and how many blocks, or bytes. */
#define KFBL_BLOCKS "0x%" PRIx64 "+%" PRIu64
#define KFBL_BYTES  "0x%" PRIx64 "+%zu"
/* What KFBL_BLOCKS takes of a struct kfb_range. */
#define KFBL_RANGE(range) (uint64_t)(range).va, (uint64_t)(range).n_blocks

struct stcp_ep_ops;

enum kfbl_ctx_kind {
	KFBL_CTX_RECV,
	KFBL_CTX_SEND,
	KFBL_CTX_PIECE,
	KFBL_CTX_READBACK,
	KFBL_CTX_REPLAY,
};

/* What a fabric operation's completion leads to; the first member is the
 * provider's while the operation is in flight.
 */
struct kfbl_ctx {
	struct fi_context fi;
	enum kfbl_ctx_kind kind;
	uint16_t index; /* RECV: buffer; SEND: the engine's tx; REPLAY: slot */
	uint64_t flush_id; /* READBACK */
	struct kfbl_op *op; /* PIECE */
	size_t offset; /* PIECE: in the op, bytes */
	size_t len; /* PIECE, REPLAY: bytes */
	size_t rest; /* PIECE: bytes behind these, to be posted after them */
	bool commits; /* PIECE: durable when it is acknowledged */
	uint64_t copy; /* PIECE: of these bytes, or KFB_RETAIN_NONE */
	struct kfbl_queue *q; /* REPLAY: where it is in flight, or NULL */
	int error; /* REPLAY: how it ended, or with its connection */
	struct kfb_window_mark mark; /* PIECE, REPLAY: in flight */
	TAILQ_ENTRY(kfbl_ctx) link; /* PIECE: free, in flight, or to be again */
};

TAILQ_HEAD(kfbl_pieces, kfbl_ctx);

enum kfbl_op_kind {
	KFBL_OP_READ,
	KFBL_OP_WRITE,
	KFBL_OP_FLUSH,
};

enum kfbl_op_state {
	KFBL_OP_FREE,
	KFBL_OP_ACTIVE,
	KFBL_OP_DONE,
};

/* One kfbrick_post_*(). */
struct kfbl_op {
	STAILQ_ENTRY(kfbl_op) link; /* free, unposted, waiting or done */
	enum kfbl_op_kind kind;
	enum kfbl_op_state state;
	bool internal; /* not for kfbrick_poll() */
	void *context;
	uint64_t va;
	uint8_t *buf;
	void *desc;
	size_t len;
	size_t posted; /* bytes */
	uint32_t pieces; /* in flight, or to be posted again */
	uint32_t losses; /* connections that died with it in flight */
	bool died; /* one of them is being counted */
	bool durable; /* WRITE: it is done when it is */
	bool uncommitted; /* WRITE: some of it needs a flush for that */
	bool waits_for_room; /* WRITE: some of it does, for its copy */
	uint64_t losses_before; /* WRITE: known when some was first @uncommitted */
	int error;
	struct kfb_initiator_flush flush; /* FLUSH */
};

STAILQ_HEAD(kfbl_ops, kfbl_op);

struct kfbrick_memory {
	struct fid_mr *mr; /* NULL where the fabric needs none */
	uint8_t *addr;
	size_t len;
};

struct kfbrick_mapping {
	LIST_ENTRY(kfbrick_mapping) link;
	uint64_t id;
	struct kfb_range range;
	unsigned int flags;
	int error; /* not 0: it did not outlive a loss: why */
	struct kfbrick_handle *handles;
	size_t n_handles;
	size_t cap_handles;
};

/* What all queues of a connection share; see fabric.c. */
struct kfbl_fabric {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_mr *control_mr;
	struct fid_mr *retain_mr; /* of the bytes of copies */
	void *control_desc;
	bool mr_local; /* local buffers need registration */
	bool delivery_complete; /* a plain completion means nothing */
	bool cq_hears_the_end; /* its descriptor wakes when the peer goes */
	size_t piece_max; /* bytes of one operation */
	size_t inject_max; /* bytes of a message that is copied when sent */
	size_t cq_size;
};

/*
 * The endpoint of one queue, with event and completion queues of its own: what
 * they say is of this endpoint and of no earlier one.
 */
struct kfbl_link {
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_ep *ep;
	const struct stcp_ep_ops *stcp; /* NULL: another provider's */
	int cq_fd;
	int eq_fd;
};

/* Copies of writes; see retain.c. */
struct kfbl_retain {
	uint64_t want_bytes; /* as configured */
	uint32_t n_pages; /* of @bytes; 0: there are none */
	uint32_t n_copies;
	struct kfb_copy *copies;
	__u64 *newest;
	uint8_t *bytes;
	struct kfbl_ctx ctx[KFB_INITIATOR_REPLAYS];
};

/* Of the memory for copies: whole pages. */
static inline size_t kfbl_retain_bytes(const struct kfbl_retain *t)
{
	return (size_t)t->n_pages << KFB_RETAIN_PAGE_SHIFT;
}

struct kfbl_queue {
	struct kfb_initiator_queue core;
	struct kfbl_link link;
	uint8_t *rx;
	uint8_t *readback;
	struct kfbl_ctx rx_ctx[KFB_INITIATOR_RX_MAX];
	struct kfbl_ctx tx_ctx[KFB_ENGINE_TX_MAX];
	struct kfbl_ctx readback_ctx[KFB_FLUSH_PLACES];
	struct kfbl_pieces in_flight;
	struct kfbl_pieces again; /* lost, to be posted again */
	bool full; /* the fabric's queue, in this round of posting */
	const char *failed; /* what could not be posted; NULL: nothing */
	int failure; /* why, libfabric's number */
};

/* Mappings on their way into a new session; see restore.c. */
struct kfbl_restore {
	bool active;
	struct kfb_initiator_call call; /* MAP; out while not done */
	struct kfb_map_try map_try; /* of @at */
	uint64_t until_ms; /* refusals that may pass are tried until then */
	uint64_t pause_until_ms;
	struct kfbrick_mapping *at;
	struct kfb_handle *handles; /* of the new mapping */
	uint32_t n_handles;
	uint32_t cap_handles;
};

struct kfbrick {
	struct kfbl_url url;
	char *client_name;
	struct kfb_granted granted;
	uint8_t key[KFBRICK_KEY_BYTES];
	uint32_t timeout_ms;
	uint32_t reconnect_ms;
	uint32_t queue_depth;
	uint32_t n_queues;
	bool allow_untrusted_tcp;
	enum kfb_path path; /* of the newest connection */
	char interface[KFBRICK_INTERFACE_BYTES]; /* of @path, or "" */
	char path_why[KFBL_PATH_WHY_BYTES]; /* why there is none */
	char error[KFBL_ERROR_BYTES];

	struct kfbl_fabric fabric;
	struct kfb_initiator core;
	struct kfbl_queue *queues; /* n_queues */
	struct kfbl_restore restore;
	struct kfbl_retain retain;
	int epoll_fd; /* of all queues, for the caller's event loop; -1: none */
	int timer_fd; /* in it: when to poll without news */
	uint64_t tick_ms; /* of the last look at deadlines */
	bool sleeps_first; /* who has posted one operation: it was right so */
	bool has_changed; /* a connection: the session may lead on */
	bool is_settled; /* what progress took has led to nothing more to do */
	bool is_connected; /* it was LIVE once */
	uint64_t moved_bytes; /* by operations, on all connections */
	struct kfb_bucket rate; /* what is left of what the brick allows */
	bool waits_for_rate; /* something did, in the last round of progress */
	char lost_why[KFBL_ERROR_BYTES]; /* of the newest loss */

	/* control: receive buffers, send buffers, readback scratch, bounce */
	uint8_t *control;
	size_t control_bytes;
	uint8_t *tx;
	uint8_t *bounce;

	struct kfb_reply call_reply; /* of the call somebody waits for */

	struct kfbl_op *ops;
	uint32_t n_ops;
	uint32_t n_active; /* ops neither free nor done */
	struct kfbl_ops free_ops;
	struct kfbl_ops free_internal;
	struct kfbl_ops unposted; /* in order; any may be posted in part */
	struct kfbl_ops done;
	struct kfbl_ctx *piece_ctx;
	struct kfbl_pieces free_pieces;

	struct kfb_blockmap map;
	LIST_HEAD(kfbl_mappings, kfbrick_mapping) mappings;
	struct kfbrick_memory *memories[KFBL_MEMORIES_MAX]; /* by address */
	uint32_t n_memories;
	uint32_t last_memory; /* index of the last hit */
};

/* error.c */

/**
 * kfbl_fail - remember a failure in words
 * @k: connection, or NULL: of this thread
 * @error: negative errno
 * @fmt: what, where, why, what next
 *
 * Return: @error.
 */
int kfbl_fail(struct kfbrick *k, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A brick's refusal: what was asked for, and the status in words. */
int kfbl_refused(struct kfbrick *k, const struct kfb_outcome *outcome,
		 const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Why the newest connection was lost. */
const char *kfbl_why(const struct kfbrick *k);

/* -ENOTCONN, with the reason why the connection was lost. */
int kfbl_not_connected(struct kfbrick *k);

/* fabric.c */

/**
 * kfbl_fabric_open - what all queues share
 * @f: filled; kfbl_fabric_close() also after failure
 * @url: whom to reach
 * @address: numeric host
 * @queue_depth: one-sided operations in flight
 * @what: on failure, what was tried
 *
 * Return: 0 or a negative errno.
 */
int kfbl_fabric_open(struct kfbl_fabric *f, const struct kfbl_url *url,
		     const char *address, uint32_t queue_depth,
		     const char **what);
void kfbl_fabric_close(struct kfbl_fabric *f);
/* An enabled endpoint; kfbl_link_close() also after failure. */
int kfbl_link_open(struct kfbl_link *link, const struct kfbl_fabric *f);
/* After this no operation of it is in flight. */
void kfbl_link_close(struct kfbl_link *link);
/* Bytes that the transport has moved on it; 0 where nobody can tell. */
uint64_t kfbl_link_moved_bytes(const struct kfbl_link *link);
int kfbl_fabric_register(struct kfbl_fabric *f, void *addr, size_t len,
			 struct fid_mr **mr);
/* A libfabric return value as an errno of the system. */
int kfbl_errno(ssize_t rc);
uint64_t kfbl_now_ms(void);

/* sized.c: structures of callers that know another version of them */

/**
 * kfbl_take_sized - read a caller's structure
 * @to: filled; what the caller does not have is 0
 * @size: of @to, bytes
 * @from: the caller's
 * @from_size: as it says
 *
 * Return: 0, -E2BIG (it sets what this version does not know).
 */
int kfbl_take_sized(void *to, size_t size, const void *from, size_t from_size);
/* Fill a caller's structure of to_size bytes as far as it and ours go. */
void kfbl_give_sized(void *to, size_t to_size, const void *from, size_t size);

/* session.c: what the core needs of the world */

extern const struct kfb_initiator_ops kfbl_initiator_ops;

static inline struct kfbrick *kfbl_of(const struct kfb_initiator *i)
{
	return kfb_container_of(i, struct kfbrick, core);
}

static inline struct kfbl_queue *
kfbl_queue_of(const struct kfb_initiator_queue *q)
{
	return kfb_container_of(q, struct kfbl_queue, core);
}

/* The connection is over and does not come back. */
bool kfbl_is_over(const struct kfbrick *k);
/* Requests can go out, one-sided operations can be posted. */
bool kfbl_is_live(const struct kfbrick *k);
/* Do all that is to be done now; true when something was. */
bool kfbl_session_run(struct kfbrick *k);
/* Every connection is of no use any more. */
void kfbl_lost_all(struct kfbrick *k, int error, const char *why);
/* What the event queue of a queue says. */
void kfbl_read_events(struct kfbrick *k, struct kfbl_queue *q);
/* No more: close every endpoint, end everything open. */
void kfbl_session_end(struct kfbrick *k);

/* path.c */

/**
 * kfbl_path_choose - by which interface a connection is to go
 * @k: connection
 * @link: open, and not connected
 *
 * Return: 0; -EPERM (it would leave this host unprotected), or another negative
 * errno: no way there. Then k->path_why has words.
 */
int kfbl_path_choose(struct kfbrick *k, struct kfbl_link *link);

/* restore.c */

/* Make every mapping again in a new session. */
void kfbl_restore_start(struct kfbrick *k);
/* The next MAP, if one is due; true when something was done. */
bool kfbl_restore_run(struct kfbrick *k);
/* Its MAP is answered; the reply is the newest. */
void kfbl_restore_answer(struct kfbrick *k);
uint64_t kfbl_restore_next_ms(const struct kfbrick *k);

/* control.c */

/**
 * kfbl_call - one request, and its reply
 * @k: connection
 * @req: op and body
 * @outcome: of the call
 *
 * Waits until the session lives. A request that changes nothing is sent again
 * in a new session. The reply is in k->call_reply.
 *
 * Return: 0: the brick has answered, look at outcome->error; else -ETIMEDOUT,
 * -ENOTCONN or -ECONNRESET with words.
 */
int kfbl_call(struct kfbrick *k, const struct kfb_request *req,
	      struct kfb_outcome *outcome);
/* The same where a refusal needs no more words than what was asked for: its error. */
int kfbl_request(struct kfbrick *k, const struct kfb_request *req,
		 const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Until a request that kfb_initiator_call() has is done; as kfbl_call(). */
int kfbl_wait_call(struct kfbrick *k, struct kfb_initiator_call *call);
/* Until the session lives: 0, or -ENOTCONN. */
int kfbl_wait_live(struct kfbrick *k);

/* progress.c */

/**
 * kfbl_progress - do everything that can be done without waiting
 * @k: connection
 *
 * When k->is_settled afterwards, another call would find what kfbl_wait() looks
 * for anyway: who still waits may go there, whatever has happened.
 *
 * Return: true when anything happened.
 */
bool kfbl_progress(struct kfbrick *k);

/**
 * kfbl_completion_error - what an operation has failed with
 * @entry: of the completion queue
 * @is_rdma: libfabric's verbs has filled it in
 *
 * Return: a negative errno; -EACCES: the brick refused the key of a mapping.
 */
int kfbl_completion_error(const struct fi_cq_err_entry *entry, bool is_rdma);

/* Sleep until the fabric has news or a time comes (KFB_TIME_NEVER: none);
 * false: there is news already, or nothing to wait for.
 */
bool kfbl_wait(struct kfbrick *k, uint64_t until_ms);
/* Make the descriptors tell of the next event; false: there is one already. */
bool kfbl_arm(struct kfbrick *k);
/*
 * Something cannot be posted: the connection has ended. It is lost when what
 * had come before is read, in the next round of progress: that may say why.
 */
void kfbl_queue_failed(struct kfbl_queue *q, const char *what, ssize_t rc);
/* The descriptor of the caller's event loop hears of a queue, or no more. */
void kfbl_watch(struct kfbrick *k, struct kfbl_queue *q);
void kfbl_unwatch(struct kfbrick *k);

/* io.c */
int kfbl_io_init(struct kfbrick *k);
void kfbl_io_fini(struct kfbrick *k);
/* Flags of a write that is placed when it completes. */
uint64_t kfbl_write_flags(const struct kfbrick *k);
/* Post pieces of ops that wait; true when something was posted. */
bool kfbl_io_pump(struct kfbrick *k);
/* Is there nothing left of what the brick allows? Then progress goes on in time. */
bool kfbl_is_over_rate(struct kfbrick *k);
/* May these bytes be read, or written? Words when not. */
int kfbl_io_check(struct kfbrick *k, uint64_t va, size_t len, bool write);
void kfbl_piece_done(struct kfbrick *k, struct kfbl_queue *q,
		     struct kfbl_ctx *ctx, int error);
/* A free op; NULL, with words: all that are the caller's are in use. */
struct kfbl_op *kfbl_op_get(struct kfbrick *k, bool internal);
void kfbl_op_put(struct kfbrick *k, struct kfbl_op *op);
void kfbl_op_done(struct kfbrick *k, struct kfbl_op *op, int error);
void kfbl_post(struct kfbrick *k, struct kfbl_op *op, enum kfbl_op_kind kind,
	       uint64_t va, void *buf, size_t len, void *desc);
/* The endpoint of a queue is closed: its pieces wait to be posted again. */
void kfbl_io_lost(struct kfbrick *k, struct kfbl_queue *q);
/* Every op ends with an error; no endpoint is open. */
void kfbl_io_end(struct kfbrick *k, int error);
/* Does an active op touch these addresses, or this memory? */
bool kfbl_io_uses_range(const struct kfbrick *k, const struct kfb_range *range);
bool kfbl_io_uses_memory(const struct kfbrick *k, const uint8_t *addr,
			 size_t len);

/* flush.c */
void kfbl_flush_start(struct kfbrick *k, struct kfbl_op *op);
/* An active WRITE that has completed and is to be durable becomes a flush. */
void kfbl_flush_follow(struct kfbrick *k, struct kfbl_op *op);
/* Are completed writes in a range not durable? */
bool kfbl_flush_is_dirty_in(struct kfbrick *k, uint64_t va, uint64_t len);
/* Words for what is lost. */
int kfbl_flush_losses(struct kfbrick *k);
/* Parts of the port. */
int kfbl_flush_locate(struct kfb_initiator *i, const struct kfb_flush_range *at,
		      struct kfb_initiator_place *place);
int kfbl_flush_locate_any(struct kfb_initiator *i, __u64 *va);
int kfbl_flush_read_back(struct kfb_initiator_queue *core, __u32 place,
			 __u64 id, const struct kfb_initiator_place *from,
			 __u32 len);
void kfbl_flush_done(struct kfb_initiator *i, struct kfb_initiator_flush *flush,
		     int error);

/* retain.c */
/* Room for copies, as it was configured: 0, -ENOMEM, or why not. */
int kfbl_retain_init(struct kfbrick *k);
void kfbl_retain_fini(struct kfbrick *k);
/* The first session is there: keep copies if that helps. */
void kfbl_retain_open(struct kfbrick *k);
/* A piece of a write is about to be posted: 0, or -EAGAIN: later. */
int kfbl_retain_piece(struct kfbrick *k, struct kfbl_ctx *ctx);
/* The piece is over, and with it its copy under way. */
void kfbl_retain_over(struct kfbrick *k, struct kfbl_ctx *ctx,
		      enum kfb_copy_end end);
/* A copy has been written again. */
void kfbl_retain_written(struct kfbrick *k, struct kfbl_ctx *ctx);
/* The endpoint of a queue is closed: copies that were on their way over it. */
void kfbl_retain_lost(struct kfbrick *k, struct kfbl_queue *q);
/* Part of the port. */
int kfbl_retain_write_copy(struct kfb_initiator_queue *core, __u32 slot,
			   const struct kfb_retain_piece *piece, __u32 page,
			   const struct kfb_initiator_place *to);

/* map.c */
void kfbl_map_fini(struct kfbrick *k);
/* A mapping has these handles, too; 0 or -ENOMEM. */
int kfbl_keep_handles(struct kfbrick_mapping *mapping,
		      const struct kfb_handle *from, uint32_t n);
/* Room for so many more handles in the block map; 0 or -ENOMEM. */
int kfbl_map_room(struct kfbrick *k, uint32_t n);
/* The mapping that holds an address, or NULL. */
struct kfbrick_mapping *kfbl_mapping_find(struct kfbrick *k, uint64_t va);
/*
 * Are these bytes mapped, going by the mappings? 0, -ENXIO or -EACCES. With -ENXIO @dead
 * is the mapping up to which they are, and which did not outlive a loss; or as it was.
 */
int kfbl_mapping_covers(struct kfbrick *k, uint64_t va, size_t len, bool write,
			const struct kfbrick_mapping **dead);

/* memory.c */
/* The registration that holds a buffer, or NULL. */
struct kfbrick_memory *kfbl_memory_find(struct kfbrick *k, const void *buf,
					size_t len);
void kfbl_memory_fini(struct kfbrick *k);

#endif
