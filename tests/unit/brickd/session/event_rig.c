// SPDX-License-Identifier: BSD-2-Clause
/* A session for tests of EVENTs. */
#include "event_rig.h"

#include <stdlib.h>
#include <string.h>

#include "brickd/session/event.h"
#include "brickd/session/queue.h"

static ssize_t keep(struct fid_ep *ep, const void *buf, size_t len, void *desc,
		    fi_addr_t to, void *context)
{
	struct event_rig *rig = ep->fid.context;

	if (kfb_decode_reply(buf, (uint32_t)len, &rig->last) ||
	    rig->last.op != KFB_OP_EVENT)
		abort();
	rig->n_sent++;
	return 0;
}

static struct fi_ops_msg msg = { .size = sizeof(msg), .send = keep };

/* All sends have completed. */
static void all_sent(struct event_rig *rig)
{
	struct brick_conn *c = &rig->conn;

	SLIST_INIT(&c->free_sends);
	c->n_sending = 0;
	for (size_t i = 0; i < RIG_BUFS; i++) {
		rig->bufs[i].data = rig->memory[i];
		SLIST_INSERT_HEAD(&c->free_sends, &rig->bufs[i], free_link);
	}
}

void rig_connect(struct event_rig *rig)
{
	struct brick_conn *c = &rig->conn;

	free(c->ep);
	memset(c, 0, sizeof(*c));
	c->net = rig->s.all->net;
	c->session = &rig->s;
	c->queue = rig->s.queues[0];
	c->ep = calloc(1, sizeof(*c->ep));
	if (!c->ep)
		abort();
	c->ep->fid.context = rig;
	c->ep->msg = &msg;
	c->state = KFB_CONN_READY;
	c->features = KFB_FEATURE_EVENT;
	c->event_credits = KFB_EVENTS_UNACKED_MAX;
	c->is_served = true; /* nobody looks at it */
	all_sent(rig);
	rig->s.queues[0]->conn = c;
}

int rig_begin(struct event_rig *rig, struct brick_sessions *all)
{
	memset(rig, 0, sizeof(*rig));
	rig->s.all = all;
	rig->s.state = KFB_SESSION_LIVE;
	TAILQ_INIT(&rig->s.mappings);
	rig->s.queues[0] = brick_queue_new(&rig->s, 0, KFB_CREDITS_MIN);
	if (!rig->s.queues[0])
		return -1;
	rig_connect(rig);
	return 0;
}

void rig_end(struct event_rig *rig)
{
	free(rig->conn.ep);
	free(rig->s.queues[0]);
}

struct brick_mapping *rig_map(struct brick_session *s, uint64_t block,
			      uint32_t flags)
{
	struct brick_mapping *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	m->session = s;
	m->holdings = s->holdings;
	m->flags = flags;
	m->n = 1;
	m->handles = calloc(1, sizeof(*m->handles));
	if (!m->handles)
		abort();
	m->handles[0].span = (struct brick_span){ block, block + 1 };
	if (brick_mappings_add(&s->all->mappings, m))
		abort();
	TAILQ_INSERT_TAIL(&s->mappings, m, session_link);
	return m;
}

void rig_ack(struct event_rig *rig, uint16_t op, uint32_t seq)
{
	struct kfb_request req = { .op = op };

	if (op == KFB_OP_PING)
		req.u.ping.event_seq = seq;
	else
		req.u.unmap.event_seq = seq;
	all_sent(rig);
	brick_events_noted(&rig->s, &req);
}
