// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: a context of a scalable endpoint closes while two peers have not taken what
 * is sent from its memory: the connection with one of them is over, the other one is in
 * the middle of a message.
 *
 * Whoever runs this delays the layer's work and what the provider below has done, so that
 * the close is the first that sees the end of the connection, before anything comes back
 * from it. A post of another context has noticed it, and may not end it.
 */
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define BASE	  ST_ROOM_BASE
#define ROUNDS	  12 /* at most */
#define SEEN	  3 /* times that what is to be seen is enough */
#define LENT_MS	  1000 /* that closing waits for a peer to take what is lent */
#define REST_MS	  200 /* until whoever is late has done */
#define PIECE_LEN 512 /* of what peers take, as their hello says */
#define LENT_LEN  400 /* of a message that is sent from where it lies */
#define HUGE_LEN  (12 * PIECE_LEN) /* more than who gives no credits takes */
#define NAMED_AT  48 /* the port in a hello */
#define OLD_BYTE  0x11
#define NEW_BYTE  0xee /* what is in the memory of a message that has ended */
#define PEER_PORT 0x0201

/* What the peers have of the memory is where r.src begins, and BASE behind it. */
struct rdm_settle {
	struct st *st;
	struct st_room r;
	struct st_sep s;
	struct st_rogue gone; /* its connection ends */
	struct st_rogue slow;
	struct st inner; /* whose operations are theirs */
	struct st_op *op; /* one of inner */
	fi_addr_t to_gone, to_slow;
	u8 instance;
	unsigned int seen, early, changed, open; /* of the rounds */
};

static int st_settle_meet(struct rdm_settle *m, struct st_rogue *x, u8 port,
			  fi_addr_t *addr)
{
	struct sockaddr_in6 name = m->s.name;
	u8 hello[ST_HELLO_LEN];
	int ret;

	*addr = FI_ADDR_UNSPEC;
	ret = st_rogue_open(x, m->st, be16_to_cpu(name.sin6_port));
	if (ret)
		return ret;
	st_rogue_name(hello, 1, &name);
	hello[8] = ++m->instance;
	hello[NAMED_AT] = port;
	hello[NAMED_AT + 1] = PEER_PORT >> 8;
	name.sin6_port = cpu_to_be16((PEER_PORT & 0xff00) + port);
	ret = st_rogue_connect(x, hello, sizeof(hello));
	if (ret != FI_CONNECTED)
		return ret < 0 ? ret : -EPROTO;
	fi_av_insert(m->s.av, &name, 1, addr, 0, NULL);
	return 0;
}

static void st_settle_part(struct rdm_settle *m)
{
	st_rogue_close(&m->gone);
	st_rogue_close(&m->slow);
}

static int st_settle_post(struct rdm_settle *m, int ctx, struct st_op *op,
			  const u8 *bytes, size_t len, fi_addr_t to)
{
	st_op_reset(op);
	return fi_send(m->s.tx[ctx], bytes, len, NULL, to, &op->ctx);
}

/* One has a message, the other one the beginning of another, and takes a piece. */
static int st_settle_lend(struct rdm_settle *m)
{
	int ret = st_settle_meet(m, &m->gone, 1, &m->to_gone);

	ret = ret ?: st_settle_meet(m, &m->slow, 2, &m->to_slow);
	if (ret)
		return ret;
	m->inner = *m->st;
	m->inner.info = m->gone.info;
	if (!m->op)
		m->op = st_op_new(&m->inner);
	if (!m->op)
		return -ENOMEM;
	memset(m->r.src, OLD_BYTE, BASE + HUGE_LEN);
	ret = st_settle_post(m, 1, m->r.tx[0], m->r.src, LENT_LEN, m->to_gone);
	ret = ret
		      ?: st_settle_post(m, 1, m->r.tx[1], m->r.src + BASE,
					HUGE_LEN, m->to_slow);
	if (!ret && st_rogue_take(&m->slow, m->op, m->r.dst) != PIECE_LEN)
		ret = -EPROTO;
	msleep(REST_MS);
	return ret;
}

/* The connection with one peer ends, a post notices that, and then the close. */
static int st_settle_close(struct rdm_settle *m, s64 *ms)
{
	ktime_t begin = ktime_get();
	int ret = fi_shutdown(m->gone.ep, 0);

	ret = ret ?: st_settle_post(m, 0, m->r.tx[2], m->r.src, 10, m->to_gone);
	ret = ret ?: fi_close(&m->s.tx[1]->fid);
	*ms = ktime_to_ms(ktime_sub(ktime_get(), begin));
	if (!ret)
		m->s.tx[1] = NULL;
	return ret;
}

/* The memory of what has ended is the caller's: the other peer has nothing of it. */
static void st_settle_look(struct rdm_settle *m)
{
	struct st_event ev = {};

	memset(m->r.src + BASE, NEW_BYTE, HUGE_LEN);
	memset(m->r.dst, 0, BASE);
	st_rogue_take(&m->slow, m->op, m->r.dst);
	m->changed += !!memchr(m->r.dst, NEW_BYTE, BASE);
	if (st_event_wait(m->slow.eq, &ev, 2 * LENT_MS) < 0 ||
	    ev.event != FI_SHUTDOWN)
		m->open++;
}

static int st_settle_round(struct rdm_settle *m)
{
	int ret = st_settle_lend(m), err;
	s64 ms;

	ret = ret ?: st_settle_close(m, &ms);
	if (ret)
		return ret;
	err = st_op_result(m->s.tx_cq[1], m->r.tx[0], 0);
	/* It would be another one if it had not been the close that ended it. */
	m->seen += err == ECANCELED;
	if (st_op_result(m->s.tx_cq[1], m->r.tx[1], 0) != ECANCELED)
		return -EPROTO;
	m->early += ms < LENT_MS;
	st_settle_look(m);
	fi_cancel(&m->s.tx[0]->fid, &m->r.tx[2]->ctx);
	st_op_result(m->s.tx_cq[0], m->r.tx[2], 0);
	return st_sep_tx_open(&m->s, 1);
}

void st_test_rdm_settle(struct st *st)
{
	struct rdm_settle *m = kzalloc(sizeof(*m), GFP_KERNEL);
	int i, ret = 0;

	if (!m)
		return;
	m->st = st;
	if (!st_room_open(&m->r, st) || !CHECK_EQ(st, st_sep_open(&m->s, st), 0,
						  "a scalable endpoint opens"))
		goto out;
	for (i = 0; i < ROUNDS && m->seen < SEEN && !ret && !m->open; i++) {
		ret = st_settle_round(m);
		st_settle_part(m);
	}
	CHECK_EQ(st, ret, 0,
		 "a context closes while two peers have not taken all");
	CHECKF(st, m->seen,
	       "it was the first that saw the end of a connection: "
	       "%u of %u times",
	       m->seen, i);
	CHECK_EQ(st, m->early, 0,
		 "it waits for the other peer as long as for any");
	CHECK_EQ(st, m->changed, 0,
		 "that one has no byte that was written afterwards");
	CHECK_EQ(st, m->open, 0, "and its connection is over");
out:
	st_settle_part(m);
	st_sep_close(&m->s);
	st_room_close(&m->r);
	kfree(m->op);
	kfree(m);
}
