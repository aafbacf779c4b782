// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: completion queues.
 *
 * A queue whose entries are read is a list through the operations' own memory, so it
 * cannot overflow and adding to it cannot fail. A queue with an upcall for each
 * completion stores nothing.
 *
 * Locking: cq->lock protects the list; irq-safe; kfi_post_ep.lock is taken under
 *	it.
 * Lifetime: entries belong to the queue until read, or until it is closed;
 * those of fi_inject() and of messages of a receive of several are endpoint memory
 * and go with the endpoint.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "core.h"
#include "trace.h"

/* Bytes of an entry; each format's is the beginning of the largest one. */
static const u8 kfi_cq_entry_bytes[FI_CQ_FORMATS] = {
	[FI_CQ_FORMAT_UNSPEC] = sizeof(struct fi_cq_data_entry),
	[FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
	[FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
	[FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
	[FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
};
static_assert(offsetof(struct fi_cq_msg_entry, len) ==
	      offsetof(struct fi_cq_tagged_entry, len));
static_assert(offsetof(struct fi_cq_data_entry, buf) ==
	      offsetof(struct fi_cq_tagged_entry, buf));
static_assert(offsetof(struct fi_cq_data_entry, data) ==
	      offsetof(struct fi_cq_tagged_entry, data));

bool kfi_comp_suppressed(const struct fid_ep *ep, const struct kfi_comp *comp)
{
	const struct fi_cq_err_entry *e = &comp->entry;

	if (e->err || (e->flags & FI_MULTI_RECV))
		return false;
	if (e->flags & KFI_RX_FLAGS)
		return ep->rx_selective && !(comp->op_flags & FI_COMPLETION);
	return !e->op_context ||
	       (ep->tx_selective && !(comp->op_flags & FI_COMPLETION));
}

/* The operation memory may be the caller's when this returns. */
static void kfi_cq_deliver(struct fid_cq *cq, struct kfi_comp *comp)
{
	struct fi_cq_err_entry entry;
	unsigned long irq;
	bool was_empty;

	if (cq->attr.comp_handler) {
		entry = comp->entry;
		cq->attr.comp_handler(cq, &entry, cq->fid.context);
		return;
	}
	spin_lock_irqsave(&cq->lock, irq);
	was_empty = list_empty(&cq->done);
	list_add_tail(&comp->node, &cq->done);
	cq->nr_done++;
	spin_unlock_irqrestore(&cq->lock, irq);
	wake_up_all(cq->waiters);
	if (was_empty && cq->attr.ready_handler)
		cq->attr.ready_handler(cq, cq->fid.context);
}

void kfi_ep_complete(struct fid_ep *ep, struct kfi_comp *comp)
{
	const struct fi_cq_err_entry *e = &comp->entry;
	struct fid_cq *cq = e->flags & KFI_RX_FLAGS ? ep->rx_cq : ep->tx_cq;
	u64 flags = e->flags;
	int err = e->err;

	trace_kfabric_complete(ep, e);
	atomic_long_inc(&ep->nr_done);
	if (err)
		atomic_long_inc(&ep->nr_failed);
	if (!kfi_comp_suppressed(ep, comp)) {
		atomic_long_inc(&cq->nr_comp);
		if (err)
			atomic_long_inc(&cq->nr_err);
		comp->ep = ep;
		kfi_cq_deliver(cq, comp);
	}
	/* Who has waited for the counter finds the completion in its queue. */
	if (flags & ep->cntr_kinds)
		kfi_cntr_count(ep, flags, err);
}
EXPORT_SYMBOL_GPL(kfi_ep_complete);

void kfi_trace_post(struct fid_ep *ep, const struct kfi_comp *comp)
{
	atomic_long_inc(&ep->nr_posts);
	atomic_long_add(comp->entry.len, &ep->nr_bytes);
	trace_kfabric_post(ep, comp);
}
EXPORT_SYMBOL_GPL(kfi_trace_post);

/* ---- reading ---------------------------------------------------------- */

static struct kfi_comp *kfi_cq_first_locked(struct fid_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	return list_first_entry_or_null(&cq->done, struct kfi_comp, node);
}

static void kfi_cq_take_locked(struct fid_cq *cq, struct kfi_comp *comp)
{
	lockdep_assert_held(&cq->lock);
	list_del(&comp->node);
	cq->nr_done--;
}

/* Is it in memory of the endpoint? Of a failed fi_inject(), or of a message. */
static bool kfi_comp_is_lent(const struct kfi_comp *comp)
{
	return !comp->entry.op_context || comp->is_part;
}

/* The queue's lock keeps the endpoint: see kfi_cq_forget(). */
static void kfi_cq_give_back_locked(struct kfi_comp *comp)
{
	if (kfi_comp_is_lent(comp) && comp->ep->comp_read)
		comp->ep->comp_read(comp->ep, comp);
}

ssize_t kfabric_cq_read(struct fid_cq *cq, void *buf, size_t count,
			fi_addr_t *src_addr)
{
	const size_t bytes = kfi_cq_entry_bytes[cq->attr.format];
	struct fi_cq_tagged_entry entry;
	struct kfi_comp *comp;
	unsigned long irq;
	size_t n = 0;

	if (cq->attr.comp_handler)
		return -EOPNOTSUPP;
	if (list_empty(&cq->done) && KFI_HAS_OP(cq->ops, progress))
		cq->ops->progress(cq);
	spin_lock_irqsave(&cq->lock, irq);
	while (n < count && (comp = kfi_cq_first_locked(cq)) &&
	       !comp->entry.err) {
		if (src_addr)
			src_addr[n] = comp->entry.src_addr;
		entry = (struct fi_cq_tagged_entry){
			.op_context = comp->entry.op_context,
			.flags = comp->entry.flags,
			.len = comp->entry.len,
			.buf = comp->entry.buf,
			.data = comp->entry.data,
			.tag = comp->entry.tag,
		};
		memcpy(buf + n++ * bytes, &entry, bytes);
		kfi_cq_take_locked(cq, comp);
		kfi_cq_give_back_locked(comp);
	}
	comp = kfi_cq_first_locked(cq);
	spin_unlock_irqrestore(&cq->lock, irq);
	if (n)
		return n;
	return comp ? -FI_EAVAIL : -FI_EAGAIN;
}
EXPORT_SYMBOL_GPL(kfabric_cq_read);

ssize_t kfabric_cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *buf)
{
	ssize_t ret = -FI_EAGAIN;
	struct kfi_comp *comp;
	unsigned long irq;

	if (cq->attr.comp_handler)
		return -EOPNOTSUPP;
	spin_lock_irqsave(&cq->lock, irq);
	comp = kfi_cq_first_locked(cq);
	if (comp && comp->entry.err) {
		*buf = comp->entry;
		kfi_cq_take_locked(cq, comp);
		kfi_cq_give_back_locked(comp);
		ret = 1;
	}
	spin_unlock_irqrestore(&cq->lock, irq);
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_cq_readerr);

/* Was there a fi_cq_signal()? The answer is given once. */
static bool kfi_cq_take_signal(struct fid_cq *cq)
{
	unsigned long irq;
	bool was;

	spin_lock_irqsave(&cq->lock, irq);
	was = cq->signaled;
	cq->signaled = false;
	spin_unlock_irqrestore(&cq->lock, irq);
	return was;
}

ssize_t kfabric_cq_sread(struct fid_cq *cq, void *buf, size_t count,
			 fi_addr_t *src_addr, int timeout_ms)
{
	ssize_t ret = -FI_EAGAIN;
	long left;

	might_sleep();
	left = timeout_ms < 0 ? MAX_SCHEDULE_TIMEOUT
			      : msecs_to_jiffies(timeout_ms);
	left = wait_event_interruptible_timeout(
		*cq->waiters,
		(ret = kfabric_cq_read(cq, buf, count, src_addr)) !=
				-FI_EAGAIN ||
			kfi_cq_take_signal(cq),
		left);
	return ret == -FI_EAGAIN && left < 0 ? -EINTR : ret;
}
EXPORT_SYMBOL_GPL(kfabric_cq_sread);

void kfabric_cq_signal(struct fid_cq *cq)
{
	unsigned long irq;

	spin_lock_irqsave(&cq->lock, irq);
	cq->signaled = true;
	spin_unlock_irqrestore(&cq->lock, irq);
	wake_up_all(cq->waiters);
}
EXPORT_SYMBOL_GPL(kfabric_cq_signal);

/* ---- closing ---------------------------------------------------------- */

/* Drop entries that live in the memory of an endpoint that is closed. */
void kfi_cq_forget(struct fid_cq *cq, struct fid_ep *ep)
{
	struct kfi_comp *comp, *next;

	spin_lock_irq(&cq->lock);
	list_for_each_entry_safe(comp, next, &cq->done, node)
		if (comp->ep == ep && kfi_comp_is_lent(comp))
			kfi_cq_take_locked(cq, comp);
	spin_unlock_irq(&cq->lock);
}

/* Give back the operation memory of everything that was not read. */
void kfi_cq_drop(struct fid_cq *cq)
{
	struct kfi_comp *comp;

	spin_lock_irq(&cq->lock);
	while ((comp = kfi_cq_first_locked(cq)))
		kfi_cq_take_locked(cq, comp);
	spin_unlock_irq(&cq->lock);
}

/* ---- a provider's queue that is nothing but ours ----------------------- */

int kfi_plain_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		      struct fid_cq **cq, void *context)
{
	struct fid_cq *new = kzalloc(sizeof(*new), GFP_KERNEL);
	int ret;

	if (!new)
		return -ENOMEM;
	ret = kfi_cq_init(new, domain, &kfi_plain_ops, NULL, attr, context);
	if (ret)
		kfree(new);
	else
		*cq = new;
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_plain_cq_open);
