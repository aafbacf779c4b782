// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The causes of evictions in words.
 *
 * Context: any.
 */
#include "kfb_evicted.h"
#include "kfb_wire.h"

const char *kfb_evicted_text(__u32 cause)
{
	switch (cause) {
	case KFB_EVICTED_ORDER:
		return "an administrator of the brick has ordered it";
	case KFB_EVICTED_CLIENT:
		return "the brick's settings do not name the client any more";
	case KFB_EVICTED_KEY:
		return "the brick's settings do not have the client's key any "
		       "more";
	case KFB_EVICTED_GRANT:
		return "the brick's settings do not grant any more what the "
		       "client has mapped";
	case KFB_EVICTED_FENCED:
		return "the client is fenced: the brick keeps it out until it "
		       "is admitted again";
	case KFB_EVICTED_RESERVED:
		return "a persistent reservation forbids what the client has "
		       "mapped";
	default:
		return "for a cause this version does not know";
	}
}
