/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: who waits for a flush, and what flush.c does.
 *
 * Context, locking, lifetime: kfbrick.h.
 */
#ifndef KFBRICK_FLUSH_H
#define KFBRICK_FLUSH_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/types.h>

#include "kfb_initiator.h"

struct kfbk_device;
struct kfbk_queue;
struct request;

/**
 * struct kfbk_flush - somebody waits for a flush
 * @core: what the core knows of it
 * @rq: the request that ends with it, or NULL
 * @finished: else this is completed
 */
struct kfbk_flush {
	struct kfb_initiator_flush core;
	struct request *rq;
	struct completion finished;
};

/* Context: dev->lock is held. @core.only, @rq and @finished are filled in. */
void kfbk_flush_start(struct kfbk_device *dev, struct kfbk_flush *flush);

/* Parts of the port; dev->lock is held. */
bool kfbk_flush_can_commit(struct kfb_initiator *i);
bool kfbk_flush_can_read_back(struct kfb_initiator *i);
int kfbk_flush_locate(struct kfb_initiator *i, const struct kfb_flush_range *at,
		      struct kfb_initiator_place *place);
int kfbk_flush_locate_any(struct kfb_initiator *i, u64 *va);
int kfbk_flush_read_back(struct kfb_initiator_queue *core, u32 place, u64 id,
			 const struct kfb_initiator_place *from, u32 len);
void kfbk_flush_posted(struct kfb_initiator_queue *core,
		       const struct kfb_flush_op *op, int error);
void kfbk_flush_done(struct kfb_initiator *i, struct kfb_initiator_flush *core,
		     int error);
struct kfb_flush_range kfbk_flush_take_back(struct kfb_initiator *i,
					    struct kfb_initiator_flush *core);
void kfbk_flush_writes_lost(struct kfb_initiator *i,
			    const struct kfb_dirty *writes);

/* Is there anything that may not be durable? Context: process. */
bool kfbk_flush_is_needed(struct kfbk_device *dev);

/**
 * kfbk_flush_sync - make durable everything that was written
 * @dev: the device
 * @since: gets what kfbk_flush_holds() wants to know; or NULL
 *
 * Context: process.
 * Return: 0, or why not.
 */
int kfbk_flush_sync(struct kfbk_device *dev, u64 *since);

/* No flush has been @since. */
#define KFBK_FLUSH_NEVER (~(u64)0)

/**
 * kfbk_flush_holds - is what was flushed then still as durable?
 * @dev: the device
 * @since: from kfbk_flush_sync(), or KFBK_FLUSH_NEVER
 *
 * If nothing was written to it: but when a connection has ended since, copies
 * may have been written again.
 *
 * Context: dev->lock is held, by kfbk_lock_settled().
 * Return: true when it is.
 */
bool kfbk_flush_holds(const struct kfbk_device *dev, u64 since);

#endif /* KFBRICK_FLUSH_H */
