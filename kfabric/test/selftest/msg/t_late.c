// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: an endpoint closes while the network still has a message of it on its way.
 * The memory is the caller's again, who writes into it; the peer gets what was there when
 * the message was sent, or nothing.
 *
 * Whoever runs this holds back the packets for HELD_MS.
 */
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/string.h>

#include "../st.h"

#define ROUNDS	 3
#define TRIES	 20 /* rounds, those among them that say nothing */
#define LEN	 PAGE_SIZE
#define HELD_MS	 400
#define LEAVE_MS 100 /* until the endpoint has handed the message over */
#define REUSE_MS 50 /* from the close to the next use of the memory */
#define OLD_BYTE 0x11
#define NEW_BYTE 0xee

/* Pages: a socket takes no others as they are. */
static int st_late_send(struct st_pair *p, struct st_op *tx, struct st_op *rx,
			u8 *src, u8 *dst)
{
	int ret;

	memset(src, OLD_BYTE, LEN);
	memset(dst, 0, LEN);
	ret = fi_recv(p->b, dst, LEN, NULL, 0, &rx->ctx);
	ret = ret ?: fi_send(p->a, src, LEN, NULL, 0, &tx->ctx);
	msleep(LEAVE_MS);
	return ret;
}

/*
 * Return how many bytes of what was written afterwards the peer has; -errno. -EAGAIN: the
 * message was through when the endpoint closed, on a machine with much to do.
 */
static int st_late_round(struct st *st, u8 *src, u8 *dst)
{
	struct st_op *tx = st_op_new(st), *rx = st_op_new(st);
	struct st_pair p = {};
	int i, n = 0, ret = tx && rx ? st_pair_open(&p, st, NULL) : -ENOMEM;

	ret = ret ?: st_late_send(&p, tx, rx, src, dst);
	if (ret)
		goto close;
	fi_close(&p.a->fid);
	p.a = NULL;
	ret = st_op_result(p.acq, tx, 0);
	ret = ret == ECANCELED ? 0 : ret ? -EPROTO : -EAGAIN;
	msleep(REUSE_MS);
	memset(src, NEW_BYTE, LEN);
	msleep(2 * HELD_MS);
	for (i = 0; i < LEN; i++)
		n += dst[i] == NEW_BYTE;
close:
	st_pair_close(&p);
	kfree(tx);
	kfree(rx);
	return ret ?: n;
}

void st_test_late(struct st *st)
{
	u8 *src = (u8 *)__get_free_page(GFP_KERNEL);
	u8 *dst = (u8 *)__get_free_page(GFP_KERNEL);
	int i, rounds = 0, n = 0, bytes = 0;

	if (!CHECK(st, src && dst, "there is memory to send"))
		goto out;
	for (i = 0; i < TRIES && rounds < ROUNDS; i++) {
		n = st_late_round(st, src, dst);
		bytes += max(n, 0);
		rounds += n >= 0;
		if (n < 0 && n != -EAGAIN)
			break;
	}
	CHECK_EQ(st, rounds, ROUNDS,
		 "an endpoint closes whose message is on its way");
	CHECK_EQ(st, bytes, 0,
		 "its peer has no byte that was written afterwards");
out:
	free_page((unsigned long)src);
	free_page((unsigned long)dst);
}
