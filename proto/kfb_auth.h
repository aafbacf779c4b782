/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The transcripts that client and brick prove their key over.
 *
 * A transcript is a list of fields, each preceded by its length as a __le32,
 * so that no two lists of fields give the same bytes. The first field is a
 * label that says what is proven. HMAC-SHA256 itself is the caller's: the
 * kernel's or a library's.
 *
 *	client proof	key: client's	"kfb2 client" HELLO ACCEPT name uuid
 *					former session
 *	brick proof	key: client's	"kfb2 brick" HELLO ACCEPT name uuid
 *					power epoch
 *	session key	key: client's	"kfb2 session" HELLO ACCEPT name uuid
 *					power epoch
 *	join proof	key: session's	"kfb2 join" HELLO with zero proof
 *	accept proof	key: session's	"kfb2 accept" HELLO
 *					ACCEPT with zero proof
 *
 * In the first three HELLO and ACCEPT are the raw bytes of those that made the
 * session, without padding; the uuid is the one of the message that carries the
 * proof: expected or zero in AUTH, the brick's own in its reply. The session
 * key uses the reply's. In the last two they are those of the join. What makes
 * each join's proofs new is its counter, which never comes twice.
 *
 * Context: any that @hmac can run in; no locks, no allocation.
 */
#ifndef KFB_AUTH_H
#define KFB_AUTH_H

#include <linux/types.h>
#include "kfb_wire.h"

struct kfb_iov {
	const void *base;
	__u32 len; /* bytes */
};

/**
 * struct kfb_hmac - how to compute an HMAC-SHA256
 * @compute: the MAC over @n parts, one after the other; returns 0 or a
 *	negative errno and then leaves @mac alone
 * @ctx: passed to @compute
 */
struct kfb_hmac {
	int (*compute)(void *ctx, const __u8 key[KFB_KEY_BYTES],
		       const struct kfb_iov *parts, unsigned int n,
		       __u8 mac[KFB_MAC_BYTES]);
	void *ctx;
};

/**
 * struct kfb_transcript - what both sides saw of queue 0
 * @hello: raw HELLO, KFB_HELLO_BYTES, as it travelled
 * @accept: raw ACCEPT, KFB_ACCEPT_BYTES, as it travelled
 * @name: the client's name as AUTH carries it, without padding
 * @name_len: length of @name, bytes, at most KFB_NAME_MAX
 */
struct kfb_transcript {
	const void *hello;
	const void *accept;
	const char *name;
	__u8 name_len;
};

/**
 * kfb_auth_client_proof - what proves the client to the brick
 * @hmac: how to compute
 * @key: the client's key
 * @transcript: of queue 0
 * @uuid: the brick's uuid as AUTH carries it: expected, or zero
 * @former_session_id: as AUTH carries it: to be ended first, or 0
 * @proof: the proof
 *
 * Context: as @hmac.
 * Return: 0, -EINVAL (name too long), or what @hmac returned.
 */
int kfb_auth_client_proof(const struct kfb_hmac *hmac,
			  const __u8 key[KFB_KEY_BYTES],
			  const struct kfb_transcript *transcript,
			  const __u8 uuid[KFB_UUID_BYTES],
			  __u64 former_session_id, __u8 proof[KFB_MAC_BYTES]);

/**
 * kfb_auth_brick_proof - what proves the brick to the client
 * @hmac: how to compute
 * @key: the client's key
 * @transcript: of queue 0
 * @uuid: the brick's uuid as its reply carries it
 * @power_epoch: as its reply carries it
 * @proof: the proof
 *
 * Context: as @hmac.
 * Return: 0, -EINVAL (name too long), or what @hmac returned.
 */
int kfb_auth_brick_proof(const struct kfb_hmac *hmac,
			 const __u8 key[KFB_KEY_BYTES],
			 const struct kfb_transcript *transcript,
			 const __u8 uuid[KFB_UUID_BYTES], __u64 power_epoch,
			 __u8 proof[KFB_MAC_BYTES]);

/**
 * kfb_auth_session_key - the key that further queues join with
 * @hmac: how to compute
 * @key: the client's key
 * @transcript: of queue 0
 * @uuid: the brick's uuid as its reply carries it
 * @power_epoch: as its reply carries it
 * @session_key: the session's key
 *
 * Context: as @hmac.
 * Return: 0, -EINVAL (name too long), or what @hmac returned.
 */
int kfb_auth_session_key(const struct kfb_hmac *hmac,
			 const __u8 key[KFB_KEY_BYTES],
			 const struct kfb_transcript *transcript,
			 const __u8 uuid[KFB_UUID_BYTES], __u64 power_epoch,
			 __u8 session_key[KFB_KEY_BYTES]);

/**
 * kfb_auth_join_proof - what a further queue's HELLO carries
 * @hmac: how to compute
 * @session_key: from kfb_auth_session_key()
 * @hello: raw HELLO of that queue, KFB_HELLO_BYTES; what its proof holds does
 *	not matter
 * @proof: the proof, to be copied into the HELLO or compared with it
 *
 * Context: as @hmac.
 * Return: 0, or what @hmac returned.
 */
int kfb_auth_join_proof(const struct kfb_hmac *hmac,
			const __u8 session_key[KFB_KEY_BYTES],
			const void *hello, __u8 proof[KFB_JOIN_PROOF_BYTES]);

/**
 * kfb_auth_accept_proof - what the ACCEPT of a join carries
 * @hmac: how to compute
 * @session_key: from kfb_auth_session_key()
 * @hello: raw HELLO of the join, KFB_HELLO_BYTES, as it travelled
 * @accept: raw ACCEPT that answers it, KFB_ACCEPT_BYTES; what its proof holds
 *	does not matter
 * @proof: the proof, to be copied into the ACCEPT or compared with it
 *
 * Context: as @hmac.
 * Return: 0, or what @hmac returned.
 */
int kfb_auth_accept_proof(const struct kfb_hmac *hmac,
			  const __u8 session_key[KFB_KEY_BYTES],
			  const void *hello, const void *accept,
			  __u8 proof[KFB_JOIN_PROOF_BYTES]);

/**
 * kfb_auth_equal - compare secrets in a time that depends on the length only
 * @a: one
 * @b: the other
 * @len: bytes of each
 *
 * Context: any.
 * Return: 1 when equal, else 0.
 */
int kfb_auth_equal(const void *a, const void *b, __u32 len);

#endif
