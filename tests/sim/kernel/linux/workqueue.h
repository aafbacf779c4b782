/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Works. One of them never runs twice at one time; each worker is a thread of the
 * machine, and there are as many as it takes.
 */
#ifndef SIM_LINUX_WORKQUEUE_H
#define SIM_LINUX_WORKQUEUE_H

#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

struct work_struct;
struct workqueue_struct;
typedef void (*work_func_t)(struct work_struct *work);

/*
 * struct work_struct - a work
 * @node: in the list of those that wait to run
 * @func: what it does
 * @wq: where it was queued last
 * @is_pending: it waits to run
 * @n_cancels: who waits for its end; it is not queued anew meanwhile
 */
struct work_struct {
	struct list_head node;
	work_func_t func;
	const struct workqueue_struct *wq;
	bool is_pending;
	u32 n_cancels;
};

/*
 * struct delayed_work - a work that waits for its time first
 * @work: it
 * @timer: in the list of those whose time has not come
 * @at_ns: when
 * @is_armed: it has not
 */
struct delayed_work {
	struct work_struct work;
	struct list_head timer;
	u64 at_ns;
	bool is_armed;
};

/* @flags: WQ_* */
struct workqueue_struct {
	const char *name;
	unsigned int flags;
};

#define WQ_UNBOUND     2U
#define WQ_MEM_RECLAIM 8U
#define WQ_HIGHPRI     16U

extern struct workqueue_struct *system_unbound_wq;

static inline void INIT_WORK(struct work_struct *work, work_func_t func)
{
	*work = (struct work_struct){ .func = func };
}

static inline void INIT_DELAYED_WORK(struct delayed_work *work,
				     work_func_t func)
{
	*work = (struct delayed_work){ .work.func = func };
}

/* What follows is the arguments of the name, which shows nowhere. */
struct workqueue_struct *alloc_workqueue(const char *name, unsigned int flags,
					 int max_active, ...);
void destroy_workqueue(struct workqueue_struct *wq);
/* As queue_work(), and nobody else goes on meanwhile. */
bool km_make_pending(struct work_struct *work);
bool queue_work(struct workqueue_struct *wq, struct work_struct *work);
bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
		      unsigned long delay);
bool flush_work(struct work_struct *work);
bool cancel_work_sync(struct work_struct *work);
bool cancel_delayed_work_sync(struct delayed_work *work);
/* When the machine boots. */
void km_works_start(void);
/* Memory is freed: nothing in it may be queued. */
void km_works_freed(const void *at, size_t len);

#endif
