/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace events: lines of the story. */
#ifndef SIM_LINUX_TRACEPOINT_H
#define SIM_LINUX_TRACEPOINT_H

#include "../machine.h"

#define TP_PROTO(...)	      __VA_ARGS__
#define TP_ARGS(...)	      __VA_ARGS__
#define TP_STRUCT__entry(...) __VA_ARGS__
#define TP_fast_assign(...)   __VA_ARGS__
#define TP_printk(...)	      __VA_ARGS__
#define __field(type, item)   type item;

#define TRACE_EVENT(name, proto, args, fields, assign, print) \
	static inline void trace_##name(proto)                \
	{                                                     \
		struct {                                      \
			fields                                \
		} entry, *__entry = &entry;                   \
                                                              \
		if (__builtin_expect(!sim_is_traced, 1))      \
			return;                               \
		assign;                                       \
		km_log(#name ": " print);                     \
	}

#endif
