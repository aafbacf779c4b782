/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the codec's files share with each other and nobody else.
 *
 * Context: any.
 */
#ifndef KFB_CODEC_PRIV_H
#define KFB_CODEC_PRIV_H

#include <linux/types.h>
#include "kfb_wire.h"

#define KFB_HEADER_BYTES ((__u32)sizeof(struct kfb_wire_header))

/* A header in host form; op as on the wire. */
struct kfb_codec_header {
	__u16 op;
	__u16 status;
	__u32 length_bytes;
	__u16 slot;
	__u32 seq;
	__u16 credits;
};

/*
 * Copies the header and checks its form against the message's len. Returns 0
 * or -EBADMSG; fills *out on success only.
 */
int kfb_codec_get_header(const void *buf, __u32 len,
			 struct kfb_codec_header *out);

/* Writes all KFB_HEADER_BYTES. */
void kfb_codec_put_header(const struct kfb_codec_header *header, void *buf);

#endif
