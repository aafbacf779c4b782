/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: trace events: the session's moves, requests posted and done, flush
 * ops, blocks that come and go.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kfbrick

#if !defined(KFBRICK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KFBRICK_TRACE_H

#include <linux/tracepoint.h>

#include "kfbrick.h"

TRACE_EVENT(kfbrick_session,
	    TP_PROTO(const struct kfbk_device *dev, enum kfb_client_state from),
	    TP_ARGS(dev, from),
	    TP_STRUCT__entry(__field(int, instance) __field(int, from)
				     __field(int, to)),
	    TP_fast_assign(__entry->instance = dev->instance;
			   __entry->from = from;
			   __entry->to = kfb_client_state(&dev->core.client);),
	    TP_printk("kfbrick%d %s -> %s", __entry->instance,
		      kfb_client_state_name(__entry->from),
		      kfb_client_state_name(__entry->to)));

/* A move, or, with an error, one that was refused. */
TRACE_EVENT(kfbrick_state,
	    TP_PROTO(const struct kfbk_device *dev, enum kfb_disk_state from,
		     enum kfb_disk_event event, int does),
	    TP_ARGS(dev, from, event, does),
	    TP_STRUCT__entry(__field(int, instance) __field(int, from)
				     __field(int, to) __field(int, event)
					     __field(int, does)),
	    TP_fast_assign(__entry->instance = dev->instance;
			   __entry->from = from; __entry->to = dev->state;
			   __entry->event = event; __entry->does = does;),
	    TP_printk("kfbrick%d %s --%s--> %s does=%d", __entry->instance,
		      kfb_disk_state_name(__entry->from),
		      kfb_disk_event_name(__entry->event),
		      kfb_disk_state_name(__entry->to), __entry->does));

TRACE_EVENT(
	kfbrick_post,
	TP_PROTO(const struct kfbk_queue *q, struct request *rq, ssize_t error),
	TP_ARGS(q, rq, error),
	TP_STRUCT__entry(__field(int, instance) __field(u32, queue)
				 __field(int, tag) __field(u64, va)
					 __field(u32, len) __field(bool, write)
						 __field(bool, fua)
							 __field(int, error)),
	TP_fast_assign(__entry->instance = q->dev->instance;
		       __entry->queue = q->core.index; __entry->tag = rq->tag;
		       __entry->va = kfbk_rq_of(rq)->va;
		       __entry->len = kfbk_rq_of(rq)->len;
		       __entry->write = kfbk_rq_of(rq)->is_write;
		       __entry->fua = kfbk_rq_of(rq)->fua;
		       __entry->error = error;),
	TP_printk("kfbrick%d queue=%u tag=%d %s%s va=%#llx len=%u error=%d",
		  __entry->instance, __entry->queue, __entry->tag,
		  __entry->write ? "write" : "read", __entry->fua ? "+fua" : "",
		  __entry->va, __entry->len, __entry->error));

TRACE_EVENT(kfbrick_done, TP_PROTO(struct request *rq, int error),
	    TP_ARGS(rq, error),
	    TP_STRUCT__entry(__field(int, tag) __field(u32, op)
				     __field(int, error)),
	    TP_fast_assign(__entry->tag = rq->tag;
			   __entry->op = (__force u32)req_op(rq);
			   __entry->error = error;),
	    TP_printk("tag=%d op=%u error=%d", __entry->tag, __entry->op,
		      __entry->error));

TRACE_EVENT(
	kfbrick_flush_op,
	TP_PROTO(const struct kfbk_queue *q, const struct kfb_flush_op *op,
		 int error),
	TP_ARGS(q, op, error),
	TP_STRUCT__entry(__field(int, instance) __field(u32, queue)
				 __field(u64, id) __field(u64, covers)
					 __field(u32, mode) __field(u32, ranges)
						 __field(int, error)),
	TP_fast_assign(__entry->instance = q->dev->instance;
		       __entry->queue = q->core.index; __entry->id = op->id;
		       __entry->covers = op->covers;
		       __entry->mode = q->dev->core.flush_mode;
		       __entry->ranges = op->dirty.n + op->fua.n;
		       __entry->error = error;),
	TP_printk(
		"kfbrick%d queue=%u id=%llu covers=%llu mode=%u ranges=%u error=%d",
		__entry->instance, __entry->queue, __entry->id, __entry->covers,
		__entry->mode, __entry->ranges, __entry->error));

TRACE_EVENT(kfbrick_replay,
	    TP_PROTO(const struct kfbk_queue *q, u64 va, u32 len, int error),
	    TP_ARGS(q, va, len, error),
	    TP_STRUCT__entry(__field(int, instance) __field(u32, queue)
				     __field(u64, va) __field(u32, len)
					     __field(int, error)),
	    TP_fast_assign(__entry->instance = q->dev->instance;
			   __entry->queue = q->core.index; __entry->va = va;
			   __entry->len = len; __entry->error = error;),
	    TP_printk("kfbrick%d queue=%u va=%#llx len=%u error=%d",
		      __entry->instance, __entry->queue, __entry->va,
		      __entry->len, __entry->error));

TRACE_EVENT(kfbrick_block,
	    TP_PROTO(const struct kfbk_device *dev, u64 first, s64 n,
		     int error),
	    TP_ARGS(dev, first, n, error),
	    TP_STRUCT__entry(__field(int, instance) __field(u64, first)
				     __field(s64, n) __field(int, error)),
	    TP_fast_assign(__entry->instance = dev->instance;
			   __entry->first = first; __entry->n = n;
			   __entry->error = error;),
	    TP_printk("kfbrick%d first=%llu n=%lld error=%d", __entry->instance,
		      __entry->first, __entry->n, __entry->error));

/* A move, or, with an error, one that was refused. */
TRACE_EVENT(kfbrick_block_state,
	    TP_PROTO(const struct kfbk_device *dev, u64 block,
		     enum kfb_block_state from, enum kfb_block_event event,
		     int does),
	    TP_ARGS(dev, block, from, event, does),
	    TP_STRUCT__entry(__field(int, instance) __field(u64, block)
				     __field(int, from) __field(int, to)
					     __field(int, event)
						     __field(int, does)),
	    TP_fast_assign(__entry->instance = dev->instance;
			   __entry->block = block; __entry->from = from;
			   __entry->to = dev->blocks[block].state;
			   __entry->event = event; __entry->does = does;),
	    TP_printk("kfbrick%d block=%llu %s --%s--> %s does=%d",
		      __entry->instance, __entry->block,
		      kfb_block_state_name(__entry->from),
		      kfb_block_event_name(__entry->event),
		      kfb_block_state_name(__entry->to), __entry->does));

#endif /* KFBRICK_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
