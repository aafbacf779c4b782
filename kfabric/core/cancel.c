// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: sends that can be canceled: see kfi_cancel.h.
 */
#include <linux/export.h>

#include <kfabric/kfi_cancel.h>

void kfi_send_add(struct kfi_send *send, const struct kfi_op *op,
		  struct list_head *sends)
{
	send->op = op;
	send->begun = false;
	send->canceled = false;
	list_add_tail(&send->node, sends);
}
EXPORT_SYMBOL_GPL(kfi_send_add);

int kfi_send_cancel(struct list_head *sends, const struct kfi_op *op)
{
	struct kfi_send *send;

	list_for_each_entry(send, sends, node) {
		if (send->op != op)
			continue;
		if (send->begun)
			break;
		send->canceled = true;
		return 0;
	}
	return -ENOENT;
}
EXPORT_SYMBOL_GPL(kfi_send_cancel);

bool kfi_send_begin(struct kfi_post_ep *post, struct kfi_send *send)
{
	unsigned long irq;
	bool yes;

	spin_lock_irqsave(&post->lock, irq);
	yes = !send->canceled;
	send->begun = yes;
	spin_unlock_irqrestore(&post->lock, irq);
	return yes;
}
EXPORT_SYMBOL_GPL(kfi_send_begin);

void kfi_send_begin_undo(struct kfi_post_ep *post, struct kfi_send *send)
{
	unsigned long irq;

	spin_lock_irqsave(&post->lock, irq);
	send->begun = false;
	spin_unlock_irqrestore(&post->lock, irq);
}
EXPORT_SYMBOL_GPL(kfi_send_begin_undo);

bool kfi_send_is_canceled(struct kfi_post_ep *post, const struct kfi_send *send)
{
	unsigned long irq;
	bool yes;

	spin_lock_irqsave(&post->lock, irq);
	yes = send->canceled;
	spin_unlock_irqrestore(&post->lock, irq);
	return yes;
}
EXPORT_SYMBOL_GPL(kfi_send_is_canceled);

int kfi_send_end(struct kfi_post_ep *post, struct kfi_send *send, int err)
{
	unsigned long irq;

	spin_lock_irqsave(&post->lock, irq);
	list_del(&send->node);
	if (send->canceled)
		err = ECANCELED;
	spin_unlock_irqrestore(&post->lock, irq);
	return err;
}
EXPORT_SYMBOL_GPL(kfi_send_end);
