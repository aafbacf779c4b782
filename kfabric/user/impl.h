/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects of stcp and what its files offer each other.
 *
 * Locking, outermost first: a domain's lock, or the eps_lock of an event queue,
 * a completion queue or of shared receives (their endpoints); an endpoint's
 * lock; then one of the leaves, but that set_ring()'s function is called under the
 * lock of a completion queue: the lock of a queue, of shared receives, of a fabric's
 * requests, of a domain's registrations, or of a shard's lists.
 *
 * Lifetime: an object is closed by its user, who closes what depends on it
 * first. Whatever a shard's epoll knows is taken out by that shard's own
 * thread (stcp_shard_forget()), so that no event about it is under way.
 */
#ifndef STCP_IMPL_H
#define STCP_IMPL_H

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "kfabric/tcpwire/tcpw_cm.h"
#include "kfabric/tcpwire/tcpw_rx.h"
#include "kfabric/tcpwire/tcpw_state.h"

#define STCP_IOV_MAX		      4
#define STCP_QUEUE_SIZE		      256 /* operations each way, unless asked for more */
#define STCP_QUEUE_MAX		      8192
#define STCP_INJECT_BYTES	      256
#define STCP_MSG_MAX		      (1UL << 30)
#define STCP_SRXS_MAX		      65536
#define STCP_MRS_MAX		      (1UL << 24)
#define STCP_ANSWERS_MAX	      64 /* ACKs and responses that wait to go out */
#define STCP_ARRIVING_MAX	      256 /* connections whose request is not whole */
#define STCP_ARRIVING_PER_ADDRESS_MAX 32
#define STCP_EVENTS_MAX		      1024 /* requests that nobody has read */
#define STCP_TOLD_MAX		      64 /* events before which a stray is told, too */
#define STCP_UNBIDDEN_MAX	      1024 /* completions of writes that nobody has read */
#define STCP_CM_DEADLINE_MS	      10000
#define STCP_CLOSING_DEADLINE_MS      5000
#define STCP_STARVED_MS		      100 /* without a descriptor for a connection */

/*
 * Modes of registrations before API 1.5, which are values and no bits: libfabric
 * 2 calls their names deprecated (fi_mr(3)).
 */
#define STCP_MR_UNSPEC	 0
#define STCP_MR_BASIC	 1
#define STCP_MR_SCALABLE 2

/* libfabric's headers had one of their own until 2.0. */
#define stcp_container_of(ptr, type, member) \
	((type *)((char *)(ptr)-offsetof(type, member)))

struct stcp_ep;
struct stcp_shard;

/* What a shard's epoll knows; ready() is called by its thread. */
struct stcp_source {
	void (*ready)(struct stcp_source *source, uint32_t events);
	/* The deadline has passed; it is not set any more. A listener has none. */
	void (*late)(struct stcp_source *source);
	struct stcp_shard *shard;
	int fd;
	uint64_t deadline_ms;
	TAILQ_ENTRY(stcp_source) hurry_link;
};

/*
 * struct stcp_wait - a descriptor that is readable when a queue is not empty
 * @fd: an eventfd; -1: nobody waits for this queue
 * @user_fd: what its user sleeps on: @fd, or an epoll of it and of sockets
 * @ring: instead of @fd; NULL: nobody wants to be told
 * @ring_context: for it
 * @armed: its user may be asleep
 * @readable: @fd is
 */
struct stcp_wait {
	int fd;
	int user_fd;
	void (*ring)(void *context);
	void *ring_context;
	bool armed;
	bool readable;
};

enum stcp_kind {
	STCP_RECV,
	STCP_SEND,
	STCP_WRITE,
	STCP_READ,
	STCP_ACK,
	STCP_RESPONSE,
};

/*
 * struct stcp_op - an operation from its post to its completion
 * @link: in a queue of its endpoint
 * @done_link: in its completion queue
 * @due: in the tracker, once it is out and waits for an answer
 * @completes: its user wants to hear of success
 * @silent: its user hears of nothing
 * @acked: it is over when the peer has acknowledged it
 * @unbidden: a peer's write has made it, no receive; its queue counts it
 * @flags, @len, @data, @context, @err, @prov_errno: of its completion
 * @iov: its memory, moved on as bytes go out; of a receive or read: whole
 * @total: bytes of memory
 * @mrs: of a response: where its memory is from
 * @hdr, @hdr_bytes, @hdr_sent: of what goes out
 * @copy: the bytes of an injected operation
 */
struct stcp_op {
	TAILQ_ENTRY(stcp_op) link;
	STAILQ_ENTRY(stcp_op) done_link;
	struct tcpw_due due;
	enum stcp_kind kind;
	bool completes;
	bool silent;
	bool acked;
	bool unbidden;
	uint8_t n_iov;
	uint8_t hdr_bytes;
	uint8_t hdr_sent;
	uint64_t flags;
	uint64_t data;
	size_t len;
	size_t total;
	void *context;
	int err;
	int prov_errno;
	struct iovec iov[STCP_IOV_MAX];
	/* Receives end here. */
	struct stcp_mr *mrs[TCPW_SEGS_MAX];
	uint8_t hdr[TCPW_HDR_MAX];
	uint8_t copy[];
};

TAILQ_HEAD(stcp_op_list, stcp_op);

/*
 * struct stcp_fabric - the root
 * @lock: @requests and @peps
 * @requests: delivered, neither accepted nor rejected: handles that are good
 * @peps: the passive endpoints, which are good handles, too
 * @generation: of the process that opened it (stcp_is_inherited())
 */
struct stcp_fabric {
	struct fid_fabric fid;
	atomic_uint refs;
	pthread_mutex_t lock;
	LIST_HEAD(, stcp_request) requests;
	LIST_HEAD(, stcp_pep) peps;
	unsigned int generation;
};

/* An endpoint in a completion queue's list. */
struct stcp_cq_seat {
	struct stcp_ep *ep;
	LIST_ENTRY(stcp_cq_seat) link;
};

/*
 * struct stcp_cq - a completion queue
 * @eps: those it is bound to; one for both directions sits there once
 * @n_unbidden: completions that writes of peers have made and nobody has read
 * @stalled: somebody waits for one of these to be read
 * @interrupted: who sleeps, or is about to, is to return without anything
 */
struct stcp_cq {
	struct fid_cq fid;
	struct stcp_domain *domain;
	atomic_uint refs;
	enum fi_cq_format format;
	pthread_mutex_t eps_lock; /* eps */
	LIST_HEAD(, stcp_cq_seat) eps;
	atomic_uint n_unbidden;
	atomic_bool stalled;
	pthread_mutex_t lock;
	STAILQ_HEAD(, stcp_op) done;
	bool interrupted;
	struct stcp_wait wait;
};

/*
 * struct stcp_event - something for the user, of an event queue
 * @own_link: among those of its endpoint
 */
struct stcp_event {
	TAILQ_ENTRY(stcp_event) link;
	LIST_ENTRY(stcp_event) own_link;
	uint32_t kind; /* 0: an error */
	int err;
	int prov_errno;
	fid_t fid;
	void *context;
	struct fi_info *info;
	size_t data_bytes;
	uint8_t data[];
};

/*
 * struct stcp_eq - an event queue
 * @eps: those whose data its user moves, by reading events or completions
 */
struct stcp_eq {
	struct fid_eq fid;
	struct stcp_fabric *fabric;
	atomic_uint refs;
	pthread_mutex_t eps_lock; /* eps */
	LIST_HEAD(, stcp_ep) eps;
	pthread_mutex_t lock;
	TAILQ_HEAD(stcp_event_list, stcp_event) events;
	unsigned int n_events;
	struct stcp_event *last_error; /* its data are the reader's */
	struct stcp_wait wait;
};

struct stcp_mr {
	struct fid_mr fid;
	struct stcp_domain *domain;
	uint8_t *base;
	size_t len;
	uint64_t access;
};

struct stcp_domain {
	struct fid_domain fid;
	struct stcp_fabric *fabric;
	atomic_uint refs;
	pthread_mutex_t lock; /* eps */
	LIST_HEAD(, stcp_ep) eps;
	pthread_mutex_t mr_lock; /* mrs */
	void *mrs; /* by key: tsearch(3) */
	int (*persist)(void *arg, void *addr, size_t len);
	void *persist_arg;
	void (*ring)(void *context);
	bool manual; /* its user moves the data, by reading a queue */
	bool write_data; /* writes of peers may make completions */
};

/*
 * struct stcp_srx - receives that several endpoints share
 * @eps: those that take them
 * @starving: one of them found none
 */
struct stcp_srx {
	struct fid_ep fid;
	struct stcp_domain *domain;
	atomic_uint refs;
	size_t rx_size;
	uint64_t rx_flags;
	pthread_mutex_t eps_lock; /* eps */
	LIST_HEAD(, stcp_ep) eps;
	pthread_mutex_t lock; /* the rest */
	struct stcp_op_list receives;
	size_t n_rx;
	bool starving;
};

/* A connection request: arriving, then its user's, as an info's handle. */
struct stcp_request {
	struct fid fid;
	struct stcp_source source;
	struct stcp_pep *pep; /* while it is arriving */
	struct stcp_fabric *fabric; /* from then on: it is in its list */
	bool has_endpoint; /* which frees it */
	/* Of the fabric, or of those displaced. */
	LIST_ENTRY(stcp_request) link;
	TAILQ_ENTRY(stcp_request) arriving_link;
	struct sockaddr_storage peer;
	struct tcpw_cm_rx cm;
};

struct stcp_pep {
	struct fid_pep fid;
	struct stcp_fabric *fabric; /* it is in its list */
	LIST_ENTRY(stcp_pep) link;
	struct stcp_eq *eq;
	struct fi_info *info;
	struct stcp_source source;
	/*
	 * The shard's thread alone uses the next four. Of those that arrive the
	 * oldest one is first; those displaced were closed in this batch of events.
	 */
	TAILQ_HEAD(stcp_requests, stcp_request) arriving;
	unsigned int n_arriving;
	LIST_HEAD(, stcp_request) displaced;
	bool starves; /* since a connection was taken last */
	bool listens;
};

/* Why nothing is received for the moment. */
enum stcp_pause {
	STCP_RUNS,
	STCP_NO_RECEIVE, /* a message, and no receive is posted */
	STCP_NO_ROOM, /* too many answers wait to go out */
	STCP_NO_READER, /* too many completions of writes wait to be read */
};

/*
 * struct stcp_ep - an endpoint
 * @lock: all below but what is set once
 * @cm: while it is connecting
 * @end_event: made beforehand, so that its user is sure to hear of the end
 * @watched: its shard tells it of events
 * @muted: its shard did so before
 * @tx_flags, @rx_flags: op_flags of its info
 * @named: its socket is a passive endpoint's, with the name that has
 * @keep_to: the interface by which it is to go; 0: any
 * @by_caller: who reads @eq, @tx_cq or @rx_cq moves its data; its shard hears of
 *	the peer's end alone
 * @answers: ACKs and responses; they and @queue take turns
 * @was_answer: the one before @sending was
 * @sending: the one that is partly out
 * @place, @place_mr: of the write that is arriving: its segments
 * @news: of the write that is arriving: its completion here
 * @written_bytes, @read_bytes, @n_moves: by one-sided operations of the peer; looked at
 *	without the lock
 * @fault: where memory could not be had, which has ended it; NULL: nowhere
 * @stash: bytes that were received with others and cannot be used yet
 * @events: what its source waits for
 * @told: the user has heard of the end
 * @own_events: that are in its event queue, under the lock of that
 */
struct stcp_ep {
	struct fid_ep fid;
	struct stcp_domain *domain;
	LIST_ENTRY(stcp_ep) domain_link;
	struct stcp_eq *eq;
	LIST_ENTRY(stcp_ep) eq_link;
	LIST_HEAD(, stcp_event) own_events;
	struct stcp_cq *tx_cq;
	struct stcp_cq *rx_cq;
	struct stcp_srx *srx;
	LIST_ENTRY(stcp_ep) srx_link;
	struct stcp_cq_seat tx_seat;
	struct stcp_cq_seat rx_seat;
	bool tx_selective;
	bool rx_selective;
	uint64_t tx_flags;
	uint64_t rx_flags;
	size_t tx_size;
	size_t rx_size;
	struct stcp_source source;
	pthread_mutex_t lock;
	enum tcpw_state state;
	bool told;
	struct sockaddr_storage *from; /* where to connect from */
	struct stcp_request *request;
	struct tcpw_cm_rx *cm;
	uint8_t *cm_out; /* a request, until the socket is connected */
	size_t cm_out_bytes;
	struct stcp_event *end_event;
	bool watched;
	bool muted;
	bool by_caller;
	bool named;
	unsigned int keep_to;
	struct stcp_op_list queue;
	struct stcp_op_list answers;
	struct stcp_op *sending;
	bool was_answer;
	size_t tx_turn; /* bytes that go out before others get their turn */
	size_t n_tx; /* posted and not completed */
	size_t n_answers;
	struct stcp_op_list receives;
	size_t n_rx;
	enum tcpw_order order;
	struct tcpw_rx rx;
	struct tcpw_tracker tracker;
	uint8_t *place[TCPW_SEGS_MAX];
	struct stcp_mr *place_mr[TCPW_SEGS_MAX];
	struct stcp_op *news;
	_Atomic uint64_t written_bytes;
	_Atomic uint64_t read_bytes;
	_Atomic uint64_t n_moves;
	void *_Atomic fault;
	enum stcp_pause pause;
	bool resumed; /* and has not looked at its stash since */
	bool peer_gone; /* while paused: it ends soon, whatever waits */
	uint8_t *stash;
	size_t stash_at;
	size_t stash_bytes;
	uint32_t events;
};

/* none.c: what an object does not do */
#define STCP_NOT_DONE(type, name, ...) \
	type name(__VA_ARGS__)         \
	{                              \
		return -FI_ENOSYS;     \
	}
/* The table of an object's base. */
#define STCP_FID_OPS(close_, bind_, control_, ops_open_)          \
	{                                                         \
		.size = sizeof(struct fi_ops), .close = (close_), \
		.bind = (bind_), .control = (control_),           \
		.ops_open = (ops_open_), .tostr = stcp_no_tostr,  \
		.ops_set = stcp_no_ops_set,                       \
	}
/* An object is calloc()'s, and has this base. */
static inline void stcp_fid_init(struct fid *fid, size_t fclass,
				 struct fi_ops *ops, void *context)
{
	fid->fclass = fclass;
	fid->context = context;
	fid->ops = ops;
}

int stcp_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int stcp_no_control(struct fid *fid, int command, void *arg);
int stcp_no_ops_open(struct fid *fid, const char *name, uint64_t flags,
		     void **ops, void *context);
int stcp_no_tostr(const struct fid *fid, char *buf, size_t len);
int stcp_no_ops_set(struct fid *fid, const char *name, uint64_t flags,
		    void *ops, void *context);
int stcp_no_setopt(fid_t fid, int level, int optname, const void *optval,
		   size_t optlen);
int stcp_no_tx_ctx(struct fid_ep *sep, int index, struct fi_tx_attr *attr,
		   struct fid_ep **tx_ep, void *context);
int stcp_no_rx_ctx(struct fid_ep *sep, int index, struct fi_rx_attr *attr,
		   struct fid_ep **rx_ep, void *context);
ssize_t stcp_no_size_left(struct fid_ep *ep);
int stcp_no_setname(fid_t fid, void *addr, size_t addrlen);
int stcp_no_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen);
int stcp_no_connect(struct fid_ep *ep, const void *addr, const void *param,
		    size_t paramlen);
int stcp_no_listen(struct fid_pep *pep);
int stcp_no_accept(struct fid_ep *ep, const void *param, size_t paramlen);
int stcp_no_reject(struct fid_pep *pep, fid_t handle, const void *param,
		   size_t paramlen);
int stcp_no_shutdown(struct fid_ep *ep, uint64_t flags);
int stcp_no_join(struct fid_ep *ep, const void *addr, uint64_t flags,
		 struct fid_mc **mc, void *context);
extern struct fi_ops_tagged stcp_no_tagged_ops;
extern struct fi_ops_ep stcp_no_ep_ops;
extern struct fi_ops_cm stcp_no_cm_ops;
extern struct fi_ops_rma stcp_no_rma_ops;
extern struct fi_ops_atomic stcp_no_atomic_ops;
extern struct fi_ops_collective stcp_no_collective_ops;

/* order.c */
enum tcpw_order stcp_our_order(void);

/* shard.c: the threads */
int stcp_shards_get(void);
void stcp_shards_put(void);
/* Changes in a child of fork(), which has none of the threads. */
unsigned int stcp_generation(void);
/*
 * The fabric and all below it are the parent's. Their locks may be held by
 * threads that are not here, and descriptors are shared: closing them gives
 * the descriptors back and touches nothing else.
 */
bool stcp_is_inherited(const struct stcp_fabric *fabric);
uint64_t stcp_now_ms(void);
/* Binds a source to the next shard; nothing is watched yet. */
void stcp_shard_assign(struct stcp_source *source);
int stcp_shard_watch(struct stcp_source *source, uint32_t events);
void stcp_shard_change(struct stcp_source *source, uint32_t events);
/* From any thread: no new events, no deadline; from its shard's own: no event
 * is under way either, but the one that is being served.
 */
void stcp_shard_mute(struct stcp_source *source);
/* Runs in the shard's thread, between events, and is waited for; neither from
 * a shard nor under a lock.
 */
void stcp_shard_call(struct stcp_shard *shard, void (*function)(void *arg),
		     void *arg);
/* No event about it is under way or comes any more; not from a shard. */
void stcp_shard_forget(struct stcp_source *source);
void stcp_shard_deadline(struct stcp_source *source, uint64_t ms);
#define STCP_STAGE_BYTES 16384
/* Memory of the shard for what its thread receives. */
uint8_t *stcp_shard_stage(struct stcp_source *source);

/* wait.c */
/* with_sockets: these can wake its user, too. */
int stcp_wait_init(struct stcp_wait *wait, enum fi_wait_obj obj,
		   bool with_sockets);
/* EPOLL_CTL_*; nothing when nobody waits. */
int stcp_wait_socket(struct stcp_wait *wait, int op, int fd, uint32_t events);
/* FI_GETWAIT and FI_GETWAITOBJ of its queue. */
int stcp_wait_control(const struct stcp_wait *wait, int command, void *arg);
void stcp_wait_fini(struct stcp_wait *wait);
/* All under the queue's lock. */
void stcp_wait_signal(struct stcp_wait *wait);
void stcp_wait_arm(struct stcp_wait *wait);
/* When a sleep is over that begins now; timeout_ms < 0: never. */
uint64_t stcp_wait_until(int timeout_ms);
/* 0 when readable, -FI_EAGAIN when the time is over. */
int stcp_wait_poll(const struct stcp_wait *wait, uint64_t now_ms,
		   uint64_t until_ms);

/* cq.c */
int stcp_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
		 struct fid_cq **out, void *context);
void stcp_cq_add(struct stcp_cq *cq, struct stcp_op *op);
/* Room for a completion that no receive bounds; false: wait for a reader. */
bool stcp_cq_reserve(struct stcp_cq *cq);
/* Gives room back that no completion takes; wakes those who wait for some. */
void stcp_cq_release(struct stcp_cq *cq);
/* Returns the text of a violation; buf gets as much of it as it can take. */
const char *stcp_copy_text(int prov_errno, char *buf, size_t len);
int stcp_cq_trywait(struct stcp_cq *cq);

/* eq.c */
int stcp_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr,
		 struct fid_eq **out, void *context);
int stcp_eq_trywait(struct stcp_eq *eq);
/* With room for that much data; data may be NULL. */
struct stcp_event *stcp_event_alloc(uint32_t kind, fid_t fid, const void *data,
				    size_t data_bytes);
void stcp_eq_add(struct stcp_eq *eq, struct stcp_event *event);
/* The endpoint of an event queue, from its binding to its end. */
void stcp_eq_bind(struct stcp_ep *ep, struct stcp_eq *eq);
void stcp_eq_unbind(struct stcp_ep *ep);
/* Are there n events, or more, that nobody has read? */
bool stcp_eq_holds(struct stcp_eq *eq, unsigned int n);
/* Takes out all that is about an object which is being closed. */
void stcp_eq_purge(struct stcp_eq *eq, fid_t fid);

/* traffic.c */
int stcp_ep_ops_open(struct fid *fid, const char *name, uint64_t flags,
		     void **ops, void *context);

/* domain.c, mr.c */
int stcp_domain_open(struct fid_fabric *fabric, struct fi_info *info,
		     struct fid_domain **out, void *context);
extern struct fi_ops_mr stcp_mr_ops;
/* Finds what a segment of a peer names; access: FI_REMOTE_READ or _WRITE. */
enum tcpw_violation stcp_mr_find(struct stcp_domain *domain,
				 const struct tcpw_seg *seg, uint64_t access,
				 struct stcp_mr **out, uint8_t **at);
/* Copies as far as the memory is there; how many bytes. Under the endpoint's lock. */
size_t stcp_place(uint8_t *to, const uint8_t *from, size_t n);
/* Memory of these is not there: the end. Under the endpoint's lock. */
void stcp_ep_fault(struct stcp_ep *ep, const struct iovec *iov, size_t n,
		   bool is_written);

/* pep.c */
/* Takes its socket, with the name it has; -1: it has none, or listens. */
int stcp_pep_take_socket(struct stcp_pep *pep);
int stcp_pep_open(struct fid_fabric *fabric, struct fi_info *info,
		  struct fid_pep **out, void *context);
void stcp_request_free(struct stcp_request *request);
/* The request that an info's handle names, or NULL when it is gone. */
struct stcp_request *stcp_request_find(struct stcp_fabric *fabric,
				       fid_t handle);
/* The passive endpoint that it names, or NULL when it is gone. */
struct stcp_pep *stcp_pep_find(struct stcp_fabric *fabric, fid_t handle);

/* grant.c: what infos promise */
#define STCP_DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define STCP_TX_CAPS	 (FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE)
#define STCP_RX_CAPS \
	(FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define STCP_CAPS (STCP_TX_CAPS | STCP_RX_CAPS | STCP_DOMAIN_CAPS)
/* What follows a read may be done before the read's answer is made. */
#define STCP_ORDER                                                       \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAW |     \
	 FI_ORDER_WAS | FI_ORDER_SAW | FI_ORDER_SAS | FI_ORDER_RMA_RAR | \
	 FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAW)
/*
 * Of receives: the value for strict, of whose name libfabric 2.0 warns. Sends
 * do not wait for reads and acknowledgements that were posted before them.
 */
#define STCP_COMP_ORDER 0x1FF
bool stcp_is_granted(uint32_t version, const struct fi_info *hints);
/* FI_SOCKADDR_IN or FI_SOCKADDR_IN6 */
uint32_t stcp_format_of(const void *addr);

/* srx.c */
int stcp_srx_open(struct fid_domain *domain, struct fi_rx_attr *attr,
		  struct fid_ep **out, void *context);
int stcp_srx_bind(struct stcp_ep *ep, struct fid *fid);
void stcp_srx_unbind(struct stcp_ep *ep);
/* Under the endpoint's lock; when there is none, the next one resumes it. */
struct stcp_op *stcp_srx_take(struct stcp_ep *ep);

/* source.c: infos with addresses to connect or listen from */
int stcp_info_add_sources(struct fi_info *info, uint32_t format);

/* info.c */
int stcp_set_addr(void **to, size_t *len, const void *addr, size_t addrlen);
struct fi_info *stcp_info_for_request(const struct stcp_pep *pep,
				      const struct stcp_request *request);

/* socket.c */
void stcp_socket_tune(int fd);
/* bind() with port 0 leaves the choice of a port to connect(). */
void stcp_socket_share_ports(int fd);
int stcp_socket_name(int fd, bool peer, void *addr, size_t *addrlen);
/* It sends and receives by the interface of that number alone. */
int stcp_socket_keep_to(int fd, unsigned int interface);
size_t stcp_sockaddr_len(const void *addr);

/* ep.c */
int stcp_getopt(fid_t fid, int level, int optname, void *optval,
		size_t *optlen);
/* 0, or a negative errno: it is not bound to all that it needs. */
int stcp_ep_lacks(const struct stcp_ep *ep);
int stcp_ep_open(struct fid_domain *fid, struct fi_info *info,
		 struct fid_ep **out, void *context);

/* cm.c: the life of a connection */
extern struct fi_ops_cm stcp_ep_cm_ops;
void stcp_ep_ready(struct stcp_source *source, uint32_t events);
void stcp_ep_late(struct stcp_source *source);
/* The rest under the endpoint's lock. */
void stcp_ep_watch(struct stcp_ep *ep, uint32_t events);
/* By one who reads its queue and finds nothing; not under its lock. */
void stcp_ep_look(struct stcp_ep *ep);
/* Nothing moves any more; what was posted completes with an error. */
void stcp_ep_end(struct stcp_ep *ep, int err, enum tcpw_violation why);

/* tx.c, under the endpoint's lock */
/* Sends what is left of the turn, which who comes to the endpoint has begun. */
void stcp_tx_progress(struct stcp_ep *ep);
void stcp_tx_begin_turn(struct stcp_ep *ep);
void stcp_tx_flush(struct stcp_ep *ep, int err, int prov_errno);
struct stcp_op *stcp_op_alloc(enum stcp_kind kind, size_t copy_bytes);
void stcp_op_complete(struct stcp_ep *ep, struct stcp_op *op);

/* rx.c, under the endpoint's lock */
void stcp_rx_progress(struct stcp_ep *ep, uint8_t *stage);
void stcp_rx_flush(struct stcp_ep *ep, int err, int prov_errno);
ssize_t stcp_ep_cancel(fid_t fid, void *context);
/* What it waited for is there: go on, in the shard's thread. */
void stcp_rx_resume(struct stcp_ep *ep, enum stcp_pause waited_for);

/* target.c: what the headers of a peer are held against */
enum tcpw_violation stcp_target(struct stcp_ep *ep);
enum tcpw_violation stcp_finish(struct stcp_ep *ep);
/* So much payload has been received to its place. */
void stcp_landed(struct stcp_ep *ep, uint64_t bytes);

/* post.c, rma.c */
extern struct fi_ops_msg stcp_msg_ops;
/* Flags of one operation: those that mean something, or change nothing here. */
#define STCP_OP_FLAGS (FI_COMPLETION | FI_MORE | STCP_OP_PRIORITY)
#define STCP_TX_FLAGS                                     \
	(STCP_OP_FLAGS | FI_INJECT | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_TRANSMIT)
#define STCP_RECV_FLAGS (STCP_OP_FLAGS | FI_MSG | FI_RECV)
/*
 * What libfabric's rxm says of its credits: FI_PRIORITY until 2.0, and a bit
 * without a public name since.
 */
#define STCP_OP_PRIORITY (1ULL << 22 | 1ULL << 62)
static inline size_t stcp_iov_bytes(const struct iovec *iov, size_t n_iov)
{
	size_t bytes = 0;

	for (size_t i = 0; i < n_iov; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

/* A receive with flags that it may have, of an object of this process; or -errno. */
int stcp_receive_alloc(const struct stcp_domain *domain,
		       const struct fi_msg *msg, uint64_t flags,
		       struct stcp_op **out);
/* Of endpoints and shared receives: all that they add is an array. */
ssize_t stcp_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc,
		   size_t count, fi_addr_t src_addr, void *context);
ssize_t stcp_recv(struct fid_ep *fid, void *buf, size_t len, void *desc,
		  fi_addr_t src_addr, void *context);
extern struct fi_ops_rma stcp_rma_ops;
ssize_t stcp_post(struct stcp_ep *ep, struct stcp_op *op, struct tcpw_hdr *hdr,
		  const struct iovec *iov, size_t n_iov, uint64_t flags);

#endif
