// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A MAP under way: its pages of handles, and how often it is asked for. */
#include <linux/errno.h>
#include <linux/string.h>

#include "blocks/kfb_blockmap.h"
#include "blocks/kfb_map_try.h"
#include "session/kfb_refusal.h"

void kfb_map_try_begin(struct kfb_map_try *t, const struct kfb_range *range,
		       __u32 flags, _Bool in_mapping, __u64 until_ms)
{
	memset(t, 0, sizeof(*t));
	t->range = *range;
	t->rest = *range;
	t->until_ms = until_ms;
	t->pause_ms = KFB_MAP_PAUSE_MIN_MS;
	t->flags = flags;
	t->in_mapping = in_mapping;
}

void kfb_map_try_ask(const struct kfb_map_try *t, struct kfb_request *req)
{
	req->op = KFB_OP_MAP;
	req->u.map.range = t->range;
	req->u.map.flags = t->flags;
	req->u.map.mapping_id = t->mapping_id;
	req->u.map.cursor = t->cursor;
}

int kfb_map_try_took(struct kfb_map_try *t, const struct kfb_map_reply *page)
{
	if (!t->mapping_id)
		t->mapping_id = page->mapping_id;
	if (kfb_blockmap_take_page(page, t->mapping_id, &t->rest))
		return -EPROTO;
	t->cursor = page->cursor;
	t->pause_ms = KFB_MAP_PAUSE_MIN_MS;
	return 0;
}

__u32 kfb_map_try_refused(struct kfb_map_try *t, int error, __u64 now_ms)
{
	enum kfb_patience who =
		t->in_mapping ? KFB_PATIENCE_RESTORE : KFB_PATIENCE_CALLER;
	__u64 pause_ms = t->pause_ms;

	if (!kfb_refusal_may_pass(KFB_OP_MAP, error, who) ||
	    now_ms >= t->until_ms)
		return 0;
	/*
	 * What a brick with a slow tier moves for one try may be moved away before
	 * the next: only who waits is sure to get it.
	 */
	if (error == -EAGAIN)
		t->flags &= ~KFB_MAP_NOWAIT;
	t->pause_ms *= 2;
	if (t->pause_ms > KFB_MAP_PAUSE_MAX_MS)
		t->pause_ms = KFB_MAP_PAUSE_MAX_MS;
	if (pause_ms > t->until_ms - now_ms)
		pause_ms = t->until_ms - now_ms;
	return (__u32)pause_ms;
}

_Bool kfb_map_is_stale(int error)
{
	return error == -ESTALE || error == -ENOENT;
}
