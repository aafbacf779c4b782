/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfbrick: the client's key, and what proves that one has it.
 */
#ifndef KFBK_KEY_H
#define KFBK_KEY_H

#include "kfb_auth.h"

/* key.c */

/**
 * kfbk_key_get - copy a client's key
 * @description: of a logon key in the caller's keyrings, "kfbrick:..."
 * @out: filled
 *
 * Context: process.
 * Return: 0; -ENOKEY none there; -EINVAL it is no key of ours; others of the
 * keyring.
 */
int kfbk_key_get(const char *description, u8 out[KFB_KEY_BYTES]);

/* hmac.c */
int kfbk_hmac_open(struct kfb_hmac *hmac);
void kfbk_hmac_close(struct kfb_hmac *hmac);

#endif /* KFBK_KEY_H */
