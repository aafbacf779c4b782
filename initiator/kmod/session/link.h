/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: the way to the brick: its session, queues and messages.
 */
#ifndef KFBRICK_LINK_H
#define KFBRICK_LINK_H

#include "../device/device.h"

/* messages.c */
void kfbk_completed(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
		    void *context);
/* Parts of the port; dev->lock is held. */
int kfbk_send(struct kfb_initiator_queue *core,
	      const struct kfb_message *message);
int kfbk_post_receive(struct kfb_initiator_queue *core, u16 index);

/* fabric.c */
int kfbk_fabric_open(struct kfbk_device *dev);
void kfbk_fabric_close(struct kfbk_device *dev);
/* Context: process, of the session work. */
int kfbk_queue_connect(struct kfbk_queue *q, const u8 *hello, u32 len);
void kfbk_queue_close(struct kfbk_queue *q);
int kfbk_queue_init(struct kfbk_device *dev, u32 index);
void kfbk_queue_fini(struct kfbk_queue *q);

/* session.c */
int kfbk_session_init(struct kfbk_device *dev);
/* The first session: 0, or why there is none. Context: process. */
int kfbk_session_start(struct kfbk_device *dev);
/* Disconnect, no more; every request fails. Context: process. */
void kfbk_session_leave(struct kfbk_device *dev);
/* Leave, and wait until all works of the device are over. Context: process. */
void kfbk_session_stop(struct kfbk_device *dev);
void kfbk_session_fini(struct kfbk_device *dev);

#endif /* KFBRICK_LINK_H */
