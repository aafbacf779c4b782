/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric_verbs: datagram endpoints (FI_EP_DGRAM): what their files share.
 *
 * A datagram endpoint is an endpoint whose queue pair is an unreliable datagram one
 * (UD, InfiniBand Architecture Specification 1.4, volume 1, chapter 9), and which has
 * a struct kfiv_dgram besides. Sends go the way of all others (post.c). What is
 * different:
 *
 * Addresses. An endpoint listens at its IP address and port for SIDR requests (service
 *	ID resolution, chapter 12) with rdma_cm's RDMA_PS_UDP, and answers with its queue
 *	pair number. Who wants to send asks the peer so, and keeps the answer as an
 *	address handle in a struct kfiv_peer (dgram_addr.c, dgram_ask.c). What is sent
 *	before there is an answer waits. An answer is not believed for ever: what is sent
 *	KFIV_FRESH_MS after it has the peer asked again, without waiting, so that one that
 *	was born anew, with another queue pair, is found.
 *
 * Sources. A datagram says from which port of the fabric and which queue pair it comes,
 *	and nothing of an IP port. So a request carries a struct kfiv_hello, which says
 *	what the asking endpoint's name is; peers that are no kfabric have none, and are
 *	known from when they are sent to.
 *
 * Receives. The queue pair receives into buffers of the endpoint's own, which are copied
 *	into the receives that are posted (dgram_recv.c). So a receive can be canceled, a
 *	message too long for one hurts nobody (to the queue pair it would be an error, of
 *	which anybody could make one), and what comes before its receive stays.
 *
 * Context: posts only queue, or post to the queue pair; completions come from the
 *	device's CQs, or from kfiv_dgram.work, one after the other for each direction:
 *	whoever comes while another one completes leaves it to that one.
 * Locking: ep->tx_lock protects what is sent, ep->rx_lock what is received,
 *	kfiv_dgram.lock, below both, and above the address vector's, whom the endpoint
 *	knows.
 * Lifetime: works run, and questions are asked, until kfiv_dgram_stop(). An address
 *	handle is there until the last operation that it was given to is over.
 */
#ifndef KFABRIC_VERBS_DGRAM_H
#define KFABRIC_VERBS_DGRAM_H

#include <linux/completion.h>
#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <kfabric/kfi_av.h>

#include "verbs.h"

#define KFIV_DGRAM_SGES	 3 /* of a receive: kfiv_dgram_sges() */
#define KFIV_RBUF_BYTES	 4096 /* of a buffer: the largest MTU that there is */
#define KFIV_REST_BYTES	 65536 /* beyond them: more than any packet has */
#define KFIV_DGRAM_QUEUE 1024 /* operations of each direction at most */
#define KFIV_GRH_STRIDE	 64 /* 40 bytes are the header's */
#define KFIV_PEERS_MAX	 1024 /* that an endpoint keeps in mind */
#define KFIV_ASKS_MAX	 64 /* that are asked at one time */
#define KFIV_PEER_BITS	 8 /* of the hash */
#define KFIV_FRESH_MS	 2000 /* an answer is believed without asking again */
#define KFIV_BATCH	 64 /* receives completed by one run */

/**
 * struct kfiv_source - where datagrams come from, as the fabric has it
 * @gid: of the port; without a global route header its LID, in the last two bytes
 * @qpn: queue pair
 */
struct kfiv_source {
	union ib_gid gid;
	u32 qpn;
};

/* The GID of a &struct kfiv_source whose datagrams have no global route header. */
static inline void kfiv_lid_gid(union ib_gid *gid, u32 lid)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[14] = lid >> 8;
	gid->raw[15] = lid;
}

/**
 * struct kfiv_hello - private data of a request
 * @magic: KFIV_HELLO_MAGIC
 * @qpn: of the asking endpoint's queue pair
 * @port: IP port at which it listens
 * @reserved: 0
 * @gid: of its &struct kfiv_source
 */
struct kfiv_hello {
	__be32 magic;
	__be32 qpn;
	__be16 port;
	__be16 reserved;
	u8 gid[16];
};

#define KFIV_HELLO_MAGIC 0x6b667544 /* "kfuD" */
static_assert(sizeof(struct kfiv_hello) == 28);

/**
 * struct kfiv_ah - how to send to a peer
 * @refs: the peer's, and one of each operation
 * @ib: the device's address handle
 * @qpn: of the peer
 * @qkey: of the peer
 * @dgram: whose it is
 * @node: in dgram->dead
 */
struct kfiv_ah {
	refcount_t refs;
	struct ib_ah *ib;
	u32 qpn;
	u32 qkey;
	struct kfiv_dgram *dgram;
	struct llist_node node;
};

/**
 * struct kfiv_peer - somebody whom the endpoint knows; protected by dgram->lock
 * @by_name: in dgram->by_name
 * @by_source: in dgram->by_source, if @known
 * @lru: in dgram->peers, the last one that was used at the end
 * @stale: in dgram->stale: is to be asked again; or empty
 * @name: IP address and port, as kfi_name_set() has it
 * @source: where its datagrams come from, if @known
 * @known: @source is
 * @asking: a question is under way, so that it stays
 * @fresh: until when it need not be asked, in jiffies
 * @ah: how to send to it; NULL: it must be asked
 */
struct kfiv_peer {
	struct hlist_node by_name;
	struct hlist_node by_source;
	struct list_head lru;
	struct list_head stale;
	struct sockaddr_in6 name;
	struct kfiv_source source;
	bool known;
	bool asking;
	unsigned long fresh;
	struct kfiv_ah *ah;
};

/**
 * struct kfiv_rbuf - what a datagram is received into
 * @cqe: how its work completion finds it
 * @node: in dgram->arrived
 * @grh: where its header comes to
 * @grh_dma: of @grh
 * @data: where its bytes come to
 * @dma: of @data
 * @len: bytes that have come
 * @source: where they come from
 * @has_imm: @imm was sent with them
 * @imm: data for the completion
 */
struct kfiv_rbuf {
	struct ib_cqe cqe;
	struct list_head node;
	void *grh;
	u64 grh_dma;
	void *data;
	u64 dma;
	u32 len;
	struct kfiv_source source;
	bool has_imm;
	u32 imm;
};

/**
 * struct kfiv_dgram - what a datagram endpoint has besides
 * @ep: the endpoint
 * @port_num: of the device, that its queue pair is bound to
 * @qpn: of its queue pair; 0: it is not enabled
 * @work: completes what was canceled, delivers what came early, sends what waited
 * @closed: works have nothing to do any more; changed under each of the locks
 * @waiting: sends whose peer is not known yet; protected by ep->tx_lock, as what
 *	follows
 * @failed: sends that have left @waiting and are to be completed
 * @ended: sends that are to be completed by who does it now
 * @ending: somebody does
 * @last_ah: of the last send that the device was given, for the drain
 * @arrived: datagrams without a receive; protected by ep->rx_lock, as what follows
 * @canceled: receives
 * @delivering: somebody completes receives
 * @nr_bufs: buffers
 * @bufs: all
 * @rest: what a datagram has more than a buffer comes to, of all of them
 * @rest_dma: of @rest
 * @grhs: the headers of all
 * @grhs_dma: of @grhs
 * @lock: protects what follows, as far as @by_source; irq-safe; fid_av.lock is below it
 * @nr_peers: in @peers
 * @nr_asks: questions under way
 * @peers: whom the endpoint knows
 * @stale: those to be asked again
 * @asks: questions under way
 * @by_name: &kfiv_peer.by_name
 * @by_source: &kfiv_peer.by_source
 * @answered: no question is under way, and none will be
 * @dead: address handles to be destroyed; without a lock
 * @dead_work: destroys them
 * @last_from: number of the last sender, of who sets @delivering
 */
struct kfiv_dgram {
	struct kfiv_ep *ep;
	u32 port_num;
	u32 qpn;
	struct work_struct work;
	bool closed;

	struct list_head waiting;
	struct list_head failed;
	struct list_head ended;
	bool ending;
	struct kfiv_ah *last_ah;

	struct list_head arrived;
	struct list_head canceled;
	bool delivering;
	u32 nr_bufs;
	struct kfiv_rbuf *bufs;
	void *rest;
	u64 rest_dma;
	void *grhs;
	u64 grhs_dma;

	spinlock_t lock;
	u32 nr_peers;
	u32 nr_asks;
	struct list_head peers;
	struct list_head stale;
	struct list_head asks;
	DECLARE_HASHTABLE(by_name, KFIV_PEER_BITS);
	DECLARE_HASHTABLE(by_source, KFIV_PEER_BITS);
	struct completion answered;
	struct llist_head dead;
	struct work_struct dead_work;
	fi_addr_t last_from;
};

/* Segments of a receive: the header, the bytes, and what is discarded. */
static inline u32 kfiv_dgram_sges(const struct kfiv_device *dev)
{
	return min_t(u32, KFIV_DGRAM_SGES, dev->ib->attrs.max_recv_sge);
}

/* dgram.c */
u32 kfiv_dgram_mtu(const struct kfiv_device *dev);
int kfiv_dgram_endpoint(struct fid_domain *domain, struct fi_info *info,
			struct fid_ep **ep, void *context);
int kfiv_dgram_enable(struct kfiv_ep *ep);
void kfiv_dgram_stop(struct kfiv_ep *ep);
void kfiv_dgram_free_hw(struct kfiv_ep *ep);
void kfiv_dgram_kick(struct kfiv_dgram *dgram);
void kfiv_dgram_limit(struct kfiv_ep *ep);

/* dgram_addr.c */
struct kfiv_ah *kfiv_ah_new(struct kfiv_dgram *dgram,
			    struct rdma_ud_param *answer);
void kfiv_ah_put(struct kfiv_ah *ah);
void kfiv_ah_bury(struct kfiv_dgram *dgram);
void kfiv_ah_bury_work(struct work_struct *work);
struct kfiv_ah *kfiv_peer_ah(struct kfiv_dgram *dgram,
			     const struct sockaddr_in6 *name, bool *asking);
void kfiv_peer_answered(struct kfiv_dgram *dgram,
			const struct sockaddr_in6 *name, int result,
			struct kfiv_ah *ah, const struct kfiv_source *source);
int kfiv_peer_ask(struct kfiv_dgram *dgram, const struct sockaddr_in6 *name,
		  struct list_head *ask);
bool kfiv_peer_next_stale(struct kfiv_dgram *dgram, struct sockaddr_in6 *name);
void kfiv_peer_learn(struct kfiv_dgram *dgram, const struct sockaddr_in6 *name,
		     const struct kfiv_source *source);
bool kfiv_peer_name(struct kfiv_dgram *dgram, const struct kfiv_source *source,
		    struct sockaddr_in6 *name);
void kfiv_peers_free(struct kfiv_dgram *dgram);

/* dgram_ask.c */
void kfiv_asks_run(struct kfiv_dgram *dgram);
void kfiv_asks_end(struct kfiv_dgram *dgram);
int kfiv_dgram_event(struct kfiv_cm *cm, struct rdma_cm_id *id,
		     struct rdma_cm_event *event);

/* dgram_post.c */
extern const struct fi_ops_msg kfiv_dgram_msg_ops;
bool kfiv_dgram_aim(struct kfiv_dgram *dgram, struct kfiv_op *op,
		    const struct sockaddr_in6 *to, bool *asking);
void kfiv_dgram_keep(struct kfiv_dgram *dgram, struct kfiv_ah *ah);
bool kfiv_dgram_send_waiting(struct kfiv_dgram *dgram,
			     struct sockaddr_in6 *unknown);
void kfiv_dgram_fail_waiting(struct kfiv_dgram *dgram,
			     const struct sockaddr_in6 *name, int result);
void kfiv_dgram_tx_end(struct kfiv_ep *ep, struct list_head *done);
void kfiv_dgram_end_failed(struct kfiv_dgram *dgram);
struct kfiv_op *kfiv_dgram_left(struct kfiv_ep *ep, struct kfiv_op *unsent,
				struct list_head *tx);
void kfiv_dgram_drain_tx(struct kfiv_ep *ep);

/* dgram_recv.c */
int kfiv_rbufs_alloc(struct kfiv_dgram *dgram);
void kfiv_rbufs_free(struct kfiv_dgram *dgram);
int kfiv_rbufs_post(struct kfiv_dgram *dgram);
ssize_t kfiv_dgram_recvmsg(struct fid_ep *ep, const struct fi_msg *msg,
			   u64 flags);
bool kfiv_dgram_cancel_rx(struct kfiv_dgram *dgram, const struct kfiv_op *op);
bool kfiv_dgram_deliver(struct kfiv_dgram *dgram);

#endif /* KFABRIC_VERBS_DGRAM_H */
