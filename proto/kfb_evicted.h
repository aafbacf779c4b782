/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a brick has evicted a client.
 *
 * Context: any.
 */
#ifndef KFB_EVICTED_H
#define KFB_EVICTED_H

#include <linux/types.h>

/**
 * kfb_evicted_text - why a brick has evicted a client, for people
 * @cause: KFB_EVICTED_*, from the wire, any value
 *
 * Context: any.
 * Return: a constant string without a full stop.
 */
const char *kfb_evicted_text(__u32 cause);

#endif
