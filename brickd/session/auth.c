// SPDX-License-Identifier: BSD-2-Clause
/* Proofs of joins: both sides know the session's key. */
#include "brickd/session/auth.h"

#include <sodium.h>
#include <stddef.h>

#include "brickd/session/state.h"
#include "proto/kfb_auth.h"

static int hmac_sha256(void *ctx, const __u8 key[KFB_KEY_BYTES],
		       const struct kfb_iov *parts, unsigned int n,
		       __u8 mac[KFB_MAC_BYTES])
{
	crypto_auth_hmacsha256_state state;

	(void)ctx;
	crypto_auth_hmacsha256_init(&state, key, KFB_KEY_BYTES);
	for (unsigned int i = 0; i < n; i++)
		crypto_auth_hmacsha256_update(&state, parts[i].base,
					      parts[i].len);
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_memzero(&state, sizeof(state));
	return 0;
}

const struct kfb_hmac brick_hmac = { .compute = hmac_sha256 };

_Static_assert(crypto_auth_hmacsha256_BYTES == KFB_MAC_BYTES, "MAC size");

bool brick_auth_join_is_proven(const struct brick_session *s,
			       const void *raw_hello)
{
	const uint8_t *proof = (const uint8_t *)raw_hello +
			       offsetof(struct kfb_wire_hello, proof);
	uint8_t right[KFB_JOIN_PROOF_BYTES];

	return !kfb_auth_join_proof(&brick_hmac, s->key, raw_hello, right) &&
	       kfb_auth_equal(right, proof, sizeof(right));
}

int brick_auth_prove_join(const struct brick_session *s, const void *raw_hello,
			  void *raw_accept)
{
	uint8_t *proof =
		(uint8_t *)raw_accept + offsetof(struct kfb_wire_accept, proof);

	return kfb_auth_accept_proof(&brick_hmac, s->key, raw_hello, raw_accept,
				     proof);
}
