/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: the way to the brick: its session, queues, messages, and calls.
 */
#ifndef KFBRICK_LINK_H
#define KFBRICK_LINK_H

#include "device.h"

/* calls.c */

/**
 * kfbk_call - one request, and its answer
 * @dev: the device
 * @call: core.req and core.reply are filled in
 *
 * Waits until the session can take it. A request whose answer was lost with its
 * session is not sent again.
 *
 * Context: process, not the session work.
 * Return: what the brick answered; -ETIMEDOUT no answer in time; -ECONNRESET
 * lost, outcome unknown, or the session is over.
 */
int kfbk_call(struct kfbk_device *dev, struct kfbk_call *call);
/* Part of the port. */
void kfbk_call_done(struct kfb_initiator *i, struct kfb_initiator_call *call);
/* A request about blocks, which has no reply of its own; as kfbk_call(). */
int kfbk_call_range(struct kfbk_device *dev, u16 op, u64 block, u64 n);
/* May another try go better, after the way back to the brick? Then wait. */
bool kfbk_range_may_pass(struct kfbk_device *dev, int error, int tries);
/* FREE some blocks, again while another try may go better. */
int kfbk_free_run(struct kfbk_device *dev, u64 first, u64 n);

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
