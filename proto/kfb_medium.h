/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What INFO's medium is called.
 *
 * Context: any.
 */
#ifndef KFB_MEDIUM_H
#define KFB_MEDIUM_H

#include <linux/types.h>

/**
 * kfb_medium_name - a medium in one word
 * @medium: KFB_MEDIUM_*
 *
 * Context: any.
 * Return: a constant string, "unknown" for what is none.
 */
const char *kfb_medium_name(__u32 medium);

/**
 * kfb_medium_text - a medium in a sentence that says what a store lies on
 * @medium: KFB_MEDIUM_*
 *
 * Context: any.
 * Return: a constant string, "unknown" for what is none.
 */
const char *kfb_medium_text(__u32 medium);

#endif
