// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: many connections one after the other, with or without a load beside
 * them, and two providers at once.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define PARTNER "loop"

/* One message over a pair. */
static int st_cycle_send_message(struct st_pair *p, struct st_op *tx,
				 struct st_op *rx, u8 *mem)
{
	int ret;

	st_op_reset(tx);
	st_op_reset(rx);
	mem[1] = 0;
	ret = fi_recv(p->b, mem + 1, 1, NULL, 0, &rx->ctx);
	ret = ret ?: fi_send(p->a, mem, 1, NULL, 0, &tx->ctx);
	ret = st_op_result(p->acq, tx, ret);
	ret = st_op_result(p->bcq, rx, ret);
	return ret ?: (mem[1] == mem[0] ? 0 : -EBADMSG);
}

/* Connect, use and close again and again; how often that went well. */
static unsigned int st_cycle_connect_often(struct st *st, struct st_load *load)
{
	struct st_op *tx = st_op_new(st), *rx = st_op_new(st);
	u8 *mem = kzalloc(2, GFP_KERNEL);
	unsigned int ok = 0;
	struct st_pair p;
	int ret = 0;

	while (tx && rx && mem && !ret && ok < st_cycles) {
		mem[0] = ok;
		ret = st_pair_open(&p, st, NULL);
		ret = ret ?: st_cycle_send_message(&p, tx, rx, mem);
		st_pair_close(&p);
		cond_resched();
		/* Ten times in all: did the others get on meanwhile? */
		if (!ret && load && ok % (st_cycles / 10 + 1) == 0 &&
		    !st_load_goes_on(load))
			ret = -ETIME;
		ok += !ret;
	}
	kfree(tx);
	kfree(rx);
	kfree(mem);
	return ok;
}

static void st_cycle_connects(struct st *st)
{
	struct st_load *load = NULL;
	unsigned int ok;

	if (!CHECK(st, st_settled(st), "nothing that was closed is left"))
		return;
	if (st_with_load) {
		load = st_load_start(st);
		if (!CHECK(st, load, "a load starts"))
			return;
	}
	ok = st_cycle_connect_often(st, load);
	CHECKF(st, ok == st_cycles,
	       "%u of %u connections come up, carry a message and go%s", ok,
	       st_cycles, load ? " under load" : "");
	if (load)
		st_load_stop(load, st_cycles);
	CHECK(st, st_settled(st),
	      "there are as many objects as before, and holds of the module");
}

/* Pairs of two providers, messages in turn. */
static void st_cycle_two(struct st *st)
{
	struct st *other = kzalloc(sizeof(*other), GFP_KERNEL);
	struct st_op *op[4] = {};
	u8 *mem = kzalloc(4, GFP_KERNEL);
	struct st_pair p, q = {};
	unsigned int i, ok = 0;

	if (!other || !mem)
		goto free;
	other->provider = PARTNER;
	other->node = st->node;
	other->service = "0";
	q.st = other;
	if (st_open(other)) {
		st_tap_line("    # there is no second provider");
		goto close_other;
	}
	for (i = 0; i < 4; i++)
		op[i] = st_op_new(i < 2 ? st : other);
	if (!CHECK_EQ(st, st_pair_open(&p, st, NULL), 0,
		      "a pair of one provider connects"))
		goto close_pairs;
	if (!CHECK_EQ(st, st_pair_open(&q, other, NULL), 0,
		      "beside it one of another provider"))
		goto close_pairs;
	for (i = 0; i < 10; i++) {
		mem[0] = i;
		mem[2] = i + 1;
		ok += !st_cycle_send_message(&p, op[0], op[1], mem) &&
		      !st_cycle_send_message(&q, op[2], op[3], mem + 2);
	}
	CHECK_EQ(st, ok, 10, "both carry messages in turn");
	CHECK_EQ(st, fi_ep_bind(p.a, &q.acq->fid, FI_RECV), -EINVAL,
		 "objects of two providers do not mix");
close_pairs:
	st_pair_close(&p);
	st_pair_close(&q);
close_other:
	st_close(other);
free:
	for (i = 0; i < 4; i++)
		kfree(op[i]);
	kfree(other);
	kfree(mem);
}

void st_test_cycle(struct st *st)
{
	st_cycle_connects(st);
	if (strcmp(st->provider, PARTNER))
		st_cycle_two(st);
}
