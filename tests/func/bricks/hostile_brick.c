// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: a brick that has bad intentions. While the file
 * /tmp/list-without-end is there its lists make almost no progress: the cursor
 * rises by a byte, or with a word in the file, by a block. While
 * /tmp/events-without-end is there it answers each request with the news of a
 * lost block besides, and a client that acknowledges asks again.
 */
#include <stdio.h>
#include <unistd.h>

#include "brickd/session/event.h"
#include "brickd/op/op.h"
#include "brickd/session/session.h"

void __real_brick_op_list(struct brick_op *op);
void __wrap_brick_op_list(struct brick_op *op);
void __real_brick_events_noted(struct brick_session *session,
			       const struct kfb_request *req);
void __wrap_brick_events_noted(struct brick_session *session,
			       const struct kfb_request *req);

static const char list_file[] = "/tmp/list-without-end";
static const char event_file[] = "/tmp/events-without-end";

/* The step of the cursor; 0: lists are as they should be. */
static uint64_t list_step(void)
{
	FILE *file = fopen(list_file, "r");
	uint64_t step;

	if (!file)
		return 0;
	step = fgetc(file) == EOF ? 1 : KFB_BLOCK_BYTES;
	fclose(file);
	return step;
}

void __wrap_brick_op_list(struct brick_op *op)
{
	uint64_t step = list_step();

	if (!step || op->req.u.list.what != KFB_LIST_ALLOCATED) {
		__real_brick_op_list(op);
		return;
	}
	fprintf(stderr, "list: 0x%llx\n",
		(unsigned long long)op->req.u.list.cursor);
	op->reply.u.list.cursor = op->req.u.list.cursor + step;
	brick_op_finish(op, KFB_ST_OK);
}

void __wrap_brick_events_noted(struct brick_session *session,
			       const struct kfb_request *req)
{
	static uint64_t n_sent;

	__real_brick_events_noted(session, req);
	if (access(event_file, F_OK))
		return;
	session->events.losses.now =
		(struct brick_span){ .first = n_sent, .end = n_sent + 1 };
	session->events.sent[KFB_EVENT_MEDIA_ERROR] = 0;
	if (brick_event_raise(session, KFB_EVENT_MEDIA_ERROR))
		fprintf(stderr, "event: %llu\n", (unsigned long long)++n_sent);
}
