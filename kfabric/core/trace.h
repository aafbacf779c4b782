/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric_core: trace events: posts, completions, states, events, objects.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kfabric

#if !defined(KFABRIC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KFABRIC_TRACE_H

#include <linux/tracepoint.h>

#include <kfabric/fi_endpoint.h>

#include "core.h"

TRACE_EVENT(kfabric_post,
	    TP_PROTO(const struct fid_ep *ep, const struct kfi_comp *comp),
	    TP_ARGS(ep, comp),
	    TP_STRUCT__entry(__field(u32, ep) __field(u64, flags)
				     __field(u64, op_flags) __field(size_t, len)
					     __field(const void *, context)),
	    TP_fast_assign(__entry->ep = ep->fid.id;
			   __entry->flags = comp->entry.flags;
			   __entry->op_flags = comp->op_flags;
			   __entry->len = comp->entry.len;
			   __entry->context = comp->entry.op_context;),
	    TP_printk("ep=%u flags=%#llx op_flags=%#llx len=%zu context=%p",
		      __entry->ep, __entry->flags, __entry->op_flags,
		      __entry->len, __entry->context));

TRACE_EVENT(
	kfabric_complete,
	TP_PROTO(const struct fid_ep *ep, const struct fi_cq_err_entry *e),
	TP_ARGS(ep, e),
	TP_STRUCT__entry(__field(u32, ep) __field(u64, flags) __field(size_t,
								      len)
				 __field(int, err) __field(int, prov_errno)
					 __field(const void *, context)),
	TP_fast_assign(__entry->ep = ep->fid.id; __entry->flags = e->flags;
		       __entry->len = e->len; __entry->err = e->err;
		       __entry->prov_errno = e->prov_errno;
		       __entry->context = e->op_context;),
	TP_printk("ep=%u flags=%#llx len=%zu err=%d prov_errno=%d context=%p",
		  __entry->ep, __entry->flags, __entry->len, __entry->err,
		  __entry->prov_errno, __entry->context));

TRACE_EVENT(kfabric_ep_state,
	    TP_PROTO(const struct fid_ep *ep, int from, int to),
	    TP_ARGS(ep, from, to),
	    TP_STRUCT__entry(__field(u32, ep) __field(int, from)
				     __field(int, to)),
	    TP_fast_assign(__entry->ep = ep->fid.id; __entry->from = from;
			   __entry->to = to;),
	    TP_printk("ep=%u %s -> %s", __entry->ep,
		      kfi_ep_state_name(__entry->from),
		      kfi_ep_state_name(__entry->to)));

TRACE_EVENT(kfabric_event, TP_PROTO(const struct kfi_event *ev), TP_ARGS(ev),
	    TP_STRUCT__entry(__field(u32, fid) __field(u32, event)
				     __field(int, err) __field(int, prov_errno)
					     __field(size_t, data_len)),
	    TP_fast_assign(__entry->fid = ev->fid->id;
			   __entry->event = ev->event; __entry->err = ev->err;
			   __entry->prov_errno = ev->prov_errno;
			   __entry->data_len = ev->data_len;),
	    TP_printk("fid=%u event=%u err=%d prov_errno=%d data_len=%zu",
		      __entry->fid, __entry->event, __entry->err,
		      __entry->prov_errno, __entry->data_len));

TRACE_EVENT(kfabric_object, TP_PROTO(const struct kfid *fid, const char *what),
	    TP_ARGS(fid, what),
	    TP_STRUCT__entry(__field(u32, id) __field(int, fclass)
				     __field(const char *, what)),
	    TP_fast_assign(__entry->id = fid->id; __entry->fclass = fid->fclass;
			   __entry->what = what;),
	    TP_printk("%s %u %s", kfi_class_name(__entry->fclass), __entry->id,
		      __entry->what));

#endif /* KFABRIC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
