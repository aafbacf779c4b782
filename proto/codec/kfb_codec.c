// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What all messages have in common: the header, ranges of blocks.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_codec.h"
#include "kfb_codec_priv.h"
#include "../kfb_endian.h"

int kfb_codec_get_header(const void *buf, __u32 len,
			 struct kfb_codec_header *out)
{
	struct kfb_wire_header w;

	if (len < KFB_HEADER_BYTES)
		return -EBADMSG;
	memcpy(&w, buf, sizeof(w));
	if (kfb_get_le32(&w.length_bytes) != len)
		return -EBADMSG;
	if (kfb_get_le16(&w.reserved0) || kfb_get_le16(&w.reserved1) ||
	    kfb_get_le32(&w.reserved2[0]) || kfb_get_le32(&w.reserved2[1]) ||
	    kfb_get_le32(&w.reserved2[2]))
		return -EBADMSG;
	out->op = kfb_get_le16(&w.op);
	out->status = kfb_get_le16(&w.status);
	out->length_bytes = len;
	out->slot = kfb_get_le16(&w.slot);
	out->seq = kfb_get_le32(&w.seq);
	out->credits = kfb_get_le16(&w.credits);
	return 0;
}

void kfb_codec_put_header(const struct kfb_codec_header *header, void *buf)
{
	struct kfb_wire_header w;

	memset(&w, 0, sizeof(w));
	kfb_put_le16(&w.op, header->op);
	kfb_put_le16(&w.status, header->status);
	kfb_put_le32(&w.length_bytes, header->length_bytes);
	kfb_put_le16(&w.slot, header->slot);
	kfb_put_le32(&w.seq, header->seq);
	kfb_put_le16(&w.credits, header->credits);
	memcpy(buf, &w, sizeof(w));
}

int kfb_range_check(__u64 va, __u64 n_blocks)
{
	__u64 first_block = va >> KFB_BLOCK_SHIFT;

	if (va & (KFB_BLOCK_BYTES - 1))
		return -EINVAL;
	if (n_blocks == 0 || n_blocks > KFB_BLOCKS_MAX - first_block)
		return -EINVAL;
	return 0;
}

_Bool kfb_name_ok(const char *name, __u64 len)
{
	__u64 i;

	if (len > KFB_NAME_MAX)
		return 0;
	for (i = 0; i < len; i++)
		if (name[i] < '!' || name[i] > '~')
			return 0;
	return 1;
}

_Bool kfb_codec_is_zero(const __u8 *bytes, __u32 len)
{
	__u32 i;

	for (i = 0; i < len; i++)
		if (bytes[i])
			return 0;
	return 1;
}

int kfb_codec_get_name(const __u8 raw[KFB_NAME_MAX], __u8 len,
		       char name[KFB_NAME_MAX + 1])
{
	if (len > KFB_NAME_MAX ||
	    !kfb_codec_is_zero(raw + len, KFB_NAME_MAX - len))
		return -EBADMSG;
	memcpy(name, raw, KFB_NAME_MAX);
	name[KFB_NAME_MAX] = '\0';
	return 0;
}
