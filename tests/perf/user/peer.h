/* SPDX-License-Identifier: BSD-2-Clause */
/* What side-by-side compares: ways to the same operations. */
#ifndef TESTS_PERF_USER_PEER_H
#define TESTS_PERF_USER_PEER_H

#include <stddef.h>
#include <stdint.h>

/*
 * struct peer - one of them, connected
 * @durable: write SMALL_BYTES at an offset, wait, flush, wait
 * @large: write @n pieces of LARGE_BYTES, LARGE_DEPTH at a time, n is not less
 * @end: disconnect
 *
 * Each returns 0, or has said what is wrong.
 */
struct peer {
	const char *name;
	int (*durable)(uint64_t at);
	int (*large)(unsigned int n);
	void (*end)(void);
};

/* Both write from @buffer: LARGE_DEPTH pieces of LARGE_BYTES. */
const struct peer *bare_peer(const void *address, size_t len, uint8_t *buffer);
/* The same connection; a durable write is one operation. After kfbrick_peer(). */
const struct peer *kfbrick_commit_peer(void);
/* NULL: it has said why not. */
const struct peer *kfbrick_peer(const char *url, uint8_t *buffer);

#endif
