/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of the rdm provider share.
 *
 * A layer: unconnected endpoints (FI_EP_RDM) of "rdm;X" over the connected ones
 * of provider X. docs/kfabric-rdm.md has the wire, the states, and what becomes of
 * operations when connections end.
 *
 * Context: posts, the inner provider's upcalls and event handler queue. What is to
 *	be done then is the engine's, which has one owner at a time: mostly the
 *	upcall or the post itself, which does what needs neither sleep nor memory
 *	(messages between peers that are connected; a post completes nothing);
 *	else a work: events, connections, and what the others leave to it. Who
 *	opens, enables or closes a context waits until it is the owner.
 * Locking: kfir_ctx.post.lock (irq-safe) protects the lists that posts fill;
 *	kfir_ep.lock, of those that upcalls fill, which contexts have something
 *	new, and who is the engine; it and fid_av.lock are taken under post.lock.
 *	All else is the owner's alone. No call into the inner provider is made with
 *	a spinlock.
 * Lifetime: a connection is closed before its memory goes, and an endpoint closes
 *	all of them: fi_close() of an inner endpoint has drained its upcalls. The
 *	engine is kicked only under kfir_ep.lock while the endpoint is not closed.
 * Recovery: a connection that fails is closed; its operations that were handed
 *	over end with an error, the others wait for the next one.
 */
#ifndef KFABRIC_RDM_H
#define KFABRIC_RDM_H

#include <linux/bvec.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <kfabric/kfi_av.h>
#include <kfabric/kfi_cancel.h>
#include <kfabric/kfi_layer.h>
#include <kfabric/kfi_mr.h>
#include <kfabric/kfi_post.h>
#include <kfabric/kfi_scalable.h>

#include "../rdmwire/rdmw_atomic.h"
#include "../rdmwire/rdmw_cm.h"
#include "../rdmwire/rdmw_flow.h"
#include "../rdmwire/rdmw_grant.h"
#include "../rdmwire/rdmw_match.h"
#include "../rdmwire/rdmw_multi.h"
#include "../rdmwire/rdmw_rma.h"

#define KFIR_NAME	"rdm"
#define KFIR_QUEUE_SIZE 256 /* operations per endpoint and direction */
#define KFIR_IOV_LIMIT	256
#define KFIR_MULTI_MIN	64 /* FI_OPT_MIN_MULTI_RECV, if nobody sets it */

/* Of a connection. */
#define KFIR_WINDOW	 8 /* pieces that wait for receives */
#define KFIR_RX_SLOTS	 (KFIR_WINDOW + RDMW_CONTROL_BUFFERS)
#define KFIR_MORE_SLOTS	 (RDMW_WINDOW_GROWN - KFIR_WINDOW) /* of a grown one */
#define KFIR_TX_SLOTS	 8
#define KFIR_DATA_BYTES	 4096 /* of a message, write or read in a piece */
#define KFIR_PIECE_BYTES (KFIR_DATA_BYTES + RDMW_HEADER_BYTES + RDMW_HEAD_MAX)
#define KFIR_GATHER	 4 /* pieces of memory that a piece is sent from */
#define KFIR_COPY_BYTES	 256 /* as few are sent from a buffer of their own */

#define KFIR_HINTS 8 /* of regions that the peer uses */

#define KFIR_KEPT_BYTES (256 * 1024) /* of messages that were kept */

/* Of an endpoint. */
#define KFIR_EP_KEPT_BYTES  (16 * 1024 * 1024)
#define KFIR_EP_GROWN_BYTES (16 * 1024 * 1024) /* of windows that have grown */
#define KFIR_CONNS_MAX	    4096
#define KFIR_PEER_CONNS_MAX 4
#define KFIR_HASH_SIZE	    256

#define KFIR_TICK_MS	   50 /* looks at deadlines while something waits */
#define KFIR_IDLE_TICK_MS  1000 /* and when nothing does */
#define KFIR_RETRY_MIN_MS  50
#define KFIR_RETRY_MAX_MS  1000
#define KFIR_OP_TIMEOUT_MS 10000
#define KFIR_CM_TIMEOUT_MS 10000
#define KFIR_SETTLE_MS	   1000 /* for what is under way when something closes */

extern struct kfi_provider kfir_prov;
extern struct workqueue_struct *kfir_wq;
extern unsigned int kfir_idle_ms;

struct kfir_domain {
	struct fid_domain domain;
	struct fid_domain *inner;
	struct fi_info *info; /* the inner provider's */
	/* Protects mrs, the memory of regions, and their grants; softirq-safe. */
	rwlock_t mr_lock;
	struct kfi_mr_table mrs;
	unsigned int nr_mrs;
	wait_queue_head_t grants_gone;
};

struct kfir_mr {
	struct kfi_table_mr t;
	struct list_head grants; /* kfir_grant; under mr_lock */
	bool plain; /* the device below cannot have it */
};

struct kfir_conn;
struct kfir_ctx;

/* An operation: the private part of operation memory, or in a slot of inject. */
struct kfir_op {
	struct kfi_op base; /* its node: the list that it waits on */
	struct kfir_ctx *ctx; /* where it was posted */
	struct kfi_send send; /* of sends: kfir_ctx.sends */
	struct sockaddr_in6 name; /* of whom it is to or from */
	u8 to_ctx; /* of a send: the receive context there */
	struct rdmw_want want; /* of receives: kfir_ctx.receives */
	struct rdmw_multi multi; /* of receives of several; under post.lock */
	unsigned long deadline; /* jiffies */
	struct kfir_conn *conn; /* that pieces were handed over to */
	size_t moved; /* bytes handed over, a request's head included */
	u64 status; /* of the answer: enum rdmw_status */
	size_t answered_bytes;
	bool is_answered;
	unsigned int pieces; /* handed over */
	bool anew; /* none, after some that were; it cannot be canceled */
	unsigned int flying; /* of these, not done */
	bool canceled; /* of a receive: to be ended; under post.lock */
	bool whole; /* all pieces are handed over */
	bool native; /* its pieces are operations of the device below */
};

/* A message on its way into a receive. */
struct kfir_rx {
	struct kfir_op *op; /* NULL: it has none */
	bool drop; /* and gets none: its context is closed */
	struct kfi_comp *comp; /* its completion's, or the operation's */
	u64 at; /* its place in the buffer */
	u64 total; /* bytes of it */
	size_t moved; /* of these, in the buffer */
	size_t written; /* or by a write, elsewhere */
};

/* A buffer of a connection, and the inner operation that has it. */
struct kfir_slot {
	struct list_head node; /* of its connection, or kfir_ep.done */
	struct kfir_conn *conn;
	struct kfir_op *op; /* whose piece it has; NULL: none's */
	struct rdmw_piece piece; /* that came */
	u64 shown; /* first piece: receives from here on have not seen it */
	u8 *bytes;
	size_t len; /* that came */
	u64 data; /* that came with it */
	int err; /* positive */
	bool bare; /* it has no header, but data */
	bool lent; /* it is sent from memory of its operation */
	bool answer; /* it has a piece of one that is sent */
	struct rdmw_grant *grant; /* that it uses; NULL: it is no native one */
	bool rx;
	struct bio_vec vec[KFIR_GATHER]; /* of a piece that is sent */
	struct fi_context inner; /* last: the inner provider's bytes follow */
};

/* In the flags of a piece that came, never on the wire: a write's, of tag bytes. */
#define KFIR_WRITTEN BIT(15)

/* What the peer asks for. */
struct kfir_request {
	union {
		struct rdmw_head head;
		u8 result[RDMW_ELEMENTS_MAX]; /* of an atomic one, as on the wire */
	};
	u64 len; /* of its ranges, or of the result */
	u64 moved; /* bytes: placed, then of the answer */
	u64 word; /* for the completion of a receive */
	u8 ctx; /* that has the receive */
	bool has_word;
	enum rdmw_kind kind;
	enum rdmw_status status;
};

/* A message out of the buffers of its connection. */
struct kfir_kept {
	struct list_head node; /* kfir_conn.kept */
	struct rdmw_piece first; /* its first piece */
	u64 shown; /* as in a slot */
	size_t got; /* bytes of it that have come */
	u8 bytes[];
};

/* How often a peer asks for regions whose keys meet here. */
struct kfir_hint {
	u64 key;
	unsigned int asked; /* for it, since another one was */
	unsigned int due; /* asked so often: grant it; 0: as often as at first */
};

enum kfir_state {
	KFIR_DIALING, /* our hello is under way */
	KFIR_ACCEPTING, /* accepted, not connected yet */
	KFIR_UP,
	KFIR_DOWN, /* closed; its whole messages are still received */
};

struct kfir_conn {
	struct list_head node; /* kfir_ep.conns */
	struct list_head of_peer; /* kfir_peer.conns, oldest first */
	struct list_head touched; /* kfir_ep.touched: look at it */
	struct list_head waiting; /* kfir_ep.waiting: pieces to receive */
	struct list_head unseen; /* kfir_ep.unseen: some are new, or to be kept */
	struct kfir_ep *ep;
	struct kfir_peer *peer;
	struct fid_ep *inner;
	enum kfir_state state;
	bool broken; /* to be ended */
	bool violated; /* the peer broke a rule: what it says does not count */
	bool leaving; /* no message begins on it any more */
	bool crossed; /* was refused, as the peer's own one is to live */
	bool shut; /* by an event, which does not say why */
	int why; /* positive: the inner provider's error */
	struct rdmw_offer offer; /* ours */
	struct rdmw_flow flow;
	unsigned long used; /* jiffies: last sign of life */
	unsigned long fed; /* jiffies: last data that a receive got */
	unsigned long moved; /* jiffies: last of ours that went; 0: none */
	struct list_head early; /* slots: came before the welcome */
	struct list_head
		arrived; /* slots: pieces, all messages but the last whole */
	struct list_head kept; /* messages that came before what has arrived */
	struct kfir_kept *filling; /* of these, the one whose rest is to come */
	size_t kept_bytes;
	struct list_head unposted; /* slots to receive, not taken yet */
	struct list_head free; /* slots to send */
	struct list_head flying; /* sends and requests, all handed over */
	struct kfir_op *asked[RDMW_ASKED_MAX]; /* NULL: nobody waits any more */
	unsigned int first_asked; /* the next to be answered */
	unsigned int nr_asked; /* requests of ours, whole, and without answer */
	struct kfir_request requests[RDMW_ASKED_MAX]; /* the peer's */
	unsigned int first_request; /* to be answered next */
	unsigned int nr_requests; /* whole, and without answer */
	bool answering; /* in the middle of an answer */
	struct rdmw_grants held; /* by us, of the peer's memory */
	unsigned int nr_held; /* that are not revoked */
	unsigned int nr_native; /* operations that use them */
	struct list_head granted; /* kfir_grant; to the peer */
	unsigned int nr_granted;
	bool grants_due; /* something is to be said of them */
	bool wants_grant; /* the peer, of the region of wanted_key */
	u64 wanted_key;
	struct kfir_hint hints[KFIR_HINTS]; /* by hash of key */
	unsigned int nr_answers; /* pieces of them that are under way */
	unsigned int nr_free;
	struct kfir_rx rx; /* the message whose rest is to come */
	unsigned int nr_credits; /* messages of them, since steady_at */
	unsigned long steady_at; /* jiffies */
	unsigned int nr_steady; /* times of many, since growing was tried */
	unsigned int grow_due; /* so many until it is; 0: the next one */
	bool wants_room; /* more slots to receive are to be had by the work */
	void *more; /* those slots, or NULL; kfir_slot_of() */
	u16 nr_more; /* of these, those that were posted */
	void *slots; /* kfir_slot_at() */
	size_t stride;
	u8 *bytes; /* of the slots to send */
};

struct kfir_peer {
	struct hlist_node hash; /* kfir_ep.peers */
	struct list_head busy; /* kfir_ep.busy or .stalled: something waits */
	struct sockaddr_in6 name;
	struct list_head sends; /* not all handed over */
	struct list_head conns;
	unsigned int nr_conns;
	struct kfir_conn *conn; /* for sends, or NULL */
	struct rdmw_peer wire;
	unsigned long retry_at; /* jiffies */
	unsigned int retry_ms;
	int why; /* positive: the last connection's end */
	fi_addr_t number; /* as the address vector had it last */
};

/* Who does what is the engine's. */
enum kfir_owner {
	KFIR_NOBODY,
	KFIR_WORK, /* kfir_ep.engine, and who opens or closes: may sleep */
	KFIR_UPCALL, /* of the inner provider: no sleep, no memory */
	KFIR_POST, /* the same, and no completion */
};

/*
 * What is posted, and what becomes of it: sends, receives, or both. One of those of
 * a scalable endpoint, or an endpoint's only one.
 */
struct kfir_ctx {
	struct kfi_post_ep post;
	struct kfir_ep *ep;
	struct list_head node; /* kfir_ep.ctxs */
	u64 dirs; /* FI_TRANSMIT, FI_RECV */
	bool enabled; /* read without lock */
	struct list_head fresh; /* kfir_ep.fresh: it has new sends */

	/* under post.lock */
	struct list_head posted; /* sends that no owner has seen */
	struct list_head sends; /* all that are not over: kfir_op.send */
	struct rdmw_wants receives; /* that no message has */
	struct list_head canceled; /* receives */
	bool came_back; /* a receive that messages were shown */
	bool cancel; /* some send is canceled */

	/* the owner's alone */
	u64 before; /* receives from here on no message has been shown */
	bool afresh; /* messages are shown all receives, in this walk */
	bool dry; /* a message found no completion free, since a walk afresh */
	bool holds; /* nothing more of its sends is handed over */
	bool ending; /* what waits for it is dropped */
};

struct kfir_ep {
	struct kfir_ctx own; /* a scalable one's is not used for posts */
	u8 last_ctx; /* number of the last receive context */
	struct fid_pep *pep;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct delayed_work engine;
	u64 instance;
	bool directed; /* FI_DIRECTED_RECV */
	bool in_work; /* completions are wanted in a workqueue; the owner sets it */
	bool listening; /* read without lock: then the name is there */
	struct sockaddr_in6 name;

	spinlock_t lock; /* irq-safe; protects what follows */
	struct list_head done; /* slots */
	struct list_head fresh; /* contexts; before posted is spliced */
	struct list_head grant_news; /* kfir_grant */
	bool closed; /* never kick again */
	enum kfir_owner owner;
	unsigned int claims; /* of those who wait to be it: they go first */
	bool passed_by; /* the work found another owner, and is the next */
	bool came_room; /* the inner provider takes more again */
	bool came_receive; /* posted while messages waited for one */
	unsigned long run_at; /* jiffies: when the work runs, or earlier */

	/* the owner's alone */
	struct list_head ctxs;
	struct kfir_ctx *rx[KFI_CTX_MAX]; /* that are open, by number */
	bool left; /* to the work: something that only it can do */
	unsigned int takes, looks; /* that a post or an upcall may do yet */
	struct kfir_peer *posted_to; /* by the post that is its owner */
	bool hungry; /* messages wait for receives; posts read it */
	struct hlist_head peers[KFIR_HASH_SIZE];
	struct kfir_peer *last_peer; /* that was looked for, or NULL */
	struct list_head conns;
	struct list_head busy; /* peers to be looked at */
	struct list_head stalled; /* peers with sends that wait for something */
	struct list_head touched;
	struct list_head waiting;
	struct list_head unseen; /* of these: to be looked at by all means */
	unsigned int nr_waiting;
	unsigned int nr_conns;
	size_t kept_bytes;
	size_t grown_bytes; /* of kfir_conn.more */
	u64 serial; /* of the next hello */
	unsigned long next_tick; /* jiffies */
	int ending; /* positive: what all operations end with */
	u64 event_buf[(sizeof(struct fi_eq_cm_entry) + FI_CM_DATA_MAX) /
		      sizeof(u64)];
	struct fi_eq_err_entry event_err;
};

static inline struct kfir_slot *kfir_slot_of(const struct kfir_conn *conn,
					     void *slots, int i)
{
	return slots + i * conn->stride;
}

/* Those for receives come first. */
static inline struct kfir_slot *kfir_slot_at(struct kfir_conn *conn, int i)
{
	return kfir_slot_of(conn, conn->slots, i);
}

/* Does the next piece of a message or request have to go on with it? */
static inline bool kfir_is_begun(const struct kfir_op *op)
{
	return op && op->pieces && !op->native;
}

static inline bool kfir_may_sleep(const struct kfir_ep *ep)
{
	return ep->owner == KFIR_WORK;
}

/* Whoever does what is the engine's is its owner. */
static inline void kfir_assert_owned(const struct kfir_ep *ep)
{
	WARN_ON_ONCE(READ_ONCE(ep->owner) == KFIR_NOBODY);
}

/* Where the bytes of a piece are that came. */
static inline u8 *kfir_slot_data(const struct kfir_slot *slot)
{
	return slot->bare ? slot->bytes : slot->bytes + RDMW_HEADER_BYTES;
}

static inline struct kfir_ctx *to_kfir_ctx(struct kfi_post_ep *post)
{
	return container_of(post, struct kfir_ctx, post);
}

static inline struct kfir_ep *to_kfir_ep(struct kfid *fid)
{
	return container_of(fid, struct kfir_ep, own.post.ep.fid);
}

static inline struct kfir_op *to_kfir_op(struct kfi_op *base)
{
	return container_of(base, struct kfir_op, base);
}

static inline struct kfir_op *kfir_op_of_want(struct rdmw_want *want)
{
	return container_of(want, struct kfir_op, want);
}

static inline bool kfir_is_rma(const struct kfir_op *op)
{
	return op->base.type == KFI_OP_READ || op->base.type == KFI_OP_WRITE;
}

static inline bool kfir_is_atomic(const struct kfir_op *op)
{
	return op->base.type == KFI_OP_ATOMIC ||
	       op->base.type == KFI_OP_FETCH_ATOMIC;
}

/* The peer's engine answers to it, unless the device below does it. */
static inline bool kfir_is_request(const struct kfir_op *op)
{
	return kfir_is_rma(op) || kfir_is_atomic(op);
}

static inline struct kfir_domain *to_kfir_domain(struct fid_domain *domain)
{
	return container_of(domain, struct kfir_domain, domain);
}

static inline struct kfir_domain *kfir_domain_of(const struct kfir_ep *ep)
{
	return to_kfir_domain(ep->own.post.ep.domain);
}

static inline u32 kfir_op_timeout_ms(const struct kfir_ep *ep)
{
	return READ_ONCE(ep->own.post.ep.op_timeout_ms);
}

static inline u32 kfir_cm_timeout_ms(const struct kfir_ep *ep)
{
	return READ_ONCE(ep->own.post.ep.cm_timeout_ms);
}

/* info.c */
int kfir_ask_inner(const char *node, const char *service, u64 flags,
		   const struct fi_info *outer, struct fi_info **list);
int kfir_getinfo(struct kfi_provider *prov, const char *node,
		 const char *service, u64 flags, const struct fi_info *hints,
		 struct fi_info **list);

/* endpoint.c */
int kfir_endpoint(struct fid_domain *domain, struct fi_info *info,
		  struct fid_ep **ep, void *context);
int kfir_scalable_ep(struct fid_domain *domain, struct fi_info *info,
		     struct fid_ep **sep, void *context);

/* context.c */
extern const struct fi_ops_sep kfir_sep_ops;
void kfir_ctx_init(struct kfir_ctx *ctx, struct kfir_ep *ep,
		   const struct fi_info *info, u64 dirs);
void kfir_ctx_enable(struct kfir_ctx *ctx);

/* post.c */
extern const struct kfi_post_ops kfir_post_ops;

/* engine.c */
void kfir_engine(struct work_struct *work);
void kfir_kick(struct kfir_ep *ep);
void kfir_kick_locked(struct kfir_ep *ep);
void kfir_tell_receive(struct kfir_ep *ep);
int kfir_tell(struct kfir_ctx *ctx, struct kfir_op *op);
void kfir_posted(struct kfi_post_ep *post);
void kfir_own(struct kfir_ep *ep);
void kfir_own_end(struct kfir_ep *ep);
void kfir_run(struct kfir_ep *ep);
void kfir_look_at_stalled(struct kfir_ep *ep);
void kfir_touch(struct kfir_conn *conn);
void kfir_stir(struct kfir_conn *conn);
void kfir_finish(struct kfir_op *op, int err, int prov_errno);
void kfir_inner_done(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
		     void *context);
void kfir_take_done(struct kfir_ep *ep);
void kfir_end_posts(struct kfir_ctx *ctx, int err);

/* walk.c */
void kfir_receive_all(struct kfir_ep *ep);
void kfir_receive_new(struct kfir_ep *ep);

/* peer.c */
struct kfir_peer *kfir_peer_find(struct kfir_ep *ep,
				 const struct sockaddr_in6 *name);
struct kfir_peer *kfir_peer_get(struct kfir_ep *ep,
				const struct sockaddr_in6 *name);
void kfir_peer_busy(struct kfir_ep *ep, struct kfir_peer *peer);
void kfir_peer_check(struct kfir_peer *peer);
void kfir_peer_retry(struct kfir_peer *peer, int why, bool at_once);
void kfir_peer_drop(struct kfir_ep *ep, struct kfir_peer *peer);

/* hello.c */
void kfir_hello_make(struct kfir_conn *conn, u8 *out);
void kfir_read_events(struct kfir_ep *ep);
void kfir_drop_events(struct kfir_ep *ep);

/* conn.c */
/* Pages for so many slots that receive; -ENOMEM: those that there are stay. */
int kfir_rx_pages_alloc(const struct kfir_conn *conn, void *slots, int nr,
			gfp_t gfp);
void kfir_rx_pages_free(const struct kfir_conn *conn, void *slots, int nr);
void kfir_dial(struct kfir_ep *ep, struct kfir_peer *peer);
int kfir_conn_accept(struct kfir_ep *ep, struct kfir_peer *peer,
		     struct fi_info *info, const struct rdmw_offer *theirs,
		     struct kfir_conn **out);
void kfir_conn_up(struct kfir_conn *conn);
void kfir_conn_break(struct kfir_conn *conn, int why);
void kfir_conn_violated(struct kfir_conn *conn, enum rdmw_violation bad);
void kfir_conn_end(struct kfir_conn *conn);
void kfir_conn_free(struct kfir_conn *conn);

/* send.c */
void kfir_send_all(struct kfir_ep *ep, struct kfir_peer *peer);
void kfir_send_control(struct kfir_conn *conn);
bool kfir_is_mid_message(const struct kfir_conn *conn);
struct kfir_slot *kfir_slot_get(struct kfir_conn *conn);
void kfir_slot_put(struct kfir_slot *slot);
int kfir_slot_sent(struct kfir_slot *slot, int ret);
int kfir_slot_send(struct kfir_slot *slot, const struct fi_buf *buf,
		   const u32 *data);
u32 kfir_gather_max(const struct kfir_slot *slot);
size_t kfir_gather(struct kfir_slot *slot, u32 *count, u32 max,
		   const struct fi_buf *buf, size_t at, size_t len);
void kfir_sent(struct kfir_slot *slot);

/* grow.c */
void kfir_credits_left(struct kfir_conn *conn);
void kfir_grow(struct kfir_conn *conn);
void kfir_grown_free(struct kfir_conn *conn);

/* receive.c */
int kfir_post_slot(struct kfir_slot *slot);
void kfir_repost(struct kfir_slot *slot);
void kfir_repost_all(struct kfir_conn *conn);
void kfir_arrived(struct kfir_slot *slot);
void kfir_receive(struct kfir_conn *conn);
void kfir_receive_undo(struct kfir_conn *conn);
bool kfir_has_messages(const struct kfir_conn *conn);
void kfir_wait(struct kfir_conn *conn);
void kfir_wait_end(struct kfir_conn *conn);

/* match.c */
bool kfir_rx_get(struct kfir_conn *conn, const struct rdmw_piece *first,
		 u64 *shown, struct kfir_rx *rx);
void kfir_rx_copy(struct kfir_rx *rx, const u8 *from, size_t len);
void kfir_rx_end(struct kfir_conn *conn, struct kfir_rx *rx);
void kfir_rx_undo(struct kfir_rx *rx);
void kfir_part_free(struct kfi_post_ep *post);

/* mr.c */
int kfir_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		    u64 flags, struct fid_mr **mr);
enum rdmw_status kfir_mr_check(struct kfir_domain *d,
			       const struct rdmw_head *head, u64 access);
enum rdmw_status kfir_mr_move(struct kfir_domain *d,
			      const struct rdmw_head *head, u64 at, u64 access,
			      u8 *bytes, u64 len);

enum rdmw_status kfir_mr_change(struct kfir_domain *d,
				const struct rdmw_range *range,
				const struct kfi_atomic *atomic, void *result);

/* atomic.c */
u32 kfir_atomic_bytes(const struct kfir_op *op);
void kfir_atomic_pack(const struct kfir_op *op, u8 *to);
void kfir_atomic_result(const struct kfir_op *op, const u8 *bytes);
enum rdmw_violation kfir_atomic_do(struct kfir_domain *d,
				   const struct rdmw_piece *piece,
				   const u8 *bytes, struct kfir_request *req);

/* rma.c */
void kfir_ask(struct kfir_conn *conn, struct kfir_op *op);
void kfir_ask_forget(struct kfir_conn *conn, const struct kfir_op *op);
bool kfir_rma_piece(struct kfir_conn *conn, struct kfir_slot *slot);
bool kfir_is_answer_due(struct kfir_conn *conn);
bool kfir_answer_all(struct kfir_conn *conn);

static inline bool kfir_has_answers(struct kfir_conn *conn)
{
	return conn->nr_requests && kfir_is_answer_due(conn);
}
void kfir_rma_finish(struct kfir_op *op);

/* grant.c */
void kfir_grant_hint(struct kfir_conn *conn, u64 key);
void kfir_grant_returned(struct kfir_conn *conn, u64 key);
void kfir_grants_revoke(struct kfir_domain *d, struct kfir_mr *region);
void kfir_grants_take_back(struct kfir_conn *conn);
bool kfir_grants_are_late(const struct kfir_conn *conn);
void kfir_grants_look(struct kfir_conn *conn);
void kfir_grants_end(struct kfir_conn *conn);
void kfir_take_grants(struct kfir_ep *ep);

/* native.c */
bool kfir_is_native(struct kfir_conn *conn, const struct kfir_op *op);
int kfir_send_native(struct kfir_conn *conn, struct kfir_op *op);
void kfir_take_grant(struct kfir_conn *conn, const struct kfir_slot *slot);

/* kept.c */
void kfir_keep(struct kfir_conn *conn);
void kfir_kept_piece(struct kfir_conn *conn, const struct kfir_slot *slot);
void kfir_kept_drop(struct kfir_conn *conn, struct kfir_kept *kept);
void kfir_kept_drop_all(struct kfir_conn *conn);

#endif /* KFABRIC_RDM_H */
