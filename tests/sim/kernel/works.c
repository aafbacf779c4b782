// SPDX-License-Identifier: BSD-2-Clause
/*
 * Works and their workers: see linux/workqueue.h.
 *
 * A work may free what it is in: who runs what is kept beside it.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

/* A worker; it lies on its own stack, and never ends. */
struct worker {
	struct list_head node;
	struct work_struct *runs;
	const struct km_task *task;
	bool is_idle;
};

static LIST_HEAD(sim_workers);
static LIST_HEAD(sim_works_ready);
static LIST_HEAD(sim_works_timers);

static struct workqueue_struct sim_system_wq = { .name = "events" };
struct workqueue_struct *system_unbound_wq = &sim_system_wq;

/* ---- workers ----------------------------------------------------------------- */

static bool is_running(const struct work_struct *work)
{
	struct worker *w;

	list_for_each_entry(w, &sim_workers, node) {
		if (w->runs == work)
			return true;
	}
	return false;
}

/* The first that nobody runs already. */
static struct work_struct *next_work(void)
{
	struct work_struct *work;

	list_for_each_entry(work, &sim_works_ready, node) {
		if (!is_running(work))
			return work;
	}
	return NULL;
}

static void run_work(struct worker *w, struct work_struct *work)
{
	struct km_task *task = km_current();

	list_del_init(&work->node);
	work->is_pending = false;
	w->runs = work;
	w->task = task;
	task->frees_memory = work->wq && work->wq->flags & WQ_MEM_RECLAIM;
	work->func(work);
	task->frees_memory = false;
	if (task->atomic || task->rcu_depth)
		km_broken("a work ends with a lock");
	w->runs = NULL;
	km_wake(work);
}

static void work_forever(void *arg)
{
	struct worker w = { 0 };
	struct work_struct *work;

	list_add_tail(&w.node, &sim_workers);
	for (;;) {
		work = next_work();
		if (work) {
			run_work(&w, work);
			continue;
		}
		w.is_idle = true;
		km_wait(&w);
		w.is_idle = false;
	}
}

static void call_worker(void)
{
	struct worker *w;

	list_for_each_entry(w, &sim_workers, node) {
		if (!w->is_idle)
			continue;
		w->is_idle = false;
		km_wake(w);
		return;
	}
	km_start("worker", work_forever, NULL);
}

/* ---- works ------------------------------------------------------------------- */

bool km_make_pending(struct work_struct *work)
{
	if (work->is_pending || work->n_cancels)
		return false;
	work->is_pending = true;
	list_add_tail(&work->node, &sim_works_ready);
	call_worker();
	return true;
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	km_may_yield();
	work->wq = wq;
	return km_make_pending(work);
}

/* Until it neither waits nor runs; what is queued meanwhile does not count. */
bool flush_work(struct work_struct *work)
{
	bool was = false;

	might_sleep();
	while (work->is_pending || is_running(work)) {
		was = true;
		km_wait(work);
	}
	return was;
}

bool cancel_work_sync(struct work_struct *work)
{
	bool was = work->is_pending;

	work->n_cancels++;
	might_sleep();
	if (was) {
		list_del_init(&work->node);
		work->is_pending = false;
	}
	while (is_running(work))
		km_wait(work);
	work->n_cancels--;
	return was;
}

/* ---- those that wait for their time ---------------------------------------------- */

static void disarm(struct delayed_work *work)
{
	if (work->is_armed)
		list_del_init(&work->timer);
	work->is_armed = false;
}

bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *work,
		      unsigned long delay)
{
	bool was = work->is_armed || work->work.is_pending;

	if (work->work.n_cancels)
		return false;
	disarm(work);
	if (!delay) {
		queue_work(wq, &work->work);
		return was;
	}
	/* One that waits to run waits for its time anew. */
	if (work->work.is_pending) {
		list_del_init(&work->work.node);
		work->work.is_pending = false;
	}
	work->work.wq = wq;
	work->is_armed = true;
	work->at_ns = km_now_ns() + delay * SIM_JIFFY_NS;
	list_add_tail(&work->timer, &sim_works_timers);
	km_wake(&sim_works_timers);
	return was;
}

bool cancel_delayed_work_sync(struct delayed_work *work)
{
	bool was = work->is_armed;

	disarm(work);
	return cancel_work_sync(&work->work) || was;
}

static struct delayed_work *first_timer(void)
{
	struct delayed_work *work, *first = NULL;

	list_for_each_entry(work, &sim_works_timers, timer) {
		if (!first || work->at_ns < first->at_ns)
			first = work;
	}
	return first;
}

static void tick_forever(void *arg)
{
	struct delayed_work *first;

	for (;;) {
		first = first_timer();
		if (!first) {
			km_wait(&sim_works_timers);
		} else if (first->at_ns > km_now_ns()) {
			km_wait_until(&sim_works_timers, first->at_ns);
		} else {
			disarm(first);
			km_make_pending(&first->work);
		}
	}
}

void km_works_start(void)
{
	km_start("timers", tick_forever, NULL);
}

/* ---- the end of their memory ------------------------------------------------------ */

void km_works_freed(const void *at, size_t len)
{
	uintptr_t from = (uintptr_t)at;
	struct delayed_work *later, *next_later;
	struct work_struct *work, *next;
	struct worker *w;

	/* A work may free what it is in itself. */
	list_for_each_entry(w, &sim_workers, node) {
		if ((uintptr_t)w->runs - from < len && w->task != km_current())
			km_broken("memory is freed in which a work runs");
	}
	list_for_each_entry_safe(work, next, &sim_works_ready, node) {
		if ((uintptr_t)work - from >= len)
			continue;
		km_broken("memory is freed in which a work is queued");
		list_del_init(&work->node);
	}
	list_for_each_entry_safe(later, next_later, &sim_works_timers, timer) {
		if ((uintptr_t)later - from >= len)
			continue;
		km_broken("memory is freed in which a timer runs");
		disarm(later);
	}
}

/* ---- queues ------------------------------------------------------------------- */

struct workqueue_struct *alloc_workqueue(const char *name, unsigned int flags,
					 int max_active, ...)
{
	struct workqueue_struct *wq = km_zalloc(sizeof(*wq));

	if (!wq)
		return NULL;
	wq->name = name;
	wq->flags = flags;
	return wq;
}

void destroy_workqueue(struct workqueue_struct *wq)
{
	kfree(wq);
}
