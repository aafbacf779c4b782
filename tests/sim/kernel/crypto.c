// SPDX-License-Identifier: BSD-2-Clause
/* HMAC-SHA256, by libsodium; and keyrings, whose keys are told by their names. */
#include <crypto/hash.h>
#include <crypto/sha2.h>
#include <keys/user-type.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include <sodium.h>

#include "kernel.h"

struct crypto_shash {
	u8 key[32];
	crypto_auth_hmacsha256_state state;
};

struct key_type key_type_logon = { .name = "logon" };

struct crypto_shash *crypto_alloc_shash(const char *name, u32 type, u32 mask)
{
	struct crypto_shash *tfm = km_zalloc(sizeof(*tfm));

	return tfm ?: ERR_PTR(-ENOMEM);
}

void crypto_free_shash(struct crypto_shash *tfm)
{
	kfree(tfm);
}

int crypto_shash_setkey(struct crypto_shash *tfm, const u8 *key,
			unsigned int len)
{
	if (len != sizeof(tfm->key))
		return -EINVAL;
	memcpy(tfm->key, key, len);
	return 0;
}

int crypto_shash_init(struct shash_desc *desc)
{
	struct crypto_shash *tfm = desc->tfm;

	return crypto_auth_hmacsha256_init(&tfm->state, tfm->key,
					   sizeof(tfm->key));
}

int crypto_shash_update(struct shash_desc *desc, const u8 *bytes,
			unsigned int len)
{
	return crypto_auth_hmacsha256_update(&desc->tfm->state, bytes, len);
}

int crypto_shash_final(struct shash_desc *desc, u8 *out)
{
	return crypto_auth_hmacsha256_final(&desc->tfm->state, out);
}

/* ---- keys ------------------------------------------------------------------- */

/* "kfbrick:N": the key of the simulator's client number N. */
struct key *request_key(struct key_type *type, const char *description,
			const char *callout)
{
	const char *number = strchr(description, ':');
	struct user_key_payload *payload;
	struct key *key;
	u32 n;

	if (!number || kstrtou32(number + 1, 10, &n))
		return ERR_PTR(-ENOKEY);
	key = km_zalloc(sizeof(*key));
	payload = km_zalloc(sizeof(*payload) + 32);
	if (!key || !payload) {
		kfree(key);
		kfree(payload);
		return ERR_PTR(-ENOMEM);
	}
	payload->datalen = 32;
	km_client_key(n, (u8 *)payload->data);
	key->payload = payload;
	return key;
}

void key_put(struct key *key)
{
	kfree(key->payload);
	kfree(key);
}
