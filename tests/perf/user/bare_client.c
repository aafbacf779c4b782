// SPDX-License-Identifier: BSD-2-Clause
/*
 * The active side of the bare loop, with libfabric's tcp provider alone.
 *
 * A durable write is a one-sided write with delivery, then a message that names
 * the range, then its answer: what libkfbrick does, without anything around it.
 */
#include <rdma/fi_cm.h>
#include <rdma/fi_rma.h>
#include <string.h>

#include "bare.h"
#include "peer.h"
#include "samples.h"

struct client {
	struct bare b;
	struct bare_area remote;
	uint8_t *buffer; /* LARGE_DEPTH large pieces */
	uint8_t answer[BARE_MESSAGE_BYTES];
	struct fi_context contexts[LARGE_DEPTH];
	struct fi_context receive_context;
	struct fi_context send_context;
};

static struct client client;

static void wait_for(struct client *c, const void *context)
{
	struct fi_cq_msg_entry entry;

	do {
		if (!bare_wait(&c->b, &entry))
			bare_die("waiting", -FI_ECONNRESET);
	} while (entry.op_context != context);
}

static void post_receive(struct client *c)
{
	BARE_TRY(fi_recv(c->b.ep, c->answer, sizeof(c->answer), NULL, 0,
			 &c->receive_context));
}

static void post_write(struct client *c, unsigned int slot, uint64_t at,
		       size_t len)
{
	struct iovec iov = { c->buffer + (size_t)slot * LARGE_BYTES, len };
	struct fi_rma_iov rma = { c->remote.addr + at, len, c->remote.key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = &c->contexts[slot],
	};

	BARE_TRY(fi_writemsg(c->b.ep, &msg,
			     FI_COMPLETION | FI_DELIVERY_COMPLETE));
}

static int durable(uint64_t at)
{
	struct bare_flush flush = { at, SMALL_BYTES };
	struct client *c = &client;

	post_write(c, 0, at, SMALL_BYTES);
	wait_for(c, &c->contexts[0]);
	BARE_TRY(fi_send(c->b.ep, &flush, sizeof(flush), NULL, 0,
			 &c->send_context));
	wait_for(c, &c->receive_context);
	post_receive(c);
	return 0;
}

static int large(unsigned int n)
{
	struct fi_cq_msg_entry entry;
	struct client *c = &client;
	unsigned int posted, done, slot;

	for (posted = 0; posted < LARGE_DEPTH; posted++)
		post_write(c, posted, large_at(posted), LARGE_BYTES);
	for (done = 0; done < n;) {
		if (!bare_wait(&c->b, &entry))
			bare_die("waiting", -FI_ECONNRESET);
		slot = (unsigned int)((struct fi_context *)entry.op_context -
				      c->contexts);
		if (slot >= LARGE_DEPTH)
			continue;
		done++;
		if (posted < n)
			post_write(c, slot, large_at(posted++), LARGE_BYTES);
	}
	return 0;
}

static void end(void)
{
	fi_shutdown(client.b.ep, 0);
	bare_close(&client.b);
}

const struct peer *bare_peer(const void *address, size_t len, uint8_t *buffer)
{
	static const struct peer peer = { "libfabric", durable, large, end };
	struct client *c = &client;

	c->buffer = buffer;
	bare_connect(&c->b, address, len);
	post_receive(c);
	wait_for(c, &c->receive_context);
	memcpy(&c->remote, c->answer, sizeof(c->remote));
	post_receive(c);
	return &peer;
}
