/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one place that knows kernel versions: 6.1 to current.
 *
 * Spells what newer kernels have, for older ones.
 */
#ifndef KFABRIC_COMPAT_H
#define KFABRIC_COMPAT_H

#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/socket.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <net/sock.h>

/* Modules cannot call is_vmalloc_or_module_addr(). */
static inline bool kfi_is_linear(const void *addr)
{
#ifdef MODULES_VADDR
	unsigned long a = (unsigned long)addr;

	if (a >= MODULES_VADDR && a < MODULES_END)
		return false;
#endif
	return !is_vmalloc_addr(addr);
}

/* The direction of an iterator had another name. */
#ifdef ITER_SOURCE
#define KFI_ITER_SOURCE ITER_SOURCE
#define KFI_ITER_DEST	ITER_DEST
#else
#define KFI_ITER_SOURCE WRITE
#define KFI_ITER_DEST	READ
#endif

/*
 * What a socket sends it may copy into a page of the task that sends. A task that
 * gets into reclaim there sends through another socket, and would write over what
 * the first one has not copied yet. Before 6.2 a socket that allocates with
 * GFP_NOIO used no such page.
 */
static inline void kfi_sock_own_pages(struct socket *sock)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	sock->sk->sk_use_task_frag = false;
#endif
}

/* Soft RoCE tells when a queue pair that has failed has done with shared receives. */
#define KFI_RXE_LAST_WQE (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0))

/* Merging became what every queue does. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define KFI_MQ_F_SHOULD_MERGE BLK_MQ_F_SHOULD_MERGE
#else
#define KFI_MQ_F_SHOULD_MERGE 0
#endif

/* The queue was an argument. */
static inline int kfi_rq_map_sg(struct request *rq, struct scatterlist *sg)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
	return blk_rq_map_sg(rq->q, rq, sg);
#else
	return blk_rq_map_sg(rq, sg);
#endif
}

/* Keys and reservations could not be read. */
#define KFI_PR_READS (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0))

/* PR_STS_RESERVATION_CONFLICT, which had no name but was what SCSI's disks said. */
#define KFI_PR_CONFLICT 0x18

/* Who opens named a block device: the disk's or a partition's. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define KFI_DISK_OPEN(name, disk)                                \
	static int name##_disk(struct gendisk *disk);            \
	static int name(struct block_device *bdev, fmode_t mode) \
	{                                                        \
		return name##_disk(bdev->bd_disk);               \
	}                                                        \
	static int name##_disk(struct gendisk *disk)
#else
/* NOLINTBEGIN(bugprone-macro-parentheses): they name what is declared */
#define KFI_DISK_OPEN(name, disk) \
	static int name(struct gendisk *disk, blk_mode_t mode)
/* NOLINTEND(bugprone-macro-parentheses) */
#endif

/**
 * struct kfi_disk_limits - what a disk of ours can say of itself
 * @logical_block_bytes: smallest unit of I/O
 * @physical_block_bytes: smallest unit that costs nothing extra
 * @io_opt_bytes: best unit of I/O
 * @chunk_sectors: no write or read crosses a multiple of it
 * @max_sectors: of one write or read
 * @max_segments: of one write or read
 * @max_segment_bytes: of each of them
 * @discard_sectors: of one discard; 0: there is none
 * @discard_granularity_bytes: smallest unit that can be discarded
 * @write_zeroes_sectors: of one write-zeroes; 0: there is none
 * @write_cache: completed writes need a flush to last; FUA does it for one
 * @readahead_bytes: that a read of a page may bring with it
 */
struct kfi_disk_limits {
	unsigned int logical_block_bytes;
	unsigned int physical_block_bytes;
	unsigned int io_opt_bytes;
	unsigned int chunk_sectors;
	unsigned int max_sectors;
	unsigned int max_segments;
	unsigned int max_segment_bytes;
	unsigned int discard_sectors;
	unsigned int discard_granularity_bytes;
	unsigned int write_zeroes_sectors;
	bool write_cache;
	unsigned int readahead_bytes;
};

/*
 * Of what a disk says to be its best unit the kernel makes twice as much
 * readahead when the disk is added, and reads all of it for a fault in a mapped
 * file. So this comes after device_add_disk().
 */
static inline void kfi_disk_set_readahead(struct gendisk *disk,
					  const struct kfi_disk_limits *l)
{
	disk->bdi->ra_pages = l->readahead_bytes >> PAGE_SHIFT;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
/* Limits are set one by one. */
static inline struct gendisk *kfi_alloc_disk(struct blk_mq_tag_set *set,
					     const struct kfi_disk_limits *l,
					     void *queuedata)
{
	struct gendisk *disk = blk_mq_alloc_disk(set, queuedata);
	struct request_queue *q;

	if (IS_ERR(disk))
		return disk;
	q = disk->queue;
	blk_queue_logical_block_size(q, l->logical_block_bytes);
	blk_queue_physical_block_size(q, l->physical_block_bytes);
	blk_queue_io_opt(q, l->io_opt_bytes);
	blk_queue_chunk_sectors(q, l->chunk_sectors);
	blk_queue_max_hw_sectors(q, l->max_sectors);
	/* Else what it is by default, which need not divide a chunk. */
	q->limits.max_sectors = q->limits.max_hw_sectors;
	blk_queue_max_segments(q, l->max_segments);
	blk_queue_max_segment_size(q, l->max_segment_bytes);
	blk_queue_max_discard_sectors(q, l->discard_sectors);
	q->limits.discard_granularity = l->discard_granularity_bytes;
	blk_queue_max_write_zeroes_sectors(q, l->write_zeroes_sectors);
	blk_queue_write_cache(q, l->write_cache, l->write_cache);
	blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	blk_queue_flag_clear(QUEUE_FLAG_ADD_RANDOM, q);
	return disk;
}
#else
static inline struct gendisk *kfi_alloc_disk(struct blk_mq_tag_set *set,
					     const struct kfi_disk_limits *l,
					     void *queuedata)
{
	struct queue_limits lim = {
		.logical_block_size = l->logical_block_bytes,
		.physical_block_size = l->physical_block_bytes,
		.io_opt = l->io_opt_bytes,
		.chunk_sectors = l->chunk_sectors,
		.max_hw_sectors = l->max_sectors,
		.max_segments = l->max_segments,
		.max_segment_size = l->max_segment_bytes,
		.max_hw_discard_sectors = l->discard_sectors,
		.discard_granularity = l->discard_granularity_bytes,
		.max_write_zeroes_sectors = l->write_zeroes_sectors,
	};
	struct gendisk *disk;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	if (l->write_cache)
		lim.features |= BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
#endif
	disk = blk_mq_alloc_disk(set, &lim, queuedata);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
	if (!IS_ERR(disk)) {
		blk_queue_write_cache(disk->queue, l->write_cache,
				      l->write_cache);
		blk_queue_flag_set(QUEUE_FLAG_NONROT, disk->queue);
	}
#endif
	return disk;
}
#endif

/*
 * For who has included linux/sunrpc/svc.h: calls that come from a server by a client's
 * connection. What was between these versions has neither way.
 */
#ifdef SUNRPC_SVC_H
#if IS_ENABLED(CONFIG_SUNRPC_BACKCHANNEL) &&             \
	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0) || \
	 LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0))
#define KFI_HAS_SVC_CALLBACK

/**
 * kfi_svc_queue_callback() - give such a call to the threads that answer it
 * @serv: service that has them
 * @rqst: call
 *
 * Context: process.
 */
static inline void kfi_svc_queue_callback(struct svc_serv *serv,
					  struct rpc_rqst *rqst)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	spin_lock(&serv->sv_cb_lock);
	list_add_tail(&rqst->rq_bc_list, &serv->sv_cb_list);
	spin_unlock(&serv->sv_cb_lock);
	wake_up(&serv->sv_cb_waitq);
#else
	lwq_enqueue(&rqst->rq_bc_list, &serv->sv_cb_list);
	svc_pool_wake_idle_thread(&serv->sv_pools[0]);
#endif
}

/**
 * kfi_svc_drop_callbacks() - take those back that no thread has taken
 * @serv: service that has them
 * @xprt: transport by which they came; queues no more
 * @drop: takes each of them
 *
 * Context: process.
 */
static inline void kfi_svc_drop_callbacks(struct svc_serv *serv,
					  const struct rpc_xprt *xprt,
					  void (*drop)(struct rpc_rqst *rqst))
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	struct rpc_rqst *rqst, *next;
	LIST_HEAD(found);

	spin_lock(&serv->sv_cb_lock);
	list_for_each_entry_safe(rqst, next, &serv->sv_cb_list, rq_bc_list)
		if (rqst->rq_xprt == xprt)
			list_move_tail(&rqst->rq_bc_list, &found);
	spin_unlock(&serv->sv_cb_lock);
	list_for_each_entry_safe(rqst, next, &found, rq_bc_list)
		drop(rqst);
#else
	struct llist_node *node, *next;
	struct rpc_rqst *rqst;

	for (node = lwq_dequeue_all(&serv->sv_cb_list); node; node = next) {
		next = node->next;
		rqst = container_of(node, struct rpc_rqst, rq_bc_list.node);
		if (rqst->rq_xprt == xprt)
			drop(rqst);
		else
			kfi_svc_queue_callback(serv, rqst);
	}
#endif
}
#endif
#endif

#endif /* KFABRIC_COMPAT_H */
