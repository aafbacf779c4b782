/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of the fault provider share.
 *
 * A layer: each object of "fault;X" has an inner object of provider X, and
 * every call goes through to it, unless a fault is to be made. With all knobs
 * at 0 the layer behaves like X.
 *
 * What is modelled where. Everything happens at the endpoint that posts; the
 * target needs neither this layer nor this kernel:
 *   - N[c] of the power-failure model (power.h) is in the endpoint: a write
 *     is copied into it and completes, as if the peer's NIC had it; its lines
 *     are written to the peer when they drain. READ, flush and messages (with
 *     them writes with remote CQ data and those that ask for delivery or
 *     commit) empty N[c] in front of them.
 *   - L is not here: ddio belongs to the target's memory.
 *   - A held write's key is checked by the peer when a line drains, not when
 *     the write completes; a bad one ends the connection then, so that the
 *     flush which would have covered it fails.
 *   - The lines that a power cut keeps are written, then the connection ends.
 *
 * Context: sends and RMA are only queued by the post. One work item per
 *	endpoint, its engine, hands them to the inner endpoint and delivers
 *	all completions, one after the other. Receives go straight through.
 * Locking: fault_ep.post.lock (irq-safe) protects an endpoint's queues and
 *	flags; the inner provider's post is called with it for receives only.
 *	fault_eps_lock (mutex) protects the list of endpoints.
 * Lifetime: inner objects are closed in close(), before the outer ones; so
 *	the inner provider's code has stopped when close() returns. An engine
 *	is kicked only while the endpoint is not closed.
 * Recovery: the first failed operation or a cut ends the connection; what was
 *	not issued ends with ECANCELED, what was issued as the inner provider
 *	says.
 */
#ifndef KFABRIC_FAULT_H
#define KFABRIC_FAULT_H

#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <kfabric/kfi_layer.h>
#include <kfabric/kfi_post.h>

#include "ctl.h"
#include "power.h"

#define FAULT_NAME	  "fault"
#define FAULT_DRAIN_SLOTS 16 /* line writes in flight per endpoint */
#define FAULT_LINES	  4096 /* most lines of N per endpoint */
#define FAULT_REPORT	  1024 /* lost lines that are remembered */

extern struct kfi_provider fault_prov;
extern struct workqueue_struct *fault_wq;

/* ---- plan.c: what is to go wrong --------------------------------------- */

/*
 * Knobs. "_nth": the nth such event from now on is hit, once, and the knob
 * returns to 0. "_permille": each is hit with that probability. 0: off.
 */
#define FAULT_KNOBS(X)                                                     \
	X(power, "1: writes are held back in N until they drain")          \
	X(drain_permille, "probability that a line of N drains in a step") \
	X(keep_on_close, "closing drains N (1) or drops it (0)")           \
	X(torn_placement, "1: lines that drain are written in two parts")  \
	X(delay_permille, "completions that come late")                    \
	X(delay_ms, "how late they come")                                  \
	X(lose_nth, "reported transmit completion to lose")                \
	X(lose_recv_nth, "receive completion to lose")                     \
	X(dup_permille, "completions that the layer sees twice")           \
	X(dup_ulp, "1: the second one goes to the upper layer's upcall")   \
	X(reject_nth, "fi_connect() to be refused")                        \
	X(reject_passive_nth, "connection request to be refused unseen")   \
	X(stale_key_nth, "read or write that uses a stale key")            \
	X(cut_nth, "send or RMA before which the link is cut")             \
	X(stall_nth, "write at which its link stalls")                     \
	X(stall, "1: links that have stalled stand still")                 \
	X(power_off, "1: nothing connects")                                \
	X(power_off_nth, "send or RMA at which the power fails, and stays off")

#define FAULT_COUNTERS(X)                                           \
	X(held_lines) /* entered N */                               \
	X(drained_lines) /* left N by chance, or were made to */    \
	X(squeezed_lines) /* left N because it was full */          \
	X(placed_writes) /* inner writes made of them */            \
	X(failed_writes) /* of these, refused by the peer */        \
	X(emptied) /* operations that found N not empty */          \
	X(torn) /* lines written in two parts */                    \
	X(power_cuts) /* endpoints that lost power */               \
	X(lost_lines) /* lines with bytes that were lost */         \
	X(lost_bytes) /* acknowledged bytes that were not placed */ \
	X(delayed) /* completions that came late */                 \
	X(lost) /* completions that were lost */                    \
	X(timeouts) /* of these, noticed by the time limit */       \
	X(duplicated) /* completions that came twice */             \
	X(dup_dropped) /* of these, kept from the upper layer */    \
	X(dup_delivered) /* of these, given to the upper layer */   \
	X(rejects) /* connections refused */                        \
	X(stale_keys) /* operations with a stale key */             \
	X(link_cuts) /* links cut */                                \
	X(stalled) /* writes at which their link stalls */

enum fault_knob {
#define X(name, text) FAULT_KNOB_##name,
	FAULT_KNOBS(X)
#undef X
	FAULT_NR_KNOBS
};

enum fault_counter {
#define X(name) FAULT_COUNT_##name,
	FAULT_COUNTERS(X)
#undef X
	FAULT_NR_COUNTERS
};

extern u32 fault_knobs[FAULT_NR_KNOBS];
extern const char *const fault_knob_names[FAULT_NR_KNOBS];
extern const char *const fault_counter_names[FAULT_NR_COUNTERS];
extern atomic_long_t fault_counters[FAULT_NR_COUNTERS];
extern u64 fault_seed;

#define fault_knob(name)  READ_ONCE(fault_knobs[FAULT_KNOB_##name])
#define fault_count(name) fault_count_add(name, 1)
#define fault_count_add(name, n) \
	atomic_long_add(n, &fault_counters[FAULT_COUNT_##name])
#define fault_hit(name)	    fault_nth(FAULT_KNOB_##name)
#define fault_happens(name) fault_by_chance(FAULT_KNOB_##name)

bool fault_nth(enum fault_knob knob);
bool fault_by_chance(enum fault_knob knob);
u64 fault_next_seed(void);
void fault_reseed(u64 seed);

/* A line that was lost, for debugfs. */
struct fault_loss {
	u32 ep; /* id */
	u64 key;
	u64 addr;
	u64 lost; /* bit i: byte i */
};

void fault_report(u32 ep, const struct fault_line *line);
size_t fault_report_get(size_t index, struct fault_loss *loss);
void fault_report_clear(void);

/* ---- objects ------------------------------------------------------------ */

struct fault_domain {
	struct fid_domain domain;
	struct fid_domain *inner;
	size_t inner_context; /* op_context_size of the inner domain */
};

struct fault_mr {
	struct fid_mr mr;
	struct fid_mr *inner;
	int (*commit)(struct fid_mr *mr, u64 offset, size_t len);
};

struct fault_pep {
	struct fid_pep pep;
	struct fid_pep *inner;
	struct fid_eq *inner_eq;
	struct work_struct events;
};

/* A connection request; stands for the inner one that its info holds. */
struct fault_req {
	struct kfi_connreq req;
	struct fi_info *inner;
};

/* A line's way to the peer; not the upper layer's. */
#define FAULT_DRAIN KFI_OP_TYPES

enum fault_op_state {
	FAULT_QUEUED,
	FAULT_ISSUED, /* the inner provider's */
	FAULT_DONE, /* to be delivered */
	FAULT_LOST, /* the inner completion came and was lost */
};

/* An operation: the private part of operation memory, or in a slot. */
struct fault_op {
	struct kfi_op base;
	enum fault_op_state state;
	bool late; /* deliver at due */
	bool twice; /* deliver two times */
	bool cuts; /* the link is cut before it */
	bool stalls; /* it and what is behind it wait */
	unsigned long due; /* jiffies */
	unsigned long deadline; /* jiffies */
	size_t held; /* bytes of a write that are in N */
	struct fi_context inner; /* last: the inner provider's bytes follow */
};

/* How an endpoint's connection is to be ended by us. */
enum fault_end {
	FAULT_END_NONE,
	FAULT_END_CLOSE, /* N drains or drops first */
	FAULT_END_CUT, /* the power fails; wait for FAULT_END_DOWN */
	FAULT_END_DOWN, /* what the cut kept is placed, everywhere */
};

struct fault_ep {
	struct kfi_post_ep post;
	struct fid_ep *inner;
	struct fid_cq *inner_tx;
	struct fid_cq *inner_rx;
	struct fid_eq *inner_eq;
	struct list_head node; /* fault_eps */
	struct work_struct events;
	u64 event_buf[(sizeof(struct fi_eq_cm_entry) + FI_CM_DATA_MAX) /
		      sizeof(u64)]; /* of that work */
	struct delayed_work engine;
	wait_queue_head_t wait; /* for the engine's progress */
	void *drain_mem;

	/* under post.lock */
	struct list_head queue; /* posted, not issued */
	struct list_head sent; /* issued or held, oldest first */
	struct list_head rx; /* receives at the inner endpoint */
	struct list_head rx_done;
	struct list_head lost; /* transmit operations in FAULT_LOST */
	struct list_head rx_lost;
	struct list_head drains; /* free, for lines */
	unsigned int draining; /* line writes at the inner endpoint */
	bool refused; /* the connection is to fail */
	bool closed; /* never kick again */
	enum fault_end end;

	/* the engine's alone */
	bool end_begun;
	bool end_settled; /* what is to be placed is; read by others */
	struct fault_power power;
	struct fault_queue conn;
	struct fault_line *lines; /* NULL: power was off at opening */
	struct fault_line line; /* being written */
	u64 line_rest; /* its bytes that come in a second part */
	u8 bounce[FAULT_LINE];
};

static inline struct fault_ep *to_fault_ep(struct fid_ep *ep)
{
	return container_of(ep, struct fault_ep, post.ep);
}

static inline struct fault_op *to_fault_op(struct kfi_op *base)
{
	return container_of(base, struct fault_op, base);
}

static inline struct fault_domain *to_fault_domain(struct fid_domain *domain)
{
	return container_of(domain, struct fault_domain, domain);
}

/* info.c */
int fault_getinfo(struct kfi_provider *prov, const char *node,
		  const char *service, u64 flags, const struct fi_info *hints,
		  struct fi_info **list);
int fault_info_outer(struct fi_info *info);
struct fi_info *fault_info_inner(const struct fi_info *info,
				 struct kfid *handle);

/* mr.c */
int fault_mr_regattr(struct fid_domain *domain, const struct fi_mr_attr *attr,
		     u64 flags, struct fid_mr **mr);

/* pep.c */
extern const struct fi_ops fault_req_ops;
int fault_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
		     struct fid_pep **pep, void *context);

/* endpoint.c */
extern struct mutex fault_eps_lock;
extern struct list_head fault_eps;
int fault_endpoint(struct fid_domain *domain, struct fi_info *info,
		   struct fid_ep **ep, void *context);
void fault_power_off(void);
void fault_power_off_end(void);

/* post.c */
extern const struct kfi_post_ops fault_post_ops;

/* engine.c */
void fault_engine(struct work_struct *work);
void fault_kick(struct fault_ep *ep);
void fault_break(struct fault_ep *ep);
void fault_end(struct fault_ep *ep, enum fault_end how);
void fault_run(struct fault_ep *ep);
void fault_inner_done(struct fid_cq *cq, const struct fi_cq_err_entry *entry,
		      void *context);

/* hold.c */
int fault_hold_init(struct fault_ep *ep);
bool fault_holds(const struct fault_ep *ep, const struct fault_op *op);
int fault_hold(struct fault_ep *ep, struct fault_op *op);
int fault_empty(struct fault_ep *ep);
int fault_place(struct fault_ep *ep);
void fault_placed(struct fault_ep *ep, struct fault_op *op, int err);
void fault_end_lines(struct fault_ep *ep);
bool fault_settled(struct fault_ep *ep);
void fault_drop_lines(struct fault_ep *ep);

/* debugfs.c */
void fault_debugfs_setup(void);
void fault_debugfs_teardown(void);

#endif /* KFABRIC_FAULT_H */
