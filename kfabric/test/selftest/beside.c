// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: other providers that are used while the suite runs: messages pass
 * between two unconnected endpoints of each, one after the other.
 *
 * Lifetime: the main thread opens everything before a work is queued, and closes it
 * when the work has ended, after a whole round.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "st.h"

#define BESIDES 4
#define LONGEST 20000

struct beside {
	struct work_struct work;
	struct st st;
	struct st_node a, b;
	fi_addr_t to;
	struct st_op *tx, *rx;
	u8 *src, *dst;
	bool ending;
	unsigned int rounds;
	int err;
};

static struct beside *st_besides[BESIDES];

static int st_beside_round(struct beside *x)
{
	size_t len = x->rounds * 997 % LONGEST;
	u8 seed = x->rounds;
	int ret;

	st_fill(x->src, len, seed);
	ret = st_node_recv(&x->b, x->rx, x->dst, LONGEST);
	ret = ret ?: st_node_send(&x->a, x->tx, x->src, len, x->to);
	ret = st_op_result(x->a.cq, x->tx, ret);
	ret = st_op_result(x->b.cq, x->rx, ret);
	if (ret)
		return ret;
	return x->rx->entry.len == len && st_holds(x->dst, len, seed) ? 0
								      : -EIO;
}

static void st_beside_run(struct work_struct *work)
{
	struct beside *x = container_of(work, struct beside, work);

	do {
		x->err = st_beside_round(x);
		x->rounds++;
		cond_resched();
	} while (!x->err && !READ_ONCE(x->ending));
}

static void st_beside_free(struct beside *x)
{
	st_node_close(&x->a);
	st_node_close(&x->b);
	st_close(&x->st);
	kfree(x->tx);
	kfree(x->rx);
	kvfree(x->src);
	kvfree(x->dst);
	kfree(x->st.provider);
	kfree(x);
}

static int st_beside_open(struct beside *x, const struct st *st)
{
	int ret;

	x->st.node = st->node;
	x->src = kvmalloc(LONGEST, GFP_KERNEL);
	x->dst = kvmalloc(LONGEST, GFP_KERNEL);
	if (!x->st.provider || !x->src || !x->dst)
		return -ENOMEM;
	ret = st_rdm_open(&x->st);
	if (ret)
		return ret;
	x->tx = st_op_new(&x->st);
	x->rx = st_op_new(&x->st);
	if (!x->tx || !x->rx)
		return -ENOMEM;
	ret = st_node_open(&x->a, &x->st, 0, 0);
	ret = ret ?: st_node_open(&x->b, &x->st, 0, 0);
	if (!ret)
		x->to = st_node_knows(&x->a, &x->b);
	return ret;
}

/* Begin with those that are named, comma between. */
void st_beside_start(struct st *st, const char *names)
{
	char *copy = kstrdup(names, GFP_KERNEL), *rest = copy, *name;
	struct beside *x;
	int i, ret;

	for (i = 0; i < BESIDES && (name = strsep(&rest, ",")) && *name; i++) {
		x = kzalloc(sizeof(*x), GFP_KERNEL);
		if (!x)
			break;
		INIT_WORK(&x->work, st_beside_run);
		x->st.provider = kstrdup(name, GFP_KERNEL);
		ret = st_beside_open(x, st);
		if (!CHECKF(st, !ret, "%s opens to be used beside: error %d",
			    name, ret)) {
			st_beside_free(x);
			break;
		}
		st_besides[i] = x;
		queue_work(system_unbound_wq, &x->work);
	}
	kfree(copy);
}

void st_beside_stop(struct st *st)
{
	struct beside *x;
	int i;

	for (i = 0; i < BESIDES; i++) {
		x = st_besides[i];
		if (!x)
			continue;
		WRITE_ONCE(x->ending, true);
		flush_work(&x->work);
		CHECKF(st, !x->err && x->rounds,
		       "%s was used beside: %u messages, error %d",
		       x->st.provider, x->rounds, x->err);
		st_beside_free(x);
		st_besides[i] = NULL;
	}
}
