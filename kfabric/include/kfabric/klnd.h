/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric_lnd for upper layers: puts, gets and pings between numbered nodes, each done
 * once or ended with a reason, whatever becomes of connections meanwhile.
 *
 * A node opens a net, which is an endpoint, and adds the peers that it talks to. The peer
 * of a put or get is asked which of its buffers is meant (klnd_ops.match), by the match
 * bits; the bytes go from memory to memory. docs/kfabric-lnd.md has the rest.
 *
 * Life of a request:
 *
 *   your request -- klnd_put(), 0 --> the driver's -- done() --> your request
 *                -- klnd_put(), <0 --> still yours: done() will not be called
 */
#ifndef KFABRIC_KLND_H
#define KFABRIC_KLND_H

#include <linux/types.h>

#include <kfabric/fi_domain.h>

struct klnd_net;
struct klnd_peer;

/* Most bytes of a put or get. */
#define KLND_BYTES_MAX (1U << 20)

/**
 * struct klnd_request - a put, get or ping of this node's
 * @nid: of the peer, which klnd_peer_add() knows
 * @match: which of the peer's buffers is meant; of a ping nothing
 * @word: for the peer's upper layer; of a ping nothing
 * @buf: memory to put from or get into, which must stay until @done, as must an array that
 *	it has: up to KLND_BYTES_MAX bytes, of a get 1 at least. Of a ping nothing
 * @timeout_ms: when it ends in any case, not 0; later only by what one call of klnd_ops,
 *	or the @done of others, takes, and by a tenth of a second
 * @done: the request is over, with @status and @bytes. It may be begun anew from here.
 *	Context: process; may sleep, which holds up other requests' ends
 * @status: 0 it was done, once; -ENOENT the peer's upper layer has no such buffer,
 *	-EMSGSIZE or it is too short: nothing was done; -EHOSTUNREACH the peer could not be
 *	asked before @timeout_ms: nothing was done; -ETIMEDOUT it did not answer,
 *	-ECONNRESET it has restarted, -EIO it could not move the bytes, -ESHUTDOWN the net
 *	was closed or its device is gone: a put is done or not; -ESTALE the peer knows a
 *	later incarnation of this node
 * @bytes: how many bytes were moved, if @status is 0
 */
struct klnd_request {
	u64 nid;
	u64 match;
	u64 word;
	struct fi_buf buf;
	u32 timeout_ms;
	void (*done)(struct klnd_request *req);
	int status;
	u32 bytes;
	/* private: the driver's until @done */
	struct list_head node;
	struct klnd_peer *peer;
	struct fid_mr *mr;
	u64 key;
	u64 deadline_ms;
	u8 kind;
};

/**
 * struct klnd_incoming - a put or get of a peer's
 * @nid: of the peer
 * @match: as the peer said
 * @word: as the peer said
 * @bytes: of a put, or most that a get takes
 * @is_get: true: a get; false: a put
 * @buf: out: where a put goes, with @bytes at least, or what a get gets, up to @bytes. It
 *	must stay until klnd_ops.event(), as must an array that it has
 * @cookie: out: the upper layer's
 */
struct klnd_incoming {
	u64 nid;
	u64 match;
	u64 word;
	u32 bytes;
	bool is_get;
	struct fi_buf buf;
	void *cookie;
};

/**
 * struct klnd_ops - what a net's upper layer does for its peers
 * @match: which buffer is a put or get for? Called once for each, however often it is
 *	sent. Return 0, after which @event follows; -EMSGSIZE it is too short; another
 *	-errno: there is none. Context: process; must not sleep for long, nor close the net
 * @event: the put or get is over: @status 0, and the bytes are there, or -EIO: the peer
 *	has ended it, or could not be reached. Of a buffer that had not the bytes that @match was told of
 *	-EMSGSIZE. Context: as @match
 */
struct klnd_ops {
	int (*match)(void *context, struct klnd_incoming *in);
	void (*event)(void *context, const struct klnd_incoming *in, int status,
		      u32 bytes);
};

/**
 * struct klnd_attr - a net to be
 * @nid: this node's number in it, not 0, which nobody else has
 * @incarnation: greater than all that the node had before; 0: the time
 * @credits: transactions that each peer may have outstanding here, up to 16; 0: 8
 * @prov: provider of endpoints of type FI_EP_RDM; NULL: the module's parameter prov
 * @node: address to listen at; NULL: the parameter node
 * @service: port to listen at; NULL: the parameter service
 * @ops: what is done for peers
 * @context: for @ops
 */
struct klnd_attr {
	u64 nid;
	u64 incarnation;
	u32 credits;
	const char *prov;
	const char *node;
	const char *service;
	const struct klnd_ops *ops;
	void *context;
};

/**
 * klnd_open() - open a net
 * @attr: needed during the call only, but for ops and context
 * @net: out
 *
 * Context: process.
 * Return: 0; -EINVAL; -ENOMEM; -ENODATA there is no such provider or address; what else
 * fi_getinfo(), fi_endpoint() and fi_enable() have.
 */
int klnd_open(const struct klnd_attr *attr, struct klnd_net **net);

/**
 * klnd_close() - close a net
 * @net: net; nobody begins anything any more but done() of requests, which is refused
 *
 * Requests that are not over end with -ESHUTDOWN, and transactions of peers with -EIO.
 *
 * Context: process; not from a callback.
 */
void klnd_close(struct klnd_net *net);

/**
 * klnd_peer_add() - tell where a peer is
 * @net: net
 * @nid: of the peer, not 0
 * @node: numeric address
 * @service: port
 *
 * A message of the node counts only if it comes from there. A peer stays until the net is
 * closed: what it has done here must not be forgotten.
 *
 * Context: process.
 * Return: 0; -EINVAL; -EEXIST; -ENOMEM; what else fi_av_insertsvc() has.
 */
int klnd_peer_add(struct klnd_net *net, u64 nid, const char *node,
		  const char *service);

/**
 * klnd_put() - put bytes into a buffer of the peer's
 * @net: net
 * @req: request
 *
 * Context: process.
 * Return: 0; -EINVAL; -EHOSTUNREACH no such peer was added; -ESHUTDOWN; what
 * fi_mr_regattr() has.
 */
int klnd_put(struct klnd_net *net, struct klnd_request *req);

/**
 * klnd_get() - get the bytes of a buffer of the peer's
 * @net: net
 * @req: request
 *
 * Context: process.
 * Return: as klnd_put().
 */
int klnd_get(struct klnd_net *net, struct klnd_request *req);

/**
 * klnd_ping() - ask the peer for an answer, which its driver gives
 * @net: net
 * @req: request
 *
 * Context: process.
 * Return: as klnd_put().
 */
int klnd_ping(struct klnd_net *net, struct klnd_request *req);

/**
 * struct klnd_counts - what a net has counted
 * @sent: messages that were handed to the fabric
 * @unsent: messages that were handed to the fabric, and ended with an error
 * @strange: messages of nobody who was added, or that are none
 * @repeated: requests that were here before, and were answered again or were under way
 * @over: messages for transactions that were over
 * @busy: requests whose place was taken
 * @old: messages of an incarnation that is gone
 * @other: messages for an incarnation of this node that is gone
 * @wrong: messages that break the rules
 * @again: moves of bytes that were begun anew
 */
struct klnd_counts {
	u64 sent;
	u64 unsent;
	u64 strange;
	u64 repeated;
	u64 over;
	u64 busy;
	u64 old;
	u64 other;
	u64 wrong;
	u64 again;
};

/**
 * klnd_count() - read what a net has counted
 * @net: net
 * @counts: out
 *
 * Context: process.
 */
void klnd_count(struct klnd_net *net, struct klnd_counts *counts);

#endif /* KFABRIC_KLND_H */
