/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of the tcp provider share.
 *
 * A connected endpoint is one TCP socket that speaks libfabric's tcp wire
 * format (tcpwire/). Three parties work on it:
 *
 *   posts    queue operations (core) and wake the sender;
 *   sender   send_work, or who submits in process context: headers, payload,
 *            answers, in order, until the socket is full;
 *   receiver the socket's data_ready, or receive_work when the socket is
 *            taken: parses, places bytes, and delivers all completions.
 *
 * Every send and write asks the peer for an acknowledgement, so that its
 * completion says that the bytes are placed. The socket gets copies: see send.c.
 *
 * Context: see each file; nothing allocates once an endpoint is connected but
 *	the socket, which may use the reserves for reclaim.
 * Locking: the socket's own lock (lock_sock(), or its spinlock in softirq)
 *	protects struct ktcp_receiver and puts completions one after the other.
 *	ktcp_ep.post.lock (irq-safe) comes after it and protects the queues, the
 *	answers that are due, and the flags. ktcp_ep.send_lock (mutex), which
 *	comes before both, protects struct ktcp_sender. That of a shared receive
 *	context comes between the two. ktcp_domain.mr_lock
 *	(rwlock, softirq-safe) is read-held while a peer's access touches
 *	memory, after a lookup for each piece, and write-held to remove a
 *	region: that is the fence. ktcp_cm_lock (mutex) protects who answers a
 *	connection request.
 * Lifetime: the socket is the endpoint's until the endpoint is released; its
 *	callbacks point to the endpoint from ktcp_start() to ktcp_stop().
 */
#ifndef KFABRIC_TCP_H
#define KFABRIC_TCP_H

#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include <kfabric/kfi_mr.h>
#include <kfabric/kfi_shared.h>

#include "../tcpwire/tcpw_cm.h"
#include "../tcpwire/tcpw_rx.h"

#define KTCP_NAME	   "tcp"
#define KTCP_WIRE_VERSION  3
#define KTCP_QUEUE_SIZE	   512 /* operations per endpoint and direction */
#define KTCP_IOV_LIMIT	   512
#define KTCP_MAX_MSG	   (1UL << 30)
#define KTCP_MAX_MR	   (1UL << 40)
#define KTCP_OP_TIMEOUT_MS 10000
#define KTCP_CM_TIMEOUT_MS 10000
/* An operation of a slow link may take so many times as long, ... */
#define KTCP_SLOW_FACTOR 64
/*
 * ... while so many bytes move within each of these times; so many are to come of a
 * message that has a shared receive.
 */
#define KTCP_MOVED_MIN_BYTES 4096
#define KTCP_ANSWERS	     64 /* answers due to a peer before it must wait */
#define KTCP_BOUNCE_SIZE     16384 /* of a read's answer at a time */
#define KTCP_HANDSHAKES_MAX  128 /* that a listener waits for at a time */

extern struct workqueue_struct *ktcp_wq; /* data; must not wait for peers */
extern struct workqueue_struct *ktcp_cm_wq; /* connecting; may wait */
/*
 * Listeners'; may wait for strangers, so it has no rescuer: that would take all
 * that is due and wait for one of them after the other.
 */
extern struct workqueue_struct *ktcp_listen_wq;
extern struct mutex ktcp_cm_lock;

struct ktcp_domain {
	struct fid_domain domain;
	rwlock_t mr_lock;
	wait_queue_head_t commits; /* one has ended */
	struct kfi_mr_table mrs;
};

struct ktcp_mr {
	struct kfi_table_mr t; /* first */
	atomic_t committing; /* calls of attr.commit() under way */
};
static_assert(!offsetof(struct ktcp_mr, t));

struct ktcp_pep {
	struct fid_pep pep;
	struct socket *sock; /* listens */
	struct work_struct accept_work;
	void (*data_ready)(struct sock *sk); /* of an ordinary socket */
	wait_queue_head_t idle; /* no handshake is left */

	/* under ktcp_cm_lock */
	struct list_head handshakes; /* that are waited for */
	unsigned int nr_waiting; /* of them */
	unsigned int nr_handshakes; /* with those that are ending */
	struct list_head reqs; /* that can still be answered */
	bool closed;
};

/* A connection request; @sock is NULL once it was answered in any way. */
struct ktcp_req {
	struct kfi_connreq req;
	struct socket *sock;
	struct list_head node; /* ktcp_pep.reqs while @sock */
	enum tcpw_order order; /* of the pair */
};

/* The private part of operation memory. */
struct ktcp_op {
	struct kfi_op op; /* first: the core's */
	struct tcpw_due due; /* the peer's answer */
	unsigned long deadline; /* jiffies */
	u32 end; /* the stream's sequence number behind it, when the socket has it */
	bool handed; /* the socket has all of it */
	bool answered; /* so has the peer, it says */
};

enum ktcp_answer_kind {
	KTCP_ANSWER_ACK,
	KTCP_ANSWER_READ, /* bytes of regions */
};

struct ktcp_answer {
	enum ktcp_answer_kind kind;
	u32 count;
	u64 len;
	struct tcpw_seg segs[TCPW_SEGS_MAX];
};

/* What is being sent. */
struct ktcp_sender {
	bool busy;
	bool was_answer; /* what was sent last */
	u8 head[TCPW_HDR_MAX];
	u32 head_len;
	u32 head_done;
	u64 left; /* payload that the socket has not taken */
	struct ktcp_op *op; /* NULL: @answer */
	struct kfi_buf_iter it; /* of op's buffer */
	struct ktcp_answer answer;
	u32 seg; /* of answer: where it is */
	u64 offset;
	u8 *bounce; /* bytes of regions on their way */
	u32 bounce_len;
	u32 bounce_done;
};

/* What is being received. */
struct ktcp_receiver {
	struct tcpw_rx rx;
	struct kfi_op *op; /* a receive or read that is being filled */
	struct kfi_buf_iter it; /* of its buffer */
	bool waits; /* for a receive, or for room for an answer */
	bool commits; /* a write is placed and must be made persistent */
	bool dead; /* nothing is taken any more */
};

struct ktcp_ep {
	struct kfi_post_ep post;
	struct socket *sock; /* from connect or accept on */
	struct sockaddr_in6 local; /* either family; where to connect from */
	struct sockaddr_in6 remote;
	u32 ifindex; /* of the only interface to go by; 0: any */

	/* connecting */
	struct ktcp_req *req; /* under ktcp_cm_lock */
	struct work_struct connect_work;
	struct work_struct accepted_work;
	size_t param_len;
	u8 param[FI_CM_DATA_MAX];
	struct tcpw_cm_rx cm; /* connect_work's: the answer */

	/* under post.lock */
	struct list_head tx; /* posted, not begun */
	struct list_head sent; /* begun, not completed, in order */
	struct list_head rx; /* receives, the first may be in use */
	struct ktcp_answer answers[KTCP_ANSWERS]; /* a ring */
	u32 answers_head;
	u32 answers_count;
	bool stopped; /* no work is to be queued any more */
	bool watched; /* watch_work is pending */
	u64 watched_bytes; /* that the socket had moved when it last looked */
	unsigned long moved_at; /* jiffies: when they were more than before */
	u64 fed_bytes; /* that the socket had received at fed_at */
	unsigned long fed_at; /* jiffies: when a shared receive last got enough */
	struct tcpw_tracker tracker; /* what the peer owes */
	int why; /* error of the oldest operation; 0: ECANCELED */

	struct mutex send_lock;
	struct ktcp_sender s; /* under send_lock */
	struct ktcp_receiver r;
	enum tcpw_order order; /* not changed once started */
	bool in_work; /* completions must not come in softirq */
	struct work_struct send_work;
	struct work_struct receive_work;
	struct work_struct break_work;
	struct delayed_work watch_work;

	/* the socket's own callbacks */
	void (*data_ready)(struct sock *sk);
	void (*write_space)(struct sock *sk);
	void (*state_change)(struct sock *sk);
};

static inline struct ktcp_ep *to_ktcp_ep(struct fid_ep *ep)
{
	return container_of(ep, struct ktcp_ep, post.ep);
}

static inline struct ktcp_op *to_ktcp_op(struct kfi_op *op)
{
	return container_of(op, struct ktcp_op, op);
}

static_assert(!offsetof(struct ktcp_domain, domain)); /* kfi_plain_ops */

static inline struct ktcp_domain *to_ktcp_domain(struct fid_domain *domain)
{
	return container_of(domain, struct ktcp_domain, domain);
}

/* mr.c */
int ktcp_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		    u64 flags, struct fid_mr **mr);

/* What the socket has moved: sent and acknowledged, and received. */
u64 ktcp_moved_bytes(const struct ktcp_ep *ep);

/* socket.c */
int ktcp_socket_open(struct net *net, int family, struct socket **sock);
/* -EAGAIN: nobody is there. */
int ktcp_socket_accept(struct socket *listener, struct socket **sock);
void ktcp_socket_tune(struct socket *sock, u32 timeout_ms);
int ktcp_socket_send(struct socket *sock, const void *buf, size_t len,
		     unsigned long deadline);
int ktcp_socket_receive(struct socket *sock, void *buf, size_t len,
			unsigned long deadline);

/* handshake.c */
extern const enum tcpw_order ktcp_our_order;
int ktcp_cm_send(struct socket *sock, enum tcpw_cm_type type, const void *data,
		 size_t len, u32 timeout_ms);
int ktcp_cm_receive(struct socket *sock, struct tcpw_cm_rx *cm, bool active,
		    u32 timeout_ms);
void ktcp_cm_reject(struct socket *sock, const void *data, size_t len);

/* pep.c */
int ktcp_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
		    struct fid_pep **pep, void *context);
struct socket *ktcp_req_take(struct ktcp_req *req);
extern const struct fi_ops ktcp_req_ops;

/* connect.c */
int ktcp_connect(struct fid_ep *ep, const void *addr, const void *param,
		 size_t paramlen);
int ktcp_accept(struct fid_ep *ep, const void *param, size_t paramlen);
void ktcp_connect_init(struct ktcp_ep *ep);
void ktcp_connect_stop(struct ktcp_ep *ep);

/* path.c */
int ktcp_ep_path(struct fid_ep *ep, struct fi_path *path);
int ktcp_ep_set_path(struct fid_ep *ep, const struct fi_path *path);
/* Bind the socket, which is not connected yet, to the endpoint's interface. */
int ktcp_path_keep(struct ktcp_ep *ep);

/* endpoint.c */
int ktcp_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **ep, void *context);

/* post.c */
extern const struct kfi_post_ops ktcp_post_ops;

/* send.c */
void ktcp_send_work(struct work_struct *work);
void ktcp_send_kick(struct ktcp_ep *ep);
bool ktcp_send_inline(struct ktcp_ep *ep);

/* receive.c */
void ktcp_receive_work(struct work_struct *work);
void ktcp_receive_kick(struct ktcp_ep *ep);
void ktcp_report_violation(struct ktcp_ep *ep, enum tcpw_violation why);
void ktcp_data_ready(struct sock *sk);

/* place.c */
enum tcpw_violation ktcp_check_segs(struct ktcp_ep *ep,
				    const struct tcpw_hdr *hdr, u64 access);
int ktcp_place(struct ktcp_ep *ep, struct sk_buff *skb, int offset, u32 len,
	       const struct tcpw_want *want);
int ktcp_fetch(struct ktcp_ep *ep, const struct tcpw_seg *seg, u64 offset,
	       u8 *to, u32 len);
int ktcp_commit(struct ktcp_ep *ep, const struct tcpw_hdr *hdr);

/* finish.c */
void ktcp_start(struct ktcp_ep *ep);
void ktcp_stop(struct ktcp_ep *ep);
void ktcp_complete_ready(struct ktcp_ep *ep);
void ktcp_break(struct ktcp_ep *ep, int why);
void ktcp_break_locked(struct ktcp_ep *ep, int why);
void ktcp_break_work(struct work_struct *work);
void ktcp_watch_work(struct work_struct *work);
void ktcp_watch_locked(struct ktcp_ep *ep);
void ktcp_watch_shared_locked(struct ktcp_ep *ep);

#endif /* KFABRIC_TCP_H */
