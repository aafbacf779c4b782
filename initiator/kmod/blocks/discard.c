// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: frees blocks of a thin device.
 *
 * The brick takes handles back as a whole, so the blocks around those that are
 * freed may have to be unmapped and mapped again. In this order:
 *
 *   1. blocks of the handles are QUIET: nothing new is posted to them
 *   2. what is in flight to them has completed
 *   3. everything is flushed: afterwards there is no way to the bytes. If a
 *      connection ends meanwhile copies may be written again: once more
 *   4. they are UNMAPPING, and there are no copies of what was written to them
 *   5. UNMAP: the keys are dead; UNMAPPED
 *   6. FREE, in the session of which they are UNMAPPING
 *   7. MAP of the blocks that stay; those who waited go on
 *
 * A session that is lost in 1 to 3 is restored with the QUIET blocks in it. One
 * that is lost later takes the mappings with it; the restore work leaves
 * UNMAPPING and UNMAPPED blocks alone, and the rest is done in the new session.
 * Steps 1 and 4 are made while no restore work runs: it would not see them.
 *
 * What is not mapped may be another's by now, and FREE does not ask. So what has been
 * mapped once is mapped first, which compares its birth, and is mapped until step 5. When
 * it is not, at step 4, or the session is lost before FREE is answered, all begins again.
 *
 * Context: the map work, and nobody else.
 */
#include <linux/rcupdate.h>

#include "../device/calls.h"
#include "mappings.h"
#include "../io/requests.h"

struct span {
	u64 first;
	u64 end;
	u64 session_id; /* where they became UNMAPPING */
};

/* The handles that hold any of the blocks, as far as they are mapped. */
static struct span kfbk_widen_span(const struct kfbk_device *dev, u64 first,
				   u64 n)
{
	struct span span = { .first = first, .end = first + n };
	const struct kfb_block *b = dev->blocks;

	while (span.first && b[span.first].state == KFB_BLOCK_MAPPED &&
	       !b[span.first].is_first)
		span.first--;
	while (span.end < dev->n_blocks &&
	       b[span.end].state == KFB_BLOCK_MAPPED && !b[span.end].is_first)
		span.end++;
	return span;
}

struct looking {
	struct kfbk_device *dev;
	struct span span;
	bool found;
};

static bool kfbk_look_at_rq(struct request *rq, void *arg)
{
	const struct kfbk_rq *krq = kfbk_rq_of(rq);
	struct looking *l = arg;
	u64 block;

	/* Pairs with the release of kfbk_data_done(). */
	if (!smp_load_acquire(&krq->posted))
		return true;
	block = (READ_ONCE(krq->va) - l->dev->options.base) >> KFB_BLOCK_SHIFT;
	l->found = block >= l->span.first && block < l->span.end;
	return !l->found;
}

static bool kfbk_is_span_quiet(struct kfbk_device *dev, struct span span)
{
	struct looking l = { .dev = dev, .span = span };

	/* Those that have pinned a block find it QUIET and let go of it. */
	if (dev->cache.cap)
		return kfbk_cache_is_idle(dev, span.first,
					  span.end - span.first);
	blk_mq_tagset_busy_iter(&dev->tags, kfbk_look_at_rq, &l);
	return !l.found;
}

/* FREE each run of allocated blocks; they read as zeros afterwards. */
static int kfbk_free_allocated(struct kfbk_device *dev, u64 first, u64 end,
			       u64 session_id)
{
	u64 alone = first; /* up to there each by itself */
	u64 stop, i, j;
	int ret = 0;

	for (i = first; !ret && i < end; i = stop) {
		stop = i < alone ? i + 1 : kfbk_run_end(dev, i, end);
		if (dev->blocks[i].state != KFB_BLOCK_UNMAPPED)
			continue;
		ret = kfbk_free_run(dev, i, stop - i, session_id);
		if (ret == -ENOENT && stop > i + 1) {
			/* One is not there, and the others are as they were. */
			alone = stop;
			stop = i;
			ret = 0;
			continue;
		}
		if (ret == -ENOENT)
			ret = 0;
		if (ret)
			break;
		kfbk_lock(dev);
		for (j = i; j < stop; j++) {
			dev->blocks[j].has_birth = false;
			kfbk_block_move(dev, j, KFB_BLOCK_FREED);
		}
		kfbk_unlock(dev);
	}
	return ret;
}

static int kfbk_free_span(struct kfbk_device *dev, struct span span, u64 first,
			  u64 n, bool *again)
{
	int ret =
		kfbk_unmap_handles(dev, span.first, span.end, span.session_id);
	u64 session_id;
	int rest = 0;

	if (!ret) {
		ret = kfbk_free_allocated(dev, first, first + n,
					  span.session_id);
		*again = kfbk_is_in_doubt(ret);
	}
	/* With a cache they are mapped when they are needed. */
	if (!dev->cache.cap)
		rest = kfbk_map_unmapped(dev, span.first, span.end,
					 KFB_PATIENCE_RESTORE);
	if (!rest || READ_ONCE(dev->core.is_over))
		return rest ?: ret;
	/* Blocks that hold data cannot be reached: that is no small thing. */
	*again = false;
	kfbk_lock(dev);
	session_id = dev->core.client.session_id;
	kfbk_unlock(dev);
	kfbk_restore_failed(dev, session_id, rest);
	return rest;
}

/*
 * Blocks that are freed inside of a handle leave two mappings of it. When FREE fails
 * all of the span is mapped again, in runs. If the session is lost before, the next
 * one maps the span by itself, and what is around it in runs. How many mappings there
 * may be is known, and nobody else makes any in this session: what would take more
 * is not begun.
 */
static int kfbk_check_room(struct kfbk_device *dev, u64 first, u64 n)
{
	u32 most = dev->core.client.info.mappings_max;
	u64 around = 0, inside, again = 0, runs = 1, last_id = 0, id = 0;
	u64 before, i;
	struct span span;
	int ret;

	/* With a cache each mapping is one block's. */
	if (dev->cache.cap || dev->n_blocks <= most)
		return 0;
	ret = kfbk_lock_settled(dev);
	span = kfbk_widen_span(dev, first, n);
	kfbk_unlock(dev);
	if (ret)
		return ret;
	inside = (span.first < first) + (first + n < span.end);
	for (i = 0; i < dev->n_blocks; i++) {
		bool is_inside = i >= span.first && i < span.end;

		before = i == span.first || i == span.end ? 0 : id;
		id = READ_ONCE(dev->blocks[i].mapping_id);
		again += is_inside && id && !before;
		if (!id || is_inside)
			continue;
		runs += !before;
		/* One with a hole may count twice. */
		around += id != last_id;
		last_id = id;
	}
	return around + max(inside, again) > most || runs > most ? -EOPNOTSUPP
								 : 0;
}

/* Steps 1 and 2: nothing is in flight to QUIET blocks when this returns. */
static int kfbk_quiet_span(struct kfbk_device *dev, u64 first, u64 n,
			   struct span *span)
{
	int ret = kfbk_lock_settled(dev);

	if (!ret) {
		*span = kfbk_widen_span(dev, first, n);
		kfbk_blocks_move(dev, span->first, span->end, KFB_BLOCK_MAPPED,
				 KFB_BLOCK_CALM);
	}
	kfbk_unlock(dev);
	if (ret)
		return ret;
	WRITE_ONCE(dev->draining, true);
	/* queue_rq() that saw them MAPPED has posted by now. */
	synchronize_rcu();
	wait_event(dev->drain_wait, kfbk_is_span_quiet(dev, *span));
	WRITE_ONCE(dev->draining, false);
	return 0;
}

/* Step 3. dev->lock is held when this returns. */
static int kfbk_make_span_durable(struct kfbk_device *dev)
	__acquires(&dev->lock)
{
	u64 since = KFBK_FLUSH_NEVER;
	int ret;

	do {
		ret = kfbk_lock_settled(dev);
		if (ret || kfbk_flush_holds(dev, since))
			return ret;
		kfbk_unlock(dev);
		ret = kfbk_flush_sync(dev, &since);
	} while (!ret);
	kfbk_lock(dev);
	return ret;
}

/* Has it been mapped, and is it not now? Or may it have been freed? */
static bool kfbk_is_to_compare(const struct kfb_block *b)
{
	return b->state == KFB_BLOCK_UNMAPPED &&
	       (b->has_birth || b->may_be_gone);
}

/* Those that were mapped first may have had to go for others. */
static bool kfbk_are_compared(const struct kfbk_device *dev, u64 first, u64 n)
{
	u64 i = first;

	while (i < first + n && !kfbk_is_to_compare(&dev->blocks[i]))
		i++;
	return i == first + n;
}

/* All steps; @again: from the beginning, in what session there is then. */
static int kfbk_free_compared(struct kfbk_device *dev, u64 first, u64 n,
			      bool *again)
{
	struct span span;
	int ret = 0;
	u64 i;

	for (i = first; !ret && i < first + n; i++) {
		if (kfbk_is_to_compare(&dev->blocks[i]))
			ret = kfbk_cache_load(dev, i);
	}
	ret = ret ?: kfbk_check_room(dev, first, n);
	ret = ret ?: kfbk_quiet_span(dev, first, n, &span);
	if (ret)
		return ret;
	ret = kfbk_make_span_durable(dev);
	*again = !ret && !kfbk_are_compared(dev, first, n);
	if (*again)
		ret = -ECONNRESET;
	if (ret) {
		kfbk_blocks_move(dev, span.first, span.end, KFB_BLOCK_QUIET,
				 KFB_BLOCK_STAY);
	} else {
		span.session_id = dev->core.client.session_id;
		kfbk_blocks_move(dev, span.first, span.end, KFB_BLOCK_QUIET,
				 KFB_BLOCK_UNMAP);
		kfbk_retain_drop(dev, span.first, span.end - span.first);
	}
	kfbk_unlock(dev);
	return ret ?: kfbk_free_span(dev, span, first, n, again);
}

int kfbk_free_blocks(struct kfbk_device *dev, u64 first, u64 *n)
{
	int tries = 0;
	bool again;
	int ret;

	do {
		again = false;
		/* A cache may have become smaller, and others use it, too. */
		*n = min(*n, max_t(u64, kfbk_cache_batch(dev) >> tries, 1));
		ret = kfbk_free_compared(dev, first, *n, &again);
	} while (again && kfbk_range_may_pass(dev, KFB_OP_FREE, ret,
					      KFB_PATIENCE_DISK, tries++));
	return ret;
}
