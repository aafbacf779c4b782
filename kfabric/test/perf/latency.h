/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfi_latency: a 4 KiB write and an 8 byte read behind it, as one durable
 * write of a block driver, and the write alone, through kfabric and through
 * plain verbs. Both go to the memory of tests/vm/interop's ofi_peer, in turn,
 * in one boot.
 */
#ifndef KFI_LATENCY_H
#define KFI_LATENCY_H

#include <linux/types.h>

#include "iop_wire.h"

#define LAT_WRITE_BYTES 4096
#define LAT_READ_BYTES	8
#define LAT_TIMEOUT_MS	10000

/**
 * enum lat_shape - what a round is
 * @LAT_CHAINED: a write that tells nothing and a read behind it, waited for
 * @LAT_WRITE: a write, waited for
 * @LAT_STEPS: a write, waited for, then a read, waited for: write and fsync
 * @LAT_SHAPES: how many there are
 */
enum lat_shape {
	LAT_CHAINED,
	LAT_WRITE,
	LAT_STEPS,
	LAT_SHAPES,
};

/**
 * struct lat_way - one of the two ways
 * @name: for the results
 * @open: connect; @data is a page to write from
 * @round: one round of the shape; @i counts
 * @close: end the connection; also after a failed @open
 */
struct lat_way {
	const char *name;
	int (*open)(const char *node, const char *service, void *data);
	int (*round)(enum lat_shape shape, u32 i);
	void (*close)(void);
};

extern const struct lat_way lat_raw;
extern const struct lat_way lat_fabric;

/* Private data for the peer; returns 0 and takes its answer. */
void lat_fill_data(struct iop_ulp_data *data);

/* Where the i-th write goes. */
static inline u64 lat_target(const struct iop_peer_data *peer, u32 i)
{
	return peer->rw_addr + (u64)LAT_WRITE_BYTES * (i % 64);
}

#endif /* KFI_LATENCY_H */
