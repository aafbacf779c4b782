// SPDX-License-Identifier: BSD-2-Clause
/*
 * A brick whose medium has failed answers IO to a FLUSH, and the disk, or libkfbrick, has
 * to tell whoever flushes: each flush that the FLUSH was for; or, when there was none, the
 * next one that is asked for, or detaching (docs/kfbrick.md).
 */
#include "../scene.h"
#include "initiator/core/kfb_initiator_priv.h"
#include "initiator/lib/internal.h"
#include "proto/kfb_err.h"

static struct sim_scene *the_scene;

void __real_kfb_initiator_flush_answered(struct kfb_initiator_queue *q,
					 const struct kfb_outcome *outcome);
void __wrap_kfb_initiator_flush_answered(struct kfb_initiator_queue *q,
					 const struct kfb_outcome *outcome);

/* On a machine with more than one disk it may be another one's. */
static void machine_hears(enum kfb_status status)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < the_scene->n_disks; i++)
		n += &the_scene->disks[i].machine->host.process ==
		     sim_current->process;
	for (uint32_t i = 0; i < the_scene->n_disks; i++) {
		struct sim_disk *d = &the_scene->disks[i];

		if (&d->machine->host.process != sim_current->process)
			continue;
		d->n_refused++;
		d->is_untold |=
			status == KFB_ST_IO && n == 1 && !d->machine->visitor;
		sim_trace(d->name, "hears that a flush has failed");
	}
}

static struct sim_client *client_of_process(void)
{
	for (uint32_t i = 0; i < the_scene->n_clients; i++)
		if (&the_scene->clients[i].host.process == sim_current->process)
			return &the_scene->clients[i];
	return NULL;
}

/* They are told by the answer, however many they are, and by whichever life of brickd. */
static void tell_those_who_wait(struct kfb_initiator_queue *q, uint64_t id)
{
	struct kfb_initiator_flush *flush, *after;

	kfb_ring_for_each(flush, after, &q->initiator->flushes, node) {
		struct kfbl_op *op =
			kfb_container_of(flush, struct kfbl_op, flush);
		struct sim_posted *p;

		/* The core's own, and calls that wait. */
		if (flush == &q->initiator->retain.flush || op->internal)
			continue;
		p = op->context;
		if (flush->ticket.waiting & 1U << q->index &&
		    flush->ticket.op[q->index] == id)
			p->may_be_told = true;
	}
}

/* Who waited for the answer is told by it; else the next flush has to be. */
static void client_hears(struct kfb_initiator_queue *q,
			 const struct kfb_outcome *outcome)
{
	struct sim_client *c = client_of_process();

	if (c && outcome->status == KFB_ST_IO) {
		c->is_owed &= c->is_untold;
		c->is_untold = true;
		tell_those_who_wait(q, q->flush_ids[outcome->slot]);
	}
	__real_kfb_initiator_flush_answered(q, outcome);
	if (c && q->initiator->untold_error)
		c->is_owed = true;
}

void __wrap_kfb_initiator_flush_answered(struct kfb_initiator_queue *q,
					 const struct kfb_outcome *outcome)
{
	if (outcome->status && !sim_current->process->has_kernel) {
		client_hears(q, outcome);
		return;
	}
	if (outcome->status)
		machine_hears(outcome->status);
	__real_kfb_initiator_flush_answered(q, outcome);
}

void sim_disk_told_init(struct sim_scene *scene)
{
	the_scene = scene;
}

static bool flushes(const struct sim_asked *a)
{
	return a->io.op == KM_FLUSH || a->io.preflush;
}

void sim_disk_told_asked(struct sim_asked *a)
{
	a->was_untold = a->disk->is_untold;
}

/* The kernel may have told another flush, which says so in a moment. */
static bool is_another_told(const struct sim_asked *but)
{
	const struct sim_disk *d = but->disk;

	for (uint32_t i = 0; i < SIM_DISK_POSTED_MAX; i++) {
		const struct sim_asked *a = &d->asked[i];

		if (a != but && a->is_used && flushes(a))
			return true;
	}
	return false;
}

void sim_disk_told_done(const struct sim_asked *a, int error)
{
	struct sim_disk *d = a->disk;

	if (!flushes(a))
		return;
	if (error)
		d->is_untold = false;
	else if (a->was_untold && d->is_untold && !is_another_told(a))
		sim_violated("%s: a flush has failed, and nobody is told",
			     d->name);
}

void sim_disk_told_detached(struct sim_disk *d, int error)
{
	if (!error && d->is_untold)
		sim_violated("%s: a flush has failed, and detaching says 0",
			     d->name);
	d->is_untold = false;
}
