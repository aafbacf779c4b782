/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes behind trace events: nothing. */
#ifndef SIM_TRACE_DEFINE_TRACE_H
#define SIM_TRACE_DEFINE_TRACE_H

#endif
