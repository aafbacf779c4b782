/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What only those are told who have asked for it: a brick says it to nobody else, and a
 * client that hears it all the same has a brick that breaks the protocol.
 *
 * Context: any.
 */
#ifndef KFB_FEATURE_H
#define KFB_FEATURE_H

#include <linux/types.h>
#include "kfb_wire.h"

/* The features, KFB_FEATURE_*, without which no EVENT of this kind is sent. */
static inline __u32 kfb_event_needs(__u32 kind)
{
	switch (kind) {
	case KFB_EVENT_EVICTED:
		return KFB_FEATURE_EVENT | KFB_FEATURE_EVICTED;
	case KFB_EVENT_RATE:
		return KFB_FEATURE_EVENT | KFB_FEATURE_RATE;
	default:
		return KFB_FEATURE_EVENT;
	}
}

/* Those without which INFO has none of these flags, KFB_INFO_*. */
static inline __u32 kfb_info_needs(__u32 flags)
{
	return (flags & KFB_INFO_QUOTA ? KFB_FEATURE_QUOTA : 0) |
	       (flags & KFB_INFO_RATE ? KFB_FEATURE_RATE : 0);
}

#endif
