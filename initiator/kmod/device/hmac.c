// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: HMAC-SHA256 for the initiator's core, by the kernel's crypto.
 *
 * Context: any but hardirq: neither setting the key nor hashing sleeps or
 * allocates. Locking: the caller's; the key lies in the transform while a MAC
 * is computed.
 */
#include <crypto/hash.h>
#include <crypto/sha2.h>

#include "key.h"

static int kfbk_hmac_compute(void *ctx, const __u8 key[KFB_KEY_BYTES],
			     const struct kfb_iov *parts, unsigned int n,
			     __u8 mac[KFB_MAC_BYTES])
{
	struct crypto_shash *tfm = ctx;
	SHASH_DESC_ON_STACK(desc, tfm);
	u8 result[SHA256_DIGEST_SIZE];
	unsigned int i;
	int ret;

	desc->tfm = tfm;
	ret = crypto_shash_setkey(tfm, key, KFB_KEY_BYTES);
	ret = ret ?: crypto_shash_init(desc);
	for (i = 0; !ret && i < n; i++)
		ret = crypto_shash_update(desc, parts[i].base, parts[i].len);
	ret = ret ?: crypto_shash_final(desc, result);
	if (!ret)
		memcpy(mac, result, KFB_MAC_BYTES);
	shash_desc_zero(desc);
	memzero_explicit(result, sizeof(result));
	return ret;
}

int kfbk_hmac_open(struct kfb_hmac *hmac)
{
	struct crypto_shash *tfm = crypto_alloc_shash("hmac(sha256)", 0, 0);

	if (IS_ERR(tfm))
		return PTR_ERR(tfm);
	hmac->compute = kfbk_hmac_compute;
	hmac->ctx = tfm;
	return 0;
}

void kfbk_hmac_close(struct kfb_hmac *hmac)
{
	if (hmac->ctx)
		crypto_free_shash(hmac->ctx);
	hmac->ctx = NULL;
}
