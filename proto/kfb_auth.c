// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Builds the transcripts of AUTH and of joins, and compares proofs.
 *
 * Context: any.
 */
#include <linux/errno.h>
#include <linux/string.h>
#include "kfb_auth.h"
#include "kfb_endian.h"

/* Label, HELLO, ACCEPT, name, uuid, power epoch or former session. */
#define FIELDS_MAX 6

/* The fields' lengths live here while the parts point to them. */
struct fields {
	__le32 lengths[FIELDS_MAX];
	struct kfb_iov parts[2 * FIELDS_MAX];
	unsigned int n;
};

static void kfb_fields_add(struct fields *fields, const void *base, __u32 len)
{
	__le32 *length = &fields->lengths[fields->n];
	struct kfb_iov *part = &fields->parts[2 * fields->n];

	kfb_put_le32(length, len);
	part[0].base = length;
	part[0].len = sizeof(*length);
	part[1].base = base;
	part[1].len = len;
	fields->n++;
}

static void kfb_fields_label(struct fields *fields, const char *label)
{
	fields->n = 0;
	kfb_fields_add(fields, label, (__u32)strlen(label));
}

static int kfb_fields_mac(const struct fields *fields,
			  const struct kfb_hmac *hmac,
			  const __u8 key[KFB_KEY_BYTES],
			  __u8 mac[KFB_MAC_BYTES])
{
	return hmac->compute(hmac->ctx, key, fields->parts, 2 * fields->n, mac);
}

static int kfb_fields_queue0(struct fields *fields, const char *label,
			     const struct kfb_transcript *transcript,
			     const __u8 uuid[KFB_UUID_BYTES])
{
	if (transcript->name_len > KFB_NAME_MAX)
		return -EINVAL;
	kfb_fields_label(fields, label);
	kfb_fields_add(fields, transcript->hello, KFB_HELLO_BYTES);
	kfb_fields_add(fields, transcript->accept, KFB_ACCEPT_BYTES);
	kfb_fields_add(fields, transcript->name, transcript->name_len);
	kfb_fields_add(fields, uuid, KFB_UUID_BYTES);
	return 0;
}

static int kfb_mac_with_epoch(const struct kfb_hmac *hmac,
			      const __u8 key[KFB_KEY_BYTES], const char *label,
			      const struct kfb_transcript *transcript,
			      const __u8 uuid[KFB_UUID_BYTES],
			      __u64 power_epoch, __u8 mac[KFB_MAC_BYTES])
{
	struct fields fields;
	__le64 epoch;
	int error;

	error = kfb_fields_queue0(&fields, label, transcript, uuid);
	if (error)
		return error;
	kfb_put_le64(&epoch, power_epoch);
	kfb_fields_add(&fields, &epoch, sizeof(epoch));
	return kfb_fields_mac(&fields, hmac, key, mac);
}

int kfb_auth_client_proof(const struct kfb_hmac *hmac,
			  const __u8 key[KFB_KEY_BYTES],
			  const struct kfb_transcript *transcript,
			  const __u8 uuid[KFB_UUID_BYTES],
			  __u64 former_session_id, __u8 proof[KFB_MAC_BYTES])
{
	struct fields fields;
	__le64 former;
	int error;

	error = kfb_fields_queue0(&fields, "kfb2 client", transcript, uuid);
	if (error)
		return error;
	kfb_put_le64(&former, former_session_id);
	kfb_fields_add(&fields, &former, sizeof(former));
	return kfb_fields_mac(&fields, hmac, key, proof);
}

int kfb_auth_brick_proof(const struct kfb_hmac *hmac,
			 const __u8 key[KFB_KEY_BYTES],
			 const struct kfb_transcript *transcript,
			 const __u8 uuid[KFB_UUID_BYTES], __u64 power_epoch,
			 __u8 proof[KFB_MAC_BYTES])
{
	return kfb_mac_with_epoch(hmac, key, "kfb2 brick", transcript, uuid,
				  power_epoch, proof);
}

int kfb_auth_session_key(const struct kfb_hmac *hmac,
			 const __u8 key[KFB_KEY_BYTES],
			 const struct kfb_transcript *transcript,
			 const __u8 uuid[KFB_UUID_BYTES], __u64 power_epoch,
			 __u8 session_key[KFB_KEY_BYTES])
{
	_Static_assert(KFB_KEY_BYTES == KFB_MAC_BYTES, "a MAC is a key");

	return kfb_mac_with_epoch(hmac, key, "kfb2 session", transcript, uuid,
				  power_epoch, session_key);
}

/* The first bytes of a MAC, which fit into a HELLO and an ACCEPT. */
static int kfb_fields_proof(const struct fields *fields,
			    const struct kfb_hmac *hmac,
			    const __u8 session_key[KFB_KEY_BYTES],
			    __u8 proof[KFB_JOIN_PROOF_BYTES])
{
	__u8 mac[KFB_MAC_BYTES];
	int error;

	error = kfb_fields_mac(fields, hmac, session_key, mac);
	if (error)
		return error;
	memcpy(proof, mac, KFB_JOIN_PROOF_BYTES);
	return 0;
}

int kfb_auth_join_proof(const struct kfb_hmac *hmac,
			const __u8 session_key[KFB_KEY_BYTES],
			const void *hello, __u8 proof[KFB_JOIN_PROOF_BYTES])
{
	struct kfb_wire_hello unproven;
	struct fields fields;

	memcpy(&unproven, hello, sizeof(unproven));
	memset(unproven.proof, 0, sizeof(unproven.proof));
	kfb_fields_label(&fields, "kfb2 join");
	kfb_fields_add(&fields, &unproven, sizeof(unproven));
	return kfb_fields_proof(&fields, hmac, session_key, proof);
}

int kfb_auth_accept_proof(const struct kfb_hmac *hmac,
			  const __u8 session_key[KFB_KEY_BYTES],
			  const void *hello, const void *accept,
			  __u8 proof[KFB_JOIN_PROOF_BYTES])
{
	struct kfb_wire_accept unproven;
	struct fields fields;

	memcpy(&unproven, accept, sizeof(unproven));
	memset(unproven.proof, 0, sizeof(unproven.proof));
	kfb_fields_label(&fields, "kfb2 accept");
	kfb_fields_add(&fields, hello, KFB_HELLO_BYTES);
	kfb_fields_add(&fields, &unproven, sizeof(unproven));
	return kfb_fields_proof(&fields, hmac, session_key, proof);
}

int kfb_auth_equal(const void *a, const void *b, __u32 len)
{
	const volatile __u8 *x = a;
	const volatile __u8 *y = b;
	__u8 difference = 0;
	__u32 i;

	/* volatile: no compiler may stop at the first difference. */
	for (i = 0; i < len; i++)
		difference |= x[i] ^ y[i];
	return difference == 0;
}
