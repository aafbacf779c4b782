/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of kfabric_core share and nobody else sees.
 *
 * Lock order: ep->lock, then eq->lock or cq->lock; kfi_srx.lock, then
 * kfi_post_ep.lock. No lock is held over a
 * callback or over a provider's operation. kfi_prov_mutex and kfi_obj_mutex
 * are leaves.
 */
#ifndef KFABRIC_CORE_H
#define KFABRIC_CORE_H

#include <linux/mutex.h>

#include <kfabric/fi_av.h>
#include <kfabric/fi_cntr.h>
#include <kfabric/kfi_provider.h>

/* fid->users of a closed object: so far below 0 that pins fail. */
#define KFI_USERS_CLOSED (INT_MIN / 2)

/* A completion with one of these is told to the queue of receives. */
#define KFI_RX_FLAGS (FI_RECV | FI_MULTI_RECV)

/* provider.c */
extern struct mutex kfi_prov_mutex; /* protects kfi_prov_list */
extern struct list_head kfi_prov_list; /* in the order of fi_getinfo() */
/* Does the provider named name ("fault") handle prov_name ("fault;loop")? */
bool kfi_prov_handles(const char *name, const char *prov_name);
bool kfi_prov_get(struct kfi_provider *prov);
void kfi_prov_put(struct kfi_provider *prov);

/* choice.c */
bool kfi_prov_comes_before(const struct kfi_provider *a,
			   const struct kfi_provider *b);
bool kfi_prov_is_excluded(const struct kfi_provider *prov);
u32 kfi_choose_op_timeout(u32 wish, u32 usual);
u32 kfi_choose_cm_timeout(u32 wish, u32 usual);

/* info.c */
void kfi_info_promise(struct fi_info *info);

/* object.c */
extern struct mutex kfi_obj_mutex; /* protects kfi_obj_list */
extern struct list_head kfi_obj_list; /* every object, oldest first */
bool kfi_obj_pin(struct kfid *fid);
void kfi_obj_unpin(struct kfid *fid);
const char *kfi_class_name(enum fi_class fclass);
int kfi_obj_setup(void);
void kfi_obj_teardown(void);

/* open.c */
int kfi_check_open(const struct kfid *parent, const struct fi_info *info,
		   bool has_op);
void kfi_ep_set_ops(struct fid_ep *ep, const struct kfi_ep_ops *ops);
void kfi_ep_fill(struct fid_ep *ep, struct fid_domain *domain,
		 const struct fi_info *info, const struct kfi_ep_ops *ops);

/* scalable.c */
void kfi_ctx_give_back(struct fid_ep *ctx);

/* srx.c */
int kfi_srx_setopt(struct fid_ep *srx, int optname, const void *optval,
		   size_t optlen);

/* post.c */
struct kfi_op;
struct kfi_op *kfi_op_of_recv(const struct fi_msg *msg, u64 flags);

/* endpoint.c */
int kfi_ep_move(struct fid_ep *ep, enum kfi_ep_state to);
int kfi_ep_move_locked(struct fid_ep *ep, enum kfi_ep_state to);
struct kfi_event *kfi_ep_end_locked(struct fid_ep *ep, enum kfi_ep_state to,
				    int err, int prov_errno, const void *data,
				    size_t len);
const char *kfi_ep_state_name(enum kfi_ep_state state);
void kfi_ep_unbind(struct fid_ep *ep);
int kfi_ep_ready(struct fid_ep *ep);

/* eq.c */
void kfi_eq_queue(struct fid_eq *eq, struct kfi_event *ev);
void kfi_eq_notify(struct fid_eq *eq, struct kfi_event *ev);
void kfi_eq_forget(struct fid_eq *eq, struct kfid *fid);
void kfi_eq_wait(struct fid_eq *eq, struct kfi_event *ev);
void kfi_event_set(struct kfi_event *ev, u32 event, struct kfid *fid,
		   const void *data, size_t len);

/* cq.c */
bool kfi_comp_suppressed(const struct fid_ep *ep, const struct kfi_comp *comp);
void kfi_cq_forget(struct fid_cq *cq, struct fid_ep *ep);
void kfi_cq_drop(struct fid_cq *cq);

/* cntr.c */
#define KFI_CNTR_TX_KINDS (FI_SEND | FI_READ | FI_WRITE)
#define KFI_CNTR_RX_KINDS FI_RECV
int kfi_bind_cntr_locked(struct fid_ep *ep, struct fid_cntr *cntr, u64 kinds);
void kfi_cntr_unbind(struct fid_ep *ep);
void kfi_cntr_count(struct fid_ep *ep, u64 comp_flags, int err);
/* The kinds of operations, in the order of fid_ep.cntr. */
static inline u64 kfi_cntr_kind(int i)
{
	static const u64 kinds[KFI_CNTR_KINDS] = { FI_SEND, FI_RECV, FI_READ,
						   FI_WRITE };

	return kinds[i];
}

/* debugfs.c */
void kfi_debugfs_setup(void);
void kfi_debugfs_teardown(void);

#endif /* KFABRIC_CORE_H */
