/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the initiator's files share and nobody else needs.
 */
#ifndef KFB_INITIATOR_PRIV_H
#define KFB_INITIATOR_PRIV_H

#include "kfb_initiator.h"

static inline void kfb_initiator_lock(struct kfb_initiator_queue *q)
{
	if (q->initiator->ops->lock_queue)
		q->initiator->ops->lock_queue(q);
}

static inline void kfb_initiator_unlock(struct kfb_initiator_queue *q)
{
	if (q->initiator->ops->unlock_queue)
		q->initiator->ops->unlock_queue(q);
}

static inline void kfb_initiator_lock_copies(struct kfb_initiator *i)
{
	if (i->ops->lock_copies)
		i->ops->lock_copies(i);
}

static inline void kfb_initiator_unlock_copies(struct kfb_initiator *i)
{
	if (i->ops->unlock_copies)
		i->ops->unlock_copies(i);
}

static inline struct kfb_engine *
kfb_initiator_engine(const struct kfb_initiator_queue *q)
{
	return &q->initiator->client.queues[q->index].engine;
}

/* Start a request of nobody or somebody, and send it; as kfb_engine_start(). */
int kfb_initiator_start(struct kfb_initiator_queue *q,
			const struct kfb_request *req, void *owner,
			__u16 *slot);
/* In order: what waits goes first. */
void kfb_initiator_send(struct kfb_initiator_queue *q,
			const struct kfb_message *message);
/* What became of a request of a queue, also of one that nobody waits for. */
void kfb_initiator_answered(struct kfb_initiator_queue *q,
			    const struct kfb_outcome *outcome);
/* What became of a FLUSH of a queue. */
void kfb_initiator_flush_answered(struct kfb_initiator_queue *q,
				  const struct kfb_outcome *outcome);
/* A FLUSH that has waited for room for as long as it may is as one without an answer. */
void kfb_initiator_flushes_due(struct kfb_initiator *i);
/* How writes become durable in the new session: 0, or it is of no use. */
int kfb_initiator_choose_flush(struct kfb_initiator *i);
/* The endpoint of a queue is closed: no flush of it proves anything now. */
void kfb_initiator_flush_lost(struct kfb_initiator_queue *q);
/* What has become of the writes of a queue that were not flushed. */
void kfb_initiator_validate(struct kfb_initiator_queue *q, enum kfb_fate fate);
/* The mark of a flush that begins: which copies it will make superfluous. */
__u64 kfb_initiator_retain_mark(struct kfb_initiator *i);
/* A flush is over: copies go, and who found no room for one may try again. */
void kfb_initiator_retain_flushed(struct kfb_initiator *i,
				  const struct kfb_initiator_flush *flush);
/* Nobody will ever answer: those who wait for a flush are told. */
void kfb_initiator_end_flushes(struct kfb_initiator *i);

#endif
