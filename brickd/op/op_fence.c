// SPDX-License-Identifier: BSD-2-Clause
/*
 * FENCE: a client is kept out, or may come back.
 *
 * Keeping out goes in this order, of which nothing may be left out and nothing
 * moved: the file says so, durably; the table does, so that no session of the
 * client begins any more; its sessions are ended as those that an administrator
 * evicts; all of them have ended, and no byte of theirs lands any more; the answer.
 *
 * The file is written for one FENCE after another. Whoever has been fenced meanwhile
 * fences nobody: of two that fence each other one remains. Whoever is ended while it
 * waits for others waits no more: they may wait for it, with a RESERVE.
 */
#include <errno.h>
#include <string.h>

#include "brickd/base/log.h"
#include "brickd/base/util.h"
#include "brickd/net/net.h"
#include "brickd/op/handlers.h"
#include "brickd/op/op.h"
#include "brickd/session/sessions.h"

static struct brick_fences *fences_of(const struct brick_op *op)
{
	return &op->session->all->fences;
}

static bool keeps_out(const struct brick_op *op)
{
	return op->req.u.fence.what == KFB_FENCE_EVICT;
}

/* Its births are those of others, too: its fences are counted. */
static bool is_in_group(const struct brick_op *op)
{
	return op->fenced && *op->fenced->group;
}

/* Is one of the sessions that were to end still ending? Later ones do not count. */
static bool is_ending(struct brick_sessions *all,
		      const struct brick_client *client)
{
	const struct brick_holdings *h = *brick_sessions_holdings(all, client);

	return h && h->n_ending;
}

static void answer_ended(struct brick_op *op)
{
	brick_op_finish(op, KFB_ST_OK);
}

void brick_fences_ended(struct brick_sessions *all,
			const struct brick_client *client)
{
	struct brick_op_list *ending = &all->requests->ending;
	struct brick_op *op, *next;

	if (is_ending(all, client))
		return;
	for (op = TAILQ_FIRST(ending); op; op = next) {
		next = TAILQ_NEXT(op, fence_link);
		if (op->fenced != client)
			continue;
		brick_op_awaited(op);
		brick_op_go_on(op, answer_ended);
	}
}

/* It holds as far as it got; whether all have ended nobody wants to know. */
static void fence_forgotten(struct brick_op *op)
{
	brick_op_finish(op, KFB_ST_SHUTDOWN);
}

static void end_sessions(struct brick_op *op)
{
	struct brick_sessions *all = op->session->all;

	brick_sessions_evict(all, op->req.u.fence.name, KFB_EVICTED_FENCED, 0);
	/* The settings may name it only now. */
	if (!op->fenced)
		op->fenced =
			brick_config_client(all->config, op->req.u.fence.name);
	if (op->fenced && is_ending(all, op->fenced))
		brick_op_await(op, &brick_ops_of(op->session)->ending,
			       fence_forgotten);
	else
		brick_op_finish(op, KFB_ST_OK);
}

static void fence_next(struct brick_ops *ops);

/* The file says what was asked for, or it cannot be said what it says. */
static void fence_written(struct brick_op *op)
{
	struct brick_ops *ops = brick_ops_of(op->session);
	struct brick_ratelimit *lines = op->session->all->net->lines;
	const char *name = op->req.u.fence.name;

	TAILQ_REMOVE(&ops->fencing, op, fence_link);
	if (op->error) {
		brick_fences_failed(fences_of(op), name, keeps_out(op));
		brick_log_limited(&lines[BRICK_LINES_FENCE_ERRORS], LOG_ERR,
				  op->session->who,
				  "client %s is not %s: fences: %s: %s", name,
				  keeps_out(op) ? "fenced" : "admitted",
				  fences_of(op)->path, strerror(-op->error));
		brick_op_finish(op, KFB_ST_IO);
	} else {
		brick_fences_set(fences_of(op), name, keeps_out(op),
				 is_in_group(op));
		brick_log_limited(&lines[BRICK_LINES_FENCES], LOG_NOTICE,
				  op->session->who, "client %s is %s", name,
				  keeps_out(op) ? "fenced: kept out"
						: "admitted again");
		if (keeps_out(op))
			end_sessions(op);
		else
			brick_op_finish(op, KFB_ST_OK);
	}
	fence_next(ops);
}

static void run_write(struct brick_work *work)
{
	struct brick_op *op = brick_container_of(work, struct brick_op, work);

	op->error = brick_fences_write(fences_of(op)->path, op->fences);
}

/* Its turn has come. False: there is nothing to be written for it, and it is out. */
static bool is_to_be_written(struct brick_op *op)
{
	const char *name = op->req.u.fence.name;
	const struct brick_fences *f = fences_of(op);
	bool is_said = keeps_out(op)
			       ? brick_fences_has_surely(f, name)
			       : !brick_fences_has(f, name) && !f->is_unsure;
	int rc = 0;

	/* Its client may have been fenced since, or lost its role. */
	if (brick_op_is_orphan(op) || !op->session->client->is_fencer)
		rc = -EACCES;
	else if (!is_said)
		rc = brick_fences_text(f, name, keeps_out(op), is_in_group(op),
				       &op->fences);
	if (!rc && !is_said)
		return true;
	TAILQ_REMOVE(&brick_ops_of(op->session)->fencing, op, fence_link);
	if (!rc && keeps_out(op))
		end_sessions(op);
	else
		brick_op_finish_errno(op, rc);
	return false;
}

static void fence_next(struct brick_ops *ops)
{
	struct brick_op *op;

	while ((op = TAILQ_FIRST(&ops->fencing)) && !is_to_be_written(op))
		;
	if (op)
		brick_op_submit(op, &fences_of(op)->writer, run_write,
				fence_written);
}

void brick_op_fence(struct brick_op *op)
{
	struct brick_session *s = op->session;
	struct brick_ops *ops = brick_ops_of(s);
	const char *name = op->req.u.fence.name;
	bool is_first;

	op->fenced = brick_config_client(ops->config, name);
	if (!s->client->is_fencer) {
		brick_op_finish(op, KFB_ST_DENIED);
		return;
	}
	if (!fences_of(op)->path) {
		/* The role came with a reload, and the file takes a restart. */
		brick_op_finish(op, KFB_ST_NOT_SUPPORTED);
		return;
	}
	if (op->fenced == s->client && keeps_out(op)) {
		brick_op_finish(op, KFB_ST_INVALID);
		return;
	}
	if (!op->fenced && !brick_fences_has(fences_of(op), name)) {
		brick_op_finish(op, KFB_ST_NOT_FOUND);
		return;
	}
	is_first = TAILQ_EMPTY(&ops->fencing);
	TAILQ_INSERT_TAIL(&ops->fencing, op, fence_link);
	if (is_first)
		fence_next(ops);
}
