/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256. */
#ifndef SIM_CRYPTO_SHA2_H
#define SIM_CRYPTO_SHA2_H

#define SHA256_DIGEST_SIZE 32

#endif
