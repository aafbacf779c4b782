// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: windows that grow: how many messages a peer takes that has no receives for
 * them, before and after it was sent to steadily.
 */
#include "../st.h"

#define BYTES  100
#define SMALL  8 /* messages that a window is for at first */
#define MANY   (ST_ROOM_OPS - 4) /* more than that */
#define STREAM 16 /* messages that are sent at a time */
#define TRIES  200

/* Messages one way, each of which has a receive. */
static int st_grow_stream(struct st_duo *d)
{
	int i, ret = 0;

	for (i = 0; i < STREAM && !ret; i++)
		ret = st_node_recv(&d->b, d->r.rx[i], d->r.dst, BYTES);
	for (i = 0; i < STREAM && !ret; i++)
		ret = st_node_send(&d->a, d->r.tx[i], d->r.src, BYTES, d->to_b);
	for (i = 0; i < STREAM && !ret; i++)
		ret = st_op_result(d->a.cq, d->r.tx[i], 0);
	for (i = 0; i < STREAM && !ret; i++)
		ret = st_op_result(d->b.cq, d->r.rx[i], 0);
	return ret;
}

/* So many of those that are sent are done without receives; then they are received. */
static int st_grow_taken(struct st_duo *d)
{
	int i, taken, ret = 0;

	for (i = 0; i < MANY && !ret; i++)
		ret = st_node_send(&d->a, d->r.tx[i], d->r.src, BYTES, d->to_b);
	/* The first one may wait for a connection. */
	taken = ret ? 0 : st_cq_take(d->a.cq, ST_WAIT_MS, NULL);
	taken += st_cq_drain(d->a.cq, ST_QUIET_MS);
	for (i = 0; i < MANY && !ret; i++)
		ret = st_node_recv(&d->b, d->r.rx[i], d->r.dst, BYTES);
	for (i = 0; i < MANY && !ret; i++)
		ret = st_op_result(d->b.cq, d->r.rx[i], 0);
	for (i = 0; i < MANY && !ret; i++)
		ret = st_op_result(d->a.cq, d->r.tx[i], 0);
	return ret ?: taken;
}

/* Somebody else refuses what windows would grow by. */
void st_test_rdm_grow_refused(struct st *st)
{
	struct st_duo d = {};
	int i, ret = 0;

	if (st_duo_open(&d, st)) {
		for (i = 0; i < TRIES && !ret; i++)
			ret = st_grow_stream(&d);
		CHECK_EQ(st, ret, 0, "messages are sent steadily");
		CHECK_EQ(st, st_grow_taken(&d), SMALL,
			 "a peer takes as many as it did at first");
		CHECK_EQ(st, st_grow_stream(&d), 0, "and messages go on");
	}
	st_duo_close(&d);
}

/* How many there are depends on when credits come back: those of the next ask. */
void st_test_rdm_grow(struct st *st)
{
	int i, taken = 0, ret;
	struct st_duo d = {};

	if (st_duo_open(&d, st)) {
		CHECK_EQ(st, st_grow_taken(&d), SMALL,
			 "a peer takes as many messages as its window is for");
		for (i = 0, ret = 0; i < TRIES && !ret && taken < MANY; i++) {
			ret = st_grow_stream(&d);
			if (i % 10 == 9)
				taken = st_grow_taken(&d);
		}
		CHECK_EQ(st, ret, 0, "messages are sent steadily");
		CHECKF(st, taken == MANY,
		       "then it takes more of them (%d, %d times)", taken, i);
		CHECK_EQ(st, st_grow_stream(&d), 0, "and messages go on");
	}
	st_duo_close(&d);
}
