/* SPDX-License-Identifier: BSD-2-Clause */
/* How the bytes of a write get into memory, and what its completion says. */
#ifndef BRICKD_NET_PLACING_H
#define BRICKD_NET_PLACING_H

#include "brickd/config/address.h"

/**
 * enum brick_placing - how bytes get from a fabric into memory
 * @BRICK_PLACED_BY_DEVICE: an RDMA device's DMA: they may stop in a CPU cache
 * @BRICK_PLACED_BY_CPU: stores; the writer may not wait for them, and a read
 *	that follows proves nothing: stock tcp
 * @BRICK_PLACED_BY_SOFT_RDMA: stores, which no read behind them overtakes:
 *	soft iWARP
 * @BRICK_PLACED_BEFORE_ACK: stores that the writer waits for: soft RoCE
 */
enum brick_placing {
	BRICK_PLACED_BY_DEVICE,
	BRICK_PLACED_BY_CPU,
	BRICK_PLACED_BY_SOFT_RDMA,
	BRICK_PLACED_BEFORE_ACK,
};

/**
 * brick_placing_of - how bytes that come over a device are placed
 * @scheme: through which
 * @folder: BRICK_DEVICES_FOLDER
 * @device: its name, for verbs
 *
 * In doubt a device is hardware. A write over stock tcp completes when it is
 * handed to a socket, unless the client asks for more (FI_DELIVERY_COMPLETE),
 * which a brick does not see; over iWARP it does so, too, as no acknowledgement
 * comes back for a write.
 */
enum brick_placing brick_placing_of(const struct kfb_scheme *scheme,
				    const char *folder, const char *device);

#endif
