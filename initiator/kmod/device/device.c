// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: what everybody may ask of a device: its state and its words, dev->lock,
 * its works, and of a request its end and its block.
 *
 * Nothing here knows what is above it: whoever has a request that is to end, or a
 * connection that is of no use any more, says so here.
 */
#include "device.h"
#include "trace.h"

struct workqueue_struct *kfbk_session_wq;
struct workqueue_struct *kfbk_map_wq;
struct workqueue_struct *kfbk_restore_wq;
struct workqueue_struct *kfbk_clear_wq;

int kfbk_works_init(void)
{
	const unsigned int flags = WQ_MEM_RECLAIM | WQ_UNBOUND;

	kfbk_session_wq =
		alloc_workqueue("kfbrick-session", flags | WQ_HIGHPRI, 0);
	kfbk_map_wq = alloc_workqueue("kfbrick-map", flags, 0);
	kfbk_restore_wq = alloc_workqueue("kfbrick-restore", flags, 0);
	kfbk_clear_wq = alloc_workqueue("kfbrick-clear", flags, 0);
	if (kfbk_session_wq && kfbk_map_wq && kfbk_restore_wq && kfbk_clear_wq)
		return 0;
	kfbk_works_exit();
	return -ENOMEM;
}

void kfbk_works_exit(void)
{
	if (kfbk_clear_wq)
		destroy_workqueue(kfbk_clear_wq);
	if (kfbk_restore_wq)
		destroy_workqueue(kfbk_restore_wq);
	if (kfbk_map_wq)
		destroy_workqueue(kfbk_map_wq);
	if (kfbk_session_wq)
		destroy_workqueue(kfbk_session_wq);
}

/* ---- state and words -------------------------------------------------- */

int kfbk_move(struct kfbk_device *dev, enum kfb_disk_event event)
{
	enum kfb_disk_state from = dev->state;
	enum kfb_disk_state to = from;
	int does;

	lockdep_assert_held(&dev->lock);
	does = kfb_disk_move(&to, event);
	WRITE_ONCE(dev->state, to);
	if (to != from || does < 0)
		trace_kfbrick_state(dev, from, event, does);
	return does;
}

void kfbk_note_lease(struct kfbk_device *dev)
{
	lockdep_assert_held(&dev->lock);
	atomic64_set(&dev->lease_until_ms,
		     kfb_client_lease_until_ms(&dev->core.client));
}

void kfbk_say(struct kfbk_device *dev, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	kfbk_lock(dev);
	if (!dev->gives_up && !dev->keeps_why)
		vsnprintf(dev->why, sizeof(dev->why), fmt, ap);
	kfbk_unlock(dev);
	va_end(ap);
}

const char *kfbk_address_text(const struct kfbk_device *dev, u32 address,
			      char url[KFBK_URL_BYTES])
{
	const struct kfbk_address *a = &dev->options.addresses[address];
	bool v6 = strchr(a->addr, ':');

	snprintf(url, KFBK_URL_BYTES, "%s://%s%s%s:%s", dev->options.provider,
		 v6 ? "[" : "", a->addr, v6 ? "]" : "", a->port);
	return url;
}

/* ---- the session work ------------------------------------------------- */

void kfbk_kick(struct kfbk_device *dev)
{
	queue_work(kfbk_session_wq, &dev->session_work);
}

void kfbk_queue_failed(struct kfbk_queue *q, int error)
{
	if (test_and_set_bit(0, &q->broken))
		return;
	q->error = error;
	kfbk_kick(q->dev);
}

void kfbk_give_up(struct kfbk_device *dev)
{
	kfbk_lock(dev);
	dev->gives_up = true;
	kfbk_unlock(dev);
	kfbk_kick(dev);
}

u64 kfbk_moved_bytes(struct fid_ep *ep)
{
	u64 moved = 0;
	size_t len = sizeof(moved);

	if (fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MOVED_BYTES, &moved,
		      &len))
		moved = 0;
	return moved;
}

/* ---- requests and their blocks ---------------------------------------- */

bool kfbk_cache_get(struct kfbk_device *dev, struct kfbk_rq *krq)
{
	struct kfbk_cache *c = &dev->cache;
	u32 block = kfbk_rq_block(dev, krq);
	bool is_first;
	bool is_in;

	if (krq->block == block)
		return true;
	spin_lock_bh(&c->lock);
	is_in = kfb_mapcache_get(&c->book, block, &is_first);
	spin_unlock_bh(&c->lock);
	if (is_in)
		krq->block = block;
	/* There may be more to map in advance. */
	if (is_first)
		queue_work(kfbk_map_wq, &dev->map_work);
	return is_in;
}

void kfbk_cache_unpin(struct kfbk_device *dev, struct kfbk_rq *krq)
{
	struct kfbk_cache *c = &dev->cache;

	spin_lock_bh(&c->lock);
	kfb_mapcache_put(&c->book, krq->block);
	spin_unlock_bh(&c->lock);
	krq->block = KFB_MAPCACHE_NONE;
	kfbk_blocks_quieter(dev);
}

bool kfbk_cache_pin(struct kfbk_device *dev, struct kfbk_rq *krq)
{
	struct kfbk_cache *c = &dev->cache;
	u32 block = kfbk_rq_block(dev, krq);
	bool is_in;

	lockdep_assert_held(&dev->lock);
	spin_lock(&c->lock);
	is_in = kfb_mapcache_pin(&c->book, block);
	spin_unlock(&c->lock);
	if (is_in)
		krq->block = block;
	return is_in;
}

bool kfbk_cache_is_idle(struct kfbk_device *dev, u64 first, u64 n)
{
	struct kfbk_cache *c = &dev->cache;
	bool is_idle;

	spin_lock_bh(&c->lock);
	is_idle = kfb_mapcache_is_idle(&c->book, first, n);
	spin_unlock_bh(&c->lock);
	return is_idle;
}

bool kfbk_cache_any(struct kfbk_device *dev, u64 *block)
{
	struct kfbk_cache *c = &dev->cache;

	if (!c->cap)
		return false;
	spin_lock_bh(&c->lock);
	*block = c->book.newest;
	spin_unlock_bh(&c->lock);
	return *block != KFB_MAPCACHE_NONE;
}

void kfbk_rq_end(struct request *rq, blk_status_t status)
{
	kfbk_cache_put(rq->q->queuedata, kfbk_rq_of(rq));
	trace_kfbrick_done(rq, blk_status_to_errno(status));
	kfbk_rq_of(rq)->status = status;
	blk_mq_complete_request(rq);
}

void kfbk_rq_end_locked(struct request *rq, blk_status_t status)
{
	struct kfbk_device *dev = rq->q->queuedata;
	struct kfbk_rq *krq = kfbk_rq_of(rq);

	lockdep_assert_held(&dev->lock);
	krq->status = status;
	list_add_tail(&krq->node, &dev->ended);
}

void kfbk_rq_again(struct request *rq)
{
	blk_mq_requeue_request(rq, true);
}

void kfbk_rq_step(struct request *rq, u32 len)
{
	struct kfbk_rq *krq = kfbk_rq_of(rq);

	krq->done += len;
	if (krq->done < blk_rq_bytes(rq))
		kfbk_rq_again(rq);
	else
		kfbk_rq_end(rq, BLK_STS_OK);
}

/* ---- dev->lock -------------------------------------------------------- */

void kfbk_unlock_and_end(struct kfbk_device *dev) __releases(&dev->lock)
{
	struct kfbk_rq *krq, *next;
	LIST_HEAD(ended);

	list_splice_init(&dev->ended, &ended);
	spin_unlock_bh(&dev->lock);
	list_for_each_entry_safe(krq, next, &ended, node) {
		list_del_init(&krq->node);
		kfbk_rq_end(blk_mq_rq_from_pdu(krq), krq->status);
	}
}
