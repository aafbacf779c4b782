// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: event queues.
 *
 * Locking: eq->lock protects the list and the events' notifying flag; irq-safe.
 * Lifetime: event memory is the endpoint's or the connection request's. An
 * event is "notifying" from kfi_eq_queue() until kfi_eq_notify() has called
 * the handler; closing an endpoint waits for that (kfi_eq_wait()), so that
 * neither it nor the queue is freed under the handler.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "core.h"
#include "trace.h"

void kfi_event_set(struct kfi_event *ev, u32 event, struct kfid *fid,
		   const void *data, size_t len)
{
	ev->event = event;
	ev->fid = fid;
	ev->hold = NULL;
	ev->info = NULL;
	ev->err = 0;
	ev->prov_errno = 0;
	ev->data_len = min_t(size_t, len, FI_CM_DATA_MAX);
	if (ev->data_len)
		memcpy(ev->data, data, ev->data_len);
}

void kfi_eq_queue(struct fid_eq *eq, struct kfi_event *ev)
{
	unsigned long irq;

	trace_kfabric_event(ev);
	spin_lock_irqsave(&eq->lock, irq);
	ev->notifying = true;
	list_add_tail(&ev->node, &eq->events);
	spin_unlock_irqrestore(&eq->lock, irq);
	atomic_long_inc(&eq->nr_events);
}

void kfi_eq_notify(struct fid_eq *eq, struct kfi_event *ev)
{
	unsigned long irq;

	if (eq->attr.handler)
		eq->attr.handler(eq, eq->fid.context);
	/* Without the queue's lock: who waits may read the queue under that of the object. */
	if (eq->attr.wait_obj)
		wake_up_all(eq->attr.wait_obj);
	spin_lock_irqsave(&eq->lock, irq);
	ev->notifying = false;
	/* A waiter may free the queue as soon as it has the lock. */
	wake_up_all(&eq->wait);
	spin_unlock_irqrestore(&eq->lock, irq);
}

void kfi_eq_wait(struct fid_eq *eq, struct kfi_event *ev)
{
	spin_lock_irq(&eq->lock);
	wait_event_lock_irq(eq->wait, !ev->notifying, eq->lock);
	spin_unlock_irq(&eq->lock);
}

/* Drop the unread events that name fid, or all of them if it is NULL. */
void kfi_eq_forget(struct fid_eq *eq, struct kfid *fid)
{
	struct kfi_event *ev, *next;
	LIST_HEAD(gone);

	spin_lock_irq(&eq->lock);
	list_for_each_entry_safe(ev, next, &eq->events, node)
		if (!fid || ev->fid == fid)
			list_move_tail(&ev->node, &gone);
	spin_unlock_irq(&eq->lock);
	list_for_each_entry_safe(ev, next, &gone, node) {
		struct kfid *hold = ev->hold;

		list_del_init(&ev->node);
		kfabric_freeinfo(ev->info);
		if (hold)
			kfi_obj_put(hold);
	}
}

/* The first event, if it is of the kind that is wanted. */
static struct kfi_event *kfi_eq_peek_locked(struct fid_eq *eq, bool failures,
					    ssize_t *ret)
{
	struct kfi_event *ev;

	lockdep_assert_held(&eq->lock);
	ev = list_first_entry_or_null(&eq->events, struct kfi_event, node);
	if (ev && !!ev->err == failures)
		return ev;
	*ret = ev && !failures ? -FI_EAVAIL : -FI_EAGAIN;
	return NULL;
}

ssize_t kfabric_eq_read(struct fid_eq *eq, u32 *event, void *buf, size_t len)
{
	struct fi_eq_cm_entry *entry = buf;
	struct kfid *hold = NULL;
	struct kfi_event *ev;
	unsigned long irq;
	ssize_t ret;

	spin_lock_irqsave(&eq->lock, irq);
	ev = kfi_eq_peek_locked(eq, false, &ret);
	if (ev && len < sizeof(*entry) + ev->data_len) {
		ret = -FI_ETOOSMALL;
	} else if (ev) {
		ret = sizeof(*entry) + ev->data_len;
		*event = ev->event;
		entry->fid = ev->fid;
		entry->info = ev->info;
		memcpy(entry->data, ev->data, ev->data_len);
		hold = ev->hold;
		list_del_init(&ev->node);
	}
	spin_unlock_irqrestore(&eq->lock, irq);
	/* This reference is not the last one: the info holds the request, too. */
	if (hold)
		kfi_obj_put(hold);
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_eq_read);

ssize_t kfabric_eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *buf)
{
	struct kfi_event *ev;
	unsigned long irq;
	ssize_t ret;

	spin_lock_irqsave(&eq->lock, irq);
	ev = kfi_eq_peek_locked(eq, true, &ret);
	if (ev) {
		ret = sizeof(*buf);
		buf->fid = ev->fid;
		buf->context = ev->fid->context;
		buf->err = ev->err;
		buf->prov_errno = ev->prov_errno;
		buf->err_data_size = ev->data_len;
		memcpy(buf->err_data, ev->data, ev->data_len);
		list_del_init(&ev->node);
	}
	spin_unlock_irqrestore(&eq->lock, irq);
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_eq_readerr);

ssize_t kfabric_eq_sread(struct fid_eq *eq, u32 *event, void *buf, size_t len,
			 int timeout_ms)
{
	ssize_t ret = -FI_EAGAIN;
	long left;

	might_sleep();
	left = timeout_ms < 0 ? MAX_SCHEDULE_TIMEOUT
			      : msecs_to_jiffies(timeout_ms);
	left = wait_event_interruptible_timeout(
		eq->wait,
		(ret = kfabric_eq_read(eq, event, buf, len)) != -FI_EAGAIN,
		left);
	return ret == -FI_EAGAIN && left < 0 ? -EINTR : ret;
}
EXPORT_SYMBOL_GPL(kfabric_eq_sread);

int kfabric_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		    struct fid_eq **eq, void *context)
{
	struct fid_eq *new;
	int ret;

	if (READ_ONCE(fabric->fid.dead))
		return -ENODEV;
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	if (attr)
		new->attr = *attr;
	spin_lock_init(&new->lock);
	INIT_LIST_HEAD(&new->events);
	init_waitqueue_head(&new->wait);
	ret = kfi_obj_init(&new->fid, FI_CLASS_EQ, fabric->fid.prov,
			   &fabric->fid, &kfi_plain_ops, context);
	if (ret)
		kfree(new);
	else
		*eq = new;
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_eq_open);
