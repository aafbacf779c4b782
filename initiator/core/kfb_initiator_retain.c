// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Copies come and go: with writes, and with flushes.
 */
#include <linux/errno.h>
#include "kfb_initiator_priv.h"
#include "kfb_initiator_retain.h"

void kfb_initiator_retain_open(struct kfb_initiator *i, struct kfb_copy *copies,
			       __u64 *newest, __u32 cap, __u32 n_pages)
{
	struct kfb_initiator_retain *t = &i->retain;

	kfb_retain_init(&t->book, copies, newest, cap, n_pages);
	t->flush.only = KFB_INITIATOR_ALL_QUEUES;
	t->flush.copy = KFB_RETAIN_NONE;
	t->is_on = 1;
	i->retains = 1;
}

int kfb_initiator_copy(struct kfb_initiator *i, __u64 va, __u32 len,
		       _Bool is_zero, __u64 *copy, __u32 *page)
{
	struct kfb_initiator_retain *t = &i->retain;
	int rc;

	rc = kfb_retain_add(&t->book, va, len, is_zero, copy);
	if (!rc && !is_zero)
		*page = kfb_retain_page(&t->book, *copy);
	t->n_waits += rc == -EAGAIN;
	t->is_wanted |= rc == -EAGAIN || rc == -EBUSY;
	return rc;
}

/* Who found no room is told once. The copies' lock is held. */
static __u32 kfb_initiator_take_wanted(struct kfb_initiator_retain *t)
{
	__u32 wanted = t->is_wanted ? KFB_COPY_WANTED : 0;

	t->is_wanted = 0;
	return wanted;
}

__u32 kfb_initiator_copy_over(struct kfb_initiator *i, __u64 copy,
			      enum kfb_copy_end end)
{
	struct kfb_initiator_retain *t = &i->retain;
	__u32 bits;

	if (copy == KFB_RETAIN_NONE)
		return 0;
	if (end == KFB_COPY_END_VOID)
		kfb_retain_void(&t->book, copy);
	else
		kfb_retain_done(&t->book, copy);
	if (end == KFB_COPY_END_DURABLE)
		kfb_retain_durable(&t->book, copy);
	bits = kfb_initiator_take_wanted(t);
	if (end != KFB_COPY_END_VOID && !t->is_flushing &&
	    kfb_retain_is_filling(&t->book))
		bits |= KFB_COPY_FILLS;
	if (!t->book.n_flight && i->replay_due)
		bits |= KFB_COPY_IDLE;
	return bits;
}

void kfb_initiator_retain_pump(struct kfb_initiator *i)
{
	struct kfb_initiator_retain *t = &i->retain;
	_Bool begins;

	if (!t->is_on)
		return;
	kfb_initiator_lock_copies(i);
	begins = !t->is_flushing && kfb_retain_is_filling(&t->book);
	t->is_flushing |= begins;
	t->n_flushes += begins;
	kfb_initiator_unlock_copies(i);
	if (begins)
		kfb_initiator_flush(i, &t->flush);
}

__u64 kfb_initiator_retain_mark(struct kfb_initiator *i)
{
	__u64 mark;

	if (!i->retain.is_on)
		return 0;
	kfb_initiator_lock_copies(i);
	mark = kfb_retain_mark(&i->retain.book);
	kfb_initiator_unlock_copies(i);
	return mark;
}

void kfb_initiator_retain_flushed(struct kfb_initiator *i,
				  const struct kfb_initiator_flush *flush)
{
	struct kfb_initiator_retain *t = &i->retain;
	__u32 wanted;

	if (!t->is_on)
		return;
	kfb_initiator_lock_copies(i);
	if (!flush->error && flush->copy != KFB_RETAIN_NONE)
		kfb_retain_durable(&t->book, flush->copy);
	if (flush->only < 0) {
		t->error = flush->error;
		if (!flush->error)
			kfb_retain_flushed(&t->book, flush->mark);
	}
	if (flush == &t->flush)
		t->is_flushing = 0;
	wanted = kfb_initiator_take_wanted(t);
	kfb_initiator_unlock_copies(i);
	if (wanted && i->ops->copies_may_fit)
		i->ops->copies_may_fit(i);
}

_Bool kfb_initiator_retain_has(struct kfb_initiator *i, __u64 va, __u64 len)
{
	_Bool has;

	if (!i->retain.is_on)
		return 0;
	kfb_initiator_lock_copies(i);
	has = kfb_retain_has(&i->retain.book, va, len);
	kfb_initiator_unlock_copies(i);
	return has;
}

void kfb_initiator_retain_drop(struct kfb_initiator *i, __u64 va, __u64 len)
{
	if (!i->retain.is_on)
		return;
	kfb_initiator_lock_copies(i);
	kfb_retain_drop(&i->retain.book, va, len);
	kfb_initiator_unlock_copies(i);
}
