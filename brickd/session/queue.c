// SPDX-License-Identifier: BSD-2-Clause
/* Queues: made with their first connection, kept for the next one. */
#include "brickd/session/queue.h"

#include <stdlib.h>

struct brick_queue *brick_queue_new(struct brick_session *s, uint16_t index,
				    uint16_t credits)
{
	struct brick_queue *q;

	q = calloc(1, sizeof(*q) + credits * sizeof(q->records[0]));
	if (!q)
		return NULL;
	q->session = s;
	q->index = index;
	(void)kfb_slots_init(&q->slots, credits);
	return q;
}

void brick_queue_attach(struct brick_queue *q, struct brick_conn *c)
{
	q->conn = c;
	q->generation++;
	(void)kfb_credits_init(&q->credits, q->slots.n);
}
