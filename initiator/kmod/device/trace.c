// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: the trace events' code.
 */
#define CREATE_TRACE_POINTS
#include "trace.h"
