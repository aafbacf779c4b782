/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for upper-layer drivers: completion queues and event queues.
 *
 * A completion queue (CQ) tells that operations are done: exactly one entry
 * per operation that was accepted by its post, errors included. Entries live
 * in the operation memory, so a CQ cannot overflow. A receive of several messages
 * has one for each of them besides; those live in the endpoint, and when there are
 * too many unread ones messages wait.
 *
 * An event queue (EQ) tells what happens to connections. Event memory comes
 * from the endpoint it belongs to, so an EQ cannot overflow either.
 *
 * Locking: the read calls may run concurrently on one queue; each entry is
 * given out once.
 */
#ifndef KFABRIC_FI_EQ_H
#define KFABRIC_FI_EQ_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <kfabric/fabric.h>

/* Number of a peer in an address vector (fi_av.h); connected endpoints ignore it. */
typedef u64 fi_addr_t;
#define FI_ADDR_UNSPEC ((fi_addr_t)-1)

/**
 * enum fi_cq_format - what fi_cq_read() and its like store of an operation
 * @FI_CQ_FORMAT_UNSPEC: FI_CQ_FORMAT_DATA
 * @FI_CQ_FORMAT_CONTEXT: &struct fi_cq_entry
 * @FI_CQ_FORMAT_MSG: &struct fi_cq_msg_entry
 * @FI_CQ_FORMAT_DATA: &struct fi_cq_data_entry
 * @FI_CQ_FORMAT_TAGGED: &struct fi_cq_tagged_entry
 * @FI_CQ_FORMATS: how many formats there are
 */
enum fi_cq_format {
	FI_CQ_FORMAT_UNSPEC,
	FI_CQ_FORMAT_CONTEXT,
	FI_CQ_FORMAT_MSG,
	FI_CQ_FORMAT_DATA,
	FI_CQ_FORMAT_TAGGED,
	FI_CQ_FORMATS,
};

/**
 * struct fi_cq_entry - one successful operation, without more
 * @op_context: as in &struct fi_cq_tagged_entry
 */
struct fi_cq_entry {
	void *op_context;
};

/**
 * struct fi_cq_msg_entry - one successful operation and its length
 * @op_context: as in &struct fi_cq_tagged_entry
 * @flags: as in &struct fi_cq_tagged_entry
 * @len: as in &struct fi_cq_tagged_entry
 */
struct fi_cq_msg_entry {
	void *op_context;
	u64 flags;
	size_t len;
};

/**
 * struct fi_cq_data_entry - one successful operation with its data
 * @op_context: as in &struct fi_cq_tagged_entry
 * @flags: as in &struct fi_cq_tagged_entry
 * @len: as in &struct fi_cq_tagged_entry
 * @buf: as in &struct fi_cq_tagged_entry
 * @data: as in &struct fi_cq_tagged_entry
 */
struct fi_cq_data_entry {
	void *op_context;
	u64 flags;
	size_t len;
	void *buf;
	u64 data;
};

/**
 * struct fi_cq_tagged_entry - one successful operation with its data and tag; the
 *	smaller ones are its beginning
 * @op_context: the operation's &struct fi_context; NULL for fi_inject() and
 *	for remote CQ data that consumed no receive
 * @flags: FI_SEND, FI_RECV, FI_READ, FI_WRITE or FI_FLUSH, with FI_MSG, FI_TAGGED
 *	or FI_RMA, and FI_REMOTE_CQ_DATA if @data is valid; FI_MULTI_RECV if a
 *	receive of several messages is given back, alone if by no message
 * @len: bytes received; for other operations the bytes moved
 * @buf: where a message of a receive of several begins; else NULL
 * @data: remote CQ data
 * @tag: with FI_TAGGED: of the message
 */
struct fi_cq_tagged_entry {
	void *op_context;
	u64 flags;
	size_t len;
	void *buf;
	u64 data;
	u64 tag;
};

/**
 * struct fi_cq_err_entry - one operation and how it ended
 * @op_context: as in &struct fi_cq_tagged_entry
 * @flags: as in &struct fi_cq_tagged_entry
 * @len: as in &struct fi_cq_tagged_entry
 * @buf: as in &struct fi_cq_tagged_entry
 * @data: as in &struct fi_cq_tagged_entry
 * @tag: as in &struct fi_cq_tagged_entry; of a receive that got no message that
 *	it was posted with
 * @olen: bytes by which a message was too long for its receive (FI_ETRUNC)
 * @err: 0, or positive error number
 * @prov_errno: the provider's own number (verbs: enum ib_wc_status)
 * @src_addr: who sent what a receive of an unconnected endpoint got, if the address
 *	vector has it; else FI_ADDR_UNSPEC
 */
struct fi_cq_err_entry {
	void *op_context;
	u64 flags;
	size_t len;
	void *buf;
	u64 data;
	u64 tag;
	size_t olen;
	int err;
	int prov_errno;
	fi_addr_t src_addr;
};

/* private: a completion; lives in operation memory, or in the endpoint. */
struct kfi_comp {
	struct list_head node;
	struct fid_ep *ep; /* valid until the endpoint is closed */
	u64 op_flags; /* as posted */
	bool is_part; /* the endpoint's memory: see kfi_post_part() */
	struct fi_cq_err_entry entry;
};

/**
 * enum fi_cq_context - where upcalls run
 * @FI_CQ_ANY: provider's choice, softirq or workqueue
 * @FI_CQ_SOFTIRQ: softirq, or a context that behaves like it
 * @FI_CQ_WORKQUEUE: a workqueue that makes progress under memory pressure
 */
enum fi_cq_context {
	FI_CQ_ANY,
	FI_CQ_SOFTIRQ,
	FI_CQ_WORKQUEUE,
};

/**
 * typedef fi_cq_handler - completion upcall
 * @cq: the queue
 * @entry: how the operation ended; valid during the call only
 * @context: fi_cq_attr.context of the queue
 *
 * Called once per completion. The operation memory is the caller's again when
 * it is called. May post. Upcalls of one endpoint and direction come one
 * after the other, in the order of completion; those of different endpoints
 * may run at the same time.
 *
 * Context: upcall; must not sleep, whatever the queue's context is.
 */
typedef void (*fi_cq_handler)(struct fid_cq *cq,
			      const struct fi_cq_err_entry *entry,
			      void *context);

/**
 * typedef fi_cq_ready_handler - upcall: look into the queue
 * @cq: the queue
 * @context: fi_cq_attr.context of the queue
 *
 * Called when an entry has come into a queue that was empty. Whoever takes entries
 * until fi_cq_read() says -FI_EAGAIN misses none: the next one that comes calls again. Several workers
 * may take entries at one time, and each gets others. May read the queue, and post.
 *
 * Context: upcall; must not sleep, whatever the queue's context is.
 */
typedef void (*fi_cq_ready_handler)(struct fid_cq *cq, void *context);

/**
 * struct fi_cq_attr - attributes of a completion queue
 * @size: entries expected, a hint; queues do not overflow
 * @format: what the read calls store
 * @comp_handler: upcall; NULL: entries are queued for the read calls
 * @ready_handler: upcall of a queue whose entries are read; not with @comp_handler
 * @comp_context: where these upcalls are to run. -EOPNOTSUPP if impossible
 * @signaling_vector: completion vector of the device to prefer
 * @wait_obj: the caller's wait object, which is woken when an entry has come or
 *	fi_cq_signal() was called; it may be that of several queues and counters and of
 *	what else the caller waits for, and stays until the queue is closed. NULL: the
 *	queue has its own. Not with @comp_handler
 */
struct fi_cq_attr {
	size_t size;
	enum fi_cq_format format;
	fi_cq_handler comp_handler;
	fi_cq_ready_handler ready_handler;
	enum fi_cq_context comp_context;
	int signaling_vector;
	struct wait_queue_head *wait_obj;
};

/**
 * struct fi_ops_cq - operations of a completion queue
 * @size: sizeof this struct
 * @progress: make hardware completions visible before an empty read; may be
 *	NULL. Context: posting
 */
struct fi_ops_cq {
	size_t size;
	void (*progress)(struct fid_cq *cq);
};

/**
 * struct fid_cq - completion queue
 * @fid: base
 * @ops: operations
 * @domain: where it was opened
 * @attr: as given to fi_cq_open()
 */
struct fid_cq {
	struct kfid fid;
	const struct fi_ops_cq *ops;
	struct fid_domain *domain;
	struct fi_cq_attr attr;
	/* private: core */
	spinlock_t lock; /* irq-safe; protects done, nr_done, signaled */
	struct list_head done;
	unsigned int nr_done;
	bool signaled;
	struct wait_queue_head *waiters; /* attr.wait_obj, or wait */
	wait_queue_head_t wait;
	atomic_long_t nr_comp;
	atomic_long_t nr_err;
};

ssize_t kfabric_cq_read(struct fid_cq *cq, void *buf, size_t count,
			fi_addr_t *src_addr);
ssize_t kfabric_cq_sread(struct fid_cq *cq, void *buf, size_t count,
			 fi_addr_t *src_addr, int timeout_ms);
ssize_t kfabric_cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *buf);
void kfabric_cq_signal(struct fid_cq *cq);

/**
 * fi_cq_read() - take successful completions
 * @cq: queue without upcall
 * @buf: out: @count entries of the queue's format
 * @count: room in @buf, at least 1
 *
 * Context: posting.
 * Return: entries taken (> 0); -FI_EAGAIN none there; -FI_EAVAIL the next one
 * is an error, see fi_cq_readerr(); -EOPNOTSUPP the queue has an upcall.
 */
static inline ssize_t fi_cq_read(struct fid_cq *cq, void *buf, size_t count)
{
	return kfabric_cq_read(cq, buf, count, NULL);
}

/**
 * fi_cq_readfrom() - take successful completions, and who sent
 * @cq: queue without upcall
 * @buf: out: @count entries of the queue's format
 * @count: room in @buf and @src_addr, at least 1
 * @src_addr: out: for each entry as in &struct fi_cq_err_entry
 *
 * Context: posting.
 * Return: as fi_cq_read().
 */
static inline ssize_t fi_cq_readfrom(struct fid_cq *cq, void *buf, size_t count,
				     fi_addr_t *src_addr)
{
	return kfabric_cq_read(cq, buf, count, src_addr);
}

/**
 * fi_cq_sread() - wait for completions and take them
 * @cq: queue without upcall
 * @buf: out: @count entries of the queue's format
 * @count: room in @buf
 * @cond: unused, as most callers of libfabric have it; pass NULL
 * @timeout_ms: limit; negative: none
 *
 * Context: process.
 * Return: as fi_cq_read(); -FI_EAGAIN also after the timeout or
 * fi_cq_signal(); -EINTR a signal came.
 */
static inline ssize_t fi_cq_sread(struct fid_cq *cq, void *buf, size_t count,
				  const void *cond, int timeout_ms)
{
	return kfabric_cq_sread(cq, buf, count, NULL, timeout_ms);
}

/**
 * fi_cq_sreadfrom() - wait for completions and take them, and who sent
 * @cq: queue without upcall
 * @buf: out: @count entries of the queue's format
 * @count: room in @buf and @src_addr
 * @src_addr: out: for each entry as in &struct fi_cq_err_entry
 * @cond: unused; pass NULL
 * @timeout_ms: limit; negative: none
 *
 * Context: process.
 * Return: as fi_cq_sread().
 */
static inline ssize_t fi_cq_sreadfrom(struct fid_cq *cq, void *buf,
				      size_t count, fi_addr_t *src_addr,
				      const void *cond, int timeout_ms)
{
	return kfabric_cq_sread(cq, buf, count, src_addr, timeout_ms);
}

/**
 * fi_cq_readerr() - take one failed completion
 * @cq: queue without upcall
 * @buf: out
 * @flags: 0
 *
 * Context: posting.
 * Return: 1; -FI_EAGAIN the next entry is no error; -EOPNOTSUPP the queue has
 * an upcall; -FI_EBADFLAGS @flags is not 0.
 */
static inline ssize_t fi_cq_readerr(struct fid_cq *cq,
				    struct fi_cq_err_entry *buf, u64 flags)
{
	return flags ? -FI_EBADFLAGS : kfabric_cq_readerr(cq, buf);
}

/**
 * fi_cq_signal() - make one fi_cq_sread() return
 * @cq: queue
 *
 * Context: posting.
 * Return: 0.
 */
static inline int fi_cq_signal(struct fid_cq *cq)
{
	kfabric_cq_signal(cq);
	return 0;
}

/**
 * enum fi_eq_event - kinds of events
 * @FI_NOTIFY: device state, see &struct fi_eq_entry
 * @FI_CONNREQ: a peer wants to connect; &struct fi_eq_cm_entry.info is set and
 *	now the reader's; open an endpoint with it and fi_accept(), or
 *	fi_reject(). Private data follows
 * @FI_CONNECTED: connection is up. On the connecting side the private data of
 *	the accept follows
 * @FI_SHUTDOWN: connection is gone, whoever ended it. Exactly once per
 *	endpoint that was FI_CONNECTED
 */
enum fi_eq_event {
	FI_NOTIFY,
	FI_CONNREQ,
	FI_CONNECTED,
	FI_SHUTDOWN,
};

/* Most bytes of private data that any provider has. */
#define FI_CM_DATA_MAX 256

/**
 * struct fi_eq_cm_entry - a connection event
 * @fid: passive endpoint (FI_CONNREQ) or endpoint
 * @info: of the request (FI_CONNREQ), else NULL; the reader must free it
 * @data: private data; its length is the return value of the read less
 *	sizeof(struct fi_eq_cm_entry)
 *
 * Give the read calls room for FI_CM_DATA_MAX bytes of @data.
 */
struct fi_eq_cm_entry {
	struct kfid *fid;
	struct fi_info *info;
	u8 data[];
};

/**
 * union fi_eq_cm_event - room for a connection event with its private data
 * @entry: the event
 * @room: for it, and for as much private data as any provider has
 */
union fi_eq_cm_event {
	struct fi_eq_cm_entry entry;
	u8 room[sizeof(struct fi_eq_cm_entry) + FI_CM_DATA_MAX];
};

/**
 * struct fi_eq_err_entry - a failed connection
 * @fid: endpoint
 * @context: of the endpoint
 * @err: positive: FI_ECONNREFUSED rejected or nobody listens, FI_ETIMEDOUT,
 *	FI_ECONNABORTED, FI_ENODEV, FI_EHOSTUNREACH and the like
 * @prov_errno: the provider's own number
 * @err_data_size: bytes of private data of a reject
 * @err_data: private data of a reject
 */
struct fi_eq_err_entry {
	struct kfid *fid;
	void *context;
	int err;
	int prov_errno;
	size_t err_data_size;
	u8 err_data[FI_CM_DATA_MAX];
};

/* private: an event; lives in the endpoint or connection request. */
struct kfi_event {
	struct list_head node; /* empty: not queued */
	struct kfid *fid; /* which the reader is told */
	struct kfid *hold; /* put when read or dropped, or NULL */
	struct fi_info *info; /* becomes the reader's */
	u32 event;
	int err; /* positive: goes to fi_eq_readerr() */
	bool notifying; /* the handler is still to be called */
	int prov_errno;
	size_t data_len;
	u8 data[FI_CM_DATA_MAX];
};

/**
 * typedef fi_eq_handler - there is something to read
 * @eq: the queue
 * @context: the queue's context
 *
 * Called after each event was queued. Queue work from here; read there.
 * Context: upcall.
 */
typedef void (*fi_eq_handler)(struct fid_eq *eq, void *context);

/**
 * struct fi_eq_attr - attributes of an event queue
 * @size: events expected, a hint; queues do not overflow
 * @handler: called for each event, or NULL
 * @wait_obj: the caller's wait object, as in &struct fi_cq_attr, or NULL; it is woken when an
 *	event has come. Goes with @handler, too
 */
struct fi_eq_attr {
	size_t size;
	fi_eq_handler handler;
	struct wait_queue_head *wait_obj;
};

/**
 * struct fid_eq - event queue
 * @fid: base
 * @attr: as given to fi_eq_open()
 */
struct fid_eq {
	struct kfid fid;
	struct fi_eq_attr attr;
	/* private: core */
	spinlock_t lock; /* irq-safe; protects events */
	struct list_head events;
	wait_queue_head_t wait;
	atomic_long_t nr_events;
};

int kfabric_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		    struct fid_eq **eq, void *context);
ssize_t kfabric_eq_read(struct fid_eq *eq, u32 *event, void *buf, size_t len);
ssize_t kfabric_eq_sread(struct fid_eq *eq, u32 *event, void *buf, size_t len,
			 int timeout_ms);
ssize_t kfabric_eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *buf);

/**
 * fi_eq_open() - open an event queue
 * @fabric: parent
 * @attr: attributes, or NULL for none
 * @eq: out
 * @context: stored in the object, given to the handler
 *
 * Context: process.
 * Return: 0; -ENOMEM; -ENODEV.
 */
static inline int fi_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
			     struct fid_eq **eq, void *context)
{
	return kfabric_eq_open(fabric, attr, eq, context);
}

/**
 * fi_eq_read() - take one event
 * @eq: queue
 * @event: out: &enum fi_eq_event
 * @buf: out: &struct fi_eq_cm_entry with private data
 * @len: bytes at @buf
 * @flags: 0
 *
 * Context: posting.
 * Return: bytes stored; -FI_EAGAIN none there; -FI_EAVAIL the next one is an
 * error, see fi_eq_readerr(); -FI_ETOOSMALL @len cannot hold it, the event
 * stays; -FI_EBADFLAGS @flags is not 0.
 */
static inline ssize_t fi_eq_read(struct fid_eq *eq, u32 *event, void *buf,
				 size_t len, u64 flags)
{
	return flags ? -FI_EBADFLAGS : kfabric_eq_read(eq, event, buf, len);
}

/**
 * fi_eq_sread() - wait for one event and take it
 * @eq: queue
 * @event: out: &enum fi_eq_event
 * @buf: out: as fi_eq_read()
 * @len: bytes at @buf
 * @timeout_ms: limit; negative: none
 * @flags: 0
 *
 * Context: process.
 * Return: as fi_eq_read(); -FI_EAGAIN also after the timeout; -EINTR a signal
 * came.
 */
static inline ssize_t fi_eq_sread(struct fid_eq *eq, u32 *event, void *buf,
				  size_t len, int timeout_ms, u64 flags)
{
	return flags ? -FI_EBADFLAGS
		     : kfabric_eq_sread(eq, event, buf, len, timeout_ms);
}

/**
 * fi_eq_readerr() - take one failure
 * @eq: queue
 * @buf: out
 * @flags: 0
 *
 * Context: posting.
 * Return: sizeof(*@buf); -FI_EAGAIN the next event is no failure;
 * -FI_EBADFLAGS @flags is not 0.
 */
static inline ssize_t fi_eq_readerr(struct fid_eq *eq,
				    struct fi_eq_err_entry *buf, u64 flags)
{
	return flags ? -FI_EBADFLAGS : kfabric_eq_readerr(eq, buf);
}

#endif /* KFABRIC_FI_EQ_H */
