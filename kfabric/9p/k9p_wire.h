/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two ends of a connection that carries 9P tell each other when it is made;
 * docs/kfabric-9p.md. Little-endian bytes, for the kernel and for user space.
 *
 * After that each message of the connection is one message of 9P, whole.
 */
#ifndef K9P_WIRE_H
#define K9P_WIRE_H

#define K9PW_MAGIC	 "k9p1"
#define K9PW_MAGIC_BYTES 4

/* Of 9P: size[4] type[1] tag[2], and what matters here of the types. */
#define K9PW_HEADER_BYTES 7
#define K9PW_SIZE_AT	  0
#define K9PW_TAG_AT	  5

/* No message is shorter than this end's smallest limit, or longer than the largest. */
#define K9PW_MSIZE_MIN 4096u
#define K9PW_MSIZE_MAX (1u << 20)

/* Requests under way, and beside them what takes requests back (Tflush). */
#define K9PW_DEPTH_MAX 64u
#define K9PW_FLUSHES   4u

/**
 * struct k9pw_hello - private data of a connection's request, and of its answer
 * @magic: K9PW_MAGIC
 * @msize: longest message of 9P, bytes, little-endian. The answer's is no more than
 *	the request's
 * @depth: requests under way at most, little-endian, not counting Tflush. The
 *	answer's is no more than the request's
 * @zero: 0; whoever reads it ignores it
 *
 * Whoever asks, and whoever answers, has posted @depth + K9PW_FLUSHES receives of @msize
 * bytes before. Bytes behind the struct are padding of the fabric's.
 */
struct k9pw_hello {
	unsigned char magic[K9PW_MAGIC_BYTES];
	unsigned char msize[4];
	unsigned char depth[2];
	unsigned char zero[6];
};

static inline unsigned int k9pw_get16(const unsigned char *at)
{
	return at[0] | (unsigned int)at[1] << 8;
}

static inline unsigned int k9pw_get32(const unsigned char *at)
{
	return k9pw_get16(at) | k9pw_get16(at + 2) << 16;
}

static inline void k9pw_put16(unsigned char *at, unsigned int value)
{
	at[0] = value & 0xff;
	at[1] = value >> 8 & 0xff;
}

static inline void k9pw_put32(unsigned char *at, unsigned int value)
{
	k9pw_put16(at, value & 0xffff);
	k9pw_put16(at + 2, value >> 16);
}

#endif /* K9P_WIRE_H */
