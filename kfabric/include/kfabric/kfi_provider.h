/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers: registration, object life cycle, completions,
 * events, buffers.
 *
 * A provider embeds the fid_* structs in its own, calls kfi_*_init() on them
 * when it opens an object, and fills in the ops vectors. Everything that is
 * the same for all providers is the core's: references, bindings, states,
 * queues, option values, matching of hints, counters, traces.
 *
 * Life of an object:
 *
 *   provider: zalloc, kfi_*_init(), own set-up --(failure)--> kfi_obj_abort()
 *   upper layer uses it; children and bindings pin it (fi_close: -EBUSY)
 *   fi_close():  core: refuse if pinned, state CLOSED
 *                provider: ops->close() stops and drains; it may call
 *                          kfi_obj_reap() for what takes long
 *                core: unbind, unpin the parent, drop the handle's reference
 *   last reference gone (children and reaper have finished):
 *                provider: ops->release() frees the memory
 *                core: drops the references on parent, provider, module
 *
 * So a parent's memory and what it frees in release() outlive all children,
 * also those that the reaper is still busy with.
 */
#ifndef KFABRIC_KFI_PROVIDER_H
#define KFABRIC_KFI_PROVIDER_H

#include <linux/completion.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/refcount.h>

#include <kfabric/fabric.h>
#include <kfabric/fi_cm.h>
#include <kfabric/fi_domain.h>
#include <kfabric/fi_endpoint.h>
#include <kfabric/fi_eq.h>
#include <kfabric/fi_rma.h>
#include <kfabric/fi_tagged.h>
#include <kfabric/kfi_buf.h>
#include <kfabric/kfi_info.h>

/* Alias by which fi_getinfo() loads a provider that the hints name. */
#define KFI_MODULE_PREFIX      "kfabric-provider-"
#define KFI_MODULE_ALIAS(name) MODULE_ALIAS(KFI_MODULE_PREFIX name)
#define KFI_PROV_NAME_MAX      32

/* The whole of a module that is a provider and begins with nothing else. */
#define KFI_MODULE_PROVIDER(prov) \
	module_driver(prov, kfi_provider_register, kfi_provider_deregister)

/* struct kfi_provider.flags */
#define KFI_PROV_EXPLICIT BIT(0) /* only when the hints name it */

#define KFI_PROVIDER_WQS_MAX 4 /* of a provider */

/**
 * struct kfi_provider_wq - a workqueue of a provider
 * @wq: out: the queue, which is there as long as the provider is registered
 * @name: of it
 * @flags: WQ_*
 * @max_active: as alloc_workqueue() has it
 */
struct kfi_provider_wq {
	struct workqueue_struct **wq;
	const char *name;
	unsigned int flags;
	int max_active;
};

/**
 * struct kfi_provider - a kind of fabric
 * @name: exact name, shorter than KFI_PROV_NAME_MAX, without ';'
 * @version: FI_VERSION() of the provider
 * @fi_version: FI_VERSION() of the interface it was built for; the major
 *	number must be the core's
 * @owner: THIS_MODULE
 * @preference: order of the answers to fi_getinfo(), lowest first, behind
 *	those that the core's parameter "order" names; verbs 10, tcp 20, rds 30,
 *	loop 40, udp 50, layered ones 90
 * @flags: KFI_PROV_*
 * @getinfo: list what there is. @node and @service are checked for form;
 *	kfi_resolve() turns them into addresses. The core filters the answer
 *	by @hints (kfi_match_info()), fills in prov_name and prov_version if
 *	NULL and 0, and frees it. Return 0, -ENODATA, or another -errno.
 *	Context: process
 * @fabric: open a fabric. Context: process. It may be kfi_plain_fabric() or
 *	kfi_layer_fabric()
 * @fabric_ops: of the fabrics that kfi_plain_fabric() and kfi_layer_fabric() open;
 *	with kfi_plain_fabric() NULL may stand for kfi_plain_domain() and nothing else
 * @domain_ops: of the domains that kfi_plain_domain() opens
 * @wqs: what kfi_provider_register() makes first, and kfi_provider_deregister()
 *	destroys at the end, the last one first; they end where @wq is NULL
 */
struct kfi_provider {
	const char *name;
	u32 version;
	u32 fi_version;
	struct module *owner;
	int preference;
	u32 flags;
	int (*getinfo)(struct kfi_provider *prov, const char *node,
		       const char *service, u64 flags,
		       const struct fi_info *hints, struct fi_info **info);
	int (*fabric)(struct kfi_provider *prov, struct fi_fabric_attr *attr,
		      struct fid_fabric **fabric, void *context);
	const struct fi_ops_fabric *fabric_ops;
	const struct fi_ops_domain *domain_ops;
	struct kfi_provider_wq wqs[KFI_PROVIDER_WQS_MAX];
	/* private: core */
	struct list_head node;
	refcount_t ref; /* registration, objects, running calls */
	struct completion gone;
	atomic_t nr_objects;
	bool dying;
};

/*
 * Another kernel fabric (HPE's shs-kfabric, whose module is kfi.ko) exports
 * functions with the names of these two, so that they are inline here. It has
 * none of the other names, which are what kallsyms shows.
 */
int kfabric_provider_register(struct kfi_provider *prov);
void kfabric_provider_deregister(struct kfi_provider *prov);

/**
 * kfi_provider_register() - make a provider known
 * @prov: provider; must stay until kfi_provider_deregister() returned
 *
 * Context: process.
 * Return: 0; -EEXIST there is one of that name; -EINVAL name or operations
 * missing or malformed; -ENOSYS built for another major version; -ENOMEM.
 */
static inline int kfi_provider_register(struct kfi_provider *prov)
{
	return kfabric_provider_register(prov);
}

/**
 * kfi_provider_deregister() - make a provider unknown
 * @prov: registered provider
 *
 * New calls do not find it any more. Waits until running calls and all
 * objects are gone. Objects hold the owner module, so that a module's exit
 * never waits for objects.
 *
 * Context: process.
 */
static inline void kfi_provider_deregister(struct kfi_provider *prov)
{
	kfabric_provider_deregister(prov);
}

/* ---- objects ---------------------------------------------------------- */

int kfi_obj_init(struct kfid *fid, enum fi_class fclass,
		 struct kfi_provider *prov, struct kfid *parent,
		 const struct fi_ops *ops, void *context);

/**
 * kfi_obj_abort() - undo kfi_*_init() of an object that nobody has seen
 * @fid: object
 *
 * ops->close() is not called, ops->release() is.
 *
 * Context: process.
 */
void kfi_obj_abort(struct kfid *fid);

/**
 * kfi_obj_get() - keep an object's memory
 * @fid: object on which a reference is held
 *
 * Context: any.
 */
void kfi_obj_get(struct kfid *fid);

/**
 * kfi_obj_put() - drop a reference
 * @fid: object
 *
 * Context: process. Code of the provider that returns after the last one must
 * be waited for at module exit (flush its workqueues), or run by
 * kfi_obj_reap(), which does not have this problem.
 */
void kfi_obj_put(struct kfid *fid);

/**
 * kfi_obj_kill() - the device under an object is gone
 * @fid: domain, endpoint, passive endpoint, ...
 *
 * Every operation but fi_close() and reading of queues gives -ENODEV from now
 * on. An endpoint enters KFI_EP_DEAD, and its EQ gets FI_SHUTDOWN if it was
 * connected, a failure with FI_ENODEV if it was connecting. Flushing the
 * outstanding operations stays the provider's duty, as is killing children.
 *
 * Context: any but hardirq.
 */
void kfi_obj_kill(struct kfid *fid);

/**
 * kfi_obj_reap() - finish a close in the background
 * @fid: object in ops->close()
 * @fn: called once from a workqueue that copes with blocking for long; the
 *	object and with it the provider's module stay until it returned; it
 *	may sleep
 *
 * Context: any.
 */
void kfi_obj_reap(struct kfid *fid, void (*fn)(struct kfid *fid));

/**
 * kfi_obj_kfree() - an ops->release() that frees the object
 * @fid: object, with which its memory from kzalloc() begins
 *
 * Context: any.
 */
void kfi_obj_kfree(struct kfid *fid);

/* Base operations of objects that kfi_obj_kfree() is enough for. */
extern const struct fi_ops kfi_plain_ops;

/**
 * kfi_fabric_init() - make a fabric object
 * @fabric: zeroed memory
 * @prov: provider
 * @ops: base operations; @ops->release is needed
 * @fabric_ops: operations
 * @context: from fi_fabric()
 *
 * Context: process.
 * Return: 0; -ENODEV the provider is being deregistered or unloaded.
 */
int kfi_fabric_init(struct fid_fabric *fabric, struct kfi_provider *prov,
		    const struct fi_ops *ops,
		    const struct fi_ops_fabric *fabric_ops, void *context);

/**
 * kfi_plain_fabric() - a fabric operation to point &kfi_provider.fabric at
 * @prov: provider
 * @attr: from fi_fabric()
 * @fabric: out
 * @context: from fi_fabric()
 *
 * For providers whose fabrics need nothing of their own.
 *
 * Context: process.
 * Return: 0; -ENOMEM; as kfi_fabric_init().
 */
int kfi_plain_fabric(struct kfi_provider *prov, struct fi_fabric_attr *attr,
		     struct fid_fabric **fabric, void *context);

/**
 * kfi_domain_init() - make a domain object
 * @domain: zeroed memory
 * @fabric: parent
 * @ops: base operations
 * @domain_ops: operations
 * @mr_mode: FI_MR_* of this domain
 * @context: from fi_domain()
 *
 * Context: process.
 * Return: 0; -ENODEV; -EINVAL the parent is being closed.
 */
int kfi_domain_init(struct fid_domain *domain, struct fid_fabric *fabric,
		    const struct fi_ops *ops,
		    const struct fi_ops_domain *domain_ops, u32 mr_mode,
		    void *context);

/**
 * kfi_plain_domain() - a domain operation to point fabric operations at
 * @fabric: parent, whose provider has &kfi_provider.domain_ops
 * @info: from fi_domain()
 * @domain: out
 * @context: from fi_domain()
 *
 * For providers without remote memory, whose domains need nothing of their own.
 *
 * Context: process.
 * Return: 0; -ENOMEM; as kfi_domain_init().
 */
int kfi_plain_domain(struct fid_fabric *fabric, struct fi_info *info,
		     struct fid_domain **domain, void *context);

/**
 * struct kfi_ep_ops - operations of an endpoint, all vectors
 * @fid: base; @fid->control gets FI_ENABLE after the core's checks
 * @cm: connections
 * @msg: messages
 * @rma: remote memory
 * @tagged: messages with a tag; NULL: there are none
 * @sep: of a scalable endpoint; else NULL
 * @atomic: atomic operations; NULL: there are none. With it goes
 *	&fi_ops_domain.query_atomic
 * @moved: FI_OPT_MOVED_BYTES; NULL: the provider cannot tell
 * @path: reads FI_OPT_PATH: 0, -FI_EOPBADSTATE, or why there is no way; NULL: it
 *	goes by no network interface
 * @set_path: sets it: 0 or -FI_EOPBADSTATE; there with @path
 * @low_water: of a shared receive context: FI_OPT_LOW_WATER, which is well-formed
 */
struct kfi_ep_ops {
	const struct fi_ops *fid;
	const struct fi_ops_cm *cm;
	const struct fi_ops_msg *msg;
	const struct fi_ops_rma *rma;
	const struct fi_ops_tagged *tagged;
	const struct fi_ops_sep *sep;
	const struct fi_ops_atomic *atomic;
	u64 (*moved)(struct fid_ep *ep);
	int (*path)(struct fid_ep *ep, struct fi_path *path);
	int (*set_path)(struct fid_ep *ep, const struct fi_path *path);
	int (*low_water)(struct fid_ep *srx, const struct fi_low_water *low);
};

/**
 * kfi_ep_init() - make an endpoint object
 * @ep: zeroed memory
 * @domain: parent
 * @info: from fi_endpoint(); op flags, levels, flush modes, timeouts and the
 *	size of private data are taken from it
 * @ops: operations
 * @context: from fi_endpoint()
 *
 * Context: process.
 * Return: 0; -ENODEV; -EINVAL the parent is being closed.
 */
int kfi_ep_init(struct fid_ep *ep, struct fid_domain *domain,
		const struct fi_info *info, const struct kfi_ep_ops *ops,
		void *context);

/**
 * kfi_pep_init() - make a passive endpoint object
 * @pep: zeroed memory
 * @fabric: parent
 * @info: from fi_passive_ep(), of which @pep->info becomes a copy, which goes with the
 *	object; or NULL: there is none
 * @ops: base operations
 * @pep_ops: operations
 * @context: from fi_passive_ep()
 *
 * Context: process.
 * Return: 0; -ENOMEM; -ENODEV; -EINVAL the parent is being closed.
 */
int kfi_pep_init(struct fid_pep *pep, struct fid_fabric *fabric,
		 const struct fi_info *info, const struct fi_ops *ops,
		 const struct fi_ops_pep *pep_ops, void *context);

/**
 * kfi_mr_init() - make a memory region object
 * @mr: zeroed memory
 * @domain: parent
 * @ops: base operations; @ops->close is the fence
 * @attr: from fi_mr_regattr(); context, iova and length are taken from it.
 *	The caller sets mr->key
 *
 * Context: process.
 * Return: 0; -ENODEV; -EINVAL the parent is being closed.
 */
int kfi_mr_init(struct fid_mr *mr, struct fid_domain *domain,
		const struct fi_ops *ops, const struct fi_mr_attr *attr);

/**
 * kfi_cq_init() - make a completion queue object
 * @cq: zeroed memory
 * @domain: parent
 * @ops: base operations
 * @cq_ops: operations, or NULL
 * @attr: from fi_cq_open(), or NULL
 * @context: from fi_cq_open()
 *
 * Context: process.
 * Return: 0; -ENODEV; -EINVAL the parent is being closed.
 */
int kfi_cq_init(struct fid_cq *cq, struct fid_domain *domain,
		const struct fi_ops *ops, const struct fi_ops_cq *cq_ops,
		const struct fi_cq_attr *attr, void *context);

/**
 * kfi_plain_cq_open() - a cq_open operation to point domain operations at
 * @domain: parent
 * @attr: from fi_cq_open(), or NULL
 * @cq: out
 * @context: from fi_cq_open()
 *
 * For providers whose completion queues need nothing of their own.
 *
 * Context: process.
 * Return: 0; -ENOMEM; as kfi_cq_init().
 */
int kfi_plain_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		      struct fid_cq **cq, void *context);

/* ---- operations and completions --------------------------------------- */

void kfi_ep_call_space(struct fid_ep *ep, unsigned int bit);

/**
 * KFI_OP_CONTEXT_SIZE() - value for domain_attr.op_context_size
 * @priv_size: bytes that the provider needs in each operation
 */
#define KFI_OP_CONTEXT_SIZE(priv_size) \
	ALIGN(sizeof(struct fi_context) + (priv_size), sizeof(u64))

/**
 * kfi_op_priv() - the provider's part of operation memory
 * @context: from the post
 *
 * Context: any.
 * Return: pointer, aligned to 8.
 */
static inline void *kfi_op_priv(struct fi_context *context)
{
	return context->priv;
}

/**
 * kfi_comp_set() - prepare the completion of an accepted operation
 * @comp: &fi_context.comp, or memory of the provider (for fi_inject())
 * @context: from the post, or NULL
 * @op_flags: from the post
 * @comp_flags: FI_SEND | FI_MSG and the like, for the entry
 * @len: bytes of the operation
 *
 * Context: any.
 */
static inline void kfi_comp_set(struct kfi_comp *comp,
				struct fi_context *context, u64 op_flags,
				u64 comp_flags, size_t len)
{
	comp->op_flags = op_flags;
	comp->is_part = false;
	comp->entry = (struct fi_cq_err_entry){ .op_context = context,
						.flags = comp_flags,
						.len = len,
						.src_addr = FI_ADDR_UNSPEC };
}

/**
 * kfi_ep_complete() - an operation is done
 * @ep: the operation's endpoint
 * @comp: the operation's completion; the provider sets err, prov_errno, len, data and
 *	olen in comp->entry before
 *
 * Tells the CQ by comp->entry.flags (FI_RECV: receive side), unless it is a
 * success to be suppressed. The operation memory may be gone when it returns.
 * Call it once per accepted operation, without locks that posting takes, and
 * one after the other for one endpoint and direction. Then, or before, call
 * kfi_ep_space().
 *
 * Context: softirq or process; that of the CQ's attribute if it has an upcall.
 */
void kfi_ep_complete(struct fid_ep *ep, struct kfi_comp *comp);

/**
 * kfi_ep_again() - a post finds its queue full
 * @ep: endpoint
 * @dir: FI_TRANSMIT or FI_RECV
 *
 * Call it under the lock that guards the number of free slots.
 *
 * Context: posting.
 * Return: -FI_EAGAIN, for the post to return.
 */
ssize_t kfi_ep_again(struct fid_ep *ep, u64 dir);

/**
 * kfi_ep_space() - a queue has room (again)
 * @ep: endpoint
 * @dir: FI_TRANSMIT or FI_RECV
 *
 * Cheap if nobody waits. Calls the space handler if a post was refused since
 * the last call. Call it after the slot was freed under the lock that guards
 * their number, but without that lock.
 *
 * Context: as kfi_ep_complete().
 */
static inline void kfi_ep_space(struct fid_ep *ep, u64 dir)
{
	unsigned int bit = dir == FI_RECV;

	if (unlikely(test_bit(bit, &ep->space_wanted)))
		kfi_ep_call_space(ep, bit);
}

/**
 * kfi_trace_post() - count and trace an accepted post
 * @ep: endpoint
 * @comp: the post's completion, prepared (kfi_comp_set())
 *
 * Call it before the operation can complete.
 *
 * Context: posting.
 */
void kfi_trace_post(struct fid_ep *ep, const struct kfi_comp *comp);

/**
 * kfi_check_tx() - checks of a post that are the same for all providers
 * @ep: endpoint
 * @context: operation memory
 * @buf: local buffer
 * @flags: of the post
 * @attr: limits
 * @max_len: max_msg_size; with FI_INJECT attr->inject_size is used
 *
 * Context: posting.
 * Return: 0; -EINVAL, -E2BIG, -EMSGSIZE, -FI_EBADFLAGS, -EOPNOTSUPP as with
 * fi_sendmsg().
 */
int kfi_check_tx(const struct fid_ep *ep, const struct fi_context *context,
		 const struct fi_buf *buf, u64 flags,
		 const struct fi_tx_attr *attr, size_t max_len);

/**
 * kfi_check_rx() - checks of a receive that are the same for all providers
 * @ep: endpoint
 * @context: operation memory
 * @buf: local buffer
 * @flags: of the post
 * @attr: limits
 * @max_len: max_msg_size
 *
 * Context: posting.
 * Return: 0; -EINVAL, -E2BIG, -EMSGSIZE, -FI_EBADFLAGS as with fi_recvmsg().
 */
int kfi_check_rx(const struct fid_ep *ep, const struct fi_context *context,
		 const struct fi_buf *buf, u64 flags,
		 const struct fi_rx_attr *attr, size_t max_len);

/**
 * kfi_check_rma() - kfi_check_tx() and the remote ranges
 * @ep: endpoint
 * @msg: of the post
 * @flags: of the post
 * @attr: limits
 * @max_len: max_msg_size
 *
 * Context: posting.
 * Return: as kfi_check_tx(); -EINVAL ranges missing, overflowing, or not as
 * long as the buffer; -E2BIG too many.
 */
int kfi_check_rma(const struct fid_ep *ep, const struct fi_msg_rma *msg,
		  u64 flags, const struct fi_tx_attr *attr, size_t max_len);

/**
 * kfi_check_flush() - checks of a flush that are the same for all providers
 * @ep: endpoint
 * @msg: of the post
 * @flags: of the post
 * @attr: limits
 *
 * Context: posting.
 * Return: 0; -EINVAL context or ranges missing, a range overflowing, or the
 * last one empty; -FI_EBADFLAGS; -EOPNOTSUPP not exactly one mode, or not one
 * of the endpoint's; -E2BIG too many ranges.
 */
int kfi_check_flush(const struct fid_ep *ep, const struct fi_msg_flush *msg,
		    u64 flags, const struct fi_tx_attr *attr);

/* ---- states and events ------------------------------------------------ */

/**
 * kfi_ep_connected() - a connection is up
 * @ep: endpoint in KFI_EP_CONNECTING
 * @data: private data of the accept, or NULL
 * @len: bytes of @data, up to FI_CM_DATA_MAX
 *
 * Queues FI_CONNECTED. Make the endpoint able to post before the call.
 *
 * Context: any but hardirq.
 * Return: 0; -FI_EOPBADSTATE not connecting (any more): nothing was queued.
 */
int kfi_ep_connected(struct fid_ep *ep, const void *data, size_t len);

/**
 * kfi_ep_down() - a connection failed or ended
 * @ep: endpoint
 * @err: positive: why; used if it was connecting
 * @prov_errno: the provider's number
 * @data: private data of a reject, or NULL
 * @len: bytes of @data, up to FI_CM_DATA_MAX
 *
 * Connecting: queues a failure. Connected: queues FI_SHUTDOWN. Otherwise does
 * nothing, so that every path that notices may call it.
 *
 * Context: any but hardirq.
 * Return: true if this call ended it; flush the operations then.
 */
bool kfi_ep_down(struct fid_ep *ep, int err, int prov_errno, const void *data,
		 size_t len);

/**
 * struct kfi_connreq - a connection request
 * @fid: base; fi_info.handle points to it. @fid.ops->release() of a request
 *	that was neither used nor rejected must reject it
 * @used: an endpoint was opened for it (kfi_connreq_use())
 *
 * Embed it in the provider's.
 */
struct kfi_connreq {
	struct kfid fid;
	bool used;
	/* private: core */
	struct kfi_event ev;
};

/**
 * kfi_connreq_init() - make a connection request object
 * @req: zeroed memory
 * @pep: where it came in
 * @ops: base operations
 *
 * The reference that the caller gets goes to kfi_connreq_post() or is dropped
 * by kfi_obj_abort().
 *
 * Context: process.
 * Return: 0; -ENODEV; -EINVAL the passive endpoint is being closed.
 */
int kfi_connreq_init(struct kfi_connreq *req, struct fid_pep *pep,
		     const struct fi_ops *ops);

/**
 * kfi_connreq_post() - tell the passive endpoint's EQ
 * @req: request
 * @pep: where it came in
 * @info: for the event, without handle; becomes the core's
 * @data: private data, or NULL
 * @len: bytes of @data, up to FI_CM_DATA_MAX
 *
 * The passive endpoint's ops->close() must wait for calls that are under way.
 *
 * Context: process.
 * Return: 0; -EINVAL the passive endpoint is being closed: @req and @info are
 * gone (and thereby rejected).
 */
int kfi_connreq_post(struct kfi_connreq *req, struct fid_pep *pep,
		     struct fi_info *info, const void *data, size_t len);

/**
 * kfi_connreq_use() - an endpoint is opened for a request
 * @handle: of the endpoint's info; nothing of it is trusted
 * @ops: base operations of the provider's requests
 * @lock: the provider's, which protects &kfi_connreq.used
 *
 * Context: process.
 * Return: the request, with a reference; NULL: it is none of the provider's,
 * or another endpoint has it.
 */
struct kfi_connreq *kfi_connreq_use(struct kfid *handle,
				    const struct fi_ops *ops,
				    struct mutex *lock);

/* ---- queues of an endpoint ---------------------------------------------- */

/**
 * kfi_cq_wants_work() - are upcalls of a queue to come from a workqueue?
 * @cq: queue, or NULL
 *
 * Context: any.
 * Return: they are.
 */
static inline bool kfi_cq_wants_work(const struct fid_cq *cq)
{
	return cq && (cq->attr.comp_handler || cq->attr.ready_handler) &&
	       cq->attr.comp_context == FI_CQ_WORKQUEUE;
}

/**
 * kfi_ep_wants_work() - are upcalls of an endpoint's queues to come from a workqueue?
 * @ep: endpoint whose queues are bound
 *
 * Context: any.
 * Return: those of one of them at least.
 */
static inline bool kfi_ep_wants_work(const struct fid_ep *ep)
{
	return kfi_cq_wants_work(ep->tx_cq) || kfi_cq_wants_work(ep->rx_cq);
}

/**
 * kfi_ep_counts() - does a counter wait for operations of a kind?
 * @ep: endpoint, enabled
 * @comp_flags: of their completions
 *
 * Then each has to complete by itself, also when no queue tells of it.
 *
 * Context: any.
 * Return: it does.
 */
static inline bool kfi_ep_counts(const struct fid_ep *ep, u64 comp_flags)
{
	return comp_flags & ep->cntr_kinds;
}

/**
 * kfi_debugfs_dir() - where to put a provider's or a test's debugfs files
 *
 * Context: process.
 * Return: the core's folder, fit as a parent for debugfs functions.
 */
struct dentry *kfi_debugfs_dir(void);

#endif /* KFABRIC_KFI_PROVIDER_H */
