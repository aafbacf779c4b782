// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: operations, and counting their completions.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "st.h"

struct st_op *st_op_new(struct st *st)
{
	size_t size = offsetof(struct st_op, ctx) +
		      st->info->domain_attr->op_context_size;
	struct st_op *op = kzalloc(max(size, sizeof(*op)), GFP_KERNEL);

	if (op)
		init_completion(&op->done);
	return op;
}

void st_op_reset(struct st_op *op)
{
	op->count = 0;
	memset(&op->entry, 0, sizeof(op->entry));
	reinit_completion(&op->done);
}

struct st_op *st_op_of(void *op_context)
{
	return container_of(op_context, struct st_op, ctx);
}

/* Take one completion. Returns 1, or -FI_EAGAIN; *context may be NULL. */
int st_cq_take(struct fid_cq *cq, int timeout_ms, void **context)
{
	struct fi_cq_err_entry e = {};
	struct fi_cq_tagged_entry d = {}; /* the queue's format may be shorter */
	struct st_op *op;
	fi_addr_t src;
	ssize_t n = fi_cq_sreadfrom(cq, &d, 1, &src, NULL, timeout_ms);

	if (n == -FI_EAVAIL) {
		n = fi_cq_readerr(cq, &e, 0);
	} else if (n == 1) {
		e.op_context = d.op_context;
		e.flags = d.flags;
		e.len = d.len;
		e.data = d.data;
		e.tag = d.tag;
		e.src_addr = src;
	}
	if (n != 1)
		return n;
	if (e.op_context) {
		op = st_op_of(e.op_context);
		op->count++;
		op->entry = e;
	}
	if (context)
		*context = e.op_context;
	return 1;
}

bool st_op_wait(struct fid_cq *cq, struct st_op *op)
{
	while (!op->count)
		if (st_cq_take(cq, ST_WAIT_MS, NULL) != 1)
			return false;
	return true;
}

/* The error that an operation ended with, 0, or how its post failed. */
int st_op_result(struct fid_cq *cq, struct st_op *op, ssize_t posted)
{
	if (posted)
		return posted;
	if (!st_op_wait(cq, op))
		return -ETIME;
	return op->entry.err;
}

/* Take all completions that are there or come within the time. */
unsigned int st_cq_drain(struct fid_cq *cq, int timeout_ms)
{
	unsigned int n = 0;

	while (st_cq_take(cq, timeout_ms, NULL) == 1)
		n++;
	return n;
}
