// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: the block table, and how it is filled.
 *
 * kfb_block.h has the states of a block. Blocks that are allocated are UNMAPPED
 * first; without a cache of mappings (mapcache.c) they are all mapped then.
 *
 * Looking a block up is indexing: queue_rq() does it with one acquiring load of
 * the state. MAPPED is stored last, with release; key and address change only
 * while the block is not MAPPED, or while queue_rq() is stopped.
 *
 * Locking: entries are written under dev->lock. A reply counts only in the
 * session it came in: keys of another open nothing, or something else.
 */
#include <linux/delay.h>
#include <linux/slab.h>

#include "../device/calls.h"
#include "mappings.h"
#include "../device/trace.h"

/* Between tries of an UNMAP, and looks whether the session is there again. */
#define PAUSE_MS 50

/* kvcalloc() gives no more than INT_MAX bytes, and warns of whoever asks for more. */
#define BLOCKS_MAX (INT_MAX / sizeof(struct kfb_block))

static_assert(sizeof(struct kfb_mapcache_node) <= sizeof(struct kfb_block));

const char *kfbk_maps_check(u64 n_blocks)
{
	if (n_blocks > BLOCKS_MAX)
		return "a disk has fewer blocks than 67108864, which are 128 TiB: attach several";
	return NULL;
}

int kfbk_maps_init(struct kfbk_device *dev)
{
	INIT_LIST_HEAD(&dev->waiting);
	init_waitqueue_head(&dev->drain_wait);
	dev->n_blocks = dev->options.n_blocks;
	dev->blocks = kvcalloc(dev->n_blocks, sizeof(*dev->blocks), GFP_KERNEL);
	dev->replies = kcalloc(2, sizeof(*dev->replies), GFP_KERNEL);
	return dev->blocks && dev->replies ? 0 : -ENOMEM;
}

void kfbk_maps_fini(struct kfbk_device *dev)
{
	kvfree(dev->blocks);
	kfree(dev->replies);
}

/* ---- states ----------------------------------------------------------- */

int kfbk_block_move(struct kfbk_device *dev, u64 block,
		    enum kfb_block_event event)
{
	struct kfbk_cache *c = &dev->cache;
	struct kfb_block *b = &dev->blocks[block];
	enum kfb_block_state from = b->state;
	enum kfb_block_state to = from;
	int does;

	lockdep_assert_held(&dev->lock);
	spin_lock(&c->lock);
	does = c->cap ? kfb_mapcache_move(&c->book, block, event, &to)
		      : kfb_block_move(&to, event);
	if (does >= 0 && does & KFB_BLOCK_DO_RELEASE)
		b->mapping_id = 0;
	/* Pairs with the acquiring load of queue_rq(). */
	if (does >= 0)
		smp_store_release(&b->state, to);
	spin_unlock(&c->lock);
	trace_kfbrick_block_state(dev, block, from, event, does);
	if (does == -EINVAL)
		kfbk_err_limited(dev, "block %llu: %s while %s is refused\n",
				 block, kfb_block_event_name(event),
				 kfb_block_state_name(from));
	return min(does, 0);
}

void kfbk_blocks_move(struct kfbk_device *dev, u64 first, u64 end,
		      enum kfb_block_state from, enum kfb_block_event event)
{
	u64 i;

	for (i = first; i < end; i++) {
		if (dev->blocks[i].state == from)
			kfbk_block_move(dev, i, event);
	}
}

u64 kfbk_run_end(const struct kfbk_device *dev, u64 first, u64 end)
{
	const struct kfb_block *b = dev->blocks;
	u8 state = READ_ONCE(b[first].state);
	u64 i = first + 1;

	while (i < end && READ_ONCE(b[i].state) == state)
		i++;
	return i;
}

/* ---- MAP -------------------------------------------------------------- */

/**
 * struct mapping - a MAP under way
 * @dev: of the device
 * @call: of its next page
 * @map_try: its pages, and until when refusals are tried again
 * @session_id: where its first page came
 * @first: number of the next block
 */
struct mapping {
	struct kfbk_device *dev;
	struct kfbk_call call;
	struct kfb_map_try map_try;
	u64 session_id;
	u64 first;
};

/* Context: dev->lock is held. */
static int kfbk_take_handles(struct mapping *m,
			     const struct kfb_map_reply *reply)
{
	u32 i;
	u64 j;

	for (i = 0; i < reply->n_handles; i++) {
		const struct kfb_handle *h = &reply->handles[i];

		for (j = 0; j < h->n_blocks; j++) {
			struct kfb_block *b = &m->dev->blocks[m->first];

			if (b->has_birth && b->birth != h->birth)
				return -ESTALE;
			b->key = h->key;
			b->raddr = h->raddr + (j << KFB_BLOCK_SHIFT);
			b->mapping_id = reply->mapping_id;
			b->birth = h->birth;
			b->has_birth = true;
			b->may_be_gone = false;
			b->is_first = !j;
			m->first++;
		}
	}
	return 0;
}

/* Keep a page of handles if it is what was asked for. */
static int kfbk_take_page(struct mapping *m)
{
	const struct kfb_map_reply *reply = &m->call.core.reply->u.map;
	struct kfbk_device *dev = m->dev;
	int ret;

	if (!m->session_id)
		m->session_id = m->call.core.session_id;
	ret = kfb_map_try_took(&m->map_try, reply);
	if (ret)
		return ret;
	kfbk_lock(dev);
	ret = m->session_id == dev->core.client.session_id
		      ? kfbk_take_handles(m, reply)
		      : -ECONNRESET;
	kfbk_unlock(dev);
	return ret;
}

/* All pages have come, and the blocks can be used. */
static int kfbk_publish_mapping(struct mapping *m, u64 first, u64 n)
{
	struct kfbk_device *dev = m->dev;
	int ret = 0;
	u64 i;

	kfbk_lock(dev);
	if (m->session_id == dev->core.client.session_id) {
		for (i = first; i < first + n; i++)
			kfbk_block_move(dev, i, KFB_BLOCK_DONE);
	} else {
		ret = -ECONNRESET;
	}
	kfbk_unlock(dev);
	return ret;
}

/*
 * Ask for the next page, again if another try may go better. What is granted after
 * all to a try that was not answered in time is given back: see kfb_initiator.h.
 */
static int kfbk_ask_mapping(struct mapping *m)
{
	static const char no_answer[] = "the brick does not answer to MAP";
	u32 pause_ms;
	int ret;

	for (;;) {
		kfb_map_try_ask(&m->map_try, &m->call.core.req);
		ret = kfbk_call(m->dev, &m->call);
		if (ret == -ETIMEDOUT)
			kfbk_info_limited(m->dev, "%s\n", no_answer);
		if (!ret || READ_ONCE(m->dev->core.is_over))
			return ret;
		pause_ms = kfb_map_try_refused(&m->map_try, ret, kfbk_now_ms());
		if (!pause_ms)
			return ret;
		/* What it waits for from now on. */
		if (m->call.core.in_mapping)
			kfbk_say(m->dev, "%s",
				 kfb_refusal_why(KFB_OP_MAP, ret) ?: no_answer);
		msleep(pause_ms);
	}
}

u64 kfbk_map_deadline_ms(const struct kfbk_device *dev,
			 bool is_waiting_for_brick)
{
	u64 now_ms = kfbk_now_ms();

	if (!is_waiting_for_brick)
		return now_ms + dev->options.timeout_ms;
	if (dev->options.reconnect_ms == KFB_CLIENT_FOREVER)
		return KFB_TIME_NEVER;
	/* One that waits for no brick has been taken up again: by one try. */
	return now_ms + (dev->options.reconnect_ms ?: dev->options.timeout_ms);
}

/*
 * Some of a mapping's pages have come, and it is of no use. Nobody waits for the brick
 * to take it back; with its session it is gone.
 */
static void kfbk_undo_mapping(struct mapping *m)
{
	struct kfbk_device *dev = m->dev;

	kfbk_lock(dev);
	if (m->session_id == dev->core.client.session_id)
		kfb_initiator_unmap_late(&dev->core, m->map_try.mapping_id);
	kfbk_unlock(dev);
}

int kfbk_map_run(struct kfbk_device *dev, u64 first, u64 n, bool in_mapping)
{
	struct mapping m = {
		.dev = dev,
		.call = { .core.in_mapping = in_mapping,
			  .core.in_session = in_mapping ? dev->restoring_id : 0,
			  .core.reply = &dev->replies[in_mapping] },
		.first = first,
	};
	const struct kfb_range range = { .va = kfbk_block_va(dev, first),
					 .n_blocks = n };
	u64 until_ms = kfbk_map_deadline_ms(dev, in_mapping);
	u32 flags = kfb_disk_map_flags(kfbk_options_use(&dev->options));
	int ret;

	/*
	 * Where memory is short only who waits gets what is moved there for it.
	 * Restoring a whole disk mostly needs nothing moved: its first try does
	 * not wait.
	 */
	if (in_mapping && !dev->cache.cap)
		flags |= KFB_MAP_NOWAIT;
	/* Who maps on demand has to give back meanwhile, and tries by itself. */
	if (!in_mapping && dev->cache.cap)
		until_ms = 0;
	kfb_map_try_begin(&m.map_try, &range, flags, in_mapping, until_ms);
	do {
		ret = kfbk_ask_mapping(&m);
		ret = ret ?: kfbk_take_page(&m);
		if (ret && m.map_try.mapping_id)
			kfbk_undo_mapping(&m);
		if (ret)
			return ret;
	} while (m.map_try.rest.n_blocks);
	return kfbk_publish_mapping(&m, first, n);
}

int kfbk_map_again(struct kfbk_device *dev, u64 first, u64 n,
		   enum kfb_patience who)
{
	u64 until_ms = kfbk_map_deadline_ms(dev, true);
	bool was_late = false;
	int tries = 0;
	int ret;

	do {
		ret = kfbk_map_run(dev, first, n, false);
		was_late |= ret == -ETIMEDOUT;
		/* By the try that was answered late: that is being undone. */
		if (ret == -EBUSY && was_late)
			ret = -EAGAIN;
		/* What holds data has as much time as after a loss. */
		if (who == KFB_PATIENCE_RESTORE && kfbk_now_ms() < until_ms)
			tries = 0;
	} while (ret &&
		 kfbk_range_may_pass(dev, KFB_OP_MAP, ret, who, tries++));
	return ret;
}

bool kfbk_block_is_gone(struct kfbk_device *dev, u64 block, int error)
{
	struct kfb_block *b = &dev->blocks[block];
	bool is_gone;

	kfbk_lock(dev);
	is_gone = error == -ENOENT && b->may_be_gone &&
		  b->state == KFB_BLOCK_UNMAPPED;
	if (is_gone) {
		b->may_be_gone = false;
		b->has_birth = false;
		kfbk_block_move(dev, block, KFB_BLOCK_FREED);
	}
	kfbk_unlock(dev);
	return is_gone;
}

/* As kfbk_run_end(); what may have been freed is not mapped together with others. */
static u64 kfbk_map_end(const struct kfbk_device *dev, u64 first, u64 end)
{
	const struct kfb_block *b = dev->blocks;
	u64 stop = kfbk_run_end(dev, first, end);
	u64 i = first + 1;

	while (i < stop && b[i].may_be_gone == b[first].may_be_gone)
		i++;
	return i;
}

int kfbk_map_unmapped(struct kfbk_device *dev, u64 first, u64 end,
		      enum kfb_patience who)
{
	u64 alone = first; /* up to there each by itself */
	u64 i, stop;
	int ret = 0;

	for (i = first; !ret && i < end; i = stop) {
		stop = i < alone ? i + 1 : kfbk_map_end(dev, i, end);
		if (dev->blocks[i].state != KFB_BLOCK_UNMAPPED)
			continue;
		kfbk_lock(dev);
		kfbk_blocks_move(dev, i, stop, KFB_BLOCK_UNMAPPED,
				 KFB_BLOCK_MAP);
		kfbk_unlock(dev);
		ret = who ? kfbk_map_again(dev, i, stop - i, who)
			  : kfbk_map_run(dev, i, stop - i, false);
		kfbk_lock(dev);
		kfbk_blocks_move(dev, i, stop, KFB_BLOCK_MAPPING,
				 KFB_BLOCK_FAILED);
		kfbk_unlock(dev);
		if (ret == -ENOENT && stop > i + 1 &&
		    dev->blocks[i].may_be_gone) {
			/* Which of them? */
			alone = stop;
			stop = i;
			ret = 0;
		} else if (kfbk_block_is_gone(dev, i, ret)) {
			ret = 0;
		}
	}
	return ret;
}

int kfbk_lock_settled(struct kfbk_device *dev) __acquires(&dev->lock)
{
	for (;;) {
		kfbk_lock(dev);
		if (kfb_client_state(&dev->core.client) == KFB_CLIENT_LIVE &&
		    !dev->core.replay_due)
			return 0;
		if (READ_ONCE(dev->core.is_over))
			return -EIO;
		kfbk_unlock(dev);
		msleep(PAUSE_MS);
	}
}

/* What was not flushed went with the blocks; nobody can say which. */
void kfbk_changed_hands(struct kfbk_device *dev)
{
	const struct kfb_dirty all = { .all = 1 };

	kfbk_lock(dev);
	kfb_initiator_lose(&dev->core, &all, KFB_LOSS_BIRTH);
	kfbk_unlock(dev);
	kfbk_give_up(dev);
}

/* ---- UNMAP ------------------------------------------------------------ */

/* Another try may go better, or says that the last one was enough. */
static bool kfbk_unmap_may_pass(const struct kfbk_device *dev, int error,
				u64 until_ms)
{
	if (kfbk_is_ending(dev) ||
	    !kfb_refusal_may_pass(KFB_OP_UNMAP, error, KFB_PATIENCE_DISK))
		return false;
	/* Nobody could end an attach that waits for it. */
	if (error == -ETIMEDOUT)
		return dev->state != KFB_DISK_ATTACHING;
	msleep(PAUSE_MS);
	return kfbk_now_ms() < until_ms;
}

void kfbk_settle_unmap(struct kfbk_device *dev, u64 first, u64 end,
		       u64 session_id, int error)
{
	kfbk_lock(dev);
	kfbk_blocks_move(dev, first, end, KFB_BLOCK_UNMAPPING,
			 error && session_id == dev->core.client.session_id
				 ? KFB_BLOCK_STAY
				 : KFB_BLOCK_GONE);
	kfbk_unlock(dev);
}

int kfbk_unmap(struct kfbk_device *dev, u64 first, u64 end, u64 session_id)
{
	struct kfbk_call call = {
		.core.req = { .op = KFB_OP_UNMAP,
			      .u.unmap = { .mapping_id =
						   dev->blocks[first].mapping_id,
					   .range = { .va = kfbk_block_va(
							      dev, first),
						      .n_blocks =
							      end - first } } },
	};
	u64 until_ms = kfbk_map_deadline_ms(dev, false);
	int ret;

	do {
		ret = kfbk_call(dev, &call);
	} while (kfbk_unmap_may_pass(dev, ret, until_ms));
	/*
	 * It is gone with its session, was so before, or is now, and the medium has
	 * failed: what was written there was flushed before.
	 */
	if (ret == -ECONNRESET || ret == -EIO || kfb_map_is_stale(ret))
		ret = 0;
	if (ret)
		kfbk_err_limited(dev,
				 "blocks %llu to %llu cannot be unmapped: %d\n",
				 first, end - 1, ret);
	kfbk_settle_unmap(dev, first, end, session_id, ret);
	return ret;
}
