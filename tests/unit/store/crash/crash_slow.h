/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A slow tier beside a recording medium.
 *
 * A sector of 512 bytes is written as a whole or not at all; what was written
 * since the last sync is lost or kept sector by sector, in any order. Of the
 * header all sectors exist, of a slot's data the first and the last one: those
 * that hold the words of the slot that the medium knows.
 *
 * Each of the nested media has its own.
 *
 * Context: as the medium's.
 */
#ifndef TESTS_STORE_CRASH_SLOW_H
#define TESTS_STORE_CRASH_SLOW_H

#include <stdint.h>

#include "crash_medium.h"

#define CRASH_SECTOR_BYTES 512U

/* For the n_slow slots that all of these media were made for. */
void crash_slow_attach(struct crash_medium *cm);
void crash_slow_free(struct crash_medium *cm);

/* All of them get another size, at most room for what they were made for. */
void crash_slow_resize(struct crash_medium *cm, uint64_t n_slow);

/* One of the words of a slot that exist; its number may have its bit. */
uint64_t crash_slow_sample(const struct crash_medium *cm, uint64_t slot,
			   unsigned int sample);

#endif
