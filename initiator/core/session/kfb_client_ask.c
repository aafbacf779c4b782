// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Is the session gone?
 *
 * A refusal carries no proof: whoever has the brick's port can say STALE. The
 * word is no more than a reason to ask. Queue 0 begins a new session, on an
 * engine of its own, while everything of the old one is kept; its AUTH names
 * the old one, which the brick ends before it answers. When the answer proves
 * the brick, the old session has ended; whatever else comes, the old session is
 * joined again later, as if nothing had been said. One that was given up and is
 * taken up again is not joined any more, and asked after until there is an answer.
 */
#include <linux/string.h>
#include "session/kfb_client_priv.h"

void kfb_client_doubt(struct kfb_client *c, __u64 now_ms)
{
	__u32 i;

	/* A queue that lives is either of a session that does, and is joined
	 * again, or has not noticed yet.
	 */
	for (i = 0; i < c->n_offered; i++) {
		struct kfb_client_queue *q = &c->queues[i];

		if (q->engine.state == KFB_CONN_READY)
			q->needs_validation = 1;
		kfb_engine_lost(&q->engine);
		kfb_client_connecting(c, q, now_ms);
	}
	kfb_client_move(c, KFB_CLIENT_DETACHED);
	c->is_doubted = 1;
	c->queues[0].retry_at_ms = 0;
	/* A brick that makes sessions and refuses their joins is in no hurry. */
	if (c->is_replaced)
		kfb_client_try_again(c, &c->queues[0], now_ms, 0);
}

int kfb_client_begin_asking(struct kfb_client *c)
{
	struct kfb_engine *e = &c->queues[0].engine;
	struct kfb_engine_config config = e->config;
	int rc;

	kfb_engine_keep(e);
	config.last_instance_id = c->instance_id;
	config.last_power_epoch = e->power_epoch;
	config.former_session_id = c->session_id;
	c->config.random(c->config.random_ctx, config.nonce, KFB_NONCE_BYTES);
	c->kept = *e;
	c->is_doubted = 0;
	c->is_asking = 1;
	rc = kfb_engine_init(e, &config, c->spare_tx);
	if (!rc)
		e->state = KFB_CONN_BACKOFF;
	return rc;
}

void kfb_client_asked_in_vain(struct kfb_client *c)
{
	struct kfb_client_queue *q = &c->queues[0];
	__u32 i;

	c->spare_tx = q->engine.tx;
	q->engine = c->kept;
	memset(&c->kept, 0, sizeof(c->kept));
	c->is_asking = 0;
	/* Its calls were told lost: nobody could join it again. */
	c->is_doubted = c->is_retaken;
	for (i = 1; i < c->n_offered; i++)
		c->queues[i].retry_at_ms = q->retry_at_ms;
}

void kfb_client_stop_asking(struct kfb_client *c)
{
	c->is_doubted = 0;
	if (!c->is_asking)
		return;
	c->is_asking = 0;
	c->spare_tx = c->kept.tx;
	kfb_engine_drop(&c->kept);
}
