/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of the loop provider share.
 *
 * Loop connects endpoints of the same kernel and is the reference for what
 * the operations mean.
 *
 * Context: posts only queue. One work item per endpoint, its engine, moves
 *	the data of its sends and RMA, and delivers all its completions, so
 *	that they are one after the other and never on the poster's stack.
 * Locking: loop_cm_lock (mutex) protects listeners, requests and who is whose
 *	request; loop_pep.post_lock is taken before it and keeps a listener
 *	from being closed while a request is posted. loop_ep.post.lock
 *	(irq-safe) protects an endpoint's queues, flags and peer.
 *	domain.mr_lock (rw_semaphore) is read-held while memory of a region is
 *	touched and write-held to remove one: that is the fence. No two endpoint locks are
 *	held at once. The lock of a shared receive context comes before them.
 * Lifetime: each connected endpoint holds a reference on its peer. Closing
 *	one waits for its own engine, takes both pointers away, then waits for
 *	the peer's, so that neither touches the other's operations any more;
 *	who finds no peer when it closes need not wait. An engine is kicked
 *	only under its own lock while not closed, or under the peer's lock
 *	while the peer points to it.
 */
#ifndef KFABRIC_LOOP_H
#define KFABRIC_LOOP_H

#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/workqueue.h>

#include <kfabric/kfi_mr.h>
#include <kfabric/kfi_shared.h>

#define LOOP_NAME	   "loop"
#define LOOP_QUEUE_SIZE	   256 /* operations per endpoint and direction */
#define LOOP_IOV_LIMIT	   256
#define LOOP_MAX_MSG	   (1UL << 30)
#define LOOP_MAX_MR	   (1UL << 40)
#define LOOP_OP_TIMEOUT_MS 10000
#define LOOP_CM_TIMEOUT_MS 10000

extern struct workqueue_struct *loop_wq;
extern struct mutex loop_cm_lock;
extern const struct kfi_ep_ops loop_ep_ops;

struct loop_domain {
	struct fid_domain domain;
	struct rw_semaphore mr_lock;
	struct kfi_mr_table mrs;
};

struct loop_pep {
	struct fid_pep pep;
	struct list_head node; /* listeners */
	struct list_head reqs; /* that can still be answered */
	u16 port;
	struct mutex post_lock; /* protects closed; held to post a request */
	bool closed;
};

struct loop_ep;

/* A connection request; @active is NULL once it was answered in any way. */
struct loop_req {
	struct kfi_connreq req;
	struct loop_ep *active; /* holds a reference */
	struct list_head node; /* loop_pep.reqs while @active */
};

/* What the peer's answer to a connection request was. */
struct loop_answer {
	int err;
	size_t len;
	u8 data[FI_CM_DATA_MAX];
};

struct loop_ep {
	struct kfi_post_ep post;
	struct sockaddr_in6 name; /* either family */
	struct sockaddr_in6 peer_name;

	/* connecting; under loop_cm_lock */
	struct loop_req *req;
	struct loop_answer answer;
	struct work_struct connect_work;
	struct work_struct answer_work;
	struct delayed_work cm_timer;
	size_t param_len;
	u8 param[FI_CM_DATA_MAX];

	/* under post.lock */
	struct loop_ep *peer;
	struct list_head tx; /* posted */
	struct list_head rx; /* posted */
	struct list_head rx_done; /* filled by the peer, to be reported */
	bool closed; /* never kick again */
	bool sender_waits; /* the peer found no receive */
	struct delayed_work engine;

	/* the engine's alone: the first operation waits for a receive */
	bool waits;
	unsigned long deadline; /* jiffies */
};

static inline struct loop_ep *to_loop_ep(struct fid_ep *ep)
{
	return container_of(ep, struct loop_ep, post.ep);
}

static_assert(!offsetof(struct loop_domain, domain)); /* kfi_plain_ops */
static_assert(!offsetof(struct loop_pep, pep)); /* kfi_obj_kfree() */

static inline struct loop_domain *to_loop_domain(struct fid_domain *domain)
{
	return container_of(domain, struct loop_domain, domain);
}

/* mr.c */
int loop_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		    u64 flags, struct fid_mr **mr);

/* pep.c */
int loop_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
		    struct fid_pep **pep, void *context);
struct loop_pep *loop_pep_find(u16 port);
u16 loop_port_of(const void *addr);
void loop_set_port(void *addr, u16 port);
u16 loop_next_port(void);

/* connect.c */
int loop_connect(struct fid_ep *ep, const void *addr, const void *param,
		 size_t paramlen);
int loop_accept(struct fid_ep *ep, const void *param, size_t paramlen);
void loop_connect_init(struct loop_ep *ep);
void loop_connect_stop(struct loop_ep *ep);
/*
 * Answer a request with a positive errno, and let go of its active side; false: it
 * was answered. loop_cm_lock is held.
 */
bool loop_req_refuse(struct loop_req *req, int err, const void *data,
		     size_t len);
extern const struct fi_ops loop_req_ops;

/* endpoint.c */
int loop_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **ep, void *context);

/* post.c */
extern const struct kfi_post_ops loop_post_ops;

/* engine.c */
void loop_engine(struct work_struct *work);
void loop_kick(struct loop_ep *ep);
void loop_break(struct loop_ep *ep);
void loop_drain(struct loop_ep *ep);

#endif /* KFABRIC_LOOP_H */
