// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Test of the fault layer: faults of connections and completions.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>

#include "test.h"

#define SHORT_MS   300 /* an operation's limit, to be waited for */
#define LATE_MS	   150
#define QUIET_MS   50 /* how long to look for what must not come */
#define SMALL	   256
#define EVERY_TIME 1000

static bool ft_open_pair(struct ft_pair *p, u32 op_timeout_ms)
{
	int ret = ft_pair_open(p, op_timeout_ms, NULL, NULL);

	return CHECK_EQ(ret ?: ft_pair_join(p), 0, "a pair connects");
}

static void ft_case_clean(void)
{
	struct ft_pair p;

	if (ft_open_pair(&p, 0)) {
		CHECK_EQ(ft_write(&p, 0, SMALL, 1), 0, "a write succeeds");
		CHECK_EQ(ft_flush(&p, 0, SMALL), 0, "a flush succeeds");
		CHECK(ft_holds(&p, 0, SMALL, 1), "the bytes are placed");
	}
	ft_pair_close(&p);
}

static void ft_case_reject(const char *knob)
{
	struct ft_pair p;
	u32 event;

	kfabric_fault_set(knob, 1);
	CHECK_EQ(ft_pair_open(&p, 0, NULL, NULL), 0, "a connect is started");
	CHECK_EQ(ft_event(p.eq, &event, NULL), -ECONNREFUSED,
		 "it is refused by the fault");
	CHECK_EQ(kfabric_fault_count("rejects"), 1, "the refusal is counted");
	ft_pair_close(&p);
	if (ft_open_pair(&p, 0))
		CHECK_EQ(ft_write(&p, 0, SMALL, 1), 0, "the next one works");
	ft_pair_close(&p);
}

static void ft_case_cut(void)
{
	struct ft_pair p;

	if (ft_open_pair(&p, 0)) {
		kfabric_fault_set("cut_nth", 3);
		CHECK_EQ(ft_write(&p, 0, SMALL, 1), 0, "operation 1 succeeds");
		CHECK_EQ(ft_write(&p, 0, SMALL, 2), 0, "operation 2 succeeds");
		CHECK_EQ(ft_write(&p, 0, SMALL, 3), ECANCELED,
			 "the link is cut at operation 3");
		CHECK(ft_holds(&p, 0, SMALL, 2), "it moved no byte");
		CHECK_EQ(ft_shutdowns(&p), 2, "both sides see the end");
		CHECK_EQ(ft_write(&p, 0, SMALL, 4), -ENOTCONN,
			 "nothing can be posted after it");
	}
	ft_pair_close(&p);
}

static void ft_case_stall(void)
{
	struct ft_pair p;

	if (ft_open_pair(&p, 0)) {
		kfabric_fault_set("stall", 1);
		kfabric_fault_set("stall_nth", 2);
		CHECK_EQ(ft_write(&p, 0, SMALL, 1), 0, "a write succeeds");
		memset(p.src, 2, SMALL);
		CHECK_EQ(ft_post_write(&p, 2, 0, SMALL), 0,
			 "one is posted at which the link stalls");
		CHECK_EQ(kfabric_fault_count("stalled"), 1, "it is counted");
		CHECK_EQ(ft_post_flush(&p, 3, 0, SMALL), 0,
			 "a flush is posted behind it");
		CHECK_EQ(ft_comp(p.acq, QUIET_MS, NULL), -FI_EAGAIN,
			 "neither is over");
		CHECK(ft_holds(&p, 0, SMALL, 1), "it has moved no byte");
		kfabric_fault_set("stall", 0);
		CHECK_EQ(ft_comp(p.acq, FT_WAIT_MS, NULL), 0, "it goes on");
		CHECK_EQ(ft_comp(p.acq, FT_WAIT_MS, NULL), 0,
			 "and so does what is behind it");
		CHECK(ft_holds(&p, 0, SMALL, 2), "its bytes are there");
	}
	ft_pair_close(&p);
}

/* One that stalls does not outlive its connection. */
static void ft_case_stall_end(void)
{
	struct ft_pair p;

	if (ft_open_pair(&p, 0)) {
		kfabric_fault_set("stall", 1);
		kfabric_fault_set("stall_nth", 1);
		CHECK_EQ(ft_post_write(&p, 2, 0, SMALL), 0,
			 "a link stalls at a write");
		CHECK_EQ(fi_shutdown(p.a, 0), 0, "the connection is ended");
		CHECK_EQ(ft_comp(p.acq, FT_WAIT_MS, NULL), ECANCELED,
			 "the write fails then");
	}
	ft_pair_close(&p);
}

static void ft_case_stale_key(void)
{
	struct ft_pair p;

	if (ft_open_pair(&p, 0)) {
		kfabric_fault_set("stale_key_nth", 2);
		CHECK_EQ(ft_write(&p, 0, SMALL, 1), 0, "the key is good");
		CHECK_EQ(ft_write(&p, 0, SMALL, 2), EACCES,
			 "a stale key is refused");
		CHECK(ft_holds(&p, 0, SMALL, 1), "it opened nothing");
		CHECK_EQ(ft_shutdowns(&p), 2, "it ends the connection");
	}
	ft_pair_close(&p);
}

static void ft_case_lost(void)
{
	unsigned long begin;
	struct ft_pair p;

	if (ft_open_pair(&p, SHORT_MS)) {
		kfabric_fault_set("lose_nth", 1);
		begin = jiffies;
		CHECK_EQ(ft_write(&p, 0, SMALL, 1), ETIMEDOUT,
			 "a lost completion runs into the endpoint's timeout");
		CHECK(time_after_eq(jiffies,
				    begin + msecs_to_jiffies(SHORT_MS)),
		      "not before it");
		CHECK(ft_holds(&p, 0, SMALL, 1), "the write itself was done");
		CHECK_EQ(ft_shutdowns(&p), 2,
			 "the timeout ends the connection");
		CHECK_EQ(kfabric_fault_count("timeouts"), 1, "it is counted");
	}
	ft_pair_close(&p);
}

static void ft_case_lost_receive(void)
{
	struct ft_pair p;
	u8 *buf;

	if (ft_open_pair(&p, 0)) {
		buf = p.src + SMALL;
		kfabric_fault_set("lose_recv_nth", 1);
		CHECK_EQ(fi_recv(p.b, buf, SMALL, NULL, 0, ft_op(&p, 2)), 0,
			 "a receive is posted");
		CHECK_EQ(fi_send(p.a, p.src, SMALL, NULL, 0, ft_op(&p, 3)), 0,
			 "a message is sent");
		CHECK_EQ(ft_comp(p.acq, FT_WAIT_MS, NULL), 0, "it leaves");
		CHECK_EQ(ft_comp(p.bcq, QUIET_MS, NULL), -FI_EAGAIN,
			 "its arrival is not reported");
		CHECK_EQ(fi_shutdown(p.a, 0), 0, "the connection is ended");
		CHECK_EQ(ft_comp(p.bcq, FT_WAIT_MS, NULL), ECANCELED,
			 "the receive completes then");
	}
	ft_pair_close(&p);
}

static void ft_case_delay(void)
{
	unsigned long begin;
	struct ft_pair p;

	if (ft_open_pair(&p, 0)) {
		kfabric_fault_set("delay_ms", LATE_MS);
		kfabric_fault_set("delay_permille", EVERY_TIME);
		begin = jiffies;
		CHECK_EQ(ft_write(&p, 0, SMALL, 1), 0,
			 "a delayed completion comes");
		CHECK(time_after_eq(jiffies, begin + msecs_to_jiffies(LATE_MS)),
		      "it comes late");
	}
	ft_pair_close(&p);
}

static void ft_case_duplicate(void)
{
	struct ft_pair p;

	if (ft_open_pair(&p, 0)) {
		kfabric_fault_set("dup_permille", EVERY_TIME);
		CHECK_EQ(ft_write(&p, 0, SMALL, 1), 0, "a write succeeds");
		CHECK_EQ(ft_comp(p.acq, QUIET_MS, NULL), -FI_EAGAIN,
			 "its second completion is not seen");
		CHECK_EQ(kfabric_fault_count("dup_dropped"), 1,
			 "the layer dropped it");
	}
	ft_pair_close(&p);
}

static void ft_count_upcall(struct fid_cq *cq, const struct fi_cq_err_entry *e,
			    void *context)
{
	atomic_inc(context);
}

static bool ft_count_reached(atomic_t *n, int want)
{
	unsigned long end = jiffies + msecs_to_jiffies(FT_WAIT_MS);

	while (atomic_read(n) < want && time_before(jiffies, end))
		usleep_range(1000, 2000);
	return atomic_read(n) == want;
}

static void ft_case_duplicate_upcall(void)
{
	struct fi_cq_attr attr = { .comp_handler = ft_count_upcall };
	atomic_t calls = ATOMIC_INIT(0);
	struct ft_pair p;
	int ret;

	ret = ft_pair_open(&p, 0, &attr, &calls);
	if (CHECK_EQ(ret ?: ft_pair_join(&p), 0, "a pair with upcalls")) {
		kfabric_fault_set("dup_ulp", 1);
		kfabric_fault_set("dup_permille", EVERY_TIME);
		CHECK_EQ(ft_post_write(&p, 0, 0, SMALL), 0,
			 "a write is posted");
		CHECK(ft_count_reached(&calls, 2),
		      "it completes twice if asked for");
	}
	ft_pair_close(&p);
}

void ft_faults(void)
{
	static void (*const tests[])(void) = {
		ft_case_clean,
		ft_case_cut,
		ft_case_stale_key,
		ft_case_lost,
		ft_case_delay,
		ft_case_duplicate,
		ft_case_duplicate_upcall,
		ft_case_lost_receive,
		ft_case_stall,
		ft_case_stall_end,
	};
	size_t i;

	ft_case_reject("reject_nth");
	kfabric_fault_reset();
	ft_case_reject("reject_passive_nth");
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		kfabric_fault_reset();
		tests[i]();
	}
	kfabric_fault_reset();
}
