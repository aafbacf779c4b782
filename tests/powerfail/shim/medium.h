/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A medium below a CPU's cache, both in memory: what brickd and its clients see
 * is the cached view; the media get what is written back (model L and M).
 *
 * With DDIO what a device writes stops in the cache, else it goes to the media.
 * Only the medium's op `flush` writes lines back: a brick that forgets it loses
 * them.
 */
#ifndef TESTS_POWERFAIL_MEDIUM_H
#define TESTS_POWERFAIL_MEDIUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "power.h"

#define PF_MEDIUM_BYTES (24U << 20)

/**
 * struct pf_platform - what the host of the brick is like
 * @ddio: devices write into the CPU's cache
 * @eadr: the cache survives a loss of power
 * @declared_off: brickd is told that DDIO is off, whether it is or not
 * @placed: a write is acknowledged when a CPU has put it where it belongs, as by
 *	soft RoCE
 */
struct pf_platform {
	bool ddio;
	bool eadr;
	bool declared_off;
	bool placed;
};

/* Begins an empty medium; what brickd opens is it. */
void pf_medium_init(const struct pf_platform *platform);
void pf_medium_fini(void);

/* A line of a device's write arrives; @at is its place in the cached view. */
void pf_medium_dma(uint8_t *at, const struct fault_line *line);

/* Writes a range of the cached view back. */
void pf_medium_settle(const uint8_t *at, size_t len);

/**
 * pf_medium_survivors - what a loss of power leaves of a range
 * @at: in the cached view, whole lines
 * @len: likewise
 * @rng: decides what of L is kept
 * @out: M afterwards; the medium itself goes on as it is
 */
void pf_medium_survivors(const uint8_t *at, size_t len, __u64 *rng,
			 uint8_t *out);

#endif
