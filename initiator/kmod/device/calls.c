// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: requests of the control protocol, and who waits for their answers.
 */
#include <linux/delay.h>

#include "calls.h"

/*
 * A request that could not be had for reasons that pass: tries, and between. A brick
 * that is stopping says so for seconds, until it ends the session.
 */
#define TRIES_MAX     20
#define PAUSE_MS      50
#define PAUSE_STOP_MS 500

void kfbk_call_done(struct kfb_initiator *i, struct kfb_initiator_call *call)
{
	complete(&container_of(call, struct kfbk_call, core)->done);
}

int kfbk_call(struct kfbk_device *dev, struct kfbk_call *call)
{
	init_completion(&call->done);
	kfbk_lock(dev);
	kfb_initiator_call(&dev->core, &call->core);
	kfbk_unlock(dev);
	wait_for_completion(&call->done);
	return call->core.outcome.error;
}

int kfbk_call_range(struct kfbk_device *dev, u16 op, u64 block, u64 n)
{
	struct kfbk_call call = {
		.core.req = { .op = op,
			      .u.range = { .va = kfbk_block_va(dev, block),
					   .n_blocks = n } },
	};

	return kfbk_call(dev, &call);
}

bool kfbk_range_may_pass(struct kfbk_device *dev, u16 op, int error,
			 enum kfb_patience who, int tries)
{
	if (READ_ONCE(dev->core.is_over) || tries >= TRIES_MAX)
		return false;
	/* A try that was lost with its session is made up for by the callers. */
	if (error != -ECONNRESET && !kfb_refusal_may_pass(op, error, who))
		return false;
	if ((error == -ESHUTDOWN || who == KFB_PATIENCE_RESTORE) &&
	    kfbk_is_ending(dev))
		return false;
	msleep(error == -ESHUTDOWN ? PAUSE_STOP_MS : PAUSE_MS);
	return true;
}

int kfbk_free_run(struct kfbk_device *dev, u64 first, u64 n, u64 session_id)
{
	struct kfbk_call call = {
		.core.req = { .op = KFB_OP_FREE,
			      .u.range = { .va = kfbk_block_va(dev, first),
					   .n_blocks = n } },
		.core.in_session = session_id,
	};
	int tries = 0;
	int ret;
	u64 i;

	do {
		ret = kfbk_call(dev, &call);
	} while (ret && !kfbk_is_in_doubt(ret) &&
		 kfbk_range_may_pass(dev, KFB_OP_FREE, ret, KFB_PATIENCE_DISK,
				     tries++));
	/* What was never sent has freed nothing. */
	if (!kfbk_is_in_doubt(ret) || !call.core.session_id)
		return ret;
	kfbk_lock(dev);
	for (i = first; i < first + n; i++)
		dev->blocks[i].may_be_gone = true;
	kfbk_unlock(dev);
	return ret;
}
