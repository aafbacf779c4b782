// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linked over brickd: a brick that has no memory for MAP while the file
 * /tmp/refuse-map is there, nor for UNMAP while /tmp/refuse-unmap is, and whose
 * medium keeps nothing for FLUSH while /tmp/refuse-flush is, or for one FLUSH,
 * which takes /tmp/refuse-one-flush away. It never answers a MAP that comes while
 * /tmp/hold-map is there, nor a FLUSH, while /tmp/hold-flush is, which it does not
 * do then either. With /tmp/die-free there it dies of one FREE, which takes that away,
 * when that is done and before it says so.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "brickd/op/op.h"

void __real_brick_op_finish_errno(struct brick_op *op, int error);
void __wrap_brick_op_finish_errno(struct brick_op *op, int error);
void __real_brick_op_flush(struct brick_op *op);
void __wrap_brick_op_flush(struct brick_op *op);
void __real_brick_op_map(struct brick_op *op);
void __wrap_brick_op_map(struct brick_op *op);
void __real_brick_op_unmap(struct brick_op *op);
void __wrap_brick_op_unmap(struct brick_op *op);

static bool is_asked(const char *to, const char *what)
{
	char file[64];

	snprintf(file, sizeof(file), "/tmp/%s-%s", to, what);
	if (access(file, F_OK))
		return false;
	fprintf(stderr, "%s: %s\n", to, what);
	return true;
}

static bool is_refused(struct brick_op *op, const char *what,
		       enum kfb_status status)
{
	if (!is_asked("refuse", what))
		return false;
	brick_op_finish(op, status);
	return true;
}

void __wrap_brick_op_finish_errno(struct brick_op *op, int error)
{
	if (!error && op->req.op == KFB_OP_FREE && !unlink("/tmp/die-free"))
		(void)raise(SIGKILL);
	__real_brick_op_finish_errno(op, error);
}

void __wrap_brick_op_flush(struct brick_op *op)
{
	if (!unlink("/tmp/refuse-one-flush")) {
		fprintf(stderr, "refuse: one flush\n");
		brick_op_finish(op, KFB_ST_IO);
		return;
	}
	if (!is_asked("hold", "flush") && !is_refused(op, "flush", KFB_ST_IO))
		__real_brick_op_flush(op);
}

void __wrap_brick_op_map(struct brick_op *op)
{
	if (!is_asked("hold", "map") &&
	    !is_refused(op, "map", KFB_ST_NO_MEMORY))
		__real_brick_op_map(op);
}

void __wrap_brick_op_unmap(struct brick_op *op)
{
	if (!is_refused(op, "unmap", KFB_ST_NO_MEMORY))
		__real_brick_op_unmap(op);
}
