/* SPDX-License-Identifier: BSD-2-Clause */
/* What the fuzzer does as the thread of a shard. */
#ifndef SHARD_INLINE_H
#define SHARD_INLINE_H

#include <stdbool.h>

/**
 * shard_inline_serve - tell the source what is ready of what it waits for
 */
void shard_inline_serve(void);

/**
 * shard_inline_late - let its deadline pass, if it has one
 */
void shard_inline_late(void);

/**
 * shard_inline_idle - is no source watched?
 */
bool shard_inline_idle(void);

#endif /* SHARD_INLINE_H */
