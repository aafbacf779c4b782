// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: datagram endpoints: what they promise, which is little, and how they say
 * what they cannot do. What they have in common with other unconnected endpoints has
 * its tests in t_rdm*.c.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define MANY	 100 /* datagrams that have no receive */
#define MANY_LEN 60000 /* of one: together more than a socket keeps */
#define UD_QUEUE \
	16 /* operations of each direction, where these are the limit */
#define KEPT_MS	 300 /* until what is there has come */
#define SHORT_MS 300 /* time-out of what is to end by it */
#define WAITING	 3 /* sends that the socket has no room for */
#define LATER	 4 /* and that may wait for less */

/* ---- what there is ------------------------------------------------------------ */

static void st_dgram_infos(struct st *st)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	if (!hints)
		return;
	hints->ep_attr->type = FI_EP_DGRAM;
	if (CHECK_EQ(st,
		     fi_getinfo(FI_VERSION(1, 0), NULL, NULL, 0, hints, &info),
		     0, "who asks for datagrams is answered")) {
		CHECK(st, info->ep_attr->type == FI_EP_DGRAM,
		      "with endpoints for them");
		fi_freeinfo(info);
	}
	hints->fabric_attr->prov_name = kstrdup(st->provider, GFP_KERNEL);
	hints->ep_attr->type = FI_EP_RDM;
	CHECK_EQ(st, fi_getinfo(FI_VERSION(1, 0), NULL, NULL, 0, hints, &info),
		 -ENODATA, "who asks for reliable ones finds none");
	fi_freeinfo(hints);
}

/* ---- lengths and addresses ------------------------------------------------------ */

static void st_dgram_longest(struct st *st, struct st_duo *d, u8 *src, u8 *dst)
{
	size_t max = st->info->ep_attr->max_msg_size;
	struct st_op *tx = d->r.tx[0], *rx = d->r.rx[0];
	int ret;

	st_fill(src, max, 9);
	ret = st_node_recv(&d->b, rx, dst, max);
	ret = ret ?: st_node_send(&d->a, tx, src, max, d->to_b);
	ret = st_op_result(d->a.cq, tx, ret);
	CHECKF(st,
	       !st_op_result(d->b.cq, rx, ret) && rx->entry.len == max &&
		       st_holds(dst, max, 9),
	       "a message of %zu bytes arrives", max);
	CHECK_EQ(st, st_node_send(&d->a, tx, src, max + 1, d->to_b), -EMSGSIZE,
		 "one that is longer is refused");
	CHECK_EQ(st, st_node_recv(&d->b, rx, dst, max + 1), -EMSGSIZE,
		 "so is a receive");
}

static void st_dgram_family(struct st *st, struct st_duo *d)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = cpu_to_be16(7),
				  .sin_addr.s_addr = cpu_to_be32(0x7f000001) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = cpu_to_be16(7),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const void *other = d->a.name.sin6_family == AF_INET6
				    ? (const void *)&v4
				    : (const void *)&v6;
	fi_addr_t addr = FI_ADDR_UNSPEC;

	fi_av_insert(d->a.av, other, 1, &addr, 0, NULL);
	CHECK_EQ(st, st_node_send(&d->a, d->r.tx[0], d->r.src, 10, addr),
		 -EINVAL, "a message to the other family is refused");
}

static void st_dgram_nobody(struct st *st, struct st_duo *d)
{
	struct st_node gone = {};
	int want = st_is_ud(st) ? EHOSTUNREACH : 0;
	fi_addr_t nobody;
	int i, ok = 0;

	if (!CHECK_EQ(st, st_node_open(&gone, st, 0, 0), 0,
		      "an endpoint opens"))
		return;
	nobody = st_node_knows(&d->a, &gone);
	st_node_close(&gone);
	for (i = 0; i < 3; i++)
		ok += st_op_result(d->a.cq, d->r.tx[i],
				   st_node_send(&d->a, d->r.tx[i], d->r.src, 10,
						nobody)) == want;
	CHECK_EQ(st, ok, 3,
		 "messages to nobody are sent, unless it is noticed");
	CHECK_EQ(st, st_pass(&d->r, &d->a, &d->b, d->to_b, 10), 0,
		 "one to somebody arrives behind them");
}

/* ---- what there is no room for ----------------------------------------------------- */

/* Bytes of one of many. */
static size_t st_many_len(const struct st *st)
{
	return min_t(size_t, MANY_LEN, st_longest(st));
}

/* The next datagram; its length, or a negative number: there is none, or not as sent. */
static int st_dgram_next(struct st_node *n, struct st_op *rx, u8 *dst, int ms)
{
	int ret = st_node_recv(n, rx, dst, st_many_len(n->st));

	if (ret)
		return ret;
	if (st_cq_take(n->cq, ms, NULL) != 1) {
		ret = fi_cancel(&n->ep->fid, &rx->ctx);
		/* It has come just now, else. */
		if (!st_op_wait(n->cq, rx) || !ret)
			return -ETIME;
	}
	return rx->entry.err ? -rx->entry.err : (int)rx->entry.len;
}

/* What is there, up to a short message that is sent behind it. */
static int st_dgram_count_kept(struct st *st, struct st_duo *d, u8 *dst)
{
	const int many = st_many_len(st);
	int kept = 0, whole = 0, len, ret;

	while ((len = st_dgram_next(&d->b, d->r.rx[0], dst, KEPT_MS)) > 0) {
		kept++;
		whole += len == many && st_holds(dst, many, dst[0]);
	}
	ret = st_node_send(&d->a, d->r.tx[0], d->r.src, 10, d->to_b);
	CHECK_EQ(st, st_op_result(d->a.cq, d->r.tx[0], ret), 0,
		 "another one is sent");
	/* On a busy machine some come only now. */
	while ((len = st_dgram_next(&d->b, d->r.rx[0], dst, ST_WAIT_MS)) > 10) {
		kept++;
		whole += len == many && st_holds(dst, many, dst[0]);
	}
	CHECK_EQ(st, len, 10, "it arrives");
	CHECK_EQ(st, whole, kept, "those that were kept are whole");
	return kept;
}

static void st_dgram_drops(struct st *st, struct st_duo *d, u8 *src, u8 *dst)
{
	const size_t len = st_many_len(st);
	int i, sent = 0, kept, ret;

	for (i = 0; i < MANY; i++) {
		st_fill(src, len, i + 1);
		ret = st_node_send(&d->a, d->r.tx[0], src, len, d->to_b);
		sent += !st_op_result(d->a.cq, d->r.tx[0], ret);
	}
	CHECK_EQ(st, sent, MANY, "messages without a receive are sent");
	kept = st_dgram_count_kept(st, d, dst);
	CHECKF(st, kept && kept < MANY, "%d were kept, the others dropped",
	       kept);
}

void st_test_dgram(struct st *st)
{
	u8 *src = kvzalloc(ST_ARENA_LEN, GFP_KERNEL);
	u8 *dst = kvzalloc(ST_ARENA_LEN, GFP_KERNEL);
	struct st_duo *d = kzalloc(sizeof(*d), GFP_KERNEL);

	st_dgram_infos(st);
	/* A queue pair keeps as many as receives may be posted. */
	if (st_is_ud(st))
		st->queue_size = UD_QUEUE;
	if (CHECK(st, src && dst && d, "there is memory")) {
		if (st_duo_open(d, st)) {
			st_dgram_longest(st, d, src, dst);
			st_dgram_family(st, d);
			st_dgram_nobody(st, d);
			st_dgram_drops(st, d, src, dst);
		}
		st_duo_close(d);
	}
	st->queue_size = 0;
	kfree(d);
	kvfree(src);
	kvfree(dst);
}

/* ---- a socket without room --------------------------------------------------------- */

/* Not while the engine tries it. */
static int st_dgram_cancel(struct st_node *n, struct st_op *op)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	int ret;

	do {
		ret = fi_cancel(&n->ep->fid, &op->ctx);
	} while (ret == -ENOENT && !op->count && time_before(jiffies, end));
	return ret;
}

/* Somebody else has every send told that there is no room. */
void st_test_dgram_full(struct st *st)
{
	struct st_op **tx;
	struct st_duo *d = kzalloc(sizeof(*d), GFP_KERNEL);
	u32 ms = SHORT_MS;
	int i, late = 0, ret = 0;

	if (!d)
		return;
	if (!st_duo_open(d, st))
		goto out;
	tx = d->r.tx;
	for (i = 0; i < WAITING; i++)
		ret = ret ?: st_node_send(&d->a, tx[i], d->r.src, 10, d->to_b);
	CHECK_EQ(st, ret, 0, "messages are posted that there is no room for");
	CHECK_EQ(st, st_cq_drain(d->a.cq, ST_QUIET_MS), 0, "they wait");
	CHECK_EQ(st, st_dgram_cancel(&d->a, tx[1]), 0, "one is canceled");
	CHECK_EQ(st, st_op_result(d->a.cq, tx[1], 0), ECANCELED, "it ends so");
	CHECK_EQ(st,
		 fi_setopt(&d->a.ep->fid, FI_OPT_ENDPOINT, FI_OPT_OP_TIMEOUT_MS,
			   &ms, sizeof(ms)),
		 0, "others may fail soon");
	for (i = WAITING; i < WAITING + LATER; i++)
		ret = ret ?: st_node_send(&d->a, tx[i], d->r.src, 10, d->to_b);
	CHECK_EQ(st, ret, 0, "more are posted");
	for (i = WAITING; i < WAITING + LATER; i++)
		late += st_op_result(d->a.cq, tx[i], 0) == FI_ENOBUFS;
	CHECK_EQ(st, late, LATER, "they end for want of room");
	CHECK_EQ(st, tx[0]->count + tx[2]->count, 0,
		 "those that may wait for longer still do, before them");
	ret = st_dgram_cancel(&d->a, tx[0]);
	ret = ret ?: st_dgram_cancel(&d->a, tx[2]);
	CHECK_EQ(st, ret, 0, "these are canceled");
	CHECK_EQ(st, st_op_result(d->a.cq, tx[0], 0), ECANCELED, "and end");
	CHECK_EQ(st, st_op_result(d->a.cq, tx[2], 0), ECANCELED, "both");
out:
	st_duo_close(d);
	kfree(d);
}

/* ---- a host that is not there ------------------------------------------------------ */

/* An address so far behind the node's own: nobody has it. */
fi_addr_t st_dgram_absent(const struct st_node *n, u8 behind)
{
	struct sockaddr_in6 name = n->name;
	fi_addr_t addr = FI_ADDR_UNSPEC;

	if (name.sin6_family == AF_INET6)
		name.sin6_addr.s6_addr[15] += behind;
	else
		((u8 *)&((struct sockaddr_in *)&name)->sin_addr)[3] += behind;
	fi_av_insert(n->av, &name, 1, &addr, 0, NULL);
	return addr;
}

/* As many as there is room for wait for an answer, and end when none comes. */
static void st_dgram_wait_all(struct st *st, struct st_duo *d, fi_addr_t absent)
{
	int i, ended = 0, ret = 0;

	for (i = 0; i < UD_QUEUE; i++)
		ret = ret
			      ?: st_node_send(&d->a, d->r.tx[i], d->r.src, 10,
					      absent);
	CHECK_EQ(st, ret, 0, "a queue of messages to a host that is not there");
	CHECK_EQ(st,
		 st_node_send(&d->a, d->r.tx[UD_QUEUE], d->r.src, 10, absent),
		 -FI_EAGAIN, "is full");
	for (i = 0; i < UD_QUEUE; i++)
		ended += st_op_result(d->a.cq, d->r.tx[i], 0) == EHOSTUNREACH &&
			 d->r.tx[i]->entry.prov_errno == -ETIMEDOUT &&
			 d->r.tx[i]->count == 1;
	CHECK_EQ(st, ended, UD_QUEUE, "each ends once, when none answers");
}

void st_test_dgram_absent(struct st *st)
{
	struct st_duo *d = kzalloc(sizeof(*d), GFP_KERNEL);
	fi_addr_t absent;

	if (!d)
		return;
	st->queue_size = UD_QUEUE;
	if (!st_duo_open(d, st))
		goto out;
	absent = st_dgram_absent(&d->a, 1);
	CHECK_EQ(st, st_node_send(&d->a, d->r.tx[2], d->r.src, 10, absent), 0,
		 "a message to a host that is not there is posted");
	CHECK_EQ(st, st_pass(&d->r, &d->b, &d->a, d->to_a, 10), 0,
		 "meanwhile others arrive");
	CHECK_EQ(st, st_node_send(&d->a, d->r.tx[3], d->r.src, 10, absent), 0,
		 "another one is posted");
	CHECK_EQ(st, st_cq_drain(d->a.cq, ST_QUIET_MS), 0, "it waits");
	CHECK_EQ(st, fi_cancel(&d->a.ep->fid, &d->r.tx[3]->ctx), 0,
		 "it is canceled");
	CHECK_EQ(st, st_op_result(d->a.cq, d->r.tx[3], 0), ECANCELED,
		 "it ends so");
	CHECK_EQ(st, fi_cancel(&d->a.ep->fid, &d->r.tx[3]->ctx), -ENOENT,
		 "it is not canceled twice");
	CHECK_EQ(st, st_op_result(d->a.cq, d->r.tx[2], 0), EHOSTUNREACH,
		 "the first one ends as nobody answers");
	st_dgram_wait_all(st, d, absent);
	/* What is asked of the first one may be about to end. */
	absent = st_dgram_absent(&d->a, 2);
	CHECK_EQ(st, st_node_send(&d->a, d->r.tx[0], d->r.src, 10, absent), 0,
		 "one waits");
	CHECK_EQ(st, fi_close(&d->a.ep->fid), 0,
		 "an endpoint closes while it asks");
	d->a.ep = NULL;
	CHECK_EQ(st, st_op_result(d->a.cq, d->r.tx[0], 0), ECANCELED,
		 "what waited is over");
out:
	st->queue_size = 0;
	st_duo_close(d);
	kfree(d);
}

/* ---- the device below -------------------------------------------------------------- */

/* Somebody else removes it when the line says so. */
void st_test_dgram_unplug(struct st *st)
{
	struct st_duo *d = kzalloc(sizeof(*d), GFP_KERNEL);
	struct st_op **tx, **rx;
	int ret;

	if (!d)
		return;
	if (!st_duo_open(d, st))
		goto out;
	tx = d->r.tx;
	rx = d->r.rx;
	ret = st_pass(&d->r, &d->a, &d->b, d->to_b, 10);
	ret = ret ?: st_node_recv(&d->a, rx[1], d->r.dst, ST_ROOM_BASE);
	ret = ret
		      ?: st_node_send(&d->a, tx[1], d->r.src, 10,
				      st_dgram_absent(&d->a, 1));
	CHECK_EQ(st, ret, 0,
		 "a message arrives, a receive is posted, a message waits");
	st_tap_line("    # now the device may go");
	CHECK_EQ(st, st_op_result(d->a.cq, rx[1], 0), ECANCELED,
		 "when the device goes the receive ends");
	CHECK(st, st_op_wait(d->a.cq, tx[1]) && tx[1]->entry.err,
	      "so does the message");
	CHECK_EQ(st, st_node_send(&d->a, tx[0], d->r.src, 10, d->to_b), -ENODEV,
		 "nothing is sent any more");
	CHECK_EQ(st, st_node_recv(&d->a, rx[0], d->r.dst, 10), -ENODEV,
		 "nothing is received any more");
	CHECK_EQ(st, fi_ep_state(d->a.ep), KFI_EP_DEAD, "the endpoint is dead");
	CHECK_EQ(st, st_cq_drain(d->a.cq, ST_QUIET_MS), 0,
		 "each has ended once");
out:
	st_duo_close(d);
	kfree(d);
}
