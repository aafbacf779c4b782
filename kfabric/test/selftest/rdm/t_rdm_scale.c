// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: many peers of one unconnected endpoint, and peers that come and die
 * again and again.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define QUEUE	  16 /* operations of a peer, which has so less memory */
#define RECEIVES  64 /* of the one that all talk to */
#define AT_A_TIME 250 /* peers whose messages are under way */
#define MORTALS	  8 /* peers that live at one time */
#define WAIT_MS	  (2 * ST_WAIT_MS) /* of an operation: all wait for all */
#define TRIES	  5 /* of a message */
#define QUICK_MS  10000
#define PARTS	  10 /* of the cycles: after each it is said how far it is */

/* ---- many peers ------------------------------------------------------------- */

struct scale_word {
	u32 number; /* of the peer that it is from or to */
	u32 round;
};

struct scale_peer {
	struct st_node node;
	struct st_op *tx, *rx;
	fi_addr_t to_hub; /* as the peer names it */
	fi_addr_t number; /* as the hub names the peer */
	struct scale_word out, in;
	unsigned int came; /* messages of it, in this round */
};

struct scale {
	struct st *st;
	struct st_node hub;
	struct scale_peer *peers;
	unsigned int count;
	struct st_op *rx[RECEIVES]; /* of the hub */
	struct scale_word in[RECEIVES];
	struct st_op **tx; /* of the hub, one for each peer under way */
	struct scale_word out[AT_A_TIME];
	unsigned int wrong; /* messages that nobody sent so */
};

static int st_scale_alloc(struct scale *s)
{
	unsigned int i;
	bool ok;

	s->peers = kvcalloc(s->count, sizeof(*s->peers), GFP_KERNEL);
	s->tx = kcalloc(AT_A_TIME, sizeof(*s->tx), GFP_KERNEL);
	ok = s->peers && s->tx;
	for (i = 0; ok && i < RECEIVES; i++) {
		s->rx[i] = st_op_new(s->st);
		ok = s->rx[i];
	}
	for (i = 0; ok && i < AT_A_TIME; i++) {
		s->tx[i] = st_op_new(s->st);
		ok = s->tx[i];
	}
	for (i = 0; ok && i < s->count; i++) {
		s->peers[i].tx = st_op_new(s->st);
		s->peers[i].rx = st_op_new(s->st);
		ok = s->peers[i].tx && s->peers[i].rx;
	}
	return ok ? 0 : -ENOMEM;
}

static void st_scale_free(struct scale *s)
{
	unsigned int i;

	for (i = 0; i < RECEIVES; i++)
		kfree(s->rx[i]);
	for (i = 0; s->tx && i < AT_A_TIME; i++)
		kfree(s->tx[i]);
	for (i = 0; s->peers && i < s->count; i++) {
		kfree(s->peers[i].tx);
		kfree(s->peers[i].rx);
	}
	kfree(s->tx);
	kvfree(s->peers);
}

static int st_scale_open(struct scale *s)
{
	struct scale_peer *p;
	unsigned int i;
	int ret = st_node_open(&s->hub, s->st, 0, WAIT_MS);

	s->st->queue_size = QUEUE;
	for (i = 0; i < s->count && !ret; i++) {
		p = &s->peers[i];
		ret = st_node_open(&p->node, s->st, 0, WAIT_MS);
		if (ret)
			break;
		p->to_hub = st_node_knows(&p->node, &s->hub);
		p->number = st_node_knows(&s->hub, &p->node);
	}
	s->st->queue_size = 0;
	return ret;
}

static void st_scale_close(struct scale *s)
{
	unsigned int i;

	for (i = 0; s->peers && i < s->count; i++)
		st_node_close(&s->peers[i].node);
	st_node_close(&s->hub);
}

static int st_scale_hub_receive(struct scale *s, unsigned int i)
{
	return st_node_recv(&s->hub, s->rx[i], &s->in[i], sizeof(s->in[i]));
}

/* A message came to the hub: is it of whom its completion names? */
static int st_scale_heard(struct scale *s, struct st_op *op, u32 round)
{
	struct scale_word *in;
	unsigned int i = 0;

	while (i < RECEIVES && s->rx[i] != op)
		i++;
	if (i == RECEIVES)
		return -EPROTO;
	in = &s->in[i];
	if (op->entry.err || op->entry.len != sizeof(*in) ||
	    in->round != round || in->number >= s->count ||
	    op->entry.src_addr != s->peers[in->number].number)
		s->wrong++;
	else
		s->peers[in->number].came++;
	return st_scale_hub_receive(s, i);
}

/* Take completions of the hub until so many messages have come in all. */
static int st_scale_listen(struct scale *s, unsigned int want, u32 round)
{
	unsigned int got = 0;
	void *context;
	int ret = 0;

	while (got < want && !ret) {
		if (st_cq_take(s->hub.cq, WAIT_MS, &context) != 1)
			return -ETIME;
		ret = st_scale_heard(s, st_op_of(context), round);
		got++;
	}
	return ret;
}

/* Peers from .. to - 1 send, all at one time. */
static int st_scale_to_hub(struct scale *s, unsigned int from, unsigned int to,
			   u32 round)
{
	struct scale_peer *p;
	unsigned int i;
	int ret = 0;

	for (i = from; i < to && !ret; i++) {
		p = &s->peers[i];
		p->out = (struct scale_word){ i, round };
		ret = st_node_send(&p->node, p->tx, &p->out, sizeof(p->out),
				   p->to_hub);
	}
	ret = ret ?: st_scale_listen(s, to - from, round);
	for (i = from; i < to; i++)
		ret = st_op_result(s->peers[i].node.cq, s->peers[i].tx, ret);
	return ret;
}

/* The hub sends to each of them. */
static int st_scale_from_hub(struct scale *s, unsigned int from,
			     unsigned int to, u32 round)
{
	struct scale_peer *p;
	unsigned int i;
	int ret = 0;

	for (i = from; i < to && !ret; i++) {
		p = &s->peers[i];
		p->in = (struct scale_word){};
		ret = st_node_recv(&p->node, p->rx, &p->in, sizeof(p->in));
		s->out[i - from] = (struct scale_word){ i, round };
		ret = ret
			      ?: st_node_send(&s->hub, s->tx[i - from],
					      &s->out[i - from],
					      sizeof(struct scale_word),
					      p->number);
	}
	for (i = from; i < to; i++)
		ret = st_op_result(s->hub.cq, s->tx[i - from], ret);
	for (i = from; i < to; i++) {
		p = &s->peers[i];
		ret = st_op_result(p->node.cq, p->rx, ret);
		if (!ret && (p->in.number != i || p->in.round != round ||
			     p->rx->entry.src_addr != p->to_hub))
			s->wrong++;
	}
	return ret;
}

/* Every other time it is the hub that connects. */
static int st_scale_round(struct scale *s, u32 round)
{
	unsigned int from, to;
	int ret = 0;

	for (from = 0; from < s->count && !ret; from = to) {
		to = min(from + AT_A_TIME, s->count);
		if (from / AT_A_TIME % 2) {
			ret = st_scale_from_hub(s, from, to, round);
			ret = ret ?: st_scale_to_hub(s, from, to, round);
		} else {
			ret = st_scale_to_hub(s, from, to, round);
			ret = ret ?: st_scale_from_hub(s, from, to, round);
		}
		cond_resched();
	}
	return ret;
}

static unsigned int st_scale_once(const struct scale *s)
{
	unsigned int i, n = 0;

	for (i = 0; i < s->count; i++)
		n += s->peers[i].came == 1;
	return n;
}

static bool st_scale_is_quiet(struct scale *s)
{
	unsigned int i;
	bool quiet = !st_cq_drain(s->hub.cq, ST_QUIET_MS);

	for (i = 0; i < s->count; i++)
		quiet = quiet && !st_cq_drain(s->peers[i].node.cq, 0);
	return quiet;
}

static void st_scale_talk(struct st *st, struct scale *s)
{
	unsigned long before = st_free_pages();
	unsigned int i;
	u32 round;
	int ret = 0;

	for (i = 0; i < RECEIVES; i++)
		ret = ret ?: st_scale_hub_receive(s, i);
	CHECK_EQ(st, ret, 0, "one endpoint waits for messages of all");
	for (round = 1; round <= 2 && !ret; round++) {
		for (i = 0; i < s->count; i++)
			s->peers[i].came = 0;
		ret = st_scale_round(s, round);
		CHECKF(st, !ret, "it talks to %u peers: %d", s->count, ret);
		CHECK_EQ(st, st_scale_once(s), s->count,
			 "a message of each has come once, and from whom");
		if (round == 1)
			st_say_each("peer, idle, at both ends", before,
				    st_free_pages(), s->count);
	}
	CHECK_EQ(st, s->wrong, 0, "each had its own, and none another's");
	CHECK(st, st_scale_is_quiet(s), "nothing comes twice");
}

void st_test_rdm_peers(struct st *st)
{
	struct scale *s = kvzalloc(sizeof(*s), GFP_KERNEL);
	unsigned long before = st_free_pages();

	if (!s)
		return;
	s->st = st;
	s->count = st_peers;
	if (CHECK_EQ(st, st_scale_alloc(s), 0, "there is memory for peers") &&
	    CHECK_EQ(st, st_scale_open(s), 0, "they open")) {
		st_say_each("peer that was never talked to", before,
			    st_free_pages(), s->count);
		st_scale_talk(st, s);
	}
	st_scale_close(s);
	st_scale_free(s);
	kvfree(s);
	CHECK(st, st_settled(st), "nothing is left of them");
}

/* ---- peers that die ------------------------------------------------------------ */

struct mortal {
	struct st_node node;
	struct st_op *tx, *rx;
	fi_addr_t to_hub, number;
	u32 out, in;
};

struct deaths {
	struct st *st;
	struct st_node hub;
	struct mortal m[MORTALS];
	struct st_op *tx[MORTALS], *rx[MORTALS]; /* of the hub */
	u32 out[MORTALS], in[MORTALS];
	u16 port[MORTALS]; /* of the last that lived */
	unsigned int
		again; /* messages that were told to be lost, and sent again */
	unsigned int lost; /* messages that were under way at the end of a peer */
};

static int st_deaths_alloc(struct deaths *d)
{
	bool ok = true;
	int i;

	for (i = 0; i < MORTALS; i++) {
		d->tx[i] = st_op_new(d->st);
		d->rx[i] = st_op_new(d->st);
		d->m[i].tx = st_op_new(d->st);
		d->m[i].rx = st_op_new(d->st);
		ok = ok && d->tx[i] && d->rx[i] && d->m[i].tx && d->m[i].rx;
	}
	return ok ? 0 : -ENOMEM;
}

static void st_deaths_free(struct deaths *d)
{
	int i;

	for (i = 0; i < MORTALS; i++) {
		kfree(d->tx[i]);
		kfree(d->rx[i]);
		kfree(d->m[i].tx);
		kfree(d->m[i].rx);
	}
	kvfree(d);
}

/* Each is born with a port of its own, or with the one of its forerunner. */
static int st_mortal_open(struct deaths *d, struct mortal *m, u16 port)
{
	int ret;

	d->st->queue_size = QUEUE;
	ret = st_node_open(&m->node, d->st, port, QUICK_MS);
	d->st->queue_size = 0;
	if (ret)
		return ret;
	m->to_hub = st_node_knows(&m->node, &d->hub);
	m->number = st_node_knows(&d->hub, &m->node);
	return 0;
}

static void st_mortal_close(struct deaths *d, struct mortal *m)
{
	if (m->node.ep)
		fi_av_remove(d->hub.av, &m->number, 1, 0);
	st_node_close(&m->node);
}

/* A message each way; who sends first has the connection made. */
static int st_mortal_talk(struct deaths *d, int i, bool hub_first, u32 word)
{
	struct mortal *m = &d->m[i];
	int ret;

	m->out = word;
	d->out[i] = ~word;
	m->in = 0;
	d->in[i] = 0;
	ret = st_node_recv(&d->hub, d->rx[i], &d->in[i], sizeof(u32));
	ret = ret ?: st_node_recv(&m->node, m->rx, &m->in, sizeof(u32));
	if (hub_first)
		ret = ret
			      ?: st_node_send(&d->hub, d->tx[i], &d->out[i],
					      sizeof(u32), m->number);
	ret = ret
		      ?: st_node_send(&m->node, m->tx, &m->out, sizeof(u32),
				      m->to_hub);
	if (!hub_first)
		ret = ret
			      ?: st_node_send(&d->hub, d->tx[i], &d->out[i],
					      sizeof(u32), m->number);
	return ret;
}

/*
 * The hub may have taken the connection with a forerunner of the same name, of whose
 * death it had not heard: such a message is told to be lost, and sent again.
 */
static int st_hub_sent(struct deaths *d, int i)
{
	int tries, ret = 0;

	for (tries = 0; tries < TRIES; tries++) {
		ret = st_op_result(d->hub.cq, d->tx[i], ret);
		if (ret != ECONNRESET)
			return ret;
		d->again++;
		ret = st_node_send(&d->hub, d->tx[i], &d->out[i], sizeof(u32),
				   d->m[i].number);
	}
	return st_op_result(d->hub.cq, d->tx[i], ret);
}

/* The receives of the hub take whichever message comes. */
static int st_mortals_heard(struct deaths *d, u32 word)
{
	unsigned int seen = 0;
	int i, ret = 0;

	for (i = 0; i < MORTALS; i++) {
		ret = ret ?: st_hub_sent(d, i);
		ret = st_op_result(d->m[i].node.cq, d->m[i].tx, ret);
		ret = st_op_result(d->m[i].node.cq, d->m[i].rx, ret);
		ret = st_op_result(d->hub.cq, d->rx[i], ret);
		if (!ret && d->m[i].in != ~(word + i))
			ret = -EBADMSG;
		if (!ret && d->in[i] - word < MORTALS)
			seen |= 1 << (d->in[i] - word);
	}
	return ret ?: seen == (1 << MORTALS) - 1 ? 0 : -EPROTO;
}

/*
 * What the hub sends to those that are about to die is lost, or not. It ends before
 * the next ones are born, who may have the same names.
 */
static int st_mortals_die(struct deaths *d, bool under_way)
{
	int i, ret = 0, end;

	for (i = 0; under_way && i < MORTALS && !ret; i++)
		ret = st_node_send(&d->hub, d->tx[i], &d->out[i], sizeof(u32),
				   d->m[i].number);
	for (i = 0; i < MORTALS; i++)
		st_mortal_close(d, &d->m[i]);
	for (i = 0; under_way && i < MORTALS && !ret; i++) {
		fi_cancel(&d->hub.ep->fid, &d->tx[i]->ctx);
		end = st_op_result(d->hub.cq, d->tx[i], 0);
		if (end == -ETIME)
			ret = end;
		d->lost += !!end;
	}
	return ret;
}

static int st_deaths_round(struct deaths *d, u32 n)
{
	bool same_port = n & 1, hub_first = n & 2, under_way = n & 4;
	u32 word = n * MORTALS;
	int i, ret = 0;

	for (i = 0; i < MORTALS && !ret; i++)
		ret = st_mortal_open(d, &d->m[i], same_port ? d->port[i] : 0);
	for (i = 0; i < MORTALS && !ret; i++) {
		d->port[i] = st_node_port(&d->m[i].node);
		ret = st_mortal_talk(d, i, hub_first, word + i);
	}
	ret = ret ?: st_mortals_heard(d, word);
	return ret ?: st_mortals_die(d, under_way);
}

static void st_deaths_run(struct st *st, struct deaths *d)
{
	unsigned int rounds = DIV_ROUND_UP(st_cycles, MORTALS);
	unsigned int n, part = max(rounds / PARTS, 1u);
	int ret = 0;

	for (n = 0; n < rounds && !ret; n++) {
		ret = st_deaths_round(d, n);
		if (!ret && n % part == part - 1 && rounds > 10 * PARTS)
			pr_info("# %u cycles, %u messages were lost\n",
				(n + 1) * MORTALS, d->lost);
		cond_resched();
	}
	CHECKF(st, !ret,
	       "peers that are killed are connected with again: %u cycles (%d)",
	       n * MORTALS, ret);
	st_tap_line(
		"    # %u messages were lost with their peers, %u sent again",
		d->lost, d->again);
}

void st_test_rdm_cycle(struct st *st)
{
	struct deaths *d = kvzalloc(sizeof(*d), GFP_KERNEL);
	int i;

	if (!d)
		return;
	d->st = st;
	if (CHECK_EQ(st, st_deaths_alloc(d), 0,
		     "there is memory for mortals") &&
	    CHECK_EQ(st, st_node_open(&d->hub, st, 0, QUICK_MS), 0,
		     "who talks to them opens"))
		st_deaths_run(st, d);
	for (i = 0; i < MORTALS; i++)
		st_mortal_close(d, &d->m[i]);
	st_node_close(&d->hub);
	st_deaths_free(d);
	CHECK(st, st_settled(st), "nothing is left of them");
}
