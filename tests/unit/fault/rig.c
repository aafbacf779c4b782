// SPDX-License-Identifier: BSD-2-Clause
/*
 * A target, its clients and power cuts: see rig.h.
 */
#include <stdlib.h>
#include <string.h>

#include "rig.h"

void rig_init(struct rig *rig, const struct rig_case *c, uint64_t seed)
{
	const struct fault_power_cfg cfg = {
		.seed = seed,
		.drain_permille = c->drain_permille,
		.ddio = c->ddio,
		.eadr = c->eadr,
		.bug = c->bug,
	};

	memset(rig, 0, sizeof(*rig));
	rig->rng = ~seed;
	if (fault_power_init(&rig->power, &cfg, rig->lines, RIG_LINES,
			     rig->conns, RIG_QUEUES))
		abort();
}

/* Write what has left the model to the media. */
void rig_settle(struct rig *rig)
{
	struct fault_line line;
	unsigned int i;

	while (fault_power_pop(&rig->power, &line)) {
		rig->lost_lines += !!line.lost;
		rig->lost_bytes += __builtin_popcountll(line.lost);
		for (i = 0; i < FAULT_LINE; i++)
			if (line.mask & (1ULL << i))
				rig->media[line.addr + i] = line.data[i];
	}
}

void rig_write(struct rig *rig, uint32_t conn, uint64_t addr, const void *data,
	       uint32_t len)
{
	const uint8_t *p = data;
	uint32_t done = 0;

	while (done < len) {
		done += fault_power_write(&rig->power, conn, RIG_SPACE,
					  addr + done, p + done, len - done);
		if (done < len && fault_power_squeeze(&rig->power, conn))
			abort();
		rig_settle(rig);
	}
	memcpy(rig->acked + addr, data, len);
}

static void peer_flushes(struct rig *rig)
{
	fault_power_flush(&rig->power, RIG_SPACE, 0, RIG_MEDIA);
}

void rig_flush(struct rig *rig, enum rig_flush how)
{
	uint32_t c, queues = RIG_QUEUES;

	if (how == RIG_NO_FLUSH)
		return;
	if (how == RIG_READBACK_FIRST || how == RIG_MESSAGE_FIRST)
		queues = 1;
	for (c = 0; c < queues; c++) {
		fault_power_empty(&rig->power, c);
		if (how == RIG_MESSAGE_ALL || how == RIG_MESSAGE_FIRST)
			peer_flushes(rig);
	}
	rig_settle(rig);
}

_Bool rig_lost(const struct rig *rig)
{
	return memcmp(rig->media, rig->acked, RIG_MEDIA) != 0;
}

/* One client's life: writes on all queues, flush, cut. Was anything lost? */
static _Bool one_cut(struct rig *rig, const struct rig_case *c)
{
	uint8_t data[FAULT_LINE];
	unsigned int i, n;

	for (n = 0; n < RIG_WRITES; n++) {
		/* One block's writes always use one queue. */
		uint64_t block =
			fault_random(&rig->rng) % (RIG_MEDIA / FAULT_LINE);

		for (i = 0; i < FAULT_LINE; i++)
			data[i] = (uint8_t)fault_random(&rig->rng);
		rig_write(rig, (uint32_t)(block % RIG_QUEUES),
			  block * FAULT_LINE, data, FAULT_LINE);
		fault_power_step(&rig->power);
		rig_settle(rig);
	}
	rig_flush(rig, c->flush);
	fault_power_cut(&rig->power);
	rig_settle(rig);
	return rig_lost(rig);
}

unsigned int rig_losses(const struct rig_case *c, unsigned int cuts,
			uint64_t seed)
{
	struct rig *rig = malloc(sizeof(*rig));
	unsigned int i, lost = 0;

	if (!rig)
		abort();
	for (i = 0; i < cuts; i++) {
		rig_init(rig, c, seed + i);
		lost += one_cut(rig, c);
	}
	free(rig);
	return lost;
}
