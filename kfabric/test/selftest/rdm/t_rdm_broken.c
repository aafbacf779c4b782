// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: peers of unconnected endpoints that break a rule on a connection which is
 * over for another reason by then.
 *
 * The endpoint is held in an upcall, in a workqueue, while its peer breaks the rule and
 * connects again as another instance: so it hears of that first, ends the connection for
 * it, and looks at what has come over that connection afterwards.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../st.h"

#define ROUNDS	    3
#define SETTLE_MS   200 /* for what a peer does to be there */
#define KEY	    0x5eeda70012ULL
#define BYTES	    8 /* of a write, and of its region twice as many */
#define HEADER	    32 /* bytes of a piece before what it has */
#define WRITE_BYTES (HEADER + 32 + BYTES)
#define F_ATOMIC    (2 | 64) /* of a hello: remote memory, atomic operations */

struct rdm_broken {
	struct st *st;
	struct st_room r;
	struct st_node n; /* that is held */
	struct st_node other; /* whose message does so */
	fi_addr_t to_n;
	struct st_rogue x; /* the peer of n */
	struct st_rogue next; /* its next instance */
	struct st inner; /* whose operations are theirs */
	struct st_op *op; /* one of inner */
	u8 instance;
	struct completion held, go;
};

/* The queue's context is its node. */
static void st_broken_upcall(struct fid_cq *cq,
			     const struct fi_cq_err_entry *entry, void *context)
{
	struct rdm_broken *b =
		container_of((struct st_node *)context, struct rdm_broken, n);
	struct st_op *op = st_op_of(entry->op_context);

	op->entry = *entry;
	op->count++;
	complete(&op->done);
	if (op != b->r.rx[0])
		return;
	complete(&b->held);
	wait_for_completion_timeout(&b->go, msecs_to_jiffies(ST_WAIT_MS));
}

static bool st_broken_wait(struct completion *done)
{
	return wait_for_completion_timeout(done, msecs_to_jiffies(ST_WAIT_MS));
}

static int st_broken_open(struct rdm_broken *b, struct st *st)
{
	struct fi_cq_attr attr = { .comp_handler = st_broken_upcall,
				   .comp_context = FI_CQ_WORKQUEUE };
	int ret;

	b->st = st;
	init_completion(&b->held);
	init_completion(&b->go);
	ret = st_node_open_cq(&b->n, st, 0, 0, &attr);
	ret = ret ?: st_node_open(&b->other, st, 0, 0);
	if (!ret)
		b->to_n = st_node_knows(&b->other, &b->n);
	return ret;
}

static void st_broken_close(struct rdm_broken *b)
{
	st_node_close(&b->n);
	st_node_close(&b->other);
	st_room_close(&b->r);
	kfree(b->op);
}

/* From here on n does nothing. */
static int st_broken_hold(struct rdm_broken *b)
{
	int ret = st_node_recv(&b->n, b->r.rx[0], b->r.dst, ST_ROOM_BASE);

	reinit_completion(&b->held);
	reinit_completion(&b->go);
	ret = ret ?: st_node_send(&b->other, b->r.tx[0], b->r.src, 10, b->to_n);
	if (!ret && !st_broken_wait(&b->held))
		ret = -ETIME;
	return ret;
}

/* Now it looks at what has come; when this returns it has. */
static int st_broken_go_on(struct rdm_broken *b)
{
	int ret;

	complete(&b->go);
	ret = st_op_result(b->other.cq, b->r.tx[0], 0);
	ret = ret ?: st_node_recv(&b->n, b->r.rx[1], b->r.dst, ST_ROOM_BASE);
	ret = ret ?: st_node_send(&b->other, b->r.tx[0], b->r.src, 10, b->to_n);
	ret = st_op_result(b->other.cq, b->r.tx[0], ret);
	if (!ret && !st_broken_wait(&b->r.rx[1]->done))
		ret = -ETIME;
	return ret;
}

/* What an instance of the peer says first; its number, as n has it. */
static fi_addr_t st_broken_hello(struct rdm_broken *b, u8 *hello)
{
	struct sockaddr_in6 name = b->n.name;
	fi_addr_t addr = FI_ADDR_UNSPEC;

	st_rogue_name(hello, 1, &name);
	hello[4] = F_ATOMIC;
	hello[8] = ++b->instance;
	fi_av_insert(b->n.av, &name, 1, &addr, 0, NULL);
	return addr;
}

/* A peer is connected; its number. */
static int st_broken_meet(struct rdm_broken *b, fi_addr_t *addr)
{
	int ret = st_rogue_open(&b->x, b->st, st_node_port(&b->n));
	u8 hello[ST_HELLO_LEN];

	ret = ret ?: st_rogue_open(&b->next, b->st, st_node_port(&b->n));
	if (ret)
		return ret;
	b->inner = *b->st;
	b->inner.info = b->x.info;
	if (!b->op)
		b->op = st_op_new(&b->inner);
	if (!b->op)
		return -ENOMEM;
	*addr = st_broken_hello(b, hello);
	ret = st_rogue_connect(&b->x, hello, sizeof(hello));
	return ret == FI_CONNECTED ? 0 : ret ?: -EPROTO;
}

/* The next instance calls, and is heard when n goes on. */
static int st_broken_replace(struct rdm_broken *b)
{
	u8 hello[ST_HELLO_LEN];
	int ret;

	st_broken_hello(b, hello);
	ret = st_rogue_dial(&b->next, hello, sizeof(hello));
	msleep(SETTLE_MS);
	return ret;
}

static void st_broken_part(struct rdm_broken *b)
{
	st_rogue_close(&b->x);
	st_rogue_close(&b->next);
}

/* ---- a write ------------------------------------------------------------ */

/* Of fewer bytes than its range has. */
static int st_broken_write(struct rdm_broken *b)
{
	static const u8 bytes[BYTES] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	u8 *w = b->r.src;

	memset(w, 0, WRITE_BYTES);
	w[0] = 1;
	w[1] = 7;
	w[2] = 3;
	w[4] = w[8] = WRITE_BYTES - HEADER;
	w[HEADER] = 1;
	w[HEADER + 16] = 2 * BYTES;
	memcpy(w + HEADER + 24, &(const __le64){ cpu_to_le64(KEY) }, 8);
	memcpy(w + HEADER + 32, bytes, BYTES);
	return st_rogue_send(&b->x, b->op, b->r.src, WRITE_BYTES);
}

static noinline_for_stack void st_broken_writes(struct st *st,
						struct rdm_broken *b)
{
	u8 *memory = b->r.dst + ST_ROOM_BASE;
	struct fid_mr *mr = NULL;
	fi_addr_t addr;
	int i, ret;

	memset(memory, 0, 2 * BYTES);
	ret = fi_mr_reg(st->domain, memory, 2 * BYTES, FI_REMOTE_WRITE, 0, KEY,
			0, &mr, NULL);
	for (i = 0; i < ROUNDS && !ret; i++) {
		ret = st_broken_meet(b, &addr);
		ret = ret ?: st_broken_hold(b);
		ret = ret ?: st_broken_write(b);
		ret = ret ?: st_broken_replace(b);
		ret = st_broken_go_on(b) ?: ret;
		st_broken_part(b);
	}
	CHECK_EQ(st, ret, 0,
		 "a peer writes less than it says and is another then");
	CHECK(st, !memchr_inv(memory, 0, 2 * BYTES),
	      "nothing of what it wrote is there");
	if (mr)
		fi_close(&mr->fid);
}

/* ---- answers ------------------------------------------------------------ */

/* Two operations with a result, which the peer has. */
static int st_broken_ask(struct rdm_broken *b, fi_addr_t addr, u64 *results)
{
	const u64 one = 1;
	ssize_t ret = 0;
	int i;

	for (i = 0; i < 2 && !ret; i++) {
		results[i] = 0xabcd;
		st_op_reset(b->r.rx[2 + i]);
		ret = fi_fetch_atomic(b->n.ep, &one, 1, NULL, results + i, NULL,
				      addr, 0, KEY, FI_UINT64, FI_SUM,
				      &b->r.rx[2 + i]->ctx);
	}
	for (i = 0; i < 2 && !ret; i++)
		if (st_rogue_take(&b->x, b->op, b->r.src) < 0)
			ret = -EPROTO;
	return ret;
}

/* To the first without a result, which breaks a rule, and to the second with one. */
static int st_broken_answer(struct rdm_broken *b)
{
	static const u8 wire[2][HEADER + 8] = {
		{ 1, 9, 3 },
		{ 1, 9, 3, 0, 8, 0, 0, 0, 8, [HEADER] = 0x42 },
	};
	int ret;

	memcpy(b->r.src, wire, sizeof(wire));
	ret = st_rogue_send(&b->x, b->op, b->r.src, HEADER);
	return ret
		       ?: st_rogue_send(&b->x, b->op,
					b->r.src + sizeof(wire[0]),
					sizeof(wire[1]));
}

static noinline_for_stack void st_broken_answers(struct st *st,
						 struct rdm_broken *b)
{
	u64 *results = (u64 *)(b->r.dst + ST_ROOM_BASE);
	int i, j, ended = 0, ret = 0;
	fi_addr_t addr;

	for (i = 0; i < ROUNDS && !ret; i++) {
		ret = st_broken_meet(b, &addr);
		ret = ret ?: st_broken_ask(b, addr, results);
		ret = ret ?: st_broken_hold(b);
		ret = ret ?: st_broken_answer(b);
		ret = ret ?: st_broken_replace(b);
		ret = st_broken_go_on(b) ?: ret;
		for (j = 0; j < 2 && !ret; j++)
			ended += st_broken_wait(&b->r.rx[2 + j]->done) &&
				 b->r.rx[2 + j]->entry.err == FI_ECONNRESET &&
				 results[j] == 0xabcd;
		st_broken_part(b);
	}
	CHECK_EQ(st, ret, 0, "a peer answers wrongly and is another then");
	CHECK_EQ(st, ended, 2 * ROUNDS,
		 "no operation has another one's answer");
}

void st_test_rdm_broken(struct st *st)
{
	struct rdm_broken *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return;
	if (st_room_open(&b->r, st) &&
	    CHECK_EQ(st, st_broken_open(b, st), 0,
		     "an endpoint opens that is held now and then")) {
		st_broken_writes(st, b);
		st_broken_answers(st, b);
	}
	st_broken_close(b);
	kfree(b);
}
