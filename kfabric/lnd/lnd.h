/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric_lnd: what its files share. What is between two nodes is decided in
 * kfabric/lndwire; here messages are sent and received, and bytes are moved.
 *
 *   klnd_put() --> request: waits --> struct lndw_peer --> messages --> endpoint
 *   done()     <-- reaper <-- request: over <-+   |  ^
 *                                                 v  |
 *   match(), event() <------- struct klnd_rx: read and write <------- completions
 *
 * Upcalls of the fabric put what is done on a list and start the engine, a work of the net,
 * that does all the rest; the calls of the upper layer enter the engine's data under @lock.
 * Regions are closed by another work, the reaper, because that may wait for a peer that is
 * not there.
 *
 * Locking: klnd_nets_lock, then klnd_net.lock (mutexes), then klnd_net.done_lock, which
 * upcalls take. No callback of the upper layer is called with a lock held.
 */
#ifndef KLND_LND_H
#define KLND_LND_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <kfabric/fi_av.h>
#include <kfabric/fi_endpoint.h>
#include <kfabric/fi_errno.h>
#include <kfabric/fi_rma.h>
#include <kfabric/fi_tagged.h>
#include <kfabric/klnd.h>

#include "kfabric/lndwire/lndw_peer.h"

#define KLND_RECVS	  64 /* for requests, and as many for answers */
#define KLND_SENDS	  128
#define KLND_OPS	  (2 * KLND_RECVS + KLND_SENDS)
#define KLND_ANSWER_BYTES 128
#define KLND_TICK_MS	  50
#define KLND_TAKES	  KLND_OPS /* by a run of the engine */
#define KLND_RETRY_MS	  100 /* a move of bytes is tried again after */
#define KLND_CREDITS	  8

/* What an operation of the fabric's is for. */
enum klnd_op_kind {
	KLND_RECV,
	KLND_ANSWER, /* a receive with a tag */
	KLND_SEND,
	KLND_MOVE,
};

/**
 * struct klnd_op - an operation of the fabric's
 * @node: of the list of free sends, or of those that are done
 * @kind: what it is for
 * @net: whose it is
 * @buf: KLND_RECV, KLND_ANSWER, KLND_SEND: its bytes
 * @err: how it ended
 * @len: bytes that came
 * @src: who sent them
 * @tag: with them
 * @peer: KLND_SEND: whom it is for
 * @msg: KLND_SEND: kind of the message
 * @seq: KLND_SEND: number of the transaction
 * @rx: KLND_MOVE: what it moves bytes for
 * @fi: memory of the operation; has op_context_size bytes
 */
struct klnd_op {
	struct list_head node;
	enum klnd_op_kind kind;
	struct klnd_net *net;
	u8 *buf;
	int err;
	size_t len;
	fi_addr_t src;
	u64 tag;
	struct klnd_peer *peer;
	enum lndw_kind msg;
	u64 seq;
	struct klnd_rx *rx;
	struct fi_context fi;
};

/**
 * struct klnd_rx - a put or get of a peer's that goes on here
 * @node: of those that wait to be tried again
 * @peer: whose it is
 * @place: as the core calls it
 * @is_immediate: its bytes came with it
 * @key: of the peer's memory
 * @deadline_ms: when the peer gives up
 * @retry_ms: not before
 * @in: what the upper layer knows of it
 * @op: moves the bytes
 */
struct klnd_rx {
	struct list_head node;
	struct klnd_peer *peer;
	unsigned int place;
	bool is_immediate;
	u64 key;
	u64 deadline_ms;
	u64 retry_ms;
	struct klnd_incoming in;
	struct klnd_op op;
};

/**
 * struct klnd_peer - a peer
 * @core: what is between us; @core.nid is the peer's number
 * @net: whose it is
 * @node: of all peers
 * @dirty: of those that may have something to send, or alone
 * @addr: number of its address
 * @waiting: requests for which there was no credit
 */
struct klnd_peer {
	struct lndw_peer core;
	struct klnd_net *net;
	struct hlist_node node;
	struct list_head dirty;
	fi_addr_t addr;
	struct list_head waiting;
};

#define KLND_HASH_BITS 10

/**
 * struct klnd_net - a net
 * @attr: as it was opened
 * @self: this node
 * @node: of all nets
 * @info: what the fabric offers
 * @fabric: of @info
 * @domain: of @fabric
 * @cq: completions of @ep
 * @av: addresses of peers
 * @ep: endpoint
 * @op_bytes: of a struct klnd_op with what the fabric wants behind it
 * @ops: receives for requests, receives for answers, and sends
 * @done_lock: @done
 * @done: operations that are over
 * @lock: all that follows
 * @peers: by their number
 * @dirty: peers that may have something to send
 * @free: sends that are not in use
 * @retries: struct klnd_rx that wait to be tried again
 * @ended: requests that are over
 * @begun: what the core has taken on last
 * @tick_ms: when time is looked at next
 * @is_closing: nothing is posted any more
 * @is_dead: the device is gone
 * @counts: for klnd_count()
 * @engine: see the head of the file
 * @reaper: see there
 */
struct klnd_net {
	struct klnd_attr attr;
	struct lndw_node self;
	struct list_head node;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	size_t op_bytes;
	struct klnd_op *ops[KLND_OPS];
	spinlock_t done_lock;
	struct list_head done;
	struct mutex lock;
	struct hlist_head peers[1 << KLND_HASH_BITS];
	struct list_head dirty;
	struct list_head free;
	struct list_head retries;
	struct list_head ended;
	struct klnd_rx *begun;
	u64 tick_ms;
	bool is_closing;
	bool is_dead;
	struct klnd_counts counts;
	struct delayed_work engine;
	struct work_struct reaper;
};

/* module.c */
extern struct workqueue_struct *klnd_wq;
extern struct mutex klnd_nets_lock;
extern struct list_head klnd_nets;
extern char *klnd_prov, *klnd_node, *klnd_service;
extern unsigned int klnd_op_timeout_ms;
u64 klnd_now_ms(void);

/* net.c */
struct klnd_peer *klnd_peer_find(struct klnd_net *net, u64 nid);

/* engine.c */
void klnd_completed(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
		    void *context);
void klnd_engine(struct work_struct *work);
void klnd_engine_kick(struct klnd_net *net);
int klnd_post_recv(struct klnd_op *op);
void klnd_pump(struct klnd_peer *peer);
void klnd_peer_is_dirty(struct klnd_peer *peer);

/* request.c */
void klnd_reap(struct work_struct *work);
void klnd_request_ended(struct lndw_peer *core, __u64 cookie,
			enum lndw_status status, __u32 bytes);
void klnd_requests_begin(struct klnd_peer *peer);
void klnd_requests_drop(struct klnd_peer *peer, u64 now_ms,
			enum lndw_status status);
void klnd_requests_end(struct klnd_net *net);

/* move.c */
void klnd_begun(struct lndw_peer *core, unsigned int place,
		const struct lndw_msg *msg);
void klnd_rx_start(struct klnd_rx *rx, const u8 *bytes);
void klnd_rx_moved(struct klnd_rx *rx, int err);
void klnd_rx_tick(struct klnd_net *net, u64 now_ms);

#define for_each_klnd_peer(net, peer, i)                     \
	for ((i) = 0; (i) < ARRAY_SIZE((net)->peers); (i)++) \
	hlist_for_each_entry(peer, &(net)->peers[i], node)

#endif /* KLND_LND_H */
