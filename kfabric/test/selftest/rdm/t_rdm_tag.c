// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: which receive of an unconnected endpoint a message goes into: by tag, by
 * sender.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define BASE	 ST_ROOM_BASE
#define LONG_LEN (3 * BASE + 100) /* of a message in several pieces */
#define HUGE_LEN (10 * BASE) /* in more pieces than there are buffers for */
#define HUGES	 8 /* of these: more than are kept of one sender */
#define MANY	 17 /* messages: more than there are buffers for */
#define TAG	 0x123456789abcdef0ULL
#define DATA	 0xfedcba9876543210ULL

/* The i-th message, which its length and bytes tell: sent when this returns 0. */
static int st_tag_send(struct st_duo *t, int i, size_t len, u64 tag)
{
	struct st_op *op = t->r.tx[i];
	int ret;

	st_fill(t->r.src + i * BASE, len, i + 1);
	st_op_reset(op);
	ret = fi_tsend(t->a.ep, t->r.src + i * BASE, len, NULL, t->to_b, tag,
		       &op->ctx);
	ret = st_op_result(t->a.cq, op, ret);
	return ret ?: (op->entry.flags == (FI_SEND | FI_TAGGED) ? 0 : -EPROTO);
}

static int st_tag_recv(struct st_duo *t, int i, size_t len, u64 tag, u64 ignore)
{
	st_op_reset(t->r.rx[i]);
	return fi_trecv(t->b.ep, t->r.dst + i * BASE, len, NULL, FI_ADDR_UNSPEC,
			tag, ignore, &t->r.rx[i]->ctx);
}

/* The i-th receive has got the message that was sent as the j-th. */
static bool st_tag_got(struct st_duo *t, int i, int j, size_t len, u64 tag)
{
	struct st_op *op = t->r.rx[i];

	return !st_op_result(t->b.cq, op, 0) && op->entry.len == len &&
	       op->entry.flags == (FI_RECV | FI_TAGGED) &&
	       op->entry.tag == tag && op->entry.src_addr == t->to_a &&
	       st_holds(t->r.dst + i * BASE, len, j + 1);
}

/* ---- tags ---------------------------------------------------------------- */

static void st_tag_infos(struct st *st)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMATS };
	struct fid_cq *cq;

	CHECK(st, st->info->caps & FI_TAGGED, "there are tags");
	CHECK(st,
	      (st->info->tx_attr->caps & FI_TAGGED) &&
		      (st->info->rx_attr->caps & FI_TAGGED),
	      "in both directions");
	CHECK_EQ(st, fi_cq_open(st->domain, &attr, &cq, NULL), -EINVAL,
		 "a queue of an unknown format is refused");
}

static noinline_for_stack void st_tag_posted(struct st *st, struct st_duo *t)
{
	int ret = st_tag_recv(t, 0, BASE, 1, 0);

	ret = ret ?: st_tag_recv(t, 1, BASE, TAG, 0);
	ret = ret ?: st_tag_recv(t, 2, BASE, 0xff00, 0xff);
	ret = ret ?: st_node_recv(&t->b, t->r.rx[3], t->r.dst + 3 * BASE, BASE);
	ret = ret ?: st_tag_send(t, 0, 10, 0xff77);
	ret = ret ?: st_tag_send(t, 1, 20, TAG);
	ret = ret ?: st_tag_send(t, 2, 30, 1);
	CHECK_EQ(st, ret, 0, "messages with tags are sent");
	CHECK(st, st_tag_got(t, 2, 0, 10, 0xff77),
	      "a receive that ignores bits has one that differs there");
	CHECK(st, st_tag_got(t, 1, 1, 20, TAG), "one has its own tag's");
	CHECK(st, st_tag_got(t, 0, 2, 30, 1), "the oldest has the last one");
	CHECK_EQ(st, st_cq_drain(t->b.cq, ST_QUIET_MS), 0,
		 "none goes into a receive without tag");
	ret = st_node_send(&t->a, t->r.tx[3], t->r.src, 40, t->to_b);
	ret = st_op_result(t->a.cq, t->r.tx[3], ret);
	CHECK_EQ(st, st_op_result(t->b.cq, t->r.rx[3], ret), 0,
		 "that gets a message without tag");
	CHECK_EQ(st, t->r.rx[3]->entry.flags, FI_RECV | FI_MSG,
		 "its flags are exact");
}

/* They are sent before there is a receive for them, and pass each other by. */
static noinline_for_stack void st_tag_waiting(struct st *st, struct st_duo *t)
{
	int ret = st_tag_send(t, 0, 10, 1);

	ret = ret ?: st_tag_send(t, 1, 20, 2);
	ret = ret ?: st_tag_send(t, 2, 30, 1);
	ret = ret ?: st_tag_recv(t, 3, BASE, 5, 0);
	ret = ret ?: st_tag_send(t, 3, 40, 5);
	CHECK_EQ(st, ret, 0, "messages are sent before their receives");
	CHECK(st, st_tag_got(t, 3, 3, 40, 5),
	      "one that is awaited passes those that are not");
	CHECK_EQ(st, st_tag_recv(t, 0, BASE, 2, 0), 0, "a receive is posted");
	CHECK(st, st_tag_got(t, 0, 1, 20, 2), "it has its tag's message");
	CHECK_EQ(st, st_tag_recv(t, 0, BASE, 0, ~0ULL), 0,
		 "a receive of any tag is posted");
	CHECK(st, st_tag_got(t, 0, 0, 10, 1), "it has the oldest message");
	CHECK_EQ(st, st_tag_recv(t, 0, BASE, 1, 0), 0,
		 "one of that tag is posted");
	CHECK(st, st_tag_got(t, 0, 2, 30, 1), "it has the next");
	CHECK_EQ(st, st_cq_drain(t->b.cq, ST_QUIET_MS), 0, "that is all");
}

/* A message in several pieces behind one that waits, and one behind its pieces. */
static noinline_for_stack void st_tag_long(struct st *st, struct st_duo *t)
{
	struct st_op *tx = t->r.tx[1];
	int ret = st_tag_send(t, 0, 10, 1);

	st_fill(t->r.src + BASE, LONG_LEN, 2);
	st_op_reset(tx);
	ret = ret ?: st_tag_recv(t, 4, LONG_LEN, 2, 0);
	ret = ret
		      ?: fi_tsend(t->a.ep, t->r.src + BASE, LONG_LEN, NULL,
				  t->to_b, 2, &tx->ctx);
	CHECK_EQ(st, st_op_result(t->a.cq, tx, ret), 0,
		 "a long message is sent behind one that waits");
	CHECK(st, st_tag_got(t, 4, 1, LONG_LEN, 2), "it arrives");
	st_op_reset(tx);
	ret = fi_tsend(t->a.ep, t->r.src + BASE, LONG_LEN, NULL, t->to_b, 2,
		       &tx->ctx);
	CHECK_EQ(st, st_op_result(t->a.cq, tx, ret), 0,
		 "another one is sent, and waits, too");
	CHECK_EQ(st, st_tag_recv(t, 4, LONG_LEN, 2, 0), 0,
		 "its receive is posted");
	CHECK(st, st_tag_got(t, 4, 1, LONG_LEN, 2), "it arrives");
	CHECK_EQ(st, st_tag_recv(t, 4, 6, 1, 0), 0,
		 "a receive is posted for the first, and is too short");
	CHECK_EQ(st, st_op_result(t->b.cq, t->r.rx[4], 0), FI_ETRUNC,
		 "it is told");
	CHECK(st,
	      t->r.rx[4]->entry.len == 6 && t->r.rx[4]->entry.olen == 4 &&
		      t->r.rx[4]->entry.tag == 1,
	      "what is missing, and the tag");
}

/* More than fits into buffers waits, and one that is awaited passes it by. */
static noinline_for_stack void st_tag_many(struct st *st, struct st_duo *t)
{
	struct st_op *tx = t->r.tx[MANY], *rx = t->r.rx[MANY];
	int i, ok = 0, ret = st_tag_recv(t, MANY + 1, BASE, 2, 0);

	for (i = 0; i < MANY; i++)
		ret = ret ?: st_tag_send(t, i, 100 + i, 1);
	st_fill(t->r.src, HUGE_LEN, 99);
	st_op_reset(tx);
	ret = ret
		      ?: fi_tsend(t->a.ep, t->r.src, HUGE_LEN, NULL, t->to_b, 3,
				  &tx->ctx);
	ret = st_op_result(t->a.cq, tx, ret);
	CHECK_EQ(st, ret, 0, "many messages and a long one are sent");
	CHECK_EQ(st, st_tag_send(t, MANY + 1, 10, 2), 0, "another follows");
	CHECK(st, st_tag_got(t, MANY + 1, MANY + 1, 10, 2),
	      "it passes them all by");
	for (i = 0, ret = 0; i < MANY; i++)
		ret = ret ?: st_tag_recv(t, i, BASE, 1, 0);
	for (i = 0; i < MANY && !ret; i++)
		ok += st_tag_got(t, i, i, 100 + i, 1);
	CHECK_EQ(st, ok, MANY, "they arrive in their order");
	st_op_reset(rx);
	ret = fi_trecv(t->b.ep, t->r.dst, HUGE_LEN, NULL, FI_ADDR_UNSPEC, 3, 0,
		       &rx->ctx);
	CHECK_EQ(st, st_op_result(t->b.cq, rx, ret), 0, "the long one does");
	CHECK(st,
	      rx->entry.len == HUGE_LEN && rx->entry.tag == 3 &&
		      st_holds(t->r.dst, HUGE_LEN, 99),
	      "and is whole");
}

/* More than is kept of a sender: the rest waits where it is. */
static noinline_for_stack void st_tag_full(struct st *st, struct st_duo *t)
{
	int i, ok = 0, ret = st_tag_recv(t, HUGES, BASE, 2, 0);

	st_fill(t->r.src, HUGE_LEN, 7);
	for (i = 0; i < HUGES; i++) {
		st_op_reset(t->r.tx[i]);
		ret = ret
			      ?: fi_tsend(t->a.ep, t->r.src, HUGE_LEN, NULL,
					  t->to_b, i + 10, &t->r.tx[i]->ctx);
	}
	CHECK_EQ(st, ret, 0, "more long ones are posted than are kept");
	/* Until the last that is kept is there. */
	ret = st_op_result(t->a.cq, t->r.tx[HUGES - 3], ret);
	for (i = 0; i < HUGES; i++) {
		memset(t->r.dst, 0, HUGE_LEN);
		st_op_reset(t->r.rx[i]);
		ret = ret
			      ?: fi_trecv(t->b.ep, t->r.dst, HUGE_LEN, NULL,
					  t->to_a, i + 10, 0, &t->r.rx[i]->ctx);
		ok += !st_op_result(t->b.cq, t->r.rx[i], ret) &&
		      st_holds(t->r.dst, HUGE_LEN, 7);
		ok += !st_op_result(t->a.cq, t->r.tx[i], ret);
	}
	CHECK_EQ(st, ok, 2 * HUGES, "all arrive");
	CHECK_EQ(st, fi_cancel(&t->b.ep->fid, &t->r.rx[HUGES]->ctx), 0,
		 "the receive that nobody sends to is canceled");
	CHECK_EQ(st, st_op_result(t->b.cq, t->r.rx[HUGES], 0), ECANCELED,
		 "it completes so");
}

/* What was kept outlives its connection; what had half come does not. */
static noinline_for_stack void st_tag_outlive(struct st *st, struct st_duo *t)
{
	struct st_node c = {};
	struct st_room *r = &t->r;
	int i, ok = 0, ret = st_node_open(&c, st, 0, 0);
	fi_addr_t to_b = ret ? 0 : st_node_knows(&c, &t->b);

	ret = ret ?: st_tag_recv(t, MANY, BASE, 2, 0);
	for (i = 0; i < MANY; i++) {
		st_op_reset(r->tx[i]);
		ret = ret
			      ?: fi_tsend(c.ep, r->src, 100 + i, NULL, to_b, 1,
					  &r->tx[i]->ctx);
		ret = st_op_result(c.cq, r->tx[i], ret);
	}
	st_node_close(&c);
	CHECK_EQ(st, ret, 0, "many messages are sent, and their sender goes");
	for (i = 0; i < MANY && !ret; i++) {
		ret = st_tag_recv(t, i, BASE, 1, 0);
		ok += !st_op_result(t->b.cq, r->rx[i], ret) &&
		      r->rx[i]->entry.len == 100 + i;
	}
	CHECK_EQ(st, ok, MANY, "they arrive when it is gone");
	ret = fi_cancel(&t->b.ep->fid, &r->rx[MANY]->ctx);
	CHECK_EQ(st, st_op_result(t->b.cq, r->rx[MANY], ret), ECANCELED,
		 "the receive of none of them is canceled");
}

static noinline_for_stack void st_tag_forms(struct st *st, struct st_duo *t)
{
	const u64 flags = FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA;
	struct kvec out[2] = { { t->r.src, 50 }, { t->r.src + 100, 30 } };
	struct kvec in[2] = { { t->r.dst, 10 }, { t->r.dst + 20, 70 } };
	struct st_op *rx = t->r.rx[0], *tx = t->r.tx[0];
	int ret = st_tag_recv(t, 0, BASE, TAG, 0);

	st_op_reset(tx);
	ret = ret
		      ?: fi_tsenddata(t->a.ep, t->r.src, 10, NULL, DATA,
				      t->to_b, TAG, &tx->ctx);
	ret = st_op_result(t->a.cq, tx, ret);
	CHECK_EQ(st, st_op_result(t->b.cq, rx, ret), 0,
		 "a message with tag and data arrives");
	CHECK(st,
	      rx->entry.flags == flags && rx->entry.data == DATA &&
		      rx->entry.tag == TAG,
	      "with both, and exact flags");
	ret = st_tag_recv(t, 0, BASE, TAG, 0);
	ret = ret ?: fi_tinjectdata(t->a.ep, t->r.src, 20, DATA, t->to_b, TAG);
	CHECK_EQ(st, st_op_result(t->b.cq, rx, ret), 0,
		 "one that is injected arrives");
	CHECK(st,
	      rx->entry.flags == flags && rx->entry.data == DATA &&
		      rx->entry.tag == TAG && rx->entry.len == 20,
	      "with both as well");
	ret = st_tag_recv(t, 0, BASE, TAG, 0);
	ret = ret ?: fi_tinject(t->a.ep, t->r.src, 30, t->to_b, TAG);
	CHECK_EQ(st, st_op_result(t->b.cq, rx, ret), 0,
		 "one without data arrives");
	CHECK(st, rx->entry.flags == (FI_RECV | FI_TAGGED) && !rx->entry.data,
	      "without it");
	CHECK_EQ(st, st_cq_drain(t->a.cq, ST_QUIET_MS), 0,
		 "an inject has no completion");
	st_fill(t->r.src, 130, 9);
	st_op_reset(rx);
	st_op_reset(tx);
	ret = fi_trecvv(t->b.ep, in, NULL, 2, FI_ADDR_UNSPEC, TAG, 0, &rx->ctx);
	ret = ret ?: fi_tsendv(t->a.ep, out, NULL, 2, t->to_b, TAG, &tx->ctx);
	ret = st_op_result(t->a.cq, tx, ret);
	CHECK_EQ(st, st_op_result(t->b.cq, rx, ret), 0,
		 "one of ranges arrives");
	CHECK(st,
	      rx->entry.len == 80 && !memcmp(t->r.dst, t->r.src, 10) &&
		      !memcmp(t->r.dst + 20, t->r.src + 10, 40) &&
		      !memcmp(t->r.dst + 60, t->r.src + 100, 30),
	      "in ranges");
}

static noinline_for_stack void st_tag_cancel(struct st *st, struct st_duo *t)
{
	int ret = st_tag_recv(t, 0, BASE, TAG, 1);

	memset(t->r.dst, 0, BASE);
	ret = ret ?: st_tag_recv(t, 1, BASE, TAG, 0);
	CHECK_EQ(st, ret ?: fi_cancel(&t->b.ep->fid, &t->r.rx[0]->ctx), 0,
		 "a receive with a tag is canceled");
	CHECK_EQ(st, st_op_result(t->b.cq, t->r.rx[0], 0), ECANCELED,
		 "it completes so");
	CHECK(st,
	      t->r.rx[0]->entry.flags == (FI_RECV | FI_TAGGED) &&
		      t->r.rx[0]->entry.tag == TAG,
	      "with exact flags, and its tag");
	CHECK_EQ(st, st_tag_send(t, 0, 100, TAG), 0, "a message is sent");
	CHECK(st, st_tag_got(t, 1, 0, 100, TAG), "it has the next receive");
	CHECK(st, !memchr_inv(t->r.dst, 0, BASE),
	      "no byte is in the canceled one");
	CHECK_EQ(st, fi_cancel(&t->b.ep->fid, &t->r.rx[1]->ctx), -ENOENT,
		 "what is over is not canceled");
}

static noinline_for_stack void st_tag_refused(struct st *st, struct st_duo *t)
{
	struct fi_msg_tagged msg = { .buf = fi_buf_linear(t->r.src, 10),
				     .addr = t->to_b,
				     .tag = TAG,
				     .context = &t->r.tx[0]->ctx };

	CHECK_EQ(st, fi_tsendmsg(t->a.ep, &msg, BIT_ULL(50)), -FI_EBADFLAGS,
		 "an unknown flag of a send is refused");
	CHECK_EQ(st, fi_trecvmsg(t->a.ep, &msg, BIT_ULL(50)), -FI_EBADFLAGS,
		 "an unknown flag of a receive is refused");
	msg.context = NULL;
	CHECK_EQ(st, fi_tsendmsg(t->a.ep, &msg, 0), -EINVAL,
		 "a send without memory is refused");
	CHECK_EQ(st, fi_trecvmsg(t->a.ep, &msg, 0), -EINVAL,
		 "a receive without memory is refused");
	CHECK_EQ(st, fi_tinject(t->a.ep, t->r.src, 65, t->to_b, TAG), -EMSGSIZE,
		 "a message that is too long is not injected");
	CHECK_EQ(st, fi_tinject(t->a.ep, t->r.src, 1, FI_ADDR_UNSPEC, TAG),
		 -EINVAL, "a message to nobody is refused");
	CHECK_EQ(st, st_cq_drain(t->a.cq, ST_QUIET_MS), 0,
		 "what was refused has no completion");
}

void st_test_rdm_tag(struct st *st)
{
	struct st_duo *t = kzalloc(sizeof(*t), GFP_KERNEL);

	st_tag_infos(st);
	if (t && st_duo_open(t, st)) {
		st_tag_posted(st, t);
		st_tag_waiting(st, t);
		st_tag_long(st, t);
		st_tag_many(st, t);
		st_tag_full(st, t);
		st_tag_outlive(st, t);
		st_tag_forms(st, t);
		st_tag_cancel(st, t);
		st_tag_refused(st, t);
	}
	if (t)
		st_duo_close(t);
	kfree(t);
}

/* ---- senders --------------------------------------------------------------- */

static noinline_for_stack void st_directed_two(struct st *st, struct st_duo *t,
					       struct st_node *c)
{
	fi_addr_t from_c = st_node_knows(&t->b, c);
	struct st_room *r = &t->r;
	int i, ret;

	for (i = 0; i < 4; i++)
		st_op_reset(r->rx[i]);
	ret = fi_recv(t->b.ep, r->dst, BASE, NULL, from_c, &r->rx[0]->ctx);
	ret = ret
		      ?: fi_recv(t->b.ep, r->dst + BASE, BASE, NULL,
				 FI_ADDR_UNSPEC, &r->rx[1]->ctx);
	ret = ret
		      ?: fi_trecv(t->b.ep, r->dst + 2 * BASE, BASE, NULL,
				  from_c, TAG, 0, &r->rx[2]->ctx);
	ret = ret
		      ?: fi_trecv(t->b.ep, r->dst + 3 * BASE, BASE, NULL,
				  t->to_a, TAG, 0, &r->rx[3]->ctx);
	ret = ret ?: st_node_send(&t->a, r->tx[0], r->src, 10, t->to_b);
	ret = st_op_result(t->a.cq, r->tx[0], ret);
	ret = ret ?: st_tag_send(t, 3, 40, TAG);
	CHECK_EQ(st, st_op_result(t->b.cq, r->rx[1], ret), 0,
		 "a message passes a receive that is for another");
	CHECK(st, st_tag_got(t, 3, 3, 40, TAG), "one with a tag does, too");
	ret = st_node_send(c, r->tx[1], r->src, 20, st_node_knows(c, &t->b));
	ret = st_op_result(c->cq, r->tx[1], ret);
	CHECK_EQ(st, st_op_result(t->b.cq, r->rx[0], ret), 0,
		 "the receive has the message of whom it is for");
	CHECK(st,
	      r->rx[0]->entry.src_addr == from_c && r->rx[0]->entry.len == 20,
	      "and of nobody else");
	ret = fi_tinject(c->ep, r->src, 30, st_node_knows(c, &t->b), TAG);
	CHECK_EQ(st, st_op_result(t->b.cq, r->rx[2], ret), 0,
		 "so has the one with a tag");
}

static noinline_for_stack void st_directed_rules(struct st *st,
						 struct st_duo *t)
{
	struct st_room *r = &t->r;
	fi_addr_t again;
	int ret;

	st_op_reset(r->rx[0]);
	CHECK_EQ(st,
		 fi_recv(t->b.ep, r->dst, BASE, NULL, 12345, &r->rx[0]->ctx),
		 -EINVAL, "a receive from a number that is none is refused");
	CHECK_EQ(st,
		 fi_trecv(t->b.ep, r->dst, BASE, NULL, 12345, TAG, 0,
			  &r->rx[0]->ctx),
		 -EINVAL, "so is one with a tag");
	CHECK_EQ(st,
		 fi_recv(t->b.ep, r->dst, BASE, NULL, t->to_a, &r->rx[0]->ctx),
		 0, "a receive names a sender");
	fi_av_remove(t->b.av, &t->to_a, 1, 0);
	ret = st_node_send(&t->a, r->tx[0], r->src, 10, t->to_b);
	ret = st_op_result(t->a.cq, r->tx[0], ret);
	CHECK_EQ(st, st_op_result(t->b.cq, r->rx[0], ret), 0,
		 "it has the message, although the number is gone");
	again = st_node_knows(&t->b, &t->a);
	CHECK(st, again != t->to_a, "the sender has another number then");
	t->to_a = again;
}

/* Who does not ask for it names senders without effect. */
static noinline_for_stack void st_directed_not(struct st *st, struct st_duo *t)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	struct st_room *r = &t->r;
	struct st_node c = { .st = st };
	int ret;

	if (!hints)
		return;
	hints->caps = FI_MSG;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = kstrdup(st->provider, GFP_KERNEL);
	ret = fi_getinfo(FI_VERSION(1, 0), st->node, "0", FI_SOURCE, hints,
			 &info);
	fi_freeinfo(hints);
	if (!CHECK_EQ(st, ret, 0, "there are infos for messages"))
		return;
	CHECK_EQ(st, (info->caps | info->rx_attr->caps) & FI_DIRECTED_RECV, 0,
		 "they have no directed receives");
	ret = fi_cq_open(st->domain, NULL, &c.cq, NULL);
	ret = ret ?: fi_av_open(st->domain, NULL, &c.av, NULL);
	ret = ret ?: fi_endpoint(st->domain, info, &c.ep, NULL);
	fi_freeinfo(info);
	ret = ret ?: fi_ep_bind(c.ep, &c.cq->fid, FI_TRANSMIT | FI_RECV);
	ret = ret ?: fi_ep_bind(c.ep, &c.av->fid, 0);
	ret = ret ?: fi_enable(c.ep);
	c.name_len = sizeof(c.name);
	ret = ret ?: fi_getname(&c.ep->fid, &c.name, &c.name_len);
	st_op_reset(r->rx[0]);
	ret = ret ?: fi_recv(c.ep, r->dst, BASE, NULL, 12345, &r->rx[0]->ctx);
	ret = ret
		      ?: st_node_send(&t->a, r->tx[0], r->src, 10,
				      st_node_knows(&t->a, &c));
	ret = st_op_result(t->a.cq, r->tx[0], ret);
	CHECK_EQ(st, st_op_result(c.cq, r->rx[0], ret), 0,
		 "there a receive is for anybody, whatever it names");
	st_node_close(&c);
}

void st_test_rdm_directed(struct st *st)
{
	struct st_duo *t = kzalloc(sizeof(*t), GFP_KERNEL);
	struct st_node c = {};

	CHECK(st, st->info->caps & FI_DIRECTED_RECV, "receives name senders");
	if (t && st_duo_open(t, st) &&
	    CHECK_EQ(st, st_node_open(&c, st, 0, 0), 0,
		     "a third endpoint opens")) {
		st_directed_two(st, t, &c);
		st_directed_rules(st, t);
		st_directed_not(st, t);
	}
	st_node_close(&c);
	if (t)
		st_duo_close(t);
	kfree(t);
}
