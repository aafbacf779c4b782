// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a killed instance leaves in the CPU's caches.
 *
 * Where durability takes a write-back of each cache line, an instance that did
 * not stop cleanly may have left lines that clients wrote and no flush
 * reached. They are in the host's memory as long as it lives, and their
 * clients may come back and flush them. Until all of them are written back, a
 * stop is not clean, however much this instance has flushed of its own:
 * else a loss of power after it would go unnoticed.
 *
 * Context: one thread at a time. Locking: none; what is allocated meanwhile is
 * this instance's own, and what is freed meanwhile is nobody's.
 */
#include <errno.h>

#include "brickd/store/recovery/recover.h"

#define LOOK_MAX 65536U /* slots under one call, allocated or not */

void brick_store_begin_inherited(struct brick_store *s, bool new_epoch)
{
	s->inherited = !s->recovery.was_clean && !new_epoch &&
		       s->m->granularity == BRICK_GRANULARITY_CACHE_LINE;
	s->inherited_at = 0;
}

bool brick_store_has_inherited(const struct brick_store *s)
{
	return __atomic_load_n(&s->inherited, __ATOMIC_ACQUIRE);
}

int brick_store_flush_inherited(struct brick_store *s, unsigned int max_slots)
{
	uint64_t at = s->inherited_at, end = s->sb.n;
	struct brick_word w;
	unsigned int n = 0;
	int ret;

	if (!brick_store_has_inherited(s))
		return 0;
	if (end - at > LOOK_MAX)
		end = at + LOOK_MAX;
	for (; at < end && n < max_slots; at++) {
		/* In doubt it holds data: a batch may be changing it. */
		if (brick_record_get_word(s->m, &s->sb, 0, at, &w) &&
		    w.state != BRICK_ALLOC && !brick_state_is_batch(w.state))
			continue;
		s->m->ops->flush(s->m, brick_super_data(&s->sb, at),
				 KFB_BLOCK_BYTES);
		n++;
	}
	ret = brick_store_fence(s);
	if (ret)
		return ret;
	s->inherited_at = at;
	if (at == s->sb.n)
		__atomic_store_n(&s->inherited, false, __ATOMIC_RELEASE);
	return 1;
}
