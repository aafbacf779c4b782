/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of the rds provider share.
 *
 * An unconnected endpoint (FI_EP_RDM) is one RDS socket, and a message is one
 * datagram of RDS, as any program with such a socket sends and receives it.
 * docs/kfabric.md has what RDS promises, and what becomes of operations.
 *
 * RDS copies what is sent, and does not say when it has arrived. Port 0 of every
 * host is answered by its kernel, with an empty datagram from port 0, after
 * everything that was sent to that host before: see host.c.
 *
 * Context: posts and the socket's wait queue only queue, and kick the endpoint's
 *	engine, which does all calls into RDS and all completions: a work, or who
 *	submits in process context, or whoever runs the engine of the endpoint of
 *	this host that a message is from (wake.c). Memory is allocated as in the
 *	path of reclaim.
 * Locking: kfi_post_ep.lock (irq-safe) protects the lists that posts fill;
 *	fid_av.lock is taken under it, and it is taken under RDS's locks, by
 *	those who wake. All else is the engine's alone. RDS is not called with it.
 * Lifetime: the engine is kicked only under post.lock while the endpoint is not
 *	closed, and closing waits until it does not run. The socket is the
 *	endpoint's until then; the fabric holds the socket's network namespace.
 */
#ifndef KFABRIC_RDS_H
#define KFABRIC_RDS_H

#include <linux/hashtable.h>
#include <linux/sizes.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <kfabric/kfi_av.h>
#include <kfabric/kfi_cancel.h>
#include <kfabric/kfi_socket.h>

#define KRDS_NAME	"rds"
#define KRDS_QUEUE_SIZE 256 /* operations per endpoint and direction */
#define KRDS_IOV_LIMIT	64
#define KRDS_MAX_MSG	SZ_1M /* RDS's own limit */

/* Of a socket. */
#define KRDS_SEND_BYTES	 SZ_4M /* that nobody has acknowledged */
#define KRDS_RECV_BYTES	 SZ_64K /* not received; more make its port congested */
#define KRDS_STASH_BYTES SZ_64K /* received, without a receive for them */

#define KRDS_HASH_BITS	   6
#define KRDS_BATCH	   256 /* datagrams of one run of the engine */
#define KRDS_RUNS	   8 /* of it, before others have their turn */
#define KRDS_OTHERS	   32 /* engines that who runs one runs besides */
#define KRDS_TICK_MS	   50 /* looks at deadlines while something waits */
#define KRDS_ASK_AGAIN_MS  2000
#define KRDS_OP_TIMEOUT_MS 10000

extern struct workqueue_struct *krds_wq;

/* An operation: the private part of operation memory, or in a slot of inject. */
struct krds_op {
	struct kfi_op base; /* its node: the list that it waits on */
	struct kfi_send send; /* of sends: krds_ep.sends */
	struct sockaddr_in6 to; /* both families have the port at its place */
	unsigned long deadline; /* jiffies */
	u64 question; /* of the host: whose answer says that it has arrived */
	bool canceled; /* of a receive while the socket was asked; post.lock */
	int why; /* positive: why RDS did not take it; 0: it was not asked */
};

/* A host that something was sent to. */
struct krds_host {
	struct hlist_node hash; /* krds_ep.hosts */
	struct list_head busy; /* krds_ep.busy: something waits */
	struct sockaddr_in6 name; /* with port 0 */
	struct list_head sends; /* RDS has not taken them */
	struct list_head handed; /* RDS has; in the order of questions */
	u64 questions; /* asked */
	u64 answers; /* that came; no more than questions */
	bool local; /* this host: what RDS takes has arrived */
	bool up; /* it has answered, and has not been given up since */
	bool asked; /* an answer is under way */
	unsigned long asked_at; /* jiffies */
	unsigned long heard_at; /* jiffies: the last answer */
	unsigned long looked_at; /* jiffies: whose host it is */
};

/* A message that came before a receive was posted for it. */
struct krds_stash {
	struct list_head node;
	struct sockaddr_in6 from;
	size_t len;
	u8 bytes[];
};

struct krds_ep {
	struct kfi_socket_ep base;

	/* under post.lock */
	struct list_head posted; /* sends that the engine has not seen */
	struct list_head sends; /* all of them */
	struct list_head receives;
	struct list_head canceled; /* receives */
	struct list_head filling; /* the receive that the socket is asked for */
	bool cancel; /* there are sends to be ended */
	bool running; /* the engine */
	bool again; /* it is to run once more */
	bool handed_off; /* somebody's woken list has it, and will run it */
	unsigned long wakes; /* by RDS: once or more for each datagram; read
				without lock */

	/* the engine's; while it does not run, read under post.lock */
	unsigned long seen; /* wakes whose datagrams are received: nothing is in
			       the socket when it is the number of all */
	unsigned long looked; /* wakes before the last look into the socket */
	struct list_head woken; /* krds_runner.woken */
	struct list_head busy;
	struct list_head stash;
	size_t stash_bytes;
	struct krds_host *last_host; /* that was looked for, or NULL */
	fi_addr_t last_from; /* number of the last sender */
	bool full; /* the socket takes nothing more, for anybody */
	bool clogged; /* a message has no receive, and answers are behind it */
	unsigned long next_tick; /* jiffies */
	DECLARE_HASHTABLE(hosts, KRDS_HASH_BITS);
};

/* Who runs an engine, and what was handed off to it: see wake.c. */
struct krds_runner {
	struct hlist_node hash; /* krds_bucket.runners */
	struct task_struct *task;
	struct list_head woken; /* krds_ep.woken */
};

/*
 * Is there a use for what the socket has, or may take again? Who posts says so itself.
 * By the engine, or under post.lock while it does not run.
 */
static inline bool krds_is_wanted(const struct krds_ep *ep)
{
	return !list_empty(&ep->busy) || !list_empty(&ep->receives);
}

/* Has RDS told anything since the engine looked? As krds_is_wanted(). */
static inline bool krds_has_news(const struct krds_ep *ep)
{
	return ep->wakes != ep->looked && krds_is_wanted(ep);
}

static inline struct krds_ep *to_krds_ep(struct kfi_post_ep *post)
{
	return container_of(post, struct krds_ep, base.post);
}

static inline struct krds_op *to_krds_op(struct kfi_op *op)
{
	return container_of(op, struct krds_op, base);
}

/* socket.c */
int krds_socket_open(struct net *net, struct socket **sock);
ssize_t krds_socket_receive(struct krds_ep *ep, const struct fi_buf *buf,
			    int flags, struct sockaddr_in6 *from);
void krds_socket_forget(struct krds_ep *ep, const struct sockaddr_in6 *to);
bool krds_is_local(struct net *net, const struct sockaddr_in6 *name);

/* endpoint.c */
int krds_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **ep, void *context);

/* engine.c */
void krds_engine(struct work_struct *work);
bool krds_own(struct krds_ep *ep);
void krds_run(struct krds_ep *ep);
void krds_kick(struct kfi_post_ep *post);
void krds_end_all(struct kfi_socket_ep *base);
void krds_finish(struct krds_ep *ep, struct krds_op *op, int err,
		 int prov_errno);

/* host.c */
struct krds_host *krds_host_get(struct krds_ep *ep,
				const struct sockaddr_in6 *to);
void krds_host_busy(struct krds_ep *ep, struct krds_host *host);
void krds_host_idle(struct krds_ep *ep, struct krds_host *host);
void krds_ask(struct krds_ep *ep, struct krds_host *host);
void krds_answered(struct krds_ep *ep, const struct sockaddr_in6 *from);
void krds_host_check(struct krds_ep *ep, struct krds_host *host);

/* wake.c */
void krds_runners_init(void);
void krds_runner_begin(struct krds_runner *r);
void krds_runner_end(struct krds_runner *r);
int krds_woken(wait_queue_entry_t *wait, unsigned int mode, int sync,
	       void *key);
struct krds_ep *krds_handoff_next(struct krds_runner *r);
void krds_handoff_done(struct krds_ep *ep);

/* send.c */
void krds_send_all(struct krds_ep *ep);

/* receive.c */
bool krds_receive_all(struct krds_ep *ep);
void krds_drop_stash(struct krds_ep *ep);

#endif /* KFABRIC_RDS_H */
