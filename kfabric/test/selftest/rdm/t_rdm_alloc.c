// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: unconnected endpoints while somebody else lets allocations fail: each
 * thing works, or says that there is no memory.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define ROUNDS 10
#define KEPT   12 /* messages that wait: more than there are buffers for */
#define BASE   ST_ROOM_BASE
#define KEY    0x5eeda110ULL

/* How often what happened. */
struct st_outcomes {
	int done;
	int no_memory;
	int other; /* the last error that is neither */
};

static bool st_works(struct st_outcomes *o, int ret)
{
	if (!ret)
		o->done++;
	else if (ret == -ENOMEM || ret == FI_ENOMEM)
		o->no_memory++;
	else
		o->other = ret;
	return !ret;
}

static int st_alloc_domain(struct st *st)
{
	struct fid_domain *domain;
	int ret = fi_domain(st->fabric, st->info, &domain, NULL);

	return ret ?: fi_close(&domain->fid);
}

static int st_alloc_sep(struct st *st)
{
	struct st_sep s;
	int ret = st_sep_open(&s, st);

	st_sep_close(&s);
	return ret;
}

/*
 * A message that is awaited, behind those that are not, a write, and an atomic
 * operation.
 */
static int st_alloc_talk(struct st_node *a, struct st_node *b,
			 struct st_room *r, fi_addr_t to_b)
{
	int i, ret;

	st_op_reset(r->rx[0]);
	ret = fi_trecv(b->ep, r->dst, BASE, NULL, FI_ADDR_UNSPEC, 2, 0,
		       &r->rx[0]->ctx);
	for (i = 0; i < KEPT; i++)
		ret = ret ?: fi_tinject(a->ep, r->src, 8, to_b, 1);
	st_op_reset(r->tx[0]);
	ret = ret
		      ?: fi_tsend(a->ep, r->src, 100, NULL, to_b, 2,
				  &r->tx[0]->ctx);
	/* Failed injects come first, and are all of one error. */
	while (!ret && !r->tx[0]->count)
		ret = st_cq_take(a->cq, ST_WAIT_MS, NULL) == 1 ? 0 : -ETIME;
	ret = ret ?: r->tx[0]->entry.err;
	ret = st_op_result(b->cq, r->rx[0], ret);
	st_op_reset(r->tx[1]);
	ret = ret
		      ?: fi_write(a->ep, r->src, 100, NULL, to_b, 0, KEY,
				  &r->tx[1]->ctx);
	ret = st_op_result(a->cq, r->tx[1], ret);
	st_op_reset(r->tx[2]);
	ret = ret
		      ?: fi_fetch_atomic(a->ep, r->src, 8, NULL, r->src + BASE,
					 NULL, to_b, 0, KEY, FI_UINT64, FI_SUM,
					 &r->tx[2]->ctx);
	return st_op_result(a->cq, r->tx[2], ret);
}

/* What rdm has and rds has not. */
static void st_alloc_layer(struct st *st, struct st_node *a, struct st_node *b,
			   struct st_room *r, fi_addr_t to_b,
			   struct st_outcomes *o)
{
	struct fid_mr *mr;

	st_works(o, st_alloc_sep(st));
	if (!st_works(o, fi_mr_reg(st->domain, r->dst, BASE,
				   FI_REMOTE_WRITE | FI_ATOMIC, 0, KEY, 0, &mr,
				   NULL)))
		return;
	st_works(o, st_alloc_talk(a, b, r, to_b));
	fi_close(&mr->fid);
}

static void st_alloc_round(struct st *st, struct st_room *r,
			   struct st_outcomes *o)
{
	struct st_node a = {}, b = {};
	fi_addr_t to_b;

	st_works(o, st_alloc_domain(st));
	if (st_works(o, st_node_open(&a, st, 0, 0)) &&
	    st_works(o, st_node_open(&b, st, 0, 0))) {
		to_b = st_node_knows(&a, &b);
		if (to_b == FI_ADDR_UNSPEC)
			st_works(o, -ENOMEM);
		else if (st_is_rdm_layer(st))
			st_alloc_layer(st, &a, &b, r, to_b, o);
		else
			st_works(o, st_pass(r, &a, &b, to_b, 100));
	}
	st_node_close(&a);
	st_node_close(&b);
}

void st_test_rdm_alloc(struct st *st)
{
	struct st_outcomes o = {};
	struct st_room r = {};
	int i;

	if (st_room_open(&r, st)) {
		for (i = 0; i < ROUNDS; i++)
			st_alloc_round(st, &r, &o);
		CHECK_EQ(st, o.other, 0,
			 "all works, or says that there is no memory");
		CHECKF(st, o.done, "%d worked, %d did not", o.done,
		       o.no_memory);
	}
	st_room_close(&r);
}
