/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: what every file may ask of a device; see device.c.
 */
#ifndef KFBRICK_DEVICE_H
#define KFBRICK_DEVICE_H

#include "kfbrick.h"

extern struct workqueue_struct *kfbk_session_wq;
extern struct workqueue_struct *kfbk_map_wq;
extern struct workqueue_struct *kfbk_restore_wq;
extern struct workqueue_struct *kfbk_clear_wq;

int kfbk_works_init(void);
void kfbk_works_exit(void);

static inline void kfbk_put(struct kfbk_device *dev)
{
	kref_put(&dev->ref, dev->release);
}

/*
 * dev->lock. Requests that were ended under it are told so when it is dropped:
 * what hears of them may send us more.
 */
static inline void kfbk_lock(struct kfbk_device *dev) __acquires(&dev->lock)
{
	spin_lock_bh(&dev->lock);
}

void kfbk_unlock_and_end(struct kfbk_device *dev) __releases(&dev->lock);

static inline void kfbk_unlock(struct kfbk_device *dev) __releases(&dev->lock)
{
	if (list_empty(&dev->ended))
		spin_unlock_bh(&dev->lock);
	else
		kfbk_unlock_and_end(dev);
}

/* Return what kfb_disk_move() says is to be done. Context: dev->lock is held. */
int kfbk_move(struct kfbk_device *dev, enum kfb_disk_event event);

/*
 * The time, a tick old at most: it is asked for at each request, and nothing here is
 * about less. It goes on while the machine sleeps, as leases do for the brick.
 */
static inline u64 kfbk_now_ms(void)
{
	return ktime_to_ms(ktime_get_coarse_boottime());
}
/* How long handles are good, for those without the lock. dev->lock is held. */
void kfbk_note_lease(struct kfbk_device *dev);
/* Handles must not be used any more at that time. Context: any. */
static inline bool kfbk_lease_is_over(const struct kfbk_device *dev, u64 now_ms)
{
	/* One that never ends is KFB_TIME_NEVER, which no time reaches. */
	return now_ms >= (u64)atomic64_read(&dev->lease_until_ms);
}
/* Run the session work soon. Context: any. */
void kfbk_kick(struct kfbk_device *dev);
/* The connection is of no use any more. Context: any. */
void kfbk_queue_failed(struct kfbk_queue *q, int error);
/* No more, now: every request fails. Context: process. */
void kfbk_give_up(struct kfbk_device *dev);
/*
 * Words for people on the newest trouble, unless it has given up: why it has stays.
 * Context: any, dev->lock not held.
 */
void kfbk_say(struct kfbk_device *dev, const char *fmt, ...) __printf(2, 3);

/* Room for an address of the brick as a URL, with brackets around IPv6. */
#define KFBK_URL_BYTES \
	(KFBK_PROVIDER_BYTES + KFBK_ADDR_BYTES + KFBK_PORT_BYTES + 6)

/* Return: @url. */
const char *kfbk_address_text(const struct kfbk_device *dev, u32 address,
			      char url[KFBK_URL_BYTES]);
/* Bytes that have moved on a connection; 0 where the provider cannot tell. */
u64 kfbk_moved_bytes(struct fid_ep *ep);

/* The end of a request that was started. Context: any, dev->lock not held. */
void kfbk_rq_end(struct request *rq, blk_status_t status);
/* A step of a request is done: it ends or goes on. Context: as kfbk_rq_end(). */
void kfbk_rq_step(struct request *rq, u32 len);
/* The end of a request with dev->lock held: told when that is dropped. */
void kfbk_rq_end_locked(struct request *rq, blk_status_t status);
/* The request comes again, from the start of what is left. Context: any. */
void kfbk_rq_again(struct request *rq);

/**
 * kfbk_cache_get - pin the block of a request, unless it is already
 * @dev: the device, with a cache
 * @krq: the request; va is that of its step
 *
 * Context: queue_rq().
 * Return: true: the block stays MAPPED until kfbk_cache_put(); false: it is
 * not, the request waits for the map work.
 */
bool kfbk_cache_get(struct kfbk_device *dev, struct kfbk_rq *krq);
/* A request that has a block needs it no more. Context: any. */
void kfbk_cache_unpin(struct kfbk_device *dev, struct kfbk_rq *krq);
/* The same; nothing happens if it has none. */
static inline void kfbk_cache_put(struct kfbk_device *dev, struct kfbk_rq *krq)
{
	if (krq->block != KFB_MAPCACHE_NONE)
		kfbk_cache_unpin(dev, krq);
}
/* A waiting request gets its block. Context: dev->lock is held. */
bool kfbk_cache_pin(struct kfbk_device *dev, struct kfbk_rq *krq);
/* Does no request have any of these? Context: any. */
bool kfbk_cache_is_idle(struct kfbk_device *dev, u64 first, u64 n);
/* A block with a mapping that can be read. Context: any. */
bool kfbk_cache_any(struct kfbk_device *dev, u64 *block);

#endif /* KFBRICK_DEVICE_H */
