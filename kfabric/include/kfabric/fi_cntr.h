/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: counters.
 *
 * A counter counts the operations of endpoints that are over: those that succeeded and
 * those that failed, each kind for itself, also those whose success no queue tells
 * (FI_SELECTIVE_COMPLETION, fi_inject()). Who only has to know how many are over waits
 * for that, and leaves completions unreported. Who has read a value sees what the
 * operations that it counts have done to memory.
 */
#ifndef KFABRIC_FI_CNTR_H
#define KFABRIC_FI_CNTR_H

#include <linux/atomic.h>
#include <linux/wait.h>

#include <kfabric/fabric.h>
#include <kfabric/fi_domain.h>

/**
 * enum fi_cntr_events - what is counted
 * @FI_CNTR_EVENTS_COMP: operations that are over
 */
enum fi_cntr_events {
	FI_CNTR_EVENTS_COMP,
};

/**
 * struct fi_cntr_attr - attributes of a counter
 * @events: what it counts
 * @flags: 0
 * @wait_obj: the caller's wait object, as in &struct fi_cq_attr, or NULL; it is woken when
 *	either value has changed
 */
struct fi_cntr_attr {
	enum fi_cntr_events events;
	u64 flags;
	struct wait_queue_head *wait_obj;
};

/**
 * struct fid_cntr - counter
 * @fid: base
 * @domain: where it was opened
 */
struct fid_cntr {
	struct kfid fid;
	struct fid_domain *domain;
	/* private: core */
	atomic64_t done;
	atomic64_t failed;
	struct wait_queue_head *waiters; /* the caller's, or wait */
	wait_queue_head_t wait;
};

int kfabric_cntr_open(struct fid_domain *domain,
		      const struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		      void *context);
void kfabric_cntr_change(struct fid_cntr *cntr, atomic64_t *of, u64 value,
			 bool add);
int kfabric_cntr_wait(struct fid_cntr *cntr, u64 threshold, int timeout_ms);

/**
 * fi_cntr_open() - open a counter
 * @domain: parent
 * @attr: attributes, or NULL for FI_CNTR_EVENTS_COMP
 * @cntr: out
 * @context: stored in the object
 *
 * Bind it before the endpoint is enabled, by fi_ep_bind() with one or more of FI_SEND,
 * FI_RECV, FI_READ and FI_WRITE: these are counted. An endpoint has one counter of
 * each kind; a counter may be that of several kinds and endpoints. Flushes are not
 * counted, nor is a receive of several messages that ends without one. The peer's operations (FI_REMOTE_READ, FI_REMOTE_WRITE) cannot be: where a
 * device does them nobody sees them; binding for them is -EOPNOTSUPP.
 *
 * Context: process.
 * Return: 0; -EINVAL attr->events; -FI_EBADFLAGS attr->flags; -ENODEV; -ENOMEM.
 */
static inline int fi_cntr_open(struct fid_domain *domain,
			       struct fi_cntr_attr *attr,
			       struct fid_cntr **cntr, void *context)
{
	return kfabric_cntr_open(domain, attr, cntr, context);
}

/**
 * fi_cntr_read() - how many have succeeded
 * @cntr: counter
 *
 * Context: any.
 * Return: so many, with what fi_cntr_add() and fi_cntr_set() have made of it.
 */
static inline u64 fi_cntr_read(struct fid_cntr *cntr)
{
	return atomic64_read_acquire(&cntr->done);
}

/**
 * fi_cntr_readerr() - how many have failed
 * @cntr: counter
 *
 * Context: any.
 * Return: so many, with what fi_cntr_adderr() and fi_cntr_seterr() have made of it.
 */
static inline u64 fi_cntr_readerr(struct fid_cntr *cntr)
{
	return atomic64_read_acquire(&cntr->failed);
}

/**
 * fi_cntr_add() - add to those that have succeeded
 * @cntr: counter
 * @value: how many more have succeeded
 *
 * Context: posting.
 * Return: 0.
 */
static inline int fi_cntr_add(struct fid_cntr *cntr, u64 value)
{
	kfabric_cntr_change(cntr, &cntr->done, value, true);
	return 0;
}

/**
 * fi_cntr_adderr() - add to those that have failed
 * @cntr: counter
 * @value: how many more have failed
 *
 * Context: posting.
 * Return: 0.
 */
static inline int fi_cntr_adderr(struct fid_cntr *cntr, u64 value)
{
	kfabric_cntr_change(cntr, &cntr->failed, value, true);
	return 0;
}

/**
 * fi_cntr_set() - say how many have succeeded
 * @cntr: counter
 * @value: how many have succeeded
 *
 * Context: posting.
 * Return: 0.
 */
static inline int fi_cntr_set(struct fid_cntr *cntr, u64 value)
{
	kfabric_cntr_change(cntr, &cntr->done, value, false);
	return 0;
}

/**
 * fi_cntr_seterr() - say how many have failed
 * @cntr: counter
 * @value: how many have failed
 *
 * Context: posting.
 * Return: 0.
 */
static inline int fi_cntr_seterr(struct fid_cntr *cntr, u64 value)
{
	kfabric_cntr_change(cntr, &cntr->failed, value, false);
	return 0;
}

/**
 * fi_cntr_wait() - wait until so many have succeeded
 * @cntr: counter
 * @threshold: how many must have succeeded, at least
 * @timeout_ms: limit; negative: none
 *
 * One that has failed before the call ends no wait: compare fi_cntr_readerr() first.
 *
 * Context: process. Nobody waits when it is closed.
 * Return: 0; -FI_EAVAIL one has failed since the call; -ETIMEDOUT; -EINTR a signal came.
 */
static inline int fi_cntr_wait(struct fid_cntr *cntr, u64 threshold,
			       int timeout_ms)
{
	return kfabric_cntr_wait(cntr, threshold, timeout_ms);
}

#endif /* KFABRIC_FI_CNTR_H */
