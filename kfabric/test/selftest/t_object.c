// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: opening, binding, closing: order, references, refusals.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "st.h"

static void st_object_bind(struct st *st, struct fid_ep *ep, struct fid_cq *cq,
			   struct fid_cq *other, struct fid_eq *eq)
{
	CHECK_EQ(st, fi_enable(ep), -FI_ENOCQ,
		 "an endpoint without queues is not enabled");
	CHECK_EQ(st, fi_ep_bind(ep, &cq->fid, 0), -FI_EBADFLAGS,
		 "a queue needs a direction");
	CHECK_EQ(st, fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | BIT_ULL(63)),
		 -FI_EBADFLAGS, "an unknown bind flag is refused");
	CHECK_EQ(st, fi_ep_bind(ep, &other->fid, FI_TRANSMIT), -FI_EDOMAIN,
		 "a queue of another domain is refused");
	CHECK_EQ(st, fi_ep_bind(ep, &ep->domain->fid, 0), -EINVAL,
		 "a domain cannot be bound");
	CHECK_EQ(st, fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), 0,
		 "one queue serves both directions");
	CHECK_EQ(st, fi_ep_bind(ep, &cq->fid, FI_RECV), -EBUSY,
		 "a direction has one queue");
	CHECK_EQ(st, fi_enable(ep), -FI_ENOEQ,
		 "an endpoint without event queue is not enabled");
	CHECK_EQ(st, fi_ep_bind(ep, &eq->fid, 0), 0, "an event queue binds");
	CHECK_EQ(st, fi_ep_bind(ep, &eq->fid, 0), -EBUSY,
		 "there is one event queue");
}

static void st_object_unready(struct st *st, struct fid_ep *ep,
			      struct st_op *op)
{
	u8 byte = 0;

	CHECK_EQ(st, fi_recv(ep, &byte, 1, NULL, 0, &op->ctx), -FI_EOPBADSTATE,
		 "an endpoint that is not enabled takes no receive");
	CHECK_EQ(st, fi_enable(ep), 0, "an endpoint with queues is enabled");
	CHECK_EQ(st, fi_enable(ep), -FI_EOPBADSTATE, "it is enabled once");
	CHECK_EQ(st, fi_ep_state(ep), KFI_EP_ENABLED, "its state says so");
	CHECK_EQ(st, fi_send(ep, &byte, 1, NULL, 0, &op->ctx), -ENOTCONN,
		 "an endpoint without peer does not send");
	CHECK_EQ(st, fi_write(ep, &byte, 1, NULL, 0, 0, 0, &op->ctx), -ENOTCONN,
		 "an endpoint without peer does not write");
	CHECK_EQ(st, fi_shutdown(ep, 0), -ENOTCONN,
		 "an endpoint without peer is not shut down");
}

static void st_object_options(struct st *st, struct fid_ep *ep)
{
	struct fi_space_handler space = {};
	u32 ms = 4321, got = 0;
	size_t size, len;

	CHECK_EQ(st,
		 fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_OP_TIMEOUT_MS, &ms,
			   sizeof(ms)),
		 0, "a time-out can be set");
	len = sizeof(got);
	CHECK_EQ(st,
		 fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_OP_TIMEOUT_MS,
			   &got, &len),
		 0, "a time-out can be read");
	CHECK_EQ(st, got, ms, "it is what was set");
	CHECK_EQ(st,
		 fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_OP_TIMEOUT_MS, &ms,
			   1),
		 -EINVAL, "a value of the wrong size is refused");
	got = 0;
	CHECK_EQ(st,
		 fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_OP_TIMEOUT_MS,
			   &got, sizeof(got)),
		 -EINVAL, "a time-out of 0 is refused");
	len = 1;
	CHECK_EQ(st,
		 fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE,
			   &size, &len),
		 -FI_ETOOSMALL, "too little room for a value is refused");
	CHECK_EQ(st, fi_setopt(&ep->fid, FI_OPT_ENDPOINT, 999, &ms, sizeof(ms)),
		 -ENOSYS, "an unknown option is refused");
	CHECK_EQ(st,
		 fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_SPACE_HANDLER,
			   &space, sizeof(space)),
		 -FI_EOPBADSTATE, "a space handler after enabling is refused");
	CHECK_EQ(st,
		 fi_setopt(&ep->domain->fid, FI_OPT_ENDPOINT,
			   FI_OPT_OP_TIMEOUT_MS, &ms, sizeof(ms)),
		 -EINVAL, "options are for endpoints");
}

static void st_object_close_order(struct st *st, struct fid_ep *ep,
				  struct fid_cq *cq, struct fid_eq *eq)
{
	CHECK_EQ(st, fi_close(&cq->fid), -EBUSY,
		 "a queue that is bound does not close");
	CHECK_EQ(st, fi_close(&eq->fid), -EBUSY,
		 "an event queue that is bound does not close");
	CHECK_EQ(st, fi_close(&st->domain->fid), -EBUSY,
		 "a domain in use does not close");
	CHECK_EQ(st, fi_close(&st->fabric->fid), -EBUSY,
		 "a fabric in use does not close");
	CHECK_EQ(st, fi_close(&ep->fid), 0, "an endpoint closes");
	CHECK_EQ(st, fi_close(&cq->fid), 0, "then its queue closes");
	CHECK_EQ(st, fi_close(&eq->fid), 0, "then its event queue closes");
}

static void st_object_endpoint(struct st *st, struct st_op *op)
{
	struct module *owner = st->fabric->fid.prov->owner;
	struct fid_cq *cq = NULL, *other = NULL;
	struct fid_ep *ep = NULL;
	struct fid_eq *eq = NULL;
	int ret;

	if (!CHECK(st, st_settled(st), "nothing that was closed is left"))
		return;
	ret = fi_cq_open(st->domain, NULL, &cq, NULL);
	ret = ret ?: fi_cq_open(st->target, NULL, &other, NULL);
	ret = ret ?: fi_eq_open(st->fabric, NULL, &eq, NULL);
	ret = ret ?: fi_endpoint(st->domain, st->info, &ep, st);
	if (!CHECK_EQ(st, ret, 0, "queues and an endpoint open"))
		return;
	CHECK(st, ep->fid.context == st, "an object keeps its context");
	CHECK(st, ep->fid.id && ep->fid.id != cq->fid.id,
	      "objects have numbers of their own");
	CHECK_EQ(st, fi_ep_state(ep), KFI_EP_IDLE, "an endpoint begins idle");
	CHECK_EQ(st, module_refcount(owner), ST_OBJECTS + 4,
		 "each object holds the provider's module");
	st_object_bind(st, ep, cq, other, eq);
	st_object_unready(st, ep, op);
	st_object_options(st, ep);
	st_object_close_order(st, ep, cq, eq);
	CHECK_EQ(st, fi_close(&other->fid), 0, "an unused queue closes");
	CHECK(st, st_settled(st),
	      "the provider's module is held as often as before");
}

static void st_object_region(struct st *st, u8 *mem)
{
	const u64 rw = FI_REMOTE_READ | FI_REMOTE_WRITE;
	struct fid_domain *d = st->target;
	struct fid_mr *mr = NULL, *twin = NULL;
	struct fid_mr *bad = NULL;
	int ret;

	CHECK_EQ(st, fi_mr_reg(d, mem, 64, 0, 0, 1, 0, &bad, NULL), -EINVAL,
		 "a region without access is refused");
	CHECK_EQ(st, fi_mr_reg(d, mem, 64, BIT_ULL(63), 0, 1, 0, &bad, NULL),
		 -EINVAL, "unknown access is refused");
	CHECK_EQ(st, fi_mr_reg(d, mem, 0, rw, 0, 1, 0, &bad, NULL), -EINVAL,
		 "an empty region is refused");
	CHECK_EQ(st, fi_mr_reg(d, NULL, 64, rw, 0, 1, 0, &bad, NULL), -EINVAL,
		 "a region without memory is refused");
	CHECK_EQ(st, fi_mr_reg(d, mem, 64, rw, 0, 1, BIT_ULL(63), &bad, NULL),
		 -FI_EBADFLAGS, "an unknown registration flag is refused");
	CHECK_EQ(st, fi_mr_reg(d, mem, 64, rw, 0, 77, 0, &mr, st), 0,
		 "a region registers");
	if (!mr)
		return;
	CHECK_EQ(st, mr->len, 64, "a region knows its length");
	CHECK(st, mr->fid.context == st, "a region keeps its context");
	CHECK_EQ(st, fi_close(&d->fid), -EBUSY,
		 "a domain with a region does not close");
	ret = fi_mr_reg(d, mem, 64, rw, 0, 77, 0, &twin, NULL);
	if (d->mr_mode & FI_MR_PROV_KEY) {
		CHECK_EQ(st, ret, 0, "the same wish gives a second region");
		if (!(d->mr_mode & FI_MR_ENDPOINT))
			CHECK(st, fi_mr_key(mr) != fi_mr_key(twin),
			      "two regions have two keys");
	} else {
		CHECK_EQ(st, fi_mr_key(mr), 77, "the caller's key is taken");
		CHECK_EQ(st, ret, -EEXIST, "a key is used once in a domain");
	}
	if (!ret)
		fi_close(&twin->fid);
	CHECK_EQ(st, fi_close(&mr->fid), 0, "a region closes");
}

/* Whole pages, as registered memory may have to be. */
static void st_object_region_of_ranges(struct st *st)
{
	u8 *mem = (u8 *)__get_free_pages(GFP_KERNEL, 1);
	const struct kvec ranges[] = { { mem + PAGE_SIZE, PAGE_SIZE },
				       { mem, PAGE_SIZE } };
	const struct fi_mr_attr attr = {
		.buf = fi_buf_kvec(ranges, 2, 2 * PAGE_SIZE),
		.access = FI_REMOTE_READ,
		.requested_key = 78,
	};
	struct fid_mr *mr = NULL;

	if (!CHECK(st, mem, "there are two pages"))
		return;
	CHECK_EQ(st, fi_mr_regattr(st->target, &attr, 0, &mr), 0,
		 "several ranges register as one region");
	if (mr) {
		CHECK_EQ(st, mr->len, 2 * PAGE_SIZE, "it is as long as they");
		CHECK_EQ(st, fi_close(&mr->fid), 0, "it closes");
	}
	free_pages((unsigned long)mem, 1);
}

void st_test_object(struct st *st)
{
	struct st_op *op = st_op_new(st);
	u8 *mem = kzalloc(64, GFP_KERNEL);

	if (CHECK(st, op && mem, "there is memory")) {
		st_object_endpoint(st, op);
		st_object_region(st, mem);
		st_object_region_of_ranges(st);
	}
	kfree(mem);
	kfree(op);
}
