// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The fate of writes, losses, and births.
 */
#include "data/kfb_fate.h"

enum kfb_fate kfb_fate_of(const struct kfb_fate_facts *facts)
{
	if (!facts->same_epoch)
		return KFB_FATE_GONE;
	if (!facts->ack_is_placed)
		return KFB_FATE_SUSPECT;
	return facts->same_instance ? KFB_FATE_PLACED : KFB_FATE_FLUSH;
}

void kfb_losses_add(struct kfb_losses *losses, const struct kfb_dirty *ranges,
		    __u32 why)
{
	if (kfb_dirty_is_empty(ranges))
		return;
	kfb_dirty_merge(&losses->ranges, ranges);
	losses->why |= why;
	losses->n++;
}

void kfb_losses_reset(struct kfb_losses *losses)
{
	kfb_dirty_clear(&losses->ranges);
	losses->why = 0;
}

const char *kfb_losses_text(__u32 why)
{
	if (why & KFB_LOSS_BIRTH)
		return "their blocks have changed hands";
	if (why & KFB_LOSS_REFUSED)
		return "their blocks cannot be mapped again";
	if (why & KFB_LOSS_EPOCH)
		return "the brick lost its power or memory before they were flushed";
	return "nothing proves that they were placed";
}

/* Step over the blocks that the handles at two places share. */
static _Bool kfb_births_step(const struct kfb_handle *handle, __u64 n,
			     __u64 *done)
{
	*done += n;
	if (*done < handle->n_blocks)
		return 0;
	*done = 0;
	return 1;
}

_Bool kfb_births_same(const struct kfb_handle *before, __u32 n_before,
		      const struct kfb_handle *after, __u32 n_after)
{
	__u64 in_before = 0;
	__u64 in_after = 0;
	__u32 i = 0;
	__u32 j = 0;

	while (i < n_before && j < n_after) {
		__u64 a = (before[i].va >> KFB_BLOCK_SHIFT) + in_before;
		__u64 b = (after[j].va >> KFB_BLOCK_SHIFT) + in_after;
		__u64 n = before[i].n_blocks - in_before;

		if (a != b || before[i].birth != after[j].birth)
			return 0;
		if (after[j].n_blocks - in_after < n)
			n = after[j].n_blocks - in_after;
		i += kfb_births_step(&before[i], n, &in_before);
		j += kfb_births_step(&after[j], n, &in_after);
	}
	return i == n_before && j == n_after;
}
