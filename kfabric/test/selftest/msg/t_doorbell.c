// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: a write waits for its doorbell (FI_MORE), the endpoint stops, and then the
 * doorbell comes: the write was never sent, and its end says so.
 *
 * The case kfabric-verbs-doorbell holds the stop before it ends what is left, and has the
 * device's completion be late.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define LEN 4096

/* The line says when the stop may be held, and when it may go on. */
static void st_doorbell_ring(struct st *st, struct st_pair *p, struct st_op *op,
			     ssize_t posted)
{
	CHECK_EQ(st, posted, 0, "a write waits for its doorbell");
	CHECK_EQ(st, fi_shutdown(p->a, 0), 0, "the connection ends");
	st_tap_line("    # now the stop may be held");
	CHECK_EQ(st, ST_UNTIL(READ_ONCE(st_go)), 0, "the endpoint stops");
	fi_submit(p->a);
	st_tap_line("    # now the stop may go on");
	CHECK_EQ(st, st_op_result(p->acq, op, posted), ECANCELED,
		 "the write was not sent");
}

void st_test_doorbell(struct st *st)
{
	struct st_op *op = st_op_new(st);
	u8 *src = kzalloc(LEN, GFP_KERNEL), *dst = kzalloc(LEN, GFP_KERNEL);
	struct fi_buf buf = fi_buf_linear(dst, LEN);
	struct fi_rma_iov iov = { .len = LEN };
	struct fi_msg_rma m = { .buf = fi_buf_linear(src, LEN),
				.rma_iov = &iov,
				.rma_iov_count = 1 };
	struct fid_mr *mr = NULL;
	struct st_pair p = {};

	if (!CHECK(st, op && src && dst, "there is memory to write") ||
	    !CHECK_EQ(st, st_pair_open(&p, st, NULL), 0, "a pair connects") ||
	    !CHECK_EQ(st,
		      st_mr_open(&p, &buf, FI_REMOTE_READ | FI_REMOTE_WRITE,
				 &mr),
		      0, "a region opens"))
		goto close;
	memset(src, 0x11, LEN);
	iov.addr = st_mr_addr(mr, 0);
	iov.key = fi_mr_key(mr);
	m.context = &op->ctx;
	st_doorbell_ring(st, &p, op,
			 fi_writemsg(p.a, &m, FI_MORE | FI_COMPLETION));
	CHECK_EQ(st, st_cq_drain(p.acq, ST_QUIET_MS), 0, "that is told once");
	CHECK(st, !memchr_inv(dst, 0, LEN), "nothing was written");
close:
	if (mr)
		fi_close(&mr->fid);
	st_pair_close(&p);
	kfree(op);
	kfree(src);
	kfree(dst);
}
