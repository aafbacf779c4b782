/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libkfbrick's files share.
 *
 * Context: any thread, one at a time per connection; nothing here is global
 * but the error of the last failed connect, which is per thread.
 * Lifetime: an op belongs to the connection; it is free, active (posted or
 * waiting to be), or done (waiting to be collected).
 * Recovery: none within a connection: the first failure of the fabric closes
 * the endpoint, every op ends with -ECONNRESET, and only kfbrick_close() is
 * left to do.
 */
#ifndef KFBRICK_INTERNAL_H
#define KFBRICK_INTERNAL_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "kfb_blockmap.h"
#include "kfb_engine.h"
#include "kfb_flush.h"
#include "kfbrick.h"
#include "url.h"

#define KFBL_TIMEOUT_MS_DEFAULT	 10000
#define KFBL_QUEUE_DEPTH_DEFAULT 64
/* kfbrick_close() waits no longer for the brick. */
#define KFBL_GOODBYE_MS	     1000
#define KFBL_QUEUE_DEPTH_MAX 1024
#define KFBL_ERROR_BYTES     512

/* Receives: a reply for every credit, and the EVENTs a brick may send. */
#define KFBL_RX_MAX (KFB_CREDITS_MAX + KFB_EVENTS_UNACKED_MAX)

/* Ops of the library's own: the synchronous calls'. */
#define KFBL_OPS_INTERNAL 8

/* The bounce buffer of the synchronous calls. */
#define KFBL_BOUNCE_CHUNKS	4
#define KFBL_BOUNCE_CHUNK_BYTES (512U << 10)

/* One fabric operation moves no more: others get their turn. */
#define KFBL_PIECE_MAX_BYTES (8U << 20)

/* Registrations of the caller's memory. */
#define KFBL_MEMORIES_MAX 1024

enum kfbl_ctx_kind {
	KFBL_CTX_RECV,
	KFBL_CTX_SEND,
	KFBL_CTX_PIECE,
	KFBL_CTX_READBACK,
};

/* What a fabric operation's completion leads to; the first member is the
 * provider's while the operation is in flight.
 */
struct kfbl_ctx {
	struct fi_context fi;
	enum kfbl_ctx_kind kind;
	uint16_t index; /* RECV: buffer; SEND: the engine's tx */
	uint64_t flush_id; /* READBACK */
	struct kfbl_op *op; /* PIECE */
	struct kfbl_ctx *next; /* PIECE: free list */
};

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
	uint32_t pieces; /* in flight */
	int error;
	uint64_t flush_id; /* FLUSH: waits for this */
};

STAILQ_HEAD(kfbl_ops, kfbl_op);

/* What a slot's call is for. */
enum kfbl_call_kind {
	KFBL_CALL_NONE,
	KFBL_CALL_SYNC, /* somebody waits in kfbl_call() */
	KFBL_CALL_PING,
	KFBL_CALL_FLUSH,
	KFBL_CALL_UNMAP, /* of a mapping whose MAP was given up */
};

struct kfbl_call {
	enum kfbl_call_kind kind;
	uint64_t flush_id;
};

struct kfbrick_memory {
	struct fid_mr *mr; /* NULL where the fabric needs none */
	uint8_t *addr;
	size_t len;
};

struct kfbrick_mapping {
	LIST_ENTRY(kfbrick_mapping) link;
	uint64_t id;
	struct kfb_range range;
	struct kfbrick_handle *handles;
	size_t n_handles;
	size_t cap_handles;
};

/* The fabric objects of one connection; see fabric.c. */
struct kfbl_fabric {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_eq *eq;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *control_mr;
	void *control_desc;
	int cq_fd;
	int eq_fd;
	int epoll_fd; /* of both, for the caller's event loop; -1: none yet */
	bool mr_local; /* local buffers need registration */
	bool delivery_complete; /* a plain completion means nothing */
	size_t piece_max; /* bytes of one operation */
};

struct kfbrick {
	struct kfbl_url url;
	char *client;
	uint8_t key[KFBRICK_KEY_BYTES];
	uint32_t timeout_ms;
	uint32_t queue_depth;
	char error[KFBL_ERROR_BYTES];

	struct kfbl_fabric fabric;
	struct kfb_engine engine;
	uint64_t tick_ms; /* of the last look at deadlines */
	bool lost; /* the connection; why is in lost_why */
	int lost_error;
	char lost_why[KFBL_ERROR_BYTES];

	/* control: receive buffers, send buffers, readback sinks, bounce */
	uint8_t *control;
	size_t control_bytes;
	uint8_t *rx;
	uint8_t *readback;
	uint8_t *bounce; /* NULL where caller's memory can be used */
	struct kfbl_ctx rx_ctx[KFBL_RX_MAX];
	struct kfbl_ctx tx_ctx[KFB_ENGINE_TX_MAX];
	struct kfb_message unsent[KFB_ENGINE_TX_MAX];
	uint32_t n_unsent;
	uint32_t n_rx; /* receives posted */
	struct kfbl_call calls[KFB_ENGINE_CALLS];

	/* the call somebody waits for */
	bool call_done;
	struct kfb_outcome call_outcome;
	struct kfb_reply call_reply;
	struct kfb_reply rx_reply;

	struct kfbl_op *ops;
	struct kfbl_ops free_ops;
	struct kfbl_ops free_internal;
	struct kfbl_ops unposted; /* in order; the first may be posted in part */
	struct kfbl_ops flushing; /* wait for a flush op */
	struct kfbl_ops done;
	struct kfbl_ctx *piece_ctx;
	struct kfbl_ctx *free_pieces;

	struct kfb_flush_queue flush;
	struct kfbl_ctx readback_ctx[KFB_FLUSH_POSTED_MAX];
	uint32_t flush_mode; /* KFBRICK_FLUSH_* */
	uint8_t uuid[KFBRICK_UUID_BYTES];

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

/* -ENOTCONN, with the reason why the connection was lost. */
int kfbl_not_connected(struct kfbrick *k);

/* fabric.c */

/**
 * kfbl_fabric_open - everything up to an enabled endpoint
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
/* The endpoint only: after this no operation of it is in flight. */
void kfbl_fabric_disconnect(struct kfbl_fabric *f);
int kfbl_fabric_register(struct kfbl_fabric *f, void *addr, size_t len,
			 struct fid_mr **mr);
/* A libfabric return value as an errno of the system. */
int kfbl_errno(ssize_t rc);
uint64_t kfbl_now_ms(void);

/* control.c */

/**
 * kfbl_call - one request, and its reply
 * @k: connection
 * @req: op and body
 * @outcome: of the call
 *
 * The reply is in k->call_reply.
 *
 * Return: 0: the brick has answered, look at outcome->error; else -ETIMEDOUT,
 * -ENOTCONN or -ECONNRESET with words.
 */
int kfbl_call(struct kfbrick *k, const struct kfb_request *req,
	      struct kfb_outcome *outcome);
/* A request nobody waits for; -EAGAIN when there is no room. */
int kfbl_call_async(struct kfbrick *k, const struct kfb_request *req,
		    enum kfbl_call_kind kind, uint64_t flush_id);
/* Wait until the engine is READY; the outcome of AUTH. */
int kfbl_wait_auth(struct kfbrick *k);
/* Post what could not be posted before. */
void kfbl_send_unsent(struct kfbrick *k);
int kfbl_post_receives(struct kfbrick *k, uint32_t n);
void kfbl_received(struct kfbrick *k, struct kfbl_ctx *ctx, size_t len);
/* Deadlines, leases, EVENTs: whatever time brings. */
void kfbl_housekeeping(struct kfbrick *k);

/* progress.c */

/**
 * kfbl_progress - do everything that can be done without waiting
 * @k: connection
 *
 * Return: true when anything happened.
 */
bool kfbl_progress(struct kfbrick *k);
/* Sleep until the fabric has news or a time comes (KFB_TIME_NEVER: none). */
void kfbl_wait(struct kfbrick *k, uint64_t until_ms);
/* Make the descriptors tell of the next event; false: there is one already. */
bool kfbl_arm(struct kfbrick *k);
/* The connection is gone: close the endpoint, end everything open. */
void kfbl_lost(struct kfbrick *k, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* io.c */
int kfbl_io_init(struct kfbrick *k);
void kfbl_io_fini(struct kfbrick *k);
/* Post pieces of ops that wait; true when something was posted. */
bool kfbl_io_pump(struct kfbrick *k);
/* May these bytes be read, or written? Words when not. */
int kfbl_io_check(struct kfbrick *k, uint64_t va, size_t len, bool write);
void kfbl_piece_done(struct kfbrick *k, struct kfbl_ctx *ctx, int error);
struct kfbl_op *kfbl_op_get(struct kfbrick *k, bool internal);
void kfbl_op_put(struct kfbrick *k, struct kfbl_op *op);
void kfbl_op_done(struct kfbrick *k, struct kfbl_op *op, int error);
void kfbl_post(struct kfbrick *k, struct kfbl_op *op, enum kfbl_op_kind kind,
	       uint64_t va, void *buf, size_t len, void *desc);
/* Every op ends with an error. */
void kfbl_io_lost(struct kfbrick *k, int error);
/* Does an active op touch these addresses, or this memory? */
bool kfbl_io_uses_range(const struct kfbrick *k, const struct kfb_range *range);
bool kfbl_io_uses_memory(const struct kfbrick *k, const uint8_t *addr,
			 size_t len);

/* flush.c */
int kfbl_flush_check_mode(struct kfbrick *k, uint32_t mode);
/* Post the flush that is due; true when something was posted. */
bool kfbl_flush_pump(struct kfbrick *k);
void kfbl_flush_start(struct kfbrick *k, struct kfbl_op *op);
void kfbl_flush_done(struct kfbrick *k, uint64_t flush_id, int error);

/* map.c */
void kfbl_map_fini(struct kfbrick *k);

/* memory.c */
/* The registration that holds a buffer, or NULL. */
struct kfbrick_memory *kfbl_memory_find(struct kfbrick *k, const void *buf,
					size_t len);
void kfbl_memory_fini(struct kfbrick *k);

#endif
