/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A MAP under way: its pages of handles, and how often it is asked for.
 *
 * A range is mapped by one MAP for each page of handles. Every initiator asks for
 * the pages in turn, as kfb_map_try_ask() has it, and hands the answers to
 * kfb_map_try_took() and kfb_map_try_refused(). What is done with the handles is the
 * initiator's own.
 *
 * Context: any; no allocation, no sleep.
 * Locking: the caller's.
 */
#ifndef KFB_MAP_TRY_H
#define KFB_MAP_TRY_H

#include <linux/types.h>
#include "codec/kfb_codec.h"

/* Pauses between two tries of a MAP that is refused for now: each is twice as long. */
#define KFB_MAP_PAUSE_MIN_MS 10
#define KFB_MAP_PAUSE_MAX_MS 500

/**
 * struct kfb_map_try - a range that is being mapped
 * @range: the whole of it
 * @rest: the part of @range that no page has covered yet; no blocks: all pages have
 *	come
 * @mapping_id: the new mapping's; 0: no page has come
 * @cursor: where the next page begins
 * @until_ms: a refusal is final from then on
 * @pause_ms: the next pause
 * @flags: KFB_MAP_*, of the next MAP
 * @in_mapping: the blocks were mapped in a session that is over, and this is the
 *	session after it
 */
struct kfb_map_try {
	struct kfb_range range;
	struct kfb_range rest;
	__u64 mapping_id;
	__u64 cursor;
	__u64 until_ms;
	__u32 pause_ms;
	__u32 flags;
	_Bool in_mapping;
};

/**
 * kfb_map_try_begin - a range is to be mapped
 * @t: gets it
 * @range: the range
 * @flags: KFB_MAP_*; with KFB_MAP_NOWAIT the first MAP does not wait at the brick
 * @in_mapping: see struct kfb_map_try
 * @until_ms: a refusal is final from then on; KFB_TIME_NEVER; 0: each is final
 */
void kfb_map_try_begin(struct kfb_map_try *t, const struct kfb_range *range,
		       __u32 flags, _Bool in_mapping, __u64 until_ms);

/**
 * kfb_map_try_ask - the MAP that is to be sent next
 * @t: the range
 * @req: gets the request's op and body
 */
void kfb_map_try_ask(const struct kfb_map_try *t, struct kfb_request *req);

/**
 * kfb_map_try_took - a MAP was answered with a page
 * @t: the range; @rest, @mapping_id and @cursor change
 * @page: the answer
 *
 * Return: 0, or -EPROTO: the handles are not those of what was asked for; the
 * mapping is the caller's to give back, with the session or by an UNMAP.
 */
int kfb_map_try_took(struct kfb_map_try *t, const struct kfb_map_reply *page);

/**
 * kfb_map_try_refused - a MAP was refused, or not answered in time
 * @t: the range
 * @error: a negative errno
 * @now_ms: the time
 *
 * kfb_refusal_may_pass() knows which refusals may pass, and for whom.
 *
 * Return: ms to pause before kfb_map_try_ask() is sent again; 0: the refusal is final.
 */
__u32 kfb_map_try_refused(struct kfb_map_try *t, int error, __u64 now_ms);

/**
 * kfb_map_is_stale - is what was mapped not there any more?
 * @error: of a MAP that was refused for good, or of what its handles were compared
 *	with; of an UNMAP
 *
 * Return: true: the blocks are free, or another's: what was not flushed in them is
 * lost. False: the brick has them, and does not let them be mapped.
 */
_Bool kfb_map_is_stale(int error);

#endif
