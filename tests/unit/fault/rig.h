/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A target with media in an array, clients with several queues, and power
 * cuts, for tests of the power-failure model.
 */
#ifndef TESTS_UNIT_FAULT_RIG_H
#define TESTS_UNIT_FAULT_RIG_H

#include <stddef.h>
#include <stdint.h>

#include "power.h"

#define RIG_QUEUES 4
#define RIG_LINES  256
#define RIG_MEDIA  (256 * FAULT_LINE)
#define RIG_WRITES 24
#define RIG_SPACE  7

struct rig {
	struct fault_power power;
	struct fault_line lines[RIG_LINES];
	struct fault_queue conns[RIG_QUEUES];
	uint8_t media[RIG_MEDIA];
	uint8_t acked[RIG_MEDIA]; /* what a client believes */
	__u64 rng;
	unsigned int lost_lines;
	unsigned int lost_bytes;
};

/* How a client makes its writes durable. */
enum rig_flush {
	RIG_NO_FLUSH,
	RIG_READBACK_ALL, /* on every queue that wrote */
	RIG_READBACK_FIRST, /* on queue 0 only */
	RIG_MESSAGE_ALL, /* FLUSH message on every queue, peer flushes cache */
	RIG_MESSAGE_FIRST,
};

struct rig_case {
	enum rig_flush flush;
	uint32_t drain_permille;
	_Bool ddio;
	_Bool eadr;
	enum fault_power_bug bug;
};

void rig_init(struct rig *rig, const struct rig_case *c, uint64_t seed);
void rig_settle(struct rig *rig);
void rig_write(struct rig *rig, uint32_t conn, uint64_t addr, const void *data,
	       uint32_t len);
void rig_flush(struct rig *rig, enum rig_flush how);
_Bool rig_lost(const struct rig *rig);
unsigned int rig_losses(const struct rig_case *c, unsigned int cuts,
			uint64_t seed);

#endif /* TESTS_UNIT_FAULT_RIG_H */
