// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: sends that can be canceled: see kfi_cancel.h.
 */
#include <linux/atomic.h>
#include <linux/export.h>

#include <kfabric/kfi_cancel.h>

void kfi_send_add(struct kfi_send *send, struct kfi_op *op,
		  struct list_head *sends)
{
	send->op = op;
	send->state = KFI_SEND_WAITS;
	list_add_tail(&send->node, sends);
}
EXPORT_SYMBOL_GPL(kfi_send_add);

int kfi_send_cancel(struct list_head *sends, const struct kfi_op *op)
{
	struct kfi_send *send;

	list_for_each_entry(send, sends, node) {
		if (send->op != op)
			continue;
		if (cmpxchg(&send->state, KFI_SEND_WAITS, KFI_SEND_CANCELED) ==
		    KFI_SEND_BEGUN)
			break;
		return 0;
	}
	return -ENOENT;
}
EXPORT_SYMBOL_GPL(kfi_send_cancel);

bool kfi_send_begin(struct kfi_send *send)
{
	return cmpxchg(&send->state, KFI_SEND_WAITS, KFI_SEND_BEGUN) !=
	       KFI_SEND_CANCELED;
}
EXPORT_SYMBOL_GPL(kfi_send_begin);

void kfi_send_begin_undo(struct kfi_send *send)
{
	cmpxchg(&send->state, KFI_SEND_BEGUN, KFI_SEND_WAITS);
}
EXPORT_SYMBOL_GPL(kfi_send_begin_undo);

void kfi_send_revoke(struct kfi_send *send)
{
	WRITE_ONCE(send->state, KFI_SEND_CANCELED);
}
EXPORT_SYMBOL_GPL(kfi_send_revoke);

bool kfi_send_is_canceled(const struct kfi_send *send)
{
	return READ_ONCE(send->state) == KFI_SEND_CANCELED;
}
EXPORT_SYMBOL_GPL(kfi_send_is_canceled);
