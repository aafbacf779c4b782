// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kfb_err.h"
#include "port.h"
#include "toy_hmac.h"

struct port *port;
struct kfb_initiator_flush flush;

static struct port *port_of(const struct kfb_initiator *i)
{
	return kfb_container_of(i, struct port, i);
}

static int send_message(struct kfb_initiator_queue *q,
			const struct kfb_message *message)
{
	(void)q;
	(void)message;
	return port->room-- ? 0 : -EAGAIN;
}

static int post_receive(struct kfb_initiator_queue *q, __u16 index)
{
	(void)q;
	assert_true(index < KFB_INITIATOR_RX_MAX);
	port->n_receives++;
	return 0;
}

static int locate(struct kfb_initiator *i, const struct kfb_flush_range *at,
		  struct kfb_initiator_place *place)
{
	if (port_of(i)->has_no_place)
		return -ENXIO;
	place->raddr = at->va;
	place->key = 1;
	return 0;
}

static int read_back(struct kfb_initiator_queue *q, __u32 place, __u64 id,
		     const struct kfb_initiator_place *from, __u32 len)
{
	assert_true(place < KFB_FLUSH_PLACES);
	assert_int_equal(from->key, 1);
	assert_in_range(len, 1, KFB_READBACK_BYTES);
	if (!port->room)
		return -EAGAIN;
	port->room--;
	assert_true(port->n_posted < POST_MAX);
	port->posted[port->n_posted].queue = q->index;
	port->posted[port->n_posted++].id = id;
	return 0;
}

static void flush_done(struct kfb_initiator *i,
		       struct kfb_initiator_flush *done, int error)
{
	port_of(i)->done = done;
	port_of(i)->error = error;
}

static void take_back(struct kfb_initiator *i,
		      struct kfb_initiator_flush *taken)
{
	(void)taken;
	port_of(i)->n_taken_back++;
}

static void writes_lost(struct kfb_initiator *i, const struct kfb_dirty *writes)
{
	uint32_t n;

	for (n = 0; n < writes->n; n++)
		port_of(i)->n_lost_bytes += writes->ranges[n].len;
}

static int write_copy(struct kfb_initiator_queue *q, __u32 slot,
		      const struct kfb_retain_piece *piece, __u32 page,
		      const struct kfb_initiator_place *to)
{
	(void)q;
	(void)page;
	assert_true(slot < KFB_INITIATOR_REPLAYS);
	assert_int_equal(to->raddr, piece->va);
	if (port->post_error)
		return port->post_error;
	if (!port->room)
		return -EAGAIN;
	port->room--;
	port->written[port->n_written++] = piece->va;
	return (int)piece->len;
}

static void kick(struct kfb_initiator *i)
{
	port_of(i)->n_kicks++;
}

static void call_done(struct kfb_initiator *i, struct kfb_initiator_call *call)
{
	port_of(i)->call_done = call;
}

static void say(struct kfb_initiator *i, enum kfb_initiator_level level,
		const char *what, const char *detail, int error)
{
	port_of(i)->n_reasons += level == KFB_SAY_WHY;
	port_of(i)->n_logged += level == KFB_SAY_LOG;
	(void)detail;
	(void)error;
	assert_non_null(what);
}

static __u64 now_ms(const struct kfb_initiator *i)
{
	(void)i;
	return 1000;
}

static void set_rate(struct kfb_initiator *i, const struct kfb_rate *rate)
{
	port->rate = *rate;
}

static __u64 moved_bytes(struct kfb_initiator_queue *q)
{
	return 0;
}

/* There is none. */
static void make_mappings(struct kfb_initiator *i)
{
	kfb_client_mapped(&i->client);
}

static const struct kfb_initiator_ops ops = {
	.set_rate = set_rate,
	.make_mappings = make_mappings,
	.moved_bytes = moved_bytes,
	.receive = post_receive,
	.send = send_message,
	.locate = locate,
	.read_back = read_back,
	.flush_done = flush_done,
	.call_done = call_done,
	.say = say,
	.now_ms = now_ms,
};

const struct kfb_initiator_ops port_ops_of_disk = {
	.write_copy = write_copy,
	.kick = kick,
	.send = send_message,
	.locate = locate,
	.read_back = read_back,
	.flush_done = flush_done,
	.take_back = take_back,
	.writes_lost = writes_lost,
	.call_done = call_done,
	.say = say,
	.now_ms = now_ms,
};

static void no_random(void *ctx, void *buf, __u32 len)
{
	(void)ctx;
	memset(buf, 0, len);
}

int port_setup(void **state)
{
	const struct kfb_initiator_config config = {
		.client = {
			.engine.hmac.compute = toy_hmac,
			.random = no_random,
			.n_queues = QUEUES,
			.timeout_ms = 1000,
		},
		.over_error = -ECONNRESET,
	};
	uint32_t n;

	(void)state;
	port = calloc(1, sizeof(*port));
	assert_non_null(port);
	assert_int_equal(kfb_initiator_init(&port->i, &ops, &config, port->tx),
			 0);
	port->i.flush_mode = KFB_FLUSH_READBACK;
	port->i.session_id = 7;
	port->i.client.session_id = 7;
	port->i.client.state = KFB_CLIENT_LIVE;
	port->i.client.n_used = QUEUES;
	port->room = POST_MAX;
	for (n = 0; n < QUEUES; n++) {
		struct kfb_client_queue *q = &port->i.client.queues[n];

		kfb_initiator_add_queue(&port->i, &port->q[n], n);
		q->engine.state = KFB_CONN_READY;
		assert_int_equal(kfb_credits_init(&q->engine.credits,
						  KFB_CREDITS_MAX),
				 0);
		assert_int_equal(
			kfb_slots_init(&q->engine.slots, KFB_CREDITS_MAX), 0);
		q->is_open = 1;
		kfb_flush_wrote(&port->q[n].flush, n * KFB_BLOCK_BYTES, 512);
	}
	flush = (struct kfb_initiator_flush){
		.only = KFB_INITIATOR_ALL_QUEUES,
		.is_told = 1,
	};
	return 0;
}

int port_teardown(void **state)
{
	(void)state;
	free(port);
	return 0;
}

uint64_t port_posted(uint32_t queue)
{
	uint32_t n = port->n_posted;

	while (n--) {
		if (port->posted[n].queue == queue)
			return port->posted[n].id;
	}
	fail_msg("nothing was posted on queue %u", queue);
	return 0;
}

void port_read_back(uint32_t queue, int error)
{
	kfb_initiator_flushed(&port->q[queue], port_posted(queue), error);
}
