/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cleaner: what nobody waits for is done in its thread, a few slots at a
 * time.
 *
 * Context: the loop thread.
 */
#ifndef BRICKD_STORAGE_CLEANER_H
#define BRICKD_STORAGE_CLEANER_H

#include <stdbool.h>
#include <stdint.h>

struct brick_storage;

/* Lets the cleaner look for freed slots. */
void brick_cleaner_kick(struct brick_storage *storage);

/**
 * brick_cleaner_finish - flush what the cleaner has not got to
 * @storage: its threads have ended
 * @deadline_ms: it takes no longer
 *
 * Return: false when something is left; that is logged.
 */
bool brick_cleaner_finish(struct brick_storage *storage, uint64_t deadline_ms);

#endif
