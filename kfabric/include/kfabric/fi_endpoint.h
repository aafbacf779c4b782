/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: endpoints and messages.
 *
 * States of an endpoint (fi_ep_state()):
 *
 *   IDLE --fi_enable--> ENABLED --fi_connect/fi_accept--> CONNECTING
 *     CONNECTING --FI_CONNECTED--> CONNECTED --> SHUTDOWN
 *     CONNECTING --failure event-> SHUTDOWN
 *     any --device gone--> DEAD        any --fi_close--> CLOSED
 *
 * Receives may be posted from ENABLED on, everything else while CONNECTED. An
 * unconnected endpoint (FI_EP_RDM, FI_EP_DGRAM) stays ENABLED, and may post everything
 * then.
 * Entering SHUTDOWN or DEAD completes every outstanding operation with an
 * error; exactly one completion per operation, as always.
 */
#ifndef KFABRIC_FI_ENDPOINT_H
#define KFABRIC_FI_ENDPOINT_H

#include <linux/types.h>

#include <kfabric/fabric.h>
#include <kfabric/fi_domain.h>
#include <kfabric/fi_eq.h>

struct fi_ops_atomic;
struct fi_ops_tagged;
struct kfi_ep_ops;

/**
 * struct fi_context - head of operation memory
 *
 * Every post needs its own operation memory of domain_attr.op_context_size
 * bytes, aligned to 8, contents irrelevant, of which this is the head. Put
 * it last in the request, or behind it (as blk-mq does with cmd_size). It is
 * the provider's from the post until the operation's completion has been
 * taken from the CQ, or its upcall begins. An operation with suppressed
 * completion gives it back at a later completion of the same endpoint and
 * direction, where these come in order (comp_order), and elsewhere when a counter
 * says that it is over, or the endpoint is closed. When the post fails it stays
 * the caller's.
 */
struct fi_context {
	/* private: core, then provider */
	struct kfi_comp comp;
	u64 priv[];
};

/**
 * enum kfi_ep_state - states of an endpoint; drawing at the head of the file
 * @KFI_EP_IDLE: opened
 * @KFI_EP_ENABLED: receives may be posted
 * @KFI_EP_CONNECTING: fi_connect() or fi_accept() was called
 * @KFI_EP_CONNECTED: everything may be posted
 * @KFI_EP_SHUTDOWN: nothing may be posted any more; only fi_close() is left
 * @KFI_EP_DEAD: the device went away; only fi_close() is left
 * @KFI_EP_CLOSED: fi_close() was called
 * @KFI_EP_STATES: how many states there are
 */
enum kfi_ep_state {
	KFI_EP_IDLE,
	KFI_EP_ENABLED,
	KFI_EP_CONNECTING,
	KFI_EP_CONNECTED,
	KFI_EP_SHUTDOWN,
	KFI_EP_DEAD,
	KFI_EP_CLOSED,
	KFI_EP_STATES,
};

/**
 * struct fi_msg - a message to send, or a receive
 * @buf: local buffer
 * @addr: FI_ADDR_UNSPEC or anything: a connected endpoint has one peer. To send
 *	on an unconnected one: the peer's number in its address vector; to receive
 *	with FI_DIRECTED_RECV: the number of the only sender that it is for, as it
 *	is when the receive is posted; FI_ADDR_UNSPEC, and without FI_DIRECTED_RECV
 *	anything: a message of whoever comes first
 * @context: operation memory
 * @data: for the peer's completion, with FI_REMOTE_CQ_DATA
 *
 * The struct itself is needed during the call only.
 */
struct fi_msg {
	struct fi_buf buf;
	fi_addr_t addr;
	struct fi_context *context;
	u64 data;
};

/**
 * struct fi_rma_iov - a range of the peer's memory
 * @addr: with FI_MR_VIRT_ADDR an address, else bytes from the region's start
 * @len: bytes
 * @key: fi_mr_key() at the peer
 */
struct fi_rma_iov {
	u64 addr;
	size_t len;
	u64 key;
};

/**
 * struct fi_msg_rma - a remote read or write
 * @buf: local buffer
 * @rma_iov: remote ranges, together as long as @buf; copied by the post
 * @rma_iov_count: their number, up to tx_attr.rma_iov_limit
 * @addr: as in &struct fi_msg
 * @context: operation memory
 * @data: for the peer's completion, with FI_REMOTE_CQ_DATA (writes only)
 */
struct fi_msg_rma {
	struct fi_buf buf;
	const struct fi_rma_iov *rma_iov;
	size_t rma_iov_count;
	fi_addr_t addr;
	struct fi_context *context;
	u64 data;
};

/**
 * struct fi_msg_flush - a flush of earlier writes
 * @mode: one FI_FLUSH_* bit out of fi_flush_modes()
 * @rma_iov: written ranges; copied by the post. FI_FLUSH_READBACK reads up
 *	to 8 bytes at the end of the last one; the others persist every one
 * @rma_iov_count: 1 up to tx_attr.rma_iov_limit
 * @addr: as in &struct fi_msg
 * @context: operation memory
 */
struct fi_msg_flush {
	u32 mode;
	const struct fi_rma_iov *rma_iov;
	size_t rma_iov_count;
	fi_addr_t addr;
	struct fi_context *context;
};

/**
 * struct fi_ops_cm - connection operations of an endpoint
 * @size: sizeof this struct
 * @connect: see fi_connect(). The core has moved to KFI_EP_CONNECTING
 * @accept: see fi_accept(). The core has moved to KFI_EP_CONNECTING
 * @shutdown: see fi_shutdown()
 * @getname: see fi_getname()
 * @getpeer: see fi_getpeer()
 */
struct fi_ops_cm {
	size_t size;
	int (*connect)(struct fid_ep *ep, const void *addr, const void *param,
		       size_t paramlen);
	int (*accept)(struct fid_ep *ep, const void *param, size_t paramlen);
	int (*shutdown)(struct fid_ep *ep, u64 flags);
	int (*getname)(struct kfid *fid, void *addr, size_t *addrlen);
	int (*getpeer)(struct fid_ep *ep, void *addr, size_t *addrlen);
};

/**
 * struct fi_ops_msg - message operations
 * @size: sizeof this struct
 * @sendmsg: see fi_sendmsg()
 * @recvmsg: see fi_recvmsg()
 * @inject: see fi_inject()
 * @submit: see fi_submit()
 * @submit_inline: optional: see fi_submit_inline()
 * @cancel: see fi_cancel()
 */
struct fi_ops_msg {
	size_t size;
	ssize_t (*sendmsg)(struct fid_ep *ep, const struct fi_msg *msg,
			   u64 flags);
	ssize_t (*recvmsg)(struct fid_ep *ep, const struct fi_msg *msg,
			   u64 flags);
	ssize_t (*inject)(struct fid_ep *ep, const void *buf, size_t len,
			  fi_addr_t dest_addr);
	void (*submit)(struct fid_ep *ep);
	void (*submit_inline)(struct fid_ep *ep);
	int (*cancel)(struct fid_ep *ep, struct fi_context *context);
};

/**
 * struct fi_ops_rma - remote memory operations
 * @size: sizeof this struct
 * @readmsg: see fi_readmsg()
 * @writemsg: see fi_writemsg()
 * @inject_write: see fi_inject_write()
 * @flush: see fi_flush()
 */
struct fi_ops_rma {
	size_t size;
	ssize_t (*readmsg)(struct fid_ep *ep, const struct fi_msg_rma *msg,
			   u64 flags);
	ssize_t (*writemsg)(struct fid_ep *ep, const struct fi_msg_rma *msg,
			    u64 flags);
	ssize_t (*inject_write)(struct fid_ep *ep, const void *buf, size_t len,
				fi_addr_t dest_addr, u64 addr, u64 key);
	ssize_t (*flush)(struct fid_ep *ep, const struct fi_msg_flush *msg,
			 u64 flags);
};

/* Level of all options of fi_setopt() and fi_getopt(). */
#define FI_OPT_ENDPOINT 0

/* Options. The type of each value is in brackets. */
enum {
	FI_OPT_SPACE_HANDLER, /* [struct fi_space_handler] set */
	FI_OPT_OP_TIMEOUT_MS, /* [u32] set, get; see struct fi_ep_attr */
	FI_OPT_CM_TIMEOUT_MS, /* [u32] set, get; see struct fi_ep_attr */
	FI_OPT_CM_DATA_SIZE, /* [size_t] get */
	FI_OPT_FLUSH_MODES, /* [u32] get; FI_FLUSH_* */
	FI_OPT_COMP_LEVELS, /* [u64] get; FI_*_COMPLETE */
	/*
	 * [u64] get; bytes that have moved in both directions, also of operations
	 * that are not over: it rises while the peer lives, however slow the
	 * link is. -ENOSYS where nobody can tell.
	 */
	FI_OPT_MOVED_BYTES,
	/*
	 * [struct fi_path] get, before fi_connect(): the interface by which packets
	 * to the peer leave now. Set, before fi_connect(): the connection goes by
	 * the interface of that number and by no other. -ENOSYS where it is no
	 * network interface's: RDMA devices have their own way.
	 */
	FI_OPT_PATH,
	/*
	 * [size_t] set, get; a receive that was posted with FI_MULTI_RECV is given
	 * back when fewer bytes are left. Counts for those that are posted after
	 * it was set. -ENOSYS where there are none.
	 */
	FI_OPT_MIN_MULTI_RECV,
	/*
	 * [struct fi_low_water] set; of a shared receive context: tell once when few
	 * receives are left. -ENOSYS for all else.
	 */
	FI_OPT_LOW_WATER,
};

/**
 * struct fi_low_water - value of FI_OPT_LOW_WATER
 * @limit: @fn is called when fewer receives than this wait for a message; up to the
 *	context's size; 0: it is not called any more
 * @fn: called once for each time that the option was set, also when there are too
 *	few at that time, which may be before fi_setopt() returns. May post. To be
 *	called again set the option again, which sleeps: the worker that posts new
 *	receives is the one to do so. A call that is on its way when the option is set
 *	anew may still come after that, until the context is closed. Context: upcall
 * @context: given to @fn
 */
struct fi_low_water {
	size_t limit;
	void (*fn)(struct fid_ep *srx, void *context);
	void *context;
};

#define FI_PATH_NAME_BYTES 16

/**
 * struct fi_path - value of FI_OPT_PATH
 * @ifindex: the interface's number; all that counts when it is set
 * @is_local: what leaves by the interface stays on this host
 * @name: the interface's name
 * @kind: of the interface's link, as rtnetlink calls it ("wireguard"); "" where it has no
 *	name, as of network cards
 */
struct fi_path {
	u32 ifindex;
	bool is_local;
	char name[FI_PATH_NAME_BYTES];
	char kind[FI_PATH_NAME_BYTES];
};

/**
 * struct fi_space_handler - value of FI_OPT_SPACE_HANDLER
 * @fn: called once after a post got -FI_EAGAIN and there is room again.
 *	@dir is FI_TRANSMIT or FI_RECV. May post. Context: upcall
 * @context: given to @fn
 */
struct fi_space_handler {
	void (*fn)(struct fid_ep *ep, u64 dir, void *context);
	void *context;
};

/* Kinds of operations that have counters (fi_cntr.h). */
#define KFI_CNTR_KINDS 4

/* Most transmit or receive contexts of a scalable endpoint. */
#define KFI_CTX_MAX 64

/**
 * struct fid_ep - endpoint, scalable endpoint, a context of that, or a shared context
 * @fid: base
 * @cm: connection operations
 * @msg: message operations
 * @rma: remote memory operations
 * @tagged: operations of messages with a tag, in fi_tagged.h
 * @atomic: atomic operations, in fi_atomic.h
 * @ops: what it was made with, of which no post needs the rest
 * @domain: where it was opened
 * @type: &enum fi_ep_type
 * @av: bound address vector, or NULL
 * @tx_cq: bound with FI_TRANSMIT, or NULL
 * @rx_cq: bound with FI_RECV, or NULL
 * @eq: bound event queue, or NULL
 * @srx: bound shared receive context, or NULL
 * @shares_rx: was opened with FI_SHARED_CONTEXT, and needs @srx
 * @tx_op_flags: flags of sends and RMA that are posted without flags
 * @rx_op_flags: flags of receives that are posted without flags
 * @comp_levels: completion levels that the provider really has
 * @cm_data_size: bytes of private data
 * @flush_modes: FI_FLUSH_* that fi_flush() can do
 * @min_multi_recv: FI_OPT_MIN_MULTI_RECV; 0: no receive takes several messages
 * @is_inline: fi_submit_inline() saves a switch to another thread
 * @op_timeout_ms: see &struct fi_ep_attr; the provider reads it at each post
 * @cm_timeout_ms: see &struct fi_ep_attr
 */
struct fid_ep {
	struct kfid fid;
	const struct fi_ops_cm *cm;
	const struct fi_ops_msg *msg;
	const struct fi_ops_rma *rma;
	const struct fi_ops_tagged *tagged;
	const struct fi_ops_atomic *atomic;
	const struct kfi_ep_ops *ops;
	struct fid_domain *domain;
	enum fi_ep_type type;
	struct fid_av *av;
	struct fid_cq *tx_cq;
	struct fid_cq *rx_cq;
	struct fid_eq *eq;
	struct fid_ep *srx;
	bool shares_rx;
	u64 tx_op_flags;
	u64 rx_op_flags;
	u64 comp_levels;
	size_t cm_data_size;
	u32 flush_modes;
	size_t min_multi_recv;
	bool is_inline;
	u32 op_timeout_ms;
	u32 cm_timeout_ms;
	/* private: core */
	struct fid_cntr *cntr[KFI_CNTR_KINDS]; /* bound, or NULL */
	u64 cntr_kinds; /* that have one */
	u32 tx_ctx_cnt; /* of a scalable endpoint */
	u32 rx_ctx_cnt;
	u64 tx_open; /* bits: its contexts that are open */
	u64 rx_open;
	u32 ctx_index; /* of a context */
	/* gives back a completion in the endpoint's memory; under fid_cq.lock */
	void (*comp_read)(struct fid_ep *ep, struct kfi_comp *comp);
	spinlock_t lock; /* irq-safe; protects state, space, open */
	enum kfi_ep_state state;
	bool tx_selective;
	bool rx_selective;
	unsigned long space_wanted; /* bit 0 transmit, bit 1 receive */
	struct fi_space_handler space;
	struct kfi_event ev_cm; /* connected, or why not */
	struct kfi_event ev_shutdown;
	atomic_long_t nr_posts;
	atomic_long_t nr_bytes;
	atomic_long_t nr_again;
	atomic_long_t nr_done;
	atomic_long_t nr_failed;
};

/* Is an object a struct fid_ep? */
static inline bool kfi_is_ep(const struct kfid *fid)
{
	return fid->fclass == FI_CLASS_EP || fid->fclass == FI_CLASS_SEP ||
	       fid->fclass == FI_CLASS_TX_CTX ||
	       fid->fclass == FI_CLASS_RX_CTX ||
	       fid->fclass == FI_CLASS_SRX_CTX;
}

int kfabric_endpoint(struct fid_domain *domain, struct fi_info *info,
		     struct fid_ep **ep, void *context);
int kfabric_setopt(struct fid_ep *ep, int level, int optname,
		   const void *optval, size_t optlen);
int kfabric_getopt(struct fid_ep *ep, int level, int optname, void *optval,
		   size_t *optlen);

/**
 * fi_endpoint() - open an endpoint
 * @domain: parent
 * @info: of a peer to connect to, or of a connection request to accept
 * @ep: out
 * @context: stored in the object
 *
 * Sizes in tx_attr and rx_attr of @info may be lowered by the caller. When
 * @info is of a connection request, the request belongs to the endpoint: if
 * it is closed without fi_accept(), the peer is rejected.
 *
 * Context: process.
 * Return: 0; -EINVAL @info is of another provider, or its request is used
 * up; -EOPNOTSUPP FI_SHARED_CONTEXT, and receives cannot be shared; -ENODEV;
 * -ENOMEM; -ENOSYS.
 */
static inline int fi_endpoint(struct fid_domain *domain, struct fi_info *info,
			      struct fid_ep **ep, void *context)
{
	return kfabric_endpoint(domain, info, ep, context);
}

/**
 * fi_ep_bind() - attach a queue or an address vector to an endpoint
 * @ep: endpoint, not enabled yet
 * @bfid: base of a CQ, an EQ, a counter, for an unconnected endpoint an AV, or, for
 *	one that was opened with FI_SHARED_CONTEXT, a shared receive context
 * @flags: for a CQ FI_TRANSMIT, FI_RECV or both, and FI_SELECTIVE_COMPLETION
 *	if only failures and FI_COMPLETION operations are to be reported;
 *	for a counter what it counts: see fi_cntr_open(); else 0
 *
 * Context: process.
 * Return: 0; -EINVAL none of these, or not for such an endpoint, or of another
 * provider; -FI_EDOMAIN of another domain; -FI_EBADFLAGS; -EBUSY something is bound there already;
 * -FI_EOPBADSTATE the endpoint is enabled already; -ENODEV.
 */
static inline int fi_ep_bind(struct fid_ep *ep, struct kfid *bfid, u64 flags)
{
	return kfabric_bind(&ep->fid, bfid, flags);
}

/**
 * fi_enable() - make an endpoint ready
 * @ep: endpoint with CQs and EQ bound
 *
 * fi_connect() and fi_accept() do it if need be.
 *
 * Context: process.
 * An unconnected endpoint needs an AV instead of an EQ, and listens from now on.
 * If it cannot, closing it is all that is left.
 *
 * Return: 0; -FI_ENOCQ, -FI_ENOEQ or -FI_ENOAV one is not bound;
 * -FI_EOPBADSTATE it is enabled already; -EADDRINUSE; -ENODEV; -ENOMEM; with
 * FI_SHARED_CONTEXT also -EINVAL no shared context is bound, or receives complete
 * selectively; -EOPNOTSUPP the upcalls of its two queues cannot come from contexts that
 * differ; -ENOSYS it is a shared context, which is ready when it is open.
 */
static inline int fi_enable(struct fid_ep *ep)
{
	return kfabric_control(&ep->fid, FI_ENABLE, NULL);
}

/**
 * fi_setopt() - change an option
 * @fid: base of an endpoint
 * @level: FI_OPT_ENDPOINT
 * @optname: FI_OPT_*
 * @optval: value
 * @optlen: bytes at @optval
 *
 * Context: process. The space handler must be set before fi_enable(), the path
 * before fi_connect().
 * Return: 0; -EINVAL not an endpoint, wrong @optlen, or a time-out of 0;
 * -FI_EOPBADSTATE too late; -ENOSYS unknown option, or not of such an object.
 */
static inline int fi_setopt(struct kfid *fid, int level, int optname,
			    const void *optval, size_t optlen)
{
	if (!kfi_is_ep(fid))
		return -EINVAL;
	return kfabric_setopt(container_of(fid, struct fid_ep, fid), level,
			      optname, optval, optlen);
}

/**
 * fi_getopt() - read an option
 * @fid: base of an endpoint
 * @level: FI_OPT_ENDPOINT
 * @optname: FI_OPT_*
 * @optval: out: value
 * @optlen: in: bytes at @optval; out: bytes stored
 *
 * Context: process.
 * Return: 0; -EINVAL not an endpoint; -FI_ETOOSMALL; -ENOSYS unknown option; of
 * the path also -FI_EOPBADSTATE, or why there is no way to the peer.
 */
static inline int fi_getopt(struct kfid *fid, int level, int optname,
			    void *optval, size_t *optlen)
{
	if (!kfi_is_ep(fid))
		return -EINVAL;
	return kfabric_getopt(container_of(fid, struct fid_ep, fid), level,
			      optname, optval, optlen);
}

/**
 * fi_ep_state() - state of an endpoint, for logs and tests
 * @ep: endpoint
 *
 * Context: any. The answer may be old when it arrives.
 * Return: &enum kfi_ep_state.
 */
static inline enum kfi_ep_state fi_ep_state(struct fid_ep *ep)
{
	return READ_ONCE(ep->state);
}

/**
 * fi_flush_modes() - how fi_flush() can work on this endpoint
 * @ep: endpoint
 *
 * Context: any.
 * Return: FI_FLUSH_* bits; 0: not at all.
 */
static inline u32 fi_flush_modes(struct fid_ep *ep)
{
	return ep->flush_modes;
}

/**
 * fi_sendmsg() - send a message
 * @ep: connected endpoint, or unconnected one
 * @msg: message
 * @flags: FI_COMPLETION, FI_INJECT, FI_MORE, FI_FENCE, FI_REMOTE_CQ_DATA and
 *	at most one completion level
 *
 * Messages arrive in the order of posting. Each uses up one receive of the
 * peer. If the peer posts none in time the connection ends: FI_ENOBUFS or
 * FI_ETIMEDOUT. Unconnected endpoints: docs/kfabric-rdm.md.
 *
 * Context: posting.
 * Return: 0: there will be exactly one completion (none on success if
 * suppressed); -FI_EAGAIN queue full, the space handler will be called;
 * -EMSGSIZE longer than max_msg_size (FI_INJECT: inject_size); -E2BIG more
 * than iov_limit segments; -EINVAL no context, or senseless buffer;
 * -FI_EBADFLAGS; -EOPNOTSUPP a completion level that the provider lacks;
 * -ENOTCONN not connected (any more); -ENODEV the device is gone; -ENOSYS;
 * unconnected: -EINVAL @msg->addr is no number (any more), -FI_EOPBADSTATE not
 * enabled yet.
 */
static inline ssize_t fi_sendmsg(struct fid_ep *ep, const struct fi_msg *msg,
				 u64 flags)
{
	const struct fi_ops_msg *ops = READ_ONCE(ep->msg);

	return KFI_HAS_OP(ops, sendmsg) ? ops->sendmsg(ep, msg, flags)
					: KFI_NO_OP(ops);
}

/**
 * fi_send() - send a message from one kernel virtual range
 * @ep: connected endpoint
 * @buf: start
 * @len: bytes
 * @desc: NULL
 * @dest_addr: as in &struct fi_msg
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_sendmsg().
 */
static inline ssize_t fi_send(struct fid_ep *ep, const void *buf, size_t len,
			      void *desc, fi_addr_t dest_addr,
			      struct fi_context *context)
{
	struct fi_msg msg = { .buf = fi_buf_linear(buf, len),
			      .addr = dest_addr,
			      .context = context };

	return fi_sendmsg(ep, &msg, ep->tx_op_flags);
}

static inline size_t kfi_kvec_bytes(const struct kvec *iov, size_t count)
{
	size_t i, len = 0;

	for (i = 0; i < count; i++)
		len += iov[i].iov_len;
	return len;
}

/**
 * fi_sendv() - send a message from an array of kernel virtual ranges
 * @ep: connected endpoint, or unconnected one
 * @iov: ranges; the array must stay until the completion
 * @desc: NULL
 * @count: ranges
 * @dest_addr: as in &struct fi_msg
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_sendmsg().
 */
static inline ssize_t fi_sendv(struct fid_ep *ep, const struct kvec *iov,
			       void **desc, size_t count, fi_addr_t dest_addr,
			       struct fi_context *context)
{
	struct fi_msg msg = { .buf = fi_buf_kvec(iov, count,
						 kfi_kvec_bytes(iov, count)),
			      .addr = dest_addr,
			      .context = context };

	return fi_sendmsg(ep, &msg, ep->tx_op_flags);
}

/**
 * fi_inject() - send a small message without operation memory
 * @ep: connected endpoint
 * @buf: reusable when the call returns
 * @len: bytes, up to tx_attr.inject_size
 * @dest_addr: as in &struct fi_msg
 *
 * No completion on success; a failure has op_context NULL, and one place less for
 * others until it is read, which no space handler tells.
 *
 * Context: posting.
 * Return: as fi_sendmsg().
 */
static inline ssize_t fi_inject(struct fid_ep *ep, const void *buf, size_t len,
				fi_addr_t dest_addr)
{
	const struct fi_ops_msg *ops = READ_ONCE(ep->msg);

	return KFI_HAS_OP(ops, inject) ? ops->inject(ep, buf, len, dest_addr)
				       : KFI_NO_OP(ops);
}

/**
 * fi_submit() - no more follows
 * @ep: endpoint
 *
 * Hands over what posts with FI_MORE may have held back; for those who learn
 * only afterwards that a post was the last one.
 *
 * Context: posting.
 */
static inline void fi_submit(struct fid_ep *ep)
{
	const struct fi_ops_msg *ops = READ_ONCE(ep->msg);

	if (KFI_HAS_OP(ops, submit))
		ops->submit(ep);
}

/**
 * fi_submit_inline() - no more follows, and the caller has time
 * @ep: endpoint
 *
 * As fi_submit(), but a provider whose sending may sleep does it in this
 * context, unless another one is at it, and does not wake a thread for it.
 * Where &fid_ep.is_inline is not set it is the same as fi_submit(). What was
 * posted without FI_MORE is on its way already.
 *
 * Context: process, may sleep; also in the path of reclaim. Upcalls may come
 *	before it returns.
 */
static inline void fi_submit_inline(struct fid_ep *ep)
{
	const struct fi_ops_msg *ops = READ_ONCE(ep->msg);

	if (KFI_HAS_OP(ops, submit_inline))
		ops->submit_inline(ep);
	else
		fi_submit(ep);
}

/**
 * fi_recvmsg() - post a receive
 * @ep: enabled endpoint
 * @msg: where to put a message
 * @flags: FI_COMPLETION, FI_MORE, FI_MULTI_RECV
 *
 * Receives are used in the order of posting. A message that is longer than
 * its receive ends the connection: FI_ETRUNC here, FI_EREMOTEIO at the peer.
 * Unconnected endpoints: docs/kfabric-rdm.md.
 *
 * With FI_MULTI_RECV the buffer, which must be FI_BUF_LINEAR, takes messages one
 * behind the other. Each has a completion with this context, and says where it is
 * (buf); the one that has FI_MULTI_RECV is the last, and gives buffer and context
 * back: that of a message, or, without FI_RECV, of none. Unread completions of
 * messages that are not the last are dropped when the endpoint is closed.
 *
 * Context: posting.
 * Return: as fi_sendmsg(); -FI_EOPBADSTATE not enabled yet; -FI_EBADFLAGS also if
 * the endpoint's receives take one message each; -EINVAL also if a buffer for
 * several messages is not one range, or the endpoint takes its receives from a
 * shared context.
 */
static inline ssize_t fi_recvmsg(struct fid_ep *ep, const struct fi_msg *msg,
				 u64 flags)
{
	const struct fi_ops_msg *ops = READ_ONCE(ep->msg);

	return KFI_HAS_OP(ops, recvmsg) ? ops->recvmsg(ep, msg, flags)
					: KFI_NO_OP(ops);
}

/**
 * fi_recv() - post a receive into one kernel virtual range
 * @ep: enabled endpoint
 * @buf: start
 * @len: bytes
 * @desc: NULL
 * @src_addr: as in &struct fi_msg
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_recvmsg().
 */
static inline ssize_t fi_recv(struct fid_ep *ep, void *buf, size_t len,
			      void *desc, fi_addr_t src_addr,
			      struct fi_context *context)
{
	struct fi_msg msg = { .buf = fi_buf_linear(buf, len),
			      .addr = src_addr,
			      .context = context };

	return fi_recvmsg(ep, &msg, ep->rx_op_flags);
}

/**
 * fi_recvv() - post a receive into an array of kernel virtual ranges
 * @ep: enabled endpoint
 * @iov: ranges; the array must stay until the completion
 * @desc: NULL
 * @count: ranges
 * @src_addr: as in &struct fi_msg
 * @context: operation memory
 *
 * Context: posting.
 * Return: as fi_recvmsg().
 */
static inline ssize_t fi_recvv(struct fid_ep *ep, const struct kvec *iov,
			       void **desc, size_t count, fi_addr_t src_addr,
			       struct fi_context *context)
{
	struct fi_msg msg = { .buf = fi_buf_kvec(iov, count,
						 kfi_kvec_bytes(iov, count)),
			      .addr = src_addr,
			      .context = context };

	return fi_recvmsg(ep, &msg, ep->rx_op_flags);
}

/**
 * fi_cancel() - end an operation that has not begun
 * @fid: base of an endpoint
 * @context: of the operation; nothing of it is read, so that one which is over
 *	may be named
 *
 * Context: posting.
 * Return: 0: it will complete with FI_ECANCELED, a receive without a byte that
 * lands after that; -ENOENT it has begun, or is over: its completion comes as
 * ever; -EINVAL not an endpoint; -ENOSYS.
 */
static inline int fi_cancel(struct kfid *fid, struct fi_context *context)
{
	struct fid_ep *ep = container_of(fid, struct fid_ep, fid);
	const struct fi_ops_msg *ops;

	if (!kfi_is_ep(fid))
		return -EINVAL;
	ops = READ_ONCE(ep->msg);
	return KFI_HAS_OP(ops, cancel) ? ops->cancel(ep, context) : -ENOSYS;
}

#endif /* KFABRIC_FI_ENDPOINT_H */
