// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Test of the fault layer: the power model: what a cut loses, and what not.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "power.h"
#include "test.h"

#define BLOCK  4096
#define SECOND (8 * BLOCK) /* where unflushed bytes go */
#define OLD    0x11
#define NEW    0x22
#define HALF   500

/* Knobs first: the model is made when an endpoint opens. */
static bool ft_power_open_pair(struct ft_pair *p, u32 drain_permille)
{
	int ret;

	kfabric_fault_reset();
	kfabric_fault_set("power", 1);
	kfabric_fault_set("drain_permille", drain_permille);
	ret = ft_pair_open(p, 0, NULL, NULL);
	return CHECK_EQ(ret ?: ft_pair_join(p), 0,
			"a pair connects for the power model");
}

static void ft_power_held(void)
{
	struct ft_pair p;

	if (ft_power_open_pair(&p, 0)) {
		CHECK_EQ(ft_write(&p, 0, BLOCK, NEW), 0, "a write completes");
		CHECK(ft_holds(&p, 0, BLOCK, 0), "but is not placed");
		CHECK_EQ(ft_flush(&p, 0, BLOCK), 0, "a readback completes");
		CHECK(ft_holds(&p, 0, BLOCK, NEW), "and the write is placed");
		CHECK_EQ(ft_write(&p, 3, 1000, OLD), 0, "so with odd bytes");
		CHECK_EQ(ft_flush(&p, 3, 1000), 0, "and a readback");
		CHECK(ft_holds(&p, 0, 3, NEW) && ft_holds(&p, 3, 1000, OLD) &&
			      ft_holds(&p, 1003, BLOCK - 1003, NEW),
		      "which go where they belong");
	}
	ft_pair_close(&p);
}

static void ft_power_read_places(void)
{
	struct ft_pair p;

	if (ft_power_open_pair(&p, 0)) {
		CHECK_EQ(ft_write(&p, 0, BLOCK, NEW), 0, "a write completes");
		CHECK_EQ(fi_read(p.a, p.src + SECOND, BLOCK, NULL, 0,
				 p.mr->iova, fi_mr_key(p.mr), ft_op(&p, 2)),
			 0, "a read follows it");
		CHECK_EQ(ft_comp(p.acq, FT_WAIT_MS, NULL), 0, "it completes");
		CHECK(!memchr_inv(p.src + SECOND, NEW, BLOCK),
		      "it has read what was written");
	}
	ft_pair_close(&p);
}

/* The peer is told that the bytes are there, so they must be. */
static void ft_power_data_places(void)
{
	struct fi_rma_iov range = { .len = BLOCK };
	struct fi_msg_rma m = { .rma_iov = &range, .rma_iov_count = 1 };
	struct ft_pair p;

	if (ft_power_open_pair(&p, 0)) {
		memset(p.src, NEW, BLOCK);
		range.addr = p.mr->iova;
		range.key = fi_mr_key(p.mr);
		m.buf = fi_buf_linear(p.src, BLOCK);
		m.context = ft_op(&p, 3);
		CHECK_EQ(fi_recv(p.b, NULL, 0, NULL, 0, ft_op(&p, 2)), 0,
			 "a receive without memory is posted");
		CHECK_EQ(fi_writemsg(p.a, &m, FI_REMOTE_CQ_DATA), 0,
			 "a write that tells the peer is posted");
		CHECK_EQ(ft_comp(p.bcq, FT_WAIT_MS, NULL), 0, "it is told");
		CHECK(ft_holds(&p, 0, BLOCK, NEW), "such a write is not held");
	}
	ft_pair_close(&p);
}

static void ft_power_message_places(void)
{
	struct ft_pair p;

	if (ft_power_open_pair(&p, 0)) {
		CHECK_EQ(fi_recv(p.b, p.src + SECOND, BLOCK, NULL, 0,
				 ft_op(&p, 2)),
			 0, "a receive is posted");
		CHECK_EQ(ft_write(&p, 0, BLOCK, NEW), 0, "a write completes");
		CHECK_EQ(fi_send(p.a, p.src, 8, NULL, 0, ft_op(&p, 3)), 0,
			 "a message follows it");
		CHECK_EQ(ft_comp(p.bcq, FT_WAIT_MS, NULL), 0, "it arrives");
		CHECK(ft_holds(&p, 0, BLOCK, NEW),
		      "then the write before it is placed");
	}
	ft_pair_close(&p);
}

static void ft_power_other_queue(void)
{
	struct ft_pair p, q;

	if (ft_power_open_pair(&p, 0)) {
		if (ft_power_open_pair(&q, 0)) {
			CHECK_EQ(ft_write(&p, 0, BLOCK, NEW), 0,
				 "one queue writes");
			CHECK_EQ(ft_flush(&q, 0, BLOCK), 0,
				 "another one reads back");
			CHECK(ft_holds(&p, 0, BLOCK, 0),
			      "which places nothing of the first");
		}
		ft_pair_close(&q);
	}
	ft_pair_close(&p);
}

/* Every piece of 8 bytes is old or new; how many are old? -1: torn deeper. */
static int ft_old_pieces(const struct ft_pair *p, u64 offset, size_t len)
{
	int n = 0;
	size_t i;

	for (i = offset; i < offset + len; i += FAULT_ATOM) {
		if (ft_holds(p, i, FAULT_ATOM, OLD))
			n++;
		else if (!ft_holds(p, i, FAULT_ATOM, NEW))
			return -1;
	}
	return n;
}

/* Lines of which some pieces are old and some new. */
static int ft_torn_lines(const struct ft_pair *p, u64 offset, size_t len)
{
	int n, torn = 0;
	size_t i;

	for (i = offset; i < offset + len; i += FAULT_LINE) {
		n = ft_old_pieces(p, i, FAULT_LINE);
		torn += n > 0 && n < FAULT_LINE / FAULT_ATOM;
	}
	return torn;
}

static void ft_check_cut(struct ft_pair *p)
{
	int old;

	CHECK(kfabric_fault_cut() > 0, "the power fails");
	CHECK_EQ(ft_shutdowns(p), 2, "both sides see the end");
	old = ft_old_pieces(p, SECOND, BLOCK);
	CHECK(ft_holds(p, 0, BLOCK, NEW), "what was flushed is there");
	CHECK(old > 0, "unflushed bytes are lost, 8 at a time");
	CHECK(old < BLOCK / FAULT_ATOM, "but not all of them");
	CHECK(ft_torn_lines(p, SECOND, BLOCK) > 0, "some lines are torn");
	CHECK_EQ(kfabric_fault_count("lost_bytes"), old * FAULT_ATOM,
		 "exactly the lost bytes are reported");
	CHECK_EQ(ft_write(p, 0, BLOCK, OLD), -ENOTCONN,
		 "nothing can be posted after it");
}

static void ft_power_cut(void)
{
	struct ft_pair p;

	if (ft_power_open_pair(&p, 0)) {
		memset(p.dst, OLD, FT_LEN);
		CHECK_EQ(ft_write(&p, 0, BLOCK, NEW), 0, "a write completes");
		CHECK_EQ(ft_flush(&p, 0, BLOCK), 0, "and is flushed");
		CHECK_EQ(ft_write(&p, SECOND, BLOCK, NEW), 0,
			 "another one is not");
		ft_check_cut(&p);
	}
	ft_pair_close(&p);
}

/* Wait until N no longer drains by itself: nothing is at the peer's NIC. */
static bool ft_drains_some(struct ft_pair *p)
{
	unsigned long end = jiffies + msecs_to_jiffies(FT_WAIT_MS);
	int old;

	do {
		old = ft_old_pieces(p, SECOND, BLOCK);
		usleep_range(1000, 2000);
	} while (old == BLOCK / FAULT_ATOM && time_before(jiffies, end));
	return old >= 0 && old < BLOCK / FAULT_ATOM;
}

/* Is there a line of old bytes before one that has new ones? */
static bool ft_out_of_order(const struct ft_pair *p)
{
	bool stays = false;
	size_t i;

	for (i = SECOND; i < SECOND + BLOCK; i += FAULT_LINE) {
		if (ft_holds(p, i, FAULT_LINE, OLD))
			stays = true;
		else if (stays)
			return true;
	}
	return false;
}

static bool ft_gets_out_of_order(const struct ft_pair *p)
{
	unsigned long end = jiffies + msecs_to_jiffies(FT_WAIT_MS);

	while (!ft_out_of_order(p) && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return ft_out_of_order(p);
}

static void ft_power_drain(void)
{
	struct ft_pair p;

	if (ft_power_open_pair(&p, HALF)) {
		memset(p.dst, OLD, FT_LEN);
		kfabric_fault_set("torn_placement", 1);
		CHECK_EQ(ft_write(&p, SECOND, BLOCK, NEW), 0,
			 "a write completes");
		CHECK(ft_drains_some(&p),
		      "some of it is placed without a flush");
		CHECK(ft_gets_out_of_order(&p), "lines pass earlier ones");
		CHECK(kfabric_fault_count("drained_lines") < BLOCK / FAULT_LINE,
		      "but not all of it");
		CHECK_EQ(ft_flush(&p, SECOND, BLOCK), 0, "a flush completes");
		CHECK(ft_holds(&p, SECOND, BLOCK, NEW), "then all is placed");
		CHECK(kfabric_fault_count("torn") > 0,
		      "lines were placed in two parts");
	}
	ft_pair_close(&p);
}

static void ft_power_close(bool keep)
{
	struct ft_pair p;

	if (ft_power_open_pair(&p, 0)) {
		kfabric_fault_set("keep_on_close", keep);
		CHECK_EQ(ft_write(&p, 0, BLOCK, NEW), 0, "a write completes");
		CHECK_EQ(fi_close(&p.a->fid), 0, "its endpoint closes");
		p.a = NULL;
		CHECK(ft_holds(&p, 0, BLOCK, keep ? NEW : 0),
		      keep ? "which drains it" : "which drops it");
		CHECK_EQ(kfabric_fault_count("lost_bytes"), keep ? 0 : BLOCK,
			 "the report agrees");
	}
	ft_pair_close(&p);
}

static void ft_power_bound(void)
{
	struct ft_pair p;

	if (ft_power_open_pair(&p, 0)) {
		CHECK_EQ(ft_write(&p, 0, FT_LEN, NEW), 0,
			 "a write longer than the buffers completes");
		CHECK(kfabric_fault_count("squeezed_lines") > 0,
		      "it pushes older lines out");
		CHECK(!ft_holds(&p, 0, FT_LEN, NEW), "but not all of them");
		CHECK_EQ(ft_flush(&p, 0, FT_LEN), 0, "a flush completes");
		CHECK(ft_holds(&p, 0, FT_LEN, NEW), "then all is placed");
	}
	ft_pair_close(&p);
}

static void ft_power_bad_key(void)
{
	struct ft_pair p;
	int err;

	if (ft_power_open_pair(&p, 0)) {
		kfabric_fault_set("stale_key_nth", 1);
		CHECK_EQ(ft_write(&p, 0, BLOCK, NEW), 0,
			 "a held write with a bad key completes");
		err = ft_flush(&p, 0, BLOCK);
		CHECK_EQ(err, ECANCELED, "but no flush after it succeeds");
		CHECK_EQ(ft_shutdowns(&p), 2, "the connection ends");
		CHECK(kfabric_fault_count("failed_writes") > 0,
		      "the refused lines are counted");
		CHECK(ft_holds(&p, 0, BLOCK, 0), "nothing was written");
	}
	ft_pair_close(&p);
}

/* It fails while operations go on; nothing connects until it is back. */
static void ft_power_off(void)
{
	struct ft_pair p;
	u32 event;

	if (ft_power_open_pair(&p, 0)) {
		kfabric_fault_set("power_off_nth", 2);
		CHECK_EQ(ft_write(&p, 0, BLOCK, NEW), 0,
			 "operation 1 succeeds");
		CHECK_EQ(kfabric_fault_count("power_cuts"), 0,
			 "the power is on yet");
		ft_write(&p, 0, BLOCK, NEW);
		CHECK_EQ(ft_shutdowns(&p), 2, "the power fails at operation 2");
		CHECK_EQ(kfabric_fault_count("power_cuts"), 2,
			 "on both sides of the connection");
	}
	ft_pair_close(&p);
	CHECK_EQ(ft_pair_open(&p, 0, NULL, NULL), 0, "a connect is started");
	CHECK_EQ(ft_event(p.eq, &event, NULL), -ECONNREFUSED,
		 "nothing connects while the power is off");
	ft_pair_close(&p);
	kfabric_fault_set("power_off", 0);
	CHECK_EQ(ft_pair_open(&p, 0, NULL, NULL) ?: ft_pair_join(&p), 0,
		 "when it is back it does");
	ft_pair_close(&p);
}

void ft_power(void)
{
	ft_power_held();
	ft_power_read_places();
	ft_power_data_places();
	ft_power_message_places();
	ft_power_other_queue();
	ft_power_cut();
	ft_power_drain();
	ft_power_close(false);
	ft_power_close(true);
	ft_power_bound();
	ft_power_bad_key();
	ft_power_off();
	kfabric_fault_reset();
}
