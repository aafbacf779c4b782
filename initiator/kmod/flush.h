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

#include "kfb_engine.h"
#include "kfb_fate.h"
#include "kfb_flush.h"

struct kfbk_device;
struct kfbk_queue;
struct request;

/**
 * struct kfbk_flush - somebody waits for a flush
 * @node: in dev->flushing
 * @ticket: which ops it waits for
 * @only: the queue it is about, or -1: all
 * @waits: it is to be started when the session is usable
 * @mark: which retained copies it makes superfluous
 * @rq: the request that ends with it, or NULL
 * @finished: else this is completed
 * @error: of the flush, when it is over
 */
struct kfbk_flush {
	struct list_head node;
	struct kfb_flush_ticket ticket;
	int only;
	bool waits;
	u64 mark;
	struct request *rq;
	struct completion finished;
	int error;
};

/* How writes become durable in this session: dev->flush_mode. */
int kfbk_flush_choose_mode(struct kfbk_device *dev);
/* Context: dev->lock is held. */
void kfbk_flush_start(struct kfbk_device *dev, struct kfbk_flush *flush);
void kfbk_flush_pump(struct kfbk_device *dev);
void kfbk_flush_done(struct kfbk_queue *q, u64 id, int error);
/* What became of a FLUSH request, also of one that nobody waits for any more. */
void kfbk_flush_answered(struct kfbk_queue *q,
			 const struct kfb_outcome *outcome);
void kfbk_flush_lost(struct kfbk_queue *q);
void kfbk_flush_fate(struct kfbk_queue *q, enum kfb_fate fate);
void kfbk_flush_anew(struct kfbk_device *dev);
void kfbk_flush_fail_all(struct kfbk_device *dev, int error);
/* Completed writes are lost: from now on nothing is durable. */
void kfbk_lost_writes(struct kfbk_device *dev, const struct kfb_dirty *writes,
		      u32 why);
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
