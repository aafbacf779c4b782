// SPDX-License-Identifier: BSD-2-Clause
/* Syncs of one file: see syncs.h. */
#include "brickd/store/syncs.h"

#include <errno.h>

void brick_syncs_init(struct brick_syncs *syncs)
{
	(void)pthread_mutex_init(&syncs->lock, NULL);
	(void)pthread_cond_init(&syncs->ended, NULL);
}

void brick_syncs_fini(struct brick_syncs *syncs)
{
	(void)pthread_cond_destroy(&syncs->ended);
	(void)pthread_mutex_destroy(&syncs->lock);
}

/* With the lock held, which is let go of meanwhile. */
static void run_sync(struct brick_syncs *syncs)
{
	uint64_t number = ++syncs->n_begun;
	int ret;

	syncs->is_running = true;
	pthread_mutex_unlock(&syncs->lock);
	ret = syncs->sync(syncs->arg);
	if (ret)
		syncs->failed(syncs->arg, ret);
	pthread_mutex_lock(&syncs->lock);
	syncs->is_running = false;
	if (ret)
		syncs->error = ret;
	else
		syncs->n_good = number;
	pthread_cond_broadcast(&syncs->ended);
}

int brick_syncs_wait(struct brick_syncs *syncs)
{
	uint64_t mine;
	int ret;

	pthread_mutex_lock(&syncs->lock);
	/* One that runs may have begun before the caller's last store. */
	mine = syncs->n_begun + 1;
	while (!syncs->error && syncs->n_good < mine) {
		if (syncs->is_running)
			pthread_cond_wait(&syncs->ended, &syncs->lock);
		else
			run_sync(syncs);
	}
	ret = syncs->n_good < mine ? -EIO : 0;
	pthread_mutex_unlock(&syncs->lock);
	return ret;
}
