// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: unconnected endpoints and a peer on another host, or in another network
 * namespace, which sends back every message to where it came from.
 *
 * Somebody else cuts the link, and mends it, or takes it away, when lines say so. What is still posted
 * cannot be posted again, so that nothing more is tried where something has not come.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define SHORT_MS 3000 /* time-out of what is to end by it */
#define QUIET_MS 1000 /* nothing comes any more */
#define LATE_MS	 15000 /* nothing comes, while something else is to end before */
#define ROOMS	 64 /* messages under way */
#define FEW	 8 /* ... that none is received of */
#define ROOM_LEN 4096
#define BYTES	 4000 /* of one of many messages */

struct remote {
	struct st_node node;
	fi_addr_t peer;
	fi_addr_t nobody;
	struct st_op *tx[ROOMS];
	struct st_op *rx[ROOMS];
	u8 *src, *dst;
	bool wanted; /* rx[1] has been posted */
	u32 number; /* of the newest message that is sent until it arrives */
};

static void st_echo_close(struct remote *r)
{
	int i;

	st_node_close(&r->node);
	for (i = 0; i < ROOMS; i++) {
		kfree(r->tx[i]);
		kfree(r->rx[i]);
	}
	kvfree(r->src);
	kvfree(r->dst);
}

/* Return: whether the node has an address for a host's echo. */
static bool st_echo_knows(const struct st_node *node, const char *host,
			  fi_addr_t *addr)
{
	char port[8];

	snprintf(port, sizeof(port), "%u", st_peer_port);
	return fi_av_insertsvc(node->av, host, port, addr, 0, NULL) == 1;
}

static bool st_echo_open(struct remote *r, struct st *st)
{
	bool ok = true;
	int i;

	r->src = kvzalloc(ST_ARENA_LEN, GFP_KERNEL);
	r->dst = kvzalloc(ST_ARENA_LEN, GFP_KERNEL);
	for (i = 0; i < ROOMS; i++) {
		r->tx[i] = st_op_new(st);
		r->rx[i] = st_op_new(st);
		ok = ok && r->tx[i] && r->rx[i];
	}
	return CHECK(st, ok && r->src && r->dst, "there is memory") &&
	       CHECK_EQ(st, st_node_open(&r->node, st, 0, ST_WAIT_MS), 0,
			"an endpoint opens") &&
	       CHECK(st, st_echo_knows(&r->node, st_peer, &r->peer),
		     "its peer has an address") &&
	       CHECK(st, st_echo_knows(&r->node, st_nobody, &r->nobody),
		     "so has nobody");
}

/* ---- there and back --------------------------------------------------------- */

static int st_echo_exchange(struct remote *r, size_t len)
{
	int ret = st_node_recv(&r->node, r->rx[0], r->dst,
			       st_longest(r->node.st));

	ret = ret ?: st_node_send(&r->node, r->tx[0], r->src, len, r->peer);
	ret = st_op_result(r->node.cq, r->tx[0], ret);
	return st_op_result(r->node.cq, r->rx[0], ret);
}

static bool st_echo_sizes(struct st *st, struct remote *r)
{
	static const size_t sizes[] = { 1, 0, 64, 4096, 65537, ST_MAX_LEN };
	bool ok = true;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes) && ok; i++) {
		if (sizes[i] > st_longest(st))
			continue;
		st_fill(r->src, sizes[i], i + 1);
		memset(r->dst, 0, sizes[i]);
		ok = CHECKF(st,
			    !st_echo_exchange(r, sizes[i]) &&
				    r->rx[0]->entry.len == sizes[i] &&
				    r->rx[0]->entry.src_addr == r->peer &&
				    st_holds(r->dst, sizes[i], i + 1),
			    "a message of %zu bytes comes back, and from whom",
			    sizes[i]);
	}
	return ok;
}

static int st_echo_send_some(struct remote *r, int first, int end)
{
	int i, ret = 0;

	for (i = first; i < end && !ret; i++) {
		st_fill(r->src + i * ROOM_LEN, BYTES, i);
		ret = st_node_send(&r->node, r->tx[i], r->src + i * ROOM_LEN,
				   BYTES, r->peer);
	}
	return ret;
}

/*
 * The echo answers one after the other: what it sent to others before is here when it
 * has answered another endpoint.
 */
static int st_echo_pass_by(struct st *st, struct remote *r)
{
	struct st_op *tx = r->tx[ROOMS - 1], *rx = r->rx[ROOMS - 1];
	struct st_node other;
	fi_addr_t peer;
	int ret = st_node_open(&other, st, 0, ST_WAIT_MS);

	if (!ret && !st_echo_knows(&other, st_peer, &peer))
		ret = -EADDRNOTAVAIL;
	ret = ret ?: st_node_recv(&other, rx, r->dst, ROOM_LEN);
	ret = ret ?: st_node_send(&other, tx, r->src, 1, peer);
	ret = st_op_result(other.cq, tx, ret);
	ret = st_op_result(other.cq, rx, ret);
	st_node_close(&other);
	return ret;
}

/*
 * First no more than what is taken out of the way of others without a receive; one
 * send is done with all of that before its answer. Then more than any buffer on the way
 * takes, with the receives posted last.
 */
static bool st_echo_many(struct st *st, struct remote *r)
{
	int i, sent = 0, got = 0, ret;

	ret = st_echo_send_some(r, 0, FEW);
	ret = st_op_result(r->node.cq, r->tx[FEW - 1], ret);
	if (!CHECK_EQ(st, ret ?: st_echo_pass_by(st, r), 0,
		      "messages come back that have no receive"))
		return false;
	ret = st_echo_send_some(r, FEW, FEW + 1);
	CHECK_EQ(st, st_op_result(r->node.cq, r->tx[FEW], ret), 0,
		 "sends are done although what comes back has no receive");
	ret = ret ?: st_echo_send_some(r, FEW + 1, ROOMS);
	for (i = 0; i < ROOMS; i++)
		ret = ret
			      ?: st_node_recv(&r->node, r->rx[i],
					      r->dst + i * ROOM_LEN, ROOM_LEN);
	for (i = 0; i < ROOMS; i++)
		sent += !st_op_result(r->node.cq, r->tx[i], ret);
	if (!CHECK_EQ(st, sent, ROOMS, "all of many messages are sent"))
		return false;
	for (i = 0; i < ROOMS; i++)
		got += !st_op_result(r->node.cq, r->rx[i], ret) &&
		       st_holds(r->dst + i * ROOM_LEN, BYTES, i);
	return CHECK_EQ(st, got, ROOMS,
			"they come back in the order of posting");
}

static bool st_echo_levels(struct st *st, struct remote *r)
{
	struct fi_msg msg = { .buf = fi_buf_linear(r->src, BYTES),
			      .addr = r->peer,
			      .context = &r->tx[0]->ctx };
	int ret = st_node_recv(&r->node, r->rx[0], r->dst, ROOM_LEN);

	st_op_reset(r->tx[0]);
	ret = ret ?: fi_sendmsg(r->node.ep, &msg, FI_INJECT_COMPLETE);
	ret = st_op_result(r->node.cq, r->tx[0], ret);
	if (!CHECK_EQ(
		    st, st_op_result(r->node.cq, r->rx[0], ret), 0,
		    "a message that is done when its buffer is free comes back"))
		return false;
	ret = st_node_recv(&r->node, r->rx[0], r->dst, ROOM_LEN);
	ret = ret ?: fi_inject(r->node.ep, r->src, 64, r->peer);
	CHECK_EQ(st, st_op_result(r->node.cq, r->rx[0], ret), 0,
		 "so does one that is injected");
	return CHECK_EQ(st, r->rx[0]->entry.len, 64, "as long as it was");
}

/* ---- who is not there --------------------------------------------------------- */

static void st_echo_nobody(struct st *st, struct remote *r)
{
	struct st_op *late = r->tx[ROOMS - 1];
	int ret = st_node_limit(&r->node, LATE_MS);

	ret = ret ?: st_node_send(&r->node, late, r->src, BYTES, r->nobody);
	if (!CHECK_EQ(st, ret ?: st_echo_exchange(r, 10), 0,
		      "a message comes back while another one waits for nobody"))
		return;
	CHECK_EQ(st, late->count, 0, "that one still waits");
	CHECK_EQ(st, st_op_result(r->node.cq, late, ret), EHOSTUNREACH,
		 "it ends as unreachable");
	CHECK(st, late->entry.prov_errno <= 0, "nobody has got it");
	ret = st_node_send(&r->node, late, r->src, BYTES, r->nobody);
	ret = ret ?: fi_cancel(&r->node.ep->fid, &late->ctx);
	CHECK_EQ(st, st_op_result(r->node.cq, late, ret), ECANCELED,
		 "one that waits is canceled");
}

/* There is a receive for one more of those that come back. */
static int st_echo_want(struct remote *r)
{
	if (r->wanted && !r->rx[1]->count)
		return 0;
	r->wanted = true;
	return st_node_recv(&r->node, r->rx[1], r->dst, ROOM_LEN);
}

/* What was sent back before may still come: until nothing does, and a receive waits. */
static int st_echo_drain(struct remote *r)
{
	int ret;

	do {
		ret = st_echo_want(r);
	} while (!ret && st_cq_drain(r->node.cq, QUIET_MS));
	return ret;
}

/* Until a send ends so. */
static bool st_echo_becomes(struct remote *r, int err)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	int ret;

	do {
		ret = st_echo_want(r);
		r->number++;
		memcpy(r->src, &r->number, sizeof(r->number));
		ret = ret
			      ?: st_node_send(&r->node, r->tx[0], r->src, 10,
					      r->peer);
		ret = st_op_result(r->node.cq, r->tx[0], ret);
	} while (ret != err && time_before(jiffies, end));
	return ret == err;
}

/*
 * The newest message comes back behind all others; datagrams may be lost, and another one
 * is sent then. Nothing is wanted any more.
 */
static int st_echo_settle(struct remote *r)
{
	unsigned long end = jiffies + msecs_to_jiffies(ST_WAIT_MS);
	int ret = 0;

	while (!ret && time_before(jiffies, end)) {
		if (r->wanted && r->rx[1]->count) {
			r->wanted = false;
			ret = r->rx[1]->entry.err;
			if (ret ||
			    !memcmp(r->dst, &r->number, sizeof(r->number)))
				return ret;
		}
		ret = st_echo_want(r);
		if (!ret && st_cq_take(r->node.cq, QUIET_MS, NULL) != 1 &&
		    st_is_dgram(r->node.st) && !st_echo_becomes(r, 0))
			ret = -ETIME;
	}
	return ret ?: -ETIME;
}

/*
 * What lies below may first have to connect, which takes as long as it likes: nothing is
 * on its way, and nothing is wanted, when there is a way.
 */
static bool st_echo_meet(struct st *st, struct remote *r)
{
	int ret = st_echo_becomes(r, 0) ? st_echo_settle(r) : -ETIME;

	return CHECK_EQ(st, ret, 0, "there is a way to the peer");
}

static void st_echo_lose(struct st *st, struct remote *r)
{
	int ret;

	if (!CHECK_EQ(st, st_echo_exchange(r, 10), 0, "a message comes back"))
		return;
	CHECK_EQ(st, st_node_limit(&r->node, SHORT_MS), 0,
		 "sends may fail soon");
	st_tap_line("    # now the link may be cut");
	CHECK(st, st_echo_becomes(r, EHOSTUNREACH),
	      "the peer becomes unreachable when the link is cut");
	st_tap_line("    # now the link may be mended");
	CHECK(st, st_echo_becomes(r, 0), "and is reached when it is mended");
	ret = st_echo_want(r);
	CHECK_EQ(st, st_op_result(r->node.cq, r->rx[1], ret), 0,
		 "what it sends back comes");
}

/* The device with our address goes, for good. */
static void st_echo_go(struct st *st, struct remote *r)
{
	if (!CHECK_EQ(st, st_echo_exchange(r, 10), 0, "a message comes back"))
		return;
	st_tap_line("    # now the device may go");
	CHECK(st, st_echo_becomes(r, EHOSTUNREACH),
	      "the peer becomes unreachable when the device goes");
	CHECK_EQ(st, fi_ep_state(r->node.ep), KFI_EP_ENABLED,
		 "the endpoint outlives it, as RDS does");
	CHECK_EQ(st, st_echo_drain(r), 0, "a receive is posted");
	CHECK_EQ(st, fi_close(&r->node.ep->fid), 0, "the endpoint closes");
	r->node.ep = NULL;
	CHECK_EQ(st, st_op_result(r->node.cq, r->rx[1], 0), ECANCELED,
		 "its receive ends");
}

static void st_echo_come_and_go(struct st *st, struct remote *r)
{
	if (st_echo_meet(st, r) && st_echo_sizes(st, r) &&
	    (st_is_dgram(st) || st_echo_many(st, r)) && st_echo_levels(st, r) &&
	    !st_is_dgram(st))
		st_echo_nobody(st, r);
}

static void st_echo_run(struct st *st,
			void (*run)(struct st *st, struct remote *r))
{
	struct remote *r = kzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return;
	if (st_echo_open(r, st))
		run(st, r);
	st_echo_close(r);
	kfree(r);
}

void st_test_remote(struct st *st)
{
	st_echo_run(st, st_echo_come_and_go);
}

void st_test_cut(struct st *st)
{
	st_echo_run(st, st_echo_lose);
}

void st_test_gone(struct st *st)
{
	st_echo_run(st, st_echo_go);
}
