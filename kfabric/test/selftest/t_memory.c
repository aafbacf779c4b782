// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: what endpoints and connections take of the kernel's memory, printed: by
 * the pages that are free before and after, with many of each. Nobody else may need
 * memory meanwhile.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "st.h"

#define MANY 100

unsigned long st_free_pages(void)
{
	struct sysinfo info;

	/* What is given back by RCU or by reapers is back. */
	rcu_barrier();
	si_meminfo(&info);
	return info.freeram + info.bufferram;
}

void st_say_each(const char *what, unsigned long before, unsigned long after,
		 unsigned int count)
{
	long kib = (long)(before - after) * (long)(PAGE_SIZE / 1024);

	st_tap_line("    # each %s takes %ld KiB", what, kib / (long)count);
}

/* ---- unconnected ------------------------------------------------------------ */

static int st_memory_greet(struct st_node *from, struct st_node *to,
			   struct st_op *tx, struct st_op *rx, u8 *bytes)
{
	int ret = st_node_recv(to, rx, bytes, 8);

	ret = ret ?: st_node_send(from, tx, bytes, 8, st_node_knows(from, to));
	ret = st_op_result(from->cq, tx, ret);
	return st_op_result(to->cq, rx, ret);
}

static void st_memory_nodes(struct st *st, struct st_node *n, u8 *bytes)
{
	struct st_op *tx = st_op_new(st), *rx = st_op_new(st);
	unsigned long before, opened, greeted;
	int i, ret = 0;

	before = st_free_pages();
	for (i = 0; i <= MANY && !ret; i++)
		ret = st_node_open(&n[i], st, 0, 0);
	opened = st_free_pages();
	if (CHECK_EQ(st, ret, 0, "many endpoints open"))
		st_say_each("endpoint, with its queue and its vector", before,
			    opened, MANY + 1);
	for (i = 1; i <= MANY && !ret && tx && rx; i++)
		ret = st_memory_greet(&n[i], &n[0], tx, rx, bytes);
	greeted = st_free_pages();
	if (CHECK_EQ(st, ret, 0, "each sends to the first"))
		st_say_each("peer, idle, at both ends", opened, greeted, MANY);
	for (i = 0; i <= MANY; i++)
		st_node_close(&n[i]);
	kfree(tx);
	kfree(rx);
}

void st_test_rdm_memory(struct st *st)
{
	struct st_node *n = kvcalloc(MANY + 1, sizeof(*n), GFP_KERNEL);
	u8 *bytes = kzalloc(8, GFP_KERNEL);

	if (n && bytes)
		st_memory_nodes(st, n, bytes);
	kvfree(n);
	kfree(bytes);
}

/* ---- connected -------------------------------------------------------------- */

void st_test_memory(struct st *st)
{
	struct st_pair *p = kvcalloc(MANY, sizeof(*p), GFP_KERNEL);
	unsigned long before;
	int i, ret = 0;

	if (!p)
		return;
	before = st_free_pages();
	for (i = 0; i < MANY && !ret; i++)
		ret = st_pair_open(&p[i], st, NULL);
	if (CHECK_EQ(st, ret, 0, "many connections are made"))
		st_say_each("connection, with both endpoints and queues",
			    before, st_free_pages(), MANY);
	while (i--)
		st_pair_close(&p[i]);
	kvfree(p);
}
