// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: mapping on demand. Blocks are mapped one by one when requests need
 * them, and unmapped when others need the room; which ones is the core's to
 * say: kfb_mapcache.h.
 *
 * A request pins its block in queue_rq() and lets go of it when its operation
 * is over and noted as written. One that finds its block not mapped waits; the
 * map work maps it, pins it for all that wait for this block, and queues them
 * again. So however small the cache is each gets its turn: what is pinned is
 * used and let go of without any help of the map work, which may therefore wait
 * for it.
 *
 * How a mapping goes, several together when they have to be flushed anyway:
 *
 *   1. QUIET: requests cannot pin it any more, and nothing is in flight. It is
 *      restored in a new session
 *   2. if there are unflushed writes to it, everything is flushed; copies are
 *      written again if they have to be, and then it is flushed once more
 *   3. UNMAPPING: all that was ever written to it is durable: there are no copies
 *   4. UNMAP: the key is dead; UNMAPPED
 *
 * Its birth is remembered. Who maps the block again and finds another one has
 * lost it to somebody else: the device fails.
 *
 * Locking: cache.lock, inside of all others and held over nothing that posts.
 * States of blocks as in maps.c.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "kfb_initiator_retain.h"
#include "mappings.h"
#include "../io/requests.h"
#include "../device/trace.h"

/* Mappings that go together: one in so many of the cache, and at most these. */
#define LEAVING_SHARE 8
#define LEAVING_MAX   8

/* Between tries of a MAP that the brick refuses for now. */
#define PAUSE_MS 20

/*
 * After the brick was short of memory: how long what is mapped then is the most
 * that is tried, and how much more is tried after that, one in so many.
 */
#define NARROW_MS   10000
#define WIDEN_SHARE 16

struct leaving {
	u32 block[LEAVING_MAX];
	u32 n;
	u64 session_id;
};

int kfbk_cache_open(struct kfbk_device *dev)
{
	struct kfbk_cache *c = &dev->cache;

	spin_lock_init(&c->lock);
	c->cap = dev->options.map_cache;
	if (!c->cap)
		return 0;
	c->nodes = kvcalloc(dev->n_blocks, sizeof(*c->nodes), GFP_KERNEL);
	if (!c->nodes)
		return -ENOMEM;
	kfb_mapcache_init(&c->book, c->nodes, dev->blocks, dev->n_blocks,
			  c->cap);
	return 0;
}

void kfbk_cache_grow(struct kfbk_device *dev, struct kfb_mapcache_node **nodes,
		     const struct kfb_block *blocks, u64 n_blocks)
{
	struct kfbk_cache *c = &dev->cache;

	lockdep_assert_held(&dev->lock);
	if (!c->cap)
		return;
	spin_lock(&c->lock);
	kfb_mapcache_grow(&c->book, *nodes, blocks, n_blocks);
	swap(c->nodes, *nodes);
	spin_unlock(&c->lock);
}

/* ---- going ------------------------------------------------------------ */

/* Context: dev->lock is held. */
static bool kfbk_is_block_dirty(struct kfbk_device *dev, u32 block)
{
	u64 va = kfbk_block_va(dev, block);
	bool dirty = false;
	u32 i;

	for (i = 0; !dirty && i < dev->options.queues; i++) {
		struct kfbk_queue *q = &dev->queues[i];

		spin_lock(&q->lock);
		dirty = kfb_flush_is_dirty_in(&q->core.flush, va,
					      KFB_BLOCK_BYTES);
		spin_unlock(&q->lock);
	}
	return dirty;
}

static bool kfbk_is_leaving_dirty(struct kfbk_device *dev,
				  const struct leaving *l)
{
	bool dirty = false;
	u32 i;

	for (i = 0; !dirty && i < l->n; i++)
		dirty = kfbk_is_block_dirty(dev, l->block[i]);
	return dirty;
}

/* Context: dev->lock is held. */
static void kfbk_move_leaving(struct kfbk_device *dev, const struct leaving *l,
			      enum kfb_block_event event)
{
	u32 i;

	for (i = 0; i < l->n; i++)
		kfbk_block_move(dev, l->block[i], event);
}

/* Steps 2 and 3. */
static int kfbk_make_leaving_durable(struct kfbk_device *dev, struct leaving *l)
{
	u64 since = KFBK_FLUSH_NEVER;
	u32 i;
	int ret;

	for (;;) {
		ret = kfbk_lock_settled(dev);
		if (ret)
			break;
		/* What is lost already is lost: reads go on. */
		if (kfbk_is_lossy(dev) || !kfbk_is_leaving_dirty(dev, l) ||
		    kfbk_flush_holds(dev, since))
			break;
		kfbk_unlock(dev);
		ret = kfbk_flush_sync(dev, &since);
		if (ret && !kfbk_is_lossy(dev))
			return ret;
	}
	l->session_id = dev->core.client.session_id;
	if (!ret)
		kfbk_move_leaving(dev, l, KFB_BLOCK_UNMAP);
	for (i = 0; !ret && i < l->n; i++)
		kfbk_retain_drop(dev, l->block[i], 1);
	kfbk_unlock(dev);
	return ret;
}

/* Return 0 when at least one has gone: l->n says how many. */
static int kfbk_let_go(struct kfbk_device *dev, struct leaving *l)
{
	int ret = kfbk_make_leaving_durable(dev, l);
	u32 gone = 0;
	u32 i;

	if (ret) {
		kfbk_lock(dev);
		kfbk_move_leaving(dev, l, KFB_BLOCK_STAY);
		kfbk_unlock(dev);
		return ret;
	}
	for (i = 0; i < l->n; i++) {
		int error = kfbk_unmap(dev, l->block[i], l->block[i] + 1,
				       l->session_id);

		trace_kfbrick_block(dev, l->block[i], -1, error);
		if (error)
			ret = error;
		else
			gone++;
	}
	l->n = gone;
	return gone ? 0 : ret;
}

static void kfbk_add_victims(struct kfbk_device *dev, struct leaving *l, u32 n)
{
	struct kfbk_cache *c = &dev->cache;
	u32 block;

	kfbk_lock(dev);
	while (l->n < min_t(u32, n, LEAVING_MAX)) {
		spin_lock(&c->lock);
		block = kfb_mapcache_victim(&c->book);
		spin_unlock(&c->lock);
		if (block == KFB_MAPCACHE_NONE)
			break;
		/* A refused move means that a request has pinned it meanwhile. */
		if (!kfbk_block_move(dev, block, KFB_BLOCK_EVICT))
			l->block[l->n++] = block;
	}
	kfbk_unlock(dev);
}

/*
 * What is mapped now is what there is memory for: from now on a mapping goes
 * before another one comes, and nobody has to wait until others have been asked.
 */
static void kfbk_narrow_cache(struct kfbk_device *dev)
{
	struct kfbk_cache *c = &dev->cache;

	spin_lock_bh(&c->lock);
	kfb_mapcache_set_limit(&c->book, c->book.n);
	spin_unlock_bh(&c->lock);
	c->widen_ms = kfbk_now_ms() + NARROW_MS;
}

static void kfbk_widen_cache(struct kfbk_device *dev)
{
	struct kfbk_cache *c = &dev->cache;

	if (c->book.limit == c->cap || kfbk_now_ms() < c->widen_ms)
		return;
	spin_lock_bh(&c->lock);
	kfb_mapcache_set_limit(&c->book,
			       c->book.limit + 1 + c->cap / WIDEN_SHARE);
	spin_unlock_bh(&c->lock);
	c->widen_ms = kfbk_now_ms() + NARROW_MS;
}

/* Return 0 when a mapping has gone; -ENOENT: all are in use. */
static int kfbk_evict_blocks(struct kfbk_device *dev)
{
	struct leaving l = {};
	bool dirty;

	kfbk_add_victims(dev, &l, 1);
	if (!l.n)
		return -ENOENT;
	kfbk_lock(dev);
	dirty = kfbk_is_leaving_dirty(dev, &l);
	kfbk_unlock(dev);
	if (dirty)
		kfbk_add_victims(dev, &l, dev->cache.cap / LEAVING_SHARE);
	return kfbk_let_go(dev, &l);
}

/* ---- coming ----------------------------------------------------------- */

static bool kfbk_cache_may_take(struct kfbk_device *dev)
{
	struct kfbk_cache *c = &dev->cache;
	bool may;

	spin_lock_bh(&c->lock);
	may = kfb_mapcache_may_take(&c->book);
	spin_unlock_bh(&c->lock);
	return may;
}

int kfbk_cache_reserve(struct kfbk_device *dev, u64 block,
		       enum kfb_block_event event)
{
	int ret;

	kfbk_widen_cache(dev);
	for (;;) {
		kfbk_lock(dev);
		ret = kfbk_block_move(dev, block, event);
		kfbk_unlock(dev);
		if (ret != -ENOSPC)
			return ret;
		ret = kfbk_evict_blocks(dev);
		if (ret && (ret != -ENOENT || event == KFB_BLOCK_AHEAD))
			return ret;
		if (!ret)
			continue;
		WRITE_ONCE(dev->draining, true);
		wait_event(dev->drain_wait, kfbk_cache_may_take(dev));
		WRITE_ONCE(dev->draining, false);
	}
}

/* A MAP that is tried again, and until when. */
struct trial {
	u64 until_ms;
	u64 refused_ms; /* since then the brick has refused it; or 0 */
};

/* Another try may go better: the brick comes back, or others give back. */
static bool kfbk_trial_may_pass(struct kfbk_device *dev, struct trial *t,
				int error)
{
	u64 bears_ms = dev->options.timeout_ms;
	u64 now_ms;

	if (kfbk_is_ending(dev) || kfbk_now_ms() >= t->until_ms)
		return false;
	switch (error) {
	case -ENOSPC:
	case -EDQUOT:
	case -ENOMEM:
		/* What is not in use here makes room there, at once. */
		if (!kfbk_evict_blocks(dev)) {
			kfbk_narrow_cache(dev);
			t->refused_ms = 0;
			return true;
		}
		break;
	case -EAGAIN:
		/* All of the memory may be mapped here. */
		kfbk_cache_recall(dev);
		break;
	case -EBUSY:
	case -ESHUTDOWN:
		break;
	case -ECONNRESET:
	case -ETIMEDOUT:
		t->refused_ms = 0;
		msleep(PAUSE_MS);
		return true;
	default:
		return false;
	}
	msleep(PAUSE_MS);
	/*
	 * How long refusals are borne: what another session had, one's own
	 * former one or that of who wrote the block last, is kept for a lease;
	 * but what is mapped by somebody when this disk is new is somebody's.
	 */
	if (error != -EBUSY || dev->restoring_id)
		bears_ms += dev->core.client.info.lease_ms;
	now_ms = kfbk_now_ms();
	if (!t->refused_ms)
		t->refused_ms = now_ms;
	return now_ms - t->refused_ms < bears_ms;
}

int kfbk_cache_map(struct kfbk_device *dev, u64 block)
{
	struct trial t = { .until_ms = kfbk_map_deadline_ms(dev, true) };
	const char *why;
	int ret;

	do {
		ret = kfbk_map_run(dev, block, 1, false);
	} while (ret && kfbk_trial_may_pass(dev, &t, ret));
	if (ret == -ENOENT && dev->blocks[block].may_be_gone)
		return ret;
	if (kfb_map_is_stale(ret)) {
		kfbk_changed_hands(dev);
		return ret;
	}
	why = ret ? kfb_refusal_why(KFB_OP_MAP, ret) : NULL;
	if (why && !kfbk_is_ending(dev)) {
		kfbk_say(dev, "block %llu cannot be mapped: %s", block, why);
		kfbk_err_limited(dev, "block %llu cannot be mapped: %s\n",
				 block, why);
	}
	return ret;
}

static int kfbk_load_block(struct kfbk_device *dev, u64 block,
			   enum kfb_block_event event)
{
	int ret = kfbk_cache_reserve(dev, block, event);

	if (ret)
		return ret;
	ret = event == KFB_BLOCK_AHEAD ? kfbk_map_run(dev, block, 1, false)
				       : kfbk_cache_map(dev, block);
	trace_kfbrick_block(dev, block, 1, ret);
	if (!ret)
		return 0;
	kfbk_lock(dev);
	kfbk_block_move(dev, block, KFB_BLOCK_FAILED);
	kfbk_unlock(dev);
	/* It tells that a FREE without an answer has been done. */
	return kfbk_block_is_gone(dev, block, ret) ? 0 : ret;
}

int kfbk_cache_load(struct kfbk_device *dev, u64 block)
{
	int ret;

	if (dev->cache.cap)
		return kfbk_load_block(dev, block, KFB_BLOCK_MAP);
	ret = kfbk_map_unmapped(dev, block, block + 1, KFB_PATIENCE_DISK);
	if (kfb_map_is_stale(ret))
		kfbk_changed_hands(dev);
	return ret;
}

u64 kfbk_cache_batch(struct kfbk_device *dev)
{
	struct kfbk_cache *c = &dev->cache;
	u64 n;

	if (!c->cap)
		return U64_MAX;
	spin_lock_bh(&c->lock);
	n = max(c->book.limit / 2, 1U);
	spin_unlock_bh(&c->lock);
	return n;
}

bool kfbk_cache_ahead(struct kfbk_device *dev)
{
	struct kfbk_cache *c = &dev->cache;
	u32 block;

	if (!c->cap || READ_ONCE(dev->core.is_over))
		return false;
	spin_lock_bh(&c->lock);
	block = kfb_mapcache_ahead(&c->book);
	spin_unlock_bh(&c->lock);
	if (block == KFB_MAPCACHE_NONE)
		return false;
	/* A failure is that of whoever comes to need the block. */
	kfbk_load_block(dev, block, KFB_BLOCK_AHEAD);
	return true;
}

bool kfbk_cache_invalidate(struct kfbk_device *dev, u64 block)
{
	bool is_idle;

	kfbk_lock(dev);
	is_idle =
		dev->blocks[block].state == KFB_BLOCK_MAPPED &&
		!kfbk_is_block_dirty(dev, block) &&
		!kfb_initiator_retain_has(&dev->core, kfbk_block_va(dev, block),
					  KFB_BLOCK_BYTES) &&
		!kfbk_block_move(dev, block, KFB_BLOCK_INVALIDATE);
	kfbk_unlock(dev);
	if (is_idle)
		kfbk_blocks_quieter(dev);
	return is_idle;
}

/* ---- recalls ---------------------------------------------------------- */

/* Evict the very blocks that the brick wants, as far as nobody uses them. */
static void kfbk_take_named(struct kfbk_device *dev,
			    const struct kfbk_recall *recall, struct leaving *l)
{
	u64 end, i;

	if (recall->first >= dev->n_blocks)
		return;
	kfbk_lock(dev);
	end = recall->first + min(recall->n, dev->n_blocks - recall->first);
	for (i = recall->first; i < end && l->n < LEAVING_MAX; i++) {
		if (dev->blocks[i].mapping_id == recall->mapping_id &&
		    dev->blocks[i].state == KFB_BLOCK_MAPPED &&
		    !kfbk_block_move(dev, i, KFB_BLOCK_EVICT))
			l->block[l->n++] = i;
	}
	kfbk_unlock(dev);
}

void kfbk_cache_recall(struct kfbk_device *dev)
{
	struct kfbk_recall recall;
	struct leaving l = {};

	kfbk_lock(dev);
	recall = dev->cache.recall;
	dev->cache.recall.is_asked = false;
	kfbk_unlock(dev);
	if (!recall.is_asked || READ_ONCE(dev->core.is_over))
		return;
	kfbk_take_named(dev, &recall, &l);
	/* Others are as good: memory is short, not these addresses. */
	if (!l.n)
		kfbk_add_victims(dev, &l, min_t(u64, recall.n, LEAVING_MAX));
	if (!l.n || kfbk_let_go(dev, &l))
		return;
	atomic_long_add(l.n, &dev->cache.n_returned);
	kfbk_narrow_cache(dev);
}
