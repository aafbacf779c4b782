// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: what messages and writes of 4 KiB cost through an unconnected endpoint,
 * beside what is below it, printed: a connected endpoint of the provider that the
 * layer is over, a plain RDS socket. Both are there at one time and have their
 * turns. What is measured is time, which counts instructions where the guest's
 * clock does (tests/vm/run --icount).
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/net.h>
#include <linux/rds.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "../st.h"

#define BYTES	4096
#define BATCH	16
#define CHAIN	20 /* messages, an even number */
#define ROUNDS	200 /* of each shape and way */
#define TURN	20 /* of these, before the other way has its turn */
#define WARM_UP 40
#define WAYS	2
#define KEY	0x5eed0000c057ULL

enum cost_shape {
	COST_CHAIN,
	COST_REPLY,
	COST_ALONE,
	COST_STREAM,
	COST_WRITE,
	COST_WRITES,
	COST_SHAPES,
};

/* What a round is, and of how many messages or writes. */
static const struct {
	const char *name;
	unsigned int count;
	bool is_write;
} st_cost_shapes[COST_SHAPES] = {
	[COST_CHAIN] = { "back and forth, by who receives", CHAIN, false },
	[COST_REPLY] = { "a message and one back", 2, false },
	[COST_ALONE] = { "one message after the other", 1, false },
	[COST_STREAM] = { "16 messages at a time", BATCH, false },
	[COST_WRITE] = { "one write after the other", 1, true },
	[COST_WRITES] = { "16 writes at a time", BATCH, true },
};

/* One of the two that are compared. */
struct cost_way {
	const char *name;
	int (*pass)(struct cost_way *w, int from, unsigned int n);
	struct fid_ep *ep[2];
	fi_addr_t to[2]; /* as ep[i] names the other one */
	struct socket *sock[2];
	struct sockaddr_storage name_of[2];
	bool submits; /* in its own context, as a socket does */
	struct task_struct *echo; /* sends back what sock[1] gets */
	struct completion go, end; /* of a chain */
	unsigned int left; /* messages of it that are not sent */
	unsigned int sent[2];
	int err;
	struct fid_mr *mr; /* of ep[1]'s side; NULL: there are no writes */
	struct st_op *tx[BATCH], *rx[BATCH];
	u8 *src, *dst;
	u64 ns[ROUNDS];
};

struct cost {
	struct st *st;
	struct st *below; /* of a layer */
	struct st_node node[2];
	struct st_pair pair;
	struct cost_way way[WAYS];
};

/* ---- endpoints -------------------------------------------------------------- */

/* Whose messages the upcalls send back; NULL: nobody's. */
static struct cost_way *st_cost_chain_way;

static int st_cost_chain_receive(struct cost_way *w, int at)
{
	st_op_reset(w->rx[at]);
	return fi_recv(w->ep[at], w->dst + at * BYTES, BYTES, NULL,
		       FI_ADDR_UNSPEC, &w->rx[at]->ctx);
}

/* Each end has half of the operations, and takes one after the other. */
static int st_cost_chain_send(struct cost_way *w, int from, u64 flags)
{
	const unsigned int half = BATCH / 2;
	struct st_op *op = w->tx[from * half + w->sent[from]++ % half];
	const struct fi_msg msg = { .buf = fi_buf_linear(w->src, BYTES),
				    .addr = w->to[from],
				    .context = &op->ctx };

	if (w->sent[from] > half && !op->count)
		return -EBUSY;
	st_op_reset(op);
	return fi_sendmsg(w->ep[from], &msg, flags);
}

/* A message has come to one end: it is sent back, but for the last. */
static void st_cost_chain_came(struct cost_way *w, int at, int err)
{
	if (!err && w->left) {
		/* Does another one come here? */
		if (w->left > 1)
			err = st_cost_chain_receive(w, at);
		w->left--;
		err = err ?: st_cost_chain_send(w, at, 0);
		if (!err)
			return;
	}
	w->err = err;
	complete(&w->end);
}

static void st_cost_upcall(struct fid_cq *cq,
			   const struct fi_cq_err_entry *entry, void *context)
{
	struct st_op *op = st_op_of(entry->op_context);
	struct cost_way *w = st_cost_chain_way;

	op->entry = *entry;
	op->count++;
	if (w && (entry->flags & FI_RECV))
		st_cost_chain_came(w, op == w->rx[1], -entry->err);
	else
		complete(&op->done);
}

static struct fi_cq_attr st_cost_cq = { .comp_handler = st_cost_upcall,
					.comp_context = FI_CQ_SOFTIRQ };

static int st_cost_wait(struct st_op *op)
{
	if (!wait_for_completion_timeout(&op->done,
					 msecs_to_jiffies(ST_WAIT_MS)))
		return -ETIME;
	return -op->entry.err;
}

/* Messages from one to the other, which has receives for them. */
static int st_cost_pass(struct cost_way *w, int from, unsigned int n)
{
	struct fi_msg msg = { .addr = w->to[from] };
	unsigned int i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++) {
		st_op_reset(w->rx[i]);
		ret = fi_recv(w->ep[!from], w->dst + i * BYTES, BYTES, NULL,
			      FI_ADDR_UNSPEC, &w->rx[i]->ctx);
	}
	for (i = 0; i < n && !ret; i++) {
		msg.buf = fi_buf_linear(w->src + i * BYTES, BYTES);
		msg.context = &w->tx[i]->ctx;
		st_op_reset(w->tx[i]);
		ret = fi_sendmsg(w->ep[from], &msg, w->submits ? FI_MORE : 0);
	}
	if (w->submits)
		fi_submit_inline(w->ep[from]);
	for (i = 0; i < n && !ret; i++) {
		ret = st_cost_wait(w->rx[i]);
		ret = ret ?: st_cost_wait(w->tx[i]);
		if (!ret && w->rx[i]->entry.len != BYTES)
			ret = -EMSGSIZE;
	}
	return ret;
}

/* Messages back and forth, all but the first by upcalls. */
static int st_cost_chain(struct cost_way *w)
{
	int ret;

	reinit_completion(&w->end);
	w->left = CHAIN - 1;
	w->err = -ETIME;
	st_cost_chain_way = w;
	ret = st_cost_chain_receive(w, 0);
	ret = ret ?: st_cost_chain_receive(w, 1);
	ret = ret ?: st_cost_chain_send(w, 0, FI_MORE);
	if (!ret) {
		fi_submit_inline(w->ep[0]);
		wait_for_completion_timeout(&w->end,
					    msecs_to_jiffies(ST_WAIT_MS));
		ret = w->err;
	}
	return ret;
}

static int st_cost_write(struct cost_way *w, unsigned int n)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++) {
		st_op_reset(w->tx[i]);
		ret = fi_write(w->ep[0], w->src + i * BYTES, BYTES, NULL,
			       w->to[0], st_mr_addr(w->mr, i * BYTES),
			       fi_mr_key(w->mr), &w->tx[i]->ctx);
	}
	for (i = 0; i < n && !ret; i++)
		ret = st_cost_wait(w->tx[i]);
	return ret;
}

/* ---- plain RDS sockets ------------------------------------------------------- */

static int st_cost_socket_send(struct cost_way *w, int from, void *bytes)
{
	struct kvec vec = { bytes, BYTES };
	struct msghdr msg = { .msg_name = &w->name_of[!from],
			      .msg_namelen = sizeof(struct sockaddr_in) };
	int n = kernel_sendmsg(w->sock[from], &msg, &vec, 1, BYTES);

	return n == BYTES ? 0 : n < 0 ? n : -EMSGSIZE;
}

static int st_cost_socket_receive(struct cost_way *w, int to, void *bytes)
{
	struct sockaddr_storage from;
	struct kvec vec = { bytes, BYTES };
	struct msghdr msg = { .msg_name = &from };
	int n = kernel_recvmsg(w->sock[to], &msg, &vec, 1, BYTES, 0);

	return n == BYTES ? 0 : n < 0 ? n : -EMSGSIZE;
}

static int st_cost_socket_pass(struct cost_way *w, int from, unsigned int n)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = st_cost_socket_send(w, from, w->src + i * BYTES);
	for (i = 0; i < n && !ret; i++)
		ret = st_cost_socket_receive(w, !from, w->dst + i * BYTES);
	return ret;
}

/* Each end waits in a thread of its own, and sends back what comes. */
static int st_cost_socket_echo(void *arg)
{
	struct cost_way *w = arg;
	int i, ret;

	while (!kthread_should_stop()) {
		if (wait_for_completion_interruptible(&w->go))
			continue;
		for (i = 0, ret = 0; i < CHAIN / 2 && w->left && !ret; i++) {
			ret = st_cost_socket_receive(w, 1, w->dst + BYTES);
			ret = ret ?: st_cost_socket_send(w, 1, w->src);
		}
		w->err = ret;
		complete(&w->end);
	}
	return 0;
}

static int st_cost_socket_chain(struct cost_way *w)
{
	int i, ret = 0;

	w->left = CHAIN;
	complete(&w->go);
	for (i = 0; i < CHAIN / 2 && !ret; i++) {
		ret = st_cost_socket_send(w, 0, w->src);
		ret = ret ?: st_cost_socket_receive(w, 0, w->dst);
	}
	wait_for_completion(&w->end);
	return ret ?: w->err;
}

static int st_cost_socket_open(struct cost_way *w, int i,
			       const struct sockaddr_in6 *like)
{
	struct sockaddr_storage *name = &w->name_of[i];
	int ret;

	/* IPv4, which st.node is here; any port. */
	memcpy(name, like, sizeof(struct sockaddr_in));
	((struct sockaddr_in *)name)->sin_port = 0;
	ret = sock_create_kern(&init_net, PF_RDS, SOCK_SEQPACKET, 0,
			       &w->sock[i]);
	if (ret) {
		w->sock[i] = NULL;
		return ret;
	}
	w->sock[i]->sk->sk_rcvtimeo = msecs_to_jiffies(ST_WAIT_MS);
	ret = kernel_bind(w->sock[i], (struct sockaddr *)name,
			  sizeof(struct sockaddr_in));
	if (!ret)
		ret = kernel_getsockname(w->sock[i], (struct sockaddr *)name);
	return min(ret, 0);
}

/* ---- opening ----------------------------------------------------------------- */

static int st_cost_memory(struct cost_way *w, struct st *st)
{
	int i;

	w->src = kzalloc(BATCH * BYTES, GFP_KERNEL);
	w->dst = kzalloc(BATCH * BYTES, GFP_KERNEL);
	if (!w->src || !w->dst)
		return -ENOMEM;
	for (i = 0; i < BATCH; i++) {
		w->tx[i] = st_op_new(st);
		w->rx[i] = st_op_new(st);
		if (!w->tx[i] || !w->rx[i])
			return -ENOMEM;
	}
	return 0;
}

static int st_cost_open_nodes(struct cost *c)
{
	struct cost_way *w = &c->way[1];
	struct st *st = c->st;
	int i, ret = st_cost_memory(w, st);

	w->name = st->provider;
	w->submits = !st_is_rdm_layer(st);
	w->pass = st_cost_pass;
	for (i = 0; i < 2 && !ret; i++)
		ret = st_node_open_cq(&c->node[i], st, 0, 0, &st_cost_cq);
	for (i = 0; i < 2 && !ret; i++) {
		w->ep[i] = c->node[i].ep;
		w->to[i] = st_node_knows(&c->node[i], &c->node[!i]);
	}
	if (ret || !st_is_rdm_layer(st))
		return ret;
	return fi_mr_reg(st->domain, w->dst, BATCH * BYTES, FI_REMOTE_WRITE, 0,
			 KEY, 0, &w->mr, NULL);
}

/* A connected pair of the provider below the layer. */
static int st_cost_open_below(struct cost *c)
{
	const struct st_opts opts = { .cq_attr = &st_cost_cq };
	struct cost_way *w = &c->way[0];
	struct fi_buf buf;
	int ret;

	c->below->provider = strchr(c->st->provider, ';') + 1;
	c->below->node = c->st->node;
	c->below->service = "0";
	w->name = c->below->provider;
	w->pass = st_cost_pass;
	w->to[0] = w->to[1] = FI_ADDR_UNSPEC;
	ret = st_open(c->below);
	ret = ret ?: st_cost_memory(w, c->below);
	ret = ret ?: st_pair_open(&c->pair, c->below, &opts);
	if (ret)
		return ret;
	w->ep[0] = c->pair.a;
	w->ep[1] = c->pair.b;
	buf = fi_buf_linear(w->dst, BATCH * BYTES);
	return st_mr_open(&c->pair, &buf, FI_REMOTE_WRITE, &w->mr);
}

static int st_cost_open_sockets(struct cost *c)
{
	struct cost_way *w = &c->way[0];
	int i, ret = st_cost_memory(w, c->st);

	w->name = "RDS sockets";
	w->pass = st_cost_socket_pass;
	for (i = 0; i < 2 && !ret; i++)
		ret = st_cost_socket_open(w, i, &c->node[i].name);
	if (ret)
		return ret;
	w->echo = kthread_run(st_cost_socket_echo, w, "kfi-echo");
	if (!IS_ERR(w->echo))
		return 0;
	ret = PTR_ERR(w->echo);
	w->echo = NULL;
	return ret;
}

static void st_cost_close_way(struct cost_way *w)
{
	int i;

	if (w->mr)
		fi_close(&w->mr->fid);
	if (w->echo) {
		/* It has nothing to do, and looks whether it is over. */
		w->left = 0;
		complete(&w->go);
		kthread_stop(w->echo);
	}
	for (i = 0; i < 2; i++)
		if (w->sock[i])
			sock_release(w->sock[i]);
}

static void st_cost_free_way(struct cost_way *w)
{
	int i;

	for (i = 0; i < BATCH; i++) {
		kfree(w->tx[i]);
		kfree(w->rx[i]);
	}
	kfree(w->src);
	kfree(w->dst);
}

static void st_cost_close(struct cost *c)
{
	int i;

	for (i = 0; i < WAYS; i++)
		st_cost_close_way(&c->way[i]);
	if (c->pair.st)
		st_pair_close(&c->pair);
	for (i = 0; i < 2; i++)
		st_node_close(&c->node[i]);
	for (i = 0; i < WAYS; i++)
		st_cost_free_way(&c->way[i]);
	if (c->below->provider)
		st_close(c->below);
}

/* ---- measuring ---------------------------------------------------------------- */

static int st_cost_round(struct cost_way *w, enum cost_shape shape)
{
	int ret;

	switch (shape) {
	case COST_CHAIN:
		ret = w->echo ? st_cost_socket_chain(w) : st_cost_chain(w);
		return ret;
	case COST_REPLY:
		ret = w->pass(w, 0, 1);
		return ret ?: w->pass(w, 1, 1);
	case COST_WRITE:
	case COST_WRITES:
		return st_cost_write(w, st_cost_shapes[shape].count);
	default:
		return w->pass(w, 0, st_cost_shapes[shape].count);
	}
}

/* Rounds, of which those in the array are kept. */
static int st_cost_turn(struct cost_way *w, enum cost_shape shape, u64 *ns,
			unsigned int rounds)
{
	unsigned int i;
	ktime_t begin;
	int ret = 0;

	st_cost_chain_way = NULL;
	for (i = 0; i < rounds && !ret; i++) {
		begin = ktime_get();
		ret = st_cost_round(w, shape);
		if (ns)
			ns[i] = ktime_to_ns(ktime_sub(ktime_get(), begin));
	}
	return ret;
}

static int st_cost_by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* In thousandths of the other one's median. */
static u64 st_cost_say(struct cost_way *w, enum cost_shape shape, u64 other)
{
	const unsigned int count = st_cost_shapes[shape].count;
	u64 median;

	sort(w->ns, ROUNDS, sizeof(u64), st_cost_by_value, NULL);
	median = w->ns[ROUNDS / 2];
	st_tap_line(
		"    # %s, 4 KiB, %s: %llu / %llu / %llu ns each, %llu thousandths",
		w->name, st_cost_shapes[shape].name, div64_u64(w->ns[0], count),
		div64_u64(median, count), div64_u64(w->ns[ROUNDS - 1], count),
		other ? div64_u64(median * 1000, other) : 1000);
	return median;
}

/* Did what was sent arrive? The messages of a shape are all different. */
static bool st_cost_arrived(struct cost_way *w, enum cost_shape shape)
{
	const size_t len = st_cost_shapes[shape].count == BATCH
				   ? (size_t)BATCH * BYTES
				   : BYTES;

	/* Of a chain all are the same, and the last came to the first end. */
	return !memcmp(w->src, w->dst, len);
}

static int st_cost_measure(struct cost *c, enum cost_shape shape)
{
	unsigned int i, k;
	int ret = 0;

	for (k = 0; k < WAYS && !ret; k++) {
		for (i = 0; i < BATCH * BYTES; i++)
			c->way[k].src[i] = i * 7 + (i >> 8) + shape;
		ret = st_cost_turn(&c->way[k], shape, NULL, WARM_UP);
	}
	for (i = 0; i < ROUNDS; i += TURN)
		for (k = 0; k < WAYS && !ret; k++)
			ret = st_cost_turn(&c->way[k], shape, c->way[k].ns + i,
					   TURN);
	for (k = 0; k < WAYS && !ret; k++)
		if (!st_cost_arrived(&c->way[k], shape))
			ret = -EBADMSG;
	return ret;
}

static void st_cost_compare(struct st *st, struct cost *c)
{
	enum cost_shape shape;
	int ret;

	for (shape = 0; shape < COST_SHAPES; shape++) {
		if (st_cost_shapes[shape].is_write && !c->way[0].mr)
			continue;
		ret = st_cost_measure(c, shape);
		CHECKF(st, !ret, "both are measured: %s (%d)",
		       st_cost_shapes[shape].name, ret);
		if (!ret)
			st_cost_say(&c->way[1], shape,
				    st_cost_say(&c->way[0], shape, 0));
	}
}

void st_test_rdm_cost(struct st *st)
{
	struct cost *c = kvzalloc(sizeof(*c), GFP_KERNEL);
	int i, ret = -ENOMEM;

	if (c)
		c->below = kzalloc(sizeof(*c->below), GFP_KERNEL);
	if (!CHECK(st, c && c->below, "there is memory to measure with"))
		goto free;
	c->st = st;
	for (i = 0; i < WAYS; i++) {
		init_completion(&c->way[i].go);
		init_completion(&c->way[i].end);
	}
	ret = st_cost_open_nodes(c);
	CHECK_EQ(st, ret, 0, "unconnected endpoints open");
	if (!ret)
		ret = st_is_rdm_layer(st) ? st_cost_open_below(c)
					  : st_cost_open_sockets(c);
	if (CHECK_EQ(st, ret, 0, "what is below them opens"))
		st_cost_compare(st, c);
	st_cost_close(c);
free:
	if (c)
		kfree(c->below);
	kvfree(c);
}
