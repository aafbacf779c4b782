/* SPDX-License-Identifier: BSD-2-Clause */
/* What a brick promises of a completed write, and why it asks for a flush. */
#ifndef BRICKD_PROMISE_H
#define BRICKD_PROMISE_H

#include <stdbool.h>
#include <stdint.h>

#include "brickd/address.h"
#include "brickd/media.h"

/* How bytes get from a fabric into memory. */
enum brick_placing {
	BRICK_PLACED_BY_DEVICE, /* DMA: they may stop in a CPU cache */
	BRICK_PLACED_BY_CPU, /* stores; the writer may not wait for them */
	BRICK_PLACED_BEFORE_ACK, /* stores, and the writer waits for them */
};

/**
 * brick_placing_of - how bytes that come over a device are placed
 * @provider: through which
 * @folder: BRICK_DEVICES_FOLDER
 * @device: its name, for verbs
 *
 * In doubt a device is hardware. A write over stock tcp completes when it is
 * handed to a socket, unless the client asks for more (FI_DELIVERY_COMPLETE),
 * which a brick does not see; over iWARP likewise, where no acknowledgement
 * comes back for a write.
 */
enum brick_placing brick_placing_of(enum brick_provider provider,
				    const char *folder, const char *device);

/**
 * brick_flush_why - the reason for a flush mode
 * @mode: KFB_FLUSH_*
 * @granularity: of the medium
 * @placing: of the client's fabric
 *
 * Return: KFB_WHY_*.
 */
uint32_t brick_flush_why(uint32_t mode, enum brick_granularity granularity,
			 enum brick_placing placing);

#endif
