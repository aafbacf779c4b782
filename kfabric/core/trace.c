// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: the one place that makes the trace events.
 */
#include "core.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
