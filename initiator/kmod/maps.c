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

#include "blocks/kfb_list.h"
#include "kfb_err.h"
#include "kfbrick.h"
#include "trace.h"

/* Between tries of a MAP that the brick refuses for now. */
#define PAUSE_MIN_MS 10
#define PAUSE_MAX_MS 500

u64 kfbk_block_va(const struct kfbk_device *dev, u64 block)
{
	return dev->options.base + (block << KFB_BLOCK_SHIFT);
}

int kfbk_maps_init(struct kfbk_device *dev)
{
	INIT_LIST_HEAD(&dev->waiting);
	init_waitqueue_head(&dev->drain_wait);
	dev->n_blocks = dev->options.n_blocks;
	dev->blocks = kvcalloc(dev->n_blocks, sizeof(*dev->blocks), GFP_KERNEL);
	dev->replies = kcalloc(2, sizeof(*dev->replies), GFP_KERNEL);
	if (!dev->blocks || !dev->replies)
		return -ENOMEM;
	return kfbk_cache_open(dev);
}

void kfbk_maps_fini(struct kfbk_device *dev)
{
	kfbk_cache_close(dev);
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
 * @rest: what has not come yet
 * @session_id: where its first page came
 * @first: number of the next block
 */
struct mapping {
	struct kfbk_device *dev;
	struct kfbk_call call;
	struct kfb_range rest;
	u64 session_id;
	u64 first;
};

static int kfbk_take_block(struct kfb_block *b, const struct kfb_handle *h,
			   u64 i, u64 mapping_id)
{
	if (b->has_birth && b->birth != h->birth)
		return -ESTALE;
	b->key = h->key;
	b->raddr = h->raddr + (i << KFB_BLOCK_SHIFT);
	b->mapping_id = mapping_id;
	b->birth = h->birth;
	b->has_birth = true;
	b->is_first = !i;
	return 0;
}

/* Context: dev->lock is held. */
static int kfbk_take_handles(struct mapping *m,
			     const struct kfb_map_reply *reply)
{
	struct kfbk_device *dev = m->dev;
	u32 i;
	u64 j;
	int ret;

	for (i = 0; i < reply->n_handles; i++) {
		const struct kfb_handle *h = &reply->handles[i];

		for (j = 0; j < h->n_blocks; j++) {
			ret = kfbk_take_block(&dev->blocks[m->first], h, j,
					      reply->mapping_id);
			if (ret)
				return ret;
			m->first++;
		}
	}
	return 0;
}

/* One page of handles: is it what was asked for? Then it is kept. */
static int kfbk_take_page(struct mapping *m)
{
	const struct kfb_map_reply *reply = &m->call.core.reply->u.map;
	struct kfbk_device *dev = m->dev;
	s64 covered;
	int ret;

	covered =
		kfb_blockmap_check(reply->handles, reply->n_handles, &m->rest);
	if (!reply->mapping_id || covered <= 0 ||
	    (m->call.core.req.u.map.mapping_id &&
	     m->call.core.req.u.map.mapping_id != reply->mapping_id) ||
	    (!reply->cursor) != (covered == m->rest.n_blocks))
		return -EPROTO;
	kfbk_lock(dev);
	if (!m->session_id)
		m->session_id = m->call.core.session_id;
	ret = m->session_id == dev->core.client.session_id
		      ? kfbk_take_handles(m, reply)
		      : -ECONNRESET;
	kfbk_unlock(dev);
	m->rest.va += covered << KFB_BLOCK_SHIFT;
	m->rest.n_blocks -= covered;
	m->call.core.req.u.map.mapping_id = reply->mapping_id;
	m->call.core.req.u.map.cursor = reply->cursor;
	return ret;
}

/* All pages have come: the blocks can be used. */
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

/* Another try may go better: the brick waits for others, or has not noticed. */
static bool kfbk_map_may_pass(const struct kfbk_device *dev, int error,
			      bool in_mapping)
{
	if (READ_ONCE(dev->core.is_over))
		return false;
	/* Who maps on demand has to give back meanwhile, and tries by itself. */
	if (error == -EAGAIN)
		return in_mapping || !dev->cache.cap;
	/* When memory is short the brick asks others to give some back. */
	if (in_mapping && dev->cache.cap && error == -ENOSPC)
		return true;
	/* What is granted after all is given back: see kfb_initiator.h. */
	return in_mapping && (error == -EBUSY || error == -ESHUTDOWN ||
			      error == -ENOMEM || error == -ETIMEDOUT);
}

/* The first page, and until when it is tried. */
static int kfbk_ask_mapping(struct mapping *m, u64 until_ms)
{
	u64 pause_ms = PAUSE_MIN_MS;
	int ret;

	for (;;) {
		ret = kfbk_call(m->dev, &m->call);
		if (ret == -ETIMEDOUT)
			kfbk_info_limited(m->dev,
					  "the brick does not answer to MAP\n");
		if (!kfbk_map_may_pass(m->dev, ret, m->call.core.in_mapping) ||
		    kfbk_now_ms() >= until_ms)
			return ret;
		msleep(pause_ms);
		pause_ms = min_t(u64, 2 * pause_ms, PAUSE_MAX_MS);
	}
}

u64 kfbk_patience_ms(const struct kfbk_device *dev, bool is_patient)
{
	u64 now_ms = kfbk_now_ms();

	if (!is_patient)
		return now_ms + dev->options.timeout_ms;
	if (dev->options.reconnect_ms == KFB_CLIENT_FOREVER)
		return KFB_TIME_NEVER;
	return now_ms + dev->options.reconnect_ms;
}

/* Some of its pages have come, and it is of no use. */
static void kfbk_undo_mapping(struct mapping *m)
{
	struct kfbk_call call = {
		.core.req = { .op = KFB_OP_UNMAP,
			      .u.unmap.mapping_id =
				      m->call.core.req.u.map.mapping_id },
		.core.in_mapping = m->call.core.in_mapping,
		.core.in_session = m->call.core.in_session,
	};

	/* Else it is gone with its session. */
	if (m->session_id == READ_ONCE(m->dev->core.client.session_id))
		kfbk_call(m->dev, &call);
}

int kfbk_map_run(struct kfbk_device *dev, u64 first, u64 n, bool in_mapping)
{
	struct mapping m = {
		.dev = dev,
		.call = { .core.req = { .op = KFB_OP_MAP },
			  .core.in_mapping = in_mapping,
			  .core.in_session = in_mapping ? dev->restoring_id : 0,
			  .core.reply = &dev->replies[in_mapping] },
		.rest = { .va = kfbk_block_va(dev, first), .n_blocks = n },
		.first = first,
	};
	u64 until_ms = kfbk_patience_ms(dev, in_mapping);
	int ret;

	m.call.core.req.u.map.range = m.rest;
	/*
	 * Where memory is short only who waits gets what is moved there for it.
	 * Restoring a whole disk wants nothing moved, and tries again itself.
	 */
	m.call.core.req.u.map.flags =
		(in_mapping && !dev->cache.cap ? KFB_MAP_NOWAIT : 0) |
		(dev->options.ro ? KFB_MAP_RO | KFB_MAP_SHARED
				 : KFB_MAP_RW | KFB_MAP_EXCLUSIVE);
	do {
		ret = kfbk_ask_mapping(&m, until_ms);
		ret = ret ?: kfbk_take_page(&m);
		if (ret && m.call.core.req.u.map.mapping_id)
			kfbk_undo_mapping(&m);
		if (ret)
			return ret;
	} while (m.rest.n_blocks);
	return kfbk_publish_mapping(&m, first, n);
}

int kfbk_map_unmapped(struct kfbk_device *dev, u64 first, u64 end, bool again)
{
	u64 i, stop;
	int ret = 0;

	for (i = first; !ret && i < end; i = stop) {
		stop = kfbk_run_end(dev, i, end);
		if (dev->blocks[i].state != KFB_BLOCK_UNMAPPED)
			continue;
		kfbk_lock(dev);
		kfbk_blocks_move(dev, i, stop, KFB_BLOCK_UNMAPPED,
				 KFB_BLOCK_MAP);
		kfbk_unlock(dev);
		ret = again ? kfbk_map_again(dev, i, stop - i)
			    : kfbk_map_run(dev, i, stop - i, false);
		kfbk_lock(dev);
		kfbk_blocks_move(dev, i, stop, KFB_BLOCK_MAPPING,
				 KFB_BLOCK_FAILED);
		kfbk_unlock(dev);
	}
	return ret;
}

/* ---- attaching -------------------------------------------------------- */

/* What is allocated already; another try to grow finds what the last one did. */
static void kfbk_note_extents(struct kfbk_device *dev,
			      const struct kfb_list_reply *reply)
{
	u64 base = dev->options.base >> KFB_BLOCK_SHIFT;
	u64 end = base + dev->n_blocks;
	u32 i;

	for (i = 0; i < reply->n_extents; i++) {
		u64 from = reply->extents[i].va >> KFB_BLOCK_SHIFT;
		u64 to = from + reply->extents[i].n_blocks;

		from = max(from, base);
		to = min(to, end);
		if (from >= to)
			continue;
		kfbk_lock(dev);
		kfbk_blocks_move(dev, from - base, to - base, KFB_BLOCK_ABSENT,
				 KFB_BLOCK_FOUND);
		kfbk_unlock(dev);
	}
}

static int kfbk_find_allocated(struct kfbk_device *dev, u64 first)
{
	u64 last = kfbk_block_va(dev, dev->n_blocks - 1);
	struct kfbk_call call = {
		.core.req = { .op = KFB_OP_LIST,
			      .u.list = { .what = KFB_LIST_ALLOCATED,
					  .cursor =
						  kfbk_block_va(dev, first) } },
		.core.reply = &dev->replies[0],
	};
	const struct kfb_list_reply *reply = &call.core.reply->u.list;
	int ret;

	do {
		ret = kfbk_call(dev, &call);
		ret = ret ?: kfb_list_check(&call.core.req.u.list, reply);
		if (ret)
			return ret;
		kfbk_note_extents(dev, reply);
		call.core.req.u.list.cursor = reply->cursor;
	} while (reply->cursor && reply->cursor <= last);
	return 0;
}

static int kfbk_alloc_run(struct kfbk_device *dev, u64 first, u64 n)
{
	struct kfbk_call call = { .core.req = { .op = KFB_OP_ALLOC } };
	u64 most = dev->core.client.info.alloc_max_blocks ?: 1;
	int ret;

	while (n) {
		u64 part = min(n, most);
		u64 i;

		call.core.req.u.range.va = kfbk_block_va(dev, first);
		call.core.req.u.range.n_blocks = part;
		ret = kfbk_call(dev, &call);
		if (ret)
			return ret;
		kfbk_lock(dev);
		kfbk_blocks_move(dev, first, first + part, KFB_BLOCK_ABSENT,
				 KFB_BLOCK_FOUND);
		kfbk_unlock(dev);
		for (i = first; i < first + part; i++)
			dev->blocks[i].is_new = true;
		first += part;
		n -= part;
	}
	return 0;
}

static int kfbk_alloc_missing(struct kfbk_device *dev, u64 first)
{
	u64 end, i;
	int ret = 0;

	for (i = first; !ret && i < dev->n_blocks; i = end) {
		end = kfbk_run_end(dev, i, dev->n_blocks);
		if (dev->blocks[i].state == KFB_BLOCK_ABSENT)
			ret = kfbk_alloc_run(dev, i, end - i);
	}
	return ret;
}

/* Give back what this attach has allocated. */
static void kfbk_free_new(struct kfbk_device *dev)
{
	u64 end, i;

	for (i = 0; i < dev->n_blocks; i = end) {
		end = i + 1;
		if (!dev->blocks[i].is_new)
			continue;
		while (end < dev->n_blocks && dev->blocks[end].is_new)
			end++;
		if (kfbk_free_run(dev, i, end - i))
			kfbk_err(dev, "blocks %llu to %llu stay allocated\n", i,
				 end - 1);
	}
}

const char *kfbk_map_why(int error)
{
	switch (error) {
	case -EACCES:
		return "it is outside this client's grants";
	case -EBUSY:
		return "somebody else has mapped blocks of it";
	case -EAGAIN:
		return "the brick waits for those who had it before";
	case -ENOSPC:
		return "the brick has no space left";
	case -EEXIST:
		return "somebody else is allocating blocks of it";
	case -EDQUOT:
		return "a limit of the brick is reached";
	case -ENOMEM:
		return "the brick has no memory for that";
	case -EPROTO:
		return "the brick answered something else";
	case -ECONNRESET:
	case -ETIMEDOUT:
		/* That has been said. */
		return NULL;
	default:
		return "it may not be done";
	}
}

static void kfbk_say_range_why(struct kfbk_device *dev, const char *what,
			       int error)
{
	const char *why = kfbk_map_why(error);

	if (!why)
		return;
	kfbk_lock(dev);
	kfbk_say(dev, "cannot %s the range: %s", what, why);
	kfbk_unlock(dev);
}

int kfbk_maps_add(struct kfbk_device *dev, u64 first)
{
	const char *what = "list";
	int ret = kfbk_find_allocated(dev, first);

	if (!ret && !dev->options.thin && !dev->options.ro) {
		what = "allocate";
		ret = kfbk_alloc_missing(dev, first);
	}
	/* With a cache they are mapped when they are needed. */
	if (!ret && !dev->cache.cap) {
		what = "map";
		ret = kfbk_map_unmapped(dev, first, dev->n_blocks, false);
	}
	if (ret)
		kfbk_say_range_why(dev, what, ret);
	return ret;
}

int kfbk_maps_attach(struct kfbk_device *dev)
{
	int ret = kfbk_maps_add(dev, 0);

	if (ret)
		kfbk_free_new(dev);
	return ret;
}
