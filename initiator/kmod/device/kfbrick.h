/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: the structs that the driver's files share; what each of them does is
 * declared in device.h (everybody), requests.h, link.h, blocks/mappings.h and disks.h.
 *
 * One device is one session with a brick and one disk over it:
 *
 *   file system
 *       |  blk-mq: data.c, flush.c (no sleep, no allocation)
 *       v
 *   block table (blocks/) --> queue of the block --> endpoint (fabric.c)
 *       ^                                               |
 *       |  thin writes, discards: blocks/               | upcalls
 *   requests and replies (messages.c) <----------------'
 *       ^
 *       |  the core's initiator decides (kfb_initiator.h); session.c, messages.c
 *       |  and flush.c are its port
 *
 * Context: four of them. queue_rq() of blk-mq; upcalls of kfabric (softirq or
 * workqueue, never sleep); the session work, which alone opens and closes
 * endpoints; the map and restore works, which wait for replies. Who may wait
 * for whom: map and restore work -> session work -> nobody.
 *
 * Locking, outermost first; none is held over what sleeps:
 *   disk->open_mutex (the block layer's) who opens, and who detaches the unopened
 *   kfbk_devices_lock (mutex)  the list of devices
 *   dev->lock (bh)   client, engines, calls, flushes that wait, block states
 *   queue->lock (bh) the queue's flush bookkeeping
 *   retain.lock (bh) which writes there are copies of
 *   cache.lock (bh)  which blocks are mapped, and in use
 *   (the provider's own)
 *
 * A post is safe against the closing of its endpoint in two ways: under
 * dev->lock, with queue->ep looked up there; or in queue_rq(), inside RCU. The
 * session work takes queue->ep away under dev->lock, stops queue_rq() and waits
 * for a grace period, and only then closes.
 *
 * Lifetime: kref of the device: the list, the disk, each open call of the
 * control device. Recovery: session.c.
 */
#ifndef KFBRICK_H
#define KFBRICK_H

#include <linux/atomic.h>
#include <linux/blk-mq.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/ratelimit.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <kfabric/fi_cm.h>
#include <kfabric/fi_rma.h>

#include "blocks/kfb_blockmap.h"
#include "blocks/kfb_map_try.h"
#include "blocks/kfb_disk.h"
#include "blocks/kfb_mapcache.h"
#include "data/kfb_retain.h"
#include "kfb_initiator.h"
#include "kfb_path.h"
#include "log.h"
#include "options.h"

/* Requests of blk-mq that are under way at one time. */
#define KFBK_DEPTH 128

/* Segments of one request, a block's pages; the provider may have fewer. */
#define KFBK_SEGMENTS_MAX 512

#define KFBK_BLOCK_SECTORS  (KFB_BLOCK_BYTES >> SECTOR_SHIFT)
#define KFBK_PHYSICAL_BYTES 4096

struct kfbk_device;
struct kfbk_queue;

/**
 * enum kfbk_ctx_kind - what an operation was posted for
 * @KFBK_CTX_RECV: a reply or EVENT
 * @KFBK_CTX_SEND: a request of the control protocol
 * @KFBK_CTX_DATA: a write or read of a blk-mq request
 * @KFBK_CTX_FUA: the readback chained behind a write
 * @KFBK_CTX_READBACK: the readback of a flush
 * @KFBK_CTX_REPLAY: a retained copy
 */
enum kfbk_ctx_kind {
	KFBK_CTX_RECV,
	KFBK_CTX_SEND,
	KFBK_CTX_DATA,
	KFBK_CTX_FUA,
	KFBK_CTX_READBACK,
	KFBK_CTX_REPLAY,
};

/**
 * struct kfbk_ctx - memory of one operation
 * @kind: what it is for
 * @index: RECV: of the buffer; SEND: of the engine's; READBACK: of the flush
 *	op; REPLAY: of the part
 * @id: READBACK: number of the flush op
 * @rq: DATA, FUA: the request
 * @fi: the provider's while the operation is under way; more of it follows:
 *	dev->ctx_bytes in all
 */
struct kfbk_ctx {
	enum kfbk_ctx_kind kind;
	u16 index;
	u64 id;
	struct kfbk_rq *rq;
	struct fi_context fi;
};

/**
 * struct kfbk_flush - somebody waits for a flush
 * @core: what the core knows of it
 * @rq: the request that ends with it, or NULL
 * @finished: else this is completed
 */
struct kfbk_flush {
	struct kfb_initiator_flush core;
	struct request *rq;
	struct completion finished;
};

/**
 * struct kfbk_rq - the driver's part of a blk-mq request
 * @node: in one of the device's lists of requests that wait
 * @flush: a flush, or that of a write with FUA
 * @queue: where it was posted
 * @status: of what is over so far
 * @done: bytes that are dealt with (discard and write-zeroes go on in steps)
 * @va: address of the step under way
 * @len: bytes of the step under way
 * @mark: of the queue's window, while @posted
 * @moved: what had moved on its queue, and when, when its time was last over
 * @copy: number of its retained copy, or KFB_RETAIN_NONE; of a write with FUA
 *	until its flush is over
 * @block: the one that the request has pinned, or KFB_MAPCACHE_NONE
 * @chained: a readback is, or will be, behind the write
 * @posted: in flight; cleared when the operation's memory is ours again, and what it
 *	wrote is noted as to be flushed
 * @is_write: data goes to the brick
 * @fua: the write must be durable when it ends
 * @torn: a write that was under way when its connection died: what is there may
 *	be half of it, until it is sent again
 * @strikes: connections that the request was at fault for
 * @ctx: of the write or read, then of the readback; the scatterlist is behind
 */
struct kfbk_rq {
	struct list_head node;
	struct kfbk_flush flush;
	struct kfbk_queue *queue;
	blk_status_t status;
	u32 done;
	u64 va;
	u32 len;
	struct kfb_window_mark mark;
	u64 copy;
	u64 moved;
	u32 block;
	bool chained;
	bool posted;
	bool is_write;
	bool fua;
	bool torn;
	u8 strikes;
	u8 ctx[] __aligned(8);
};

/**
 * struct kfbk_call - one request of the control protocol, and who waits for it
 * @core: the request
 * @done: completed when it is answered, or never will be
 */
struct kfbk_call {
	struct kfb_initiator_call core;
	struct completion done;
};

/**
 * enum kfbk_op - what is counted per queue
 * @KFBK_OP_WRITE: RDMA writes posted
 * @KFBK_OP_READ: RDMA reads posted
 * @KFBK_OP_READBACK: flushes by reading back posted
 * @KFBK_OP_MESSAGE: FLUSH requests sent
 * @KFBK_OP_WRITTEN: bytes of the writes
 * @KFBK_OP_READ_BYTES: bytes of the reads
 * @KFBK_OP_ERROR: operations that ended with an error
 * @KFBK_OP_CONNECT: times that the queue was connected
 * @KFBK_OPS: how many counters there are
 */
enum kfbk_op {
	KFBK_OP_WRITE,
	KFBK_OP_READ,
	KFBK_OP_READBACK,
	KFBK_OP_MESSAGE,
	KFBK_OP_WRITTEN,
	KFBK_OP_READ_BYTES,
	KFBK_OP_ERROR,
	KFBK_OP_CONNECT,
	KFBK_OPS,
};

/**
 * struct kfbk_queue - one connection
 * @core: what the core knows of the connection
 * @dev: whose
 * @ep: NULL when there is none; see the head of this file
 * @cq: completions of @ep
 * @eq: events of @ep
 * @usable: data may be posted; read without a lock
 * @broken: bit 0: something has failed; the session work is to end it
 * @error: why, the first time, negative
 * @lock: the queue's, as the core has it
 * @is_full: a request, or a copy, waits for the window
 * @readback_ctx: of readbacks, by place: they end with their endpoint, before the
 *	place is another op's
 * @fua: requests whose write is posted and whose readback is not
 * @rx: KFB_INITIATOR_RX_MAX buffers of a page each
 * @rx_ctx: contexts of the receives into @rx
 * @tx_ctx: of the engine's buffers
 * @n_ops: counted since the device was attached
 */
struct kfbk_queue {
	struct kfb_initiator_queue core;
	struct kfbk_device *dev;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_eq *eq;
	bool usable;
	unsigned long broken;
	int error;
	spinlock_t lock;
	bool is_full;
	u8 *readback_ctx;
	struct list_head fua;
	u8 *rx;
	u8 *rx_ctx;
	u8 *tx_ctx;
	atomic_long_t n_ops[KFBK_OPS];
};

/* A copy that is written again: how many of its bytes, and since when. */
struct kfbk_copy_op {
	u32 len;
	struct kfb_window_mark mark;
};

/**
 * struct kfbk_retain - memory for copies of writes; see retain.c
 * @mb: room for their bytes; 0: there are none
 * @lock: the copies', as the core has it
 * @copies: of the core's book
 * @newest: of the core's book
 * @bytes: of the copies
 * @ctx: of operations that write them again
 * @ops: what these are; under dev->lock
 */
struct kfbk_retain {
	u32 mb;
	spinlock_t lock;
	struct kfb_copy *copies;
	u64 *newest;
	u8 *bytes;
	u8 *ctx;
	struct kfbk_copy_op ops[KFB_INITIATOR_REPLAYS];
};

/* A disk is to grow; see blocks/resize.c. */
struct kfbk_resize {
	u64 n_blocks;
	int error;
	struct completion done;
};

/* Mappings that the brick wants back; see blocks/mapcache.c. */
struct kfbk_recall {
	bool is_asked;
	u64 mapping_id;
	u64 first;
	u64 n;
};

/**
 * struct kfbk_cache - not all blocks are mapped at one time; see blocks/mapcache.c
 * @cap: mappings at one time; 0: everything is mapped at attach
 * @lock: guards @book
 * @book: which blocks are mapped, and in use
 * @nodes: memory of @book
 * @widen_ms: the map work's: when more mappings are tried again, after the
 *	brick was short of memory
 * @recall: the last one that the map work has not taken; under dev->lock
 * @n_recalls: EVENTs by which the brick asked for mappings
 * @n_returned: mappings that were unmapped for them
 */
struct kfbk_cache {
	u32 cap;
	spinlock_t lock;
	struct kfb_mapcache book;
	struct kfb_mapcache_node *nodes;
	u64 widen_ms;
	struct kfbk_recall recall;
	atomic_long_t n_recalls;
	atomic_long_t n_returned;
};

/**
 * struct kfbk_rate - how much the brick allows a disk to move; see rate.c
 * @is_set: the brick has set a bound; read without the lock
 * @lock: inside all others; guards the rest
 * @bucket: what is left
 * @n_waits: times that a request, or a copy, found nothing left
 * @copies_wait: a copy that is to be written again waits; under dev->lock
 */
struct kfbk_rate {
	bool is_set;
	spinlock_t lock;
	struct kfb_bucket bucket;
	u64 n_waits;
	bool copies_wait;
};

/**
 * struct kfbk_route - how one of the brick's addresses is reached
 * @info: by what
 * @fabric: what all queues at this address share
 * @domain: of @fabric; all queues share it, too. NULL: it cannot be reached so far
 */
struct kfbk_route {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
};

/**
 * struct kfbk_device - one attached range of a brick
 * @ref: see the head of this file
 * @release: what the last reference calls
 * @node: in the list of devices
 * @claim: in the list of who has which blocks
 * @n_claimed: blocks that the device has in the list of who has which blocks; under
 *	the lock of that list, as the two that follow
 * @is_superseded: the device's session was over, and another disk has got blocks of it
 * @returns: orders to have another session, which are not settled; with any, the device
 *	keeps others from its blocks though its session is over
 * @n_left: orders of @returns that nobody waits for any more; under @lock
 * @instance: the N of kfbrickN
 * @options: as attached
 * @key: the client's, if it has a name
 * @state: changed by kfbk_move() alone, under @lock
 * @why: the newest loss or refusal, for people
 * @log_limit: of messages on what the brick does
 * @state_limit: of messages on the ways in which the brick comes and goes
 * @lock: see the head of this file
 * @core: what decides
 * @hmac: of the client
 * @tx: memory for outgoing messages
 * @queues: options.queues of them
 * @n_used: queues that blocks are spread over, fixed while data may be posted
 * @is_inline: queue_rq() may sleep, and sends by itself; constant
 * @lease_until_ms: handles are good until then
 * @ended: requests that are over, until the lock is dropped
 * @retain: copies of writes that may not be durable
 * @told: the state user space was last told
 * @tell_work: tells user space another state
 * @replies: memory for those who wait for long ones: the map work (and attach),
 *	the restore work
 * @restoring_id: of the session that the restore work maps in
 * @blocks: by number
 * @n_blocks: how many blocks; more than the disk has after a failure to grow
 * @cache: which blocks are mapped, when not all are
 * @rate: how much the disk may move
 * @resize: NULL, or what the map work is to do
 * @waiting: requests for blocks that are not MAPPED
 * @clears: bios of discards and write-zeroes that go on in pieces
 * @clear_work: sends the bios of @clears
 * @draining: somebody waits until blocks are quiet
 * @drain_wait: where
 * @session_work: runs the client
 * @map_work: allocates, maps, frees
 * @restore_work: maps again in a new session
 * @wake_work: makes @session_work run at a time
 * @wake_ms: when @wake_work is to do so
 * @is_quiesced: queue_rq() is stopped; the session work's
 * @gives_up: the client is to end
 * @keeps_why: the disk has failed for the reason in @why, not for how connections end
 *	then
 * @first: completed when the first session is usable, or will never be
 * @settled: who waits until the disk is back, or is not
 * @path: over what the newest connection goes, or would
 * @interface: of @path; "" where that says nothing
 * @path_why: why a connection may not go over @path; the session work's
 * @routes: to options.n_addresses of them; the session work's after attach
 * @is_in_init_net: whoever attached it was in the first network namespace
 * @told_address: the one that was last said to be in use; the session work's
 * @ctx_bytes: of a &struct kfbk_ctx with its tail; as the three that follow, what
 *	every route that was there at attach can do
 * @max_segments: of one operation
 * @max_segment_bytes: of each segment of an operation, at least a page
 * @max_op_bytes: of all segments of an operation
 * @tags: of blk-mq
 * @disk: NULL until there is one
 */
struct kfbk_device {
	struct kref ref;
	void (*release)(struct kref *ref);
	struct list_head node;
	struct list_head claim;
	u64 n_claimed;
	bool is_superseded;
	u32 returns;
	u32 n_left;
	int instance;
	struct kfbk_options options;
	u8 key[KFB_KEY_BYTES];
	enum kfb_disk_state state;
	char why[KFBK_WHY_BYTES];
	struct ratelimit_state log_limit;
	struct ratelimit_state state_limit;

	spinlock_t lock;
	struct kfb_initiator core;
	struct kfb_hmac hmac;
	u8 *tx;
	struct kfbk_queue *queues;
	u32 n_used;
	bool is_inline;
	atomic64_t lease_until_ms;
	struct list_head ended;
	struct kfbk_retain retain;
	enum kfb_disk_state told;
	struct work_struct tell_work;
	struct kfb_reply *replies;

	u64 restoring_id;
	struct kfb_block *blocks;
	u64 n_blocks;
	struct kfbk_cache cache;
	struct kfbk_rate rate;
	struct kfbk_resize *resize;
	struct list_head waiting;
	struct bio_list clears;
	struct work_struct clear_work;
	bool draining;
	wait_queue_head_t drain_wait;

	struct work_struct session_work;
	struct delayed_work wake_work;
	struct work_struct map_work;
	struct work_struct restore_work;
	u64 wake_ms;
	bool is_quiesced;
	bool gives_up;
	bool keeps_why;
	struct completion first;
	wait_queue_head_t settled;

	enum kfb_path path;
	char interface[FI_PATH_NAME_BYTES];
	char path_why[KFBK_WHY_BYTES];
	struct kfbk_route routes[KFB_CLIENT_ADDRESSES_MAX];
	bool is_in_init_net;
	u32 told_address;
	size_t ctx_bytes;
	u32 max_segments;
	u32 max_segment_bytes;
	size_t max_op_bytes;

	struct blk_mq_tag_set tags;
	struct gendisk *disk;
};

static inline struct kfbk_ctx *kfbk_ctx_at(const struct kfbk_device *dev,
					   u8 *array, u32 i)
{
	return (struct kfbk_ctx *)(array + i * dev->ctx_bytes);
}

/* The operation memory of a request: 0 write or read, 1 readback. */
static inline struct kfbk_ctx *kfbk_rq_ctx(const struct kfbk_device *dev,
					   struct kfbk_rq *krq, u32 i)
{
	return kfbk_ctx_at(dev, krq->ctx, i);
}

static inline struct kfbk_device *kfbk_of(const struct kfb_initiator *i)
{
	return container_of(i, struct kfbk_device, core);
}

static inline struct kfbk_queue *
kfbk_queue_of(const struct kfb_initiator_queue *q)
{
	return container_of(q, struct kfbk_queue, core);
}

/* Completed writes are lost: nothing is written any more. Context: any. */
static inline bool kfbk_is_lossy(const struct kfbk_device *dev)
{
	return READ_ONCE(dev->core.losses.why);
}

static inline struct kfbk_rq *kfbk_rq_of(struct request *rq)
{
	return blk_mq_rq_to_pdu(rq);
}

/* The device goes: nothing that may take long is begun. Context: any. */
static inline bool kfbk_is_ending(const struct kfbk_device *dev)
{
	return READ_ONCE(dev->core.is_over) ||
	       READ_ONCE(dev->state) == KFB_DISK_DETACHING;
}

/* The address of a block. */
static inline u64 kfbk_block_va(const struct kfbk_device *dev, u64 block)
{
	return dev->options.base + (block << KFB_BLOCK_SHIFT);
}

/* The number of the block that a request's step is in. */
static inline u64 kfbk_rq_block(const struct kfbk_device *dev,
				const struct kfbk_rq *krq)
{
	return (krq->va - dev->options.base) >> KFB_BLOCK_SHIFT;
}

/* A request is not in flight any more. Context: any. */
static inline void kfbk_blocks_quieter(struct kfbk_device *dev)
{
	if (unlikely(READ_ONCE(dev->draining)))
		wake_up(&dev->drain_wait);
}

#endif /* KFBRICK_H */
