// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: posting where one must not sleep, and upcalls.
 */
#include <linux/interrupt.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/timer.h>

#include "../st.h"

#define BATCH	  8
#define PING_PONG 200

/* Operations that are posted from a timer or a tasklet. */
struct batch {
	struct st_pair p;
	struct st_op *rx[BATCH];
	struct st_op *tx[BATCH];
	u8 *mem;
	struct timer_list timer;
	struct tasklet_struct tasklet;
	spinlock_t lock;
	struct completion posted;
	int ret;
	bool atomic;
};

static void st_context_post_batch(struct batch *b)
{
	unsigned long irq;
	unsigned int i;

	spin_lock_irqsave(&b->lock, irq);
	b->atomic = in_softirq() && irqs_disabled();
	b->ret = 0;
	for (i = 0; i < BATCH && !b->ret; i++) {
		b->ret = fi_recv(b->p.b, b->mem + 64 + i, 1, NULL, 0,
				 &b->rx[i]->ctx);
		b->ret = b->ret
				 ?: fi_send(b->p.a, b->mem + i, 1, NULL, 0,
					    &b->tx[i]->ctx);
	}
	spin_unlock_irqrestore(&b->lock, irq);
	complete(&b->posted);
}

static void st_context_on_timer(struct timer_list *t)
{
	st_context_post_batch(container_of(t, struct batch, timer));
}

static void st_context_on_tasklet(struct tasklet_struct *t)
{
	st_context_post_batch(container_of(t, struct batch, tasklet));
}

static void st_context_check_batch(struct st *st, struct batch *b,
				   const char *where)
{
	unsigned int i, ok = 0;

	wait_for_completion_timeout(&b->posted, msecs_to_jiffies(ST_WAIT_MS));
	CHECKF(st, b->atomic, "a %s is softirq with interrupts off", where);
	CHECKF(st, !b->ret, "operations are posted from a %s (got %d)", where,
	       b->ret);
	for (i = 0; i < BATCH && !b->ret; i++)
		ok += !st_op_result(b->p.acq, b->tx[i], 0) &&
		      !st_op_result(b->p.bcq, b->rx[i], 0) &&
		      b->mem[64 + i] == b->mem[i];
	CHECKF(st, ok == BATCH, "what a %s posted arrives", where);
	for (i = 0; i < BATCH; i++) {
		st_op_reset(b->tx[i]);
		st_op_reset(b->rx[i]);
	}
	memset(b->mem + 64, 0, 64);
	reinit_completion(&b->posted);
}

static void st_context_softirq(struct st *st)
{
	struct batch *b = kzalloc(sizeof(*b), GFP_KERNEL);
	unsigned int i;

	if (!b)
		return;
	spin_lock_init(&b->lock);
	init_completion(&b->posted);
	b->mem = kzalloc(128, GFP_KERNEL);
	st_fill(b->mem, 64, 3);
	for (i = 0; i < BATCH; i++) {
		b->tx[i] = st_op_new(st);
		b->rx[i] = st_op_new(st);
	}
	if (CHECK_EQ(st, st_pair_open(&b->p, st, NULL), 0,
		     "a pair connects for softirq")) {
		timer_setup(&b->timer, st_context_on_timer, 0);
		mod_timer(&b->timer, jiffies + 1);
		st_context_check_batch(st, b, "timer");
		tasklet_setup(&b->tasklet, st_context_on_tasklet);
		tasklet_schedule(&b->tasklet);
		st_context_check_batch(st, b, "tasklet");
		tasklet_kill(&b->tasklet);
	}
	st_pair_close(&b->p);
	for (i = 0; i < BATCH; i++) {
		kfree(b->tx[i]);
		kfree(b->rx[i]);
	}
	kfree(b->mem);
	kfree(b);
}

/* A ball that is played back and forth by upcalls alone. */
struct game {
	struct st_pair p;
	struct st_op *rx_a;
	struct st_op *rx_b;
	u32 *ball_a;
	u32 *ball_b;
	atomic_t upcalls;
	atomic_t doubles;
	atomic_t errors;
	atomic_t cancelled;
	atomic_t preemptible;
	struct completion over;
};

/* Receive again, then send the ball back, one higher. */
static void st_context_play_ball(struct game *g, struct fid_ep *ep,
				 struct st_op *rx, u32 *ball)
{
	u32 next = *ball + 1;
	int ret;

	if (next >= PING_PONG) {
		complete(&g->over);
		return;
	}
	ret = fi_recv(ep, ball, sizeof(*ball), NULL, 0, &rx->ctx);
	ret = ret ?: fi_inject(ep, &next, sizeof(next), 0);
	if (ret)
		atomic_inc(&g->errors);
}

static void st_context_on_complete(struct fid_cq *cq,
				   const struct fi_cq_err_entry *e,
				   void *context)
{
	struct game *g = context;

	atomic_inc(&g->upcalls);
	if (preemptible())
		atomic_inc(&g->preemptible);
	if (e->err) {
		if (e->err != ECANCELED)
			atomic_inc(&g->errors);
		/* The last ball may still be under way for who sent it. */
		else if (e->op_context)
			atomic_inc(&g->cancelled);
		return;
	}
	if (e->op_context == &g->rx_a->ctx)
		st_context_play_ball(g, g->p.a, g->rx_a, g->ball_a);
	else if (e->op_context == &g->rx_b->ctx)
		st_context_play_ball(g, g->p.b, g->rx_b, g->ball_b);
	else
		atomic_inc(&g->doubles);
}

/* As long as strokes come: on a debug kernel each takes its time. */
static bool st_context_game_ends(struct game *g)
{
	int before;
	bool over;

	do {
		before = atomic_read(&g->upcalls);
		over = wait_for_completion_timeout(
			&g->over, msecs_to_jiffies(ST_WAIT_MS));
	} while (!over && atomic_read(&g->upcalls) != before);
	return over;
}

static void st_context_play_game(struct st *st, struct game *g)
{
	struct fi_cq_data_entry d;
	struct fi_cq_err_entry e;
	u32 zero = 0;
	int ret;

	CHECK_EQ(st, fi_cq_read(g->p.acq, &d, 1), -EOPNOTSUPP,
		 "a queue with upcall is not read");
	CHECK_EQ(st, fi_cq_readerr(g->p.acq, &e, 0), -EOPNOTSUPP,
		 "nor are its errors");
	ret = fi_recv(g->p.a, g->ball_a, 4, NULL, 0, &g->rx_a->ctx);
	ret = ret ?: fi_recv(g->p.b, g->ball_b, 4, NULL, 0, &g->rx_b->ctx);
	ret = ret ?: fi_inject(g->p.a, &zero, 4, 0);
	CHECK_EQ(st, ret, 0, "the first ball is played");
	CHECK(st, st_context_game_ends(g), "upcalls play it to the end");
	CHECK_EQ(st, atomic_read(&g->errors), 0, "no stroke fails");
	CHECK_EQ(st, atomic_read(&g->upcalls), PING_PONG,
		 "each receive has one upcall");
	CHECK_EQ(st, atomic_read(&g->doubles), 0,
		 "there is no upcall for anything else");
	CHECK_EQ(st, atomic_read(&g->preemptible), 0,
		 "upcalls asked for in softirq do not sleep");
}

static void st_context_upcall(struct st *st)
{
	struct game *g = kzalloc(sizeof(*g), GFP_KERNEL);
	struct fi_cq_attr attr = { .comp_handler = st_context_on_complete,
				   .comp_context = FI_CQ_SOFTIRQ };
	struct st_opts opts = { .cq_attr = &attr, .cq_context = g };

	if (!g)
		return;
	init_completion(&g->over);
	g->rx_a = st_op_new(st);
	g->rx_b = st_op_new(st);
	g->ball_a = kzalloc(sizeof(u32), GFP_KERNEL);
	g->ball_b = kzalloc(sizeof(u32), GFP_KERNEL);
	if (CHECK_EQ(st, st_pair_open(&g->p, st, &opts), 0,
		     "a pair with upcalls connects"))
		st_context_play_game(st, g);
	st_pair_close(&g->p);
	CHECK_EQ(st, atomic_read(&g->cancelled), 1,
		 "closing completes the receive that was left");
	kfree(g->rx_a);
	kfree(g->rx_b);
	kfree(g->ball_a);
	kfree(g->ball_b);
	kfree(g);
}

void st_test_context(struct st *st)
{
	st_context_softirq(st);
	st_context_upcall(st);
}
