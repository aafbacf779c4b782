/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What it means that a brick refuses a request: in words, what a person can do about
 * it, and for whom another try may go better.
 *
 * An error is that of the answer's status (kfb_status_to_errno()), or -ETIMEDOUT of a
 * request that was not answered in time. What is lost with its session is no refusal:
 * whether it may be sent again is for whoever knows what it would do twice.
 *
 * Context: any; no allocation, no sleep.
 */
#ifndef KFB_REFUSAL_H
#define KFB_REFUSAL_H

#include <linux/types.h>
#include "codec/kfb_codec.h"

/**
 * enum kfb_patience - who asks for something, from the least patient one on
 * @KFB_PATIENCE_NONE: nobody tries again
 * @KFB_PATIENCE_CALLER: a program that waits for the answer, and can be told a refusal
 * @KFB_PATIENCE_DISK: a disk, whose users cannot be asked to try again
 * @KFB_PATIENCE_RESTORE: who maps again what was mapped and holds data: the session
 *	after a loss, and a disk that has discarded a part of a mapping
 */
enum kfb_patience {
	KFB_PATIENCE_NONE,
	KFB_PATIENCE_CALLER,
	KFB_PATIENCE_DISK,
	KFB_PATIENCE_RESTORE,
};

/**
 * kfb_refusal_may_pass - may another try of a refused request go better?
 * @op: KFB_OP_MAP, _UNMAP, _ALLOC or _FREE; others are tried once
 * @error: a negative errno
 * @who: who has sent it
 *
 * An UNMAP that a caller may try again has not, or may not have, ended the mapping.
 *
 * Return: true: try again, after a pause.
 */
_Bool kfb_refusal_may_pass(__u16 op, int error, enum kfb_patience who);

/**
 * kfb_refusal_why - the reason in words
 * @op: KFB_OP_*
 * @error: a negative errno
 *
 * Return: a constant string without a full stop and without a semicolon; NULL: it is
 * the connection that failed, which has words of its own (the port's say()).
 */
const char *kfb_refusal_why(__u16 op, int error);

/**
 * kfb_refusal_next - what a person can do about it
 * @op: KFB_OP_*
 * @error: a negative errno
 *
 * Return: a constant string, as above, but never NULL.
 */
const char *kfb_refusal_next(__u16 op, int error);

/**
 * enum kfb_shortage - what a refused ALLOC lacks
 * @KFB_SHORT_OF_NOTHING: as far as the brick's numbers tell
 * @KFB_SHORT_OF_QUOTA: the client may not have as many
 * @KFB_SHORT_OF_SPACE: the brick has not as many
 */
enum kfb_shortage {
	KFB_SHORT_OF_NOTHING,
	KFB_SHORT_OF_QUOTA,
	KFB_SHORT_OF_SPACE,
};

/**
 * kfb_shortage - is it the client's quota or the brick's space?
 * @info: the brick's, asked for when the ALLOC was refused for want of space: its
 *	answer does not tell them apart
 * @n_blocks: how many were wanted
 * @n_free: gets how many the brick has free
 *
 * Return: enum kfb_shortage.
 */
enum kfb_shortage kfb_shortage(const struct kfb_info *info, __u64 n_blocks,
			       __u64 *n_free);

#endif
