/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes. */
#ifndef SIM_CRYPTO_HASH_H
#define SIM_CRYPTO_HASH_H

#include <linux/err.h>
#include <linux/string.h>

struct crypto_shash;

struct shash_desc {
	struct crypto_shash *tfm;
};

#define SHASH_DESC_ON_STACK(name, tfm) \
	struct shash_desc name##_at, *name = &name##_at

struct crypto_shash *crypto_alloc_shash(const char *name, u32 type, u32 mask);
void crypto_free_shash(struct crypto_shash *tfm);
int crypto_shash_setkey(struct crypto_shash *tfm, const u8 *key,
			unsigned int len);
int crypto_shash_init(struct shash_desc *desc);
int crypto_shash_update(struct shash_desc *desc, const u8 *bytes,
			unsigned int len);
int crypto_shash_final(struct shash_desc *desc, u8 *out);

static inline void shash_desc_zero(struct shash_desc *desc)
{
	memzero_explicit(desc, sizeof(*desc));
}

#endif
