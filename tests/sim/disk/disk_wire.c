// SPDX-License-Identifier: BSD-2-Clause
/*
 * What disks ask of their bricks: blocks are freed by a disk that is thin, for a
 * request that may, and by an attach that has allocated them and fails. And the moment
 * when one asks for the end of a mapping that it has just made, and that is of no use:
 * it has not told anybody yet why, and waits for the answer.
 */
#include <string.h>

#include "brickd/config/config.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/session.h"
#include "initiator/core/kfb_initiator.h"
#include "../scene.h"

/* How long a message may be on its way, and be sent again. */
#define LATE_NS (5 * SIM_S)

void __real_brick_op_free(struct brick_op *op);
void __wrap_brick_op_free(struct brick_op *op);
void __real_kfb_initiator_call(struct kfb_initiator *i,
			       struct kfb_initiator_call *call);
void __wrap_kfb_initiator_call(struct kfb_initiator *i,
			       struct kfb_initiator_call *call);

void sim_disk_may_free(struct sim_disk *d)
{
	d->may_free_until_ns = sim.now_ns + LATE_NS;
}

static bool is_of(const struct sim_disk *d, const struct brick_op *op)
{
	uint64_t first = op->req.u.range.va;
	uint64_t last =
		first + (op->req.u.range.n_blocks << KFB_BLOCK_SHIFT) - 1;
	uint64_t end = d->settings.first_va +
		       ((uint64_t)d->settings.grows_to << KFB_BLOCK_SHIFT) - 1;

	return sim_current->process == &d->brick->host.process &&
	       last >= d->settings.first_va && first <= end;
}

void __wrap_brick_op_free(struct brick_op *op)
{
	const struct sim_brick *brick =
		(const struct sim_brick *)sim_current->process;
	struct sim_scene *s = brick->scene;

	for (uint32_t i = 0; i < s->n_disks; i++) {
		struct sim_disk *d = &s->disks[i];

		if (is_of(d, op) && !d->is_attaching &&
		    sim.now_ns >= d->may_free_until_ns &&
		    !sim_disk_is_freeing(d))
			sim_violated("%s: block 0x%llx is freed, and nobody "
				     "has asked for that",
				     d->name,
				     (unsigned long long)op->req.u.range.va);
	}
	__real_brick_op_free(op);
}

/* What is unmapped in the ordinary way is named by its blocks, too. */
void __wrap_kfb_initiator_call(struct kfb_initiator *i,
			       struct kfb_initiator_call *call)
{
	struct sim_disk *d = (struct sim_disk *)sim_current->process;

	if (sim_current->process->has_kernel && call->req.op == KFB_OP_UNMAP &&
	    !call->req.u.unmap.range.n_blocks) {
		d->scene->faults.is_undoing = true;
		d->scene->faults.has_lost = kfb_losses_error(&i->losses);
	}
	__real_kfb_initiator_call(i, call);
}
