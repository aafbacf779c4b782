// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Bookkeeping of retained copies: two rings, of copies and of pages, that move
 * on together.
 *
 * Ranges are compared by their last byte: the end of the last block is 2^64,
 * which does not fit.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "data/kfb_retain.h"
#include "kfb_wire.h"

void kfb_retain_init(struct kfb_retain *r, struct kfb_copy *copies,
		     __u64 *newest, __u32 cap, __u32 n_pages)
{
	__u32 i;

	memset(r, 0, sizeof(*r));
	r->copies = copies;
	r->newest = newest;
	r->cap = cap;
	r->n_pages = n_pages;
	for (i = 0; i < cap; i++)
		newest[i] = KFB_RETAIN_NONE;
}

static struct kfb_copy *kfb_copy_at(const struct kfb_retain *r, __u64 id)
{
	return &r->copies[(__u32)id & (r->cap - 1)];
}

/* The number of the newest copy of an address's block is here. */
static __u64 *kfb_newest_of(const struct kfb_retain *r, __u64 va)
{
	return &r->newest[(__u32)(va >> KFB_BLOCK_SHIFT) & (r->cap - 1)];
}

/* So many pages would go over the ring's end: they begin at its start. */
static _Bool kfb_retain_wraps(const struct kfb_retain *r, __u32 n)
{
	return n > r->n_pages - r->next_page;
}

static _Bool kfb_retain_is_in_flight(const struct kfb_retain *r, __u64 va,
				     __u64 last)
{
	__u32 i;

	for (i = 0; i < r->n_flight; i++) {
		if (va <= r->flight[i].last && r->flight[i].va <= last)
			return 1;
	}
	return 0;
}

int kfb_retain_add(struct kfb_retain *r, __u64 va, __u32 len, _Bool is_zero,
		   __u64 *id)
{
	__u64 last = va + (len - 1);
	__u32 n = is_zero ? 0 : ((len - 1) >> KFB_RETAIN_PAGE_SHIFT) + 1;
	__u32 skip = kfb_retain_wraps(r, n) ? r->n_pages - r->next_page : 0;
	struct kfb_retain_flight *flight;
	struct kfb_copy *copy;

	if ((va ^ last) >> KFB_BLOCK_SHIFT)
		return -EINVAL;
	if (n > r->n_pages)
		return -EMSGSIZE;
	if (r->n_flight == KFB_RETAIN_FLIGHT_MAX ||
	    kfb_retain_is_in_flight(r, va, last))
		return -EBUSY;
	if (r->head - r->tail == r->cap || skip + n > r->n_pages - r->n_used) {
		r->is_short = 1;
		return -EAGAIN;
	}

	flight = &r->flight[r->n_flight++];
	flight->id = r->head;
	flight->va = va;
	flight->last = last;
	copy = kfb_copy_at(r, r->head);
	copy->va = va;
	copy->done = 0;
	copy->len = len;
	copy->first = kfb_retain_wraps(r, n) ? 0 : r->next_page;
	copy->n_pages = skip + n;
	copy->is_zero = is_zero;
	copy->state = KFB_COPY_POSTED;
	copy->older = *kfb_newest_of(r, va);
	*kfb_newest_of(r, va) = r->head;
	r->n_used += skip + n;
	r->next_page = copy->first + n;
	*id = r->head++;
	return 0;
}

__u32 kfb_retain_page(const struct kfb_retain *r, __u64 id)
{
	return kfb_copy_at(r, id)->first;
}

/* A copy is due while it stands for bytes that a loss may take. */
static _Bool kfb_is_due(const struct kfb_retain *r, const struct kfb_copy *copy)
{
	return copy->state == KFB_COPY_KEPT && copy->done > r->safe;
}

/* What is of no use any more goes, but nothing before what came before it. */
static void kfb_retain_trim(struct kfb_retain *r)
{
	if (r->is_read)
		return;
	while (r->tail < r->head) {
		const struct kfb_copy *copy = kfb_copy_at(r, r->tail);

		if (copy->state == KFB_COPY_POSTED || kfb_is_due(r, copy))
			return;
		if (copy->state == KFB_COPY_KEPT)
			r->bytes -= copy->len;
		r->n_used -= copy->n_pages;
		r->is_short = 0;
		r->tail++;
	}
	/* Any order of sizes fits when nothing is there. */
	r->next_page = 0;
}

static void kfb_retain_land(struct kfb_retain *r, __u64 id)
{
	__u32 i;

	for (i = 0; i < r->n_flight; i++) {
		if (r->flight[i].id != id)
			continue;
		r->flight[i] = r->flight[--r->n_flight];
		return;
	}
}

/* A number that is gone shares its place in the ring with another copy. */
static _Bool kfb_is_in(const struct kfb_retain *r, __u64 id,
		       enum kfb_copy_state state)
{
	return id >= r->tail && id < r->head &&
	       kfb_copy_at(r, id)->state == state;
}

void kfb_retain_done(struct kfb_retain *r, __u64 id)
{
	struct kfb_copy *copy = kfb_copy_at(r, id);

	if (!kfb_is_in(r, id, KFB_COPY_POSTED))
		return;
	kfb_retain_land(r, id);
	copy->state = KFB_COPY_KEPT;
	copy->done = ++r->clock;
	r->bytes += copy->len;
}

void kfb_retain_void(struct kfb_retain *r, __u64 id)
{
	if (!kfb_is_in(r, id, KFB_COPY_POSTED))
		return;
	kfb_retain_land(r, id);
	kfb_copy_at(r, id)->state = KFB_COPY_VOID;
	kfb_retain_trim(r);
}

void kfb_retain_durable(struct kfb_retain *r, __u64 id)
{
	if (!kfb_is_in(r, id, KFB_COPY_KEPT))
		return;
	kfb_copy_at(r, id)->done = 0;
	kfb_retain_trim(r);
}

__u64 kfb_retain_mark(const struct kfb_retain *r)
{
	return r->clock;
}

void kfb_retain_flushed(struct kfb_retain *r, __u64 mark)
{
	if (mark > r->safe)
		r->safe = mark;
	kfb_retain_trim(r);
}

void kfb_retain_drop(struct kfb_retain *r, __u64 va, __u64 len)
{
	__u64 last = va + (len - 1);
	__u64 id;

	for (id = r->tail; id < r->head; id++) {
		struct kfb_copy *copy = kfb_copy_at(r, id);

		if (copy->state != KFB_COPY_KEPT || copy->va < va ||
		    copy->va > last)
			continue;
		copy->state = KFB_COPY_VOID;
		r->bytes -= copy->len;
	}
	kfb_retain_trim(r);
}

_Bool kfb_retain_has(const struct kfb_retain *r, __u64 va, __u64 len)
{
	__u64 last = va + (len - 1);
	__u64 id;

	for (id = r->tail; id < r->head; id++) {
		const struct kfb_copy *copy = kfb_copy_at(r, id);

		if (copy->state != KFB_COPY_VOID && copy->va <= last &&
		    copy->va + (copy->len - 1) >= va)
			return 1;
	}
	return 0;
}

_Bool kfb_retain_is_filling(const struct kfb_retain *r)
{
	if (r->tail == r->head ||
	    kfb_copy_at(r, r->tail)->state == KFB_COPY_POSTED)
		return 0;
	return r->is_short || r->head - r->tail >= r->cap / 2 ||
	       r->n_used >= r->n_pages / 2;
}

/* ---- once more -------------------------------------------------------- */

void kfb_retain_hold(struct kfb_retain *r, _Bool is_read)
{
	r->is_read = is_read;
	kfb_retain_trim(r);
}

int kfb_retain_rewind(struct kfb_retain *r)
{
	__u64 id;

	if (r->n_flight)
		return -EBUSY;
	r->clock++;
	for (id = r->tail; id < r->head; id++) {
		if (kfb_is_due(r, kfb_copy_at(r, id)))
			kfb_copy_at(r, id)->done = r->clock;
	}
	return 0;
}

static void kfb_go_to(struct kfb_retain_cursor *at, __u64 id)
{
	at->id = id;
	at->offset = 0;
	at->len = 0;
}

/*
 * Take what one newer copy has from the bytes at the cursor. They become the
 * first of them that it does not have. When there are none, what is behind them
 * comes next, and is compared with all newer copies again.
 */
static void kfb_cut(const struct kfb_retain *r, struct kfb_retain_cursor *at)
{
	const struct kfb_copy *newer = kfb_copy_at(r, at->newer);
	__u64 end = newer->va + (newer->len - 1);
	__u64 va = kfb_copy_at(r, at->id)->va + at->offset;
	__u64 last = va + (at->len - 1);
	__u32 n;

	at->newer = newer->older;
	if (newer->state != KFB_COPY_KEPT || newer->va > last || end < va)
		return;
	if (newer->va > va) {
		at->len = newer->va - va;
		return;
	}
	n = end < last ? end - va + 1 : at->len;
	at->offset += n;
	at->len -= n;
}

int kfb_retain_next(const struct kfb_retain *r, struct kfb_retain_cursor *at,
		    __u32 steps, struct kfb_retain_piece *piece)
{
	const struct kfb_copy *copy;

	if (at->id < r->tail)
		kfb_go_to(at, r->tail);
	for (; at->id < r->head; steps--) {
		if (!steps)
			return -EAGAIN;
		copy = kfb_copy_at(r, at->id);
		if (!kfb_is_due(r, copy) || at->offset >= copy->len) {
			kfb_go_to(at, at->id + 1);
			continue;
		}
		/* A copy that came meanwhile is newer than all in the list. */
		if (!at->len || at->head != r->head) {
			at->len = copy->len - at->offset;
			at->newer = *kfb_newest_of(r, copy->va);
			at->head = r->head;
		}
		/* Numbers fall along the list: none behind the copy is newer. */
		if (at->newer <= at->id) {
			piece->id = at->id;
			piece->offset = at->offset;
			piece->va = copy->va + at->offset;
			piece->len = at->len;
			piece->is_zero = copy->is_zero;
			return 1;
		}
		kfb_cut(r, at);
	}
	return 0;
}

void kfb_retain_took(struct kfb_retain_cursor *at, __u32 len)
{
	at->offset += len;
	at->len -= len;
}
