/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The only way into and out of a little-endian field.
 *
 * Byte by byte, so that neither the host's byte order nor a header of its
 * libc matters; compilers make one load or store of it where they can.
 *
 * Context: any.
 */
#ifndef KFB_ENDIAN_H
#define KFB_ENDIAN_H

#include <linux/types.h>

static inline __u16 kfb_get_le16(const __le16 *field)
{
	const __u8 *b = (const __u8 *)field;

	return (__u16)(b[0] | b[1] << 8);
}

static inline __u32 kfb_get_le32(const __le32 *field)
{
	const __u8 *b = (const __u8 *)field;

	return (__u32)b[0] | (__u32)b[1] << 8 | (__u32)b[2] << 16 |
	       (__u32)b[3] << 24;
}

static inline __u64 kfb_get_le64(const __le64 *field)
{
	const __le32 *half = (const __le32 *)field;

	return kfb_get_le32(half) | (__u64)kfb_get_le32(half + 1) << 32;
}

/* A 64-bit value in two fields, as private data has it. */
static inline __u64 kfb_get_le64_split(const __le32 *lo, const __le32 *hi)
{
	return kfb_get_le32(lo) | (__u64)kfb_get_le32(hi) << 32;
}

static inline void kfb_put_le16(__le16 *field, __u16 value)
{
	__u8 *b = (__u8 *)field;

	b[0] = value & 0xff;
	b[1] = value >> 8 & 0xff;
}

static inline void kfb_put_le32(__le32 *field, __u32 value)
{
	__u8 *b = (__u8 *)field;

	b[0] = value & 0xff;
	b[1] = value >> 8 & 0xff;
	b[2] = value >> 16 & 0xff;
	b[3] = value >> 24 & 0xff;
}

static inline void kfb_put_le64(__le64 *field, __u64 value)
{
	__le32 *half = (__le32 *)field;

	kfb_put_le32(half, value & 0xffffffff);
	kfb_put_le32(half + 1, value >> 32);
}

static inline void kfb_put_le64_split(__le32 *lo, __le32 *hi, __u64 value)
{
	kfb_put_le32(lo, value & 0xffffffff);
	kfb_put_le32(hi, value >> 32);
}

#endif
