/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: requests of the control protocol; see calls.c.
 */
#ifndef KFBRICK_CALLS_H
#define KFBRICK_CALLS_H

#include "session/kfb_refusal.h"
#include "device.h"

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
/* May another try of MAP, ALLOC or FREE go better, after the way back to the brick? Then wait. */
bool kfbk_range_may_pass(struct kfbk_device *dev, u16 op, int error,
			 enum kfb_patience who, int tries);
/* Nobody knows whether what was asked for has been done. */
static inline bool kfbk_is_in_doubt(int error)
{
	return error == -ECONNRESET || error == -ETIMEDOUT;
}

/**
 * kfbk_free_run - FREE some blocks, again while another try may go better
 * @dev: the device
 * @first: number of the first block
 * @n: blocks
 * @session_id: in that session alone; 0: in any
 *
 * A try whose outcome nobody knows is the last one: meanwhile others may get the
 * blocks. Context: process.
 * Return: 0; -ENOENT: one of them at least is not there, and none was freed; or
 * another error.
 */
int kfbk_free_run(struct kfbk_device *dev, u64 first, u64 n, u64 session_id);

#endif /* KFBRICK_CALLS_H */
