/* SPDX-License-Identifier: BSD-2-Clause */
/* A stand-in for HMAC-SHA256 in tests of the client. */
#ifndef TOY_HMAC_H
#define TOY_HMAC_H

#include "kfb_auth.h"

/* Not a MAC, but it depends on key and every byte. Return: 0. */
int toy_hmac(void *ctx, const __u8 *with, const struct kfb_iov *parts,
	     unsigned int n, __u8 mac[KFB_MAC_BYTES]);

#endif
