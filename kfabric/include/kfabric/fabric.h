/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: discovery, attributes, the base object.
 *
 * The names are libfabric's. What differs in the kernel:
 *   - the base object is struct kfid (linux/exportfs.h owns the other name);
 *   - operation memory is the caller's (struct fi_context), so that posting
 *     neither sleeps nor allocates;
 *   - buffers are typed (struct fi_buf): linear, kvec, bio_vec, scatterlist;
 *   - completions and events may be delivered by upcall;
 *   - only numeric addresses are understood, in the namespace of the caller.
 *
 * Context words used by all headers of this folder:
 *   process  - may sleep;
 *   posting  - process or softirq context, spinlocks may be held and local
 *              interrupts may be off; never hardirq or NMI. Does not sleep
 *              and does not allocate;
 *   upcall   - softirq or workqueue, see &enum fi_cq_context; must not sleep.
 *
 * Lifetime: every object holds a reference on its provider's module and on
 * its parent. fi_close() gives the object back.
 */
#ifndef KFABRIC_FABRIC_H
#define KFABRIC_FABRIC_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/stddef.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <kfabric/fi_errno.h>

struct fi_info;
struct fid_av;
struct fid_cq;
struct fid_domain;
struct fid_ep;
struct fid_eq;
struct fid_fabric;
struct fid_mr;
struct fid_pep;
struct kfi_provider;
struct net;
struct kfid;

/**
 * FI_VERSION() - compose an interface version
 * @major: changes when callers must change
 * @minor: changes when something was added
 */
#define FI_VERSION(major, minor) (((u32)(major) << 16) | (u16)(minor))
#define FI_MAJOR_VERSION	 1
#define FI_MINOR_VERSION	 0
#define FI_MAJOR(version)	 ((u32)(version) >> 16)
#define FI_MINOR(version)	 ((u32)(version)&0xffff)

/* Capabilities: fi_info.caps, tx_attr.caps, rx_attr.caps, domain_attr.caps. */
#define FI_MSG		BIT_ULL(0) /* untagged messages */
#define FI_RMA		BIT_ULL(1) /* remote memory */
#define FI_SEND		BIT_ULL(2)
#define FI_RECV		BIT_ULL(3)
#define FI_READ		BIT_ULL(4) /* may read remote memory */
#define FI_WRITE	BIT_ULL(5) /* may write remote memory */
#define FI_REMOTE_READ	BIT_ULL(6) /* memory may be read by the peer */
#define FI_REMOTE_WRITE BIT_ULL(7) /* memory may be written by the peer */
#define FI_LOCAL_COMM	BIT_ULL(8) /* reaches endpoints of this machine */
#define FI_REMOTE_COMM	BIT_ULL(9) /* reaches other machines */
#define FI_RMA_PMEM	BIT_ULL(10) /* can make remote memory persistent */
#define FI_TAGGED	BIT_ULL(11) /* messages with a tag */
/*
 * The sender that a receive names counts: see struct fi_msg. Of an info whose
 * hints name other capabilities and not this one it is off.
 */
#define FI_DIRECTED_RECV BIT_ULL(12)
/*
 * A receive takes several messages. Also a flag of fi_recvmsg(), and of the
 * completion that gives the buffer back.
 */
#define FI_MULTI_RECV BIT_ULL(13)
/* FI_MULTI_RECV is a flag of fi_trecvmsg(), too. */
#define FI_TAGGED_MULTI_RECV BIT_ULL(14)
#define FI_NAMED_RX_CTX	     BIT_ULL(15) /* a send may name a receive context */

/* Flags of single operations, and of tx_attr/rx_attr.op_flags. */
#define FI_COMPLETION	     BIT_ULL(16) /* report success (selective CQs) */
#define FI_INJECT	     BIT_ULL(17) /* buffer is reusable on return */
#define FI_MORE		     BIT_ULL(18) /* more posts follow: may batch */
#define FI_FENCE	     BIT_ULL(19) /* wait for all earlier operations */
#define FI_REMOTE_CQ_DATA    BIT_ULL(20) /* data goes to the peer's CQ entry */
#define FI_INJECT_COMPLETE   BIT_ULL(21) /* done: buffer is reusable */
#define FI_TRANSMIT_COMPLETE BIT_ULL(22) /* done: the peer's NIC has it */
#define FI_DELIVERY_COMPLETE BIT_ULL(23) /* done: placed in peer's memory */
#define FI_COMMIT_COMPLETE   BIT_ULL(24) /* done: persistent at the peer */

/* All completion levels, weakest first. */
#define FI_COMPLETION_LEVELS                                                \
	(FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | \
	 FI_COMMIT_COMPLETE)

/*
 * Atomic operations. Also a flag of their completions, and in the access of a region
 * that peers may use them on.
 */
#define FI_ATOMIC BIT_ULL(25)

/* Flags of fi_query_atomic(). */
#define FI_COMPARE_ATOMIC BIT_ULL(26)
#define FI_FETCH_ATOMIC	  BIT_ULL(27)

/* Flags of fi_ep_bind(). */
#define FI_TRANSMIT		BIT_ULL(28) /* the CQ takes sends and RMA */
#define FI_SELECTIVE_COMPLETION BIT_ULL(29) /* only FI_COMPLETION ops report */

/* Flags found in completions only. */
#define FI_FLUSH BIT_ULL(32) /* the completion of an fi_flush() */

/* Flags of fi_getinfo(). */
#define FI_SOURCE \
	BIT_ULL(40) /* node and service name our own end; in
					  caps: receives say who sent */
#define FI_NUMERICHOST	  BIT_ULL(41) /* node is numeric (always so here) */
#define FI_PROV_ATTR_ONLY BIT_ULL(42) /* no addresses, hardware may be away */

/* fi_info.addr_format */
enum {
	FI_FORMAT_UNSPEC, /* in hints: any; nothing is said of addresses */
	FI_SOCKADDR, /* struct sockaddr of either family */
	FI_SOCKADDR_IN,
	FI_SOCKADDR_IN6,
};

/**
 * enum fi_ep_type - kind of endpoint
 * @FI_EP_UNSPEC: in hints: any
 * @FI_EP_MSG: reliable, connected, keeps message borders and order
 * @FI_EP_DGRAM: neither reliable nor connected: what is sent may be lost, come twice,
 *	or overtake what was sent before
 * @FI_EP_RDM: reliable, not connected
 */
enum fi_ep_type {
	FI_EP_UNSPEC,
	FI_EP_MSG,
	FI_EP_DGRAM,
	FI_EP_RDM,
};

/* ep_attr.protocol: what is spoken on the wire. */
enum {
	FI_PROTO_UNSPEC,
	FI_PROTO_LOOP, /* nothing: memory of this kernel */
	FI_PROTO_RDMA_CM_IB_RC, /* as libfabric's verbs;FI_EP_MSG */
	FI_PROTO_IWARP,
	FI_PROTO_SOCK_TCP, /* as libfabric's tcp;FI_EP_MSG */
	FI_PROTO_KFI_RDM, /* docs/kfabric-rdm.md, over any of the others */
	FI_PROTO_RDS, /* the kernel's own, with any of its transports */
	FI_PROTO_UDP, /* a datagram is a message, as libfabric's udp */
	FI_PROTO_IB_UD, /* a datagram of an unreliable queue pair is a message */
};

/* domain_attr.mr_mode: what a provider demands of memory registration. */
#define FI_MR_VIRT_ADDR BIT(0) /* peers address it by fi_mr_attr.iova */
#define FI_MR_ALLOCATED BIT(1) /* pages must exist (always so here) */
#define FI_MR_PROV_KEY	BIT(2) /* the provider chooses the key */
#define FI_MR_ENDPOINT	BIT(3) /* fi_mr_bind() an endpoint, fi_mr_enable() */

/* How fi_flush() makes earlier writes safe: ep_attr.flush_modes. */
#define FI_FLUSH_READBACK BIT(0) /* read a few bytes on the same queue */
#define FI_FLUSH_NATIVE	  BIT(1) /* the fabric's own flush operation */
#define FI_FLUSH_COMMIT	  BIT(2) /* the peer persists, then answers */

/*
 * Order of what one endpoint, or one context to one peer, has posted without FI_FENCE:
 * tx_attr.msg_order and rx_attr.msg_order. R is a read, W a write, S a message; the
 * later operation comes first, so that FI_ORDER_RAW is a read after a write:
 *
 *	RAR	the read sees nothing older than the earlier one did
 *	RAW	it sees what was written
 *	RAS	it sees the message in its receive
 *	WAR	the earlier read does not see what is written
 *	WAW	of a byte that both write what the later one wrote stays
 *	WAS	who sees what is written finds the message in its receive
 *	SAR	when the message is received, the read is done
 *	SAW	when the message is received, what was written is there
 *	SAS	messages are received in the order in which they were sent
 *
 * Nothing is said of flushes and atomic operations. A provider keeps what the standard
 * of its fabric promises: the ordering rules of work requests in volume 1 of the
 * InfiniBand specification, section 5.5 of RFC 5040 for iWARP.
 */
#define FI_ORDER_RAR BIT_ULL(0)
#define FI_ORDER_RAW BIT_ULL(1)
#define FI_ORDER_RAS BIT_ULL(2)
#define FI_ORDER_WAR BIT_ULL(3)
#define FI_ORDER_WAW BIT_ULL(4)
#define FI_ORDER_WAS BIT_ULL(5)
#define FI_ORDER_SAR BIT_ULL(6)
#define FI_ORDER_SAW BIT_ULL(7)
#define FI_ORDER_SAS BIT_ULL(8)

/*
 * Order of completions of an endpoint and direction, comp_order of its attributes:
 * strict are those of posts as they were posted, and of receives as messages came.
 */
#define FI_ORDER_NONE	0
#define FI_ORDER_STRICT BIT_ULL(16)

/* ep_attr.rx_ctx_cnt of endpoints whose receives are a shared context's. */
#define FI_SHARED_CONTEXT SIZE_MAX

/* Classes of objects: kfid.fclass. */
enum fi_class {
	FI_CLASS_UNSPEC,
	FI_CLASS_FABRIC,
	FI_CLASS_DOMAIN,
	FI_CLASS_EP,
	FI_CLASS_PEP,
	FI_CLASS_MR,
	FI_CLASS_CQ,
	FI_CLASS_EQ,
	FI_CLASS_AV,
	FI_CLASS_CONNREQ, /* fi_info.handle of a connection request */
	FI_CLASS_SEP, /* this and the next two are in a struct fid_ep */
	FI_CLASS_TX_CTX,
	FI_CLASS_RX_CTX,
	FI_CLASS_CNTR,
	FI_CLASS_SRX_CTX, /* in a struct fid_ep, too */
	FI_CLASS_COUNT,
};

/* Commands of fi_control(). */
enum {
	FI_ENABLE = 1, /* endpoint or MR; arg unused */
	FI_PROVIDER_CONTROL = 0x1000, /* and above: see the provider */
};

/**
 * struct fi_ops - operations of every object
 * @size: sizeof(struct fi_ops) of the provider's build
 * @close: stop the object: no callback runs after it returned. Cannot fail.
 *	Context: process
 * @release: last reference is gone: free the memory. Context: process
 * @bind: attach @bfid (already pinned by the core). Context: process
 * @control: do @command. Context: process
 * @ops_open: see fi_open_ops(). Context: process
 */
struct fi_ops {
	size_t size;
	void (*close)(struct kfid *fid);
	void (*release)(struct kfid *fid);
	int (*bind)(struct kfid *fid, struct kfid *bfid, u64 flags);
	int (*control)(struct kfid *fid, int command, void *arg);
	int (*ops_open)(struct kfid *fid, const char *name, u64 flags,
			void **ops, void *context);
};

/**
 * struct kfid - base of every kfabric object
 * @fclass: &enum fi_class
 * @id: number unique in this boot, for logs, traces and debugfs
 * @context: the upper layer's, untouched
 * @ops: the provider's operations
 * @prov: the provider; the object holds a reference on it and its module
 * @parent: object that this one was opened on, or NULL
 *
 * Only @context, @fclass and @id are for upper layers.
 */
struct kfid {
	enum fi_class fclass;
	u32 id;
	void *context;
	const struct fi_ops *ops;
	struct kfi_provider *prov;
	struct kfid *parent;
	/* private: core */
	struct kref ref; /* memory: handle, children, reaper */
	atomic_t users; /* children and bindings; negative: closed */
	bool dead;
	struct list_head node; /* all objects, for debugfs */
	struct work_struct reap;
	void (*reap_fn)(struct kfid *fid);
};

/**
 * KFI_HAS_OP() - is an operation there?
 * @vec: ops vector, may be NULL
 * @op: name of the member
 *
 * A vector shorter than the member, or a NULL member, means no.
 */
#define KFI_HAS_OP(vec, op) \
	((vec) && (vec)->size >= offsetofend(typeof(*(vec)), op) && (vec)->op)

/**
 * KFI_NO_OP() - why a post has no operation
 * @vec: ops vector without it, may be NULL; one of size 0 is a dead endpoint's
 */
#define KFI_NO_OP(vec) ((vec) && !(vec)->size ? -ENODEV : -ENOSYS)

/**
 * struct fi_tx_attr - limits and wishes of the sending side
 * @caps: FI_SEND, FI_READ, FI_WRITE and the like; 0 in hints: any
 * @op_flags: flags that every operation gets which is posted without flags
 * @msg_order: FI_ORDER_RAR to FI_ORDER_SAS that are kept; in hints those that are needed
 * @comp_order: FI_ORDER_STRICT, or FI_ORDER_NONE; same rule
 * @comp_levels: completion levels that this provider really has (out)
 * @inject_size: bytes that FI_INJECT can take
 * @size: operations in flight; posting more gives -FI_EAGAIN (as does, for a
 *	while, memory that cannot be mapped for the device)
 * @iov_limit: segments of a local buffer per operation
 * @rma_iov_limit: remote ranges per operation
 *
 * In hints a number is a demand for at least that much, 0 is no demand.
 */
struct fi_tx_attr {
	u64 caps;
	u64 op_flags;
	u64 msg_order;
	u64 comp_order;
	u64 comp_levels;
	size_t inject_size;
	size_t size;
	size_t iov_limit;
	size_t rma_iov_limit;
};

/**
 * struct fi_rx_attr - limits and wishes of the receiving side
 * @caps: FI_RECV, FI_REMOTE_READ, FI_REMOTE_WRITE, FI_ATOMIC; 0 in hints: any
 * @op_flags: flags that every receive gets which is posted without flags
 * @msg_order: as in &struct fi_tx_attr, of what peers do here
 * @comp_order: FI_ORDER_STRICT, or FI_ORDER_NONE
 * @size: receives that may be posted; more gives -FI_EAGAIN. In an info with
 *	FI_SHARED_CONTEXT: to a shared context
 * @iov_limit: segments of a buffer per receive
 */
struct fi_rx_attr {
	u64 caps;
	u64 op_flags;
	u64 msg_order;
	u64 comp_order;
	size_t size;
	size_t iov_limit;
};

/**
 * struct fi_ep_attr - attributes of an endpoint
 * @type: &enum fi_ep_type
 * @protocol: FI_PROTO_*
 * @protocol_version: of @protocol
 * @max_msg_size: bytes per operation
 * @cm_data_size: bytes of private data with connect, accept and reject
 * @flush_modes: FI_FLUSH_* that fi_flush() can do
 * @op_timeout_ms: an operation that is not done by then ends the connection
 *	(its completion has FI_ETIMEDOUT), unless bytes have moved meanwhile where
 *	the provider can tell (FI_OPT_MOVED_BYTES), from the last of which it
 *	counts then; 0 in hints: provider's default
 * @cm_timeout_ms: limit for each step of connection set-up; same rule
 * @tx_ctx_cnt: transmit contexts of a scalable endpoint, see fi_scalable_ep(), up
 *	to domain_attr.max_ep_tx_ctx; in hints: so many are needed; 0: none
 * @rx_ctx_cnt: receive contexts; same rule. FI_SHARED_CONTEXT: the endpoint takes
 *	its receives from a shared context, see fi_srx_context(); in hints: it must be
 *	able to
 */
struct fi_ep_attr {
	enum fi_ep_type type;
	u32 protocol;
	u32 protocol_version;
	size_t max_msg_size;
	size_t cm_data_size;
	u32 flush_modes;
	u32 op_timeout_ms;
	u32 cm_timeout_ms;
	size_t tx_ctx_cnt;
	size_t rx_ctx_cnt;
};

/**
 * enum fi_threading - who may call at one time: domain_attr.threading
 * @FI_THREAD_UNSPEC: in hints: any
 * @FI_THREAD_SAFE: anybody; all objects have this
 * @FI_THREAD_FID: callers of one object take turns
 * @FI_THREAD_DOMAIN: callers of one domain's objects take turns
 * @FI_THREAD_COMPLETION: callers of objects with one completion queue take turns
 * @FI_THREAD_ENDPOINT: callers of one endpoint take turns
 *
 * In hints a caller says what it keeps to; kfabric demands none of it.
 */
enum fi_threading {
	FI_THREAD_UNSPEC,
	FI_THREAD_SAFE,
	FI_THREAD_FID,
	FI_THREAD_DOMAIN,
	FI_THREAD_COMPLETION,
	FI_THREAD_ENDPOINT,
};

/**
 * enum fi_progress - who drives operations: domain_attr.control_progress and
 *	data_progress
 * @FI_PROGRESS_UNSPEC: in hints: any
 * @FI_PROGRESS_AUTO: operations go on without a call; so it is with all providers
 * @FI_PROGRESS_MANUAL: in hints: the caller would call for it
 */
enum fi_progress {
	FI_PROGRESS_UNSPEC,
	FI_PROGRESS_AUTO,
	FI_PROGRESS_MANUAL,
};

/**
 * enum fi_resource_mgmt - who keeps queues from overflowing: domain_attr.resource_mgmt
 * @FI_RM_UNSPEC: in hints: any
 * @FI_RM_DISABLED: in hints: the caller does
 * @FI_RM_ENABLED: kfabric does: a full queue is -FI_EAGAIN, completion and event queues
 *	have room for all that may come
 */
enum fi_resource_mgmt {
	FI_RM_UNSPEC,
	FI_RM_DISABLED,
	FI_RM_ENABLED,
};

/**
 * struct fi_domain_attr - attributes of a domain
 * @name: device or instance; NULL in hints: any
 * @mr_mode: FI_MR_*; in hints what the caller can do (all bits: anything),
 *	out what the provider demands
 * @mr_key_size: bytes of a key that are used
 * @mr_iov_limit: segments per registration
 * @mr_max_size: bytes per registration
 * @seg_max_size: bytes of a segment of a local buffer; what is longer and lies
 *	together counts as several of the attributes' iov_limit
 * @cq_data_size: bytes of remote CQ data, 0 if there is none
 * @op_context_size: bytes of operation memory that each post needs (out);
 *	see &struct fi_context
 * @max_ep_tx_ctx: most transmit contexts of an endpoint (out); 0: there are no
 *	scalable endpoints
 * @max_ep_rx_ctx: most receive contexts (out)
 * @threading: FI_THREAD_SAFE (out)
 * @control_progress: FI_PROGRESS_AUTO (out)
 * @data_progress: FI_PROGRESS_AUTO (out)
 * @resource_mgmt: FI_RM_ENABLED (out)
 * @max_ep_srx_ctx: most endpoints that may share a receive context (out); 0: there
 *	are no shared ones
 * @caps: FI_LOCAL_COMM, FI_REMOTE_COMM
 */
struct fi_domain_attr {
	char *name;
	u32 mr_mode;
	size_t mr_key_size;
	size_t mr_iov_limit;
	size_t mr_max_size;
	size_t seg_max_size;
	size_t cq_data_size;
	size_t op_context_size;
	size_t max_ep_tx_ctx;
	size_t max_ep_rx_ctx;
	enum fi_threading threading;
	enum fi_progress control_progress;
	enum fi_progress data_progress;
	enum fi_resource_mgmt resource_mgmt;
	size_t max_ep_srx_ctx;
	u64 caps;
};

/**
 * struct fi_fabric_attr - attributes of a fabric
 * @name: the network; NULL in hints: any
 * @prov_name: the provider: "loop", "verbs", ...; a layered one says
 *	"fault;loop". In hints "fault" matches every "fault;..."
 * @prov_version: FI_VERSION() of the provider
 */
struct fi_fabric_attr {
	char *name;
	char *prov_name;
	u32 prov_version;
};

/**
 * struct fi_info - one way to communicate
 * @next: next best one, or NULL
 * @caps: capabilities; in hints those that are needed
 * @addr_format: FI_SOCKADDR* of the addresses
 * @src_addrlen: bytes of @src_addr
 * @dest_addrlen: bytes of @dest_addr
 * @src_addr: address to listen on or to send from, or NULL
 * @dest_addr: the peer, or NULL
 * @handle: of a connection request (FI_CONNREQ event), else NULL
 * @tx_attr: sending side, never NULL
 * @rx_attr: receiving side, never NULL
 * @ep_attr: endpoint, never NULL
 * @domain_attr: domain, never NULL
 * @fabric_attr: fabric, never NULL
 *
 * Made by fi_allocinfo(), fi_dupinfo(), fi_getinfo() or the event queue, and
 * freed by fi_freeinfo(); strings and addresses in it are kmalloc() memory
 * that it owns.
 */
struct fi_info {
	struct fi_info *next;
	u64 caps;
	u32 addr_format;
	size_t src_addrlen;
	size_t dest_addrlen;
	void *src_addr;
	void *dest_addr;
	struct kfid *handle;
	struct fi_tx_attr *tx_attr;
	struct fi_rx_attr *rx_attr;
	struct fi_ep_attr *ep_attr;
	struct fi_domain_attr *domain_attr;
	struct fi_fabric_attr *fabric_attr;
};

/* The exports. Upper layers use the fi_ names further down. */
int kfabric_getinfo(u32 version, const char *node, const char *service,
		    u64 flags, const struct fi_info *hints,
		    struct fi_info **info);
struct fi_info *kfabric_dupinfo(const struct fi_info *info);
void kfabric_freeinfo(struct fi_info *info);
u32 kfabric_version(void);
int kfabric_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric,
		   void *context);
int kfabric_close(struct kfid *fid);
int kfabric_bind(struct kfid *fid, struct kfid *bfid, u64 flags);
int kfabric_control(struct kfid *fid, int command, void *arg);
int kfabric_open_ops(struct kfid *fid, const char *name, u64 flags, void **ops,
		     void *context);
const char *kfabric_strerror(int errnum);

/**
 * fi_getinfo() - list the ways to communicate
 * @version: FI_VERSION() that the caller was written for
 * @node: numeric IPv4 or IPv6 address, or NULL. Names are not looked up
 * @service: decimal port, or NULL
 * @flags: FI_SOURCE, FI_NUMERICHOST, FI_PROV_ATTR_ONLY
 * @hints: what is needed, or NULL for everything; see the attributes
 * @info: out: list in order of preference; free it with fi_freeinfo()
 *
 * With FI_SOURCE, @node and @service are where to listen or send from, else
 * they are the peer. Asks every registered provider; one that is named in
 * hints and is not there is loaded ("kfabric-provider-NAME").
 *
 * Context: process.
 * Return: 0; -ENODATA nothing fits; -EINVAL @node or @service is malformed;
 * -FI_EBADFLAGS unknown flag; -ENOSYS @version is
 * newer than this core; -ENOMEM.
 */
static inline int fi_getinfo(u32 version, const char *node, const char *service,
			     u64 flags, const struct fi_info *hints,
			     struct fi_info **info)
{
	return kfabric_getinfo(version, node, service, flags, hints, info);
}

/**
 * fi_allocinfo() - empty info, e.g. for hints
 *
 * Context: process.
 * Return: the info with all attributes zero, or NULL for lack of memory.
 */
static inline struct fi_info *fi_allocinfo(void)
{
	return kfabric_dupinfo(NULL);
}

/**
 * fi_dupinfo() - copy one info, not its successors
 * @info: to copy
 *
 * Context: process.
 * Return: the copy, or NULL for lack of memory.
 */
static inline struct fi_info *fi_dupinfo(const struct fi_info *info)
{
	return kfabric_dupinfo(info);
}

/**
 * fi_freeinfo() - free a list of infos
 * @info: first of the list, or NULL
 *
 * The info of a connection request holds the request: freeing the last one
 * that was neither used by fi_endpoint() nor rejected rejects it.
 *
 * Context: process.
 */
static inline void fi_freeinfo(struct fi_info *info)
{
	kfabric_freeinfo(info);
}

/**
 * fi_version() - the interface version of the loaded core
 *
 * Context: any.
 * Return: FI_VERSION().
 */
static inline u32 fi_version(void)
{
	return kfabric_version();
}

/**
 * fi_strerror() - text of an error number
 * @errnum: positive or negative error number
 *
 * Context: any.
 * Return: constant text, never NULL.
 */
static inline const char *fi_strerror(int errnum)
{
	return kfabric_strerror(errnum);
}

/**
 * struct fi_ops_fabric - operations of a fabric
 * @size: sizeof this struct
 * @domain: see fi_domain()
 * @passive_ep: see fi_passive_ep()
 */
struct fi_ops_fabric {
	size_t size;
	int (*domain)(struct fid_fabric *fabric, struct fi_info *info,
		      struct fid_domain **domain, void *context);
	int (*passive_ep)(struct fid_fabric *fabric, struct fi_info *info,
			  struct fid_pep **pep, void *context);
};

/**
 * struct fid_fabric - a network
 * @fid: base
 * @ops: operations
 * @net: the network namespace that addresses are of: that of who opened it,
 *	which stays as long as the fabric
 */
struct fid_fabric {
	struct kfid fid;
	const struct fi_ops_fabric *ops;
	struct net *net;
};

/**
 * fi_fabric() - open a network
 * @attr: from an info; prov_name is needed
 * @fabric: out
 * @context: stored in the object
 *
 * Context: process.
 * Return: 0; -ENODEV the provider is not there (any more); -EINVAL no
 * prov_name; -ENOSYS; -ENOMEM; other errors of the provider.
 */
static inline int fi_fabric(struct fi_fabric_attr *attr,
			    struct fid_fabric **fabric, void *context)
{
	return kfabric_fabric(attr, fabric, context);
}

/**
 * fi_close() - close any object
 * @fid: the object's base
 *
 * Endpoint: goes to error, every outstanding operation completes (with
 * FI_ECANCELED if nothing else), the peer sees FI_SHUTDOWN, unread events of
 * the endpoint vanish. Completions that were not read yet stay readable: the
 * operation memory is the caller's again once its completion was read, or
 * fi_close() of the CQ has returned. When fi_close() has returned no callback
 * runs and none will. What may take long goes on in a reaper, which holds
 * the provider's module.
 *
 * Memory region: a fence. When it has returned no byte can be placed in the
 * memory and none can be read from it, by any peer.
 *
 * Passive endpoint: unanswered requests are rejected, the address is free.
 *
 * Context: process; not from an upcall of the object's own endpoint.
 * Return: 0; -EBUSY children or bindings of the object are still open: the
 * object is as it was; -EINVAL it is closed already, or a connection request.
 */
static inline int fi_close(struct kfid *fid)
{
	return kfabric_close(fid);
}

/**
 * fi_close_opened() - close an object, if it was opened, that nothing keeps open
 * @obj: pointer to a struct with &struct kfid fid, or NULL
 *
 * Context: as fi_close().
 */
#define fi_close_opened(obj)                                 \
	do {                                                 \
		if (obj)                                     \
			WARN_ON_ONCE(fi_close(&(obj)->fid)); \
	} while (0)

/**
 * fi_control() - provider-specific commands
 * @fid: object
 * @command: FI_ENABLE, or FI_PROVIDER_CONTROL and above
 * @arg: as @command says
 *
 * Context: process.
 * Return: 0; -ENOSYS unknown command; -ENODEV the device is gone; others as
 * the command says.
 */
static inline int fi_control(struct kfid *fid, int command, void *arg)
{
	return kfabric_control(fid, command, arg);
}

/**
 * fi_open_ops() - operations of an object that only its provider has
 * @fid: object
 * @name: of the set; the provider's header has the names
 * @flags: 0
 * @ops: out: the set, a structure of that header whose first member is its size; it
 *	is the provider's, and stays as long as the object is open
 * @context: unused, as in libfabric
 *
 * Context: process.
 * Return: 0; -ENOSYS there is no such set for this object; -FI_EBADFLAGS; -EINVAL no
 * name; -ENODEV the device is gone. @ops is untouched on failure.
 */
static inline int fi_open_ops(struct kfid *fid, const char *name, u64 flags,
			      void **ops, void *context)
{
	return kfabric_open_ops(fid, name, flags, ops, context);
}

#endif /* KFABRIC_FABRIC_H */
