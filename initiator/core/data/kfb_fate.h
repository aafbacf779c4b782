/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What becomes of writes that were completed and not flushed when their
 * connection died, and the memory of those that are lost.
 *
 * A loss that was not told is worse than any failure: once something is lost,
 * every flush fails with -EIO until the owner of the data has said that it
 * knows (kfb_losses_reset()).
 *
 * Context: any; no allocation. Locking: the caller's.
 */
#ifndef KFB_FATE_H
#define KFB_FATE_H

#include <linux/errno.h>
#include <linux/types.h>
#include "data/kfb_dirty.h"

/**
 * enum kfb_fate - what has become of completed, unflushed writes; worst last
 * @KFB_FATE_PLACED: the writes are where they were: the next flush covers them
 * @KFB_FATE_FLUSH: the writes outlived the instance: flush them at the new one
 * @KFB_FATE_SUSPECT: the brick's NIC acknowledged the writes; the connection died
 *	before anything proved them placed
 * @KFB_FATE_GONE: the brick lost what was not flushed
 */
enum kfb_fate {
	KFB_FATE_PLACED,
	KFB_FATE_FLUSH,
	KFB_FATE_SUSPECT,
	KFB_FATE_GONE,
};

/**
 * struct kfb_fate_facts - what decides
 * @ack_is_placed: the brick said so when it had the writes: an acknowledged
 *	write is in memory
 * @same_instance: the run of the brick is the one that had the writes
 * @same_epoch: the brick has lost no unflushed writes since
 */
struct kfb_fate_facts {
	_Bool ack_is_placed;
	_Bool same_instance;
	_Bool same_epoch;
};

/* The fate of completed, unflushed writes, from what is known. */
enum kfb_fate kfb_fate_of(const struct kfb_fate_facts *facts);

/* Why something is lost: bits. */
#define KFB_LOSS_SUSPECT (1U << 0) /* never proven to be placed */
#define KFB_LOSS_EPOCH	 (1U << 1) /* the brick lost unflushed writes */
#define KFB_LOSS_BIRTH	 (1U << 2) /* the block is another's now */
#define KFB_LOSS_REFUSED (1U << 3) /* the block may not be mapped again */

/**
 * struct kfb_losses - completed writes that may be lost
 * @ranges: where they are
 * @why: KFB_LOSS_*
 * @n: how many times some were added, ever: who has noted it knows whether what
 *	had completed by then may be among them
 */
struct kfb_losses {
	struct kfb_dirty ranges;
	__u32 why;
	__u64 n;
};

/**
 * kfb_losses_add - writes may be lost
 * @losses: what is known to be lost
 * @ranges: where the writes are; empty ranges change nothing
 * @why: KFB_LOSS_*
 */
void kfb_losses_add(struct kfb_losses *losses, const struct kfb_dirty *ranges,
		    __u32 why);

/**
 * kfb_losses_text - why completed writes are lost
 * @why: KFB_LOSS_*, at least one of them
 *
 * Return: words that go on a sentence on such writes.
 */
const char *kfb_losses_text(__u32 why);

/* What every flush must return: 0 when nothing is lost, else -EIO. */
static inline int kfb_losses_error(const struct kfb_losses *losses)
{
	return losses->why ? -EIO : 0;
}

/* The owner of the data knows of the losses: they are forgotten, but for @n. */
void kfb_losses_reset(struct kfb_losses *losses);

/**
 * kfb_births_same - has no block of a mapping changed hands?
 * @before: handles that were mapped, in the order of their addresses
 * @n_before: how many handles there were before
 * @after: handles of the same range, mapped again, in the same order
 * @n_after: how many handles there are after
 *
 * Where the handles begin and end may have changed.
 *
 * Return: true when both cover the same blocks with the same births.
 */
_Bool kfb_births_same(const struct kfb_handle *before, __u32 n_before,
		      const struct kfb_handle *after, __u32 n_after);

#endif
