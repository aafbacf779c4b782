// SPDX-License-Identifier: BSD-2-Clause
/* Worker threads, their queues, and the mailbox back to the loop. */
#include "brickd/base/work.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "brickd/base/flow.h"
#include "brickd/base/util.h"

static void mailbox_ready(struct brick_source *source)
{
	struct brick_mailbox *box =
		brick_container_of(source, struct brick_mailbox, source);
	uint64_t count;
	ssize_t n = read(source->fd, &count, sizeof(count));

	(void)n; /* level-triggered: a lost read comes back */
	/* Silent before it looks: what is posted from now on rings again. */
	pthread_mutex_lock(&box->lock);
	box->is_rung = false;
	pthread_mutex_unlock(&box->lock);
	brick_mailbox_look(box);
}

int brick_mailbox_init(struct brick_mailbox *box)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return -errno;
	box->source.fd = fd;
	box->source.ready = mailbox_ready;
	box->source.kind = 0;
	box->flows = NULL;
	box->is_rung = false;
	pthread_mutex_init(&box->lock, NULL);
	STAILQ_INIT(&box->finished);
	return 0;
}

void brick_mailbox_fini(struct brick_mailbox *box)
{
	close(box->source.fd);
	pthread_mutex_destroy(&box->lock);
}

void brick_mailbox_post(struct brick_mailbox *box, struct brick_work *work)
{
	uint64_t one = 1;
	bool rings;

	pthread_mutex_lock(&box->lock);
	rings = !box->is_rung;
	box->is_rung = true;
	STAILQ_INSERT_TAIL(&box->finished, work, link);
	pthread_mutex_unlock(&box->lock);
	if (rings) {
		/* Cannot overflow: it is written once per reading. */
		ssize_t n = write(box->source.fd, &one, sizeof(one));

		(void)n;
	}
}

static void run_done(struct brick_task *task, struct brick_turn *turn)
{
	struct brick_work *work =
		brick_container_of(task, struct brick_work, task);

	work->done(work);
	brick_turn_count(turn);
}

void brick_work_go_on(struct brick_flows *flows, struct brick_work *work)
{
	if (!flows || !work->flow) {
		work->done(work);
		return;
	}
	work->task.run = run_done;
	brick_flow_add_finished(flows, work->flow, &work->task);
}

void brick_work_go_on_behind(struct brick_flows *flows, struct brick_work *work)
{
	if (!flows || !work->flow) {
		work->done(work);
		return;
	}
	work->task.run = run_done;
	brick_flow_add(flows, work->flow, &work->task);
}

void brick_mailbox_look(struct brick_mailbox *box)
{
	struct brick_work_list ready = STAILQ_HEAD_INITIALIZER(ready);
	struct brick_work *work;

	pthread_mutex_lock(&box->lock);
	STAILQ_CONCAT(&ready, &box->finished);
	pthread_mutex_unlock(&box->lock);
	while ((work = brick_work_take(&ready)))
		brick_work_go_on(box->flows, work);
}

void brick_mailbox_deliver(struct brick_mailbox *box)
{
	brick_mailbox_look(box);
	while (box->flows && brick_flows_serve(box->flows))
		;
}

struct brick_work *brick_work_take(struct brick_work_list *batch)
{
	struct brick_work *work = STAILQ_FIRST(batch);

	if (work)
		STAILQ_REMOVE_HEAD(batch, link);
	return work;
}

void brick_turns_add(struct brick_work_list *turns, struct brick_work *work)
{
	struct brick_work *first;

	STAILQ_INIT(&work->behind);
	STAILQ_FOREACH(first, turns, link)
	if (first->whose == work->whose)
		break;
	STAILQ_INSERT_TAIL(first ? &first->behind : turns, work, link);
}

struct brick_work *brick_turns_take(struct brick_work_list *turns)
{
	struct brick_work *work = brick_work_take(turns), *next;

	next = work ? brick_work_take(&work->behind) : NULL;
	if (next) {
		STAILQ_INIT(&next->behind);
		STAILQ_CONCAT(&next->behind, &work->behind);
		STAILQ_INSERT_TAIL(turns, next, link);
	}
	return work;
}

static void *worker_main(void *arg)
{
	struct brick_worker *w = arg;
	struct brick_work_list batch = STAILQ_HEAD_INITIALIZER(batch);

	pthread_setname_np(pthread_self(), w->name);
	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (STAILQ_EMPTY(&w->queue) && !w->stopping)
			pthread_cond_wait(&w->wake, &w->lock);
		if (STAILQ_EMPTY(&w->queue))
			break;
		STAILQ_CONCAT(&batch, &w->queue);
		pthread_mutex_unlock(&w->lock);
		w->run(w, &batch);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int brick_worker_start(struct brick_worker *w)
{
	sigset_t all, old;
	int rc;

	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	STAILQ_INIT(&w->queue);
	w->stopping = false;
	sigfillset(&all);
	/* A fault is the thread's own: it must reach the SIGBUS handler. */
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGSEGV);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&w->thread, NULL, worker_main, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	w->started = rc == 0;
	return -rc;
}

void brick_worker_stop(struct brick_worker *w)
{
	if (!w->started)
		return;
	pthread_mutex_lock(&w->lock);
	w->stopping = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	w->started = false;
}

bool brick_worker_is_stopping(struct brick_worker *w)
{
	bool stopping;

	pthread_mutex_lock(&w->lock);
	stopping = w->stopping;
	pthread_mutex_unlock(&w->lock);
	return stopping;
}

void brick_worker_take(struct brick_worker *w, struct brick_work_list *batch)
{
	pthread_mutex_lock(&w->lock);
	STAILQ_CONCAT(batch, &w->queue);
	pthread_mutex_unlock(&w->lock);
}

void brick_worker_submit(struct brick_worker *w, struct brick_work *work)
{
	pthread_mutex_lock(&w->lock);
	STAILQ_INSERT_TAIL(&w->queue, work, link);
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
}

void brick_worker_finish(struct brick_worker *w, struct brick_work *work)
{
	brick_mailbox_post(w->box, work);
}

void brick_worker_run_each(struct brick_worker *w,
			   struct brick_work_list *batch)
{
	struct brick_work *work;

	while ((work = brick_work_take(batch))) {
		work->run(work);
		brick_worker_finish(w, work);
	}
}

void brick_worker_run_by_turns(struct brick_worker *w,
			       struct brick_work_list *batch)
{
	struct brick_work_list turns = STAILQ_HEAD_INITIALIZER(turns);
	struct brick_work *work;

	for (;;) {
		while ((work = brick_work_take(batch)))
			brick_turns_add(&turns, work);
		work = brick_turns_take(&turns);
		if (!work)
			break;
		work->run(work);
		brick_worker_finish(w, work);
		brick_worker_take(w, batch);
	}
}
