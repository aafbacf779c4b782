/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: what the driver's files share.
 *
 * One device is one session with a brick and one disk over it:
 *
 *   file system
 *       |  blk-mq: data.c, flush.c (no sleep, no allocation)
 *       v
 *   block table (maps.c) --> queue of the block --> endpoint (fabric.c)
 *       ^                                               |
 *       |  thin writes, discards: blocks.c              | upcalls
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
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <kfabric/fi_cm.h>
#include <kfabric/fi_rma.h>

#include "blocks.h"
#include "blocks/kfb_blockmap.h"
#include "blocks/kfb_disk.h"
#include "data/kfb_retain.h"
#include "flush.h"
#include "key.h"
#include "kfb_initiator.h"
#include "log.h"
#include "options.h"

/* Requests of blk-mq that are under way at one time. */
#define KFBK_DEPTH 128

/* A request that was at fault for so many ends of a connection is given up. */
#define KFBK_STRIKES_MAX 3

/* Segments of one request; the provider may have fewer. */
#define KFBK_SEGMENTS_MAX 64

#define KFBK_WHY_BYTES	    160
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
 * struct kfbk_rq - the driver's part of a blk-mq request
 * @node: in one of the device's lists of requests that wait
 * @flush: a flush, or that of a write with FUA
 * @queue: where it was posted
 * @status: of what is over so far
 * @done: bytes that are dealt with (discard and write-zeroes go on in steps)
 * @va: address of the step under way
 * @len: its bytes
 * @mark: of the queue's window, while @posted
 * @moved: what had moved on its queue, and when, when its time was last over
 * @copy: number of its retained copy, or KFB_RETAIN_NONE; of a write with FUA
 *	until its flush is over
 * @block: that it has pinned, or KFB_MAPCACHE_NONE
 * @chained: a readback is, or will be, behind the write
 * @posted: in flight; cleared when the operation's memory is ours again
 * @is_write: data goes to the brick
 * @fua: and the end must be durable
 * @torn: a write that was under way when its connection died: what is there may
 *	be half of it, until it is sent again
 * @strikes: connections that it was at fault for
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
 * @KFBK_OP_CONNECT: times that it was connected
 * @KFBK_OPS: how many there are
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
 * @core: what the core knows of it
 * @dev: whose
 * @ep: NULL when there is none; see the head of this file
 * @cq: completions of @ep
 * @eq: events of @ep
 * @usable: data may be posted; read without a lock
 * @broken: bit 0: something has failed; the session work is to end it
 * @error: why, the first time, negative
 * @lock: the queue's, as the core has it
 * @is_full: a request waits for the window
 * @readback_ctx: of readbacks, by place: they end with their endpoint, before the
 *	place is another op's
 * @fua: requests whose write is posted and whose readback is not
 * @rx: KFB_INITIATOR_RX_MAX buffers of a page each
 * @rx_ctx: of them
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

/**
 * struct kfbk_retain - memory for copies of writes; see retain.c
 * @mb: room for their bytes; 0: there are none
 * @lock: the copies', as the core has it
 * @copies: of the core's book
 * @newest: likewise
 * @bytes: of the copies
 * @ctx: of operations that write them again
 */
struct kfbk_retain {
	u32 mb;
	spinlock_t lock;
	struct kfb_copy *copies;
	u64 *newest;
	u8 *bytes;
	u8 *ctx;
};

/**
 * struct kfbk_device - one attached range of a brick
 * @ref: see the head of this file
 * @node: in the list of devices
 * @claim: in the list of who has which blocks
 * @n_claimed: of its range, under the lock of that list
 * @instance: the N of kfbrickN
 * @options: as attached
 * @key: the client's, if it has a name
 * @state: changed by kfbk_move() alone, under @lock
 * @why: the newest loss or refusal, for people
 * @log_limit: of messages on what the brick does
 * @state_limit: of those on the ways in which it comes and goes
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
 * @tell_work: tells it another
 * @replies: memory for those who wait for long ones: the map work (and attach),
 *	the restore work
 * @restoring_id: of the session that the restore work maps in
 * @blocks: by number
 * @n_blocks: how many; more than the disk has after a failure to grow
 * @cache: which of them are mapped, when not all are
 * @resize: NULL, or what the map work is to do
 * @waiting: requests for blocks that are not MAPPED
 * @draining: somebody waits until blocks are quiet
 * @drain_wait: where
 * @session_work: runs the client
 * @map_work: allocates, maps, frees
 * @restore_work: maps again in a new session
 * @wake_work: makes @session_work run at a time
 * @wake_ms: when that is
 * @is_quiesced: queue_rq() is stopped; the session work's
 * @gives_up: the client is to end
 * @first: completed when the first session is usable, or will never be
 * @fabric: what all queues share
 * @domain: likewise
 * @info: how the brick is reached
 * @ctx_bytes: of a &struct kfbk_ctx with its tail
 * @max_segments: of one operation
 * @max_segment_bytes: of each of them, at least a page
 * @tags: of blk-mq
 * @disk: NULL until it is there
 */
struct kfbk_device {
	struct kref ref;
	struct list_head node;
	struct list_head claim;
	u64 n_claimed;
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
	struct kfbk_resize *resize;
	struct list_head waiting;
	bool draining;
	wait_queue_head_t drain_wait;

	struct work_struct session_work;
	struct delayed_work wake_work;
	struct work_struct map_work;
	struct work_struct restore_work;
	u64 wake_ms;
	bool is_quiesced;
	bool gives_up;
	struct completion first;

	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fi_info *info;
	size_t ctx_bytes;
	u32 max_segments;
	u32 max_segment_bytes;

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

/* control_dev.c */
int kfbk_control_init(void);
void kfbk_control_exit(void);

/* device.c */
extern struct workqueue_struct *kfbk_session_wq;
extern struct workqueue_struct *kfbk_map_wq;
extern struct workqueue_struct *kfbk_restore_wq;

int kfbk_devices_init(void);
/* Every device is detached; nobody can attach another. */
void kfbk_devices_exit(void);

/**
 * kfbk_attach - connect, map, make the disk
 * @options: what to attach
 * @instance: the device's number
 * @why: on failure why, for people
 * @why_bytes: room there
 *
 * Context: process; waits for the brick.
 * Return: 0, or a negative errno: nothing is left behind.
 */
int kfbk_attach(const struct kfbk_options *options, int *instance, char *why,
		size_t why_bytes);

/**
 * kfbk_detach - take a device away
 * @instance: which
 * @force: even while it is open: what it still has fails
 * @why: on failure why, for people
 * @why_bytes: room there
 *
 * Context: process; waits for what is under way.
 * Return: 0, -ENODEV, -EBUSY (open), -EINTR, or -EIO: it is gone, but what was
 * written last may not be durable.
 */
int kfbk_detach(int instance, bool force, char *why, size_t why_bytes);

/**
 * kfbk_resize - let a disk grow
 * @instance: which
 * @n_blocks: its blocks from now on
 * @why: on failure why, for people
 * @why_bytes: room there
 *
 * Context: process; waits for the brick.
 * Return: 0, -ENODEV, -EINVAL (smaller), or what the brick says: it is as
 * large as before.
 */
int kfbk_resize(int instance, u64 n_blocks, char *why, size_t why_bytes);

void kfbk_put(struct kfbk_device *dev);

/* It goes: nothing that may take long is begun any more. Context: any. */
static inline bool kfbk_is_ending(const struct kfbk_device *dev)
{
	return READ_ONCE(dev->core.is_over) ||
	       READ_ONCE(dev->state) == KFB_DISK_DETACHING;
}

/* claims.c */

/**
 * kfbk_claim - see that no disk of the same client has blocks of a range
 * @dev: the disk; its brick is known
 * @n_blocks: of its range, from now on
 *
 * Context: process.
 * Return: 0, or -EEXIST: there is one, and one of the two maps on demand;
 * dev->why has words.
 */
int kfbk_claim(struct kfbk_device *dev, u64 n_blocks);
/* Its session has ended, or never was. Context: process. */
void kfbk_unclaim(struct kfbk_device *dev);

/*
 * dev->lock. Requests that were ended under it are told so when it is dropped:
 * what hears of them may send us more.
 */
void kfbk_lock(struct kfbk_device *dev) __acquires(&dev->lock);
void kfbk_unlock(struct kfbk_device *dev) __releases(&dev->lock);

/* Under dev->lock. What kfb_disk_move() says is to be done. */
int kfbk_move(struct kfbk_device *dev, enum kfb_disk_event event);

/* disk.c */
int kfbk_disk_add(struct kfbk_device *dev);
void kfbk_disk_del(struct kfbk_device *dev);
/* The disk, kept until kfbk_disk_put(); NULL: there is none. Context: any. */
struct gendisk *kfbk_disk_get(struct kfbk_device *dev);
void kfbk_disk_put(struct gendisk *disk);
/* The session work lets go of the disk. Context: process. */
void kfbk_disk_forget(struct kfbk_device *dev);
/* Tell user space of the state. Context: process, of the session work. */
void kfbk_disk_event(struct kfbk_device *dev);

/* fabric.c */
int kfbk_fabric_open(struct kfbk_device *dev);
void kfbk_fabric_close(struct kfbk_device *dev);
/* Context: process, of the session work. */
int kfbk_queue_connect(struct kfbk_queue *q, const u8 *hello, u32 len);
void kfbk_queue_close(struct kfbk_queue *q);
int kfbk_queue_init(struct kfbk_device *dev, u32 index);
/* Bytes that have moved on a connection; 0 where the provider cannot tell. */
u64 kfbk_moved_bytes(struct fid_ep *ep);
void kfbk_queue_fini(struct kfbk_queue *q);

/* session.c */
u64 kfbk_now_ms(void);
/* The same, a tick old at most, for who asks at each request. */
static inline u64 kfbk_coarse_ms(void)
{
	return ktime_to_ms(ktime_get_coarse_boottime());
}
int kfbk_session_init(struct kfbk_device *dev);
/* The first session: 0, or why there is none. Context: process. */
int kfbk_session_start(struct kfbk_device *dev);
/* Goodbye, no more; every request fails. Context: process. */
void kfbk_session_leave(struct kfbk_device *dev);
/* Likewise, and its work is over. Context: process. */
void kfbk_session_stop(struct kfbk_device *dev);
void kfbk_session_fini(struct kfbk_device *dev);
/* Run the session work soon. Context: any. */
void kfbk_kick(struct kfbk_device *dev);
/* Not later than then. Context: dev->lock is held. */
void kfbk_wake_at(struct kfbk_device *dev, u64 at_ms);
/* The connection is of no use any more. Context: any. */
void kfbk_queue_failed(struct kfbk_queue *q, int error);
/* No more, now: every request fails. Context: process. */
void kfbk_give_up(struct kfbk_device *dev);
/* Words for people on the newest trouble. Context: dev->lock is held. */
void kfbk_say(struct kfbk_device *dev, const char *fmt, ...) __printf(2, 3);

/* messages.c */
void kfbk_completed(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
		    void *context);
/* Parts of the port; dev->lock is held. */
int kfbk_send(struct kfb_initiator_queue *core,
	      const struct kfb_message *message);
int kfbk_post_receive(struct kfb_initiator_queue *core, u16 index);
void kfbk_call_done(struct kfb_initiator *i, struct kfb_initiator_call *call);

/* How long handles are good, for those without the lock. dev->lock is held. */
void kfbk_note_lease(struct kfbk_device *dev);
/* Handles must not be used any more. Context: any. */
bool kfbk_lease_is_over(const struct kfbk_device *dev);

/**
 * kfbk_call - one request, and its answer
 * @dev: the device
 * @call: core.req and core.reply are filled in
 *
 * Waits until the session can take it. A request whose answer was lost with its
 * session is not sent again.
 *
 * Context: process, not the session work.
 * Return: what the brick answered; -ETIMEDOUT no answer in time; -ECONNRESET
 * lost, outcome unknown, or the session is over.
 */
int kfbk_call(struct kfbk_device *dev, struct kfbk_call *call);
/* discard.c */
/*
 * Take dev->lock when mappings and copies stay as they are while it is held:
 * no restore work runs and nothing is written again. Context: the map work.
 * Return: 0, or -EIO: the session is over. The lock is held either way.
 */
int kfbk_lock_settled(struct kfbk_device *dev) __acquires(&dev->lock);

/* blocks.h has the rest of what maps and frees blocks. */
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

/* data.c */
extern const struct blk_mq_ops kfbk_mq_ops;
size_t kfbk_rq_bytes(const struct kfbk_device *dev);
/* Was an operation why its connection ended, and not the network? */
bool kfbk_is_at_fault(const struct fi_cq_err_entry *entry);
void kfbk_data_done(struct kfbk_queue *q, struct kfbk_ctx *ctx,
		    const struct fi_cq_err_entry *entry);
/* Post readbacks that had no room. Context: dev->lock is held. */
void kfbk_data_pump(struct kfbk_queue *q);
/* The end of a request that was started. Context: any, dev->lock not held. */
void kfbk_rq_end(struct request *rq, blk_status_t status);
/* A step of a request is done: it ends or goes on. Likewise. */
void kfbk_rq_step(struct request *rq, u32 len);
/* The same with dev->lock held: told when it is dropped. */
void kfbk_rq_end_locked(struct request *rq, blk_status_t status);
/* Once more from the start of what is left. Context: any. */
void kfbk_rq_again(struct request *rq);
/*
 * Nobody knows what has become of the operation of @krq: what it was to write may
 * lie there in part, and its copy stands for nothing. Context: any.
 */
void kfbk_rq_interrupted(struct kfbk_rq *krq);
/* Zeroes; fewer than @len when that is too much for one operation. */
struct fi_buf kfbk_zero_buf(const struct kfbk_device *dev, u32 *len);
int kfbk_zeroes_init(void);
void kfbk_zeroes_exit(void);

/* retain.c */

/* When the brick has said what it is. Context: process. */
int kfbk_retain_open(struct kfbk_device *dev);
void kfbk_retain_close(struct kfbk_device *dev);

static inline u8 *kfbk_retain_bytes(const struct kfbk_device *dev, u32 page)
{
	return dev->retain.bytes + ((size_t)page << KFB_RETAIN_PAGE_SHIFT);
}

/**
 * kfbk_retain_write - copy a write that is about to be posted
 * @dev: the device, with retention
 * @rq: the request; va and len are those of its step
 *
 * Context: queue_rq().
 * Return: BLK_STS_OK, kfbk_retain_over() follows; BLK_STS_RESOURCE, it comes
 * again; BLK_STS_IOERR.
 */
blk_status_t kfbk_retain_write(struct kfbk_device *dev, struct request *rq);
/* Its write is over: @done, and dev->lock is not held; or it will not be done. */
void kfbk_retain_over(struct kfbk_device *dev, struct kfbk_rq *krq, bool done);
/* Blocks whose copies are of no use. Context: any. */
void kfbk_retain_drop(struct kfbk_device *dev, u64 first, u64 n);
/* Parts of the port. */
void kfbk_retain_may_fit(struct kfb_initiator *i);
int kfbk_retain_write_copy(struct kfb_initiator_queue *core, u32 slot,
			   const struct kfb_retain_piece *piece, u32 page,
			   const struct kfb_initiator_place *to);

/* sysfs.c */
extern const struct attribute_group *kfbk_disk_groups[];

#endif /* KFBRICK_H */
