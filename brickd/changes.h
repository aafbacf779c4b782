/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of the store on their way through the store thread, which takes all
 * that wait in one commit.
 *
 * Context: the loop thread; between submit and done() the changes are the
 * store thread's.
 */
#ifndef BRICKD_CHANGES_H
#define BRICKD_CHANGES_H

#include <stddef.h>

#include "brickd/store/store.h"
#include "brickd/work.h"

struct brick_server;

/*
 * struct brick_changes - some changes; embedded in whoever wants them
 * @work: its done() is called in the loop thread, with each change's result
 * @n: in @list
 * @list: in order; they do not depend on each other
 */
struct brick_changes {
	struct brick_work work;
	size_t n;
	struct brick_store_op *list;
};

/* Hands them over; work.done, n and list are set. */
void brick_changes_submit(struct brick_server *server,
			  struct brick_changes *changes);

/* What the store thread runs. */
void brick_store_thread_run(struct brick_worker *worker,
			    struct brick_work_list *batch);

#endif
