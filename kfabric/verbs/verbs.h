/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric_verbs: what its files share.
 *
 * Objects and what they hold of the device:
 *
 *   device  <- domain (PD)  <- endpoint (CM id, QP, share of a CQ)
 *                           <- memory region (fast registration MR)
 *                           <- shared receive context (SRQ)
 *
 * The arrows are counts: domain->hw counts itself, endpoints, regions and contexts
 * that still have something of the device; the last one frees the PD and lets go
 * of the device, whose removal waits for that. So an object outlives its
 * hardware when the device is removed, and the reaper's slow work outlives
 * neither the domain nor the device.
 *
 * Locks, outer first: kfiv_device_mutex, domain->mutex, ep->mutex,
 * {ep->tx_lock, ep->rx_lock}; srx->mutex, srx->lock. Who reads a failed inject has
 * fid_cq.lock over ep->tx_lock. ep->id_mutex may be held for
 * minutes, by slow work only. No lock is held over a call of the core that may
 * lead to an upcall, but srx->mutex when what is left in a context is canceled.
 */
#ifndef KFABRIC_VERBS_H
#define KFABRIC_VERBS_H

#include <linux/completion.h>
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include <kfabric/kfi_atomic.h>
#include <kfabric/kfi_provider.h>
#include <kfabric/kfi_shared.h>

/* Segments of one operation, each physically contiguous. */
#define KFIV_MAX_SGE 16
/* What fi_inject() takes, and how many may be under way. */
#define KFIV_INJECT_BYTES 256
#define KFIV_INJECT_SLOTS 32
/* Bytes that a read-back flush reads. */
#define KFIV_SCRATCH_BYTES 8
/* Default sizes of queues; hints may ask for more. */
#define KFIV_QUEUE_SIZE 256
/* READs under way in each direction. */
#define KFIV_MAX_READS 16
/* Pages of one registered sink (iWARP). */
#define KFIV_SINK_PAGES 256
/* Work requests that register sinks, and that read into them. */
#define KFIV_SINK_WRS (2 * KFIV_MAX_READS)
/*
 * Work requests of our own besides the upper layer's: drain, MR, what asks for quiet
 * operations, and the second one of an operation that is told when it is delivered,
 * where the queue has room for one operation alone.
 */
#define KFIV_OWN_WRS	   5
#define KFIV_OP_TIMEOUT_MS 30000
#define KFIV_CM_TIMEOUT_MS 5000
/* Private data on the wire: a length byte, then up to that many bytes. */
#define KFIV_CM_DATA_MAX 55

struct kfiv_ah;
struct kfiv_dgram;
struct kfiv_ep;
struct kfiv_owner;

/**
 * struct kfiv_loan - what upper layers have of an object's hardware
 * @lent: how often, and 1 until the end
 * @back: @lent went to 0
 * @ended: bit 0: the end has begun
 */
struct kfiv_loan {
	refcount_t lent;
	struct completion back;
	unsigned long ended;
};

/**
 * struct kfiv_device - an RDMA device
 * @ib: the device
 * @node: in the list of devices; protected by kfiv_device_mutex
 * @domains: of this device; protected by kfiv_device_mutex
 * @users: domains that hold a PD, and 1 for the list
 * @idle: @users went to 0
 * @max_msg_size: of its ports
 * @max_sge: for everything, reads too
 * @max_seg: bytes of a segment
 * @max_srx: receives that endpoints can share; 0: they cannot
 * @mute: it does not say when a queue pair has done with its shared receives
 * @atomic: it does atomic operations on 8 bytes
 * @iwarp: reads need registered sinks; completions say nothing of the peer
 * @siw: the kernel's software iWARP, which does not do all that it should
 */
struct kfiv_device {
	struct ib_device *ib;
	struct list_head node;
	struct list_head domains;
	refcount_t users;
	struct completion idle;
	size_t max_msg_size;
	u32 max_sge;
	size_t max_seg;
	size_t max_srx;
	bool mute;
	bool atomic;
	bool iwarp;
	bool siw;
};

/**
 * struct kfiv_domain - domain: one PD
 * @domain: base
 * @dev: valid while @hw is not 0
 * @pd: its protection domain, valid as @dev is
 * @atomic: as of @dev, when that is gone, too
 * @loan: of @dev and @pd
 * @hw: what needs @pd, see the head of the file
 * @hw_dropped: the domain's own count in @hw was given back
 * @node: in dev->domains
 * @mutex: protects the lists and @dying
 * @dying: the device is going; nothing may be added
 * @eps: open endpoints
 * @mrs: open memory regions
 * @srxs: open shared receive contexts
 */
struct kfiv_domain {
	struct fid_domain domain;
	struct kfiv_device *dev;
	struct ib_pd *pd;
	bool atomic;
	struct kfiv_loan loan;
	refcount_t hw;
	unsigned long hw_dropped;
	struct list_head node;
	struct mutex mutex;
	bool dying;
	struct list_head eps;
	struct list_head mrs;
	struct list_head srxs;
};

/**
 * struct kfiv_cm - what a CM id's context points to
 * @handler: gets the events; runs under the id's handler mutex, may sleep
 */
struct kfiv_cm {
	int (*handler)(struct kfiv_cm *cm, struct rdma_cm_id *id,
		       struct rdma_cm_event *event);
};

/**
 * struct kfiv_pep - passive endpoint
 * @pep: base
 * @cm: context of @id
 * @id: listens; taken by xchg(), by whoever destroys it
 * @addr: where to listen
 * @cm_timeout_ms: a request is rejected when it was not answered so long
 * @shares_rx: requests are for endpoints that share receives
 * @lock: protects @reqs
 * @reqs: requests that nobody has answered
 */
struct kfiv_pep {
	struct fid_pep pep;
	struct kfiv_cm cm;
	struct rdma_cm_id *id;
	struct sockaddr_storage addr;
	u32 cm_timeout_ms;
	bool shares_rx;
	spinlock_t lock;
	struct list_head reqs;
};

/**
 * struct kfiv_req - connection request
 * @req: base
 * @owner: of the CM id; taken by xchg(), by whoever answers
 * @ib: where it came in; for comparison only
 * @timer: rejects a request that nobody answers
 * @pep: where it came in; its memory stays as it is the parent
 * @node: in pep->reqs
 * @responder_resources: READs of the peer that it wants to have under way
 * @initiator_depth: READs of ours that it can take
 */
struct kfiv_req {
	struct kfi_connreq req;
	struct kfiv_owner *owner;
	const struct ib_device *ib;
	struct delayed_work timer;
	struct kfiv_pep *pep;
	struct list_head node;
	u8 responder_resources;
	u8 initiator_depth;
};

/**
 * struct kfiv_sink - one READ of an operation, into registered memory (iWARP)
 * @node: in kfiv_sinks.free, or that of the READs of one operation
 * @op: whose READ is under way, or NULL
 * @mr: names the memory; lives as long as the queue pair
 * @reg_cqe: of the registration, which is heard of only if it fails
 * @cqe: of the READ
 * @reg: registers
 * @read: reads
 * @sge: what is registered, as one
 */
struct kfiv_sink {
	struct list_head node;
	struct kfiv_op *op;
	struct ib_mr *mr;
	struct ib_cqe reg_cqe;
	struct ib_cqe cqe;
	struct ib_reg_wr reg;
	struct ib_rdma_wr read;
	struct ib_sge sge;
};

/**
 * struct kfiv_sinks - what the reads of an endpoint need on iWARP
 * @free: sinks not in use; protected by ep->tx_lock, as the fields below
 * @limit: sinks that may be in use
 * @used: sinks in use
 * @sg: what is being registered
 * @sink: all
 */
struct kfiv_sinks {
	struct list_head free;
	u32 limit;
	u32 used;
	struct scatterlist sg[KFIV_MAX_SGE];
	struct kfiv_sink sink[KFIV_MAX_READS];
};

/**
 * struct kfiv_op - an operation; lives in the upper layer's memory
 * @node: in ep->tx_ops, ep->rx_ops or srx->rx_ops, in the order of posting
 * @cqe: how its work completion finds it
 * @comp: what the core gets
 * @slot: inject slot that has the bytes, or NULL
 * @srx: context that a shared receive was posted to
 * @posted: when, in jiffies
 * @places: of the queue that it takes
 * @nr_sge: mapped segments
 * @dir: of the mappings
 * @timed_out: it was under way for too long
 * @over: the device has done with it
 * @reads: on iWARP, work requests under way of an operation that has READs: these,
 *	and what is before them
 * @err: how it ended, if @over; before that the first failure of a part
 * @status: how it ended, as the device says; of a datagram that the device was not
 *	given, -errno of asking where to send it
 * @ah: of a datagram, to whom it goes, with a reference; NULL: nobody knows yet
 * @wr: what the device gets; of a receive of datagrams the buffer
 * @back: the READ behind it, with FI_DELIVERY_COMPLETE
 * @to: of a datagram that nobody knows yet where to send, its address
 * @back_cqe: how the work completion of @back finds the operation
 * @back_sge: where @back reads into
 * @sge: segments, mapped
 */
struct kfiv_op {
	struct list_head node;
	struct ib_cqe cqe;
	struct kfi_comp *comp;
	union {
		struct kfiv_slot *slot;
		struct kfiv_srx *srx;
	};
	unsigned long posted;
	u8 places;
	u8 nr_sge;
	u8 dir;
	bool timed_out;
	bool over;
	u8 reads;
	int err;
	int status;
	struct kfiv_ah *ah;
	union {
		struct ib_send_wr send;
		struct ib_rdma_wr rdma;
		struct ib_atomic_wr atomic;
		struct ib_recv_wr recv;
		struct ib_ud_wr ud;
		struct fi_buf buf;
	} wr;
	union {
		struct ib_rdma_wr back;
		struct sockaddr_in6 to;
	};
	struct ib_cqe back_cqe;
	struct ib_sge back_sge;
	struct ib_sge sge[KFIV_MAX_SGE];
};

/**
 * struct kfiv_slot - bytes of an injected operation
 * @node: in ep->slots when free
 * @comp: completion of an operation without memory of its own
 * @dma: of @data
 * @data: the bytes
 * @op: the operation, if it has no memory of its own
 */
struct kfiv_slot {
	struct list_head node;
	struct kfi_comp comp;
	u64 dma;
	u8 *data;
	struct kfiv_op op;
};

/* Bits of kfiv_ep.once. */
enum {
	KFIV_ONCE_STOP_QUEUED,
	KFIV_ONCE_REMOVAL_QUEUED,
	KFIV_ONCE_HW_FREED,
};

enum kfiv_queue_state {
	KFIV_QUEUE_CLOSED, /* cannot be posted to yet */
	KFIV_QUEUE_HELD, /* receives are kept until there is a queue pair */
	KFIV_QUEUE_OPEN,
	KFIV_QUEUE_STOPPED, /* for good */
};

/**
 * struct kfiv_ep - endpoint
 * @ep: base
 * @cm: context of @id
 * @domain: parent
 * @node: in domain->eps
 * @mutex: protects @qp, @stopped, @cq, creation and stop
 * @id_mutex: protects @id against being destroyed
 * @id: CM id, from fi_connect() or from the request
 * @qp: its queue pair, from the moment the device is known
 * @cq: shares of the device's CQs, transmit and receive; may be the same
 * @nr_cqe: entries of these shares
 * @loan: of @qp and @cq
 * @stopped: kfiv_ep_stop() was done
 * @once: KFIV_ONCE_*, what must not be done twice
 * @accepting: opened for a connection request
 * @answered: the request was accepted
 * @refused: the peer has refused the request
 * @qp_event: &enum ib_event_type that ended it, or 0
 * @src: own address to use, family 0: any
 * @dest: peer
 * @param: for rdma_connect() and rdma_accept()
 * @cm_data: private data with its length byte
 * @tx_attr: limits of sends and RMA, as negotiated with the upper layer
 * @rx_attr: limits of receives
 * @max_msg_size: limit of both
 * @sinks: of reads; NULL unless on iWARP
 * @dgram: what a datagram endpoint has besides; NULL: it is a connected one
 * @stop_work: stops the endpoint after an error
 * @slow_work: tells the peer
 * @removal_work: gives back what a removed device waits for
 * @cm_timer: limits a step of connection set-up
 * @op_timer: looks for operations that take too long
 * @map_timer: lets those post again whose memory could not be mapped
 * @asked: of the WRITE behind quiet operations
 * @tx_lock: irq-safe; protects the tx fields
 * @tx_state: &enum kfiv_queue_state
 * @tx_free: slots free
 * @tx_quiet: posts since the last one that was signaled
 * @tx_quiet_max: at most so many
 * @tx_ops: under way, oldest first
 * @chain: first work request that was not handed over yet (FI_MORE)
 * @unsent: first operation that the device does not have, or NULL
 * @chain_end: where to link the next one
 * @slots: free inject slots
 * @timer_armed: @op_timer is under way
 * @timer_end: when it runs, in jiffies
 * @asked_for: the last quiet operation when it was asked; NULL: nothing is asked
 * @asked_end: until when the answer to @asked must have come, in jiffies
 * @rx_lock: irq-safe; protects the rx fields
 * @rx_state: &enum kfiv_queue_state
 * @rx_free: slots free
 * @rx_ops: under way, oldest first
 * @srx_node: in srx->eps, from the queue pair's making to the stop
 * @srx_busy: shared receives that are being completed
 * @last_wqe: the device has done with the shared receives of @qp
 * @own_mutex: one work request of our own at a time
 * @scratch: target of read-backs
 * @scratch_dma: of @scratch
 * @slot_mem: all inject slots
 * @slot_data: their bytes
 * @slot_dma: of @slot_data
 */
struct kfiv_ep {
	struct fid_ep ep;
	struct kfiv_cm cm;
	struct kfiv_domain *domain;
	struct list_head node;
	struct mutex mutex;
	struct mutex id_mutex;
	struct rdma_cm_id *id;
	struct ib_qp *qp;
	struct ib_cq *cq[2];
	unsigned int nr_cqe[2];
	struct kfiv_loan loan;
	bool stopped;
	bool accepting;
	bool answered;
	bool refused;
	int qp_event;
	unsigned long once;
	struct sockaddr_storage src;
	struct sockaddr_storage dest;
	struct rdma_conn_param param;
	u8 cm_data[1 + KFIV_CM_DATA_MAX];
	struct fi_tx_attr tx_attr;
	struct fi_rx_attr rx_attr;
	size_t max_msg_size;
	struct kfiv_sinks *sinks;
	struct kfiv_dgram *dgram;
	struct work_struct stop_work;
	struct work_struct slow_work;
	struct work_struct removal_work;
	struct delayed_work cm_timer;
	struct delayed_work op_timer;
	struct delayed_work map_timer;
	struct ib_cqe asked;

	spinlock_t tx_lock ____cacheline_aligned_in_smp;
	enum kfiv_queue_state tx_state;
	u32 tx_free;
	u32 tx_quiet;
	u32 tx_quiet_max;
	struct list_head tx_ops;
	struct ib_send_wr *chain;
	struct ib_send_wr **chain_end;
	struct kfiv_op *unsent;
	struct list_head slots;
	bool timer_armed;
	unsigned long timer_end;
	struct kfiv_op *asked_for;
	unsigned long asked_end;

	spinlock_t rx_lock ____cacheline_aligned_in_smp;
	enum kfiv_queue_state rx_state;
	u32 rx_free;
	struct list_head rx_ops;

	struct hlist_node srx_node;
	atomic_t srx_busy;
	struct completion last_wqe;

	struct mutex own_mutex;
	void *scratch;
	u64 scratch_dma;
	struct kfiv_slot *slot_mem;
	u8 *slot_data;
	u64 slot_dma;
};

/* Buckets of kfiv_srx.eps, as a power of 2. */
#define KFIV_SRX_HASH_BITS 7

/**
 * struct kfiv_srx - shared receive context
 * @ep: base
 * @domain: parent
 * @node: in domain->srxs
 * @mutex: protects @srq against being destroyed, and setting @low
 * @srq: what the device has of it; NULL: nothing any more
 * @attr: limits
 * @max_msg_size: limit of a receive
 * @nr_qps: queue pairs that the device has on @srq
 * @low_work: tells that few receives are left
 * @map_timer: lets those post again whose memory could not be mapped
 * @lock: irq-safe; protects what follows
 * @is_open: receives go to the device
 * @rx_free: receives that may be posted
 * @rx_ops: receives that are not over, oldest first
 * @eps: by queue pair: endpoints whose receives these are
 * @low: FI_OPT_LOW_WATER
 */
struct kfiv_srx {
	struct fid_ep ep;
	struct kfiv_domain *domain;
	struct list_head node;
	struct mutex mutex;
	struct ib_srq *srq;
	struct fi_rx_attr attr;
	size_t max_msg_size;
	atomic_t nr_qps;
	struct work_struct low_work;
	struct delayed_work map_timer;

	spinlock_t lock ____cacheline_aligned_in_smp;
	bool is_open;
	u32 rx_free;
	struct list_head rx_ops;
	DECLARE_HASHTABLE(eps, KFIV_SRX_HASH_BITS);
	struct kfi_low_water low;
};

/**
 * struct kfiv_mr - memory region
 * @mr: base
 * @domain: parent
 * @node: in domain->mrs
 * @mutex: protects @ib and @enabled
 * @loan: of @ib
 * @ib: fast registration MR; NULL when it was freed
 * @table: the mapped pages
 * @access: IB_ACCESS_*
 * @enabled: the device knows it
 */
struct kfiv_mr {
	struct fid_mr mr;
	struct kfiv_domain *domain;
	struct list_head node;
	struct mutex mutex;
	struct kfiv_loan loan;
	struct ib_mr *ib;
	struct sg_table table;
	int access;
	bool enabled;
};

/**
 * struct kfiv_post - what to post on the transmit side
 * @context: operation memory; NULL: an inject slot is the operation
 * @buf: local bytes
 * @flags: of the post
 * @comp_flags: of the completion
 * @opcode: of the work request
 * @dir: DMA direction of @buf
 * @max_sge: segments allowed
 * @remote_addr: for RMA and atomic operations
 * @rkey: for RMA and atomic operations
 * @compare_add: for atomic operations: what is compared, or added
 * @swap: what comes instead
 * @data: for the peer's completion, in host order
 * @scratch: read into ep->scratch instead of @buf
 * @to: where a datagram goes to, else NULL
 */
struct kfiv_post {
	struct fi_context *context;
	const struct fi_buf *buf;
	u64 flags;
	u64 comp_flags;
	enum ib_wr_opcode opcode;
	enum dma_data_direction dir;
	u32 max_sge;
	u64 remote_addr;
	u32 rkey;
	u64 compare_add;
	u64 swap;
	u32 data;
	bool scratch;
	const struct sockaddr_in6 *to;
};

/* What kfi_obj_kfree() frees begins with its fid. */
static_assert(!offsetof(struct kfiv_domain, domain));
static_assert(!offsetof(struct kfiv_pep, pep));
static_assert(!offsetof(struct kfiv_mr, mr));
static_assert(!offsetof(struct kfiv_srx, ep));

#define to_kfiv_domain(d) container_of(d, struct kfiv_domain, domain)
#define to_kfiv_ep(e)	  container_of(e, struct kfiv_ep, ep)
#define to_kfiv_pep(p)	  container_of(p, struct kfiv_pep, pep)
#define to_kfiv_mr(m)	  container_of(m, struct kfiv_mr, mr)
#define to_kfiv_srx(e)	  container_of(e, struct kfiv_srx, ep)

/* module.c */
extern struct kfi_provider kfiv_provider;
extern struct workqueue_struct *kfiv_wq; /* must not block for long */
extern struct workqueue_struct *kfiv_slow_wq; /* may */
extern struct workqueue_struct *kfiv_ask_wq; /* what others' works wait for */

/* device.c */
extern struct mutex kfiv_device_mutex;
extern struct list_head kfiv_devices;
extern struct ib_client kfiv_client;
size_t kfiv_max_queue(const struct kfiv_device *dev);
struct kfiv_device *kfiv_device_find(struct ib_device *ib);
void kfiv_device_put(struct kfiv_device *dev);

/* info.c */
int kfiv_getinfo(struct kfi_provider *prov, const char *node,
		 const char *service, u64 flags, const struct fi_info *hints,
		 struct fi_info **info);
struct fi_info *kfiv_connreq_info(struct rdma_cm_id *id, bool shares_rx);

/* domain.c */
extern const struct fi_ops_fabric kfiv_fabric_ops;
void kfiv_domain_put_hw(struct kfiv_domain *domain);
void kfiv_domain_remove(struct kfiv_domain *domain);
bool kfiv_domain_get_hw(struct kfiv_domain *domain);
bool kfiv_domain_add(struct kfiv_domain *domain, struct list_head *node,
		     struct list_head *list);
void kfiv_domain_del(struct kfiv_domain *domain, struct list_head *node);

/* cq.c */
int kfiv_ep_get_cqs(struct kfiv_ep *ep);
void kfiv_ep_put_cqs(struct kfiv_ep *ep);

/* ep.c */
int kfiv_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **ep, void *context);
struct kfiv_ep *kfiv_ep_alloc(struct fid_domain *domain, struct fi_info *info,
			      const struct kfi_ep_ops *ops, void *context);
int kfiv_ep_set_up(struct kfiv_ep *ep, const struct fi_info *info);
void kfiv_ep_remove(struct kfiv_ep *ep);
extern const struct fi_ops kfiv_ep_fid_ops;

/* qp.c */
int kfiv_qp_create(struct kfiv_ep *ep);
void kfiv_ep_fail(struct kfiv_ep *ep, int err, int prov_errno);
void kfiv_ep_queue_stop(struct kfiv_ep *ep);
void kfiv_ep_queue_removal(struct kfiv_ep *ep);
void kfiv_ep_stop(struct kfiv_ep *ep);
void kfiv_ep_free_hw(struct kfiv_ep *ep);
void kfiv_ep_works_init(struct kfiv_ep *ep);

/* cm.c */
extern const struct fi_ops_cm kfiv_cm_ops;
u32 kfiv_cm_timeout_ms(const struct kfiv_ep *ep);
int kfiv_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event);
/* The endpoint's CM id, unless its hardware is gone: -ENODEV. Under id_mutex. */
int kfiv_id_create(struct kfiv_ep *ep, enum rdma_ucm_port_space ps,
		   enum ib_qp_type type);
int kfiv_ep_event(struct kfiv_cm *cm, struct rdma_cm_id *id,
		  struct rdma_cm_event *event);
size_t kfiv_cm_put_data(u8 *wire, const void *data, size_t len);
const u8 *kfiv_cm_get_data(const void *wire, size_t wire_len, size_t *len);

/* pep.c */
int kfiv_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
		    struct fid_pep **pep, void *context);

/* connreq.c */
int kfiv_connreq_new(struct kfiv_pep *pep, struct rdma_cm_id *id,
		     struct rdma_cm_event *event);
int kfiv_connreq_claim(struct kfid *handle, struct kfiv_ep *ep);
int kfiv_connreq_reject(struct kfiv_pep *pep, struct kfid *handle,
			const void *param, size_t paramlen);
void kfiv_connreq_drop_all(struct kfiv_pep *pep);

/* post.c */
extern const struct fi_ops_msg kfiv_msg_ops;
ssize_t kfiv_tx_post(struct kfiv_ep *ep, const struct kfiv_post *post);
ssize_t kfiv_tx_inject(struct kfiv_ep *ep, struct kfiv_post *post,
		       const void *bytes, size_t len);
int kfiv_check_data(const struct kfiv_ep *ep, u64 flags);
/*
 * A work request of the provider's own, which has its own cqe, behind what FI_MORE held
 * back. The caller of the first has tx_lock.
 */
int kfiv_tx_post_own_locked(struct kfiv_ep *ep, const struct ib_send_wr *wr);
int kfiv_tx_post_own(struct kfiv_ep *ep, const struct ib_send_wr *wr);
/* A message of an upper layer, as a post. */
static inline struct kfiv_post kfiv_send_of(const struct kfiv_ep *ep,
					    const struct fi_msg *msg, u64 flags)
{
	return (struct kfiv_post){
		.context = msg->context,
		.buf = &msg->buf,
		.flags = flags,
		.comp_flags = FI_SEND | FI_MSG,
		.opcode = flags & FI_REMOTE_CQ_DATA ? IB_WR_SEND_WITH_IMM
						    : IB_WR_SEND,
		.dir = DMA_TO_DEVICE,
		.max_sge = ep->tx_attr.iov_limit,
		.data = msg->data,
	};
}

void kfiv_post_submit(struct fid_ep *ep);
void kfiv_chain_add(struct kfiv_ep *ep, struct kfiv_op *op,
		    struct ib_send_wr *first, struct ib_send_wr *last);
void kfiv_chain_hand_over(struct kfiv_ep *ep);

/* rma.c */
int kfiv_set_remote(struct kfiv_post *post, u64 addr, size_t len, u64 key);
extern const struct fi_ops_rma kfiv_rma_ops;
void kfiv_fill_back(struct kfiv_ep *ep, struct kfiv_op *op,
		    const struct kfiv_post *post);

/* ops.c */
void kfiv_loan_init(struct kfiv_loan *loan);
void kfiv_loan_end(struct kfiv_loan *loan);
int kfiv_ops_open(struct kfid *fid, const char *name, u64 flags, void **ops,
		  void *context);

/* atomic.c */
extern const struct fi_ops_atomic kfiv_atomic_ops;
int kfiv_query_atomic(struct fid_domain *domain, unsigned int datatype,
		      unsigned int op, struct fi_atomic_attr *attr, u64 flags);

/* recv.c */
ssize_t kfiv_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, u64 flags);
/* Map a receive, and fill in its work request: 0, or as kfiv_op_map(). */
int kfiv_recv_prepare(struct kfiv_domain *domain, const struct fi_msg *msg,
		      u64 flags, u32 max_sge);
void kfiv_rx_open(struct kfiv_ep *ep);

/* completion.c */
void kfiv_tx_done(struct ib_cq *cq, struct ib_wc *wc);
void kfiv_front_done(struct ib_cq *cq, struct ib_wc *wc);
void kfiv_back_done(struct ib_cq *cq, struct ib_wc *wc);
void kfiv_tx_note(struct kfiv_ep *ep, struct kfiv_op *op,
		  enum ib_wc_status status);
void kfiv_tx_over(struct kfiv_ep *ep, struct kfiv_op *op);
void kfiv_tx_finish(struct kfiv_ep *ep, struct list_head *done);
void kfiv_comp_read(struct fid_ep *ep, struct kfi_comp *comp);
void kfiv_op_finish(struct kfiv_ep *ep, struct kfiv_op *op, int err,
		    int status);
void kfiv_rx_done(struct ib_cq *cq, struct ib_wc *wc);
int kfiv_rx_errno(enum ib_wc_status status);
/* A receive is on no list any more: tell what came of it. */
void kfiv_rx_finish(struct kfiv_ep *ep, struct kfiv_op *op,
		    const struct ib_wc *wc);
void kfiv_flush_left(struct kfiv_ep *ep);
void kfiv_op_timer(struct work_struct *work);
void kfiv_asked_done(struct ib_cq *cq, struct ib_wc *wc);

/* sge.c */
int kfiv_op_map(struct kfiv_domain *domain, struct kfiv_op *op,
		const struct fi_buf *buf, enum dma_data_direction dir,
		u32 max_sge);
void kfiv_op_unmap(struct kfiv_domain *domain, struct kfiv_op *op);
/* Memory of a post cannot be mapped now. Returns what the post returns. */
int kfiv_map_later(struct fid_ep *ep, struct delayed_work *timer, u64 dir);
void kfiv_map_timer(struct work_struct *work);
void kfiv_op_begin(struct fid_ep *ep, struct kfiv_op *op,
		   void (*done)(struct ib_cq *cq, struct ib_wc *wc),
		   struct list_head *ops);
size_t kfiv_op_context_size(void);

/* fastreg.c */
int kfiv_fastreg_setup(struct kfiv_ep *ep);
void kfiv_fastreg_teardown(struct kfiv_ep *ep);
int kfiv_sinks_alloc(struct kfiv_ep *ep);
void kfiv_sinks_limit(struct kfiv_ep *ep, const struct rdma_conn_param *conn);
void kfiv_sinks_drop(struct kfiv_ep *ep);
int kfiv_fastreg_map(struct kfiv_ep *ep, struct kfiv_op *op,
		     const struct ib_rdma_wr *wr, struct ib_send_wr **first,
		     struct ib_send_wr **last);
struct kfiv_op *kfiv_sink_op(const struct kfiv_ep *ep,
			     const struct ib_send_wr *wr);

/* srx.c */
int kfiv_srx_context(struct fid_domain *domain, const struct fi_rx_attr *attr,
		     struct fid_ep **srx, void *context);
void kfiv_srx_remove(struct kfiv_srx *srx);
/* Its SRQ stays until it is let go; -ENODEV: there is none any more. */
int kfiv_srx_hold(struct kfiv_srx *srx);
void kfiv_srx_let_go(struct kfiv_srx *srx);
/* The endpoint's queue pair is there, on its context. */
void kfiv_srx_join(struct kfiv_ep *ep);
/* As ib_drain_qp(): afterwards no shared receive completes in the endpoint. */
void kfiv_srx_drain(struct kfiv_ep *ep);

/* mr.c */
int kfiv_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		    u64 flags, struct fid_mr **mr);
void kfiv_mr_free_hw(struct kfiv_mr *mr);

#endif /* KFABRIC_VERBS_H */
